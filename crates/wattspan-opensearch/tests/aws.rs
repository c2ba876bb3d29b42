//! Signatures, worked out again from what arrived. (AWS Identity and Access Management, User Guide, "Create a signed AWS API
//! request".)

mod common;

use common::{export, options};
use ring::digest::{SHA256, digest};
use ring::hmac::{HMAC_SHA256, Key, sign};
use wattspan_opensearch::{Aws, Error, OpenSearchSink, Secret, check};
use wattspan_testkit::{Answer, StubRequest, StubServer};

const SECRET: &str = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY";

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |text, byte| text + &format!("{byte:02x}"))
}

fn encoded(text: &str, keep: &str) -> String {
    text.bytes().fold(String::new(), |all, byte| {
        let char = byte as char;
        if char.is_ascii_alphanumeric() || "-_.~".contains(char) || keep.contains(char) {
            all + &char.to_string()
        } else {
            all + &format!("%{byte:02X}")
        }
    })
}

fn signature(request: &StubRequest, signed: &str, scope: &str) -> String {
    let (path, query) = request.target.split_once('?').unwrap_or((&request.target, ""));
    let mut pairs: Vec<String> = query
        .split('&')
        .filter(|pair| !pair.is_empty())
        .map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            format!("{}={}", encoded(name, ""), encoded(value, ""))
        })
        .collect();
    pairs.sort();
    let headers = signed
        .split(';')
        .fold(String::new(), |all, name| all + name + ":" + request.header(name).unwrap().trim() + "\n");
    let hash = hex(digest(&SHA256, &request.body).as_ref());
    assert_eq!(request.header("x-amz-content-sha256"), Some(hash.as_str()));
    let canonical = format!(
        "{}\n{}\n{}\n{headers}\n{signed}\n{hash}",
        request.method,
        encoded(path, "/"),
        pairs.join("&")
    );
    let time = request.header("x-amz-date").unwrap();
    let text =
        format!("AWS4-HMAC-SHA256\n{time}\n{scope}\n{}", hex(digest(&SHA256, canonical.as_bytes()).as_ref()));
    let mut key = format!("AWS4{SECRET}").into_bytes();
    for part in scope.split('/') {
        key = sign(&Key::new(HMAC_SHA256, &key), part.as_bytes()).as_ref().to_vec();
    }
    hex(sign(&Key::new(HMAC_SHA256, &key), text.as_bytes()).as_ref())
}

fn server() -> StubServer {
    StubServer::new(|request| match (request.method.as_str(), request.path()) {
        ("GET", "/") => Answer::json(r#"{"version":{"number":"2.17.0","distribution":"opensearch"}}"#),
        ("POST", "/_bulk") => {
            let items =
                vec![serde_json::json!({"index": {"status": 201}}); request.text().lines().count() / 2];
            Answer::json(serde_json::json!({"items": items}).to_string())
        }
        ("GET", path) if path.starts_with("/_index_template/") => Answer::status(404),
        _ => Answer::json("{}"),
    })
}

#[tokio::test]
async fn every_request_is_signed_with_its_body() {
    let server = server();
    let aws = Aws::new("AKIDEXAMPLE", Secret::new(SECRET, "test"), "eu-central-1")
        .session(Secret::new("session-token", "test"));
    let options = options(&server.url("")).gzip(false).aws(aws);
    export(&mut OpenSearchSink::new(options).unwrap()).await.unwrap();
    let requests = server.requests();
    assert!(requests.len() > 10);
    for request in requests {
        let header = request.header("authorization").unwrap();
        assert!(!header.contains(SECRET));
        let parts = header.strip_prefix("AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/").unwrap();
        let (scope, rest) = parts.split_once(", SignedHeaders=").unwrap();
        let (signed, given) = rest.split_once(", Signature=").unwrap();
        let day = &request.header("x-amz-date").unwrap()[..8];
        assert_eq!(scope, format!("{day}/eu-central-1/es/aws4_request"));
        for must in ["host", "x-amz-content-sha256", "x-amz-date", "x-amz-security-token"] {
            assert!(signed.split(';').any(|name| name == must), "{signed}");
        }
        assert_eq!(signature(&request, signed, scope), given, "{} {}", request.method, request.target);
    }
}

#[tokio::test]
async fn signed_requests_go_to_another_machine_by_https_only() {
    let aws = Aws::new("AKIDEXAMPLE", Secret::new(SECRET, "test"), "eu-central-1");
    let error = check(&options("http://search.example").aws(aws.clone())).await.unwrap_err();
    assert!(matches!(error, Error::Option { option: "url", .. }), "{error}");
    assert_eq!(
        options("https://search.example").aws(aws.clone()).endpoint().unwrap(),
        "https://search.example:443"
    );
    let shown = format!("{aws:?} {:?}", options("https://search.example").aws(aws.clone()));
    for part in SECRET.as_bytes().windows(4) {
        assert!(!shown.contains(std::str::from_utf8(part).unwrap()), "{shown}");
    }
}
