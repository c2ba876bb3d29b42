//! Inferences of a window: one row each, or their sums once they are many.

use std::sync::Arc;

use wattspan_core::{Grams, InferenceRecord, Joules, Method, Usd};

use super::distribution::Distribution;
use super::report::InferenceReport;

/// What a report needs of one inference.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Row {
    pub(super) monitor: Arc<str>,
    /// When it ended, in nanoseconds since the Unix epoch.
    pub(super) end: u64,
    duration: f64,
    first_token: Option<f64>,
    per_token: Option<f64>,
    input: Option<u64>,
    output: Option<u64>,
    energy: Option<Joules>,
    estimated: Option<Joules>,
    grams: Option<Grams>,
    cost: Option<Usd>,
    failed: bool,
}

impl Row {
    pub(super) fn new(monitor: &Arc<str>, end: u64, record: &InferenceRecord) -> Self {
        let tokens = &record.facts.tokens;
        let duration = record.duration().as_secs_f64();
        let first_token = record.time_to_first_token().map(|time| time.as_secs_f64());
        let per_token = first_token.zip(tokens.output.filter(|tokens| *tokens > 1));
        let energy = record.settlement.energy.as_ref();
        let measured =
            energy.filter(|energy| energy.method != Method::Estimated && energy.coverage.ratio() > 0.0);
        Self {
            monitor: Arc::clone(monitor),
            end,
            duration,
            first_token,
            per_token: per_token.map(|(first, tokens)| (duration - first).max(0.0) / (tokens - 1) as f64),
            input: tokens.input(),
            output: tokens.output,
            energy: measured.map(|energy| energy.total),
            estimated: energy.and_then(|energy| energy.estimated.as_ref()).map(|estimate| estimate.value),
            grams: record.settlement.emissions.as_ref().map(|emissions| emissions.total),
            cost: record.settlement.cost.as_ref().map(|cost| cost.total),
            failed: record.facts.error_type.is_some(),
        }
    }
}

/// Sums over inferences.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Sums {
    pub(super) count: u64,
    failed: u64,
    measured: u64,
    priced: u64,
    input: Option<u64>,
    pub(super) output: Option<u64>,
    energy: Option<Joules>,
    estimated: Option<Joules>,
    grams: Option<Grams>,
    estimated_grams: Option<Grams>,
    cost: Option<Usd>,
    /// Energy and tokens of those that have both.
    token_energy: Joules,
    tokens: u64,
    duration: Distribution,
    first_token: Distribution,
    per_token: Distribution,
    joules: Distribution,
}

/// Adds what is known to what was; unknown only while nothing is.
fn add<T: std::ops::Add<Output = T>>(sum: Option<T>, more: Option<T>) -> Option<T> {
    match (sum, more) {
        (Some(sum), Some(more)) => Some(sum + more),
        (known, None) | (None, known) => known,
    }
}

impl Sums {
    pub(super) fn add(&mut self, row: &Row) {
        self.count += 1;
        self.failed += u64::from(row.failed);
        self.measured += u64::from(row.energy.is_some());
        self.priced += u64::from(row.cost.is_some());
        self.input = add(self.input, row.input);
        self.output = add(self.output, row.output);
        self.energy = add(self.energy, row.energy);
        self.estimated = add(self.estimated, row.estimated);
        if row.energy.is_some() {
            self.grams = add(self.grams, row.grams);
        } else {
            self.estimated_grams = add(self.estimated_grams, row.grams);
        }
        self.cost = add(self.cost, row.cost);
        if let (Some(energy), Some(tokens)) = (row.energy, row.output.filter(|tokens| *tokens > 0)) {
            self.token_energy += energy;
            self.tokens += tokens;
        }
        self.duration.add(row.duration);
        row.first_token.into_iter().for_each(|time| self.first_token.add(time));
        row.per_token.into_iter().for_each(|time| self.per_token.add(time));
        row.energy.into_iter().for_each(|energy| self.joules.add(energy.joules()));
    }

    pub(super) fn merge(&mut self, other: &Self) {
        self.count += other.count;
        self.failed += other.failed;
        self.measured += other.measured;
        self.priced += other.priced;
        self.input = add(self.input, other.input);
        self.output = add(self.output, other.output);
        self.energy = add(self.energy, other.energy);
        self.estimated = add(self.estimated, other.estimated);
        self.grams = add(self.grams, other.grams);
        self.estimated_grams = add(self.estimated_grams, other.estimated_grams);
        self.cost = add(self.cost, other.cost);
        self.token_energy += other.token_energy;
        self.tokens += other.tokens;
        self.duration.merge(&other.duration);
        self.first_token.merge(&other.first_token);
        self.per_token.merge(&other.per_token);
        self.joules.merge(&other.joules);
    }

    pub(super) fn report(&self, seconds: f64) -> InferenceReport {
        let per_token = self.token_energy.joules() / self.tokens as f64;
        InferenceReport {
            count: self.count,
            failed: self.failed,
            measured: self.measured,
            input_tokens: self.input,
            output_tokens: self.output,
            energy: self.energy,
            estimated: self.estimated,
            joules_per_output_token: (self.tokens > 0).then_some(per_token),
            emissions: self.grams,
            estimated_emissions: self.estimated_grams,
            cost: self.cost,
            priced: self.priced,
            output_tokens_per_second: self
                .output
                .filter(|_| seconds > 0.0)
                .map(|tokens| tokens as f64 / seconds),
            duration_seconds: self.duration.percentiles(),
            time_to_first_token_seconds: self.first_token.percentiles(),
            time_per_output_token_seconds: self.per_token.percentiles(),
            inference_energy_joules: self.joules.percentiles(),
        }
    }

    /// What a report that was read back still tells; its percentiles are not figures any more.
    pub(super) fn read_back(report: &InferenceReport) -> Self {
        let per_token = report.joules_per_output_token.zip(report.energy).filter(|(each, _)| *each > 0.0);
        Self {
            count: report.count,
            failed: report.failed,
            measured: report.measured,
            priced: report.priced,
            input: report.input_tokens,
            output: report.output_tokens,
            energy: report.energy,
            estimated: report.estimated,
            grams: report.emissions,
            estimated_grams: report.estimated_emissions,
            cost: report.cost,
            token_energy: per_token.map_or(Joules::ZERO, |(_, energy)| energy),
            tokens: per_token.map_or(0, |(each, energy)| (energy.joules() / each).round() as u64),
            ..Self::default()
        }
    }
}
