//! One inference in flight. Every way out ends its span: finish, fail, drop, panic.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::SystemTime;

use opentelemetry::trace::{SpanKind, TraceContextExt as _, Tracer as _};
use opentelemetry::{Context, KeyValue};
use wattspan_core::{
    Begin, Facts, Finish, LatePhases, Locality, MonoTime, Probe, Settle, SettleReason, Settlement, TokenUsage,
    TraceRef,
};
use wattspan_semconv::{Key, Measure, span_name};

use crate::genai::Shared;
use crate::request::{Attributes, Request};
use crate::settle::LiveSpan;

/// An inference in flight.
///
/// Dropping it (a cancelled future, a closed stream, a panic) ends it with `error.type` = `cancelled` or `panic`.
pub struct Inference {
    shared: Arc<Shared>,
    request: Request,
    context: Context,
    started: MonoTime,
    wall: SystemTime,
    facts: Facts,
    phases: LatePhases,
    probe: Option<Box<dyn Probe>>,
    done: bool,
}

impl Inference {
    pub(crate) fn begin(shared: Arc<Shared>, request: Request) -> Self {
        let (started, wall) = (shared.clock.mono(), shared.clock.wall());
        let locality = request.locality.unwrap_or(shared.locality);
        let kind = match locality {
            Locality::InProcess => SpanKind::Internal,
            _ => SpanKind::Client,
        };
        let builder = shared
            .tracer
            .span_builder(name(&shared, &request))
            .with_kind(kind)
            .with_start_time(wall)
            .with_attributes(request.at_creation(shared.profile, &shared.provider));
        let context = Context::current_with_span(shared.tracer.build(builder));
        let probe = shared.observer.as_ref().map(|observer| {
            let mut begin = Begin::new(started, wall, request.operation.as_str(), Arc::clone(&shared.provider));
            begin.model.clone_from(&request.model);
            begin.workload = request.workload;
            begin.locality = locality;
            begin.devices = request.devices.clone();
            observer.begin(begin)
        });
        let mut facts = Facts::default();
        facts.conversation_id = request.conversation.as_deref().map(str::to_owned);
        let place = context.span().span_context().clone();
        facts.trace = place.is_valid().then(|| TraceRef {
            trace_id: place.trace_id().to_bytes(),
            span_id: place.span_id().to_bytes(),
            sampled: place.is_sampled(),
        });
        Self { shared, request, context, started, wall, facts, phases: LatePhases::default(), probe, done: false }
    }

    /// The context of its span, for outgoing calls and child spans. It stops being of use at the end.
    pub fn context(&self) -> &Context {
        &self.context
    }

    /// The first chunk with output has come.
    pub fn first_token(&mut self) {
        if self.facts.first_token.is_none() {
            self.facts.first_token = Some(self.shared.clock.mono());
        }
    }

    /// A token has come.
    pub fn token(&mut self) {
        self.tokens(1);
    }

    /// Some tokens have come together.
    pub fn tokens(&mut self, count: u64) {
        self.first_token();
        if let Some(probe) = &self.probe {
            probe.decoded(count);
        }
    }

    /// Token counts, as reported.
    pub fn usage(&mut self, usage: TokenUsage) {
        self.facts.tokens = usage;
    }

    /// Phases, as the server reported them.
    pub fn phases(&mut self, phases: LatePhases) {
        self.phases = phases;
    }

    /// Why generation stopped; once per choice.
    pub fn finish_reason(&mut self, reason: impl Into<String>) {
        self.facts.finish_reasons.push(reason.into());
    }

    /// The response's id.
    pub fn response_id(&mut self, id: impl Into<String>) {
        self.facts.response_id = Some(id.into());
    }

    /// The model that answered.
    pub fn response_model(&mut self, model: impl Into<String>) {
        self.facts.response_model = Some(model.into());
    }

    /// Ends it well.
    pub fn finish(mut self) {
        self.end();
    }

    /// Ends it with an `error.type`: the server's or library's code, of few different values.
    pub fn fail(mut self, error_type: impl Into<Cow<'static, str>>) {
        self.facts.error_type = Some(error_type.into());
        self.end();
    }

    fn end(&mut self) {
        if std::mem::replace(&mut self.done, true) {
            return;
        }
        let end = self.shared.clock.mono();
        let took = end.since(self.started);
        self.record_metrics(took.as_secs_f64());
        let settle = Box::new(LiveSpan {
            context: std::mem::take(&mut self.context),
            profile: self.shared.profile,
            operation: self.request.operation,
            attributes: self.attributes(),
            // The wall clock only labels: the end is as far from the start as the monotonic clock says.
            end: self.wall + took,
            error: self.facts.error_type.clone(),
            output_tokens: self.facts.tokens.output,
        });
        match self.probe.take() {
            Some(probe) => {
                probe.finish(Finish::new(end, std::mem::take(&mut self.facts), self.phases, settle));
            }
            None => settle.settle(&Settlement::unknown(SettleReason::NotObserved)),
        }
    }

    fn attributes(&self) -> Vec<KeyValue> {
        let mut attributes = Attributes::new(self.shared.profile, self.request.operation, 32);
        let tokens = &self.facts.tokens;
        let mut count = |key, value: Option<u64>| {
            if let Some(value) = value.and_then(|value| i64::try_from(value).ok()) {
                attributes.set(key, value);
            }
        };
        count(Key::UsageInputTokens, tokens.input());
        count(Key::UsageOutputTokens, tokens.output);
        count(Key::UsageCacheReadInputTokens, tokens.cache_read);
        count(Key::UsageCacheWriteInputTokens, tokens.cache_write);
        count(Key::UsageReasoningOutputTokens, tokens.reasoning);
        if !self.facts.finish_reasons.is_empty() {
            let reasons = self.facts.finish_reasons.iter().cloned().map(Cow::Owned);
            attributes.set_list(Key::ResponseFinishReasons, reasons);
        }
        if let Some(id) = &self.facts.response_id {
            attributes.set(Key::ResponseId, id.clone());
        }
        if let Some(model) = &self.facts.response_model {
            attributes.set(Key::ResponseModel, model.clone());
        }
        if let Some(error) = &self.facts.error_type {
            attributes.set(Key::ErrorType, error.clone());
        }
        attributes.list
    }

    fn record_metrics(&self, seconds: f64) {
        let operation = self.request.operation;
        let mut attributes = Attributes::new(self.shared.profile, operation, 8);
        attributes.set(Key::OperationName, operation.as_str());
        attributes.set(Key::ProviderName, Arc::clone(&self.shared.provider));
        if let Some(model) = &self.request.model {
            attributes.set(Key::RequestModel, Arc::clone(model));
        }
        if let Some(model) = &self.facts.response_model {
            attributes.set(Key::ResponseModel, model.clone());
        }
        let instruments = &self.shared.instruments;
        let tokens = &self.facts.tokens;
        for (measure, count) in [(Measure::InputTokens, tokens.input()), (Measure::OutputTokens, tokens.output)] {
            if let Some(count) = count {
                instruments.record(operation, measure, count as f64, &attributes.list);
            }
        }
        if let Some(error) = &self.facts.error_type {
            attributes.set(Key::ErrorType, error.clone());
        }
        instruments.record(operation, Measure::OperationDuration, seconds, &attributes.list);
    }
}

fn name(shared: &Shared, request: &Request) -> String {
    let Some(span) = shared.profile.span(request.operation, wattspan_semconv::SpanKind::Client) else {
        return request.operation.as_str().to_owned();
    };
    span_name(span, |key| match key {
        wattspan_semconv::attr::GEN_AI_OPERATION_NAME => Some(request.operation.as_str()),
        wattspan_semconv::attr::GEN_AI_REQUEST_MODEL => request.model.as_deref(),
        _ => None,
    })
}

impl Drop for Inference {
    fn drop(&mut self) {
        if !self.done {
            let error = if std::thread::panicking() { "panic" } else { "cancelled" };
            self.facts.error_type = Some(error.into());
            self.end();
        }
    }
}
