//! What can keep a run from its end.

use wattspan_core::SinkError;

/// A run could not be done. What was finished before is in its sink.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EvalError {
    /// It cannot begin as asked.
    #[error("{reason}")]
    Setup {
        /// What is wrong and what to do.
        reason: String,
    },
    /// Rows could not be stored. Those before are: run again with the same run id to go on.
    #[error("the run's rows could not be stored: free the way and run again with the same run id to go on")]
    Sink {
        /// The cause.
        #[source]
        source: SinkError,
    },
    /// An earlier part of the run cannot be read.
    #[error("the earlier part of the run cannot be read: choose another run id to begin anew")]
    Earlier {
        /// The cause.
        #[source]
        source: wattspan_dataset::ReadError,
    },
}

impl EvalError {
    pub(crate) fn setup(reason: impl Into<String>) -> Self {
        Self::Setup { reason: reason.into() }
    }
}

impl From<SinkError> for EvalError {
    fn from(source: SinkError) -> Self {
        Self::Sink { source }
    }
}
