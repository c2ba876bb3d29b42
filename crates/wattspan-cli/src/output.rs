//! Where results go: standard output or a file, with clear words when it does not take them.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::exit::{Failure, OUTPUT};

/// An open destination. A file keeps what it has until the first byte is written; one that was not there before goes away
/// again when nothing was.
#[derive(Debug)]
pub(crate) enum Output {
    Stdout,
    File { path: PathBuf, file: File, made: bool, begun: bool },
}

impl Output {
    /// Opens a file, so that it is known before anything is measured whether it can be written.
    pub(crate) fn open(path: Option<&Path>) -> Result<Self, Failure> {
        let Some(path) = path else { return Ok(Self::Stdout) };
        let mut options = File::options();
        let made = options.write(true).create_new(true).open(path);
        let is_new = made.is_ok();
        let file = made.or_else(|error| match error.kind() {
            // `/dev/stdout` and the like, too.
            io::ErrorKind::AlreadyExists => File::options().write(true).open(path),
            _ => Err(error),
        });
        match file {
            Ok(file) => Ok(Self::File { path: path.to_owned(), file, made: is_new, begun: false }),
            Err(error) => Err(failure(&path.display().to_string(), &error)),
        }
    }

    pub(crate) fn name(&self) -> String {
        match self {
            Self::Stdout => "standard output".to_owned(),
            Self::File { path, .. } => path.display().to_string(),
        }
    }

    /// Writes all of a text and sees to it that it has left the program.
    pub(crate) fn text(&mut self, text: &str) -> Result<(), Failure> {
        let written = self.write_all(text.as_bytes()).and_then(|()| self.flush());
        outcome(&self.name(), written)
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Stdout => io::stdout().write(bytes),
            Self::File { file, begun, .. } => {
                // What is not a plain file, a terminal or a pipe, cannot be cut.
                if !*begun && file.metadata()?.is_file() {
                    file.set_len(0)?;
                }
                *begun = true;
                file.write(bytes)
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Stdout => io::stdout().flush(),
            Self::File { file, .. } => file.flush(),
        }
    }
}

impl Drop for Output {
    fn drop(&mut self) {
        if let Self::File { path, made: true, begun: false, .. } = self {
            // An empty file that stays harms nobody.
            let _ = std::fs::remove_file(path);
        }
    }
}

/// A reader that has gone is no error: it has had what it wanted.
pub(crate) fn outcome(name: &str, written: io::Result<()>) -> Result<(), Failure> {
    match written {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(failure(name, &error)),
        _ => Ok(()),
    }
}

fn failure(name: &str, error: &io::Error) -> Failure {
    let remedy = match error.kind() {
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            ": grant write access or choose another file"
        }
        io::ErrorKind::NotFound => ": make its folder first",
        io::ErrorKind::IsADirectory => ": name a file in it",
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge => {
            ": free some space or choose another file"
        }
        _ => "",
    };
    Failure::new(OUTPUT, format!("cannot write {name}: {error}{remedy}"))
}

/// Lines for people, on standard error. Nobody can be told when that fails.
pub(crate) fn say(text: &str) {
    let _ = writeln!(io::stderr().lock(), "{text}");
}
