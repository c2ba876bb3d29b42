//! OpenTelemetry providers, exporters and tracing layer for wattspan.

mod telemetry;

pub use telemetry::{Protocol, Telemetry, TelemetryBuilder, TelemetryError};
