//! Which route a request goes to, and what the pieces of its answer say: for the layer, which sees the bytes of calls
//! that others make. Pure.

use serde::Deserialize;
use wattspan_genai::Inference;
use wattspan_genai::Operation;

use crate::error::ErrorBody;
use crate::tally::{MessagesUsage, Tally};
use crate::wire::{WireAnswer, nullable};

/// A family of routes with answers of one shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dialect {
    /// OpenAI's chat and text completion, llama-server's `/completion`.
    Completion,
    /// OpenAI's Responses.
    Responses,
    /// Anthropic's Messages.
    Messages,
    /// Embeddings and rerank: usage only.
    Encoding,
}

/// Operation and dialect of a path; `None` for routes that are no inference.
pub(crate) fn route(path: &str) -> Option<(Operation, Dialect)> {
    let path = path.trim_end_matches('/');
    let routes = [
        ("/chat/completions", Operation::Chat, Dialect::Completion),
        ("/completions", Operation::TextCompletion, Dialect::Completion),
        ("/completion", Operation::TextCompletion, Dialect::Completion),
        ("/infill", Operation::TextCompletion, Dialect::Completion),
        ("/responses", Operation::Chat, Dialect::Responses),
        ("/messages", Operation::Chat, Dialect::Messages),
        ("/embeddings", Operation::Embeddings, Dialect::Encoding),
        ("/embedding", Operation::Embeddings, Dialect::Encoding),
        ("/rerank", Operation::Rerank, Dialect::Encoding),
        ("/reranking", Operation::Rerank, Dialect::Encoding),
    ];
    routes
        .into_iter()
        .find(|(end, ..)| path.ends_with(end))
        .map(|(_, operation, dialect)| (operation, dialect))
}

/// How far an answer is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    /// More is to come.
    Open,
    /// The server said that this was all.
    Done,
    /// The server reported an error, of this type where it named one.
    Failed(String),
}

impl Dialect {
    /// Takes one event's data. What cannot be read is passed over: the application judges it, not the layer.
    pub(crate) fn event(self, data: &str, tally: &mut Tally, inference: &mut Inference) -> Progress {
        if data.trim() == "[DONE]" {
            return Progress::Done;
        }
        match self {
            Self::Completion => completion(data, tally, inference),
            Self::Messages | Self::Responses => typed_event(data, tally, inference),
            Self::Encoding => self.whole(data, false, tally),
        }
    }

    /// Takes a whole answer; `keep`: its text too, which only completions give.
    pub(crate) fn whole(self, body: &str, keep: bool, tally: &mut Tally) -> Progress {
        match self {
            Self::Completion => match crate::client::parse_whole(body, "") {
                Ok((answer, mut told)) => {
                    if keep {
                        told.keep(&answer);
                    }
                    *tally = told;
                    Progress::Done
                }
                Err(crate::Error::Interrupted { kind, .. }) => Progress::Failed(kind),
                Err(_) => Progress::Open,
            },
            Self::Messages | Self::Responses | Self::Encoding => {
                let Ok(answer) = serde_json::from_str::<Answer>(body) else { return Progress::Open };
                if let Some(error) = answer.error {
                    return Progress::Failed(error.kind);
                }
                answer.tell(self, tally);
                Progress::Done
            }
        }
    }
}

fn completion(data: &str, tally: &mut Tally, inference: &mut Inference) -> Progress {
    let Ok(answer) = WireAnswer::parse(data) else { return Progress::Open };
    if let Some(error) = answer.error {
        return Progress::Failed(error.kind);
    }
    let done = answer.stop == Some(true);
    let usage = answer.counted();
    tally.chunk(&answer.into_chunk(), usage, inference);
    if done { Progress::Done } else { Progress::Open }
}

/// An event of Messages or Responses, which name their type.
fn typed_event(data: &str, tally: &mut Tally, inference: &mut Inference) -> Progress {
    let Ok(event) = serde_json::from_str::<TypedEvent>(data) else { return Progress::Open };
    match event.kind.as_str() {
        "message_start" => {
            if let Some(message) = event.message {
                message.tell(Dialect::Messages, tally);
            }
        }
        "content_block_delta" => inference.token(),
        "content_block_start" => inference.chunk(),
        "message_delta" => {
            if let Some(usage) = event.usage {
                tally.messages_usage(usage);
            }
            if let Some(reason) = event.delta.and_then(|delta| delta.stop_reason) {
                tally.finish_reason(0, reason);
            }
        }
        "message_stop" => return Progress::Done,
        "response.completed" | "response.incomplete" => {
            if let Some(response) = event.response {
                response.tell(Dialect::Responses, tally);
            }
            return Progress::Done;
        }
        "response.failed" | "error" => {
            let error = event.response.and_then(|response| response.error).or(event.error);
            return Progress::Failed(error.unwrap_or_default().kind);
        }
        // Text, reasoning, and the arguments of tool calls.
        kind if kind.starts_with("response.") && kind.rsplit('.').next() == Some("delta") => {
            inference.token();
        }
        _ => {}
    }
    Progress::Open
}

/// An answer of Messages, Responses, embeddings or rerank.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Answer {
    id: Option<String>,
    model: Option<String>,
    status: Option<String>,
    stop_reason: Option<String>,
    usage: Option<AnyUsage>,
    error: Option<ErrorBody>,
}

/// Both ways of counting; the dialect says which of the two it is.
#[derive(Debug, Deserialize)]
struct AnyUsage(serde_json::Value);

impl Answer {
    fn tell(self, dialect: Dialect, tally: &mut Tally) {
        tally.id = self.id.or(tally.id.take());
        tally.model = self.model.or(tally.model.take());
        tally.may_be_empty = dialect == Dialect::Encoding;
        if let Some(AnyUsage(usage)) = self.usage {
            if dialect == Dialect::Messages {
                if let Ok(usage) = serde_json::from_value(usage) {
                    tally.messages_usage(usage);
                }
            } else if let Ok(usage) = serde_json::from_value(usage) {
                tally.usage(usage);
            }
        }
        let reason = match dialect {
            Dialect::Messages => self.stop_reason,
            // The status of a whole response; the reason itself is not in it.
            Dialect::Responses => self.status.map(|status| match status.as_str() {
                "completed" => "stop".to_owned(),
                "incomplete" => "length".to_owned(),
                _ => status,
            }),
            _ => None,
        };
        if let Some(reason) = reason {
            tally.finish_reason(0, reason);
        }
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct TypedEvent {
    #[serde(rename = "type", deserialize_with = "nullable")]
    kind: String,
    message: Option<Answer>,
    response: Option<Answer>,
    usage: Option<MessagesUsage>,
    // In Responses' deltas this is a text; only Messages' object matters.
    #[serde(deserialize_with = "object_or_none")]
    delta: Option<MessageDelta>,
    error: Option<ErrorBody>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct MessageDelta {
    stop_reason: Option<String>,
}

fn object_or_none<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Option<MessageDelta>, D::Error> {
    let value = serde_json::Value::deserialize(from)?;
    Ok(if value.is_object() { serde_json::from_value(value).ok() } else { None })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn routes_are_told_by_their_end() {
        for (path, expected) in [
            ("/v1/chat/completions", Some(Operation::Chat)),
            ("/api/v1/chat/completions/", Some(Operation::Chat)),
            ("/v1/completions", Some(Operation::TextCompletion)),
            ("/completion", Some(Operation::TextCompletion)),
            ("/v1/responses", Some(Operation::Chat)),
            ("/v1/messages", Some(Operation::Chat)),
            ("/v1/embeddings", Some(Operation::Embeddings)),
            ("/v1/rerank", Some(Operation::Rerank)),
            ("/tokenize", None),
            ("/v1/models", None),
            ("/messages/count_tokens", None),
        ] {
            assert_eq!(route(path).map(|(operation, _)| operation), expected, "{path}");
        }
    }
}
