//! What the tests share.
#![allow(dead_code, reason = "each test file uses a part")]

pub(crate) mod devtools;
pub(crate) mod fixture;

use std::path::Path;

use serde_json::Value;
use wattspan_report::{Format, Report};

/// A file of a run, by another reader than ours.
#[track_caller]
pub(crate) fn json(folder: &Path, name: &str) -> Value {
    let text = std::fs::read_to_string(folder.join(name)).unwrap();
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{name}: {error}"))
}

pub(crate) fn written(report: &Report, format: Format) -> String {
    let mut out = Vec::new();
    report.write(format, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

/// The rows of a CSV text (RFC 4180), by a reader of the test's own.
pub(crate) fn csv(text: &str) -> Vec<Vec<String>> {
    let (mut rows, mut row, mut cell, mut quoted) = (Vec::new(), Vec::new(), String::new(), false);
    let mut chars = text.chars().peekable();
    while let Some(char) = chars.next() {
        match char {
            '"' if quoted && chars.peek() == Some(&'"') => {
                chars.next();
                cell.push('"');
            }
            '"' => quoted = !quoted,
            ',' if !quoted => row.push(std::mem::take(&mut cell)),
            '\n' if !quoted => {
                row.push(std::mem::take(&mut cell));
                rows.push(std::mem::take(&mut row));
            }
            other => cell.push(other),
        }
    }
    rows
}

/// What the files say a run comes to, worked out from `results.json` and `metrics.json` alone. Names are columns.
pub(crate) fn expected(folder: &Path) -> Vec<(&'static str, f64)> {
    let results = json(folder, "results.json");
    let results = results.as_array().unwrap();
    let column = |name: &str| -> Vec<f64> { results.iter().filter_map(|row| row[name].as_f64()).collect() };
    let sum = |name: &str| column(name).iter().sum::<f64>();
    let passed = results.iter().filter(|row| row["success"] == true).count() as f64;
    let both: Vec<(f64, f64)> = results
        .iter()
        .filter_map(|row| Some((row["energy_j"].as_f64()?, row["output_tokens"].as_f64()?)))
        .collect();
    let per_token = both.iter().map(|(energy, _)| energy).sum::<f64>()
        / both.iter().map(|(_, tokens)| tokens).sum::<f64>();
    vec![
        ("total_tests", results.len() as f64),
        ("success_rate", passed / results.len() as f64 * 100.0),
        ("inference_energy_j", sum("energy_j")),
        ("inference_energy_estimated_j", sum("energy_estimated_j")),
        ("joules_per_output_token", per_token),
        ("tokens_per_second", sum("output_tokens") / sum("execution_time_ms") * 1e3),
        ("inference_co2_g", sum("co2_emissions_g")),
        ("total_cost_usd", sum("cost_usd")),
        ("total_completion_tokens", sum("output_tokens")),
        ("total_duration_ms", sum("execution_time_ms")),
        ("device_energy_j", device_energy(folder, "energy_j", None)),
    ]
}

/// Energy of a column over a run, of one device or of all that count: the last row of each collector's counting.
pub(crate) fn device_energy(folder: &Path, column: &str, device: Option<&str>) -> f64 {
    let metrics = json(folder, "metrics.json");
    let mut latest = std::collections::BTreeMap::new();
    for row in metrics["rows"].as_array().unwrap() {
        let id = row["device_id"].as_str().unwrap();
        let wanted = device.map_or(row["device_is_counted"] == true, |device| device == id);
        if let (true, Some(value)) = (wanted, row[column].as_f64()) {
            latest.insert((id.to_owned(), row["started_unix_nano"].as_str().unwrap().to_owned()), value);
        }
    }
    latest.values().sum()
}

#[track_caller]
pub(crate) fn near(found: f64, expected: f64, what: &str) {
    let close = (found - expected).abs() <= 1e-9 * expected.abs().max(1e-9) + 1e-5;
    assert!(close, "{what}: {found} for {expected}");
}
