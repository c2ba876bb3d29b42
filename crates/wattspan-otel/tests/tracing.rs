//! The tracing layer: one trace, numbers that stay numbers, and nothing about itself.
#![cfg(feature = "tracing")]

use std::error::Error;
use std::fmt;

use opentelemetry::propagation::TextMapPropagator as _;
use opentelemetry::trace::{SpanId, TraceContextExt as _, Tracer as _, TracerProvider as _};
use opentelemetry::{Array, Context, Value};
use opentelemetry_sdk::trace::{InMemorySpanExporter, SpanData};
use tracing_opentelemetry::OpenTelemetrySpanExt as _;
use tracing_subscriber::layer::SubscriberExt as _;
use wattspan_otel::{Telemetry, tracing_layer};

/// Runs with the layer installed and answers with the spans, in the order of their ends.
fn spans(work: impl FnOnce(&Telemetry)) -> Vec<SpanData> {
    let memory = InMemorySpanExporter::default();
    let telemetry = Telemetry::builder("app").span_exporter(memory.clone()).build().unwrap();
    let layer = tracing_layer(telemetry.tracer_provider().tracer("tracing"));
    let subscriber = tracing_subscriber::registry()
        .with(layer)
        .with(tracing_subscriber::fmt::layer().with_writer(std::io::sink));
    tracing::subscriber::with_default(subscriber, || work(&telemetry));
    assert!(telemetry.flush());
    memory.get_finished_spans().unwrap()
}

fn get<'a>(spans: &'a [SpanData], name: &str) -> &'a SpanData {
    spans.iter().find(|span| span.name == name).unwrap_or_else(|| panic!("no span {name}"))
}

fn values(span: &SpanData, key: &str) -> Vec<Value> {
    let found = span.attributes.iter().filter(|pair| pair.key.as_str() == key);
    found.map(|pair| pair.value.clone()).collect()
}

#[test]
fn case_semconv_05_unsigned_numbers_stay_numbers() {
    let spans = spans(|_| {
        let span = tracing::info_span!(
            "work",
            input_tokens = 1234_u64,
            output = 56_usize,
            big = u64::MAX,
            huge = u128::MAX,
            fits = 7_i128,
            name = "x",
            ratio = 0.5,
            flag = true,
            debug = ?[1, 2],
            later = tracing::field::Empty,
        );
        let entered = span.enter();
        span.record("later", 9_u32);
        tracing::info!(count = 3_u64, "happened");
        drop(entered);
    });
    let span = get(&spans, "work");
    for (key, expected) in [
        ("input_tokens", Value::I64(1234)),
        ("output", Value::I64(56)),
        ("big", Value::from("18446744073709551615")),
        ("huge", Value::from(u128::MAX.to_string())),
        ("fits", Value::I64(7)),
        ("name", Value::from("x")),
        ("ratio", Value::F64(0.5)),
        ("flag", Value::Bool(true)),
        ("debug", Value::from("[1, 2]")),
        ("later", Value::I64(9)),
    ] {
        assert_eq!(values(span, key), [expected], "{key}");
    }
    let event = span.events.iter().next().expect("the event");
    assert_eq!(event.name, "happened");
    let count = event.attributes.iter().find(|pair| pair.key.as_str() == "count").unwrap();
    assert_eq!(count.value, Value::I64(3));
}

#[test]
fn spans_of_both_kinds_are_parents_of_each_other() {
    let spans = spans(|telemetry| {
        let ours = telemetry.tracer_provider().tracer("ours");
        tracing::info_span!("outer").in_scope(|| {
            ours.in_span("chat", |_| {
                tracing::info_span!("inner").in_scope(|| drop(ours.start("tool")));
                let explicit = tracing::info_span!("explicit", tokens = 1_u64);
                tracing::info_span!(parent: &explicit, "child", tokens = 2_u64).in_scope(|| ());
                tracing::info_span!(parent: None, "root", tokens = 3_u64).in_scope(|| ());
            });
        });
    });
    let id = |name: &str| get(&spans, name).span_context.span_id();
    let parent = |name: &str| get(&spans, name).parent_span_id;
    assert_eq!(parent("outer"), SpanId::INVALID);
    assert_eq!(parent("chat"), id("outer"));
    assert_eq!(parent("inner"), id("chat"));
    assert_eq!(parent("tool"), id("inner"));
    assert_eq!(parent("child"), id("explicit"));
    assert_eq!(parent("root"), SpanId::INVALID);
    let trace = get(&spans, "outer").span_context.trace_id();
    for name in ["chat", "inner", "tool", "child"] {
        assert_eq!(get(&spans, name).span_context.trace_id(), trace, "{name}");
    }
}

#[test]
fn a_context_from_the_network_can_be_the_parent() {
    let spans = spans(|telemetry| {
        let carrier = std::collections::HashMap::from([(
            "traceparent".to_owned(),
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01".to_owned(),
        )]);
        let context = telemetry.propagator().extract_with_context(&Context::new(), &carrier);
        let span = tracing::info_span!("request", tokens = 1_u64);
        span.set_parent(context).unwrap();
        span.in_scope(|| {
            assert!(Context::current().span().span_context().is_valid());
        });
    });
    let span = get(&spans, "request");
    // The example of the W3C recommendation "Trace Context", section 3.2.
    assert_eq!(span.span_context.trace_id().to_string(), "0af7651916cd43dd8448eb211c80319c");
    assert_eq!(span.parent_span_id.to_string(), "b7ad6b7169203331");
}

#[derive(Debug)]
struct Failed(Option<Box<Failed>>);

impl fmt::Display for Failed {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(if self.0.is_some() { "outside" } else { "inside" })
    }
}

impl Error for Failed {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.0.as_deref().map(|source| source as &(dyn Error + 'static))
    }
}

#[test]
fn errors_keep_their_causes_beside_unsigned_numbers() {
    let spans = spans(|_| {
        let _entered = tracing::info_span!("work").entered();
        let failed = Failed(Some(Box::new(Failed(None))));
        tracing::error!(error = &failed as &(dyn Error + 'static), attempts = 2_u64, "gave up");
    });
    let event = get(&spans, "work").events.iter().next().unwrap().clone();
    let chain = event.attributes.iter().find(|pair| pair.key.as_str() == "error.chain").unwrap();
    assert_eq!(chain.value, Value::Array(Array::String(vec!["inside".into()])));
}

#[test]
fn what_is_said_about_telemetry_is_not_exported() {
    let spans = spans(|_| {
        for _ in 0..2 {
            let _own = tracing::info_span!(target: "wattspan_otel::http", "own").entered();
            let _upstream = tracing::info_span!(target: "opentelemetry_sdk", "upstream").entered();
        }
        let _work = tracing::info_span!("work").entered();
        tracing::warn!(target: "wattspan_otel", "telemetry is dropped");
    });
    assert_eq!(spans.len(), 1);
    assert_eq!(spans[0].name, "work");
    assert_eq!(spans[0].events.len(), 0);
}
