//! Files on their way: what the Hub wants to know of one, and a part of one as a stream that holds one buffer.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};

use futures_core::Stream;
use ring::digest;

use crate::HubError;

/// A file and the path that it gets in its repository.
#[derive(Clone, Debug)]
pub(crate) struct LocalFile {
    pub(crate) path: PathBuf,
    pub(crate) name: String,
    pub(crate) size: u64,
    pub(crate) sha256: String,
    /// As git names the content.
    pub(crate) git_oid: String,
    /// The first 512 bytes, from which the Hub guesses whether it is text.
    pub(crate) sample: Vec<u8>,
}

impl LocalFile {
    pub(crate) fn read(path: PathBuf, name: impl Into<String>) -> Result<Self, HubError> {
        let described = describe(&path, name.into());
        described.map_err(|source| HubError::File { operation: "read", path, source })
    }

    /// All of it, for the small ones that go with the commit.
    pub(crate) fn bytes(&self) -> Result<Vec<u8>, HubError> {
        std::fs::read(&self.path).map_err(|source| HubError::File {
            operation: "read",
            path: self.path.clone(),
            source,
        })
    }

    pub(crate) fn slice(&self, begin: u64, length: u64) -> Slice {
        Slice { path: self.path.clone(), begin, length }
    }
}

fn describe(path: &Path, name: String) -> io::Result<LocalFile> {
    let mut file = File::open(path)?;
    let size = file.metadata()?.len();
    let mut sha256 = digest::Context::new(&digest::SHA256);
    // Git's name of a blob, not a safeguard: the sha256 is.
    let mut sha1 = digest::Context::new(&digest::SHA1_FOR_LEGACY_USE_ONLY);
    sha1.update(format!("blob {size}\0").as_bytes());
    let (mut buffer, mut sample, mut seen) = (vec![0; BUFFER], Vec::new(), 0);
    loop {
        let length = file.read(&mut buffer)?;
        if length == 0 {
            break;
        }
        let part = &buffer[..length];
        sha256.update(part);
        sha1.update(part);
        seen += length as u64;
        sample.extend_from_slice(&part[..length.min(SAMPLE.saturating_sub(sample.len()))]);
    }
    if seen != size {
        return Err(io::Error::other("it changed while it was read"));
    }
    let (sha256, git_oid) = (hex(sha256.finish().as_ref()), hex(sha1.finish().as_ref()));
    Ok(LocalFile { path: path.to_owned(), name, size, sha256, git_oid, sample })
}

/// Lower-case hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// A part of a file.
#[derive(Clone, Debug)]
pub(crate) struct Slice {
    pub(crate) path: PathBuf,
    pub(crate) begin: u64,
    pub(crate) length: u64,
}

impl Slice {
    pub(crate) fn stream(&self) -> io::Result<SliceStream> {
        let mut file = File::open(&self.path)?;
        file.seek(SeekFrom::Start(self.begin))?;
        Ok(SliceStream { file, left: self.length, sent: Arc::default() })
    }
}

/// Reads as it is asked. The network thread serves nothing but this upload, so that reading may block it.
pub(crate) struct SliceStream {
    file: File,
    left: u64,
    sent: Arc<AtomicU64>,
}

impl SliceStream {
    /// Bytes that were handed over.
    pub(crate) fn counter(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.sent)
    }
}

impl Stream for SliceStream {
    type Item = io::Result<Vec<u8>>;

    fn poll_next(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if self.left == 0 {
            return Poll::Ready(None);
        }
        let mut part = vec![0; BUFFER.min(usize::try_from(self.left).unwrap_or(BUFFER))];
        let read = self.file.read(&mut part).and_then(|length| match length {
            0 => Err(io::ErrorKind::UnexpectedEof.into()),
            length => Ok(length),
        });
        Poll::Ready(Some(read.map(|length| {
            part.truncate(length);
            self.left -= length as u64;
            self.sent.fetch_add(length as u64, Ordering::Relaxed);
            part
        })))
    }
}

const BUFFER: usize = 256 * 1_024;
const SAMPLE: usize = 512;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_named_as_git_and_lfs_name_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("f");
        std::fs::write(&path, "# stale\n").unwrap();
        let file = LocalFile::read(path, "README.md").unwrap();
        // From `sha256sum` and `git hash-object`.
        assert_eq!(file.sha256, "a795401629ad68ad3456df4eebe2d39eeb1f099c851fa727411ed082ef2f220d");
        assert_eq!(file.git_oid, "9db569421b39069fe643e8548d4a4c64e987b634");
        assert_eq!((file.size, file.sample.as_slice()), (8, b"# stale\n".as_slice()));
    }
}
