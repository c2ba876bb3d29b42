//! The same client for programs without a runtime.
//!
//! Calls run on the caller's thread. One background thread looks after the connections, so that a dropped stream closes
//! its connection at once and not at the next call.

use std::fmt;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use futures_core::Stream as _;
use tokio::runtime::{Handle, Runtime};
use wattspan_core::TokenUsage;
use wattspan_genai::GenAi;

use crate::answer::{ChatAnswer, Chunk};
use crate::encode::{Embeddings, EmbeddingsRequest, RankedDocuments, RerankRequest};
use crate::error::Error;
use crate::plain::{Health, Model, Props, Slot, Token};
use crate::request::{ChatMessage, ChatRequest, CompletionRequest};
use crate::timings::Timings;

/// A client whose calls wait for their answer. See [`crate::LlamaServer`].
///
/// Must not be called from inside an async runtime: there its calls fail with [`Error::Setup`], since they would block it.
#[derive(Clone)]
pub struct LlamaServer {
    client: crate::LlamaServer,
    runtime: Arc<Background>,
}

/// A streamed answer as an iterator. Dropping it before its end cancels the request.
#[must_use = "a stream does nothing until it is read, and dropping it cancels the request"]
pub struct ChatStream {
    stream: crate::ChatStream,
    runtime: Arc<Background>,
}

/// A runtime that may be dropped anywhere, also inside another runtime.
struct Background(Option<Runtime>);

impl Background {
    fn run<T>(&self, future: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
        let setup = |message: &str| Error::Setup {
            base: "the blocking client".to_owned(),
            message: message.to_owned(),
        };
        if Handle::try_current().is_ok() {
            return Err(setup("called inside an async runtime: use the async client there"));
        }
        match &self.0 {
            Some(runtime) => runtime.block_on(future),
            None => Err(setup("its runtime is gone")),
        }
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}

impl LlamaServer {
    /// A client of the server at a base URL, with the usual settings.
    ///
    /// # Errors
    /// When the URL has no host, or TLS or the background thread cannot be set up.
    pub fn new(base: &str, genai: GenAi) -> Result<Self, Error> {
        Self::from_client(crate::LlamaServer::new(base, genai)?)
    }

    /// A client with the settings of an async one.
    ///
    /// # Errors
    /// When the background thread cannot be started.
    pub fn from_client(client: crate::LlamaServer) -> Result<Self, Error> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("wattspan-llama-server")
            .enable_all()
            .build()
            .map_err(|error| Error::Setup {
                base: client.transport.endpoint(""),
                message: format!("no thread for connections: {error}"),
            })?;
        Ok(Self { client, runtime: Arc::new(Background(Some(runtime))) })
    }

    /// Answers a chat, whole.
    ///
    /// # Errors
    /// As [`crate::LlamaServer::chat`].
    pub fn chat(&self, request: &ChatRequest) -> Result<ChatAnswer, Error> {
        self.runtime.run(self.client.chat(request))
    }

    /// Answers a chat in pieces.
    ///
    /// # Errors
    /// As [`crate::LlamaServer::chat_chunks`].
    pub fn chat_chunks(&self, request: &ChatRequest) -> Result<ChatStream, Error> {
        self.stream(self.client.chat_chunks(request))
    }

    /// Answers a chat in pieces and gives the whole at the end.
    ///
    /// # Errors
    /// As [`crate::LlamaServer::chat_stream`].
    pub fn chat_stream(&self, request: &ChatRequest, on_text: impl FnMut(&str)) -> Result<ChatAnswer, Error> {
        self.runtime.run(self.client.chat_stream(request, on_text))
    }

    /// Goes on from a text, over OpenAI's route.
    ///
    /// # Errors
    /// As [`crate::LlamaServer::complete`].
    pub fn complete(&self, request: &CompletionRequest) -> Result<ChatAnswer, Error> {
        self.runtime.run(self.client.complete(request))
    }

    /// Goes on from a text in pieces, over OpenAI's route.
    ///
    /// # Errors
    /// As [`crate::LlamaServer::complete_chunks`].
    pub fn complete_chunks(&self, request: &CompletionRequest) -> Result<ChatStream, Error> {
        self.stream(self.client.complete_chunks(request))
    }

    /// Goes on from a text, over llama-server's own route.
    ///
    /// # Errors
    /// As [`crate::LlamaServer::complete_native`].
    pub fn complete_native(&self, request: &CompletionRequest) -> Result<ChatAnswer, Error> {
        self.runtime.run(self.client.complete_native(request))
    }

    /// Goes on from a text in pieces, over llama-server's own route.
    ///
    /// # Errors
    /// As [`crate::LlamaServer::complete_native_chunks`].
    pub fn complete_native_chunks(&self, request: &CompletionRequest) -> Result<ChatStream, Error> {
        self.stream(self.client.complete_native_chunks(request))
    }

    /// Turns texts into vectors.
    ///
    /// # Errors
    /// As [`crate::LlamaServer::embeddings`].
    pub fn embeddings(&self, request: &EmbeddingsRequest) -> Result<Embeddings, Error> {
        self.runtime.run(self.client.embeddings(request))
    }

    /// Orders documents by how well they answer a query.
    ///
    /// # Errors
    /// As [`crate::LlamaServer::rerank`].
    pub fn rerank(&self, request: &RerankRequest) -> Result<RankedDocuments, Error> {
        self.runtime.run(self.client.rerank(request))
    }

    /// Asks how the server is.
    ///
    /// # Errors
    /// As [`crate::LlamaServer::health`].
    pub fn health(&self) -> Result<Health, Error> {
        self.runtime.run(self.client.health())
    }

    /// Waits until the server has loaded its model.
    ///
    /// # Errors
    /// As [`crate::LlamaServer::wait_until_ready`].
    pub fn wait_until_ready(&self, within: Duration) -> Result<(), Error> {
        self.runtime.run(self.client.wait_until_ready(within))
    }

    /// The server's slots.
    ///
    /// # Errors
    /// As [`crate::LlamaServer::slots`].
    pub fn slots(&self) -> Result<Vec<Slot>, Error> {
        self.runtime.run(self.client.slots())
    }

    /// What the server says of itself.
    ///
    /// # Errors
    /// As [`crate::LlamaServer::props`].
    pub fn props(&self) -> Result<Props, Error> {
        self.runtime.run(self.client.props())
    }

    /// The models that the server offers.
    ///
    /// # Errors
    /// As [`crate::LlamaServer::models`].
    pub fn models(&self) -> Result<Vec<Model>, Error> {
        self.runtime.run(self.client.models())
    }

    /// Cuts a text into tokens.
    ///
    /// # Errors
    /// As [`crate::LlamaServer::tokenize`].
    pub fn tokenize(&self, text: &str) -> Result<Vec<Token>, Error> {
        self.runtime.run(self.client.tokenize(text))
    }

    /// Puts tokens together to a text.
    ///
    /// # Errors
    /// As [`crate::LlamaServer::detokenize`].
    pub fn detokenize(&self, tokens: &[i64]) -> Result<String, Error> {
        self.runtime.run(self.client.detokenize(tokens))
    }

    /// The prompt that the model's chat template makes of a conversation.
    ///
    /// # Errors
    /// As [`crate::LlamaServer::apply_template`].
    pub fn apply_template(&self, messages: &[ChatMessage]) -> Result<String, Error> {
        self.runtime.run(self.client.apply_template(messages))
    }

    fn stream(
        &self,
        opened: impl Future<Output = Result<crate::ChatStream, Error>>,
    ) -> Result<ChatStream, Error> {
        let stream = self.runtime.run(opened)?;
        Ok(ChatStream { stream, runtime: Arc::clone(&self.runtime) })
    }
}

impl ChatStream {
    /// Tokens as far as the server has reported them; complete after the last chunk.
    pub fn tokens(&self) -> TokenUsage {
        self.stream.tokens()
    }

    /// llama.cpp's own account, after the last chunk.
    pub fn timings(&self) -> Option<Timings> {
        self.stream.timings()
    }
}

impl Iterator for ChatStream {
    type Item = Result<Chunk, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        let stream = &mut self.stream;
        let next = poll_fn(|task| Pin::new(&mut *stream).poll_next(task));
        self.runtime.run(async { Ok(next.await) }).unwrap_or_else(|error| Some(Err(error)))
    }
}

impl fmt::Debug for LlamaServer {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("LlamaServer").finish_non_exhaustive()
    }
}

impl fmt::Debug for ChatStream {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_tuple("ChatStream").field(&self.stream).finish()
    }
}
