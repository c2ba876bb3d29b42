//! Embeddings: text in, a vector out.

use std::fmt;

use llama_cpp_2::context::params::LlamaPoolingType;
use llama_cpp_2::llama_batch::LlamaBatch;
use llama_cpp_2::token::LlamaToken;
use wattspan_core::TokenUsage;
use wattspan_genai::{Inference, Request};

use super::error::Error;
use super::model::{Model, OwnedContext, context_params};
use super::params::SessionOptions;
use super::session::decode;

/// How the vectors of a text's tokens become one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Pooling {
    /// As the model was made for; the mean where it does not say.
    #[default]
    Model,
    /// Their mean.
    Mean,
    /// The first token's.
    First,
    /// The last token's.
    Last,
}

/// Vectors of texts.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Embeddings {
    /// One for each text, in their order, of length 1.
    pub vectors: Vec<Vec<f32>>,
    /// Tokens of all texts.
    pub usage: TokenUsage,
}

/// Turns texts into vectors with a model.
pub struct Embedder {
    context: OwnedContext,
    batch: LlamaBatch<'static>,
    model: Model,
}

impl Embedder {
    /// Makes an embedder. A text has to fit into its context whole.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] and [`Error::Context`].
    pub fn new(model: &Model, options: &SessionOptions, pooling: Pooling) -> Result<Self, Error> {
        let pooling = match pooling {
            // A model that says how has it in its file; llama.cpp would take none for others.
            Pooling::Model => match model.llama().meta_val_str(&pooling_key(model)).ok() {
                Some(_) => LlamaPoolingType::Unspecified,
                None => LlamaPoolingType::Mean,
            },
            Pooling::Mean => LlamaPoolingType::Mean,
            Pooling::First => LlamaPoolingType::Cls,
            Pooling::Last => LlamaPoolingType::Last,
        };
        let params = context_params(model, options);
        let size = params.n_ctx().map_or(1, std::num::NonZero::get);
        // A text is computed in one piece: models that look both ways cannot do it in two.
        let params = params.with_n_batch(size).with_n_ubatch(size);
        let params = params.with_embeddings(true).with_pooling_type(pooling);
        let context = model.owned_context(params)?;
        let size = context.borrow_dependent().n_batch().max(1);
        Ok(Self { context, batch: LlamaBatch::new(size as usize, 1), model: model.clone() })
    }

    /// Turns texts into vectors: one inference for all of them.
    ///
    /// # Errors
    /// [`Error::EmptyPrompt`] and [`Error::ContextExceeded`] for a text, before anything is computed;
    /// [`Error::NoEmbedding`]; [`Error::Decode`] when llama.cpp fails.
    pub fn embed<T: AsRef<str>>(&mut self, texts: &[T]) -> Result<Embeddings, Error> {
        let mut inference = self.model.genai().begin(Request::embeddings(self.model.name()));
        match self.compute(&mut inference, texts) {
            Ok(embeddings) => {
                inference.usage(embeddings.usage);
                inference.response_model(self.model.name());
                if let Some(first) = embeddings.vectors.first() {
                    inference.embedding_dimensions(first.len() as u64);
                }
                inference.finish();
                Ok(embeddings)
            }
            Err(error) => {
                inference.fail(error.failure());
                Err(error)
            }
        }
    }

    fn compute<T: AsRef<str>>(
        &mut self,
        inference: &mut Inference,
        texts: &[T],
    ) -> Result<Embeddings, Error> {
        let vocab = self.model.llama().vocab();
        let texts: Vec<Vec<LlamaToken>> =
            texts.iter().map(|text| vocab.tokenize(text.as_ref().as_bytes(), true, false)).collect();
        let context = self.context.borrow_dependent().n_batch() as usize;
        for tokens in &texts {
            if tokens.is_empty() {
                return Err(Error::EmptyPrompt);
            }
            if tokens.len() > context {
                return Err(Error::ContextExceeded { tokens: tokens.len(), context });
            }
        }
        let mut usage = TokenUsage::default();
        let mut vectors = Vec::with_capacity(texts.len());
        for tokens in &texts {
            vectors.push(self.one(tokens)?);
            inference.prompted(tokens.len() as u64);
            usage.fresh = Some(usage.fresh.unwrap_or(0) + tokens.len() as u64);
        }
        Ok(Embeddings { vectors, usage })
    }

    fn one(&mut self, tokens: &[LlamaToken]) -> Result<Vec<f32>, Error> {
        self.batch.clear();
        // It fails only for more tokens than a batch holds, and those were counted.
        self.batch.add_sequence(tokens, 0, true).map_err(|_| Error::Decode { code: -1 })?;
        let batch = &mut self.batch;
        self.context.with_dependent_mut(|_, context| {
            context.clear_kv_cache();
            decode(context, batch)?;
            let vector = context.embeddings_seq_ith(0).map_err(|_| Error::NoEmbedding)?;
            Ok(normalised(vector))
        })
    }
}

impl fmt::Debug for Embedder {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Embedder").field("model", &self.model.name()).finish_non_exhaustive()
    }
}

fn pooling_key(model: &Model) -> String {
    format!("{}.pooling_type", model.facts().architecture.as_deref().unwrap_or_default())
}

/// At length 1; a vector of zeros stays one.
fn normalised(vector: &[f32]) -> Vec<f32> {
    let length = vector.iter().map(|part| f64::from(*part).powi(2)).sum::<f64>().sqrt();
    if length > 0.0 {
        vector.iter().map(|part| (f64::from(*part) / length) as f32).collect()
    } else {
        vector.to_vec()
    }
}
