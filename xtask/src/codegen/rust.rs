//! Writes the Rust text: name constants, tables, keys. Layout is left to rustfmt.

use std::fmt::Write as _;

use super::input::{
    Attribute, Event, Input, Metric, Profile, Reference, Rename, Route, Span, Standing, Table,
};
use super::keys::{Keys, pascal, screaming};

/// File names under `src/generated` with their text.
pub(super) fn files(input: &Input, keys: &Keys) -> Result<Vec<(&'static str, String)>, String> {
    Ok(vec![
        ("mod.rs", module()),
        ("attr.rs", attribute_names(input)),
        ("metric.rs", metric_names(input)),
        ("event.rs", event_names(input)),
        ("value.rs", values(input)),
        ("env.rs", environment(input)),
        ("core.rs", table(&input.core, "core 1.41.1")?),
        ("genai.rs", table(&input.genai, "genai 0.1")?),
        ("hw.rs", table(&input.hw, "hw")?),
        ("own.rs", table(&input.own, "wattspan")?),
        ("key.rs", attribute_keys(input, keys)?),
        ("measure.rs", measures(input, keys)?),
        ("operation.rs", operations(input)),
        ("rename.rs", renames(input)?),
        ("smoltrace.rs", smoltrace(input)?),
    ])
}

fn head(what: &str) -> String {
    format!(
        "// Written by `cargo xtask codegen` from `registry/*.json`: change those and run it again.\n// Length: generated.\n//! {what}\n\n"
    )
}

fn module() -> String {
    let mut out = head("Generated tables and names.");
    for (name, public) in [
        ("attr", true),
        ("core", false),
        ("env", true),
        ("event", true),
        ("genai", false),
        ("hw", false),
        ("key", false),
        ("measure", false),
        ("metric", true),
        ("operation", false),
        ("own", false),
        ("rename", false),
        ("smoltrace", false),
        ("value", true),
    ] {
        let visibility = if public { "pub" } else { "pub(crate)" };
        let _ = writeln!(out, "{visibility} mod {name};");
    }
    out
}

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

fn attribute_names(input: &Input) -> String {
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

fn metric_names(input: &Input) -> String {
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

fn event_names(input: &Input) -> String {
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

fn values(input: &Input) -> String {
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

fn environment(input: &Input) -> String {
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

fn table(table: &Table, title: &str) -> Result<String, String> {
    let mut out = head(&format!("The tables of {title}."));
    out.push_str("use crate::model::{");
    let sections = [
        (true, "AttributeDef, AttributeType, Evidence, Registry, "),
        (!table.metrics.is_empty(), "AttributeRef, Instrument, Level, MetricDef, ValueType, "),
        (!table.spans.is_empty(), "SpanDef, SpanKind, "),
        (!table.events.is_empty(), "EventDef, "),
        (table.attributes.iter().any(|a| a.sensitive.is_some()), "Sensitivity, "),
        (table.attributes.iter().any(|a| !a.is_live()), "Standing, "),
    ];
    sections.iter().filter(|(used, _)| *used).for_each(|(_, names)| out.push_str(names));
    out.push_str("};\n\n");
    out.push_str(
        "pub(crate) static REGISTRY: Registry = Registry { attributes: &ATTRIBUTES, metrics: &METRICS, spans: &SPANS, events: &EVENTS, deprecated_events: &DEPRECATED_EVENTS };\n\n",
    );
    let _ = writeln!(out, "pub(crate) static ATTRIBUTES: [AttributeDef; {}] = [", table.attributes.len());
    for attribute in &table.attributes {
        let _ = writeln!(out, "{},", attribute_def(attribute)?);
    }
    let _ = writeln!(out, "];\n\npub(crate) static METRICS: [MetricDef; {}] = [", table.metrics.len());
    for metric in &table.metrics {
        let _ = writeln!(out, "{},", metric_def(metric)?);
    }
    let span_type = if table.spans.is_empty() { "crate::model::SpanDef" } else { "SpanDef" };
    let _ = writeln!(out, "];\n\npub(crate) static SPANS: [{span_type}; {}] = [", table.spans.len());
    for span in &table.spans {
        let _ = writeln!(out, "{},", span_def(span)?);
    }
    let event_type = if table.events.is_empty() { "crate::model::EventDef" } else { "EventDef" };
    let _ = writeln!(out, "];\n\nstatic EVENTS: [{event_type}; {}] = [", table.events.len());
    for event in &table.events {
        let _ = writeln!(out, "{},", event_def(event)?);
    }
    let names = texts(&table.deprecated_events);
    let _ = writeln!(
        out,
        "];\n\nstatic DEPRECATED_EVENTS: [&str; {}] = [{names}];",
        table.deprecated_events.len()
    );
    Ok(out)
}

fn attribute_def(attribute: &Attribute) -> Result<String, String> {
    let Attribute { name, kind, .. } = attribute;
    let kind = match kind.as_str() {
        "string" => "String",
        "int" => "Int",
        "double" => "Double",
        "boolean" => "Boolean",
        "string[]" => "StringArray",
        "any" => "Any",
        "template[string]" => "Template",
        other => return Err(format!("{name}: type `{other}` has no Rust counterpart")),
    };
    let mut out =
        format!("AttributeDef::new({name:?}, AttributeType::{kind}, {})", evidence(&attribute.evidence));
    if !attribute.members.is_empty() {
        let members: Vec<String> = attribute.members.iter().map(|m| m.value.clone()).collect();
        let _ = write!(out, ".values(&[{}])", texts(&members));
    }
    if attribute.closed {
        out.push_str(".closed()");
    }
    if let Some(sensitive) = &attribute.sensitive {
        let _ = write!(out, ".sensitive(Sensitivity::{})", pascal(sensitive));
    }
    if attribute.content {
        out.push_str(".content()");
    }
    match &attribute.standing {
        Standing::Live => {}
        Standing::RenamedTo(newer) => {
            let _ = write!(out, ".standing(Standing::RenamedTo({newer:?}))");
        }
        Standing::Obsolete => out.push_str(".standing(Standing::Obsolete)"),
    }
    if !attribute.unit.is_empty() {
        let _ = write!(out, ".unit({:?})", attribute.unit);
    }
    if !attribute.requires.is_empty() {
        let _ = write!(out, ".requires(&[{}])", texts(&attribute.requires));
    }
    Ok(out)
}

fn metric_def(metric: &Metric) -> Result<String, String> {
    Ok(format!(
        "MetricDef {{ name: {:?}, instrument: Instrument::{}, unit: {:?}, value_type: ValueType::{}, buckets: &[{}], attributes: &[{}], evidence: {} }}",
        metric.name,
        instrument(&metric.instrument)?,
        metric.unit,
        pascal(&metric.value_type),
        metric.buckets.iter().map(|bound| float(*bound)).collect::<Vec<_>>().join(", "),
        references(&metric.attributes)?,
        evidence(&metric.evidence),
    ))
}

fn instrument(name: &str) -> Result<&'static str, String> {
    match name {
        "counter" => Ok("Counter"),
        "updowncounter" => Ok("UpDownCounter"),
        "gauge" => Ok("Gauge"),
        "histogram" => Ok("Histogram"),
        other => Err(format!("instrument `{other}` is not known")),
    }
}

fn span_def(span: &Span) -> Result<String, String> {
    let kinds: Vec<String> = span.kinds.iter().map(|kind| format!("SpanKind::{}", pascal(kind))).collect();
    Ok(format!(
        "SpanDef {{ id: {:?}, kind: SpanKind::{}, kinds_allowed: &[{}], name_template: {:?}, name_fallback: {:?}, operations: &[{}], fixed_attributes: &{:?}, refines: {:?}, attributes: &[{}], evidence: {} }}",
        span.id,
        pascal(&span.kind),
        kinds.join(", "),
        span.template,
        span.fallback,
        texts(&span.operations),
        span.fixed,
        span.refines,
        references(&span.attributes)?,
        evidence(&span.evidence),
    ))
}

fn event_def(event: &Event) -> Result<String, String> {
    Ok(format!(
        "EventDef {{ name: {:?}, severity: {:?}, level: {}, attributes: &[{}], evidence: {} }}",
        event.name,
        event.severity,
        level(&event.level)?,
        references(&event.attributes)?,
        evidence(&event.evidence),
    ))
}

fn references(references: &[Reference]) -> Result<String, String> {
    let mut out = String::new();
    for reference in references {
        let sampled = if reference.sampled { ".sampled()" } else { "" };
        let _ =
            write!(out, "AttributeRef::new({:?}, {}){sampled}, ", reference.name, level(&reference.level)?);
    }
    Ok(out)
}

fn level(level: &str) -> Result<&'static str, String> {
    match level {
        "required" => Ok("Level::Required"),
        "conditionally_required" => Ok("Level::ConditionallyRequired"),
        "recommended" => Ok("Level::Recommended"),
        "opt_in" => Ok("Level::OptIn"),
        other => Err(format!("requirement level `{other}` is not known")),
    }
}

fn evidence(evidence: &str) -> String {
    format!("Evidence::{}", pascal(evidence))
}

/// A float literal, with its thousands set apart.
fn float(value: f64) -> String {
    let text = format!("{value:?}");
    let (whole, fraction) = text.split_once('.').unwrap_or((&text, "0"));
    if whole.len() < 5 {
        return text;
    }
    let mut out = String::new();
    for (at, digit) in whole.chars().enumerate() {
        if at > 0 && (whole.len() - at).is_multiple_of(3) {
            out.push('_');
        }
        out.push(digit);
    }
    format!("{out}.{fraction}")
}

fn texts(texts: &[String]) -> String {
    texts.iter().map(|text| format!("{text:?}")).collect::<Vec<_>>().join(", ")
}

fn attribute_keys(input: &Input, keys: &Keys) -> Result<String, String> {
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

fn measures(input: &Input, keys: &Keys) -> Result<String, String> {
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

fn operations(input: &Input) -> String {
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
    out.push_str("_ => None,\n}\n}\n}\n");
    out
}

fn renames(input: &Input) -> Result<String, String> {
    let mut out = head("What names became, from release to release, and provider values of old.");
    out.push_str("use crate::model::Evidence;\nuse crate::rename::{Change, Era, Rename, Signal};\n\n");
    let _ = writeln!(out, "pub(crate) static RENAMES: [Rename; {}] = [", input.renames.len());
    for rename in &input.renames {
        let Rename { from, to, signal, from_profile, to_profile, change, scope, evidence: seen } = rename;
        let token_type = &scope.token_type;
        let _ = writeln!(
            out,
            "Rename {{ from: {from:?}, to: {to:?}, signal: Signal::{}, from_era: {}, to_era: {}, change: Change::{}, operations: &[{}], token_type: {token_type:?}, evidence: {} }},",
            pascal(signal),
            era(from_profile)?,
            era(to_profile)?,
            pascal(change),
            texts(&scope.operations),
            evidence(seen),
        );
    }
    let _ = writeln!(
        out,
        "];\n\n/// Sorted by the old value.\npub(crate) static PROVIDER_ALIASES: [(&str, &str); {}] = [",
        input.aliases.len()
    );
    for alias in &input.aliases {
        let _ = writeln!(out, "{alias:?},");
    }
    out.push_str("];\n");
    Ok(out)
}

fn era(profile: &str) -> Result<&'static str, String> {
    match profile {
        "core_pre_1_37" | "core_older" => Ok("Era::Older"),
        "core_1_41" => Ok("Era::Core"),
        "genai_0_1" => Ok("Era::GenAi"),
        other => Err(format!("the rename table names the unknown profile `{other}`")),
    }
}

fn smoltrace(input: &Input) -> Result<String, String> {
    let mut out = head("SMOLTRACE's metrics and the columns of its flat table.");
    out.push_str("use crate::model::{AttributeRef, Evidence, Instrument, Level, MetricDef, ValueType};\nuse crate::smoltrace::SmoltraceMetric;\n\n");
    let _ = writeln!(out, "pub(crate) static METRICS: [SmoltraceMetric; {}] = [", input.smoltrace.len());
    for entry in &input.smoltrace {
        let hw = match &entry.hw {
            Some((name, factor)) => format!("Some(({name:?}, {}))", float(*factor)),
            None => "None".to_owned(),
        };
        let _ = writeln!(
            out,
            "SmoltraceMetric {{ metric: {}, flat_column: {:?}, hw: {hw} }},",
            metric_def(&entry.metric)?,
            entry.column
        );
    }
    let _ = writeln!(
        out,
        "];\n\npub(crate) static FLAT_COLUMNS: [(&str, &str); {}] = [",
        input.flat_columns.len()
    );
    for column in &input.flat_columns {
        let _ = writeln!(out, "{column:?},");
    }
    out.push_str("];\n");
    Ok(out)
}
