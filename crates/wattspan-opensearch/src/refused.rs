//! The file of documents that a server refused, so that none is lost.

use std::collections::HashSet;
use std::fs::{File, OpenOptions};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use wattspan_core::RunId;

use crate::response::Fault;

/// A line for each document: status, type and reason, and the action and document as they were sent, so that a line can be
/// mended and sent again. The same document for the same reason is written once, also over several exports.
pub(crate) struct RefusedFile {
    path: PathBuf,
    /// Opened with the first document.
    open: Option<(File, HashSet<u64>)>,
    /// Why the first of this export was refused.
    pub(crate) first: Option<String>,
}

#[derive(Serialize, Deserialize)]
struct Line<'a> {
    status: u16,
    r#type: std::borrow::Cow<'a, str>,
    reason: std::borrow::Cow<'a, str>,
    #[serde(borrow)]
    action: &'a RawValue,
    #[serde(borrow)]
    document: &'a RawValue,
}

impl RefusedFile {
    pub(crate) fn new(folder: &Path, run: &RunId) -> Self {
        Self { path: folder.join(format!("opensearch-refused-{run}.ndjson")), open: None, first: None }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Keeps a document: its two lines as they were sent.
    pub(crate) fn keep(&mut self, status: u16, fault: &Fault, sent: &[u8]) -> io::Result<()> {
        let mut lines = sent.split(|byte| *byte == b'\n');
        let action = serde_json::from_slice(lines.next().unwrap_or_default())?;
        let document = serde_json::from_slice(lines.next().unwrap_or_default())?;
        let line = Line {
            status,
            r#type: fault.kind.as_str().into(),
            reason: fault.reason.as_str().into(),
            action,
            document,
        };
        let (file, known) = match &mut self.open {
            Some(open) => open,
            None => self.open.insert(open(&self.path)?),
        };
        if known.insert(key(&line)) {
            let mut text = serde_json::to_vec(&line)?;
            text.push(b'\n');
            file.write_all(&text)?;
        }
        self.first.get_or_insert_with(|| fault.summary());
        Ok(())
    }

    /// Makes what is in it survive a power failure.
    pub(crate) fn sync(&self) -> io::Result<()> {
        self.open.as_ref().map_or(Ok(()), |(file, _)| file.sync_all())
    }
}

fn open(path: &Path) -> io::Result<(File, HashSet<u64>)> {
    let mut known = HashSet::new();
    match File::open(path) {
        Ok(file) => {
            for line in BufReader::new(file).lines() {
                // A line that a crash cut off is no document that is known.
                if let Ok(line) = serde_json::from_str::<Line<'_>>(&line?) {
                    known.insert(key(&line));
                }
            }
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    let mut options = OpenOptions::new();
    options.create(true).append(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        // It holds prompts and answers.
        options.mode(0o600);
    }
    let mut file = options.open(path)?;
    if !ends_with_newline(path)? {
        file.write_all(b"\n")?;
    }
    Ok((file, known))
}

fn ends_with_newline(path: &Path) -> io::Result<bool> {
    use std::io::{Read as _, Seek as _, SeekFrom};
    let mut file = File::open(path)?;
    if file.metadata()?.len() == 0 {
        return Ok(true);
    }
    file.seek(SeekFrom::End(-1))?;
    let mut last = [0];
    file.read_exact(&mut last)?;
    Ok(last == *b"\n")
}

fn key(line: &Line<'_>) -> u64 {
    let mut hasher = DefaultHasher::new();
    (line.status, &line.r#type, line.action.get(), line.document.get()).hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_is_kept_once_with_its_reason_also_over_exports_and_crashes() {
        let folder = tempfile::tempdir().unwrap();
        let run = RunId::new("r.1").unwrap();
        let fault = Fault { kind: "mapper_parsing_exception".into(), reason: "no \"number\"".into() };
        let sent = b"{\"index\":{\"_id\":\"a\"}}\n{\"x\":\"\\n\",\"y\":1.50}\n";
        let path = folder.path().join("opensearch-refused-r.1.ndjson");
        for _ in 0..2 {
            let mut refused = RefusedFile::new(folder.path(), &run);
            assert_eq!(refused.path(), path);
            refused.keep(400, &fault, sent).unwrap();
            refused.keep(400, &fault, sent).unwrap();
            refused.sync().unwrap();
            assert_eq!(refused.first.as_deref(), Some("mapper_parsing_exception: no \"number\""));
        }
        // The document stands as it was sent, its numbers digit by digit.
        let line = "{\"status\":400,\"type\":\"mapper_parsing_exception\",\"reason\":\"no \\\"number\\\"\",\
                    \"action\":{\"index\":{\"_id\":\"a\"}},\"document\":{\"x\":\"\\n\",\"y\":1.50}}\n";
        assert_eq!(std::fs::read_to_string(&path).unwrap(), line);

        std::fs::write(&path, &line[..40]).unwrap();
        RefusedFile::new(folder.path(), &run).keep(400, &fault, sent).unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), format!("{}\n{line}", &line[..40]));
    }

    #[test]
    fn nothing_refused_makes_no_file() {
        let folder = tempfile::tempdir().unwrap();
        let refused = RefusedFile::new(folder.path(), &RunId::new("r").unwrap());
        refused.sync().unwrap();
        assert!(!refused.path().exists());
    }
}
