//! OpenTelemetry GenAI instrumentation: inferences, embeddings, tools, agents, retrievals and evaluations.
//!
//! Use this crate to instrument model calls of your own, or a client of a model server: it names spans, attributes and
//! metrics by the conventions, in either profile, and hands each inference to an
//! [`InferenceObserver`](wattspan_core::InferenceObserver), which has its energy settled. For llama.cpp there are
//! `wattspan-llama-server` and `wattspan-llama-cpp`, which do this already; for names without spans take
//! `wattspan-semconv`; for exporters `wattspan-otel`; for everything at once the facade `wattspan`.
//!
//! ```
//! use wattspan_core::TokenUsage;
//! use wattspan_genai::{GenAi, Request, Tool};
//!
//! // Records to the global providers: to nowhere, until the program sets them.
//! let genai = GenAi::builder("llama_cpp").build();
//!
//! let request = Request::chat("smollm2").temperature(0.2).max_tokens(64).streaming();
//! let mut inference = genai.begin(request);
//! for _piece in ["Hello", ",", " world"] {
//!     inference.token();
//! }
//! let mut usage = TokenUsage::default();
//! usage.fresh = Some(12);
//! usage.output = Some(3);
//! inference.usage(usage);
//! inference.finish_reason("stop");
//! inference.finish();
//!
//! // A tool that the model asked for.
//! let call = genai.begin_tool(Tool::new("get_weather").call_id("call_1").kind("function"));
//! call.finish();
//! ```
//!
//! # Ends
//! An inference, tool call, agent or retrieval ends with `finish`, `fail`, or when it is dropped: as `cancelled` (a
//! future or stream that nobody waits for any more) or `panic`. Its span's end is as far from its start as the
//! monotonic clock says. The metrics that need no energy are recorded at the end at once; the span ends when its energy
//! is settled, or at once when nobody measures. Metrics do not depend on sampling, and carry no ids.
//!
//! # Times
//! [`Timing`] and the chunk histograms are what the caller's clock saw: the first chunk of any kind, and the first with
//! output. [`ServerTimings`] is what a server says of itself, and alone makes the `gen_ai.server.*` histograms. Times
//! between chunks are kept while the answer comes, and recorded when the inference settles.
//!
//! # Content
//! Prompts, answers, tool arguments and results are not recorded unless a [`ContentPolicy`] says so; then they go
//! through its redaction hook and length limit first.
//!
//! # Context
//! [`Inference::context`] is the parent for what happens inside; [`context`] hands it, and the conversation, to other
//! tasks and into W3C headers. A second layer that begins the same inference inside that context adds to it.
//!
//! # Cost
//! `cargo bench -p wattspan-genai` tells what an inference costs its caller above the same span and histograms by hand,
//! alone, in bursts and on several threads, and what a token costs above a clock reading and an atomic addition.
//!
//! # Limits
//! - A span cannot be read back: what another library wrote on a span that is [adopted](GenAi::adopt) must be named.
//! - Input tokens count as text unless [`Inference::usage_by_modality`] says otherwise (`genai` profile).
//! - In the `core` profile an operation without a convention of its own (plan, memory) has a span and no duration.
//! - Inline images and audio are not recorded as content.
//! - Physical bounds of an energy figure are in the inference's record and not on its span, which has no name for them.
//!
//! # Features
//! None. OpenTelemetry types in the public interface are those of `opentelemetry` 0.33: `Context`, `Meter`, `Tracer`,
//! `KeyValue`, `Value`, `Span`, `SpanRef`, `SpanContext`, `Logger`, `Injector`, `WithContext`; JSON is `serde_json`'s
//! `Value`, streams are `futures_core`'s.

mod agent;
mod attributes;
mod content;
pub mod context;
mod evaluation;
mod events;
mod failure;
mod genai;
mod inference;
mod instruments;
mod joint;
mod report;
mod request;
mod retrieval;
mod settle;
pub mod span;
mod step;
mod stream;
mod timing;
mod tool;
mod usage;

pub use agent::{Agent, AgentRun};
pub use content::{ContentKind, ContentPolicy, Message, Part, ToolDefinition};
pub use evaluation::Evaluation;
pub use events::{Event, EventSink, LogEvents};
pub use failure::Failure;
pub use genai::{GenAi, GenAiBuilder};
pub use inference::Inference;
pub use request::{OutputType, Request};
pub use retrieval::{Memory, MemoryRun, Retrieval, RetrievalRun};
pub use stream::{Chunk, InferenceIter, InferenceStream};
pub use timing::{ServerTimings, Timing};
pub use tool::{Tool, ToolCall};
pub use usage::{ModalityTokens, ModalityUsage};
// What a caller needs to name a profile, an operation or an attribute, without a dependency of its own.
pub use wattspan_semconv::{Key, Operation, Profile};
