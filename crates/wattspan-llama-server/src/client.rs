//! The instrumented client.

use std::sync::Arc;

use futures_util::StreamExt as _;
use opentelemetry::propagation::TextMapPropagator;
use opentelemetry_http::HeaderInjector;
use serde::Serialize;
use wattspan_genai::{GenAi, Inference, Request};

use crate::error::Error;
use crate::sse::Events;
use crate::wire::{Answer, token_usage};

/// A client of one llama-server. Each call is an instrumented inference.
#[derive(Clone)]
pub struct LlamaServer {
    http: reqwest::Client,
    base: Arc<str>,
    address: Arc<str>,
    port: Option<u16>,
    genai: GenAi,
}

/// A chat request.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct ChatRequest {
    /// Model name.
    pub model: String,
    /// The conversation so far.
    pub messages: Vec<ChatMessage>,
    /// Largest number of output tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u32>,
    /// Sampling temperature.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
}

/// One message of a conversation.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct ChatMessage {
    /// `system`, `user` or `assistant`.
    pub role: String,
    /// The text.
    pub content: String,
}

impl ChatRequest {
    /// A conversation of one user message.
    pub fn user(model: impl Into<String>, text: impl Into<String>) -> Self {
        let message = ChatMessage { role: "user".to_owned(), content: text.into() };
        Self { model: model.into(), messages: vec![message], max_tokens: None, temperature: None }
    }

    /// Bounds the answer.
    pub fn max_tokens(mut self, tokens: u32) -> Self {
        self.max_tokens = Some(tokens);
        self
    }
}

/// A whole chat answer.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ChatAnswer {
    /// The text.
    pub content: String,
    /// Tokens, as the server counted them.
    pub tokens: wattspan_core::TokenUsage,
}

impl LlamaServer {
    /// A client of the server at a base URL such as `http://127.0.0.1:8080`.
    ///
    /// # Errors
    /// When the URL has no host, or TLS cannot be set up.
    pub fn new(base: &str, genai: GenAi) -> Result<Self, Error> {
        let base = base.trim_end_matches('/');
        let malformed = |message: String| Error::Malformed { endpoint: base.to_owned(), message };
        let url = reqwest::Url::parse(base).map_err(|error| malformed(error.to_string()))?;
        let address = url.host_str().ok_or_else(|| malformed("no host in the URL".to_owned()))?.into();
        // Another part of the program may have chosen its provider before, which then stays.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let http = reqwest::Client::builder().build().map_err(|error| malformed(error.to_string()))?;
        Ok(Self { http, base: base.into(), address, port: url.port_or_known_default(), genai })
    }

    /// Streams a chat completion and calls `on_text` with each piece of text.
    ///
    /// # Errors
    /// As the server or the connection fails; the span then carries the same `error.type`.
    pub async fn chat_stream(
        &self,
        request: &ChatRequest,
        mut on_text: impl FnMut(&str),
    ) -> Result<ChatAnswer, Error> {
        let asked =
            Request::chat(request.model.as_str()).server(Arc::clone(&self.address), self.port).streaming();
        let mut inference = self.genai.begin(asked);
        match self.stream(request, &mut inference, &mut on_text).await {
            Ok(answer) => {
                inference.finish();
                Ok(answer)
            }
            Err(error) => {
                inference.fail(error.error_type());
                Err(error)
            }
        }
    }

    async fn stream(
        &self,
        request: &ChatRequest,
        inference: &mut Inference,
        on_text: &mut impl FnMut(&str),
    ) -> Result<ChatAnswer, Error> {
        let endpoint = format!("{}/v1/chat/completions", self.base);
        let mut body = serde_json::to_value(request)
            .map_err(|error| Error::Malformed { endpoint: endpoint.clone(), message: error.to_string() })?;
        body["stream"] = true.into();
        body["stream_options"] = serde_json::json!({"include_usage": true});
        let unreachable = |error: reqwest::Error| Error::Unreachable {
            endpoint: endpoint.clone(),
            source: Box::new(error.without_url()),
        };
        let mut headers = reqwest::header::HeaderMap::new();
        opentelemetry::global::get_text_map_propagator(|propagator: &dyn TextMapPropagator| {
            propagator.inject_context(inference.context(), &mut HeaderInjector(&mut headers));
        });
        let response =
            self.http.post(&endpoint).headers(headers).json(&body).send().await.map_err(unreachable)?;
        let status = response.status().as_u16();
        if status != 200 {
            let text = response.text().await.map_err(unreachable)?;
            let error = serde_json::from_str::<Answer>(&text).ok().and_then(|answer| answer.error);
            let (kind, message) =
                error.map_or_else(|| (String::new(), text), |error| (error.kind, error.message));
            return Err(Error::Refused { endpoint, status, kind, message });
        }
        let mut chunks = response.bytes_stream();
        let mut events = Events::default();
        let mut content = String::new();
        let (mut usage, mut timings, mut done) = (None, None, false);
        while let Some(bytes) = chunks.next().await {
            events.push(&bytes.map_err(unreachable)?);
            while let Some(data) = events.next() {
                if data == "[DONE]" {
                    done = true;
                    continue;
                }
                let chunk: Answer = serde_json::from_str(&data).map_err(|error| Error::Malformed {
                    endpoint: endpoint.clone(),
                    message: error.to_string(),
                })?;
                for choice in &chunk.choices {
                    if let Some(text) = choice.delta.content.as_deref().filter(|text| !text.is_empty()) {
                        inference.token();
                        content.push_str(text);
                        on_text(text);
                    }
                    if let Some(reason) = &choice.finish_reason {
                        inference.finish_reason(reason.clone());
                    }
                }
                if let Some(id) = chunk.id {
                    inference.response_id(id);
                }
                if let Some(model) = chunk.model {
                    inference.response_model(model);
                }
                usage = chunk.usage.or(usage);
                timings = chunk.timings.or(timings);
            }
        }
        if !done {
            return Err(Error::Truncated { endpoint });
        }
        let tokens = token_usage(usage, timings);
        inference.usage(tokens);
        if let Some(timings) = timings {
            inference.phases(timings.phases());
        }
        Ok(ChatAnswer { content, tokens })
    }
}
