//! The four tables of a run (results, traces, metrics, leaderboard) as typed rows, what can be summed from them, and files
//! of JSON that a crash cannot spoil.
//!
//! Take this crate to write or read a run's tables, or to write a sink of your own that needs their schema. To run an
//! evaluation, take `wattspan-eval`; to measure a program, the facade `wattspan`.
//!
//! ```
//! use wattspan_core::{Cell, DatasetSink, RunId, Table};
//! use wattspan_dataset::{JsonDataset, JsonRun, ResultRow, TableRow};
//!
//! # let folder = tempfile::tempdir()?;
//! # let folder = folder.path();
//! # let block_on = futures_util::future::FutureExt::now_or_never;
//! # block_on(async {
//! let mut row = ResultRow::default();
//! row.run_id = "demo-1".to_owned();
//! row.task_id = Some("capital-of-france".to_owned());
//! row.success = Some(true);
//! row.energy_j = Some(12.5);
//!
//! let mut sink = JsonDataset::new(folder);
//! sink.create(&RunId::new("demo-1")?).await?;
//! sink.write(Table::Results, &[row.into_row()]).await?;
//! let place = sink.finish(&Cell::Map(vec![])).await?;
//!
//! let run = JsonRun::open(place);
//! assert_eq!(run.results()?[0].energy_j, Some(12.5));
//! // Tables without rows are there too, and the leaderboard row was summed up from the others.
//! assert_eq!(run.metrics()?.len(), 0);
//! assert_eq!(run.leaderboard()?.success_rate, Some(100.0));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # }).expect("files are written without waiting")?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Limits
//! `JsonDataset` does blocking file I/O inside its async methods: call it from a thread that may block. Whole numbers are
//! signed 64-bit; larger ones are absent. [`Replay`] writes a finished folder into any other sink. A run's metric rows are never all in memory; of each result and trace an index
//! entry of about 100 bytes is.
//!
//! # Features
//! | feature | what it adds |
//! | --- | --- |
//! | `parquet` | the tables as Parquet with the same columns: beside the JSON (`JsonDataset::parquet`), from a finished folder (`JsonRun::write_parquet`), as rows come (`ParquetTable`); `LeaderboardFile` merges leaderboards |
//! | `spans` | `SpanCollector`, an OpenTelemetry span exporter that fills the traces table |

mod aggregate;
mod attributes;
mod collect;
mod json;
mod metadata;
#[cfg(feature = "parquet")]
mod parquet;
mod quantile;
mod redact;
mod rows;
mod schema;
mod time;

pub use aggregate::RunAggregate;
pub use attributes::Attributes;
#[cfg(feature = "spans")]
pub use collect::SpanCollector;
pub use collect::{CaseTotals, MetricCollector, ResultCollector};
pub use json::{JsonDataset, JsonRun, ReadError, Recovered, Replay, ReplayError, Replayed, Rows};
pub use metadata::{DeviceInfo, EnergySummary, Metadata};
#[cfg(feature = "parquet")]
pub use parquet::{LeaderboardFile, ParquetTable};
pub use quantile::Quantiles;
pub use redact::redact;
pub use rows::{
    EventRow, GpuMemory, GpuSummary, HardwareDetail, LeaderboardRow, LinkRow, MetricRow, ResourceRow,
    ResultRow, SpanRow, StatusRow, TraceRow,
};
pub use schema::{Column, ColumnType, TableRow, columns};
pub use time::{InvalidTimestamp, Timestamp};
