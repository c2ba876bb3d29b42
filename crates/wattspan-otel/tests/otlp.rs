//! What goes over the wire, seen by a receiver that writes everything down.

mod support;

use std::time::Duration;

use opentelemetry::KeyValue;
use opentelemetry::logs::{LogRecord as _, Logger as _, LoggerProvider as _};
use opentelemetry::metrics::MeterProvider as _;
use opentelemetry::trace::{Span as _, Tracer as _, TracerProvider as _};
use opentelemetry_proto::tonic::collector::logs::v1::ExportLogsServiceRequest;
use opentelemetry_proto::tonic::metrics::v1::metric::Data;
use opentelemetry_proto::tonic::metrics::v1::number_data_point::Value;
use opentelemetry_proto::tonic::metrics::v1::{AggregationTemporality, Metric};
use opentelemetry_sdk::metrics::Temporality;
use prost::Message as _;
use support::{Answer, Seen, Stub};
use wattspan_otel::{Compression, Otlp, Protocol, Signal, Telemetry, TelemetryBuilder};

fn span(telemetry: &Telemetry, name: &'static str) {
    let mut span = telemetry.tracer_provider().tracer("test").start(name);
    span.set_attribute(KeyValue::new("answer", 42));
    span.end();
}

fn paths(stub: &Stub) -> Vec<String> {
    let mut paths: Vec<String> = stub.seen().into_iter().map(|seen| seen.path).collect();
    paths.sort();
    paths.dedup();
    paths
}

#[test]
fn both_http_encodings_and_gzip_arrive_whole() {
    for (protocol, kind) in
        [(Protocol::HttpProtobuf, "application/x-protobuf"), (Protocol::HttpJson, "application/json")]
    {
        for compression in [Compression::None, Compression::Gzip] {
            let stub = Stub::start(|_, _| Answer::ok());
            let otlp = Otlp::new(stub.url()).protocol(protocol).compression(compression);
            let telemetry = Telemetry::builder("app").otlp(otlp).build().unwrap();
            span(&telemetry, "one");
            assert!(telemetry.flush());
            let seen: Vec<Seen> = stub.seen().into_iter().filter(|seen| seen.path == "/v1/traces").collect();
            assert_eq!(seen.len(), 1);
            assert_eq!(seen[0].header("content-type"), Some(kind));
            let encoding = (compression == Compression::Gzip).then_some("gzip");
            assert_eq!(seen[0].header("content-encoding"), encoding);
            let spans = seen[0].spans();
            assert_eq!(spans.len(), 1);
            assert_eq!(spans[0].name, "one");
            assert_eq!(spans[0].attributes[0].key, "answer");
        }
    }
}

#[test]
fn case_otlp_09_every_spelling_of_the_endpoint_posts_to_the_same_paths() {
    for (spelling, traces, metrics) in [
        ("", "/v1/traces", "/v1/metrics"),
        ("/", "/v1/traces", "/v1/metrics"),
        ("/prefix", "/prefix/v1/traces", "/prefix/v1/metrics"),
        ("/v1/traces", "/v1/traces", "/v1/metrics"),
    ] {
        for by_code in [true, false] {
            let stub = Stub::start(|_, _| Answer::ok());
            let base = format!("{}{spelling}", stub.url());
            let builder = if by_code {
                Telemetry::builder("app").otlp_endpoint(base)
            } else {
                let lookup = move |name: &str| (name == "OTEL_EXPORTER_OTLP_ENDPOINT").then(|| base.clone());
                Telemetry::builder("app").environment(lookup)
            };
            let telemetry = builder.build().unwrap();
            span(&telemetry, "one");
            telemetry.meter_provider().meter("test").u64_counter("c").build().add(1, &[]);
            drop(telemetry);
            assert_eq!(paths(&stub), [metrics, traces], "{spelling:?} by code: {by_code}");
        }
    }
    let stub = Stub::start(|_, _| Answer::ok());
    let custom = format!("{}/custom", stub.url());
    let telemetry = Telemetry::builder("app")
        .environment(move |name| (name == "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT").then(|| custom.clone()))
        .build()
        .unwrap();
    span(&telemetry, "one");
    drop(telemetry);
    assert_eq!(paths(&stub), ["/custom"]);
}

#[test]
fn case_config_04_the_receiver_sees_the_header_set_in_code() {
    let stub = Stub::start(|_, _| Answer::ok());
    let telemetry = Telemetry::builder("app")
        .environment(|name| {
            (name == "OTEL_EXPORTER_OTLP_HEADERS")
                .then(|| "authorization=Bearer%20other,x-team=green".to_owned())
        })
        .otlp_endpoint(stub.url())
        .otlp_header("authorization", "Bearer mine")
        .build()
        .unwrap();
    span(&telemetry, "one");
    drop(telemetry);
    let seen = &stub.seen()[0];
    assert_eq!(seen.header("authorization"), Some("Bearer mine"));
    assert_eq!(seen.header("x-team"), Some("green"));
    assert_eq!(seen.headers.iter().filter(|(name, _)| name == "authorization").count(), 1);
}

#[test]
fn the_environment_can_turn_everything_or_one_signal_off() {
    for (variable, value, expected) in [
        ("OTEL_SDK_DISABLED", "true", &[][..]),
        ("OTEL_TRACES_EXPORTER", "none", &["/v1/metrics"][..]),
        ("OTEL_METRICS_EXPORTER", "none", &["/v1/traces"][..]),
        ("OTEL_TRACES_SAMPLER", "always_off", &["/v1/metrics"][..]),
    ] {
        let stub = Stub::start(|_, _| Answer::ok());
        let telemetry = Telemetry::builder("app")
            .environment(move |name| (name == variable).then(|| value.to_owned()))
            .otlp_endpoint(stub.url())
            .build()
            .unwrap();
        span(&telemetry, "one");
        telemetry.meter_provider().meter("test").u64_counter("c").build().add(1, &[]);
        drop(telemetry);
        assert_eq!(paths(&stub), expected, "{variable}");
    }
}

#[test]
fn without_an_endpoint_nothing_is_sent_and_nothing_is_dropped() {
    let telemetry = TelemetryBuilder::new().build().unwrap();
    span(&telemetry, "one");
    assert!(telemetry.flush());
    assert_eq!(telemetry.dropped(), 0);
}

#[test]
fn several_receivers_get_the_same_and_one_can_do_without_a_signal() {
    let (first, second) = (Stub::start(|_, _| Answer::ok()), Stub::start(|_, _| Answer::ok()));
    let telemetry = Telemetry::builder("app")
        .otlp_endpoint(first.url())
        .also_otlp(Otlp::new(second.url()).protocol(Protocol::HttpJson).without(Signal::Metrics))
        .build()
        .unwrap();
    span(&telemetry, "one");
    telemetry.meter_provider().meter("test").u64_counter("c").build().add(1, &[]);
    drop(telemetry);
    assert_eq!(first.taken().len(), 1);
    assert_eq!(second.taken().len(), 1);
    assert_eq!(first.taken()[0].span_id, second.taken()[0].span_id);
    assert_eq!(paths(&second), ["/v1/traces"]);
}

#[test]
fn log_records_arrive_with_their_event_names() {
    let stub = Stub::start(|_, _| Answer::ok());
    let telemetry = Telemetry::builder("app").otlp_endpoint(stub.url()).build().unwrap();
    let logger = telemetry.logger_provider().logger("test");
    let mut record = logger.create_log_record();
    record.set_event_name("gen_ai.evaluation.result");
    logger.emit(record);
    drop(telemetry);
    let seen = stub.seen().into_iter().find(|seen| seen.path == "/v1/logs").expect("logs were sent");
    let request = ExportLogsServiceRequest::decode(&*seen.body).unwrap();
    let record = &request.resource_logs[0].scope_logs[0].log_records[0];
    assert_eq!(record.event_name, "gen_ai.evaluation.result");
}

fn number(metric: &Metric) -> (f64, i32) {
    let Some(Data::Sum(sum)) = &metric.data else { panic!("{} is no sum", metric.name) };
    let value = match sum.data_points[0].value {
        Some(Value::AsInt(value)) => value as f64,
        Some(Value::AsDouble(value)) => value,
        None => panic!("{} has no value", metric.name),
    };
    (value, sum.aggregation_temporality)
}

#[test]
fn case_otlp_07_up_down_counters_stay_cumulative_when_differences_are_preferred() {
    let stub = Stub::start(|_, _| Answer::ok());
    let telemetry = Telemetry::builder("app")
        .otlp_endpoint(stub.url())
        .temporality(Temporality::Delta)
        .export_interval(Duration::from_secs(3_600))
        .build()
        .unwrap();
    let meter = telemetry.meter_provider().meter("test");
    let active = meter.i64_up_down_counter("active").build();
    let tokens = meter.u64_counter("tokens").build();
    let time = meter.f64_histogram("time").build();
    active.add(3, &[]);
    tokens.add(10, &[]);
    time.record(1.0, &[]);
    assert!(telemetry.flush());
    active.add(-1, &[]);
    tokens.add(5, &[]);
    time.record(2.0, &[]);
    assert!(telemetry.flush());
    let exports: Vec<Vec<Metric>> =
        stub.seen().iter().map(Seen::metrics).filter(|metrics| !metrics.is_empty()).collect();
    assert_eq!(exports.len(), 2);
    let (total, difference) =
        (AggregationTemporality::Cumulative as i32, AggregationTemporality::Delta as i32);
    for (metrics, active, tokens, sum) in [(&exports[0], 3.0, 10.0, 1.0), (&exports[1], 2.0, 5.0, 2.0)] {
        let get = |name| metrics.iter().find(|metric| metric.name == name).unwrap();
        assert_eq!(number(get("active")), (active, total));
        assert_eq!(number(get("tokens")), (tokens, difference));
        let Some(Data::Histogram(time)) = &get("time").data else { panic!("no histogram") };
        assert_eq!((time.data_points[0].sum, time.aggregation_temporality), (Some(sum), difference));
    }
}

#[test]
fn a_wrong_endpoint_or_header_is_an_error_at_the_start() {
    for endpoint in ["ftp://127.0.0.1", "http://", "not an url"] {
        for protocol in [Protocol::HttpProtobuf, Protocol::Grpc] {
            let built = Telemetry::builder("app").otlp_endpoint(endpoint).otlp_protocol(protocol).build();
            assert!(built.is_err(), "{endpoint} {protocol:?}");
        }
    }
    let missing = Otlp::new("https://127.0.0.1:1").certificate("/nowhere/ca.pem");
    let error = Telemetry::builder("app").otlp(missing).build().unwrap_err();
    assert!(error.to_string().contains("/nowhere/ca.pem"));
}
