//! OpenTelemetry GenAI instrumentation for inferences, tools, agents and retrieval.

mod genai;
mod inference;
mod instruments;
mod request;
mod settle;

pub use genai::{GenAi, GenAiBuilder};
pub use inference::Inference;
pub use request::Request;
