//! `cargo xtask test`: the one test command. All parts run, also after one failed; the last line is the real count of
//! tests over all runs.

use crate::counts::Counts;
use crate::parts::Parts;
use crate::process::{cargo, run, run_reading};
use crate::{Outcome, features, fuzz, setup, tidy};

/// One part: its name on the command line and in the report, and what it does.
type Part = (&'static str, fn(&mut Counts) -> Outcome);

const PARTS: &[Part] = &[
    ("setup", |_| setup::run()),
    ("fmt", |_| fmt()),
    ("tidy", |_| tidy::run()),
    ("clippy", |_| clippy()),
    ("features", |_| features::check()),
    // Without `--benches`: those are compiled to run by `cargo xtask bench` only.
    ("tests", |counts| tests(&["--lib", "--bins", "--tests", "--examples", "--no-fail-fast"], counts)),
    ("doc-tests", |counts| tests(&["--doc", "--no-fail-fast"], counts)),
    ("docs", |_| docs()),
    ("fuzz", |_| fuzz::fuzz(&fuzz::targets()?, FUZZ_SECONDS)),
];

/// The one feature set of everything that this command builds: all that can be built without a vendor's SDK. llama.cpp is
/// compiled once for it.
const FEATURES: &str = "wattspan-carbon/live,wattspan-dataset/spans,wattspan-eval/llama-cpp,wattspan-examples/llama-cpp,\
    wattspan-llama-cpp/llama-cpp,wattspan-llama-server/middleware,wattspan-otel/console,wattspan-otel/prometheus,wattspan-otel/tracing,\
    wattspan-tests/llama-cpp,wattspan/full";

/// Each target, in every test run; `cargo xtask fuzz` takes longer.
const FUZZ_SECONDS: u64 = 10;

/// `test [part…]`: all parts, or those named.
pub fn command(args: &[String]) -> Outcome {
    let chosen = choose(args)?;
    let (mut parts, mut counts) = (Parts::default(), Counts::default());
    for (name, work) in chosen {
        parts.run(name, || work(&mut counts));
    }
    print!("{}{}", parts.report(), counts.failures());
    let outcome = parts.outcome();
    if let Err(failed) = &outcome {
        println!("{failed}");
    }
    // Last of all output, so that whoever reads it finds the counts there.
    println!("{counts}");
    outcome.map_err(|_| String::new())
}

fn choose(names: &[String]) -> Outcome<Vec<Part>> {
    if names.is_empty() {
        return Ok(PARTS.to_vec());
    }
    let find = |name: &String| PARTS.iter().find(|(known, _)| known == name).copied();
    let there: Vec<&str> = PARTS.iter().map(|(name, _)| *name).collect();
    names
        .iter()
        .map(|name| {
            find(name).ok_or_else(|| format!("no part is called `{name}`; there are: {}", there.join(", ")))
        })
        .collect()
}

fn fmt() -> Outcome {
    run(cargo().args(["fmt", "--all", "--check"]))?;
    if fuzz::targets()?.is_empty() {
        return Ok(());
    }
    run(cargo().args(["fmt", "--manifest-path", "fuzz/Cargo.toml", "--check"]))
}

fn clippy() -> Outcome {
    let what = ["clippy", "--locked", "--workspace", "--features", FEATURES, "--all-targets"];
    run(cargo().args(what).args(["--", "-D", "warnings"]))
}

fn tests(what: &[&str], counts: &mut Counts) -> Outcome {
    let mut command = cargo();
    command.args(["test", "--locked", "--workspace", "--features", FEATURES]).args(what);
    run_reading(&mut command, |line| counts.read(line))
}

fn docs() -> Outcome {
    let what = ["doc", "--locked", "--workspace", "--no-deps", "--features", FEATURES];
    run(cargo().env("RUSTDOCFLAGS", "-D warnings").args(what))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_chosen_by_name_and_all_without_one() {
        assert_eq!(choose(&[]).unwrap().len(), PARTS.len());
        let two = choose(&["docs".to_owned(), "fmt".to_owned()]).unwrap();
        assert_eq!(two.iter().map(|(name, _)| *name).collect::<Vec<_>>(), ["docs", "fmt"]);
        assert!(choose(&["tets".to_owned()]).is_err_and(|e| e.contains("doc-tests")));
    }
}
