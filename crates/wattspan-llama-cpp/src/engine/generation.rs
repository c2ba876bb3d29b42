//! What came of a generation.

use std::time::Duration;

use wattspan_core::TokenUsage;

/// A step of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Piece {
    /// The token. **Absent** on what was held back until the end and belongs to no further token.
    pub token: Option<i32>,
    /// Text that has become certain. Empty while a character or a possible stop text is incomplete.
    pub text: String,
}

/// Why an answer ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FinishReason {
    /// The model ended it.
    End,
    /// A stop text came.
    StopText,
    /// The most tokens asked for, or all that fit, have come.
    Length,
    /// The caller ended it.
    Cancelled,
}

impl FinishReason {
    /// The value in `gen_ai.response.finish_reasons`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::End | Self::StopText => "stop",
            Self::Length => "length",
            Self::Cancelled => "cancelled",
        }
    }
}

/// Times by this process's own clock, stopped when the computation was really done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Timings {
    /// Computing the part of the prompt that was not cached.
    pub prompt: Duration,
    /// From the call to the first token. **Absent** without tokens.
    pub first_token: Option<Duration>,
    /// From the first token to the last.
    pub decode: Duration,
}

/// An answer.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Generation {
    /// Its text, without the stop text. Bytes that are no UTF-8 are U+FFFD here.
    pub text: String,
    /// The exact bytes of all its tokens, with a stop text and what came with it.
    pub bytes: Vec<u8>,
    /// Tokens. The one with which a model ends its answer is counted: it was computed.
    pub usage: TokenUsage,
    /// Why it ended.
    pub finish: FinishReason,
    /// The stop text that was found.
    pub stop_text: Option<String>,
    /// Times.
    pub timings: Timings,
}

impl Generation {
    /// Prompt tokens computed per second. **Absent** when all were cached.
    pub fn prompt_rate(&self) -> Option<f64> {
        rate(self.usage.fresh.unwrap_or(0), self.timings.prompt)
    }

    /// Tokens per second after the first one. **Absent** with fewer than two tokens.
    pub fn token_rate(&self) -> Option<f64> {
        rate(self.usage.output.unwrap_or(0).saturating_sub(1), self.timings.decode)
    }
}

fn rate(tokens: u64, time: Duration) -> Option<f64> {
    (tokens > 0 && !time.is_zero()).then(|| tokens as f64 / time.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_without_tokens_or_time_is_absent() {
        assert_eq!(rate(0, Duration::from_secs(1)), None);
        assert_eq!(rate(1, Duration::ZERO), None);
        assert_eq!(rate(3, Duration::from_millis(1_500)), Some(2.0));
    }
}
