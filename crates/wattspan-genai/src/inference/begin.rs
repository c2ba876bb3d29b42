//! How an inference begins: with a span of its own, with another library's, or as a part of one that is open.

use std::sync::{Arc, OnceLock};
use std::time::SystemTime;

use opentelemetry::trace::{TraceContextExt as _, Tracer as _};
use opentelemetry::{Context, KeyValue};
use wattspan_core::{Begin, Locality, MonoTime};
use wattspan_semconv::Key;

use super::{Inference, Role};
use crate::attributes::{Attributes, KeySet};
use crate::context::{self, OpenInference, RunningAgent};
use crate::genai::Shared;
use crate::joint::{Gathered, Joint};
use crate::report;
use crate::request::Request;

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
}
