//! What can go wrong on the test's side.

use std::fmt;
use std::io;
use std::path::PathBuf;

/// What went wrong with a fake driver.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// The shared library was not found.
    NotBuilt {
        /// Where it was looked for.
        looked_in: Vec<PathBuf>,
    },
    /// A file could not be read or written.
    Io {
        /// What was tried.
        operation: &'static str,
        /// On which file.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
    /// The library could not be loaded.
    Load {
        /// Which file.
        path: PathBuf,
        /// The loader's words.
        message: String,
    },
    /// A symbol that should be taken away is not exported.
    NoSymbol {
        /// Its name.
        name: String,
    },
    /// The library is not a 64-bit little-endian ELF file, so no symbol can be taken away.
    NotElf {
        /// Which file.
        path: PathBuf,
    },
    /// The fake did not understand a line, or could not do what it says.
    Control {
        /// The fake's words, with the line.
        message: String,
    },
    /// The fake has no answer to a question.
    Query {
        /// The question.
        question: String,
        /// The fake's words.
        message: String,
    },
    /// Loading works on Linux only.
    Unsupported,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotBuilt { looked_in } => {
                write!(f, "the fake library is not built: name it in FAKE_NVML_LIBRARY; looked in")?;
                looked_in.iter().try_for_each(|place| write!(f, " {}", place.display()))
            }
            Self::Io { operation, path, .. } => write!(f, "cannot {operation} {}", path.display()),
            Self::Load { path, message } => write!(f, "cannot load {}: {message}", path.display()),
            Self::NoSymbol { name } => write!(f, "the fake does not export {name}"),
            Self::NotElf { path } => write!(f, "{} is not a 64-bit little-endian ELF file", path.display()),
            Self::Control { message } => write!(f, "wrong control line: {message}"),
            Self::Query { question, message } => write!(f, "no answer to {question:?}: {message}"),
            Self::Unsupported => f.write_str("the fake driver can be loaded on Linux only"),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io { source, .. } => Some(source),
            _ => None,
        }
    }
}
