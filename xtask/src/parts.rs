//! A command of several parts: each runs whether or not one before it failed, each is timed, and the end says all.

use crate::Outcome;
use std::time::{Duration, Instant};

/// What the whole test run may take on two cores before the report says so. It does not fail by the clock: machines
/// are noisy.
pub const BUDGET: Duration = Duration::from_secs(50 * 60);

#[derive(Debug, Default)]
pub struct Parts {
    done: Vec<Part>,
}

#[derive(Debug)]
struct Part {
    name: String,
    took: Duration,
    error: Option<String>,
}

impl Parts {
    pub fn run(&mut self, name: &str, work: impl FnOnce() -> Outcome) {
        println!("\n=== {name}");
        let start = Instant::now();
        let error = work().err();
        if let Some(error) = &error {
            eprintln!("{name}: {error}");
        }
        self.done.push(Part { name: name.to_owned(), took: start.elapsed(), error });
    }

    /// A table of minutes, the failed parts' reasons, and a remark when the whole took longer than [`BUDGET`].
    pub fn report(&self) -> String {
        let mut text = String::from("\nminutes  part\n");
        for part in &self.done {
            let mark = if part.error.is_some() { "  FAILED" } else { "" };
            text.push_str(&format!("{:>7.1}  {}{mark}\n", minutes(part.took), part.name));
        }
        let total = self.done.iter().map(|part| part.took).sum::<Duration>();
        text.push_str(&format!("{:>7.1}  all\n", minutes(total)));
        if total > BUDGET {
            text.push_str(&format!(
                "Over the budget of {:.0} minutes: cut or move something.\n",
                minutes(BUDGET)
            ));
        }
        for part in &self.done {
            if let Some(error) = &part.error {
                text.push_str(&format!("FAILED {}: {error}\n", part.name));
            }
        }
        text
    }

    /// An error that names the parts that failed.
    pub fn outcome(&self) -> Outcome {
        let failed: Vec<&str> =
            self.done.iter().filter(|part| part.error.is_some()).map(|part| part.name.as_str()).collect();
        if failed.is_empty() { Ok(()) } else { Err(format!("failed: {}", failed.join(", "))) }
    }
}

fn minutes(duration: Duration) -> f64 {
    duration.as_secs_f64() / 60.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(name: &str, seconds: u64, error: Option<&str>) -> Part {
        Part { name: name.into(), took: Duration::from_secs(seconds), error: error.map(str::to_owned) }
    }

    #[test]
    fn every_part_runs_and_the_failed_one_is_named() {
        let mut parts = Parts::default();
        parts.run("first", || Err("broke".into()));
        let mut ran = false;
        parts.run("second", || {
            ran = true;
            Ok(())
        });
        assert!(ran);
        assert_eq!(parts.outcome(), Err("failed: first".into()));
        assert!(parts.report().contains("FAILED first: broke"));
    }

    #[test]
    fn minutes_are_shown_and_the_budget_is_spoken_of_only_when_passed() {
        let within = Parts { done: vec![part("a", 90, None), part("b", 2_910, None)] };
        assert!(within.report().contains("    1.5  a\n   48.5  b\n   50.0  all\n"), "{}", within.report());
        assert!(!within.report().contains("budget"));
        let over = Parts { done: vec![part("a", 3_001, None)] };
        assert!(over.report().contains("budget of 50 minutes"));
        assert_eq!(over.outcome(), Ok(()));
    }
}
