//! What an answer said of itself, gathered over its pieces, and handed to the inference once.

use serde::Deserialize;
use wattspan_core::TokenUsage;
use wattspan_genai::Inference;

use crate::answer::{ChatAnswer, Chunk};
use crate::timings::Timings;
use crate::wire::Usage;

/// Counts, reasons and names so far. Counts in later pieces replace earlier ones (servers send totals, not
/// differences), and an absent one replaces nothing.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    prompt: Option<u64>,
    cached: Option<u64>,
    cache_write: Option<u64>,
    output: Option<u64>,
    reasoning: Option<u64>,
    /// The prompt's count is without the cached tokens, as Anthropic's is.
    prompt_is_fresh: bool,
    pub(crate) timings: Option<Timings>,
    reasons: Vec<(u32, String)>,
    pub(crate) id: Option<String>,
    pub(crate) model: Option<String>,
    /// Embeddings and rerank may well have an empty prompt; a generation may not.
    pub(crate) may_be_empty: bool,
    /// The answer as far as it came, only for programs that record it.
    content: Option<Box<ChatAnswer>>,
}

/// Anthropic's `usage`, as llama-server's `/v1/messages` has it.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default)]
#[allow(clippy::struct_field_names)] // The wire's names.
pub(crate) struct MessagesUsage {
    input_tokens: Option<u64>,
    output_tokens: Option<u64>,
    cache_read_input_tokens: Option<u64>,
    cache_creation_input_tokens: Option<u64>,
}

impl Tally {
    /// Of a route without output.
    pub(crate) fn encoding(model: Option<String>, usage: Option<Usage>) -> Self {
        let mut tally = Self { model, may_be_empty: true, ..Self::default() };
        if let Some(usage) = usage {
            tally.usage(usage);
        }
        tally
    }

    /// Keeps a whole answer for an inference that records it.
    pub(crate) fn keep(&mut self, answer: &ChatAnswer) {
        self.content = Some(Box::new(answer.clone()));
    }

    /// Of a whole answer.
    pub(crate) fn whole(answer: &ChatAnswer, usage: Option<Usage>) -> Self {
        let (id, model) = (answer.id.clone(), answer.model.clone());
        let mut tally = Self { timings: answer.timings, id, model, ..Self::default() };
        if let Some(usage) = usage {
            tally.usage(usage);
        }
        for choice in &answer.choices {
            if let Some(reason) = &choice.finish_reason {
                tally.finish_reason(choice.index, reason.clone());
            }
        }
        tally
    }

    pub(crate) fn usage(&mut self, usage: Usage) {
        self.prompt = usage.prompt_tokens.or(self.prompt);
        self.output = usage.completion_tokens.or(self.output);
        self.cached = usage.prompt_tokens_details.and_then(|details| details.cached_tokens).or(self.cached);
        let details = usage.completion_tokens_details;
        self.reasoning = details.and_then(|details| details.reasoning_tokens).or(self.reasoning);
    }

    pub(crate) fn messages_usage(&mut self, usage: MessagesUsage) {
        self.prompt_is_fresh = true;
        self.prompt = usage.input_tokens.or(self.prompt);
        self.output = usage.output_tokens.or(self.output);
        self.cached = usage.cache_read_input_tokens.or(self.cached);
        self.cache_write = usage.cache_creation_input_tokens.or(self.cache_write);
    }

    pub(crate) fn finish_reason(&mut self, index: u32, reason: String) {
        match self.reasons.iter_mut().find(|(of, _)| *of == index) {
            Some((_, kept)) => *kept = reason,
            None => self.reasons.push((index, reason)),
        }
    }

    /// Takes a chunk's facts and marks its tokens. Names are copied from the first chunk only: they are in each.
    pub(crate) fn chunk(&mut self, chunk: &Chunk, usage: Option<Usage>, inference: &mut Inference) {
        let mut outputs = 0;
        for choice in &chunk.choices {
            outputs += u64::from(choice.is_output());
            if let Some(reason) = &choice.finish_reason {
                self.finish_reason(choice.index, reason.clone());
            }
        }
        if outputs > 0 {
            inference.tokens(outputs);
        } else if chunk.choices.iter().any(|choice| choice.finish_reason.is_none()) {
            // The role of a chat, or the progress of its prompt.
            inference.chunk();
        }
        if inference.captures_content() {
            self.content.get_or_insert_default().grow(chunk.clone());
        }
        if self.id.is_none() {
            self.id.clone_from(&chunk.id);
        }
        if self.model.is_none() {
            self.model.clone_from(&chunk.model);
        }
        if let Some(usage) = usage {
            self.usage(usage);
        }
        self.timings = chunk.timings.or(self.timings);
    }

    /// Whether every choice seen has ended.
    pub(crate) fn has_ended(&self) -> bool {
        !self.reasons.is_empty()
    }

    /// Disjoint token buckets. llama.cpp's timings are the count of the machine that did the work and win.
    pub(crate) fn tokens(&self) -> TokenUsage {
        let mut tokens = TokenUsage::default();
        if !self.input_is_suspect() {
            tokens.cache_read = self.cached;
            tokens.cache_write = self.cache_write;
            tokens.fresh = if self.prompt_is_fresh {
                self.prompt
            } else {
                let elsewhere = self.cached.unwrap_or(0).saturating_add(self.cache_write.unwrap_or(0));
                self.prompt.map(|all| all.saturating_sub(elsewhere))
            };
        }
        tokens.output = self.output;
        tokens.reasoning = self.reasoning;
        if let Some(timings) = self.timings {
            if timings.input().is_some_and(|input| input > 0) {
                tokens.cache_read = timings.cache_n;
                tokens.fresh = timings.prompt_n;
            }
            tokens.output = timings.predicted_n.or(tokens.output);
            tokens.draft = timings.draft_n;
            tokens.draft_accepted = timings.draft_n_accepted;
        }
        tokens
    }

    /// A generation cannot have an empty prompt: a reported 0 means that the server did not count.
    pub(crate) fn input_is_suspect(&self) -> bool {
        let parts = [self.prompt, self.cached, self.cache_write];
        let reported = parts.iter().any(Option::is_some);
        let counted = parts.into_iter().flatten().any(|count| count > 0);
        let timed = self.timings.and_then(|timings| timings.input()).is_some_and(|input| input > 0);
        reported && !counted && !timed && !self.may_be_empty
    }

    /// Hands over what is known. Once, before the inference ends, well or badly.
    pub(crate) fn apply(&mut self, inference: &mut Inference) {
        if self.input_is_suspect() {
            tracing::warn!("the server counted no prompt tokens for a prompt: its input is taken as unknown");
        }
        inference.usage(self.tokens());
        if let Some(timings) = self.timings {
            inference.phases(timings.phases());
        }
        if let Some(answer) = self.content.take() {
            crate::content::record_output(&answer, inference);
        }
        self.reasons.sort_by_key(|(index, _)| *index);
        for (_, reason) in self.reasons.drain(..) {
            inference.finish_reason(reason);
        }
        if let Some(id) = self.id.take() {
            inference.response_id(id);
        }
        if let Some(model) = self.model.take() {
            inference.response_model(model);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn openai(usages: &[&str]) -> Tally {
        let mut tally = Tally::default();
        for usage in usages {
            tally.usage(serde_json::from_str(usage).unwrap());
        }
        tally
    }

    fn anthropic(usages: &[&str]) -> Tally {
        let mut tally = Tally::default();
        for usage in usages {
            tally.messages_usage(serde_json::from_str(usage).unwrap());
        }
        tally
    }

    #[test]
    fn case_semconv_01_input_includes_cached_tokens_however_the_server_counts() {
        let a = openai(&[r#"{"prompt_tokens":100,"prompt_tokens_details":{"cached_tokens":75}}"#]).tokens();
        assert_eq!((a.input(), a.cache_read, a.fresh), (Some(100), Some(75), Some(25)));
        let b = anthropic(&[
            r#"{"input_tokens":100,"cache_read_input_tokens":75,"cache_creation_input_tokens":20}"#,
        ]);
        assert_eq!(
            (b.tokens().input(), b.tokens().cache_read, b.tokens().cache_write),
            (Some(195), Some(75), Some(20))
        );
    }

    #[test]
    fn case_tokens_07_timings_win_over_usage() {
        let mut tally = openai(&[r#"{"prompt_tokens":1,"completion_tokens":35}"#]);
        tally.timings = serde_json::from_str(r#"{"cache_n":236,"prompt_n":1,"predicted_n":35}"#).unwrap();
        let tokens = tally.tokens();
        assert_eq!(
            (tokens.input(), tokens.cache_read, tokens.fresh, tokens.output),
            (Some(237), Some(236), Some(1), Some(35))
        );
    }

    #[test]
    fn case_tokens_09_no_prompt_tokens_for_a_prompt_is_unknown() {
        let tally = openai(&[r#"{"prompt_tokens":0,"completion_tokens":39,"total_tokens":39}"#]);
        assert!(tally.input_is_suspect());
        assert_eq!((tally.tokens().input(), tally.tokens().output), (None, Some(39)));
    }

    #[test]
    fn an_empty_text_may_be_embedded() {
        let tally = Tally { may_be_empty: true, ..openai(&[r#"{"prompt_tokens":0,"total_tokens":0}"#]) };
        assert_eq!((tally.input_is_suspect(), tally.tokens().input()), (false, Some(0)));
    }

    #[test]
    fn case_streaming_04_later_counts_replace_earlier_ones() {
        let tokens =
            anthropic(&[r#"{"input_tokens":25,"output_tokens":1}"#, r#"{"output_tokens":15}"#]).tokens();
        assert_eq!((tokens.input(), tokens.output), (Some(25), Some(15)));
    }

    #[test]
    fn case_streaming_06_null_erases_nothing() {
        let tally = anthropic(&[
            r#"{"input_tokens":412,"output_tokens":2}"#,
            r#"{"input_tokens":null,"output_tokens":89}"#,
        ]);
        assert_eq!((tally.tokens().input(), tally.tokens().output), (Some(412), Some(89)));
    }

    #[test]
    fn nothing_reported_is_absent() {
        let tally = Tally::default();
        assert!(!tally.input_is_suspect());
        assert_eq!(tally.tokens(), TokenUsage::default());
    }
}
