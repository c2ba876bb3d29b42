//! What an evaluation came to, for people and for programs.

use std::fmt::Write as _;

use serde_json::{Value, json};
use wattspan::core::{Grams, Joules, RunId, Usd};
use wattspan::eval::{Outcome, RunStatus};

pub(super) struct Told<'a> {
    run: &'a RunId,
    outcome: &'a Outcome,
    failed: Vec<String>,
    pushed: Value,
}

impl<'a> Told<'a> {
    pub(super) fn new(run: &'a RunId, outcome: &'a Outcome, failed: Vec<String>) -> Self {
        Self { run, outcome, failed, pushed: Value::Null }
    }

    pub(super) fn pushed(&mut self, places: &Value) {
        self.pushed = json!({ "places": places });
    }

    pub(super) fn not_pushed(&mut self, error: &str, again: &str) {
        self.pushed = json!({ "error": error, "again": again });
    }

    pub(super) fn json(&self) -> Value {
        json!({
            "type": "eval",
            "wattspan_version": env!("CARGO_PKG_VERSION"),
            "run_id": self.run.as_str(),
            "status": self.outcome.status.as_str(),
            "reason": self.outcome.reason,
            "folder": self.outcome.place,
            "made": self.outcome.made,
            "made_earlier": self.outcome.skipped,
            "not_passed": self.failed,
            "leaderboard": self.outcome.leaderboard,
            "pushed": self.pushed,
        })
    }

    /// Some lines for people.
    pub(super) fn text(&self) -> String {
        let (outcome, row) = (self.outcome, &self.outcome.leaderboard);
        let rate = row.success_rate.map_or_else(String::new, |rate| format!(" ({rate:.1} %)"));
        let mut text = format!(
            "wattspan: {} {}: {} of {} passed{rate}",
            self.run.as_str(),
            outcome.status.as_str(),
            row.successful_tests,
            row.total_tests,
        );
        if outcome.skipped > 0 {
            add(&mut text, format_args!(", {} of them made earlier", outcome.skipped));
        }
        if let Some(reason) = &outcome.reason {
            line(&mut text, "ended by", reason);
        }
        let tokens = [(row.total_prompt_tokens, "in"), (row.total_completion_tokens, "out")];
        let tokens = tokens.map(|(count, what)| format!("{} {what}", shown(count)));
        line(&mut text, "tokens", &tokens.join(", "));
        line(&mut text, "energy", &self.energy());
        let of_what = if row.inference_energy_j.is_none() { " (of the estimate)" } else { "" };
        let grams = row.inference_co2_g.and_then(Grams::new).map(|grams| format!("{grams}{of_what}"));
        line(&mut text, "emissions", &shown(grams));
        line(&mut text, "cost", &shown(row.total_cost_usd.and_then(Usd::new)));
        let seconds = |time: Option<f64>| time.map(|time| format!("{:.2} s", time / 1e3));
        let latency = format!(
            "{} (median), {} (p95)",
            shown(seconds(row.duration_p50_ms)),
            shown(seconds(row.duration_p95_ms))
        );
        line(&mut text, "a case", &latency);
        if !self.failed.is_empty() {
            let (first, rest) = self.failed.split_at(self.failed.len().min(SHOWN));
            let rest = if rest.is_empty() { String::new() } else { format!(" and {} more", rest.len()) };
            line(&mut text, "not passed", &format!("{}{rest}", first.join(", ")));
        }
        line(&mut text, "files", &outcome.place);
        if outcome.status != RunStatus::Completed {
            let again =
                format!("the same command with --run-id {} asks only what is missing", self.run.as_str());
            line(&mut text, "go on", &again);
        }
        text
    }

    fn energy(&self) -> String {
        let row = &self.outcome.leaderboard;
        let joules = |joules: f64| Joules::from_microjoules((joules * 1e6).round() as i128);
        let Some(measured) = row.inference_energy_j else {
            return match row.inference_energy_estimated_j {
                Some(estimated) => format!("– (estimated: {})", joules(estimated)),
                None => "–".to_owned(),
            };
        };
        let mut text = joules(measured).to_string();
        if let Some(bound) = row.inference_energy_uncertainty_j {
            add(&mut text, format_args!(" ± {}", joules(bound)));
        }
        if let Some(method) = &row.energy_method {
            add(&mut text, format_args!(" ({method})"));
        }
        if let Some(each) = row.joules_per_output_token {
            add(&mut text, format_args!(", {} per output token", joules(each)));
        }
        text
    }
}

/// Where a pushed run is.
pub(super) fn places(places: &Value) -> String {
    let mut text = "wattspan: pushed".to_owned();
    for (name, place) in places.as_object().into_iter().flatten() {
        line(&mut text, name, place.as_str().unwrap_or_default());
    }
    text
}

fn line(text: &mut String, name: &str, value: &str) {
    add(text, format_args!("\n  {name:<10} {value}"));
}

fn add(text: &mut String, more: std::fmt::Arguments<'_>) {
    // Writing to a string does not fail.
    let _ = text.write_fmt(more);
}

fn shown<T: ToString>(value: Option<T>) -> String {
    value.map_or_else(|| "–".to_owned(), |value| value.to_string())
}

/// More would push the rest off the screen.
const SHOWN: usize = 10;
