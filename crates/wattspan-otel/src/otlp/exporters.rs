//! The SDK's three exporter traits over a link to a receiver.

use std::sync::Arc;
use std::time::Duration;

use opentelemetry_proto::tonic::collector::logs::v1::ExportLogsServiceRequest;
use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::metrics::v1::metric::Data;
use opentelemetry_proto::transform::common::tonic::ResourceAttributesWithSchema;
use opentelemetry_proto::transform::logs::tonic::group_logs_by_resource_and_scope;
use opentelemetry_proto::transform::trace::tonic::group_spans_by_resource_and_scope;
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::error::{OTelSdkError, OTelSdkResult};
use opentelemetry_sdk::logs::{LogBatch, LogExporter};
use opentelemetry_sdk::metrics::Temporality;
use opentelemetry_sdk::metrics::data::ResourceMetrics;
use opentelemetry_sdk::metrics::exporter::PushMetricExporter;
use opentelemetry_sdk::trace::{SpanData, SpanExporter};

use super::config::{Protocol, Signal, Target};
use super::grpc::GrpcSender;
use super::http::HttpSender;
use super::payload::Payload;
use super::retry::{Patience, Receipt, deliver};
use crate::TelemetryError;
use crate::drops::{Drops, Reason};
use crate::network::{Clock, Network, Spawner};

#[derive(Clone, Debug)]
enum Sender {
    Http(HttpSender),
    Grpc(GrpcSender),
}

/// A way to one receiver for one signal.
#[derive(Debug)]
struct Link {
    sender: Sender,
    signal: Signal,
    shown: String,
    patience: Patience,
    spawner: Spawner,
    clock: Clock,
    drops: Arc<Drops>,
    /// A failed export loses nothing: cumulative metrics say it all the next time.
    lossless: bool,
}

impl Link {
    fn new(target: &Target, network: &Network, drops: &Arc<Drops>) -> Result<Self, TelemetryError> {
        let spawner = network.spawner();
        let sender = match target.protocol {
            Protocol::Grpc => Sender::Grpc(GrpcSender::new(target, &spawner)?),
            Protocol::HttpProtobuf | Protocol::HttpJson => Sender::Http(HttpSender::new(target)?),
        };
        Ok(Self {
            sender,
            signal: target.signal,
            shown: target.shown(),
            patience: target.patience,
            spawner,
            clock: network.clock(),
            drops: Arc::clone(drops),
            lossless: false,
        })
    }

    /// Sends a batch of `count` items, however often it takes. Runs on the SDK's thread up to the point where the
    /// bytes are made.
    async fn send<P: Payload>(&self, payload: P, count: usize) -> OTelSdkResult {
        let answer = match self.sender.clone() {
            Sender::Http(sender) => match sender.body(&payload) {
                Err(why) => Some(Err(why)),
                Ok(body) => {
                    drop(payload);
                    self.run(move || {
                        let (sender, body) = (sender.clone(), body.clone());
                        async move { sender.send::<P>(body).await }
                    })
                    .await
                }
            },
            Sender::Grpc(sender) => {
                let timeout = self.patience.timeout;
                self.run(move || {
                    let (sender, payload) = (sender.clone(), payload.clone());
                    async move { sender.send(payload, timeout).await }
                })
                .await
            }
        };
        match answer.unwrap_or_else(|| Err("the export thread has ended".to_owned())) {
            Ok(receipt) => {
                self.taken(&receipt, count);
                Ok(())
            }
            Err(why) => {
                let why = format!("{} to {}: {why}", self.signal.upper().to_lowercase(), self.shown);
                if self.lossless {
                    tracing::debug!("not exported: {why}");
                } else {
                    self.drops.add(Reason::ExportFailed, count, &why);
                }
                Err(OTelSdkError::InternalFailure(why))
            }
        }
    }

    async fn run<F>(&self, mut attempt: impl FnMut() -> F + Send + 'static) -> Option<Result<Receipt, String>>
    where
        F: Future<Output = super::retry::Attempt> + Send,
    {
        let (patience, clock) = (self.patience, self.clock.clone());
        self.spawner.run(async move { deliver(patience, &clock, &mut attempt).await }).await
    }

    /// What the receiver said of a batch that it took. An empty partial success is a success.
    fn taken(&self, receipt: &Receipt, count: usize) {
        if receipt.rejected > 0 {
            let detail = format_args!("{} rejected {}: {}", self.shown, receipt.rejected, receipt.message);
            self.drops.add(Reason::Rejected, receipt.rejected.min(count), detail);
        } else if !receipt.message.is_empty() {
            tracing::warn!("{} took all and says: {}", self.shown, receipt.message);
        }
    }
}

#[derive(Debug)]
pub(crate) struct SpanSender {
    link: Link,
    resource: ResourceAttributesWithSchema,
}

impl SpanSender {
    pub(crate) fn new(
        target: &Target,
        network: &Network,
        drops: &Arc<Drops>,
    ) -> Result<Self, TelemetryError> {
        let link = Link::new(target, network, drops)?;
        Ok(Self { link, resource: ResourceAttributesWithSchema::default() })
    }
}

impl SpanExporter for SpanSender {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        let count = batch.len();
        let resource_spans = group_spans_by_resource_and_scope(batch, &self.resource);
        self.link.send(ExportTraceServiceRequest { resource_spans }, count).await
    }

    fn set_resource(&mut self, resource: &Resource) {
        self.resource = resource.into();
    }
}

#[derive(Debug)]
pub(crate) struct LogSender {
    link: Link,
    resource: ResourceAttributesWithSchema,
}

impl LogSender {
    pub(crate) fn new(
        target: &Target,
        network: &Network,
        drops: &Arc<Drops>,
    ) -> Result<Self, TelemetryError> {
        let link = Link::new(target, network, drops)?;
        Ok(Self { link, resource: ResourceAttributesWithSchema::default() })
    }
}

impl LogExporter for LogSender {
    async fn export(&self, batch: LogBatch<'_>) -> OTelSdkResult {
        let count = batch.iter().count();
        let resource_logs = group_logs_by_resource_and_scope(&batch, &self.resource);
        self.link.send(ExportLogsServiceRequest { resource_logs }, count).await
    }

    fn set_resource(&mut self, resource: &Resource) {
        self.resource = resource.into();
    }
}

#[derive(Debug)]
pub(crate) struct MetricSender {
    link: Link,
    temporality: Temporality,
}

impl MetricSender {
    pub(crate) fn new(
        target: &Target,
        temporality: Temporality,
        network: &Network,
        drops: &Arc<Drops>,
    ) -> Result<Self, TelemetryError> {
        let mut link = Link::new(target, network, drops)?;
        link.lossless = temporality == Temporality::Cumulative;
        Ok(Self { link, temporality })
    }
}

impl PushMetricExporter for MetricSender {
    async fn export(&self, metrics: &ResourceMetrics) -> OTelSdkResult {
        let request = ExportMetricsServiceRequest::from(metrics);
        let count = points(&request);
        self.link.send(request, count).await
    }

    fn force_flush(&self) -> OTelSdkResult {
        Ok(())
    }

    fn shutdown_with_timeout(&self, _timeout: Duration) -> OTelSdkResult {
        Ok(())
    }

    fn temporality(&self) -> Temporality {
        self.temporality
    }
}

fn points(request: &ExportMetricsServiceRequest) -> usize {
    let scopes = request.resource_metrics.iter().flat_map(|resource| &resource.scope_metrics);
    let data = scopes.flat_map(|scope| &scope.metrics).filter_map(|metric| metric.data.as_ref());
    data.map(|data| match data {
        Data::Gauge(gauge) => gauge.data_points.len(),
        Data::Sum(sum) => sum.data_points.len(),
        Data::Histogram(histogram) => histogram.data_points.len(),
        Data::ExponentialHistogram(histogram) => histogram.data_points.len(),
        Data::Summary(summary) => summary.data_points.len(),
    })
    .sum()
}
