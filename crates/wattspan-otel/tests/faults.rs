//! Receivers that are down, slow, angry or something else: the program goes on, what is lost is counted, and nothing
//! arrives twice.

mod support;

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use opentelemetry::trace::{Span as _, Tracer as _, TracerProvider as _};
use opentelemetry_sdk::metrics::InMemoryMetricExporter;
use opentelemetry_sdk::metrics::data::{AggregatedMetrics, MetricData, ScopeMetrics};
use support::{Answer, DEADLINE, Stub, closed_port};
use wattspan_otel::{Otlp, Protocol, Signal, Telemetry};

const SPANS: usize = 100;

struct Outcome {
    dropped: u64,
    reasons: Vec<(String, u64)>,
}

/// Ends a hundred spans where eight may wait, shuts down, and tells what was counted.
fn run(endpoint: String, protocol: Protocol) -> Outcome {
    let otlp = Otlp::new(endpoint)
        .protocol(protocol)
        .timeout(Duration::from_millis(500))
        .retry_for(Duration::from_secs(3))
        .without(Signal::Metrics)
        .without(Signal::Logs);
    let memory = InMemoryMetricExporter::default();
    let telemetry = Telemetry::builder("app")
        .otlp(otlp)
        .metric_exporter(memory.clone())
        .queue_limit(8)
        .batch_delay(Duration::from_millis(10))
        .shutdown_timeout(Duration::from_secs(8))
        .build()
        .unwrap();
    let tracer = telemetry.tracer_provider().tracer("test");
    let start = Instant::now();
    for _ in 0..SPANS {
        tracer.start("work").end();
    }
    // An exporter that blocked would take half a second for each of at least ten batches.
    assert!(start.elapsed() < Duration::from_secs(5), "the caller was held up");
    let start = Instant::now();
    telemetry.shutdown();
    assert!(start.elapsed() < DEADLINE, "the shutdown took too long");
    let finished = memory.get_finished_metrics().unwrap();
    let mut reasons = Vec::new();
    let last = finished.last().expect("metrics are exported at the end");
    for metric in last.scope_metrics().flat_map(ScopeMetrics::metrics) {
        if metric.name() != "wattspan.telemetry.dropped" {
            continue;
        }
        let AggregatedMetrics::U64(MetricData::Sum(sum)) = metric.data() else { panic!("it is a counter") };
        for point in sum.data_points() {
            let reason = point.attributes().next().expect("a reason").value.to_string();
            reasons.push((reason, point.value()));
        }
    }
    Outcome { dropped: telemetry.dropped(), reasons }
}

#[track_caller]
fn check_all_lost(outcome: &Outcome) {
    assert_eq!(outcome.dropped, SPANS as u64);
    let told: u64 = outcome.reasons.iter().map(|(_, count)| count).sum();
    assert_eq!(told, SPANS as u64, "{:?}", outcome.reasons);
    assert!(outcome.reasons.iter().any(|(reason, _)| reason == "queue_full"), "{:?}", outcome.reasons);
}

#[test]
fn a_receiver_that_is_down_loses_all_and_all_is_counted() {
    for protocol in [Protocol::HttpProtobuf, Protocol::Grpc] {
        check_all_lost(&run(format!("http://127.0.0.1:{}", closed_port()), protocol));
    }
}

#[test]
fn a_receiver_that_never_answers_is_given_up() {
    let stub = Stub::start(|_, _| Answer::Hang);
    check_all_lost(&run(stub.url(), Protocol::HttpProtobuf));
    assert_eq!(stub.taken().len(), 0);
}

#[test]
fn something_else_on_the_port_is_given_up() {
    let stub = Stub::start(|_, _| Answer::Garbage);
    check_all_lost(&run(stub.url(), Protocol::HttpProtobuf));
    // And gRPC to a server of HTTP/1.
    let stub = Stub::start(|_, _| Answer::status(404));
    check_all_lost(&run(stub.url(), Protocol::Grpc));
}

#[test]
fn a_tls_handshake_that_fails_is_given_up() {
    let stub = Stub::start(|_, _| Answer::ok());
    for protocol in [Protocol::HttpProtobuf, Protocol::Grpc] {
        check_all_lost(&run(format!("https://127.0.0.1:{}", stub.port()), protocol));
    }
    assert_eq!(stub.taken().len(), 0, "nothing went in plain text");
}

#[test]
fn a_refused_batch_is_not_sent_again() {
    for status in [400, 401, 404, 413, 500] {
        let stub = Stub::start(move |_, _| Answer::status(status));
        let outcome = run(stub.url(), Protocol::HttpProtobuf);
        assert_eq!(outcome.dropped, SPANS as u64, "{status}");
        let sent: Vec<Vec<u8>> =
            stub.seen().iter().flat_map(support::Seen::spans).map(|span| span.span_id).collect();
        let different: HashSet<&Vec<u8>> = sent.iter().collect();
        assert_eq!(different.len(), sent.len(), "{status} was tried again");
    }
}

/// Fails the first request in some way and takes all others: nothing that a batch held may be lost or come twice.
#[track_caller]
fn check_recovers(first: Answer, wait: Duration) {
    let start = Instant::now();
    let stub = Stub::start(move |number, _| if number == 0 { first.clone() } else { Answer::ok() });
    let outcome = run(stub.url(), Protocol::HttpProtobuf);
    let taken = stub.taken();
    let different: HashSet<&Vec<u8>> = taken.iter().map(|span| &span.span_id).collect();
    assert_eq!(different.len(), taken.len(), "a span was taken twice");
    assert_eq!(taken.len() as u64 + outcome.dropped, SPANS as u64);
    let refused = &stub.seen()[0].spans();
    for span in refused {
        assert!(different.contains(&span.span_id), "the first batch was not tried again");
    }
    assert!(start.elapsed() >= wait, "the receiver asked to be left alone for {wait:?}");
}

#[test]
fn a_receiver_that_is_busy_for_a_while_gets_everything_later() {
    let later = |status| Answer::Status(status, vec![("retry-after", "1".to_owned())], Vec::new());
    check_recovers(later(503), Duration::from_secs(1));
    check_recovers(later(429), Duration::from_secs(1));
    check_recovers(Answer::status(502), Duration::ZERO);
    check_recovers(Answer::status(504), Duration::ZERO);
}

#[test]
fn a_connection_that_breaks_off_is_tried_again() {
    check_recovers(Answer::Close, Duration::ZERO);
    check_recovers(Answer::Garbage, Duration::ZERO);
    check_recovers(Answer::Hang, Duration::ZERO);
}

#[test]
fn a_receiver_that_asks_for_too_much_patience_is_given_up() {
    let stub = Stub::start(|_, _| Answer::Status(503, vec![("retry-after", "86400".to_owned())], Vec::new()));
    let outcome = run(stub.url(), Protocol::HttpProtobuf);
    assert_eq!(outcome.dropped, SPANS as u64);
}

#[test]
fn a_receiver_that_dies_half_way_keeps_what_it_took_and_the_rest_is_counted() {
    let alive = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&alive);
    let stub = Stub::start(move |number, seen| {
        if number == 0 {
            count.store(seen.spans().len(), Ordering::Relaxed);
            Answer::ok()
        } else {
            Answer::Close
        }
    });
    let outcome = run(stub.url(), Protocol::HttpProtobuf);
    let kept = alive.load(Ordering::Relaxed);
    assert!(kept > 0);
    assert_eq!(stub.taken().len(), kept);
    assert_eq!(outcome.dropped, (SPANS - kept) as u64);
}

#[test]
fn spans_that_a_receiver_rejects_are_counted_and_not_sent_again() {
    // ExportTraceServiceResponse { partial_success: { rejected_spans: 3 } }, by hand: field 1 of length 2, in it
    // field 1 with the number 3.
    let stub = Stub::start(|number, _| match number {
        0 => Answer::Status(200, Vec::new(), vec![0x0A, 0x02, 0x08, 0x03]),
        _ => Answer::ok(),
    });
    let telemetry = Telemetry::builder("app")
        .otlp(Otlp::new(stub.url()).without(Signal::Metrics).without(Signal::Logs))
        .build()
        .unwrap();
    let tracer = telemetry.tracer_provider().tracer("test");
    for _ in 0..5 {
        tracer.start("work").end();
    }
    assert!(telemetry.flush());
    telemetry.shutdown();
    assert_eq!(telemetry.dropped(), 3);
    assert_eq!(stub.seen().len(), 1);
}
