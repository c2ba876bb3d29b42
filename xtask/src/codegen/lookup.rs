//! Writes the look-ups: keys, measures and spans by profile and operation.

use std::fmt::Write as _;

use super::input::{Input, Profile, Route};
use super::keys::{Keys, pascal, screaming};
use super::rust::head;

pub(super) fn attribute_keys(input: &Input, keys: &Keys) -> Result<String, String> {
    let mut out = head("Logical attribute keys and their names in each profile.");
    out.push_str("use crate::model::AttributeDef;\nuse super::operation::Operation;\nuse super::{core, genai, hw, own};\n\n");
    out.push_str("/// An attribute by its meaning, whatever a profile calls it.\n");
    out.push_str("#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]\n#[non_exhaustive]\npub enum Key {\n");
    for key in &keys.attributes {
        let doc = match (&key.core, &key.genai) {
            (Some(core), Some(genai)) if core == genai => format!("`{core}`"),
            (Some(core), Some(genai)) => format!("`{core}` in `core`, `{genai}` in `genai`"),
            (Some(core), None) => format!("`{core}`, in `core` only"),
            (None, Some(genai)) => format!("`{genai}`, in `genai` only"),
            (None, None) => return Err(format!("the key {} has no name", key.variant)),
        };
        let scoped = key
            .genai_scoped
            .iter()
            .map(|(operation, name)| format!("; `{name}` for `{operation}` in `genai`"));
        let _ = writeln!(out, "/// {doc}{}.\n{},", scoped.collect::<String>(), key.variant);
    }
    out.push_str("}\n\nimpl Key {\n/// Every key.\npub const ALL: &'static [Self] = &[");
    for key in &keys.attributes {
        let _ = write!(out, "Self::{}, ", key.variant);
    }
    out.push_str("];\n}\n\n");
    for (profile, constant) in [(Profile::Core, "CORE"), (Profile::GenAi, "GENAI")] {
        let _ = writeln!(
            out,
            "/// By the key's number.\npub(crate) static {constant}: [Option<&AttributeDef>; {}] = [",
            keys.attributes.len()
        );
        for key in &keys.attributes {
            match if profile == Profile::Core { &key.core } else { &key.genai } {
                Some(name) => {
                    let _ = writeln!(out, "Some(&{}),", attribute_path(input, profile, name)?);
                }
                None => out.push_str("None,\n"),
            }
        }
        out.push_str("];\n\n");
    }
    out.push_str("/// Names that differ by operation.\npub(crate) fn genai_scoped(operation: Operation, key: Key) -> Option<&'static AttributeDef> {\nmatch (operation, key) {\n");
    for key in &keys.attributes {
        for (operation, name) in &key.genai_scoped {
            let path = attribute_path(input, Profile::GenAi, name)?;
            let _ =
                writeln!(out, "(Operation::{}, Key::{}) => Some(&{path}),", pascal(operation), key.variant);
        }
    }
    out.push_str("_ => None,\n}\n}\n");
    Ok(out)
}

fn attribute_path(input: &Input, profile: Profile, name: &str) -> Result<String, String> {
    for (module, table) in input.tables(profile) {
        if let Some(at) = table.attributes.iter().position(|attribute| attribute.name == name) {
            return Ok(format!("{module}::ATTRIBUTES[{at}]"));
        }
    }
    Err(format!("no table has the attribute `{name}`"))
}

fn metric_path(input: &Input, profile: Profile, name: &str) -> Result<String, String> {
    for (module, table) in input.tables(profile) {
        if let Some(at) = table.metrics.iter().position(|metric| metric.name == name) {
            return Ok(format!("{module}::METRICS[{at}]"));
        }
    }
    Err(format!("no table has the metric `{name}`"))
}

pub(super) fn measures(input: &Input, keys: &Keys) -> Result<String, String> {
    let mut out = head("Logical measures and the instruments that each profile records them on.");
    out.push_str("use crate::model::InstrumentUse;\nuse super::operation::Operation;\nuse super::{core, genai, hw, own};\n\n");
    out.push_str("/// A thing that is measured, whatever a profile calls its instruments.\n");
    out.push_str("#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]\n#[non_exhaustive]\npub enum Measure {\n");
    for key in &keys.measures {
        let first = key.core.iter().chain(&key.genai).flat_map(|route| &route.metrics).next();
        let doc = match (key.brief.as_str(), first) {
            ("", Some((name, _))) => format!("`{name}`."),
            (brief, _) => brief.to_owned(),
        };
        let _ = writeln!(out, "/// {doc}\n{},", key.variant);
    }
    out.push_str("}\n\nimpl Measure {\n/// Every measure.\npub const ALL: &'static [Self] = &[");
    for key in &keys.measures {
        let _ = write!(out, "Self::{}, ", key.variant);
    }
    out.push_str("];\n}\n\n");
    for (profile, function) in [(Profile::Core, "core_instruments"), (Profile::GenAi, "genai_instruments")] {
        let mut statics = String::new();
        let mut arms = String::new();
        let mut nothing = Vec::new();
        for key in &keys.measures {
            let routes = if profile == Profile::Core { &key.core } else { &key.genai };
            if routes.is_empty() {
                nothing.push(format!("Measure::{}", key.variant));
                continue;
            }
            let _ = write!(arms, "Measure::{} => ", key.variant);
            let mut by_operation = String::new();
            let mut any = None;
            for (at, route) in routes.iter().enumerate() {
                let constant = format!(
                    "{}_{}_{at}",
                    function.split('_').next().unwrap_or_default().to_uppercase(),
                    screaming(&key.variant)
                );
                let _ = writeln!(
                    statics,
                    "static {constant}: [InstrumentUse; {}] = [{}];",
                    route.metrics.len(),
                    uses(input, profile, route)?
                );
                match &route.operations {
                    None => any = Some(constant),
                    Some(operations) => {
                        let operations: Vec<String> =
                            operations.iter().map(|o| format!("Operation::{}", pascal(o))).collect();
                        let _ = writeln!(by_operation, "{} => &{constant},", operations.join(" | "));
                    }
                }
            }
            match any {
                Some(constant) => {
                    let _ = writeln!(arms, "&{constant},");
                }
                None => {
                    let _ = writeln!(arms, "match operation {{\n{by_operation}_ => &[],\n}},");
                }
            }
        }
        if !nothing.is_empty() {
            let _ = writeln!(arms, "{} => &[],", nothing.join(" | "));
        }
        let _ = writeln!(
            out,
            "{statics}\npub(crate) fn {function}(operation: Operation, measure: Measure) -> &'static [InstrumentUse] {{\nmatch measure {{\n{arms}}}\n}}\n"
        );
    }
    Ok(out)
}

fn uses(input: &Input, profile: Profile, route: &Route) -> Result<String, String> {
    let mut out = String::new();
    for (name, fixed) in &route.metrics {
        let _ = write!(
            out,
            "InstrumentUse {{ metric: &{}, fixed: &{fixed:?} }}, ",
            metric_path(input, profile, name)?
        );
    }
    Ok(out)
}

/// For each operation the spans to emit, the profile's own order kept: no provider variants, nothing inferred.
pub(super) fn spans(input: &Input) -> String {
    let mut out = head("The spans of each operation.");
    out.push_str(
        "use crate::model::SpanDef;\nuse super::operation::Operation;\nuse super::{core, genai, own};\n\n",
    );
    for (profile, function) in [(Profile::Core, "core_spans"), (Profile::GenAi, "genai_spans")] {
        let mut arms: Vec<(String, Vec<&str>)> = Vec::new();
        for operation in &input.operations {
            let mut paths = Vec::new();
            for (module, table) in input.tables(profile) {
                for (at, span) in table.spans.iter().enumerate() {
                    if span.operations.contains(&operation.name)
                        && span.refines.is_none()
                        && span.evidence != "inferred"
                    {
                        paths.push(format!("&{module}::SPANS[{at}]"));
                    }
                }
            }
            let spans = paths.join(", ");
            match arms.iter_mut().find(|(known, _)| *known == spans) {
                Some((_, operations)) => operations.push(&operation.name),
                None => arms.push((spans, vec![&operation.name])),
            }
        }
        let mut statics = String::new();
        let mut matches = String::new();
        for (at, (spans, operations)) in arms.iter().filter(|(spans, _)| !spans.is_empty()).enumerate() {
            let constant = format!("{}_{at}", function.to_uppercase());
            let count = spans.split(", ").count();
            let _ = writeln!(statics, "static {constant}: [&SpanDef; {count}] = [{spans}];");
            let operations: Vec<String> =
                operations.iter().map(|o| format!("Operation::{}", pascal(o))).collect();
            let _ = writeln!(matches, "{} => &{constant},", operations.join(" | "));
        }
        let _ = writeln!(
            out,
            "{statics}\npub(crate) fn {function}(operation: Operation) -> &'static [&'static SpanDef] {{\nmatch operation {{\n{matches}_ => &[],\n}}\n}}\n"
        );
    }
    out
}
