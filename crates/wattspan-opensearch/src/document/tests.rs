use super::*;

fn run() -> RunId {
    RunId::new("run-1").unwrap()
}

fn text(text: &str) -> Cell {
    Cell::Text(text.to_owned().into())
}

fn row(cells: &[(&'static str, Cell)]) -> Row {
    Row(cells.iter().map(|(name, cell)| ((*name).into(), cell.clone())).collect())
}

#[test]
fn ids_tell_rows_apart_as_the_files_do() {
    let id = |table, cells: &[(&'static str, Cell)]| id(&run(), table, &row(cells));
    let case = ("test_case_uid", text("tool:weather:1"));
    assert_eq!(id(Table::Results, &[case.clone(), ("attempt", Cell::Int(2))]), "run-1:2:tool:weather:1");
    assert_eq!(id(Table::Results, &[case, ("attempt", Cell::Null)]), "run-1::tool:weather:1");
    assert_eq!(
        id(Table::Results, &[("test_case_uid", Cell::Null), ("task_id", text("weather"))]),
        "run-1::weather"
    );
    assert_eq!(id(Table::Traces, &[("trace_id", text("0af7"))]), "run-1:0af7");
    assert_eq!(
        id(
            Table::Metrics,
            &[
                ("timestamp_unix_nano", text("7")),
                ("started_unix_nano", text("5")),
                ("device_id", text("GPU-1"))
            ]
        ),
        "run-1:7:5:GPU-1"
    );
    assert_eq!(
        id(
            Table::Metrics,
            &[("timestamp_unix_nano", text("7")), ("device_id", text("")), ("gpu_id", text("0"))]
        ),
        "run-1:7::0"
    );
    assert_eq!(id(Table::Leaderboard, &[("run_id", text("another"))]), "run-1");
}

#[test]
fn rows_that_nothing_names_are_known_by_all_cells() {
    let id = |value: f64| id(&run(), Table::Metrics, &row(&[("power_watts", Cell::Float(value))]));
    assert_eq!(id(1.0), id(1.0));
    assert_ne!(id(1.0), id(2.0));
    // `printf '{"power_watts":1.0}' | sha256sum`, its first half: it must not change from version to version.
    assert_eq!(id(1.0), "run-1:08a14144d78931a97353c85753aeba32");
}

#[test]
fn an_id_is_never_too_long() {
    let id = |case: &str| id(&run(), Table::Results, &row(&[("task_id", text(case))]));
    let (short, long) = ("x".repeat(505), "x".repeat(506));
    assert_eq!(id(&short), format!("run-1::{short}"));
    assert_eq!(id(&long).len(), "run-1:".len() + 32);
    assert_ne!(id(&long), id(&"x".repeat(507)));
}

#[test]
fn flat_objects_have_nothing_that_a_server_refuses() {
    let attributes = Cell::Map(vec![
        ("x".into(), Cell::Int(1)),
        ("x.y".into(), Cell::Null),
        ("nan".into(), Cell::Float(f64::NAN)),
        ("list".into(), Cell::List(vec![Cell::Int(1), Cell::Null])),
        ("objects".into(), Cell::List(vec![Cell::Map(vec![("a".into(), Cell::Int(1))])])),
        ("long".into(), text(&"é".repeat(20_000))),
    ]);
    let span = Cell::Map(vec![("parent_span_id".into(), Cell::Null), ("attributes".into(), attributes)]);
    let mut json = Vec::new();
    put(
        &mut json,
        Table::Traces,
        "i",
        "d",
        &row(&[("trace_id", text("t")), ("spans", Cell::List(vec![span]))]),
    );
    let lines: Vec<serde_json::Value> =
        json.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice(line).ok()).collect();
    assert_eq!(lines[0], serde_json::json!({"index": {"_index": "i", "_id": "d"}}));
    let mut span = lines[1]["spans"][0].clone();
    // Outside of flat objects absent is null, as in the files.
    assert_eq!(span["parent_span_id"], serde_json::Value::Null);
    let long = span["attributes"].as_object_mut().unwrap().remove("long").unwrap();
    let long = long.as_str().unwrap();
    assert!(long.len() <= 30_000 && long.ends_with("é…"), "{}", long.len());
    assert_eq!(span["attributes"], serde_json::json!({"x": 1, "list": [1], "objects": "[{\"a\":1}]"}));
}

#[test]
fn an_update_leaves_out_what_others_write() {
    let mut json = Vec::new();
    let cells = [("run_id", text("r")), ("notes", Cell::Null), ("team", text("t")), ("model", Cell::Null)];
    upsert(&mut json, "i", "a\"b", &row(&cells));
    assert_eq!(
        String::from_utf8(json).unwrap(),
        "{\"update\":{\"_index\":\"i\",\"_id\":\"a\\\"b\",\"retry_on_conflict\":3}}\n\
         {\"doc\":{\"run_id\":\"r\",\"team\":\"t\",\"model\":null},\"doc_as_upsert\":true}\n"
    );
}
