//! What the calls of tools, agents, retrievals and memories have in common: a span and a duration, and every way out.

use std::sync::{Arc, OnceLock};
use std::time::SystemTime;

use opentelemetry::trace::{SpanKind, Status, TraceContextExt as _, Tracer as _};
use opentelemetry::{Context, KeyValue, Value};
use serde_json::Value as Json;
use wattspan_core::MonoTime;
use wattspan_semconv::{Key, Operation, Profile};

use crate::attributes::Attributes;
use crate::content::{ContentKind, ContentPolicy};
use crate::context::{self, AgentCounts, OpenInference, RunningAgent};
use crate::failure::Failure;
use crate::genai::Shared;
use crate::instruments::Slot;
use crate::joint::{Content, Gathered};
use crate::report;

/// What a step is begun with. A parameter that is set twice has its last value.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) operation: Operation,
    pub(crate) kind: SpanKind,
    pub(crate) conversation: Option<Arc<str>>,
    pub(crate) parameters: Vec<(Key, Value)>,
}

impl Plan {
    pub(crate) fn new(operation: Operation, kind: SpanKind) -> Self {
        Self { operation, kind, conversation: None, parameters: Vec::new() }
    }

    pub(crate) fn set(&mut self, key: Key, value: impl Into<Value>) {
        // Tokens and their cost belong to the model call alone: beside it they would be counted twice.
        if is_usage(key) || crate::request::is_reserved(key) {
            return;
        }
        let value = value.into();
        match self.parameters.iter_mut().find(|(known, _)| *known == key) {
            Some((_, known)) => *known = value,
            None => self.parameters.push((key, value)),
        }
    }
}

pub(crate) struct Step {
    shared: Arc<Shared>,
    operation: Operation,
    span: Context,
    outward: OnceLock<Context>,
    conversation: Option<Arc<str>>,
    /// The agent that this step is, when it is one.
    pub(crate) agent: Option<Arc<AgentCounts>>,
    started: MonoTime,
    wall: SystemTime,
    /// What was written at the creation; instruments pick from it.
    created: Attributes,
    gathered: Gathered,
    done: bool,
}

impl Step {
    pub(crate) fn begin(shared: Arc<Shared>, plan: Plan, agent: Option<Arc<AgentCounts>>) -> Self {
        let current = Context::current();
        let (started, wall) = (shared.clock.mono(), shared.clock.wall());
        let profile = shared.profile;
        let conversation = plan.conversation.or_else(|| context::conversation_of(&current));
        let def = profile.span(plan.operation, report::neutral(&plan.kind));
        let lists = |name: &str| def.is_none_or(|def| def.attribute(name).is_some());
        let mut created = Attributes::new(profile, plan.operation, 6 + plan.parameters.len());
        created.set(Key::OperationName, plan.operation.as_str());
        if lists(wattspan_semconv::attr::GEN_AI_PROVIDER_NAME) {
            created.set(Key::ProviderName, shared.provider_value.clone());
        }
        for (key, value) in plan.parameters {
            created.set(key, value);
        }
        if lists(wattspan_semconv::attr::GEN_AI_CONVERSATION_ID) {
            created.set_option(Key::ConversationId, conversation.clone());
        }
        let around = current.get::<RunningAgent>().map(|running| Arc::clone(&running.0));
        if agent.is_none() && lists(wattspan_semconv::attr::GEN_AI_AGENT_NAME) {
            created.set_option(Key::AgentName, around.as_ref().and_then(|agent| agent.name.clone()));
        }
        if let Some(around) = around.filter(|_| plan.operation == Operation::ExecuteTool) {
            around.add_tool();
        }
        let (name, kind) = report::step_name(profile, plan.operation, plan.kind, &created.list);
        let mut builder = shared.tracer.span_builder(name).with_kind(kind).with_start_time(wall);
        builder.attributes = Some(created.list.clone());
        let span = current.with_span(shared.tracer.build_with_context(builder, &current));
        Self {
            shared,
            operation: created.operation,
            span,
            outward: OnceLock::new(),
            conversation,
            agent,
            started,
            wall,
            created,
            gathered: Gathered::default(),
            done: false,
        }
    }

    pub(crate) fn context(&self) -> &Context {
        self.outward.get_or_init(|| {
            // An inference below is another one than an inference around.
            let mut outward = self.span.with_value(OpenInference(None));
            if let Some(id) = &self.conversation {
                outward = context::conversation_in(&outward, Arc::clone(id));
            }
            match &self.agent {
                Some(agent) => outward.with_value(RunningAgent(Arc::clone(agent))),
                None => outward,
            }
        })
    }

    pub(crate) fn captures_content(&self) -> bool {
        self.shared.content.is_on()
    }

    pub(crate) fn set(&mut self, key: Key, value: impl Into<Value>) {
        if !is_usage(key) && !crate::request::is_reserved(key) {
            self.gathered.set(key, value.into());
        }
    }

    pub(crate) fn content(&mut self, key: Key, make: impl FnOnce(&ContentPolicy) -> Json) {
        if self.shared.content.is_on() {
            let value = make(&self.shared.content);
            self.gathered.set_content(Content::Key(key), value);
        }
    }

    pub(crate) fn text(&mut self, key: Key, kind: ContentKind, text: &str) {
        self.content(key, |policy| Json::String(policy.text(kind, text)));
    }

    pub(crate) fn json(&mut self, key: Key, kind: ContentKind, data: &Json) {
        self.content(key, |policy| policy.json(kind, data));
    }

    pub(crate) fn end(&mut self, failure: Option<Failure>) {
        if std::mem::replace(&mut self.done, true) {
            return;
        }
        let took = self.shared.clock.mono().since(self.started);
        let wall = self.wall + took;
        let written = self.created.written;
        let mut out = Attributes::after(self.shared.profile, self.operation, written, 4);
        for (key, value) in self.gathered.extra.drain(..) {
            out.set(key, value);
        }
        report::content(&mut out, &self.gathered.content);
        let mut measured = self.created.list.clone();
        let span = self.span.span();
        if let Some(failure) = failure {
            let (error_type, message, exception) = failure.parts();
            let message = message.map(|text| self.shared.content.text(ContentKind::ErrorMessage, &text));
            if message.is_some() || exception.is_some() {
                let kind = exception.or_else(|| Some(error_type.clone()));
                report::exception(&self.shared, self.operation, &self.span, wall, kind, message.as_deref());
            }
            out.set(Key::ErrorType, error_type.clone());
            measured.push(KeyValue::new(wattspan_semconv::attr::ERROR_TYPE, error_type.clone()));
            span.set_status(Status::error(message.map_or(error_type, Into::into)));
        }
        let instruments = self.shared.instruments.of(self.operation);
        instruments.record_listed(Slot::Duration, took.as_secs_f64(), &measured);
        if let Some(agent) = &self.agent {
            instruments.record_listed(Slot::AgentInferences, agent.inferences() as f64, &measured);
            instruments.record_listed(Slot::AgentTools, agent.tools() as f64, &measured);
        }
        span.set_attributes(out.list);
        span.end_with_timestamp(wall);
    }
}

impl Drop for Step {
    fn drop(&mut self) {
        if !self.done {
            self.end(Some(Failure::dropped()));
        }
    }
}

fn is_usage(key: Key) -> bool {
    let names = Profile::ALL.into_iter().filter_map(|profile| profile.attribute(Operation::Chat, key));
    names.into_iter().any(|attribute| attribute.name.starts_with("gen_ai.usage."))
}

/// The ways out, and what a step can be asked.
macro_rules! step_methods {
    ($run:ident) => {
        impl std::fmt::Debug for $run {
            fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                out.debug_struct(stringify!($run)).finish_non_exhaustive()
            }
        }

        impl $run {
            /// The context of its span, for what happens inside.
            pub fn context(&self) -> &opentelemetry::Context {
                self.step.context()
            }

            /// Whether content is recorded: without it there is no need to collect it.
            pub fn captures_content(&self) -> bool {
                self.step.captures_content()
            }

            /// Any other attribute of the conventions. Token counts and content are refused here.
            pub fn set(&mut self, key: wattspan_semconv::Key, value: impl Into<opentelemetry::Value>) {
                self.step.set(key, value);
            }

            /// Ends it well.
            pub fn finish(mut self) {
                self.step.end(None);
            }

            /// Ends it with a failure: an `error.type` of few different values, or a [`Failure`](crate::Failure).
            pub fn fail(mut self, failure: impl Into<crate::Failure>) {
                self.step.end(Some(failure.into()));
            }

            /// Ends it with an error of the program: its type and its message.
            pub fn fail_with<E: std::error::Error + 'static>(self, error: &E) {
                self.fail(crate::Failure::from_error(error));
            }
        }
    };
}
pub(crate) use step_methods;
