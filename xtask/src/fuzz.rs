//! `cargo xtask fuzz [target] [--seconds N]`: libFuzzer on the stable toolchain.
//!
//! The package `fuzz/` stands outside the workspace, since its targets have no `main` of their own and its flags would
//! rebuild everything; its lock file is derived from the workspace's, so that the same versions are fuzzed as shipped.

use crate::Outcome;
use crate::process::{capture, cargo, program, root, run};
use std::path::PathBuf;

/// What cargo-fuzz passes on nightly, less the address sanitizer, which stable cannot build.
const FLAGS: &str = "--cfg fuzzing -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
    -Cllvm-args=-sanitizer-coverage-trace-compares -Ccodegen-units=1";

pub fn command(args: &[String]) -> Outcome {
    let (wanted, seconds) = arguments(args)?;
    let all = targets()?;
    let chosen: Vec<String> = match wanted {
        None => all,
        Some(name) if all.contains(&name) => vec![name],
        Some(name) => {
            return Err(format!("no fuzz target is called `{name}`; there are: {}", all.join(", ")));
        }
    };
    fuzz(&chosen, seconds)
}

/// The targets that `fuzz/Cargo.toml` names; none when the file is not there.
pub fn targets() -> Outcome<Vec<String>> {
    let path = root().join("fuzz/Cargo.toml");
    match std::fs::read_to_string(&path) {
        Ok(text) => binaries(&text).map_err(|e| format!("{}: {e}", path.display())),
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(e) => Err(format!("{}: {e}", path.display())),
    }
}

/// Runs each target for so many seconds; all run, and the error names those that found something.
pub fn fuzz(targets: &[String], seconds: u64) -> Outcome {
    if targets.is_empty() {
        println!("no fuzz targets in fuzz/Cargo.toml");
        return Ok(());
    }
    let folder = root().join("fuzz");
    std::fs::copy(root().join("Cargo.lock"), folder.join("Cargo.lock"))
        .map_err(|e| format!("cannot derive fuzz/Cargo.lock: {e}"))?;
    // With a `--target`, the flags do not reach build scripts, which have no libFuzzer to link with.
    let host = host()?;
    let output = root().join("target/fuzz");
    let mut build = cargo();
    build.args(["build", "--manifest-path", "fuzz/Cargo.toml", "--bins", "--target", &host, "--target-dir"]);
    build.arg(&output).env("RUSTFLAGS", FLAGS).env_remove("CARGO_ENCODED_RUSTFLAGS");
    run(&mut build)?;
    let mut failures = Vec::new();
    for target in targets {
        let corpus = folder.join("corpus").join(target);
        let artifacts = folder.join("artifacts").join(target);
        for made in [&corpus, &artifacts] {
            std::fs::create_dir_all(made).map_err(|e| format!("cannot create {}: {e}", made.display()))?;
        }
        let mut fuzzer = program(output.join(&host).join("debug").join(target));
        fuzzer.arg(format!("-max_total_time={seconds}")).arg("-timeout=10").arg("-print_final_stats=1");
        fuzzer.arg(format!("-artifact_prefix={}/", artifacts.display())).arg(&corpus);
        // Inputs that are kept in the repository: found faults, and samples of each format.
        let seeds: PathBuf = folder.join("seeds").join(target);
        if seeds.is_dir() {
            fuzzer.arg(seeds);
        }
        if let Err(e) = run(&mut fuzzer) {
            failures.push(format!("{target}: {e}; the input is in {}", artifacts.display()));
        }
    }
    if failures.is_empty() { Ok(()) } else { Err(failures.join("\n")) }
}

fn arguments(args: &[String]) -> Outcome<(Option<String>, u64)> {
    let (mut target, mut seconds) = (None, 60);
    let mut rest = args.iter();
    while let Some(arg) = rest.next() {
        if arg == "--seconds" {
            let value = rest.next().ok_or("--seconds needs a number")?;
            seconds = value.parse().map_err(|e| format!("--seconds {value}: {e}"))?;
        } else if arg.starts_with('-') || target.is_some() {
            return Err(format!("cannot make sense of `{arg}`: fuzz [target] [--seconds N]"));
        } else {
            target = Some(arg.clone());
        }
    }
    Ok((target, seconds))
}

fn binaries(manifest: &str) -> Outcome<Vec<String>> {
    let table: toml::Table = manifest.parse().map_err(|e: toml::de::Error| e.to_string())?;
    let bins = table.get("bin").and_then(toml::Value::as_array).map_or(&[][..], Vec::as_slice);
    let name = |bin: &toml::Value| bin.get("name").and_then(toml::Value::as_str).map(str::to_owned);
    bins.iter().map(|bin| name(bin).ok_or_else(|| "a [[bin]] has no name".to_owned())).collect()
}

fn host() -> Outcome<String> {
    let version = capture(program("rustc").arg("-vV"))?;
    let host = version.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(str::to_owned).ok_or_else(|| "`rustc -vV` names no host".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        text.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn target_and_seconds_come_in_any_order() {
        assert_eq!(arguments(&words("")), Ok((None, 60)));
        assert_eq!(arguments(&words("tape --seconds 5")), Ok((Some("tape".into()), 5)));
        assert_eq!(arguments(&words("--seconds 5 tape")), Ok((Some("tape".into()), 5)));
        for bad in ["--seconds", "--seconds soon", "a b", "--minutes 3"] {
            assert!(arguments(&words(bad)).is_err(), "{bad}");
        }
    }

    #[test]
    fn targets_are_the_named_binaries() {
        let manifest = "[package]\nname='f'\n[[bin]]\nname='tape'\npath='x.rs'\n[[bin]]\nname='ledger'\n";
        assert_eq!(binaries(manifest).unwrap(), ["tape", "ledger"]);
        assert_eq!(binaries("[package]\nname='f'\n").unwrap(), [""; 0]);
        assert!(binaries("[[bin]]\npath='x.rs'\n").is_err() && binaries("=").is_err());
    }
}
