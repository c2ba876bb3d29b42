//! What can go wrong before there is a report.

use std::path::PathBuf;

use wattspan_dataset::ReadError;

/// No report can be made of a folder. What is missing in a folder of which one can be made stands in the report.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReportError {
    /// No folder was named.
    #[error("no folder of a run was named")]
    NoFolder,
    /// The folder holds neither a run nor folders of runs.
    #[error("{folder} holds no run: name a folder with `results.json`, or one that holds such folders")]
    NoRun {
        /// Which folder.
        folder: PathBuf,
    },
    /// The run has a journal and no tables: it still goes on, or it crashed.
    #[error(
        "{folder} holds a run that has not ended: let it end, run it again with the same run id to go on, \
         or make its tables of its journal with `JsonDataset::recover`"
    )]
    Unfinished {
        /// Which folder.
        folder: PathBuf,
    },
    /// The folder cannot be looked into.
    #[error("{folder} cannot be read")]
    Io {
        /// Which folder.
        folder: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
    /// None of the run's tables can be read; this is why the first one cannot.
    #[error("no table in {folder} can be read")]
    Unreadable {
        /// Which folder.
        folder: PathBuf,
        /// The cause.
        source: ReadError,
    },
}
