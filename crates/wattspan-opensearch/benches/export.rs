//! What an export costs its client, beside SMOLTRACE's exporter in the same run.
//!
//! `cargo bench -p wattspan-opensearch --bench export` exports 10 000 results and metric documents to a fresh osmem-server for
//! each and prints CPU time, wall time and the peak of the client's memory (Linux: `VmHWM`). A metric document holds one GPU
//! at one moment, seven values: 100 000 points are 14 286 documents. Both clients run in a process of their own; the
//! server's CPU is not counted. Seven times as many points, of this crate alone, show that memory stays flat.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant, UNIX_EPOCH};

use serde_json::{Value, json};
use wattspan_core::{Cell, DatasetSink as _, Row, RunId, Table};
use wattspan_dataset::{MetricRow, ResultRow, TableRow};
use wattspan_opensearch::{OpenSearchSink, Options};

const RESULTS: u64 = 10_000;
const POINTS_PER_ROW: u64 = 7;
const BATCH: u64 = 1_000;

fn main() {
    let mut arguments = std::env::args().skip(1);
    if arguments.next().as_deref() == Some("--one") {
        let url = arguments.next().expect("this program passes itself a URL");
        let rows = arguments.next().and_then(|rows| rows.parse().ok()).expect("and a number");
        let gzip = arguments.next().as_deref() == Some("gzip");
        one(&url, rows, gzip);
        return;
    }
    let this = std::env::current_exe().expect("a running program has a file");
    let peer = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/peer.py");
    let mut of_peer = None;
    for points in [100_000_u64, 700_000] {
        let rows = points.div_ceil(POINTS_PER_ROW);
        if of_peer.is_none() {
            let figures = measured(RESULTS + rows + 1, |url| {
                let mut command = Command::new(wattspan_testkit::peers::python());
                command.args([peer, url, &RESULTS.to_string(), &rows.to_string()]);
                command
            });
            report("SMOLTRACE 0.2.12", points, &figures, None);
            of_peer = Some((points, figures));
        }
        let beside = of_peer.as_ref().filter(|(same, _)| *same == points).map(|(_, figures)| figures);
        for coding in ["gzip", "plain"] {
            let ours = measured(RESULTS + rows + 1, |url| {
                let mut command = Command::new(&this);
                command.args(["--one", url, &rows.to_string(), coding]);
                command
            });
            report(&format!("wattspan, {coding}"), points, &ours, beside);
        }
    }
}

/// Runs a client against a server of its own, and looks that all documents are there.
fn measured(documents: u64, client: impl FnOnce(&str) -> Command) -> Value {
    let mut server = Command::new(wattspan_testkit::peers::osmem())
        .args(["-addr", "127.0.0.1:0", "-no-ja", "-no-stdin-watch", "-parent-pid"])
        .arg(std::process::id().to_string())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("osmem-server can be started");
    let mut line = String::new();
    let mut said = BufReader::new(server.stdout.take().expect("its output is a pipe"));
    said.read_line(&mut line).expect("it says where it listens");
    let url =
        serde_json::from_str::<Value>(&line).expect("in JSON")["url"].as_str().expect("its URL").to_owned();
    let out = client(&url).output().expect("the client can be started");
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    let stored = count(&url);
    stop(&mut server);
    assert_eq!(stored, documents, "documents are missing");
    serde_json::from_slice(&out.stdout).expect("the client prints JSON")
}

fn stop(server: &mut Child) {
    server.kill().expect("the server was running");
    server.wait().expect("it can be waited for");
}

/// Asks the server by hand how many documents it has.
fn count(url: &str) -> u64 {
    use std::io::{Read as _, Write as _};
    let address = url.trim_start_matches("http://");
    let ask = |path: &str, method: &str| {
        let mut stream = std::net::TcpStream::connect(address).expect("the server still listens");
        write!(
            stream,
            "{method} {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"
        )
        .expect("it takes a request");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("it answers");
        answer
    };
    ask("/_refresh", "POST");
    let answer = ask("/_count", "GET");
    let body = &answer[answer.find('{').expect("a body")..=answer.rfind('}').expect("its end")];
    serde_json::from_str::<Value>(body).expect("JSON")["count"].as_u64().expect("a count")
}

#[allow(clippy::print_stdout, reason = "a benchmark prints its figures")]
fn report(who: &str, points: u64, figures: &Value, peer: Option<&Value>) {
    let figure = |name: &str| figures[name].as_f64().unwrap_or(f64::NAN);
    let ratio = peer.map_or_else(String::new, |peer| {
        format!(", 1/{:.1} of SMOLTRACE's CPU", peer["cpu"].as_f64().unwrap_or(f64::NAN) / figure("cpu"))
    });
    println!(
        "{RESULTS} results + {points} points, {who}: {:.3} s CPU, {:.1} s wall, peak {:.0} MiB{ratio}",
        figure("cpu"),
        figure("wall"),
        figure("peak_kib") / 1_024.0,
    );
}

#[allow(clippy::print_stdout, reason = "the figures go to the process that started this one")]
fn one(url: &str, metric_rows: u64, gzip: bool) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    // Making rows is not exporting them: neither client's clock runs meanwhile.
    let (mut wall, mut cpu) = (Duration::ZERO, Duration::ZERO);
    let mut clock = (Instant::now(), cpu_time());
    let mut stopped = |make: &mut dyn FnMut() -> Vec<Row>| {
        wall += clock.0.elapsed();
        cpu += cpu_time().saturating_sub(clock.1);
        let rows = make();
        clock = (Instant::now(), cpu_time());
        rows
    };
    runtime.block_on(async {
        let options = Options::default().url(url).gzip(gzip);
        let mut sink = OpenSearchSink::new(options).expect("options are good");
        sink.create(&RunId::new("bench").expect("a plain word")).await.expect("the server answers");
        for first in (0..RESULTS).step_by(BATCH as usize) {
            let rows =
                stopped(&mut || (first..first + BATCH).map(|index| result(index).into_row()).collect());
            sink.write(Table::Results, &rows).await.expect("results are stored");
        }
        for first in (0..metric_rows).step_by(BATCH as usize) {
            let last = (first + BATCH).min(metric_rows);
            let rows = stopped(&mut || (first..last).map(|index| metric(index).into_row()).collect());
            sink.write(Table::Metrics, &rows).await.expect("metrics are stored");
        }
        sink.finish(&Cell::Null).await.expect("all is stored");
    });
    stopped(&mut Vec::new);
    println!("{}", json!({"wall": wall.as_secs_f64(), "cpu": cpu.as_secs_f64(), "peak_kib": peak_kib()}));
}

fn result(index: u64) -> ResultRow {
    let mut row = ResultRow::default();
    row.run_id = "bench".into();
    row.model = Some("a-model-Q4_K_M.gguf".to_owned());
    row.evaluation_date = Some((UNIX_EPOCH + Duration::from_secs(1_796_161_598)).into());
    row.task_id = Some(format!("task_{index}"));
    row.test_case_uid = Some(format!("tool:task_{index}"));
    row.agent_type = Some("tool".to_owned());
    row.difficulty = Some("easy".to_owned());
    row.prompt = Some("What is the capital of the country whose flag is red and white?".to_owned());
    row.response = Some("There are several; Vienna is one, Bern and Copenhagen are others.".to_owned());
    row.success = Some(!index.is_multiple_of(7));
    row.tools_used = vec!["get_weather".into(), "final_answer".into()];
    row.steps = Some(2);
    row.trace_id = Some(format!("{index:032x}"));
    row.span_id = Some(format!("{index:016x}"));
    row.execution_time_ms = Some(400.0 + index as f64 / 7.0);
    row.total_tokens = Some(120 + index % 50);
    row.cost_usd = Some(2.7e-5);
    row.energy_j = Some(12.5 + index as f64 / 1e3);
    row
}

fn metric(index: u64) -> MetricRow {
    let value = (index % 1_000) as f64;
    let mut row = MetricRow::default();
    row.run_id = "bench".into();
    row.service_name = "bench".into();
    row.timestamp = (UNIX_EPOCH + Duration::from_secs(1_796_161_598 + index)).into();
    row.timestamp_unix_nano = format!("{}000000000", 1_796_161_598 + index);
    row.gpu_id = Some("0".to_owned());
    row.gpu_name = Some("NVIDIA A100-SXM4-40GB".to_owned());
    row.co2_emissions_gco2e = Some(index as f64 * 0.04);
    row.power_cost_usd = Some(index as f64 * 1e-5);
    row.gpu_utilization_percent = Some(value / 10.0);
    row.gpu_memory_used_mib = Some(512.25 + value);
    row.gpu_memory_total_mib = Some(40_960.0);
    row.gpu_temperature_celsius = Some(40.0 + value / 50.0);
    row.gpu_power_watts = Some(60.0 + value / 3.0);
    row.device_id = "GPU-00000000-0000-0000-0000-000000000000".into();
    row.device_kind = "gpu".into();
    row.device_is_counted = true;
    row.started_unix_nano = "1796161598000000000".into();
    row
}

/// CPU time of this process, user and system.
fn cpu_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

fn peak_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|text| text.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}
