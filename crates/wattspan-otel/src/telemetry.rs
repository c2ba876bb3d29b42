//! Providers that export over OTLP, and the guard that ends them.

use std::time::Duration;

use opentelemetry::KeyValue;
use opentelemetry_otlp::{MetricExporter, SpanExporter, WithExportConfig as _};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::metrics::SdkMeterProvider;
use opentelemetry_sdk::trace::SdkTracerProvider;
use tokio::runtime::Runtime;

/// Telemetry could not be set up.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TelemetryError {
    /// The exporter refused its settings.
    #[error("cannot export to {endpoint}: check the endpoint")]
    Exporter {
        /// Where to.
        endpoint: String,
        /// The cause.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// No thread for exporting.
    #[error("cannot start the export thread")]
    Thread {
        /// The cause.
        source: std::io::Error,
    },
}

/// Running providers. Dropping it flushes and shuts them down.
#[derive(Debug)]
pub struct Telemetry {
    tracers: SdkTracerProvider,
    meters: SdkMeterProvider,
    /// gRPC needs a runtime that is alive until the last export, whatever runtime the program has or has not.
    runtime: Option<Runtime>,
}

impl Telemetry {
    /// Exports spans and metrics over OTLP/gRPC.
    ///
    /// # Errors
    /// When the endpoint is not usable or no thread can be had.
    pub fn grpc(endpoint: &str, service_name: &str) -> Result<Self, TelemetryError> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("wattspan-otlp")
            .enable_all()
            .build()
            .map_err(|source| TelemetryError::Thread { source })?;
        let failed = |source: opentelemetry_otlp::ExporterBuildError| TelemetryError::Exporter {
            endpoint: endpoint.to_owned(),
            source: Box::new(source),
        };
        let entered = runtime.enter();
        let spans = SpanExporter::builder().with_tonic().with_endpoint(endpoint).build().map_err(failed)?;
        let metrics =
            MetricExporter::builder().with_tonic().with_endpoint(endpoint).build().map_err(failed)?;
        drop(entered);
        let resource = Resource::builder()
            .with_attribute(KeyValue::new("service.name", service_name.to_owned()))
            .build();
        let tracers =
            SdkTracerProvider::builder().with_resource(resource.clone()).with_batch_exporter(spans).build();
        let meters =
            SdkMeterProvider::builder().with_resource(resource).with_periodic_exporter(metrics).build();
        Ok(Self { tracers, meters, runtime: Some(runtime) })
    }

    /// The tracer provider.
    pub fn tracer_provider(&self) -> &SdkTracerProvider {
        &self.tracers
    }

    /// The meter provider.
    pub fn meter_provider(&self) -> &SdkMeterProvider {
        &self.meters
    }
}

impl Drop for Telemetry {
    fn drop(&mut self) {
        // Whoever drops this can do nothing about a receiver that is gone.
        let _ = self.tracers.shutdown_with_timeout(Duration::from_secs(5));
        let _ = self.meters.shutdown_with_timeout(Duration::from_secs(5));
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}
