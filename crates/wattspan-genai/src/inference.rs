//! One inference in flight. Every way out ends its span: finish, fail, drop, panic.

use std::sync::{Arc, OnceLock};
use std::time::SystemTime;

use opentelemetry::trace::{SpanContext, SpanKind};
use opentelemetry::{Context, KeyValue, Value};
use serde_json::Value as Json;
use wattspan_core::{LatePhases, Locality, MonoTime, TokenUsage};
use wattspan_semconv::{Key, Operation};

use crate::attributes::{KeySet, count_value};
use crate::content::{ContentKind, Message, Part, ToolDefinition};
use crate::context::{self, OpenInference};
use crate::evaluation::Evaluation;
use crate::failure::Failure;
use crate::genai::Shared;
use crate::joint::{Content, Gathered, Joint};
use crate::request::is_reserved;
use crate::settle::ChunkTimes;
use crate::timing::{MAX_INTERVALS, ServerTimings, Timing};
use crate::usage::ModalityUsage;

mod begin;
mod end;

/// An inference in flight.
///
/// Dropping it (a cancelled future, a closed stream, a panic) ends it with `error.type` = `cancelled` or `panic`.
/// Whatever is called twice, each attribute is written once: the last value of those set here, the first of those that
/// the request brought.
#[must_use = "dropping an inference ends it as cancelled"]
pub struct Inference {
    shared: Arc<Shared>,
    joint: Arc<Joint>,
    role: Role,
    operation: Operation,
    stream: bool,
    locality: Locality,
    server: Option<(Arc<str>, Option<u16>)>,
    /// The context with the span.
    span: Context,
    place: SpanContext,
    /// The same with what inferences inside look for; made when somebody asks.
    outward: OnceLock<Context>,
    conversation: Option<Arc<str>>,
    started: MonoTime,
    wall: SystemTime,
    recording: bool,
    /// What was written when the span was created.
    written: KeySet,
    /// The same attributes again, when a details event will want them.
    created: Vec<KeyValue>,
    gathered: Gathered,
    done: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    /// Has a span and a measurement.
    Own,
    /// Adds to the inference that is open around it.
    Added,
}

impl std::fmt::Debug for Inference {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Inference")
            .field("operation", &self.operation)
            .field("model", &self.joint.model)
            .field("role", &self.role)
            .field("started", &self.started)
            .finish_non_exhaustive()
    }
}

impl Inference {
    /// The context of its span, for outgoing calls and child spans. Run a future in it with
    /// [`context::with_context`], and write it into headers with
    /// [`context::inject`]. It is of no use after the end.
    pub fn context(&self) -> &Context {
        self.outward.get_or_init(|| {
            let open = self.span.with_value(OpenInference(Some(Arc::clone(&self.joint))));
            match &self.conversation {
                Some(id) => context::conversation_in(&open, Arc::clone(id)),
                None => open,
            }
        })
    }

    /// Whether it adds to an inference that was open when it began, and has no span of its own.
    pub fn is_added(&self) -> bool {
        self.role == Role::Added
    }

    /// Whether prompts and answers are recorded: without it there is no need to collect them.
    pub fn captures_content(&self) -> bool {
        self.shared.content.is_on()
    }

    /// A chunk without output has come, such as one that only names the role or reports progress.
    pub fn chunk(&mut self) {
        let now = self.shared.clock.mono();
        self.mark(now);
    }

    /// The first output has come. For callers that do not mark tokens: [`token`](Self::token) and
    /// [`tokens`](Self::tokens) tell it by themselves.
    pub fn first_token(&mut self) {
        if self.gathered.facts.first_token.is_none() {
            let now = self.shared.clock.mono();
            // No chunk is marked: the token that is told next may be in the same one.
            self.gathered.marks.first_chunk.get_or_insert(now);
            self.output(now);
        }
    }

    /// A token has come.
    #[inline]
    pub fn token(&mut self) {
        self.tokens(1);
    }

    /// Some tokens have come together, in one chunk.
    ///
    /// They are marks for sharing energy and for times; how many tokens there were is told by [`usage`](Self::usage).
    #[inline]
    pub fn tokens(&mut self, count: u64) {
        let now = self.shared.clock.mono();
        self.mark(now);
        self.output(now);
        self.joint.decoded(count);
    }

    /// Prompt tokens have been computed.
    pub fn prompted(&mut self, tokens: u64) {
        self.joint.prompted(tokens);
    }

    fn mark(&mut self, now: MonoTime) {
        self.gathered.marks.chunk(now, self.stream);
        if self.gathered.marks.intervals.len() >= MAX_INTERVALS && self.role == Role::Own {
            let nanos = std::mem::take(&mut self.gathered.marks.intervals);
            let attributes = self.metric_attributes();
            ChunkTimes { shared: Arc::clone(&self.shared), operation: self.operation, nanos, attributes }
                .record();
        }
    }

    fn output(&mut self, now: MonoTime) {
        self.gathered.facts.first_token.get_or_insert(now);
        self.gathered.marks.last_output = Some(now);
    }

    /// Token counts, as reported. A later count replaces an earlier one; one that is absent erases none.
    #[allow(clippy::needless_pass_by_value)] // A caller has just made it.
    pub fn usage(&mut self, usage: TokenUsage) {
        self.gathered.usage(&usage);
    }

    /// Token counts by modality, as parts of those of [`usage`](Self::usage). In the `genai` profile.
    pub fn usage_by_modality(&mut self, usage: ModalityUsage) {
        self.gathered.modalities = Some(Box::new(usage));
    }

    /// Phases, as the engine or server reported them, for sharing energy.
    ///
    /// Those of a server make its `gen_ai.server.*` times too, unless
    /// [`server_timings`](Self::server_timings) tells them better. Those of an engine in this process do not.
    pub fn phases(&mut self, phases: LatePhases) {
        self.gathered.phases = phases;
    }

    /// What the server says of its own times.
    pub fn server_timings(&mut self, timings: ServerTimings) {
        self.gathered.server = Some(timings);
    }

    /// Why generation stopped; once per choice.
    pub fn finish_reason(&mut self, reason: impl Into<String>) {
        self.gathered.facts.finish_reasons.push(reason.into());
    }

    /// Why generation stopped, for all choices, instead of what was told before.
    pub fn finish_reasons<T: Into<String>>(&mut self, reasons: impl IntoIterator<Item = T>) {
        self.gathered.facts.finish_reasons = reasons.into_iter().map(Into::into).collect();
    }

    /// The response's id.
    pub fn response_id(&mut self, id: impl Into<String>) {
        self.gathered.facts.response_id = Some(id.into());
    }

    /// The model that answered.
    pub fn response_model(&mut self, model: impl Into<String>) {
        self.gathered.facts.response_model = Some(model.into());
    }

    /// Status of a fetched response, such as `completed`. In the `genai` profile.
    pub fn response_status(&mut self, status: impl Into<String>) {
        self.set(Key::ResponseStatus, status.into());
    }

    /// Dimensions of the embeddings that came.
    pub fn embedding_dimensions(&mut self, dimensions: u64) {
        self.set(Key::EmbeddingsDimensionCount, count_value(dimensions));
    }

    /// Tier of service that answered, where the provider speaks OpenAI's words.
    pub fn service_tier(&mut self, tier: impl Into<String>) {
        self.set(Key::OpenaiResponseServiceTier, tier.into());
    }

    /// Fingerprint of the server's build, where the provider speaks OpenAI's words.
    pub fn system_fingerprint(&mut self, fingerprint: impl Into<String>) {
        self.set(Key::OpenaiResponseSystemFingerprint, fingerprint.into());
    }

    /// Any other attribute of the conventions. Refused are those that hold prompts or answers, `error.type`, and those of
    /// a settlement.
    pub fn set(&mut self, key: Key, value: impl Into<Value>) {
        if !is_reserved(key) {
            self.gathered.set(key, value.into());
        }
    }

    /// The messages sent. Recorded only when the [content policy](crate::ContentPolicy) is on.
    pub fn input_messages(&mut self, messages: &[Message]) {
        self.content(Key::InputMessages, |policy| policy.messages(ContentKind::Input, messages));
    }

    /// The messages that came back. Recorded only when the content policy is on.
    pub fn output_messages(&mut self, messages: &[Message]) {
        self.content(Key::OutputMessages, |policy| policy.messages(ContentKind::Output, messages));
    }

    /// System instructions that are apart from the messages. Recorded only when the content policy is on.
    pub fn system_instructions(&mut self, parts: &[Part]) {
        self.content(Key::SystemInstructions, |policy| policy.parts(ContentKind::SystemInstructions, parts));
    }

    /// Tools that the model may call. Recorded only when the content policy is on.
    pub fn tool_definitions(&mut self, tools: &[ToolDefinition]) {
        self.content(Key::ToolDefinitions, |policy| policy.tools(tools));
    }

    /// A variable of the prompt template. Recorded only when the content policy is on. In the `genai` profile.
    pub fn prompt_variable(&mut self, name: impl Into<String>, value: &str) {
        let policy = &self.shared.content;
        if policy.is_on() {
            let value = Json::String(policy.text(ContentKind::PromptVariable, value));
            self.gathered.set_content(Content::Variable(name.into().into()), value);
        }
    }

    fn content(&mut self, key: Key, make: impl FnOnce(&crate::ContentPolicy) -> Json) {
        if self.shared.content.is_on() {
            let value = make(&self.shared.content);
            self.gathered.set_content(Content::Key(key), value);
        }
    }

    /// Records the evaluation of its answer. The answer's id goes with it unless the evaluation names one.
    pub fn evaluate(&self, evaluation: Evaluation) {
        evaluation.record(&self.shared, &self.span, self.gathered.facts.response_id.as_deref());
    }

    /// What the caller's clock saw so far.
    pub fn timing(&self) -> Timing {
        let since = |time: MonoTime| time.since(self.started);
        let (facts, marks) = (&self.gathered.facts, &self.gathered.marks);
        let per_output_token = match (facts.first_token, marks.last_output, facts.tokens.output) {
            (Some(first), Some(last), Some(tokens)) if tokens > 1 => Some(
                std::time::Duration::from_secs_f64(last.since(first).as_secs_f64() / (tokens - 1) as f64),
            ),
            _ => None,
        };
        Timing {
            first_chunk: marks.first_chunk.map(since),
            first_token: facts.first_token.map(since),
            per_output_token,
            total: since(self.shared.clock.mono()),
        }
    }

    /// Ends it well.
    pub fn finish(mut self) {
        self.end(None);
    }

    /// Ends it with a failure: an `error.type` of few different values, such as the server's code, or a [`Failure`].
    pub fn fail(mut self, failure: impl Into<Failure>) {
        self.end(Some(failure.into()));
    }

    /// Ends it with an error of the program: its type and its message.
    pub fn fail_with<E: std::error::Error + 'static>(self, error: &E) {
        self.fail(Failure::from_error(error));
    }
}

/// The kind to ask for: in this process nothing is called.
pub(crate) fn wanted_kind(locality: Locality) -> SpanKind {
    match locality {
        Locality::InProcess => SpanKind::Internal,
        _ => SpanKind::Client,
    }
}
