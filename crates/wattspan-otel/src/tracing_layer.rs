//! The layer that joins an application's `tracing` spans with ours in one trace.
//!
//! It is `tracing-opentelemetry`'s, with two changes: a number without a sign stays a number, where upstream makes all
//! of them text; and what this project and OpenTelemetry say about themselves is not exported.

// `Layer::downcast_raw` is an unsafe method, and has to be passed on: else nothing finds the layer within.
#![allow(unsafe_code)]

use std::any::TypeId;
use std::error::Error;
use std::fmt;

use opentelemetry_sdk::trace::SdkTracer;
use tracing_core::field::{Field, Value, ValueSet, Visit};
use tracing_core::span::{Attributes, Id, Record};
use tracing_core::{Event, Metadata, Subscriber};
use tracing_opentelemetry::OpenTelemetryLayer;
use tracing_subscriber::Layer;
use tracing_subscriber::filter::filter_fn;
use tracing_subscriber::layer::Context;
use tracing_subscriber::registry::LookupSpan;

/// A layer that exports `tracing` spans by `tracer`, to be added to any subscriber that has a registry.
///
/// A span of the application is the parent of what is recorded while it is entered, inferences too; and an inference
/// whose context is current is the parent of spans that are made then. `tracing_opentelemetry::OpenTelemetrySpanExt`
/// works with it, so that a context that came over the network can be a parent.
///
/// ```
/// use opentelemetry::trace::TracerProvider as _;
/// use tracing_subscriber::layer::SubscriberExt as _;
/// use wattspan_otel::{Telemetry, tracing_layer};
///
/// let telemetry = Telemetry::builder("app").build()?;
/// let tracer = telemetry.tracer_provider().tracer("app");
/// let subscriber = tracing_subscriber::registry().with(tracing_layer(tracer));
/// tracing::subscriber::with_default(subscriber, || {
///     let _request = tracing::info_span!("request", tokens = 12_u64).entered();
/// });
/// # Ok::<(), wattspan_otel::TelemetryError>(())
/// ```
pub fn tracing_layer<S>(tracer: SdkTracer) -> impl Layer<S> + Send + Sync
where
    S: Subscriber + for<'span> LookupSpan<'span> + Send + Sync,
{
    let inner = tracing_opentelemetry::layer().with_tracer(tracer);
    TracingLayer { inner }.with_filter(filter_fn(|metadata| !is_own(metadata.target())))
}

/// Exporting what exporting says would never end.
fn is_own(target: &str) -> bool {
    target.starts_with("wattspan") || target.starts_with("opentelemetry")
}

struct TracingLayer<S> {
    inner: OpenTelemetryLayer<S, SdkTracer>,
}

// Upstream implements these methods; all others keep their defaults there too.
impl<S> Layer<S> for TracingLayer<S>
where
    S: Subscriber + for<'span> LookupSpan<'span>,
{
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let metadata = attributes.metadata();
        let signed = Signed::of(metadata, |visitor| attributes.record(visitor));
        let Some(signed) = signed else { return self.inner.on_new_span(attributes, id, context) };
        signed.with(metadata, |values| {
            let rewritten = match attributes.parent() {
                Some(parent) => Attributes::child_of(parent.clone(), metadata, values),
                None if attributes.is_root() => Attributes::new_root(metadata, values),
                None => Attributes::new(metadata, values),
            };
            self.inner.on_new_span(&rewritten, id, context);
        });
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, context: Context<'_, S>) {
        let metadata = context.metadata(id);
        let signed = metadata
            .and_then(|metadata| Some((metadata, Signed::of(metadata, |visitor| values.record(visitor))?)));
        let Some((metadata, signed)) = signed else { return self.inner.on_record(id, values, context) };
        signed.with(metadata, |values| self.inner.on_record(id, &Record::new(values), context));
    }

    fn on_event(&self, event: &Event<'_>, context: Context<'_, S>) {
        let metadata = event.metadata();
        let signed = Signed::of(metadata, |visitor| event.record(visitor));
        let Some(signed) = signed else { return self.inner.on_event(event, context) };
        signed.with(metadata, |values| {
            let rewritten = if event.is_contextual() {
                Event::new(metadata, values)
            } else {
                Event::new_child_of(event.parent().cloned(), metadata, values)
            };
            self.inner.on_event(&rewritten, context);
        });
    }

    fn on_follows_from(&self, id: &Id, follows: &Id, context: Context<'_, S>) {
        self.inner.on_follows_from(id, follows, context);
    }

    fn on_enter(&self, id: &Id, context: Context<'_, S>) {
        self.inner.on_enter(id, context);
    }

    fn on_exit(&self, id: &Id, context: Context<'_, S>) {
        self.inner.on_exit(id, context);
    }

    fn on_close(&self, id: Id, context: Context<'_, S>) {
        self.inner.on_close(id, context);
    }

    unsafe fn downcast_raw(&self, id: TypeId) -> Option<*const ()> {
        if id == TypeId::of::<Self>() {
            return Some(std::ptr::from_ref(self).cast());
        }
        // SAFETY: the caller promises what this method asks for, and the pointer is to a field of `self`, which lives
        // as long as `self` and is not moved out of it.
        unsafe { self.inner.downcast_raw(id) }
    }
}

/// Values of a span or event with unsigned numbers made signed, by the index of their field.
struct Signed {
    values: Vec<Option<Copied>>,
    changed: bool,
}

enum Copied {
    Bool(bool),
    Whole(i64),
    Float(f64),
    Text(String),
    Failure(Told),
}

impl Signed {
    /// `None` when there is no unsigned number, so that the values can stay as they are.
    fn of(metadata: &Metadata<'_>, record: impl Fn(&mut dyn Visit)) -> Option<Self> {
        let mut probe = Probe(false);
        record(&mut probe);
        if !probe.0 {
            return None;
        }
        let mut signed = Self { values: Vec::new(), changed: false };
        signed.values.resize_with(metadata.fields().len(), || None);
        record(&mut signed);
        signed.changed.then_some(signed)
    }

    fn put(&mut self, field: &Field, value: Copied) {
        if let Some(place) = self.values.get_mut(field.index()) {
            *place = Some(value);
        }
    }

    /// A number that does not fit is text, and never a negative number.
    fn number(&mut self, field: &Field, value: impl TryInto<i64> + fmt::Display + Copy) {
        self.changed = true;
        let value = value.try_into().map_or_else(|_| Copied::Text(value.to_string()), Copied::Whole);
        self.put(field, value);
    }

    fn with(self, metadata: &'static Metadata<'static>, use_values: impl FnOnce(&ValueSet<'_>)) {
        let failures: Vec<Option<&(dyn Error + 'static)>> = self
            .values
            .iter()
            .map(|value| match value {
                Some(Copied::Failure(told)) => Some(told as &(dyn Error + 'static)),
                _ => None,
            })
            .collect();
        let values: Vec<Option<&dyn Value>> = self
            .values
            .iter()
            .zip(&failures)
            .map(|(value, failure)| match (value.as_ref()?, failure) {
                (Copied::Bool(value), _) => Some(value as &dyn Value),
                (Copied::Whole(value), _) => Some(value as &dyn Value),
                (Copied::Float(value), _) => Some(value as &dyn Value),
                (Copied::Text(value), _) => Some(value as &dyn Value),
                (Copied::Failure(_), failure) => failure.as_ref().map(|failure| failure as &dyn Value),
            })
            .collect();
        // Hidden from the documentation and used by `tracing`'s macros, so that it stays as long as 0.1 does.
        use_values(&metadata.fields().value_set_all(&values));
    }
}

impl Visit for Signed {
    fn record_bool(&mut self, field: &Field, value: bool) {
        self.put(field, Copied::Bool(value));
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.put(field, Copied::Whole(value));
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        self.put(field, Copied::Float(value));
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.number(field, value);
    }

    fn record_i128(&mut self, field: &Field, value: i128) {
        self.number(field, value);
    }

    fn record_u128(&mut self, field: &Field, value: u128) {
        self.number(field, value);
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.put(field, Copied::Text(value.to_owned()));
    }

    fn record_error(&mut self, field: &Field, value: &(dyn Error + 'static)) {
        self.put(field, Copied::Failure(Told::of(value)));
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.put(field, Copied::Text(format!("{value:?}")));
    }
}

/// Whether there is a number that upstream would make text.
struct Probe(bool);

impl Visit for Probe {
    fn record_u64(&mut self, _field: &Field, _value: u64) {
        self.0 = true;
    }

    fn record_i128(&mut self, _field: &Field, _value: i128) {
        self.0 = true;
    }

    fn record_u128(&mut self, _field: &Field, _value: u128) {
        self.0 = true;
    }

    fn record_str(&mut self, _field: &Field, _value: &str) {}

    fn record_error(&mut self, _field: &Field, _value: &(dyn Error + 'static)) {}

    fn record_debug(&mut self, _field: &Field, _value: &dyn fmt::Debug) {}
}

/// An error as it reads, with its causes.
struct Told {
    text: String,
    source: Option<Box<Told>>,
}

impl Told {
    fn of(error: &(dyn Error + 'static)) -> Self {
        Self { text: error.to_string(), source: error.source().map(|source| Box::new(Self::of(source))) }
    }
}

impl fmt::Display for Told {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.text)
    }
}

impl fmt::Debug for Told {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.text)
    }
}

impl Error for Told {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.source.as_deref().map(|source| source as &(dyn Error + 'static))
    }
}
