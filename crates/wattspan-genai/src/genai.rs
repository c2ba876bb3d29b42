//! The entry point: what all inferences of a client have in common.

use std::sync::Arc;

use opentelemetry::global::{self, BoxedTracer};
use opentelemetry::metrics::Meter;
use opentelemetry::trace::Tracer;
use opentelemetry::{Context, InstrumentationScope, StringValue};
use wattspan_core::{Clock, InferenceObserver, Locality, SystemClock};
use wattspan_semconv::{Key, Operation, Profile, provider_name};

use crate::agent::{Agent, AgentRun};
use crate::content::ContentPolicy;
use crate::evaluation::Evaluation;
use crate::events::EventSink;
use crate::inference::Inference;
use crate::instruments::Instruments;
use crate::request::Request;
use crate::retrieval::{Memory, MemoryRun, Retrieval, RetrievalRun};
use crate::tool::{Tool, ToolCall};

/// Makes instrumented inferences, tool calls, agents and retrievals. Cheap to clone; one per provider.
#[derive(Clone)]
pub struct GenAi {
    pub(crate) shared: Arc<Shared>,
}

pub(crate) struct Shared {
    pub(crate) tracer: BoxedTracer,
    pub(crate) instruments: Instruments,
    pub(crate) profile: Profile,
    pub(crate) provider: Arc<str>,
    /// The same as a value that costs nothing to copy, where the name is a known one.
    pub(crate) provider_value: StringValue,
    pub(crate) locality: Locality,
    pub(crate) observer: Option<Arc<dyn InferenceObserver>>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) content: ContentPolicy,
    pub(crate) events: Option<Arc<dyn EventSink>>,
    pub(crate) details: bool,
}

/// Puts a [`GenAi`] together.
pub struct GenAiBuilder {
    tracer: Option<BoxedTracer>,
    meter: Option<Meter>,
    profile: Profile,
    provider: Arc<str>,
    locality: Locality,
    observer: Option<Arc<dyn InferenceObserver>>,
    clock: Arc<dyn Clock>,
    content: ContentPolicy,
    events: Option<Arc<dyn EventSink>>,
    details: bool,
}

/// Name of the instrumentation scope.
const SCOPE: &str = "wattspan";

impl std::fmt::Debug for GenAi {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("GenAi")
            .field("profile", &self.shared.profile)
            .field("provider", &self.shared.provider)
            .field("locality", &self.shared.locality)
            .field("observed", &self.shared.observer.is_some())
            .field("content", &self.shared.content)
            .finish_non_exhaustive()
    }
}

impl GenAi {
    /// A builder for a provider, such as `llama_cpp`. Older names of known providers become today's. Without more it
    /// records to the global providers, in-process, captures no content and measures nothing.
    pub fn builder(provider: impl Into<Arc<str>>) -> GenAiBuilder {
        let given = provider.into();
        let name = provider_name(&given);
        let provider = if *name == *given { Arc::clone(&given) } else { name.into() };
        GenAiBuilder {
            tracer: None,
            meter: None,
            profile: Profile::default(),
            provider,
            locality: Locality::InProcess,
            observer: None,
            clock: Arc::new(SystemClock),
            content: ContentPolicy::off(),
            events: None,
            details: false,
        }
    }

    /// Begins an inference: starts its span under the current context and its measurement.
    ///
    /// Inside the context of an open inference of the same operation and model it is that inference, seen by another
    /// layer: what it learns is added there, and it has no span, no metrics and no energy of its own. See
    /// [`Request::separate`] for when that is not meant.
    pub fn begin(&self, request: Request) -> Inference {
        Inference::begin(Arc::clone(&self.shared), request)
    }

    /// Takes over a span that another library started, held in `context`: the request and the results are written on
    /// it, it is measured, and it is ended when it settles. Its name and kind stay.
    ///
    /// `written` names what that library has already written: a span's attributes cannot be read back, and a second
    /// write would be exported beside the first.
    pub fn adopt(&self, context: Context, request: Request, written: &[Key]) -> Inference {
        Inference::adopt(Arc::clone(&self.shared), context, request, written)
    }

    /// Begins the call of a tool.
    pub fn begin_tool(&self, tool: Tool) -> ToolCall {
        ToolCall::begin(Arc::clone(&self.shared), tool)
    }

    /// Begins the creation, a run or the planning of an agent, or a workflow.
    pub fn begin_agent(&self, agent: Agent) -> AgentRun {
        AgentRun::begin(Arc::clone(&self.shared), agent)
    }

    /// Begins a retrieval.
    pub fn begin_retrieval(&self, retrieval: Retrieval) -> RetrievalRun {
        RetrievalRun::begin(Arc::clone(&self.shared), retrieval)
    }

    /// Begins an operation on an agent's memory.
    pub fn begin_memory(&self, memory: Memory) -> MemoryRun {
        MemoryRun::begin(Arc::clone(&self.shared), memory)
    }

    /// Records the evaluation of an answer whose span is in `context`; it may have ended, if events go to a sink.
    pub fn evaluate(&self, context: &Context, evaluation: Evaluation) {
        evaluation.record(&self.shared, context, None);
    }

    /// The names in use.
    pub fn profile(&self) -> Profile {
        self.shared.profile
    }

    /// The provider, as it is recorded.
    pub fn provider(&self) -> &str {
        &self.shared.provider
    }

    /// Whether prompts and answers are recorded: without it there is no need to collect them.
    pub fn captures_content(&self) -> bool {
        self.shared.content.is_on()
    }
}

impl GenAiBuilder {
    /// Takes this tracer instead of the global one.
    pub fn tracer<T>(mut self, tracer: T) -> Self
    where
        T: Tracer + Send + Sync + 'static,
        T::Span: Send + Sync + 'static,
    {
        self.tracer = Some(BoxedTracer::new(Box::new(tracer)));
        self
    }

    /// Takes this meter instead of the global one.
    pub fn meter(mut self, meter: Meter) -> Self {
        self.meter = Some(meter);
        self
    }

    /// Chooses the names.
    pub fn profile(mut self, profile: Profile) -> Self {
        self.profile = profile;
        self
    }

    /// Says where inferences run unless a request says otherwise.
    pub fn locality(mut self, locality: Locality) -> Self {
        self.locality = locality;
        self
    }

    /// Has energy measured.
    pub fn observer(mut self, observer: Arc<dyn InferenceObserver>) -> Self {
        self.observer = Some(observer);
        self
    }

    /// Takes another clock than the system's.
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = clock;
        self
    }

    /// Says whether prompts, answers and tool data are recorded. They are not by default.
    pub fn content(mut self, policy: ContentPolicy) -> Self {
        self.content = policy;
        self
    }

    /// Sends log events there. Without it exceptions and evaluations are events on spans.
    pub fn events(mut self, sink: Arc<dyn EventSink>) -> Self {
        self.events = Some(sink);
        self
    }

    /// Emits the details of each inference as a log event as well. Needs [`events`](Self::events).
    pub fn details(mut self, wanted: bool) -> Self {
        self.details = wanted;
        self
    }

    /// Makes the instruments.
    pub fn build(self) -> GenAi {
        let scope = || {
            let scope = InstrumentationScope::builder(SCOPE).with_version(env!("CARGO_PKG_VERSION"));
            match self.profile.schema_url() {
                Some(url) => scope.with_schema_url(url).build(),
                None => scope.build(),
            }
        };
        let meter = self.meter.unwrap_or_else(|| global::meter_with_scope(scope()));
        let shared = Shared {
            tracer: self.tracer.unwrap_or_else(|| global::tracer_with_scope(scope())),
            instruments: Instruments::new(self.profile, &meter),
            profile: self.profile,
            provider_value: provider_value(&self.provider),
            provider: self.provider,
            locality: self.locality,
            observer: self.observer,
            clock: self.clock,
            content: self.content,
            details: self.details && self.events.is_some(),
            events: self.events,
        };
        GenAi { shared: Arc::new(shared) }
    }
}

/// Counting references to one name from many threads at once costs more than the rest of an attribute.
fn provider_value(provider: &Arc<str>) -> StringValue {
    let listed =
        Profile::Core.attribute(Operation::Chat, Key::ProviderName).map_or(&[][..], |def| def.values);
    let known = listed.iter().chain(&LOCAL_PROVIDERS).find(|known| ***known == **provider);
    known.map_or_else(|| StringValue::from(Arc::clone(provider)), |known| StringValue::from(*known))
}

/// Providers of local models, which the conventions do not list.
const LOCAL_PROVIDERS: [&str; 4] = ["llama_cpp", "llama.cpp", "ollama", "vllm"];
