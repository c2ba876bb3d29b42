//! The recorded answers of a real llama-server go through the client. Expected counts are those in the recordings
//! themselves and in the note that came with them.

mod support;

use futures_util::StreamExt as _;
use support::{Rig, answer, attribute, int, pieces, recorded, stream, text, texts};
use wattspan_core::TokenUsage;
use wattspan_llama_server::{
    ChatAnswer, ChatMessage, ChatRequest, CompletionRequest, EmbeddingsRequest, Error, Health, LlamaServer,
    RerankRequest, Retry, Timings,
};
use wattspan_testkit::{Answer, StubServer};

const MODEL: &str = "SmolLM2-135M-Instruct.Q4_1.gguf";

/// Fresh, cached and output tokens.
fn counts(tokens: TokenUsage) -> [Option<u64>; 3] {
    [tokens.fresh, tokens.cache_read, tokens.output]
}

enum Route {
    Chat,
    Text,
    Native,
}

async fn whole(client: &LlamaServer, route: &Route) -> Result<ChatAnswer, Error> {
    match route {
        Route::Chat => client.chat(&ChatRequest::user("asked", "Hi")).await,
        Route::Text => client.complete(&CompletionRequest::new("asked", "Hi")).await,
        Route::Native => client.complete_native(&CompletionRequest::new("asked", "Hi")).await,
    }
}

#[tokio::test]
async fn whole_answers_give_the_recorded_counts_on_answer_and_span() {
    use Route::{Chat, Native, Text};
    // Name, route, [fresh, cached, output], finish reason, begin of the text.
    let table: [(&str, Route, [u64; 3], &str, &str); 17] = [
        ("11-completion", Native, [5, 0, 16], "length", " the primary colours of the human eye"),
        ("12-completion-cache-hit", Native, [1, 4, 16], "length", " the primary"),
        ("17-completion-n-probs", Native, [1, 4, 2], "length", " the primary"),
        // The token of the stop word is counted, and its text is cut off.
        ("18-completion-stop-word", Native, [11, 0, 11], "stop", " 5, 6, 7, "),
        ("19-chat", Chat, [33, 0, 16], "length", "Hello! I'sure"),
        ("22-chat-tools-required", Chat, [10, 24, 64], "length", "Bjeland, the capital"),
        ("24-chat-n2", Chat, [9, 24, 4], "length", "Hello, welcome to"),
        ("25-chat-logprobs", Chat, [1, 32, 2], "length", "Hello!"),
        ("26-oai-completions", Text, [1, 4, 4], "length", " the primary colours of"),
        ("39-err-unknown-slot", Native, [1, 0, 2], "length", ""),
        ("47-truncated", Native, [1001, 0, 23], "length", ""),
        ("71-embeddings-server-chat", Chat, [31, 0, 1], "length", "Hello"),
        ("73-speculative", Native, [5, 0, 16], "length", " the primary colours"),
        ("76-completion-no-cache", Native, [5, 0, 4], "length", " the primary colours of"),
        ("77-tool-call", Chat, [196, 0, 80], "length", "The weather in Oslo"),
        ("79-json-schema", Chat, [13, 0, 16], "stop", "{\n  \"city\" : \"Paris\"\n}"),
        ("80-traceparent", Native, [1, 0, 1], "length", "-"),
    ];
    for (name, route, [fresh, cached, output], reason, begin) in table {
        let rig = Rig::new();
        let stub = StubServer::in_order([answer(name)]);
        let found = whole(&rig.client(&stub.url("")), &route).await.unwrap();
        let span = rig.span();
        assert_eq!(counts(found.tokens), [Some(fresh), Some(cached), Some(output)], "{name}");
        assert!(found.content.starts_with(begin), "{name}: {:?}", found.content);
        assert_eq!(found.choices[0].finish_reason.as_deref(), Some(reason), "{name}");
        assert_eq!(int(&span, "gen_ai.usage.input_tokens"), found.tokens.input().map(|n| n as i64), "{name}");
        assert_eq!(int(&span, "gen_ai.usage.output_tokens"), found.tokens.output.map(|n| n as i64), "{name}");
        assert_eq!(texts(&span, "gen_ai.response.finish_reasons").len(), found.choices.len(), "{name}");
        let model = if name.starts_with("71") { "smollm2" } else { MODEL };
        assert_eq!(text(&span, "gen_ai.response.model").as_deref(), Some(model), "{name}");
        assert_eq!(text(&span, "gen_ai.response.id"), found.id, "{name}");
        assert_eq!(attribute(&span, "error.type"), None, "{name}");
        let (_, phases) = rig.finished();
        let timings = found.timings.unwrap();
        assert_eq!(phases.prompt_tokens, timings.prompt_n, "{name}");
        let decode = phases.decode.unwrap().as_secs_f64() * 1e3;
        assert!((decode - timings.predicted_ms.unwrap()).abs() < 1e-6, "{name}: {decode} ms");
    }
}

#[tokio::test]
async fn a_single_token_has_no_decode_rate() {
    let stub = StubServer::in_order([answer("80-traceparent")]);
    let found = whole(&Rig::new().client(&stub.url("")), &Route::Native).await.unwrap();
    assert_eq!(found.timings.as_ref().and_then(Timings::predicted_per_second), None);
}

#[tokio::test]
async fn choices_log_probabilities_slots_and_drafts_are_read() {
    let stub = StubServer::in_order([
        answer("24-chat-n2"),
        answer("25-chat-logprobs"),
        answer("17-completion-n-probs"),
        answer("73-speculative"),
    ]);
    let rig = Rig::new();
    let client = rig.client(&stub.url(""));
    let two = whole(&client, &Route::Chat).await.unwrap();
    let contents: Vec<&str> = two.choices.iter().map(|choice| choice.content.as_str()).collect();
    assert_eq!(contents, ["Hello, welcome to", "Mysphel"]);
    assert_eq!(two.choices[1].index, 1);

    let probable = whole(&client, &Route::Chat).await.unwrap();
    let logprobs = probable.choices[0].logprobs.as_ref().unwrap();
    assert_eq!(logprobs["content"][0]["token"], "Hello");
    assert_eq!(logprobs["content"][1]["logprob"], -1.093_430_995_941_162);

    let native = whole(&client, &Route::Native).await.unwrap();
    assert_eq!(native.choices[0].logprobs.as_ref().unwrap()[1]["id"], 3003);
    assert_eq!((native.slot, native.id), (Some(0), None));

    let drafted = whole(&client, &Route::Native).await.unwrap();
    assert_eq!((drafted.tokens.draft, drafted.tokens.draft_accepted), (Some(11), Some(11)));
}

#[tokio::test]
async fn streams_give_the_recorded_counts_however_they_are_cut() {
    use Route::{Chat, Native, Text};
    // Name, route, [fresh, cached, output], chunks with output.
    let table: [(&str, Route, [u64; 3], u64); 5] = [
        ("15-completion-stream", Native, [1, 4, 8], 8),
        // Progress of the prompt comes in chunks that are no tokens.
        ("16-completion-stream-timings-progress", Native, [4, 5, 4], 4),
        ("20-chat-stream-usage", Chat, [1, 32, 8], 8),
        // Counts out of `timings`, since no usage was asked for.
        ("21-chat-stream-no-usage", Chat, [1, 32, 4], 4),
        ("27-oai-completions-stream", Text, [1, 4, 4], 4),
    ];
    for (name, route, [fresh, cached, output], marks) in table {
        let body = stream(name);
        for size in [3, 64, body.len()] {
            let rig = Rig::new();
            let stub = StubServer::in_order([pieces(&body, size)]);
            let client = rig.client(&stub.url(""));
            let opened = match route {
                Chat => client.chat_chunks(&ChatRequest::user("", "Hi")).await,
                Text => client.complete_chunks(&CompletionRequest::new("", "Hi")).await,
                Native => client.complete_native_chunks(&CompletionRequest::new("", "Hi")).await,
            };
            let mut chunks = opened.unwrap();
            while let Some(chunk) = chunks.next().await {
                chunk.unwrap();
            }
            let expected = [Some(fresh), Some(cached), Some(output)];
            assert_eq!(counts(chunks.tokens()), expected, "{name} in pieces of {size}");
            assert!(chunks.timings().is_some(), "{name}");
            assert_eq!(rig.seen().decoded, marks, "{name} in pieces of {size}");
            let span = rig.span();
            assert_eq!(int(&span, "gen_ai.usage.input_tokens"), Some((fresh + cached) as i64), "{name}");
            assert_eq!(int(&span, "gen_ai.usage.cache_read.input_tokens"), Some(cached as i64), "{name}");
            assert_eq!(texts(&span, "gen_ai.response.finish_reasons"), ["length"], "{name}");
            assert_eq!(attribute(&span, "error.type"), None, "{name}");
        }
    }
}

#[tokio::test]
async fn a_streamed_answer_is_the_sum_of_its_pieces() {
    let rig = Rig::new();
    let stub = StubServer::in_order([pieces(&stream("20-chat-stream-usage"), 100)]);
    let mut pieces = Vec::new();
    let request = ChatRequest::user("", "Say hello.");
    let answer =
        rig.client(&stub.url("")).chat_stream(&request, |text| pieces.push(text.to_owned())).await.unwrap();
    assert_eq!(pieces, ["Hello", "!", " I", "'s", "ure", " I", "'m", " not"]);
    assert_eq!(answer.content, "Hello! I'sure I'm not");
    assert_eq!(answer.id.as_deref(), Some("chatcmpl-eYtIfaZh9cXVYSGTewbZJAK06PWzkQb7"));
    assert_eq!(answer.choices[0].finish_reason.as_deref(), Some("length"));
}

#[tokio::test]
async fn long_streams_with_tools_offered_are_plain_text() {
    for name in ["23-chat-tools-stream", "78-tool-call-stream"] {
        let rig = Rig::new();
        let stub = StubServer::in_order([pieces(&stream(name), 500)]);
        let answer =
            rig.client(&stub.url("")).chat_stream(&ChatRequest::user("", "Hi"), |_| {}).await.unwrap();
        assert!(answer.choices[0].tool_calls.is_empty() && !answer.content.is_empty(), "{name}");
        assert_eq!(answer.tokens.output, answer.timings.and_then(|timings| timings.predicted_n), "{name}");
    }
}

#[tokio::test]
async fn a_stream_that_was_cut_off_by_its_client_is_truncated() {
    let rig = Rig::new();
    let stub = StubServer::in_order([pieces(&stream("49-cancelled-stream"), 64)]);
    let request = CompletionRequest::new("", "Hi");
    let mut chunks = rig.client(&stub.url("")).complete_native_chunks(&request).await.unwrap();
    let mut outcome = Ok(());
    while let Some(chunk) = chunks.next().await {
        if let Err(error) = chunk {
            outcome = Err(error);
        }
    }
    let error = outcome.unwrap_err();
    assert!(matches!(error, Error::Truncated { .. }), "{error:?}");
    assert_eq!(text(&rig.span(), "error.type").as_deref(), Some("truncated_stream"));
}

#[tokio::test]
async fn tools_called_in_pieces_are_put_together() {
    // By hand after OpenAI's and llama.cpp's shape: the small model of the recordings calls no tools.
    let delta = |delta: &str| format!(r#"data: {{"choices":[{{"index":0,"delta":{delta}}}]}}"#);
    let stub = StubServer::in_order([Answer::events([
        delta(r#"{"role":"assistant","content":null}"#),
        delta(
            r#"{"tool_calls":[{"index":0,"id":"call-1","type":"function","function":{"name":"get_weather","arguments":"{\"ci"}}]}"#,
        ),
        delta(r#"{"tool_calls":[{"index":0,"function":{"arguments":"ty\":\"Oslo\"}"}}]}"#),
        delta(
            r#"{"tool_calls":[{"index":1,"id":"call-2","function":{"name":"get_time","arguments":"{}"}}]}"#,
        ),
        r#"data: {"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}"#.to_owned(),
        "data: [DONE]".to_owned(),
    ])]);
    let rig = Rig::with_content();
    let answer = rig.client(&stub.url("")).chat_stream(&ChatRequest::user("", "Hi"), |_| {}).await.unwrap();
    let calls = &answer.choices[0].tool_calls;
    assert_eq!(calls.len(), 2);
    assert_eq!((calls[0].id.as_deref(), calls[0].name.as_str()), (Some("call-1"), "get_weather"));
    assert_eq!(calls[0].arguments, r#"{"city":"Oslo"}"#);
    assert_eq!(calls[1].name, "get_time");
    assert_eq!(rig.seen().decoded, 3);
    let output = text(&rig.span(), "gen_ai.output.messages").unwrap();
    assert!(output.contains("get_weather") && output.contains("Oslo"), "{output}");
}

#[tokio::test]
async fn plain_routes_are_read_and_have_no_span() {
    let rig = Rig::new();
    let stub = StubServer::by_path([
        ("/health", answer("06-health")),
        ("/props", answer("07-props")),
        ("/slots", answer("53-slots-during-load")),
        ("/v1/models", answer("09-models")),
        ("/tokenize", answer("30-tokenize")),
        ("/detokenize", answer("31-detokenize")),
        ("/apply-template", Answer::json(r#"{"prompt":"<|user|>Hi"}"#)),
    ]);
    let client = rig.client(&stub.url(""));
    assert_eq!(client.health().await.unwrap(), Health::Ready);
    let props = client.props().await.unwrap();
    assert_eq!((props.total_slots, props.model_ftype.as_deref()), (Some(2), Some("Q4_1")));
    assert_eq!(props.default_generation_settings["n_ctx"], 1024);
    let slots = client.slots().await.unwrap();
    assert_eq!(slots.len(), 2);
    assert_eq!((slots[0].n_ctx, slots[0].is_processing, slots[0].id_task), (Some(1024), Some(true), Some(2)));
    assert_eq!(slots[1].n_prompt_tokens, Some(10));
    let models = client.models().await.unwrap();
    let meta = models[0].meta.clone().unwrap();
    assert_eq!(models[0].id, MODEL);
    assert_eq!((meta.n_params, meta.size, meta.n_ctx), (Some(134_515_008), Some(96_576_768), Some(1024)));
    let tokens = client.tokenize("Hello world").await.unwrap();
    assert_eq!(tokens.iter().map(|token| token.id).collect::<Vec<_>>(), [19556, 905]);
    assert_eq!(tokens[1].piece, b" world");
    assert_eq!(client.detokenize(&[19556, 905]).await.unwrap(), "Hello world");
    assert_eq!(client.apply_template(&[ChatMessage::user("Hi")]).await.unwrap(), "<|user|>Hi");
    assert!(rig.spans().is_empty());
}

#[tokio::test]
async fn embeddings_and_rerank_are_inferences_without_output() {
    let ranking = r#"{"model":"r","object":"list","usage":{"prompt_tokens":11,"total_tokens":11},
        "results":[{"index":0,"relevance_score":-1.5},{"index":1,"relevance_score":2.5}]}"#;
    let stub = StubServer::by_path([
        ("/v1/embeddings", answer("72-embeddings")),
        ("/v1/rerank", Answer::json(ranking)),
    ]);
    let rig = Rig::new();
    let client = rig.client(&stub.url(""));
    let found = client.embeddings(&EmbeddingsRequest::new("smollm2", ["Hi", "Hello there"])).await.unwrap();
    assert_eq!(found.vectors.len(), 2);
    assert!((found.vectors[1][0] - -0.010_387_625).abs() < 1e-6);
    assert_eq!(counts(found.tokens), [Some(3), None, None]);
    let ranked = client.rerank(&RerankRequest::new("", "q", ["a", "b"]).top_n(2)).await.unwrap();
    assert_eq!(ranked.results.iter().map(|result| result.index).collect::<Vec<_>>(), [1, 0]);
    let spans = rig.spans();
    assert_eq!(spans.len(), 2);
    assert_eq!(spans[0].name, "embeddings smollm2");
    assert_eq!(int(&spans[0], "gen_ai.usage.input_tokens"), Some(3));
    assert_eq!(int(&spans[1], "gen_ai.usage.input_tokens"), Some(11));
    assert_eq!(attribute(&spans[0], "gen_ai.usage.output_tokens"), None);
}

#[tokio::test]
async fn error_answers_become_errors_by_what_the_caller_can_do() {
    type Check = fn(&Error) -> bool;
    let table: [(&str, &str, Retry, Check); 14] = [
        ("04-loading-completion", "unavailable_error", Retry::Later, |e| matches!(e, Error::Loading { .. })),
        ("34-err-bad-json", "invalid_request_error", Retry::Never, |e| {
            matches!(e, Error::Refused { status: 400, .. })
        }),
        ("35-err-no-messages", "invalid_request_error", Retry::Never, |e| matches!(e, Error::Refused { .. })),
        ("36-err-bad-type", "invalid_request_error", Retry::Never, |e| matches!(e, Error::Refused { .. })),
        ("37-err-too-long", "exceed_context_size_error", Retry::Never, |e| {
            matches!(e, Error::ContextExceeded { prompt_tokens: Some(2501), context: Some(1024), .. })
        }),
        ("38-err-too-long-chat-stream", "exceed_context_size_error", Retry::Never, |e| {
            matches!(e, Error::ContextExceeded { prompt_tokens: Some(2531), context: Some(1024), .. })
        }),
        ("41-err-embeddings", "not_supported_error", Retry::Never, |e| {
            matches!(e, Error::Unsupported { .. })
        }),
        ("43-err-rerank", "not_supported_error", Retry::Never, |e| matches!(e, Error::Unsupported { .. })),
        ("45-err-404", "not_found_error", Retry::Never, |e| matches!(e, Error::Refused { status: 404, .. })),
        ("46-err-method", "not_found_error", Retry::Never, |e| {
            matches!(e, Error::Refused { status: 404, .. })
        }),
        ("55-slots-fail-on-no-slot", "unavailable_error", Retry::Later, |e| {
            matches!(e, Error::Overloaded { status: 503, .. })
        }),
        ("59-auth-missing", "authentication_error", Retry::Never, |e| {
            matches!(e, Error::Unauthorized { .. })
        }),
        ("60-auth-wrong", "authentication_error", Retry::Never, |e| {
            matches!(e, Error::Unauthorized { status: 401, .. })
        }),
        ("69-off-slots", "not_supported_error", Retry::Never, |e| matches!(e, Error::Unsupported { .. })),
    ];
    for (name, error_type, retry, is_expected) in table {
        let rig = Rig::new();
        let stub = StubServer::in_order([answer(name), answer(name)]);
        let client = rig.client(&stub.url(""));
        let whole = client.chat(&ChatRequest::user("m", "Hi")).await.unwrap_err();
        let streamed = client.chat_chunks(&ChatRequest::user("m", "Hi")).await.unwrap_err();
        for error in [&whole, &streamed] {
            assert!(is_expected(error), "{name}: {error:?}");
            assert_eq!((error.error_type().as_ref(), error.retry()), (error_type, retry), "{name}");
        }
        let spans = rig.spans();
        assert_eq!(spans.len(), 2);
        for span in spans {
            assert_eq!(text(&span, "error.type").as_deref(), Some(error_type), "{name}");
            assert_eq!(attribute(&span, "gen_ai.usage.input_tokens"), None, "{name}");
        }
    }
}

#[tokio::test]
async fn a_server_that_loads_is_not_ready_and_not_broken() {
    let stub = StubServer::in_order([answer("01-loading-health"), answer("64-auth-health")]);
    let client = Rig::new().client(&stub.url(""));
    assert_eq!(client.health().await.unwrap(), Health::Loading);
    assert_eq!(client.health().await.unwrap(), Health::Ready);
}

#[test]
fn no_recorded_text_upsets_the_parsers() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/recordings");
    let mut read = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let Some(stem) = name.strip_suffix(".http") else { continue };
        let body = recorded(stem).body;
        wattspan_llama_server::fuzzing::others(&body);
        wattspan_llama_server::fuzzing::answer(&body);
        wattspan_llama_server::fuzzing::error(400, &body);
        read += 1;
    }
    assert!(read > 50, "{read} recordings");
}
