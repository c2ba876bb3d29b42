//! Where the real peers of the end-to-end tests are: set in the environment, or recorded by `cargo xtask setup`.

use std::path::{Path, PathBuf};

/// A peer that is not there.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what}: {reason}; run `cargo xtask setup`, or name it in {variable}")]
pub struct MissingPeer {
    what: &'static str,
    variable: &'static str,
    reason: String,
}

/// The Python that has the packages which the tests use.
///
/// # Panics
/// When it is not there; the message names `cargo xtask setup`.
#[track_caller]
pub fn python() -> PathBuf {
    find("a Python with the tests' packages", "WATTSPAN_PYTHON").unwrap_or_else(|missing| panic!("{missing}"))
}

/// A small language model, as a GGUF file.
///
/// # Panics
/// When it is not there; the message names `cargo xtask setup`.
#[track_caller]
pub fn model() -> PathBuf {
    find("a small language model", "WATTSPAN_MODEL").unwrap_or_else(|missing| panic!("{missing}"))
}

/// The `rotel` program, an OTLP receiver.
///
/// # Panics
/// When it is not there; the message names `cargo xtask setup`.
#[track_caller]
pub fn rotel() -> PathBuf {
    find("the OTLP receiver `rotel`", "WATTSPAN_ROTEL").unwrap_or_else(|missing| panic!("{missing}"))
}

/// Headless Chromium, which opens reports.
///
/// # Panics
/// When it is not there; the message names `cargo xtask setup`.
#[track_caller]
pub fn chromium() -> PathBuf {
    find("headless Chromium", "WATTSPAN_CHROMIUM").unwrap_or_else(|missing| panic!("{missing}"))
}

/// The `osmem-server` program, a stand-in for an OpenSearch cluster.
///
/// # Panics
/// When it is not there; the message names `cargo xtask setup`.
#[track_caller]
pub fn osmem() -> PathBuf {
    find("the OpenSearch stand-in `osmem-server`", "WATTSPAN_OSMEM")
        .unwrap_or_else(|missing| panic!("{missing}"))
}

/// A peer by the name of its variable, from the environment first and the recorded ones then.
///
/// # Errors
/// When neither names a file that is there.
pub fn find(what: &'static str, variable: &'static str) -> Result<PathBuf, MissingPeer> {
    let recorded = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.tools/env");
    let recorded = std::fs::read_to_string(recorded).unwrap_or_default();
    choose(what, variable, std::env::var_os(variable).map(PathBuf::from), &recorded)
}

fn choose(
    what: &'static str,
    variable: &'static str,
    set: Option<PathBuf>,
    recorded: &str,
) -> Result<PathBuf, MissingPeer> {
    let missing = |reason| Err(MissingPeer { what, variable, reason });
    let set = set.filter(|path| !path.as_os_str().is_empty());
    let Some(path) = set.or_else(|| value(recorded, variable).map(PathBuf::from)) else {
        return missing("nothing says where it is".to_owned());
    };
    if path.is_file() { Ok(path) } else { missing(format!("{} is not there", path.display())) }
}

/// The value of a key among `KEY=VALUE` lines.
fn value<'a>(lines: &'a str, key: &str) -> Option<&'a str> {
    let pairs = lines.lines().filter_map(|line| line.split_once('='));
    pairs
        .filter(|(name, _)| name.trim() == key)
        .map(|(_, value)| value.trim())
        .find(|value| !value.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FakeTree;

    #[test]
    fn the_environment_goes_before_what_was_recorded() {
        let tree = FakeTree::new().file("bin/one", "").file("bin/two", "");
        let recorded =
            format!("# made by setup\nOTHER=/x\nWATTSPAN_ROTEL={}\n", tree.path("bin/one").display());
        let found = |set: Option<PathBuf>| choose("rotel", "WATTSPAN_ROTEL", set, &recorded).unwrap();
        assert_eq!(found(None), tree.path("bin/one"));
        assert_eq!(found(Some(PathBuf::new())), tree.path("bin/one"), "an empty variable is unset");
        assert_eq!(found(Some(tree.path("bin/two"))), tree.path("bin/two"));
    }

    #[test]
    fn a_missing_peer_says_how_to_get_it() {
        for (set, recorded) in
            [(None, ""), (None, "WATTSPAN_MODEL=\n"), (Some(PathBuf::from("/nowhere.gguf")), "")]
        {
            let missing = choose("a model", "WATTSPAN_MODEL", set, recorded).unwrap_err().to_string();
            assert!(missing.contains("cargo xtask setup") && missing.contains("WATTSPAN_MODEL"), "{missing}");
        }
    }
}
