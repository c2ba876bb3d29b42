//! What goes wrong, how it is told to the caller, and that the span ends the same way.

mod support;

use std::time::Duration;

use futures_util::StreamExt as _;
use support::{Rig, answer, attribute, int, pieces, stream, text, texts};
use wattspan_core::Locality;
use wattspan_llama_server::{ChatRequest, CompletionRequest, Error, LlamaServer, Retry, Wait};
use wattspan_testkit::{Answer, Closing, Gate, StubServer};

fn request() -> ChatRequest {
    ChatRequest::user("m", "Hi").temperature(0.5).max_tokens(8)
}

fn delta(text: &str) -> String {
    format!("data: {{\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\"{text}\"}}}}]}}\n\n")
}

/// Two pieces of an answer, then nothing until the gate opens.
fn stalled(gate: &Gate) -> Answer {
    Answer::status(200)
        .header("content-type", "text/event-stream")
        .chunk(delta("one"))
        .chunk(delta("two"))
        .chunk_at(gate, delta("three"))
}

/// Reads a stream to its end: how many chunks, and the error.
async fn drain(client: &LlamaServer, request: &ChatRequest) -> (usize, Option<Error>) {
    let mut chunks = client.chat_chunks(request).await.unwrap();
    let (mut seen, mut failed) = (0, None);
    while let Some(chunk) = chunks.next().await {
        match chunk {
            Ok(_) => seen += 1,
            Err(error) => failed = Some(error),
        }
    }
    assert!(chunks.next().await.is_none(), "nothing comes after the end");
    (seen, failed)
}

#[tokio::test]
async fn a_stalled_stream_ends_at_its_deadline() {
    let (rig, gate) = (Rig::new(), Gate::new());
    let stub = StubServer::in_order([stalled(&gate)]);
    let client = rig.client(&stub.url(""));
    let (seen, error) = drain(&client, &request().deadline(Duration::from_secs(2))).await;
    let error = error.unwrap();
    assert!(matches!(error, Error::Deadline { wait: Wait::WholeCall, .. }), "{error:?}");
    assert_eq!((seen, error.error_type().as_ref(), error.retry()), (2, "timeout", Retry::Later));
    assert_eq!(text(&rig.span(), "error.type").as_deref(), Some("timeout"));
}

#[tokio::test]
async fn a_silent_stream_ends_at_its_longest_silence() {
    let (rig, gate) = (Rig::new(), Gate::new());
    let stub = StubServer::in_order([stalled(&gate)]);
    let client = rig.builder(&stub.url("")).idle_timeout(Duration::from_secs(1)).build().unwrap();
    let (_, error) = drain(&client, &request()).await;
    assert!(matches!(error, Some(Error::Deadline { wait: Wait::BetweenChunks, .. })), "{error:?}");
    assert_eq!(text(&rig.span(), "error.type").as_deref(), Some("timeout"));
}

#[tokio::test]
async fn a_call_that_gets_no_answer_ends_at_its_deadline() {
    let (rig, gate) = (Rig::new(), Gate::new());
    let stub = StubServer::in_order([Answer::json("{}").at(&gate)]);
    let client = rig.builder(&stub.url("")).deadline(Duration::from_millis(300)).build().unwrap();
    let error = client.chat(&request()).await.unwrap_err();
    assert!(matches!(error, Error::Deadline { .. }), "{error:?}");
    assert_eq!(text(&rig.span(), "error.type").as_deref(), Some("timeout"));
}

#[tokio::test]
async fn a_truncated_stream_is_no_answer() {
    // Cut inside an event, between events, and with the framing of the last chunk gone.
    let whole = stream("20-chat-stream-usage");
    let events: Vec<&str> = whole.split_inclusive("\n\n").collect();
    let half = whole.len() / 2;
    for (name, stub) in [
        ("inside an event", pieces(&whole[..half], 50)),
        ("between events", pieces(&events[..4].concat(), 50)),
        (
            "killed",
            Answer::status(200)
                .header("content-type", "text/event-stream")
                .body(whole.clone())
                .truncated(half),
        ),
    ] {
        let rig = Rig::new();
        let stub = StubServer::in_order([stub]);
        let (seen, error) = drain(&rig.client(&stub.url("")), &request()).await;
        let error = error.unwrap();
        assert!(matches!(error, Error::Truncated { .. }), "{name}: {error:?}");
        assert!(seen > 1, "{name}");
        let span = rig.span();
        assert_eq!(text(&span, "error.type").as_deref(), Some("truncated_stream"), "{name}");
        assert_eq!(attribute(&span, "gen_ai.usage.output_tokens"), None, "{name}: no count is made up");
    }
}

#[tokio::test]
async fn a_server_without_done_is_complete_when_it_said_why_it_stopped() {
    let whole = stream("20-chat-stream-usage").replace("data: [DONE]\n\n", "");
    let rig = Rig::new();
    let stub = StubServer::in_order([pieces(&whole, 50)]);
    assert!(drain(&rig.client(&stub.url("")), &request()).await.1.is_none());
    assert_eq!(int(&rig.span(), "gen_ai.usage.output_tokens"), Some(8));
}

#[tokio::test]
async fn an_error_in_the_middle_of_a_stream_keeps_its_type() {
    let event = r#"data: {"error":{"code":500,"message":"context shift failed","type":"server_error"}}"#;
    let rig = Rig::new();
    let stub = StubServer::in_order([Answer::events([delta("one").trim_end(), event])]);
    let (seen, error) = drain(&rig.client(&stub.url("")), &request()).await;
    let error = error.unwrap();
    assert!(
        matches!(&error, Error::Interrupted { message, .. } if message == "context shift failed"),
        "{error:?}"
    );
    assert_eq!((seen, text(&rig.span(), "error.type").as_deref()), (1, Some("server_error")));
}

#[tokio::test]
async fn rubbish_is_malformed() {
    let rig = Rig::new();
    let stub =
        StubServer::in_order([Answer::json("<html>"), Answer::events(["data: <html>"]), Answer::json("{}")]);
    let client = rig.client(&stub.url(""));
    let whole = client.chat(&request()).await.unwrap_err();
    let (_, streamed) = drain(&client, &request()).await;
    let empty = client.chat(&request()).await.unwrap_err();
    for error in [whole, streamed.unwrap(), empty] {
        assert!(matches!(error, Error::Malformed { .. }), "{error:?}");
    }
    let types: Vec<_> = rig.spans().iter().map(|span| text(span, "error.type")).collect();
    assert_eq!(types, [(); 3].map(|()| Some("malformed_response".to_owned())));
}

#[tokio::test]
async fn an_endless_answer_is_not_kept() {
    let rig = Rig::new();
    let stub = StubServer::in_order([Answer::json("x".repeat(5_000)), pieces(&"x".repeat(5_000), 500)]);
    let client = rig.builder(&stub.url("")).body_limit(1_000).build().unwrap();
    let whole = client.chat(&request()).await.unwrap_err();
    let (_, streamed) = drain(&client, &request()).await;
    for error in [whole, streamed.unwrap()] {
        assert!(matches!(error, Error::TooLarge { limit: 1_000, .. }), "{error:?}");
    }
}

#[tokio::test]
async fn a_server_that_loads_is_tried_again_and_its_answer_is_one_inference() {
    let rig = Rig::new();
    let stub = StubServer::in_order([
        answer("04-loading-completion"),
        answer("04-loading-completion"),
        answer("19-chat"),
    ]);
    let client = rig.builder(&stub.url("")).retries(3).build().unwrap();
    assert_eq!(client.chat(&request()).await.unwrap().tokens.output, Some(16));
    assert_eq!(stub.requests().len(), 3);
    assert_eq!(attribute(&rig.span(), "error.type"), None);
}

#[tokio::test]
async fn what_may_have_begun_is_not_sent_again() {
    for failure in [Answer::hang_up(), answer("55-slots-fail-on-no-slot"), answer("19-chat").truncated(20)] {
        let rig = Rig::new();
        let stub = StubServer::in_order([failure, answer("19-chat")]);
        let client = rig.builder(&stub.url("")).retries(3).build().unwrap();
        assert!(client.chat(&request()).await.is_err());
        assert_eq!(stub.requests().len(), 1);
    }
}

#[tokio::test]
async fn nobody_there_is_unreachable() {
    let rig = Rig::new();
    // A port that was free a moment ago.
    let base =
        format!("http://{}", std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap());
    let error = rig.builder(&base).retries(1).build().unwrap().chat(&request()).await.unwrap_err();
    assert!(matches!(error, Error::Unreachable { .. }), "{error:?}");
    assert_eq!(
        (error.retry(), text(&rig.span(), "error.type").as_deref()),
        (Retry::Later, Some("connection_error"))
    );
}

#[tokio::test]
async fn overload_says_when_to_come_again() {
    let rig = Rig::new();
    let stub = StubServer::in_order([Answer::status(429).header("retry-after", "7").body("slow down")]);
    let error = rig.client(&stub.url("")).chat(&request()).await.unwrap_err();
    assert_eq!(error.retry(), Retry::After(Duration::from_secs(7)));
    assert_eq!(text(&rig.span(), "error.type").as_deref(), Some("429"));
}

#[tokio::test]
async fn dropping_a_stream_closes_the_connection_and_ends_the_span() {
    let rig = Rig::new();
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap());
    let server = tokio::spawn(async move {
        use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
        let (mut socket, _) = listener.accept().await.unwrap();
        let mut buffer = [0; 4096];
        assert!(socket.read(&mut buffer).await.unwrap() > 0);
        let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
        let event = delta("one");
        let chunk = format!("{:x}\r\n{event}\r\n", event.len());
        socket.write_all(format!("{head}{chunk}").as_bytes()).await.unwrap();
        // Ends when the client has closed: 0 bytes, or a reset.
        while socket.read(&mut buffer).await.is_ok_and(|read| read > 0) {}
    });
    let mut chunks = rig.client(&base).chat_chunks(&request()).await.unwrap();
    assert!(chunks.next().await.unwrap().is_ok());
    assert!(rig.spans().is_empty(), "it is still open");
    drop(chunks);
    tokio::time::timeout(Duration::from_secs(60), server).await.expect("the connection was closed").unwrap();
    let span = rig.span();
    assert_eq!(text(&span, "error.type").as_deref(), Some("cancelled"));
    assert_eq!(rig.seen().decoded, 1);
}

#[tokio::test]
async fn dropping_a_call_ends_the_span() {
    let (rig, gate) = (Rig::new(), Gate::new());
    let stub = StubServer::in_order([Answer::json("{}").at(&gate)]);
    let client = rig.client(&stub.url(""));
    let asked = request();
    let waited = tokio::select! {
        _ = client.chat(&asked) => false,
        () = async { while stub.requests().is_empty() { tokio::task::yield_now().await; } } => true,
    };
    assert!(waited);
    assert_eq!(text(&rig.span(), "error.type").as_deref(), Some("cancelled"));
    assert!(matches!(rig.seen().closing, Closing::Finished { .. }));
}

#[tokio::test]
async fn case_streaming_02_usage_on_the_finishing_delta_counts() {
    let rig = Rig::new();
    let stub = StubServer::in_order([Answer::events([
        r#"data: {"choices":[{"delta":{"role":"assistant","content":null},"finish_reason":"stop"}],"usage":{"prompt_tokens":12,"completion_tokens":7}}"#,
        "data: [DONE]",
    ])]);
    let answer = rig.client(&stub.url("")).chat_stream(&request(), |_| {}).await.unwrap();
    assert_eq!((answer.tokens.input(), answer.tokens.output), (Some(12), Some(7)));
    let span = rig.span();
    assert_eq!(int(&span, "gen_ai.usage.input_tokens"), Some(12));
    assert_eq!(int(&span, "gen_ai.usage.output_tokens"), Some(7));
    assert_eq!(rig.finished().0.first_token, None, "a role is no token");
}

#[tokio::test]
async fn case_streaming_10_without_usage_tokens_are_absent_or_those_of_timings() {
    let content = (0..20).map(|_| delta("x").trim_end().to_owned());
    let last = |timings: &str| {
        format!(r#"data: {{"choices":[{{"index":0,"delta":{{}},"finish_reason":"stop"}}]{timings}}}"#)
    };
    let run = |timings: &'static str| {
        let events: Vec<String> = content.clone().chain([last(timings), "data: [DONE]".to_owned()]).collect();
        async move {
            let rig = Rig::new();
            let stub = StubServer::in_order([Answer::events(events)]);
            let answer = rig.client(&stub.url("")).chat_stream(&request(), |_| {}).await.unwrap();
            (answer, rig.span(), rig.seen().decoded, stub.requests().remove(0).text())
        }
    };
    let (answer, span, marks, sent) = run("").await;
    assert_eq!((answer.tokens.input(), answer.tokens.output), (None, None));
    assert_eq!(attribute(&span, "gen_ai.usage.output_tokens"), None);
    assert_eq!(marks, 20);
    let sent: serde_json::Value = serde_json::from_str(&sent).unwrap();
    assert_eq!(sent["stream_options"]["include_usage"], true, "it asks by itself");

    let (answer, span, ..) = run(r#","timings":{"prompt_n":9,"predicted_n":20}"#).await;
    assert_eq!((answer.tokens.input(), answer.tokens.output), (Some(9), Some(20)));
    assert_eq!(int(&span, "gen_ai.usage.output_tokens"), Some(20));
}

#[tokio::test]
async fn usage_is_not_asked_for_when_told_not_to() {
    let rig = Rig::new();
    let stub = StubServer::in_order([pieces(&stream("21-chat-stream-no-usage"), 99)]);
    let client = rig.builder(&stub.url("")).ask_usage(false).build().unwrap();
    client.chat_stream(&request(), |_| {}).await.unwrap();
    assert!(!stub.requests()[0].text().contains("stream_options"));
}

#[tokio::test]
async fn case_tokens_09_an_impossible_prompt_count_is_flagged() {
    let rig = Rig::new();
    let body = r#"{"choices":[{"message":{"content":"x"},"finish_reason":"stop"}],
        "usage":{"prompt_tokens":0,"completion_tokens":39,"total_tokens":39}}"#;
    let stub = StubServer::in_order([Answer::json(body)]);
    let answer = rig.client(&stub.url("")).chat(&request()).await.unwrap();
    assert!(answer.input_is_suspect);
    let span = rig.span();
    assert_eq!(attribute(&span, "gen_ai.usage.input_tokens"), None);
    assert_eq!(int(&span, "gen_ai.usage.output_tokens"), Some(39));
}

#[tokio::test]
async fn a_request_is_described_and_carries_the_trace() {
    let rig = Rig::new();
    let stub = StubServer::in_order([pieces(&stream("20-chat-stream-usage"), 99)]);
    let client = rig.builder(&stub.url("")).api_key("tok-EXAMPLE-0123456789").build().unwrap();
    let asked = request().seed(7).stop("END").choices(2).top_p(0.9).conversation("c-1");
    client.chat_stream(&asked, |_| {}).await.unwrap();
    let span = rig.span();
    assert_eq!(span.name, "chat m");
    assert_eq!(text(&span, "gen_ai.provider.name").as_deref(), Some("llama_cpp"));
    assert_eq!(text(&span, "server.address").as_deref(), Some("127.0.0.1"));
    assert_eq!(int(&span, "server.port"), Some(i64::from(stub.address().port())));
    assert_eq!(int(&span, "gen_ai.request.max_tokens"), Some(8));
    assert_eq!(int(&span, "gen_ai.request.seed"), Some(7));
    assert_eq!(int(&span, "gen_ai.request.choice.count"), Some(2));
    assert_eq!(texts(&span, "gen_ai.request.stop_sequences"), ["END"]);
    assert_eq!(text(&span, "gen_ai.conversation.id").as_deref(), Some("c-1"));
    assert_eq!(attribute(&span, "gen_ai.input.messages"), None, "content is off");
    let sent = &stub.requests()[0];
    let context = &span.span_context;
    let parent = format!("00-{}-{}-01", context.trace_id(), context.span_id());
    assert_eq!(sent.header("traceparent"), Some(parent.as_str()));
    assert_eq!(sent.header("authorization"), Some("Bearer tok-EXAMPLE-0123456789"));
    assert!(!sent.text().contains("c-1"), "the conversation is not the server's business");
}

#[tokio::test]
async fn a_server_on_loopback_is_local_with_its_process_and_another_is_remote() {
    let rig = Rig::new();
    let stub = StubServer::in_order([answer("19-chat"), answer("19-chat")]);
    let port = stub.address().port();
    let client = rig
        .builder(&stub.url(""))
        .pid_resolver(move |asked| (asked == port).then_some(4_711))
        .build()
        .unwrap();
    client.chat(&request()).await.unwrap();
    assert_eq!(rig.seen().begin.locality, Locality::LocalServer { pid: Some(4_711) });

    let rig = Rig::new();
    let told = rig.builder(&stub.url("")).locality(Locality::Remote).build().unwrap();
    told.chat(&request()).await.unwrap();
    assert_eq!(rig.seen().begin.locality, Locality::Remote);
}

#[tokio::test]
async fn content_is_recorded_when_chosen() {
    let rig = Rig::with_content();
    let stub =
        StubServer::in_order([pieces(&stream("20-chat-stream-usage"), 99), answer("26-oai-completions")]);
    let client = rig.client(&stub.url(""));
    client.chat_stream(&ChatRequest::user("m", "Say hello."), |_| {}).await.unwrap();
    client.complete(&CompletionRequest::new("m", "The three primary colours are")).await.unwrap();
    let spans = rig.spans();
    let of = |at: usize, key: &str| -> serde_json::Value {
        serde_json::from_str(&text(&spans[at], key).unwrap()).unwrap()
    };
    assert_eq!(of(0, "gen_ai.input.messages")[0]["parts"][0]["content"], "Say hello.");
    assert_eq!(of(0, "gen_ai.output.messages")[0]["parts"][0]["content"], "Hello! I'sure I'm not");
    assert_eq!(of(0, "gen_ai.output.messages")[0]["finish_reason"], "length");
    assert_eq!(of(1, "gen_ai.input.messages")[0]["parts"][0]["content"], "The three primary colours are");
    assert_eq!(of(1, "gen_ai.output.messages")[0]["parts"][0]["content"], " the primary colours of");
}

#[tokio::test]
async fn no_error_shows_a_password_or_key() {
    let rig = Rig::new();
    let stub = StubServer::in_order([answer("60-auth-wrong")]);
    let base = stub.url("").replace("http://", "http://user:tok-EXAMPLE-0123456789@");
    let builder = rig.builder(&base).api_key("tok-EXAMPLE-9876543210");
    let shown = format!("{builder:?}");
    let error = builder.build().unwrap().chat(&request()).await.unwrap_err();
    for text in [shown, error.to_string(), format!("{error:?}"), format!("{:?}", rig.span())] {
        assert!(!text.contains("tok-EXAMPLE"), "{text}");
    }
}

#[test]
fn settings_that_cannot_work_are_refused_at_once() {
    let rig = Rig::new();
    for base in ["not a url", "unix:/run/x", "http://"] {
        let error = LlamaServer::new(base, rig.genai.clone()).map(|_| ()).unwrap_err();
        assert!(matches!(error, Error::Setup { .. }), "{base}: {error:?}");
    }
    let error = rig.builder("http://127.0.0.1:1").api_key("two\nlines").build().map(|_| ()).unwrap_err();
    assert!(matches!(error, Error::Setup { .. }), "{error:?}");
}
