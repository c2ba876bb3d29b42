//! OpenTelemetry providers, exporters and tracing layer for wattspan.
