//! llama.cpp's own account of a request.

use std::time::Duration;

use serde::Deserialize;
use wattspan_core::LatePhases;

/// What a llama-server measured for one request: the `timings` of its answers.
///
/// **Absent** fields are those that the server did not send; another OpenAI-compatible server sends none at all.
/// **Source** llama.cpp, `tools/server`, `result_timings`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct Timings {
    /// Prompt tokens taken from the cache.
    pub cache_n: Option<u64>,
    /// Prompt tokens computed; the cached ones are not in it.
    pub prompt_n: Option<u64>,
    /// Time for the prompt, in milliseconds, without the wait for a slot.
    pub prompt_ms: Option<f64>,
    /// Tokens sampled, those of a matched stop word included.
    pub predicted_n: Option<u64>,
    /// Time from the end of the prompt to the last token, in milliseconds.
    pub predicted_ms: Option<f64>,
    /// Tokens that a draft model proposed. **Absent** without speculative decoding.
    pub draft_n: Option<u64>,
    /// Part of `draft_n` that was accepted.
    pub draft_n_accepted: Option<u64>,
}

impl Timings {
    /// All prompt tokens; `None` when the server reported neither part.
    pub fn input(&self) -> Option<u64> {
        match (self.cache_n, self.prompt_n) {
            (None, None) => None,
            (cached, computed) => Some(cached.unwrap_or(0).saturating_add(computed.unwrap_or(0))),
        }
    }

    /// Tokens in the context after the answer: prompt and output.
    pub fn context_used(&self) -> Option<u64> {
        Some(self.input()?.saturating_add(self.predicted_n?))
    }

    /// Prompt tokens computed per second, cached ones left out; `None` when none was computed or no time was taken.
    pub fn prompt_per_second(&self) -> Option<f64> {
        rate(self.prompt_n?, self.prompt_ms?)
    }

    /// Output tokens per second of decoding.
    ///
    /// **Absent** for a single token: it falls out of the prompt's computation, and llama.cpp reports 1 µs for it. The
    /// first token counts here; newer servers leave it out of the `predicted_per_second` that they send.
    pub fn predicted_per_second(&self) -> Option<f64> {
        let tokens = self.predicted_n.filter(|tokens| *tokens > 1)?;
        rate(tokens, self.predicted_ms?)
    }

    pub(crate) fn phases(&self) -> LatePhases {
        let mut phases = LatePhases::default();
        phases.prompt_tokens = self.prompt_n;
        phases.prompt = duration(self.prompt_ms);
        phases.decode_steps = self.predicted_n;
        phases.decode = duration(self.predicted_ms);
        phases.draft_tokens = self.draft_n;
        phases
    }
}

fn duration(millis: Option<f64>) -> Option<Duration> {
    millis.and_then(|millis| Duration::try_from_secs_f64(millis / 1e3).ok())
}

fn rate(tokens: u64, millis: f64) -> Option<f64> {
    (tokens > 0 && millis > 0.0).then(|| tokens as f64 / (millis / 1e3))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn timings(json: &str) -> Timings {
        serde_json::from_str(json).unwrap()
    }

    #[test]
    fn case_tokens_07_cached_and_computed_tokens_are_told_apart() {
        let warm = timings(
            r#"{"cache_n":236,"prompt_n":1,"prompt_ms":30.958,"predicted_n":35,"predicted_ms":661.064}"#,
        );
        assert_eq!((warm.input(), warm.context_used()), (Some(237), Some(272)));
        assert!((warm.predicted_per_second().unwrap() - 52.945).abs() < 0.0005);
        assert!((warm.prompt_per_second().unwrap() - 32.302).abs() < 0.0005);
    }

    #[test]
    fn rates_of_nothing_are_absent() {
        let one = timings(r#"{"prompt_n":0,"prompt_ms":0.0,"predicted_n":1,"predicted_ms":0.001}"#);
        assert_eq!((one.predicted_per_second(), one.prompt_per_second()), (None, None));
        assert_eq!(Timings::default().input(), None);
    }

    #[test]
    fn impossible_times_are_left_out_of_the_phases() {
        let odd = timings(r#"{"prompt_n":3,"prompt_ms":-1.0,"predicted_n":2,"predicted_ms":1e300}"#);
        assert_eq!((odd.phases().prompt, odd.phases().decode), (None, None));
        assert_eq!(odd.phases().prompt_tokens, Some(3));
    }
}
