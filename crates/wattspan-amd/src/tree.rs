//! The one place that reads files: the kernel's trees below a root, and what an error of theirs means as a [`Reading`].

use std::fmt::Debug;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Read};
use std::path::PathBuf;

use wattspan_core::Reading;

use crate::parse;

/// Files by their path below the root, with `/` between names. Tests put faults in.
pub(crate) trait Source: Send + Debug {
    /// All of a file. Opened anew each time: the kernel fills these files at the open or at offset 0.
    fn read(&self, path: &str) -> io::Result<Vec<u8>>;

    /// The names in a folder, sorted.
    fn list(&self, path: &str) -> io::Result<Vec<String>>;
}

/// Folders of the machine, or a copy of them.
#[derive(Debug)]
pub(crate) struct Folder(pub(crate) PathBuf);

/// No file that is read here is longer; the largest `gpu_metrics` table has 3 872 bytes.
const LONGEST: u64 = 1 << 18;

impl Source for Folder {
    fn read(&self, path: &str) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        File::open(self.0.join(path))?.take(LONGEST).read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    fn list(&self, path: &str) -> io::Result<Vec<String>> {
        let mut names: Vec<String> = fs::read_dir(self.0.join(path))?
            .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
            .collect();
        names.sort();
        Ok(names)
    }
}

/// Why a file gave nothing.
pub(crate) fn absence<T>(error: &io::Error, path: &str) -> Reading<T> {
    match error.kind() {
        ErrorKind::NotFound | ErrorKind::Unsupported | ErrorKind::NotADirectory => Reading::NotSupported,
        // amdgpu also answers EPERM while a card is being reset or is asleep.
        ErrorKind::PermissionDenied => Reading::denied(format!(
            "allow reading /{path} (the driver refuses it, too, while the card resets or sleeps)"
        )),
        ErrorKind::ResourceBusy => Reading::failed(format!("/{path} is busy: the card resets or sleeps")),
        _ => Reading::failed(format!("/{path} cannot be read: {error}")),
    }
}

/// A file's bytes.
pub(crate) fn bytes(source: &dyn Source, path: &str) -> Reading<Vec<u8>> {
    match source.read(path) {
        Ok(bytes) => Reading::Value(bytes),
        Err(error) => absence(&error, path),
    }
}

/// A file that holds one number.
pub(crate) fn number(source: &dyn Source, path: &str) -> Reading<u64> {
    bytes(source, path).and_then(|text| match parse::number(&text) {
        Some(number) => Reading::Value(number),
        None => Reading::failed(format!("/{path} does not hold a number")),
    })
}

/// A file's first line, where there is one.
pub(crate) fn line(source: &dyn Source, path: &str) -> Option<String> {
    parse::line(&source.read(path).ok()?).map(str::to_owned)
}

/// A file as text, where it is one.
pub(crate) fn text(source: &dyn Source, path: &str) -> Option<String> {
    String::from_utf8(source.read(path).ok()?).ok()
}
