//! The names that wattspan puts on the wire: OpenTelemetry's GenAI and hardware conventions, and our own, as constants,
//! tables and a conformance checker.
//!
//! Use this crate to name attributes and instruments in either GenAI profile, to read telemetry whose names are older,
//! or to check telemetry against the conventions. To record spans and metrics of model calls use `wattspan-genai`; for
//! resource attributes use `opentelemetry-semantic-conventions`.
//!
//! ```
//! use wattspan_semconv::{Key, Measure, Operation, Profile, attr, value};
//!
//! let profile = Profile::default();
//! let model = profile.attribute(Operation::Chat, Key::RequestModel).map(|attribute| attribute.name);
//! assert_eq!(model, Some(attr::GEN_AI_REQUEST_MODEL));
//!
//! // One measure may be several instruments, each with its unit and boundaries.
//! for profile in Profile::ALL {
//!     for used in profile.instruments(Operation::Chat, Measure::InputTokens) {
//!         assert_eq!(used.metric.unit, "{token}");
//!     }
//! }
//! assert_eq!(Operation::Chat.as_str(), value::gen_ai_operation_name::CHAT);
//! ```
//!
//! # Limits
//! - Two GenAI versions are known: core 1.41.1 and 0.1. Names of the latter that no text shows are never given out.
//! - The conventions' descriptions are not carried; `docs/conventions.md` of the repository tells what is emitted.
//! - The checker sees neutral structs ([`conformance`]); adapters for a telemetry library live beside that library.
//!
//! # Features
//! None. Nothing runs at start-up, and look-ups do not allocate.

pub mod conformance;
mod generated;
mod model;
mod names;
mod profile;
mod rename;
pub mod smoltrace;
mod span_name;

pub use generated::key::Key;
pub use generated::measure::Measure;
pub use generated::operation::Operation;
pub use generated::{attr, env, event, metric, value};
pub use model::{
    AttributeDef, AttributeRef, AttributeType, EventDef, Evidence, Instrument, InstrumentUse, Level,
    MetricDef, Sensitivity, SpanDef, SpanKind, Standing, ValueType,
};
pub use names::{UnknownName, attr_name, metric_name, provider_name, short_name};
pub use profile::{Profile, UnknownProfile};
pub use rename::{Change, Era, Rename, Signal, names_in, renames};
pub use span_name::span_name;
