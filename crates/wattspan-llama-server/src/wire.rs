//! The shapes that servers send, as far as they are read. Tolerant: unknown fields are skipped, `null` is like absent.

use serde::{Deserialize, Deserializer};

use crate::answer::{ChatAnswer, Choice, Chunk, ChunkChoice, PromptProgress, ToolCall, ToolCallDelta};
use crate::error::ErrorBody;
use crate::timings::Timings;

/// Reads `null` as the default, which some servers write where others leave a field out.
pub(crate) fn nullable<'de, D: Deserializer<'de>, T: Default + Deserialize<'de>>(
    from: D,
) -> Result<T, D::Error> {
    Ok(Option::deserialize(from)?.unwrap_or_default())
}

/// A chunk or a whole answer of `/v1/chat/completions`, `/v1/completions` or `/completion`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct WireAnswer {
    id: Option<String>,
    model: Option<String>,
    #[serde(deserialize_with = "nullable")]
    choices: Vec<WireChoice>,
    pub(crate) usage: Option<Usage>,
    pub(crate) timings: Option<Timings>,
    pub(crate) error: Option<ErrorBody>,
    prompt_progress: Option<PromptProgress>,
    // The rest is `/completion`'s own.
    index: Option<u32>,
    content: Option<String>,
    pub(crate) stop: Option<bool>,
    stop_type: Option<String>,
    id_slot: Option<i64>,
    tokens_predicted: Option<u64>,
    tokens_evaluated: Option<u64>,
    completion_probabilities: Option<serde_json::Value>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct WireChoice {
    #[serde(deserialize_with = "nullable")]
    index: u32,
    finish_reason: Option<String>,
    #[serde(deserialize_with = "nullable")]
    delta: WireMessage,
    #[serde(deserialize_with = "nullable")]
    message: WireMessage,
    text: Option<String>,
    logprobs: Option<serde_json::Value>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct WireMessage {
    content: Option<String>,
    #[serde(alias = "reasoning")]
    reasoning_content: Option<String>,
    #[serde(deserialize_with = "nullable")]
    tool_calls: Vec<WireToolCall>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct WireToolCall {
    #[serde(deserialize_with = "nullable")]
    index: u32,
    id: Option<String>,
    #[serde(deserialize_with = "nullable")]
    function: WireFunction,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct WireFunction {
    name: Option<String>,
    arguments: Option<String>,
}

/// OpenAI's `usage`: the prompt's count holds the cached tokens.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Usage {
    #[serde(alias = "input_tokens")]
    pub(crate) prompt_tokens: Option<u64>,
    #[serde(alias = "output_tokens")]
    pub(crate) completion_tokens: Option<u64>,
    #[serde(alias = "input_tokens_details")]
    pub(crate) prompt_tokens_details: Option<PromptDetails>,
    #[serde(alias = "output_tokens_details")]
    pub(crate) completion_tokens_details: Option<OutputDetails>,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct PromptDetails {
    pub(crate) cached_tokens: Option<u64>,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct OutputDetails {
    pub(crate) reasoning_tokens: Option<u64>,
}

impl WireAnswer {
    /// Reads a chunk or an answer.
    pub(crate) fn parse(text: &str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(text)
    }

    /// Usage in OpenAI's words, also out of `/completion`, which counts in fields of its own.
    pub(crate) fn counted(&self) -> Option<Usage> {
        // In partial chunks the counts are those so far, which the last chunk replaces.
        let own = self.tokens_predicted.is_some() || self.tokens_evaluated.is_some();
        self.usage.or_else(|| {
            own.then(|| Usage {
                prompt_tokens: self.tokens_evaluated,
                completion_tokens: self.tokens_predicted,
                ..Usage::default()
            })
        })
    }

    fn own_choice(&mut self) -> Option<ChunkChoice> {
        let text = self.content.take()?;
        let ended = self.stop.unwrap_or(false);
        Some(ChunkChoice {
            index: self.index.unwrap_or(0),
            text: Some(text),
            finish_reason: self.stop_type.take().filter(|_| ended).and_then(stop_reason),
            logprobs: self.completion_probabilities.take(),
            ..ChunkChoice::default()
        })
    }

    pub(crate) fn into_chunk(mut self) -> Chunk {
        let own = self.own_choice();
        let choices = self.choices.into_iter().map(|choice| ChunkChoice {
            index: choice.index,
            text: choice.delta.content.or(choice.text),
            reasoning: choice.delta.reasoning_content,
            tool_calls: choice.delta.tool_calls.into_iter().map(WireToolCall::into_delta).collect(),
            finish_reason: choice.finish_reason,
            logprobs: choice.logprobs,
        });
        Chunk {
            choices: own.into_iter().chain(choices).collect(),
            id: self.id,
            model: self.model,
            timings: self.timings,
            progress: self.prompt_progress,
        }
    }

    /// A whole answer; `None` when there is nothing in it that is one.
    pub(crate) fn into_answer(mut self) -> Option<ChatAnswer> {
        let own = self.own_choice().map(|choice| Choice {
            index: choice.index,
            content: choice.text.unwrap_or_default(),
            finish_reason: choice.finish_reason,
            logprobs: choice.logprobs,
            ..Choice::default()
        });
        let (_, choices) = (own.is_some(), self.choices);
        // Servers leave the index out of some answers with one choice, and llama.cpp sorts n choices by it.
        let choices = choices.into_iter().map(|choice| Choice {
            index: choice.index,
            content: choice.message.content.or(choice.text).unwrap_or_default(),
            reasoning: choice.message.reasoning_content,
            tool_calls: choice.message.tool_calls.into_iter().map(WireToolCall::into_call).collect(),
            finish_reason: choice.finish_reason,
            logprobs: choice.logprobs,
        });
        let mut choices: Vec<Choice> = own.into_iter().chain(choices).collect();
        choices.sort_by_key(|choice| choice.index);
        let first = choices.first()?;
        Some(ChatAnswer {
            content: first.content.clone(),
            choices,
            id: self.id,
            model: self.model,
            timings: self.timings,
            slot: self.id_slot.and_then(|slot| u32::try_from(slot).ok()),
            ..ChatAnswer::default()
        })
    }
}

impl WireToolCall {
    fn into_delta(self) -> ToolCallDelta {
        ToolCallDelta {
            index: self.index,
            id: self.id,
            name: self.function.name,
            arguments: self.function.arguments,
        }
    }

    fn into_call(self) -> ToolCall {
        ToolCall {
            id: self.id,
            name: self.function.name.unwrap_or_default(),
            arguments: self.function.arguments.unwrap_or_default(),
        }
    }
}

/// `/completion`'s `stop_type` in the words of the other routes.
pub(crate) fn stop_reason(stop_type: String) -> Option<String> {
    match stop_type.as_str() {
        "eos" | "word" => Some("stop".to_owned()),
        "limit" => Some("length".to_owned()),
        "none" | "" => None,
        _ => Some(stop_type),
    }
}
