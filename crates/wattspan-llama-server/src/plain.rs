//! Routes that compute nothing with the model: they are not inferences and have no span.

use std::time::Duration;

use bytes::Bytes;
use reqwest::Method;
use reqwest::header::HeaderMap;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::client::{LlamaServer, bytes_of};
use crate::error::Error;
use crate::request::ChatMessage;
use crate::transport::malformed;
use crate::wire::nullable;

/// How a server is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Health {
    /// It answers requests.
    Ready,
    /// It is up and still loads its model.
    Loading,
}

/// One slot of a llama-server: a place for one request at a time.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct Slot {
    /// Its number.
    #[serde(deserialize_with = "nullable")]
    pub id: u32,
    /// Size of its context, in tokens. **Absent** in older servers.
    pub n_ctx: Option<u64>,
    /// Whether it works on a request. **Absent** in older servers.
    pub is_processing: Option<bool>,
    /// Task that it works or last worked on. **Absent** before its first.
    pub id_task: Option<i64>,
    /// Tokens that it holds, prompt and output. **Absent** before its first task, and in older servers.
    pub n_prompt_tokens: Option<u64>,
}

/// What a server says of itself.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct Props {
    /// Path of the model's file.
    pub model_path: Option<String>,
    /// Name that answers carry.
    pub model_alias: Option<String>,
    /// Quantisation, such as `Q4_1`.
    pub model_ftype: Option<String>,
    /// Number of slots.
    pub total_slots: Option<u32>,
    /// Build of llama.cpp. Not to be relied on: builds without git history say `b0-unknown`.
    pub build_info: Option<String>,
    /// Whether the server has unloaded its model until the next request.
    pub is_sleeping: Option<bool>,
    /// Settings that a request starts from, in the server's own shape.
    pub default_generation_settings: Value,
}

/// A model that a server offers.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct Model {
    /// Its name.
    #[serde(deserialize_with = "nullable")]
    pub id: String,
    /// What llama.cpp knows of it. **Absent** from other servers.
    pub meta: Option<ModelMeta>,
}

/// What llama.cpp knows of a model.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct ModelMeta {
    /// Number of parameters.
    pub n_params: Option<u64>,
    /// Size in bytes.
    pub size: Option<u64>,
    /// Quantisation, such as `Q4_1`.
    pub ftype: Option<String>,
    /// Size of a slot's context.
    pub n_ctx: Option<u64>,
    /// Size of the context that the model was trained with.
    pub n_ctx_train: Option<u64>,
    /// Length of its embeddings.
    pub n_embd: Option<u64>,
    /// Number of tokens that it knows.
    pub n_vocab: Option<u64>,
}

/// A piece of a text as the model sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Token {
    /// Its number.
    pub id: i64,
    /// Its bytes, which may be part of a character.
    pub piece: Vec<u8>,
}

impl LlamaServer {
    /// Asks how the server is. Needs no key.
    ///
    /// # Errors
    /// When the server cannot be reached or answers with something else.
    pub async fn health(&self) -> Result<Health, Error> {
        match self.get::<Value>("/health").await {
            Ok(_) => Ok(Health::Ready),
            Err(Error::Loading { .. }) => Ok(Health::Loading),
            Err(error) => Err(error),
        }
    }

    /// Waits until the server has loaded its model; also while it cannot be reached yet.
    ///
    /// # Errors
    /// What the last try said, once the time is over.
    pub async fn wait_until_ready(&self, within: Duration) -> Result<(), Error> {
        let end = Instant::now() + within;
        loop {
            let outcome = self.health().await;
            let now = Instant::now();
            match outcome {
                Ok(Health::Ready) => return Ok(()),
                Ok(Health::Loading) if now >= end => {
                    return Err(Error::Loading { endpoint: self.transport.endpoint("/health") });
                }
                Err(error) if now >= end || error.retry() == crate::Retry::Never => return Err(error),
                _ => tokio::time::sleep(Duration::from_millis(100).min(end - now)).await,
            }
        }
    }

    /// The server's slots. It may have been started without (`--no-slots`).
    ///
    /// # Errors
    /// As the server or the connection fails.
    pub async fn slots(&self) -> Result<Vec<Slot>, Error> {
        self.get("/slots").await
    }

    /// What the server says of itself.
    ///
    /// # Errors
    /// As the server or the connection fails.
    pub async fn props(&self) -> Result<Props, Error> {
        self.get("/props").await
    }

    /// The models that the server offers.
    ///
    /// # Errors
    /// As the server or the connection fails.
    pub async fn models(&self) -> Result<Vec<Model>, Error> {
        #[derive(Deserialize)]
        struct Models {
            data: Vec<Model>,
        }
        self.get::<Models>("/v1/models").await.map(|models| models.data)
    }

    /// Cuts a text into tokens.
    ///
    /// # Errors
    /// As the server or the connection fails.
    pub async fn tokenize(&self, text: &str) -> Result<Vec<Token>, Error> {
        let body = json!({"content": text, "with_pieces": true});
        self.post_plain::<WireTokens>("/tokenize", &body).await.map(WireTokens::into_public)
    }

    /// Puts tokens together to a text.
    ///
    /// # Errors
    /// As the server or the connection fails.
    pub async fn detokenize(&self, tokens: &[i64]) -> Result<String, Error> {
        #[derive(Deserialize)]
        struct Text {
            content: String,
        }
        self.post_plain::<Text>("/detokenize", &json!({"tokens": tokens})).await.map(|text| text.content)
    }

    /// The prompt that the model's chat template makes of a conversation.
    ///
    /// # Errors
    /// As the server or the connection fails.
    pub async fn apply_template(&self, messages: &[ChatMessage]) -> Result<String, Error> {
        #[derive(Deserialize)]
        struct Prompt {
            prompt: String,
        }
        let body = json!({"messages": messages});
        self.post_plain::<Prompt>("/apply-template", &body).await.map(|prompt| prompt.prompt)
    }

    async fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, Error> {
        self.plain(Method::GET, path, None).await
    }

    async fn post_plain<T: DeserializeOwned>(&self, path: &str, body: &Value) -> Result<T, Error> {
        self.plain(Method::POST, path, Some(bytes_of(body))).await
    }

    async fn plain<T: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        body: Option<Bytes>,
    ) -> Result<T, Error> {
        let bound = self.transport.bound(None);
        let text = self.transport.call(method, path, body, &HeaderMap::new(), bound).await?;
        serde_json::from_str(&text).map_err(|error| malformed(&self.transport.endpoint(path), &error))
    }
}

/// `/tokenize` answers numbers in older servers, and pieces as text or, where they are no whole text, as bytes.
#[derive(Deserialize)]
pub(crate) struct WireTokens {
    tokens: Vec<WireToken>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum WireToken {
    Number(i64),
    Text { id: i64, piece: String },
    Bytes { id: i64, piece: Vec<u8> },
}

impl WireTokens {
    pub(crate) fn into_public(self) -> Vec<Token> {
        let token = |token| match token {
            WireToken::Number(id) => Token { id, piece: Vec::new() },
            WireToken::Text { id, piece } => Token { id, piece: piece.into_bytes() },
            WireToken::Bytes { id, piece } => Token { id, piece },
        };
        self.tokens.into_iter().map(token).collect()
    }
}
