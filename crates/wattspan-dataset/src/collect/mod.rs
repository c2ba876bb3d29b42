//! From what core's sinks get to rows.

mod metrics;
mod results;
#[cfg(feature = "spans")]
mod spans;

pub use metrics::MetricCollector;
pub use results::{CaseTotals, ResultCollector};
#[cfg(feature = "spans")]
pub use spans::SpanCollector;

use std::sync::{Mutex, MutexGuard, PoisonError};

/// A lock whose holder panicked is taken on: the collections behind it are whole after every statement.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
