//! Our requests beside those of SMOLTRACE's exporter, which uses the official Python client, for the same run: the same
//! documents, field by field, and what differs is named here.

mod common;

use std::collections::BTreeMap;
use std::io::Read as _;

use common::{begun, metadata, options};
use flate2::read::GzDecoder;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use wattspan_core::{DatasetSink as _, Row, RunId, Table};
use wattspan_dataset::{LeaderboardRow, MetricRow, ResultRow, TableRow, TraceRow};
use wattspan_opensearch::OpenSearchSink;
use wattspan_testkit::{Answer, StubRequest, StubServer};

fn recorded() -> Value {
    serde_json::from_str(include_str!("../fixtures/smoltrace/export.json")).unwrap()
}

fn answers() -> Value {
    serde_json::from_str(include_str!("../fixtures/osmem/answers.json")).unwrap()
}

/// A recorded document as our row. SMOLTRACE's times lack their zone, which is UTC in the recording.
fn row<T: TableRow + DeserializeOwned>(document: &Value) -> Row {
    serde_json::from_value::<T>(zoned(document)).unwrap().into_row()
}

fn zoned(document: &Value) -> Value {
    let mut document = document.clone();
    for name in ["evaluation_date", "timestamp"] {
        if let Some(Value::String(time)) = document.get_mut(name) {
            let (second, micros) = time.split_once('.').unwrap_or((time, "0"));
            *time = format!("{second}.{micros:0<6}Z");
        }
    }
    document
}

/// Documents of a recorded bulk request, and its actions.
fn documents(recorded: &Value, table: &str) -> (Vec<Value>, Vec<Value>) {
    let lines = recorded[table]["lines"].as_array().unwrap();
    (lines.iter().skip(1).step_by(2).cloned().collect(), lines.iter().step_by(2).cloned().collect())
}

/// Exports the recorded run to a server that keeps the requests.
async fn requests() -> Vec<StubRequest> {
    let server = StubServer::new(|request| match (request.method.as_str(), request.path()) {
        ("GET", "/") => Answer::json(answers()["info"]["answer"].to_string()),
        ("POST", "/_bulk") => {
            let items = vec![json!({"index": {"status": 201}}); lines(request).len() / 2];
            Answer::json(json!({"errors": false, "items": items}).to_string())
        }
        ("GET", path) if path.starts_with("/_index_template/") => Answer::status(404),
        _ => Answer::json("{}"),
    });
    let recorded = recorded();
    // One bulk request for each table, as there.
    let mut sink =
        OpenSearchSink::new(options(&server.url("")).bulk(1 << 20, 2).gzip(true)).unwrap().begun(begun());
    sink.create(&RunId::new("golden-run-0001").unwrap()).await.unwrap();
    let rows =
        |name, make: fn(&Value) -> Row| documents(&recorded, name).0.iter().map(make).collect::<Vec<_>>();
    sink.write(Table::Results, &rows("results", row::<ResultRow>)).await.unwrap();
    sink.write(Table::Traces, &rows("traces", row::<TraceRow>)).await.unwrap();
    sink.write(Table::Metrics, &rows("metrics", row::<MetricRow>)).await.unwrap();
    let leaderboard = row::<LeaderboardRow>(&recorded["leaderboard"]["document"]);
    sink.write(Table::Leaderboard, &[leaderboard]).await.unwrap();
    sink.finish(&metadata()).await.unwrap();
    server.requests()
}

fn lines(request: &StubRequest) -> Vec<Value> {
    let mut text = String::new();
    GzDecoder::new(&request.body[..]).read_to_string(&mut text).unwrap();
    assert!(text.ends_with('\n'));
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Actions and documents of all bulk requests, by table.
fn ours(requests: &[StubRequest]) -> BTreeMap<String, Vec<(Value, Value)>> {
    let mut all: BTreeMap<String, Vec<(Value, Value)>> = BTreeMap::new();
    for request in requests.iter().filter(|request| request.path() == "/_bulk") {
        for two in lines(request).chunks(2) {
            let action = two[0].as_object().unwrap().values().next().unwrap();
            let index = action["_index"].as_str().unwrap();
            let table = Table::ALL.iter().find(|table| index.contains(table.as_str())).unwrap();
            all.entry(table.as_str().to_owned()).or_default().push((two[0].clone(), two[1].clone()));
        }
    }
    all
}

/// Whether two values say the same: numbers by value, objects by the keys that SMOLTRACE has.
#[track_caller]
fn same(path: &str, theirs: &Value, ours: &Value) {
    match (theirs, ours) {
        (Value::Object(fields), Value::Object(_)) => {
            for (name, field) in fields {
                same(&format!("{path}.{name}"), field, &ours[name]);
            }
        }
        (Value::Array(a), Value::Array(b)) => {
            assert_eq!(a.len(), b.len(), "{path}");
            for (index, (a, b)) in a.iter().zip(b).enumerate() {
                same(&format!("{path}.{index}"), a, b);
            }
        }
        (Value::Number(a), Value::Number(b)) if a.is_f64() || b.is_f64() => {
            assert_eq!(a.as_f64(), b.as_f64(), "{path}");
        }
        _ => assert_eq!(theirs, ours, "{path}"),
    }
}

#[tokio::test]
async fn documents_are_those_of_the_official_client_field_by_field() {
    let recorded = recorded();
    let ours = ours(&requests().await);
    for table in ["results", "traces", "metrics"] {
        let (theirs, actions) = documents(&recorded, table);
        assert_eq!(theirs.len(), ours[table].len(), "{table}");
        for ((theirs, their_action), (action, document)) in theirs.iter().zip(&actions).zip(&ours[table]) {
            same(table, &zoned(theirs), document);
            let (their_action, action) = (&their_action["index"], &action["index"]);
            assert_eq!(action["_index"], format!("smoltrace-{table}-20261201-214638"));
            assert!(their_action["_index"].as_str().unwrap().starts_with(&format!("smoltrace-{table}-")));
            // Ids begin with the run here, and metrics have one.
            let id = action["_id"].as_str().unwrap();
            match their_action["_id"].as_str() {
                Some(theirs) => assert!(id.starts_with("golden-run-0001:") && id.ends_with(theirs), "{id}"),
                None => assert_eq!(table, "metrics"),
            }
        }
    }
}

#[tokio::test]
async fn the_leaderboard_row_is_the_same_and_an_upsert() {
    let mut theirs = zoned(&recorded()["leaderboard"]["document"]);
    let ours = ours(&requests().await);
    // The row, and the run's metadata when all is stored.
    let [(action, body), (_, about)] = &ours["leaderboard"][..] else { panic!("{ours:?}") };
    for table in ["results", "traces", "metrics"] {
        let name = format!("smoltrace-{table}-20261201-214638");
        assert_eq!(body["doc"][format!("{table}_index")], name);
        theirs[format!("{table}_index")] = name.into();
    }
    same("leaderboard", &theirs, &body["doc"]);
    assert_eq!(recorded()["leaderboard"]["path"], "/smoltrace-leaderboard/_doc/golden-run-0001");
    let expected =
        json!({"_index": "smoltrace-leaderboard", "_id": "golden-run-0001", "retry_on_conflict": 3});
    assert_eq!(action["update"], expected);
    // The form that a server was recorded to take: made at first, and the second time nothing to do.
    let upsert = &answers()["upsert"]["request"]["body"]["json"];
    let keys = |body: &Value| body.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    assert_eq!((keys(body), &body["doc_as_upsert"]), (keys(upsert), &upsert["doc_as_upsert"]));
    assert_eq!(about["doc"]["metadata"]["run_id"], "run-1");
}

#[tokio::test]
async fn requests_have_methods_paths_and_headers_of_the_recordings() {
    let requests = requests().await;
    let gzip = &answers()["gzip"]["request"];
    for request in requests.iter().filter(|request| request.path() == "/_bulk") {
        assert_eq!(request.method, recorded()["results"]["method"].as_str().unwrap());
        assert_eq!(request.path(), recorded()["results"]["path"].as_str().unwrap());
        // SMOLTRACE says `application/json` and does not compress; both are recorded to be taken.
        assert_eq!(request.header("content-type"), gzip["content_type"].as_str());
        assert_eq!(request.header("content-encoding"), gzip["content_encoding"].as_str());
    }
    // Templates and indexes are made by the same requests, in the same order; what is asked before differs.
    let made = |method: &str, path: &str| {
        (method == "PUT" && !path.contains("_doc"))
            .then(|| {
                path.replace("-template", "")
                    .replace("-wattspan", "")
                    .replace("/_index/", "/_index_template/")
            })
            .map(|path| path.split("-2026").next().unwrap_or_default().to_owned())
    };
    let theirs: Vec<String> = recorded()["sequence"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|one| made(one[0].as_str().unwrap(), one[1].as_str().unwrap()))
        .collect();
    let ours: Vec<String> = requests.iter().filter_map(|one| made(&one.method, one.path())).collect();
    assert_eq!(ours, theirs);
    // And their bodies have the same parts; ours have a version besides.
    let keys = &recorded()["template_keys"];
    let body: Value = requests
        .iter()
        .find(|one| one.method == "PUT" && one.path().starts_with("/_index_template/"))
        .map(|one| serde_json::from_slice(&one.body).unwrap())
        .unwrap();
    for key in keys["top"].as_array().unwrap() {
        assert!(body.get(key.as_str().unwrap()).is_some(), "{key}");
    }
    for key in keys["template"].as_array().unwrap() {
        assert!(body["template"].get(key.as_str().unwrap()).is_some(), "{key}");
    }
    assert_eq!(requests[0].path(), "/");
}
