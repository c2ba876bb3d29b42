//! Every kind of program: without a runtime, with one of either kind, inside another, and at the wrong moment.

mod support;

use std::sync::mpsc;
use std::time::Duration;

use opentelemetry::trace::{Span as _, Tracer as _, TracerProvider as _};
use opentelemetry_proto::tonic::collector::trace::v1::trace_service_server::{
    TraceService, TraceServiceServer,
};
use opentelemetry_proto::tonic::collector::trace::v1::{
    ExportTraceServiceRequest, ExportTraceServiceResponse,
};
use support::{Answer, DEADLINE, Stub};
use tokio_stream::wrappers::TcpListenerStream;
use wattspan_otel::{Compression, Otlp, Protocol, Signal, Telemetry};

/// A gRPC receiver on a thread of its own, so that it answers whatever the program's runtime does.
struct Grpc {
    url: String,
    spans: mpsc::Receiver<usize>,
    _end: tokio::sync::oneshot::Sender<()>,
}

struct Service(mpsc::Sender<usize>);

#[tonic::async_trait]
impl TraceService for Service {
    async fn export(
        &self,
        request: tonic::Request<ExportTraceServiceRequest>,
    ) -> Result<tonic::Response<ExportTraceServiceResponse>, tonic::Status> {
        let resources = request.into_inner().resource_spans;
        let spans = resources.iter().flat_map(|resource| &resource.scope_spans);
        let _ = self.0.send(spans.map(|scope| scope.spans.len()).sum());
        Ok(tonic::Response::new(ExportTraceServiceResponse::default()))
    }
}

impl Grpc {
    fn start() -> Self {
        let (send, spans) = mpsc::channel();
        let (end, ended) = tokio::sync::oneshot::channel();
        let (say, port) = mpsc::channel();
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async move {
                let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
                say.send(listener.local_addr().unwrap().port()).unwrap();
                let service = TraceServiceServer::new(Service(send))
                    .accept_compressed(tonic::codec::CompressionEncoding::Gzip);
                let server = tonic::transport::Server::builder().add_service(service);
                let end = async move { drop(ended.await) };
                let _ = server.serve_with_incoming_shutdown(TcpListenerStream::new(listener), end).await;
            });
        });
        let port = port.recv_timeout(DEADLINE).expect("the receiver starts");
        Self { url: format!("http://127.0.0.1:{port}"), spans, _end: end }
    }
}

fn telemetry(url: &str, protocol: Protocol) -> Telemetry {
    let compression = if protocol == Protocol::Grpc { Compression::Gzip } else { Compression::None };
    let otlp = Otlp::new(url).protocol(protocol).compression(compression);
    let otlp = otlp.without(Signal::Metrics).without(Signal::Logs);
    Telemetry::builder("app").otlp(otlp).build().unwrap()
}

fn one_span(telemetry: &Telemetry) {
    telemetry.tracer_provider().tracer("test").start("one").end();
}

/// The start, a span, a flush and the end, all here.
fn whole(url: &str, protocol: Protocol) {
    let telemetry = telemetry(url, protocol);
    one_span(&telemetry);
    assert!(telemetry.flush_within(DEADLINE), "the span was not sent");
    drop(telemetry);
}

/// Runs in a thread, so that a dead-lock fails the test instead of holding it.
#[track_caller]
fn ends(work: impl FnOnce() + Send + 'static) {
    let (say, hear) = mpsc::channel();
    let thread = std::thread::spawn(move || {
        work();
        say.send(()).unwrap();
    });
    match hear.recv_timeout(DEADLINE) {
        Ok(()) => thread.join().unwrap(),
        Err(mpsc::RecvTimeoutError::Disconnected) => std::panic::resume_unwind(thread.join().unwrap_err()),
        Err(mpsc::RecvTimeoutError::Timeout) => panic!("it hangs"),
    }
}

type Program = Box<dyn FnOnce() + Send>;

/// Every kind of program that exports one span; each has to end by itself.
fn programs(url: &str, protocol: Protocol) -> Vec<(&'static str, Program)> {
    let current = || tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let multi =
        || tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let url = || url.to_owned();
    let (a, b, c, d, e, f) = (url(), url(), url(), url(), url(), url());
    vec![
        ("no runtime", Box::new(move || whole(&a, protocol))),
        ("current-thread", Box::new(move || current().block_on(async move { whole(&b, protocol) }))),
        (
            "multi-thread",
            Box::new(move || {
                let runtime = multi();
                runtime
                    .block_on(async move { tokio::spawn(async move { whole(&c, protocol) }).await.unwrap() });
            }),
        ),
        (
            "blocking pool",
            Box::new(move || {
                let work =
                    async move { tokio::task::spawn_blocking(move || whole(&d, protocol)).await.unwrap() };
                current().block_on(work);
            }),
        ),
        (
            "dropped by a task without a flush",
            Box::new(move || {
                current().block_on(async move {
                    let telemetry = telemetry(&e, protocol);
                    one_span(&telemetry);
                    tokio::spawn(async move { drop(telemetry) }).await.unwrap();
                });
            }),
        ),
        (
            "case otlp-03: outlives its runtime and is shut down twice",
            Box::new(move || {
                let telemetry = current().block_on(async { telemetry(&f, protocol) });
                let provider = telemetry.tracer_provider().clone();
                one_span(&telemetry);
                telemetry.shutdown();
                telemetry.shutdown();
                assert!(provider.shutdown().is_err(), "it is shut down already, which is no panic");
                one_span(&telemetry);
                drop(telemetry);
            }),
        ),
    ]
}

#[test]
fn case_otlp_01_one_span_arrives_from_every_kind_of_program_over_http() {
    let stub = Stub::start(|_, _| Answer::ok());
    for (number, (kind, program)) in programs(&stub.url(), Protocol::HttpProtobuf).into_iter().enumerate() {
        ends(program);
        assert_eq!(stub.taken().len(), number + 1, "{kind}");
    }
}

#[test]
fn case_otlp_01_one_span_arrives_from_every_kind_of_program_over_grpc() {
    let receiver = Grpc::start();
    for (kind, program) in programs(&receiver.url, Protocol::Grpc) {
        ends(program);
        assert_eq!(receiver.spans.try_recv(), Ok(1), "{kind}");
        assert!(receiver.spans.try_recv().is_err(), "{kind}: sent twice");
    }
}

#[test]
fn case_otlp_03_what_comes_after_the_end_is_counted() {
    let stub = Stub::start(|_, _| Answer::ok());
    let telemetry = telemetry(&stub.url(), Protocol::HttpProtobuf);
    let tracer = telemetry.tracer_provider().tracer("test");
    let late = tracer.start("late");
    telemetry.shutdown();
    drop(late);
    // The SDK itself may turn it away before it gets to a processor; either way it is not sent.
    assert!(telemetry.dropped() <= 1);
    assert_eq!(stub.taken().len(), 0);
}

#[test]
fn a_shutdown_is_bounded_when_the_receiver_hangs() {
    let stub = Stub::start(|_, _| Answer::Hang);
    let otlp = Otlp::new(stub.url()).without(Signal::Metrics).without(Signal::Logs);
    let bounded = Telemetry::builder("app").otlp(otlp).shutdown_timeout(Duration::from_millis(300));
    let telemetry = bounded.build().unwrap();
    one_span(&telemetry);
    assert!(!telemetry.flush_within(Duration::from_millis(100)));
    ends(move || drop(telemetry));
}
