//! The client for programs without a runtime.

mod support;

use std::io::{Read as _, Write as _};

use support::{Rig, answer, attribute, pieces, stream, text};
use wattspan_llama_server::{ChatRequest, Error, blocking};
use wattspan_testkit::StubServer;

fn client(rig: &Rig, base: &str) -> blocking::LlamaServer {
    blocking::LlamaServer::from_client(rig.client(base)).unwrap()
}

#[test]
fn calls_and_streams_work_without_a_runtime() {
    let rig = Rig::new();
    let stub = StubServer::in_order([
        answer("19-chat"),
        pieces(&stream("20-chat-stream-usage"), 40),
        pieces(&stream("20-chat-stream-usage"), 40),
    ]);
    let client = client(&rig, &stub.url(""));
    let request = ChatRequest::user("m", "Hi");
    assert_eq!(client.chat(&request).unwrap().tokens.output, Some(16));
    assert_eq!(client.chat_stream(&request, |_| {}).unwrap().content, "Hello! I'sure I'm not");
    let mut chunks = client.chat_chunks(&request).unwrap();
    assert!(chunks.by_ref().all(|chunk| chunk.is_ok()));
    assert_eq!(chunks.tokens().output, Some(8));
    let spans = rig.spans();
    assert_eq!(spans.len(), 3);
    assert!(spans.iter().all(|span| attribute(span, "error.type").is_none()));
}

#[test]
fn a_dropped_stream_closes_its_connection_without_another_call() {
    let rig = Rig::new();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap());
    let server = std::thread::spawn(move || {
        let (mut socket, _) = listener.accept().unwrap();
        let mut buffer = [0; 4096];
        assert!(socket.read(&mut buffer).unwrap() > 0);
        let event = "data: {\"choices\":[{\"delta\":{\"content\":\"x\"}}]}\n\n";
        let head = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";
        socket.write_all(format!("{head}{:x}\r\n{event}\r\n", event.len()).as_bytes()).unwrap();
        while socket.read(&mut buffer).is_ok_and(|read| read > 0) {}
    });
    let client = client(&rig, &base);
    let mut chunks = client.chat_chunks(&ChatRequest::user("m", "Hi")).unwrap();
    assert!(chunks.next().unwrap().is_ok());
    drop(chunks);
    // Would hang, were the connection still open.
    server.join().unwrap();
    assert_eq!(text(&rig.span(), "error.type").as_deref(), Some("cancelled"));
    drop(client);
}

#[tokio::test]
async fn inside_a_runtime_it_refuses_and_can_be_dropped() {
    let rig = Rig::new();
    let client = client(&rig, "http://127.0.0.1:1");
    let error = client.chat(&ChatRequest::user("m", "Hi")).unwrap_err();
    assert!(matches!(error, Error::Setup { .. }), "{error:?}");
    drop(client);
}
