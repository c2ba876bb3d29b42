//! What the end-to-end tests share: an OTLP receiver in this process and the real llama-server.

mod otlp;
mod server;

pub use otlp::{Receiver, attribute, double, text};
pub use server::LlamaServer;
