//! OTLP exporters for the SDK.
//!
//! They are made from the protocol's messages instead of the crate `opentelemetry-otlp`, so that every signal has the
//! same retries, sees partial success over gRPC too, keeps headers set in code over those of the environment, and stops
//! retrying when a shutdown begins.

mod config;
mod exporters;
mod grpc;
mod http;
mod identity;
mod payload;
pub(crate) mod retry;

#[cfg(feature = "prometheus")]
pub(crate) use config::shown;
pub use config::{Compression, Otlp, Protocol, Signal};
pub(crate) use exporters::{LogSender, MetricSender, SpanSender};
#[cfg(feature = "prometheus")]
pub(crate) use http::reason;
