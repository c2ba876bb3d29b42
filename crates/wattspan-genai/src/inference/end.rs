//! How an inference ends, on every way: metrics at once, the span when it settles.

use std::sync::Arc;

use opentelemetry::KeyValue;
use wattspan_core::{Finish, LatePhases, Locality, Settle, SettleReason, Settlement, TraceRef};
use wattspan_semconv::Key;

use super::{Inference, Role};
use crate::attributes::Attributes;
use crate::content::ContentKind;
use crate::failure::Failure;
use crate::instruments::Slot;
use crate::joint::Joint;
use crate::report;
use crate::settle::{ChunkTimes, LiveSpan};
use crate::timing::ServerTimings;

impl Inference {
    pub(super) fn end(&mut self, failure: Option<Failure>) {
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
        let attributes =
            if self.recording || self.shared.details { self.attributes(probe.is_some()) } else { Vec::new() };
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

    /// What is written at the end. The facts' texts are copied when somebody else wants them too, and moved otherwise.
    fn attributes(&mut self, wanted: bool) -> Vec<KeyValue> {
        let gathered = &mut self.gathered;
        let (tokens, facts) = (gathered.facts.tokens, &mut gathered.facts);
        let text = |text: &mut Option<String>| if wanted { text.clone() } else { text.take() };
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
            let reasons =
                if wanted { facts.finish_reasons.clone() } else { std::mem::take(&mut facts.finish_reasons) };
            out.set_list(Key::ResponseFinishReasons, reasons.into_iter().map(Into::into));
        }
        out.set_option(Key::ResponseId, text(&mut facts.response_id));
        out.set_option(Key::ResponseModel, text(&mut facts.response_model));
        if self.stream {
            let first = gathered.marks.first_chunk.map(|first| first.since(self.started).as_secs_f64());
            out.set_option(Key::ResponseTimeToFirstChunk, first);
        }
        out.set_option(Key::ErrorType, facts.error_type.clone());
        for (key, value) in gathered.extra.drain(..) {
            out.set(key, value);
        }
        report::content(&mut out, &gathered.content);
        out.list
    }

    /// What all inference instruments carry. No ids: the number of series must not grow with that of inferences.
    pub(super) fn metric_attributes(&self) -> Vec<KeyValue> {
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
