//! Names, kinds, request parameters and results of inference spans, in both profiles.

use std::time::Duration;

use opentelemetry::Value;
use opentelemetry::trace::SpanKind;
use wattspan_core::{Locality, TokenUsage};
use wattspan_genai::{GenAi, Key, ModalityUsage, Operation, OutputType, Profile, Request};

use crate::support::{Rig, names, start, text, value};

fn usage(fresh: u64, cache_read: u64, cache_write: u64, output: u64) -> TokenUsage {
    let mut usage = TokenUsage::default();
    usage.fresh = Some(fresh);
    usage.cache_read = Some(cache_read);
    usage.cache_write = Some(cache_write);
    usage.output = Some(output);
    usage
}

/// Everything that a request and an answer can say.
fn full(rig: &Rig) {
    let request = Request::chat("smollm2")
        .temperature(0.7)
        .top_p(0.9)
        .top_k(40)
        .max_tokens(256)
        .seed(7)
        .frequency_penalty(0.1)
        .presence_penalty(0.2)
        .stop_sequences(["</s>", "\n\n"])
        .choice_count(2)
        .output_type(OutputType::Json)
        .encoding_formats(["float"])
        .embedding_dimensions(384)
        .reasoning_level("low")
        .previous_response("resp-0")
        .stream_cursor("12")
        .conversation_compacted(true)
        .prompt_name("summary")
        .prompt_version("3")
        .service_tier("auto")
        .openai_api("chat_completions")
        .conversation("conv-1")
        .server("localhost", Some(8080))
        .streaming();
    let mut inference = rig.builder().locality(Locality::LocalServer { pid: None }).build().begin(request);
    rig.advance(0.5);
    inference.chunk();
    rig.advance(0.5);
    inference.token();
    rig.advance(0.1);
    inference.token();
    let mut tokens = usage(10, 5, 3, 2);
    tokens.reasoning = Some(1);
    inference.usage(tokens);
    let mut modalities = ModalityUsage::default();
    modalities.text.input = Some(12);
    modalities.text.output = Some(2);
    modalities.text.cache_read = Some(5);
    modalities.image.input = Some(6);
    inference.usage_by_modality(modalities);
    inference.finish_reasons(["stop", "length"]);
    inference.response_id("chatcmpl-1");
    inference.response_model("smollm2-q4");
    inference.response_status("completed");
    inference.service_tier("default");
    inference.system_fingerprint("b11549");
    inference.finish();
}

#[test]
fn every_parameter_and_result_conforms_in_both_profiles() {
    for profile in Profile::ALL {
        let rig = Rig::new(profile);
        full(&rig);
        rig.check();
        let span = rig.span();
        assert_eq!(span.name, "chat smollm2");
        assert_eq!(span.span_kind, SpanKind::Client);
        for name in [
            "gen_ai.operation.name",
            "gen_ai.provider.name",
            "gen_ai.request.model",
            "gen_ai.request.temperature",
            "gen_ai.request.top_p",
            "gen_ai.request.top_k",
            "gen_ai.request.max_tokens",
            "gen_ai.request.seed",
            "gen_ai.request.frequency_penalty",
            "gen_ai.request.presence_penalty",
            "gen_ai.request.stop_sequences",
            "gen_ai.request.choice.count",
            "gen_ai.request.stream",
            "gen_ai.request.encoding_formats",
            "gen_ai.embeddings.dimension.count",
            "gen_ai.output.type",
            "gen_ai.prompt.name",
            "gen_ai.conversation.id",
            "server.address",
            "server.port",
            "openai.api.type",
            "openai.request.service_tier",
            "openai.response.service_tier",
            "openai.response.system_fingerprint",
            "gen_ai.usage.input_tokens",
            "gen_ai.usage.output_tokens",
            "gen_ai.usage.cache_read.input_tokens",
            "gen_ai.usage.reasoning.output_tokens",
            "gen_ai.response.finish_reasons",
            "gen_ai.response.id",
            "gen_ai.response.model",
            "gen_ai.response.time_to_first_chunk",
        ] {
            assert!(value(&span.attributes, name).is_some(), "{profile}: {name}");
        }
        let newer = [
            "gen_ai.request.reasoning.level",
            "gen_ai.request.previous_response.id",
            "gen_ai.request.stream_cursor",
            "gen_ai.conversation.compacted",
            "gen_ai.prompt.version",
            "gen_ai.response.status",
            "gen_ai.usage.text.input_tokens",
            "gen_ai.usage.text.output_tokens",
            "gen_ai.usage.text.cache_read.input_tokens",
            "gen_ai.usage.image.input_tokens",
            "gen_ai.usage.cache_write.input_tokens",
        ];
        for name in newer {
            assert_eq!(
                value(&span.attributes, name).is_some(),
                profile == Profile::GenAi,
                "{profile}: {name}"
            );
        }
        let first = value(&span.attributes, "gen_ai.response.time_to_first_chunk");
        assert_eq!(first, Some(&Value::F64(0.5)));
        let finish = value(&span.attributes, "gen_ai.response.finish_reasons").map(Value::as_str);
        assert_eq!(finish.as_deref(), Some("[\"stop\",\"length\"]"));
    }
}

#[test]
fn what_identifies_a_request_is_there_when_the_span_is_created() {
    // A sampler that decides by an attribute sees it only if it is there at the creation.
    #[derive(Clone, Debug)]
    struct ByModel;
    impl opentelemetry_sdk::trace::ShouldSample for ByModel {
        fn should_sample(
            &self,
            _: Option<&opentelemetry::Context>,
            _: opentelemetry::TraceId,
            _: &str,
            _: &SpanKind,
            attributes: &[opentelemetry::KeyValue],
            _: &[opentelemetry::trace::Link],
        ) -> opentelemetry_sdk::trace::SamplingResult {
            let wanted = [
                "gen_ai.operation.name",
                "gen_ai.provider.name",
                "gen_ai.request.model",
                "server.address",
                "server.port",
            ];
            let all = wanted.iter().all(|name| value(attributes, name).is_some());
            opentelemetry_sdk::trace::SamplingResult {
                decision: if all {
                    opentelemetry_sdk::trace::SamplingDecision::RecordAndSample
                } else {
                    opentelemetry_sdk::trace::SamplingDecision::Drop
                },
                attributes: Vec::new(),
                trace_state: opentelemetry::trace::TraceState::default(),
            }
        }
    }
    use opentelemetry::trace::TracerProvider as _;
    let spans = opentelemetry_sdk::trace::InMemorySpanExporter::default();
    let provider = opentelemetry_sdk::trace::SdkTracerProvider::builder()
        .with_sampler(ByModel)
        .with_simple_exporter(spans.clone())
        .build();
    let genai = GenAi::builder("llama_cpp").tracer(provider.tracer("test")).build();
    genai.begin(Request::chat("m").server("h", Some(1))).finish();
    genai.begin(Request::chat("m")).finish();
    assert_eq!(spans.get_finished_spans().unwrap().len(), 1);
}

#[test]
fn the_kind_is_where_the_model_runs_as_far_as_the_profile_allows() {
    for profile in Profile::ALL {
        let rig = Rig::new(profile);
        let genai = rig.genai();
        let cases = [
            (Request::chat("m"), "chat m", SpanKind::Internal),
            (Request::completion("m"), "text_completion m", SpanKind::Internal),
            // Embeddings are client spans only, by both conventions.
            (Request::embeddings("m"), "embeddings m", SpanKind::Client),
            (Request::rerank("m"), "rerank m", SpanKind::Internal),
            (Request::load("m"), "load m", SpanKind::Internal),
            (Request::chat("m").locality(Locality::Remote), "chat m", SpanKind::Client),
            (Request::new(Operation::Chat), "chat", SpanKind::Internal),
        ];
        for (request, _, _) in cases.clone() {
            genai.begin(request).finish();
        }
        for (span, (_, name, kind)) in rig.spans().iter().zip(&cases) {
            assert_eq!((&*span.name, &span.span_kind), (*name, kind), "{profile}");
        }
        rig.check();
    }
}

#[test]
fn case_semconv_01_input_tokens_include_cached_ones() {
    // (a) prompt_tokens 100 of which cached 75; (b) 100 fresh, 75 read, 20 written.
    for (given, input, written) in [(usage(25, 75, 0, 1), 100, 0), (usage(100, 75, 20, 1), 195, 20)] {
        for (profile, write) in [
            (Profile::Core, "gen_ai.usage.cache_creation.input_tokens"),
            (Profile::GenAi, "gen_ai.usage.cache_write.input_tokens"),
        ] {
            let rig = Rig::new(profile);
            let mut inference = rig.genai().begin(Request::chat("m"));
            inference.usage(given);
            inference.finish();
            let span = rig.span();
            let got = |name| value(&span.attributes, name).cloned();
            assert_eq!(got("gen_ai.usage.input_tokens"), Some(Value::I64(input)));
            assert_eq!(got("gen_ai.usage.cache_read.input_tokens"), Some(Value::I64(75)));
            assert_eq!(got(write), Some(Value::I64(written)));
            rig.check();
        }
    }
}

#[test]
fn case_semconv_03_older_provider_names_become_todays() {
    for (given, want) in [
        ("bedrock", "aws.bedrock"),
        ("gemini", "gcp.gemini"),
        ("vertex", "gcp.vertex_ai"),
        ("llama_cpp", "llama_cpp"),
    ] {
        assert_eq!(GenAi::builder(given).build().provider(), want);
    }
}

#[test]
fn case_semconv_05_counts_are_integers_and_never_negative() {
    let rig = Rig::new(Profile::Core);
    let mut inference = rig.genai().begin(Request::chat("m"));
    let mut tokens = TokenUsage::default();
    tokens.fresh = Some(1234);
    tokens.output = Some(56);
    tokens.reasoning = Some(u64::MAX);
    inference.usage(tokens);
    inference.finish();
    let span = rig.span();
    let got = |name| value(&span.attributes, name).cloned();
    assert_eq!(got("gen_ai.usage.input_tokens"), Some(Value::I64(1234)));
    assert_eq!(got("gen_ai.usage.output_tokens"), Some(Value::I64(56)));
    assert_eq!(got("gen_ai.usage.reasoning.output_tokens"), Some(Value::from("18446744073709551615")));
}

#[test]
fn case_measurement_03_a_wall_clock_step_changes_no_duration() {
    let rig = Rig::new(Profile::Core);
    rig.advance(3.0);
    let inference = rig.genai().begin(Request::chat("m"));
    rig.advance(1.0);
    rig.clock.step_wall(-30);
    rig.advance(3.0);
    inference.finish();
    let span = rig.span();
    assert_eq!(span.start_time, start() + Duration::from_secs(3));
    assert_eq!(span.end_time, span.start_time + Duration::from_secs(4));
    assert_eq!(rig.points("gen_ai.client.operation.duration")[0].sum, 4.0);
}

#[test]
fn case_streaming_06_an_absent_count_erases_none() {
    // message_start: input 412, output 2; message_delta: input null, output 89.
    let rig = Rig::new(Profile::Core);
    let mut inference = rig.genai().begin(Request::chat("m"));
    let mut first = TokenUsage::default();
    first.fresh = Some(412);
    first.output = Some(2);
    inference.usage(first);
    let mut later = TokenUsage::default();
    later.output = Some(89);
    inference.usage(later);
    inference.finish();
    let span = rig.span();
    assert_eq!(value(&span.attributes, "gen_ai.usage.input_tokens"), Some(&Value::I64(412)));
    assert_eq!(value(&span.attributes, "gen_ai.usage.output_tokens"), Some(&Value::I64(89)));
}

#[test]
fn case_streaming_10_tokens_that_nobody_reported_are_absent() {
    let rig = Rig::new(Profile::Core);
    let mut inference = rig.genai().begin(Request::chat("m").streaming());
    inference.token();
    inference.finish();
    let span = rig.span();
    let mut got = names(&span.attributes);
    got.sort_unstable();
    assert_eq!(
        got,
        [
            "gen_ai.operation.name",
            "gen_ai.provider.name",
            "gen_ai.request.model",
            "gen_ai.request.stream",
            "gen_ai.response.time_to_first_chunk",
            "wattspan.settle.reason",
        ]
    );
    assert!(rig.points("gen_ai.client.token.usage").is_empty());
}

#[test]
fn case_streaming_04_a_later_count_replaces_and_is_not_added() {
    // message_start: input 25, output 1; message_delta: output 15, cumulative.
    let rig = Rig::new(Profile::Core);
    let mut inference = rig.genai().begin(Request::chat("m"));
    let mut tokens = TokenUsage::default();
    tokens.fresh = Some(25);
    tokens.output = Some(1);
    inference.usage(tokens);
    tokens = TokenUsage::default();
    tokens.output = Some(15);
    inference.usage(tokens);
    inference.finish();
    let span = rig.span();
    assert_eq!(value(&span.attributes, "gen_ai.usage.input_tokens"), Some(&Value::I64(25)));
    assert_eq!(value(&span.attributes, "gen_ai.usage.output_tokens"), Some(&Value::I64(15)));
}

#[test]
fn an_inference_goes_from_thread_to_thread() {
    fn check<T: Send + Sync + 'static>() {}
    check::<GenAi>();
    check::<wattspan_genai::Inference>();
    check::<wattspan_genai::ToolCall>();
    check::<wattspan_genai::AgentRun>();
}

#[test]
fn any_key_of_the_conventions_can_be_set_but_content() {
    let rig = Rig::new(Profile::Core);
    let request =
        Request::chat("m").attribute(Key::DataSourceId, "docs").attribute(Key::InputMessages, "a secret");
    let mut inference = rig.genai().begin(request);
    inference.set(Key::AgentName, "helper");
    inference.set(Key::OutputMessages, "another secret");
    inference.finish();
    let span = rig.span();
    assert_eq!(text(&span.attributes, "gen_ai.data_source.id"), "docs");
    assert_eq!(text(&span.attributes, "gen_ai.agent.name"), "helper");
    assert_eq!(value(&span.attributes, "gen_ai.input.messages"), None);
    assert_eq!(value(&span.attributes, "gen_ai.output.messages"), None);
}
