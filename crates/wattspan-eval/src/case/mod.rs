//! A test case: what is asked and what is expected.

mod csv;
mod read;
mod wire;

use std::time::Duration;

pub use read::{CaseFormat, Cases, CasesError};

use crate::{Check, ToolSpec};

/// A test case.
///
/// ```
/// use wattspan_eval::{Case, Check};
///
/// let case = Case::new("capital", "What is the capital of France?").check(Check::contains("Paris")).tag("geography");
/// assert_eq!(case.messages[0].role, "user");
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Case {
    /// Its id, the only one in its file.
    pub id: String,
    /// What is said to the model.
    pub messages: Vec<Message>,
    /// What should come back, for checks and judges.
    pub expected: Option<String>,
    /// Tags.
    pub tags: Vec<String>,
    /// How hard it is.
    pub difficulty: Option<String>,
    /// What its answer is held against. Without any, a case with [`expected`](Self::expected) passes when that text is in
    /// the answer, upper and lower case being the same, and one without passes when it is answered.
    pub checks: Vec<Check>,
    /// Tools for the tool agent.
    pub tools: Vec<ToolSpec>,
    /// The tool that the agent should call.
    pub expected_tool: Option<String>,
    /// Bounds the case in time, instead of the run's bound.
    pub time_limit: Option<Duration>,
    /// Bounds each answer in tokens, instead of the run's bound.
    pub max_tokens: Option<u32>,
}

/// A message of a chat.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Message {
    /// `system`, `user`, `assistant` or `tool`.
    pub role: String,
    /// Its text.
    pub content: String,
    /// Tools that the assistant asked for.
    pub tool_calls: Vec<ToolRequest>,
    /// Which call this is the result of.
    pub tool_call_id: Option<String>,
}

/// A tool call that a model asks for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ToolRequest {
    /// Its id, to send the result back with. **Absent** from servers that give none.
    pub id: Option<String>,
    /// The tool.
    pub name: String,
    /// Arguments as JSON text, which the model wrote and which may be invalid.
    pub arguments: String,
}

impl Case {
    /// A case of one user message.
    pub fn new(id: impl Into<String>, prompt: impl Into<String>) -> Self {
        Self::chat(id, vec![Message::new("user", prompt)])
    }

    /// A case of several messages.
    pub fn chat(id: impl Into<String>, messages: Vec<Message>) -> Self {
        Self {
            id: id.into(),
            messages,
            expected: None,
            tags: Vec::new(),
            difficulty: None,
            checks: Vec::new(),
            tools: Vec::new(),
            expected_tool: None,
            time_limit: None,
            max_tokens: None,
        }
    }

    /// Says what should come back.
    pub fn expected(mut self, text: impl Into<String>) -> Self {
        self.expected = Some(text.into());
        self
    }

    /// Adds a check.
    pub fn check(mut self, check: Check) -> Self {
        self.checks.push(check);
        self
    }

    /// Adds a tag.
    pub fn tag(mut self, tag: impl Into<String>) -> Self {
        self.tags.push(tag.into());
        self
    }

    /// Offers a tool to the tool agent.
    pub fn tool(mut self, tool: ToolSpec) -> Self {
        self.tools.push(tool);
        self
    }

    /// Says which tool the agent should call.
    pub fn expected_tool(mut self, name: impl Into<String>) -> Self {
        self.expected_tool = Some(name.into());
        self
    }

    /// Bounds it in time, instead of the run's bound.
    pub fn time_limit(mut self, limit: Duration) -> Self {
        self.time_limit = Some(limit);
        self
    }

    /// Bounds each answer in tokens, instead of the run's bound.
    pub fn max_tokens(mut self, tokens: u32) -> Self {
        self.max_tokens = Some(tokens);
        self
    }

    /// Its checks, those that `expected` alone implies included.
    pub(crate) fn all_checks(&self) -> Vec<Check> {
        match &self.expected {
            Some(expected) if self.checks.is_empty() => vec![Check::contains(expected).ignore_case()],
            _ => self.checks.clone(),
        }
    }

    /// What the results table shows as the prompt.
    pub(crate) fn prompt(&self) -> String {
        match &self.messages[..] {
            [only] if only.role == "user" => only.content.clone(),
            all => all
                .iter()
                .map(|message| format!("{}: {}", message.role, message.content))
                .collect::<Vec<_>>()
                .join("\n"),
        }
    }

    /// The programs that it would run.
    pub(crate) fn programs(&self) -> impl Iterator<Item = &str> {
        let judges = self.checks.iter().filter_map(Check::program);
        judges.chain(self.tools.iter().filter_map(ToolSpec::program)).map(crate::command::Command::program)
    }
}

impl Message {
    /// A message.
    pub fn new(role: impl Into<String>, content: impl Into<String>) -> Self {
        Self { role: role.into(), content: content.into(), ..Self::default() }
    }

    /// What an assistant said, and the tools that it asked for.
    pub(crate) fn assistant(content: String, tool_calls: Vec<ToolRequest>) -> Self {
        Self { role: "assistant".to_owned(), content, tool_calls, tool_call_id: None }
    }

    /// What a tool answered.
    pub(crate) fn tool_result(call: Option<String>, content: String) -> Self {
        Self { role: "tool".to_owned(), content, tool_calls: Vec::new(), tool_call_id: call }
    }
}

impl ToolRequest {
    /// A call of a tool with arguments as JSON text.
    pub fn new(name: impl Into<String>, arguments: impl Into<String>) -> Self {
        Self { id: None, name: name.into(), arguments: arguments.into() }
    }

    /// Gives it an id.
    pub fn id(mut self, id: impl Into<String>) -> Self {
        self.id = Some(id.into());
        self
    }
}
