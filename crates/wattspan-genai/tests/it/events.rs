//! Log events, and what becomes of them without a sink.

use wattspan_core::TokenUsage;
use wattspan_genai::{Evaluation, Failure, Profile, Request, Tool};

use crate::support::{Rig, text};

#[test]
fn exceptions_and_evaluations_are_log_records_in_both_profiles() {
    for (profile, inference_exception, tool_exception) in [
        (Profile::Core, "gen_ai.client.operation.exception", "gen_ai.client.operation.exception"),
        (Profile::GenAi, "gen_ai.client.inference.exception", "gen_ai.execute_tool.exception"),
    ] {
        let rig = Rig::new(profile);
        let genai = rig.with_logs().build();
        let mut inference = genai.begin(Request::chat("m"));
        let place = {
            use opentelemetry::trace::TraceContextExt as _;
            inference.context().span().span_context().clone()
        };
        inference.response_id("chatcmpl-1");
        inference.evaluate(Evaluation::new("relevance").score(0.8).label("pass"));
        inference.fail_with(&std::io::Error::from(std::io::ErrorKind::TimedOut));
        genai.begin_tool(Tool::new("t")).fail(Failure::new("ToolError").message("no such account"));
        let logs = rig.logs();
        let events: Vec<_> = logs
            .iter()
            .map(|log| (log.event_name().unwrap(), log.severity_number().map(|severity| severity as u8)))
            .collect();
        assert_eq!(
            events,
            [("gen_ai.evaluation.result", None), (inference_exception, Some(13)), (tool_exception, Some(13))]
        );
        let context = logs[1].trace_context().unwrap();
        assert_eq!((context.trace_id, context.span_id), (place.trace_id(), place.span_id()));
        let exception = format!("{:?}", logs[1].attributes_iter().collect::<Vec<_>>());
        assert!(
            exception.contains("timed out") && exception.contains("std::io::error::Error"),
            "{exception}"
        );
        let evaluation = format!("{:?}", logs[0].attributes_iter().collect::<Vec<_>>());
        assert!(evaluation.contains("chatcmpl-1") && evaluation.contains("0.8"), "{evaluation}");
        rig.check();
    }
}

#[test]
fn without_a_sink_they_are_events_on_the_span() {
    for profile in Profile::ALL {
        let rig = Rig::new(profile);
        let genai = rig.builder().details(true).build();
        let inference = genai.begin(Request::chat("m"));
        inference.evaluate(Evaluation::new("relevance").score(f64::NAN).label("fail").failed("judge_error"));
        inference.fail(Failure::new("500").message("broken"));
        let span = rig.span();
        let events: Vec<&str> = span.events.iter().map(|event| &*event.name).collect();
        assert_eq!(events, ["gen_ai.evaluation.result", "exception"]);
        assert_eq!(text(&span.events[1].attributes, "exception.message"), "broken");
        let evaluation = &span.events[0].attributes;
        assert!(evaluation.iter().all(|pair| pair.key.as_str() != "gen_ai.evaluation.score.value"));
        rig.check();
    }
}

#[test]
fn a_failure_without_a_message_is_no_exception() {
    let rig = Rig::new(Profile::Core);
    rig.with_logs().build().begin(Request::chat("m")).fail("429");
    assert!(rig.logs().is_empty());
}

#[test]
fn details_tell_all_of_an_inference_also_of_one_that_is_not_sampled() {
    for profile in Profile::ALL {
        let rig = Rig::sampled(profile, opentelemetry_sdk::trace::Sampler::AlwaysOff);
        let genai = rig.with_logs().details(true).build();
        let mut inference = genai.begin(Request::chat("m").temperature(0.5).server("h", Some(80)));
        let mut usage = TokenUsage::default();
        usage.output = Some(3);
        inference.usage(usage);
        inference.finish_reason("stop");
        inference.finish();
        let logs = rig.logs();
        assert_eq!(logs.len(), 1);
        let mut keys: Vec<&str> = logs[0].attributes_iter().map(|(key, _)| key.as_str()).collect();
        keys.sort_unstable();
        assert_eq!(
            keys,
            [
                "gen_ai.operation.name",
                "gen_ai.provider.name",
                "gen_ai.request.model",
                "gen_ai.request.temperature",
                "gen_ai.response.finish_reasons",
                "gen_ai.usage.output_tokens",
                "server.address",
                "server.port",
            ]
        );
        rig.check();
    }
}

#[test]
fn an_answer_can_be_evaluated_after_its_end() {
    let rig = Rig::new(Profile::Core);
    let genai = rig.with_logs().build();
    let inference = genai.begin(Request::chat("m"));
    let context = inference.context().clone();
    inference.finish();
    genai.evaluate(&context, Evaluation::new("toxicity").score(0.0).response_id("chatcmpl-1"));
    assert_eq!(rig.logs().len(), 1);
    rig.check();
}
