//! The stub is as strict as it says, seen through plain requests.

use std::io::{Read, Write};
use std::net::TcpStream;

use super::digest::sha256;
use super::*;

struct Reply {
    status: u16,
    head: String,
    body: String,
}

fn ask(hub: &HubStub, method: &str, target: &str, headers: &[(&str, &str)], body: &str) -> Reply {
    let server = if target.starts_with("/s3/") { &hub.storage } else { &hub.server };
    let mut stream = TcpStream::connect(server.address()).unwrap();
    let mut request = format!("{method} {target} HTTP/1.1\r\ncontent-length: {}\r\n", body.len());
    for (name, value) in headers.iter().copied() {
        request.extend([name, ": ", value, "\r\n"]);
    }
    stream.write_all(format!("{request}\r\n{body}").as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    Reply { status: head[9..12].parse().unwrap(), head: head.to_owned(), body: body.to_owned() }
}

const ADA: (&str, &str) = ("authorization", "Bearer t-ada");
const NDJSON: (&str, &str) = ("content-type", "application/x-ndjson");

fn hub() -> HubStub {
    let hub = HubStub::start();
    hub.add_token("t-ada", "ada", "write");
    hub.add_token("t-bob", "bob", "write");
    hub.add_token("t-look", "ada", "read");
    hub.add_repo("ada/runs", true, [("README.md", b"# runs\n".to_vec())]);
    hub
}

fn commit(hub: &HubStub, parent: &str, operation: &str) -> Reply {
    let header =
        format!(r#"{{"key":"header","value":{{"summary":"s","description":"","parentCommit":"{parent}"}}}}"#);
    ask(
        hub,
        "POST",
        "/api/datasets/ada/runs/commit/main",
        &[ADA, NDJSON],
        &format!("{header}\n{operation}\n"),
    )
}

#[test]
fn a_private_repository_shows_to_its_owner_only() {
    let hub = hub();
    let status = |headers: &[(&str, &str)]| ask(&hub, "GET", "/api/datasets/ada/runs", headers, "").status;
    assert_eq!(status(&[ADA]), 200);
    assert_eq!(status(&[]), 404);
    assert_eq!(status(&[("authorization", "Bearer t-bob")]), 404);
    assert_eq!(status(&[("authorization", "Bearer wrong")]), 401);
    hub.set_private("ada/runs", false);
    assert_eq!(status(&[("authorization", "Bearer t-bob")]), 200);
    let written = ask(
        &hub,
        "POST",
        "/api/datasets/ada/runs/commit/main",
        &[("authorization", "Bearer t-look"), NDJSON],
        "",
    );
    assert_eq!(written.status, 403);
}

#[test]
fn a_commit_needs_the_head_as_its_parent_and_objects_that_are_there() {
    let hub = hub();
    let file = r#"{"key":"file","value":{"path":"a.txt","content":"Zm9v","encoding":"base64"}}"#;
    let head = hub.repo("ada/runs").unwrap().commits.last().unwrap().oid.clone();
    assert_eq!(commit(&hub, &"f".repeat(40), file).status, 412);
    assert_eq!(commit(&hub, &head, file).status, 200);
    assert_eq!(commit(&hub, &head, file).status, 412, "the head has moved");
    assert_eq!(hub.repo("ada/runs").unwrap().files["a.txt"], b"foo");
    let head = hub.repo("ada/runs").unwrap().commits.last().unwrap().oid.clone();
    let object = r#"{"key":"lfsFile","value":{"path":"a.bin","algo":"sha256","oid":"0","size":3}}"#;
    assert_eq!(commit(&hub, &head, object).status, 400);
    let inline = r#"{"key":"file","value":{"path":"a.parquet","content":"Zm9v","encoding":"base64"}}"#;
    assert_eq!(commit(&hub, &head, inline).status, 400);
}

#[test]
fn storage_wants_the_promised_bytes_and_no_token() {
    let hub = hub();
    let oid = sha256(b"foo");
    let url = format!("/s3/{oid}?X-Amz-Signature=test");
    assert_eq!(ask(&hub, "PUT", &url, &[ADA], "foo").status, 400);
    assert_eq!(ask(&hub, "PUT", &url, &[], "bar").status, 400);
    assert_eq!(ask(&hub, "PUT", &format!("/s3/{oid}"), &[], "foo").status, 403);
    assert_eq!(ask(&hub, "PUT", &url, &[], "foo").status, 200);
    assert_eq!(hub.objects(), std::slice::from_ref(&oid));
    let head = hub.repo("ada/runs").unwrap().commits.last().unwrap().oid.clone();
    let object =
        format!(r#"{{"key":"lfsFile","value":{{"path":"a b.bin","algo":"sha256","oid":"{oid}","size":3}}}}"#);
    assert_eq!(commit(&hub, &head, &object).status, 200);
    let found = ask(&hub, "GET", "/datasets/ada/runs/resolve/main/a%20b.bin", &[ADA], "");
    assert_eq!(found.status, 302);
    assert!(found.head.contains(&format!("/s3/{oid}?")), "{}", found.head);
    assert_eq!(ask(&hub, "GET", &url, &[], "").body, "foo");
}

#[test]
fn faults_and_actions_come_once_and_where_they_were_ordered() {
    let hub = hub();
    hub.fail("GET", "/api/datasets", 1, Answer::status(503));
    hub.before("GET", "/api/whoami-v2", |edit| {
        edit.commit("ada/runs", "b.txt", "b");
        edit.set_private("ada/runs", false);
    });
    let status = |target: &str| ask(&hub, "GET", target, &[ADA], "").status;
    assert_eq!((status("/api/datasets/ada/runs"), status("/api/datasets/ada/runs")), (503, 200));
    assert!(!hub.repo("ada/runs").unwrap().files.contains_key("b.txt"));
    assert_eq!(status("/api/whoami-v2"), 200);
    let repo = hub.repo("ada/runs").unwrap();
    assert!(repo.files.contains_key("b.txt") && !repo.private);
    hub.commit_from_elsewhere("ada/runs", "c.txt", "c");
    assert_eq!(hub.repo("ada/runs").unwrap().commits.len(), 3);
    assert_eq!(hub.repos(), ["ada/runs"]);
}
