//! A llama-server, or another server with OpenAI's routes.

use async_trait::async_trait;
use serde_json::{Value, json};
use wattspan_core::Cell;
use wattspan_llama_server::{ChatAnswer, ChatMessage, ChatRequest, Error, LlamaServer, Tool};

use super::{Answer, Ask, Target, TargetError, TargetFacts};
use crate::{Message, Provider, ToolRequest};

/// A llama-server, or another server with OpenAI's routes, behind its instrumented client.
///
/// Answers are streamed, so that the time to the first token is known, unless told otherwise. Whether a server can offer
/// tools is for the server to say: llama-server needs `--jinja`.
#[derive(Clone)]
pub struct ServerTarget {
    client: LlamaServer,
    facts: TargetFacts,
    request_model: String,
    stream: bool,
}

impl ServerTarget {
    /// A server by its client, and a model's name as the server knows it; empty means its only one.
    pub fn new(client: LlamaServer, model: impl Into<String>, provider: Provider) -> Self {
        let request_model = model.into();
        let facts = TargetFacts::new(request_model.clone(), provider.as_str());
        Self { client, facts, request_model, stream: true }
    }

    /// Whether answers are streamed. Some servers cannot stream tool calls; without streaming there is no time to the
    /// first token.
    pub fn stream(mut self, on: bool) -> Self {
        self.stream = on;
        self
    }

    /// Asks the server what it is: its model, when none was named, its build and its settings. A server that does not
    /// tell, since it is not a llama-server, is left as it was named.
    ///
    /// # Errors
    /// When nobody answers there, or the key is refused.
    pub async fn probe(mut self) -> Result<Self, TargetError> {
        let unusable = |error: &Error| !matches!(target_error(error), TargetError::Failed { .. });
        match self.client.models().await {
            Ok(models) => {
                if let Some(first) = models.first().filter(|_| self.facts.model.is_empty()) {
                    self.facts.model.clone_from(&first.id);
                }
            }
            Err(error) if unusable(&error) => return Err(target_error(&error)),
            Err(_) => {}
        }
        if self.facts.provider != Provider::LlamaServer.as_str() {
            return Ok(self);
        }
        match self.client.props().await {
            Ok(props) => {
                if let Some(build) = props.build_info {
                    self.facts.versions.push(("llama.cpp".to_owned(), build));
                }
                let text = |text: String| Cell::Text(text.into());
                let told = [
                    ("server.model_path", props.model_path.map(text)),
                    ("server.model_ftype", props.model_ftype.map(text)),
                    ("server.slots", props.total_slots.map(|slots| Cell::Int(i64::from(slots)))),
                ];
                let told = told.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)));
                self.facts.configuration.extend(told);
            }
            Err(error) if unusable(&error) => return Err(target_error(&error)),
            Err(_) => {}
        }
        Ok(self)
    }

    fn request(&self, ask: &Ask<'_>) -> ChatRequest {
        let messages = ask.messages.iter().map(message).collect();
        let mut request = ChatRequest::new(self.request_model.as_str(), messages);
        let generation = &ask.generation;
        request.sampling.max_tokens = generation.max_tokens;
        request.sampling.temperature = generation.temperature;
        request.sampling.top_p = generation.top_p;
        request.sampling.top_k = generation.top_k;
        request.sampling.min_p = generation.min_p;
        request.sampling.seed = generation.seed;
        request.sampling.stop.clone_from(&generation.stop);
        request.deadline = ask.timeout;
        for tool in ask.tools {
            request = request.tool(Tool::new(tool.name(), tool.description(), tool.schema().clone()));
        }
        request
    }
}

#[async_trait]
impl Target for ServerTarget {
    fn facts(&self) -> TargetFacts {
        self.facts.clone()
    }

    fn offers_tools(&self) -> bool {
        true
    }

    async fn answer(&self, ask: &Ask<'_>) -> Result<Answer, TargetError> {
        let request = self.request(ask);
        let answered = if self.stream {
            self.client.chat_stream(&request, |_| {}).await
        } else {
            self.client.chat(&request).await
        };
        answered.map(answer).map_err(|error| target_error(&error))
    }
}

impl std::fmt::Debug for ServerTarget {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("ServerTarget").field("facts", &self.facts).finish_non_exhaustive()
    }
}

fn message(message: &Message) -> ChatMessage {
    let mut out = ChatMessage::new(message.role.clone(), message.content.clone());
    if !message.tool_calls.is_empty() {
        if message.content.is_empty() {
            out.content = Value::Null;
        }
        let call = |call: &ToolRequest| {
            json!({
                "id": call.id, "type": "function",
                "function": {"name": call.name, "arguments": call.arguments},
            })
        };
        out.tool_calls = message.tool_calls.iter().map(call).collect();
    }
    out.tool_call_id.clone_from(&message.tool_call_id);
    out
}

fn answer(mut from: ChatAnswer) -> Answer {
    let mut out = Answer { text: from.content, response_id: from.id, model: from.model, ..Answer::default() };
    if let Some(choice) = from.choices.first_mut() {
        out.finish_reason = choice.finish_reason.take();
        let calls = std::mem::take(&mut choice.tool_calls).into_iter();
        out.tool_calls = calls
            .map(|call| ToolRequest { id: call.id, name: call.name, arguments: call.arguments })
            .collect();
    }
    out
}

fn target_error(error: &Error) -> TargetError {
    match error {
        Error::Unreachable { .. } | Error::Unauthorized { .. } | Error::Setup { .. } => {
            TargetError::unusable(error.to_string())
        }
        _ => TargetError::failed(error.error_type(), error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tool_call_goes_back_in_the_routes_shape() {
        let call = ToolRequest::new("get_weather", r#"{"city":"Oslo"}"#).id("call_1");
        let sent = serde_json::to_value(message(&Message::assistant(String::new(), vec![call]))).unwrap();
        // The shape of OpenAI's chat completions reference, "assistant message" and "tool message".
        let expected = json!({
            "role": "assistant", "content": null,
            "tool_calls": [{"id": "call_1", "type": "function",
                "function": {"name": "get_weather", "arguments": "{\"city\":\"Oslo\"}"}}],
        });
        assert_eq!(sent, expected);
        let result = Message::tool_result(Some("call_1".to_owned()), "rain".to_owned());
        let sent = serde_json::to_value(message(&result)).unwrap();
        assert_eq!(sent, json!({"role": "tool", "content": "rain", "tool_call_id": "call_1"}));
    }
}
