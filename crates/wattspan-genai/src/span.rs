//! For spans that the caller already holds: attributes by short names, usage, times and finish reasons.
//!
//! Write each key once: an SDK exports a repeated one beside the first. A span that is an inference is better
//! [adopted](crate::GenAi::adopt), which measures it too.
//!
//! ```
//! use opentelemetry::trace::{Tracer as _, TraceContextExt as _};
//! use opentelemetry::{Context, global};
//! use wattspan_genai::span::{self, Held};
//!
//! let mut mine = global::tracer("app").start("batch");
//! span::set_gen_ai_provider(&mut Held(&mut mine), "llama_cpp");
//! span::set_gen_ai_attr(&mut Held(&mut mine), "request.max_tokens", 256)?;
//!
//! // A span in a context is written the same way.
//! let context = Context::current_with_span(mine);
//! span::record_finish_reason(&mut context.span(), "stop");
//! assert!(span::set_gen_ai_attr(&mut context.span(), "request.modle", "x").is_err());
//! # Ok::<(), span::AttributeError>(())
//! ```

use std::time::Duration;

use opentelemetry::trace::{Span, SpanRef, Tracer};
use opentelemetry::{Array, KeyValue, StringValue, Value};
use wattspan_core::{Locality, TokenUsage};
use wattspan_semconv::{AttributeType, Key, Operation, Profile, UnknownName, attr_name, provider_name};

use crate::attributes::{Attributes, text_list};
use crate::report;
use crate::request::Request;

/// A span that attributes can be written on.
pub trait Target {
    /// Writes an attribute.
    fn write(&mut self, attribute: KeyValue);

    /// Writes an event.
    fn tell(&mut self, name: &'static str, attributes: Vec<KeyValue>);
}

/// A span held by itself, as a [`Target`].
#[derive(Debug)]
pub struct Held<'a, S>(pub &'a mut S);

impl<S: Span> Target for Held<'_, S> {
    fn write(&mut self, attribute: KeyValue) {
        self.0.set_attribute(attribute);
    }

    fn tell(&mut self, name: &'static str, attributes: Vec<KeyValue>) {
        self.0.add_event(name, attributes);
    }
}

impl Target for SpanRef<'_> {
    fn write(&mut self, attribute: KeyValue) {
        self.set_attribute(attribute);
    }

    fn tell(&mut self, name: &'static str, attributes: Vec<KeyValue>) {
        self.add_event(name, attributes);
    }
}

/// An attribute that was not written.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum AttributeError {
    /// No convention has the name.
    #[error(transparent)]
    Unknown(#[from] UnknownName),
    /// The value is of another type than the convention says.
    #[error("`{name}` takes {expected}, not {found}")]
    WrongType {
        /// The full name.
        name: &'static str,
        /// The convention's type.
        expected: AttributeType,
        /// What was given.
        found: &'static str,
    },
}

/// Starts a span with the name, kind and attributes of a request. The caller ends it. Without energy: to have it measured,
/// use [`GenAi::begin`](crate::GenAi::begin).
pub fn inference_span<T: Tracer>(
    tracer: &T,
    profile: Profile,
    provider: &str,
    mut request: Request,
) -> T::Span {
    let locality = request.locality.unwrap_or(Locality::InProcess);
    let (name, kind) = report::inference_name(profile, &request, locality);
    let conversation = request.conversation.clone().or_else(crate::context::conversation);
    let provider = StringValue::from(provider_name(provider).to_owned());
    let attributes = request.at_creation(profile, &provider, conversation.as_ref());
    let mut builder = tracer.span_builder(name).with_kind(kind);
    builder.attributes = Some(attributes.list);
    tracer.build(builder)
}

/// Writes an attribute by its short name: `request.model` for `gen_ai.request.model`. A whole number for an attribute
/// that takes fractions is fitted.
///
/// # Errors
/// When no convention has the name, with the nearest one; when the value has another type.
pub fn set_gen_ai_attr(
    span: &mut impl Target,
    short: &str,
    value: impl Into<Value>,
) -> Result<(), AttributeError> {
    let name = attr_name(short)?;
    let value = value.into();
    let kinds: Vec<AttributeType> = Profile::ALL
        .into_iter()
        .filter_map(|profile| profile.attribute_def(name))
        .filter(|def| def.is_live())
        .map(|def| def.kind)
        .collect();
    let value = match (value, kinds.first()) {
        (Value::I64(whole), Some(AttributeType::Double)) => Value::F64(whole as f64),
        (value, Some(expected)) if !kinds.iter().any(|kind| fits(&value, *kind)) => {
            return Err(AttributeError::WrongType { name, expected: *expected, found: kind_name(&value) });
        }
        (value, _) => value,
    };
    span.write(KeyValue::new(name, value));
    Ok(())
}

/// Writes the provider, under today's name where it is known by an older one.
pub fn set_gen_ai_provider(span: &mut impl Target, provider: &str) {
    let provider = provider_name(provider).to_owned();
    span.write(KeyValue::new(wattspan_semconv::attr::GEN_AI_PROVIDER_NAME, provider));
}

/// Writes the token counts that are there. Input includes cached tokens, output includes reasoning.
pub fn record_token_usage(span: &mut impl Target, profile: Profile, usage: &TokenUsage) {
    let mut out = Attributes::new(profile, Operation::Chat, 5);
    out.set_count(Key::UsageInputTokens, usage.input());
    out.set_count(Key::UsageOutputTokens, usage.output);
    out.set_count(Key::UsageCacheReadInputTokens, usage.cache_read);
    out.set_count(Key::UsageCacheWriteInputTokens, usage.cache_write);
    out.set_count(Key::UsageReasoningOutputTokens, usage.reasoning);
    for pair in out.list {
        span.write(pair);
    }
}

/// Tells the time to the first token and the time per output token, as events `first_token` and `output_token` with
/// `seconds`. The conventions have no attribute for either; the time to the first *chunk* has one, which
/// `set_gen_ai_attr` writes as `response.time_to_first_chunk`.
pub fn record_timing(span: &mut impl Target, first_token: Option<Duration>, per_token: Option<Duration>) {
    for (name, took) in [("first_token", first_token), ("output_token", per_token)] {
        if let Some(took) = took {
            span.tell(name, vec![KeyValue::new("seconds", took.as_secs_f64())]);
        }
    }
}

/// Writes why generation stopped, for one choice.
pub fn record_finish_reason(span: &mut impl Target, reason: impl Into<String>) {
    record_finish_reasons(span, [reason]);
}

/// Writes why generation stopped, once per choice.
pub fn record_finish_reasons<T: Into<String>>(span: &mut impl Target, reasons: impl IntoIterator<Item = T>) {
    let reasons = text_list(reasons.into_iter().map(|reason| reason.into().into()));
    span.write(KeyValue::new(wattspan_semconv::attr::GEN_AI_RESPONSE_FINISH_REASONS, reasons));
}

fn fits(value: &Value, kind: AttributeType) -> bool {
    match kind {
        AttributeType::String | AttributeType::Template => matches!(value, Value::String(_)),
        AttributeType::Int => matches!(value, Value::I64(_)),
        AttributeType::Double => matches!(value, Value::F64(_)),
        AttributeType::Boolean => matches!(value, Value::Bool(_)),
        AttributeType::StringArray => matches!(value, Value::Array(Array::String(_))),
        AttributeType::Any => true,
    }
}

fn kind_name(value: &Value) -> &'static str {
    match value {
        Value::Bool(_) => "boolean",
        Value::I64(_) => "int",
        Value::F64(_) => "double",
        Value::String(_) => "string",
        Value::Array(Array::String(_)) => "string[]",
        _ => "array",
    }
}
