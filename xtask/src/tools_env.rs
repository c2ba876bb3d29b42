//! The file `.tools/env`: where `setup` found or put things, as `KEY=VALUE` lines that later commands hand to their
//! children. A variable that the user has set stays as it is.

use crate::Outcome;
use crate::process::root;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Command;

/// Variables for child processes, sorted so that the file is the same for the same machine.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct ToolsEnv {
    values: BTreeMap<String, String>,
}

impl ToolsEnv {
    /// What `setup` recorded; empty before its first run.
    pub fn load() -> Self {
        std::fs::read_to_string(path()).map(|text| Self::parse(&text)).unwrap_or_default()
    }

    /// Blank lines and `#` lines are skipped; a value is the rest of its line, unquoted.
    pub fn parse(text: &str) -> Self {
        let lines = text.lines().map(str::trim).filter(|line| !line.starts_with('#'));
        let values = lines.filter_map(|line| line.split_once('='));
        Self { values: values.map(|(k, v)| (k.trim().to_owned(), v.trim().to_owned())).collect() }
    }

    pub fn set(&mut self, key: &str, value: impl Into<String>) {
        self.values.insert(key.to_owned(), value.into());
    }

    pub fn to_text(&self) -> String {
        let mut text = String::from("# Written by `cargo xtask setup`.\n");
        for (key, value) in &self.values {
            text.push_str(&format!("{key}={value}\n"));
        }
        text
    }

    /// Gives `command` every variable that this process's environment does not have.
    pub fn apply(&self, command: &mut Command) {
        for (key, value) in &self.values {
            if std::env::var_os(key).is_none() {
                command.env(key, value);
            }
        }
    }

    /// Writes the file unless it says the same already.
    pub fn store(&self) -> Outcome {
        let (path, text) = (path(), self.to_text());
        if std::fs::read_to_string(&path).is_ok_and(|old| old == text) {
            return Ok(());
        }
        std::fs::write(&path, text).map_err(|e| format!("cannot write {}: {e}", path.display()))
    }
}

fn path() -> PathBuf {
    root().join(".tools/env")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_back() {
        let mut env = ToolsEnv::default();
        env.set("WATTSPAN_MODEL", "/some where/model.gguf");
        env.set("BINDGEN_EXTRA_CLANG_ARGS", "-I/usr/lib/gcc/include -DX=1");
        assert_eq!(ToolsEnv::parse(&env.to_text()), env);
    }

    #[test]
    fn remarks_and_lines_without_a_value_are_skipped() {
        let env = ToolsEnv::parse("# A=1\n\nnonsense\n B = 2 \n");
        assert_eq!(env.values, BTreeMap::from([("B".to_owned(), "2".to_owned())]));
    }
}
