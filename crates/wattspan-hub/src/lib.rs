//! Pushes a finished run to the Hugging Face Hub: its results, traces and metrics as a dataset each, and its row into a
//! leaderboard that many runs share.
//!
//! Take this crate to share runs that `wattspan-dataset` has written. To only write files, take that crate; to measure, the
//! facade `wattspan`.
//!
//! ```
//! use wattspan_core::{Cell, DatasetSink, RunId, Table};
//! use wattspan_dataset::{JsonDataset, ResultRow, TableRow};
//! use wattspan_hub::{Hub, HubOptions, Visibility};
//!
//! # let folder = tempfile::tempdir()?;
//! # let folder = folder.path();
//! # let block_on = futures_util::future::FutureExt::now_or_never;
//! # let run = block_on(async {
//! let mut row = ResultRow::default();
//! row.run_id = "demo-1".to_owned();
//! row.energy_j = Some(12.5);
//! let mut sink = JsonDataset::new(folder.join("runs"));
//! sink.create(&RunId::new("demo-1")?).await?;
//! sink.write(Table::Results, &[row.into_row()]).await?;
//! let run = sink.finish(&Cell::Map(vec![])).await?;
//! # Ok::<String, Box<dyn std::error::Error>>(run)
//! # }).expect("files are written without waiting")?;
//!
//! let options = HubOptions::from_env(|name| std::env::var(name).ok())
//!     .namespace("my-team")
//!     .visibility(Visibility::Private);
//! let hub = Hub::new(options)?;
//! // Nothing is sent: `hub.push(run.as_ref(), &mut |step| eprintln!("{step}"))` would.
//! let files = hub.dry_run(run.as_ref(), &folder.join("preview"))?;
//! assert_eq!(files.len(), 11);
//! assert!(files[0].ends_with("data/train-00000-of-00001.parquet"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What it is made of
//! One commit per repository, through the Hub's commit API: create, preupload, LFS (in one piece or in parts), commit with
//! the parent that was read. A commit that comes too late is made again from what is there now. This is our own client of
//! some six calls: `hf-hub` 1.0 uploads by Xet only, takes bytes into the commit where the Hub chooses another transfer,
//! does not read again after a conflict, and brings a second TLS provider that is compiled with cmake.
//!
//! # Limits
//! The Parquet files of a push are written to the system's temporary folder first; memory does not grow with them. The
//! leaderboard is read into memory and is one file. LFS without Xet: bytes that are there already are not sent again, but
//! parts of a changed file are.
//!
//! # Features
//! None.

/// The code of this crate's page, compiled.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/hub.md")]
struct Page;

mod api;
mod card;
mod check;
mod error;
mod file;
mod hub;
mod names;
mod options;
mod progress;
mod push;
#[cfg(test)]
mod recordings;
mod sink;
mod stage;
mod token;
mod upload;
mod wire;

pub use check::{Finding, Mark};
pub use error::{HubError, PushError};
pub use hub::Hub;
pub use options::{HubOptions, Visibility};
pub use progress::Progress;
pub use push::{Pushed, PushedRepo};
pub use sink::HubSink;
pub use token::Token;
