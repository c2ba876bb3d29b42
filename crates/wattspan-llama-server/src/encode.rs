//! Routes that take texts in and give no text out: embeddings and rerank.

use serde::{Deserialize, Serialize};
use wattspan_core::TokenUsage;

use crate::wire::{Usage, nullable};

/// Texts to turn into vectors.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct EmbeddingsRequest {
    /// Model name. Empty: the server's only model.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub model: String,
    /// The texts.
    pub input: Vec<String>,
    /// Length of the vectors, where the model can cut them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dimensions: Option<u32>,
}

/// Vectors, in the order of the texts.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Embeddings {
    /// One vector for each text.
    pub vectors: Vec<Vec<f32>>,
    /// Tokens; there is no output.
    pub tokens: TokenUsage,
    /// Model that answered.
    pub model: Option<String>,
}

/// Documents to put in order.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct RerankRequest {
    /// Model name. Empty: the server's only model.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub model: String,
    /// What is asked.
    pub query: String,
    /// The documents.
    pub documents: Vec<String>,
    /// How many of the best to return.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub top_n: Option<u32>,
}

/// Documents in the server's order, the best first.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct RankedDocuments {
    /// Places in the request's list, with their scores.
    pub results: Vec<RankedDocument>,
    /// Tokens; there is no output.
    pub tokens: TokenUsage,
    /// Model that answered.
    pub model: Option<String>,
}

/// One document's rank.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct RankedDocument {
    /// Place in the request's list.
    pub index: usize,
    /// Score in the model's own scale.
    pub relevance_score: f64,
}

impl EmbeddingsRequest {
    /// Texts to turn into vectors.
    pub fn new<T: Into<String>>(model: impl Into<String>, input: impl IntoIterator<Item = T>) -> Self {
        Self { model: model.into(), input: input.into_iter().map(Into::into).collect(), dimensions: None }
    }

    /// Length of the vectors, where the model can cut them.
    pub fn dimensions(mut self, dimensions: u32) -> Self {
        self.dimensions = Some(dimensions);
        self
    }
}

impl RerankRequest {
    /// A query and the documents to put in order.
    pub fn new<T: Into<String>>(
        model: impl Into<String>,
        query: impl Into<String>,
        documents: impl IntoIterator<Item = T>,
    ) -> Self {
        Self {
            model: model.into(),
            query: query.into(),
            documents: documents.into_iter().map(Into::into).collect(),
            top_n: None,
        }
    }

    /// How many of the best to return.
    pub fn top_n(mut self, documents: u32) -> Self {
        self.top_n = Some(documents);
        self
    }
}

#[derive(Debug, Deserialize)]
pub(crate) struct WireEmbeddings {
    data: Vec<WireVector>,
    pub(crate) model: Option<String>,
    pub(crate) usage: Option<Usage>,
}

#[derive(Debug, Deserialize)]
struct WireVector {
    #[serde(default, deserialize_with = "nullable")]
    index: usize,
    embedding: Vec<f32>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct WireRanking {
    results: Vec<RankedDocument>,
    pub(crate) model: Option<String>,
    pub(crate) usage: Option<Usage>,
}

impl WireEmbeddings {
    pub(crate) fn into_public(mut self, tokens: TokenUsage) -> Embeddings {
        self.data.sort_by_key(|vector| vector.index);
        let vectors = self.data.into_iter().map(|vector| vector.embedding).collect();
        Embeddings { vectors, tokens, model: self.model }
    }
}

impl WireRanking {
    pub(crate) fn into_public(mut self, tokens: TokenUsage) -> RankedDocuments {
        self.results.sort_by(|a, b| b.relevance_score.total_cmp(&a.relevance_score));
        RankedDocuments { results: self.results, tokens, model: self.model }
    }
}
