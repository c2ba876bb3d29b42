//! The shapes of the tables: what a name is, which type it has, where it must stand. Filled by the generated code;
//! knows nothing of a telemetry library.

use std::fmt;

/// Type of an attribute's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AttributeType {
    /// Text. Enumerations are text with known values.
    String,
    /// Signed 64-bit integer.
    Int,
    /// 64-bit float.
    Double,
    /// True or false.
    Boolean,
    /// List of texts.
    StringArray,
    /// A structured value; JSON text where structure is not supported.
    Any,
    /// A family of text attributes: the name is a prefix, followed by a dot and a key.
    Template,
}

impl AttributeType {
    /// The registry's word for it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::String => "string",
            Self::Int => "int",
            Self::Double => "double",
            Self::Boolean => "boolean",
            Self::StringArray => "string[]",
            Self::Any => "any",
            Self::Template => "template[string]",
        }
    }
}

impl fmt::Display for AttributeType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// How likely an attribute's value holds what a person would not want recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Sensitivity {
    /// Not more than any other name.
    None,
    /// May hold such data.
    Possible,
    /// Usually holds such data.
    Likely,
}

/// What the name of an entry was seen in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Evidence {
    /// A tagged release.
    Release,
    /// A page of the main branch close to the release.
    MainLate,
    /// A model file of autumn 2026, before the release.
    Main202610,
    /// The main branch of August 2026.
    Main202608,
    /// Nowhere: it follows from a naming plan. Never emitted.
    Inferred,
}

/// Whether a name is still to be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Standing {
    /// In use.
    Live,
    /// Replaced by another name.
    RenamedTo(&'static str),
    /// Withdrawn without a replacement.
    Obsolete,
}

/// An attribute of a profile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AttributeDef {
    /// Full name, as on the wire.
    pub name: &'static str,
    /// Type of its value.
    pub kind: AttributeType,
    /// Known values, when it is an enumeration.
    pub values: &'static [&'static str],
    /// Whether a value outside `values` is a fault. Only enumerations of our own are closed.
    pub closed: bool,
    /// How likely the value is private.
    pub sensitivity: Sensitivity,
    /// Whether it holds prompts, answers, tool data or documents, and so is recorded only by choice.
    pub content: bool,
    /// Whether it is still to be used.
    pub standing: Standing,
    /// Unit of a number, where the name has one of its own; else empty.
    pub unit: &'static str,
    /// Attributes that must stand beside it.
    pub requires: &'static [&'static str],
    /// What the name was seen in.
    pub evidence: Evidence,
}

impl AttributeDef {
    /// A live, open text attribute: the start that generated tables refine.
    pub(crate) const fn new(name: &'static str, kind: AttributeType, evidence: Evidence) -> Self {
        Self {
            name,
            kind,
            values: &[],
            closed: false,
            sensitivity: Sensitivity::None,
            content: false,
            standing: Standing::Live,
            unit: "",
            requires: &[],
            evidence,
        }
    }

    pub(crate) const fn values(mut self, values: &'static [&'static str]) -> Self {
        self.values = values;
        self
    }

    pub(crate) const fn closed(mut self) -> Self {
        self.closed = true;
        self
    }

    pub(crate) const fn sensitive(mut self, sensitivity: Sensitivity) -> Self {
        self.sensitivity = sensitivity;
        self
    }

    pub(crate) const fn content(mut self) -> Self {
        self.content = true;
        self
    }

    pub(crate) const fn standing(mut self, standing: Standing) -> Self {
        self.standing = standing;
        self
    }

    pub(crate) const fn unit(mut self, unit: &'static str) -> Self {
        self.unit = unit;
        self
    }

    pub(crate) const fn requires(mut self, requires: &'static [&'static str]) -> Self {
        self.requires = requires;
        self
    }

    /// Whether the name is in use, neither replaced nor withdrawn.
    pub const fn is_live(&self) -> bool {
        matches!(self.standing, Standing::Live)
    }
}

/// How strongly a convention asks for an attribute.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Level {
    /// Always.
    Required,
    /// When its condition holds.
    ConditionallyRequired,
    /// Unless there is a reason not to.
    Recommended,
    /// Only by the user's choice.
    OptIn,
}

impl Level {
    /// The word used in the documentation's tables.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Required => "required",
            Self::ConditionallyRequired => "conditionally required",
            Self::Recommended => "recommended",
            Self::OptIn => "opt-in",
        }
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// An attribute's place on a span, metric or event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AttributeRef {
    /// The attribute's name.
    pub name: &'static str,
    /// How strongly it is asked for.
    pub level: Level,
    /// Whether it must be there when the span is created, since samplers read it.
    pub sampling_relevant: bool,
}

impl AttributeRef {
    pub(crate) const fn new(name: &'static str, level: Level) -> Self {
        Self { name, level, sampling_relevant: false }
    }

    pub(crate) const fn sampled(mut self) -> Self {
        self.sampling_relevant = true;
        self
    }
}

/// Kind of a metric instrument; observable and direct ones are the same on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Instrument {
    /// A sum that only grows.
    Counter,
    /// A sum that may shrink.
    UpDownCounter,
    /// A current value.
    Gauge,
    /// A distribution.
    Histogram,
}

impl Instrument {
    /// The registry's word for it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Counter => "counter",
            Self::UpDownCounter => "updowncounter",
            Self::Gauge => "gauge",
            Self::Histogram => "histogram",
        }
    }
}

impl fmt::Display for Instrument {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Number type that an instrument records.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ValueType {
    /// Whole numbers.
    Int,
    /// 64-bit floats.
    Double,
}

impl ValueType {
    /// The registry's word for it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Int => "int",
            Self::Double => "double",
        }
    }
}

impl fmt::Display for ValueType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A metric of a profile: all that is needed to create its instrument.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MetricDef {
    /// Full name, as on the wire.
    pub name: &'static str,
    /// Kind of instrument.
    pub instrument: Instrument,
    /// Unit in UCUM.
    pub unit: &'static str,
    /// Number type.
    pub value_type: ValueType,
    /// Boundaries of a histogram; empty when the convention names none.
    pub buckets: &'static [f64],
    /// Attributes of its points.
    pub attributes: &'static [AttributeRef],
    /// What the name was seen in.
    pub evidence: Evidence,
}

/// One instrument that a measure is recorded on, with the attributes that tell this measure from others on it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct InstrumentUse {
    /// The instrument.
    pub metric: &'static MetricDef,
    /// Attributes to add to every point, such as the direction of tokens.
    pub fixed: &'static [(&'static str, &'static str)],
}

/// Kind of a span.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SpanKind {
    /// Within one process.
    Internal,
    /// Asks a server.
    Client,
    /// Answers a client.
    Server,
    /// Puts a message in a queue.
    Producer,
    /// Takes a message from a queue.
    Consumer,
}

impl SpanKind {
    /// The registry's word for it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Internal => "internal",
            Self::Client => "client",
            Self::Server => "server",
            Self::Producer => "producer",
            Self::Consumer => "consumer",
        }
    }
}

impl fmt::Display for SpanKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A span of a profile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpanDef {
    /// Id in the registry; not on the wire.
    pub id: &'static str,
    /// The usual kind.
    pub kind: SpanKind,
    /// Every kind it may have; the usual one included.
    pub kinds_allowed: &'static [SpanKind],
    /// Pattern of its name, with attribute names in braces.
    pub name_template: &'static str,
    /// Pattern for when a part of the first is missing.
    pub name_fallback: Option<&'static str>,
    /// Values of `gen_ai.operation.name` that it stands for; empty for spans without one and for provider variants.
    pub operations: &'static [&'static str],
    /// Attributes with one value on every such span.
    pub fixed_attributes: &'static [(&'static str, &'static str)],
    /// Id of the span that this provider variant narrows.
    pub refines: Option<&'static str>,
    /// Attributes, most required first.
    pub attributes: &'static [AttributeRef],
    /// What the id was seen in.
    pub evidence: Evidence,
}

impl SpanDef {
    /// The place of an attribute on this span, if the convention lists it there.
    pub fn attribute(&self, name: &str) -> Option<&'static AttributeRef> {
        self.attributes.iter().find(|attribute| attribute.name == name)
    }

    /// Attributes that must be set when the span is created, for samplers.
    pub fn sampling_relevant(&self) -> impl Iterator<Item = &'static AttributeRef> + use<> {
        self.attributes.iter().filter(|attribute| attribute.sampling_relevant)
    }
}

/// A log event of a profile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EventDef {
    /// Full name, as on the wire.
    pub name: &'static str,
    /// OpenTelemetry severity number, where the convention fixes one.
    pub severity: Option<u8>,
    /// How strongly the event is asked for.
    pub level: Level,
    /// Attributes, most required first.
    pub attributes: &'static [AttributeRef],
    /// What the name was seen in.
    pub evidence: Evidence,
}

/// One convention's tables, each sorted by name.
#[derive(Debug)]
pub(crate) struct Registry {
    pub(crate) attributes: &'static [AttributeDef],
    pub(crate) metrics: &'static [MetricDef],
    pub(crate) spans: &'static [SpanDef],
    pub(crate) events: &'static [EventDef],
    pub(crate) deprecated_events: &'static [&'static str],
}

impl Registry {
    pub(crate) fn attribute(&self, name: &str) -> Option<&'static AttributeDef> {
        let at = self.attributes.binary_search_by(|def| def.name.cmp(name)).ok()?;
        self.attributes.get(at)
    }

    pub(crate) fn metric(&self, name: &str) -> Option<&'static MetricDef> {
        let at = self.metrics.binary_search_by(|def| def.name.cmp(name)).ok()?;
        self.metrics.get(at)
    }

    pub(crate) fn event(&self, name: &str) -> Option<&'static EventDef> {
        let at = self.events.binary_search_by(|def| def.name.cmp(name)).ok()?;
        self.events.get(at)
    }
}
