//! What instrumentation costs a generation: tokens per second of an instrumented session over those of a bare loop that
//! makes the same calls to llama.cpp, taken in pairs in one run, since a machine's speed drifts.
//!
//! It works on one thread, so that on Linux the time on the CPU can be compared too: on a machine that has other work to
//! do, the time on the clock says little.
//!
//! `cargo run --release -p wattspan-llama-cpp --features llama-cpp --example overhead -- [PAIRS] [TOKENS] [MODEL.gguf]`
#![allow(clippy::print_stdout)]

use std::error::Error;
use std::num::NonZeroU32;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use opentelemetry::metrics::MeterProvider as _;
use opentelemetry::trace::TracerProvider as _;
use opentelemetry_sdk::metrics::{InMemoryMetricExporter, PeriodicReader, SdkMeterProvider};
use opentelemetry_sdk::trace::{InMemorySpanExporter, SdkTracerProvider};
use wattspan_genai::GenAi;
use wattspan_llama_cpp::llama_cpp_2::context::LlamaContext;
use wattspan_llama_cpp::llama_cpp_2::context::params::LlamaContextParams;
use wattspan_llama_cpp::llama_cpp_2::llama_batch::LlamaBatch;
use wattspan_llama_cpp::llama_cpp_2::sampling::LlamaSampler;
use wattspan_llama_cpp::{GenerateParams, Model, ModelOptions, Prompt, Session, SessionOptions};
use wattspan_testkit::{RecordingObserver, peers};

const PROMPT: &str = "The three primary colours are";

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let pairs: usize = arguments.next().map_or(Ok(20), |text| text.parse())?;
    let tokens: u32 = arguments.next().map_or(Ok(48), |text| text.parse())?;
    let path = arguments.next().map_or_else(peers::model, PathBuf::from);

    // Everything on: a recording span, metrics that are kept, an observer that takes every mark.
    let spans = InMemorySpanExporter::default();
    let tracers = SdkTracerProvider::builder().with_simple_exporter(spans.clone()).build();
    let reader = PeriodicReader::builder(InMemoryMetricExporter::default()).build();
    let meters = SdkMeterProvider::builder().with_reader(reader).build();
    let genai = GenAi::builder("llama_cpp")
        .tracer(tracers.tracer("overhead"))
        .meter(meters.meter("overhead"))
        .observer(Arc::new(RecordingObserver::default()))
        .build();
    let model = Model::load(&genai, path, &ModelOptions::default())?;
    let size = tokens + 64;
    let mut session = Session::new(&model, &SessionOptions::default().context(size).threads(1))?;
    let params = LlamaContextParams::default()
        .with_n_ctx(NonZeroU32::new(size))
        .with_n_threads(1)
        .with_n_threads_batch(1);
    let mut bare =
        Bare { context: model.new_context(params)?, batch: LlamaBatch::new(512, 1), model: &model };

    // Once each, so that neither pays for the first touch of memory.
    instrumented(&mut session, tokens)?;
    bare.run(tokens)?;
    let (mut clock, mut cpu) = (Vec::new(), Vec::new());
    for pair in 0..pairs {
        // In turns also who goes first.
        let (with, without) = if pair % 2 == 0 {
            let with = instrumented(&mut session, tokens)?;
            (with, bare.run(tokens)?)
        } else {
            let without = bare.run(tokens)?;
            (instrumented(&mut session, tokens)?, without)
        };
        // Less time is more tokens per second.
        clock.push(without.clock / with.clock);
        cpu.extend(without.cpu.zip(with.cpu).map(|(without, with)| without / with));
    }
    println!("instrumented/bare tokens per second, {pairs} pairs of {tokens} tokens");
    show("by the clock", clock);
    show("by time on the CPU", cpu);
    Ok(())
}

fn show(what: &str, mut ratios: Vec<f64>) {
    if ratios.is_empty() {
        println!("{what}: not known on this system");
        return;
    }
    ratios.sort_by(f64::total_cmp);
    let quantile = |part: f64| ratios[((ratios.len() - 1) as f64 * part).round() as usize];
    let [low, median, high] = [0.25, 0.5, 0.75].map(quantile);
    println!("{what}: median {median:.4}, quartiles {low:.4} to {high:.4}");
}

/// Seconds from the first token to the end.
struct Taken {
    clock: f64,
    cpu: Option<f64>,
}

#[derive(Clone, Copy)]
struct Start {
    clock: Instant,
    cpu: Option<f64>,
}

impl Start {
    fn now() -> Self {
        Self { clock: Instant::now(), cpu: on_cpu() }
    }

    fn taken(self) -> Taken {
        let cpu = on_cpu().zip(self.cpu).map(|(end, start)| end - start);
        Taken { clock: self.clock.elapsed().as_secs_f64(), cpu }
    }
}

/// Seconds that this thread has been on a CPU: Linux, proc(5), the first number of `schedstat`, in nanoseconds.
fn on_cpu() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    text.split(' ').next()?.parse::<f64>().ok().map(|nanoseconds| nanoseconds / 1e9)
}

/// With the end of the inference and of its span.
fn instrumented(session: &mut Session, tokens: u32) -> Result<Taken, Box<dyn Error>> {
    session.clear();
    let params = GenerateParams::greedy().max_tokens(tokens).ignore_end();
    let mut start = None;
    let mut shown = 0;
    session.generate(Prompt::text(PROMPT), &params, |piece| {
        start.get_or_insert_with(Start::now);
        shown += piece.text.len();
        ControlFlow::Continue(())
    })?;
    Ok(start.ok_or("no tokens")?.taken())
}

struct Bare<'m> {
    context: LlamaContext<'m>,
    batch: LlamaBatch<'static>,
    model: &'m Model,
}

impl Bare<'_> {
    fn run(&mut self, tokens: u32) -> Result<Taken, Box<dyn Error>> {
        let vocab = self.model.llama().vocab();
        self.context.clear_kv_cache();
        let prompt = vocab.tokenize(PROMPT.as_bytes(), true, true);
        self.batch.clear();
        self.batch.add_sequence(&prompt, 0, false)?;
        self.context.decode(&mut self.batch)?;
        self.context.synchronize();
        let mut sampler = LlamaSampler::chain_simple([LlamaSampler::greedy()]);
        let mut bytes = Vec::new();
        let mut token = sampler.sample(&self.context, self.batch.n_tokens() - 1);
        let start = Start::now();
        for drawn in 1..tokens {
            bytes.extend(vocab.token_to_piece(token, false, None));
            self.batch.clear();
            self.batch.add(token, (prompt.len() as u32 + drawn - 1) as i32, &[0], true)?;
            self.context.decode(&mut self.batch)?;
            self.context.synchronize();
            token = sampler.sample(&self.context, 0);
        }
        let taken = start.taken();
        assert!(!bytes.is_empty(), "there is text");
        Ok(taken)
    }
}
