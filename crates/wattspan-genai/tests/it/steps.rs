//! Tools, agents, retrievals and memory: names, kinds and attributes by profile; usage on model calls alone.

use opentelemetry::trace::SpanKind;
use wattspan_core::TokenUsage;
use wattspan_genai::{Agent, Key, Memory, Operation, Profile, Request, Retrieval, Tool};

use crate::support::{Rig, names, text, value};

#[test]
fn names_and_kinds_are_those_of_the_profile() {
    let internal = SpanKind::Internal;
    let client = SpanKind::Client;
    for (profile, want) in [
        (
            Profile::Core,
            [
                ("execute_tool get_weather", &internal),
                ("invoke_agent planner", &internal),
                ("invoke_agent far", &client),
                ("create_agent planner", &client),
                ("invoke_workflow flow", &internal),
                ("retrieval docs", &client),
                ("retrieval", &client),
            ],
        ),
        (
            Profile::GenAi,
            [
                ("execute_tool get_weather", &internal),
                ("invoke_agent planner", &internal),
                // The client span is a name that no text of this convention shows.
                ("invoke_agent far", &internal),
                ("create_agent planner", &client),
                ("invoke_workflow flow", &internal),
                ("retrieval", &internal),
                ("retrieval", &internal),
            ],
        ),
    ] {
        let rig = Rig::new(profile);
        let genai = rig.genai();
        genai
            .begin_tool(Tool::new("get_weather").kind("function").description("weather of a place"))
            .finish();
        let request = Request::chat("m").temperature(0.3).seed(1).server("h", Some(8080)).conversation("c");
        genai.begin_agent(Agent::invoke("planner").version("2").request(request).data_source("d")).finish();
        genai.begin_agent(Agent::invoke_remote("far")).finish();
        let mut created = genai.begin_agent(Agent::create("planner").description("plans"));
        created.id("agent-1");
        created.finish();
        genai.begin_agent(Agent::workflow("flow")).finish();
        genai
            .begin_retrieval(Retrieval::new().data_source("docs").model("e5").top_k(4).server("h", Some(9)))
            .finish();
        genai.begin_retrieval(Retrieval::default()).finish();
        let spans = rig.spans();
        let got: Vec<_> = spans.iter().map(|span| (&*span.name, &span.span_kind)).collect();
        assert_eq!(got, want, "{profile}");
        let top_k = if profile == Profile::Core { "gen_ai.request.top_k" } else { "gen_ai.retrieval.top_k" };
        assert!(value(&spans[5].attributes, top_k).is_some(), "{:?}", names(&spans[5].attributes));
        assert_eq!(text(&spans[3].attributes, "gen_ai.agent.id"), "agent-1");
        rig.check();
    }
}

#[test]
fn planning_and_memory_are_of_the_newer_convention_and_harmless_in_the_older() {
    for profile in Profile::ALL {
        let rig = Rig::new(profile);
        let genai = rig.genai();
        genai.begin_agent(Agent::plan("planner")).finish();
        let mut search = genai.begin_memory(Memory::new(Operation::SearchMemory).store("s").record("r"));
        search.record_count(3);
        search.finish();
        genai.begin_memory(Memory::in_process(Operation::CreateMemoryStore)).finish();
        let spans = rig.spans();
        assert_eq!(spans[1].name, "search_memory");
        let count = value(&spans[1].attributes, "gen_ai.memory.record.count");
        assert_eq!(count.is_some(), profile == Profile::GenAi);
        rig.check();
    }
}

#[test]
fn case_datadog_03_only_model_calls_carry_usage() {
    for profile in Profile::ALL {
        let rig = Rig::new(profile);
        let genai = rig.genai();
        let mut agent = genai.begin_agent(Agent::invoke("helper").attribute(Key::UsageInputTokens, 30));
        {
            let _guard = agent.context().clone().attach();
            for (input, output) in [(10, 5), (20, 8)] {
                let mut inference = genai.begin(Request::chat("m"));
                let mut usage = TokenUsage::default();
                usage.fresh = Some(input);
                usage.output = Some(output);
                inference.usage(usage);
                inference.finish();
            }
        }
        agent.set(Key::UsageOutputTokens, 13);
        agent.finish();
        let sum = |name: &str| {
            let counts = rig.spans().into_iter().filter_map(|span| match value(&span.attributes, name) {
                Some(opentelemetry::Value::I64(count)) => Some((span.name.to_string(), *count)),
                _ => None,
            });
            let counts: Vec<_> = counts.collect();
            assert!(counts.iter().all(|(name, _)| name == "chat m"), "{counts:?}");
            counts.iter().map(|(_, count)| count).sum::<i64>()
        };
        assert_eq!((sum("gen_ai.usage.input_tokens"), sum("gen_ai.usage.output_tokens")), (30, 13));
        rig.check();
    }
}

#[test]
fn an_agents_run_counts_what_happened_inside() {
    let rig = Rig::new(Profile::GenAi);
    let genai = rig.genai();
    let agent = genai.begin_agent(Agent::invoke("helper"));
    {
        let _guard = agent.context().clone().attach();
        genai.begin(Request::chat("m")).finish();
        genai.begin(Request::chat("m")).finish();
        let tool = genai.begin_tool(Tool::new("t"));
        rig.advance(1.5);
        tool.fail("timeout");
    }
    agent.finish();
    let one = |name| rig.points(name).into_iter().next().unwrap();
    assert_eq!(one("gen_ai.invoke_agent.inference_calls").sum, 2.0);
    assert_eq!(one("gen_ai.invoke_agent.tool_calls").sum, 1.0);
    assert_eq!(one("gen_ai.invoke_agent.duration").get("gen_ai.agent.name"), Some("helper"));
    let tool = one("gen_ai.execute_tool.duration");
    assert_eq!(
        (tool.sum, tool.get("gen_ai.tool.name"), tool.get("error.type")),
        (1.5, Some("t"), Some("timeout"))
    );
    assert_eq!(tool.get("gen_ai.agent.name"), Some("helper"));
    rig.check();
}
