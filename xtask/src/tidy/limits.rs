//! The recorded numbers of `xtask/limits.toml` that may only grow on purpose.

use super::{Findings, read};
use crate::Outcome;
use crate::metadata::Metadata;
use crate::process::{capture, cargo, root};
use std::collections::{BTreeMap, BTreeSet};

#[derive(Debug, PartialEq, Eq)]
pub struct Limits {
    default_dependencies: usize,
    duplicate_versions: usize,
    pub source_lines: usize,
}

impl Limits {
    pub fn load() -> Outcome<Self> {
        Self::parse(&read(&root().join("xtask/limits.toml"))?).map_err(|e| format!("xtask/limits.toml: {e}"))
    }

    fn parse(text: &str) -> Outcome<Self> {
        let table: toml::Table = text.parse().map_err(|e: toml::de::Error| e.to_string())?;
        let number = |key: &str| {
            let value =
                table.get(key).and_then(toml::Value::as_integer).and_then(|n| usize::try_from(n).ok());
            value.ok_or_else(|| format!("`{key}` must be a whole number"))
        };
        Ok(Self {
            default_dependencies: number("default_dependencies")?,
            duplicate_versions: number("duplicate_versions")?,
            source_lines: number("source_lines")?,
        })
    }

    pub fn check_default_dependencies(&self) -> Outcome<Findings> {
        // One target, so that the number is the same on every machine.
        let tree =
            capture(
                cargo()
                    .args(["tree", "--locked", "--package", "wattspan", "--edges", "normal,build"])
                    .args(["--prefix", "none", "--format", "{p}", "--target", "x86_64-unknown-linux-gnu"]),
            )?;
        let names = foreign_crates(&tree);
        let shown = names.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
        Ok(compare("default_dependencies", names.len(), self.default_dependencies, &shown))
    }

    pub fn check_duplicates(&self, metadata: &Metadata) -> Findings {
        let packages = metadata.packages.iter().map(|p| (p.name.as_str(), p.version.as_str()));
        let duplicates = duplicates(packages);
        let count = duplicates.values().map(|versions| versions.len() - 1).sum();
        let shown: Vec<String> = duplicates
            .iter()
            .map(|(n, v)| format!("{n} {}", v.iter().copied().collect::<Vec<_>>().join(" ")))
            .collect();
        compare("duplicate_versions", count, self.duplicate_versions, &shown.join(", "))
    }
}

/// More than recorded is a fault; less is good news that is told and not enforced.
fn compare(key: &str, is: usize, recorded: usize, which: &str) -> Findings {
    if is > recorded {
        return vec![format!("{key} is {is}, recorded in xtask/limits.toml is {recorded}: {which}")];
    }
    if is < recorded {
        println!("  {key} is {is}: lower the {recorded} that xtask/limits.toml records");
    }
    Vec::new()
}

/// Names and versions in `cargo tree --prefix none`, each once, without the workspace's own.
fn foreign_crates(tree: &str) -> BTreeSet<String> {
    let ours = |line: &str| line.starts_with("wattspan ") || line.starts_with("wattspan-");
    let lines = tree.lines().map(str::trim).filter(|line| !line.is_empty() && !ours(line));
    lines.map(|line| line.split_whitespace().take(2).collect::<Vec<_>>().join(" ")).collect()
}

/// Crates that are there in more than one version.
fn duplicates<'a>(
    packages: impl Iterator<Item = (&'a str, &'a str)>,
) -> BTreeMap<&'a str, BTreeSet<&'a str>> {
    let mut versions: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (name, version) in packages {
        versions.entry(name).or_default().insert(version);
    }
    versions.retain(|_, versions| versions.len() > 1);
    versions
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_whole_numbers_and_all_there() {
        let good = "default_dependencies = 40\nduplicate_versions = 3\nsource_lines = 500\n";
        let expected = Limits { default_dependencies: 40, duplicate_versions: 3, source_lines: 500 };
        assert_eq!(Limits::parse(good), Ok(expected));
        assert!(Limits::parse("default_dependencies = 40\n").unwrap_err().contains("duplicate_versions"));
        assert!(Limits::parse(&good.replace("40", "-1")).unwrap_err().contains("default_dependencies"));
        assert!(Limits::parse("=").is_err());
    }

    #[test]
    fn only_growth_is_a_fault() {
        assert_eq!(compare("k", 3, 3, ""), [""; 0]);
        assert_eq!(compare("k", 2, 3, ""), [""; 0]);
        assert_eq!(compare("k", 4, 3, "a 1, b 2"), ["k is 4, recorded in xtask/limits.toml is 3: a 1, b 2"]);
    }

    #[test]
    fn foreign_crates_count_once() {
        let tree = "wattspan v0.1.0 (/w/crates/wattspan)\nwattspan-core v0.1.0 (/w)\nserde v1.0.1\nlibc v0.2.1\n\
            serde v1.0.1 (*)\nserde_derive v1.0.1 (proc-macro)\n\nserde v2.0.0\n";
        let names: Vec<_> = foreign_crates(tree).into_iter().collect();
        assert_eq!(names, ["libc v0.2.1", "serde v1.0.1", "serde v2.0.0", "serde_derive v1.0.1"]);
    }

    #[test]
    fn a_second_version_is_a_duplicate() {
        let packages = [("a", "1.0.0"), ("b", "1.0.0"), ("a", "2.0.0"), ("a", "3.0.0")];
        let found = duplicates(packages.into_iter());
        assert_eq!(found, BTreeMap::from([("a", BTreeSet::from(["1.0.0", "2.0.0", "3.0.0"]))]));
    }
}
