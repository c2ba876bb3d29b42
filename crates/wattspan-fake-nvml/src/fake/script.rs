//! The control file of a driver in another process.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use crate::error::Error;
use crate::library::make_folder;

/// A file of control lines for a program in another process, removed when this is dropped.
///
/// Start the program with [`ScriptFile::VARIABLE`] set to [`path`](Self::path) and with the library of a
/// [`FakeNvml`](crate::FakeNvml); it follows the file within some milliseconds. A wrong line makes every later call
/// of that program fail with code 999.
#[derive(Debug)]
pub struct ScriptFile {
    folder: PathBuf,
    path: PathBuf,
}

impl ScriptFile {
    /// Environment variable that names the file.
    pub const VARIABLE: &str = "FAKE_NVML_SCRIPT";

    /// An empty file in the temporary directory.
    ///
    /// # Errors
    ///
    /// [`Error::Io`].
    pub fn new() -> Result<Self, Error> {
        let folder = make_folder()?;
        let script = Self { path: folder.join("script"), folder };
        script.append("")?;
        Ok(script)
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Adds lines, which are then carried out once, in turn.
    ///
    /// # Errors
    ///
    /// [`Error::Io`].
    pub fn append(&self, lines: &str) -> Result<(), Error> {
        let write = || {
            let mut file = OpenOptions::new().create(true).append(true).open(&self.path)?;
            let end = if lines.is_empty() || lines.ends_with('\n') { "" } else { "\n" };
            file.write_all(format!("{lines}{end}").as_bytes())
        };
        write().map_err(|source| Error::Io { operation: "write", path: self.path.clone(), source })
    }
}

impl Drop for ScriptFile {
    fn drop(&mut self) {
        // A folder that stays behind in the temporary directory harms nobody.
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}
