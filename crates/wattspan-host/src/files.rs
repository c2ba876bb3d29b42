//! Access to files below a root, behind a trait so that a test can refuse or break any of them. Knows no file's
//! meaning.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use wattspan_core::{Failure, Reading, Remedy};

/// Opens and lists files. Errors are those of the operating system.
pub(crate) trait Files: Send + Sync {
    fn open(&self, path: &Path) -> io::Result<Box<dyn ReadAt>>;
    /// Names in a folder, sorted; names that are not UTF-8 are left out.
    fn list(&self, path: &Path) -> io::Result<Vec<String>>;
    /// Target of a symbolic link, as text.
    fn link(&self, path: &Path) -> io::Result<String>;
}

/// An open file that is read again and again.
pub(crate) trait ReadAt: Send {
    fn read_at(&mut self, buffer: &mut [u8], offset: u64) -> io::Result<usize>;
}

/// The real files.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Disk;

impl Files for Disk {
    fn open(&self, path: &Path) -> io::Result<Box<dyn ReadAt>> {
        Ok(Box::new(File::open(path)?))
    }

    fn list(&self, path: &Path) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in std::fs::read_dir(path)? {
            if let Ok(name) = entry?.file_name().into_string() {
                names.push(name);
            }
        }
        names.sort_unstable();
        Ok(names)
    }

    fn link(&self, path: &Path) -> io::Result<String> {
        Ok(std::fs::read_link(path)?.to_string_lossy().into_owned())
    }
}

impl ReadAt for File {
    #[cfg(unix)]
    fn read_at(&mut self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        std::os::unix::fs::FileExt::read_at(self, buffer, offset)
    }

    #[cfg(not(unix))]
    fn read_at(&mut self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        use std::io::{Read, Seek, SeekFrom};
        self.seek(SeekFrom::Start(offset))?;
        self.read(buffer)
    }
}

/// A whole text file, bytes that are not UTF-8 replaced.
pub(crate) fn text(files: &dyn Files, path: &Path) -> io::Result<String> {
    let mut file = files.open(path)?;
    let (mut bytes, mut chunk) = (Vec::new(), [0; 8_192]);
    while bytes.len() < TEXT_LIMIT {
        match file.read_at(&mut chunk, bytes.len() as u64)? {
            0 => break,
            read => bytes.extend_from_slice(&chunk[..read]),
        }
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// The text of a small file without the white space around it; `None` when it cannot be read.
pub(crate) fn word(files: &dyn Files, path: &Path) -> Option<String> {
    text(files, path).ok().map(|text| text.trim().to_owned())
}

/// A whole number in a small file; `None` when there is none.
pub(crate) fn number(files: &dyn Files, path: &Path) -> Option<u64> {
    parse_number(text(files, path).ok()?.as_bytes())
}

/// An unsigned decimal number and nothing else but white space around it.
pub(crate) fn parse_number(bytes: &[u8]) -> Option<u64> {
    let digits = bytes.trim_ascii();
    if !digits.first()?.is_ascii_digit() {
        return None;
    }
    std::str::from_utf8(digits).ok()?.parse().ok()
}

/// Whether an error means "may not".
pub(crate) fn is_denied(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::PermissionDenied
}

/// Why a file gave nothing. Becomes the [`Reading`] of whatever was to be read from it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Absent {
    Denied(Remedy),
    Failed(Failure),
}

impl Absent {
    pub(crate) fn failed(reason: impl Into<std::borrow::Cow<'static, str>>) -> Self {
        Self::Failed(Failure::new(reason))
    }

    pub(crate) fn reading<T>(self) -> Reading<T> {
        match self {
            Self::Denied(remedy) => Reading::Denied(remedy),
            Self::Failed(failure) => Reading::Failed(failure),
        }
    }
}

/// A file that is read at every tick: kept open, opened again once when reading fails, and left alone for a growing
/// number of ticks while it cannot be opened.
pub(crate) struct Polled {
    path: PathBuf,
    remedy: fn(&Path) -> String,
    file: Option<Box<dyn ReadAt>>,
    /// Ticks to let pass before the next try, and why.
    waiting: Option<(u32, Absent)>,
    /// How many ticks the last wait was.
    wait: u32,
}

impl Polled {
    /// Nothing is opened yet. `remedy` says what to do when the file may not be read.
    pub(crate) fn new(path: PathBuf, remedy: fn(&Path) -> String) -> Self {
        Self { path, remedy, file: None, waiting: None, wait: 0 }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The first bytes of the file as they are now.
    pub(crate) fn read<'b>(&mut self, files: &dyn Files, buffer: &'b mut [u8]) -> Result<&'b [u8], Absent> {
        if let Some((ticks @ 1.., why)) = &mut self.waiting {
            *ticks -= 1;
            return Err(why.clone());
        }
        if let Some(file) = &mut self.file {
            if let Ok(read) = file.read_at(buffer, 0) {
                return Ok(&buffer[..read]);
            }
            // A handle goes stale when its driver is loaded again or its CPU goes offline; a new one may do.
            self.file = None;
        }
        let opened = files.open(&self.path).and_then(|mut file| {
            let read = file.read_at(buffer, 0)?;
            Ok((file, read))
        });
        match opened {
            Ok((file, read)) => {
                self.file = Some(file);
                self.waiting = None;
                self.wait = 0;
                Ok(&buffer[..read])
            }
            Err(error) => {
                let why = if is_denied(&error) {
                    Absent::Denied(Remedy::new((self.remedy)(&self.path)))
                } else {
                    Absent::failed(format!("cannot read {}: {error}", self.path.display()))
                };
                self.wait = (self.wait * 2).clamp(1, LONGEST_WAIT_TICKS);
                self.waiting = Some((self.wait, why.clone()));
                Err(why)
            }
        }
    }

    /// The whole number that the file holds now.
    pub(crate) fn number(&mut self, files: &dyn Files) -> Result<u64, Absent> {
        let mut buffer = [0; 64];
        let bytes = self.read(files, &mut buffer)?;
        match parse_number(bytes) {
            Some(number) => Ok(number),
            None => Err(Absent::failed(format!("{} holds no whole number", self.path.display()))),
        }
    }
}

/// `/proc/cpuinfo` takes about 1.5 kB for each logical CPU; this is room for more than 2 000.
const TEXT_LIMIT: usize = 4 << 20;

/// A file that stays unreadable is tried every 256 ticks: four minutes at one tick a second.
const LONGEST_WAIT_TICKS: u32 = 256;
