//! What every inference of a local language model did, used and cost, as OpenTelemetry GenAI spans and metrics.
//!
//! Embed this crate to measure a program. To write a collector, a sink or a client of your own, depend on
//! `wattspan-core` and the one crate you need.
//!
//! ```
//! use std::time::Duration;
//! use wattspan::{Wattspan, genai::Request};
//!
//! // `from_env()` also takes `OTEL_*` and `WATTSPAN_*`; with an OTLP endpoint, spans and metrics are sent there.
//! let wattspan = Wattspan::builder().service("my-app", "1.0").country("FR").not_global().start()?;
//!
//! let genai = wattspan.genai("llama_cpp");
//! let mut inference = genai.begin(Request::chat("SmolLM2-135M"));
//! inference.token(); // for each token
//! inference.finish(); // never waits: energy is settled later, on another thread
//!
//! wattspan.flush(Duration::from_secs(5));
//! # Ok::<(), wattspan::StartError>(())
//! ```
//!
//! # Limits
//! Energy is measured where a sensor can be read, and estimated and labelled where none can; see
//! [`Wattspan::capabilities`]. Figures of a remote server's energy are absent: run wattspan beside that server.
//!
//! # Features
//! By default `nvidia`, `host` and `carbon`, which need nothing at build time. The others are in `docs/features.md`.

/// The code of the README, compiled.
#[cfg(all(doctest, feature = "llama-server", feature = "otel"))]
#[doc = include_str!("../../../README.md")]
struct Readme;

mod builder;
mod collectors;
mod config;
mod estimate;
mod prices;
mod running;
mod scope;
mod settings;
mod setup;

pub use builder::{StartError, WattspanBuilder};
pub use collectors::{Collectors, Finding, Outcome};
pub use config::{Config, ConfigError, Origin};
pub use running::{Wattspan, global};
pub use settings::Setting;

pub use wattspan_core as core;
pub use wattspan_energy as energy;
pub use wattspan_genai as genai;
pub use wattspan_monitor as monitor;
pub use wattspan_semconv as semconv;

#[cfg(feature = "amd")]
pub use wattspan_amd as amd;
#[cfg(feature = "apple")]
pub use wattspan_apple as apple;
#[cfg(feature = "carbon")]
pub use wattspan_carbon as carbon;
#[cfg(feature = "dataset")]
pub use wattspan_dataset as dataset;
#[cfg(feature = "eval")]
pub use wattspan_eval as eval;
#[cfg(feature = "host")]
pub use wattspan_host as host;
#[cfg(feature = "hub")]
pub use wattspan_hub as hub;
#[cfg(feature = "llama-cpp")]
pub use wattspan_llama_cpp as llama_cpp;
#[cfg(feature = "llama-server")]
pub use wattspan_llama_server as llama_server;
#[cfg(feature = "nvidia")]
pub use wattspan_nvidia as nvidia;
#[cfg(feature = "opensearch")]
pub use wattspan_opensearch as opensearch;
#[cfg(feature = "otel")]
pub use wattspan_otel as otel;
#[cfg(feature = "report")]
pub use wattspan_report as report;
