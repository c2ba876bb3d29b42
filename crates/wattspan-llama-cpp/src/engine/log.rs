//! llama.cpp's log: to `tracing`, and for the length of one call kept, since the library gives its reasons only there.

use std::fmt::Write as _;
use std::sync::{Arc, Mutex, PoisonError};

use tracing::dispatcher::{self, Dispatch};
use tracing::field::{Field, Visit};
use tracing::level_filters::LevelFilter;
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::Interest;
use tracing::{Event, Level, Metadata, Subscriber};

/// Calls something of llama.cpp's on this thread and answers with the errors that it logged besides. All that is logged
/// goes to the current subscriber as ever.
pub(crate) fn with_reasons<T>(call: impl FnOnce() -> T) -> (T, Vec<String>) {
    let lines = Arc::new(Mutex::new(Vec::new()));
    let next = dispatcher::get_default(Clone::clone);
    let keep = Keep { next, lines: Arc::clone(&lines), limit: LevelFilter::current() };
    let result = dispatcher::with_default(&Dispatch::new(keep), call);
    let lines = std::mem::take(&mut *lines.lock().unwrap_or_else(PoisonError::into_inner));
    (result, lines)
}

/// Passes everything on and keeps llama.cpp's errors.
struct Keep {
    next: Dispatch,
    lines: Arc<Mutex<Vec<String>>>,
    /// What was let through before: of other targets this subscriber asks for no more.
    limit: LevelFilter,
}

impl Keep {
    fn wants(metadata: &Metadata<'_>) -> bool {
        metadata.target() == TARGET && *metadata.level() == Level::ERROR
    }
}

impl Subscriber for Keep {
    fn register_callsite(&self, metadata: &'static Metadata<'static>) -> Interest {
        // What the next one says is remembered for good. The binding's own log events are not registered at all.
        if Self::wants(metadata) { Interest::sometimes() } else { self.next.register_callsite(metadata) }
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        Some(self.limit.max(LevelFilter::ERROR))
    }

    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        Self::wants(metadata) || self.next.enabled(metadata)
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        self.next.new_span(span)
    }

    fn record(&self, span: &Id, values: &Record<'_>) {
        self.next.record(span, values);
    }

    fn record_follows_from(&self, span: &Id, follows: &Id) {
        self.next.record_follows_from(span, follows);
    }

    fn event(&self, event: &Event<'_>) {
        if Self::wants(event.metadata()) {
            let mut text = Text(String::new());
            event.record(&mut text);
            let line = text.0.trim().to_owned();
            self.lines.lock().unwrap_or_else(PoisonError::into_inner).push(line);
        }
        if self.next.enabled(event.metadata()) {
            self.next.event(event);
        }
    }

    fn enter(&self, span: &Id) {
        self.next.enter(span);
    }

    fn exit(&self, span: &Id) {
        self.next.exit(span);
    }

    fn clone_span(&self, id: &Id) -> Id {
        self.next.clone_span(id)
    }

    fn try_close(&self, id: Id) -> bool {
        self.next.try_close(id)
    }
}

struct Text(String);

impl Visit for Text {
    fn record_str(&mut self, field: &Field, value: &str) {
        if field.name() == "message" {
            self.0.push_str(value);
        }
    }

    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        if field.name() == "message" {
            // Writing to a string cannot fail.
            let _ = write!(self.0, "{value:?}");
        }
    }
}

/// Target of llama.cpp's lines in llama-cpp-2.
const TARGET: &str = "llama-cpp-2";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_of_llama_cpp_are_kept_and_other_lines_are_not() {
        let ((), lines) = with_reasons(|| {
            tracing::error!(target: "llama-cpp-2", "no such tensor");
            tracing::info!(target: "llama-cpp-2", "loading");
            tracing::error!("of another");
        });
        assert_eq!(lines, ["no such tensor"]);
        assert_eq!(with_reasons(|| 3), (3, vec![]));
    }
}
