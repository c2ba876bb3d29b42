//! `cargo xtask tidy`: what the compiler does not check about the workspace. Each check is a pure function in its own
//! module; here the inputs are read and the findings printed.

mod docs;
mod examples;
mod graph;
mod length;
mod licences;
mod limits;

use crate::metadata::Metadata;
use crate::process::root;
use crate::{Outcome, codegen};
use std::path::{Path, PathBuf};

/// What is wrong, one line each.
type Findings = Vec<String>;

pub fn command(args: &[String]) -> Outcome {
    if let Some(extra) = args.first() {
        return Err(format!("tidy takes no arguments, got `{extra}`"));
    }
    run()
}

pub fn run() -> Outcome {
    let metadata = Metadata::load()?;
    let limits = limits::Limits::load()?;
    let checks: [(&str, Outcome<Findings>); 8] = [
        ("crate graph", Ok(graph::check(&metadata))),
        ("generated code", Ok(codegen::run(true).err().into_iter().collect())),
        ("crate examples", examples::check(&metadata)),
        ("names in docs", docs::check(&metadata)),
        ("default dependencies", limits.check_default_dependencies()),
        ("duplicate versions", Ok(limits.check_duplicates(&metadata))),
        ("licences", licences::check(&metadata)),
        ("file length", length::check(limits.source_lines)),
    ];
    let mut wrong = 0;
    for (name, result) in checks {
        let findings = result.unwrap_or_else(|e| vec![e]);
        println!("tidy: {name:<22} {}", if findings.is_empty() { "ok" } else { "FAILED" });
        for finding in &findings {
            println!("  {finding}");
        }
        wrong += findings.len();
    }
    if wrong == 0 { Ok(()) } else { Err(format!("tidy found {wrong} faults")) }
}

fn read(path: &Path) -> Outcome<String> {
    std::fs::read_to_string(path).map_err(|e| format!("cannot read {}: {e}", path.display()))
}

/// All files below the workspace's `folder` whose name ends so, sorted; build outputs and hidden folders are left out.
fn files(folder: &str, ending: &str) -> Outcome<Vec<PathBuf>> {
    let mut found = Vec::new();
    let start = root().join(folder);
    let mut open = if start.exists() { vec![start] } else { Vec::new() };
    while let Some(folder) = open.pop() {
        let fail = |e: std::io::Error| format!("cannot read {}: {e}", folder.display());
        for entry in std::fs::read_dir(&folder).map_err(fail)? {
            let path = entry.map_err(fail)?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if path.is_dir() {
                if name != "target" && !name.starts_with('.') {
                    open.push(path);
                }
            } else if name.ends_with(ending) {
                found.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}

/// The path as it stands in the repository.
fn shown(path: &Path) -> String {
    path.strip_prefix(root()).unwrap_or(path).display().to_string()
}
