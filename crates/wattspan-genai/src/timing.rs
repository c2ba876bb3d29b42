//! Times: those that the caller's clock saw, and those that a server reports of itself.

use std::time::Duration;

use wattspan_core::{LatePhases, MonoTime};

/// What a model server says of its own times. Only these make the `gen_ai.server.*` histograms.
///
/// **Absent** a time that the server does not report.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ServerTimings {
    /// From the arrival of the request to its last byte.
    pub request: Option<Duration>,
    /// From the arrival of the request to the first token: queue and prefill.
    pub first_token: Option<Duration>,
    /// Per output token after the first.
    pub per_output_token: Option<Duration>,
}

impl ServerTimings {
    /// From the phases of a server that reports prefill and decode, such as llama-server's `timings`. It says nothing of
    /// the queue, so that the first token and the request count from the start of the prefill.
    pub fn from_phases(phases: &LatePhases) -> Self {
        let per_output_token = match (phases.decode, phases.decode_steps) {
            (Some(decode), Some(steps)) if steps > 0 => {
                Some(Duration::from_secs_f64(decode.as_secs_f64() / steps as f64))
            }
            _ => None,
        };
        let request = match (phases.prompt, phases.decode) {
            (Some(prompt), Some(decode)) => Some(prompt.saturating_add(decode)),
            _ => None,
        };
        Self { request, first_token: phases.prompt, per_output_token }
    }

    /// Sets the time of the whole request.
    pub fn request(mut self, took: Duration) -> Self {
        self.request = Some(took);
        self
    }

    /// Sets the time to the first token.
    pub fn first_token(mut self, took: Duration) -> Self {
        self.first_token = Some(took);
        self
    }

    /// Sets the time per output token after the first.
    pub fn per_output_token(mut self, took: Duration) -> Self {
        self.per_output_token = Some(took);
        self
    }
}

/// What the caller's clock saw of an inference so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Timing {
    /// To the first chunk of any kind, such as one that only names the role.
    pub first_chunk: Option<Duration>,
    /// To the first chunk with output.
    pub first_token: Option<Duration>,
    /// Between the first and the last chunk with output, per output token after the first. **Absent** while the number
    /// of output tokens is not known, and for fewer than two.
    pub per_output_token: Option<Duration>,
    /// Since the begin.
    pub total: Duration,
}

/// Marks of the caller's clock.
#[derive(Debug, Default)]
pub(crate) struct Marks {
    pub(crate) first_chunk: Option<MonoTime>,
    pub(crate) last_chunk: Option<MonoTime>,
    pub(crate) last_output: Option<MonoTime>,
    /// Nanoseconds between chunks, recorded when the inference settles: a histogram costs more than a token may.
    pub(crate) intervals: Vec<u64>,
}

/// Intervals kept before they are recorded early: half a megabyte.
pub(crate) const MAX_INTERVALS: usize = 65_536;

/// Room for a short answer: half a kilobyte, which allocators keep at hand.
const FIRST_INTERVALS: usize = 64;

impl Marks {
    /// A chunk has come. `keep` tells whether the time between chunks is wanted.
    pub(crate) fn chunk(&mut self, now: MonoTime, keep: bool) {
        self.first_chunk.get_or_insert(now);
        if let Some(last) = self.last_chunk.filter(|_| keep) {
            if self.intervals.is_empty() {
                self.intervals.reserve(FIRST_INTERVALS);
            }
            self.intervals.push(now.nanos().saturating_sub(last.nanos()));
        }
        self.last_chunk = Some(now);
    }

    pub(crate) fn join(&mut self, inner: Self) {
        if self.first_chunk.is_none() {
            *self = inner;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phases_without_a_part_leave_it_out() {
        let mut phases = LatePhases::default();
        assert_eq!(ServerTimings::from_phases(&phases), ServerTimings::default());
        // Figures of a llama-server answer: prompt_ms 30.958, predicted_n 35, predicted_ms 661.064.
        phases.prompt = Some(Duration::from_micros(30_958));
        phases.decode = Some(Duration::from_micros(661_064));
        phases.decode_steps = Some(35);
        let timings = ServerTimings::from_phases(&phases);
        assert_eq!(timings.first_token, Some(Duration::from_micros(30_958)));
        assert_eq!(timings.request, Some(Duration::from_micros(692_022)));
        // 35 / 0.661064 s = 52.945 tokens a second.
        let rate = 1.0 / timings.per_output_token.map_or(0.0, |step| step.as_secs_f64());
        assert!((rate - 52.945).abs() < 0.001, "{rate}");
        phases.decode_steps = Some(0);
        assert_eq!(ServerTimings::from_phases(&phases).per_output_token, None);
    }
}
