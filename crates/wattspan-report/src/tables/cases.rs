//! Case by case: what came of it and what it took.

use crate::Options;
use crate::model::{Content, Figure, Line, Table, number, words};
use crate::number::Unit;
use crate::read::{Case, Run};
use crate::text::{clean, line, shorten};

/// The first so many cases, those that failed before the others.
pub(crate) fn cases(run: &Run, options: &Options) -> Table {
    let mut table = Table::new(
        "cases",
        "Cases",
        vec![
            words("case", "Case"),
            number("attempt", "Attempt"),
            words("success", "Result"),
            words("checks", "Checks"),
            words("stop_reason", "Ended by"),
            number("execution_time_ms", "Time"),
            number("time_to_first_token_ms", "First token"),
            number("input_tokens", "Input tokens"),
            number("output_tokens", "Output tokens"),
            number("tokens_per_second", "Output rate"),
            number("energy_j", "Energy, measured"),
            number("energy_estimated_j", "Energy, modelled"),
            number("joules_per_output_token", "Per output token"),
            number("co2_emissions_g", "Emissions"),
            number("cost_usd", "Cost"),
            words("error", "Error"),
        ],
    );
    table.sorts = true;
    let mut cases: Vec<&Case> = run.cases.iter().collect();
    let all = cases.len();
    if all > options.cases {
        cases.sort_by_key(|case| case.row.success == Some(true));
        cases.truncate(options.cases);
        table.notes.push(format!("{} of {all} cases, those that did not pass first.", cases.len()));
    }
    for case in cases {
        table.lines.push(one(run, case, options));
    }
    table.without_empty_columns()
}

fn one(run: &Run, case: &Case, options: &Options) -> Line {
    let row = &case.row;
    let figure =
        |value, unit, reason: &'static str| Content::from(Figure::new(value, unit).or_because(reason));
    let energy = Figure::new(row.energy_j, Unit::Joule).plus_minus(row.energy_uncertainty_j);
    let energy = match row.energy_coverage.filter(|coverage| *coverage < 0.9995) {
        Some(coverage) => energy.note(format!(
            "a lower bound: sensors had data for {} of the time",
            crate::number::show(coverage, None, Unit::Ratio)
        )),
        None => energy,
    };
    let energy = match &row.settle_reason {
        Some(reason) if row.energy_j.is_none() => energy.or_because(line(reason)),
        _ => energy.or_because(run.why_no_energy()),
    };
    let count = |count| Content::from(Figure::count(count).or_because("not reported"));
    let attempt = row.attempt.unwrap_or(1);
    Line::new(
        format!("{}#{attempt}", case.name()),
        vec![
            name(case, options),
            count(row.attempt),
            row.success.map_or(Content::Absent(Some("no check".into())), Content::Verdict),
            Content::text(checks(case)),
            Content::text(row.stop_reason.as_deref().map(line)),
            figure(row.execution_time_ms, Unit::Millisecond, "not reported"),
            figure(row.time_to_first_token_ms, Unit::Millisecond, "not streamed"),
            count(row.input_tokens),
            count(row.output_tokens),
            figure(case.tokens_per_second(), Unit::TokenPerSecond, "no output tokens"),
            energy.into(),
            figure(row.energy_estimated_j, Unit::Joule, "nothing was modelled"),
            figure(
                row.joules_per_output_token,
                Unit::JoulePerToken,
                "no measured energy or no output tokens",
            ),
            figure(row.co2_emissions_g, Unit::Gram, "no carbon intensity or energy was known"),
            figure(row.cost_usd, Unit::Usd, "no price was known"),
            Content::text(row.error.as_deref().map(|error| shorten(&line(error), 200).into_owned())),
        ],
    )
}

fn name(case: &Case, options: &Options) -> Content {
    let name = shorten(&line(case.name()), 80).into_owned();
    let texts = [("Prompt", &case.row.prompt), ("Response", &case.row.response)];
    let texts: Vec<_> = texts
        .into_iter()
        .filter_map(|(title, text)| Some((title, text.as_deref().filter(|_| options.texts)?)))
        .map(|(title, text)| (title, shorten(&clean(text), options.text_length).into_owned()))
        .collect();
    if texts.is_empty() { Content::Text(name) } else { Content::Open(name, texts) }
}

/// What was checked and what came of it: from the trace, and from the columns for answers and tools.
fn checks(case: &Case) -> Option<String> {
    let verdict = |passed: bool| if passed { "pass" } else { "fail" };
    let mut found: Vec<String> =
        case.checks.iter().map(|check| format!("{}: {}", line(&check.name), line(&check.result))).collect();
    let of_columns = [("answer", case.row.response_correct), ("tool", case.row.correct_tool)];
    for (name, passed) in of_columns {
        if let Some(passed) = passed {
            found.push(format!("{name}: {}", verdict(passed)));
        }
    }
    (!found.is_empty()).then(|| found.join("; "))
}
