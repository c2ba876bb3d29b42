//! The shapes that llama-server sends, as far as they are read.

use std::time::Duration;

use serde::Deserialize;
use wattspan_core::{LatePhases, TokenUsage};

/// A chat chunk or a whole chat answer.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Answer {
    pub(crate) id: Option<String>,
    pub(crate) model: Option<String>,
    pub(crate) choices: Vec<Choice>,
    pub(crate) usage: Option<Usage>,
    pub(crate) timings: Option<Timings>,
    pub(crate) error: Option<ErrorBody>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Choice {
    pub(crate) finish_reason: Option<String>,
    pub(crate) delta: Message,
    pub(crate) message: Message,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Message {
    pub(crate) content: Option<String>,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Usage {
    prompt_tokens: Option<u64>,
    completion_tokens: Option<u64>,
    prompt_tokens_details: Option<PromptDetails>,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default)]
struct PromptDetails {
    cached_tokens: Option<u64>,
}

/// llama.cpp's own account of a request.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Timings {
    cache_n: Option<u64>,
    prompt_n: Option<u64>,
    prompt_ms: Option<f64>,
    predicted_n: Option<u64>,
    predicted_ms: Option<f64>,
    draft_n: Option<u64>,
    draft_n_accepted: Option<u64>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct ErrorBody {
    #[serde(default)]
    pub(crate) message: String,
    #[serde(default, rename = "type")]
    pub(crate) kind: String,
}

/// Disjoint token buckets from what an answer says; timings are the server's own count and win.
pub(crate) fn token_usage(usage: Option<Usage>, timings: Option<Timings>) -> TokenUsage {
    let mut tokens = TokenUsage::default();
    if let Some(usage) = usage {
        let cached = usage.prompt_tokens_details.and_then(|details| details.cached_tokens);
        tokens.cache_read = cached;
        tokens.fresh = usage.prompt_tokens.map(|all| all.saturating_sub(cached.unwrap_or(0)));
        tokens.output = usage.completion_tokens;
    }
    if let Some(timings) = timings {
        tokens.cache_read = timings.cache_n.or(tokens.cache_read);
        tokens.fresh = timings.prompt_n.or(tokens.fresh);
        tokens.output = timings.predicted_n.or(tokens.output);
        tokens.draft = timings.draft_n;
        tokens.draft_accepted = timings.draft_n_accepted;
    }
    tokens
}

impl Timings {
    pub(crate) fn phases(self) -> LatePhases {
        let duration =
            |millis: Option<f64>| millis.and_then(|millis| Duration::try_from_secs_f64(millis / 1e3).ok());
        let mut phases = LatePhases::default();
        phases.prompt_tokens = self.prompt_n;
        phases.prompt = duration(self.prompt_ms);
        phases.decode_steps = self.predicted_n;
        phases.decode = duration(self.predicted_ms);
        phases.draft_tokens = self.draft_n;
        phases
    }
}
