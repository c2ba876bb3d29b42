//! Instrumented client, HTTP layer and gauge poller for llama-server and other servers with OpenAI's routes.
//!
//! For programs that talk to a model server over HTTP and want each call to be an OpenTelemetry GenAI span, with the
//! server's own token counts and timings, and measured energy where the server runs on this machine. Programs that run
//! llama.cpp inside themselves take `wattspan-llama-cpp`; programs in other languages go through `wattspan-proxy`.
//!
//! - [`LlamaServer`]: an async client with typed requests; [`blocking`]: the same without a runtime.
//! - [`middleware`]: instruments the HTTP client that an application has already.
//! - [`Watch`]: the same for a proxy, which passes on the bytes of others.
//! - [`MetricsPoller`]: the server's gauges, every few seconds.
//!
//! ```
//! use wattspan_genai::GenAi;
//! use wattspan_llama_server::{ChatRequest, LlamaServer};
//!
//! # fn main() -> Result<(), wattspan_llama_server::Error> {
//! let client = LlamaServer::builder("http://127.0.0.1:8080", GenAi::builder("llama_cpp").build())
//!     .deadline(std::time::Duration::from_secs(60))
//!     .build()?;
//! let request = ChatRequest::user("smollm2", "Say hello.").max_tokens(16).temperature(0.0);
//! let answer = async {
//!     let answer = client.chat_stream(&request, |text| print!("{text}")).await?;
//!     println!(" ({:?} tokens)", answer.tokens.output);
//!     Ok::<_, wattspan_llama_server::Error>(())
//! };
//! # drop(answer);
//! # Ok(())
//! # }
//! ```
//!
//! # Limits
//! The async client runs on tokio, as reqwest does. A chunk of a stream is taken for one token, which is what
//! llama-server sends; the counts at the end are the server's own. Of `n` choices llama-server counts the tokens of one
//! only, and so does the span. Prompts and answers never leave through this crate's own logs and errors, but a server
//! may quote a prompt in an error message.
//!
//! # Features
//! | feature | adds |
//! | --- | --- |
//! | `middleware` | the layer for `reqwest-middleware` |

mod answer;
pub mod blocking;
mod builder;
mod client;
mod content;
mod describe;
mod dialect;
mod encode;
mod error;
#[doc(hidden)]
pub mod fuzzing;
mod metrics;
#[cfg(feature = "middleware")]
pub mod middleware;
mod place;
mod plain;
mod poller;
mod request;
mod secret;
mod sse;
mod stream;
mod tally;
mod timings;
mod transport;
mod watch;
mod wire;

pub use answer::{ChatAnswer, Choice, Chunk, ChunkChoice, PromptProgress, ToolCall, ToolCallDelta};
pub use builder::LlamaServerBuilder;
pub use client::LlamaServer;
pub use encode::{Embeddings, EmbeddingsRequest, RankedDocument, RankedDocuments, RerankRequest};
pub use error::{Error, Retry, Wait};
pub use place::PidResolver;
pub use plain::{Health, Model, ModelMeta, Props, Slot, Token};
pub use poller::{MetricsPoller, MetricsPollerBuilder, Polling};
pub use request::{ChatMessage, ChatRequest, CompletionRequest, Sampling, Tool};
pub use secret::ApiKey;
pub use stream::ChatStream;
pub use timings::Timings;
pub use watch::{SeenCall, Watch};
