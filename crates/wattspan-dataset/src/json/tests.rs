//! Faults of the disk, which no test from outside can bring about.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use wattspan_core::{Cell, DatasetSink, Row, RunId, SinkError, Table};

use proptest::prelude::*;

use super::journal::{Journal, Storage};
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

/// Eight rows of three tables and the metadata, whose keys differ in more than one place.
fn journal(folder: &std::path::Path) -> Vec<u8> {
    let row = |name: &'static str, value: &str| {
        Row(vec![(name.into(), Cell::Text(value.to_owned().into())), ("x".into(), Cell::Text("é\n".into()))])
    };
    let path = folder.join("journal.ndjson");
    let mut journal = Journal::open(&path, &RunId::new("r").unwrap()).unwrap();
    journal.write(Table::Results, &["aaa", "bbb", "ccc"].map(|task| row("task_id", task))).unwrap();
    journal.write(Table::Traces, &["ddd", "eee"].map(|trace| row("trace_id", trace))).unwrap();
    journal.write(Table::Metrics, &["fff", "ggg", "hhh"].map(|time| row("timestamp", time))).unwrap();
    journal.write_metadata(&Cell::Map(vec![("note".into(), Cell::Null)])).unwrap();
    drop(journal);
    std::fs::read(path).unwrap()
}

/// All rows of a journal as lines.
fn rows(journal: &Journal) -> Vec<Vec<u8>> {
    let mut rows = Vec::new();
    for table in Table::ALL {
        let before = rows.len();
        journal
            .each(table, |json| {
                rows.push([b"{\"", table.as_str().as_bytes(), b"\":", json, b"}"].concat());
                Ok(())
            })
            .unwrap();
        assert_eq!(journal.rows(table), (rows.len() - before) as u64);
    }
    if let Some(metadata) = journal.metadata().unwrap() {
        rows.push([b"{\"metadata\":", metadata.as_slice(), b"}"].concat());
    }
    rows
}

#[test]
fn a_journal_cut_at_any_byte_has_all_whole_lines_and_goes_on() {
    let base = tempfile::tempdir().unwrap();
    let whole = journal(base.path());
    let lines: Vec<&[u8]> = whole.split(|byte| *byte == b'\n').collect();
    let run = RunId::new("r").unwrap();
    let path = base.path().join("journal.ndjson");
    let header = lines[0].len() + 1;
    for cut in 0..=whole.len() {
        std::fs::write(&path, &whole[..cut]).unwrap();
        let kept = whole[..cut].split(|byte| *byte == b'\n').count() - 1;
        let expected: Vec<Vec<u8>> = lines[..kept].iter().skip(1).map(|line| line.to_vec()).collect();
        match Journal::recover(&path) {
            Ok(recovered) => assert_eq!(rows(&recovered), expected, "cut at {cut}"),
            Err(error) => {
                assert!(cut < header, "cut at {cut}: {error}");
                assert!(error.to_string().contains("delete the folder"), "{error}");
            }
        }
        // Cut there again, it takes what comes next.
        std::fs::write(&path, &whole[..cut]).unwrap();
        let mut resumed = Journal::open(&path, &run).unwrap();
        assert_eq!(rows(&resumed), expected, "cut at {cut}");
        resumed.write(Table::Leaderboard, &[Row(vec![("run_id".into(), Cell::Text("r".into()))])]).unwrap();
        drop(resumed);
        let found = rows(&Journal::open(&path, &run).unwrap());
        assert_eq!(found.len(), expected.len() + 1, "cut at {cut}");
        assert!(found.contains(&br#"{"leaderboard":{"run_id":"r"}}"#.to_vec()), "cut at {cut}");
    }
}

#[test]
fn a_first_line_of_another_version_or_damaged_never_loses_rows() {
    let base = tempfile::tempdir().unwrap();
    let whole = journal(base.path());
    let path = base.path().join("journal.ndjson");
    let run = RunId::new("r").unwrap();
    let text = String::from_utf8(whole).unwrap();
    let changed = |from: &str, to: &str| {
        let text = text.replacen(from, to, 1);
        std::fs::write(&path, &text).unwrap();
        text
    };
    let before = changed("\"journal\":1", "\"journal\":2");
    for error in [Journal::open(&path, &run).err(), Journal::recover(&path).err()] {
        assert!(error.unwrap().to_string().contains("another version"));
        assert_eq!(std::fs::read_to_string(&path).unwrap(), before);
    }
    let before = changed("\"journal\":1", "\"jour");
    assert_eq!(rows(&Journal::open(&path, &run).unwrap()).len(), 9);
    let error = Journal::recover(&path).err().unwrap().to_string();
    assert!(error.contains("its first line is damaged"), "{error}");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), before);
    // The folder's name tells the run.
    let folder = base.path().join("20260101_000000_named");
    std::fs::create_dir(&folder).unwrap();
    std::fs::rename(&path, folder.join("journal.ndjson")).unwrap();
    assert_eq!(JsonDataset::recover(&folder).unwrap().run.as_str(), "named");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn a_damaged_byte_costs_the_lines_that_it_touches(at in any::<prop::sample::Index>(), byte: u8) {
        let base = tempfile::tempdir().unwrap();
        let mut damaged = journal(base.path());
        let whole = damaged.clone();
        let at = at.index(damaged.len());
        damaged[at] = byte;
        let path = base.path().join("journal.ndjson");
        std::fs::write(&path, &damaged).unwrap();
        let Ok(journal) = Journal::open(&path, &RunId::new("r").unwrap()) else {
            // The first line may say now that it is of another run or version; then nothing is touched.
            prop_assert!(!whole[..at].contains(&b'\n'));
            prop_assert_eq!(std::fs::read(&path).unwrap(), damaged);
            return Ok(());
        };
        let found = rows(&journal);
        let mut start = 0;
        for line in whole.split_inclusive(|byte| *byte == b'\n') {
            let end = start + line.len();
            // A line break that goes joins two lines.
            let is_touched = (start..end).contains(&at) || (at + 1 == start && byte != b'\n');
            if start > 0 && !is_touched {
                let line = line.strip_suffix(b"\n").unwrap().to_vec();
                prop_assert!(found.contains(&line), "{}", String::from_utf8_lossy(&line));
            }
            start = end;
        }
    }
}
