//! The instrumented client: generation, embeddings and rerank.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_core::Stream as _;
use reqwest::Method;
use reqwest::header::HeaderMap;
use serde_json::{Value, json};
use wattspan_genai::Operation;
use wattspan_genai::{GenAi, Inference};

use crate::answer::ChatAnswer;
use crate::builder::LlamaServerBuilder;
use crate::content::record_input;
use crate::describe::describe;
use crate::encode::{
    Embeddings, EmbeddingsRequest, RankedDocuments, RerankRequest, WireEmbeddings, WireRanking,
};
use crate::error::Error;
use crate::request::{ChatRequest, CompletionRequest};
use crate::stream::ChatStream;
use crate::tally::Tally;
use crate::transport::{Bound, Transport, malformed};
use crate::wire::WireAnswer;

/// A client of one llama-server, or of another server with OpenAI's routes. Each generation, embedding and rerank is an
/// instrumented inference. Cheap to clone.
///
/// Dropping a call's future or its stream closes the connection: llama-server stops and frees the slot, and the
/// inference ends as cancelled.
#[derive(Clone)]
pub struct LlamaServer {
    pub(crate) transport: Arc<Transport>,
}

const CHAT: &str = "/v1/chat/completions";
const TEXT: &str = "/v1/completions";
const NATIVE: &str = "/completion";

impl LlamaServer {
    /// A client of the server at a base URL such as `http://127.0.0.1:8080`, with the usual settings.
    ///
    /// # Errors
    /// When the URL has no host, or TLS cannot be set up.
    pub fn new(base: &str, genai: GenAi) -> Result<Self, Error> {
        Self::builder(base, genai).build()
    }

    /// A client of the server at a base URL, with settings.
    pub fn builder(base: &str, genai: GenAi) -> LlamaServerBuilder {
        LlamaServerBuilder::new(base, genai)
    }

    pub(crate) fn with(transport: Transport) -> Self {
        Self { transport: Arc::new(transport) }
    }

    /// Answers a chat, whole.
    ///
    /// # Errors
    /// As the server or the connection fails; the span then carries the same `error.type`.
    pub async fn chat(&self, request: &ChatRequest) -> Result<ChatAnswer, Error> {
        self.whole(
            Operation::Chat,
            CHAT,
            encode(request, &self.transport.endpoint(CHAT))?,
            &Call::of(request),
        )
        .await
    }

    /// Answers a chat in pieces.
    ///
    /// # Errors
    /// As the server or the connection fails before the first piece; later failures come out of the stream.
    pub async fn chat_chunks(&self, request: &ChatRequest) -> Result<ChatStream, Error> {
        let body = encode(request, &self.transport.endpoint(CHAT))?;
        self.stream(Operation::Chat, CHAT, body, &Call::of(request)).await
    }

    /// Answers a chat in pieces, calls `on_text` with each piece of the first choice's text, and gives the whole at the
    /// end.
    ///
    /// # Errors
    /// As the server or the connection fails; the span then carries the same `error.type`.
    pub async fn chat_stream(
        &self,
        request: &ChatRequest,
        on_text: impl FnMut(&str),
    ) -> Result<ChatAnswer, Error> {
        collect(self.chat_chunks(request).await?, on_text).await
    }

    /// Goes on from a text, over OpenAI's route.
    ///
    /// # Errors
    /// As [`chat`](Self::chat).
    pub async fn complete(&self, request: &CompletionRequest) -> Result<ChatAnswer, Error> {
        let body = encode(request, &self.transport.endpoint(TEXT))?;
        self.whole(Operation::TextCompletion, TEXT, body, &Call::of_text(request)).await
    }

    /// Goes on from a text in pieces, over OpenAI's route.
    ///
    /// # Errors
    /// As [`chat_chunks`](Self::chat_chunks).
    pub async fn complete_chunks(&self, request: &CompletionRequest) -> Result<ChatStream, Error> {
        let body = encode(request, &self.transport.endpoint(TEXT))?;
        self.stream(Operation::TextCompletion, TEXT, body, &Call::of_text(request)).await
    }

    /// Goes on from a text, over llama-server's own route, which tells the slot.
    ///
    /// # Errors
    /// As [`chat`](Self::chat).
    pub async fn complete_native(&self, request: &CompletionRequest) -> Result<ChatAnswer, Error> {
        let endpoint = self.transport.endpoint(NATIVE);
        let body = request.to_native().map_err(|error| malformed(&endpoint, &error))?;
        self.whole(Operation::TextCompletion, NATIVE, body, &Call::of_text(request)).await
    }

    /// Goes on from a text in pieces, over llama-server's own route.
    ///
    /// # Errors
    /// As [`chat_chunks`](Self::chat_chunks).
    pub async fn complete_native_chunks(&self, request: &CompletionRequest) -> Result<ChatStream, Error> {
        let endpoint = self.transport.endpoint(NATIVE);
        let body = request.to_native().map_err(|error| malformed(&endpoint, &error))?;
        self.stream(Operation::TextCompletion, NATIVE, body, &Call::of_text(request)).await
    }

    /// Turns texts into vectors. The server must have been started with `--embeddings`.
    ///
    /// # Errors
    /// As the server or the connection fails; the span then carries the same `error.type`.
    pub async fn embeddings(&self, request: &EmbeddingsRequest) -> Result<Embeddings, Error> {
        const PATH: &str = "/v1/embeddings";
        let endpoint = self.transport.endpoint(PATH);
        let body = encode(request, &endpoint)?;
        let call = Call::default();
        let mut inference = self.begin(Operation::Embeddings, &body, &call);
        let sent = self.post(PATH, &body, &inference, self.transport.bound(None)).await;
        let read = sent.and_then(|text| {
            serde_json::from_str::<WireEmbeddings>(&text).map_err(|error| malformed(&endpoint, &error))
        });
        let outcome = read.map(|wire| {
            let mut tally = Tally::encoding(wire.model.clone(), wire.usage);
            let tokens = tally.tokens();
            tally.apply(&mut inference);
            let embeddings = wire.into_public(tokens);
            if let Some(vector) = embeddings.vectors.first() {
                inference.embedding_dimensions(vector.len() as u64);
            }
            embeddings
        });
        end(inference, outcome)
    }

    /// Orders documents by how well they answer a query. The server must have been started with `--reranking`.
    ///
    /// # Errors
    /// As the server or the connection fails; the span then carries the same `error.type`.
    pub async fn rerank(&self, request: &RerankRequest) -> Result<RankedDocuments, Error> {
        const PATH: &str = "/v1/rerank";
        let endpoint = self.transport.endpoint(PATH);
        let body = encode(request, &endpoint)?;
        let call = Call::default();
        let mut inference = self.begin(Operation::Rerank, &body, &call);
        let sent = self.post(PATH, &body, &inference, self.transport.bound(None)).await;
        let read = sent.and_then(|text| {
            serde_json::from_str::<WireRanking>(&text).map_err(|error| malformed(&endpoint, &error))
        });
        let outcome = read.map(|wire| {
            let mut tally = Tally::encoding(wire.model.clone(), wire.usage);
            let tokens = tally.tokens();
            tally.apply(&mut inference);
            wire.into_public(tokens)
        });
        end(inference, outcome)
    }

    async fn whole(
        &self,
        operation: Operation,
        path: &str,
        body: Value,
        call: &Call<'_>,
    ) -> Result<ChatAnswer, Error> {
        let mut inference = self.begin(operation, &body, call);
        let sent = self.post(path, &body, &inference, self.transport.bound(call.deadline)).await;
        let outcome = sent.and_then(|text| read_whole(&text, &self.transport.endpoint(path), &mut inference));
        end(inference, outcome)
    }

    async fn stream(
        &self,
        operation: Operation,
        path: &str,
        mut body: Value,
        call: &Call<'_>,
    ) -> Result<ChatStream, Error> {
        body["stream"] = true.into();
        if self.transport.ask_usage && path != NATIVE {
            body["stream_options"] = json!({"include_usage": true});
        }
        let inference = self.begin(operation, &body, call);
        let bound = self.transport.bound(call.deadline);
        let headers = headers(&inference);
        let sent = self.transport.send(Method::POST, path, Some(bytes_of(&body)), &headers, bound).await;
        match sent {
            Ok(response) => {
                let endpoint = self.transport.endpoint(path);
                Ok(ChatStream::new(Arc::clone(&self.transport), endpoint, response, inference, bound))
            }
            Err(error) => {
                inference.fail(error.failure());
                Err(error)
            }
        }
    }

    fn begin(&self, operation: Operation, body: &Value, call: &Call<'_>) -> Inference {
        let transport = &self.transport;
        let mut asked = describe(operation, body)
            .server(Arc::clone(&transport.address), transport.port)
            .locality(transport.locality());
        if let Some(id) = call.conversation {
            asked = asked.conversation(id);
        }
        let mut inference = transport.genai.begin(asked);
        record_input(body, &mut inference);
        inference
    }

    async fn post(
        &self,
        path: &str,
        body: &Value,
        inference: &Inference,
        bound: Bound,
    ) -> Result<String, Error> {
        let headers = headers(inference);
        self.transport.call(Method::POST, path, Some(bytes_of(body)), &headers, bound).await
    }
}

/// What a request says about its call, not to the server.
#[derive(Default)]
struct Call<'a> {
    deadline: Option<Duration>,
    conversation: Option<&'a str>,
}

impl<'a> Call<'a> {
    fn of(request: &'a ChatRequest) -> Self {
        Self { deadline: request.deadline, conversation: request.conversation.as_deref() }
    }

    fn of_text(request: &'a CompletionRequest) -> Self {
        Self { deadline: request.deadline, conversation: request.conversation.as_deref() }
    }
}

/// Reads a stream to its end.
async fn collect(mut stream: ChatStream, mut on_text: impl FnMut(&str)) -> Result<ChatAnswer, Error> {
    let mut answer = ChatAnswer::default();
    while let Some(chunk) = poll_fn(|task| Pin::new(&mut stream).poll_next(task)).await {
        let chunk = chunk?;
        for choice in chunk.choices.iter().filter(|choice| choice.index == 0) {
            if let Some(text) = choice.text.as_deref().filter(|text| !text.is_empty()) {
                on_text(text);
            }
        }
        answer.grow(chunk);
    }
    answer.content = answer.choices.first().map(|choice| choice.content.clone()).unwrap_or_default();
    answer.tokens = stream.tokens();
    answer.input_is_suspect = stream.input_is_suspect();
    Ok(answer)
}

/// Reads a whole answer and tells its inference what it says.
pub(crate) fn read_whole(text: &str, endpoint: &str, inference: &mut Inference) -> Result<ChatAnswer, Error> {
    let (answer, mut tally) = parse_whole(text, endpoint)?;
    if inference.captures_content() {
        tally.keep(&answer);
    }
    tally.apply(inference);
    Ok(answer)
}

/// Pure, so that recordings and fuzzers can go through it.
pub(crate) fn parse_whole(text: &str, endpoint: &str) -> Result<(ChatAnswer, Tally), Error> {
    let wire = WireAnswer::parse(text).map_err(|error| malformed(endpoint, &error))?;
    if let Some(error) = wire.error {
        return Err(Error::Interrupted {
            endpoint: endpoint.to_owned(),
            kind: error.kind,
            message: crate::error::cut(&error.message),
        });
    }
    let usage = wire.counted();
    let mut answer = wire.into_answer().ok_or_else(|| malformed(endpoint, &"there is no choice in it"))?;
    let tally = Tally::whole(&answer, usage);
    answer.tokens = tally.tokens();
    answer.input_is_suspect = tally.input_is_suspect();
    Ok((answer, tally))
}

fn end<T>(inference: Inference, outcome: Result<T, Error>) -> Result<T, Error> {
    match &outcome {
        Ok(_) => inference.finish(),
        Err(error) => inference.fail(error.failure()),
    }
    outcome
}

fn encode(request: &impl serde::Serialize, endpoint: &str) -> Result<Value, Error> {
    serde_json::to_value(request).map_err(|error| malformed(endpoint, &error))
}

pub(crate) fn bytes_of(body: &Value) -> Bytes {
    Bytes::from(body.to_string())
}

/// Trace context of the inference, for servers that go on with it.
fn headers(inference: &Inference) -> HeaderMap {
    let mut headers = HeaderMap::new();
    wattspan_genai::context::inject(
        inference.context(),
        &mut opentelemetry_http::HeaderInjector(&mut headers),
    );
    headers
}
