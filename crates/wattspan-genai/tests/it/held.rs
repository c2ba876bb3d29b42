//! Helpers for spans that the caller already holds, and the names of the peer that they answer to.

use std::collections::BTreeSet;
use std::time::Duration;

use opentelemetry::trace::{Span as _, TraceContextExt as _, Tracer as _, TracerProvider as _};
use opentelemetry::{Array, Context, StringValue, Value};
use serde_json::json;
use wattspan_core::TokenUsage;
use wattspan_genai::span::{self, AttributeError, Held};
use wattspan_genai::{
    Agent, ContentPolicy, Evaluation, Key, Message, Part, Profile, Request, Retrieval, ServerTimings, Tool,
    ToolDefinition,
};

use crate::support::{Rig, text, value};

#[test]
fn a_span_that_is_held_gets_the_conventions_names() {
    for profile in Profile::ALL {
        let rig = Rig::new(profile);
        let tracer = rig.tracers.tracer("app");
        let mut mine = span::inference_span(&tracer, profile, "vertex", Request::chat("m").max_tokens(64));
        let held = &mut Held(&mut mine);
        span::set_gen_ai_attr(held, "request.top_p", 1).unwrap();
        span::set_gen_ai_attr(held, "output.type", "text").unwrap();
        let mut usage = TokenUsage::default();
        usage.fresh = Some(9);
        usage.cache_write = Some(3);
        usage.output = Some(7);
        span::record_token_usage(held, profile, &usage);
        span::record_timing(held, Some(Duration::from_millis(125)), Some(Duration::from_micros(5_200)));
        span::record_finish_reason(held, "stop");
        mine.end();
        let span = rig.span();
        assert_eq!(span.name, "chat m");
        assert_eq!(text(&span.attributes, "gen_ai.provider.name"), "gcp.vertex_ai");
        assert_eq!(value(&span.attributes, "gen_ai.request.top_p"), Some(&Value::F64(1.0)));
        assert_eq!(value(&span.attributes, "gen_ai.usage.input_tokens"), Some(&Value::I64(12)));
        assert_eq!(
            value(&span.attributes, "gen_ai.response.finish_reasons"),
            Some(&Value::Array(Array::String(vec![StringValue::from("stop")])))
        );
        let events: Vec<_> =
            span.events.iter().map(|event| (&*event.name, event.attributes[0].value.clone())).collect();
        assert_eq!(events, [("first_token", Value::F64(0.125)), ("output_token", Value::F64(0.0052))]);
        rig.check();
    }
}

#[test]
fn a_span_in_a_context_is_written_the_same_way() {
    let rig = Rig::new(Profile::Core);
    let tracer = rig.tracers.tracer("app");
    let context = Context::new().with_span(tracer.start_with_context("batch", &Context::new()));
    span::set_gen_ai_provider(&mut context.span(), "llama_cpp");
    span::set_gen_ai_attr(&mut context.span(), "operation.name", "custom").unwrap();
    context.span().end();
    assert_eq!(text(&rig.span().attributes, "gen_ai.provider.name"), "llama_cpp");
    rig.check();
}

#[test]
fn a_wrong_name_or_type_is_refused_and_says_what_is_right() {
    let rig = Rig::new(Profile::Core);
    let mut mine = rig.tracers.tracer("app").start("s");
    let held = &mut Held(&mut mine);
    let unknown = span::set_gen_ai_attr(held, "request.modle", "m").unwrap_err();
    assert_eq!(unknown.to_string(), "no attribute is called `request.modle`: did you mean `request.model`");
    let wrong = span::set_gen_ai_attr(held, "request.max_tokens", "many").unwrap_err();
    assert!(matches!(wrong, AttributeError::WrongType { name: "gen_ai.request.max_tokens", .. }));
    assert_eq!(wrong.to_string(), "`gen_ai.request.max_tokens` takes int, not string");
    mine.end();
    assert!(rig.span().attributes.is_empty());
}

/// llamatelemetry's 46 attributes (its telemetry API reference), in its order.
const PEER: [&str; 46] = [
    "gen_ai.provider.name",
    "gen_ai.request.model",
    "gen_ai.response.model",
    "gen_ai.operation.name",
    "gen_ai.conversation.id",
    "gen_ai.request.temperature",
    "gen_ai.request.top_p",
    "gen_ai.request.top_k",
    "gen_ai.request.max_tokens",
    "gen_ai.request.seed",
    "gen_ai.request.frequency_penalty",
    "gen_ai.request.presence_penalty",
    "gen_ai.request.stop_sequences",
    "gen_ai.request.choice.count",
    "gen_ai.request.encoding_formats",
    "gen_ai.usage.input_tokens",
    "gen_ai.usage.output_tokens",
    "gen_ai.usage.cache_creation.input_tokens",
    "gen_ai.usage.cache_read.input_tokens",
    "gen_ai.token.type",
    "gen_ai.input.messages",
    "gen_ai.output.messages",
    "gen_ai.output.type",
    "gen_ai.system_instructions",
    "gen_ai.prompt.name",
    "gen_ai.response.id",
    "gen_ai.response.finish_reasons",
    "gen_ai.agent.id",
    "gen_ai.agent.name",
    "gen_ai.agent.description",
    "gen_ai.agent.version",
    "gen_ai.tool.name",
    "gen_ai.tool.type",
    "gen_ai.tool.description",
    "gen_ai.tool.definitions",
    "gen_ai.tool.call.id",
    "gen_ai.tool.call.arguments",
    "gen_ai.tool.call.result",
    "gen_ai.data_source.id",
    "gen_ai.retrieval.query.text",
    "gen_ai.retrieval.documents",
    "gen_ai.evaluation.name",
    "gen_ai.evaluation.score.value",
    "gen_ai.evaluation.score.label",
    "gen_ai.evaluation.explanation",
    "gen_ai.embeddings.dimension.count",
];

#[test]
fn all_46_attributes_and_5_histograms_of_llamatelemetry_can_be_recorded() {
    let rig = Rig::new(Profile::Core);
    let genai = rig.with_logs().content(ContentPolicy::on()).build();
    let request = Request::chat("m")
        .conversation("c")
        .temperature(0.1)
        .top_p(0.1)
        .top_k(1)
        .max_tokens(1)
        .seed(1)
        .frequency_penalty(0.1)
        .presence_penalty(0.1)
        .stop_sequences(["x"])
        .choice_count(2)
        .encoding_formats(["float"])
        .embedding_dimensions(8)
        .output_type(wattspan_genai::OutputType::Text)
        .prompt_name("p");
    let mut inference = genai.begin(request);
    let mut usage = TokenUsage::default();
    usage.fresh = Some(1);
    usage.cache_read = Some(1);
    usage.cache_write = Some(1);
    usage.output = Some(1);
    inference.usage(usage);
    inference.response_id("r");
    inference.response_model("m");
    inference.finish_reason("stop");
    inference.input_messages(&[Message::user("q")]);
    inference.output_messages(&[Message::assistant("a")]);
    inference.system_instructions(&[Part::Text("s".into())]);
    inference.tool_definitions(&[ToolDefinition::function("f")]);
    inference.evaluate(Evaluation::new("e").score(1.0).label("l").explanation("x"));
    let took = Duration::from_millis(1);
    inference.server_timings(ServerTimings::default().request(took).first_token(took).per_output_token(took));
    inference.finish();
    let mut tool = genai.begin_tool(Tool::new("t").call_id("i").kind("function").description("d"));
    tool.arguments(&json!({}));
    tool.result(&json!([]));
    tool.finish();
    genai.begin_agent(Agent::invoke("a").id("i").description("d").version("1")).finish();
    let mut retrieval = genai.begin_retrieval(Retrieval::new().data_source("d"));
    retrieval.query("q");
    retrieval.documents(&json!([]));
    retrieval.finish();

    let mut seen = BTreeSet::new();
    for span in rig.spans() {
        seen.extend(span.attributes.iter().map(|pair| pair.key.as_str().to_owned()));
    }
    for log in rig.logs() {
        seen.extend(log.attributes_iter().map(|(key, _)| key.as_str().to_owned()));
    }
    let metrics = rig.metrics();
    for (_, points) in &metrics {
        seen.extend(points.iter().flat_map(|point| point.attributes.iter().map(|(key, _)| key.clone())));
    }
    let missing: Vec<_> = PEER.iter().filter(|name| !seen.contains(**name)).collect();
    assert!(missing.is_empty(), "{missing:?}");
    for name in [
        "gen_ai.client.operation.duration",
        "gen_ai.client.token.usage",
        "gen_ai.server.request.duration",
        "gen_ai.server.time_to_first_token",
        "gen_ai.server.time_per_output_token",
    ] {
        assert!(metrics.iter().any(|(metric, _)| metric.name == name), "{name}");
    }
    rig.check();
    assert!(PEER.iter().all(|name| wattspan_semconv::attr_name(name) == Ok(*name)));
    assert!(Key::ALL.len() > PEER.len());
}
