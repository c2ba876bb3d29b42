//! The JSON sink, as a stranger uses it.

mod common;

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, UNIX_EPOCH};

use common::{gpu_row, json, now, run};
use wattspan_core::{Cell, DatasetSink, Row, SinkError, Table};
use wattspan_dataset::{JsonDataset, JsonRun, LeaderboardRow, Metadata, ResultRow, TableRow, TraceRow};
use wattspan_testkit::conformance;

fn result(task: &str, success: bool) -> ResultRow {
    let mut row = ResultRow::default();
    row.run_id = "r".into();
    row.task_id = Some(task.to_owned());
    row.test_case_uid = Some(format!("none:{task}"));
    row.attempt = Some(1);
    row.success = Some(success);
    row
}

fn trace(id: &str) -> Row {
    let mut row = TraceRow::default();
    row.trace_id = id.into();
    row.into_row()
}

fn opened(base: &std::path::Path) -> JsonDataset {
    let mut sink = JsonDataset::new(base).begun(UNIX_EPOCH + Duration::from_secs(1_767_225_600));
    now(sink.create(&run("r"))).unwrap();
    sink
}

fn names(folder: &std::path::Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

const FILES: [&str; 5] =
    ["leaderboard_row.json", "metadata.json", "metrics.json", "results.json", "traces.json"];

#[test]
fn a_dataset_fulfils_its_duties_and_stores_once() {
    let base = tempfile::tempdir().unwrap();
    let mut sink = JsonDataset::new(base.path());
    let place = now(conformance::dataset_sink(&mut sink, &run("conformance-1")));
    let folder = PathBuf::from(place);
    assert_eq!(names(&folder), FILES);
    let index = |value: &serde_json::Value| {
        value.as_array().unwrap().iter().map(|row| row["index"].as_i64().unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(index(&json(folder.join("results.json"))), [0, 1, 2]);
    assert_eq!(index(&json(folder.join("traces.json"))), [0, 1, 2]);
    assert_eq!(index(&json(folder.join("metrics.json"))["rows"]), [0, 1, 2]);
    // One row per run: the latest.
    assert_eq!(json(folder.join("leaderboard_row.json"))["index"], 2);
    assert_eq!(json(folder.join("metadata.json"))["note"], serde_json::Value::Null);
    assert_eq!(json(folder.join("results.json"))[0]["map"]["é"], "\"\n");
}

#[test]
fn case_hub_05_a_run_without_devices_has_all_tables_and_says_why() {
    let base = tempfile::tempdir().unwrap();
    let mut sink = opened(base.path());
    let results: Vec<Row> = ["a", "b", "c"].map(|task| result(task, true).into_row()).into();
    now(sink.write(Table::Results, &results)).unwrap();
    now(sink.write(Table::Traces, &["1", "2", "3"].map(trace))).unwrap();
    now(sink.write(Table::Metrics, &[])).unwrap();
    let mut metadata = Metadata::default();
    metadata.no_devices = Some("no device with a power sensor was found".to_owned());
    let folder = PathBuf::from(now(sink.finish(&metadata.into_cell())).unwrap());
    assert_eq!(folder.file_name().unwrap(), "20260101_000000_r");
    assert_eq!(names(&folder), FILES);
    let metrics = json(folder.join("metrics.json"));
    assert_eq!(metrics["rows"], serde_json::json!([]));
    assert_eq!(metrics["resourceMetrics"], serde_json::json!([]));
    let metadata = json(folder.join("metadata.json"));
    assert_eq!(metadata["no_devices"], "no device with a power sensor was found");
    let numbers = ["num_results", "num_traces", "num_metrics"].map(|name| metadata[name].as_u64());
    assert_eq!(numbers, [Some(3), Some(3), Some(0)]);
    // The empty table has its schema: the peer's thirteen columns first.
    let columns = metadata["tables"]["metrics"]["columns"].as_array().unwrap();
    let first: Vec<&str> = columns.iter().take(13).map(|column| column["name"].as_str().unwrap()).collect();
    assert_eq!(
        first,
        [
            "run_id",
            "service_name",
            "timestamp",
            "timestamp_unix_nano",
            "gpu_id",
            "gpu_name",
            "co2_emissions_gco2e",
            "power_cost_usd",
            "gpu_utilization_percent",
            "gpu_memory_used_mib",
            "gpu_memory_total_mib",
            "gpu_temperature_celsius",
            "gpu_power_watts",
        ]
    );
    // Unknown is absent, where the peer writes 0.
    let leaderboard = JsonRun::open(folder).leaderboard().unwrap();
    assert_eq!((leaderboard.co2_emissions_g, leaderboard.power_cost_total_usd), (None, None));
    assert_eq!(leaderboard.success_rate, Some(100.0));
}

#[test]
fn case_cli_06_seventy_two_devices_are_seventy_two_rows() {
    let base = tempfile::tempdir().unwrap();
    let mut sink = opened(base.path());
    let rows = |count: usize, second| {
        (0..count).map(|index| gpu_row("r", index, second).into_row()).collect::<Vec<_>>()
    };
    now(sink.write(Table::Metrics, &rows(72, 0))).unwrap();
    // One has vanished by the next moment.
    now(sink.write(Table::Metrics, &rows(71, 1))).unwrap();
    let folder = now(sink.finish(&Cell::Null)).unwrap();
    let read = JsonRun::open(&folder).metrics().unwrap();
    let of_first: Vec<_> =
        read.iter().filter(|row| row.timestamp_unix_nano == "1767225600000000000").collect();
    let ids: std::collections::BTreeSet<&str> = of_first.iter().map(|row| row.device_id.as_str()).collect();
    assert_eq!((of_first.len(), ids.len(), read.len()), (72, 72, 143));
    assert_eq!(of_first.iter().filter_map(|row| row.power_watts).sum::<f64>(), 72.0 * 300.0);
    let leaderboard = JsonRun::open(&folder).leaderboard().unwrap();
    assert_eq!(leaderboard.gpu_power_max_w, Some(72.0 * 300.0));
    // The nested form has a point for each GPU, too.
    let metrics = json(PathBuf::from(folder).join("metrics.json"));
    let moments = metrics["resourceMetrics"].as_array().unwrap();
    let points = |moment: &serde_json::Value| {
        moment["scopeMetrics"][0]["metrics"][0]["gauge"]["dataPoints"].as_array().unwrap().len()
    };
    assert_eq!(moments.iter().map(points).collect::<Vec<_>>(), [72, 71]);
}

#[test]
fn two_attempts_of_a_case_are_two_rows_and_a_repetition_replaces() {
    let base = tempfile::tempdir().unwrap();
    let mut sink = opened(base.path());
    let mut second = result("a", true);
    second.attempt = Some(2);
    let rows = [result("a", false).into_row(), second.into_row(), result("a", true).into_row()];
    now(sink.write(Table::Results, &rows)).unwrap();
    let read = JsonRun::open(now(sink.finish(&Cell::Null)).unwrap()).results().unwrap();
    let found: Vec<_> = read.iter().map(|row| (row.attempt, row.success)).collect();
    assert_eq!(found, [(Some(1), Some(true)), (Some(2), Some(true))]);
}

#[test]
fn the_same_run_written_again_replaces_and_the_old_files_stand_until_then() {
    let base = tempfile::tempdir().unwrap();
    let mut sink = opened(base.path());
    now(sink.write(Table::Results, &[result("old", true).into_row()])).unwrap();
    let first = now(sink.finish(&Cell::Null)).unwrap();
    let mut again = JsonDataset::new(base.path());
    now(again.create(&run("r"))).unwrap();
    now(again.write(Table::Results, &[result("new", true).into_row()])).unwrap();
    let task = || JsonRun::open(&first).results().unwrap()[0].task_id.clone().unwrap();
    assert_eq!(task(), "old");
    assert_eq!(now(again.finish(&Cell::Null)).unwrap(), first);
    assert_eq!(task(), "new");
    assert_eq!(names(base.path()), ["20260101_000000_r"]);
    // Another run whose id ends the same is not this one.
    now(again.create(&run("x_r"))).unwrap();
    assert_eq!(names(base.path()).len(), 2);
}

#[test]
fn a_crashed_run_goes_on_where_it_was() {
    let base = tempfile::tempdir().unwrap();
    let mut sink = opened(base.path());
    now(sink.write(Table::Results, &[result("a", true).into_row()])).unwrap();
    let folder = sink.folder().unwrap().to_owned();
    drop(sink);
    let mut resumed = JsonDataset::new(base.path());
    now(resumed.create(&run("r"))).unwrap();
    let done: Vec<_> = resumed.results().unwrap().into_iter().filter_map(|row| row.task_id).collect();
    assert_eq!(done, ["a"]);
    now(resumed.write(Table::Results, &[result("b", true).into_row()])).unwrap();
    assert_eq!(now(resumed.finish(&Cell::Null)).unwrap(), folder.display().to_string());
    let tasks: Vec<_> =
        JsonRun::open(&folder).results().unwrap().into_iter().filter_map(|row| row.task_id).collect();
    assert_eq!(tasks, ["a", "b"]);
    assert_eq!(names(&folder), FILES);
}

#[test]
fn a_crashed_run_is_recovered_from_its_journal_wherever_it_was_cut() {
    let base = tempfile::tempdir().unwrap();
    let mut sink = opened(base.path());
    let rows: Vec<Row> = ["a", "b"].map(|task| result(task, task == "a").into_row()).into();
    now(sink.write(Table::Results, &rows)).unwrap();
    now(sink.write(Table::Traces, &[trace("t")])).unwrap();
    now(sink.write(Table::Metrics, &[gpu_row("r", 0, 0).into_row()])).unwrap();
    let folder = sink.folder().unwrap().to_owned();
    drop(sink);
    let journal = fs::read(folder.join("journal.ndjson")).unwrap();
    let ends: Vec<usize> =
        journal.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(index, _)| index + 1).collect();
    assert_eq!(ends.len(), 5);
    // At line ends, and around them, and in the middle of lines.
    let cuts =
        ends.iter().flat_map(|end| [end.saturating_sub(40), end - 1, *end]).filter(|cut| *cut >= ends[0]);
    for cut in cuts {
        let copy = tempfile::tempdir().unwrap();
        fs::write(copy.path().join("journal.ndjson"), &journal[..cut]).unwrap();
        let whole_lines = ends.iter().filter(|end| **end <= cut).count() as u64 - 1;
        let recovered = JsonDataset::recover(copy.path()).unwrap();
        assert_eq!(recovered.results + recovered.traces + recovered.metrics, whole_lines, "cut at {cut}");
        let read = JsonRun::open(copy.path());
        let leaderboard = read.leaderboard().unwrap();
        assert_eq!(leaderboard.run_status.as_deref(), Some("recovered"));
        assert_eq!(leaderboard.total_tests, recovered.results);
        assert_eq!(read.results().unwrap().len() as u64, recovered.results);
        assert_eq!(names(copy.path()), FILES);
    }
    // Cut inside its first line it holds nothing, and the message says what to do.
    let copy = tempfile::tempdir().unwrap();
    fs::write(copy.path().join("journal.ndjson"), &journal[..ends[0] - 3]).unwrap();
    let error = JsonDataset::recover(copy.path()).unwrap_err().to_string();
    assert!(error.contains("delete the folder"), "{error}");
}

#[test]
fn a_damaged_line_costs_itself_only() {
    let base = tempfile::tempdir().unwrap();
    let mut sink = opened(base.path());
    now(sink.write(Table::Metrics, &[gpu_row("r", 0, 0).into_row(), gpu_row("r", 0, 1).into_row()])).unwrap();
    now(sink.write(Table::Results, &[result("a", true).into_row()])).unwrap();
    let folder = sink.folder().unwrap().to_owned();
    drop(sink);
    let path = folder.join("journal.ndjson");
    let text =
        fs::read_to_string(&path).unwrap().replacen("\"service_name\":\"demo\"", "\"service_name\":\"de", 1);
    fs::write(&path, text).unwrap();
    let recovered = JsonDataset::recover(&folder).unwrap();
    assert_eq!((recovered.results, recovered.metrics), (1, 1));
    assert_eq!(JsonRun::open(&folder).metrics().unwrap().len(), 1);
}

#[test]
fn a_finish_that_fails_half_way_can_be_made_again() {
    let base = tempfile::tempdir().unwrap();
    let mut sink = opened(base.path());
    now(sink.write(Table::Results, &[result("a", true).into_row()])).unwrap();
    let folder = sink.folder().unwrap().to_owned();
    // A folder with something in it cannot be replaced by a file.
    fs::create_dir_all(folder.join("metrics.json").join("x")).unwrap();
    let error = now(sink.finish(&Cell::Null)).unwrap_err();
    assert!(error.to_string().contains("metrics.json"), "{error}");
    assert!(folder.join("journal.ndjson").exists());
    assert!(!names(&folder).iter().any(|name| name.starts_with('.')), "{:?}", names(&folder));
    fs::remove_dir_all(folder.join("metrics.json")).unwrap();
    now(sink.finish(&Cell::Null)).unwrap();
    assert_eq!(names(&folder), FILES);
    // And again, which changes nothing.
    assert_eq!(now(sink.finish(&Cell::Null)).unwrap(), folder.display().to_string());
    assert_eq!(JsonDataset::recover(&folder).unwrap().results, 1);
}

#[test]
fn two_programs_cannot_write_one_run() {
    let base = tempfile::tempdir().unwrap();
    let _first = opened(base.path());
    let error = now(JsonDataset::new(base.path()).create(&run("r"))).unwrap_err().to_string();
    assert!(error.contains("being written by another program"), "{error}");
}

#[test]
fn what_cannot_be_written_is_told_with_path_and_remedy() {
    let base = tempfile::tempdir().unwrap();
    let file = base.path().join("file");
    fs::write(&file, "").unwrap();
    let error = now(JsonDataset::new(file.join("runs")).create(&run("r"))).unwrap_err();
    assert!(matches!(error, SinkError::Fatal { .. }));
    let text = error.to_string();
    assert!(text.contains("file/runs") && text.contains("choose an output folder"), "{text}");
    let mut sink = JsonDataset::new(base.path());
    for error in
        [now(sink.write(Table::Results, &[])).unwrap_err(), now(sink.finish(&Cell::Null)).unwrap_err()]
    {
        assert!(error.to_string().contains("call `create` first"), "{error}");
    }
    let error = JsonDataset::recover(base.path()).unwrap_err().to_string();
    assert!(error.contains("neither a journal nor a whole run"), "{error}");
    assert!(
        JsonRun::open(base.path()).results().unwrap_err().to_string().contains("results.json is not there")
    );
}

#[test]
fn the_nested_series_can_be_left_out() {
    let base = tempfile::tempdir().unwrap();
    let mut sink = JsonDataset::new(base.path()).peer_series(false);
    now(sink.create(&run("r"))).unwrap();
    now(sink.write(Table::Metrics, &[gpu_row("r", 0, 0).into_row()])).unwrap();
    let mut row = LeaderboardRow::default();
    row.run_id = "r".into();
    row.notes = Some("given".to_owned());
    now(sink.write(Table::Leaderboard, &[row.into_row()])).unwrap();
    let folder = now(sink.finish(&Cell::Null)).unwrap();
    let metrics = json(PathBuf::from(&folder).join("metrics.json"));
    assert_eq!(
        (metrics["rows"].as_array().unwrap().len(), metrics["resourceMetrics"].as_array().unwrap().len()),
        (1, 0)
    );
    assert_eq!(JsonRun::open(&folder).leaderboard().unwrap().notes.as_deref(), Some("given"));
}
