//! One inference: what was asked, what came back, what it took.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};

use crate::{Cost, DeviceId, Emissions, InferenceEnergy, MonoTime};

/// Names an inference inside one process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct InferenceId(u64);

impl InferenceId {
    /// From a number that the observer has not used before.
    pub const fn new(id: u64) -> Self {
        Self(id)
    }

    /// The number.
    pub const fn number(self) -> u64 {
        self.0
    }
}

/// Names a run: the same id means the same run, also after a restart.
///
/// **Range** 1 to 128 characters of `A–Z a–z 0–9 . _ -`, since it becomes part of file and index names.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct RunId(Arc<str>);

/// A run id that cannot be part of a file name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("run id {0:?} is not usable: take 1 to 128 letters, digits, dots, underscores or hyphens")]
pub struct InvalidRunId(String);

impl RunId {
    /// Checks and wraps an id.
    ///
    /// # Errors
    /// When it is empty, too long, or has a character that file and index names may not have.
    pub fn new(id: impl Into<String>) -> Result<Self, InvalidRunId> {
        let id = id.into();
        let fits = (1..=128).contains(&id.len())
            && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-'));
        if fits { Ok(Self(id.into())) } else { Err(InvalidRunId(id)) }
    }

    /// The id.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for RunId {
    type Error = InvalidRunId;
    fn try_from(id: String) -> Result<Self, InvalidRunId> {
        Self::new(id)
    }
}

impl From<RunId> for String {
    fn from(id: RunId) -> Self {
        id.0.as_ref().to_owned()
    }
}

impl fmt::Display for RunId {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

/// Place in a trace, in W3C trace-context terms.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TraceRef {
    /// Trace id.
    pub trace_id: [u8; 16],
    /// Span id.
    pub span_id: [u8; 8],
    /// Whether the span is sampled, and so exported.
    pub sampled: bool,
}

impl TraceRef {
    /// The trace id as 32 lower-case hexadecimal digits.
    pub fn trace_hex(&self) -> String {
        hex(&self.trace_id)
    }

    /// The span id as 16 lower-case hexadecimal digits.
    pub fn span_hex(&self) -> String {
        hex(&self.span_id)
    }
}

fn hex(bytes: &[u8]) -> String {
    use fmt::Write as _;
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// Where an inference runs, which decides whether this machine's devices are charged for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Locality {
    /// In this process.
    InProcess,
    /// In another process of this machine: a server on loopback or a Unix socket.
    LocalServer {
        /// Its process, where it was found by its port.
        pid: Option<u32>,
    },
    /// Not on this machine: its energy is absent here.
    Remote,
}

impl Locality {
    /// Whether this machine's devices are charged.
    pub const fn is_local(self) -> bool {
        matches!(self, Self::InProcess | Self::LocalServer { .. })
    }
}

/// Which devices an inference may use.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum DeviceScope {
    /// All counted devices of the machine.
    #[default]
    All,
    /// These, and all devices that are not GPUs.
    Gpus(Arc<[DeviceId]>),
    /// These only.
    Only(Arc<[DeviceId]>),
}

/// What kind of work an inference is, for sharing energy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Workload {
    /// Prompt in, tokens out.
    Generation,
    /// Input tokens only: embeddings, rerank.
    Encoding,
    /// Loading or warming up a model: an operation of its own.
    Load,
}

/// What is known when an inference begins.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Begin {
    /// When, on the monotonic clock.
    pub time: MonoTime,
    /// The same moment on the wall clock, as a label.
    pub wall: SystemTime,
    /// `gen_ai.operation.name`.
    pub operation: Cow<'static, str>,
    /// `gen_ai.provider.name`.
    pub provider: Arc<str>,
    /// `gen_ai.request.model`.
    pub model: Option<Arc<str>>,
    /// What kind of work.
    pub workload: Workload,
    /// Where it runs.
    pub locality: Locality,
    /// Which devices it may use.
    pub devices: DeviceScope,
}

impl Begin {
    /// A generation in this process on all devices; set the public fields for the rest.
    pub fn new(
        time: MonoTime,
        wall: SystemTime,
        operation: impl Into<Cow<'static, str>>,
        provider: impl Into<Arc<str>>,
    ) -> Self {
        Self {
            time,
            wall,
            operation: operation.into(),
            provider: provider.into(),
            model: None,
            workload: Workload::Generation,
            locality: Locality::InProcess,
            devices: DeviceScope::All,
        }
    }
}

/// Tokens in disjoint buckets, so that none is counted or priced twice.
///
/// Input is fresh + cache-read + cache-write. Output includes reasoning. A bucket that nobody reported is `None`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct TokenUsage {
    /// Prompt tokens that were computed and not written to a cache that is billed.
    pub fresh: Option<u64>,
    /// Prompt tokens taken from a cache.
    pub cache_read: Option<u64>,
    /// Prompt tokens computed and written to a cache.
    pub cache_write: Option<u64>,
    /// Tokens emitted, reasoning included.
    pub output: Option<u64>,
    /// Part of `output` that is reasoning.
    pub reasoning: Option<u64>,
    /// Tokens that a draft model proposed (speculative decoding).
    pub draft: Option<u64>,
    /// Part of `draft` that was accepted.
    pub draft_accepted: Option<u64>,
}

impl TokenUsage {
    /// All input tokens; `None` when no input bucket is known.
    pub fn input(&self) -> Option<u64> {
        let buckets = [self.fresh, self.cache_read, self.cache_write];
        buckets.iter().any(Option::is_some).then(|| buckets.into_iter().flatten().sum())
    }

    /// Prompt tokens that cost computation: fresh and cache-write.
    pub fn computed(&self) -> Option<u64> {
        match (self.fresh, self.cache_write) {
            (None, None) => None,
            (fresh, write) => Some(fresh.unwrap_or(0) + write.unwrap_or(0)),
        }
    }
}

/// Phases that a server reports at the end; the ledger spreads them over the time they took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct LatePhases {
    /// Prompt tokens computed.
    pub prompt_tokens: Option<u64>,
    /// Time that took.
    pub prompt: Option<Duration>,
    /// Decode steps made.
    pub decode_steps: Option<u64>,
    /// Time they took.
    pub decode: Option<Duration>,
    /// Draft tokens worked on and draft tokens rejected, as extra work.
    pub draft_tokens: Option<u64>,
}

/// What came back.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Facts {
    /// Tokens.
    pub tokens: TokenUsage,
    /// When the first token came.
    pub first_token: Option<MonoTime>,
    /// Why generation stopped, per choice.
    pub finish_reasons: Vec<String>,
    /// Id of the response, as the server gave it.
    pub response_id: Option<String>,
    /// Model that answered.
    pub response_model: Option<String>,
    /// `error.type`; `None` on success.
    pub error_type: Option<Cow<'static, str>>,
    /// Conversation it belongs to.
    pub conversation_id: Option<String>,
    /// Where its span is.
    pub trace: Option<TraceRef>,
}

/// Why an inference was settled when it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum SettleReason {
    /// The reading that covers its end is in.
    Covered,
    /// The bound on the wait was reached first.
    TimedOut,
    /// The guard settled what was left at shutdown.
    Shutdown,
    /// There is no sensor that could cover it.
    NoSensor,
    /// It does not run on this machine.
    Remote,
    /// Nobody observes: energy is not measured in this program.
    NotObserved,
    /// More inferences were in flight or waiting than the observer keeps.
    Overload,
}

impl SettleReason {
    /// The value of `wattspan.settle.reason`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Covered => "covered",
            Self::TimedOut => "timed_out",
            Self::Shutdown => "shutdown",
            Self::NoSensor => "no_sensor",
            Self::Remote => "remote",
            Self::NotObserved => "not_observed",
            Self::Overload => "overload",
        }
    }
}

/// What an inference used and what that means. Each part is absent where it is not known.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Settlement {
    /// Energy.
    pub energy: Option<InferenceEnergy>,
    /// Emissions.
    pub emissions: Option<Emissions>,
    /// Cost.
    pub cost: Option<Cost>,
    /// Why it was settled when it was.
    pub reason: SettleReason,
}

impl Settlement {
    /// A settlement in which nothing is known, with the reason.
    pub const fn unknown(reason: SettleReason) -> Self {
        Self { energy: None, emissions: None, cost: None, reason }
    }
}

/// A finished and settled inference, as sinks get it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct InferenceRecord {
    /// Its id in this process.
    pub id: InferenceId,
    /// What was asked.
    pub begin: Begin,
    /// When it ended.
    pub end: MonoTime,
    /// What came back.
    pub facts: Facts,
    /// What it took.
    pub settlement: Settlement,
    /// The run it belongs to.
    pub run: Option<RunId>,
}

impl InferenceRecord {
    /// Puts the parts together.
    pub fn new(id: InferenceId, begin: Begin, end: MonoTime, facts: Facts, settlement: Settlement) -> Self {
        Self { id, begin, end, facts, settlement, run: None }
    }

    /// How long it took.
    pub fn duration(&self) -> Duration {
        self.end.since(self.begin.time)
    }

    /// Time to the first token.
    pub fn time_to_first_token(&self) -> Option<Duration> {
        self.facts.first_token.map(|first| first.since(self.begin.time))
    }

    /// Energy per emitted token, in joules; `None` without tokens or without energy.
    pub fn joules_per_output_token(&self) -> Option<f64> {
        let energy = self.settlement.energy.as_ref()?;
        let tokens = self.facts.tokens.output.filter(|tokens| *tokens > 0)?;
        Some(energy.total.joules() / tokens as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn case_tokens_01_cached_tokens_are_counted_once() {
        let usage = TokenUsage {
            fresh: Some(5),
            cache_read: Some(128_955),
            cache_write: Some(1_253),
            ..TokenUsage::default()
        };
        assert_eq!(usage.input(), Some(130_213));
    }

    #[test]
    fn a_usage_that_nobody_reported_is_absent() {
        assert_eq!(TokenUsage::default().input(), None);
        assert_eq!(TokenUsage::default().computed(), None);
    }

    #[test]
    fn run_ids_fit_into_file_names() {
        assert!(RunId::new("2026-12-01_run.1").is_ok());
        for bad in ["", "a/b", "a b", "ü"] {
            assert!(RunId::new(bad).is_err(), "{bad:?}");
        }
        assert!(serde_json::from_str::<RunId>("\"../x\"").is_err());
    }

    #[test]
    fn ids_are_lower_case_hexadecimal() {
        let place = TraceRef { trace_id: [0xAB; 16], span_id: [1; 8], sampled: true };
        assert_eq!(place.trace_hex(), "abababababababababababababababab");
        assert_eq!(place.span_hex(), "0101010101010101");
    }
}
