//! A finished run into another sink.

mod common;

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, UNIX_EPOCH};

use async_trait::async_trait;
use common::{gpu_row, json, now, run};
use wattspan_core::{Cell, DatasetSink, Row, RunId, SinkError, Table};
use wattspan_dataset::{
    JsonDataset, JsonRun, Metadata, ReadError, Replay, ReplayError, ResultRow, SpanRow, TableRow, TraceRow,
};

/// Notes down what it is told.
#[derive(Default)]
struct Notes {
    calls: Vec<String>,
    rows: Vec<(Table, Row)>,
    metadata: Option<Cell>,
    refuse: Option<Table>,
}

#[async_trait]
impl DatasetSink for Notes {
    async fn create(&mut self, run: &RunId) -> Result<(), SinkError> {
        self.calls.push(format!("create {run}"));
        Ok(())
    }

    async fn write(&mut self, table: Table, rows: &[Row]) -> Result<(), SinkError> {
        self.calls.push(format!("{} {}", table.as_str(), rows.len()));
        self.rows.extend(rows.iter().map(|row| (table, row.clone())));
        if self.refuse == Some(table) {
            let (reason, kept_in) = ("no".to_owned(), "a file".to_owned());
            return Err(SinkError::Refused { sink: "notes", rows: 1, reason, kept_in });
        }
        Ok(())
    }

    async fn finish(&mut self, metadata: &Cell) -> Result<String, SinkError> {
        self.calls.push("finish".to_owned());
        self.metadata = Some(metadata.clone());
        Ok("there".to_owned())
    }
}

/// Two results (one with a column of somebody else's), one trace, five metric rows.
fn finished(base: &std::path::Path) -> PathBuf {
    let mut sink = JsonDataset::new(base).begun(UNIX_EPOCH + Duration::from_secs(1_767_225_600));
    now(sink.create(&run("r"))).unwrap();
    let mut first = ResultRow::default();
    first.task_id = Some("a\"é\n".into());
    first.execution_time_ms = Some(3.0);
    first.steps = Some(i64::MAX);
    let mut second = first.clone().into_row();
    second.0[2].1 = Cell::Text("b".into());
    second.0.push(("x.y".into(), Cell::List(vec![Cell::Map(vec![("z".into(), Cell::Float(1.0))])])));
    now(sink.write(Table::Results, &[first.into_row(), second])).unwrap();
    let mut span = SpanRow::default();
    span.trace_id = "t".into();
    span.start_time = 1_767_225_600_020_000_001;
    span.attributes.push("a.b", Cell::Int(1));
    now(sink.write(Table::Traces, &[TraceRow::from_spans("r", "t", vec![span]).into_row()])).unwrap();
    let metrics: Vec<Row> = (0..5).map(|second| gpu_row("r", 0, second).into_row()).collect();
    now(sink.write(Table::Metrics, &metrics)).unwrap();
    let mut metadata = Metadata::default();
    metadata.model = Some("m".to_owned());
    now(sink.finish(&metadata.into_cell())).unwrap().into()
}

#[test]
fn everything_arrives_in_order_and_in_batches() {
    let base = tempfile::tempdir().unwrap();
    let run = JsonRun::open(finished(base.path()));
    let (mut notes, mut seen) = (Notes::default(), Vec::new());
    let replay = Replay::new(&run).rows(2).progress(|table, rows| seen.push((table, rows)));
    let replayed = now(replay.write_into(&mut notes)).unwrap();
    assert_eq!(
        (replayed.place.as_str(), replayed.results, replayed.traces, replayed.metrics),
        ("there", 2, 1, 5)
    );
    let expected = [
        "create r",
        "results 2",
        "traces 1",
        "metrics 2",
        "metrics 2",
        "metrics 1",
        "leaderboard 1",
        "finish",
    ];
    assert_eq!(notes.calls, expected);
    let of_metrics: Vec<u64> =
        seen.iter().filter(|(table, _)| *table == Table::Metrics).map(|(_, rows)| *rows).collect();
    assert_eq!(of_metrics, [2, 4, 5]);
    let Some(Cell::Map(metadata)) = notes.metadata else { panic!("no metadata") };
    assert!(metadata.contains(&("model".into(), Cell::Text("m".into()))));
    // Cells are what they were: whole numbers and numbers apart, foreign columns kept.
    let (_, second) = &notes.rows[1];
    let cell = |name: &str| second.0.iter().find(|(known, _)| known == name).map(|(_, cell)| cell.clone());
    assert_eq!(cell("task_id"), Some(Cell::Text("b".into())));
    assert_eq!(
        (cell("execution_time_ms"), cell("steps")),
        (Some(Cell::Float(3.0)), Some(Cell::Int(i64::MAX)))
    );
    assert_eq!(cell("x.y"), Some(Cell::List(vec![Cell::Map(vec![("z".into(), Cell::Float(1.0))])])));
}

#[test]
fn batches_are_bounded_by_bytes_and_a_large_row_goes_alone() {
    let base = tempfile::tempdir().unwrap();
    let run = JsonRun::open(finished(base.path()));
    let mut notes = Notes::default();
    now(Replay::new(&run).bytes(1).write_into(&mut notes)).unwrap();
    assert_eq!(notes.calls.iter().filter(|call| *call == "metrics 1").count(), 5);
    let row = json(run.folder().join("metrics.json"))["rows"][0].to_string().len();
    let mut notes = Notes::default();
    now(Replay::new(&run).bytes(row * 5 / 2).write_into(&mut notes)).unwrap();
    assert_eq!(notes.calls[3..6], ["metrics 2", "metrics 2", "metrics 1"]);
}

#[test]
fn a_copy_has_the_same_bytes() {
    let base = tempfile::tempdir().unwrap();
    let folder = finished(base.path());
    let run = JsonRun::open(&folder);
    let mut copy =
        JsonDataset::new(base.path().join("copy")).begun(UNIX_EPOCH + Duration::from_secs(1_767_225_600));
    let place = PathBuf::from(now(Replay::new(&run).write_into(&mut copy)).unwrap().place);
    for name in ["results.json", "traces.json", "metrics.json", "leaderboard_row.json", "metadata.json"] {
        assert_eq!(
            fs::read_to_string(place.join(name)).unwrap(),
            fs::read_to_string(folder.join(name)).unwrap(),
            "{name}"
        );
    }
}

#[test]
fn files_that_another_program_laid_out_differently_are_read() {
    let base = tempfile::tempdir().unwrap();
    let folder = finished(base.path());
    let run = JsonRun::open(&folder);
    // As values, since names come sorted out of that program.
    let value = |row: Result<Row, ReadError>| serde_json::to_value(row.unwrap()).unwrap();
    let rows = |table| run.rows(table).unwrap().map(value).collect::<Vec<_>>();
    let before = Table::ALL.map(rows);
    for name in ["results.json", "traces.json", "metrics.json", "leaderboard_row.json"] {
        let pretty = serde_json::to_string_pretty(&json(folder.join(name))).unwrap();
        fs::write(folder.join(name), pretty).unwrap();
    }
    assert_eq!(Table::ALL.map(rows), before);
}

#[test]
fn refused_rows_do_not_end_a_replay_and_are_told_at_its_end() {
    let base = tempfile::tempdir().unwrap();
    let run = JsonRun::open(finished(base.path()));
    let mut notes = Notes { refuse: Some(Table::Traces), ..Notes::default() };
    let error = now(Replay::new(&run).write_into(&mut notes)).unwrap_err();
    assert!(matches!(error, ReplayError::Sink(SinkError::Refused { rows: 1, .. })), "{error}");
    assert_eq!(notes.calls.last().map(String::as_str), Some("finish"));
    assert_eq!(notes.rows.len(), 9);
}

#[test]
fn what_is_not_finished_or_does_not_belong_together_is_refused() {
    let base = tempfile::tempdir().unwrap();
    let folder = finished(base.path());
    let run = JsonRun::open(&folder);
    let error = || now(Replay::new(&run).write_into(&mut Notes::default())).unwrap_err();
    let original = fs::read_to_string(folder.join("traces.json")).unwrap();
    fs::write(folder.join("traces.json"), "[]").unwrap();
    assert!(error().to_string().contains("tells of 1 traces, the table has 0"), "{}", error());
    fs::write(folder.join("traces.json"), &original[..original.len() - 20]).unwrap();
    assert!(error().to_string().contains("traces.json is not a table of a run: "), "{}", error());
    fs::write(folder.join("traces.json"), "[{]}]").unwrap();
    assert!(matches!(error(), ReplayError::Read(ReadError::Format { .. })), "{}", error());
    fs::write(folder.join("traces.json"), "[7]").unwrap();
    assert!(error().to_string().contains("a row is not an object"), "{}", error());
    fs::write(folder.join("journal.ndjson"), "").unwrap();
    assert!(matches!(error(), ReplayError::Read(ReadError::Unfinished { .. })), "{}", error());
    let none = JsonRun::open(base.path());
    let error = now(Replay::new(&none).write_into(&mut Notes::default())).unwrap_err();
    assert!(matches!(error, ReplayError::Read(ReadError::Missing { .. })), "{error}");
}

#[test]
fn a_run_keeps_its_id_and_time_when_its_folder_is_renamed() {
    let base = tempfile::tempdir().unwrap();
    let folder = finished(base.path());
    let told = |folder: &PathBuf| {
        let run = JsonRun::open(folder);
        (run.run_id().unwrap().to_string(), run.stamp().unwrap())
    };
    let expected = ("r".to_owned(), "20260101_000000".to_owned());
    assert_eq!(told(&folder), expected);
    let renamed = base.path().join("best of all");
    fs::rename(&folder, &renamed).unwrap();
    assert_eq!(told(&renamed), expected);
    // Of somebody else's: from what there is.
    fs::write(renamed.join("metadata.json"), r#"{"timestamp":"2026-02-03T04:05:06.7Z","run_id":"r"}"#)
        .unwrap();
    assert_eq!(told(&renamed).1, "20260203_040506");
    let text = r#"{"started":"2026-02-03T04:00:00Z","timestamp":"2026-02-03T04:05:06.7Z","run_id":"r"}"#;
    fs::write(renamed.join("metadata.json"), text).unwrap();
    assert_eq!(told(&renamed).1, "20260203_040000");
    fs::write(renamed.join("metadata.json"), "{}").unwrap();
    let error = JsonRun::open(&renamed).stamp().unwrap_err().to_string();
    assert!(error.contains("nothing tells when it ran"), "{error}");
    let error = JsonRun::open(&renamed).run_id().unwrap_err().to_string();
    assert!(error.contains("nothing tells which run it is"), "{error}");
    let named = base.path().join("20260101_000000_r");
    fs::rename(&renamed, &named).unwrap();
    assert_eq!(told(&named), expected);
}
