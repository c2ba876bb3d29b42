//! How fast a run is written as JSON, and how much memory that takes.
//!
//! `cargo bench -p wattspan-dataset --bench json` prints rows and points per second and the peak of the process's memory
//! (Linux: `VmHWM`). A point is one value of one GPU at one moment, as SMOLTRACE counts them: a metric row holds seven.
//! Each size runs in a process of its own, since a peak never falls.
//!
//! For comparison: SMOLTRACE 0.2.12's JSON exporter took 4.8 s (3.3 s of CPU) and 305 MiB at its peak for 10 000 results
//! and 100 000 points, on a machine with two cores.

use std::process::Command;
use std::time::{Duration, Instant, UNIX_EPOCH};

use futures_util::FutureExt as _;
use wattspan_core::{Cell, DatasetSink, Row, RunId, Table};
use wattspan_dataset::{JsonDataset, LeaderboardRow, MetricRow, ResultRow, RunAggregate, TableRow};

const RESULTS: u64 = 10_000;
const GPUS: u64 = 8;
const POINTS_PER_ROW: u64 = 7;
const BATCH: u64 = 1_000;
/// Of SMOLTRACE: rows and points a second.
const PEER: f64 = 110_000.0 / 4.8;

fn main() {
    let mut arguments = std::env::args().skip(1);
    if arguments.next().as_deref() == Some("--one") {
        let number = arguments.next().and_then(|rows| rows.parse().ok());
        let peer_series = arguments.next().as_deref() == Some("series");
        one(number.expect("this program passes itself a number"), peer_series);
        return;
    }
    let this = std::env::current_exe().expect("a running program has a file");
    for (points, peer_series) in [
        (100_000, "series"),
        (1_000_000, "series"),
        (1_000_000, "rows"),
        (7_000_000, "series"),
        (7_000_000, "rows"),
    ] {
        let status = Command::new(&this)
            .args(["--one", &(points / POINTS_PER_ROW).to_string(), peer_series])
            .status()
            .expect("this program can be started again");
        assert!(status.success(), "{points} points: {status}");
    }
}

fn one(metric_rows: u64, peer_series: bool) {
    let base = tempfile::tempdir().expect("a temporary folder can be made");
    let mut aggregate = RunAggregate::new();
    let (begin, cpu) = (Instant::now(), cpu_time());
    let mut sink = JsonDataset::new(base.path()).peer_series(peer_series);
    let run = RunId::new("bench").expect("a plain word is a run id");
    now(sink.create(&run)).expect("the folder can be written");
    for first in (0..RESULTS).step_by(BATCH as usize) {
        let rows: Vec<Row> = (first..first + BATCH)
            .map(|index| {
                let row = result(index);
                aggregate.result(&row);
                row.into_row()
            })
            .collect();
        now(sink.write(Table::Results, &rows)).expect("results can be written");
    }
    for first in (0..metric_rows).step_by(BATCH as usize) {
        let rows: Vec<Row> = (first..(first + BATCH).min(metric_rows))
            .map(|index| {
                let row = metric(index);
                aggregate.metric(&row);
                row.into_row()
            })
            .collect();
        now(sink.write(Table::Metrics, &rows)).expect("metrics can be written");
    }
    let mut leaderboard = LeaderboardRow::default();
    leaderboard.run_id = "bench".into();
    aggregate.fill(&mut leaderboard);
    now(sink.write(Table::Leaderboard, &[leaderboard.into_row()])).expect("the row can be written");
    let folder = now(sink.finish(&Cell::Null)).expect("the run can be finished");
    let (wall, cpu) = (begin.elapsed(), cpu_time().saturating_sub(cpu));
    let bytes: u64 = std::fs::read_dir(folder)
        .into_iter()
        .flatten()
        .filter_map(|entry| Some(entry.ok()?.metadata().ok()?.len()))
        .sum();
    report(metric_rows, peer_series, wall, cpu, bytes);
}

#[allow(clippy::print_stdout, reason = "a benchmark prints its figures")]
fn report(metric_rows: u64, peer_series: bool, wall: Duration, cpu: Duration, bytes: u64) {
    let seconds = wall.as_secs_f64();
    let points = metric_rows * POINTS_PER_ROW;
    let points_per_second = (RESULTS + points) as f64 / seconds;
    println!(
        "{RESULTS} results + {points} points ({metric_rows} rows, {}): {seconds:.2} s wall, {:.2} s CPU, \
         {:.0} rows/s, {points_per_second:.0} points/s ({:.1} x SMOLTRACE), {:.0} MB, peak {} MiB",
        if peer_series { "with the nested series" } else { "rows only" },
        cpu.as_secs_f64(),
        (RESULTS + metric_rows) as f64 / seconds,
        points_per_second / PEER,
        bytes as f64 / 1e6,
        peak_kib().map_or_else(|| "?".to_owned(), |kib| (kib / 1_024).to_string()),
    );
}

fn result(index: u64) -> ResultRow {
    let mut row = ResultRow::default();
    row.run_id = "bench".into();
    row.model = Some("a-model-Q4_K_M.gguf".to_owned());
    row.task_id = Some(format!("task_{index}"));
    row.test_case_uid = Some(format!("none:task_{index}"));
    row.prompt = Some("What is the capital of the country whose flag is red and white?".to_owned());
    row.response = Some("There are several; Vienna is one, Bern and Copenhagen are others.".to_owned());
    row.success = Some(!index.is_multiple_of(7));
    row.trace_id = Some(format!("{index:032x}"));
    row.span_id = Some(format!("{index:016x}"));
    row.execution_time_ms = Some(400.0 + index as f64 / 7.0);
    row.total_tokens = Some(120 + index % 50);
    row.output_tokens = Some(20 + index % 50);
    row.energy_j = Some(12.5 + index as f64 / 1e3);
    row
}

fn metric(index: u64) -> MetricRow {
    let (gpu, moment) = (index % GPUS, index / GPUS);
    let value = (index % 1_000) as f64;
    let mut row = MetricRow::default();
    row.run_id = "bench".into();
    row.service_name = "bench".into();
    row.timestamp = (UNIX_EPOCH + Duration::from_secs(1_767_225_600 + moment)).into();
    row.timestamp_unix_nano = format!("{}000000000", 1_767_225_600 + moment);
    row.gpu_id = Some(gpu.to_string());
    row.gpu_name = Some("NVIDIA A100-SXM4-40GB".to_owned());
    row.co2_emissions_gco2e = Some(moment as f64 * 0.04);
    row.power_cost_usd = Some(moment as f64 * 1e-5);
    row.gpu_utilization_percent = Some(value / 10.0);
    row.gpu_memory_used_mib = Some(512.25 + value);
    row.gpu_memory_total_mib = Some(40_960.0);
    row.gpu_temperature_celsius = Some(40.0 + value / 50.0);
    row.gpu_power_watts = Some(60.0 + value / 3.0);
    row.device_id = format!("GPU-{gpu:08}-0000-0000-0000-000000000000");
    row.device_kind = "gpu".into();
    row.device_name = "NVIDIA A100-SXM4-40GB".into();
    row.device_vendor = "nvidia".into();
    row.device_is_counted = true;
    row.power_watts = row.gpu_power_watts;
    row.energy_j = Some(moment as f64 * 300.0);
    row.started_unix_nano = "1767225600000000000".into();
    row
}

/// The sink never waits.
fn now<T>(future: impl Future<Output = T>) -> T {
    future.now_or_never().expect("files are written without waiting")
}

/// Peak memory of this process in KiB. **Absent** elsewhere than on Linux.
fn peak_kib() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix("kB")?.trim().parse().ok()
}

/// CPU time of this process, user and system, in Linux's ticks of 10 ms; zero elsewhere.
fn cpu_time() -> Duration {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields = stat.rsplit_once(')').map_or("", |(_, rest)| rest).split_whitespace();
    let ticks: u64 = fields.skip(11).take(2).filter_map(|field| field.parse::<u64>().ok()).sum();
    Duration::from_millis(ticks * 10)
}
