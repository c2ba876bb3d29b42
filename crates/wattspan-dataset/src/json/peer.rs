//! The parts of `metrics.json` that SMOLTRACE's readers look for: the series in their nested form, and sums over results.
//!
//! One element of `resourceMetrics` is one moment, its metrics hold a point for each GPU. A value that is absent has no
//! point, and a metric without points is not there.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use wattspan_core::RunId;

/// Turns metric rows into collections, one for each moment.
pub(crate) struct Series {
    run: String,
    service: String,
    moment: String,
    points: [Vec<u8>; METRICS.len()],
    count: usize,
}

impl Series {
    pub(crate) fn new(run: &RunId) -> Self {
        let points = Default::default();
        Self { run: run.to_string(), service: String::new(), moment: String::new(), points, count: 0 }
    }

    /// Adds a row, and gives the collection before it when the row begins another. Rows that have no GPU are left out.
    pub(crate) fn add(&mut self, row: &[u8]) -> Option<Vec<u8>> {
        let row = serde_json::from_slice::<GpuRow<'_>>(row).ok()?;
        let (gpu, time) = (row.gpu_id?, row.timestamp_unix_nano?);
        let is_new = time.get() != self.moment || self.count >= MOST_GPUS;
        let closed = if is_new { self.close() } else { None };
        if is_new {
            time.get().clone_into(&mut self.moment);
            row.service_name.map_or("\"\"", RawValue::get).clone_into(&mut self.service);
        }
        self.count += 1;
        let values = [
            row.gpu_utilization_percent,
            row.gpu_memory_used_mib,
            row.gpu_memory_total_mib,
            row.gpu_temperature_celsius,
            row.gpu_power_watts,
            row.co2_emissions_gco2e,
            row.power_cost_usd,
        ];
        for (points, value) in self.points.iter_mut().zip(values) {
            let Some(value) = value else { continue };
            if !points.is_empty() {
                points.push(b',');
            }
            let mut put = |text: &str| points.extend_from_slice(text.as_bytes());
            put(r#"{"attributes":[{"key":"gpu_id","value":{"stringValue":"#);
            put(gpu.get());
            put(r#"}},{"key":"gpu_name","value":{"stringValue":"#);
            put(row.gpu_name.map_or("\"\"", RawValue::get));
            put(r#"}}],"timeUnixNano":"#);
            put(time.get());
            put(r#","asInt":null,"asDouble":"#);
            put(value.get());
            put("}");
        }
        closed
    }

    /// The collection at hand, if there is one.
    pub(crate) fn close(&mut self) -> Option<Vec<u8>> {
        if std::mem::take(&mut self.count) == 0 {
            return None;
        }
        let mut json = Vec::with_capacity(2_048);
        let mut put = |text: &[u8]| json.extend_from_slice(text);
        put(br#"{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"#);
        put(self.service.as_bytes());
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
            let (name, unit, description, is_sum) = metric;
            put(format!(r#"{{"name":"{name}","description":"{description}","unit":"{unit}","#).as_bytes());
            put(if *is_sum { br#""sum":{"dataPoints":["# } else { br#""gauge":{"dataPoints":["# });
            put(points);
            // 2 is "cumulative" in the peer's own numbers.
            put(if *is_sum { br#"],"aggregationTemporality":2,"isMonotonic":true}}"# } else { b"]}}" });
            points.clear();
        }
        put(b"]}]}");
        Some(json)
    }
}

/// The columns that SMOLTRACE has. Numbers stay the text that they are.
#[derive(Deserialize)]
struct GpuRow<'a> {
    #[serde(borrow, default)]
    service_name: Option<&'a RawValue>,
    #[serde(borrow, default)]
    timestamp_unix_nano: Option<&'a RawValue>,
    #[serde(borrow, default)]
    gpu_id: Option<&'a RawValue>,
    #[serde(borrow, default)]
    gpu_name: Option<&'a RawValue>,
    #[serde(borrow, default)]
    co2_emissions_gco2e: Option<&'a RawValue>,
    #[serde(borrow, default)]
    power_cost_usd: Option<&'a RawValue>,
    #[serde(borrow, default)]
    gpu_utilization_percent: Option<&'a RawValue>,
    #[serde(borrow, default)]
    gpu_memory_used_mib: Option<&'a RawValue>,
    #[serde(borrow, default)]
    gpu_memory_total_mib: Option<&'a RawValue>,
    #[serde(borrow, default)]
    gpu_temperature_celsius: Option<&'a RawValue>,
    #[serde(borrow, default)]
    gpu_power_watts: Option<&'a RawValue>,
}

/// Name, unit, description, and whether it is a sum, in the peer's order.
const METRICS: [(&str, &str, &str, bool); 7] = [
    ("gen_ai.gpu.utilization", "%", "Time in which the GPU was at work", false),
    ("gen_ai.gpu.memory.used", "MiB", "GPU memory in use", false),
    ("gen_ai.gpu.memory.total", "MiB", "All GPU memory", false),
    ("gen_ai.gpu.temperature", "Cel", "GPU core temperature", false),
    ("gen_ai.gpu.power", "W", "GPU power", false),
    ("gen_ai.co2.emissions", "gCO2e", "Emissions of the GPU's energy", true),
    ("gen_ai.power.cost", "USD", "Electricity cost of the GPU's energy", true),
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
