//! Runs models with llama.cpp inside the program, each load, answer, embedding and batched sequence an instrumented
//! inference.
//!
//! Take it to run GGUF models in-process over [`llama-cpp-2`](https://docs.rs/llama-cpp-2). To call a llama-server take
//! `wattspan-llama-server`; to instrument another engine take `wattspan-genai`.
//!
//! Without features it only reads the head of GGUF files:
//!
//! ```
//! use wattspan_llama_cpp::{Gguf, GgufError};
//!
//! let error = Gguf::open("Cargo.toml".as_ref()).unwrap_err();
//! assert!(matches!(error, GgufError::NotGguf { .. }));
//! assert_eq!(error.to_string(), "not a GGUF file: it begins with `[pac`: give the path of a .gguf model");
//! ```
//!
//! With `llama-cpp` it runs them:
//!
#![cfg_attr(feature = "llama-cpp", doc = "```no_run")]
#![cfg_attr(not(feature = "llama-cpp"), doc = "```text")]
//! use std::ops::ControlFlow;
//!
//! use wattspan_genai::GenAi;
//! use wattspan_llama_cpp::{GenerateParams, Model, ModelOptions, Prompt, Session, SessionOptions};
//!
//! # fn main() -> Result<(), wattspan_llama_cpp::Error> {
//! let genai = GenAi::builder("llama_cpp").build();
//! let model = Model::load(&genai, "SmolLM2-135M-Instruct.Q4_1.gguf", &ModelOptions::default())?;
//! let mut session = Session::new(&model, &SessionOptions::default())?;
//! let params = GenerateParams::greedy().max_tokens(64).stop("\n\n");
//! let answer = session.generate(Prompt::user("Why is the sky blue?"), &params, |piece| {
//!     print!("{}", piece.text);
//!     ControlFlow::Continue(())
//! })?;
//! println!("{} tokens, {:?} tokens/s", answer.usage.output.unwrap_or(0), answer.token_rate());
//! # Ok(())
//! # }
//! ```
//!
//! # Telemetry
//! A load is a `load` operation; an answer `chat` or `text_completion`; [`Embedder`] makes `embeddings`; a loop of the
//! program's own goes through [`Sequences`]. Prompt and output tokens are marked as they are computed, after
//! `llama_synchronize`, so that the ledger can share energy by them. What a prompt shares with the one before it is
//! cache-read and costs nothing. A load's span has the model's facts as its file states them:
//! `wattspan.model.architecture`, `.name`, `.quantization`, `.size_label`, `.license`, `.parameters`, `.context_length`,
//! `.size` (bytes).
//!
//! llama.cpp's log goes to `tracing` with the target `llama-cpp-2`, beginning with the first load; at DEBUG a load has
//! more than 2,000 lines. The binding opens `tracing` spans of its own under the target `llama_cpp_2`.
//!
//! # Limits
//! Chat templates are those that llama.cpp knows by sight; it does not run Jinja here, so a system message that a
//! template would add of its own accord has to be given. One sequence per [`Session`]. A
//! computation under way is not interrupted. A model's file name has to be UTF-8. The binding's version is pinned, since
//! each follows another llama.cpp; it is re-exported as [`llama_cpp_2`] and its types appear in [`Model::llama`],
//! [`Model::new_context`] and [`Sequences::decode`].
//!
//! # Features
//! | feature | what it adds |
//! | --- | --- |
//! | `llama-cpp` | everything that runs models; builds llama.cpp, which needs cmake, a C++ compiler and libclang, and minutes |
//! | `cuda` | llama.cpp's CUDA back-end; needs the CUDA toolkit |
//! | `metal` | llama.cpp's Metal back-end, on macOS |
//! | `rocm` | llama.cpp's HIP back-end; needs ROCm |
//! | `vulkan` | llama.cpp's Vulkan back-end; needs the Vulkan SDK |
#![cfg_attr(
    not(feature = "llama-cpp"),
    allow(rustdoc::broken_intra_doc_links, reason = "the links lead to what the feature adds")
)]

#[cfg(feature = "llama-cpp")]
mod engine;
mod facts;
mod gguf;
#[cfg(any(feature = "llama-cpp", test))]
mod text;

#[cfg(feature = "llama-cpp")]
pub use engine::{
    Cancel, ChatMessage, Embedder, Embeddings, Error, FinishReason, GenerateParams, Generation, Model,
    ModelOptions, Piece, Pooling, Prompt, Sequences, Session, SessionOptions, Timings, Tokens, Work,
};
pub use facts::ModelFacts;
pub use gguf::{FileType, Gguf, GgufError, GgufValue};
#[cfg(feature = "llama-cpp")]
pub use llama_cpp_2;
