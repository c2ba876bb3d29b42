//! A table's rows as neutral cells, one by one, whatever columns they have.

use std::fmt;
use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};

use wattspan_core::{Row, Table};

use super::files::{LEADERBOARD, METRICS, RESULTS, TRACES};
use super::read::{JsonRun, ReadError};
use super::scan::{Elements, ScanError};
use crate::attributes::row_from_json;
use crate::columns;

/// The rows of one table of a finished run, read as they are asked for: see [`JsonRun::rows`].
///
/// Columns that this crate does not know are there too. Behind an error nothing follows.
pub struct Rows {
    path: PathBuf,
    table: Table,
    elements: Elements<BufReader<File>>,
    json: Vec<u8>,
    failed: bool,
}

impl Rows {
    pub(crate) fn open(run: &JsonRun, table: Table) -> Result<Self, ReadError> {
        let name = match table {
            Table::Results => RESULTS,
            Table::Traces => TRACES,
            Table::Metrics => METRICS,
            Table::Leaderboard => LEADERBOARD,
        };
        let (path, reader) = run.file(name)?;
        let elements = match table {
            Table::Results | Table::Traces => Elements::of_list(reader),
            Table::Metrics => Elements::of_member(reader, "rows"),
            Table::Leaderboard => Ok(Elements::of_value(reader)),
        };
        let elements = elements.map_err(|error| fault(&path, error))?;
        Ok(Self { path, table, elements, json: Vec::new(), failed: false })
    }

    /// How many bytes of the file have been read: with its size, how far this is.
    pub fn bytes(&self) -> u64 {
        self.elements.bytes()
    }

    /// The JSON of the next row.
    pub(crate) fn next_json(&mut self) -> Result<Option<&[u8]>, ReadError> {
        let found = self.elements.next(&mut self.json).map_err(|error| fault(&self.path, error))?;
        Ok(found.then_some(self.json.as_slice()))
    }

    /// The next row, and how long its JSON is.
    pub(crate) fn next_sized(&mut self) -> Result<Option<(Row, usize)>, ReadError> {
        let columns = columns(self.table);
        let Some(json) = self.next_json()? else { return Ok(None) };
        let length = json.len();
        let row = row_from_json(json, columns).map_err(|error| self.unreadable(&error))?;
        Ok(Some((row, length)))
    }

    /// The row at hand is not what it should be.
    pub(crate) fn unreadable(&self, error: &serde_json::Error) -> ReadError {
        let reason = format!("the row that ends at byte {}: {error}", self.elements.bytes());
        ReadError::Format { path: self.path.clone(), reason }
    }
}

impl Iterator for Rows {
    type Item = Result<Row, ReadError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.failed {
            return None;
        }
        let next = self.next_sized();
        self.failed = next.is_err();
        next.map(|row| row.map(|(row, _)| row)).transpose()
    }
}

impl fmt::Debug for Rows {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Rows")
            .field("path", &self.path)
            .field("bytes", &self.bytes())
            .finish_non_exhaustive()
    }
}

fn fault(path: &Path, error: ScanError) -> ReadError {
    let path = path.to_owned();
    match error {
        ScanError::Io(source) => ReadError::Io { path, source },
        ScanError::Syntax(what, at) => {
            ReadError::Format { path, reason: format!("{what} is missing at byte {at}") }
        }
    }
}
