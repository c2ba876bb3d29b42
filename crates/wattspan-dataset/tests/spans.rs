//! Ended spans as the SDK hands them over.

mod common;

use std::sync::atomic::{AtomicU64, Ordering};

use common::run;
use opentelemetry::trace::{SpanId, SpanKind, Status, TraceContextExt, TraceId, Tracer, TracerProvider};
use opentelemetry::{Array, Context, KeyValue, StringValue, Value};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::{IdGenerator, SdkTracerProvider};
use wattspan_core::Cell;
use wattspan_dataset::SpanCollector;

/// Ids that begin with zeros, which SMOLTRACE's form of them loses.
#[derive(Debug, Default)]
struct SmallIds(AtomicU64);

impl IdGenerator for SmallIds {
    fn new_trace_id(&self) -> TraceId {
        TraceId::from(0x0af7_6519_16cd_43dd_8448_eb21_0000_0001_u128)
    }
    fn new_span_id(&self) -> SpanId {
        SpanId::from(0xab + self.0.fetch_add(1, Ordering::SeqCst))
    }
}

#[test]
fn spans_become_a_trace_with_right_ids_and_tokens_counted_once() {
    let collector = SpanCollector::new(&run("r"));
    let provider = SdkTracerProvider::builder()
        .with_id_generator(SmallIds::default())
        .with_resource(
            Resource::builder_empty().with_attribute(KeyValue::new("service.name", "demo")).build(),
        )
        .with_simple_exporter(collector.clone())
        .build();
    let tracer = provider.tracer("a-scope");
    let usage = |input: i64, output: i64| {
        [
            KeyValue::new("gen_ai.usage.input_tokens", input),
            KeyValue::new("gen_ai.usage.output_tokens", output),
        ]
    };
    let agent = tracer
        .span_builder("invoke_agent")
        .with_attributes(usage(30, 13).into_iter().chain([KeyValue::new("test.id", "weather_1")]))
        .start(&tracer);
    let context = Context::new().with_span(agent);
    for (input, output) in [(10, 5), (20, 8)] {
        let chat =
            tracer.span_builder("chat").with_kind(SpanKind::Client).with_attributes(usage(input, output));
        let chat = tracer.build_with_context(chat, &context);
        let within = context.with_span(chat);
        within.span().add_event("first", vec![KeyValue::new("n", 1)]);
        let reasons: Vec<StringValue> = vec!["stop".into()];
        within.span().set_attribute(KeyValue::new("reasons", Value::Array(Array::String(reasons))));
        within.span().set_status(Status::error("cut off"));
        within.span().end();
    }
    context.span().end();
    let trace = collector.take("0af7651916cd43dd8448eb2100000001").unwrap();
    assert_eq!(trace.root_span_id.as_deref(), Some("00000000000000ab"));
    assert_eq!((trace.total_prompt_tokens, trace.total_completion_tokens), (Some(30), Some(13)));
    assert_eq!(
        (trace.span_count, trace.spans.len(), trace.test_ids.as_slice()),
        (3, 3, &["weather_1".to_owned()][..])
    );
    let chat = trace.spans.iter().find(|span| span.name == "chat").unwrap();
    assert_eq!(chat.parent_span_id.as_deref(), Some("00000000000000ab"));
    assert_eq!((chat.kind.as_str(), chat.status.code.as_str()), ("CLIENT", "ERROR"));
    assert_eq!(chat.status.description.as_deref(), Some("cut off"));
    assert_eq!(chat.attributes.get("reasons"), Some(&Cell::List(vec![Cell::Text("stop".into())])));
    assert_eq!(
        (chat.events[0].name.as_str(), chat.events[0].attributes.get("n")),
        ("first", Some(&Cell::Int(1)))
    );
    assert_eq!(chat.resource.attributes.get("service.name"), Some(&Cell::Text("demo".into())));
    assert_eq!(chat.scope.as_deref(), Some("a-scope"));
    assert!(chat.end_time >= chat.start_time);
    assert!(collector.drain().is_empty());
    provider.shutdown().unwrap();
}

#[test]
fn spans_that_nobody_takes_are_bounded_and_counted() {
    let collector = SpanCollector::new(&run("r")).capacity(2);
    let provider = SdkTracerProvider::builder().with_simple_exporter(collector.clone()).build();
    let tracer = provider.tracer("t");
    (0..5).for_each(|_| drop(tracer.start("x")));
    assert_eq!((collector.drain().len(), collector.dropped()), (2, 3));
    drop(tracer.start("y"));
    assert_eq!(collector.drain()[0].spans[0].name, "y");
}
