//! A program with a decode loop of its own: two sequences in one batch share its energy by their tokens.
//!
//! `cargo run -p wattspan-examples --features llama-cpp --bin decode_loop -- MODEL.gguf`

// A program for the terminal: printing is its output.
#![allow(clippy::print_stdout)]

use std::sync::Arc;
use std::time::Duration;

use wattspan::Wattspan;
use wattspan::core::{InferenceRecord, RecordSink};
use wattspan::genai::Request;
use wattspan::llama_cpp::llama_cpp_2::context::params::LlamaContextParams;
use wattspan::llama_cpp::llama_cpp_2::llama_batch::LlamaBatch;
use wattspan::llama_cpp::llama_cpp_2::sampling::LlamaSampler;
use wattspan::llama_cpp::{Model, ModelOptions, Sequences, Work};

/// Prints each inference once its energy is known.
struct Print;

impl RecordSink for Print {
    fn record(&self, record: &InferenceRecord) {
        let tokens = &record.facts.tokens;
        let energy = record.settlement.energy.as_ref().map(|energy| energy.total.to_string());
        println!(
            "{}: {:?} tokens in, {:?} out, {}",
            record.begin.operation,
            tokens.input().unwrap_or(0),
            tokens.output.unwrap_or(0),
            energy.unwrap_or_else(|| "energy absent".to_owned())
        );
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args().nth(1).ok_or("usage: decode_loop MODEL.gguf")?;
    let wattspan =
        Wattspan::from_env()?.service("decode-loop", "1.0").record_sink(Arc::new(Print)).start()?;
    let genai = wattspan.genai("llama_cpp");
    let model = Model::load(&genai, path, &ModelOptions::default())?;
    let vocab = model.llama().vocab();
    let mut context = model.new_context(LlamaContextParams::default().with_n_seq_max(2))?;
    let mut batch = LlamaBatch::new(512, 2);
    let mut sequences = Sequences::new(&genai);

    // Both prompts go into one batch, of which only the last token of each needs an answer.
    let prompts = ["Once upon a time", "The three laws of thermodynamics say that"];
    let mut work = Vec::new();
    let mut positions = Vec::new();
    let mut places = Vec::new();
    for (sequence, prompt) in prompts.iter().enumerate() {
        let sequence = sequence as i32;
        let tokens = vocab.tokenize(prompt.as_bytes(), true, false);
        sequences.begin(sequence, Request::completion(model.name()));
        for (position, token) in tokens.iter().enumerate() {
            batch.add(*token, position as i32, &[sequence], position + 1 == tokens.len())?;
        }
        places.push(batch.n_tokens() - 1);
        positions.push(tokens.len() as i32);
        work.push(Work::prompt(sequence, tokens.len() as u64));
    }
    sequences.decode(&mut context, &mut batch, &work)?;

    let mut samplers = [LlamaSampler::greedy(), LlamaSampler::greedy()];
    let mut text = [String::new(), String::new()];
    for _step in 0..16 {
        let drawn: Vec<_> = (0..2).map(|at| samplers[at].sample(&context, places[at])).collect();
        batch.clear();
        work.clear();
        for (at, token) in drawn.into_iter().enumerate() {
            let sequence = at as i32;
            sequences.drawn(sequence)?;
            text[at] += &String::from_utf8_lossy(&vocab.token_to_piece(token, false, None));
            batch.add(token, positions[at], &[sequence], true)?;
            places[at] = batch.n_tokens() - 1;
            positions[at] += 1;
            work.push(Work::token(sequence));
        }
        sequences.decode(&mut context, &mut batch, &work)?;
    }
    for (sequence, (prompt, text)) in prompts.iter().zip(&text).enumerate() {
        println!("{prompt}{text} …");
        sequences.finish(sequence as i32, "length")?;
    }
    wattspan.flush(Duration::from_secs(5));
    Ok(())
}
