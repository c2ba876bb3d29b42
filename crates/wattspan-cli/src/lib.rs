//! The `wattspan` program as a library: its JSON-lines sink, and its whole command line as one call.
//!
//! Use [`JsonLines`] to write samples and inferences as lines of JSON from a program of your own. To measure a program
//! from inside, take the facade `wattspan`; to measure a command from outside, install this crate and run
//! `wattspan run -- COMMAND`.
//!
//! ```
//! use std::sync::Arc;
//! use std::time::SystemTime;
//! use wattspan::core::{Device, DeviceId, DeviceKind, DeviceSample, MonoTime, Reading, SampleSink, SampleTick, Vendor};
//! use wattspan_cli::JsonLines;
//!
//! let device = Device::new(DeviceId::new("GPU-1"), DeviceKind::Gpu, Vendor::Nvidia, "a GPU without a power sensor");
//! let mut sample = DeviceSample::new(Arc::new(device), MonoTime::ZERO);
//! sample.gauges.temperature = Reading::Value(wattspan::core::Celsius::whole(44));
//!
//! let lines = JsonLines::new(Vec::new());
//! lines.sampled(&SampleTick::new(MonoTime::ZERO, SystemTime::UNIX_EPOCH, &[sample], &[]));
//! let text = String::from_utf8(lines.into_inner().unwrap()).unwrap();
//! assert!(text.contains(r#""temperature_celsius":44.0"#) && text.contains(r#""power_watts":null"#), "{text}");
//! ```
//!
//! # Limits
//! On Unix SIGINT, SIGTERM and SIGHUP are passed on to the measured command; on Windows the console does that itself.
//!
//! # Features
//! `llama-cpp`: `wattspan eval --provider llama-cpp` runs a GGUF file in this process. It builds llama.cpp, with cmake and a
//! C++ compiler.

/// The code of the program's page, compiled.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/cli.md")]
struct Page;

mod args;
mod bars;
mod child;
mod devices;
mod doctor;
mod endpoint;
mod estimate;
mod eval;
mod exit;
mod export;
mod figures;
mod json_lines;
mod output;
mod report;
mod result;
mod run;
mod settings;
mod signals;
mod validate;
mod watch;

pub use args::main;
pub use json_lines::JsonLines;
