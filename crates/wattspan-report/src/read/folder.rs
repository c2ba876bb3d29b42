//! Which folders hold runs.

use std::fs;
use std::path::{Path, PathBuf};

use crate::ReportError;

/// The folders of runs that a folder stands for: itself, or those in it, oldest first.
pub(crate) fn folders(named: &Path) -> Result<Vec<PathBuf>, ReportError> {
    if is_run(named) {
        return Ok(vec![named.to_owned()]);
    }
    if named.join(JOURNAL).exists() {
        return Err(ReportError::Unfinished { folder: named.to_owned() });
    }
    let failed = |source| match source {
        error if std::io::Error::kind(&error) == std::io::ErrorKind::NotADirectory => {
            ReportError::NoRun { folder: named.to_owned() }
        }
        source => ReportError::Io { folder: named.to_owned(), source },
    };
    let mut found = Vec::new();
    let mut unfinished = None;
    for entry in fs::read_dir(named).map_err(failed)? {
        let folder = entry.map_err(failed)?.path();
        if is_run(&folder) {
            found.push(folder);
        } else if folder.join(JOURNAL).exists() {
            unfinished.get_or_insert(folder);
        }
    }
    found.sort();
    match (found.is_empty(), unfinished) {
        (false, _) => Ok(found),
        (true, Some(folder)) => Err(ReportError::Unfinished { folder }),
        (true, None) => Err(ReportError::NoRun { folder: named.to_owned() }),
    }
}

fn is_run(folder: &Path) -> bool {
    TABLES.iter().any(|table| folder.join(table).is_file())
}

pub(crate) const JOURNAL: &str = "journal.ndjson";
const TABLES: [&str; 4] = ["results.json", "traces.json", "metrics.json", "leaderboard_row.json"];
