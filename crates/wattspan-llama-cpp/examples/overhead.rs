//! What instrumentation costs a generation: tokens per second of an instrumented session over those of a bare loop that
//! makes the same calls to llama.cpp, taken in pairs in one run, since a machine's speed drifts.
//!
//! `cargo run --release -p wattspan-llama-cpp --features llama-cpp --example overhead -- MODEL.gguf [PAIRS] [TOKENS]`
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
    let path = arguments.next().map_or_else(peers::model, PathBuf::from);
    let pairs: usize = arguments.next().map_or(Ok(12), |text| text.parse())?;
    let tokens: u32 = arguments.next().map_or(Ok(96), |text| text.parse())?;

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
    let threads = std::thread::available_parallelism()?.get() as u32;
    let size = tokens + 64;
    let mut session = Session::new(&model, &SessionOptions::default().context(size).threads(threads))?;
    let params = LlamaContextParams::default()
        .with_n_ctx(NonZeroU32::new(size))
        .with_n_threads(threads as i32)
        .with_n_threads_batch(threads as i32);
    let mut bare =
        Bare { context: model.new_context(params)?, batch: LlamaBatch::new(512, 1), model: &model };

    // Once each, so that neither pays for the first touch of memory.
    instrumented(&mut session, tokens)?;
    bare.run(tokens)?;
    let mut ratios = Vec::new();
    for pair in 0..pairs {
        // In turns also who goes first.
        let (with, without) = if pair % 2 == 0 {
            let with = instrumented(&mut session, tokens)?;
            (with, bare.run(tokens)?)
        } else {
            let without = bare.run(tokens)?;
            (instrumented(&mut session, tokens)?, without)
        };
        println!(
            "pair {pair}: instrumented {with:.2} tokens/s, bare {without:.2}, ratio {:.4}",
            with / without
        );
        ratios.push(with / without);
    }
    ratios.sort_by(f64::total_cmp);
    let quantile = |part: f64| ratios[((ratios.len() - 1) as f64 * part).round() as usize];
    println!(
        "instrumented/bare tokens/s over {pairs} pairs of {tokens} tokens: median {:.4}, quartiles {:.4} to {:.4}",
        quantile(0.5),
        quantile(0.25),
        quantile(0.75)
    );
    Ok(())
}

/// Tokens per second from the first token to the last.
fn instrumented(session: &mut Session, tokens: u32) -> Result<f64, Box<dyn Error>> {
    session.clear();
    let params = GenerateParams::greedy().max_tokens(tokens).ignore_end();
    let mut shown = 0;
    let answer = session.generate(Prompt::text(PROMPT), &params, |piece| {
        shown += piece.text.len();
        ControlFlow::Continue(())
    })?;
    answer.token_rate().ok_or_else(|| "no tokens".into())
}

struct Bare<'m> {
    context: LlamaContext<'m>,
    batch: LlamaBatch<'static>,
    model: &'m Model,
}

impl Bare<'_> {
    fn run(&mut self, tokens: u32) -> Result<f64, Box<dyn Error>> {
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
        let first = Instant::now();
        for drawn in 1..tokens {
            bytes.extend(vocab.token_to_piece(token, false, None));
            self.batch.clear();
            self.batch.add(token, (prompt.len() as u32 + drawn - 1) as i32, &[0], true)?;
            self.context.decode(&mut self.batch)?;
            self.context.synchronize();
            token = sampler.sample(&self.context, 0);
        }
        let seconds = first.elapsed().as_secs_f64();
        assert!(!bytes.is_empty(), "there is text");
        Ok(f64::from(tokens - 1) / seconds)
    }
}
