//! Calls of tools.

use std::borrow::Cow;
use std::sync::Arc;

use opentelemetry::Value;
use opentelemetry::trace::SpanKind;
use serde_json::Value as Json;
use wattspan_semconv::{Key, Operation};

use crate::content::ContentKind;
use crate::genai::Shared;
use crate::step::{Plan, Step, step_methods};

/// A tool that is about to be called.
#[derive(Clone, Debug)]
pub struct Tool(Plan);

impl Tool {
    /// A tool by its name.
    pub fn new(name: impl Into<Arc<str>>) -> Self {
        let mut plan = Plan::new(Operation::ExecuteTool, SpanKind::Internal);
        plan.set(Key::ToolName, name.into());
        Self(plan)
    }

    /// Id of the call, as the model gave it.
    pub fn call_id(self, id: impl Into<Arc<str>>) -> Self {
        self.attribute(Key::ToolCallId, id.into())
    }

    /// `function`, `extension` or `datastore`.
    pub fn kind(self, kind: impl Into<Cow<'static, str>>) -> Self {
        self.attribute(Key::ToolType, kind.into())
    }

    /// What the tool does.
    pub fn description(self, text: impl Into<Arc<str>>) -> Self {
        self.attribute(Key::ToolDescription, text.into())
    }

    /// The conversation that it belongs to; else that of the context.
    pub fn conversation(mut self, id: impl Into<Arc<str>>) -> Self {
        self.0.conversation = Some(id.into());
        self
    }

    /// Any other attribute of the conventions. Token counts and content are refused here.
    pub fn attribute(mut self, key: Key, value: impl Into<Value>) -> Self {
        self.0.set(key, value);
        self
    }
}

/// A tool that runs. Dropping it ends it with `error.type` = `cancelled` or `panic`.
#[must_use = "dropping a tool call ends it as cancelled"]
pub struct ToolCall {
    step: Step,
}

impl ToolCall {
    pub(crate) fn begin(shared: Arc<Shared>, tool: Tool) -> Self {
        Self { step: Step::begin(shared, tool.0, None) }
    }

    /// Its arguments. Recorded only when the [content policy](crate::ContentPolicy) is on.
    pub fn arguments(&mut self, arguments: &Json) {
        self.step.json(Key::ToolCallArguments, ContentKind::ToolArguments, arguments);
    }

    /// Its result. Recorded only when the content policy is on.
    pub fn result(&mut self, result: &Json) {
        self.step.json(Key::ToolCallResult, ContentKind::ToolResult, result);
    }
}

step_methods!(ToolCall);
