//! Agents and workflows.

use std::sync::Arc;

use opentelemetry::Value;
use opentelemetry::trace::SpanKind;
use wattspan_semconv::{Key, Operation};

use crate::content::{ContentKind, Message, Part, ToolDefinition};
use crate::context::AgentCounts;
use crate::genai::Shared;
use crate::request::Request;
use crate::step::{Plan, Step, step_methods};

/// An agent or workflow that is about to be created, run or planned.
///
/// Token counts are refused: they belong to the model calls inside, and would be counted twice.
#[derive(Clone, Debug)]
pub struct Agent {
    plan: Plan,
    name: Option<Arc<str>>,
}

impl Agent {
    fn new(operation: Operation, kind: SpanKind) -> Self {
        Self { plan: Plan::new(operation, kind), name: None }
    }

    fn named(mut self, key: Key, name: Arc<str>) -> Self {
        self.plan.set(key, Arc::clone(&name));
        self.name = Some(name);
        self
    }

    /// A run of an agent in this process.
    pub fn invoke(name: impl Into<Arc<str>>) -> Self {
        Self::new(Operation::InvokeAgent, SpanKind::Internal).named(Key::AgentName, name.into())
    }

    /// A run of an agent behind a network. In the `genai` profile, which has no name for it yet, it is recorded as one in
    /// this process.
    pub fn invoke_remote(name: impl Into<Arc<str>>) -> Self {
        Self::new(Operation::InvokeAgent, SpanKind::Client).named(Key::AgentName, name.into())
    }

    /// The creation of an agent at a service.
    pub fn create(name: impl Into<Arc<str>>) -> Self {
        Self::new(Operation::CreateAgent, SpanKind::Client).named(Key::AgentName, name.into())
    }

    /// A run of a workflow of several agents.
    pub fn workflow(name: impl Into<Arc<str>>) -> Self {
        Self::new(Operation::InvokeWorkflow, SpanKind::Internal).named(Key::WorkflowName, name.into())
    }

    /// An agent's planning. An operation of the `genai` profile.
    pub fn plan(name: impl Into<Arc<str>>) -> Self {
        Self::new(Operation::Plan, SpanKind::Internal).named(Key::AgentName, name.into())
    }

    /// Its id.
    pub fn id(self, id: impl Into<Arc<str>>) -> Self {
        self.attribute(Key::AgentId, id.into())
    }

    /// What it does.
    pub fn description(self, text: impl Into<Arc<str>>) -> Self {
        self.attribute(Key::AgentDescription, text.into())
    }

    /// Its version.
    pub fn version(self, version: impl Into<Arc<str>>) -> Self {
        self.attribute(Key::AgentVersion, version.into())
    }

    /// The data it draws on.
    pub fn data_source(self, id: impl Into<Arc<str>>) -> Self {
        self.attribute(Key::DataSourceId, id.into())
    }

    /// Model, server, conversation and parameters, as a request has them.
    pub fn request(mut self, request: Request) -> Self {
        if let Some(model) = request.model {
            self.plan.set(Key::RequestModel, model);
        }
        if let Some((address, port)) = request.server {
            self.plan.set(Key::ServerAddress, address);
            if let Some(port) = port {
                self.plan.set(Key::ServerPort, i64::from(port));
            }
        }
        if request.conversation.is_some() {
            self.plan.conversation = request.conversation;
        }
        for (key, value) in request.parameters {
            self.plan.set(key, value);
        }
        self
    }

    /// The conversation that it belongs to; else that of the context.
    pub fn conversation(mut self, id: impl Into<Arc<str>>) -> Self {
        self.plan.conversation = Some(id.into());
        self
    }

    /// Any other attribute of the conventions. Token counts and content are refused here.
    pub fn attribute(mut self, key: Key, value: impl Into<Value>) -> Self {
        self.plan.set(key, value);
        self
    }
}

/// An agent that runs, or is being created or planned. What begins in its [context](Self::context) belongs to it.
/// Dropping it ends it with `error.type` = `cancelled` or `panic`.
#[must_use = "dropping an agent's run ends it as cancelled"]
pub struct AgentRun {
    step: Step,
}

impl AgentRun {
    pub(crate) fn begin(shared: Arc<Shared>, agent: Agent) -> Self {
        let counts = Arc::new(AgentCounts::new(agent.name));
        Self { step: Step::begin(shared, agent.plan, Some(counts)) }
    }

    /// The id that a service gave to a created agent.
    pub fn id(&mut self, id: impl Into<String>) {
        self.step.set(Key::AgentId, id.into());
    }

    /// Inferences that began in its context so far.
    pub fn inference_calls(&self) -> u64 {
        self.step.agent.as_ref().map_or(0, |agent| agent.inferences())
    }

    /// Tools that were called in its context so far.
    pub fn tool_calls(&self) -> u64 {
        self.step.agent.as_ref().map_or(0, |agent| agent.tools())
    }

    /// The messages sent. Recorded only when the [content policy](crate::ContentPolicy) is on.
    pub fn input_messages(&mut self, messages: &[Message]) {
        self.step.content(Key::InputMessages, |policy| policy.messages(ContentKind::Input, messages));
    }

    /// The messages that came back. Recorded only when the content policy is on.
    pub fn output_messages(&mut self, messages: &[Message]) {
        self.step.content(Key::OutputMessages, |policy| policy.messages(ContentKind::Output, messages));
    }

    /// Its instructions. Recorded only when the content policy is on.
    pub fn system_instructions(&mut self, parts: &[Part]) {
        let kind = ContentKind::SystemInstructions;
        self.step.content(Key::SystemInstructions, |policy| policy.parts(kind, parts));
    }

    /// Tools that it may call. Recorded only when the content policy is on.
    pub fn tool_definitions(&mut self, tools: &[ToolDefinition]) {
        self.step.content(Key::ToolDefinitions, |policy| policy.tools(tools));
    }
}

step_methods!(AgentRun);
