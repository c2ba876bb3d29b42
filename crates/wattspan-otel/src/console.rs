//! Spans for the eyes of a person: one line for each inference.

use std::fmt::{self, Write as _};
use std::io::{self, Write};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use opentelemetry::trace::Status;
use opentelemetry::{KeyValue, Value};
use opentelemetry_sdk::error::{OTelSdkError, OTelSdkResult};
use opentelemetry_sdk::trace::{SpanData, SpanExporter};
use wattspan_semconv::attr;

/// What is printed.
#[derive(Clone)]
#[non_exhaustive]
pub enum Console {
    /// One line for each inference, to the error stream.
    Lines,
    /// The same lines to a writer.
    LinesTo(Arc<Mutex<dyn Write + Send>>),
    /// Every span and metric with all that is in them, to the output stream, by `opentelemetry-stdout`.
    #[cfg(feature = "console")]
    Raw,
}

impl fmt::Debug for Console {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Lines => "Lines",
            Self::LinesTo(_) => "LinesTo",
            #[cfg(feature = "console")]
            Self::Raw => "Raw",
        })
    }
}

/// Writes a line for each GenAI span, whichever names it was recorded under.
pub(crate) struct Lines {
    out: Arc<Mutex<dyn Write + Send>>,
}

impl fmt::Debug for Lines {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Lines")
    }
}

impl Lines {
    pub(crate) fn new(out: Arc<Mutex<dyn Write + Send>>) -> Self {
        Self { out }
    }

    /// To the error stream, since a program's own output belongs to the program.
    pub(crate) fn to_stderr() -> Self {
        Self::new(Arc::new(Mutex::new(io::stderr())))
    }
}

impl SpanExporter for Lines {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        let text: String = batch.iter().filter_map(line).collect();
        let mut out = self.out.lock().unwrap_or_else(PoisonError::into_inner);
        let written = out.write_all(text.as_bytes()).and_then(|()| out.flush());
        written
            .map_err(|error| OTelSdkError::InternalFailure(format!("cannot write to the console: {error}")))
    }
}

/// The line of a span; `None` for one that is none of GenAI's.
fn line(span: &SpanData) -> Option<String> {
    let of = Attributes(&span.attributes);
    of.get(attr::GEN_AI_OPERATION_NAME)?;
    let took = span.end_time.duration_since(span.start_time).unwrap_or_default();
    let mut line = format!("{} {} {}", clock(span.start_time), span.name, human(took));
    let tokens = (of.whole(attr::GEN_AI_USAGE_INPUT_TOKENS), of.whole(attr::GEN_AI_USAGE_OUTPUT_TOKENS));
    let count = |tokens: Option<i64>| tokens.map_or_else(|| "?".to_owned(), |tokens| tokens.to_string());
    if tokens.0.is_some() || tokens.1.is_some() {
        let _ = write!(line, " | {} in, {} out", count(tokens.0), count(tokens.1));
    }
    if let Some(joules) = of.float(attr::WATTSPAN_ENERGY_TOTAL) {
        let _ = write!(line, " | {joules:.3} J");
        if let Some(uncertainty) = of.float(attr::WATTSPAN_ENERGY_UNCERTAINTY) {
            let _ = write!(line, " ± {uncertainty:.3} J");
        }
        if let Some(method) = of.get(attr::WATTSPAN_ENERGY_METHOD) {
            let _ = write!(line, " ({method})");
        }
    }
    if let Some(grams) = of.float(attr::WATTSPAN_EMISSIONS_TOTAL) {
        let _ = write!(line, " | {grams:.6} gCO2e");
    }
    if let Some(usd) = of.float(attr::WATTSPAN_COST_TOTAL) {
        let _ = write!(line, " | {usd:.8} USD");
    }
    if let Status::Error { .. } = span.status {
        let kind = of.get(attr::ERROR_TYPE).map_or_else(|| "error".to_owned(), ToString::to_string);
        let _ = write!(line, " | failed: {kind}");
    }
    let _ = writeln!(line, " | trace {}", span.span_context.trace_id());
    Some(line)
}

struct Attributes<'a>(&'a [KeyValue]);

impl Attributes<'_> {
    fn get(&self, key: &str) -> Option<&Value> {
        self.0.iter().find(|pair| pair.key.as_str() == key).map(|pair| &pair.value)
    }

    fn whole(&self, key: &str) -> Option<i64> {
        match self.get(key)? {
            Value::I64(value) => Some(*value),
            _ => None,
        }
    }

    fn float(&self, key: &str) -> Option<f64> {
        match self.get(key)? {
            Value::F64(value) => Some(*value),
            _ => None,
        }
    }
}

/// Time of day in UTC.
fn clock(time: SystemTime) -> String {
    let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let second = since.as_secs() % 86_400;
    let (hour, minute) = (second / 3_600, second / 60 % 60);
    format!("{hour:02}:{minute:02}:{:02}.{:03}Z", second % 60, since.subsec_millis())
}

fn human(time: Duration) -> String {
    if time < Duration::from_secs(1) {
        format!("{:.1} ms", time.as_secs_f64() * 1e3)
    } else {
        format!("{:.2} s", time.as_secs_f64())
    }
}

#[cfg(test)]
mod tests {
    use opentelemetry::InstrumentationScope;
    use opentelemetry::trace::{SpanContext, SpanId, SpanKind, TraceFlags, TraceId, TraceState};
    use opentelemetry_sdk::trace::{SpanEvents, SpanLinks};

    use super::*;

    fn span(attributes: Vec<KeyValue>) -> SpanData {
        let start = SystemTime::UNIX_EPOCH + Duration::from_millis(45_296_789);
        SpanData {
            span_context: SpanContext::new(
                TraceId::from_bytes([0xAB; 16]),
                SpanId::from_bytes([1; 8]),
                TraceFlags::SAMPLED,
                false,
                TraceState::NONE,
            ),
            parent_span_id: SpanId::INVALID,
            parent_span_is_remote: false,
            span_kind: SpanKind::Client,
            name: "chat smollm2".into(),
            start_time: start,
            end_time: start + Duration::from_millis(1_250),
            attributes,
            dropped_attributes_count: 0,
            events: SpanEvents::default(),
            links: SpanLinks::default(),
            status: Status::Unset,
            instrumentation_scope: InstrumentationScope::builder("test").build(),
        }
    }

    #[test]
    fn an_inference_is_one_line_and_what_is_absent_is_left_out() {
        let mut attributes = vec![
            KeyValue::new(attr::GEN_AI_OPERATION_NAME, "chat"),
            KeyValue::new(attr::GEN_AI_USAGE_INPUT_TOKENS, 12),
            KeyValue::new(attr::GEN_AI_USAGE_OUTPUT_TOKENS, 24),
        ];
        let trace = "ab".repeat(16);
        let bare = line(&span(attributes.clone())).unwrap();
        assert_eq!(bare, format!("12:34:56.789Z chat smollm2 1.25 s | 12 in, 24 out | trace {trace}\n"));
        attributes.extend([
            KeyValue::new(attr::WATTSPAN_ENERGY_TOTAL, 243.1),
            KeyValue::new(attr::WATTSPAN_ENERGY_UNCERTAINTY, 5.0),
            KeyValue::new(attr::WATTSPAN_ENERGY_METHOD, "counter"),
            KeyValue::new(attr::WATTSPAN_EMISSIONS_TOTAL, 0.0321),
            KeyValue::new(attr::ERROR_TYPE, "timeout"),
        ]);
        let mut failed = span(attributes);
        failed.status = Status::error("late");
        let whole = line(&failed).unwrap();
        let expected = "| 243.100 J ± 5.000 J (counter) | 0.032100 gCO2e | failed: timeout |";
        assert!(whole.contains(expected), "{whole}");
    }

    #[test]
    fn an_applications_own_span_has_no_line() {
        assert_eq!(line(&span(vec![KeyValue::new("http.route", "/")])), None);
    }
}
