//! What an inference costs its caller above the same span, attributes and histograms written by hand, and what a token
//! costs above a clock reading and an atomic addition.
//!
//! `cargo bench -p wattspan-genai` prints a table of medians, measured in pairs within one run so that noise of the
//! machine hits both sides, and then criterion's own figures. *Caller* is what the calling thread does until the
//! inference is handed on; *settle* is what another thread does later, the end of the span included, which the floor
//! pays on the calling thread.

// A benchmark reports to its reader.
#![allow(clippy::print_stdout, missing_docs)]

use std::cell::RefCell;
use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime};

use criterion::{Criterion, criterion_group};
use opentelemetry::global::BoxedTracer;
use opentelemetry::metrics::{Histogram, MeterProvider as _};
use opentelemetry::trace::{SpanKind, TraceContextExt as _, Tracer as _, TracerProvider as _};
use opentelemetry::{Array, Context, KeyValue, StringValue, Value};
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::metrics::{InMemoryMetricExporter, PeriodicReader, SdkMeterProvider};
use opentelemetry_sdk::trace::{SdkTracerProvider, Span, SpanData, SpanProcessor};
use wattspan_core::{
    Begin, Clock, Finish, InferenceObserver, Probe, Settle, SettleReason, Settlement, SystemClock, TokenUsage,
};
use wattspan_genai::{GenAi, Profile, Request};

/// Takes spans and drops them: what an exporter does is not measured.
#[derive(Debug)]
struct Sink;

impl SpanProcessor for Sink {
    fn on_start(&self, _: &mut Span, _: &Context) {}
    fn on_end(&self, span: SpanData) {
        black_box(&span);
    }
    fn force_flush(&self) -> OTelSdkResult {
        Ok(())
    }
    fn shutdown_with_timeout(&self, _: Duration) -> OTelSdkResult {
        Ok(())
    }
}

thread_local! {
    /// What this thread has still to settle, so that settling can be timed apart.
    static KEPT: RefCell<Vec<Box<dyn Settle>>> = const { RefCell::new(Vec::new()) };
}

/// Does nothing but keep what is to be settled, by thread: a lock of the benchmark's own would be measured too.
struct Deferring;

struct DeferringProbe(AtomicU64);

impl InferenceObserver for Deferring {
    fn begin(&self, begin: Begin) -> Box<dyn Probe> {
        black_box(&begin);
        Box::new(DeferringProbe(AtomicU64::new(0)))
    }
}

impl Probe for DeferringProbe {
    fn decoded(&self, steps: u64) {
        self.0.fetch_add(steps, Ordering::Relaxed);
    }
    fn prompted(&self, tokens: u64) {
        self.0.fetch_add(tokens, Ordering::Relaxed);
    }
    fn finish(self: Box<Self>, finish: Finish) {
        black_box(&finish.facts);
        KEPT.with_borrow_mut(|kept| kept.push(finish.settle));
    }
}

/// Settles what this thread has kept; nanoseconds of each.
fn settle_kept() -> f64 {
    let settlement = Settlement::unknown(SettleReason::NoSensor);
    KEPT.with_borrow_mut(|kept| {
        let count = kept.len() as f64;
        let began = Instant::now();
        for settle in kept.drain(..) {
            settle.settle(&settlement);
        }
        began.elapsed().as_nanos() as f64 / count
    })
}

struct Bench {
    tracers: SdkTracerProvider,
    meters: SdkMeterProvider,
}

impl Bench {
    fn new() -> Self {
        Self {
            tracers: SdkTracerProvider::builder().with_span_processor(Sink).build(),
            // Collected once an hour: aggregating is measured, exporting is not.
            meters: SdkMeterProvider::builder()
                .with_reader(
                    PeriodicReader::builder(InMemoryMetricExporter::default())
                        .with_interval(Duration::from_secs(3_600))
                        .build(),
                )
                .build(),
        }
    }

    fn genai(&self, observed: bool) -> GenAi {
        let builder = GenAi::builder("llama_cpp")
            .tracer(self.tracers.tracer("bench"))
            .meter(self.meters.meter("bench"))
            .profile(Profile::Core);
        if observed { builder.observer(Arc::new(Deferring)).build() } else { builder.build() }
    }

    fn floor(&self) -> Floor {
        let meter = self.meters.meter("floor");
        let seconds =
            || vec![0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92];
        Floor {
            tracer: BoxedTracer::new(Box::new(self.tracers.tracer("floor"))),
            model: "smollm2".into(),
            duration: meter.f64_histogram("duration").with_boundaries(seconds()).build(),
            first: meter.f64_histogram("first").with_boundaries(seconds()).build(),
            tokens: meter
                .u64_histogram("tokens")
                .with_boundaries((0..14).map(|power| 4_f64.powi(power)).collect())
                .build(),
        }
    }
}

/// The same by hand: one span with the same attributes, four points on three histograms.
struct Floor {
    tracer: BoxedTracer,
    model: Arc<str>,
    duration: Histogram<f64>,
    first: Histogram<f64>,
    tokens: Histogram<u64>,
}

impl Floor {
    fn inference(&self) {
        let (began, wall) = (Instant::now(), SystemTime::now());
        let builder = self
            .tracer
            .span_builder(format!("chat {}", self.model))
            .with_kind(SpanKind::Internal)
            .with_start_time(wall)
            .with_attributes(vec![
                KeyValue::new("gen_ai.operation.name", "chat"),
                KeyValue::new("gen_ai.provider.name", "llama_cpp"),
                KeyValue::new("gen_ai.request.model", Arc::clone(&self.model)),
                KeyValue::new("gen_ai.request.stream", true),
                KeyValue::new("gen_ai.request.temperature", 0.2),
                KeyValue::new("gen_ai.request.max_tokens", 64),
            ]);
        let context = Context::current_with_span(self.tracer.build(builder));
        let first = began.elapsed().as_secs_f64();
        let took = began.elapsed();
        let mut attributes = vec![
            KeyValue::new("gen_ai.operation.name", "chat"),
            KeyValue::new("gen_ai.provider.name", "llama_cpp"),
            KeyValue::new("gen_ai.request.model", Arc::clone(&self.model)),
            KeyValue::new("gen_ai.response.model", "smollm2-q4".to_owned()),
        ];
        self.duration.record(took.as_secs_f64(), &attributes);
        self.first.record(first, &attributes);
        attributes.push(KeyValue::new("gen_ai.token.type", "input"));
        self.tokens.record(12, &attributes);
        attributes.pop();
        attributes.push(KeyValue::new("gen_ai.token.type", "output"));
        self.tokens.record(3, &attributes);
        let span = context.span();
        span.set_attributes(vec![
            KeyValue::new("gen_ai.usage.input_tokens", 12),
            KeyValue::new("gen_ai.usage.output_tokens", 3),
            KeyValue::new(
                "gen_ai.response.finish_reasons",
                Value::Array(Array::String(vec![StringValue::from("stop".to_owned())])),
            ),
            KeyValue::new("gen_ai.response.id", "chatcmpl-1".to_owned()),
            KeyValue::new("gen_ai.response.model", "smollm2-q4".to_owned()),
            KeyValue::new("gen_ai.response.time_to_first_chunk", first),
            KeyValue::new("wattspan.settle.reason", "not_observed"),
        ]);
        span.end_with_timestamp(wall + took);
    }
}

fn inference(genai: &GenAi, model: &Arc<str>) {
    let request = Request::chat(Arc::clone(model)).temperature(0.2).max_tokens(64).streaming();
    let mut inference = genai.begin(request);
    inference.first_token();
    let mut usage = TokenUsage::default();
    usage.fresh = Some(12);
    usage.output = Some(3);
    inference.usage(usage);
    inference.finish_reason("stop");
    inference.response_id("chatcmpl-1");
    inference.response_model("smollm2-q4");
    inference.finish();
}

/// Nanoseconds, median of the rounds.
#[derive(Clone, Copy, Debug)]
struct Row {
    floor: f64,
    alone: f64,
    caller: f64,
    settle: f64,
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

/// Nanoseconds of one call, over a batch.
fn per_call(batch: u32, mut call: impl FnMut()) -> f64 {
    let began = Instant::now();
    for _ in 0..batch {
        call();
    }
    began.elapsed().as_nanos() as f64 / f64::from(batch)
}

/// One after another, in bursts; or one at a time with cold caches between.
fn alone(rounds: usize, batch: u32, cold: bool) -> Row {
    let bench = Bench::new();
    let (floor, unobserved, observed) = (bench.floor(), bench.genai(false), bench.genai(true));
    let model: Arc<str> = "smollm2".into();
    let mut trash = vec![0_u64; if cold { 1 << 20 } else { 0 }];
    let mut cool = || trash.iter_mut().for_each(|word| *word = word.wrapping_add(1));
    let mut all = [Vec::new(), Vec::new(), Vec::new(), Vec::new()];
    for _ in 0..rounds {
        cool();
        all[0].push(per_call(batch, || floor.inference()));
        cool();
        all[1].push(per_call(batch, || inference(&unobserved, &model)));
        cool();
        all[2].push(per_call(batch, || inference(&observed, &model)));
        cool();
        all[3].push(settle_kept());
    }
    let [floor, alone, caller, settle] = all.map(median);
    Row { floor, alone, caller, settle }
}

/// Several threads at once, each with bursts of its own.
fn contended(rounds: usize, batch: u32, threads: usize) -> Row {
    let bench = Bench::new();
    let (floor, unobserved, observed) = (bench.floor(), bench.genai(false), bench.genai(true));
    let model: Arc<str> = "smollm2".into();
    let thread = || {
        let mut all = [Vec::new(), Vec::new(), Vec::new(), Vec::new()];
        for _ in 0..rounds {
            all[0].push(per_call(batch, || floor.inference()));
            all[1].push(per_call(batch, || inference(&unobserved, &model)));
            all[2].push(per_call(batch, || inference(&observed, &model)));
            all[3].push(settle_kept());
        }
        all
    };
    let mut all = [Vec::new(), Vec::new(), Vec::new(), Vec::new()];
    std::thread::scope(|scope| {
        let started: Vec<_> = (0..threads).map(|_| scope.spawn(thread)).collect();
        for one in started.into_iter().filter_map(|thread| thread.join().ok()) {
            for (all, one) in all.iter_mut().zip(one) {
                all.extend(one);
            }
        }
    });
    let [floor, alone, caller, settle] = all.map(median);
    Row { floor, alone, caller, settle }
}

/// Nanoseconds of a token, and of a clock reading with an atomic addition.
fn tokens(rounds: usize, batch: u32) -> (f64, f64) {
    let bench = Bench::new();
    let genai = bench.genai(true);
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let count = AtomicU64::new(0);
    let (mut token, mut bare) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        let mut inference = genai.begin(Request::chat("smollm2").streaming());
        token.push(per_call(batch, || inference.token()));
        inference.finish();
        settle_kept();
        bare.push(per_call(batch, || {
            black_box(clock.mono());
            count.fetch_add(1, Ordering::Relaxed);
        }));
    }
    (median(token), median(bare))
}

fn table(quick: bool) {
    let rounds = if quick { 3 } else { 400 };
    let threads = std::thread::available_parallelism().map_or(2, usize::from).clamp(2, 8);
    let rows = [
        ("sparse (cold caches)".to_owned(), alone(rounds, 1, true)),
        ("bursty (64)".to_owned(), alone(rounds, 64, false)),
        (format!("contended ({threads} threads)"), contended(rounds / 4 + 1, 256, threads)),
    ];
    println!(
        "\none inference, ns (median)   floor   unobserved  (ratio, above)   caller  (ratio, above)   settle"
    );
    for (name, row) in rows {
        let above = |value: f64| format!("({:.2}x, {:+.0})", value / row.floor, value - row.floor);
        println!(
            "{name:<26} {:>7.0} {:>12.0}  {:<15} {:>7.0}  {:<15} {:>7.0}",
            row.floor,
            row.alone,
            above(row.alone),
            row.caller,
            above(row.caller),
            row.settle
        );
    }
    let (token, bare) = tokens(rounds, 1_024);
    println!(
        "one streamed token, ns       {token:.1}; clock reading and atomic addition {bare:.1}; above {:+.1}\n",
        token - bare
    );
}

fn criterion_figures(criterion: &mut Criterion) {
    let bench = Bench::new();
    let (floor, genai) = (bench.floor(), bench.genai(false));
    let model: Arc<str> = "smollm2".into();
    let mut group = criterion.benchmark_group("inference");
    group.bench_function("floor", |bencher| bencher.iter(|| floor.inference()));
    group.bench_function("wattspan", |bencher| bencher.iter(|| inference(&genai, &model)));
    group.finish();
}

criterion_group!(figures, criterion_figures);

fn main() {
    // `cargo bench` says so; `cargo test --benches` does not, and only wants to see that it works.
    table(!std::env::args().any(|argument| argument == "--bench"));
    figures();
    Criterion::default().configure_from_args().final_summary();
}
