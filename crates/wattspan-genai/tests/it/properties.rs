//! Each key stands once on a span, whatever is called, and how often.

use std::sync::Arc;

use proptest::prelude::*;
use serde_json::json;
use wattspan_core::{InferenceEnergy, Joules, Method, SettleReason, Settlement, TokenUsage};
use wattspan_genai::{
    Agent, ContentPolicy, Inference, Key, Message, ModalityUsage, Part, Profile, Request, ServerTimings,
    Tool, ToolDefinition,
};

use crate::support::{Keeper, Rig};

fn ask(request: Request, step: u8) -> Request {
    match step % 16 {
        0 => request.temperature(0.5),
        1 => request.top_k(4),
        2 => request.seed(9),
        3 => request.stop_sequences(["a"]),
        4 => request.conversation("c"),
        5 => request.server("h", Some(1)),
        6 => request.streaming(),
        7 => request.embedding_dimensions(3),
        8 => request.attribute(Key::RetrievalTopK, 3),
        9 => request.attribute(Key::AgentName, "a"),
        10 => request.attribute(Key::WorkflowName, "w"),
        11 => request.attribute(Key::ConversationId, "other"),
        12 => request.attribute(Key::OperationName, "other"),
        13 => request.attribute(Key::UsageInputTokens, 1),
        14 => request.attribute(Key::EnergyTotal, 1.0),
        _ => request.choice_count(2),
    }
}

fn tell(inference: &mut Inference, step: u8) {
    match step % 22 {
        0 => inference.token(),
        1 => inference.chunk(),
        2 => inference.first_token(),
        3 => {
            let mut usage = TokenUsage::default();
            usage.fresh = Some(1);
            usage.cache_write = Some(u64::from(step));
            usage.output = Some(2);
            inference.usage(usage);
        }
        4 => inference.usage_by_modality(ModalityUsage::default()),
        5 => inference.finish_reason("stop"),
        6 => inference.response_id("r"),
        7 => inference.response_model("m"),
        8 => inference.response_status("completed"),
        9 => inference.embedding_dimensions(7),
        10 => inference.service_tier("auto"),
        11 => inference.system_fingerprint("f"),
        12 => inference.set(Key::AgentName, "a"),
        13 => inference.set(Key::WorkflowName, "w"),
        14 => inference.set(Key::ResponseId, "other"),
        15 => inference.set(Key::ErrorType, "other"),
        16 => inference.input_messages(&[Message::user("q")]),
        17 => inference.output_messages(&[Message::assistant("a")]),
        18 => inference.system_instructions(&[Part::Text("s".into())]),
        19 => inference.tool_definitions(&[ToolDefinition::function("f")]),
        20 => inference.prompt_variable("v", "x"),
        _ => inference.server_timings(ServerTimings::default()),
    }
}

fn settlement() -> Settlement {
    let mut settlement = Settlement::unknown(SettleReason::Covered);
    settlement.energy = Some(InferenceEnergy::new(Joules::from_millijoules(5), Method::Counter, "tokens"));
    settlement
}

fn assert_once(rig: &Rig) {
    for span in rig.spans() {
        let mut keys: Vec<&str> = span.attributes.iter().map(|pair| pair.key.as_str()).collect();
        keys.sort_unstable();
        for pair in keys.windows(2) {
            assert_ne!(pair[0], pair[1], "on {}", span.name);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn each_key_once_on_an_inference(
        asked in proptest::collection::vec(any::<u8>(), 0..12),
        told in proptest::collection::vec(any::<u8>(), 0..24),
        inside in proptest::collection::vec(any::<u8>(), 0..12),
        fails in any::<bool>(),
        newer in any::<bool>(),
    ) {
        let rig = Rig::new(if newer { Profile::GenAi } else { Profile::Core });
        let keeper = Keeper::default();
        let genai = rig.builder().observer(Arc::new(keeper.clone())).content(ContentPolicy::on()).build();
        let mut inference = genai.begin(asked.iter().fold(Request::chat("m"), |request, step| ask(request, *step)));
        {
            let _guard = inference.context().clone().attach();
            let mut inner = genai.begin(inside.iter().fold(Request::chat("m"), |request, step| ask(request, *step)));
            for step in &inside {
                tell(&mut inner, *step);
            }
            inner.finish();
        }
        for step in &told {
            tell(&mut inference, *step);
        }
        if fails {
            inference.fail("500");
        } else {
            inference.finish();
        }
        prop_assert_eq!(keeper.settle(&settlement()), 1);
        prop_assert_eq!(rig.spans().len(), 1);
        assert_once(&rig);
    }

    #[test]
    fn each_key_once_on_a_tool_and_an_agent(keys in proptest::collection::vec(0..Key::ALL.len(), 0..24)) {
        for profile in Profile::ALL {
            let rig = Rig::new(profile);
            let genai = rig.builder().content(ContentPolicy::on()).build();
            let keys = || keys.iter().map(|at| Key::ALL[*at]);
            let mut tool = genai.begin_tool(keys().fold(Tool::new("t"), |tool, key| tool.attribute(key, "x")));
            let mut agent = genai.begin_agent(keys().fold(Agent::workflow("w"), |agent, key| agent.attribute(key, "x")));
            for key in keys() {
                tool.set(key, "y");
                agent.set(key, "y");
            }
            for _ in 0..2 {
                tool.arguments(&json!({ "a": 1 }));
                agent.input_messages(&[Message::user("q")]);
            }
            tool.fail("x");
            agent.finish();
            assert_once(&rig);
        }
    }
}
