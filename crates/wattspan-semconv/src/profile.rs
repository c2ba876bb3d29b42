//! The two profiles and the look-ups by profile, operation and key. Every look-up is an index or a match into constant
//! tables: nothing is built at start-up and nothing is allocated.

use std::fmt;
use std::str::FromStr;

use crate::generated::{core, genai, hw, key, measure, own, span};
use crate::model::{
    AttributeDef, AttributeType, EventDef, InstrumentUse, MetricDef, Registry, SpanDef, SpanKind,
};
use crate::{Key, Measure, Operation};

/// A version of the GenAI conventions.
///
/// ```
/// use wattspan_semconv::{Key, Operation, Profile};
///
/// let cached = Key::UsageCacheWriteInputTokens;
/// let name = |profile: Profile| profile.attribute(Operation::Chat, cached).map(|attribute| attribute.name);
/// assert_eq!(name(Profile::Core), Some("gen_ai.usage.cache_creation.input_tokens"));
/// assert_eq!(name(Profile::GenAi), Some("gen_ai.usage.cache_write.input_tokens"));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Profile {
    /// OpenTelemetry semantic conventions 1.41.1, the last core release whose GenAI names are live.
    #[default]
    Core,
    /// Release 0.1 of the GenAI conventions' own repository.
    GenAi,
}

impl Profile {
    /// Both profiles.
    pub const ALL: [Self; 2] = [Self::Core, Self::GenAi];

    /// Its name in a configuration: `core` or `genai`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Core => "core",
            Self::GenAi => "genai",
        }
    }

    /// The convention's version.
    pub const fn version(self) -> &'static str {
        match self {
            Self::Core => "1.41.1",
            Self::GenAi => "0.1.0",
        }
    }

    /// The schema URL to put on tracers and meters. **Absent** for `genai`, whose release names none that is known.
    pub const fn schema_url(self) -> Option<&'static str> {
        match self {
            Self::Core => Some("https://opentelemetry.io/schemas/1.41.1"),
            Self::GenAi => None,
        }
    }

    /// The attribute that this profile uses for a meaning, or `None` when it has no word for it.
    ///
    /// The operation matters where a profile has different names for the same parameter, as with `top_k` of a retrieval.
    /// Whether the operation's span lists the attribute is told by [`SpanDef::attribute`]; a span may carry more.
    #[inline]
    pub fn attribute(self, operation: Operation, key: Key) -> Option<&'static AttributeDef> {
        match self {
            Self::Core => key::CORE[key as usize],
            Self::GenAi => key::genai_scoped(operation, key).or(key::GENAI[key as usize]),
        }
    }

    /// The instruments that a measure of an operation is recorded on; all of them, when there are several. Empty when it
    /// is not in this profile.
    #[inline]
    pub fn instruments(self, operation: Operation, measure: Measure) -> &'static [InstrumentUse] {
        match self {
            Self::Core => measure::core_instruments(operation, measure),
            Self::GenAi => measure::genai_instruments(operation, measure),
        }
    }

    /// The span to emit for an operation, in the wanted kind where the profile has it, else in the profile's own kind.
    /// `None` for operations that the profile does not describe.
    ///
    /// Take the kind from the answer unless [`SpanDef::kinds_allowed`] holds the wanted one.
    pub fn span(self, operation: Operation, kind: SpanKind) -> Option<&'static SpanDef> {
        let spans = match self {
            Self::Core => span::core_spans(operation),
            Self::GenAi => span::genai_spans(operation),
        };
        spans.iter().find(|def| def.kinds_allowed.contains(&kind)).or(spans.first()).copied()
    }

    /// The span with this registry id.
    pub fn span_by_id(self, id: &str) -> Option<&'static SpanDef> {
        self.spans().find(|def| def.id == id)
    }

    /// The definition behind a name on the wire, deprecated names included. The names of a template family are found too.
    pub fn attribute_def(self, name: &str) -> Option<&'static AttributeDef> {
        let registries = self.registries();
        if let Some(def) = registries.iter().find_map(|registry| registry.attribute(name)) {
            return Some(def);
        }
        let is_member = |def: &&'static AttributeDef| {
            def.kind == AttributeType::Template
                && name.strip_prefix(def.name).is_some_and(|rest| rest.starts_with('.') && rest.len() > 1)
        };
        self.attributes().find(is_member)
    }

    /// The metric with this name, those that are never emitted included.
    pub fn metric_def(self, name: &str) -> Option<&'static MetricDef> {
        self.registries().iter().find_map(|registry| registry.metric(name))
    }

    /// The log event with this name.
    pub fn event_def(self, name: &str) -> Option<&'static EventDef> {
        self.registries().iter().find_map(|registry| registry.event(name))
    }

    /// Whether an event was withdrawn.
    pub fn event_is_deprecated(self, name: &str) -> bool {
        core::REGISTRY.deprecated_events.contains(&name)
    }

    /// Every attribute: GenAI with what it refers to, hardware, our own. Deprecated ones are among them.
    pub fn attributes(self) -> impl Iterator<Item = &'static AttributeDef> {
        self.registries().into_iter().flat_map(|registry| registry.attributes)
    }

    /// Every metric: GenAI, hardware, our own.
    pub fn metrics(self) -> impl Iterator<Item = &'static MetricDef> {
        self.registries().into_iter().flat_map(|registry| registry.metrics)
    }

    /// Every span, provider variants included.
    pub fn spans(self) -> impl Iterator<Item = &'static SpanDef> {
        self.registries().into_iter().flat_map(|registry| registry.spans)
    }

    /// Every log event in use.
    pub fn events(self) -> impl Iterator<Item = &'static EventDef> {
        self.registries().into_iter().flat_map(|registry| registry.events)
    }

    fn registries(self) -> [&'static Registry; 3] {
        match self {
            Self::Core => [&core::REGISTRY, &hw::REGISTRY, &own::REGISTRY],
            Self::GenAi => [&genai::REGISTRY, &hw::REGISTRY, &own::REGISTRY],
        }
    }
}

impl fmt::Display for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Profile {
    type Err = UnknownProfile;

    fn from_str(text: &str) -> Result<Self, UnknownProfile> {
        Self::ALL
            .into_iter()
            .find(|profile| profile.as_str() == text)
            .ok_or_else(|| UnknownProfile(text.to_owned()))
    }
}

/// A configuration names a profile that does not exist.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownProfile(String);

impl fmt::Display for UnknownProfile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no profile is called `{}`: use `core` or `genai`", self.0)
    }
}

impl std::error::Error for UnknownProfile {}
