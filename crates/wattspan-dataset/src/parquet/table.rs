//! One table as a file, written as its rows come.

use std::fmt;
use std::fs::File;
use std::path::{Path, PathBuf};

use arrow_json::ReaderBuilder;
use arrow_json::reader::Decoder;
use parquet::arrow::ArrowWriter;
use serde_json::value::RawValue;
use wattspan_core::{Row, SinkError, Table};

use super::{properties, refused, schema, unwritten};
use crate::json::{Whole, at, beside, items, members};
use crate::{Column, ColumnType, JsonRun, ReplayError, columns};

/// Writes one table as a Parquet file, with the columns that [`columns`] lists; what else a row holds is left out. Some
/// thousand rows are in memory as they are, and up to 65 536 as compressed columns.
///
/// Until [`ParquetTable::finish`] the file has a hidden name beside its own, and a file that was there stays. Dropped before,
/// nothing is left.
pub struct ParquetTable {
    table: Table,
    /// Where the rows are until the end.
    path: PathBuf,
    whole: Whole,
    writer: ArrowWriter<File>,
    decoder: Decoder,
    waiting: usize,
    rows: u64,
    json: Vec<u8>,
    text: Vec<u8>,
}

impl ParquetTable {
    /// Begins a file.
    ///
    /// # Errors
    /// When it cannot be written there.
    pub fn create(table: Table, path: impl AsRef<Path>) -> Result<Self, SinkError> {
        let (path, whole) = beside(path.as_ref())?;
        let file = File::create(&path).map_err(|error| at("make a file", &path, &error))?;
        let schema = schema(table);
        let writer = ArrowWriter::try_new(file, schema.clone(), Some(properties()))
            .map_err(|error| unwritten(&path, &error))?;
        let decoder = ReaderBuilder::new(schema)
            .with_batch_size(BATCH)
            .build_decoder()
            .map_err(|error| refused(&path, &error))?;
        Ok(Self {
            table,
            path,
            whole,
            writer,
            decoder,
            waiting: 0,
            rows: 0,
            json: Vec::new(),
            text: Vec::new(),
        })
    }

    /// Adds rows.
    ///
    /// # Errors
    /// When a row has another type in a column than the table, which some calls later or [`ParquetTable::finish`] may tell; or
    /// when the file cannot be written. It is of no use then: begin it anew.
    pub fn write(&mut self, rows: &[Row]) -> Result<(), SinkError> {
        let mut json = std::mem::take(&mut self.json);
        let mut result = Ok(());
        for row in rows {
            json.clear();
            let written = serde_json::to_writer(&mut json, row).map_err(|error| refused(&self.path, &error));
            result = written.and_then(|()| self.add(&json));
            if result.is_err() {
                break;
            }
        }
        self.json = json;
        result
    }

    /// Stores the file and gives it its name. Answers how many rows it has.
    ///
    /// # Errors
    /// When it cannot be written; a file that was there before is still there.
    pub fn finish(self) -> Result<u64, SinkError> {
        let (rows, whole) = self.store()?;
        whole.rename_durably()?;
        Ok(rows)
    }

    /// Adds a row that is JSON already.
    pub(crate) fn add(&mut self, row: &[u8]) -> Result<(), SinkError> {
        if has_map(columns(self.table)) {
            let mut text = std::mem::take(&mut self.text);
            text.clear();
            let written = maps_to_text(row, ColumnType::Struct(columns(self.table)), &mut text);
            let added =
                written.map_err(|error| refused(&self.path, &error)).and_then(|()| self.decode(&text));
            self.text = text;
            added?;
        } else {
            self.decode(row)?;
        }
        self.rows += 1;
        self.waiting += 1;
        if self.waiting >= BATCH { self.flush() } else { Ok(()) }
    }

    /// Stores the file, which then waits for its name.
    pub(crate) fn store(mut self) -> Result<(u64, Whole), SinkError> {
        self.flush()?;
        let file = self.writer.into_inner().map_err(|error| unwritten(&self.path, &error))?;
        file.sync_all().map_err(|error| at("store a file", &self.path, &error))?;
        Ok((self.rows, self.whole))
    }

    fn decode(&mut self, row: &[u8]) -> Result<(), SinkError> {
        for part in [row, b"\n"] {
            let used = self.decoder.decode(part).map_err(|error| refused(&self.path, &error))?;
            if used != part.len() {
                return Err(refused(&self.path, &"a row did not fit into its batch"));
            }
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<(), SinkError> {
        self.waiting = 0;
        if let Some(batch) = self.decoder.flush().map_err(|error| refused(&self.path, &error))? {
            self.writer.write(&batch).map_err(|error| unwritten(&self.path, &error))?;
        }
        Ok(())
    }
}

impl fmt::Debug for ParquetTable {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("ParquetTable")
            .field("table", &self.table)
            .field("path", &self.path)
            .field("rows", &self.rows)
            .finish_non_exhaustive()
    }
}

impl JsonRun {
    /// Writes a table of the finished run as a Parquet file, as [`JsonDataset::parquet`](crate::JsonDataset::parquet) does.
    /// Answers how many rows it has.
    ///
    /// # Errors
    /// When the run is not finished or its file cannot be read; when a row is not of this crate's types or the file cannot
    /// be written.
    pub fn write_parquet(&self, table: Table, path: impl AsRef<Path>) -> Result<u64, ReplayError> {
        self.check_finished()?;
        let mut rows = self.rows(table)?;
        let mut file = ParquetTable::create(table, path)?;
        while let Some(row) = rows.next_json()? {
            file.add(row)?;
        }
        Ok(file.finish()?)
    }
}

fn has_map(columns: &[Column]) -> bool {
    columns.iter().any(|column| holds_map(column.kind))
}

fn holds_map(kind: ColumnType) -> bool {
    match kind {
        ColumnType::Map => true,
        ColumnType::List(item) => holds_map(*item),
        ColumnType::Struct(columns) => has_map(columns),
        _ => false,
    }
}

/// Copies a value, and makes text of what stands where the schema has a map.
fn maps_to_text(value: &[u8], kind: ColumnType, into: &mut Vec<u8>) -> serde_json::Result<()> {
    match (kind, value.first()) {
        (ColumnType::Map, Some(b'{')) => {
            let value: &RawValue = serde_json::from_slice(value)?;
            serde_json::to_writer(into, value.get())?;
        }
        (ColumnType::Struct(columns), Some(b'{')) => {
            let mut before = b'{';
            for (name, value) in members(value) {
                let column = columns.iter().find(|column| column.name.as_bytes() == name);
                // What is no column has no place.
                let Some(column) = column else { continue };
                into.extend_from_slice(&[before, b'"']);
                into.extend_from_slice(name);
                into.extend_from_slice(b"\":");
                maps_to_text(value, column.kind, into)?;
                before = b',';
            }
            into.extend_from_slice(if before == b'{' { b"{}" } else { b"}" });
        }
        (ColumnType::List(item), Some(b'[')) if holds_map(*item) => {
            let mut before = b'[';
            for value in items(value) {
                into.push(before);
                maps_to_text(value, *item, into)?;
                before = b',';
            }
            into.extend_from_slice(if before == b'[' { b"[]" } else { b"]" });
        }
        _ => into.extend_from_slice(value),
    }
    Ok(())
}

/// Rows that are turned into columns at once.
const BATCH: usize = 4_096;
