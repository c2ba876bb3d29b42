//! The parts of `metrics.json` that SMOLTRACE's readers look for: the series in their nested form, and sums over results.
//!
//! One element of `resourceMetrics` is one moment, its metrics hold a point for each GPU. A value that is absent has no
//! point, and a metric without points is not there.

use serde::{Deserialize, Serialize};
use wattspan_core::RunId;

use super::scan::members;

/// Turns metric rows into collections, one for each moment.
pub(crate) struct Series {
    run: String,
    service: Vec<u8>,
    moment: Vec<u8>,
    points: [Vec<u8>; METRICS.len()],
    count: usize,
    /// What all points of a row begin with.
    head: Vec<u8>,
}

impl Series {
    pub(crate) fn new(run: &RunId) -> Self {
        Self {
            run: run.to_string(),
            service: Vec::new(),
            moment: Vec::new(),
            points: Default::default(),
            count: 0,
            head: Vec::new(),
        }
    }

    /// Adds a row. When it begins another moment, the collection before it comes into `closed`, and the answer is true. Rows
    /// that have no GPU are left out.
    pub(crate) fn add(&mut self, row: &[u8], closed: &mut Vec<u8>) -> bool {
        let row = GpuRow::of(row);
        let (Some(gpu), Some(time)) = (row.gpu_id, row.timestamp_unix_nano) else { return false };
        let is_new = time != self.moment || self.count >= MOST_GPUS;
        let is_closed = is_new && self.close(closed);
        if is_new {
            replace(&mut self.moment, time);
            replace(&mut self.service, row.service_name.unwrap_or(EMPTY));
        }
        self.count += 1;
        self.head.clear();
        for part in [
            br#"{"attributes":[{"key":"gpu_id","value":{"stringValue":"#,
            gpu,
            br#"}},{"key":"gpu_name","value":{"stringValue":"#,
            row.gpu_name.unwrap_or(EMPTY),
            br#"}}],"timeUnixNano":"#,
            time,
            br#","asInt":null,"asDouble":"#,
        ] {
            self.head.extend_from_slice(part);
        }
        for (points, value) in self.points.iter_mut().zip(row.values) {
            let Some(value) = value else { continue };
            if !points.is_empty() {
                points.push(b',');
            }
            points.extend_from_slice(&self.head);
            points.extend_from_slice(value);
            points.push(b'}');
        }
        is_closed
    }

    /// The collection at hand, if there is one.
    pub(crate) fn close(&mut self, json: &mut Vec<u8>) -> bool {
        if std::mem::take(&mut self.count) == 0 {
            return false;
        }
        json.clear();
        let mut put = |text: &[u8]| json.extend_from_slice(text);
        put(br#"{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"#);
        put(&self.service);
        put(br#"}},{"key":"run.id","value":{"stringValue":""#);
        // A run id has no character that JSON escapes.
        put(self.run.as_bytes());
        put(br#""}},{"key":"telemetry.sdk.name","value":{"stringValue":"wattspan"}},{"key":"telemetry.sdk.language","value":{"stringValue":"rust"}}]},"scopeMetrics":[{"scope":{"name":"wattspan","version":""#);
        put(env!("CARGO_PKG_VERSION").as_bytes());
        put(br#""},"metrics":["#);
        let mut first = true;
        for (metric, points) in METRICS.iter().zip(&mut self.points) {
            if points.is_empty() {
                continue;
            }
            if !std::mem::take(&mut first) {
                put(b",");
            }
            put(metric.head.as_bytes());
            put(points);
            put(metric.tail.as_bytes());
            points.clear();
        }
        put(b"]}]}");
        true
    }
}

fn replace(known: &mut Vec<u8>, with: &[u8]) {
    known.clear();
    known.extend_from_slice(with);
}

/// The columns that SMOLTRACE has, as the text that they are.
#[derive(Default)]
struct GpuRow<'a> {
    service_name: Option<&'a [u8]>,
    timestamp_unix_nano: Option<&'a [u8]>,
    gpu_id: Option<&'a [u8]>,
    gpu_name: Option<&'a [u8]>,
    /// In the order of [`METRICS`].
    values: [Option<&'a [u8]>; METRICS.len()],
}

impl<'a> GpuRow<'a> {
    fn of(row: &'a [u8]) -> Self {
        let mut found = Self::default();
        // These columns come first in our rows: what follows need not be looked at.
        let mut missing = 4 + METRICS.len();
        for (name, value) in members(row) {
            let place = match name {
                b"service_name" => &mut found.service_name,
                b"timestamp_unix_nano" => &mut found.timestamp_unix_nano,
                b"gpu_id" => &mut found.gpu_id,
                b"gpu_name" => &mut found.gpu_name,
                b"gpu_utilization_percent" => &mut found.values[0],
                b"gpu_memory_used_mib" => &mut found.values[1],
                b"gpu_memory_total_mib" => &mut found.values[2],
                b"gpu_temperature_celsius" => &mut found.values[3],
                b"gpu_power_watts" => &mut found.values[4],
                b"co2_emissions_gco2e" => &mut found.values[5],
                b"power_cost_usd" => &mut found.values[6],
                _ => continue,
            };
            *place = (value != b"null").then_some(value);
            missing -= 1;
            if missing == 0 {
                break;
            }
        }
        found
    }
}

const EMPTY: &[u8] = b"\"\"";

/// What stands before and behind a metric's points.
struct Metric {
    head: &'static str,
    tail: &'static str,
}

macro_rules! gauge {
    ($name:literal, $unit:literal, $description:literal) => {
        Metric {
            head: concat!(
                r#"{"name":""#,
                $name,
                r#"","description":""#,
                $description,
                r#"","unit":""#,
                $unit,
                r#"","gauge":{"dataPoints":["#
            ),
            tail: "]}}",
        }
    };
}

macro_rules! sum {
    ($name:literal, $unit:literal, $description:literal) => {
        Metric {
            head: concat!(
                r#"{"name":""#,
                $name,
                r#"","description":""#,
                $description,
                r#"","unit":""#,
                $unit,
                r#"","sum":{"dataPoints":["#
            ),
            // 2 is "cumulative" in the peer's own numbers.
            tail: r#"],"aggregationTemporality":2,"isMonotonic":true}}"#,
        }
    };
}

/// In the peer's order.
const METRICS: [Metric; 7] = [
    gauge!("gen_ai.gpu.utilization", "%", "Time in which the GPU was at work"),
    gauge!("gen_ai.gpu.memory.used", "MiB", "GPU memory in use"),
    gauge!("gen_ai.gpu.memory.total", "MiB", "All GPU memory"),
    gauge!("gen_ai.gpu.temperature", "Cel", "GPU core temperature"),
    gauge!("gen_ai.gpu.power", "W", "GPU power"),
    sum!("gen_ai.co2.emissions", "gCO2e", "Emissions of the GPU's energy"),
    sum!("gen_ai.power.cost", "USD", "Electricity cost of the GPU's energy"),
];
/// Rows that claim one moment beyond this number begin another collection, so that memory is bounded.
const MOST_GPUS: usize = 4_096;

/// Sums over results, as they pass by. Each result is one case and counts once.
#[derive(Default)]
pub(crate) struct Sums {
    results: u64,
    successful: u64,
    tool_calls: Histogram,
    steps: Histogram,
    tokens: Option<u64>,
    cost: Option<f64>,
    grams: Option<f64>,
}

#[derive(Default)]
struct Histogram {
    sum: i64,
    count: u64,
}

#[derive(Deserialize)]
struct ResultNumbers {
    success: Option<bool>,
    tools_used: Option<Vec<serde::de::IgnoredAny>>,
    steps: Option<i64>,
    total_tokens: Option<u64>,
    cost_usd: Option<f64>,
    co2_emissions_g: Option<f64>,
}

#[derive(Serialize)]
struct Aggregate {
    name: &'static str,
    r#type: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    unit: Option<&'static str>,
    data_points: [Point; 1],
}

#[derive(Serialize)]
struct Point {
    value: Value,
    attributes: Attributes,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Value {
    Count { value: Option<u64> },
    Number { value: Option<f64> },
    Histogram { sum: i64, count: u64, avg: Option<f64> },
}

#[derive(Default, Serialize)]
struct Attributes {
    #[serde(skip_serializing_if = "Option::is_none")]
    total_tests: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    success_rate: Option<f64>,
}

impl Sums {
    pub(crate) fn add(&mut self, row: &[u8]) {
        self.results += 1;
        let Ok(row) = serde_json::from_slice::<ResultNumbers>(row) else { return };
        self.successful += u64::from(row.success == Some(true));
        self.tool_calls.add(row.tools_used.and_then(|tools| i64::try_from(tools.len()).ok()));
        self.steps.add(row.steps);
        if let Some(tokens) = row.total_tokens {
            let sum = self.tokens.get_or_insert_default();
            *sum = sum.saturating_add(tokens);
        }
        if let Some(cost) = row.cost_usd {
            *self.cost.get_or_insert_default() += cost;
        }
        if let Some(grams) = row.co2_emissions_g {
            *self.grams.get_or_insert_default() += grams;
        }
    }

    pub(crate) fn json(&self) -> Vec<u8> {
        let item = |name, kind, unit, value| Aggregate {
            name,
            r#type: kind,
            unit,
            data_points: [Point { value, attributes: Attributes::default() }],
        };
        let mut successful =
            item("tests.successful", "counter", None, Value::Count { value: Some(self.successful) });
        successful.data_points[0].attributes = Attributes {
            total_tests: Some(self.results),
            success_rate: (self.results > 0).then(|| self.successful as f64 * 100.0 / self.results as f64),
        };
        let all = [
            successful,
            item("tests.tool_calls", "histogram", None, self.tool_calls.value()),
            item("tests.steps", "histogram", None, self.steps.value()),
            item("llm.token_count.total", "sum", Some("tokens"), Value::Count { value: self.tokens }),
            item("gen_ai.usage.cost.total", "sum", Some("USD"), Value::Number { value: self.cost }),
            item("gen_ai.co2.emissions", "sum", Some("gCO2e"), Value::Number { value: self.grams }),
        ];
        serde_json::to_vec(&all).expect("numbers and fixed names are always JSON")
    }
}

impl Histogram {
    fn add(&mut self, value: Option<i64>) {
        if let Some(value) = value {
            self.sum = self.sum.saturating_add(value);
            self.count += 1;
        }
    }

    fn value(&self) -> Value {
        let avg = (self.count > 0).then(|| self.sum as f64 / self.count as f64);
        Value::Histogram { sum: self.sum, count: self.count, avg }
    }
}
