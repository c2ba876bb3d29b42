//! Writes `docs/conventions.md`: which names wattspan puts on the wire, by profile. The words are ours; the registries
//! give names, types, units and levels only.

use std::fmt::Write as _;

use super::input::{Attribute, Input, Metric, Profile, Reference, Rename, Route, Table};
use super::keys::{Keys, MeasureKey};

pub(super) fn conventions(input: &Input, keys: &Keys) -> String {
    let mut out = String::from(INTRODUCTION);
    own_names(&mut out, input);
    measures(&mut out, keys);
    for (profile, title) in [(Profile::Core, "core"), (Profile::GenAi, "genai")] {
        let [(_, table), _, _] = input.tables(profile);
        profile_tables(&mut out, input, profile, table, title);
    }
    hardware(&mut out, input);
    smoltrace(&mut out, input);
    renames(&mut out, input);
    out
}

const INTRODUCTION: &str = "\
<!-- Written by `cargo xtask codegen` from crates/wattspan-semconv/registry: change that and run it again. -->

# Names on the wire

wattspan speaks OpenTelemetry's words. Two versions of the GenAI words are in use, so a *profile* chooses between them at run time:

| profile | follows | when to choose it |
| --- | --- | --- |
| `core` (default) | OpenTelemetry semantic conventions 1.41.1, the last core release whose GenAI names are live | most backends and dashboards read these names |
| `genai` | release 0.1 of the GenAI conventions' own repository | the backend reads the newer names |

No environment variable of OpenTelemetry chooses between the two. A name of the `genai` profile that was seen in no text, and only follows
from a naming plan, is never emitted: the client span and the duration of an agent behind a network are such names, so an agent's duration is
`gen_ai.invoke_agent.duration` there.

SMOLTRACE's seven metrics are a third choice, in addition to a profile. Where no convention has a word, the name begins with `wattspan.`.
In code, `Key` names an attribute and `Measure` a measured thing by meaning; `Profile::attribute` and `Profile::instruments` give the names.

";

fn own_names(out: &mut String, input: &Input) {
    out.push_str("## Names of our own\n\nThe same in both profiles. An attribute that has no value is left off; it is never zero or empty.\n\n");
    for (title, metric) in [("On spans", false), ("On metrics only", true)] {
        let _ =
            writeln!(out, "### {title}\n\n| attribute | type | unit | meaning |\n| --- | --- | --- | --- |");
        for attribute in &input.own.attributes {
            if (attribute.on == "metrics") == metric {
                let Attribute { name, kind, unit, brief, requires, .. } = attribute;
                let with = match requires.as_slice() {
                    [] => String::new(),
                    names => format!(" Stands with {}.", code_list(names)),
                };
                let _ = writeln!(
                    out,
                    "| `{name}` | {kind} | {} | {brief}{}{with} |",
                    dash(unit),
                    members(attribute)
                );
            }
        }
        out.push('\n');
    }
    out.push_str("### Metrics\n\n| metric | instrument | unit | number | attributes | meaning |\n| --- | --- | --- | --- | --- | --- |\n");
    for metric in &input.own.metrics {
        let Metric { name, instrument, unit, value_type, brief, .. } = metric;
        let attributes = metric
            .attributes
            .iter()
            .map(|r| format!("`{}` ({})", r.name, level(&r.level)))
            .collect::<Vec<_>>();
        let buckets = match metric.buckets.as_slice() {
            [] => String::new(),
            bounds => format!(" Boundaries: {}.", numbers(bounds)),
        };
        let _ = writeln!(
            out,
            "| `{name}` | {instrument} | {unit} | {value_type} | {} | {brief}{buckets} |",
            attributes.join(", ")
        );
    }
    out.push_str("\n### Operations\n\n`gen_ai.operation.name` is an open list; these values are ours:\n\n");
    for span in &input.own.spans {
        let _ = writeln!(
            out,
            "- {}: span `{}`, kind {}",
            code_list(&span.operations),
            span.template,
            span.kinds.join(" or ")
        );
    }
    out.push('\n');
}

fn measures(out: &mut String, keys: &Keys) {
    out.push_str(
        "## What is measured, and on which instruments\n\nA measure that shows no instrument for an operation is not in that profile and is not recorded.\n\n| measure | meaning | `core` | `genai` |\n| --- | --- | --- | --- |\n",
    );
    for MeasureKey { variant, brief, core, genai } in &keys.measures {
        // Those that bear a metric's own name are in the tables of metrics.
        let named_after_metric = core.len() == 1 && genai.len() == 1 && core[0].metrics == genai[0].metrics;
        if !named_after_metric || variant.starts_with("Server") {
            let _ = writeln!(out, "| `{variant}` | {brief} | {} | {} |", routes(core), routes(genai));
        }
    }
    out.push('\n');
}

fn routes(routes: &[Route]) -> String {
    let mut cells = Vec::new();
    for route in routes {
        let metrics = route.metrics.iter().map(|(name, fixed)| {
            let fixed =
                fixed.iter().map(|(key, value)| format!(" with `{key}` = `{value}`")).collect::<String>();
            format!("`{name}`{fixed}")
        });
        let metrics = metrics.collect::<Vec<_>>().join(" and ");
        cells.push(match &route.operations {
            None => metrics,
            Some(operations) => format!("{metrics} ({})", operations.join(", ")),
        });
    }
    if cells.is_empty() { "–".to_owned() } else { cells.join("; ") }
}

fn profile_tables(out: &mut String, input: &Input, profile: Profile, table: &Table, title: &str) {
    let _ = writeln!(out, "## Profile `{title}` ({})\n", table.version);
    if let Some(url) = &table.schema_url {
        let _ = writeln!(out, "Schema URL: `{url}`.\n");
    }
    out.push_str("### Metrics\n\nThe boundaries are set on the instrument; no view is needed.\n\n");
    metrics(out, &table.metrics);
    out.push_str(
        "### Spans\n\nVariants for single providers differ in that provider's attributes and are left out here. A part that is missing is left out of the name.\nMarked *content*: recorded only by explicit choice. Marked *at start*: set when the span is created, so that samplers see it.\n\n",
    );
    for span in table.spans.iter().filter(|span| span.refines.is_none() && span.evidence != "inferred") {
        let operations = if span.operations.is_empty() {
            String::new()
        } else {
            format!("; operations {}", code_list(&span.operations))
        };
        let _ = writeln!(
            out,
            "#### `{}`\n\nKind {}; name `{}`{operations}.\n",
            span.id,
            span.kinds.join(" or "),
            span.template
        );
        references(out, input, profile, &span.attributes);
    }
    out.push_str("### Events\n\n| event | severity | requirement |\n| --- | --- | --- |\n");
    for event in &table.events {
        let severity = event.severity.map_or_else(|| "–".to_owned(), |number| number.to_string());
        let _ = writeln!(out, "| `{}` | {severity} | {} |", event.name, level(&event.level));
    }
    out.push('\n');
}

fn metrics(out: &mut String, metrics: &[Metric]) {
    out.push_str("| metric | instrument | unit | number | required attributes | boundaries |\n| --- | --- | --- | --- | --- | --- |\n");
    for metric in metrics.iter().filter(|metric| metric.evidence != "inferred") {
        let Metric { name, instrument, unit, value_type, .. } = metric;
        let required: Vec<String> =
            metric.attributes.iter().filter(|r| r.level == "required").map(|r| r.name.clone()).collect();
        let required = if required.is_empty() { "–".to_owned() } else { code_list(&required) };
        let _ = writeln!(
            out,
            "| `{name}` | {instrument} | {unit} | {value_type} | {required} | {} |",
            dash(&numbers(&metric.buckets))
        );
    }
    out.push('\n');
}

fn references(out: &mut String, input: &Input, profile: Profile, references: &[Reference]) {
    out.push_str("| attribute | type | requirement | marks |\n| --- | --- | --- | --- |\n");
    for reference in references {
        let tables = input.tables(profile);
        let attribute =
            tables.iter().find_map(|(_, table)| table.attributes.iter().find(|a| a.name == reference.name));
        let kind = attribute.map_or("–", |attribute| attribute.kind.as_str());
        let mut marks = Vec::new();
        if reference.sampled {
            marks.push("at start");
        }
        if attribute.is_some_and(|attribute| attribute.content) {
            marks.push("content");
        }
        let _ = writeln!(
            out,
            "| `{}` | {kind} | {} | {} |",
            reference.name,
            level(&reference.level),
            marks.join(", ")
        );
    }
    out.push('\n');
}

fn hardware(out: &mut String, input: &Input) {
    let _ = writeln!(
        out,
        "## Hardware ({})\n\nThe same in both profiles. Every point carries `hw.id`. `hw.host.energy` and `hw.host.power` speak of a whole machine and are\nnot to be added to the devices' own series.\n",
        input.hw.version
    );
    metrics(out, &input.hw.metrics);
}

fn smoltrace(out: &mut String, input: &Input) {
    out.push_str(
        "## SMOLTRACE\n\nIn addition to a profile, by choice. Emissions and cost are running totals: take the last value, never a mean. A value that could not be\nread is an empty cell.\n\n| metric | instrument | unit | column | hardware name | factor to it |\n| --- | --- | --- | --- | --- | --- |\n",
    );
    for entry in &input.smoltrace {
        let Metric { name, instrument, unit, .. } = &entry.metric;
        let (hw, factor) = match &entry.hw {
            Some((name, factor)) => (format!("`{name}`"), factor.to_string()),
            None => ("–".to_owned(), "–".to_owned()),
        };
        let _ = writeln!(out, "| `{name}` | {instrument} | {unit} | `{}` | {hw} | {factor} |", entry.column);
    }
}

fn renames(out: &mut String, input: &Input) {
    out.push_str(
        "\n## Names that others still use\n\nNothing of ours writes the earlier name in the later convention; `names_in` finds the name of a profile for one of any age.\n\n| earlier name | later name | between | where |\n| --- | --- | --- | --- |\n",
    );
    let on_the_wire = |rename: &&Rename| rename.signal != "span" && rename.evidence != "inferred";
    for rename in input.renames.iter().filter(on_the_wire) {
        let Rename { from, to, from_profile, scope, .. } = rename;
        let to = to.as_ref().map_or_else(|| "–".to_owned(), |name| format!("`{name}`"));
        let between = if from_profile == "core_1_41" { "`core` and `genai`" } else { "older and `core`" };
        let mut places = scope.operations.clone();
        places.extend(scope.token_type.iter().map(|direction| format!("{direction} tokens")));
        let _ = writeln!(out, "| `{from}` | {to} | {between} | {} |", dash(&places.join(", ")));
    }
}

fn members(attribute: &Attribute) -> String {
    if attribute.members.is_empty() {
        return String::new();
    }
    let members = attribute.members.iter().map(|member| format!("`{}` ({})", member.value, member.brief));
    format!(
        " {}: {}.",
        if attribute.closed { "One of" } else { "Known values" },
        members.collect::<Vec<_>>().join(", ")
    )
}

fn level(level: &str) -> String {
    if level == "opt_in" { "opt-in".to_owned() } else { level.replace('_', " ") }
}

fn code_list(names: &[String]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

fn numbers(numbers: &[f64]) -> String {
    numbers.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

fn dash(text: &str) -> &str {
    if text.is_empty() { "–" } else { text }
}
