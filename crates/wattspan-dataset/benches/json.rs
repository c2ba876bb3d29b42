//! How fast a run is written as JSON, and how much memory that takes, beside SMOLTRACE's own exporter.
//!
//! `cargo bench -p wattspan-dataset --bench json` prints rows and points per second and the peak of the process's memory
//! (Linux: `VmHWM`). A point is one value of one GPU at one moment, as SMOLTRACE counts them: a metric row holds seven.
//! Each size runs in a process of its own, since a peak never falls.
//!
//! SMOLTRACE's exporter writes the same results and points in the same run (`smoltrace_peer.py`, in the Python that
//! `cargo xtask setup` makes). Its clock starts when its input is there, and it does not wait for the disk; ours includes
//! the making of rows, the journal, and the disk. Without that Python the comparison is with a figure recorded earlier.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant, UNIX_EPOCH};

use futures_util::FutureExt as _;
use serde_json::{Value, json};
use wattspan_core::{Cell, DatasetSink, Row, RunId, Table};
use wattspan_dataset::{JsonDataset, LeaderboardRow, MetricRow, ResultRow, RunAggregate, TableRow};

const RESULTS: u64 = 10_000;
const GPUS: u64 = 8;
const POINTS_PER_ROW: u64 = 7;
const BATCH: u64 = 1_000;
/// Points that both write.
const COMPARED: u64 = 1_000_000;
/// Seconds that SMOLTRACE 0.2.12 took for 10 000 results and 1 000 000 points (Python 3.11, two cores of a shared machine).
const RECORDED: f64 = 35.4;

#[allow(clippy::print_stdout, reason = "a benchmark prints its figures")]
fn main() {
    let mut arguments = std::env::args().skip(1);
    if arguments.next().as_deref() == Some("--one") {
        let number = arguments.next().and_then(|rows| rows.parse().ok());
        let peer_series = arguments.next().as_deref() == Some("series");
        println!("{}", one(number.expect("this program passes itself a number"), peer_series));
        return;
    }
    // Before and after the peer, so that a machine that is busy for a while is busy for both.
    let mut ours = vec![measured(COMPARED, true)];
    let peer = peer();
    ours.extend([measured(COMPARED, true), measured(COMPARED, true)]);
    let rows_only = measured(COMPARED, false);
    match &peer {
        Ok(figures) => {
            report(&format!("SMOLTRACE {}", figures["version"].as_str().unwrap_or("?")), COMPARED, figures);
        }
        Err(why) => println!("SMOLTRACE did not run ({why}): compared with {RECORDED} s, recorded earlier"),
    }
    let theirs = peer.as_ref().map_or(RECORDED, |figures| seconds(figures, "wall"));
    ours.sort_by(|one, other| seconds(one, "wall").total_cmp(&seconds(other, "wall")));
    let middle = seconds(&ours[ours.len() / 2], "wall");
    println!(
        "the same rows take {middle:.2} s (the middle of {}): {:.1} x SMOLTRACE",
        ours.len(),
        theirs / middle
    );
    if let Ok(figures) = &peer {
        let cpu = ours.iter().map(|figures| seconds(figures, "cpu")).sum::<f64>() / ours.len() as f64;
        println!("in CPU time: {:.1} x SMOLTRACE", seconds(figures, "cpu") / cpu);
    }
    println!("without the nested series: {:.1} x SMOLTRACE", theirs / seconds(&rows_only, "wall"));
    for (points, peer_series) in [(100_000, true), (7_000_000, true), (7_000_000, false)] {
        measured(points, peer_series);
    }
}

/// Writes a run in a process of its own.
fn measured(points: u64, peer_series: bool) -> Value {
    let this = std::env::current_exe().expect("a running program has a file");
    let what = if peer_series { "series" } else { "rows" };
    let mut command = Command::new(this);
    command.args(["--one", &(points / POINTS_PER_ROW).to_string(), what]);
    let figures = figures(&mut command).unwrap_or_else(|why| panic!("{points} points: {why}"));
    report(if peer_series { "with the nested series" } else { "rows only" }, points, &figures);
    figures
}

/// SMOLTRACE's exporter with the same rows.
fn peer() -> Result<Value, String> {
    let python = wattspan_testkit::peers::find("a Python with SMOLTRACE", "WATTSPAN_PYTHON");
    let python = python.map_err(|error| error.to_string())?;
    let base = tempfile::tempdir().map_err(|error| error.to_string())?;
    let mut command = Command::new(python);
    command
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/smoltrace_peer.py"))
        .args([RESULTS, COMPARED / POINTS_PER_ROW, GPUS].map(|number| number.to_string()))
        .arg(base.path())
        .env("HF_HUB_OFFLINE", "1");
    figures(&mut command)
}

/// Runs a program that prints one line of JSON.
fn figures(command: &mut Command) -> Result<Value, String> {
    let output = command.stderr(Stdio::piped()).output().map_err(|error| error.to_string())?;
    if !output.status.success() {
        let text = String::from_utf8_lossy(&output.stderr);
        return Err(format!("{}: {}", output.status, text.lines().last().unwrap_or_default()));
    }
    serde_json::from_slice(&output.stdout).map_err(|error| error.to_string())
}

fn one(metric_rows: u64, peer_series: bool) -> Value {
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
    json!({
        "wall": wall.as_secs_f64(),
        "cpu": cpu.as_secs_f64(),
        "bytes": bytes,
        "peak_kib": peak_kib(),
    })
}

#[allow(clippy::print_stdout, reason = "a benchmark prints its figures")]
fn report(what: &str, points: u64, figures: &Value) {
    let (wall, rows) = (seconds(figures, "wall"), points / POINTS_PER_ROW);
    println!(
        "{RESULTS} results + {points} points, {what}: {wall:.2} s wall, {:.2} s CPU, {:.0} rows/s, {:.0} points/s, {} MB, \
         peak {} MiB",
        seconds(figures, "cpu"),
        (RESULTS + rows) as f64 / wall,
        (RESULTS + points) as f64 / wall,
        figures["bytes"].as_u64().map_or_else(|| "?".to_owned(), |bytes| (bytes / 1_000_000).to_string()),
        figures["peak_kib"].as_u64().map_or_else(|| "?".to_owned(), |kib| (kib / 1_024).to_string()),
    );
}

fn seconds(figures: &Value, name: &str) -> f64 {
    figures[name].as_f64().expect("the figures have this time")
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
