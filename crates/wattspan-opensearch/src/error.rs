//! What can go wrong, by what the caller can do about it.

use std::time::Duration;

use wattspan_core::SinkError;

/// Why a server could not be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An option cannot be used. Nothing was sent.
    #[error("{option}: {reason}")]
    Option {
        /// Its name.
        option: &'static str,
        /// What is wrong with it, and the remedy.
        reason: String,
    },
    /// Nobody answers, or the connection broke. Later may be better.
    #[error("{endpoint} could not {operation}: {reason}")]
    Unreachable {
        /// Scheme, host and port.
        endpoint: String,
        /// What was asked of it.
        operation: &'static str,
        /// What happened.
        reason: String,
    },
    /// It is there and has no room for this request now (429, 502, 503, 504).
    #[error("{endpoint} is too busy to {operation} ({status})")]
    Busy {
        /// Scheme, host and port.
        endpoint: String,
        /// What was asked of it.
        operation: &'static str,
        /// Its status.
        status: u16,
        /// How long it asks to be left alone.
        after: Option<Duration>,
    },
    /// It wants other credentials (401) or more rights (403).
    #[error("{endpoint} refused to {operation} ({status}): {remedy}")]
    Denied {
        /// Scheme, host and port.
        endpoint: String,
        /// What was asked of it.
        operation: &'static str,
        /// 401 or 403.
        status: u16,
        /// What to do.
        remedy: String,
    },
    /// It is not a server that this crate can write to.
    #[error("{server} cannot be used: {remedy}")]
    Unsupported {
        /// What it says it is.
        server: String,
        /// What to use instead.
        remedy: String,
    },
    /// It answered with something else than what was asked for.
    #[error("{endpoint} could not {operation} ({status}): {reason}")]
    Answer {
        /// Scheme, host and port.
        endpoint: String,
        /// What was asked of it.
        operation: &'static str,
        /// Its status.
        status: u16,
        /// Its reason.
        reason: String,
    },
    /// Documents that the server refused cannot be kept; they are still in memory.
    #[error(
        "documents that the server refused cannot be kept in {path}: {reason}: free some space or name another folder"
    )]
    File {
        /// Which file.
        path: std::path::PathBuf,
        /// What happened.
        reason: String,
    },
}

impl Error {
    /// Whether the same request may succeed later.
    pub fn is_transient(&self) -> bool {
        matches!(self, Self::Unreachable { .. } | Self::Busy { .. })
    }

    /// The same for a sink's caller. Local files are never touched, so each message says how to go on from them.
    pub(crate) fn into_sink(self, operation: &'static str) -> SinkError {
        let after = match &self {
            Self::Busy { after, .. } => *after,
            _ => None,
        };
        if self.is_transient() {
            return SinkError::Retry { sink: SINK, operation, reason: format!("{self}; {AGAIN}"), after };
        }
        SinkError::Fatal { sink: SINK, operation, reason: self.to_string(), remedy: AGAIN.into() }
    }
}

/// The sink's name in messages.
pub(crate) const SINK: &str = "opensearch";

/// How to go on after a failure.
pub(crate) const AGAIN: &str = "files on this machine are as they were: `wattspan push DIR --to opensearch` sends a run again and stores nothing twice";
