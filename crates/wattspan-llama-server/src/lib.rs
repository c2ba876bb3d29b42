//! Instrumented client for llama-server and OpenAI-compatible servers.

mod client;
mod error;
mod sse;
mod wire;

pub use client::{ChatAnswer, ChatMessage, ChatRequest, LlamaServer};
pub use error::Error;
