//! Where grams, dollars and figures come from.

use std::collections::BTreeMap;

use wattspan_core::Cell;

use super::value_text;
use crate::model::{Content, Figure, Line, Table, number, words};
use crate::number::Unit;
use crate::read::Run;
use crate::text;

/// Emissions by zone, source and kind of the intensity.
pub(crate) fn carbon(run: &Run) -> Table {
    let mut table = Table::new(
        "carbon",
        "Where the emissions come from",
        vec![
            words("zone", "Zone"),
            words("carbon_source", "Source"),
            words("carbon_kind", "Kind"),
            number("intensity_min", "Intensity from"),
            number("intensity_max", "to"),
            number("cases", "Cases"),
            number("co2_emissions_g", "Emissions"),
        ],
    );
    let mut by_source: BTreeMap<[Option<&str>; 3], Emitted> = BTreeMap::new();
    for case in &run.cases {
        let row = &case.row;
        let Some(grams) = row.co2_emissions_g else { continue };
        let key = [row.carbon_zone.as_deref(), row.carbon_source.as_deref(), row.carbon_kind.as_deref()];
        let emitted = by_source.entry(key).or_default();
        if let Some(intensity) = row.carbon_intensity_g_per_kwh {
            emitted.least = Some(emitted.least.map_or(intensity, |known| known.min(intensity)));
            emitted.most = Some(emitted.most.map_or(intensity, |known| known.max(intensity)));
        }
        emitted.cases += 1;
        emitted.grams += grams;
    }
    for ([zone, source, kind], emitted) in by_source {
        let told = |text: Option<&str>| Content::text(text.map(text::line));
        let intensity = |value| Content::from(Figure::new(value, Unit::GramPerKwh).or_because("not told"));
        let key = [zone, source, kind].map(|part| part.unwrap_or("-")).join("/");
        table.lines.push(Line::new(
            key,
            vec![
                told(zone),
                told(source),
                told(kind),
                intensity(emitted.least),
                intensity(emitted.most),
                Figure::count(emitted.cases).into(),
                Figure::new(emitted.grams, Unit::Gram).into(),
            ],
        ));
    }
    table.notes.extend(methods(run, &["carbon", "intensity", "emission", "place"]));
    if table.lines.iter().any(|line| line.key.ends_with("/average"))
        && table.lines.iter().any(|line| line.key.ends_with("/marginal"))
    {
        table
            .notes
            .push("Average and marginal figures answer different questions: do not compare them.".to_owned());
    }
    table
}

/// Emissions of one source.
#[derive(Default)]
struct Emitted {
    least: Option<f64>,
    most: Option<f64>,
    cases: u64,
    grams: f64,
}

/// Cost by its source.
pub(crate) fn cost(run: &Run) -> Table {
    let mut table = Table::new(
        "cost",
        "Where the cost comes from",
        vec![words("cost_source", "Source"), number("cases", "Cases"), number("cost_usd", "Cost")],
    );
    let mut by_source: BTreeMap<Option<&str>, (u64, f64)> = BTreeMap::new();
    for case in &run.cases {
        if let Some(cost) = case.row.cost_usd {
            let (cases, sum) = by_source.entry(case.row.cost_source.as_deref()).or_default();
            *cases += 1;
            *sum += cost;
        }
    }
    for (source, (cases, cost)) in by_source {
        table.lines.push(Line::new(
            source.unwrap_or("-"),
            vec![
                Content::text(source.map(text::line)),
                Figure::count(cases).into(),
                Figure::new(cost, Unit::Usd).into(),
            ],
        ));
    }
    table.notes.extend(methods(run, &["price", "cost", "tariff"]));
    table
}

/// What the metadata says of a method, by parts of its name.
fn methods(run: &Run, about: &[&str]) -> Vec<String> {
    let Some(Cell::Map(methods)) = run.told_map("methods") else { return Vec::new() };
    let matching = methods.iter().filter(|(name, value)| {
        let name = name.to_lowercase();
        about.iter().any(|part| name.contains(part)) && !matches!(value, Cell::Null)
    });
    matching
        .map(|(name, value)| {
            format!("From the metadata, {}: {}", text::line(name).replace('_', " "), value_text(value))
        })
        .collect()
}

/// Versions, methods, devices and configuration, as the metadata has them.
pub(crate) fn setup(run: &Run) -> Table {
    let mut table =
        Table::new("setup", "How the run was made", vec![words("name", "What"), words("value", "Value")]);
    let mut push = |key: String, value: String| {
        let cells = vec![
            Content::Text(key.replace('_', " ")),
            Content::Text(text::shorten(&value, MOST).into_owned()),
        ];
        table.lines.push(Line::new(key, cells));
    };
    let row = &run.row;
    for (key, value) in [
        ("folder", Some(run.folder.display().to_string())),
        ("model", row.model.clone()),
        ("dataset_used", row.dataset_used.clone()),
        ("suite_version", row.suite_version.clone()),
        ("pass_rule", row.pass_rule.clone()),
        ("generation_settings", row.generation_settings.clone()),
        ("hardware", row.hardware.clone().or_else(|| run.told("hardware").map(str::to_owned))),
        ("hardware_scope", row.hardware_scope.clone()),
        ("submitted_by", row.submitted_by.clone()),
        ("use_case", row.use_case.clone()),
        ("team", row.team.clone()),
        ("purpose", row.purpose.clone()),
        ("notes", row.notes.clone()),
    ] {
        if let Some(value) = value {
            push(key.to_owned(), text::line(&value));
        }
    }
    for group in ["started", "timestamp", "versions", "methods", "configuration"] {
        match run.told_map(group) {
            None => {}
            Some(Cell::Map(values)) => {
                for (name, value) in values {
                    push(format!("{group}.{}", text::line(name)), value_text(value));
                }
            }
            Some(value) => push(group.to_owned(), value_text(value)),
        }
    }
    if let Some(Cell::List(devices)) = run.told_map("devices") {
        for (index, device) in devices.iter().enumerate() {
            push(format!("device.{index}"), value_text(device));
        }
    }
    table
}

/// Longest value that is shown.
const MOST: usize = 400;
