//! All runs beside each other.

use super::summary;
use crate::model::{Column, Content, Figure, Line, Table, number, words};
use crate::number::Unit;
use crate::read::Run;
use crate::text;

/// A line for each run, to be sorted.
pub(crate) fn runs(runs: &[Run]) -> Table {
    let mut table = Table::new(
        "leaderboard",
        "Leaderboard",
        vec![
            words("run_id", "Run"),
            words("model", "Model"),
            words("provider", "Provider"),
            words("hardware", "Hardware"),
            words("run_status", "Status"),
            number("total_tests", "Cases"),
            number("success_rate", "Passed"),
            number("inference_energy_j", "Energy, measured"),
            number("inference_energy_estimated_j", "Energy, modelled"),
            number("joules_per_output_token", "Per output token"),
            number("tokens_per_second", "Output rate"),
            number("duration_p50_ms", "Median time"),
            number("duration_p95_ms", "95 % within"),
            number("inference_co2_g", "Emissions"),
            number("total_cost_usd", "Cost"),
            words("timestamp", "Ended"),
        ],
    );
    table.sorts = true;
    for run in runs {
        let row = &run.row;
        let told = |text: Option<&str>| Content::text(text.map(text::line));
        table.lines.push(Line::new(
            run.name(),
            vec![
                Content::Text(run.name()),
                Content::text(row.model.as_deref().or_else(|| run.told("model")).map(super::model_name)),
                told(row.provider.as_deref()),
                told(row.hardware.as_deref().or_else(|| run.told("hardware"))),
                told(run.status()),
                Figure::count(row.total_tests).into(),
                summary::passed(run).into(),
                summary::energy(run).into(),
                Figure::new(row.inference_energy_estimated_j, Unit::Joule)
                    .or_because("nothing was modelled")
                    .into(),
                summary::per_token(run).or_because(run.why_no_energy()).into(),
                summary::rate(run).into(),
                Figure::new(row.duration_p50_ms, Unit::Millisecond).or_because("no case has a time").into(),
                Figure::new(row.duration_p95_ms, Unit::Millisecond).or_because("no case has a time").into(),
                summary::inference_co2(run).into(),
                summary::inference_cost(run).into(),
                told(row.timestamp.map(|time| ended(&time.to_string())).as_deref()),
            ],
        ));
    }
    table.without_empty_columns()
}

/// To the minute, as people write it.
fn ended(timestamp: &str) -> String {
    timestamp.get(..16).map_or_else(|| timestamp.to_owned(), |time| time.replace('T', " ") + " UTC")
}

/// The columns of the leaderboard that are compared by bars, with what is good in them.
pub(crate) fn comparison(table: &Table) -> Vec<(usize, Column, &'static str)> {
    let compared = [
        ("joules_per_output_token", "less is better"),
        ("tokens_per_second", "more is better"),
        ("success_rate", "more is better"),
        ("inference_energy_j", "of all cases"),
        ("inference_energy_estimated_j", "of all cases"),
        ("duration_p50_ms", "less is better"),
        ("inference_co2_g", "of all cases"),
    ];
    compared
        .into_iter()
        .filter_map(|(key, remark)| {
            let (index, column) = table.columns.iter().enumerate().find(|(_, column)| column.key == key)?;
            Some((index, *column, remark))
        })
        .collect()
}
