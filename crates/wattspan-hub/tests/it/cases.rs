//! The sink, and the cases of the shared list that are about it.

use std::time::Duration;

use wattspan_core::{Cell, DatasetSink, RunId, SinkError, Table};
use wattspan_dataset::JsonRun;
use wattspan_hub::{Hub, HubSink};
use wattspan_testkit::Answer;

use crate::support::*;

fn block_on<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(work)
}

#[test]
fn case_hub_03_three_hundred_batches_make_four_commits() {
    let (stub, options) = ada();
    let (options, waits) = noting(options);
    // The hourly limit is used up by others.
    stub.fail("POST", "/commit/main", 1, Answer::status(429).header("retry-after", "271"));
    let base = tempfile::tempdir().unwrap();
    let mut sink = HubSink::new(Hub::new(options).unwrap(), base.path());
    let id = RunId::new("long").unwrap();
    now(sink.create(&id)).unwrap();
    for batch in 0..300 {
        let row = wattspan_core::Row(vec![
            ("run_id".into(), Cell::Text("long".into())),
            ("task_id".into(), Cell::Text(format!("case-{batch}").into())),
        ]);
        let mut result = wattspan_dataset::ResultRow::default();
        result.run_id = "long".to_owned();
        result.task_id = Some(format!("case-{batch}"));
        assert_eq!(row.0[1].1, Cell::Text(result.task_id.clone().unwrap().into()));
        now(sink.write(Table::Results, &[wattspan_dataset::TableRow::into_row(result)])).unwrap();
    }
    assert!(stub.requests().is_empty(), "rows wait on disk");
    let place = block_on(sink.finish(&metadata("long"))).unwrap();
    assert!(place.starts_with(&stub.url()) && place.contains("/datasets/ada/wattspan-results-"), "{place}");
    let made: usize = stub.repos().iter().map(|id| commits(&stub, id)).sum();
    assert_eq!(made, 4);
    assert!(waits.lock().unwrap().iter().any(|wait| *wait >= Duration::from_secs(271)));
    assert_eq!(JsonRun::open(sink.folder().unwrap()).results().unwrap().len(), 300);
    assert_eq!(board(&stub)[0].total_tests, 300);
}

#[test]
fn case_hub_03_nothing_is_lost_when_pushing_fails_at_the_end() {
    let (stub, options) = ada();
    stub.fail("POST", "/commit/main", 1, Answer::status(400));
    let base = tempfile::tempdir().unwrap();
    let mut sink = HubSink::new(Hub::new(options).unwrap(), base.path());
    now(sink.create(&RunId::new("r").unwrap())).unwrap();
    write_rows(&mut sink, "r", 2, 1.0);
    let error = block_on(sink.finish(&metadata("r"))).unwrap_err();
    let SinkError::Fatal { remedy, .. } = &error else { panic!("{error:?}") };
    let folder = sink.folder().unwrap().display().to_string();
    assert!(remedy.contains(&format!("wattspan push {folder} --to hub")), "{error}");
    assert_eq!(JsonRun::open(&folder).results().unwrap().len(), 3);
    // The same call goes on.
    block_on(sink.finish(&metadata("r"))).unwrap();
    assert_eq!(board(&stub).len(), 1);
}

#[test]
fn case_hub_05_a_run_without_gpu_data_has_all_four_tables() {
    let (stub, options) = ada();
    let base = tempfile::tempdir().unwrap();
    let pushed = push(options, &run(base.path(), "no-gpu", 0)).unwrap();
    let repo = stub.repo(&pushed.metrics.id).unwrap();
    assert!(repo.files[DATA].starts_with(b"PAR1"));
    let card = String::from_utf8(repo.files["README.md"].clone()).unwrap();
    assert!(card.contains("The table has its columns and no rows: no GPU was found."), "{card}");
    assert!(card.contains("| `gpu_power_watts` | float64 | `W` | yes |"), "{card}");
    let metadata: serde_json::Value = serde_json::from_slice(&repo.files["metadata.json"]).unwrap();
    assert_eq!((&metadata["no_devices"], &metadata["num_metrics"]), (&"no GPU was found".into(), &0.into()));
    assert_eq!(stub.repos().len(), 4);
}

#[test]
fn the_sink_may_be_told_everything_twice() {
    let (stub, options) = ada();
    let base = tempfile::tempdir().unwrap();
    let mut sink = HubSink::new(Hub::new(options).unwrap(), base.path());
    let id = RunId::new("twice").unwrap();
    for _ in 0..2 {
        now(sink.create(&id)).unwrap();
        write_rows(&mut sink, "twice", 2, 1.0);
    }
    let first = block_on(sink.finish(&metadata("twice"))).unwrap();
    let made: Vec<usize> = stub.repos().iter().map(|id| commits(&stub, id)).collect();
    assert_eq!(block_on(sink.finish(&metadata("twice"))).unwrap(), first);
    assert_eq!(made, stub.repos().iter().map(|id| commits(&stub, id)).collect::<Vec<_>>());
    let run = JsonRun::open(sink.folder().unwrap());
    assert_eq!((run.results().unwrap().len(), run.metrics().unwrap().len()), (3, 2));
}
