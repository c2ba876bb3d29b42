//! Parents, conversations and open inferences, across tasks and into headers.

use std::collections::HashMap;

use opentelemetry::trace::{SpanId, TraceContextExt as _, Tracer as _, TracerProvider as _};
use opentelemetry::{Context, Value};
use wattspan_core::TokenUsage;
use wattspan_genai::{Agent, Key, Profile, Request, Tool, context};

use crate::support::{Keeper, Rig, names, text, value};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn parent_and_conversation_flow_into_spawned_tasks() {
    let rig = Rig::new(Profile::GenAi);
    let genai = rig.genai();
    let agent = {
        let _guard = context::with_conversation("conv-7").attach();
        genai.begin_agent(Agent::invoke("planner"))
    };
    let inside = agent.context().clone();
    let parent = inside.span().span_context().span_id();
    let task = {
        let genai = genai.clone();
        let call = async move {
            let inference = genai.begin(Request::chat("m"));
            tokio::task::yield_now().await;
            // On whichever thread it goes on, the context is there.
            let tool = genai.begin_tool(Tool::new("t"));
            let nested = context::with_current_context(async { context::conversation() });
            assert_eq!(tokio::spawn(nested).await.unwrap().as_deref(), Some("conv-7"));
            tool.finish();
            inference.finish();
        };
        tokio::spawn(context::with_context(call, inside))
    };
    task.await.unwrap();
    assert_eq!(context::conversation(), None);
    assert_eq!((agent.inference_calls(), agent.tool_calls()), (1, 1));
    agent.finish();
    let spans = rig.spans();
    assert_eq!(spans.len(), 3);
    for span in &spans {
        assert_eq!(text(&span.attributes, "gen_ai.conversation.id"), "conv-7", "{}", span.name);
        let want = if span.name.starts_with("invoke_agent") { SpanId::INVALID } else { parent };
        assert_eq!(span.parent_span_id, want, "{}", span.name);
    }
    let tool = spans.iter().find(|span| span.name == "execute_tool t").unwrap();
    assert_eq!(text(&tool.attributes, "gen_ai.agent.name"), "planner");
    rig.check();
}

#[test]
fn a_requests_own_conversation_goes_before_the_contexts() {
    let rig = Rig::new(Profile::Core);
    let _guard = context::with_conversation("around").attach();
    let inference = rig.genai().begin(Request::chat("m").conversation("own"));
    {
        let _inside = inference.context().clone().attach();
        assert_eq!(context::conversation().as_deref(), Some("own"));
    }
    inference.finish();
    assert_eq!(text(&rig.span().attributes, "gen_ai.conversation.id"), "own");
}

#[test]
fn w3c_headers_name_the_span() {
    let rig = Rig::new(Profile::Core);
    let inference = rig.genai().begin(Request::chat("m"));
    let mut headers = HashMap::new();
    context::inject(inference.context(), &mut headers);
    let place = inference.context().span().span_context().clone();
    assert_eq!(headers["traceparent"], format!("00-{}-{}-01", place.trace_id(), place.span_id()));
    // The reader of the SDK finds the same place in it.
    let read = opentelemetry::propagation::TextMapPropagator::extract(
        &opentelemetry_sdk::propagation::TraceContextPropagator::new(),
        &headers,
    );
    assert_eq!(read.span().span_context().span_id(), place.span_id());
    assert_eq!(headers.get("tracestate"), None);
    inference.finish();
}

#[test]
fn an_open_inference_is_added_to_and_not_doubled() {
    let rig = Rig::new(Profile::Core);
    let keeper = Keeper::default();
    let genai = rig.builder().observer(std::sync::Arc::new(keeper.clone())).build();
    let client = rig.builder().build();

    let mut outer = genai.begin(Request::chat("m").temperature(0.5));
    outer.finish_reason("stop");
    {
        let _guard = outer.context().clone().attach();
        let mut inner = client.begin(Request::chat("m").temperature(0.9).max_tokens(8).server("h", Some(80)));
        assert!(inner.is_added());
        rig.advance(1.0);
        inner.tokens(3);
        let mut usage = TokenUsage::default();
        usage.fresh = Some(10);
        usage.output = Some(3);
        inner.usage(usage);
        inner.response_id("id-1");
        inner.finish_reason("length");
        inner.finish();
    }
    rig.advance(1.0);
    outer.finish();
    keeper.with(|kept| {
        assert_eq!((kept.begun.len(), kept.decoded, kept.finished.len()), (1, 3, 1));
        let facts = &kept.finished[0].facts;
        assert_eq!(
            (facts.tokens.output, facts.finish_reasons.as_slice()),
            (Some(3), &["stop".to_owned()][..])
        );
        assert!(facts.first_token.is_some());
    });
    keeper.settle(&wattspan_core::Settlement::unknown(wattspan_core::SettleReason::NoSensor));
    let span = rig.span();
    assert_eq!(value(&span.attributes, "gen_ai.request.temperature"), Some(&Value::F64(0.5)));
    assert_eq!(value(&span.attributes, "gen_ai.request.max_tokens"), Some(&Value::I64(8)));
    assert_eq!(text(&span.attributes, "gen_ai.response.id"), "id-1");
    assert_eq!(rig.points("gen_ai.client.operation.duration")[0].count, 1);
    let mut keys = names(&span.attributes);
    let all = keys.len();
    keys.sort_unstable();
    keys.dedup();
    assert_eq!(keys.len(), all);
    rig.check();
}

#[test]
fn a_failure_inside_is_told_when_the_outer_one_is_dropped_with_it() {
    let told = |end: fn(wattspan_genai::Inference)| {
        let rig = Rig::new(Profile::Core);
        let genai = rig.genai();
        let outer = genai.begin(Request::chat("m"));
        {
            let _guard = outer.context().clone().attach();
            genai.begin(Request::chat("m")).fail("503");
        }
        end(outer);
        value(&rig.span().attributes, "error.type").map(|value| value.as_str().into_owned())
    };
    assert_eq!(told(drop).as_deref(), Some("503"));
    // The caller knows best: another try may have gone well, or the fault was another.
    assert_eq!(told(wattspan_genai::Inference::finish), None);
    assert_eq!(told(|outer| outer.fail("gave_up")).as_deref(), Some("gave_up"));
}

#[test]
fn another_inference_inside_stays_its_own() {
    let rig = Rig::new(Profile::Core);
    let genai = rig.genai();
    let outer = genai.begin(Request::chat("m"));
    let context = outer.context().clone();
    {
        let _guard = context.clone().attach();
        for request in [Request::chat("other"), Request::embeddings("m"), Request::chat("m").separate()] {
            let inner = genai.begin(request);
            assert!(!inner.is_added());
            inner.finish();
        }
        // Below a tool a model call is one of its own, also of the same model.
        let tool = genai.begin_tool(Tool::new("t"));
        let _inside = tool.context().clone().attach();
        let inner = genai.begin(Request::chat("m"));
        assert!(!inner.is_added());
        inner.finish();
        tool.finish();
    }
    outer.finish();
    let _guard = context.attach();
    let late = genai.begin(Request::chat("m"));
    assert!(!late.is_added(), "the outer one has ended");
    late.finish();
    assert_eq!(rig.spans().len(), 7);
    rig.check();
}

#[test]
fn a_span_of_another_library_is_adopted() {
    for profile in Profile::ALL {
        let rig = Rig::new(profile);
        let genai = rig.genai();
        let tracer = rig.tracers.tracer("other");
        let mut theirs = tracer.span_builder("chat m").with_start_time(crate::support::start());
        theirs.attributes = Some(vec![
            opentelemetry::KeyValue::new("gen_ai.operation.name", "chat"),
            opentelemetry::KeyValue::new("gen_ai.response.id", "theirs"),
        ]);
        let context = Context::new().with_span(tracer.build_with_context(theirs, &Context::new()));
        let written = [Key::OperationName, Key::ResponseId];
        let mut inference = genai.adopt(context, Request::chat("m"), &written);
        rig.advance(2.0);
        inference.response_id("ours");
        inference.response_model("m-q4");
        inference.finish();
        let span = rig.span();
        assert_eq!(text(&span.attributes, "gen_ai.response.id"), "theirs");
        assert_eq!(text(&span.attributes, "gen_ai.response.model"), "m-q4");
        assert_eq!(text(&span.attributes, "gen_ai.provider.name"), "llama_cpp");
        assert_eq!(span.end_time, crate::support::start() + crate::support::seconds(2.0));
        rig.check();
    }
}
