//! What needs llama.cpp.

mod backend;
mod cancel;
mod embed;
mod error;
mod generation;
mod log;
mod model;
mod params;
mod prompt;
mod sampler;
mod sequences;
mod session;
mod tokens;

pub use cancel::Cancel;
pub use embed::{Embedder, Embeddings, Pooling};
pub use error::Error;
pub use generation::{FinishReason, Generation, Piece, Timings};
pub use model::Model;
pub use params::{GenerateParams, ModelOptions, SessionOptions};
pub use prompt::{ChatMessage, Prompt};
pub use sequences::{Sequences, Work};
pub use session::Session;
pub use tokens::Tokens;
