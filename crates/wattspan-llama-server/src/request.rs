//! What is asked of a generation route, as typed parameters.

use std::time::Duration;

use serde::Serialize;
use serde_json::{Map, Value, json};

/// Parameters that chat and text completion share. What is not set is not sent.
#[derive(Clone, Debug, Default, Serialize)]
#[non_exhaustive]
pub struct Sampling {
    /// Largest number of output tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u32>,
    /// Sampling temperature.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// Keeps the most probable tokens up to this probability.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub top_p: Option<f64>,
    /// Keeps this many of the most probable tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub top_k: Option<u32>,
    /// Keeps tokens at least this probable, relative to the best.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_p: Option<f64>,
    /// Seed of the sampler.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seed: Option<u32>,
    /// Strings that end the answer.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub stop: Vec<String>,
    /// Number of choices.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub n: Option<u32>,
    /// Penalty by frequency.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub frequency_penalty: Option<f64>,
    /// Penalty by presence.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub presence_penalty: Option<f64>,
    /// Whether llama-server may reuse the prompt's cache.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_prompt: Option<bool>,
    /// Parameters that have no field here, sent as they are. A name that has a field must not stand here too.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// Setters that both kinds of request have.
macro_rules! setters {
    ($request:ident) => {
        impl $request {
            /// Bounds the answer.
            pub fn max_tokens(mut self, tokens: u32) -> Self {
                self.sampling.max_tokens = Some(tokens);
                self
            }

            /// Sampling temperature.
            pub fn temperature(mut self, temperature: f64) -> Self {
                self.sampling.temperature = Some(temperature);
                self
            }

            /// Keeps the most probable tokens up to this probability.
            pub fn top_p(mut self, top_p: f64) -> Self {
                self.sampling.top_p = Some(top_p);
                self
            }

            /// Keeps this many of the most probable tokens.
            pub fn top_k(mut self, top_k: u32) -> Self {
                self.sampling.top_k = Some(top_k);
                self
            }

            /// Keeps tokens at least this probable, relative to the best.
            pub fn min_p(mut self, min_p: f64) -> Self {
                self.sampling.min_p = Some(min_p);
                self
            }

            /// Seed of the sampler.
            pub fn seed(mut self, seed: u32) -> Self {
                self.sampling.seed = Some(seed);
                self
            }

            /// Adds a string that ends the answer.
            pub fn stop(mut self, stop: impl Into<String>) -> Self {
                self.sampling.stop.push(stop.into());
                self
            }

            /// Number of choices.
            pub fn choices(mut self, n: u32) -> Self {
                self.sampling.n = Some(n);
                self
            }

            /// Penalty by frequency.
            pub fn frequency_penalty(mut self, penalty: f64) -> Self {
                self.sampling.frequency_penalty = Some(penalty);
                self
            }

            /// Penalty by presence.
            pub fn presence_penalty(mut self, penalty: f64) -> Self {
                self.sampling.presence_penalty = Some(penalty);
                self
            }

            /// Whether llama-server may reuse the prompt's cache.
            pub fn cache_prompt(mut self, reuse: bool) -> Self {
                self.sampling.cache_prompt = Some(reuse);
                self
            }

            /// A parameter that has no setter, sent as it is.
            pub fn with(mut self, name: impl Into<String>, value: impl Into<Value>) -> Self {
                self.sampling.extra.insert(name.into(), value.into());
                self
            }

            /// Bounds this whole call in time, instead of the client's bound.
            pub fn deadline(mut self, deadline: Duration) -> Self {
                self.deadline = Some(deadline);
                self
            }

            /// The conversation that the call belongs to. It goes on the span, not to the server.
            pub fn conversation(mut self, id: impl Into<String>) -> Self {
                self.conversation = Some(id.into());
                self
            }
        }
    };
}

/// A chat request.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct ChatRequest {
    /// Model name. Empty: the server's only model.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub model: String,
    /// The conversation so far.
    pub messages: Vec<ChatMessage>,
    /// Parameters of the sampler.
    #[serde(flatten)]
    pub sampling: Sampling,
    /// Tools that the model may ask for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<Tool>,
    /// `auto`, `none`, `required`, or the object that names a tool.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_choice: Option<Value>,
    /// The shape that the answer must have, in the route's own words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub response_format: Option<Value>,
    /// Whether to report log probabilities.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub logprobs: Option<bool>,
    /// How many alternatives to report with each token.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub top_logprobs: Option<u32>,
    /// Bound on this whole call.
    #[serde(skip)]
    pub deadline: Option<Duration>,
    /// Conversation, for the span.
    #[serde(skip)]
    pub conversation: Option<String>,
}

/// One message of a conversation.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct ChatMessage {
    /// `system`, `user`, `assistant` or `tool`.
    pub role: String,
    /// The text, or the list of parts that the route describes. `null` with tool calls only.
    pub content: Value,
    /// Tool calls that the assistant asked for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tool_calls: Vec<Value>,
    /// Which call this is the result of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_call_id: Option<String>,
}

/// A tool that the model may ask for.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Tool {
    /// Its name.
    pub name: String,
    /// What it does.
    pub description: String,
    /// JSON Schema of its arguments.
    pub parameters: Value,
}

/// A text completion.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct CompletionRequest {
    /// Model name. Empty: the server's only model.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub model: String,
    /// The text to go on from.
    pub prompt: String,
    /// Parameters of the sampler.
    #[serde(flatten)]
    pub sampling: Sampling,
    /// How many alternatives to report with each token.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub logprobs: Option<u32>,
    /// Bound on this whole call.
    #[serde(skip)]
    pub deadline: Option<Duration>,
    /// Conversation, for the span.
    #[serde(skip)]
    pub conversation: Option<String>,
}

setters!(ChatRequest);
setters!(CompletionRequest);

impl ChatRequest {
    /// A conversation so far.
    pub fn new(model: impl Into<String>, messages: Vec<ChatMessage>) -> Self {
        Self {
            model: model.into(),
            messages,
            sampling: Sampling::default(),
            tools: Vec::new(),
            tool_choice: None,
            response_format: None,
            logprobs: None,
            top_logprobs: None,
            deadline: None,
            conversation: None,
        }
    }

    /// A conversation of one user message.
    pub fn user(model: impl Into<String>, text: impl Into<String>) -> Self {
        Self::new(model, vec![ChatMessage::user(text)])
    }

    /// Adds a message at the end.
    pub fn message(mut self, message: ChatMessage) -> Self {
        self.messages.push(message);
        self
    }

    /// Offers a tool.
    pub fn tool(mut self, tool: Tool) -> Self {
        self.tools.push(tool);
        self
    }

    /// `auto`, `none`, `required`, or the object that names a tool.
    pub fn tool_choice(mut self, choice: impl Into<Value>) -> Self {
        self.tool_choice = Some(choice.into());
        self
    }

    /// Has the answer follow a JSON Schema.
    pub fn json_schema(mut self, name: &str, schema: &Value) -> Self {
        self.response_format =
            Some(json!({"type": "json_schema", "json_schema": {"name": name, "schema": schema}}));
        self
    }

    /// Has the answer be any JSON object.
    pub fn json_object(mut self) -> Self {
        self.response_format = Some(json!({"type": "json_object"}));
        self
    }

    /// Reports log probabilities, with this many alternatives.
    pub fn logprobs(mut self, alternatives: u32) -> Self {
        (self.logprobs, self.top_logprobs) = (Some(true), Some(alternatives));
        self
    }
}

impl ChatMessage {
    /// A message of any role.
    pub fn new(role: impl Into<String>, content: impl Into<Value>) -> Self {
        Self { role: role.into(), content: content.into(), tool_calls: Vec::new(), tool_call_id: None }
    }

    /// Instructions.
    pub fn system(text: impl Into<String>) -> Self {
        Self::new("system", text.into())
    }

    /// What the user says.
    pub fn user(text: impl Into<String>) -> Self {
        Self::new("user", text.into())
    }

    /// What the model said.
    pub fn assistant(text: impl Into<String>) -> Self {
        Self::new("assistant", text.into())
    }

    /// A tool's result.
    pub fn tool_result(call: impl Into<String>, text: impl Into<String>) -> Self {
        Self { tool_call_id: Some(call.into()), ..Self::new("tool", text.into()) }
    }
}

impl Tool {
    /// A function with the JSON Schema of its arguments.
    pub fn new(
        name: impl Into<String>,
        description: impl Into<String>,
        parameters: impl Into<Value>,
    ) -> Self {
        Self { name: name.into(), description: description.into(), parameters: parameters.into() }
    }

    /// In the route's shape.
    pub(crate) fn to_json(&self) -> Value {
        json!({
            "type": "function",
            "function": {
                "name": self.name, "description": self.description, "parameters": self.parameters,
            },
        })
    }
}

impl Serialize for Tool {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        self.to_json().serialize(to)
    }
}

impl CompletionRequest {
    /// A text to go on from.
    pub fn new(model: impl Into<String>, prompt: impl Into<String>) -> Self {
        Self {
            model: model.into(),
            prompt: prompt.into(),
            sampling: Sampling::default(),
            logprobs: None,
            deadline: None,
            conversation: None,
        }
    }

    /// Reports log probabilities, with this many alternatives.
    pub fn logprobs(mut self, alternatives: u32) -> Self {
        self.logprobs = Some(alternatives);
        self
    }

    /// The body for llama-server's own `/completion`, which has other names for two parameters.
    pub(crate) fn to_native(&self) -> Result<Value, serde_json::Error> {
        let mut body = serde_json::to_value(self)?;
        if let Value::Object(fields) = &mut body {
            for (openai, native) in [("max_tokens", "n_predict"), ("logprobs", "n_probs")] {
                if let Some(value) = fields.remove(openai) {
                    fields.insert(native.to_owned(), value);
                }
            }
        }
        Ok(body)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_set_is_not_sent() {
        let body = serde_json::to_value(ChatRequest::user("", "Hi")).unwrap();
        assert_eq!(body, json!({"messages": [{"role": "user", "content": "Hi"}]}));
    }

    #[test]
    fn a_request_has_the_shape_of_the_recorded_one() {
        // 22-chat-tools-required and 79-json-schema, as the server took them.
        let weather = json!({
            "type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"],
        });
        let body = serde_json::to_value(
            ChatRequest::user("", "Weather in Oslo?")
                .tool(Tool::new("get_weather", "Get weather", weather.clone()))
                .tool_choice("required")
                .max_tokens(64)
                .temperature(0.0),
        );
        let recorded = json!({
            "messages": [{"role": "user", "content": "Weather in Oslo?"}],
            "tools": [{"type": "function", "function": {
                "name": "get_weather", "description": "Get weather", "parameters": weather}}],
            "tool_choice": "required", "max_tokens": 64, "temperature": 0.0,
        });
        assert_eq!(body.unwrap(), recorded);

        let schema = json!({"type": "object"});
        let body =
            serde_json::to_value(ChatRequest::user("", "Name a city.").json_schema("x", &schema)).unwrap();
        assert_eq!(
            body["response_format"],
            json!({"type": "json_schema", "json_schema": {"name": "x", "schema": schema}})
        );
    }

    #[test]
    fn the_native_route_gets_its_own_names() {
        let request = CompletionRequest::new("", "Hi").max_tokens(2).logprobs(2).with("id_slot", 1).seed(7);
        let native = request.to_native().unwrap();
        assert_eq!(native, json!({"prompt": "Hi", "n_predict": 2, "n_probs": 2, "id_slot": 1, "seed": 7}));
    }
}
