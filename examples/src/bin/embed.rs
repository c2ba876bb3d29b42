//! Embeds the facade in a program with an engine of its own: begin, mark tokens, finish.
//!
//! `cargo run -p wattspan-examples --bin embed`

// A program for the terminal: printing is its output.
#![allow(clippy::print_stdout)]

use std::sync::Arc;
use std::time::{Duration, Instant};

use wattspan::Wattspan;
use wattspan::core::{InferenceRecord, RecordSink, TokenUsage};
use wattspan::genai::Request;

/// Prints each inference once its energy is known.
struct Print;

impl RecordSink for Print {
    fn record(&self, record: &InferenceRecord) {
        match &record.settlement.energy {
            Some(energy) => {
                println!("{}: {} ({})", record.begin.operation, energy.total, energy.method.as_str());
            }
            None => {
                println!("{}: energy absent ({})", record.begin.operation, record.settlement.reason.as_str());
            }
        }
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let wattspan = Wattspan::from_env()?.service("embed", "1.0").record_sink(Arc::new(Print)).start()?;
    for finding in wattspan.capabilities() {
        println!("{finding}");
    }
    let genai = wattspan.genai("my-engine");
    let mut inference = genai.begin(Request::chat("my-model").temperature(0.7).max_tokens(8));
    for _token in 0..8 {
        work(Duration::from_millis(25));
        inference.token();
    }
    let mut usage = TokenUsage::default();
    usage.fresh = Some(12);
    usage.output = Some(8);
    inference.usage(usage);
    inference.finish_reason("length");
    inference.finish();
    // Dropping the last `Wattspan` settles and sends what is left; waiting for it is only for the sake of the output.
    wattspan.flush(Duration::from_secs(5));
    Ok(())
}

/// Stands for an engine that computes a token.
fn work(time: Duration) {
    let until = Instant::now() + time;
    while Instant::now() < until {
        std::hint::spin_loop();
    }
}
