//! What the tests share.
#![allow(dead_code, reason = "each test file uses a part")]

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde_json::Value;
use wattspan_core::RunId;
use wattspan_dataset::MetricRow;

/// The sink never waits, so its futures are done when they are asked.
#[track_caller]
pub(crate) fn now<T>(future: impl Future<Output = T>) -> T {
    futures_util::FutureExt::now_or_never(future).expect("files are written without waiting")
}

pub(crate) fn run(id: &str) -> RunId {
    RunId::new(id).unwrap()
}

pub(crate) fn json(path: impl AsRef<Path>) -> Value {
    let text = std::fs::read_to_string(path.as_ref()).unwrap();
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.as_ref().display()))
}

/// Every path of keys in a document, with the types that stand there.
pub(crate) fn key_paths(value: &Value) -> BTreeMap<String, BTreeSet<&'static str>> {
    fn walk(value: &Value, path: &str, into: &mut BTreeMap<String, BTreeSet<&'static str>>) {
        let kind = match value {
            Value::Null => "null",
            Value::Bool(_) => "bool",
            Value::Number(_) => "number",
            Value::String(_) => "string",
            Value::Array(items) => {
                for item in items {
                    walk(item, &format!("{path}[]"), into);
                }
                "list"
            }
            Value::Object(values) => {
                for (key, value) in values {
                    walk(value, &format!("{path}.{key}"), into);
                }
                "object"
            }
        };
        into.entry(path.to_owned()).or_default().insert(kind);
    }
    let mut paths = BTreeMap::new();
    walk(value, "", &mut paths);
    paths
}

/// A row of one GPU at one moment, in seconds.
pub(crate) fn gpu_row(run: &str, index: usize, second: u64) -> MetricRow {
    let mut row = MetricRow::default();
    row.run_id = run.into();
    row.service_name = "demo".into();
    let time = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_767_225_600 + second);
    row.timestamp = time.into();
    row.timestamp_unix_nano = format!("{}000000000", 1_767_225_600 + second);
    row.gpu_id = Some(index.to_string());
    row.gpu_name = Some("NVIDIA A100-SXM4-40GB".to_owned());
    row.device_id = format!("GPU-{index:04}");
    row.device_kind = "gpu".into();
    row.device_is_counted = true;
    row.gpu_power_watts = Some(300.0);
    row.power_watts = Some(300.0);
    row.started_unix_nano = "1767225600000000000".into();
    row
}
