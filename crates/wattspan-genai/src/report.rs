//! What inferences and the other operations write alike: names and kinds, exceptions, details, content.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::SystemTime;

use opentelemetry::trace::{SpanContext, SpanKind, TraceContextExt as _};
use opentelemetry::{Context, KeyValue, Value};
use serde_json::Value as Json;
use wattspan_core::Locality;
use wattspan_semconv::{Key, Operation, Profile, SpanDef, attr, event, span_name};

use crate::attributes::{Attributes, count_value};
use crate::events::Event;
use crate::genai::Shared;
use crate::inference::wanted_kind;
use crate::joint::Content;
use crate::request::Request;
use crate::usage::{ModalityTokens, ModalityUsage};

/// Name and kind of an inference's span.
pub(crate) fn inference_name(profile: Profile, request: &Request, locality: Locality) -> (String, SpanKind) {
    let wanted = wanted_kind(locality);
    let operation = request.operation.as_str();
    let Some(def) = profile.span(request.operation, neutral(&wanted)) else {
        // No convention describes it: named as inferences are.
        let name = request.model.as_deref().map(|model| format!("{operation} {model}"));
        return (name.unwrap_or_else(|| operation.to_owned()), wanted);
    };
    let name = span_name(def, |key| match key {
        attr::GEN_AI_OPERATION_NAME => Some(operation),
        attr::GEN_AI_REQUEST_MODEL => request.model.as_deref(),
        _ => None,
    });
    (name, kind_of(def, wanted))
}

/// Name and kind of another operation's span, from its attributes.
pub(crate) fn step_name(
    profile: Profile,
    operation: Operation,
    wanted: SpanKind,
    attributes: &[KeyValue],
) -> (String, SpanKind) {
    let Some(def) = profile.span(operation, neutral(&wanted)) else {
        return (operation.as_str().to_owned(), wanted);
    };
    let name = span_name(def, |key| {
        let pair = attributes.iter().find(|pair| pair.key.as_str() == key)?;
        match &pair.value {
            Value::String(text) => Some(text.as_str()),
            _ => None,
        }
    });
    (name, kind_of(def, wanted))
}

fn kind_of(def: &SpanDef, wanted: SpanKind) -> SpanKind {
    if def.kinds_allowed.contains(&neutral(&wanted)) {
        return wanted;
    }
    match def.kind {
        wattspan_semconv::SpanKind::Internal => SpanKind::Internal,
        wattspan_semconv::SpanKind::Client => SpanKind::Client,
        wattspan_semconv::SpanKind::Server => SpanKind::Server,
        wattspan_semconv::SpanKind::Producer => SpanKind::Producer,
        wattspan_semconv::SpanKind::Consumer => SpanKind::Consumer,
    }
}

pub(crate) fn neutral(kind: &SpanKind) -> wattspan_semconv::SpanKind {
    match kind {
        SpanKind::Internal => wattspan_semconv::SpanKind::Internal,
        SpanKind::Client => wattspan_semconv::SpanKind::Client,
        SpanKind::Server => wattspan_semconv::SpanKind::Server,
        SpanKind::Producer => wattspan_semconv::SpanKind::Producer,
        SpanKind::Consumer => wattspan_semconv::SpanKind::Consumer,
    }
}

/// Tells of an exception: as a log event, or on the span where there is no sink.
pub(crate) fn exception(
    shared: &Shared,
    operation: Operation,
    context: &Context,
    time: SystemTime,
    kind: Option<Cow<'static, str>>,
    message: Option<&str>,
) {
    let mut attributes = Attributes::new(shared.profile, operation, 2);
    attributes.set_option(Key::ExceptionType, kind);
    attributes.set_option(Key::ExceptionMessage, message.map(str::to_owned));
    let span = context.span();
    let Some(sink) = &shared.events else {
        // OpenTelemetry's own name for an exception on a span.
        span.add_event_with_timestamp("exception", time, attributes.list);
        return;
    };
    let name = match (shared.profile, operation) {
        (Profile::GenAi, Operation::ExecuteTool) => event::GEN_AI_EXECUTE_TOOL_EXCEPTION,
        (Profile::GenAi, Operation::Chat | Operation::GenerateContent | Operation::TextCompletion) => {
            event::GEN_AI_CLIENT_INFERENCE_EXCEPTION
        }
        _ => event::GEN_AI_CLIENT_OPERATION_EXCEPTION,
    };
    sink.emit(&Event {
        name,
        severity: shared.profile.event_def(name).and_then(|def| def.severity),
        time,
        span: span.span_context().clone(),
        attributes: attributes.list,
        content: Vec::new(),
    });
}

/// Tells all of an inference as a log event.
pub(crate) fn details(
    shared: &Arc<Shared>,
    operation: Operation,
    place: &SpanContext,
    time: SystemTime,
    (created, ended): (Vec<KeyValue>, &[KeyValue]),
    content: Vec<(Content, Json)>,
) {
    let Some(sink) = &shared.events else { return };
    let name = event::GEN_AI_CLIENT_INFERENCE_OPERATION_DETAILS;
    let content: Vec<(&'static str, Json)> = content
        .into_iter()
        .filter_map(|(what, value)| match what {
            Content::Key(key) => Some((shared.profile.attribute(operation, key)?.name, value)),
            Content::Variable(_) => None,
        })
        .collect();
    let mut attributes = created;
    // On a span content is JSON text; here it is structured, and not said twice.
    let structured = |pair: &&KeyValue| content.iter().all(|(name, _)| pair.key.as_str() != *name);
    attributes.extend(ended.iter().filter(structured).cloned());
    sink.emit(&Event {
        name,
        severity: shared.profile.event_def(name).and_then(|def| def.severity),
        time,
        span: place.clone(),
        attributes,
        content,
    });
}

/// Writes content as a span can hold it: texts as they are, structures as JSON text.
pub(crate) fn content(out: &mut Attributes, content: &[(Content, Json)]) {
    for (what, value) in content {
        let text = match value {
            Json::String(text) => text.clone(),
            other => other.to_string(),
        };
        match what {
            Content::Key(key) => out.set(*key, text),
            Content::Variable(name) => {
                if let Some(family) = out.profile.attribute(out.operation, Key::PromptVariable) {
                    out.list.push(KeyValue::new(format!("{}.{name}", family.name), text));
                }
            }
        }
    }
}

pub(crate) fn modalities(out: &mut Attributes, usage: &ModalityUsage) {
    let mut one = |tokens: &ModalityTokens, [input, output, cache_read]: [Key; 3]| {
        for (key, count) in [(input, tokens.input), (output, tokens.output), (cache_read, tokens.cache_read)]
        {
            out.set_option(key, count.map(count_value));
        }
    };
    one(
        &usage.text,
        [Key::UsageTextInputTokens, Key::UsageTextOutputTokens, Key::UsageTextCacheReadInputTokens],
    );
    one(
        &usage.image,
        [Key::UsageImageInputTokens, Key::UsageImageOutputTokens, Key::UsageImageCacheReadInputTokens],
    );
    one(
        &usage.audio,
        [Key::UsageAudioInputTokens, Key::UsageAudioOutputTokens, Key::UsageAudioCacheReadInputTokens],
    );
}
