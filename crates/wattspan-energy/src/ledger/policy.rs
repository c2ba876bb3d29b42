//! How the draw above idle is shared among inferences that run side by side.

use std::borrow::Cow;
use std::fmt;
use std::time::Duration;

/// Work of one inference in a stretch of time.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Work {
    /// Prompt tokens computed (those from a cache cost nothing).
    pub prompt_tokens: f64,
    /// Decode steps made, positions that a speculative decoder verified and drafted among them.
    pub decode_steps: f64,
    /// Length of the stretch.
    pub duration: Duration,
}

impl Work {
    /// Puts the parts together.
    pub const fn new(prompt_tokens: f64, decode_steps: f64, duration: Duration) -> Self {
        Self { prompt_tokens, decode_steps, duration }
    }
}

/// Weighs the work of inferences against each other.
///
/// Called by the ledger for each inference in flight and interval: must not block. Only ratios of weights matter.
pub trait SharePolicy: Send + Sync + fmt::Debug {
    /// Name that goes with every figure, parameters included.
    fn name(&self) -> Cow<'static, str>;

    /// Weight of some work; `None` when it cannot be told, which counts as the mean of the others. Negative and
    /// non-finite weights count as not to be told.
    fn weight(&self, work: &Work) -> Option<f64>;
}

/// By tokens: `alpha` times the prompt tokens computed, plus decode steps.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ByTokens {
    /// Energy of a prompt token over that of a decode step; 1 unless calibrated for a model and device.
    pub alpha: f64,
}

impl Default for ByTokens {
    fn default() -> Self {
        Self { alpha: 1.0 }
    }
}

impl SharePolicy for ByTokens {
    fn name(&self) -> Cow<'static, str> {
        if self.alpha == 1.0 {
            Cow::Borrowed("tokens")
        } else {
            Cow::Owned(format!("tokens(alpha={})", self.alpha))
        }
    }

    fn weight(&self, work: &Work) -> Option<f64> {
        Some(self.alpha * work.prompt_tokens + work.decode_steps)
    }
}

/// In equal parts for equal time in flight.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ByTime;

impl SharePolicy for ByTime {
    fn name(&self) -> Cow<'static, str> {
        Cow::Borrowed("time")
    }

    fn weight(&self, _work: &Work) -> Option<f64> {
        None
    }
}
