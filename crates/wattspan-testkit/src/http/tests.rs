//! Tests of the stub server.

use super::*;
use std::io::{Read, Write};

fn send(server: &StubServer, request: &[u8]) -> TcpStream {
    let mut stream = TcpStream::connect(server.address()).unwrap();
    stream.write_all(request).unwrap();
    stream
}

fn ask(server: &StubServer, request: &[u8]) -> String {
    let mut answer = Vec::new();
    // A reset is how a cut connection may look; what came before it counts.
    let _ = send(server, request).read_to_end(&mut answer);
    String::from_utf8(answer).unwrap()
}

#[test]
fn requests_are_kept_whole() {
    let server = StubServer::by_path([("/a", Answer::json("{}"))]);
    ask(&server, b"POST /a?b=c HTTP/1.1\r\nX-Key: one\r\nContent-Length: 4\r\n\r\nbody");
    ask(
        &server,
        b"POST /a HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3;x=y\r\nabc\r\n2\r\nde\r\n0\r\nT: 1\r\n\r\n",
    );
    let requests = server.requests();
    assert_eq!(
        (requests[0].method.as_str(), requests[0].target.as_str(), requests[0].path()),
        ("POST", "/a?b=c", "/a")
    );
    assert_eq!((requests[0].header("x-key"), requests[0].text()), (Some("one"), "body".to_owned()));
    assert_eq!(requests[1].text(), "abcde");
    assert!(ask(&server, b"GET /b HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 404 "));
}

#[test]
fn a_script_that_is_over_says_so() {
    let server = StubServer::in_order([Answer::status(429).header("retry-after", "7")]);
    let first = ask(&server, b"GET / HTTP/1.1\r\n\r\n");
    assert!(
        first.starts_with("HTTP/1.1 429 Too Many Requests\r\nretry-after: 7\r\ncontent-length: 0\r\n"),
        "{first}"
    );
    assert!(ask(&server, b"GET /x HTTP/1.1\r\n\r\n").contains("no answer is left for GET /x"));
    assert_eq!(server.wait_for(2).len(), 2);
}

#[test]
fn a_cut_body_is_shorter_than_promised_and_silence_is_nothing() {
    let server = StubServer::in_order([Answer::json("0123456789").truncated(4), Answer::hang_up()]);
    let cut = ask(&server, b"GET / HTTP/1.1\r\n\r\n");
    assert!(cut.contains("content-length: 10\r\n") && cut.ends_with("\r\n\r\n0123"), "{cut}");
    assert_eq!(ask(&server, b"GET / HTTP/1.1\r\n\r\n"), "");
}

#[test]
fn a_stream_goes_on_when_its_gate_opens() {
    let gate = Gate::new();
    let server = StubServer::in_order([Answer::events(["data: 1"]).chunk_at(&gate, "data: 2\n\n")]);
    let mut stream = send(&server, b"GET / HTTP/1.1\r\n\r\n");
    let mut seen = String::new();
    let mut byte = [0];
    while !seen.ends_with("data: 1\n\n") {
        stream.read_exact(&mut byte).unwrap();
        seen.push(byte[0].into());
    }
    gate.open();
    stream.read_to_string(&mut seen).unwrap();
    assert!(seen.ends_with("9\r\ndata: 1\n\n\r\n9\r\ndata: 2\n\n\r\n0\r\n\r\n"), "{seen}");
}

#[test]
fn one_held_answer_does_not_hold_up_another() {
    let gate = Gate::new();
    let server = StubServer::in_order([
        Answer::json("1").at(&gate),
        Answer::json("2").after(Duration::from_millis(1)),
    ]);
    let mut first = send(&server, b"GET / HTTP/1.1\r\n\r\n");
    server.wait_for(1);
    assert!(ask(&server, b"GET / HTTP/1.1\r\n\r\n").ends_with("\r\n\r\n2"));
    gate.open();
    let mut held = String::new();
    first.read_to_string(&mut held).unwrap();
    assert!(held.ends_with("\r\n\r\n1"));
}

#[test]
fn a_dropped_server_lets_go_of_its_clients() {
    let server = StubServer::in_order([Answer::status(200).at(&Gate::new())]);
    let mut stream = send(&server, b"GET / HTTP/1.1\r\n\r\n");
    server.wait_for(1);
    drop(server);
    // Closed or reset; it would hang if the answer were still held.
    let _ = stream.read_to_end(&mut Vec::new());
}

#[test]
fn half_a_request_is_no_request() {
    let server = StubServer::new(|_| Answer::status(200));
    drop(send(&server, b"POST / HTTP/1.1\r\nContent-Length: 10\r\n\r\nhalf"));
    assert!(ask(&server, b"GET / HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 200"));
    assert_eq!(server.requests().len(), 1);
}
