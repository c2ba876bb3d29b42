//! For decode loops of the program's own: several sequences in one batch, each an inference.

use std::collections::BTreeMap;

use llama_cpp_2::context::LlamaContext;
use llama_cpp_2::llama_batch::LlamaBatch;
use wattspan_core::TokenUsage;
use wattspan_genai::{GenAi, Inference, Request};

use super::error::Error;
use super::session::decode;

/// What a batch holds of one sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Work {
    /// The sequence.
    pub sequence: i32,
    /// Its prompt tokens in the batch.
    pub prompt: u64,
    /// Its tokens in the batch that were drawn before; with speculative decoding, all that are verified.
    pub decode: u64,
}

impl Work {
    /// Prompt tokens of a sequence.
    pub const fn prompt(sequence: i32, tokens: u64) -> Self {
        Self { sequence, prompt: tokens, decode: 0 }
    }

    /// A drawn token of a sequence.
    pub const fn token(sequence: i32) -> Self {
        Self { sequence, prompt: 0, decode: 1 }
    }
}

/// The sequences of a decode loop, each of them an inference with a span of its own.
///
/// Sequences in one batch share its energy by their tokens: each token that is computed is marked on its sequence when
/// the batch is done. The loop, its batches and its sampling stay the program's.
///
/// ```no_run
/// use llama_cpp_2::context::params::LlamaContextParams;
/// use llama_cpp_2::llama_batch::LlamaBatch;
/// use wattspan_genai::{GenAi, Request};
/// use wattspan_llama_cpp::{Model, ModelOptions, Prompt, Sequences, Work};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let genai = GenAi::builder("llama_cpp").build();
/// let model = Model::load(&genai, "model.gguf", &ModelOptions::default())?;
/// let mut context = model.new_context(LlamaContextParams::default().with_n_seq_max(2))?;
/// let mut batch = LlamaBatch::new(512, 2);
/// let mut sequences = Sequences::new(&genai);
/// let mut work = Vec::new();
/// for (sequence, text) in [(0, "Once"), (1, "Twice upon")] {
///     let tokens = model.llama().vocab().tokenize(text.as_bytes(), true, false);
///     sequences.begin(sequence, Request::completion(model.name()));
///     batch.add_sequence(&tokens, sequence, false)?;
///     work.push(Work::prompt(sequence, tokens.len() as u64));
/// }
/// sequences.decode(&mut context, &mut batch, &work)?;
/// // Sample a token of each sequence, tell `sequences.drawn(sequence)`, add it to the next batch, …
/// sequences.finish(0, "stop")?;
/// sequences.finish(1, "length")?;
/// # Ok(())
/// # }
/// ```
pub struct Sequences {
    genai: GenAi,
    open: BTreeMap<i32, Open>,
}

struct Open {
    inference: Inference,
    usage: TokenUsage,
}

impl Sequences {
    /// None yet; they are recorded with `genai`.
    pub fn new(genai: &GenAi) -> Self {
        Self { genai: genai.clone(), open: BTreeMap::new() }
    }

    /// Begins a sequence. One of the same number that is still open is cancelled.
    pub fn begin(&mut self, sequence: i32, request: Request) -> &mut Inference {
        let open = Open { inference: self.genai.begin(request), usage: TokenUsage::default() };
        self.open.remove(&sequence);
        &mut self.open.entry(sequence).or_insert(open).inference
    }

    /// A sequence's inference, for facts such as its conversation's messages or a response id.
    pub fn inference(&mut self, sequence: i32) -> Option<&mut Inference> {
        self.open.get_mut(&sequence).map(|open| &mut open.inference)
    }

    /// Computes a batch, waits for it, and marks the work of each sequence in it.
    ///
    /// # Errors
    /// Before anything is computed: [`Error::WrongWork`] when the description does not add up to the batch, since
    /// shares would be wrong, and [`Error::UnknownSequence`]. [`Error::Decode`] when llama.cpp fails; the sequences
    /// stay open, and [`Sequences::fail_all`] ends them.
    pub fn decode(
        &mut self,
        context: &mut LlamaContext<'_>,
        batch: &mut LlamaBatch<'_>,
        work: &[Work],
    ) -> Result<(), Error> {
        let described: u64 = work.iter().map(|one| one.prompt.saturating_add(one.decode)).sum();
        let tokens = u64::try_from(batch.n_tokens()).unwrap_or(0);
        if described != tokens {
            return Err(Error::WrongWork { batch: tokens, described });
        }
        if let Some(one) = work.iter().find(|one| !self.open.contains_key(&one.sequence)) {
            return Err(Error::UnknownSequence { sequence: one.sequence });
        }
        decode(context, batch)?;
        for one in work {
            if let Some(open) = self.open.get_mut(&one.sequence) {
                if one.prompt > 0 {
                    open.inference.prompted(one.prompt);
                    open.usage.fresh = Some(open.usage.fresh.unwrap_or(0) + one.prompt);
                }
                if one.decode > 0 {
                    open.inference.tokens(one.decode);
                }
            }
        }
        Ok(())
    }

    /// Prompt tokens of a sequence that were in the KV cache and are not computed.
    ///
    /// # Errors
    /// [`Error::UnknownSequence`].
    pub fn cached(&mut self, sequence: i32, tokens: u64) -> Result<(), Error> {
        let usage = &mut self.get(sequence)?.usage;
        usage.cache_read = Some(usage.cache_read.unwrap_or(0) + tokens);
        usage.fresh.get_or_insert(0);
        Ok(())
    }

    /// A token of a sequence has been drawn. The first one's time is the time to the first token.
    ///
    /// # Errors
    /// [`Error::UnknownSequence`].
    pub fn drawn(&mut self, sequence: i32) -> Result<(), Error> {
        let open = self.get(sequence)?;
        open.inference.first_token();
        open.usage.output = Some(open.usage.output.unwrap_or(0) + 1);
        Ok(())
    }

    /// Ends a sequence well, for a reason such as `stop` or `length`.
    ///
    /// # Errors
    /// [`Error::UnknownSequence`].
    pub fn finish(&mut self, sequence: i32, reason: &str) -> Result<(), Error> {
        let mut open = self.open.remove(&sequence).ok_or(Error::UnknownSequence { sequence })?;
        open.inference.usage(open.usage);
        open.inference.finish_reason(reason);
        open.inference.finish();
        Ok(())
    }

    /// Ends a sequence with an error.
    ///
    /// # Errors
    /// [`Error::UnknownSequence`].
    pub fn fail(&mut self, sequence: i32, error: &Error) -> Result<(), Error> {
        let mut open = self.open.remove(&sequence).ok_or(Error::UnknownSequence { sequence })?;
        open.inference.usage(open.usage);
        open.inference.fail(error.failure());
        Ok(())
    }

    /// Ends all open sequences with an error, such as that of their batch.
    pub fn fail_all(&mut self, error: &Error) {
        for (_, mut open) in std::mem::take(&mut self.open) {
            open.inference.usage(open.usage);
            open.inference.fail(error.failure());
        }
    }

    fn get(&mut self, sequence: i32) -> Result<&mut Open, Error> {
        self.open.get_mut(&sequence).ok_or(Error::UnknownSequence { sequence })
    }
}

impl Drop for Sequences {
    fn drop(&mut self) {
        // Each inference's own drop ends it as cancelled; what was counted is told before.
        for open in self.open.values_mut() {
            open.inference.usage(open.usage);
        }
    }
}
