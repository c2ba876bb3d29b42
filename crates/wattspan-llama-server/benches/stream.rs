//! What instrumentation adds to a streamed token: a recorded stream, parsed bare and parsed with marks on an inference.
//!
//! The difference of the two, divided by the number of chunks that is printed, is the cost of a token.

use std::hint::black_box;
use std::sync::Arc;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use opentelemetry::trace::TracerProvider as _;
use opentelemetry_sdk::trace::SdkTracerProvider;
use wattspan_genai::{GenAi, Request};
use wattspan_llama_server::fuzzing::chunks;
use wattspan_testkit::NoOp;

fn streams(bench: &mut Criterion) {
    let stream = include_bytes!("../tests/recordings/78-tool-call-stream.sse");
    let provider = SdkTracerProvider::builder().build();
    let genai = GenAi::builder("llama_cpp").tracer(provider.tracer("bench")).observer(Arc::new(NoOp)).build();
    // The observer keeps nothing: a recorder of every mark would be what is measured.
    // One inference for all rounds: its begin and end are not the token's cost.
    let mut inference = genai.begin(Request::chat("m").streaming());

    let count = chunks(stream, None, |_| {}).unwrap_or_default();
    let mut group = bench.benchmark_group("stream");
    group.throughput(Throughput::Elements(count));
    group.bench_function("bare", |bench| {
        bench.iter(|| chunks(black_box(stream), None, |chunk| drop(black_box(chunk))));
    });
    group.bench_function("instrumented", |bench| {
        bench.iter(|| chunks(black_box(stream), Some(&mut inference), |chunk| drop(black_box(chunk))));
    });
    group.finish();
}

criterion_group!(benches, streams);
criterion_main!(benches);
