//! One inference in flight. Every way out ends its span: finish, fail, drop, panic.

use std::sync::{Arc, OnceLock};
use std::time::SystemTime;

use opentelemetry::trace::{SpanContext, SpanKind, TraceContextExt as _, Tracer as _};
use opentelemetry::{Context, KeyValue, Value};
use serde_json::Value as Json;
use wattspan_core::{
    Begin, Finish, LatePhases, Locality, MonoTime, Settle, SettleReason, Settlement, TokenUsage, TraceRef,
};
use wattspan_semconv::{Key, Operation};

use crate::attributes::{Attributes, KeySet, count_value};
use crate::content::{ContentKind, Message, Part, ToolDefinition};
use crate::context::{self, OpenInference, RunningAgent};
use crate::evaluation::Evaluation;
use crate::failure::Failure;
use crate::genai::Shared;
use crate::instruments::Slot;
use crate::joint::{Content, Gathered, Joint};
use crate::report;
use crate::request::{Request, is_reserved};
use crate::settle::{ChunkTimes, LiveSpan};
use crate::timing::{MAX_INTERVALS, ServerTimings, Timing};
use crate::usage::ModalityUsage;

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
    pub(crate) fn begin(shared: Arc<Shared>, mut request: Request) -> Self {
        let current = Context::current();
        if !request.separate
            && let Some(OpenInference(Some(joint))) = current.get::<OpenInference>()
            && joint.is_same(request.operation, request.model.as_ref())
        {
            let joint = Arc::clone(joint);
            return Self::added(shared, joint, current, request);
        }
        let (started, wall) = (shared.clock.mono(), shared.clock.wall());
        let locality = request.locality.unwrap_or(shared.locality);
        let (name, kind) = report::inference_name(shared.profile, &request, locality);
        let inherited = request.conversation.is_none().then(|| context::conversation_of(&current)).flatten();
        let conversation = request.conversation.clone().or_else(|| inherited.clone());
        let created = request.at_creation(shared.profile, &shared.provider_value, conversation.as_ref());
        let kept = if shared.details { created.list.clone() } else { Vec::new() };
        let mut builder = shared.tracer.span_builder(name).with_kind(kind).with_start_time(wall);
        builder.attributes = Some(created.list);
        let span = shared.tracer.build_with_context(builder, &current);
        if let Some(RunningAgent(agent)) = current.get::<RunningAgent>() {
            agent.add_inference();
        }
        let context = current.with_span(span);
        Self::measured(
            shared,
            request,
            context,
            (started, wall),
            locality,
            conversation,
            created.written,
            kept,
        )
    }

    pub(crate) fn adopt(
        shared: Arc<Shared>,
        context: Context,
        mut request: Request,
        written: &[Key],
    ) -> Self {
        let times = (shared.clock.mono(), shared.clock.wall());
        let locality = request.locality.unwrap_or(shared.locality);
        let conversation = request.conversation.clone().or_else(|| context::conversation_of(&context));
        let mut before = Attributes::new(shared.profile, request.operation, written.len());
        for key in written {
            before.set(*key, true);
        }
        let created = request.at_creation(shared.profile, &shared.provider_value, conversation.as_ref());
        // Made as for a span of our own, then cut to what is not there yet.
        let theirs = |pair: &KeyValue| before.list.iter().any(|written| written.key == pair.key);
        let list: Vec<KeyValue> = created.list.into_iter().filter(|pair| !theirs(pair)).collect();
        let kept = if shared.details { list.clone() } else { Vec::new() };
        context.span().set_attributes(list);
        let mut all = created.written;
        all.extend(&before.written);
        if let Some(RunningAgent(agent)) = context.get::<RunningAgent>() {
            agent.add_inference();
        }
        Self::measured(shared, request, context, times, locality, conversation, all, kept)
    }

    #[allow(clippy::too_many_arguments)] // The one place where an inference is put together.
    fn measured(
        shared: Arc<Shared>,
        request: Request,
        span: Context,
        (started, wall): (MonoTime, SystemTime),
        locality: Locality,
        conversation: Option<Arc<str>>,
        written: KeySet,
        created: Vec<KeyValue>,
    ) -> Self {
        let probe = shared.observer.as_ref().map(|observer| {
            let mut begin =
                Begin::new(started, wall, request.operation.as_str(), Arc::clone(&shared.provider));
            begin.model.clone_from(&request.model);
            begin.workload = request.workload;
            begin.locality = locality;
            begin.devices = request.devices;
            observer.begin(begin)
        });
        let place = span.span().span_context().clone();
        Self {
            joint: Joint::new(request.operation, request.model, probe),
            role: Role::Own,
            operation: request.operation,
            stream: request.stream,
            locality,
            server: request.server,
            recording: span.span().is_recording(),
            span,
            place,
            outward: OnceLock::new(),
            conversation,
            started,
            wall,
            written,
            created,
            gathered: Gathered::default(),
            done: false,
            shared,
        }
    }

    fn added(shared: Arc<Shared>, joint: Arc<Joint>, current: Context, mut request: Request) -> Self {
        let mut gathered = Gathered::default();
        for (key, value) in request.parameters.drain(..) {
            gathered.set(key, value);
        }
        if request.stream {
            gathered.set(Key::RequestStream, true.into());
        }
        if let Some(model) = &request.model {
            gathered.set(Key::RequestModel, Arc::clone(model).into());
        }
        if let Some(id) = &request.conversation {
            gathered.set(Key::ConversationId, Arc::clone(id).into());
        }
        if let Some((address, port)) = &request.server {
            gathered.set(Key::ServerAddress, Arc::clone(address).into());
            if let Some(port) = port {
                gathered.set(Key::ServerPort, i64::from(*port).into());
            }
        }
        Self {
            joint,
            role: Role::Added,
            operation: request.operation,
            stream: request.stream,
            locality: request.locality.unwrap_or(shared.locality),
            server: None,
            place: current.span().span_context().clone(),
            recording: false,
            outward: OnceLock::from(current.clone()),
            span: current,
            conversation: None,
            started: shared.clock.mono(),
            wall: shared.clock.wall(),
            written: KeySet::default(),
            created: Vec::new(),
            gathered,
            done: false,
            shared,
        }
    }

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

    fn end(&mut self, failure: Option<Failure>) {
        if std::mem::replace(&mut self.done, true) {
            return;
        }
        if self.role == Role::Added {
            self.gathered.failure = failure;
            self.joint.add(std::mem::take(&mut self.gathered));
            return;
        }
        let end = self.shared.clock.mono();
        let took = end.since(self.started);
        let (added, probe) = Joint::close(&mut self.joint);
        for inner in added {
            self.gathered.fill_from(inner);
        }
        // One that is dropped after the call inside it failed has not been cancelled: an error was passed on.
        let failure = match (failure, self.gathered.failure.take()) {
            (Some(dropped), Some(inside)) if dropped.is_cancelled() => Some(inside),
            (failure, _) => failure,
        };
        let (error_type, message, exception) = failure.map_or((None, None, None), |failure| {
            let (error_type, message, exception) = failure.parts();
            (Some(error_type), message, exception)
        });
        self.gathered.facts.error_type.clone_from(&error_type);
        // The wall clock only labels: the end is as far from the start as the monotonic clock says.
        let wall = self.wall + took;
        let message = message.map(|text| self.shared.content.text(ContentKind::ErrorMessage, &text));
        if message.is_some() || exception.is_some() {
            let kind = exception.or_else(|| error_type.clone());
            report::exception(&self.shared, self.operation, &self.span, wall, kind, message.as_deref());
        }
        let metric_attributes = self.record_metrics(took.as_secs_f64());
        let attributes = if self.recording || self.shared.details { self.attributes() } else { Vec::new() };
        if self.shared.details {
            let created = std::mem::take(&mut self.created);
            let content = std::mem::take(&mut self.gathered.content);
            report::details(&self.shared, self.operation, &self.place, wall, (created, &attributes), content);
        }
        let nanos = std::mem::take(&mut self.gathered.marks.intervals);
        let settle = Box::new(LiveSpan {
            chunks: (!nanos.is_empty()).then(|| ChunkTimes {
                shared: Arc::clone(&self.shared),
                operation: self.operation,
                nanos,
                attributes: metric_attributes,
            }),
            context: std::mem::take(&mut self.span),
            recording: self.recording,
            profile: self.shared.profile,
            operation: self.operation,
            attributes,
            end: wall,
            status: error_type.map(|error_type| message.map_or(error_type, Into::into)),
            output_tokens: self.gathered.facts.tokens.output,
        });
        match probe {
            Some(probe) => {
                let mut facts = std::mem::take(&mut self.gathered.facts);
                facts.conversation_id = self.conversation.as_deref().map(str::to_owned);
                facts.trace = self.place.is_valid().then(|| TraceRef {
                    trace_id: self.place.trace_id().to_bytes(),
                    span_id: self.place.span_id().to_bytes(),
                    sampled: self.place.is_sampled(),
                });
                probe.finish(Finish::new(end, facts, self.gathered.phases, settle));
            }
            None => settle.settle(&Settlement::unknown(SettleReason::NotObserved)),
        }
    }

    /// What is written at the end.
    fn attributes(&self) -> Vec<KeyValue> {
        let gathered = &self.gathered;
        let (facts, tokens) = (&gathered.facts, &gathered.facts.tokens);
        let room = 10 + gathered.extra.len() + gathered.content.len();
        let mut out = Attributes::after(self.shared.profile, self.operation, self.written, room);
        out.set_count(Key::UsageInputTokens, tokens.input());
        out.set_count(Key::UsageOutputTokens, tokens.output);
        out.set_count(Key::UsageCacheReadInputTokens, tokens.cache_read);
        out.set_count(Key::UsageCacheWriteInputTokens, tokens.cache_write);
        out.set_count(Key::UsageReasoningOutputTokens, tokens.reasoning);
        if let Some(modalities) = &gathered.modalities {
            report::modalities(&mut out, modalities);
        }
        if !facts.finish_reasons.is_empty() {
            out.set_list(Key::ResponseFinishReasons, facts.finish_reasons.iter().cloned().map(Into::into));
        }
        out.set_option(Key::ResponseId, facts.response_id.clone());
        out.set_option(Key::ResponseModel, facts.response_model.clone());
        if self.stream {
            let first = gathered.marks.first_chunk.map(|first| first.since(self.started).as_secs_f64());
            out.set_option(Key::ResponseTimeToFirstChunk, first);
        }
        out.set_option(Key::ErrorType, facts.error_type.clone());
        for (key, value) in &gathered.extra {
            out.set(*key, value.clone());
        }
        report::content(&mut out, &gathered.content);
        out.list
    }

    /// What all inference instruments carry. No ids: the number of series must not grow with that of inferences.
    fn metric_attributes(&self) -> Vec<KeyValue> {
        let mut out = Attributes::new(self.shared.profile, self.operation, 9);
        out.set(Key::OperationName, self.operation.as_str());
        out.set(Key::ProviderName, self.shared.provider_value.clone());
        out.set_option(Key::RequestModel, self.joint.model.clone());
        out.set_option(Key::ResponseModel, self.gathered.facts.response_model.clone());
        if let Some((address, port)) = &self.server {
            out.set(Key::ServerAddress, Arc::clone(address));
            out.set_option(Key::ServerPort, port.map(i64::from));
        }
        out.list
    }

    /// Records all but the times between chunks; gives the attributes back for those.
    fn record_metrics(&self, seconds: f64) -> Vec<KeyValue> {
        let mut attributes = self.metric_attributes();
        let instruments = self.shared.instruments.of(self.operation);
        let (gathered, tokens) = (&self.gathered, &self.gathered.facts.tokens);
        for (slot, count) in [
            (Slot::InputTokens, tokens.input()),
            (Slot::OutputTokens, tokens.output),
            (Slot::CacheRead, tokens.cache_read),
            (Slot::CacheWrite, tokens.cache_write),
            (Slot::Reasoning, tokens.reasoning),
        ] {
            let Some(count) = count else { continue };
            match &gathered.modalities {
                Some(modalities) if instruments.splits_modalities(slot) => {
                    let parts = modalities.split(count, |tokens| match slot {
                        Slot::InputTokens => tokens.input,
                        Slot::OutputTokens => tokens.output,
                        Slot::CacheRead => tokens.cache_read,
                        _ => None,
                    });
                    instruments.record_split(slot, count, &parts, &mut attributes);
                }
                _ => instruments.record(slot, count as f64, &mut attributes),
            }
        }
        if let Some(first) = gathered.marks.first_chunk.filter(|_| self.stream) {
            instruments.record(Slot::FirstChunk, first.since(self.started).as_secs_f64(), &mut attributes);
        }
        let server = gathered.server.or_else(|| {
            let reported = self.locality != Locality::InProcess && gathered.phases != LatePhases::default();
            reported.then(|| ServerTimings::from_phases(&gathered.phases))
        });
        let error = &gathered.facts.error_type;
        if let Some(server) = server.filter(|_| error.is_none()) {
            // Only of successful answers, by the convention.
            for (slot, took) in [
                (Slot::ServerFirstToken, server.first_token),
                (Slot::ServerOutputToken, server.per_output_token),
            ] {
                if let Some(took) = took {
                    instruments.record(slot, took.as_secs_f64(), &mut attributes);
                }
            }
        }
        let shared = attributes.len();
        if let Some(error) = error {
            attributes.push(KeyValue::new(wattspan_semconv::attr::ERROR_TYPE, error.clone()));
        }
        instruments.record(Slot::Duration, seconds, &mut attributes);
        if let Some(took) = server.and_then(|server| server.request) {
            instruments.record(Slot::ServerDuration, took.as_secs_f64(), &mut attributes);
        }
        attributes.truncate(shared);
        attributes
    }
}

impl Drop for Inference {
    fn drop(&mut self) {
        if !self.done {
            self.end(Some(Failure::dropped()));
        }
    }
}

/// The kind to ask for: in this process nothing is called.
pub(crate) fn wanted_kind(locality: Locality) -> SpanKind {
    match locality {
        Locality::InProcess => SpanKind::Internal,
        _ => SpanKind::Client,
    }
}
