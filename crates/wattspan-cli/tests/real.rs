//! `wattspan eval` on a real llama-server with a real, small model.
#![cfg(target_os = "linux")]

mod support;

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};
use support::{Gpus, get, run};
use wattspan_testkit::{LlamaOptions, LlamaServer};

const CASES: usize = 20;

/// Questions of different lengths; what a small model makes of them does not matter here.
fn cases() -> String {
    let case = |number: usize| {
        let prompt = format!(
            "Count from {number} to {}, then say a word about {}.",
            number + 3,
            "numbers ".repeat(number % 4)
        );
        json!({ "id": format!("case-{number}"), "prompt": prompt, "expected": number.to_string() })
            .to_string()
            + "\n"
    };
    (1..=CASES).map(case).collect()
}

struct Bench {
    folder: tempfile::TempDir,
    gpus: Gpus,
    server: LlamaServer,
}

impl Bench {
    fn eval(&self) -> Command {
        let mut command = self.gpus.wattspan(&["eval", "--json", "--temperature", "0"]);
        command.args(["--max-new-tokens", "4", "--seed", "1", "--base-url", &self.server.url()]);
        command.arg("--cases").arg(self.folder.path().join("cases.jsonl"));
        command.arg("--output-dir").arg(self.folder.path().join("runs")).env("HOME", self.folder.path());
        command
    }

    /// The server's own count of tokens: of prompts that it computed, and those that it made.
    fn counted(&self) -> (u64, u64) {
        let page = get(&format!("127.0.0.1:{}", self.server.port()), "/metrics");
        let counter = |name: &str| {
            let line = page
                .lines()
                .find(|line| line.starts_with(name))
                .unwrap_or_else(|| panic!("{name} in {page}"));
            line.rsplit(' ').next().unwrap().parse::<f64>().unwrap() as u64
        };
        (counter("llamacpp:prompt_tokens_total "), counter("llamacpp:tokens_predicted_total "))
    }
}

fn table(folder: &Path, name: &str) -> Value {
    serde_json::from_str(&std::fs::read_to_string(folder.join(name)).unwrap()).unwrap()
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is a number"))
}

/// Sum of a column, whose every cell is there.
fn sum(rows: &[Value], column: &str) -> f64 {
    rows.iter().map(|row| number(&row[column])).sum()
}

/// What must hold of each run: its files agree with each other.
fn agree(told: &Value) -> Vec<Value> {
    let folder = PathBuf::from(told["folder"].as_str().unwrap());
    let results = table(&folder, "results.json").as_array().unwrap().clone();
    let row = table(&folder, "leaderboard_row.json");
    assert_eq!(results.len(), CASES);
    let mut ids: Vec<&str> = results.iter().map(|row| row["task_id"].as_str().unwrap()).collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), CASES, "each case once");
    assert_eq!(number(&row["total_tokens"]), sum(&results, "total_tokens"));
    assert!((number(&row["inference_energy_j"]) - sum(&results, "energy_j")).abs() < 1e-6, "{row}");
    assert_eq!(row["total_tests"], CASES);
    let traces = table(&folder, "traces.json");
    let traces = traces.as_array().unwrap();
    let of_results: Vec<&Value> = results.iter().map(|row| &row["trace_id"]).collect();
    assert!(traces.len() == CASES && traces.iter().all(|trace| of_results.contains(&&trace["trace_id"])));
    results
}

#[test]
fn the_files_of_twenty_cases_agree_with_each_other_and_with_the_server() {
    let server = LlamaServer::start(&LlamaOptions::default()).unwrap();
    let bench = Bench { folder: tempfile::tempdir().unwrap(), gpus: Gpus::steady(), server };
    std::fs::write(bench.folder.path().join("cases.jsonl"), cases()).unwrap();

    let before = bench.counted();
    let ended = run(&mut bench.eval());
    let after = bench.counted();
    assert!(matches!(ended.code, Some(0 | 1)), "{}", ended.stderr);
    let whole = agree(&ended.json());
    let made = sum(&whole, "output_tokens") as u64;
    assert_eq!(made, after.1 - before.1, "the server made as many");
    // Of a prompt it computes what its cache has not.
    let cached = whole.iter().filter_map(|row| row["cache_read_tokens"].as_u64()).sum::<u64>();
    let asked = (sum(&whole, "total_tokens") as u64) - made;
    assert_eq!(asked - cached, after.0 - before.0, "the server computed as many");
}
