//! Writes the constants: names, values of enumerations, operations.

use std::fmt::Write as _;

use super::input::{Event, Input, Metric, Standing, Table};
use super::keys::{pascal, screaming};
use super::rust::head;

/// Where a name is to be found, in words.
fn places(input: &Input, found: impl Fn(&Table) -> bool) -> &'static str {
    match (found(&input.core), found(&input.genai), found(&input.hw), found(&input.own)) {
        (true, true, _, _) => "in both profiles",
        (true, false, _, _) => "in `core` only",
        (false, true, _, _) => "in `genai` only",
        (false, false, true, _) => "of the hardware conventions",
        (false, false, false, _) => "of wattspan's own",
    }
}

pub(super) fn attribute_names(input: &Input) -> String {
    let mut out = head("Attribute names, those of both profiles, hardware and our own together.");
    let mut old = String::new();
    for (name, attribute) in input.attributes() {
        let place = places(input, |table| table.attributes.iter().any(|a| a.name == name));
        let constant = format!("pub const {}: &str = {name:?};", screaming(name));
        match &attribute.standing {
            Standing::Live => {
                let _ = writeln!(out, "/// `{name}`: `{}`, {place}.\n{constant}", attribute.kind);
            }
            Standing::RenamedTo(newer) => {
                let _ = writeln!(old, "/// `{name}`, which became `{newer}`.\n{constant}");
            }
            Standing::Obsolete => {
                let _ = writeln!(old, "/// `{name}`, withdrawn without a replacement.\n{constant}");
            }
        }
    }
    let _ = writeln!(
        out,
        "\n/// Names that older telemetry carries. For readers; nothing of ours writes them.\npub mod old {{\n{old}}}"
    );
    out
}

pub(super) fn metric_names(input: &Input) -> String {
    let mut out = head("Metric names, those of both profiles, hardware and our own together.");
    let tables = [&input.core, &input.genai, &input.hw, &input.own];
    let mut all: Vec<&Metric> =
        tables.iter().flat_map(|table| &table.metrics).filter(|m| m.evidence != "inferred").collect();
    all.sort_by(|a, b| a.name.cmp(&b.name));
    all.dedup_by(|a, b| a.name == b.name);
    for metric in all {
        let Metric { name, instrument, unit, .. } = metric;
        let place = places(input, |table| table.metrics.iter().any(|m| m.name == *name));
        let _ = writeln!(
            out,
            "/// `{name}`: {instrument}, unit `{unit}`, {place}.\npub const {}: &str = {name:?};",
            screaming(name)
        );
    }
    out
}

pub(super) fn event_names(input: &Input) -> String {
    let mut out = head("Names of log events.");
    let mut all: Vec<&Event> = input.core.events.iter().chain(&input.genai.events).collect();
    all.sort_by(|a, b| a.name.cmp(&b.name));
    all.dedup_by(|a, b| a.name == b.name);
    for Event { name, .. } in all {
        let place = places(input, |table| table.events.iter().any(|e| e.name == *name));
        let _ = writeln!(out, "/// `{name}`, {place}.\npub const {}: &str = {name:?};", screaming(name));
    }
    out
}

pub(super) fn values(input: &Input) -> String {
    let mut out = head("Known values of enumerations, one module for each attribute.");
    for (name, attribute) in input.attributes() {
        if !attribute.is_live() {
            continue;
        }
        let members = union_of_members(input, name);
        if members.is_empty() {
            continue;
        }
        let _ = writeln!(
            out,
            "/// Values of `{name}`{}.\npub mod {} {{",
            if attribute.closed { "; no others" } else { "; others are allowed" },
            screaming(name).to_lowercase()
        );
        for value in members {
            let _ = writeln!(out, "/// `{value}`.\npub const {}: &str = {value:?};", screaming(value));
        }
        let _ = writeln!(out, "}}");
    }
    out
}

fn union_of_members<'a>(input: &'a Input, name: &str) -> Vec<&'a str> {
    let mut members = Vec::new();
    for table in [&input.core, &input.genai, &input.hw, &input.own] {
        for attribute in table.attributes.iter().filter(|a| a.name == name) {
            for member in &attribute.members {
                if !members.contains(&member.value.as_str()) {
                    members.push(member.value.as_str());
                }
            }
        }
    }
    members
}

pub(super) fn environment(input: &Input) -> String {
    let mut out = head("Environment variables that the conventions define, and their values.");
    for (name, values) in &input.environment {
        let _ = writeln!(out, "/// `{name}`.\npub const {name}: &str = {name:?};");
        for value in values {
            let _ = writeln!(
                out,
                "/// `{value}`, a value of `{name}`.\npub const {}: &str = {value:?};",
                screaming(value)
            );
        }
    }
    out
}

pub(super) fn operations(input: &Input) -> String {
    let mut out = head("Operations, the values of `gen_ai.operation.name`.");
    out.push_str("/// What a GenAI call does: the value of `gen_ai.operation.name`.\n///\n/// The list is open. A custom value is low in cardinality, so it is a constant of the program.\n");
    out.push_str(
        "#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]\n#[non_exhaustive]\npub enum Operation {\n",
    );
    for operation in &input.operations {
        let _ =
            writeln!(out, "/// `{}`, {}.\n{},", operation.name, operation.origin, pascal(&operation.name));
    }
    out.push_str("/// Any other.\nCustom(&'static str),\n}\n\nimpl Operation {\n/// Every operation that has a variant.\npub const ALL: &'static [Self] = &[");
    for operation in &input.operations {
        let _ = write!(out, "Self::{}, ", pascal(&operation.name));
    }
    out.push_str(
        "];\n\n/// The attribute's value.\npub const fn as_str(self) -> &'static str {\nmatch self {\n",
    );
    for operation in &input.operations {
        let _ = writeln!(out, "Self::{} => {:?},", pascal(&operation.name), operation.name);
    }
    out.push_str("Self::Custom(name) => name,\n}\n}\n\n/// The operation with this name, when it has a variant.\npub fn known(name: &str) -> Option<Self> {\nmatch name {\n");
    for operation in &input.operations {
        let _ = writeln!(out, "{:?} => Some(Self::{}),", operation.name, pascal(&operation.name));
    }
    out.push_str("_ => None,\n}\n}\n}\n\n");
    out.push_str("impl std::fmt::Display for Operation {\nfn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {\nf.write_str(self.as_str())\n}\n}\n");
    out
}
