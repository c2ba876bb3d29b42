//! A session: a context of a model, which answers one prompt after another and keeps what it has computed.

use std::fmt;
use std::ops::ControlFlow;

use llama_cpp_2::context::LlamaContext;
use llama_cpp_2::llama_batch::LlamaBatch;
use llama_cpp_2::sampling::LlamaSampler;
use llama_cpp_2::token::LlamaToken;

use super::error::Error;
use super::generation::{Generation, Piece};
use super::model::{Model, OwnedContext, context_params};
use super::params::{GenerateParams, SessionOptions};
use super::prompt::Prompt;
use super::tokens::Tokens;

/// Answers prompts with a model, one at a time. Several sessions of one model may work side by side, on threads of
/// their own.
///
/// What a prompt has in common with the one before it, from the beginning on, is not computed again: it counts as
/// cache-read tokens.
pub struct Session {
    context: OwnedContext,
    batch: LlamaBatch<'static>,
    model: Model,
    /// The tokens in the KV cache, by position.
    cached: Vec<LlamaToken>,
    /// The output in the last batch whose logits are those after the last cached token.
    output: Option<i32>,
}

impl Session {
    /// Makes a session.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] and [`Error::Context`].
    pub fn new(model: &Model, options: &SessionOptions) -> Result<Self, Error> {
        let context = model.owned_context(context_params(model, options))?;
        let size = context.borrow_dependent().n_batch().max(1);
        let batch = LlamaBatch::new(size as usize, 1);
        Ok(Self { context, batch, model: model.clone(), cached: Vec::new(), output: None })
    }

    /// Its model.
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// Tokens that fit, prompt and answer together.
    pub fn context_size(&self) -> usize {
        self.context.borrow_dependent().n_ctx() as usize
    }

    /// Answers a prompt. `on_token` gets each token's text as soon as it is certain, and may end the answer.
    ///
    /// The answer is an inference: its span, metrics and energy. Ended by `on_token` or by
    /// [`Cancel`](crate::Cancel), the inference has `error.type` = `cancelled`, and what came until then is returned.
    ///
    /// # Errors
    /// [`Error::ContextExceeded`] before anything is computed; [`Error::Template`], [`Error::Grammar`],
    /// [`Error::EmptyPrompt`], [`Error::Nul`] for what is wrong with the call; [`Error::Decode`] when llama.cpp fails.
    pub fn generate(
        &mut self,
        prompt: impl Into<Prompt>,
        params: &GenerateParams,
        mut on_token: impl FnMut(&Piece) -> ControlFlow<()>,
    ) -> Result<Generation, Error> {
        let mut tokens = self.tokens(prompt, params)?;
        while let Some(piece) = tokens.next() {
            if on_token(&piece?).is_break() {
                return Ok(tokens.cancel());
            }
        }
        Ok(tokens.into_generation())
    }

    /// Answers a prompt token by token, as they are asked for. Dropping the iterator before its end cancels.
    ///
    /// The prompt is computed here, before the first token is asked for.
    ///
    /// # Errors
    /// As [`Session::generate`].
    pub fn tokens(
        &mut self,
        prompt: impl Into<Prompt>,
        params: &GenerateParams,
    ) -> Result<Tokens<'_>, Error> {
        Tokens::begin(self, &prompt.into(), params)
    }

    /// Forgets what was computed: the next prompt is computed whole.
    pub fn clear(&mut self) {
        self.cached.clear();
        self.output = None;
        self.context.with_dependent_mut(|_, context| context.clear_kv_cache());
    }

    /// Keeps the part of the cache that these tokens begin with, and answers how many they are. The rest is to be
    /// computed; at least the last token is, unless the logits after it are still there.
    pub(super) fn reuse(&mut self, tokens: &[LlamaToken]) -> usize {
        if self.cached == tokens && self.output.is_some() {
            return tokens.len();
        }
        let common = common_prefix(&self.cached, tokens).min(tokens.len().saturating_sub(1));
        if common == self.cached.len() {
            return common;
        }
        self.output = None;
        // Sequence 0 from this position on. Models with a recurrent state cannot go back: they begin anew.
        let removed = self.context.with_dependent_mut(|_, context| {
            context.clear_kv_cache_seq(Some(0), u32::try_from(common).ok(), None).unwrap_or(false)
        });
        if common > 0 && removed {
            self.cached.truncate(common);
            return common;
        }
        self.clear();
        0
    }

    /// How many tokens are computed at once.
    pub(super) fn batch_size(&self) -> usize {
        self.context.borrow_dependent().n_batch().max(1) as usize
    }

    pub(super) fn cached(&self) -> usize {
        self.cached.len()
    }

    /// Computes the next tokens, at most a batch of them, and waits until it is done.
    pub(super) fn compute(&mut self, tokens: &[LlamaToken], wants_output: bool) -> Result<(), Error> {
        self.batch.clear();
        self.output = None;
        for (at, token) in tokens.iter().enumerate() {
            let last = at + 1 == tokens.len();
            let position = i32::try_from(self.cached.len() + at).unwrap_or(i32::MAX);
            // It fails only for more tokens than a batch holds, which nobody here asks for.
            self.batch
                .add(*token, position, &[0], last && wants_output)
                .map_err(|_| Error::Decode { code: -1 })?;
        }
        let batch = &mut self.batch;
        let decoded = self.context.with_dependent_mut(|_, context| decode(context, batch));
        if let Err(error) = decoded {
            // What is in the cache after a failure is not known.
            self.clear();
            return Err(error);
        }
        self.cached.extend_from_slice(tokens);
        self.output = wants_output.then(|| self.batch.n_tokens() - 1);
        Ok(())
    }

    /// Draws the token that follows the last one computed.
    pub(super) fn sample(&self, sampler: &mut LlamaSampler) -> Option<LlamaToken> {
        let output = self.output?;
        Some(sampler.sample(self.context.borrow_dependent(), output))
    }
}

impl fmt::Debug for Session {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Session")
            .field("model", &self.model.name())
            .field("context", &self.context_size())
            .field("cached", &self.cached.len())
            .finish_non_exhaustive()
    }
}

/// Computes a batch and waits for it: on a GPU `llama_decode` returns before the work is done.
pub(crate) fn decode(context: &mut LlamaContext<'_>, batch: &mut LlamaBatch<'_>) -> Result<(), Error> {
    let decoded = context.decode(batch);
    context.synchronize();
    decoded.map_err(|error| Error::decode(&error))
}

fn common_prefix(first: &[LlamaToken], second: &[LlamaToken]) -> usize {
    first.iter().zip(second).take_while(|(one, other)| one == other).count()
}
