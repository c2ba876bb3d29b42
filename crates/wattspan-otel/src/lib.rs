//! OpenTelemetry providers, exporters and tracing layer for wattspan.
//!
//! Use it for OTLP over HTTP or gRPC, scrapes, a Pushgateway or a readable console, with queues that are bounded, losses
//! that are counted and an end that comes in time. A program that has OpenTelemetry providers of its own needs nothing
//! from here: give it `wattspan-genai` and `wattspan-monitor`. The facade `wattspan` sets this crate up from its configuration.
//!
//! ```
//! use std::time::Duration;
//! use opentelemetry::trace::{Span as _, Tracer as _, TracerProvider as _};
//! use wattspan_otel::Telemetry;
//!
//! // Nobody listens there: the program goes on, and what is lost is counted.
//! let telemetry = Telemetry::builder("app")
//!     .otlp_endpoint("http://127.0.0.1:1")
//!     .shutdown_timeout(Duration::from_millis(200))
//!     .build()?;
//! telemetry.tracer_provider().tracer("app").start("work").end();
//! telemetry.shutdown();
//! assert_eq!(telemetry.dropped(), 1);
//! # Ok::<(), wattspan_otel::TelemetryError>(())
//! ```
//!
//! # Limits
//! Retries are bounded (30 s for a batch) and nothing is kept on disk: a receiver that is away for longer loses spans.
//! There are no exemplars, since the SDK records none, and no OpenMetrics.
//! `docs/telemetry.md` has the table of environment variables.
//!
//! # Features
//! - `console`: the raw console exporter of the OpenTelemetry project; the readable one is always there.
//! - `prometheus`: scrapes, Pushgateway and dcgm-exporter's names.
//! - `tracing`: the layer that joins an application's `tracing` spans.

mod builder;
mod chosen;
mod console;
mod drops;
mod env;
mod error;
mod network;
mod otlp;
#[cfg(feature = "prometheus")]
pub mod prometheus;
mod propagation;
mod queue;
mod resource;
mod telemetry;
#[cfg(feature = "tracing")]
mod tracing_layer;

pub use builder::TelemetryBuilder;
pub use console::Console;
pub use error::TelemetryError;
pub use otlp::{Compression, Otlp, Protocol, Signal};
pub use telemetry::Telemetry;
#[cfg(feature = "tracing")]
pub use tracing_layer::tracing_layer;
