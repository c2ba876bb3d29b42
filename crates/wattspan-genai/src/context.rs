//! What travels with the OpenTelemetry context: the conversation, the open inference, the running agent.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use opentelemetry::Context;
use opentelemetry::context::{FutureExt as _, WithContext};
use opentelemetry::propagation::Injector;
use opentelemetry::trace::TraceContextExt as _;

use crate::joint::Joint;

/// The conversation that a context carries.
struct Conversation(Arc<str>);

/// The inference that is open in a context; `None` below a tool or agent, whose inferences are their own.
pub(crate) struct OpenInference(pub(crate) Option<Arc<Joint>>);

/// The agent that runs in a context.
pub(crate) struct RunningAgent(pub(crate) Arc<AgentCounts>);

/// What an agent's run adds up to.
#[derive(Debug)]
pub(crate) struct AgentCounts {
    pub(crate) name: Option<Arc<str>>,
    inferences: AtomicU64,
    tools: AtomicU64,
}

impl AgentCounts {
    pub(crate) fn new(name: Option<Arc<str>>) -> Self {
        Self { name, inferences: AtomicU64::new(0), tools: AtomicU64::new(0) }
    }

    pub(crate) fn add_inference(&self) {
        self.inferences.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn add_tool(&self) {
        self.tools.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn inferences(&self) -> u64 {
        self.inferences.load(Ordering::Relaxed)
    }

    pub(crate) fn tools(&self) -> u64 {
        self.tools.load(Ordering::Relaxed)
    }
}

/// The current context with a conversation, which every inference, tool and agent below it belongs to unless it names
/// its own. Attach it, or run a future in it with [`with_context`].
///
/// ```
/// use wattspan_genai::context;
///
/// let chat = context::with_conversation("conv-7");
/// let _guard = chat.attach();
/// assert_eq!(context::conversation().as_deref(), Some("conv-7"));
/// ```
pub fn with_conversation(id: impl Into<Arc<str>>) -> Context {
    Context::current_with_value(Conversation(id.into()))
}

/// A context with a conversation.
pub(crate) fn conversation_in(context: &Context, id: Arc<str>) -> Context {
    context.with_value(Conversation(id))
}

/// The conversation of the current context.
pub fn conversation() -> Option<Arc<str>> {
    Context::map_current(conversation_of)
}

pub(crate) fn conversation_of(context: &Context) -> Option<Arc<str>> {
    context.get::<Conversation>().map(|conversation| Arc::clone(&conversation.0))
}

/// Runs a future in a context, on whichever thread and task it is polled. The way to hand a parent on to a spawned task.
///
/// ```
/// use wattspan_genai::{GenAi, Request, context};
///
/// let inference = GenAi::builder("llama_cpp").build().begin(Request::chat("smollm2"));
/// let call = context::with_context(async { "spans made in here are its children" }, inference.context().clone());
/// # drop(call);
/// inference.finish();
/// ```
pub fn with_context<F: Future>(future: F, context: Context) -> WithContext<F> {
    future.with_context(context)
}

/// Runs a future in the context that is current now.
pub fn with_current_context<F: Future>(future: F) -> WithContext<F> {
    future.with_current_context()
}

/// The `traceparent` header of a context's span, by W3C Trace Context level 1. **Absent** without a valid span.
pub fn traceparent(context: &Context) -> Option<String> {
    let span = context.span();
    let place = span.span_context();
    place.is_valid().then(|| {
        // Only the flag `sampled` is defined at level 1; others must be sent as zero.
        let flags = u8::from(place.is_sampled());
        format!("00-{}-{}-{flags:02x}", place.trace_id(), place.span_id())
    })
}

/// Writes `traceparent`, and `tracestate` where there is one, into the headers of an outgoing call. Works without a
/// global propagator.
///
/// ```
/// use std::collections::HashMap;
/// use wattspan_genai::context;
///
/// let mut headers = HashMap::new();
/// context::inject(&opentelemetry::Context::current(), &mut headers);
/// assert!(headers.is_empty(), "no span, no header");
/// ```
pub fn inject(context: &Context, headers: &mut dyn Injector) {
    let Some(parent) = traceparent(context) else { return };
    headers.set("traceparent", parent);
    let state = context.span().span_context().trace_state().header();
    if !state.is_empty() {
        headers.set("tracestate", state);
    }
}
