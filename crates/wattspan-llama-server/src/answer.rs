//! What generation routes answer, in one form for all of them.

use serde::Deserialize;
use wattspan_core::TokenUsage;

use crate::timings::Timings;

/// A whole answer of a chat or text completion.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct ChatAnswer {
    /// Text of the first choice.
    pub content: String,
    /// Tokens of all choices together, as the server counted them.
    pub tokens: TokenUsage,
    /// All choices, by their index.
    pub choices: Vec<Choice>,
    /// Id of the answer. **Absent** on `/completion`.
    pub id: Option<String>,
    /// Model that answered.
    pub model: Option<String>,
    /// llama.cpp's own account. **Absent** from other servers.
    pub timings: Option<Timings>,
    /// Slot that did the work. **Absent** on all routes but `/completion`.
    pub slot: Option<u32>,
    /// The server reported no prompt tokens for a prompt that cannot be empty, so `tokens` has no input.
    pub input_is_suspect: bool,
}

/// One choice of an answer.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Choice {
    /// Its number, from 0.
    pub index: u32,
    /// The text.
    pub content: String,
    /// What the model thought aloud, where the server keeps that apart.
    pub reasoning: Option<String>,
    /// Tools that the model wants called.
    pub tool_calls: Vec<ToolCall>,
    /// Why generation stopped: `stop`, `length`, `tool_calls`, or another of the server's.
    pub finish_reason: Option<String>,
    /// Log probabilities in the route's own shape, if asked for.
    pub logprobs: Option<serde_json::Value>,
}

/// A call of a tool that the model asks for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ToolCall {
    /// Its id, to send the result back with.
    pub id: Option<String>,
    /// The tool's name.
    pub name: String,
    /// Arguments as JSON text, which the model wrote and which may be invalid.
    pub arguments: String,
}

/// One piece of a streamed answer.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Chunk {
    /// What each choice gained. Empty in chunks that carry only counts.
    pub choices: Vec<ChunkChoice>,
    /// Id of the answer.
    pub id: Option<String>,
    /// Model that answers.
    pub model: Option<String>,
    /// llama.cpp's own account, in the last chunk or in each where `timings_per_token` was asked for.
    pub timings: Option<Timings>,
    /// How far the prompt is, where `return_progress` was asked for.
    pub progress: Option<PromptProgress>,
}

/// What one choice gained.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct ChunkChoice {
    /// Its number, from 0.
    pub index: u32,
    /// More text. `None` or empty in chunks that are no token, such as the first of a chat.
    pub text: Option<String>,
    /// More of what the model thinks aloud.
    pub reasoning: Option<String>,
    /// Pieces of tool calls.
    pub tool_calls: Vec<ToolCallDelta>,
    /// Why generation stopped, in the choice's last chunk.
    pub finish_reason: Option<String>,
    /// Log probabilities in the route's own shape, if asked for.
    pub logprobs: Option<serde_json::Value>,
}

/// A piece of a tool call: pieces with the same index belong together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ToolCallDelta {
    /// Which call.
    pub index: u32,
    /// Its id, in the first piece.
    pub id: Option<String>,
    /// The tool's name, in the first piece.
    pub name: Option<String>,
    /// More of the arguments' JSON text.
    pub arguments: Option<String>,
}

/// How far the prompt is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct PromptProgress {
    /// Prompt tokens.
    pub total: u64,
    /// Part of `total` that the cache had.
    pub cache: u64,
    /// Part of `total` that is done, the cached ones included.
    pub processed: u64,
}

impl ChunkChoice {
    /// Whether it carries output, which a role or a finish reason alone is not.
    pub(crate) fn is_output(&self) -> bool {
        let filled = |text: &Option<String>| text.as_deref().is_some_and(|text| !text.is_empty());
        filled(&self.text) || filled(&self.reasoning) || !self.tool_calls.is_empty()
    }
}

impl ChatAnswer {
    /// Adds a chunk: how an answer grows out of a stream.
    pub(crate) fn grow(&mut self, chunk: Chunk) {
        for piece in chunk.choices {
            let at = match self.choices.binary_search_by_key(&piece.index, |choice| choice.index) {
                Ok(at) => at,
                Err(at) => {
                    self.choices.insert(at, Choice { index: piece.index, ..Choice::default() });
                    at
                }
            };
            self.choices[at].grow(piece);
        }
        self.id = chunk.id.or(self.id.take());
        self.model = chunk.model.or(self.model.take());
        self.timings = chunk.timings.or(self.timings);
    }
}

impl Choice {
    fn grow(&mut self, piece: ChunkChoice) {
        self.content.push_str(piece.text.as_deref().unwrap_or_default());
        if let Some(more) = piece.reasoning {
            self.reasoning.get_or_insert_default().push_str(&more);
        }
        for delta in piece.tool_calls {
            // A server that opens call 5 before call 0 is broken; its pieces are kept in order of arrival then.
            let at = (delta.index as usize).min(self.tool_calls.len());
            if at == self.tool_calls.len() {
                self.tool_calls.push(ToolCall::default());
            }
            let call = &mut self.tool_calls[at];
            call.id = delta.id.or(call.id.take());
            call.name.push_str(delta.name.as_deref().unwrap_or_default());
            call.arguments.push_str(delta.arguments.as_deref().unwrap_or_default());
        }
        self.finish_reason = piece.finish_reason.or(self.finish_reason.take());
        match (&mut self.logprobs, piece.logprobs) {
            // Both shapes that servers stream hold lists that go on: `{"content": [..]}` and a bare list.
            (Some(serde_json::Value::Array(all)), Some(serde_json::Value::Array(more))) => all.extend(more),
            (Some(serde_json::Value::Object(all)), Some(serde_json::Value::Object(more))) => {
                for (key, value) in more {
                    match (all.get_mut(&key), value) {
                        (Some(serde_json::Value::Array(all)), serde_json::Value::Array(more)) => {
                            all.extend(more);
                        }
                        (_, value) => {
                            all.insert(key, value);
                        }
                    }
                }
            }
            (all, Some(more)) if !more.is_null() => *all = Some(more),
            _ => {}
        }
    }
}
