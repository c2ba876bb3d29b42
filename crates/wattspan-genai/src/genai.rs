//! The entry point: what all inferences of a client have in common.

use std::sync::Arc;

use opentelemetry::global::{self, BoxedTracer};
use opentelemetry::metrics::Meter;
use opentelemetry::trace::Tracer;
use wattspan_core::{Clock, InferenceObserver, Locality, SystemClock};
use wattspan_semconv::Profile;

use crate::inference::Inference;
use crate::instruments::Instruments;
use crate::request::Request;

/// Makes instrumented inferences. Cheap to clone; one per provider.
#[derive(Clone)]
pub struct GenAi {
    pub(crate) shared: Arc<Shared>,
}

pub(crate) struct Shared {
    pub(crate) tracer: BoxedTracer,
    pub(crate) instruments: Instruments,
    pub(crate) profile: Profile,
    pub(crate) provider: Arc<str>,
    pub(crate) locality: Locality,
    pub(crate) observer: Option<Arc<dyn InferenceObserver>>,
    pub(crate) clock: Arc<dyn Clock>,
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
}

/// Name of the instrumentation scope.
const SCOPE: &str = "wattspan";

impl GenAi {
    /// A builder for a provider, such as `llama_cpp`. Without more it records to the global providers, in-process,
    /// and measures nothing.
    pub fn builder(provider: impl Into<Arc<str>>) -> GenAiBuilder {
        GenAiBuilder {
            tracer: None,
            meter: None,
            profile: Profile::default(),
            provider: provider.into(),
            locality: Locality::InProcess,
            observer: None,
            clock: Arc::new(SystemClock),
        }
    }

    /// Begins an inference: starts its span under the current context and its measurement.
    pub fn begin(&self, request: Request) -> Inference {
        Inference::begin(Arc::clone(&self.shared), request)
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

    /// Makes the instruments.
    pub fn build(self) -> GenAi {
        let meter = self.meter.unwrap_or_else(|| global::meter(SCOPE));
        let shared = Shared {
            tracer: self.tracer.unwrap_or_else(|| global::tracer(SCOPE)),
            instruments: Instruments::new(self.profile, &meter),
            profile: self.profile,
            provider: self.provider,
            locality: self.locality,
            observer: self.observer,
            clock: self.clock,
        };
        GenAi { shared: Arc::new(shared) }
    }
}
