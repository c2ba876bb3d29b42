//! Look-ups, short names, renames and span names, as a stranger would use them.

use std::collections::BTreeMap;

use wattspan_semconv::{
    Key, Measure, Operation, Profile, SpanKind, attr, attr_name, metric_name, names_in, provider_name,
    short_name, span_name,
};

#[track_caller]
fn instruments(profile: Profile, operation: Operation, measure: Measure, wanted: &[&str]) {
    let found: Vec<&str> =
        profile.instruments(operation, measure).iter().map(|used| used.metric.name).collect();
    assert_eq!(found, wanted, "{profile} {operation:?} {measure:?}");
}

#[test]
fn one_measure_has_each_profiles_instruments() {
    use Measure::{InputTokens, OperationDuration, ServerTimeToFirstToken, TimeToFirstChunk};
    use Operation::{Chat, Embeddings, ExecuteTool, InvokeAgent, Retrieval};
    use Profile::{Core, GenAi};
    instruments(Core, Chat, OperationDuration, &["gen_ai.client.operation.duration"]);
    instruments(GenAi, Chat, OperationDuration, &["gen_ai.client.inference.duration"]);
    instruments(GenAi, Embeddings, OperationDuration, &["gen_ai.client.embeddings.duration"]);
    instruments(GenAi, Retrieval, OperationDuration, &["gen_ai.retrieval.duration"]);
    instruments(GenAi, InvokeAgent, OperationDuration, &["gen_ai.invoke_agent.duration"]);
    instruments(GenAi, ExecuteTool, OperationDuration, &["gen_ai.execute_tool.duration"]);
    // The core metric needs a provider, which the execution of a tool does not have.
    instruments(Core, ExecuteTool, OperationDuration, &[]);
    instruments(Core, Chat, TimeToFirstChunk, &["gen_ai.client.operation.time_to_first_chunk"]);
    instruments(GenAi, Chat, TimeToFirstChunk, &["gen_ai.client.inference.time_to_first_chunk"]);
    instruments(Core, Chat, InputTokens, &["gen_ai.client.token.usage"]);
    instruments(
        GenAi,
        Chat,
        InputTokens,
        &["gen_ai.client.inference.usage.input_tokens", "gen_ai.client.inference.operation.input_tokens"],
    );
    instruments(GenAi, Embeddings, InputTokens, &["gen_ai.client.embeddings.operation.input_tokens"]);
    for profile in Profile::ALL {
        instruments(profile, Chat, ServerTimeToFirstToken, &["gen_ai.server.time_to_first_token"]);
        instruments(profile, Operation::Custom("own"), Measure::HwEnergy, &["hw.energy"]);
        instruments(profile, Chat, Measure::InferenceEnergy, &["wattspan.inference.energy"]);
    }
}

#[track_caller]
fn attribute(operation: Operation, key: Key, core: Option<&str>, genai: Option<&str>) {
    let name = |profile: Profile| profile.attribute(operation, key).map(|def| def.name);
    assert_eq!((name(Profile::Core), name(Profile::GenAi)), (core, genai), "{operation:?} {key:?}");
}

#[test]
fn one_key_has_each_profiles_attribute() {
    use Operation::{Chat, InvokeWorkflow, Retrieval};
    let same = Some("gen_ai.request.model");
    attribute(Chat, Key::RequestModel, same, same);
    let (creation, write) =
        ("gen_ai.usage.cache_creation.input_tokens", "gen_ai.usage.cache_write.input_tokens");
    attribute(Chat, Key::UsageCacheWriteInputTokens, Some(creation), Some(write));
    let (top_k, retrieval) = (Some("gen_ai.request.top_k"), Some("gen_ai.retrieval.top_k"));
    attribute(Chat, Key::RequestTopK, top_k, top_k);
    attribute(Retrieval, Key::RequestTopK, top_k, retrieval);
    attribute(Retrieval, Key::RetrievalTopK, top_k, retrieval);
    attribute(InvokeWorkflow, Key::WorkflowName, Some("gen_ai.workflow.name"), Some("gen_ai.agent.name"));
    attribute(Chat, Key::TokenType, Some("gen_ai.token.type"), None);
    attribute(Chat, Key::TokenModality, None, Some("gen_ai.token.modality"));
    let total = Some("wattspan.energy.total");
    attribute(Chat, Key::EnergyTotal, total, total);
}

#[test]
fn type_of_top_k_follows_the_profile() {
    let kind = |profile: Profile| profile.attribute(Operation::Chat, Key::RequestTopK).unwrap().kind.as_str();
    assert_eq!((kind(Profile::Core), kind(Profile::GenAi)), ("double", "int"));
}

#[test]
fn span_of_an_operation_follows_kind_and_profile() {
    use SpanKind::{Client, Internal};
    let id = |profile: Profile, operation, kind| profile.span(operation, kind).map(|def| (def.id, def.kind));
    let agent = Operation::InvokeAgent;
    assert_eq!(id(Profile::Core, agent, Client), Some(("gen_ai.invoke_agent.client", Client)));
    assert_eq!(id(Profile::Core, agent, Internal), Some(("gen_ai.invoke_agent.internal", Internal)));
    // The client variant of genai 0.1 is only inferred.
    assert_eq!(id(Profile::GenAi, agent, Client), Some(("gen_ai.invoke_agent.internal", Internal)));
    assert_eq!(id(Profile::GenAi, Operation::Chat, Internal), Some(("gen_ai.client.inference", Client)));
    assert_eq!(id(Profile::Core, Operation::Plan, Internal), None);
    assert_eq!(id(Profile::Core, Operation::Load, Internal), Some(("wattspan.load", Internal)));
    assert_eq!(id(Profile::Core, Operation::Custom("own"), Internal), None);
}

#[test]
fn sampler_sees_what_it_needs_at_the_start() {
    let span = Profile::Core.span(Operation::Chat, SpanKind::Client).unwrap();
    let mut names: Vec<&str> = span.sampling_relevant().map(|reference| reference.name).collect();
    names.sort_unstable();
    assert_eq!(
        names,
        [
            "gen_ai.operation.name",
            "gen_ai.provider.name",
            "gen_ai.request.model",
            "server.address",
            "server.port"
        ]
    );
}

#[track_caller]
fn named(profile: Profile, operation: Operation, kind: SpanKind, values: &[(&str, &str)], wanted: &str) {
    let values: BTreeMap<&str, &str> =
        values.iter().copied().chain([(attr::GEN_AI_OPERATION_NAME, operation.as_str())]).collect();
    let span = profile.span(operation, kind).unwrap();
    assert_eq!(span_name(span, |key| values.get(key).copied()), wanted);
}

#[test]
fn span_names_follow_their_templates() {
    use SpanKind::{Client, Internal};
    for profile in Profile::ALL {
        named(profile, Operation::Chat, Client, &[(attr::GEN_AI_REQUEST_MODEL, "smollm2")], "chat smollm2");
        named(profile, Operation::Chat, Client, &[], "chat");
        named(
            profile,
            Operation::ExecuteTool,
            Internal,
            &[(attr::GEN_AI_TOOL_NAME, "clock")],
            "execute_tool clock",
        );
        named(
            profile,
            Operation::InvokeAgent,
            Internal,
            &[(attr::GEN_AI_AGENT_NAME, "Tutor")],
            "invoke_agent Tutor",
        );
        named(profile, Operation::InvokeAgent, Internal, &[], "invoke_agent");
        named(profile, Operation::InvokeAgent, Internal, &[(attr::GEN_AI_AGENT_NAME, "")], "invoke_agent");
        named(profile, Operation::Load, Internal, &[(attr::GEN_AI_REQUEST_MODEL, "smollm2")], "load smollm2");
    }
    let source = [(attr::GEN_AI_DATA_SOURCE_ID, "wiki")];
    named(Profile::Core, Operation::Retrieval, Client, &source, "retrieval wiki");
    named(Profile::GenAi, Operation::Retrieval, Internal, &source, "retrieval");
}

#[test]
fn mcp_span_is_named_after_its_target() {
    let span = Profile::Core.span_by_id("mcp.client").unwrap();
    let name = |values: &[(&'static str, &'static str)]| {
        span_name(span, |key| values.iter().find(|(name, _)| *name == key).map(|(_, value)| *value))
    };
    let call = (attr::MCP_METHOD_NAME, "tools/call");
    assert_eq!(name(&[call, (attr::GEN_AI_TOOL_NAME, "clock")]), "tools/call clock");
    assert_eq!(
        name(&[(attr::MCP_METHOD_NAME, "prompts/get"), (attr::GEN_AI_PROMPT_NAME, "greet")]),
        "prompts/get greet"
    );
    assert_eq!(name(&[(attr::MCP_METHOD_NAME, "ping")]), "ping");
}

#[test]
fn short_names_and_full_names_turn_into_each_other() {
    for def in Profile::ALL.into_iter().flat_map(Profile::attributes).filter(|def| def.is_live()) {
        assert_eq!(attr_name(short_name(def.name).unwrap()), Ok(def.name));
        assert_eq!(attr_name(def.name), Ok(def.name));
    }
    for def in Profile::Core.metrics() {
        assert_eq!(metric_name(short_name(def.name).unwrap()), Ok(def.name));
        assert_eq!(metric_name(def.name), Ok(def.name));
    }
}

#[track_caller]
fn unknown_attribute(short: &str, suggestion: Option<&str>, text: &str) {
    let error = attr_name(short).unwrap_err();
    assert_eq!((error.name(), error.suggestion(), error.to_string().as_str()), (short, suggestion, text));
}

#[test]
fn unknown_name_suggests_the_nearest() {
    unknown_attribute(
        "request.modle",
        Some("request.model"),
        "no attribute is called `request.modle`: did you mean `request.model`",
    );
    unknown_attribute(
        "gen_ai.request.modle",
        Some("gen_ai.request.model"),
        "no attribute is called `gen_ai.request.modle`: did you mean `gen_ai.request.model`",
    );
    unknown_attribute("zzzzzzzzzzzz", None, "no attribute is called `zzzzzzzzzzzz`");
    // A deprecated name suggests what replaced it, however far its spelling is.
    unknown_attribute(
        "system",
        Some("provider.name"),
        "no attribute is called `system`: did you mean `provider.name`",
    );
    unknown_attribute(
        "usage.prompt_tokens",
        Some("usage.input_tokens"),
        "no attribute is called `usage.prompt_tokens`: did you mean `usage.input_tokens`",
    );
    // A template's family has no short names: only the whole prefix does.
    assert!(attr_name("prompt.variable.user").is_err());
    let error = metric_name("client.operation.durations").unwrap_err();
    assert_eq!(
        error.to_string(),
        "no metric is called `client.operation.durations`: did you mean `client.operation.duration`"
    );
    assert_eq!(short_name("gen_ai.request.modle").unwrap_err().suggestion(), Some("gen_ai.request.model"));
    assert!(short_name("gen_ai.system").is_err());
}

#[test]
fn older_and_other_names_are_found_in_each_profile() {
    #[track_caller]
    fn check(profile: Profile, name: &str, operation: Option<&str>, wanted: &[&str]) {
        assert_eq!(names_in(profile, name, operation), wanted, "{profile} {name} {operation:?}");
    }
    use Profile::{Core, GenAi};
    for profile in Profile::ALL {
        check(profile, "gen_ai.system", None, &["gen_ai.provider.name"]);
        check(profile, "gen_ai.usage.completion_tokens", None, &["gen_ai.usage.output_tokens"]);
        check(profile, "gen_ai.prompt", None, &[]);
        check(profile, "gen_ai.request.model", Some("chat"), &["gen_ai.request.model"]);
        check(profile, "gen_ai.no_such_name", None, &[]);
        check(
            profile,
            "gen_ai.client.operation.duration",
            Some("create_agent"),
            &["gen_ai.client.operation.duration"],
        );
    }
    let duration = "gen_ai.client.operation.duration";
    check(GenAi, duration, Some("chat"), &["gen_ai.client.inference.duration"]);
    check(GenAi, duration, Some("retrieval"), &["gen_ai.retrieval.duration"]);
    check(Core, "gen_ai.client.inference.duration", Some("chat"), &[duration]);
    check(
        Core,
        "gen_ai.client.inference.time_to_first_chunk",
        None,
        &["gen_ai.client.operation.time_to_first_chunk"],
    );
    check(Core, "gen_ai.client.inference.usage.input_tokens", Some("chat"), &["gen_ai.client.token.usage"]);
    check(
        GenAi,
        "gen_ai.usage.cache_creation.input_tokens",
        None,
        &["gen_ai.usage.cache_write.input_tokens"],
    );
    check(Core, "gen_ai.usage.cache_write.input_tokens", None, &["gen_ai.usage.cache_creation.input_tokens"]);
    check(GenAi, "gen_ai.request.top_k", Some("retrieval"), &["gen_ai.retrieval.top_k"]);
    check(GenAi, "gen_ai.request.top_k", Some("chat"), &["gen_ai.request.top_k"]);
    check(GenAi, "gen_ai.token.type", Some("chat"), &[]);
    check(GenAi, "gen_ai.workflow.name", Some("invoke_workflow"), &["gen_ai.agent.name"]);
    check(Core, "gen_ai.execute_tool.exception", None, &["gen_ai.client.operation.exception"]);
}

#[test]
fn profile_is_read_from_a_configuration() {
    assert_eq!("core".parse(), Ok(Profile::Core));
    assert_eq!("genai".parse(), Ok(Profile::GenAi));
    let error = "gen_ai".parse::<Profile>().unwrap_err();
    assert_eq!(error.to_string(), "no profile is called `gen_ai`: use `core` or `genai`");
    assert_eq!(Profile::default(), Profile::Core);
}

#[test]
fn operation_is_known_by_its_name() {
    for &operation in Operation::ALL {
        assert_eq!(Operation::known(operation.as_str()), Some(operation));
    }
    assert_eq!(Operation::known("own"), None);
    assert_eq!(Operation::Custom("own").as_str(), "own");
}

#[test]
fn case_semconv_03_older_provider_values_become_the_listed_ones() {
    let given = ["bedrock", "gemini", "vertex", "llama_cpp"];
    assert_eq!(given.map(provider_name), ["aws.bedrock", "gcp.gemini", "gcp.vertex_ai", "llama_cpp"]);
    // Every alias leads to a listed value.
    let listed = Profile::Core.attribute_def("gen_ai.provider.name").unwrap().values;
    for old in ["az.ai.inference", "az.ai.openai", "bedrock", "gemini", "vertex", "vertex_ai", "xai"] {
        assert!(listed.contains(&provider_name(old)), "{old}");
    }
}

#[test]
fn case_semconv_07_partitions_never_stand_beside_their_total() {
    // 100 input (50 cache read), 200 output (150 reasoning), recorded wherever the profile says.
    let given = [
        (Measure::InputTokens, 100),
        (Measure::CacheReadTokens, 50),
        (Measure::OutputTokens, 200),
        (Measure::ReasoningTokens, 150),
    ];
    for profile in Profile::ALL {
        let mut sums: BTreeMap<(&str, &str), i64> = BTreeMap::new();
        for (measure, tokens) in given {
            for used in profile.instruments(Operation::Chat, measure) {
                let direction = used
                    .fixed
                    .iter()
                    .find(|(key, _)| *key == attr::GEN_AI_TOKEN_TYPE)
                    .map_or("", |(_, v)| *v);
                *sums.entry((used.metric.name, direction)).or_default() += tokens;
            }
        }
        let of = |name, direction| sums.get(&(name, direction)).copied();
        match profile {
            Profile::Core => {
                assert_eq!(of("gen_ai.client.token.usage", "input"), Some(100));
                assert_eq!(of("gen_ai.client.token.usage", "output"), Some(200));
                assert_eq!(sums.len(), 2);
            }
            Profile::GenAi => {
                for (kind, input, output) in [("usage", 100, 200), ("operation", 100, 200)] {
                    let name = |direction: &str| format!("gen_ai.client.inference.{kind}.{direction}_tokens");
                    assert_eq!(sums.get(&(name("input").as_str(), "")), Some(&input));
                    assert_eq!(sums.get(&(name("output").as_str(), "")), Some(&output));
                }
                assert_eq!(of("gen_ai.client.inference.usage.cache_read.input_tokens", ""), Some(50));
                assert_eq!(of("gen_ai.client.inference.usage.reasoning.output_tokens", ""), Some(150));
                assert_eq!(sums.len(), 6);
            }
        }
    }
}
