//! The thinnest whole: a real llama-server answers, the fake driver counts, the ledger shares, and the settled span
//! arrives at an OTLP receiver with its joules.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use opentelemetry::metrics::MeterProvider as _;
use opentelemetry::trace::TracerProvider as _;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use wattspan_core::{IntervalEnergy, Joules, Locality, SampleSink, SampleTick};
use wattspan_fake_nvml::FakeNvml;
use wattspan_genai::GenAi;
use wattspan_llama_server::{ChatRequest, LlamaServer as Client};
use wattspan_monitor::Monitor;
use wattspan_nvidia::{NvidiaCollector, NvidiaOptions};
use wattspan_otel::{Protocol, Telemetry};
use wattspan_semconv::attr;
use wattspan_testkit::{LlamaOptions, LlamaServer};
use wattspan_tests::{Receiver, attribute, double, text};

/// Keeps every closed interval and the counter's readings.
#[derive(Default)]
struct Kept {
    intervals: Mutex<Vec<IntervalEnergy>>,
    counter: Mutex<Vec<u64>>,
}

impl SampleSink for Kept {
    fn sampled(&self, tick: &SampleTick<'_>) {
        self.intervals.lock().unwrap().extend_from_slice(tick.intervals);
        let readings = tick.samples.iter().filter_map(|sample| sample.energy.as_value().copied());
        self.counter.lock().unwrap().extend(readings);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_real_request_arrives_as_a_settled_span_with_joules() {
    let receiver = Receiver::start().await;
    let mut slots = LlamaOptions::default();
    slots.parallel = 1;
    let server = LlamaServer::start(&slots).unwrap();
    let driver = FakeNvml::builder().gpus(1).real_clock().load().unwrap();
    // 300 W without pause: an inference of L seconds has used 300 × L joules, whatever its edges.
    driver.gpu(0).idle_watts(300.0).unwrap().counter_refresh(20_000, 0).unwrap();

    let telemetry = Telemetry::builder("spine")
        .otlp_endpoint(receiver.endpoint())
        .otlp_protocol(Protocol::Grpc)
        .build()
        .unwrap();
    let mut options = NvidiaOptions::default();
    options.library = Some(driver.path().to_owned());
    let kept = Arc::new(Kept::default());
    let monitor = Monitor::builder()
        .collector(Box::new(NvidiaCollector::open(&options).unwrap().expect("the fake driver has a GPU")))
        .sample_sink(kept.clone())
        .settle_within(Duration::from_secs(30))
        .start()
        .unwrap();
    let genai = GenAi::builder("llama_cpp")
        .tracer(telemetry.tracer_provider().tracer("spine"))
        .meter(telemetry.meter_provider().meter("spine"))
        .locality(Locality::LocalServer { pid: None })
        .observer(monitor.observer())
        .build();
    let client = Client::new(&server.url(), genai).unwrap();

    let request = ChatRequest::user("SmolLM2", "Count from one to ten.").max_tokens(24);
    let mut pieces = 0;
    let answer = client.chat_stream(&request, |_| pieces += 1).await.unwrap();
    assert!(pieces > 0 && !answer.content.is_empty());

    assert!(monitor.flush(Duration::from_secs(60)), "the inference was not settled");
    drop(monitor);
    tokio::task::spawn_blocking(move || drop(telemetry)).await.unwrap();

    let spans = receiver.spans();
    assert_eq!(spans.len(), 1, "one request is one span");
    let span = &spans[0];
    assert_eq!(span.name, "chat SmolLM2");
    assert_eq!(text(span, attr::GEN_AI_PROVIDER_NAME).as_deref(), Some("llama_cpp"));
    let tokens = answer.tokens.output.expect("llama-server counts its tokens");
    let reported = attribute(span, attr::GEN_AI_USAGE_OUTPUT_TOKENS);
    assert_eq!(reported, Some(Value::IntValue(i64::try_from(tokens).unwrap())));

    let seconds = (span.end_time_unix_nano - span.start_time_unix_nano) as f64 / 1e9;
    let joules = double(span, attr::WATTSPAN_ENERGY_TOTAL).expect("energy was measured");
    // Two refreshes of 20 ms at the edges, and room for a machine that polls late.
    let tolerance = 300.0 * 0.04 + 0.2 * 300.0 * seconds;
    assert!((joules - 300.0 * seconds).abs() < tolerance, "{joules} J in {seconds} s at 300 W");
    assert_eq!(text(span, attr::WATTSPAN_ENERGY_METHOD).as_deref(), Some("counter"));
    assert_eq!(text(span, attr::WATTSPAN_SETTLE_REASON).as_deref(), Some("covered"));

    // Nothing is lost and nothing is counted twice: the parts of all intervals are what the counter moved by.
    let intervals = kept.intervals.lock().unwrap();
    let counter = kept.counter.lock().unwrap();
    let parts: Joules = intervals.iter().map(|interval| interval.energy.total()).sum();
    let inference: Joules = intervals.iter().map(|interval| interval.energy.inference).sum();
    let moved: i64 = i64::try_from(counter[counter.len() - 1] - counter[0]).unwrap();
    let unclosed = Joules::from_millijoules(moved) - parts;
    assert!(
        !unclosed.is_negative() && unclosed < Joules::from_millijoules(300_000),
        "{unclosed} are not in the ledger"
    );
    assert_eq!(inference.joules(), joules, "the one inference has all inference energy");
}
