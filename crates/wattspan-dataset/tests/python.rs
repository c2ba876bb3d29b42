//! Our files as pandas, Hugging Face's `datasets` and SMOLTRACE load them.

mod common;

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use common::{gpu_row, now, run};
use serde_json::{Value, json};
use wattspan_core::{Cell, DatasetSink, Row, Table};
use wattspan_dataset::{
    ColumnType, JsonDataset, LeaderboardFile, LeaderboardRow, ResultRow, SpanRow, TableRow, TraceRow, columns,
};

/// Beyond what a double holds, so that a detour over one is seen.
const LARGE: i64 = 9_007_199_254_740_993;
const UNICODE: &str = "é \u{1d11e}\n\"\\\t日本";

/// Gaps, empty lists, text that JSON escapes, large whole numbers, times, figures with many digits.
fn results() -> [ResultRow; 3] {
    let mut full = ResultRow::default();
    full.run_id = "r".into();
    full.task_id = Some("0001".to_owned());
    full.test_case_uid = Some("tool:0001".to_owned());
    full.prompt = Some(UNICODE.to_owned());
    full.success = Some(true);
    full.tools_used = vec!["a".into(), "b".into()];
    full.steps = Some(LARGE);
    full.execution_time_ms = Some(400.0);
    full.total_tokens = Some(120);
    full.energy_j = Some(0.1 + 0.2);
    full.evaluation_date = Some("2026-01-01T00:00:10.403957Z".parse().unwrap());
    let mut gaps = ResultRow::default();
    gaps.run_id = "r".into();
    gaps.task_id = Some("0002".to_owned());
    gaps.steps = Some(i64::MAX);
    let mut last = full.clone();
    last.task_id = Some("0003".to_owned());
    last.test_case_uid = Some("tool:0003".to_owned());
    last.prompt = Some(String::new());
    last.success = Some(false);
    last.tools_used = vec![];
    last.steps = Some(0);
    last.total_tokens = Some(0);
    last.energy_j = Some(12.5);
    last.evaluation_date = Some("2026-01-01T00:00:11Z".parse().unwrap());
    [full, gaps, last]
}

fn trace() -> TraceRow {
    let mut span = SpanRow::default();
    span.trace_id = "0af7651916cd43dd8448eb2100000001".into();
    span.span_id = "00f067aa00000001".into();
    span.name = "chat é".into();
    span.start_time = 1_767_225_600_020_000_001;
    span.end_time = 1_767_225_600_420_000_001;
    span.attributes.push("test.id", Cell::Text("0001".into()));
    span.attributes.push("gen_ai.usage.input_tokens", Cell::Int(100));
    span.attributes.push("gen_ai.usage.output_tokens", Cell::Int(20));
    let id = span.trace_id.clone();
    TraceRow::from_spans("r", &id, vec![span])
}

fn metrics() -> Vec<Row> {
    let rows = (0..4).map(|index| {
        let mut row = gpu_row("r", index % 2, (index / 2) as u64);
        // The second GPU's power is unknown at first.
        if index == 1 {
            row.gpu_power_watts = None;
            row.power_watts = None;
        }
        row.co2_emissions_gco2e = (index >= 2).then_some(0.25);
        row.into_row()
    });
    rows.collect()
}

fn written(base: &Path, name: &str, with_metrics: bool) -> PathBuf {
    let mut sink = JsonDataset::new(base).parquet(true);
    now(sink.create(&run(name))).unwrap();
    now(sink.write(Table::Results, &results().map(TableRow::into_row))).unwrap();
    now(sink.write(Table::Traces, &[trace().into_row()])).unwrap();
    if with_metrics {
        now(sink.write(Table::Metrics, &metrics())).unwrap();
    }
    now(sink.finish(&Cell::Null)).unwrap().into()
}

/// Runs a script beside this file, offline, its caches in a folder that goes. Answers what it prints.
#[track_caller]
fn python(script: &str, arguments: &[&Path], input: &Value) -> String {
    let caches = tempfile::tempdir().unwrap();
    let mut child = Command::new(wattspan_testkit::peers::python())
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/python").join(script))
        .args(arguments)
        .env("HF_HUB_OFFLINE", "1")
        .env("HF_HOME", caches.path())
        .env("HF_DATASETS_CACHE", caches.path().join("datasets"))
        // No file of bytecode beside the script.
        .env("PYTHONDONTWRITEBYTECODE", "1")
        // Not what the files say, which has its zone.
        .env("TZ", "Asia/Tokyo")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // A script that fails at once does not read: what it says is told below.
    let _ = child.stdin.take().unwrap().write_all(input.to_string().as_bytes());
    let output = child.wait_with_output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(
        output.status.success(),
        "{script}: {} (packages are installed by `cargo xtask setup`)\n{}{}",
        output.status,
        text(&output.stdout),
        text(&output.stderr)
    );
    text(&output.stdout)
}

/// Types of all columns that are no lists and structs, as `datasets` calls them.
fn types(table: Table) -> serde_json::Map<String, Value> {
    let scalar = |kind| match kind {
        ColumnType::Bool => Some("bool"),
        ColumnType::Int => Some("int64"),
        ColumnType::Float => Some("float64"),
        ColumnType::Text => Some("string"),
        ColumnType::Time => Some("timestamp[us, tz=+00:00]"),
        _ => None,
    };
    let columns = columns(table).iter();
    columns
        .filter_map(|column| Some((column.name.to_owned(), json!({"type": scalar(column.kind)?}))))
        .collect()
}

fn names(table: Table) -> Vec<&'static str> {
    columns(table).iter().map(|column| column.name).collect()
}

/// The types of all columns, and more of some.
fn with(table: Table, more: &Value) -> Value {
    let mut all = types(table);
    for (name, more) in more.as_object().unwrap() {
        all.insert(name.clone(), more.clone());
    }
    all.into()
}

#[test]
fn parquet_has_the_same_types_values_and_gaps_everywhere() {
    let base = tempfile::tempdir().unwrap();
    let folder = written(base.path(), "r", true);
    let path = |table: Table| folder.join(format!("{}.parquet", table.as_str()));
    let empty = written(base.path(), "e", false).join("metrics.parquet");
    let utc = "timestamp[us, tz=+00:00]";
    let times = json!(["2026-01-01T00:00:10.403957+00:00", null, "2026-01-01T00:00:11+00:00"]);
    let results = json!({
        "task_id": {"type": "string", "nulls": 0, "values": ["0001", "0002", "0003"]},
        "prompt": {"type": "string", "values": [UNICODE, null, ""]},
        "success": {"type": "bool", "values": [true, null, false]},
        "tools_used": {"type": "list<string>", "values": [["a", "b"], [], []]},
        "steps": {"type": "int64", "values": [LARGE, i64::MAX, 0]},
        "total_tokens": {"type": "int64", "nulls": 1, "values": [120, null, 0]},
        "energy_j": {"type": "float64", "values": [0.1 + 0.2, null, 12.5]},
        "evaluation_date": {"type": utc, "values": times},
        "model": {"type": "string", "nulls": 3},
    });
    let spans = json!([[{
        "trace_id": "0af7651916cd43dd8448eb2100000001",
        "span_id": "00f067aa00000001",
        "parent_span_id": null,
        "name": "chat é",
        "start_time": 1_767_225_600_020_000_001_i64,
        "end_time": 1_767_225_600_420_000_001_i64,
        "duration_ms": 0.0,
        "attributes": r#"{"test.id":"0001","gen_ai.usage.input_tokens":100,"gen_ai.usage.output_tokens":20}"#,
        "events": [],
        "status": {"code": "", "description": null},
        "kind": "",
        "resource": {"attributes": "{}"},
        "total_tokens": 120,
        "tool_output": null,
        "links": [],
        "scope": null,
    }]]);
    let traces = json!({
        "spans": {"type": "list<struct>", "values": spans},
        "test_case_uids": {"type": "list<string>", "values": [[]]},
        "start_time": {"type": utc, "values": ["2026-01-01T00:00:00.020000+00:00"]},
    });
    let metrics = json!({
        "gpu_power_watts": {"type": "float64", "nulls": 1, "values": [300.0, null, 300.0, 300.0]},
        "co2_emissions_gco2e": {"type": "float64", "values": [null, null, 0.25, 0.25]},
        "gpu_id": {"type": "string", "values": ["0", "1", "0", "1"]},
        "timestamp_unix_nano": {"type": "string", "values": [
            "1767225600000000000", "1767225600000000000", "1767225601000000000", "1767225601000000000",
        ]},
        "gpu_temperature_celsius": {"type": "float64", "nulls": 4},
        "device_is_counted": {"type": "bool", "values": [true, true, true, true]},
    });
    let leaderboard = json!({
        "total_tests": {"type": "int64", "values": [3]},
        "success_rate": {"type": "float64", "values": [100.0 / 3.0]},
        "gpus": {"type": "list<struct>"},
        "hardware_detail": {"type": "struct", "nulls": 1},
    });
    let check = |loader: &str, table: Table, rows: u64, columns: &Value| {
        json!({
            "loader": loader, "path": path(table), "rows": rows, "names": names(table), "columns": columns,
        })
    };
    let datasets = |table, rows, more| check("datasets parquet", table, rows, &with(table, more));
    let checks = json!([
        datasets(Table::Results, 3, &results),
        datasets(Table::Traces, 1, &traces),
        datasets(Table::Metrics, 4, &metrics),
        datasets(Table::Leaderboard, 1, &leaderboard),
        {
            "loader": "datasets empty", "path": empty, "rows": 0, "names": names(Table::Metrics),
            "columns": types(Table::Metrics),
        },
        check("pandas parquet", Table::Results, 3, &json!({
            "task_id": {"type": "str", "values": ["0001", "0002", "0003"]},
            "prompt": {"type": "str", "values": [UNICODE, null, ""]},
            "success": {"type": "object", "values": [true, null, false]},
            "steps": {"type": "int64", "values": [LARGE, i64::MAX, 0]},
            // As always in pandas; with its Arrow types, below, it stays what it is.
            "total_tokens": {"type": "float64", "values": [120.0, null, 0.0]},
            "energy_j": {"type": "float64", "values": [0.1 + 0.2, null, 12.5]},
            "evaluation_date": {"type": "datetime64[us, UTC]", "values": times},
        })),
        check("pandas arrow", Table::Results, 3, &json!({
            "success": {"type": "bool[pyarrow]", "values": [true, null, false]},
            "total_tokens": {"type": "int64[pyarrow]", "values": [120, null, 0]},
            "evaluation_date": {"type": "timestamp[us, tz=+00:00][pyarrow]", "values": times},
            "model": {"type": "string[pyarrow]", "nulls": 3},
        })),
        check("pandas arrow", Table::Metrics, 4, &json!({
            "gpu_power_watts": {"type": "double[pyarrow]", "values": [300.0, null, 300.0, 300.0]},
            "timestamp": {"type": "timestamp[us, tz=+00:00][pyarrow]", "nulls": 0},
        })),
        check("pandas parquet", Table::Traces, 1, &json!({"spans": {"type": "object", "values": spans}})),
    ]);
    python("load.py", &[], &checks);
}

#[test]
fn json_has_the_same_values_and_gaps_and_types_as_far_as_readers_guess_them() {
    let base = tempfile::tempdir().unwrap();
    let folder = written(base.path(), "r", true);
    let empty = written(base.path(), "e", false);
    let times = json!(["2026-01-01T00:00:10.403957Z", null, "2026-01-01T00:00:11.000000Z"]);
    let energy = json!([0.1 + 0.2, null, 12.5]);
    let nanos =
        json!(["1767225600000000000", "1767225600000000000", "1767225601000000000", "1767225601000000000",]);
    let checks = json!([
        {"loader": "datasets json", "path": folder.join("results.json"), "rows": 3, "names": names(Table::Results), "columns": {
            "task_id": {"type": "string", "values": ["0001", "0002", "0003"]},
            "prompt": {"type": "string", "values": [UNICODE, null, ""]},
            "success": {"type": "bool", "values": [true, null, false]},
            "tools_used": {"type": "list<string>", "values": [["a", "b"], [], []]},
            "steps": {"type": "int64", "values": [LARGE, i64::MAX, 0]},
            "total_tokens": {"type": "int64", "values": [120, null, 0]},
            "execution_time_ms": {"type": "float64", "values": [400.0, null, 400.0]},
            // It writes lists anew before it reads them, with ten digits behind the point.
            "energy_j": {"type": "float64", "values": energy, "within": 1e-10},
            "evaluation_date": {"type": "string", "values": times},
            // Nothing tells it what an empty column would hold.
            "model": {"type": "null", "nulls": 3},
        }},
        {"loader": "datasets json", "path": folder.join("traces.json"), "rows": 1, "columns": {
            "trace_id": {"type": "string", "values": ["0af7651916cd43dd8448eb2100000001"]},
            "spans": {"type": "list<struct>"},
            "total_tokens": {"type": "int64", "values": [120]},
        }},
        {"loader": "datasets json", "path": folder.join("leaderboard_row.json"), "rows": 1, "columns": {
            "total_tests": {"type": "int64", "values": [3]},
            "success_rate": {"type": "float64", "values": [100.0 / 3.0]},
        }},
        {"loader": "datasets rows", "path": folder.join("metrics.json"), "rows": 4, "names": names(Table::Metrics), "columns": {
            "gpu_power_watts": {"type": "float64", "values": [300.0, null, 300.0, 300.0]},
            "co2_emissions_gco2e": {"type": "float64", "values": [null, null, 0.25, 0.25]},
            "gpu_id": {"type": "string", "values": ["0", "1", "0", "1"]},
            "timestamp_unix_nano": {"type": "string", "values": nanos},
            "gaps": {"type": "int64", "values": [0, 0, 0, 0]},
            "device_is_counted": {"type": "bool"},
        }},
        {"loader": "pandas json", "path": folder.join("results.json"), "rows": 3, "names": names(Table::Results), "columns": {
            "task_id": {"type": "str", "values": ["0001", "0002", "0003"]},
            "prompt": {"type": "str", "values": [UNICODE, null, ""]},
            "success": {"type": "object", "values": [true, null, false]},
            "steps": {"type": "int64", "values": [LARGE, i64::MAX, 0]},
            "total_tokens": {"type": "float64", "values": [120.0, null, 0.0]},
            "energy_j": {"type": "float64", "values": energy},
            "evaluation_date": {"type": "str", "values": times},
        }},
        {"loader": "pandas object", "path": folder.join("leaderboard_row.json"), "rows": 1, "columns": {
            "run_id": {"type": "str", "values": ["r"]},
            "total_tests": {"type": "int64", "values": [3]},
        }},
        {"loader": "pandas rows", "path": folder.join("metrics.json"), "rows": 4, "names": names(Table::Metrics), "columns": {
            "gpu_power_watts": {"type": "float64", "values": [300.0, null, 300.0, 300.0]},
            "timestamp_unix_nano": {"type": "str", "values": nanos},
            "gpu_temperature_celsius": {"type": "object", "nulls": 4},
        }},
        {"loader": "pandas rows", "path": empty.join("metrics.json"), "rows": 0, "columns": {}},
    ]);
    python("load.py", &[], &checks);
}

#[test]
fn smoltrace_reads_our_files_and_a_leaderboard_that_it_writes_can_be_merged() {
    let base = tempfile::tempdir().unwrap();
    let folder = written(base.path(), "r", true);
    let recorded = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/smoltrace/leaderboard_row.json");
    let board = base.path().join("leaderboard.parquet");
    let found: Value =
        serde_json::from_str(&python("smoltrace_reads.py", &[&folder, &recorded, &board], &Value::Null))
            .unwrap();
    assert_eq!(found["results"], json!(["0001", "0002", "0003"]));
    // Of its rows it keeps the last GPU's name and the first one's values; what is missing it takes for 0.
    let flat = found["flat"].as_array().unwrap();
    let pick = |name: &str| flat.iter().map(|row| row[name].clone()).collect::<Vec<_>>();
    assert_eq!(pick("timestamp_unix_nano"), ["1767225600000000000", "1767225601000000000"]);
    assert_eq!(pick("gpu_power_watts"), [300.0, 300.0]);
    assert_eq!(pick("co2_emissions_gco2e"), [0.0, 0.25]);
    assert_eq!((pick("run_id"), pick("service_name")), (vec![json!("r"); 2], vec![json!("demo"); 2]));
    // Three values of power are known, not four.
    assert_eq!(found["gpus"]["power_avg"], 300.0);
    assert_eq!(
        (&found["gpus"]["co2_total"], &found["gpus"]["utilization_avg"]),
        (&json!(0.25), &Value::Null)
    );
    assert_eq!(found["runs"], json!(["golden-run-0001", "r"]));
    assert_eq!(found["rates"], json!([50.0, 100.0 / 3.0]));

    // What it wrote has null columns, text for times, and whole numbers where ours are numbers.
    let mut merged = LeaderboardFile::read(&board).unwrap();
    assert_eq!(merged.run_ids(), ["golden-run-0001", "r"]);
    let theirs = &merged.rows().unwrap()[0];
    let expected: Value = serde_json::from_slice(&std::fs::read(&recorded).unwrap()).unwrap();
    assert_eq!(json!(theirs.model), expected["model"]);
    assert_eq!((theirs.total_tests, theirs.success_rate), (2, Some(50.0)));
    assert_eq!(json!(theirs.total_tokens), expected["total_tokens"]);
    let mut row = LeaderboardRow::default();
    row.run_id = "r".into();
    row.notes = Some(UNICODE.to_owned());
    merged.put([row.into_row()]).unwrap();
    let path = base.path().join("merged.parquet");
    merged.write(&path).unwrap();
    let checks = json!([{
        "loader": "datasets parquet", "path": path, "rows": 2, "names": names(Table::Leaderboard),
        "columns": with(Table::Leaderboard, &json!({
            "run_id": {"type": "string", "values": ["golden-run-0001", "r"]},
            "notes": {"type": "string", "values": [expected["notes"], UNICODE]},
            "success_rate": {"type": "float64", "values": [50.0, null]},
            "model": {"type": "string", "values": [expected["model"], null]},
        })),
    }]);
    python("load.py", &[], &checks);
}
