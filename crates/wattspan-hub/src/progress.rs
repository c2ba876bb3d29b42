//! How far a push is.

use std::fmt;
use std::time::Duration;

use wattspan_core::Table;

/// A step of a push. `Display` is a line for people.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Progress {
    /// A table is being made into Parquet.
    Writing {
        /// Which one.
        table: Table,
    },
    /// A file is on its way.
    Uploading {
        /// To which repository.
        repo: String,
        /// Its path there.
        path: String,
        /// Bytes that have gone out.
        sent: u64,
        /// Bytes of the file.
        total: u64,
    },
    /// Files have arrived and are made part of the repository.
    Committing {
        /// Which one.
        repo: String,
    },
    /// Nothing is done for a while.
    Waiting {
        /// How long.
        time: Duration,
        /// Why.
        reason: String,
    },
    /// A repository is whole.
    Done {
        /// Which one.
        repo: String,
        /// Where it can be looked at.
        url: String,
        /// Whether there was anything to change.
        changed: bool,
    },
}

impl fmt::Display for Progress {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Writing { table } => write!(out, "writing {} as Parquet", table.as_str()),
            Self::Uploading { repo, path, sent, total } => {
                let percent = if *total == 0 { 100 } else { sent.saturating_mul(100) / total };
                write!(out, "uploading {path} to {repo}: {percent} % of {total} bytes")
            }
            Self::Committing { repo } => write!(out, "committing to {repo}"),
            Self::Waiting { time, reason } => write!(out, "waiting {:.1} s: {reason}", time.as_secs_f64()),
            Self::Done { url, changed: true, .. } => write!(out, "pushed {url}"),
            Self::Done { url, .. } => write!(out, "nothing to change in {url}"),
        }
    }
}
