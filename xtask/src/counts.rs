//! How many tests passed, failed and were skipped, and which failed, from the lines that test harnesses write.

use std::fmt;

/// Totals over any number of test binaries.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Counts {
    pub passed: u64,
    pub failed: u64,
    pub skipped: u64,
    /// The names of those that failed, and where they panicked, as the harness wrote it.
    failures: Vec<String>,
}

impl Counts {
    /// Adds what a line such as `test result: ok. 3 passed; 0 failed; 1 ignored; …` says; other lines say nothing.
    pub fn read(&mut self, line: &str) {
        let failed = line.starts_with("test ") && line.trim_end().ends_with("... FAILED");
        if failed || (line.starts_with("thread '") && line.contains(" panicked at ")) {
            self.failures.push(line.trim_end().to_owned());
        }
        let Some(result) = line.trim_start().strip_prefix("test result: ") else { return };
        let Some((_, counts)) = result.split_once(". ") else { return };
        for part in counts.split(';') {
            let mut words = part.split_whitespace();
            let Some(number) = words.next().and_then(|n| n.parse::<u64>().ok()) else { continue };
            match words.next() {
                Some("passed") => self.passed += number,
                Some("failed") => self.failed += number,
                Some("ignored") => self.skipped += number,
                _ => {}
            }
        }
    }

    /// Which tests failed, a line each, and where something panicked; that of a test that is meant to is among them.
    /// Empty when none failed.
    pub fn failures(&self) -> String {
        if self.failed == 0 {
            return String::new();
        }
        self.failures.iter().map(|line| format!("FAILED {line}\n")).collect()
    }
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} passed, {} failed, {} skipped", self.passed, self.failed, self.skipped)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(output: &str, expected: &str) {
        let mut counts = Counts::default();
        output.lines().for_each(|line| counts.read(line));
        assert_eq!(counts.to_string(), expected);
    }

    #[test]
    fn results_of_all_binaries_are_added_up() {
        check(
            "running 3 tests\n\
             test a ... ok\n\
             test result: ok. 3 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s\n\
             test result: FAILED. 10 passed; 2 failed; 1 ignored; 0 measured; 7 filtered out; finished in 1.20s\n\
             test result: ok. 0 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s\n",
            "13 passed, 2 failed, 1 skipped",
        );
    }

    #[test]
    fn those_that_failed_are_named() {
        let mut counts = Counts::default();
        let output = "test tests::good ... ok\ntest tests::bad ... FAILED\n\
             test a/lib.rs - (line 6) ... FAILED\n\
             thread 'tests::bad' (71) panicked at a/lib.rs:3:5:\n\
             test result: FAILED. 1 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out\n";
        output.lines().for_each(|line| counts.read(line));
        assert_eq!(
            counts.failures(),
            "FAILED test tests::bad ... FAILED\nFAILED test a/lib.rs - (line 6) ... FAILED\n\
             FAILED thread 'tests::bad' (71) panicked at a/lib.rs:3:5:\n"
        );
    }

    #[test]
    fn what_a_test_prints_is_no_result() {
        check(
            "5 passed; 1 failed\ntest result: who knows\nthe test result: ok. 9 passed",
            "0 passed, 0 failed, 0 skipped",
        );
    }
}
