//! A rig: the real small model, in-memory exporters and an observer that writes down what it is told.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use opentelemetry::trace::TracerProvider as _;
use opentelemetry::{KeyValue, Value};
use opentelemetry_sdk::metrics::SdkMeterProvider;
use opentelemetry_sdk::trace::{InMemorySpanExporter, SdkTracerProvider, SpanData};
use wattspan_core::Facts;
use wattspan_genai::{GenAi, GenAiBuilder};
use wattspan_llama_cpp::{Model, ModelOptions, Session, SessionOptions};
use wattspan_testkit::{Closing, RecordingObserver, SeenInference, peers};

/// Recorded inferences of one test.
pub(crate) struct Rig {
    pub(crate) genai: GenAi,
    observer: RecordingObserver,
    spans: InMemorySpanExporter,
    _tracers: SdkTracerProvider,
    // llama.cpp's threads spin: on a machine of two cores, tests side by side would crawl.
    _alone: MutexGuard<'static, ()>,
}

static ALONE: Mutex<()> = Mutex::new(());

impl Rig {
    pub(crate) fn new() -> Self {
        Self::with(|builder| builder)
    }

    pub(crate) fn with(change: impl FnOnce(GenAiBuilder) -> GenAiBuilder) -> Self {
        let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        let spans = InMemorySpanExporter::default();
        let tracers = SdkTracerProvider::builder().with_simple_exporter(spans.clone()).build();
        let meter =
            opentelemetry::metrics::MeterProvider::meter(&SdkMeterProvider::builder().build(), "test");
        let observer = RecordingObserver::default();
        let builder = GenAi::builder("llama_cpp")
            .tracer(tracers.tracer("test"))
            .meter(meter)
            .observer(Arc::new(observer.clone()));
        Self { genai: change(builder).build(), observer, spans, _tracers: tracers, _alone: alone }
    }

    /// The small model, on the CPU.
    pub(crate) fn model(&self) -> Model {
        let options = ModelOptions::default().name("smollm2").gpu_layers(0);
        Model::load(&self.genai, peers::model(), &options).unwrap()
    }

    /// A session of 256 tokens, and the model's load forgotten.
    pub(crate) fn session(&self) -> Session {
        self.session_of(256)
    }

    pub(crate) fn session_of(&self, tokens: u32) -> Session {
        let session = Session::new(&self.model(), &small(tokens)).unwrap();
        self.spans.reset();
        session
    }

    pub(crate) fn spans(&self) -> Vec<SpanData> {
        self.spans.get_finished_spans().unwrap()
    }

    /// The only span since the session was made.
    #[track_caller]
    pub(crate) fn span(&self) -> SpanData {
        let mut spans = self.spans();
        assert_eq!(spans.len(), 1, "{spans:#?}");
        spans.remove(0)
    }

    /// The latest inference as the observer saw it.
    pub(crate) fn seen(&self) -> SeenInference {
        self.observer.seen().pop().expect("an inference began")
    }

    pub(crate) fn all_seen(&self) -> Vec<SeenInference> {
        self.observer.seen()
    }
}

pub(crate) fn small(tokens: u32) -> SessionOptions {
    SessionOptions::default().context(tokens).batch(64).threads(2)
}

/// What the observer was told at the end.
#[track_caller]
pub(crate) fn facts(seen: &SeenInference) -> Facts {
    match &seen.closing {
        Closing::Finished { facts, .. } => (**facts).clone(),
        other => panic!("it did not finish: {other:?}"),
    }
}

pub(crate) fn value<'a>(span: &'a SpanData, name: &str) -> Option<&'a Value> {
    let found: Vec<&KeyValue> = span.attributes.iter().filter(|pair| pair.key.as_str() == name).collect();
    assert!(found.len() <= 1, "{name} stands twice");
    found.first().map(|pair| &pair.value)
}

#[track_caller]
pub(crate) fn number(span: &SpanData, name: &str) -> i64 {
    match value(span, name) {
        Some(Value::I64(number)) => *number,
        other => panic!("{name} is {other:?}"),
    }
}

pub(crate) fn text(span: &SpanData, name: &str) -> Option<String> {
    value(span, name).map(|value| value.as_str().into_owned())
}
