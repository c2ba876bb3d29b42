//! A real server, rows, and a way to ask what is stored.
#![allow(dead_code, reason = "each test file uses a part of it")]

use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::time::Duration;

use serde_json::Value;
use wattspan_core::{Cell, DatasetSink, Row, RunId, Table};
use wattspan_dataset::{
    Attributes, LeaderboardRow, MetricRow, ResultRow, SpanRow, StatusRow, TableRow, Timestamp, TraceRow,
};
use wattspan_opensearch::{OpenSearchSink, Options, Retry};

/// An osmem-server of this test's own. It ends with this value, and with the test's process.
pub(crate) struct Osmem {
    child: Mutex<Child>,
    pub(crate) url: String,
}

impl Osmem {
    pub(crate) fn start() -> Self {
        let program = wattspan_testkit::peers::osmem();
        let mut child = Command::new(&program)
            .args(["-addr", "127.0.0.1:0", "-no-ja", "-no-stdin-watch", "-parent-pid"])
            .arg(std::process::id().to_string())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap_or_else(|error| panic!("{}: {error}; run `cargo xtask setup`", program.display()));
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let ready: Value =
            serde_json::from_str(&line).unwrap_or_else(|_| panic!("osmem-server said {line:?}"));
        let url = ready["url"].as_str().unwrap().to_owned();
        Self { child: Mutex::new(child), url }
    }

    pub(crate) fn options(&self) -> Options {
        options(&self.url)
    }

    /// What a plain request is answered: status and JSON.
    pub(crate) async fn ask(&self, method: &str, path: &str, body: Option<Value>) -> (u16, Value) {
        ask(&self.url, method, path, body).await
    }

    pub(crate) async fn count(&self, index: &str) -> u64 {
        let (status, found) = self.ask("GET", &format!("/{index}/_count"), None).await;
        assert_eq!(status, 200, "{index}: {found}");
        found["count"].as_u64().unwrap()
    }

    /// Documents by id.
    pub(crate) async fn document(&self, index: &str, id: &str) -> Value {
        let body = serde_json::json!({"ids": [id]});
        let (status, found) = self.ask("POST", &format!("/{index}/_mget"), Some(body)).await;
        assert_eq!(status, 200, "{found}");
        assert_eq!(found["docs"][0]["found"], true, "{index} has no {id}: {found}");
        found["docs"][0]["_source"].clone()
    }

    /// How many documents a query finds.
    pub(crate) async fn hits(&self, index: &str, query: Value) -> u64 {
        let body = serde_json::json!({"query": query, "track_total_hits": true});
        let (status, found) = self.ask("POST", &format!("/{index}/_search"), Some(body)).await;
        assert_eq!(status, 200, "{found}");
        found["hits"]["total"]["value"].as_u64().unwrap()
    }

    /// The counts of a run's three indexes and of the leaderboard.
    pub(crate) async fn counts(&self, sink: &OpenSearchSink) -> [u64; 4] {
        let indexes = sink.indexes().unwrap();
        let mut counts = [0; 4];
        for (count, table) in counts.iter_mut().zip(Table::ALL) {
            *count = self.count(indexes.of(table)).await;
        }
        counts
    }

    pub(crate) fn kill(&self) {
        let mut child = self.child.lock().unwrap();
        child.kill().ok();
        child.wait().ok();
    }
}

impl Drop for Osmem {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Options whose back-off does not hold a test up.
pub(crate) fn options(url: &str) -> Options {
    let retry = Retry {
        times: 8,
        first: Duration::from_millis(1),
        longest: Duration::from_millis(20),
        ..Retry::default()
    };
    Options::default().url(url).retry(retry)
}

pub(crate) async fn ask(url: &str, method: &str, path: &str, body: Option<Value>) -> (u16, Value) {
    // Some client has to set the provider up first where a test asks before it exports.
    drop(OpenSearchSink::new(options(url)).unwrap());
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    let mut request = client.request(method.parse().unwrap(), format!("{url}{path}"));
    if let Some(body) = body {
        request = request.json(&body);
    }
    let answer = request.send().await.unwrap();
    let status = answer.status().as_u16();
    let text = answer.text().await.unwrap();
    (status, serde_json::from_str(&text).unwrap_or(Value::String(text)))
}

pub(crate) fn run_id() -> RunId {
    RunId::new("run-1").unwrap()
}

/// 2026-12-01T21:46:38Z: `date -u -d @1796161598`.
pub(crate) fn begun() -> std::time::SystemTime {
    std::time::UNIX_EPOCH + Duration::from_secs(1_796_161_598)
}

pub(crate) const SUFFIX: &str = "20261201-214638";

pub(crate) fn result(index: u64) -> ResultRow {
    let mut row = ResultRow::default();
    row.run_id = "run-1".into();
    row.model = Some("a-model-Q4_K_M.gguf".into());
    row.evaluation_date = Some(Timestamp::from(begun() + Duration::from_secs(index)));
    row.task_id = Some(format!("weather_{index}"));
    row.test_case_uid = Some(format!("tool:weather_{index}"));
    row.agent_type = Some("tool".into());
    row.prompt = Some("What is the weather in Paris?".into());
    row.response = Some("22C".into());
    row.success = Some(!index.is_multiple_of(3));
    row.tools_used = vec!["get_weather".into(), "final_answer".into()];
    row.steps = Some(2);
    row.attempt = Some(1);
    row.trace_id = Some(format!("{:032x}", index + 1));
    row.span_id = Some(format!("{:016x}", index + 1));
    row.execution_time_ms = Some(400.0);
    // Beyond what an `integer` holds.
    row.total_tokens = Some(3_000_000_000 + index);
    row.cost_usd = Some(2.7e-5);
    row.energy_j = Some(12.5);
    row
}

pub(crate) fn trace(index: u64) -> TraceRow {
    let id = format!("{:032x}", index + 1);
    let mut span = SpanRow::default();
    span.trace_id.clone_from(&id);
    span.span_id = format!("{:016x}", index + 1);
    span.name = "chat".into();
    span.start_time = 1_796_161_598_000_000_001;
    span.end_time = 1_796_161_598_400_000_001;
    span.duration_ms = 400.0;
    span.kind = "CLIENT".into();
    let mut status = StatusRow::default();
    status.code = "OK".into();
    span.status = status;
    // One name is the beginning of the other.
    let mut attributes = Attributes::default();
    attributes.push("x", Cell::Int(1));
    attributes.push("x.y", Cell::Text("two".into()));
    attributes.push("gen_ai.usage.input_tokens", Cell::Int(100));
    attributes.push("gen_ai.usage.output_tokens", Cell::Int(20));
    attributes.push("test.id", Cell::Text(format!("weather_{index}").into()));
    span.attributes = attributes;
    TraceRow::from_spans("run-1", &id, vec![span])
}

pub(crate) fn metric(index: u64) -> MetricRow {
    let (gpu, moment) = (index % 2, index / 2);
    let mut row = MetricRow::default();
    row.run_id = "run-1".into();
    row.service_name = "test".into();
    row.timestamp = Timestamp::from(begun() + Duration::from_secs(moment));
    row.timestamp_unix_nano = format!("{}000000000", 1_796_161_598 + moment);
    row.started_unix_nano = "1796161598000000000".into();
    row.gpu_id = Some(gpu.to_string());
    row.gpu_name = Some("NVIDIA A100-SXM4-40GB".into());
    row.device_id = format!("GPU-{gpu}");
    row.device_kind = "gpu".into();
    row.device_is_counted = true;
    row.gpu_power_watts = Some(60.0 + index as f64);
    row.power_watts = row.gpu_power_watts;
    row.co2_emissions_gco2e = Some(0.036);
    row
}

pub(crate) fn leaderboard() -> LeaderboardRow {
    let mut row = LeaderboardRow::default();
    row.run_id = "run-1".into();
    row.model = Some("a-model-Q4_K_M.gguf".into());
    row.timestamp = Some(Timestamp::from(begun()));
    row.total_tests = 10;
    row.success_rate = Some(60.0);
    row.run_status = Some("completed".into());
    row
}

pub(crate) fn rows<T: TableRow>(make: impl Fn(u64) -> T, range: std::ops::Range<u64>) -> Vec<Row> {
    range.map(|index| make(index).into_row()).collect()
}

pub(crate) fn metadata() -> Cell {
    Cell::Map(vec![
        ("run_id".into(), Cell::Text("run-1".into())),
        ("configuration".into(), Cell::Map(vec![("x".into(), Cell::Int(1)), ("x.y".into(), Cell::Null)])),
    ])
}

/// Ten results, ten traces, twenty metric rows, a leaderboard row.
pub(crate) async fn export(sink: &mut OpenSearchSink) -> Result<String, wattspan_core::SinkError> {
    sink.create(&run_id()).await?;
    sink.write(Table::Results, &rows(result, 0..10)).await?;
    sink.write(Table::Traces, &rows(trace, 0..10)).await?;
    sink.write(Table::Metrics, &rows(metric, 0..20)).await?;
    sink.write(Table::Leaderboard, &[leaderboard().into_row()]).await?;
    sink.finish(&metadata()).await
}

/// A folder that goes away with it, for refused documents.
pub(crate) struct Folder(pub(crate) tempfile::TempDir);

impl Folder {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub(crate) fn refused(&self) -> PathBuf {
        self.0.path().join("opensearch-refused-run-1.ndjson")
    }
}
