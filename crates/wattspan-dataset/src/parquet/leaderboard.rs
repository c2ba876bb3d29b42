//! The leaderboard of many runs, which several programs may write.

use std::collections::HashMap;
use std::fmt;
use std::fs;
use std::io;
use std::path::Path;

use arrow_array::cast::AsArray;
use arrow_array::{Array, BooleanArray, RecordBatch};
use bytes::Bytes;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::errors::ParquetError;
use serde_json::Value;
use wattspan_core::{Cell, Row, SinkError, Table};

use super::{merge, name, properties, refused, schema};
use crate::json::{Part, split};
use crate::{LeaderboardRow, ReadError};

/// A leaderboard as a Parquet file: one row per run. Reads what is there, puts a run's row in, and writes everything again.
///
/// Columns that this crate does not know are kept as they are, behind ours, and are absent in rows that are put in. Columns
/// of ours get our types: `null` columns, whole numbers for numbers and the other way round, times as text (in UTC where
/// they have no zone), numbers as text. Of a struct the fields that only theirs has stay. What would lose something is an
/// error that names the column. What describes the whole file (pandas' and datasets' notes on its columns) is not kept.
///
/// All rows are in memory: a leaderboard has one per run.
///
/// ```
/// use wattspan_dataset::{LeaderboardFile, LeaderboardRow, TableRow};
///
/// let mut row = LeaderboardRow::default();
/// row.run_id = "demo-1".to_owned();
/// row.success_rate = Some(95.0);
///
/// let mut board = LeaderboardFile::new();
/// board.put([row.into_row()])?;
/// let again = LeaderboardFile::from_bytes(board.to_bytes()?)?;
/// assert_eq!(again.rows()?[0].success_rate, Some(95.0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct LeaderboardFile {
    batch: RecordBatch,
}

impl LeaderboardFile {
    /// Without rows.
    pub fn new() -> Self {
        Self { batch: RecordBatch::new_empty(schema(Table::Leaderboard)) }
    }

    /// Reads a file.
    ///
    /// # Errors
    /// When it is not there, cannot be read or is no leaderboard. Files that are compressed otherwise than with Snappy are
    /// not read.
    pub fn read(path: impl AsRef<Path>) -> Result<Self, ReadError> {
        let path = path.as_ref();
        let bytes = fs::read(path).map_err(|source| match source.kind() {
            io::ErrorKind::NotFound => ReadError::Missing { path: path.to_owned() },
            _ => ReadError::Io { path: path.to_owned(), source },
        })?;
        Self::parse(bytes, path)
    }

    /// Reads a file that is in memory.
    ///
    /// # Errors
    /// As [`LeaderboardFile::read`].
    pub fn from_bytes(bytes: impl Into<Vec<u8>>) -> Result<Self, ReadError> {
        Self::parse(bytes.into(), Path::new(name(Table::Leaderboard)))
    }

    fn parse(bytes: Vec<u8>, path: &Path) -> Result<Self, ReadError> {
        let format = |reason: String| ReadError::Format { path: path.to_owned(), reason };
        let unread = |error: ParquetError| format(error.to_string());
        let reader = ParquetRecordBatchReaderBuilder::try_new(Bytes::from(bytes)).map_err(unread)?;
        let schema = reader.schema().clone();
        let batches: Result<Vec<RecordBatch>, _> = reader.build().map_err(unread)?.collect();
        let batches = batches.map_err(|error| format(error.to_string()))?;
        let batch = arrow_select::concat::concat_batches(&schema, &batches);
        let batch = batch.map_err(|error| format(error.to_string()))?;
        let batch = merge::conform(&batch, &super::schema(Table::Leaderboard)).map_err(format)?;
        Ok(Self { batch })
    }

    /// Puts rows in. A row takes the place of what the file, or an earlier row of this call, says of the same run.
    ///
    /// # Errors
    /// When a row tells no run, or has another type in a column than the table. Then nothing has changed.
    pub fn put(&mut self, rows: impl IntoIterator<Item = Row>) -> Result<(), SinkError> {
        let refuse = |reason: String| refused(Path::new(name(Table::Leaderboard)), &reason);
        // Where a run stands in the order of first mention, and its latest row.
        let mut places: HashMap<String, usize> = HashMap::new();
        let mut lines: Vec<Vec<u8>> = Vec::new();
        for row in rows {
            let run = run_of(&row).ok_or_else(|| refuse("a row tells no run".to_owned()))?.to_owned();
            let mut line = serde_json::to_vec(&row).map_err(|error| refuse(error.to_string()))?;
            line.push(b'\n');
            let place = *places.entry(run).or_insert(lines.len());
            match lines.get_mut(place) {
                Some(earlier) => *earlier = line,
                None => lines.push(line),
            }
        }
        let kept: BooleanArray =
            self.runs().map(|run| Some(!run.is_some_and(|run| places.contains_key(run)))).collect();
        let old = arrow_select::filter::filter_record_batch(&self.batch, &kept);
        let old = old.map_err(|error| refuse(error.to_string()))?;
        self.batch =
            merge::append(&old, &schema(Table::Leaderboard), &lines.concat(), lines.len()).map_err(refuse)?;
        Ok(())
    }

    /// How many rows there are.
    pub fn len(&self) -> usize {
        self.batch.num_rows()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The runs, in the order of their rows. Rows without one, which only others write, are left out.
    pub fn run_ids(&self) -> Vec<String> {
        self.runs().flatten().map(str::to_owned).collect()
    }

    /// The rows with this crate's columns.
    ///
    /// # Errors
    /// When a row has something else in a column than this crate writes there.
    pub fn rows(&self) -> Result<Vec<LeaderboardRow>, ReadError> {
        let format = |reason: String| ReadError::Format { path: name(Table::Leaderboard).into(), reason };
        let json = merge::encode(&self.batch).map_err(format)?;
        let lines = json.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
        lines.map(|line| typed(line).map_err(|error| format(error.to_string()))).collect()
    }

    /// The file's bytes.
    ///
    /// # Errors
    /// When a foreign column has a type that Parquet cannot hold.
    pub fn to_bytes(&self) -> Result<Vec<u8>, SinkError> {
        let path = Path::new(name(Table::Leaderboard));
        let write = || {
            let mut writer = ArrowWriter::try_new(Vec::new(), self.batch.schema(), Some(properties()))?;
            writer.write(&self.batch)?;
            writer.into_inner()
        };
        write().map_err(|error: ParquetError| refused(path, &error))
    }

    /// Writes the file, whole or not at all.
    ///
    /// # Errors
    /// When it cannot be written; a file that was there before is still there.
    pub fn write(&self, path: impl AsRef<Path>) -> Result<(), SinkError> {
        let (folder, name) = split(path.as_ref())?;
        let mut file = Part::create(folder, name)?;
        file.write(&self.to_bytes()?)?;
        file.whole()?.rename_durably()
    }

    fn runs(&self) -> impl Iterator<Item = Option<&str>> {
        let runs = self.batch.column_by_name("run_id").and_then(|column| column.as_string_opt::<i32>());
        (0..self.len()).map(move |row| runs.filter(|runs| runs.is_valid(row)).map(|runs| runs.value(row)))
    }
}

impl Default for LeaderboardFile {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for LeaderboardFile {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("LeaderboardFile").field("rows", &self.len()).finish_non_exhaustive()
    }
}

/// What is never absent in our rows may be in those of others; then it has its default.
fn typed(line: &[u8]) -> serde_json::Result<LeaderboardRow> {
    fn without_nulls(value: &mut Value) {
        match value {
            Value::Object(cells) => {
                cells.retain(|_, cell| !cell.is_null());
                cells.values_mut().for_each(without_nulls);
            }
            Value::Array(items) => items.iter_mut().for_each(without_nulls),
            _ => {}
        }
    }
    let mut row: Value = serde_json::from_slice(line)?;
    without_nulls(&mut row);
    serde_json::from_value(row)
}

fn run_of(row: &Row) -> Option<&str> {
    row.0.iter().find(|(name, _)| name == "run_id").and_then(|(_, cell)| match cell {
        Cell::Text(run) if !run.is_empty() => Some(run.as_ref()),
        _ => None,
    })
}
