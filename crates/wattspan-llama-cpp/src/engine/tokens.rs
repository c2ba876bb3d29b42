//! An answer under way.

use std::time::Instant;

use llama_cpp_2::sampling::LlamaSampler;
use llama_cpp_2::token::LlamaToken;
use wattspan_core::TokenUsage;
use wattspan_genai::{Inference, Message, Part, Request};

use super::cancel::Cancel;
use super::error::Error;
use super::generation::{FinishReason, Generation, Piece, Timings};
use super::params::GenerateParams;
use super::prompt::Prompt;
use super::sampler;
use super::session::Session;
use crate::text::TextStream;

/// An answer, token by token. Dropping it before its end ends the inference as `cancelled`.
#[must_use = "dropping an answer cancels it"]
pub struct Tokens<'s> {
    session: &'s mut Session,
    /// Gone when the answer has ended.
    inference: Option<Inference>,
    sampler: LlamaSampler,
    text: TextStream,
    /// Drawn and not yet computed.
    pending: Option<LlamaToken>,
    room: u64,
    ignore_end: bool,
    cancel: Option<Cancel>,
    called: Instant,
    first: Option<Instant>,
    generation: Generation,
}

impl<'s> Tokens<'s> {
    pub(super) fn begin(
        session: &'s mut Session,
        prompt: &Prompt,
        params: &GenerateParams,
    ) -> Result<Self, Error> {
        let called = Instant::now();
        let name = session.model().name().to_owned();
        let request = match prompt {
            Prompt::Chat(_) => Request::chat(name.as_str()),
            Prompt::Text(_) => Request::completion(name.as_str()),
        };
        let mut inference = session.model().genai().begin(sampler::describe(request, params));
        if inference.captures_content() {
            inference.input_messages(&messages(prompt));
        }
        let mut generation = Generation {
            text: String::new(),
            bytes: Vec::new(),
            usage: TokenUsage::default(),
            finish: FinishReason::Length,
            stop_text: None,
            timings: Timings::default(),
        };
        let prepared = prepare(session, prompt, params).and_then(|(tokens, sampler)| {
            let computed = prefill(session, &mut inference, &mut generation, &tokens, params);
            computed.map(|()| (tokens.len(), sampler))
        });
        let (prompt_tokens, sampler) = match prepared {
            Ok(prepared) => prepared,
            Err(error) => {
                inference.usage(generation.usage);
                inference.fail(error.failure());
                return Err(error);
            }
        };
        let fit = (session.context_size() - prompt_tokens) as u64 + 1;
        Ok(Self {
            inference: Some(inference),
            sampler,
            text: TextStream::new(&params.stop),
            pending: None,
            // One more than positions are left: the last token is drawn and never computed.
            room: params.max_tokens.map_or(fit, |most| fit.min(most.into())),
            ignore_end: params.ignore_end,
            cancel: params.cancel.clone(),
            called,
            first: None,
            generation,
            session,
        })
    }

    /// What has come so far; the whole once the iterator has ended.
    pub fn generation(&self) -> &Generation {
        &self.generation
    }

    /// Takes what has come. An answer that has not ended is cancelled.
    pub fn into_generation(mut self) -> Generation {
        if self.inference.is_some() {
            return self.cancel();
        }
        self.result()
    }

    /// Ends the answer here, with what has come.
    pub fn cancel(mut self) -> Generation {
        let mut rest = String::new();
        self.end(FinishReason::Cancelled, &mut rest);
        self.result()
    }

    fn result(&mut self) -> Generation {
        let empty = Generation {
            text: String::new(),
            bytes: Vec::new(),
            usage: TokenUsage::default(),
            finish: self.generation.finish,
            stop_text: None,
            timings: Timings::default(),
        };
        std::mem::replace(&mut self.generation, empty)
    }

    fn step(&mut self) -> Result<Piece, Error> {
        let mut piece = Piece { token: None, text: String::new() };
        if self.cancel.as_ref().is_some_and(Cancel::is_cancelled) {
            self.end(FinishReason::Cancelled, &mut piece.text);
            return Ok(piece);
        }
        let output = self.generation.usage.output.unwrap_or(0);
        if output >= self.room {
            self.end(FinishReason::Length, &mut piece.text);
            return Ok(piece);
        }
        if let Some(token) = self.pending.take() {
            self.session.compute(&[token], true)?;
        }
        let Some(token) = self.session.sample(&mut self.sampler) else {
            return Err(Error::Decode { code: -1 });
        };
        let now = Instant::now();
        if let Some(inference) = &mut self.inference {
            inference.token();
        }
        let first = *self.first.get_or_insert(now);
        self.generation.usage.output = Some(output + 1);
        self.generation.timings.first_token = Some(first - self.called);
        self.generation.timings.decode = now - first;
        self.pending = Some(token);
        piece.token = Some(token.0);

        let ended = !self.ignore_end && self.session.model().llama().vocab().is_eog(token);
        if ended {
            self.end(FinishReason::End, &mut piece.text);
            return Ok(piece);
        }
        let bytes = self.session.model().llama().vocab().token_to_piece(token, false, None);
        self.generation.bytes.extend_from_slice(&bytes);
        self.text.push(&bytes, &mut piece.text);
        self.generation.text.push_str(&piece.text);
        if self.text.stopped().is_some() {
            self.end(FinishReason::StopText, &mut piece.text);
        } else if output + 1 >= self.room {
            self.end(FinishReason::Length, &mut piece.text);
        }
        Ok(piece)
    }

    /// Ends the inference. What was held back is added to `text`.
    fn end(&mut self, reason: FinishReason, text: &mut String) {
        let Some(mut inference) = self.inference.take() else { return };
        let mut rest = String::new();
        self.text.end(&mut rest);
        self.generation.text.push_str(&rest);
        text.push_str(&rest);
        self.generation.finish = reason;
        self.generation.stop_text = self.text.stopped().map(str::to_owned);
        inference.usage(self.generation.usage);
        inference.response_model(self.session.model().name());
        if inference.captures_content() {
            let answer = Message::assistant(self.generation.text.clone()).finish_reason(reason.as_str());
            inference.output_messages(&[answer]);
        }
        if reason == FinishReason::Cancelled {
            inference.fail("cancelled");
        } else {
            inference.finish_reason(reason.as_str());
            inference.finish();
        }
    }
}

impl Iterator for Tokens<'_> {
    type Item = Result<Piece, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        self.inference.as_ref()?;
        match self.step() {
            // The end came without a token and nothing was held back.
            Ok(piece) if piece.token.is_none() && piece.text.is_empty() => None,
            Ok(piece) => Some(Ok(piece)),
            Err(error) => {
                if let Some(mut inference) = self.inference.take() {
                    inference.usage(self.generation.usage);
                    inference.fail(error.failure());
                }
                Some(Err(error))
            }
        }
    }
}

impl Drop for Tokens<'_> {
    fn drop(&mut self) {
        // The inference's own drop ends it; what was counted is told before.
        if let Some(inference) = &mut self.inference {
            inference.usage(self.generation.usage);
        }
    }
}

/// Tokens and sampler, before anything is computed.
fn prepare(
    session: &Session,
    prompt: &Prompt,
    params: &GenerateParams,
) -> Result<(Vec<LlamaToken>, LlamaSampler), Error> {
    let tokens = session.model().tokens(prompt)?;
    if tokens.is_empty() {
        return Err(Error::EmptyPrompt);
    }
    let context = session.context_size();
    if tokens.len() > context {
        return Err(Error::ContextExceeded { tokens: tokens.len(), context });
    }
    let sampler = sampler::chain(session.model().llama(), params, &tokens)?;
    Ok((tokens, sampler))
}

/// Computes what is not cached of a prompt.
fn prefill(
    session: &mut Session,
    inference: &mut Inference,
    generation: &mut Generation,
    tokens: &[LlamaToken],
    params: &GenerateParams,
) -> Result<(), Error> {
    let reused = session.reuse(tokens);
    let usage = &mut generation.usage;
    (usage.fresh, usage.cache_read, usage.output) = (Some(0), Some(reused as u64), Some(0));
    let begin = Instant::now();
    let size = session.batch_size();
    while session.cached() < tokens.len() {
        if params.cancel.as_ref().is_some_and(Cancel::is_cancelled) {
            // The first step ends the answer.
            break;
        }
        let at = session.cached();
        let chunk = &tokens[at..tokens.len().min(at + size)];
        session.compute(chunk, at + chunk.len() == tokens.len())?;
        let count = chunk.len() as u64;
        inference.prompted(count);
        generation.usage.fresh = generation.usage.fresh.map(|fresh| fresh + count);
        generation.timings.prompt = begin.elapsed();
    }
    Ok(())
}

fn messages(prompt: &Prompt) -> Vec<Message> {
    match prompt {
        Prompt::Text(text) => vec![Message::user(text.clone())],
        Prompt::Chat(messages) => {
            let message = |role: &str, text: &str| Message::new(role.to_owned(), Part::Text(text.to_owned()));
            messages.iter().map(|one| message(&one.role, &one.content)).collect()
        }
    }
}
