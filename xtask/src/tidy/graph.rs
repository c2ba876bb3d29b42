//! Arrows between our crates point down only. The table is the crate graph; a new arrow is a commit of its own, with its
//! reason, that changes a line here.

use super::Findings;
use crate::metadata::{Metadata, Package};

/// What a crate may depend on (normally and in build scripts).
enum May {
    /// These of our crates.
    Only(&'static [&'static str]),
    /// Any but these.
    AllBut(&'static [&'static str]),
}
use May::{AllBut, Only};

const TABLE: &[(&str, May)] = &[
    ("wattspan-core", Only(&[])),
    ("wattspan-semconv", Only(&[])),
    ("wattspan-energy", Only(&["wattspan-core"])),
    ("wattspan-nvidia", Only(&["wattspan-core"])),
    ("wattspan-amd", Only(&["wattspan-core"])),
    ("wattspan-apple", Only(&["wattspan-core"])),
    ("wattspan-host", Only(&["wattspan-core"])),
    ("wattspan-carbon", Only(&["wattspan-core"])),
    ("wattspan-genai", Only(&["wattspan-core", "wattspan-semconv"])),
    ("wattspan-monitor", Only(&["wattspan-core", "wattspan-energy", "wattspan-semconv"])),
    ("wattspan-llama-server", Only(&["wattspan-core", "wattspan-genai"])),
    ("wattspan-llama-cpp", Only(&["wattspan-core", "wattspan-genai"])),
    ("wattspan-otel", Only(&["wattspan-core", "wattspan-semconv"])),
    ("wattspan-dataset", Only(&["wattspan-core"])),
    (
        "wattspan-eval",
        Only(&[
            "wattspan-core",
            "wattspan-genai",
            "wattspan-dataset",
            "wattspan-llama-server",
            "wattspan-llama-cpp",
        ]),
    ),
    ("wattspan-report", Only(&["wattspan-core", "wattspan-dataset"])),
    ("wattspan-opensearch", Only(&["wattspan-core", "wattspan-dataset"])),
    ("wattspan-hub", Only(&["wattspan-core", "wattspan-dataset"])),
    ("wattspan-datadog", Only(&["wattspan-core", "wattspan-semconv"])),
    ("wattspan-graphistry", Only(&["wattspan-core", "wattspan-semconv"])),
    ("wattspan-kubernetes", Only(&["wattspan-core", "wattspan-energy"])),
    ("wattspan-proxy", Only(&["wattspan-core", "wattspan-genai", "wattspan-llama-server"])),
    (
        "wattspan",
        AllBut(&[
            "wattspan-cli",
            "wattspan-fake-nvml",
            "wattspan-testkit",
            "wattspan-tests",
            "wattspan-examples",
            "xtask",
        ]),
    ),
    ("wattspan-cli", Only(&["wattspan"])),
    ("wattspan-fake-nvml", Only(&[])),
    ("wattspan-testkit", AllBut(&["wattspan-tests", "wattspan-examples", "xtask"])),
    ("wattspan-tests", AllBut(&["xtask"])),
    ("wattspan-examples", AllBut(&["wattspan-tests", "xtask"])),
    ("xtask", Only(&[])),
];

/// What tests inside any crate may use besides: the fakes, and the pure accounting that a collector's readings feed. Its
/// meter is how a collector shows that its counters add up.
const FOR_TESTS: [&str; 3] = ["wattspan-energy", "wattspan-fake-nvml", "wattspan-testkit"];

pub fn check(metadata: &Metadata) -> Findings {
    let members: Vec<&Package> = metadata.members().collect();
    check_packages(&members, TABLE)
}

fn check_packages(members: &[&Package], table: &[(&str, May)]) -> Findings {
    let mut findings = Vec::new();
    for package in members {
        let name = package.name.as_str();
        let Some((_, may)) = table.iter().find(|(known, _)| *known == name) else {
            findings.push(format!("{name}: not in the crate graph (xtask/src/tidy/graph.rs)"));
            continue;
        };
        for dependency in &package.dependencies {
            let to = dependency.name.as_str();
            if !members.iter().any(|member| member.name == to) {
                continue;
            }
            let allowed = match may {
                Only(list) => list.contains(&to),
                AllBut(list) => !list.contains(&to),
            };
            let for_tests = dependency.is_dev && FOR_TESTS.contains(&to);
            if !allowed && !for_tests {
                let kind = if dependency.is_dev { "dev-dependency" } else { "dependency" };
                findings.push(format!("{name}: {kind} on {to} is against the crate graph"));
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metadata::Dependency;

    fn package(name: &str, dependencies: &[(&str, bool)]) -> Package {
        let dependencies =
            dependencies.iter().map(|(n, is_dev)| Dependency { name: (*n).into(), is_dev: *is_dev });
        Package { name: name.into(), dependencies: dependencies.collect(), ..Package::default() }
    }

    #[track_caller]
    fn check(core: &[(&str, bool)], extra: Option<&str>, expected: &[&str]) {
        let mut members = vec![
            package("wattspan-core", core),
            package("wattspan-genai", &[("wattspan-core", false), ("serde", false)]),
            package("wattspan-testkit", &[("wattspan-genai", false)]),
            package("wattspan", &[("wattspan-genai", false)]),
        ];
        members.extend(extra.map(|name| package(name, &[])));
        let members: Vec<&Package> = members.iter().collect();
        assert_eq!(check_packages(&members, TABLE), expected);
    }

    #[test]
    fn arrows_down_foreign_crates_and_test_helpers_are_fine() {
        check(&[("serde", false), ("wattspan-testkit", true)], None, &[]);
    }

    #[test]
    fn an_arrow_up_is_a_fault_also_for_tests() {
        check(
            &[("wattspan-genai", false)],
            None,
            &["wattspan-core: dependency on wattspan-genai is against the crate graph"],
        );
        check(
            &[("wattspan-genai", true)],
            None,
            &["wattspan-core: dev-dependency on wattspan-genai is against the crate graph"],
        );
        check(
            &[("wattspan-testkit", false)],
            None,
            &["wattspan-core: dependency on wattspan-testkit is against the crate graph"],
        );
    }

    #[test]
    fn an_unknown_crate_is_a_fault() {
        check(&[], Some("wattspan-new"), &["wattspan-new: not in the crate graph (xtask/src/tidy/graph.rs)"]);
    }

    #[test]
    fn the_table_itself_has_no_cycle() {
        // Each crate's list names only crates whose own lists were all resolved before: a topological order exists.
        let mut done: Vec<&str> = Vec::new();
        loop {
            let next = TABLE.iter().find(|(name, may)| {
                let ready = match may {
                    Only(list) => list.iter().all(|needed| done.contains(needed)),
                    AllBut(_) => true,
                };
                !done.contains(name) && ready
            });
            let Some((name, _)) = next else { break };
            done.push(name);
        }
        assert_eq!(done.len(), TABLE.len());
    }
}
