//! The facade as a program embeds it: one builder, and a span with joules, grams and dollars at the other end.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use opentelemetry_sdk::trace::InMemorySpanExporterBuilder;
use wattspan::core::{InferenceRecord, RecordSink};
use wattspan::genai::Request;
use wattspan::semconv::attr;
use wattspan::{Outcome, Setting, Wattspan};
use wattspan_fake_nvml::FakeNvml;
use wattspan_tests::{Receiver, double, eventually, get, text};

#[derive(Default)]
struct Kept(Mutex<Vec<InferenceRecord>>);

impl RecordSink for Kept {
    fn record(&self, record: &InferenceRecord) {
        self.0.lock().unwrap().push(record.clone());
    }
}

/// Stands for an engine at work.
fn work(time: Duration) {
    let until = Instant::now() + time;
    while Instant::now() < until {
        std::hint::spin_loop();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_builder_gives_joules_grams_and_dollars() {
    let receiver = Receiver::start().await;
    let driver = FakeNvml::builder().gpus(2).real_clock().load().unwrap();
    driver.all_gpus().idle_watts(300.0).unwrap().counter_refresh(20_000, 0).unwrap();
    let kept = Arc::new(Kept::default());
    let wattspan = Wattspan::builder()
        .service("facade", "1.2.3")
        .set(Setting::NvmlLibrary, driver.path().to_str().unwrap())
        .set(Setting::Host, "off")
        .set(Setting::Estimate, "off")
        .set(Setting::SettleWithin, "30s")
        .set(Setting::Intensity, "475")
        .set(Setting::ElectricityPrice, "0.12")
        .set(Setting::OtlpProtocol, "grpc")
        .gpus("1")
        .otlp_endpoint(&receiver.endpoint())
        .record_sink(kept.clone())
        .start()
        .unwrap();
    let found = wattspan.capabilities().iter().find(|finding| finding.collector == "nvidia").unwrap();
    assert!(matches!(&found.outcome, Outcome::Found(devices) if devices.len() == 2), "{found}");
    assert!(wattspan::global().is_some());

    let genai = wattspan.genai("my-engine");
    let mut inference = genai.begin(Request::chat("my-model"));
    for _token in 0..4 {
        work(Duration::from_millis(50));
        inference.token();
    }
    inference.finish();
    let (wattspan, flushed) = tokio::task::spawn_blocking(move || {
        let flushed = wattspan.flush(Duration::from_secs(60));
        (wattspan, flushed)
    })
    .await
    .unwrap();
    assert!(flushed, "the inference was not settled");

    let records = kept.0.lock().unwrap().clone();
    let [record] = &records[..] else { panic!("one inference, not {}", records.len()) };
    let energy = record.settlement.energy.as_ref().expect("the fake GPU was measured");
    // Of two GPUs with 300 W each only the chosen one is charged.
    assert_eq!(energy.devices.len(), 1);
    let expected = 300.0 * record.duration().as_secs_f64();
    assert!(
        (energy.total.joules() - expected).abs() < 0.25 * expected + 12.0,
        "{} J of {expected} J",
        energy.total
    );
    let kilowatt_hours = energy.total.joules() / 3.6e6;
    let grams = record.settlement.emissions.as_ref().expect("an intensity was given").total.grams();
    let usd = record.settlement.cost.as_ref().expect("a price was given").total.usd();
    assert!((grams - 475.0 * kilowatt_hours).abs() < 1e-9 * grams);
    assert!((usd - 0.12 * kilowatt_hours).abs() < 1e-9 * usd);

    tokio::task::spawn_blocking(move || drop(wattspan)).await.unwrap();
    assert!(wattspan::global().is_none(), "what has ended is not global any more");
    let spans = receiver.spans();
    assert_eq!(spans.len(), 1);
    assert_eq!(double(&spans[0], attr::WATTSPAN_ENERGY_TOTAL), Some(energy.total.joules()));
    assert_eq!(double(&spans[0], attr::WATTSPAN_EMISSIONS_TOTAL), Some(grams));
    assert_eq!(double(&spans[0], attr::WATTSPAN_EMISSIONS_INTENSITY), Some(475.0));
    assert_eq!(double(&spans[0], attr::WATTSPAN_COST_TOTAL), Some(usd));
    assert_eq!(text(&spans[0], attr::WATTSPAN_COST_SOURCE).as_deref(), Some("electricity"));
}

#[test]
fn metrics_can_be_scraped_and_content_is_recorded_by_choice_only() {
    let driver = FakeNvml::builder().gpus(1).real_clock().load().unwrap();
    driver.gpu(0).idle_watts(300.0).unwrap();
    let start = |capture: &str| {
        Wattspan::builder()
            .set(Setting::NvmlLibrary, driver.path().to_str().unwrap())
            .set(Setting::Host, "off")
            .set(Setting::PrometheusListen, "127.0.0.1:0")
            .set(Setting::PrometheusDcgm, "on")
            .set(Setting::CaptureContent, capture)
            .not_global()
            .start()
            .unwrap()
    };
    let wattspan = start("off");
    let genai = wattspan.genai("my-engine");
    assert!(!genai.captures_content());
    genai.begin(Request::chat("my-model")).finish();
    let port = wattspan.telemetry().scrape_address().expect("a port was asked for").port();
    let wanted = [
        "wattspan_device_energy_joules_total",
        "hw_energy_joules_total",
        "wattspan_device_index=\"0\"",
        "DCGM_FI_DEV_POWER_USAGE",
        "gen_ai_client_operation_duration_seconds_count",
    ];
    // The first intervals close a few polls after the start.
    eventually("a page with all names", || {
        let page = get(port, "/metrics")?;
        wanted.iter().all(|name| page.contains(name)).then_some(())
    });
    drop(wattspan);
    assert!(start("on").genai("my-engine").captures_content());
}

#[test]
fn without_an_endpoint_nothing_is_sent_and_without_hardware_energy_is_absent() {
    let kept = Arc::new(Kept::default());
    let spans = InMemorySpanExporterBuilder::new().build();
    let wattspan = Wattspan::builder()
        .without_detection()
        .set(Setting::Estimate, "off")
        .set(Setting::GuessPlace, "off")
        .set(Setting::CloudMetadata, "off")
        .record_sink(kept.clone())
        .span_exporter(spans.clone())
        .not_global()
        .start()
        .unwrap();
    wattspan.genai("my-engine").begin(Request::chat("my-model")).finish();
    assert!(wattspan.flush(Duration::from_secs(60)));
    let names: Vec<_> = spans.get_finished_spans().unwrap().into_iter().map(|span| span.name).collect();
    assert_eq!(names, ["chat my-model"], "the program's own exporter has the span");
    drop(wattspan);
    let records = kept.0.lock().unwrap();
    assert_eq!(records.len(), 1, "what has ended is settled before the end");
    assert!(records[0].settlement.energy.is_none() && records[0].settlement.emissions.is_none());
}

#[test]
fn a_wrong_setting_is_an_error_at_the_start() {
    let error = Wattspan::builder().country("Germny").without_detection().not_global().start();
    let error = error.err().expect("there is no such country").to_string();
    assert!(error.contains("Germny") && error.contains("Germany"), "{error}");
    let error = Wattspan::builder().set(Setting::Pue, "0.3").without_detection().not_global().start();
    assert!(error.err().expect("a PUE is at least 1").to_string().contains("pue"));
}
