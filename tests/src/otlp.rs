//! An OTLP/gRPC receiver in this process, so that what arrived can be looked at field by field.

use std::sync::{Arc, Mutex, PoisonError};

use opentelemetry_proto::tonic::collector::metrics::v1::metrics_service_server::{
    MetricsService, MetricsServiceServer,
};
use opentelemetry_proto::tonic::collector::metrics::v1::{
    ExportMetricsServiceRequest, ExportMetricsServiceResponse,
};
use opentelemetry_proto::tonic::collector::trace::v1::trace_service_server::{
    TraceService, TraceServiceServer,
};
use opentelemetry_proto::tonic::collector::trace::v1::{
    ExportTraceServiceRequest, ExportTraceServiceResponse,
};
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::metrics::v1::Metric;
use opentelemetry_proto::tonic::trace::v1::Span;
use tokio_stream::wrappers::TcpListenerStream;
use tonic::codec::CompressionEncoding;
use tonic::{Request, Response, Status};

/// Receives spans and metrics on a free port of 127.0.0.1 for as long as the runtime lives.
#[derive(Clone, Default)]
pub struct Receiver {
    spans: Arc<Mutex<Vec<Span>>>,
    metrics: Arc<Mutex<Vec<Metric>>>,
    port: u16,
}

impl Receiver {
    /// Starts receiving.
    ///
    /// # Panics
    /// When no port is free.
    pub async fn start() -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let port = listener.local_addr().expect("a bound socket has an address").port();
        let receiver = Self { port, ..Self::default() };
        let server = tonic::transport::Server::builder()
            .add_service(
                TraceServiceServer::new(receiver.clone()).accept_compressed(CompressionEncoding::Gzip),
            )
            .add_service(
                MetricsServiceServer::new(receiver.clone()).accept_compressed(CompressionEncoding::Gzip),
            );
        tokio::spawn(server.serve_with_incoming(TcpListenerStream::new(listener)));
        receiver
    }

    /// The endpoint to export to.
    pub fn endpoint(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// All spans received so far.
    pub fn spans(&self) -> Vec<Span> {
        self.spans.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// All metrics received so far, a cumulative one once per export.
    pub fn metrics(&self) -> Vec<Metric> {
        self.metrics.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

#[tonic::async_trait]
impl TraceService for Receiver {
    async fn export(
        &self,
        request: Request<ExportTraceServiceRequest>,
    ) -> Result<Response<ExportTraceServiceResponse>, Status> {
        let spans = request.into_inner().resource_spans.into_iter().flat_map(|resource| resource.scope_spans);
        let mut received = self.spans.lock().unwrap_or_else(PoisonError::into_inner);
        received.extend(spans.flat_map(|scope| scope.spans));
        Ok(Response::new(ExportTraceServiceResponse::default()))
    }
}

#[tonic::async_trait]
impl MetricsService for Receiver {
    async fn export(
        &self,
        request: Request<ExportMetricsServiceRequest>,
    ) -> Result<Response<ExportMetricsServiceResponse>, Status> {
        let metrics =
            request.into_inner().resource_metrics.into_iter().flat_map(|resource| resource.scope_metrics);
        let mut received = self.metrics.lock().unwrap_or_else(PoisonError::into_inner);
        received.extend(metrics.flat_map(|scope| scope.metrics));
        Ok(Response::new(ExportMetricsServiceResponse::default()))
    }
}

/// The value of a span's attribute; fails when the key stands there twice.
///
/// # Panics
/// When the key stands there twice.
pub fn attribute(span: &Span, key: &str) -> Option<Value> {
    let mut found = span.attributes.iter().filter(|attribute| attribute.key == key);
    let first = found.next()?.value.clone()?.value;
    assert!(found.next().is_none(), "{key} stands twice on {}", span.name);
    first
}

/// The value of a span's number.
///
/// # Panics
/// When it is not a float.
pub fn double(span: &Span, key: &str) -> Option<f64> {
    attribute(span, key).map(|value| match value {
        Value::DoubleValue(value) => value,
        other => panic!("{key} is {other:?}, not a double"),
    })
}

/// The value of a span's text.
///
/// # Panics
/// When it is not a string.
pub fn text(span: &Span, key: &str) -> Option<String> {
    attribute(span, key).map(|value| match value {
        Value::StringValue(value) => value,
        other => panic!("{key} is {other:?}, not a string"),
    })
}
