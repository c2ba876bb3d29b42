//! Faults of the disk, which no test from outside can bring about.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use wattspan_core::{Cell, DatasetSink, Row, RunId, SinkError, Table};

use super::journal::Storage;
use super::{JsonDataset, JsonRun};
use crate::{ResultRow, TableRow};

/// A disk with so many bytes left. What does not fit is written in part, as a real one does.
struct FullDisk {
    disk: Box<dyn Storage>,
    left: Arc<AtomicU64>,
}

impl Storage for FullDisk {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        let left = self.left.load(Ordering::SeqCst);
        let fits = left.min(bytes.len() as u64);
        self.left.fetch_sub(fits, Ordering::SeqCst);
        self.disk.append(&bytes[..fits as usize])?;
        if fits < bytes.len() as u64 { Err(io::ErrorKind::StorageFull.into()) } else { Ok(()) }
    }

    fn truncate(&mut self, length: u64) -> io::Result<()> {
        self.disk.truncate(length)
    }

    fn sync(&self) -> io::Result<()> {
        self.disk.sync()
    }
}

fn row(task: usize) -> Row {
    ResultRow {
        run_id: "r".into(),
        task_id: Some(task.to_string()),
        success: Some(true),
        ..ResultRow::default()
    }
    .into_row()
}

/// The sink never waits, so its futures are done when they are asked.
fn now<T>(future: impl Future<Output = T>) -> T {
    futures_util::FutureExt::now_or_never(future).expect("files are written without waiting")
}

#[test]
fn a_full_disk_loses_nothing_and_the_same_call_succeeds_later() {
    let base = tempfile::tempdir().unwrap();
    let mut sink = JsonDataset::new(base.path());
    now(sink.create(&RunId::new("r").unwrap())).unwrap();
    now(sink.write(Table::Results, &[row(0)])).unwrap();
    let left = Arc::new(AtomicU64::new(0));
    let shared = Arc::clone(&left);
    sink.journal().replace_storage(|disk| Box::new(FullDisk { disk, left: shared }));
    let rows: Vec<Row> = (1..600).map(row).collect();
    // Wherever in a line the disk fills up, half-written lines are cut off again.
    for free in [0, 1, 700, 300_000] {
        left.store(free, Ordering::SeqCst);
        let error = now(sink.write(Table::Results, &rows)).unwrap_err();
        assert!(matches!(error, SinkError::Retry { .. }), "{error:?}");
        assert!(error.to_string().contains("free some space"), "{error}");
        let kept = sink.results().unwrap().len();
        assert!((1..600).contains(&kept), "{kept}");
    }
    left.store(u64::MAX, Ordering::SeqCst);
    now(sink.write(Table::Results, &rows)).unwrap();
    let place = now(sink.finish(&Cell::Null)).unwrap();
    let results = JsonRun::open(place).results().unwrap();
    let tasks: Vec<String> = results.into_iter().filter_map(|row| row.task_id).collect();
    assert_eq!(tasks, (0..600).map(|task| task.to_string()).collect::<Vec<_>>());
}

#[test]
fn a_metric_row_that_was_not_written_is_not_taken_for_a_repetition() {
    let base = tempfile::tempdir().unwrap();
    let mut sink = JsonDataset::new(base.path());
    now(sink.create(&RunId::new("r").unwrap())).unwrap();
    let left = Arc::new(AtomicU64::new(3));
    let shared = Arc::clone(&left);
    sink.journal().replace_storage(|disk| Box::new(FullDisk { disk, left: shared }));
    let rows = [crate::MetricRow::default().into_row()];
    now(sink.write(Table::Metrics, &rows)).unwrap_err();
    left.store(u64::MAX, Ordering::SeqCst);
    now(sink.write(Table::Metrics, &rows)).unwrap();
    now(sink.write(Table::Metrics, &rows)).unwrap();
    let place = now(sink.finish(&Cell::Null)).unwrap();
    assert_eq!(JsonRun::open(place).metrics().unwrap().len(), 1);
}
