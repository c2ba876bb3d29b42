//! Log events: exceptions, evaluation results, the details of an inference.
//!
//! OpenTelemetry's API has no global logger, so events go to a sink that the program gives. Without one, exceptions and
//! evaluation results become events on the span, and details are left out.

use std::time::SystemTime;

use opentelemetry::KeyValue;
use opentelemetry::logs::{AnyValue, LogRecord as _, Logger, Severity};
use opentelemetry::trace::SpanContext;
use serde_json::Value as Json;

/// Takes log events.
///
/// Called on the thread that ends an inference, tool or agent: must not block and must not panic.
pub trait EventSink: Send + Sync {
    /// One event.
    fn emit(&self, event: &Event);
}

/// A log event of the GenAI conventions.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Event {
    /// Its name.
    pub name: &'static str,
    /// OpenTelemetry severity number, where the convention fixes one.
    pub severity: Option<u8>,
    /// When it happened.
    pub time: SystemTime,
    /// The span that it belongs to.
    pub span: SpanContext,
    /// Attributes.
    pub attributes: Vec<KeyValue>,
    /// Prompts, answers and tool data, structured; empty unless the content policy is on.
    pub content: Vec<(&'static str, Json)>,
}

/// Emits events as log records of OpenTelemetry.
///
/// ```
/// use std::sync::Arc;
/// use opentelemetry::logs::{LoggerProvider as _, NoopLoggerProvider};
/// use wattspan_genai::{GenAi, LogEvents};
///
/// let logger = NoopLoggerProvider::new().logger("wattspan");
/// let genai = GenAi::builder("llama_cpp").events(Arc::new(LogEvents::new(logger))).build();
/// # drop(genai);
/// ```
#[derive(Clone, Debug)]
pub struct LogEvents<L>(L);

impl<L: Logger + Send + Sync> LogEvents<L> {
    /// Emits with a logger.
    pub const fn new(logger: L) -> Self {
        Self(logger)
    }
}

impl<L: Logger + Send + Sync> EventSink for LogEvents<L> {
    fn emit(&self, event: &Event) {
        let mut record = self.0.create_log_record();
        record.set_event_name(event.name);
        record.set_timestamp(event.time);
        if let Some(severity) = event.severity.and_then(severity) {
            record.set_severity_number(severity);
            record.set_severity_text(severity.name());
        }
        if event.span.is_valid() {
            let span = &event.span;
            record.set_trace_context(span.trace_id(), span.span_id(), Some(span.trace_flags()));
        }
        for pair in &event.attributes {
            record.add_attribute(pair.key.clone(), any(&pair.value));
        }
        for (name, content) in &event.content {
            if let Some(content) = structured(content) {
                record.add_attribute(*name, content);
            }
        }
        self.0.emit(record);
    }
}

fn severity(number: u8) -> Option<Severity> {
    match number {
        1..=4 => Some(Severity::Trace),
        5..=8 => Some(Severity::Debug),
        9..=12 => Some(Severity::Info),
        13..=16 => Some(Severity::Warn),
        17..=20 => Some(Severity::Error),
        _ => None,
    }
}

fn any(value: &opentelemetry::Value) -> AnyValue {
    use opentelemetry::{Array, Value};
    match value {
        Value::Bool(value) => AnyValue::Boolean(*value),
        Value::I64(value) => AnyValue::Int(*value),
        Value::F64(value) => AnyValue::Double(*value),
        Value::String(value) => AnyValue::String(value.clone()),
        Value::Array(Array::Bool(items)) => items.iter().copied().collect(),
        Value::Array(Array::I64(items)) => items.iter().copied().collect(),
        Value::Array(Array::F64(items)) => items.iter().copied().collect(),
        Value::Array(Array::String(items)) => items.iter().cloned().collect(),
        other => AnyValue::String(other.as_str().into_owned().into()),
    }
}

/// JSON as a structured value. `None` for null, which OpenTelemetry expresses by leaving the value out.
fn structured(json: &Json) -> Option<AnyValue> {
    Some(match json {
        Json::Null => return None,
        Json::Bool(value) => AnyValue::Boolean(*value),
        Json::Number(number) => match (number.as_i64(), number.as_f64()) {
            (Some(whole), _) => AnyValue::Int(whole),
            (None, Some(float)) => AnyValue::Double(float),
            (None, None) => AnyValue::String(number.to_string().into()),
        },
        Json::String(text) => AnyValue::String(text.clone().into()),
        Json::Array(items) => AnyValue::ListAny(Box::new(items.iter().filter_map(structured).collect())),
        Json::Object(fields) => AnyValue::Map(Box::new(
            fields
                .iter()
                .filter_map(|(name, value)| {
                    Some((opentelemetry::Key::from(name.clone()), structured(value)?))
                })
                .collect(),
        )),
    })
}
