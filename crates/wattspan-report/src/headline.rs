//! What a run used and how sure that is, in sentences.

use crate::model::Figure;
use crate::number::{Unit, show};
use crate::read::Run;
use crate::tables::{headline_figures as figures, method_words};

/// The answer first, then how sure it is.
pub(crate) fn sentences(run: &Run) -> Vec<String> {
    let mut sentences = vec![used(run)];
    sentences.extend(sure(run));
    sentences.extend(emitted(run));
    sentences
}

fn used(run: &Run) -> String {
    let row = &run.row;
    let cases = match row.total_tests {
        0 => return "No case ended, so that there is nothing to sum up.".to_owned(),
        1 => "One case".to_owned(),
        tests => format!("{} cases", Figure::count(tests).text()),
    };
    let passed = format!("{} passed", Figure::count(row.successful_tests).text());
    let energy = figures::energy(run);
    if energy.value.is_none() {
        return match row.inference_energy_estimated_j {
            Some(joules) => format!(
                "{cases} ({passed}) used {} by a model of the machine; nothing was measured.",
                show(joules, None, Unit::Joule)
            ),
            None => {
                format!("{cases} ended ({passed}); what they used is not known: {}.", run.why_no_energy())
            }
        };
    }
    let kwh = row
        .inference_energy_j
        .map(|joules| kilowatt_hours(joules, row.inference_energy_uncertainty_j))
        .unwrap_or_default();
    let per_token = figures::per_token(run);
    let per_token = match per_token.value {
        Some(_) => format!(": {} of output", per_token.text()),
        None => String::new(),
    };
    format!("{cases} ({passed}) used {}{kwh}{per_token}.", energy.text())
}

fn sure(run: &Run) -> Option<String> {
    let row = &run.row;
    let (measured, estimated, unknown) = (row.measured_tests, row.estimated_tests, figures::unknown(run));
    let mut parts = Vec::new();
    if measured > 0 {
        let method = row.energy_method.as_deref().map_or_else(|| "in some way".to_owned(), method_words);
        parts.push(format!("{measured} of {} cases were measured, {method}", row.total_tests));
    }
    if estimated > 0 {
        parts.push(format!(
            "{estimated} {} nothing but a model's figure, which is in no sum",
            if estimated == 1 { "has" } else { "have" }
        ));
    }
    if unknown > 0 && unknown < row.total_tests {
        parts.push(format!("of {unknown} nothing is known"));
    }
    if let Some(coverage) = row.energy_coverage {
        let coverage = show(coverage, None, Unit::Ratio);
        parts.push(format!("sensors had data for at least {coverage} of each case's time"));
    }
    (!parts.is_empty()).then(|| format!("How sure: {}.", parts.join("; ")))
}

fn emitted(run: &Run) -> Option<String> {
    let (grams, cost) = (figures::inference_co2(run), figures::inference_cost(run));
    let known = [&grams, &cost].into_iter().filter(|figure| figure.value.is_some());
    let known: Vec<String> = known.map(Figure::text).collect();
    let modelled = run.row.inference_energy_j.is_none() && run.row.inference_energy_estimated_j.is_some();
    let of = if modelled { ", of modelled energy" } else { "" };
    (!known.is_empty()).then(|| format!("That is {}{of}.", known.join(" and ")))
}

/// The same energy as an electricity bill has it.
fn kilowatt_hours(joules: f64, half: Option<f64>) -> String {
    format!(" ({})", show(joules / 3_600.0, half.map(|half| half / 3_600.0), Unit::WattHour))
}

pub(crate) const LEGEND: &str = "± is the half-width of a 95 % interval. – means that a value is not known, never that it \
     is zero. Measured and modelled energy are never added.";
