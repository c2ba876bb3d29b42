//! Content: nothing without the choice, everything through the hook with it.

use std::sync::{Arc, Mutex};

use serde_json::{Value as Json, json};
use wattspan_genai::{
    Agent, ContentKind, ContentPolicy, Evaluation, GenAi, Message, Operation, Part, Profile, Request,
    Retrieval, Tool, ToolDefinition,
};

use crate::support::{Rig, text, value};

/// Says everything that content can be, each with the word `secret`.
fn say_all(genai: &GenAi) {
    let mut inference = genai.begin(Request::chat("m"));
    inference.input_messages(&[Message::user("secret question")]);
    inference.output_messages(&[Message::assistant("secret answer")
        .part(Part::Reasoning("secret thought".into()))
        .finish_reason("stop")]);
    inference.system_instructions(&[Part::Text("secret orders".into())]);
    inference.tool_definitions(&[ToolDefinition::function("lookup")
        .description("secret purpose")
        .parameters(json!({ "type": "object", "properties": { "secret": { "type": "string" } } }))]);
    inference.prompt_variable("city", "secret city");
    inference.evaluate(Evaluation::new("relevance").score(1.0).explanation("secret reason"));
    inference.finish();

    let mut call = genai.begin_tool(Tool::new("lookup").call_id("call_1").kind("function"));
    call.arguments(&json!({ "account": "secret" }));
    call.result(&json!("balance secret"));
    call.finish();

    let mut agent = genai.begin_agent(Agent::invoke("helper"));
    agent.input_messages(&[Message::user("secret task")]);
    agent.output_messages(&[Message::assistant("secret outcome")]);
    agent.system_instructions(&[Part::Text("secret role".into())]);
    agent.tool_definitions(&[ToolDefinition::function("lookup").description("secret use")]);
    agent.finish();

    let mut retrieval = genai.begin_retrieval(Retrieval::new());
    retrieval.query("secret query");
    retrieval.documents(&json!([{ "id": "secret", "score": 0.5 }]));
    retrieval.finish();

    let mut memory = genai.begin_memory(wattspan_genai::Memory::new(Operation::SearchMemory));
    memory.query("secret search");
    memory.records(&json!([{ "content": "secret record" }]));
    memory.finish();
}

fn everything(rig: &Rig) -> String {
    format!("{:?} {:?} {:?}", rig.spans(), rig.logs(), rig.metrics())
}

#[test]
fn nothing_is_recorded_without_the_choice() {
    for profile in Profile::ALL {
        for (rig, logs) in [(Rig::new(profile), false), (Rig::new(profile), true)] {
            let builder = if logs { rig.with_logs().details(true) } else { rig.builder() };
            let genai = builder.build();
            assert!(!genai.captures_content());
            say_all(&genai);
            assert!(!everything(&rig).contains("secret"), "{profile}");
            rig.check();
        }
    }
}

#[test]
fn with_the_choice_it_is_recorded_and_conforms() {
    for profile in Profile::ALL {
        let rig = Rig::new(profile);
        say_all(&rig.with_logs().details(true).content(ContentPolicy::on()).build());
        rig.check();
        let spans = rig.spans();
        let chat = &spans.iter().find(|span| span.name == "chat m").unwrap().attributes;
        let shape = |name: &str| serde_json::from_str::<Json>(&text(chat, name)).unwrap();
        assert_eq!(
            shape("gen_ai.input.messages"),
            json!([{ "role": "user", "parts": [{ "type": "text", "content": "secret question" }] }])
        );
        assert_eq!(shape("gen_ai.output.messages")[0]["parts"][1]["type"], "reasoning");
        assert_eq!(
            shape("gen_ai.system_instructions"),
            json!([{ "type": "text", "content": "secret orders" }])
        );
        assert_eq!(shape("gen_ai.tool.definitions")[0]["name"], "lookup");
        let variable = value(chat, "gen_ai.prompt.variable.city").map(|value| value.as_str().into_owned());
        assert_eq!(variable.as_deref(), (profile == Profile::GenAi).then_some("secret city"));
        let retrieval = spans.iter().find(|span| span.name == "retrieval").unwrap();
        assert_eq!(text(&retrieval.attributes, "gen_ai.retrieval.query.text"), "secret query");

        // On the event the same is structured.
        let logs = rig.logs();
        let details = logs
            .iter()
            .find(|log| log.event_name() == Some("gen_ai.client.inference.operation.details"))
            .unwrap();
        let input =
            details.attributes_iter().find(|(key, _)| key.as_str() == "gen_ai.input.messages").unwrap();
        assert!(matches!(input.1, opentelemetry::logs::AnyValue::ListAny(_)), "{:?}", input.1);
        assert_eq!(
            details.attributes_iter().filter(|(key, _)| key.as_str() == "gen_ai.input.messages").count(),
            1
        );
    }
}

#[test]
fn the_hook_sees_every_text_before_it_goes_out() {
    for profile in Profile::ALL {
        let rig = Rig::new(profile);
        let seen = Arc::new(Mutex::new(Vec::new()));
        let keep = Arc::clone(&seen);
        let policy = ContentPolicy::on().redact(move |kind, text| {
            keep.lock().unwrap().push((kind, text.to_owned()));
            text.replace("secret", "[redacted]").into()
        });
        say_all(&rig.with_logs().details(true).content(policy).build());
        assert!(!everything(&rig).contains("secret"), "{profile}");
        assert!(everything(&rig).contains("[redacted] question"));
        let seen = seen.lock().unwrap();
        for kind in [
            ContentKind::Input,
            ContentKind::Output,
            ContentKind::SystemInstructions,
            ContentKind::ToolDefinition,
            ContentKind::ToolArguments,
            ContentKind::ToolResult,
            ContentKind::Query,
            ContentKind::Documents,
            ContentKind::PromptVariable,
        ] {
            assert!(seen.iter().any(|(of, text)| *of == kind && text.contains("secret")), "{kind:?}");
        }
        rig.check();
    }
}

#[test]
fn case_security_04_tool_calls_heed_the_content_switch() {
    let call = |rig: &Rig, policy| {
        let mut call =
            rig.builder().content(policy).build().begin_tool(Tool::new("balance").call_id("call_9"));
        rig.advance(0.5);
        call.arguments(&json!({ "account": "DE00" }));
        call.result(&json!("balance 5"));
        call.finish();
    };
    for profile in Profile::ALL {
        let off = Rig::new(profile);
        call(&off, ContentPolicy::off());
        let span = off.span();
        assert_eq!(text(&span.attributes, "gen_ai.tool.name"), "balance");
        assert_eq!(text(&span.attributes, "gen_ai.tool.call.id"), "call_9");
        assert_eq!(span.end_time.duration_since(span.start_time).unwrap().as_millis(), 500);
        let all = everything(&off);
        assert!(!all.contains("DE00") && !all.contains("balance 5"), "{all}");
        off.check();

        let on = Rig::new(profile);
        let seen = Arc::new(Mutex::new(Vec::new()));
        let keep = Arc::clone(&seen);
        let policy = ContentPolicy::on().limit(18).redact(move |_, text| {
            keep.lock().unwrap().push(text.to_owned());
            text.replace("DE00", "x").into()
        });
        call(&on, policy);
        assert_eq!(*seen.lock().unwrap(), ["{\"account\":\"DE00\"}", "balance 5"]);
        let span = on.span();
        assert_eq!(text(&span.attributes, "gen_ai.tool.call.arguments"), "{\"account\":\"x\"}");
        assert_eq!(text(&span.attributes, "gen_ai.tool.call.result"), "balance 5");
        on.check();

        let short = Rig::new(profile);
        call(&short, ContentPolicy::on().limit(7));
        let span = short.span();
        assert_eq!(text(&span.attributes, "gen_ai.tool.call.result"), "balance… [2 more characters]");
    }
}

#[test]
fn an_error_message_goes_through_the_hook_with_every_policy() {
    let rig = Rig::new(Profile::Core);
    let policy = ContentPolicy::off().redact(|kind, text| match kind {
        ContentKind::ErrorMessage => text.replace("secret", "…").into(),
        _ => text.into(),
    });
    let inference = rig.builder().content(policy).build().begin(Request::chat("m"));
    inference.fail(wattspan_genai::Failure::new("400").message("invalid prompt: secret"));
    assert!(!everything(&rig).contains("secret"));
    rig.check();
}
