//! Ended spans → trace rows.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::{SystemTime, UNIX_EPOCH};

use opentelemetry::trace::{SpanId, SpanKind, Status};
use opentelemetry::{Array, KeyValue, Value};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::trace::{SpanData, SpanExporter};
use wattspan_core::Cell;

use super::lock;
use crate::Attributes;
use crate::rows::{EventRow, LinkRow, ResourceRow, SpanRow, StatusRow, TraceRow};

/// A span exporter that keeps spans by trace until their row is taken. Clones share what they keep: give one to a span
/// processor and ask the other.
///
/// An inference's span ends when its energy is settled, which may be after its root has: take a trace when the case's
/// inferences are settled, or all of them after the provider was flushed.
///
/// **Limits** 262 144 spans wait to be taken; those that find no place are dropped and counted.
#[derive(Clone, Debug)]
pub struct SpanCollector {
    run: Arc<str>,
    capacity: usize,
    resource: Arc<Mutex<Attributes>>,
    state: Arc<Mutex<State>>,
}

#[derive(Debug, Default)]
struct State {
    traces: HashMap<String, Vec<SpanRow>>,
    spans: usize,
    dropped: u64,
}

impl SpanCollector {
    /// Collects for a run.
    pub fn new(run: &wattspan_core::RunId) -> Self {
        Self { run: run.as_str().into(), capacity: 262_144, resource: Arc::default(), state: Arc::default() }
    }

    /// How many spans may wait to be taken.
    pub fn capacity(mut self, spans: usize) -> Self {
        self.capacity = spans;
        self
    }

    /// Takes a trace, named by 32 lower-case hexadecimal digits. **Absent** when none of its spans has ended.
    pub fn take(&self, trace_id: &str) -> Option<TraceRow> {
        let spans = {
            let mut state = lock(&self.state);
            let spans = state.traces.remove(trace_id)?;
            state.spans -= spans.len();
            spans
        };
        Some(TraceRow::from_spans(&self.run, trace_id, spans))
    }

    /// Takes all traces, those that began first first.
    pub fn drain(&self) -> Vec<TraceRow> {
        let traces = {
            let mut state = lock(&self.state);
            state.spans = 0;
            std::mem::take(&mut state.traces)
        };
        let rows = traces.into_iter().map(|(id, spans)| TraceRow::from_spans(&self.run, &id, spans));
        let mut rows: Vec<TraceRow> = rows.collect();
        rows.sort_by(|one, other| (one.start_time, &one.trace_id).cmp(&(other.start_time, &other.trace_id)));
        rows
    }

    /// How many spans found no place.
    pub fn dropped(&self) -> u64 {
        lock(&self.state).dropped
    }

    fn keep(&self, batch: Vec<SpanData>) {
        let resource = lock(&self.resource).clone();
        for span in batch {
            let row = row(span, &resource);
            let mut state = lock(&self.state);
            if state.spans >= self.capacity {
                state.dropped += 1;
                continue;
            }
            state.spans += 1;
            state.traces.entry(row.trace_id.clone()).or_default().push(row);
        }
    }
}

impl SpanExporter for SpanCollector {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        self.keep(batch);
        Ok(())
    }

    fn set_resource(&mut self, resource: &Resource) {
        *lock(&self.resource) =
            attributes(resource.iter().map(|(key, value)| KeyValue::new(key.clone(), value.clone())));
    }
}

/// The ids' own `Display` is lower-case hexadecimal with its leading zeros, as W3C trace context writes them.
fn row(span: SpanData, resource: &Attributes) -> SpanRow {
    let (start, end) = (nanos(span.start_time), nanos(span.end_time));
    SpanRow {
        trace_id: span.span_context.trace_id().to_string(),
        span_id: span.span_context.span_id().to_string(),
        parent_span_id: (span.parent_span_id != SpanId::INVALID).then(|| span.parent_span_id.to_string()),
        name: span.name.into_owned(),
        start_time: start,
        end_time: end,
        duration_ms: crate::rows::millis(end.saturating_sub(start)),
        attributes: attributes(span.attributes),
        events: span
            .events
            .events
            .into_iter()
            .map(|event| EventRow {
                name: event.name.into_owned(),
                timestamp: nanos(event.timestamp),
                attributes: attributes(event.attributes),
            })
            .collect(),
        status: match span.status {
            Status::Unset => StatusRow { code: "UNSET".to_owned(), description: None },
            Status::Ok => StatusRow { code: "OK".to_owned(), description: None },
            Status::Error { description } => StatusRow {
                code: "ERROR".to_owned(),
                description: Some(description.into_owned()).filter(|text| !text.is_empty()),
            },
        },
        kind: match span.span_kind {
            SpanKind::Client => "CLIENT",
            SpanKind::Server => "SERVER",
            SpanKind::Producer => "PRODUCER",
            SpanKind::Consumer => "CONSUMER",
            SpanKind::Internal => "INTERNAL",
        }
        .to_owned(),
        resource: ResourceRow { attributes: resource.clone() },
        total_tokens: None,
        tool_output: None,
        links: span
            .links
            .links
            .into_iter()
            .map(|link| LinkRow {
                trace_id: link.span_context.trace_id().to_string(),
                span_id: link.span_context.span_id().to_string(),
                attributes: attributes(link.attributes),
            })
            .collect(),
        scope: Some(span.instrumentation_scope.name().to_owned()).filter(|name| !name.is_empty()),
    }
}

fn nanos(time: SystemTime) -> u64 {
    u64::try_from(time.duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos()).unwrap_or(u64::MAX)
}

/// A key that was set twice has its last value.
fn attributes(values: impl IntoIterator<Item = KeyValue>) -> Attributes {
    let mut attributes = Attributes::default();
    for KeyValue { key, value, .. } in values {
        let cell = cell(value);
        match attributes.0.iter_mut().find(|(known, _)| known == key.as_str()) {
            Some((_, earlier)) => *earlier = cell,
            None => attributes.push(key.to_string(), cell),
        }
    }
    attributes
}

fn cell(value: Value) -> Cell {
    fn list<T>(values: Vec<T>, cell: impl Fn(T) -> Cell) -> Cell {
        Cell::List(values.into_iter().map(cell).collect())
    }
    match value {
        Value::Bool(value) => Cell::Bool(value),
        Value::I64(value) => Cell::Int(value),
        Value::F64(value) => Cell::Float(value),
        Value::String(text) => Cell::Text(String::from(text).into()),
        Value::Array(Array::Bool(values)) => list(values, Cell::Bool),
        Value::Array(Array::I64(values)) => list(values, Cell::Int),
        Value::Array(Array::F64(values)) => list(values, Cell::Float),
        Value::Array(Array::String(values)) => list(values, |text| Cell::Text(String::from(text).into())),
        other => Cell::Text(other.as_str().into_owned().into()),
    }
}
