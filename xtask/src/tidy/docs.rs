//! `docs/` names nothing that is not there, every crate stands in `docs/architecture.md`, and the table in
//! `docs/features.md` lists exactly the features of the facade.
//!
//! Names are taken from inline code (`` `wattspan_core::Joules` ``); fenced Rust is compiled elsewhere. Features are taken
//! from `--features a,b` and from `features = ["a"]` of our crates, fenced or not.

use super::{Findings, files, read, shown};
use crate::Outcome;
use crate::metadata::Metadata;
use crate::process::root;
use std::collections::{BTreeMap, BTreeSet};

const FACADE: &str = "wattspan";

pub fn check(metadata: &Metadata) -> Outcome<Findings> {
    let known = Known::load(metadata)?;
    let mut findings = Vec::new();
    for path in files("docs", ".md")? {
        let (name, text) = (shown(&path), read(&path)?);
        findings.extend(known.check_names(&name, &text));
        findings.extend(known.check_features(&name, &text));
    }
    let libraries: Vec<&str> = metadata
        .members()
        .filter(|p| p.manifest.starts_with(root().join("crates")))
        .map(|p| p.name.as_str())
        .collect();
    let page = |name: &str| read(&root().join("docs").join(name));
    findings.extend(match page("architecture.md") {
        Ok(text) => missing_crates(&libraries, &text),
        Err(e) => vec![format!("{e}: it must name every crate")],
    });
    let features = metadata.member(FACADE).map(|package| package.features.clone()).unwrap_or_default();
    findings.extend(match page("features.md") {
        Ok(text) => compare_features(&features, &text),
        Err(e) => vec![format!("{e}: its table must list every feature of `{FACADE}`")],
    });
    Ok(findings)
}

/// What may be named.
#[derive(Default)]
struct Known {
    /// Packages and programs.
    names: BTreeSet<String>,
    /// Of any of our crates.
    features: BTreeSet<String>,
    /// By library name: its public items, and every word of its sources (methods, variants, modules).
    libraries: BTreeMap<String, Library>,
}

#[derive(Default)]
struct Library {
    items: BTreeSet<String>,
    words: BTreeSet<String>,
}

impl Known {
    fn load(metadata: &Metadata) -> Outcome<Self> {
        let mut known = Self::default();
        for package in metadata.members() {
            known.names.insert(package.name.clone());
            known.features.extend(package.features.iter().cloned());
            known.names.extend(package.targets.iter().filter(|t| t.is("bin")).map(|t| t.name.clone()));
            let Some(target) = package.library() else { continue };
            let folder = target.source.parent().unwrap_or(&target.source);
            let library = known.libraries.entry(target.name.replace('-', "_")).or_default();
            for path in files(&shown(folder), ".rs")? {
                library.read(&read(&path)?);
            }
        }
        Ok(known)
    }

    fn check_names(&self, file: &str, text: &str) -> Findings {
        let mut findings = Vec::new();
        for (line, code) in inline_code(text) {
            if let Some(fault) = self.fault(code) {
                findings.push(format!("{file}:{line}: `{code}`: {fault}"));
            }
        }
        findings
    }

    fn check_features(&self, file: &str, text: &str) -> Findings {
        let lines = text.lines().enumerate();
        let named = lines
            .flat_map(|(number, line)| features_on(line).into_iter().map(move |name| (number + 1, name)));
        let unknown = named.filter(|(_, name)| !self.features.contains(*name));
        unknown.map(|(line, name)| format!("{file}:{line}: no crate has a feature `{name}`")).collect()
    }

    /// What is wrong with a name; other inline code than our crates' and items' names is none of our business.
    fn fault(&self, code: &str) -> Option<String> {
        if is_crate_name(code) {
            return (!self.names.contains(code)).then(|| "no such crate or program".to_owned());
        }
        let path = code.split(['<', '(', '{', '!', ' ']).next().unwrap_or_default().trim_end_matches("::*");
        let mut segments = path.split("::");
        let first = segments.next()?;
        let is_ours = first == FACADE || first.starts_with("wattspan_");
        if !is_ours || (first == FACADE && !path.contains("::")) || !path.split("::").all(is_identifier) {
            return None;
        }
        let Some(library) = self.libraries.get(first) else {
            // A Prometheus name such as `wattspan_inference_energy_joules_bucket` looks like a library's and has no path.
            if first == path && is_series(first) {
                return None;
            }
            return Some(format!("no crate has the library `{first}`"));
        };
        // The facade re-exports the others, so what it names may be anybody's.
        let mut places = if first == FACADE { self.libraries.values().collect() } else { vec![library] };
        let rest: Vec<&str> = segments.collect();
        let item =
            rest.iter().position(|s| s.starts_with(char::is_uppercase)).or(rest.len().checked_sub(1))?;
        places.retain(|library| library.items.contains(rest[item]));
        if places.is_empty() {
            return Some(format!("no public item `{}`", rest[item]));
        }
        // A variant, a method or an associated constant.
        let member = rest.get(item + 1)?;
        (!places.iter().any(|library| library.words.contains(*member)))
            .then(|| format!("`{member}` is not there"))
    }
}

impl Library {
    fn read(&mut self, source: &str) {
        let mut in_uses = false;
        for line in source.lines().map(str::trim_start) {
            let uses = if in_uses { Some(line) } else { line.strip_prefix("pub use ") };
            if let Some(uses) = uses {
                self.items.extend(words(uses).map(str::to_owned));
                in_uses = !line.trim_end().ends_with(';');
            } else {
                self.items.extend(public_item(line).map(str::to_owned));
            }
        }
        self.words.extend(words(source).map(str::to_owned));
    }
}

/// The name that a line defines, if it starts a public item or a macro.
fn public_item(line: &str) -> Option<&str> {
    const KINDS: [&str; 9] = ["struct", "enum", "trait", "fn", "type", "const", "static", "mod", "union"];
    if let Some(name) = line.strip_prefix("macro_rules!") {
        return words(name).next();
    }
    let mut parts = line.strip_prefix("pub ")?.split_whitespace().peekable();
    while let Some(part) = parts.next() {
        // `pub const fn` and the like name the item behind the last of their words.
        let is_kind = KINDS.contains(&part);
        if is_kind && !parts.peek().is_some_and(|next| matches!(*next, "fn" | "unsafe" | "extern" | "mut")) {
            return words(parts.next()?).next();
        }
    }
    None
}

/// The features that a line of a shell command or a manifest turns on.
fn features_on(line: &str) -> Vec<&str> {
    let mut named = Vec::new();
    for part in line.split("--features").skip(1) {
        let value = part.trim_start_matches([' ', '=', '"', '\'']);
        let end = value.find([' ', '`', '"', '\'']).unwrap_or(value.len());
        named.extend(value[..end].split(','));
    }
    if line.trim_start().trim_start_matches('`').starts_with("wattspan") {
        let lists = line.split("features = [").skip(1).filter_map(|rest| rest.split(']').next());
        named.extend(lists.flat_map(|list| list.split(',')).map(|name| name.trim().trim_matches('"')));
    }
    // `crate/feature` names the feature of a dependency.
    named.into_iter().filter_map(|name| name.rsplit('/').next()).filter(|name| !name.is_empty()).collect()
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| is_identifier(word))
}

fn is_identifier(word: &str) -> bool {
    word.starts_with(|c: char| c.is_alphabetic() || c == '_')
        && word.chars().all(|c| c.is_alphanumeric() || c == '_')
}

/// `wattspan-…` in lower case with hyphens, whole: not a file, an address or a metric.
fn is_crate_name(code: &str) -> bool {
    let rest = code.strip_prefix("wattspan-").unwrap_or_default();
    !rest.is_empty() && rest.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-')
}

/// (line, text) of each inline code span outside fences.
fn inline_code(text: &str) -> Vec<(usize, &str)> {
    let mut found = Vec::new();
    let mut in_fence = false;
    for (number, line) in text.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            in_fence = !in_fence;
        } else if !in_fence {
            found.extend(line.split('`').skip(1).step_by(2).map(|code| (number + 1, code.trim())));
        }
    }
    found
}

fn missing_crates(crates: &[&str], architecture: &str) -> Findings {
    let named: BTreeSet<&str> = inline_code(architecture).into_iter().map(|(_, code)| code).collect();
    let missing = crates.iter().filter(|name| !named.contains(*name));
    missing.map(|name| format!("docs/architecture.md: the crate `{name}` is not named")).collect()
}

/// The first cells of table rows that are one inline code word, against the manifest; `default` may be left out.
fn compare_features(features: &BTreeSet<String>, page: &str) -> Findings {
    let cells = page.lines().filter_map(|line| line.trim().strip_prefix('|')?.split('|').next());
    let listed: BTreeSet<&str> = cells
        .filter_map(|cell| cell.trim().strip_prefix('`')?.strip_suffix('`'))
        .filter(|c| !c.contains('`'))
        .collect();
    let missing = features.iter().filter(|f| *f != "default" && !listed.contains(f.as_str()));
    let unknown = listed.iter().filter(|name| !features.contains(**name));
    missing
        .map(|f| format!("docs/features.md: the feature `{f}` is not in the table"))
        .chain(unknown.map(|f| format!("docs/features.md: `{FACADE}` has no feature `{f}`")))
        .collect()
}

/// Whether a name ends as the series of a Prometheus metric do: in a unit or what its kind of series adds.
fn is_series(name: &str) -> bool {
    const ENDS: [&str; 10] =
        ["bucket", "bytes", "celsius", "count", "grams", "hertz", "joules", "ratio", "total", "watts"];
    name.rsplit('_').next().is_some_and(|end| ENDS.contains(&end))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known() -> Known {
        let mut core = Library::default();
        core.read(
            "pub use units::{Joules, Watts};\npub mod clock;\nuse private::Hidden;\n\
             pub enum Reading<T> {\n    Value(T),\n    NotSupported,\n}\n\
             impl X {\n    pub const fn joules(self) -> f64 { 0.0 }\n}\n\
             pub unsafe fn raw() {}\nstruct Inner;\nmacro_rules! ensure { () => {} }\n\
             pub use record::{\n    InferenceRecord,\n    RunId,\n};\n",
        );
        let mut facade = Library::default();
        facade.read("pub use wattspan_core as core;\n");
        Known {
            names: ["wattspan", "wattspan-core", "wattspan-cli"].map(str::to_owned).into(),
            features: ["host", "otel"].map(str::to_owned).into(),
            libraries: [("wattspan_core".to_owned(), core), ("wattspan".to_owned(), facade)].into(),
        }
    }

    #[track_caller]
    fn check(text: &str, expected: &[&str]) {
        assert_eq!(known().check_names("docs/a.md", text), expected, "{text}");
    }

    #[test]
    fn what_exists_may_be_named() {
        check("`wattspan-core`, `wattspan_core` and `wattspan_core::Joules`", &[]);
        check("`wattspan_core::clock` `wattspan_core::raw()` `wattspan_core::ensure!`", &[]);
        check(
            "`wattspan_core::Reading<T>` `wattspan_core::Reading::NotSupported` `wattspan_core::Joules::joules`",
            &[],
        );
        check("`wattspan::core::Watts` `wattspan_core::InferenceRecord` `wattspan_core::RunId`", &[]);
    }

    #[test]
    fn what_does_not_is_a_fault_with_its_line() {
        check("`wattspan_device_energy_joules_total` `wattspan_inference_energy_joules_bucket`", &[]);
        check(
            "`wattspan_total::X`",
            &["docs/a.md:1: `wattspan_total::X`: no crate has the library `wattspan_total`"],
        );
        check("a\nsee `wattspan-cor`", &["docs/a.md:2: `wattspan-cor`: no such crate or program"]);
        check(
            "`wattspan_gone::X`",
            &["docs/a.md:1: `wattspan_gone::X`: no crate has the library `wattspan_gone`"],
        );
        check("`wattspan_core::Jouls`", &["docs/a.md:1: `wattspan_core::Jouls`: no public item `Jouls`"]);
        check("`wattspan_core::Inner`", &["docs/a.md:1: `wattspan_core::Inner`: no public item `Inner`"]);
        check(
            "`wattspan_core::Reading::Gone`",
            &["docs/a.md:1: `wattspan_core::Reading::Gone`: `Gone` is not there"],
        );
        check("`wattspan::Jouls`", &["docs/a.md:1: `wattspan::Jouls`: no public item `Jouls`"]);
    }

    #[test]
    fn other_code_and_fences_are_left_alone() {
        check(
            "`wattspan.energy.total` `wattspan run` `cargo add wattspan-x` `wattspan-report.html` `std::io`",
            &[],
        );
        check("```rust\nuse `wattspan_gone::X`;\n```\n`wattspan`", &[]);
    }

    #[test]
    fn features_in_commands_and_manifests_must_exist() {
        let good = "```toml\nwattspan = { version = \"0.1\", features = [\"host\", \"otel\"] }\n```\n\
            run `cargo run --features host,otel` or `cargo test --features=wattspan/otel`\n\
            tokio = { features = [\"rt\"] }\n";
        assert_eq!(known().check_features("docs/a.md", good), [""; 0]);
        let bad = "wattspan = { features = [\"hots\"] }\n`cargo run --features otel,gone`\n";
        assert_eq!(
            known().check_features("docs/a.md", bad),
            ["docs/a.md:1: no crate has a feature `hots`", "docs/a.md:2: no crate has a feature `gone`"]
        );
    }

    #[test]
    fn every_crate_is_named_in_the_architecture() {
        let crates = ["wattspan-core", "wattspan"];
        assert_eq!(missing_crates(&crates, "| `wattspan-core` | `wattspan` |"), [""; 0]);
        let fault = "docs/architecture.md: the crate `wattspan` is not named";
        assert_eq!(missing_crates(&crates, "`wattspan-core` only: wattspan"), [fault]);
    }

    #[test]
    fn the_feature_table_matches_the_manifest_both_ways() {
        let features: BTreeSet<String> = ["default", "host", "otel"].map(str::to_owned).into();
        let page = |row: &str| {
            format!("| feature | adds |\n| --- | --- |\n| `host` | RAPL |\n{row}\n`gone` in text\n")
        };
        assert_eq!(compare_features(&features, &page("| `otel` | OTLP |")), [""; 0]);
        assert_eq!(
            compare_features(&features, &page("| `hots` | typo |")),
            [
                "docs/features.md: the feature `otel` is not in the table",
                "docs/features.md: `wattspan` has no feature `hots`"
            ]
        );
    }
}
