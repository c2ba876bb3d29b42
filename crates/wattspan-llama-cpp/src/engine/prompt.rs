//! What is said to a model.

use std::borrow::Cow;

/// A message of a chat.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChatMessage {
    /// `system`, `user`, `assistant`, or what else the model's template knows.
    pub role: Cow<'static, str>,
    /// Its text.
    pub content: String,
}

impl ChatMessage {
    /// A message.
    pub fn new(role: impl Into<Cow<'static, str>>, content: impl Into<String>) -> Self {
        Self { role: role.into(), content: content.into() }
    }

    /// An instruction to the model.
    pub fn system(content: impl Into<String>) -> Self {
        Self::new("system", content)
    }

    /// What the user says.
    pub fn user(content: impl Into<String>) -> Self {
        Self::new("user", content)
    }

    /// What the model said.
    pub fn assistant(content: impl Into<String>) -> Self {
        Self::new("assistant", content)
    }
}

/// What to answer to.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Prompt {
    /// A chat, which goes through the model's template.
    Chat(Vec<ChatMessage>),
    /// A text to go on with, as it is.
    Text(String),
}

impl Prompt {
    /// A chat of one user message.
    pub fn user(content: impl Into<String>) -> Self {
        Self::Chat(vec![ChatMessage::user(content)])
    }

    /// A text to go on with.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }
}

impl From<Vec<ChatMessage>> for Prompt {
    fn from(messages: Vec<ChatMessage>) -> Self {
        Self::Chat(messages)
    }
}

impl From<&[ChatMessage]> for Prompt {
    fn from(messages: &[ChatMessage]) -> Self {
        Self::Chat(messages.to_vec())
    }
}
