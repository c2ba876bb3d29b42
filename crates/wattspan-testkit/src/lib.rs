//! Fakes, tapes, stub servers and conformance suites, for testing wattspan crates and implementations of its traits.
//!
//! Take it as a dev-dependency to test a collector, a source or a sink of your own; programs that measure take the
//! facade `wattspan`. It is not published, and nothing but tests may depend on it.
//!
//! ```
//! use wattspan_core::{Clock, Joules};
//! use wattspan_testkit::tape::{Event, Player, Tape};
//!
//! let tape = Tape::read(concat!(
//!     r#"{"wattspan_tape":1,"wall_unix_ms":1767225600000}"#, "\n",
//!     r#"{"event":"device","device":{"id":"GPU-0","kind":"gpu","vendor":"nvidia","name":"test"}}"#, "\n",
//!     r#"{"event":"sample","t_ns":0,"device":"GPU-0","energy":1000}"#, "\n",
//!     r#"{"event":"sample","t_ns":100000000,"device":"GPU-0","energy":{"failed":"lost"}}"#, "\n",
//! ))?;
//! let player = Player::new(&tape);
//! let clock = player.clock();
//! let mut seen = Vec::new();
//! player.play(|event| {
//!     if let Event::Sample(sample) = event {
//!         seen.push((clock.mono().nanos(), sample.energy.value()));
//!     }
//! });
//! assert_eq!(seen, [(0, Some(1000)), (100_000_000, None)]);
//! # Ok::<(), wattspan_testkit::tape::TapeError>(())
//! ```
//!
//! # Tapes
//! A tape is text: one JSON object per line, the first one its header. Blank lines are passed over.
//!
//! | line | fields |
//! | --- | --- |
//! | header | `wattspan_tape` (the version, 1), `wall_unix_ms` (wall clock at monotonic zero), `note`? |
//! | `"event":"device"` | `device`: a [`Device`](wattspan_core::Device) as serde writes it; comes before its samples |
//! | `"event":"sample"` | `t_ns`, `device` (id), and each reading that there is: `energy` (ticks), `power_watts`, `gauges` {…}, `processes` […] |
//! | `"event":"begin"` | `t_ns`, `inference` (number), `operation`, `provider`, `model`?, `workload`?, `locality`?, `devices`? |
//! | `"event":"prompted"` | `t_ns`, `inference`, `tokens` |
//! | `"event":"decoded"` | `t_ns`, `inference`, `steps` |
//! | `"event":"finish"` | `t_ns`, `inference`, `tokens`?, `phases`?, `first_token_ns`?, `finish_reasons`?, `response_id`?, `response_model`?, `error_type`?, `conversation_id`? |
//! | `"event":"give_up"` | `t_ns`, `inference`: dropped without an end |
//! | `"event":"wall_step"` | `t_ns`, `seconds`: the wall clock alone is moved |
//!
//! A reading that is missing or `null` is "not supported"; `{"denied":"…"}` and `{"failed":"…"}` carry their reason.
//! Gauges are named as the fields of [`Gauges`](wattspan_core::Gauges), with their unit where they have one:
//! `memory_used_bytes`, `temperature_celsius`, `clock_hertz`, `power_limit_watts`, `cpu_busy_ns`. A process has `pid`,
//! `memory_bytes`, `utilization` and `busy_ns`. `locality` is `"in_process"`, `"remote"` or `{"local_server":{"pid":1}}`;
//! `devices` is `{"gpus":["…"]}` or `{"only":["…"]}`, and all devices where it is missing. Events may stand in any order:
//! they are played by time, and those of one time in the order of the text.
//!
//! # Limits
//! Tapes hold times up to 584 years and no trace ids. The stub server speaks HTTP/1.1 without TLS and closes each
//! connection after its answer. Real peers (a llama-server, an OTLP receiver) are found, not installed: a missing one
//! fails the test and names `cargo xtask setup`.
//!
//! # Features
//! None.

pub mod conformance;
mod fakes;
mod http;
pub mod hub_stub;
mod llama_server;
pub mod neutral;
pub mod peers;
pub mod tape;
mod tree;

pub use fakes::{
    Closing, FakeCollector, FakeIntensity, FakePrices, MemoryDataset, NoOp, RecordingObserver,
    RecordingRecords, RecordingSamples, RecordingStats, SeenInference, SeenTick, TapeCollector,
};
pub use http::{Answer, Gate, StubRequest, StubServer};
pub use llama_server::{LlamaOptions, LlamaServer, LlamaServerError};
pub use tree::FakeTree;
