//! Calls into other people's code that must not take a thread of ours down.

use std::panic::{AssertUnwindSafe, catch_unwind};

/// Calls something that may panic; `None` and a log line when it does.
pub(crate) fn unwind<T>(whose: &str, call: impl FnOnce() -> T) -> Option<T> {
    let answer = catch_unwind(AssertUnwindSafe(call)).ok();
    if answer.is_none() {
        tracing::error!("{whose} panicked; what it was given may be lost");
    }
    answer
}
