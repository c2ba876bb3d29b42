//! The layer: an application's own HTTP client, whose calls become inferences and whose bytes stay what they were.

mod support;

use futures_util::StreamExt as _;
use reqwest_middleware::{ClientBuilder, ClientWithMiddleware};
use support::{Rig, answer, attribute, int, pieces, recorded, stream, text, texts};
use wattspan_core::Locality;
use wattspan_llama_server::middleware::Instrument;
use wattspan_testkit::{Answer, StubServer};

fn application(layer: Instrument) -> ClientWithMiddleware {
    let _ = rustls::crypto::ring::default_provider().install_default();
    ClientBuilder::new(reqwest::Client::new()).with(layer).build()
}

fn layer(rig: &Rig) -> Instrument {
    Instrument::new(rig.genai.clone())
}

async fn post(http: &ClientWithMiddleware, url: String, body: &'static str) -> reqwest::Response {
    http.post(url).header("content-type", "application/json").body(body).send().await.unwrap()
}

#[tokio::test]
async fn a_whole_answer_passes_unchanged_and_is_an_inference() {
    let rig = Rig::with_content();
    let stub = StubServer::in_order([answer("19-chat").header("x-own", "kept")]);
    let url = stub.url("/v1/chat/completions");
    let body = r#"{"model":"m","max_tokens":16,"temperature":0,"messages":[{"role":"user","content":"Say hello."}]}"#;
    let response = post(&application(layer(&rig)), url.clone(), body).await;
    assert_eq!((response.status().as_u16(), response.url().as_str()), (200, url.as_str()));
    assert_eq!(response.headers()["x-own"], "kept");
    assert_eq!(response.text().await.unwrap(), recorded("19-chat").body);
    let span = rig.span();
    assert_eq!(span.name, "chat m");
    assert_eq!(int(&span, "gen_ai.usage.input_tokens"), Some(33));
    assert_eq!(int(&span, "gen_ai.usage.output_tokens"), Some(16));
    assert_eq!(int(&span, "gen_ai.request.max_tokens"), Some(16));
    assert!(text(&span, "gen_ai.input.messages").unwrap().contains("Say hello."));
    assert!(text(&span, "gen_ai.output.messages").unwrap().contains("Hello! I'sure"));
    assert_eq!(attribute(&span, "error.type"), None);
    assert_eq!(rig.seen().begin.locality, Locality::LocalServer { pid: None });
    assert_eq!(stub.requests()[0].text(), body, "the request is the application's own");
    assert!(stub.requests()[0].header("traceparent").is_some());
}

#[tokio::test]
async fn a_stream_passes_unchanged_and_its_tokens_are_marked() {
    for (name, path, marks) in [
        ("20-chat-stream-usage", "/v1/chat/completions", 8),
        ("21-chat-stream-no-usage", "/v1/chat/completions", 4),
        ("15-completion-stream", "/completion", 8),
    ] {
        let (rig, body) = (Rig::new(), stream(name));
        let stub = StubServer::in_order([pieces(&body, 33)]);
        let response = post(&application(layer(&rig)), stub.url(path), r#"{"stream":true}"#).await;
        let (mut parts, mut passed) = (response.bytes_stream(), Vec::new());
        while let Some(part) = parts.next().await {
            passed.extend_from_slice(&part.unwrap());
        }
        assert_eq!(String::from_utf8(passed).unwrap(), body, "{name}");
        assert_eq!(rig.seen().decoded, marks, "{name}");
        let span = rig.span();
        assert_eq!(int(&span, "gen_ai.usage.output_tokens"), Some(marks as i64), "{name}");
        assert_eq!(attribute(&span, "error.type"), None, "{name}");
    }
}

#[tokio::test]
async fn other_dialects_count_in_their_own_way() {
    let rig = Rig::new();
    let stub = StubServer::by_path([
        ("/v1/responses", answer("28-responses")),
        ("/v1/messages", answer("29-messages")),
        ("/v1/embeddings", answer("72-embeddings")),
    ]);
    let http = application(layer(&rig));
    for path in ["/v1/responses", "/v1/messages", "/v1/embeddings"] {
        post(&http, stub.url(path), r#"{"model":"m","input":"x"}"#).await.bytes().await.unwrap();
    }
    let spans = rig.spans();
    let counts: Vec<_> = spans
        .iter()
        .map(|span| {
            ["input_tokens", "cache_read.input_tokens", "output_tokens"]
                .map(|name| int(span, &format!("gen_ai.usage.{name}")))
        })
        .collect();
    // Messages reports 1 input token beside 32 from the cache; Responses reports both as 33.
    let both = [Some(33), Some(32), Some(4)];
    assert_eq!(counts, [both, both, [Some(3), None, None]]);
    assert_eq!(texts(&spans[1], "gen_ai.response.finish_reasons"), ["max_tokens"]);
}

#[tokio::test]
async fn case_streaming_04_and_06_messages_count_cumulatively() {
    let events = |first: &str, last: &str| {
        [
            format!("event: message_start\ndata: {{\"type\":\"message_start\",\"message\":{{\"id\":\"msg\",\"model\":\"m\",\"usage\":{first}}}}}"),
            "data: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"Hi\"}}".to_owned(),
            format!("data: {{\"type\":\"message_delta\",\"delta\":{{\"stop_reason\":\"end_turn\"}},\"usage\":{last}}}"),
            "data: {\"type\":\"message_stop\"}".to_owned(),
        ]
    };
    for (first, last, expected) in [
        (r#"{"input_tokens":25,"output_tokens":1}"#, r#"{"output_tokens":15}"#, (25, 15)),
        (
            r#"{"input_tokens":412,"output_tokens":2}"#,
            r#"{"input_tokens":null,"output_tokens":89}"#,
            (412, 89),
        ),
    ] {
        let rig = Rig::new();
        let stub = StubServer::in_order([Answer::events(events(first, last))]);
        let response = post(&application(layer(&rig)), stub.url("/v1/messages"), r#"{"stream":true}"#).await;
        response.bytes().await.unwrap();
        let span = rig.span();
        let found = (int(&span, "gen_ai.usage.input_tokens"), int(&span, "gen_ai.usage.output_tokens"));
        assert_eq!(found, (Some(expected.0), Some(expected.1)));
        assert_eq!(rig.seen().decoded, 1);
        assert_eq!(texts(&span, "gen_ai.response.finish_reasons"), ["end_turn"]);
    }
}

#[tokio::test]
async fn streamed_responses_are_read() {
    let rig = Rig::new();
    let stub = StubServer::in_order([Answer::events([
        r#"data: {"type":"response.output_text.delta","delta":"Hi"}"#,
        r#"data: {"type":"response.output_text.delta","delta":"!"}"#,
        r#"data: {"type":"response.completed","response":{"id":"resp_1","model":"m","status":"completed","usage":{"input_tokens":9,"output_tokens":2,"input_tokens_details":{"cached_tokens":4}}}}"#,
    ])]);
    let response = post(&application(layer(&rig)), stub.url("/v1/responses"), r#"{"stream":true}"#).await;
    response.bytes().await.unwrap();
    let span = rig.span();
    assert_eq!(int(&span, "gen_ai.usage.input_tokens"), Some(9));
    assert_eq!(int(&span, "gen_ai.usage.cache_read.input_tokens"), Some(4));
    assert_eq!((rig.seen().decoded, text(&span, "gen_ai.response.id").as_deref()), (2, Some("resp_1")));
}

#[tokio::test]
async fn failures_end_the_span_with_their_type() {
    let body = stream("20-chat-stream-usage");
    for (name, stub, expected) in [
        ("refused", answer("60-auth-wrong"), "authentication_error"),
        ("too long", answer("38-err-too-long-chat-stream"), "exceed_context_size_error"),
        ("cut off", pieces(&body[..900], 90), "truncated_stream"),
        (
            "killed",
            Answer::status(200).header("content-type", "text/event-stream").body(body.clone()).truncated(900),
            "truncated_stream",
        ),
        ("rubbish", Answer::json("<html>"), "malformed_response"),
        (
            "in the middle",
            Answer::events([r#"data: {"error":{"code":500,"message":"no","type":"server_error"}}"#]),
            "server_error",
        ),
    ] {
        let rig = Rig::new();
        let stub = StubServer::in_order([stub]);
        let response = post(&application(layer(&rig)), stub.url("/v1/chat/completions"), "{}").await;
        let _ = response.bytes().await;
        assert_eq!(text(&rig.span(), "error.type").as_deref(), Some(expected), "{name}");
    }
}

#[tokio::test]
async fn a_body_that_is_dropped_is_cancelled_unless_its_status_says_more() {
    for (stub, expected) in [(answer("19-chat"), "cancelled"), (answer("60-auth-wrong"), "401")] {
        let rig = Rig::new();
        let stub = StubServer::in_order([stub]);
        drop(post(&application(layer(&rig)), stub.url("/v1/chat/completions"), "{}").await);
        assert_eq!(text(&rig.span(), "error.type").as_deref(), Some(expected));
    }
}

#[tokio::test]
async fn nobody_there_is_a_connection_error() {
    let rig = Rig::new();
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let url = format!("http://127.0.0.1:{port}/v1/chat/completions");
    assert!(application(layer(&rig)).post(url).body("{}").send().await.is_err());
    assert_eq!(text(&rig.span(), "error.type").as_deref(), Some("connection_error"));
}

#[tokio::test]
async fn switched_off_filtered_or_of_another_route_it_is_not_there() {
    let rig = Rig::new();
    let stub = StubServer::by_path([
        ("/v1/chat/completions", answer("19-chat")),
        ("/v1/models", answer("09-models")),
    ]);
    let layer = layer(&rig).only(|url| url.query().is_none());
    let switch = layer.switch();
    let http = application(layer);
    switch.turn_off();
    assert!(!switch.is_on());
    post(&http, stub.url("/v1/chat/completions"), "{}").await.bytes().await.unwrap();
    switch.turn_on();
    post(&http, stub.url("/v1/chat/completions?other=1"), "{}").await.bytes().await.unwrap();
    http.get(stub.url("/v1/models")).send().await.unwrap().bytes().await.unwrap();
    assert!(rig.spans().is_empty());
    assert!(stub.requests().iter().all(|request| request.header("traceparent").is_none()));
    post(&http, stub.url("/v1/chat/completions"), "{}").await.bytes().await.unwrap();
    assert_eq!(rig.spans().len(), 1);
}
