//! What arrives at real receivers, and whether it is what the conventions say.

use std::time::Duration;

use opentelemetry_proto::tonic::metrics::v1::Metric;
use opentelemetry_proto::tonic::trace::v1::Span;
use wattspan_otel::{Compression, Otlp, Protocol, Telemetry};
use wattspan_semconv::{Profile, attr};
use wattspan_tests::{Machine, Receiver, Rotel, WATTS, double, eventually, text, violations};

fn telemetry(otlp: Otlp) -> Telemetry {
    // Nothing by time: what the test flushes is what arrives.
    Telemetry::builder("e2e").otlp(otlp).export_interval(Duration::from_secs(3_600)).build().unwrap()
}

/// Measures, sends, and ends in the order that the documentation asks for.
fn run(telemetry: Telemetry, profile: Profile) {
    let machine = Machine::start(&telemetry, profile, 2);
    machine.work();
    drop(machine);
    drop(telemetry);
}

#[track_caller]
fn check(profile: Profile, receiver: &Receiver) {
    let spans = eventually("four spans", || Some(receiver.spans()).filter(|spans| spans.len() >= 4));
    assert_eq!(spans.len(), 4, "nothing arrives twice");
    let metrics: Vec<Metric> = eventually("the metrics", || {
        let metrics = receiver.metrics();
        metrics.iter().any(|metric| metric.name == "wattspan.inference.energy").then_some(metrics)
    });
    assert_eq!(violations(profile, &spans, &metrics), [""; 0]);
    for name in ["hw.power", "wattspan.device.energy", "hw.energy"] {
        assert!(metrics.iter().any(|metric| metric.name == name), "{name} is missing");
    }
    let went_well =
        |span: &&Span| span.name == "chat smollm2" && span.status.as_ref().is_none_or(|s| s.code != 2);
    let chat = spans.iter().find(went_well).expect("the chat that went well");
    let seconds = (chat.end_time_unix_nano - chat.start_time_unix_nano) as f64 / 1e9;
    let joules = double(chat, attr::WATTSPAN_ENERGY_TOTAL).expect("energy was measured");
    // Two GPUs; two refreshes of 20 ms at the edges, and room for a machine that polls late.
    let (expected, room) = (2.0 * WATTS * seconds, 2.0 * WATTS * (0.04 + 0.2 * seconds));
    assert!((joules - expected).abs() < room, "{joules} J in {seconds} s at two times {WATTS} W");
    assert_eq!(text(chat, attr::WATTSPAN_ENERGY_METHOD).as_deref(), Some("counter"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_passes_through_rotel_over_http_conforms_in_the_core_profile() {
    let receiver = Receiver::start().await;
    let rotel = Rotel::start(&receiver.endpoint());
    let otlp = Otlp::new(format!("http://127.0.0.1:{}", rotel.http)).compression(Compression::Gzip);
    tokio::task::spawn_blocking(move || {
        run(telemetry(otlp), Profile::Core);
        check(Profile::Core, &receiver);
    })
    .await
    .unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_passes_through_rotel_over_grpc_conforms_in_the_genai_profile() {
    let receiver = Receiver::start().await;
    let rotel = Rotel::start(&receiver.endpoint());
    let otlp = Otlp::new(format!("http://127.0.0.1:{}", rotel.grpc)).protocol(Protocol::Grpc);
    tokio::task::spawn_blocking(move || {
        run(telemetry(otlp), Profile::GenAi);
        check(Profile::GenAi, &receiver);
    })
    .await
    .unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_receiver_in_this_process_gets_the_same() {
    for profile in Profile::ALL {
        let receiver = Receiver::start().await;
        let otlp = Otlp::new(receiver.endpoint()).protocol(Protocol::Grpc);
        tokio::task::spawn_blocking(move || {
            run(telemetry(otlp), profile);
            check(profile, &receiver);
        })
        .await
        .unwrap();
    }
}
