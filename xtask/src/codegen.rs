//! `codegen`: writes what is derived from the registries of `wattspan-semconv`: its tables and `docs/conventions.md`.
//!
//! The output depends on the two JSON files only, so that the same input gives the same bytes. Rust text goes through
//! rustfmt with the workspace's settings. Depends on no crate of ours: it must run while they do not compile.

mod docs;
mod input;
mod keys;
mod lookup;
mod names;
mod rust;
mod scope;
mod tables;

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use input::Input;

const CRATE: &str = "crates/wattspan-semconv";

/// Writes the generated files, or with `check` only compares them.
///
/// # Errors
/// A registry that cannot be read or does not fit, rustfmt missing, a file that cannot be written; with `check`, the
/// names of the files that differ.
pub(crate) fn run(check: bool) -> Result<(), String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().ok_or("xtask has no parent folder")?;
    run_in(root, check)
}

fn run_in(root: &Path, check: bool) -> Result<(), String> {
    let outputs = outputs(root)?;
    let mut stale = Vec::new();
    for (path, text) in &outputs {
        let full = root.join(path);
        if fs::read_to_string(&full).is_ok_and(|old| old == *text) {
            continue;
        }
        if check {
            stale.push(path.display().to_string());
        } else {
            fs::write(&full, text).map_err(|error| format!("cannot write {}: {error}", full.display()))?;
        }
    }
    if stale.is_empty() {
        Ok(())
    } else {
        Err(format!(
            "generated files differ from their input, run `cargo xtask codegen`: {}",
            stale.join(", ")
        ))
    }
}

/// Every generated file with its text.
fn outputs(root: &Path) -> Result<Vec<(PathBuf, String)>, String> {
    let registry = root.join(CRATE).join("registry");
    let input = Input::read(&registry.join("semconv.json"), &registry.join("wattspan.json"))?;
    let keys = keys::keys(&input)?;
    let generated = Path::new(CRATE).join("src/generated");
    let mut outputs = Vec::new();
    for (name, text) in rust::files(&input, &keys)? {
        outputs.push((generated.join(name), rustfmt(root, &text)?));
    }
    outputs.push((PathBuf::from("docs/conventions.md"), docs::conventions(&input, &keys)));
    Ok(outputs)
}

fn rustfmt(root: &Path, text: &str) -> Result<String, String> {
    let failed = |error: std::io::Error| {
        format!("cannot run rustfmt, install it with `rustup component add rustfmt`: {error}")
    };
    let mut child = Command::new("rustfmt")
        .arg("--edition=2024")
        .arg("--config-path")
        .arg(root.join("rustfmt.toml"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(failed)?;
    let mut stdin = child.stdin.take().ok_or("rustfmt has no standard input")?;
    // rustfmt reads all of its input before it writes, so one thread is enough.
    stdin.write_all(text.as_bytes()).map_err(failed)?;
    drop(stdin);
    let output = child.wait_with_output().map_err(failed)?;
    if !output.status.success() {
        return Err(format!(
            "rustfmt refused the generated code: {}",
            String::from_utf8_lossy(&output.stderr)
        ));
    }
    String::from_utf8(output.stdout).map_err(|error| format!("rustfmt wrote no UTF-8: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checked_in_files_are_what_codegen_writes() {
        assert_eq!(run(true), Ok(()));
    }

    #[test]
    fn the_same_input_gives_the_same_bytes() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        assert_eq!(outputs(root).unwrap(), outputs(root).unwrap());
    }

    #[test]
    fn a_file_that_differs_is_named_and_left_alone() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        let copy = std::env::temp_dir().join(format!("wattspan-codegen-{}", std::process::id()));
        for (path, text) in outputs(root).unwrap() {
            fs::create_dir_all(copy.join(&path).parent().unwrap()).unwrap();
            fs::write(copy.join(&path), text).unwrap();
        }
        let registry = Path::new(CRATE).join("registry");
        fs::create_dir_all(copy.join(&registry)).unwrap();
        for name in ["semconv.json", "wattspan.json"] {
            fs::copy(root.join(&registry).join(name), copy.join(&registry).join(name)).unwrap();
        }
        fs::copy(root.join("rustfmt.toml"), copy.join("rustfmt.toml")).unwrap();
        assert_eq!(run_in(&copy, true), Ok(()));

        let changed = copy.join(CRATE).join("src/generated/attr.rs");
        fs::write(&changed, "// edited by hand\n").unwrap();
        let error = run_in(&copy, true).unwrap_err();
        assert!(error.ends_with("crates/wattspan-semconv/src/generated/attr.rs"), "{error}");
        assert_eq!(fs::read_to_string(&changed).unwrap(), "// edited by hand\n");

        assert_eq!(run_in(&copy, false), Ok(()));
        assert_eq!(run_in(&copy, true), Ok(()));
        fs::remove_dir_all(&copy).unwrap();
    }
}
