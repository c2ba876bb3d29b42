//! Tables as Parquet, with the schema that the rows have.
//!
//! Columns keep their names, order and nullability. Free-form maps (attributes) become JSON text, since Parquet's columns
//! are known beforehand. Times are microseconds in UTC, whole numbers 64-bit.

mod leaderboard;
mod merge;
mod table;

use std::io;
use std::path::Path;
use std::sync::Arc;

use arrow_schema::{DataType, Field, Fields, Schema, SchemaRef, TimeUnit};
use parquet::basic::Compression;
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use wattspan_core::{SinkError, Table};

pub use leaderboard::LeaderboardFile;
pub use table::ParquetTable;

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

fn schema(table: Table) -> SchemaRef {
    Arc::new(Schema::new(fields(columns(table))))
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

fn properties() -> WriterProperties {
    WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        .set_max_row_group_row_count(Some(GROUP))
        .build()
}

/// A row that has no place in its table, or a file that does not take it.
fn refused(path: &Path, error: &impl ToString) -> SinkError {
    SinkError::Fatal {
        sink: "the Parquet dataset",
        operation: "write a table",
        reason: format!("{}: {}", path.display(), error.to_string()),
        remedy: "write rows of this crate's types or leave Parquet out; what was there before is kept".into(),
    }
}

/// A full disk is told from a row that does not fit.
fn unwritten(path: &Path, error: &ParquetError) -> SinkError {
    let ParquetError::External(source) = error else { return refused(path, error) };
    match source.downcast_ref::<io::Error>() {
        Some(source) => crate::json::at("write a Parquet file", path, source),
        None => refused(path, error),
    }
}

/// Rows in memory before they are written as a group.
const GROUP: usize = 65_536;
