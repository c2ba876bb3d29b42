//! A run as a folder of JSON files.

mod dataset;
mod fault;
mod files;
mod journal;
mod keys;
mod peer;
mod read;
mod replay;
mod rows;
mod scan;
#[cfg(test)]
mod tests;
mod text;

pub use dataset::{JsonDataset, Recovered};
pub use read::{JsonRun, ReadError};
pub use replay::{Replay, ReplayError, Replayed};
pub use rows::Rows;

#[cfg(feature = "parquet")]
pub(crate) use fault::at;
#[cfg(feature = "parquet")]
pub(crate) use files::{Part, Whole, beside, split};
#[cfg(feature = "parquet")]
pub(crate) use scan::{items, members};
