//! Checks telemetry against a profile and lists every violation.
//!
//! Input are neutral structs, so that spans of an SDK, an OTLP message or a file can be checked alike; the adapters live
//! where those types are. Nothing is repaired and nothing stops at the first fault.
//!
//! A name outside `gen_ai.`, `mcp.`, `openai.`, `hw.` and `wattspan.` is the application's own and is let be, except
//! that no key may stand twice. Enumerations of the conventions are open: only `wattspan.` ones have a fixed set.
//!
//! ```
//! use wattspan_semconv::conformance::{Span, Status, Telemetry, check};
//! use wattspan_semconv::{Profile, SpanKind, attr};
//!
//! let span = Span {
//!     name: "chat smollm2".into(),
//!     kind: SpanKind::Client,
//!     status: Status::Unset,
//!     attributes: vec![
//!         (attr::GEN_AI_OPERATION_NAME.into(), "chat".into()),
//!         (attr::GEN_AI_REQUEST_MODEL.into(), "smollm2".into()),
//!         (attr::GEN_AI_USAGE_INPUT_TOKENS.into(), "12".into()),
//!     ],
//!     events: vec![],
//! };
//! let violations = check(Profile::Core, &Telemetry { spans: vec![span], ..Telemetry::default() });
//! let texts: Vec<String> = violations.iter().map(ToString::to_string).collect();
//! assert_eq!(
//!     texts,
//!     [
//!         "span `chat smollm2`: `gen_ai.usage.input_tokens` is string, the convention says int",
//!         "span `chat smollm2`: `gen_ai.provider.name` is missing, which is required",
//!     ]
//! );
//! ```

mod attributes;
mod check;
mod data;
mod violation;

pub use check::{Checker, check};
pub use data::{Attributes, Event, Metric, Resource, Span, Status, Telemetry, Value};
pub use violation::{Fault, Place, Violation};
