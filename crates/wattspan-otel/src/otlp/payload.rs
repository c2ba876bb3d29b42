//! The three requests of OTLP, behind one trait.

use std::future::Future;

use opentelemetry_proto::tonic::collector::logs::v1::logs_service_client::LogsServiceClient;
use opentelemetry_proto::tonic::collector::logs::v1::{ExportLogsServiceRequest, ExportLogsServiceResponse};
use opentelemetry_proto::tonic::collector::metrics::v1::metrics_service_client::MetricsServiceClient;
use opentelemetry_proto::tonic::collector::metrics::v1::{
    ExportMetricsServiceRequest, ExportMetricsServiceResponse,
};
use opentelemetry_proto::tonic::collector::trace::v1::trace_service_client::TraceServiceClient;
use opentelemetry_proto::tonic::collector::trace::v1::{
    ExportTraceServiceRequest, ExportTraceServiceResponse,
};
use prost::Message;
use tonic::codec::CompressionEncoding;
use tonic::transport::Channel;
use tonic::{Request, Status};

use super::retry::Receipt;

/// A request of OTLP.
pub(crate) trait Payload: Message + serde::Serialize + Clone + Send + Sync + Sized + 'static {
    /// What a successful answer says.
    type Answer: Message + Default;

    /// The name of the rejected count in JSON.
    const REJECTED: &'static str;

    fn receipt(answer: Self::Answer) -> Receipt;

    fn call(
        channel: Channel,
        request: Request<Self>,
        gzip: bool,
    ) -> impl Future<Output = Result<Self::Answer, Status>> + Send;
}

macro_rules! payload {
    ($request:ty, $answer:ty, $client:ident, $rejected:ident, $json:literal) => {
        impl Payload for $request {
            type Answer = $answer;

            const REJECTED: &'static str = $json;

            fn receipt(answer: Self::Answer) -> Receipt {
                let partial = answer.partial_success.unwrap_or_default();
                let rejected = usize::try_from(partial.$rejected).unwrap_or(0);
                Receipt { rejected, message: partial.error_message }
            }

            async fn call(
                channel: Channel,
                request: Request<Self>,
                gzip: bool,
            ) -> Result<Self::Answer, Status> {
                let mut client = $client::new(channel);
                if gzip {
                    client = client
                        .send_compressed(CompressionEncoding::Gzip)
                        .accept_compressed(CompressionEncoding::Gzip);
                }
                client.export(request).await.map(tonic::Response::into_inner)
            }
        }
    };
}

payload!(
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
    TraceServiceClient,
    rejected_spans,
    "rejectedSpans"
);
payload!(
    ExportMetricsServiceRequest,
    ExportMetricsServiceResponse,
    MetricsServiceClient,
    rejected_data_points,
    "rejectedDataPoints"
);
payload!(
    ExportLogsServiceRequest,
    ExportLogsServiceResponse,
    LogsServiceClient,
    rejected_log_records,
    "rejectedLogRecords"
);
