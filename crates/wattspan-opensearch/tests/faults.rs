//! What the sink does when a server is busy, forgets, lies, or says no: scripted answers, and a proxy in front of a real one.

mod common;

use std::collections::BTreeSet;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::sync::{Arc, Mutex};

use common::{Folder, Osmem, begun, export, metadata, metric, options, result, rows, run_id};
use flate2::read::GzDecoder;
use serde_json::{Value, json};
use wattspan_core::{Cell, DatasetSink as _, SinkError, Table};
use wattspan_opensearch::{Error, OpenSearchSink, Right, Secret, check};
use wattspan_testkit::{Answer, Gate, StubRequest, StubServer};

const OPENSEARCH: &str = r#"{"version":{"number":"3.8.0","distribution":"opensearch"},"tagline":"-"}"#;

/// A server without state that says yes, but for bulk requests, which get these answers in turn.
fn scripted(bulk: impl FnMut(&StubRequest) -> Answer + Send + 'static) -> StubServer {
    let mut bulk = bulk;
    StubServer::new(move |request| match (request.method.as_str(), request.path()) {
        ("GET", "/") => Answer::json(OPENSEARCH),
        ("POST", "/_bulk") => bulk(request),
        ("GET", path) if path.starts_with("/_index_template/") => Answer::status(404),
        _ => Answer::json("{}"),
    })
}

/// Lines of a bulk request, its coding undone.
fn lines(request: &StubRequest) -> Vec<Value> {
    let mut text = String::new();
    if request.header("content-encoding") == Some("gzip") {
        GzDecoder::new(&request.body[..]).read_to_string(&mut text).unwrap();
    } else {
        text = request.text();
    }
    assert!(text.ends_with('\n'), "a bulk request ends with a newline");
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Ids of a bulk request's documents.
fn ids(request: &StubRequest) -> Vec<String> {
    let id = |action: &Value| {
        action.as_object().unwrap().values().next().unwrap()["_id"].as_str().unwrap().to_owned()
    };
    lines(request).iter().step_by(2).map(id).collect()
}

fn bulks(server: &StubServer) -> Vec<StubRequest> {
    server.requests().into_iter().filter(|request| request.path() == "/_bulk").collect()
}

/// An answer with an item for each status; those that are no success have a reason.
fn items(statuses: &[(u16, &str)]) -> Answer {
    let items: Vec<Value> = statuses
        .iter()
        .map(|(status, kind)| match status {
            200..=299 => json!({"index": {"status": status}}),
            _ => json!({"index": {"status": status, "error": {"type": kind, "reason": "because"}}}),
        })
        .collect();
    Answer::json(json!({"errors": true, "items": items}).to_string())
}

fn stored(request: &StubRequest) -> Answer {
    items(&vec![(201, ""); ids(request).len()])
}

#[tokio::test]
async fn case_opensearch_02_only_what_was_not_stored_is_sent_again() {
    let mut round = 0;
    let server = scripted(move |request| {
        round += 1;
        match round {
            1 => items(&[(201, ""), (429, "es_rejected_execution_exception"), (503, "unavailable")]),
            _ => stored(request),
        }
    });
    let mut sink = OpenSearchSink::new(options(&server.url("")).bulk(1 << 20, 3)).unwrap();
    sink.create(&run_id()).await.unwrap();
    sink.write(Table::Results, &rows(result, 0..3)).await.unwrap();
    let sent: Vec<Vec<String>> = bulks(&server).iter().map(ids).collect();
    let all = ["run-1:1:tool:weather_0", "run-1:1:tool:weather_1", "run-1:1:tool:weather_2"];
    assert_eq!(sent, [all.to_vec(), all[1..].to_vec()]);
    let progress = sink.progress();
    assert_eq!((progress.stored, progress.retries, progress.waiting()), (3, 2, 0));
}

#[tokio::test]
async fn tries_are_bounded_and_what_is_left_waits() {
    let server = scripted(|request| items(&vec![(429, "rejected"); ids(request).len()]));
    let mut sink = OpenSearchSink::new(options(&server.url(""))).unwrap();
    sink.create(&run_id()).await.unwrap();
    sink.write(Table::Results, &rows(result, 0..3)).await.unwrap();
    let error = sink.finish(&Cell::Null).await.unwrap_err();
    assert!(matches!(error, SinkError::Retry { .. }) && error.to_string().contains("too busy"), "{error}");
    assert_eq!(bulks(&server).len(), 1 + 8);
    assert_eq!(sink.progress().waiting(), 3);
}

#[tokio::test]
async fn a_document_that_breaks_the_server_does_not_hold_up_the_others() {
    let folder = Folder::new();
    let server = scripted(|request| {
        let verdict =
            |id: &String| if id.ends_with("_1") { (500, "null_pointer_exception") } else { (201, "") };
        items(&ids(request).iter().map(verdict).collect::<Vec<_>>())
    });
    let options = options(&server.url("")).refused_folder(folder.0.path());
    let mut sink = OpenSearchSink::new(options).unwrap();
    sink.create(&run_id()).await.unwrap();
    sink.write(Table::Results, &rows(result, 0..3)).await.unwrap();
    let error = sink.finish(&Cell::Null).await.unwrap_err();
    assert!(matches!(error, SinkError::Refused { rows: 1, .. }), "{error}");
    let kept: Value = serde_json::from_str(&std::fs::read_to_string(folder.refused()).unwrap()).unwrap();
    assert_eq!((&kept["status"], &kept["type"]), (&json!(500), &json!("null_pointer_exception")));
    assert_eq!(kept["document"]["task_id"], "weather_1");
}

#[tokio::test]
async fn a_request_that_is_too_large_is_halved() {
    let folder = Folder::new();
    // At most two documents; and one of them alone is too large.
    let server = scripted(|request| {
        let ids = ids(request);
        let too_large = ids.len() > 2 || ids.iter().any(|id| id.ends_with("_6"));
        if too_large { Answer::status(413) } else { stored(request) }
    });
    let options = options(&server.url("")).refused_folder(folder.0.path());
    let mut sink = OpenSearchSink::new(options).unwrap();
    sink.create(&run_id()).await.unwrap();
    sink.write(Table::Results, &rows(result, 0..8)).await.unwrap();
    let error = sink.finish(&Cell::Null).await.unwrap_err();
    assert!(error.to_string().contains("http.max_content_length"), "{error}");
    // The eight, and the run on the leaderboard.
    assert_eq!((sink.progress().stored, sink.progress().refused), (8, 1));
    assert!(std::fs::read_to_string(folder.refused()).unwrap().contains("weather_6"));
}

#[tokio::test]
async fn refused_rights_stop_the_export_and_nothing_is_thrown_away() {
    let folder = Folder::new();
    let allowed = Arc::new(Mutex::new(false));
    let server = scripted({
        let allowed = Arc::clone(&allowed);
        move |request| {
            let count = ids(request).len();
            let status = if *allowed.lock().unwrap() { (201, "") } else { (403, "security_exception") };
            items(&vec![status; count])
        }
    });
    let options = options(&server.url("")).refused_folder(folder.0.path());
    let mut sink = OpenSearchSink::new(options).unwrap();
    sink.create(&run_id()).await.unwrap();
    sink.write(Table::Results, &rows(result, 0..3)).await.unwrap();
    let error = sink.finish(&Cell::Null).await.unwrap_err();
    let message = error.to_string();
    assert!(matches!(error, SinkError::Fatal { .. }), "{message}");
    assert!(
        message.contains("security_exception") && message.contains("have the right granted"),
        "{message}"
    );
    assert_eq!((bulks(&server).len(), sink.progress().waiting()), (1, 3));
    assert!(!folder.refused().exists());
    *allowed.lock().unwrap() = true;
    sink.finish(&Cell::Null).await.unwrap();
    assert_eq!((sink.progress().stored, sink.progress().waiting()), (4, 0));
}

#[tokio::test]
async fn a_wrong_password_is_told_with_its_remedy_and_not_tried_again() {
    let server = StubServer::by_path([("/", Answer::status(401))]);
    let options =
        options(&server.url("")).user("eval").password(Secret::new("s3cret-word", "OPENSEARCH_PASSWORD"));
    let error =
        OpenSearchSink::new(options.clone()).unwrap().create(&run_id()).await.unwrap_err().to_string();
    assert!(error.contains("(401): check user and OPENSEARCH_PASSWORD"), "{error}");
    assert!(error.contains("wattspan push DIR") && !error.contains("s3cret"), "{error}");
    let requests = server.requests();
    assert_eq!(requests.len(), 1);
    // `printf eval:s3cret-word | base64`.
    assert_eq!(requests[0].header("authorization"), Some("Basic ZXZhbDpzM2NyZXQtd29yZA=="));
    assert!(matches!(check(&options).await.unwrap_err(), Error::Denied { status: 401, .. }));
}

#[tokio::test]
async fn a_redirect_does_not_carry_the_password_away() {
    let other = StubServer::by_path([("/", Answer::json(OPENSEARCH))]);
    let server = StubServer::by_path([("/", Answer::status(302).header("location", &other.url("/")))]);
    let options = options(&server.url("")).user("eval").password(Secret::new("s3cret", "test"));
    let error = check(&options).await.unwrap_err();
    assert!(matches!(error, Error::Answer { status: 302, .. }), "{error}");
    assert_eq!(other.requests().len(), 0);
}

#[tokio::test]
async fn servers_that_cannot_be_used_are_named() {
    let unsupported = async |body: &str| {
        let server = StubServer::by_path([("/", Answer::json(body))]);
        check(&options(&server.url(""))).await.unwrap_err().to_string()
    };
    let old = unsupported(r#"{"version":{"number":"2.5.0","distribution":"opensearch"}}"#).await;
    assert!(old.contains("OpenSearch 2.5.0 cannot be used: take at least OpenSearch 2.7"), "{old}");
    let page = unsupported("<html>Please sign in</html>").await;
    assert!(page.contains("check the URL") && !page.contains("sign in"), "{page}");
    let serverless = StubServer::by_path([]);
    let error = check(&options(&serverless.url(""))).await.unwrap_err().to_string();
    assert!(error.contains("OpenSearch Serverless"), "{error}");
}

#[tokio::test]
async fn elasticsearch_gets_its_own_words_and_is_asked_for_rights() {
    let server = StubServer::new(|request| match (request.method.as_str(), request.path()) {
        ("GET", "/") => Answer::json(r#"{"version":{"number":"8.15.0"},"tagline":"You Know, for Search"}"#),
        ("POST", "/_bulk") => stored(request),
        ("POST", "/_security/user/_has_privileges") => Answer::json(
            r#"{"has_all_requested":false,"cluster":{"manage_index_templates":false},
                "index":{"smoltrace-*":{"create_index":true,"index":true,"view_index_metadata":true,"manage":false}}}"#,
        ),
        ("GET", "/smoltrace-leaderboard/_count") => Answer::json(r#"{"count":3}"#),
        ("GET", path) if path.starts_with("/_index_template/") => Answer::status(404),
        _ => Answer::json("{}"),
    });
    let options = options(&server.url(""));
    let report = check(&options).await.unwrap();
    assert_eq!((report.server.as_str(), report.runs), ("Elasticsearch 8.15.0", Some(3)));
    assert!(report.rights.contains(&("make index templates".to_owned(), Right::Denied)), "{report}");
    assert!(
        report.rights.contains(&("make and write indexes smoltrace-*".to_owned(), Right::Granted)),
        "{report}"
    );
    // Without templates an export works all the same.
    assert!(report.is_good());
    // Nothing in a check can write: HEAD and GET cannot, and the one POST is a question.
    assert!(
        server
            .requests()
            .iter()
            .all(|request| request.method == "GET" || request.path() == "/_security/user/_has_privileges")
    );

    export(&mut OpenSearchSink::new(options).unwrap()).await.unwrap();
    let template = server.requests().into_iter().find(|request| {
        (request.method.as_str(), request.path()) == ("PUT", "/_index_template/smoltrace-traces-wattspan")
    });
    let text = template.unwrap().text();
    assert!(text.contains("flattened") && !text.contains("flat_object"), "{text}");
}

#[tokio::test]
async fn a_user_with_few_rights_can_export() {
    // May neither see nor make templates, list or make indexes, nor refresh; the indexes are there.
    let server = StubServer::new(move |request| match (request.method.as_str(), request.path()) {
        ("GET", "/") => Answer::json(OPENSEARCH),
        ("POST", "/_bulk") => stored(request),
        ("GET", path) if path.ends_with("/_mapping") && !path.contains('*') => {
            let name = path.trim_start_matches('/').trim_end_matches("/_mapping");
            Answer::json(
                json!({name: {"mappings": {"_meta": {"run_id": "run-1"}, "properties": {}}}}).to_string(),
            )
        }
        _ => Answer::status(403).body(r#"{"error":{"type":"security_exception","reason":"no permissions"}}"#),
    });
    let mut sink =
        OpenSearchSink::new(options(&server.url("")).index_prefix("smoltrace")).unwrap().begun(begun());
    export(&mut sink).await.unwrap();
    assert_eq!((sink.progress().stored, sink.progress().waiting()), (42, 0));
}

#[tokio::test]
async fn no_network_is_asked_before_the_export_begins() {
    let server = scripted(stored);
    let sink = OpenSearchSink::new(options(&server.url(""))).unwrap().begun(begun());
    assert!(!format!("{sink:?}").is_empty());
    drop(sink);
    assert_eq!(server.requests().len(), 0);
}

/// Passes a request on to a real server and gives its answer back.
fn pass_on(address: &str, request: &StubRequest) -> (u16, Vec<u8>) {
    let mut stream = TcpStream::connect(address).unwrap();
    let mut head =
        format!("{} {} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n", request.method, request.target);
    for (name, value) in &request.headers {
        if name.starts_with("content-") && name != "content-length" {
            head.extend([name, ": ", value, "\r\n"]);
        }
    }
    head.extend(["content-length: ", &request.body.len().to_string(), "\r\n\r\n"]);
    stream.write_all(head.as_bytes()).unwrap();
    stream.write_all(&request.body).unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    let end = answer.windows(4).position(|four| four == b"\r\n\r\n").unwrap();
    let head = String::from_utf8_lossy(&answer[..end]).to_ascii_lowercase();
    let status = head[9..12].parse().unwrap();
    let body = answer.split_off(end + 4);
    if head.contains("transfer-encoding: chunked") {
        return (status, unchunked(&body));
    }
    (status, body)
}

fn unchunked(mut rest: &[u8]) -> Vec<u8> {
    let mut body = Vec::new();
    loop {
        let end = rest.windows(2).position(|two| two == b"\r\n").unwrap();
        let size = usize::from_str_radix(std::str::from_utf8(&rest[..end]).unwrap().trim(), 16).unwrap();
        if size == 0 {
            return body;
        }
        body.extend_from_slice(&rest[end + 2..end + 2 + size]);
        rest = &rest[end + 2 + size + 2..];
    }
}

fn proxied(address: &str, request: &StubRequest) -> Answer {
    let (status, body) = pass_on(address, request);
    Answer::status(status).header("content-type", "application/json").body(body)
}

#[tokio::test]
async fn a_storm_of_refusals_and_lost_answers_loses_nothing_and_stores_nothing_twice() {
    let server = Osmem::start();
    let address = server.url.trim_start_matches("http://").to_owned();
    let mut round = 0_u32;
    let proxy = StubServer::new(move |request| {
        round += 1;
        match round % 7 {
            1 => Answer::status(429).header("retry-after", "0"),
            2 => Answer::hang_up(),
            // Done, but the client does not hear of it.
            3 => {
                pass_on(&address, request);
                Answer::hang_up()
            }
            4 => Answer::status(503),
            5 => {
                let (status, body) = pass_on(&address, request);
                let half = body.len() / 2;
                Answer::status(status).header("content-type", "application/json").body(body).truncated(half)
            }
            6 if request.path() == "/_bulk" => {
                // Every second document is stored, the others find the queue full.
                let sent = lines(request);
                let (mut kept, mut statuses) = (String::new(), Vec::new());
                for (index, two) in sent.chunks(2).enumerate() {
                    let is_kept = index % 2 == 0;
                    statuses.push(if is_kept { (201, "") } else { (429, "rejected_execution_exception") });
                    if is_kept {
                        kept.extend([two[0].to_string(), "\n".into(), two[1].to_string(), "\n".into()]);
                    }
                }
                let mut half = request.clone();
                half.headers.retain(|(name, _)| name != "content-encoding");
                half.body = kept.into_bytes();
                pass_on(&address, &half);
                items(&statuses)
            }
            _ => proxied(&address, request),
        }
    });
    let options = options(&proxy.url("")).bulk(1 << 20, 7).gzip(true);
    let mut sink = OpenSearchSink::new(options).unwrap().begun(begun());
    sink.create(&run_id()).await.unwrap();
    sink.write(Table::Results, &rows(result, 0..100)).await.unwrap();
    sink.write(Table::Metrics, &rows(metric, 0..300)).await.unwrap();
    sink.finish(&metadata()).await.unwrap();
    assert_eq!(server.counts(&sink).await, [100, 0, 300, 1]);
    let progress = sink.progress();
    assert_eq!((progress.stored, progress.refused, progress.waiting()), (401, 0, 0));
    assert!(progress.retries > 0);
}

#[tokio::test]
async fn a_client_killed_in_the_middle_of_a_request_is_made_good_by_the_next() {
    let server = Osmem::start();
    let address = server.url.trim_start_matches("http://").to_owned();
    let gate = Gate::new();
    let mut bulks = 0;
    let proxy = StubServer::new({
        let gate = gate.clone();
        move |request| {
            bulks += u32::from(request.path() == "/_bulk");
            let answer = proxied(&address, request);
            // The third is stored, and its answer never comes.
            if bulks == 3 { answer.at(&gate) } else { answer }
        }
    });
    let options_of_proxy = options(&proxy.url("")).bulk(1 << 20, 5);
    let killed = tokio::spawn(async move {
        let mut sink = OpenSearchSink::new(options_of_proxy).unwrap().begun(begun());
        export(&mut sink).await
    });
    while self::bulks(&proxy).len() < 3 {
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
    killed.abort();
    assert!(killed.await.unwrap_err().is_cancelled());

    let mut sink = OpenSearchSink::new(server.options()).unwrap();
    export(&mut sink).await.unwrap();
    assert_eq!(server.counts(&sink).await, [10, 10, 20, 1]);
    let ids: BTreeSet<String> = self::bulks(&proxy).iter().flat_map(ids).collect();
    assert_eq!(ids.len(), 15, "the killed one had begun");
    gate.open();
}

#[tokio::test]
async fn a_server_killed_in_the_middle_is_filled_by_the_next_export() {
    let first = Osmem::start();
    let mut sink = OpenSearchSink::new(first.options().bulk(1 << 20, 5)).unwrap().begun(begun());
    sink.create(&run_id()).await.unwrap();
    sink.write(Table::Results, &rows(result, 0..7)).await.unwrap();
    first.kill();
    let error = sink.write(Table::Results, &rows(result, 7..12)).await.unwrap_err();
    assert!(matches!(error, SinkError::Retry { .. }), "{error}");
    // It kept nothing: what comes up again is empty.
    let second = Osmem::start();
    let mut sink = OpenSearchSink::new(second.options()).unwrap().begun(begun());
    export(&mut sink).await.unwrap();
    assert_eq!(second.counts(&sink).await, [10, 10, 20, 1]);
}
