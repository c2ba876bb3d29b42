//! In-process inference with the real small model conforms to both profiles: a load, a chat, a text completion,
//! embeddings, a failure and a cancelled answer.

use std::ops::ControlFlow;

use opentelemetry::metrics::MeterProvider as _;
use opentelemetry::trace::TracerProvider as _;
use opentelemetry_sdk::metrics::data::{ResourceMetrics, ScopeMetrics};
use opentelemetry_sdk::metrics::{InMemoryMetricExporter, PeriodicReader, SdkMeterProvider};
use opentelemetry_sdk::trace::{InMemorySpanExporter, SdkTracerProvider};
use wattspan_genai::{ContentPolicy, GenAi, Profile};
use wattspan_llama_cpp::{
    ChatMessage, Embedder, GenerateParams, Model, ModelOptions, Pooling, Prompt, Session, SessionOptions,
};
use wattspan_semconv::conformance::{self, Metric, Telemetry};
use wattspan_testkit::{neutral, peers};

#[test]
fn in_process_inference_conforms_to_the_core_profile() {
    check(Profile::Core, "gen_ai.client.operation.duration");
}

#[test]
fn in_process_inference_conforms_to_the_genai_profile() {
    check(Profile::GenAi, "gen_ai.client.inference.duration");
}

#[track_caller]
fn check(profile: Profile, duration: &str) {
    let spans = InMemorySpanExporter::default();
    let metrics = InMemoryMetricExporter::default();
    let tracers = SdkTracerProvider::builder().with_simple_exporter(spans.clone()).build();
    let meters =
        SdkMeterProvider::builder().with_reader(PeriodicReader::builder(metrics.clone()).build()).build();
    let genai = GenAi::builder("llama_cpp")
        .tracer(tracers.tracer("test"))
        .meter(meters.meter("test"))
        .profile(profile)
        .content(ContentPolicy::on())
        .build();
    run(&genai);
    meters.force_flush().unwrap();

    let spans = spans.get_finished_spans().unwrap();
    let names: Vec<&str> = spans.iter().map(|span| &*span.name).collect();
    assert_eq!(
        names,
        [
            "load smollm2",
            "chat smollm2",
            "text_completion smollm2",
            "text_completion smollm2",
            "text_completion smollm2",
            "embeddings smollm2"
        ]
    );
    let exported = metrics.get_finished_metrics().unwrap();
    let metrics: Vec<Metric> = exported
        .iter()
        .flat_map(ResourceMetrics::scope_metrics)
        .flat_map(ScopeMetrics::metrics)
        .map(neutral::metric)
        .collect();
    assert!(metrics.iter().any(|metric| metric.name == duration), "{metrics:?}");
    let telemetry =
        Telemetry { spans: spans.iter().map(neutral::span).collect(), metrics, ..Telemetry::default() };
    let violations = conformance::check(profile, &telemetry);
    let texts: Vec<String> = violations.iter().map(ToString::to_string).collect();
    assert_eq!(texts, Vec::<String>::new(), "profile {profile}");
}

/// One of each.
fn run(genai: &GenAi) {
    let options = ModelOptions::default().name("smollm2").gpu_layers(0);
    let model = Model::load(genai, peers::model(), &options).unwrap();
    let size = SessionOptions::default().context(256).threads(1);
    let mut session = Session::new(&model, &size).unwrap();
    let on = |_: &_| ControlFlow::Continue(());
    let mut params = GenerateParams::default().seed(1).max_tokens(4).stop("###").conversation("talk");
    params.frequency_penalty = 0.1;
    params.presence_penalty = 0.1;
    let chat = vec![ChatMessage::system("Be brief."), ChatMessage::user("Hi")];
    session.generate(chat, &params, on).unwrap();
    let greedy = GenerateParams::greedy().max_tokens(3);
    session.generate(Prompt::text("One, two,"), &greedy, on).unwrap();
    session.generate(Prompt::text("word ".repeat(600)), &greedy, on).unwrap_err();
    session.generate(Prompt::text("One, two,"), &greedy, |_| ControlFlow::Break(())).unwrap();
    Embedder::new(&model, &size, Pooling::Mean).unwrap().embed(&["Hello", "world"]).unwrap();
}
