//! The Rust files and what stands at their head; the rename table and SMOLTRACE. Layout is left to rustfmt.

use std::fmt::Write as _;

use super::input::{Input, Rename};
use super::keys::{Keys, pascal};
use super::lookup::{attribute_keys, measures, spans};
use super::names::{attribute_names, environment, event_names, metric_names, operations, values};
use super::tables::{evidence, float, metric_def, table, texts};

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
        ("span.rs", spans(input)),
    ])
}

pub(super) fn head(what: &str) -> String {
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
        ("span", false),
        ("value", true),
    ] {
        let visibility = if public { "pub" } else { "pub(crate)" };
        let _ = writeln!(out, "{visibility} mod {name};");
    }
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
