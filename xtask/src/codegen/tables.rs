//! Writes one convention's tables: attributes, metrics, spans, events.

use std::fmt::Write as _;

use super::input::{Attribute, Event, Metric, Reference, Span, Standing, Table};
use super::keys::pascal;
use super::rust::head;

pub(super) fn table(table: &Table, title: &str) -> Result<String, String> {
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

pub(super) fn metric_def(metric: &Metric) -> Result<String, String> {
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

pub(super) fn evidence(evidence: &str) -> String {
    format!("Evidence::{}", pascal(evidence))
}

/// A float literal, with its thousands set apart.
pub(super) fn float(value: f64) -> String {
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

pub(super) fn texts(texts: &[String]) -> String {
    texts.iter().map(|text| format!("{text:?}")).collect::<Vec<_>>().join(", ")
}
