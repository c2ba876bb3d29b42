//! The hardware table in the documentation names every collector, and tests that are there.

use std::collections::BTreeSet;
use std::path::Path;

use wattspan::{Collectors, Config};

#[test]
fn the_hardware_table_is_true() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let text = std::fs::read_to_string(root.join("docs/hardware.md")).unwrap();
    let rows: Vec<Vec<&str>> = text
        .lines()
        .filter(|line| line.starts_with("| ") && !line.starts_with("| ---") && !line.starts_with("| device "))
        .map(|line| line.trim_matches('|').split('|').map(str::trim).collect())
        .collect();
    assert!(rows.len() >= 10, "the table was not found");

    let told: BTreeSet<String> = rows.iter().map(|row| row[1].trim_matches('`').to_owned()).collect();
    let there: BTreeSet<String> = Collectors::detect(&Config::new())
        .findings()
        .iter()
        .map(|finding| finding.collector.to_owned())
        .collect();
    assert_eq!(told, there, "the table and the facade disagree on the collectors");

    for row in rows {
        let [_, _, _, _, method, how, test] = row[..] else { panic!("a row has not seven cells: {row:?}") };
        assert!(["real", "fake", "recording", "type-check"].contains(&how), "{how:?} is no way of testing");
        assert!(!method.is_empty());
        let (file, name) = test.split_once(": ").unwrap_or_else(|| panic!("{test:?} names no file and test"));
        let (file, name) = (file.trim_matches('`'), name.trim_matches('`'));
        let source =
            std::fs::read_to_string(root.join(file)).unwrap_or_else(|error| panic!("{file}: {error}"));
        assert!(source.contains(&format!("fn {name}(")), "{file} has no test {name}");
    }
}
