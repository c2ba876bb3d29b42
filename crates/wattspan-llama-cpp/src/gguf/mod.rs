//! Reads the head of a GGUF file: what the model is, and whether the file is whole.
//!
//! It knows the container and nothing of llama.cpp, so that a file can be judged, and an error told, before a library
//! that only says "no" is asked. Reading is bounded: lists and long texts are stepped over, and nothing is allocated
//! from a length that the file merely claims.
//!
//! **Source** GGUF specification (ggml, `docs/gguf.md`), versions 2 and 3; block sizes from ggml's `ggml-common.h`.

mod file_type;
mod read;
mod tensor;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::Path;

pub use file_type::FileType;

/// The head of a GGUF file.
///
/// ```
/// use wattspan_llama_cpp::{Gguf, GgufError};
///
/// // An empty model: magic, version 3, no tensors, one key.
/// let mut file = b"GGUF\x03\0\0\0".to_vec();
/// file.extend(0_u64.to_le_bytes());
/// file.extend(1_u64.to_le_bytes());
/// for text in ["general.architecture", "llama"] {
///     file.extend((text.len() as u64).to_le_bytes());
///     file.extend(text.bytes());
///     if text.starts_with("general") {
///         file.extend(8_u32.to_le_bytes()); // the value is a text
///     }
/// }
/// let gguf = Gguf::read(&file[..], file.len() as u64)?;
/// assert_eq!(gguf.text("general.architecture"), Some("llama"));
///
/// let page = b"<!DOCTYPE html>";
/// assert!(matches!(Gguf::read(&page[..], 15), Err(GgufError::NotGguf { .. })));
/// # Ok::<(), GgufError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Gguf {
    /// Version of the container.
    pub version: u32,
    /// Number of tensors in this file. A model may be split over several files.
    pub tensors: u64,
    /// Number of weights in this file's tensors.
    pub parameters: u64,
    /// Bytes of this file's tensors, where all their types are known.
    pub tensor_bytes: Option<u64>,
    /// Keys and their values.
    pub metadata: BTreeMap<String, GgufValue>,
}

/// A value of a key.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum GgufValue {
    /// A whole number that is not negative.
    Unsigned(u64),
    /// A whole number of a signed type.
    Signed(i64),
    /// A floating-point number.
    Float(f64),
    /// A truth value.
    Bool(bool),
    /// A text of up to 1 MiB. What is not UTF-8 is replaced.
    Text(String),
    /// A list or a longer text, which is stepped over.
    Skipped,
}

/// Why a file is no GGUF that llama.cpp could load.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GgufError {
    /// Another kind of file.
    #[error("not a GGUF file: it begins with {}: give the path of a .gguf model", show(*.found))]
    NotGguf {
        /// Its first four bytes.
        found: [u8; 4],
    },
    /// A version that llama.cpp does not read.
    #[error("GGUF version {version} is not read: convert the model again (versions 2 and 3 are read)")]
    Version {
        /// The version.
        version: u32,
    },
    /// Written for machines of the other byte order.
    #[error("the file was written for machines of the other byte order: convert the model again")]
    ByteOrder,
    /// Shorter than it says it is.
    #[error(
        "the file is cut short or damaged: {needed} bytes are needed and it has {length}: fetch it again"
    )]
    Truncated {
        /// Bytes that the file needs to have, at least.
        needed: u64,
        /// Bytes that it has.
        length: u64,
    },
    /// Its parts contradict each other or the specification.
    #[error("the file is damaged at byte {offset}: {what}: fetch it again")]
    Malformed {
        /// Where.
        offset: u64,
        /// What is wrong.
        what: &'static str,
    },
    /// It could not be read.
    #[error("cannot read the file")]
    Io(#[source] io::Error),
}

impl Gguf {
    /// Reads the head of a file of `length` bytes.
    ///
    /// # Errors
    /// When it is not a GGUF, damaged, shorter than its tensors need, or cannot be read.
    pub fn read(input: impl Read, length: u64) -> Result<Self, GgufError> {
        read::read(input, length)
    }

    /// Reads the head of a file.
    ///
    /// # Errors
    /// As [`Gguf::read`].
    pub fn open(path: &Path) -> Result<Self, GgufError> {
        let file = File::open(path).map_err(GgufError::Io)?;
        let length = file.metadata().map_err(GgufError::Io)?.len();
        Self::read(BufReader::with_capacity(1 << 16, file), length)
    }

    /// The text of a key.
    pub fn text(&self, key: &str) -> Option<&str> {
        match self.metadata.get(key) {
            Some(GgufValue::Text(text)) => Some(text),
            _ => None,
        }
    }

    /// The whole number of a key.
    pub fn number(&self, key: &str) -> Option<u64> {
        match self.metadata.get(key) {
            Some(GgufValue::Unsigned(number)) => Some(*number),
            Some(GgufValue::Signed(number)) => u64::try_from(*number).ok(),
            _ => None,
        }
    }

    /// How most of its tensors are quantised, by its own account.
    pub fn file_type(&self) -> Option<FileType> {
        self.number("general.file_type").map(FileType::new)
    }
}

fn show(found: [u8; 4]) -> String {
    format!("`{}`", found.escape_ascii())
}
