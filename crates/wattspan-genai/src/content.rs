//! Prompts, answers and tool data: off unless asked for, in the standard's JSON shape, redacted and shortened before
//! anything else sees them.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use serde_json::{Map, Value as Json, json};

/// What a text is, for the redaction hook.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ContentKind {
    /// A part of an input message.
    Input,
    /// A part of an output message.
    Output,
    /// System instructions.
    SystemInstructions,
    /// The definition of a tool.
    ToolDefinition,
    /// Arguments of a tool call, as JSON text.
    ToolArguments,
    /// Result of a tool call, as JSON text.
    ToolResult,
    /// Query of a retrieval or of a memory.
    Query,
    /// Retrieved documents or memory records, as JSON text.
    Documents,
    /// Variable of a prompt template.
    PromptVariable,
    /// Message of an error. Recorded with every policy, since it is no content by itself, but servers quote prompts.
    ErrorMessage,
}

type Redact = dyn for<'a> Fn(ContentKind, &'a str) -> Cow<'a, str> + Send + Sync;

/// Whether and how prompts, answers and tool data are recorded.
///
/// ```
/// use wattspan_genai::ContentPolicy;
///
/// assert!(!ContentPolicy::default().is_on());
/// let policy = ContentPolicy::on().limit(2_000).redact(|_, text| text.replace("4111", "****").into());
/// assert!(policy.is_on());
/// ```
#[derive(Clone)]
pub struct ContentPolicy {
    on: bool,
    limit: usize,
    messages: usize,
    redact: Option<Arc<Redact>>,
}

impl Default for ContentPolicy {
    fn default() -> Self {
        Self::off()
    }
}

impl fmt::Debug for ContentPolicy {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("ContentPolicy")
            .field("on", &self.on)
            .field("limit", &self.limit)
            .field("messages", &self.messages)
            .field("redact", &self.redact.is_some())
            .finish()
    }
}

impl ContentPolicy {
    /// Nothing is recorded.
    pub const fn off() -> Self {
        Self { on: false, limit: DEFAULT_LIMIT, messages: DEFAULT_MESSAGES, redact: None }
    }

    /// Content is recorded, up to 4,096 characters of each text and the 64 latest messages.
    pub const fn on() -> Self {
        Self { on: true, limit: DEFAULT_LIMIT, messages: DEFAULT_MESSAGES, redact: None }
    }

    /// Longest text, in characters. What is cut off is counted at its end.
    pub fn limit(mut self, characters: usize) -> Self {
        self.limit = characters;
        self
    }

    /// Most messages of one list; the latest stay.
    pub fn message_limit(mut self, messages: usize) -> Self {
        self.messages = messages;
        self
    }

    /// A hook that sees every text, whole, before it is shortened, put on a span or in an event. What it answers is
    /// recorded instead. Texts of error messages go through it as well.
    pub fn redact<F>(mut self, hook: F) -> Self
    where
        F: for<'a> Fn(ContentKind, &'a str) -> Cow<'a, str> + Send + Sync + 'static,
    {
        self.redact = Some(Arc::new(hook));
        self
    }

    /// Whether content is recorded.
    pub const fn is_on(&self) -> bool {
        self.on
    }

    /// A text as it may be recorded.
    pub(crate) fn text(&self, kind: ContentKind, text: &str) -> String {
        shorten(&self.redacted(kind, text), self.limit)
    }

    fn redacted<'a>(&self, kind: ContentKind, text: &'a str) -> Cow<'a, str> {
        match &self.redact {
            Some(hook) => hook(kind, text),
            None => Cow::Borrowed(text),
        }
    }

    /// Structured data as it may be recorded: as JSON when it is still JSON and short enough, else as text.
    pub(crate) fn json(&self, kind: ContentKind, data: &Json) -> Json {
        let whole = match data {
            Json::String(text) => return Json::String(self.text(kind, text)),
            other => other.to_string(),
        };
        let redacted = self.redacted(kind, &whole);
        if redacted.chars().count() > self.limit {
            return Json::String(shorten(&redacted, self.limit));
        }
        match redacted {
            Cow::Borrowed(same) if same == whole => data.clone(),
            changed => serde_json::from_str(&changed).unwrap_or_else(|_| Json::String(changed.into_owned())),
        }
    }

    pub(crate) fn messages(&self, kind: ContentKind, messages: &[Message]) -> Json {
        let skipped = messages.len().saturating_sub(self.messages);
        Json::Array(messages.iter().skip(skipped).map(|message| message.to_json(self, kind)).collect())
    }

    pub(crate) fn parts(&self, kind: ContentKind, parts: &[Part]) -> Json {
        Json::Array(parts.iter().map(|part| part.to_json(self, kind)).collect())
    }

    pub(crate) fn tools(&self, tools: &[ToolDefinition]) -> Json {
        Json::Array(tools.iter().map(|tool| tool.to_json(self)).collect())
    }
}

/// A chat message.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Message {
    /// `system`, `user`, `assistant` or `tool`.
    pub role: Cow<'static, str>,
    /// What it holds.
    pub parts: Vec<Part>,
    /// Name of the participant.
    pub name: Option<String>,
    /// Why generation of an output message stopped.
    pub finish_reason: Option<String>,
}

impl Message {
    /// A message of one part.
    pub fn new(role: impl Into<Cow<'static, str>>, part: Part) -> Self {
        Self { role: role.into(), parts: vec![part], name: None, finish_reason: None }
    }

    /// A user's text.
    pub fn user(text: impl Into<String>) -> Self {
        Self::new("user", Part::Text(text.into()))
    }

    /// A model's text.
    pub fn assistant(text: impl Into<String>) -> Self {
        Self::new("assistant", Part::Text(text.into()))
    }

    /// Adds a part.
    pub fn part(mut self, part: Part) -> Self {
        self.parts.push(part);
        self
    }

    /// Says why generation stopped.
    pub fn finish_reason(mut self, reason: impl Into<String>) -> Self {
        self.finish_reason = Some(reason.into());
        self
    }

    fn to_json(&self, policy: &ContentPolicy, kind: ContentKind) -> Json {
        let mut out = Map::new();
        out.insert("role".into(), json!(self.role));
        out.insert("parts".into(), policy.parts(kind, &self.parts));
        if let Some(name) = &self.name {
            out.insert("name".into(), json!(policy.text(kind, name)));
        }
        if let Some(reason) = &self.finish_reason {
            out.insert("finish_reason".into(), json!(reason));
        }
        Json::Object(out)
    }
}

/// A part of a message.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Part {
    /// Text.
    Text(String),
    /// The model's reasoning.
    Reasoning(String),
    /// The model wants a tool called.
    ToolCall {
        /// Id of the call.
        id: Option<String>,
        /// The tool.
        name: String,
        /// Its arguments.
        arguments: Json,
    },
    /// What a tool answered.
    ToolResponse {
        /// Id of the call.
        id: Option<String>,
        /// The answer.
        response: Json,
    },
    /// A file by its address. Inline data is not recorded; name it here by a digest or leave it out.
    Uri {
        /// `image`, `audio` or `video`.
        modality: String,
        /// Its media type.
        mime_type: Option<String>,
        /// Where it is.
        uri: String,
    },
}

impl Part {
    fn to_json(&self, policy: &ContentPolicy, kind: ContentKind) -> Json {
        match self {
            Self::Text(text) => json!({ "type": "text", "content": policy.text(kind, text) }),
            Self::Reasoning(text) => json!({ "type": "reasoning", "content": policy.text(kind, text) }),
            Self::ToolCall { id, name, arguments } => json!({
                "type": "tool_call",
                "id": id,
                "name": name,
                "arguments": policy.json(ContentKind::ToolArguments, arguments),
            }),
            Self::ToolResponse { id, response } => json!({
                "type": "tool_call_response",
                "id": id,
                "response": policy.json(ContentKind::ToolResult, response),
            }),
            Self::Uri { modality, mime_type, uri } => json!({
                "type": "uri",
                "modality": modality,
                "mime_type": mime_type,
                "uri": policy.text(kind, uri),
            }),
        }
    }
}

/// A tool that the model may call.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ToolDefinition {
    /// Its name.
    pub name: String,
    /// What it does.
    pub description: Option<String>,
    /// JSON schema of its arguments.
    pub parameters: Option<Json>,
}

impl ToolDefinition {
    /// A function with a name.
    pub fn function(name: impl Into<String>) -> Self {
        Self { name: name.into(), description: None, parameters: None }
    }

    /// Says what it does.
    pub fn description(mut self, text: impl Into<String>) -> Self {
        self.description = Some(text.into());
        self
    }

    /// The JSON schema of its arguments.
    pub fn parameters(mut self, schema: Json) -> Self {
        self.parameters = Some(schema);
        self
    }

    fn to_json(&self, policy: &ContentPolicy) -> Json {
        let kind = ContentKind::ToolDefinition;
        let mut out = Map::new();
        out.insert("type".into(), json!("function"));
        out.insert("name".into(), json!(self.name));
        if let Some(text) = &self.description {
            out.insert("description".into(), json!(policy.text(kind, text)));
        }
        if let Some(schema) = &self.parameters {
            out.insert("parameters".into(), policy.json(kind, schema));
        }
        Json::Object(out)
    }
}

/// Cuts a text at a character, and says how much is gone.
fn shorten(text: &str, limit: usize) -> String {
    match text.char_indices().nth(limit) {
        None => text.to_owned(),
        Some((cut, _)) => {
            let gone = text[cut..].chars().count();
            format!("{}… [{gone} more characters]", &text[..cut])
        }
    }
}

/// A few kilobytes hold most prompts and fit the attribute limits of the usual backends.
const DEFAULT_LIMIT: usize = 4_096;
/// A long chat is sent anew with each request: its latest turns tell what was asked.
const DEFAULT_MESSAGES: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_have_the_shape_of_the_standard() {
        let messages = [
            Message::user("Weather in Paris?"),
            Message::new(
                "assistant",
                Part::ToolCall {
                    id: Some("call_1".into()),
                    name: "get_weather".into(),
                    arguments: json!({ "location": "Paris" }),
                },
            )
            .finish_reason("tool_call"),
            Message::new("tool", Part::ToolResponse { id: Some("call_1".into()), response: json!("rainy") }),
        ];
        let got = ContentPolicy::on().messages(ContentKind::Input, &messages);
        // The shape of the message schemas of the GenAI conventions (gen-ai-input-messages.json).
        let want = json!([
            { "role": "user", "parts": [{ "type": "text", "content": "Weather in Paris?" }] },
            {
                "role": "assistant",
                "parts": [{
                    "type": "tool_call", "id": "call_1", "name": "get_weather",
                    "arguments": { "location": "Paris" },
                }],
                "finish_reason": "tool_call",
            },
            {
                "role": "tool",
                "parts": [{ "type": "tool_call_response", "id": "call_1", "response": "rainy" }],
            },
        ]);
        assert_eq!(got, want);
    }

    #[test]
    fn a_long_text_is_cut_at_a_character_and_says_so() {
        let policy = ContentPolicy::on().limit(3);
        assert_eq!(policy.text(ContentKind::Input, "äöüß!"), "äöü… [2 more characters]");
        assert_eq!(policy.text(ContentKind::Input, "äöü"), "äöü");
    }

    #[test]
    fn the_hook_sees_the_whole_text_before_it_is_cut() {
        let policy = ContentPolicy::on().limit(6).redact(|_, text| text.replace("secret", "***").into());
        // A cut first would leave `se` of the secret.
        assert_eq!(policy.text(ContentKind::Input, "key=secret"), "key=**… [1 more characters]");
    }

    #[test]
    fn redacted_json_stays_json_where_it_can() {
        let policy = ContentPolicy::on().redact(|_, text| text.replace("DE00", "x").into());
        let got = policy.json(ContentKind::ToolArguments, &json!({ "account": "DE00" }));
        assert_eq!(got, json!({ "account": "x" }));
        let broken = ContentPolicy::on().redact(|_, _| "[gone".into());
        assert_eq!(broken.json(ContentKind::ToolArguments, &json!({ "a": 1 })), json!("[gone"));
        let short = ContentPolicy::on().limit(4);
        assert_eq!(short.json(ContentKind::ToolResult, &json!([1, 2])), json!("[1,2… [1 more characters]"));
    }

    #[test]
    fn only_the_latest_messages_stay() {
        let policy = ContentPolicy::on().message_limit(1);
        let got = policy.messages(ContentKind::Input, &[Message::user("old"), Message::user("new")]);
        assert_eq!(got, json!([{ "role": "user", "parts": [{ "type": "text", "content": "new" }] }]));
    }
}
