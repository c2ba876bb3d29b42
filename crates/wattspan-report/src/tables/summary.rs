//! What a run used and how sure that is; how long things took.

use wattspan_dataset::Quantiles;

use crate::model::{Content, Figure, Line, Table, number, words};
use crate::number::Unit;
use crate::read::{Case, Run};
use crate::text;

/// The run's figures, one a line. Keys are the columns of the leaderboard table.
pub(crate) fn summary(run: &Run) -> Table {
    let mut table = Table::new(
        "summary",
        "Figures of the run",
        vec![words("measure", "Figure"), number("value", "Value"), words("note", "Remark")],
    );
    for (key, title, figure) in figures(run) {
        let note = figure.note.clone();
        table.lines.push(Line::new(
            key,
            vec![
                Content::Text(title.to_owned()),
                figure.into(),
                note.map_or(Content::Absent(None), |note| Content::Text(note.into_owned())),
            ],
        ));
    }
    table
}

/// Key, title and figure of everything that a run comes to.
pub(crate) fn figures(run: &Run) -> Vec<(&'static str, &'static str, Figure)> {
    let row = &run.row;
    let no_energy = || run.why_no_energy();
    let tests = row.total_tests;
    let measured = energy(run);
    let cases_note = format!(
        "measured {}, modelled only {}, unknown {}",
        row.measured_tests,
        row.estimated_tests,
        unknown(run)
    );
    vec![
        ("total_tests", "Cases that ended", Figure::count(tests)),
        ("success_rate", "Passed", passed(run)),
        (
            "pass_at_1",
            "Prompts passed at the first attempt",
            Figure::new(row.pass_at_1, Unit::Ratio).or_because("no case"),
        ),
        ("errored_tests", "Cases with an error", Figure::count(row.errored_tests)),
        ("timed_out_tests", "Cases that a time limit ended", Figure::count(row.timed_out_tests)),
        ("inference_energy_j", "Energy of inferences, measured", measured),
        (
            "inference_energy_estimated_j",
            "Energy of inferences, modelled",
            Figure::new(row.inference_energy_estimated_j, Unit::Joule)
                .note("stands beside the measured energy and is never part of it")
                .or_because("nothing was modelled"),
        ),
        ("energy_coverage", "Coverage", coverage(run)),
        ("measured_tests", "Cases with measured energy", Figure::count(row.measured_tests).note(cases_note)),
        (
            "joules_per_output_token",
            "Energy per output token",
            per_token(run).note("measured energy, of the cases that have both").or_because(no_energy()),
        ),
        (
            "device_energy_j",
            "Energy of all devices",
            Figure::new(row.device_energy_j, Unit::Joule)
                .note("while metrics were collected; holds that of inferences")
                .or_because(no_energy()),
        ),
        (
            "gpu_power_avg_w",
            "Power of GPUs, mean",
            Figure::new(row.gpu_power_avg_w, Unit::Watt).or_because(no_gpu(run)),
        ),
        (
            "gpu_power_max_w",
            "Power of GPUs, peak",
            Figure::new(row.gpu_power_max_w, Unit::Watt).or_because(no_gpu(run)),
        ),
        (
            "gpu_memory_max_mib",
            "Memory of GPUs, peak",
            Figure::new(row.gpu_memory_max_mib, Unit::Mebibyte).or_because(no_gpu(run)),
        ),
        ("inference_co2_g", "Emissions of inferences", inference_co2(run)),
        (
            "co2_emissions_g",
            "Emissions of all devices",
            Figure::new(row.co2_emissions_g, Unit::Gram).or_because(no_intensity(run)),
        ),
        ("total_cost_usd", "Cost of inferences", inference_cost(run)),
        (
            "power_cost_total_usd",
            "Electricity of all devices",
            Figure::new(row.power_cost_total_usd, Unit::Usd).or_because("no price of electricity was known"),
        ),
        ("total_prompt_tokens", "Input tokens", tokens(row.total_prompt_tokens)),
        ("cache_read_tokens", "Input tokens from a cache", tokens(row.cache_read_tokens)),
        ("total_completion_tokens", "Output tokens", tokens(row.total_completion_tokens)),
        ("tokens_per_second", "Output tokens per second", rate(run)),
        (
            "total_duration_ms",
            "Time of all cases",
            Figure::new(row.total_duration_ms, Unit::Millisecond)
                .note("cases that ran side by side add up to more than the run took"),
        ),
    ]
}

/// Measured energy of the inferences, with its ±.
pub(crate) fn energy(run: &Run) -> Figure {
    let row = &run.row;
    let method = row.energy_method.as_deref().filter(|method| *method != "estimated");
    let known = match (method, row.inference_energy_uncertainty_j) {
        (Some(method), Some(_)) => {
            format!("{}; ± is the sum of the cases' 95 % half-widths, an upper bound", method_words(method))
        }
        (Some(method), None) => format!("{}; its uncertainty is not known", method_words(method)),
        (None, _) => "method not known".to_owned(),
    };
    Figure::new(row.inference_energy_j, Unit::Joule)
        .plus_minus(row.inference_energy_uncertainty_j)
        .note(known)
        .or_because(run.why_no_energy())
}

/// Energy per output token, with the relative ± of the energy.
pub(crate) fn per_token(run: &Run) -> Figure {
    let row = &run.row;
    let relative = row
        .inference_energy_uncertainty_j
        .zip(row.inference_energy_j.filter(|energy| *energy > 0.0))
        .map(|(half, energy)| half / energy);
    let half = row.joules_per_output_token.zip(relative).map(|(joules, relative)| joules * relative);
    Figure::new(row.joules_per_output_token, Unit::JoulePerToken).plus_minus(half)
}

pub(crate) fn passed(run: &Run) -> Figure {
    let row = &run.row;
    Figure::new(row.success_rate, Unit::Percent)
        .note(format!("{} of {}", row.successful_tests, row.total_tests))
        .or_because("no case ended")
}

pub(crate) fn coverage(run: &Run) -> Figure {
    Figure::new(run.row.energy_coverage, Unit::Ratio)
        .note("least share of a case's time for which all sensors had data")
        .or_because(run.why_no_energy())
}

pub(crate) fn inference_co2(run: &Run) -> Figure {
    Figure::new(run.row.inference_co2_g, Unit::Gram).or_because(no_intensity(run))
}

pub(crate) fn inference_cost(run: &Run) -> Figure {
    Figure::new(run.row.total_cost_usd, Unit::Usd).or_because(if run.all_remote() {
        "no token price was given"
    } else {
        "no price was known"
    })
}

/// Output tokens of all cases over the time of all cases that have some.
pub(crate) fn rate(run: &Run) -> Figure {
    let with_both = run.cases.iter().filter(|case| case.tokens_per_second().is_some());
    let (tokens, millis) = with_both.fold((0.0, 0.0), |(tokens, millis), case| {
        let more = case.row.output_tokens.unwrap_or(0) as f64;
        (tokens + more, millis + case.row.execution_time_ms.unwrap_or(0.0))
    });
    Figure::new((millis > 0.0).then(|| tokens / millis * 1e3), Unit::TokenPerSecond)
        .note("output tokens over the time of the cases, from begin to end")
        .or_because("no case has output tokens and a time")
}

pub(crate) fn unknown(run: &Run) -> u64 {
    run.row.total_tests.saturating_sub(run.row.measured_tests + run.row.estimated_tests)
}

/// How energy was obtained, in words.
pub(crate) fn method_words(method: &str) -> String {
    match method {
        "counter" => "from energy counters".to_owned(),
        "integrated" => "integrated from power".to_owned(),
        "estimated" => "modelled".to_owned(),
        "mixed" => "by several methods".to_owned(),
        other => text::line(other),
    }
}

fn tokens(count: Option<u64>) -> Figure {
    Figure::count(count).or_because("no case reports it")
}

fn no_gpu(run: &Run) -> String {
    if run.devices.iter().any(|device| device.kind == "gpu") {
        "its sensors did not say".to_owned()
    } else {
        "no GPU was measured".to_owned()
    }
}

fn no_intensity(run: &Run) -> String {
    if run.row.inference_energy_j.is_none() && run.row.inference_energy_estimated_j.is_none() {
        run.why_no_energy()
    } else {
        "no carbon intensity was known".to_owned()
    }
}

/// Percentiles. Times are those of the leaderboard row, which the run worked out; the others are worked out here.
pub(crate) fn latency(run: &Run) -> Table {
    let mut table = Table::new(
        "latency",
        "Times and rates of the cases",
        vec![
            words("measure", "Of a case"),
            number("p50", "Median"),
            number("p90", "90 %"),
            number("p95", "95 %"),
            number("p99", "99 %"),
            number("mean", "Mean"),
            number("count", "Cases"),
        ],
    );
    table.notes.push("A percentile is the value that so many cases do not exceed.".to_owned());
    let row = &run.row;
    let duration = quantiles(run, |case| case.row.execution_time_ms);
    let first_token = quantiles(run, |case| case.row.time_to_first_token_ms);
    let per_token = quantiles(run, |case| case.row.joules_per_output_token);
    let rate = quantiles(run, Case::tokens_per_second);
    let told = [row.duration_p50_ms, row.duration_p90_ms, row.duration_p95_ms, row.duration_p99_ms];
    let told_first = [
        row.time_to_first_token_p50_ms,
        row.time_to_first_token_p90_ms,
        row.time_to_first_token_p95_ms,
        row.time_to_first_token_p99_ms,
    ];
    for (key, title, unit, told, found) in [
        ("duration_ms", "Time", Unit::Millisecond, told, duration),
        ("time_to_first_token_ms", "Time to the first token", Unit::Millisecond, told_first, first_token),
        ("tokens_per_second", "Output tokens per second", Unit::TokenPerSecond, [None; 4], rate),
        ("joules_per_output_token", "Energy per output token", Unit::JoulePerToken, [None; 4], per_token),
    ] {
        let parts = [0.5, 0.9, 0.95, 0.99];
        let mut cells = vec![Content::Text(title.to_owned())];
        for (part, told) in parts.into_iter().zip(told) {
            cells.push(
                Figure::new(told.or_else(|| found.quantile(part)), unit).or_because("no case has it").into(),
            );
        }
        let mean = if key == "duration_ms" { row.avg_duration_ms.or(found.mean()) } else { found.mean() };
        cells.push(Figure::new(mean, unit).or_because("no case has it").into());
        cells.push(Figure::count(found.count()).into());
        if found.count() > 0 || told.iter().any(Option::is_some) {
            table.lines.push(Line::new(key, cells));
        }
    }
    table
}

fn quantiles(run: &Run, value: impl Fn(&Case) -> Option<f64>) -> Quantiles {
    let mut quantiles = Quantiles::default();
    run.cases.iter().filter_map(value).for_each(|value| quantiles.add(value));
    quantiles
}
