//! Wraps calls to a llama-server: each is a span with its tokens, joules, grams and dollars.
//!
//! `cargo run -p wattspan-examples --bin client -- http://127.0.0.1:8080 "Why is the sky blue?"`

// A program for the terminal: printing is its output.
#![allow(clippy::print_stdout)]

use std::io::Write as _;
use std::time::Duration;

use wattspan::Wattspan;
use wattspan::llama_server::ChatRequest;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let url = args.next().ok_or("usage: client URL [PROMPT]")?;
    let prompt = args.next().unwrap_or_else(|| "Say hello.".to_owned());

    let wattspan = Wattspan::from_env()?.service("client", "1.0").start()?;
    let client = wattspan.llama_server(&url).build()?;
    let answer = client
        .chat_stream(&ChatRequest::user("default", prompt).max_tokens(128), |text| {
            print!("{text}");
            // Text that cannot be shown is no reason to stop.
            let _ = std::io::stdout().flush();
        })
        .await?;
    println!("\n{:?} tokens in, {:?} out", answer.tokens.input(), answer.tokens.output);
    // Flushing blocks: it belongs on a thread that may.
    tokio::task::spawn_blocking(move || wattspan.flush(Duration::from_secs(5))).await?;
    Ok(())
}
