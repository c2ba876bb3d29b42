//! Reading a run's files back, metric rows one by one.

use std::fmt;
use std::fs::File;
use std::io::{self, BufReader};
use std::path::{Path, PathBuf};

use serde::de::{DeserializeOwned, DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::files::{LEADERBOARD, METADATA, METRICS, RESULTS, TRACES};
use crate::{Attributes, LeaderboardRow, MetricRow, ResultRow, TraceRow};

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
        let (path, reader) = self.file(METRICS)?;
        let mut reader = serde_json::Deserializer::from_reader(reader);
        let read = reader.deserialize_map(MetricsFile(&mut show)).and_then(|()| reader.end());
        read.map_err(|error| format_error(path, error))
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

    fn read<T: DeserializeOwned>(&self, name: &str) -> Result<T, ReadError> {
        let (path, reader) = self.file(name)?;
        serde_json::from_reader(reader).map_err(|error| format_error(path, error))
    }

    fn file(&self, name: &str) -> Result<(PathBuf, BufReader<File>), ReadError> {
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

/// Steps over everything in `metrics.json` but its rows.
struct MetricsFile<'a, F>(&'a mut F);

impl<'de, F: FnMut(MetricRow)> Visitor<'de> for MetricsFile<'_, F> {
    type Value = ();

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("an object with `rows`")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let mut found = false;
        while let Some(name) = map.next_key::<String>()? {
            if name == "rows" {
                map.next_value_seed(Rows(&mut *self.0))?;
                found = true;
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        if found { Ok(()) } else { Err(serde::de::Error::missing_field("rows")) }
    }
}

struct Rows<'a, F>(&'a mut F);

impl<'de, F: FnMut(MetricRow)> DeserializeSeed<'de> for Rows<'_, F> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de, F: FnMut(MetricRow)> Visitor<'de> for Rows<'_, F> {
    type Value = ();

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a list of rows")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut rows: A) -> Result<(), A::Error> {
        while let Some(row) = rows.next_element::<MetricRow>()? {
            (self.0)(row);
        }
        Ok(())
    }
}
