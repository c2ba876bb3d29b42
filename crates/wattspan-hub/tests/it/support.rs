//! Runs, a Hub, and what both have afterwards.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use futures_util::FutureExt as _;
use wattspan_core::{Cell, DatasetSink, RunId, Table};
use wattspan_dataset::{
    JsonDataset, LeaderboardFile, LeaderboardRow, MetricRow, ResultRow, SpanRow, TableRow, TraceRow,
};
use wattspan_hub::{Hub, HubOptions, Progress, PushError, Pushed, Token, Visibility};
use wattspan_testkit::hub_stub::HubStub;

pub(crate) const DATA: &str = "data/train-00000-of-00001.parquet";
/// Nobody may see any part of it.
pub(crate) const TOKEN: &str = "tok-EXAMPLE-0123456789";
/// 2026-12-01T21:46:38Z, from `date -u -d @…`.
pub(crate) const BEGUN: u64 = 1_796_161_598;

/// Files are written without waiting.
pub(crate) fn now<T>(work: impl Future<Output = T>) -> T {
    work.now_or_never().expect("nothing to wait for")
}

/// A finished run of three results, two traces and so many metric rows.
pub(crate) fn run(base: &Path, id: &str, metrics: usize) -> PathBuf {
    run_with(base, id, metrics, 12.5)
}

pub(crate) fn run_with(base: &Path, id: &str, metrics: usize, energy: f64) -> PathBuf {
    let mut sink = JsonDataset::new(base).begun(SystemTime::UNIX_EPOCH + Duration::from_secs(BEGUN));
    now(sink.create(&RunId::new(id).unwrap())).unwrap();
    write_rows(&mut sink, id, metrics, energy);
    PathBuf::from(now(sink.finish(&metadata(id))).unwrap())
}

pub(crate) fn write_rows(sink: &mut impl DatasetSink, id: &str, metrics: usize, energy: f64) {
    let results = (0..3).map(|number| {
        let mut row = ResultRow::default();
        row.run_id = id.into();
        row.task_id = Some(format!("case-{number}"));
        row.model = Some("smollm2".to_owned());
        row.success = Some(number < 2);
        row.evaluation_date = Some("2026-12-01T21:46:39.403957Z".parse().unwrap());
        row.total_tokens = (number != 1).then_some(10 + number);
        row.energy_j = (number != 2).then_some(energy);
        row.tools_used = vec!["clock".to_owned(); usize::try_from(number).unwrap()];
        row.into_row()
    });
    let results: Vec<_> = results.collect();
    now(sink.write(Table::Results, &results)).unwrap();
    for number in 1..=2 {
        let trace = format!("{number:032x}");
        let mut span = SpanRow::default();
        span.trace_id.clone_from(&trace);
        span.span_id = format!("{number:016x}");
        span.name = "chat smollm2".into();
        span.attributes.push("gen_ai.request.model", Cell::Text("smollm2".into()));
        let row = TraceRow::from_spans(id, &trace, vec![span]).into_row();
        now(sink.write(Table::Traces, &[row])).unwrap();
    }
    let rows: Vec<_> = (0..metrics).map(|number| metric(id, number).into_row()).collect();
    now(sink.write(Table::Metrics, &rows)).unwrap();
}

fn metric(id: &str, number: usize) -> MetricRow {
    let second = BEGUN + number as u64;
    let mut row = MetricRow::default();
    row.run_id = id.into();
    row.timestamp = (SystemTime::UNIX_EPOCH + Duration::from_secs(second)).into();
    row.timestamp_unix_nano = format!("{second}000000000");
    row.device_id = "GPU-0".into();
    row.device_kind = "gpu".into();
    row.gpu_id = Some("0".to_owned());
    row.device_is_counted = true;
    row.gpu_power_watts = number.is_multiple_of(2).then_some(300.5);
    row
}

pub(crate) fn metadata(id: &str) -> Cell {
    Cell::Map(vec![
        ("run_id".into(), Cell::Text(id.to_owned().into())),
        ("model".into(), Cell::Text("smollm2".into())),
        ("no_devices".into(), Cell::Text("no GPU was found".into())),
    ])
}

/// A Hub where Ada may write, and options for her. Nothing in them waits.
pub(crate) fn ada() -> (HubStub, HubOptions) {
    let stub = HubStub::start();
    stub.add_token(TOKEN, "ada", "write");
    let options = HubOptions::default()
        .endpoint(stub.url())
        .token(Token::new(TOKEN, "--token"))
        .visibility(Visibility::Private)
        .wait_with(|_| {});
    (stub, options)
}

/// Options that note how long they were to wait, and do not.
pub(crate) fn noting(options: HubOptions) -> (HubOptions, Arc<Mutex<Vec<Duration>>>) {
    let waits = Arc::new(Mutex::new(Vec::new()));
    let noted = Arc::clone(&waits);
    (options.wait_with(move |time| noted.lock().unwrap().push(time)), waits)
}

pub(crate) fn push(options: HubOptions, folder: &Path) -> Result<Pushed, PushError> {
    Hub::new(options).unwrap().push(folder, &mut |_| {})
}

pub(crate) fn steps(options: HubOptions, folder: &Path) -> Vec<Progress> {
    let mut steps = Vec::new();
    Hub::new(options).unwrap().push(folder, &mut |step| steps.push(step)).unwrap();
    steps
}

/// The rows of the leaderboard on the Hub.
pub(crate) fn board(stub: &HubStub) -> Vec<LeaderboardRow> {
    let bytes = stub.repo("ada/wattspan-leaderboard").unwrap().files[DATA].clone();
    LeaderboardFile::from_bytes(bytes).unwrap().rows().unwrap()
}

/// Commits after that of the repository's making.
pub(crate) fn commits(stub: &HubStub, id: &str) -> usize {
    stub.repo(id).unwrap().commits.len() - 1
}

/// All the words of an error, checked for what must never be among them.
#[track_caller]
pub(crate) fn words(error: &PushError) -> String {
    let mut words = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(deeper) = cause {
        words = format!("{words}: {deeper}");
        cause = deeper.source();
    }
    for shown in [words.clone(), format!("{error:?}")] {
        for part in TOKEN.as_bytes().windows(6) {
            assert!(!shown.contains(std::str::from_utf8(part).unwrap()), "a token shows: {shown}");
        }
        assert!(!shown.contains("Signature"), "a signed URL shows: {shown}");
    }
    words
}
