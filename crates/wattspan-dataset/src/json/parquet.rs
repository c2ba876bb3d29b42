//! The four tables as Parquet, from the journal, with the schema that the rows have.
//!
//! Columns keep their names, order and nullability. Free-form maps (attributes) become JSON text, since Parquet's columns
//! are known beforehand. Times are microseconds in UTC, whole numbers 64-bit.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_json::ReaderBuilder;
use arrow_json::reader::Decoder;
use arrow_schema::{DataType, Field, Fields, Schema, SchemaRef, TimeUnit};
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::file::properties::WriterProperties;
use serde_json::Value;
use wattspan_core::{SinkError, Table};

use super::fault::{at, fatal};
use super::journal::Journal;
use crate::{Column, ColumnType, columns};

/// The file of a table.
pub(crate) const fn name(table: Table) -> &'static str {
    match table {
        Table::Results => "results.parquet",
        Table::Traces => "traces.parquet",
        Table::Metrics => "metrics.parquet",
        Table::Leaderboard => "leaderboard.parquet",
    }
}

/// Writes a table below a hidden name and stores it. `extra` is a row that the journal has not, as JSON.
pub(crate) fn write(
    journal: &Journal,
    table: Table,
    extra: Option<&[u8]>,
    folder: &Path,
) -> Result<(PathBuf, PathBuf), SinkError> {
    let (path, target) = (folder.join(format!(".{}.part", name(table))), folder.join(name(table)));
    let written = write_to(&path, journal, table, extra);
    if written.is_err() {
        // Left behind, it is taken over by the next attempt.
        let _ = fs::remove_file(&path);
    }
    written.map(|()| (path, target))
}

fn write_to(path: &Path, journal: &Journal, table: Table, extra: Option<&[u8]>) -> Result<(), SinkError> {
    let file = File::create(path).map_err(|error| at("make a file", path, &error))?;
    let schema: SchemaRef = Arc::new(Schema::new(fields(columns(table))));
    let properties = WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        .set_max_row_group_row_count(Some(GROUP))
        .build();
    let writer = ArrowWriter::try_new(file, Arc::clone(&schema), Some(properties))
        .map_err(|error| refused(path, &error))?;
    let decoder = ReaderBuilder::new(schema)
        .with_batch_size(BATCH)
        .build_decoder()
        .map_err(|error| refused(path, &error))?;
    let mut rows = Rows { path, table, writer, decoder, waiting: 0 };
    journal.each(table, |row| rows.add(row))?;
    if let Some(row) = extra {
        rows.add(row)?;
    }
    rows.close()
}

/// Rows on their way into a file.
struct Rows<'a> {
    path: &'a Path,
    table: Table,
    writer: ArrowWriter<File>,
    decoder: Decoder,
    waiting: usize,
}

impl Rows<'_> {
    fn add(&mut self, row: &[u8]) -> Result<(), SinkError> {
        if has_map(columns(self.table)) {
            let mut value: Value = serde_json::from_slice(row).map_err(|error| refused(self.path, &error))?;
            maps_to_text(&mut value, columns(self.table));
            let text = serde_json::to_vec(&value).map_err(|error| refused(self.path, &error))?;
            self.decode(&text)?;
        } else {
            self.decode(row)?;
        }
        self.waiting += 1;
        if self.waiting >= BATCH { self.flush() } else { Ok(()) }
    }

    fn decode(&mut self, row: &[u8]) -> Result<(), SinkError> {
        for part in [row, b"\n"] {
            let used = self.decoder.decode(part).map_err(|error| refused(self.path, &error))?;
            if used != part.len() {
                return Err(refused(self.path, &"a row did not fit into its batch"));
            }
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<(), SinkError> {
        self.waiting = 0;
        if let Some(batch) = self.decoder.flush().map_err(|error| refused(self.path, &error))? {
            self.writer.write(&batch).map_err(|error| refused(self.path, &error))?;
        }
        Ok(())
    }

    fn close(mut self) -> Result<(), SinkError> {
        self.flush()?;
        let file = self.writer.into_inner().map_err(|error| refused(self.path, &error))?;
        file.sync_all().map_err(|error| at("store a file", self.path, &error))
    }
}

fn fields(columns: &[Column]) -> Fields {
    let field = |column: &Column| Field::new(column.name, data_type(column.kind), column.nullable);
    columns.iter().map(field).collect()
}

fn data_type(kind: ColumnType) -> DataType {
    match kind {
        ColumnType::Bool => DataType::Boolean,
        ColumnType::Int => DataType::Int64,
        ColumnType::Float => DataType::Float64,
        ColumnType::Text | ColumnType::Map => DataType::Utf8,
        ColumnType::Time => DataType::Timestamp(TimeUnit::Microsecond, Some("+00:00".into())),
        ColumnType::List(item) => DataType::List(Arc::new(Field::new("item", data_type(*item), false))),
        ColumnType::Struct(columns) => DataType::Struct(fields(columns)),
    }
}

fn has_map(columns: &[Column]) -> bool {
    fn holds(kind: ColumnType) -> bool {
        match kind {
            ColumnType::Map => true,
            ColumnType::List(item) => holds(*item),
            ColumnType::Struct(columns) => has_map(columns),
            _ => false,
        }
    }
    columns.iter().any(|column| holds(column.kind))
}

fn maps_to_text(row: &mut Value, columns: &[Column]) {
    for column in columns {
        if let Some(value) = row.get_mut(column.name) {
            map_to_text(value, column.kind);
        }
    }
}

fn map_to_text(value: &mut Value, kind: ColumnType) {
    match kind {
        ColumnType::Map if !value.is_null() => *value = Value::String(value.to_string()),
        ColumnType::Struct(columns) => maps_to_text(value, columns),
        ColumnType::List(item) => {
            for value in value.as_array_mut().into_iter().flatten() {
                map_to_text(value, *item);
            }
        }
        _ => {}
    }
}

fn refused(path: &Path, error: &impl ToString) -> SinkError {
    fatal(
        "write a Parquet file",
        format!("{}: {}", path.display(), error.to_string()),
        "write rows of this crate's types, free some space, or leave Parquet out; the journal is kept",
    )
}

/// Rows that are turned into columns at once.
const BATCH: usize = 4_096;
/// Rows in memory before they are written as a group.
const GROUP: usize = 65_536;
