//! How long a push takes, and how much memory.
//!
//! `cargo bench -p wattspan-hub` pushes runs of more and more metric rows to a stub on loopback, and prints the size of the
//! metrics table, wall and CPU time, and the peak of the pushing process's memory (Linux: `VmHWM`). Each push runs in a
//! process of its own, since a peak never falls; run and Hub are in another.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant, SystemTime};

use futures_util::FutureExt as _;
use wattspan_core::{Cell, DatasetSink, RunId, Table};
use wattspan_dataset::{JsonDataset, MetricRow, TableRow};
use wattspan_hub::{Hub, HubOptions, Token};
use wattspan_testkit::hub_stub::HubStub;

const GPUS: u64 = 8;
/// Memory may not grow with the run: a million rows take at most this many times what ten thousand take.
const FLAT: f64 = 2.0;

#[allow(clippy::print_stdout, reason = "a benchmark prints its figures")]
fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    if let [_, one, url, folder] = arguments.as_slice()
        && one == "--one"
    {
        push(url, Path::new(folder));
        println!("{} {}", peak_kib(), cpu_ms());
        return;
    }
    let mut peaks = Vec::new();
    for rows in [10_000, 100_000, 1_000_000] {
        let base = tempfile::tempdir().expect("a temporary folder can be made");
        let folder = run(base.path(), rows);
        let stub = HubStub::start();
        stub.add_token("t", "ada", "write");
        let begun = Instant::now();
        let output = Command::new(std::env::current_exe().expect("a running program has a file"))
            .args(["--one", &stub.url()])
            .arg(&folder)
            .output()
            .expect("this program can be started again");
        let wall = begun.elapsed();
        let told = String::from_utf8_lossy(&output.stdout);
        let figures: Vec<u64> = told.split_whitespace().filter_map(|number| number.parse().ok()).collect();
        let [peak, cpu] = figures[..] else {
            panic!("{told}{}", String::from_utf8_lossy(&output.stderr));
        };
        let metrics =
            stub.repos().into_iter().find(|id| id.contains("-metrics-")).and_then(|id| stub.repo(&id));
        let size = metrics.map_or(0, |repo| repo.files["data/train-00000-of-00001.parquet"].len());
        println!(
            "{rows} metric rows: {:.1} MB of Parquet, {:.2} s wall, {:.2} s CPU, peak {:.1} MiB",
            size as f64 / 1e6,
            wall.as_secs_f64(),
            cpu as f64 / 1e3,
            peak as f64 / 1_024.0
        );
        peaks.push(peak as f64);
    }
    let growth = peaks[2] / peaks[0];
    println!("memory for a hundred times the rows: {growth:.2} times");
    assert!(growth <= FLAT, "memory grows with the run");
}

fn push(url: &str, folder: &Path) {
    let options = HubOptions::default().endpoint(url).token(Token::new("t", "bench"));
    let hub = Hub::new(options).expect("the options make sense");
    hub.push(folder, &mut |_| {}).expect("the stub takes everything");
}

fn run(base: &Path, rows: u64) -> PathBuf {
    let mut sink = JsonDataset::new(base).peer_series(false);
    let now = |done: Option<_>| done.expect("files are written without waiting");
    let id = RunId::new("bench").expect("it is short and plain");
    now(sink.create(&id).now_or_never()).expect("the folder can be written");
    for first in (0..rows).step_by(1_000) {
        let batch: Vec<_> =
            (first..(first + 1_000).min(rows)).map(|number| metric(number).into_row()).collect();
        let written = sink.write(Table::Metrics, &batch).now_or_never();
        written.expect("files are written without waiting").expect("the folder can be written");
    }
    let finished = sink.finish(&Cell::Map(vec![])).now_or_never();
    finished.expect("files are written without waiting").expect("the folder can be written").into()
}

fn metric(number: u64) -> MetricRow {
    let (gpu, second) = (number % GPUS, 1_796_161_598 + number / GPUS);
    let mut row = MetricRow::default();
    row.run_id = "bench".into();
    row.timestamp = (SystemTime::UNIX_EPOCH + Duration::from_secs(second)).into();
    row.timestamp_unix_nano = format!("{second}000000000");
    row.gpu_id = Some(gpu.to_string());
    row.device_id = format!("GPU-{gpu}");
    row.device_kind = "gpu".into();
    row.device_is_counted = true;
    row.gpu_utilization_percent = Some((number % 101) as f64);
    row.gpu_power_watts = Some(300.0 + (number % 97) as f64 / 10.0);
    row.power_watts = row.gpu_power_watts;
    row.energy_j = Some(number as f64 * 37.5);
    row
}

fn peak_kib() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}

/// User and system time, of which Linux counts a hundred to the second.
fn cpu_ms() -> u64 {
    let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    let field = |index: usize| fields.get(index).and_then(|ticks| ticks.parse::<u64>().ok()).unwrap_or(0);
    (field(11) + field(12)) * 10
}
