//! Providers that export over OTLP, and the guard that ends them.

use std::time::Duration;

use opentelemetry::KeyValue;
use opentelemetry_otlp::{
    MetricExporter, SpanExporter, WithExportConfig as _, WithHttpConfig as _, WithTonicConfig as _,
};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::metrics::{PeriodicReader, SdkMeterProvider};
use opentelemetry_sdk::trace::SdkTracerProvider;
use tokio::runtime::Runtime;

/// Telemetry could not be set up.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TelemetryError {
    /// The exporter refused its settings.
    #[error("cannot export to {endpoint}: check endpoint and headers")]
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

/// How spans and metrics travel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Protocol {
    /// Protobuf over HTTP; the standard's default.
    #[default]
    HttpProtobuf,
    /// gRPC.
    Grpc,
}

/// Puts providers together.
#[derive(Clone)]
pub struct TelemetryBuilder {
    resource: Vec<KeyValue>,
    endpoint: Option<String>,
    headers: Vec<(String, String)>,
    protocol: Protocol,
    export_interval: Duration,
}

/// Running providers. Dropping it flushes and shuts them down.
#[derive(Debug)]
pub struct Telemetry {
    tracers: SdkTracerProvider,
    meters: SdkMeterProvider,
    /// gRPC needs a runtime that is alive until the last export, whatever runtime the program has or has not.
    runtime: Option<Runtime>,
}

impl TelemetryBuilder {
    /// Adds a resource attribute.
    pub fn resource_attribute(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.resource.push(KeyValue::new(key.into(), value.into()));
        self
    }

    /// Where to export to; without it nothing leaves the program.
    pub fn otlp_endpoint(mut self, endpoint: impl Into<String>) -> Self {
        self.endpoint = Some(endpoint.into());
        self
    }

    /// Adds a header for the receiver.
    pub fn otlp_header(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.headers.push((key.into(), value.into()));
        self
    }

    /// Chooses the protocol.
    pub fn otlp_protocol(mut self, protocol: Protocol) -> Self {
        self.protocol = protocol;
        self
    }

    /// Time between two exports of metrics.
    pub fn export_interval(mut self, interval: Duration) -> Self {
        self.export_interval = interval;
        self
    }

    /// Starts the providers.
    ///
    /// # Errors
    /// When the endpoint is not usable or no thread can be had.
    pub fn build(self) -> Result<Telemetry, TelemetryError> {
        let resource = Resource::builder().with_attributes(self.resource.clone()).build();
        let mut tracers = SdkTracerProvider::builder().with_resource(resource.clone());
        let mut meters = SdkMeterProvider::builder().with_resource(resource);
        let mut runtime = None;
        if let Some(endpoint) = &self.endpoint {
            let (spans, metrics) = match self.protocol {
                Protocol::Grpc => self.grpc(endpoint, runtime.insert(export_runtime()?))?,
                Protocol::HttpProtobuf => self.http(endpoint)?,
            };
            tracers = tracers.with_batch_exporter(spans);
            meters = meters
                .with_reader(PeriodicReader::builder(metrics).with_interval(self.export_interval).build());
        }
        Ok(Telemetry { tracers: tracers.build(), meters: meters.build(), runtime })
    }

    fn grpc(
        &self,
        endpoint: &str,
        runtime: &Runtime,
    ) -> Result<(SpanExporter, MetricExporter), TelemetryError> {
        let failed = |source| TelemetryError::Exporter { endpoint: endpoint.to_owned(), source };
        let mut metadata = tonic::metadata::MetadataMap::new();
        for (key, value) in &self.headers {
            let key: tonic::metadata::MetadataKey<_> =
                key.parse().map_err(|error| failed(Box::from(error)))?;
            // The value may be a secret: its parse error does not show it.
            metadata.insert(key, value.parse().map_err(|error| failed(Box::from(error)))?);
        }
        let _entered = runtime.enter();
        let spans = SpanExporter::builder()
            .with_tonic()
            .with_endpoint(endpoint)
            .with_metadata(metadata.clone())
            .build()
            .map_err(|error| failed(Box::from(error)))?;
        let metrics = MetricExporter::builder()
            .with_tonic()
            .with_endpoint(endpoint)
            .with_metadata(metadata)
            .build()
            .map_err(|error| failed(Box::from(error)))?;
        Ok((spans, metrics))
    }

    fn http(&self, endpoint: &str) -> Result<(SpanExporter, MetricExporter), TelemetryError> {
        let failed = |source| TelemetryError::Exporter { endpoint: endpoint.to_owned(), source };
        let client = blocking_client().map_err(failed)?;
        let headers: std::collections::HashMap<String, String> = self.headers.iter().cloned().collect();
        let base =
            endpoint.trim_end_matches('/').trim_end_matches("/v1/traces").trim_end_matches("/v1/metrics");
        let spans = SpanExporter::builder()
            .with_http()
            .with_http_client(client.clone())
            .with_headers(headers.clone())
            .with_endpoint(format!("{base}/v1/traces"))
            .build()
            .map_err(|error| failed(Box::from(error)))?;
        let metrics = MetricExporter::builder()
            .with_http()
            .with_http_client(client)
            .with_headers(headers)
            .with_endpoint(format!("{base}/v1/metrics"))
            .build()
            .map_err(|error| failed(Box::from(error)))?;
        Ok((spans, metrics))
    }
}

fn export_runtime() -> Result<Runtime, TelemetryError> {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .thread_name("wattspan-otlp")
        .enable_all()
        .build()
        .map_err(|source| TelemetryError::Thread { source })
}

/// A blocking client must not be made inside an async runtime: it is made on a thread of its own.
fn blocking_client() -> Result<reqwest::blocking::Client, Box<dyn std::error::Error + Send + Sync>> {
    // Another part of the program may have chosen its provider before, which then stays.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let made =
        std::thread::spawn(|| reqwest::blocking::Client::builder().timeout(Duration::from_secs(10)).build());
    match made.join() {
        Ok(client) => Ok(client?),
        Err(_) => Err("making an HTTP client panicked".into()),
    }
}

impl Telemetry {
    /// A builder; without an endpoint telemetry is collected and not sent.
    pub fn builder(service_name: impl Into<String>) -> TelemetryBuilder {
        TelemetryBuilder {
            resource: vec![KeyValue::new("service.name", service_name.into())],
            endpoint: None,
            headers: Vec::new(),
            protocol: Protocol::default(),
            export_interval: Duration::from_secs(5),
        }
    }

    /// The tracer provider.
    pub fn tracer_provider(&self) -> &SdkTracerProvider {
        &self.tracers
    }

    /// The meter provider.
    pub fn meter_provider(&self) -> &SdkMeterProvider {
        &self.meters
    }

    /// Sends what waits. Answers whether everything was sent.
    pub fn flush(&self) -> bool {
        self.tracers.force_flush().is_ok() & self.meters.force_flush().is_ok()
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
