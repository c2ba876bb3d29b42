//! Which feature sets of the facade the test command checks beyond the workspace's own.

use crate::Outcome;
use crate::metadata::Metadata;
use crate::process::{cargo, run};
use std::collections::BTreeSet;

/// Two more than the default and the full set, picked because they meet in code: each is checked on its own. All
/// features singly are the slow `check-all`.
const OTHERS: &[&[&str]] = &[&["nvidia", "otel"], &["carbon-live", "host", "llama-server"]];

/// Clippy over the facade with each set: what compiles only thanks to a neighbour's features fails here.
pub fn check() -> Outcome {
    let metadata = Metadata::load()?;
    let facade = metadata.member("wattspan").ok_or("the workspace has no package `wattspan`")?;
    for set in sets(&facade.features, OTHERS)? {
        let mut clippy = cargo();
        clippy.args(["clippy", "--locked", "--package", "wattspan"]).args(set).args(["--", "-D", "warnings"]);
        run(&mut clippy)?;
    }
    rocm_smi()
}

/// The back-end that links a vendor's library at build time, where that library is.
fn rocm_smi() -> Outcome {
    if !std::path::Path::new(crate::setup::ROCM_SMI_HEADER).is_file() {
        println!("The ROCm SMI back-end is not checked: its library is not installed here.");
        return Ok(());
    }
    let package = ["--locked", "--package", "wattspan-amd", "--features", "rocm-smi"];
    run(cargo().arg("clippy").args(package).args(["--all-targets", "--", "-D", "warnings"]))?;
    run(cargo().arg("test").args(package).args(["--lib", "rocm_smi"]))
}

/// Cargo's arguments for: nothing, the default, `full` where the facade has it, and `others`.
fn sets(features: &BTreeSet<String>, others: &[&[&str]]) -> Outcome<Vec<Vec<String>>> {
    let mut sets = vec![vec!["--no-default-features".to_owned()], Vec::new()];
    let full: &[&str] = &["full"];
    let full = features.contains("full").then_some(full);
    for set in full.into_iter().chain(others.iter().copied()) {
        if let Some(unknown) = set.iter().find(|name| !features.contains(**name)) {
            return Err(format!("wattspan has no feature `{unknown}`, which xtask/src/features.rs names"));
        }
        sets.push(vec!["--no-default-features".into(), "--features".into(), set.join(",")]);
    }
    Ok(sets)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn full_is_checked_where_it_exists_and_unknown_features_are_named() {
        let features: BTreeSet<String> = ["default", "full", "host", "otel"].map(str::to_owned).into();
        let args: Vec<String> =
            sets(&features, &[&["host", "otel"]]).unwrap().iter().map(|set| set.join(" ")).collect();
        let bare = "--no-default-features";
        let expected = [
            bare.to_owned(),
            String::new(),
            format!("{bare} --features full"),
            format!("{bare} --features host,otel"),
        ];
        assert_eq!(args, expected);
        assert_eq!(sets(&BTreeSet::new(), &[]).unwrap().len(), 2);
        assert!(sets(&features, &[&["hots"]]).unwrap_err().contains("`hots`"));
    }
}
