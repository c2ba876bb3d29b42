//! What answers: a server, a model in this process, or something of the caller's own.

#[cfg(feature = "llama-cpp")]
mod llama_cpp;
mod server;

use std::borrow::Cow;
use std::time::Duration;

use async_trait::async_trait;
use wattspan_core::Cell;

#[cfg(feature = "llama-cpp")]
pub use llama_cpp::LlamaCppTarget;
pub use server::ServerTarget;

use crate::{Message, ToolRequest, ToolSpec};

/// Answers requests. Called from several cases at once, on the run's task: must not block it.
///
/// Each call makes one instrumented inference, with instrumentation whose sinks are the run's
/// [`Recorder`](crate::Recorder), under the OpenTelemetry context that is current when the future is polled; it has ended
/// when the call returns or its future is dropped. A call that made none is allowed: it has no tokens and no energy then.
#[async_trait]
pub trait Target: Send + Sync {
    /// What the tables and the metadata say of it.
    fn facts(&self) -> TargetFacts;

    /// Whether it can offer tools to the model.
    fn offers_tools(&self) -> bool;

    /// Answers a request.
    ///
    /// # Errors
    /// [`TargetError::Failed`] when this request failed and others may not; [`TargetError::Unusable`] when no other can
    /// succeed either, which ends the run.
    async fn answer(&self, ask: &Ask<'_>) -> Result<Answer, TargetError>;
}

/// What the tables and the metadata say of a target.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct TargetFacts {
    /// The model's name.
    pub model: String,
    /// What serves it, such as `llama-server`.
    pub provider: String,
    /// Versions of what serves it, by name.
    pub versions: Vec<(String, String)>,
    /// How it is configured, by name. Secrets do not belong here; what looks like one is taken out.
    pub configuration: Vec<(String, Cell)>,
}

impl TargetFacts {
    /// A model and what serves it.
    pub fn new(model: impl Into<String>, provider: impl Into<String>) -> Self {
        Self { model: model.into(), provider: provider.into(), ..Self::default() }
    }
}

/// A request.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Ask<'a> {
    /// The conversation so far.
    pub messages: &'a [Message],
    /// Tools that the model may ask for.
    pub tools: &'a [ToolSpec],
    /// How the answer is drawn.
    pub generation: Generation,
    /// Bounds the request in time.
    pub timeout: Option<Duration>,
}

/// How answers are drawn. What is not set is left to the target.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
#[non_exhaustive]
pub struct Generation {
    /// Most tokens of an answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u32>,
    /// Temperature; 0 takes the likeliest token always.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// Draws from the likeliest tokens that together have this probability.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub top_p: Option<f64>,
    /// Draws from this many of the likeliest tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub top_k: Option<u32>,
    /// Draws from tokens of at least this fraction of the likeliest one's probability.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_p: Option<f64>,
    /// Seed of the first attempt; each further attempt has the next number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seed: Option<u32>,
    /// Texts that end an answer.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub stop: Vec<String>,
}

impl Generation {
    /// Takes the likeliest token always, so that the same prompt gives the same answer.
    pub fn greedy() -> Self {
        Self { temperature: Some(0.0), ..Self::default() }
    }

    /// Sets the most tokens of an answer.
    pub fn max_tokens(mut self, tokens: u32) -> Self {
        self.max_tokens = Some(tokens);
        self
    }

    /// Sets the temperature.
    pub fn temperature(mut self, temperature: f64) -> Self {
        self.temperature = Some(temperature);
        self
    }

    /// Sets the seed of the first attempt.
    pub fn seed(mut self, seed: u32) -> Self {
        self.seed = Some(seed);
        self
    }

    /// Adds a text that ends an answer.
    pub fn stop(mut self, text: impl Into<String>) -> Self {
        self.stop.push(text.into());
        self
    }
}

/// What came back.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Answer {
    /// Its text.
    pub text: String,
    /// Tools that the model wants called.
    pub tool_calls: Vec<ToolRequest>,
    /// Why it ended: `stop`, `length`, or another of the server's.
    pub finish_reason: Option<String>,
    /// Its id.
    pub response_id: Option<String>,
    /// The model that answered.
    pub model: Option<String>,
}

impl Answer {
    /// An answer of some text.
    pub fn text(text: impl Into<String>) -> Self {
        Self { text: text.into(), finish_reason: Some("stop".to_owned()), ..Self::default() }
    }

    /// An answer that asks for tools.
    pub fn tools(calls: Vec<ToolRequest>) -> Self {
        Self { tool_calls: calls, finish_reason: Some("tool_calls".to_owned()), ..Self::default() }
    }
}

/// A request was not answered.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TargetError {
    /// This request failed; others may not. The case's row says so, and the run goes on.
    #[error("{message}")]
    Failed {
        /// A type of few different values, such as `exceed_context_size_error`.
        error_type: Cow<'static, str>,
        /// What went wrong and what to do.
        message: String,
    },
    /// No other request can succeed either: the run ends, and the case counts as not asked.
    #[error("{message}")]
    Unusable {
        /// What went wrong and what to do.
        message: String,
    },
}

impl TargetError {
    /// This request failed.
    pub fn failed(error_type: impl Into<Cow<'static, str>>, message: impl Into<String>) -> Self {
        Self::Failed { error_type: error_type.into(), message: message.into() }
    }

    /// No request can succeed.
    pub fn unusable(message: impl Into<String>) -> Self {
        Self::Unusable { message: message.into() }
    }
}
