//! Errors of the traits, named by what the caller can do.

use std::borrow::Cow;
use std::time::Duration;

/// Opening a collector failed on a machine that has the hardware. (Without it, opening is `Ok(None)`.)
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// Access is forbidden.
    #[error("{what} may not be read: {remedy}")]
    Denied {
        /// Driver, file or library.
        what: String,
        /// What the user can do.
        remedy: Cow<'static, str>,
    },
    /// The driver is there and broken.
    #[error("{what} does not work: {remedy}")]
    Broken {
        /// Driver, file or library.
        what: String,
        /// What the user can do.
        remedy: Cow<'static, str>,
        /// The cause.
        source: Option<Box<dyn std::error::Error + Send + Sync>>,
    },
    /// A selection names a device that is not there.
    #[error("no device {selection:?}: {remedy}")]
    NoSuchDevice {
        /// What was asked for.
        selection: String,
        /// What there is.
        remedy: Cow<'static, str>,
    },
}

/// A whole tick failed. The sampler keeps the collector and retries with back-off.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CollectError {
    /// The next tick may succeed.
    #[error("{collector} gave no samples: {reason}")]
    Retry {
        /// Which collector.
        collector: &'static str,
        /// Why.
        reason: Cow<'static, str>,
    },
    /// The collector will not recover; it is dropped and said once.
    #[error("{collector} has stopped for good: {reason}")]
    Dead {
        /// Which collector.
        collector: &'static str,
        /// Why.
        reason: Cow<'static, str>,
    },
}

/// Writing to a dataset failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SinkError {
    /// The same call may succeed later.
    #[error("{sink} could not {operation} and may be retried: {reason}")]
    Retry {
        /// Which sink.
        sink: &'static str,
        /// What it was doing.
        operation: &'static str,
        /// Why it failed.
        reason: String,
        /// How long the other side asks to wait.
        after: Option<Duration>,
    },
    /// Some rows were refused; the others are stored.
    #[error("{sink} refused {rows} rows: {reason}; they are kept in {kept_in}")]
    Refused {
        /// Which sink.
        sink: &'static str,
        /// How many.
        rows: u64,
        /// Reason of the first.
        reason: String,
        /// Where they can be found.
        kept_in: String,
    },
    /// It will not succeed until the user changes something.
    #[error("{sink} could not {operation}: {reason}: {remedy}")]
    Fatal {
        /// Which sink.
        sink: &'static str,
        /// What it was doing.
        operation: &'static str,
        /// Why it failed.
        reason: String,
        /// What the user can do.
        remedy: Cow<'static, str>,
    },
}
