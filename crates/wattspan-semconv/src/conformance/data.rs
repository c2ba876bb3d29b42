//! The neutral form of telemetry.

use crate::model::{Instrument, SpanKind, ValueType};

/// Attributes in the order they were written, repeats included.
pub type Attributes = Vec<(String, Value)>;

/// Value of an attribute.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Text.
    String(String),
    /// True or false.
    Bool(bool),
    /// Signed 64-bit integer.
    Int(i64),
    /// 64-bit float.
    Double(f64),
    /// A list.
    Array(Vec<Value>),
    /// Named values.
    Map(Vec<(String, Value)>),
    /// Raw bytes.
    Bytes(Vec<u8>),
    /// A key without a value.
    Empty,
}

impl Value {
    /// The text, when it is text.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::String(text) => Some(text),
            _ => None,
        }
    }

    /// What it is, in the registry's words where it has one.
    pub(super) fn kind(&self) -> &'static str {
        match self {
            Self::String(_) => "string",
            Self::Bool(_) => "boolean",
            Self::Int(_) => "int",
            Self::Double(_) => "double",
            Self::Array(items) if items.iter().all(|item| matches!(item, Self::String(_))) => "string[]",
            Self::Array(_) => "array",
            Self::Map(_) => "map",
            Self::Bytes(_) => "bytes",
            Self::Empty => "empty",
        }
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::String(text.to_owned())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::String(text)
    }
}

impl From<bool> for Value {
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}

impl From<i64> for Value {
    fn from(value: i64) -> Self {
        Self::Int(value)
    }
}

impl From<f64> for Value {
    fn from(value: f64) -> Self {
        Self::Double(value)
    }
}

impl<T: Into<Value>> From<Vec<T>> for Value {
    fn from(items: Vec<T>) -> Self {
        Self::Array(items.into_iter().map(Into::into).collect())
    }
}

/// Status of a span.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Status {
    /// Not set: no error was seen.
    #[default]
    Unset,
    /// Declared good.
    Ok,
    /// Failed.
    Error,
}

/// A finished span.
#[derive(Clone, Debug, PartialEq)]
pub struct Span {
    /// Name.
    pub name: String,
    /// Kind.
    pub kind: SpanKind,
    /// Status.
    pub status: Status,
    /// Attributes.
    pub attributes: Attributes,
    /// Events on the span.
    pub events: Vec<Event>,
}

/// An event on a span, or a log record that carries an event name.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Event {
    /// Name.
    pub name: String,
    /// OpenTelemetry severity number of a log record. **Absent** on span events.
    pub severity: Option<u8>,
    /// Attributes.
    pub attributes: Attributes,
}

/// A metric stream.
#[derive(Clone, Debug, PartialEq)]
pub struct Metric {
    /// Name.
    pub name: String,
    /// Unit.
    pub unit: String,
    /// Kind of instrument, told by the data: a monotonic sum is a counter.
    pub instrument: Instrument,
    /// Number type. **Absent** where the source does not tell.
    pub value_type: Option<ValueType>,
    /// Boundaries of an explicit histogram. **Absent** on other data, exponential histograms included.
    pub buckets: Option<Vec<f64>>,
    /// Attributes of each point.
    pub points: Vec<Attributes>,
}

/// What the telemetry comes from.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Resource {
    /// Attributes.
    pub attributes: Attributes,
}

/// What is checked together.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Telemetry {
    /// The resource.
    pub resource: Resource,
    /// Spans.
    pub spans: Vec<Span>,
    /// Metrics.
    pub metrics: Vec<Metric>,
    /// Log events.
    pub events: Vec<Event>,
}
