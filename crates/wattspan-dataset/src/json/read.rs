//! Reading a run's files back, metric rows one by one.

use std::fs::File;
use std::io::{self, BufReader};
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;

use wattspan_core::{Cell, RunId, Table};

use super::dataset::{run_of, stamp_of};
use super::files::{JOURNAL, LEADERBOARD, METADATA, RESULTS, STAMP, TRACES};
use super::rows::Rows;
use crate::attributes::AnyCell;
use crate::{Attributes, LeaderboardRow, MetricRow, ResultRow, Timestamp, TraceRow};

/// The folder of a finished run.
#[derive(Clone, Debug)]
pub struct JsonRun {
    folder: PathBuf,
}

/// A file of a run cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// It is not there: the run is not finished, or this is not the folder of one.
    #[error("{path} is not there: name the folder of a finished run, or recover one that crashed")]
    Missing {
        /// Which file.
        path: PathBuf,
    },
    /// The run is not finished: its files may be of an earlier time, or are not there yet.
    #[error("{path} is of a run that is not finished: wait for its end, or recover it when it crashed")]
    Unfinished {
        /// Its journal.
        path: PathBuf,
    },
    /// It may not be read, or reading failed.
    #[error("{path} cannot be read")]
    Io {
        /// Which file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// It is not what it should be.
    #[error("{path} is not a table of a run: {reason}")]
    Format {
        /// Which file.
        path: PathBuf,
        /// What is wrong, and where.
        reason: String,
    },
}

impl JsonRun {
    /// Names a folder; nothing is read yet.
    pub fn open(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into() }
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// All results.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn results(&self) -> Result<Vec<ResultRow>, ReadError> {
        self.read(RESULTS)
    }

    /// All traces.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn traces(&self) -> Result<Vec<TraceRow>, ReadError> {
        self.read(TRACES)
    }

    /// All metric rows. Of a long run they need much memory: see [`JsonRun::each_metric`].
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn metrics(&self) -> Result<Vec<MetricRow>, ReadError> {
        let mut rows = Vec::new();
        self.each_metric(|row| rows.push(row))?;
        Ok(rows)
    }

    /// Shows the metric rows one by one, in their order.
    ///
    /// # Errors
    /// When the file cannot be read; rows before the fault have been shown.
    pub fn each_metric(&self, mut show: impl FnMut(MetricRow)) -> Result<(), ReadError> {
        let mut rows = self.rows(Table::Metrics)?;
        while let Some(json) = rows.next_json()? {
            let row = metric_row(json).map_err(|error| rows.unreadable(&error))?;
            show(row);
        }
        Ok(())
    }

    /// The run's row.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn leaderboard(&self) -> Result<LeaderboardRow, ReadError> {
        self.read(LEADERBOARD)
    }

    /// The run's metadata as named values.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn metadata(&self) -> Result<Attributes, ReadError> {
        self.read(METADATA)
    }

    /// The run's metadata as it stands there, for [`DatasetSink::finish`](wattspan_core::DatasetSink::finish).
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn metadata_cell(&self) -> Result<Cell, ReadError> {
        self.read::<AnyCell>(METADATA).map(|AnyCell(cell)| cell)
    }

    /// The rows of any table as neutral cells, read as they are asked for.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn rows(&self, table: Table) -> Result<Rows, ReadError> {
        Rows::open(self, table)
    }

    /// Which run it is: from its metadata, or else from the folder's name.
    ///
    /// # Errors
    /// When neither tells.
    pub fn run_id(&self) -> Result<RunId, ReadError> {
        let metadata = self.metadata_if_there()?;
        let told = metadata.text("run_id").or_else(|| run_of(self.name()?));
        let told = told.ok_or_else(|| self.unknown("nothing tells which run it is"))?;
        RunId::new(told).map_err(|error| self.unknown(&error.to_string()))
    }

    /// The run's own time as names have it, `YYYYMMDD_HHMMSS` in UTC: what the folder was called when it was made. It stays
    /// the same when the folder is renamed. Runs that were not written by [`JsonDataset`](crate::JsonDataset) have the time
    /// when they began, or ended, from their metadata.
    ///
    /// # Errors
    /// When nothing tells.
    pub fn stamp(&self) -> Result<String, ReadError> {
        let metadata = self.metadata_if_there()?;
        let time = |name| Some(metadata.text(name)?.parse::<Timestamp>().ok()?.compact());
        let stamp = metadata.text(STAMP).filter(|stamp| stamp_of(stamp) == Some((stamp, "")));
        let stamp = stamp.or_else(|| stamp_of(self.name()?).map(|(stamp, _)| stamp)).map(str::to_owned);
        let stamp = stamp.or_else(|| time("started")).or_else(|| time("timestamp"));
        stamp.ok_or_else(|| self.unknown("nothing tells when it ran"))
    }

    /// Only what is finished may be used again: after a crash some files may be of the run before.
    pub(crate) fn check_finished(&self) -> Result<(), ReadError> {
        let path = self.folder.join(JOURNAL);
        if path.exists() { Err(ReadError::Unfinished { path }) } else { Ok(()) }
    }

    fn metadata_if_there(&self) -> Result<Attributes, ReadError> {
        match self.metadata() {
            Err(ReadError::Missing { .. }) => Ok(Attributes::default()),
            other => other,
        }
    }

    fn name(&self) -> Option<&str> {
        self.folder.file_name().and_then(|name| name.to_str())
    }

    fn unknown(&self, reason: &str) -> ReadError {
        ReadError::Format { path: self.folder.clone(), reason: reason.to_owned() }
    }

    fn read<T: DeserializeOwned>(&self, name: &str) -> Result<T, ReadError> {
        let (path, reader) = self.file(name)?;
        serde_json::from_reader(reader).map_err(|error| format_error(path, error))
    }

    pub(crate) fn file(&self, name: &str) -> Result<(PathBuf, BufReader<File>), ReadError> {
        let path = self.folder.join(name);
        match File::open(&path) {
            Ok(file) => Ok((path, BufReader::with_capacity(256 * 1024, file))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Err(ReadError::Missing { path }),
            Err(source) => Err(ReadError::Io { path, source }),
        }
    }
}

pub(crate) fn result_row(json: &[u8]) -> serde_json::Result<ResultRow> {
    serde_json::from_slice(json)
}

pub(crate) fn trace_row(json: &[u8]) -> serde_json::Result<TraceRow> {
    serde_json::from_slice(json)
}

pub(crate) fn metric_row(json: &[u8]) -> serde_json::Result<MetricRow> {
    serde_json::from_slice(json)
}

/// What every result of a run says of the run.
pub(crate) fn leaderboard_from(row: &mut LeaderboardRow, result: &ResultRow) {
    for (known, found) in [
        (&mut row.model, &result.model),
        (&mut row.agent_type, &result.agent_type),
        (&mut row.provider, &result.provider),
    ] {
        if known.is_none() {
            known.clone_from(found);
        }
    }
}

fn format_error(path: PathBuf, error: serde_json::Error) -> ReadError {
    if error.is_io() {
        ReadError::Io { path, source: error.into() }
    } else {
        ReadError::Format { path, reason: error.to_string() }
    }
}
