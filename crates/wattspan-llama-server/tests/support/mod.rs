//! What the tests share: an instrumentation whose spans and marks are kept, and the recorded exchanges.
#![allow(dead_code)] // Each test program uses a part of it.
#![allow(unreachable_pub)] // It is compiled into each of them.

use std::path::Path;

use opentelemetry::trace::TracerProvider as _;
use opentelemetry::{Array, Value};
use opentelemetry_sdk::trace::{InMemorySpanExporter, SdkTracerProvider, SpanData};
use wattspan_core::{Facts, LatePhases};
use wattspan_genai::{ContentPolicy, GenAi};
use wattspan_llama_server::{LlamaServer, LlamaServerBuilder};
use wattspan_testkit::{Answer, Closing, RecordingObserver, SeenInference};

/// An instrumentation that keeps everything.
pub struct Rig {
    pub genai: GenAi,
    pub observer: RecordingObserver,
    exporter: InMemorySpanExporter,
    provider: SdkTracerProvider,
}

impl Rig {
    pub fn new() -> Self {
        Self::with(|builder| builder)
    }

    /// One that records prompts and answers.
    pub fn with_content() -> Self {
        Self::with(|builder| builder.content(ContentPolicy::on()))
    }

    fn with(more: impl FnOnce(wattspan_genai::GenAiBuilder) -> wattspan_genai::GenAiBuilder) -> Self {
        let exporter = InMemorySpanExporter::default();
        let provider = SdkTracerProvider::builder().with_simple_exporter(exporter.clone()).build();
        let observer = RecordingObserver::default();
        let builder = GenAi::builder("llama_cpp")
            .tracer(provider.tracer("test"))
            .observer(std::sync::Arc::new(observer.clone()));
        Self { genai: more(builder).build(), observer, exporter, provider }
    }

    pub fn builder(&self, base: &str) -> LlamaServerBuilder {
        LlamaServer::builder(base, self.genai.clone()).retries(0)
    }

    pub fn client(&self, base: &str) -> LlamaServer {
        self.builder(base).build().unwrap()
    }

    /// All spans that have ended.
    pub fn spans(&self) -> Vec<SpanData> {
        self.provider.force_flush().unwrap();
        self.exporter.get_finished_spans().unwrap()
    }

    /// The one span that has ended.
    #[track_caller]
    pub fn span(&self) -> SpanData {
        let mut spans = self.spans();
        assert_eq!(spans.len(), 1, "one call is one span: {spans:?}");
        spans.remove(0)
    }

    /// The one inference that was seen.
    #[track_caller]
    pub fn seen(&self) -> SeenInference {
        let mut seen = self.observer.seen();
        assert_eq!(seen.len(), 1);
        seen.remove(0)
    }

    /// What the one inference ended with.
    #[track_caller]
    pub fn finished(&self) -> (Facts, LatePhases) {
        match self.seen().closing {
            Closing::Finished { facts, phases, .. } => (*facts, phases),
            other => panic!("the inference has not ended: {other:?}"),
        }
    }
}

/// The value of a span's attribute; fails when the key stands there twice.
#[track_caller]
pub fn attribute(span: &SpanData, key: &str) -> Option<Value> {
    let mut found = span.attributes.iter().filter(|attribute| attribute.key.as_str() == key);
    let value = found.next().map(|attribute| attribute.value.clone());
    assert!(found.next().is_none(), "{key} stands twice");
    value
}

#[track_caller]
pub fn text(span: &SpanData, key: &str) -> Option<String> {
    attribute(span, key).map(|value| value.as_str().into_owned())
}

#[track_caller]
pub fn int(span: &SpanData, key: &str) -> Option<i64> {
    attribute(span, key).map(|value| match value {
        Value::I64(value) => value,
        other => panic!("{key} is {other:?}"),
    })
}

#[track_caller]
pub fn texts(span: &SpanData, key: &str) -> Vec<String> {
    match attribute(span, key) {
        Some(Value::Array(Array::String(texts))) => texts.iter().map(ToString::to_string).collect(),
        None => Vec::new(),
        other => panic!("{key} is {other:?}"),
    }
}

/// A recorded response.
pub struct Recorded {
    pub status: u16,
    pub content_type: String,
    pub body: String,
}

/// The response of a recorded exchange.
#[track_caller]
pub fn recorded(name: &str) -> Recorded {
    let text = file(&format!("{name}.http"));
    let (_, response) = text.split_once("<<< RESPONSE\n").expect("a response");
    let (head, body) = response.split_once("\r\n\r\n").expect("a head");
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status");
    let content_type = head.lines().find_map(|line| line.strip_prefix("Content-Type: ")).unwrap_or_default();
    assert!(!head.contains("chunked"), "{name} is a stream: take its .sse");
    Recorded { status, content_type: content_type.to_owned(), body: body.trim_end().to_owned() }
}

/// The body of a recorded stream.
#[track_caller]
pub fn stream(name: &str) -> String {
    file(&format!("{name}.sse"))
}

#[track_caller]
fn file(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/recordings").join(name);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// A recorded response, as a stub gives it.
#[track_caller]
pub fn answer(name: &str) -> Answer {
    let recorded = recorded(name);
    Answer::status(recorded.status).header("content-type", &recorded.content_type).body(recorded.body)
}

/// A stream, cut into pieces of so many bytes, which end in the middle of lines and characters.
pub fn pieces(body: &str, size: usize) -> Answer {
    let empty = Answer::status(200).header("content-type", "text/event-stream");
    body.as_bytes().chunks(size).fold(empty, Answer::chunk)
}
