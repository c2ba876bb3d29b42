//! Violations: where, and what.

use std::fmt;

use crate::model::{Instrument, SpanKind, ValueType};

/// One departure from the convention.
#[derive(Clone, Debug, PartialEq)]
pub struct Violation {
    /// Where it is.
    pub place: Place,
    /// What it is.
    pub fault: Fault,
}

/// Where a violation is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// On the resource.
    Resource,
    /// On the span of this name.
    Span(String),
    /// On an event of a span.
    SpanEvent {
        /// The span's name.
        span: String,
        /// The event's name.
        event: String,
    },
    /// On the metric of this name.
    Metric(String),
    /// On a point of a metric.
    Point {
        /// The metric's name.
        metric: String,
        /// Which point, from 0.
        index: usize,
    },
    /// On the log event of this name.
    Event(String),
}

/// What a violation is.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Fault {
    /// A name in a namespace of the conventions that the profile does not have.
    UnknownAttribute {
        /// The name.
        name: String,
        /// What the profile calls the same.
        instead: Vec<&'static str>,
    },
    /// A name that was replaced or withdrawn.
    DeprecatedAttribute {
        /// The name.
        name: String,
        /// What the profile calls the same.
        instead: Vec<&'static str>,
    },
    /// A value of another type.
    WrongType {
        /// The attribute.
        name: String,
        /// Type by the convention.
        expected: &'static str,
        /// Type that was found.
        found: &'static str,
    },
    /// A value outside a closed enumeration.
    UnknownValue {
        /// The attribute.
        name: String,
        /// The value.
        value: String,
    },
    /// A value that another one replaced.
    DeprecatedValue {
        /// The attribute.
        name: String,
        /// The value.
        value: String,
        /// The value to use.
        instead: String,
    },
    /// A key that stands more than once.
    DuplicateAttribute {
        /// The attribute.
        name: String,
    },
    /// An attribute that must be there.
    MissingAttribute {
        /// The attribute.
        name: String,
        /// Why it must be there.
        because: &'static str,
    },
    /// `error.type` where no error is.
    ErrorTypeOnSuccess,
    /// A span name other than its template gives.
    WrongSpanName {
        /// Name by the template.
        expected: String,
    },
    /// A span kind that the operation may not have.
    WrongSpanKind {
        /// Kinds that it may have.
        allowed: &'static [SpanKind],
        /// Kind that was found.
        found: SpanKind,
    },
    /// A metric that the profile does not have.
    UnknownMetric {
        /// What the profile calls the same.
        instead: Vec<&'static str>,
    },
    /// A metric whose name was seen in no text of the convention.
    InferredMetric,
    /// Another unit.
    WrongUnit {
        /// Unit by the convention.
        expected: &'static str,
        /// Unit that was found.
        found: String,
    },
    /// Another kind of instrument.
    WrongInstrument {
        /// Kind by the convention.
        expected: Instrument,
        /// Kind that was found.
        found: Instrument,
    },
    /// Another number type.
    WrongValueType {
        /// Type by the convention.
        expected: ValueType,
        /// Type that was found.
        found: ValueType,
    },
    /// Other histogram boundaries.
    WrongBuckets {
        /// Boundaries by the convention.
        expected: &'static [f64],
        /// Boundaries that were found.
        found: Vec<f64>,
    },
    /// An event that the profile does not have.
    UnknownEvent {
        /// What the profile calls the same.
        instead: Vec<&'static str>,
    },
    /// An event that was withdrawn.
    DeprecatedEvent,
    /// Another severity.
    WrongSeverity {
        /// Severity number by the convention.
        expected: u8,
        /// Severity number that was found.
        found: u8,
    },
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.fault)
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Resource => f.write_str("resource"),
            Self::Span(name) => write!(f, "span `{name}`"),
            Self::SpanEvent { span, event } => write!(f, "event `{event}` of span `{span}`"),
            Self::Metric(name) => write!(f, "metric `{name}`"),
            Self::Point { metric, index } => write!(f, "point {index} of metric `{metric}`"),
            Self::Event(name) => write!(f, "event `{name}`"),
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownAttribute { name, instead } => {
                write!(f, "`{name}` is not in this profile{}", Instead(instead))
            }
            Self::DeprecatedAttribute { name, instead } => {
                write!(f, "`{name}` is deprecated{}", Instead(instead))
            }
            Self::WrongType { name, expected, found } => {
                write!(f, "`{name}` is {found}, the convention says {expected}")
            }
            Self::UnknownValue { name, value } => write!(f, "`{name}` has no value `{value}`"),
            Self::DeprecatedValue { name, value, instead } => {
                write!(f, "`{value}` is an older value of `{name}`: use `{instead}`")
            }
            Self::DuplicateAttribute { name } => write!(f, "`{name}` stands more than once"),
            Self::MissingAttribute { name, because } => write!(f, "`{name}` is missing, which is {because}"),
            Self::ErrorTypeOnSuccess => {
                f.write_str("`error.type` is set although the status is not an error")
            }
            Self::WrongSpanName { expected } => write!(f, "the name by its template is `{expected}`"),
            Self::WrongSpanKind { allowed, found } => {
                let allowed: Vec<_> = allowed.iter().map(|kind| kind.as_str()).collect();
                write!(f, "the kind is {found}, the convention says {}", allowed.join(" or "))
            }
            Self::UnknownMetric { instead } | Self::UnknownEvent { instead } => {
                write!(f, "not in this profile{}", Instead(instead))
            }
            Self::InferredMetric => f.write_str("the name was seen in no text of the convention"),
            Self::WrongUnit { expected, found } => {
                write!(f, "the unit is `{found}`, the convention says `{expected}`")
            }
            Self::WrongInstrument { expected, found } => {
                write!(f, "the instrument is {found}, the convention says {expected}")
            }
            Self::WrongValueType { expected, found } => {
                write!(f, "the numbers are {found}, the convention says {expected}")
            }
            Self::WrongBuckets { expected, found } => {
                write!(f, "the boundaries are {found:?}, the convention says {expected:?}")
            }
            Self::DeprecatedEvent => f.write_str("the event was withdrawn"),
            Self::WrongSeverity { expected, found } => {
                write!(f, "the severity is {found}, the convention says {expected}")
            }
        }
    }
}

/// `: use a or b`, or nothing.
struct Instead<'a>(&'a [&'static str]);

impl fmt::Display for Instead<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, name) in self.0.iter().enumerate() {
            write!(f, "{} `{name}`", if at == 0 { ": use" } else { " or" })?;
        }
        Ok(())
    }
}
