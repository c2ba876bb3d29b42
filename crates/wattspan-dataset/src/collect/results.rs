//! Settled inferences → what each case took.

use std::collections::{HashMap, VecDeque};
use std::sync::Mutex;

use wattspan_core::{Boundary, DeviceKind, InferenceRecord, Joules, Method, RecordSink, Workload};

use super::lock;
use crate::ResultRow;

/// Sums over the inferences of one case. What no inference reports stays absent.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct CaseTotals {
    /// How many inferences.
    pub inferences: u64,
    input: Option<u64>,
    cache_read: Option<u64>,
    cache_write: Option<u64>,
    output: Option<u64>,
    reasoning: Option<u64>,
    first_token_ms: Option<f64>,
    measured: Option<Joules>,
    /// Measured energy of the inferences that emitted tokens, and how many those were.
    per_token: (Joules, u64),
    method: Option<Method>,
    /// Sum of squares of the random parts, and sum of the systematic ones: those have the same sign everywhere.
    random: Option<f64>,
    systematic: f64,
    coverage: Option<f64>,
    kinds: [Option<Joules>; 3],
    /// Absent as soon as one measured inference has no idle part: a partial sum would look like the whole.
    idle: Idle,
    estimated: Option<Joules>,
    grams: Option<f64>,
    grams_within: Within,
    intensity: Option<Intensity>,
    cost: Option<f64>,
    cost_within: Within,
    cost_source: Option<String>,
    settle_reason: Option<&'static str>,
}

#[derive(Clone, Debug, PartialEq)]
struct Intensity {
    grams_per_kwh: f64,
    zone: Option<String>,
    source: String,
    kind: &'static str,
}

/// What sums cover, when all of their parts cover the same.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum Within {
    #[default]
    Nothing,
    One(Option<Boundary>),
    Mixed,
}

impl Within {
    fn add(&mut self, boundary: Option<Boundary>) {
        *self = match *self {
            Self::Nothing => Self::One(boundary),
            Self::One(known) if known == boundary => Self::One(known),
            _ => Self::Mixed,
        };
    }

    fn name(self) -> Option<String> {
        match self {
            Self::Nothing | Self::One(None) => None,
            Self::One(Some(boundary)) => Some(boundary.as_str().to_owned()),
            Self::Mixed => Some("mixed".to_owned()),
        }
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
enum Idle {
    #[default]
    Nothing,
    Known(Joules),
    Partly,
}

impl CaseTotals {
    /// Adds an inference. Loading a model is an operation of its own and is not added.
    pub fn add(&mut self, record: &InferenceRecord) {
        if record.begin.workload == Workload::Load {
            return;
        }
        self.inferences += 1;
        let tokens = &record.facts.tokens;
        add(&mut self.input, tokens.input());
        add(&mut self.cache_read, tokens.cache_read);
        add(&mut self.cache_write, tokens.cache_write);
        add(&mut self.output, tokens.output);
        add(&mut self.reasoning, tokens.reasoning);
        if self.first_token_ms.is_none() {
            self.first_token_ms = record.time_to_first_token().map(|time| time.as_secs_f64() * 1e3);
        }
        let settlement = &record.settlement;
        self.settle_reason = Some(settlement.reason.as_str());
        self.add_energy(record);
        if let Some(emissions) = &settlement.emissions {
            *self.grams.get_or_insert_default() += emissions.total.grams();
            self.grams_within.add(emissions.boundary);
            self.intensity = Some(Intensity {
                grams_per_kwh: emissions.intensity.value.grams_per_kwh(),
                zone: emissions.intensity.zone.as_deref().map(str::to_owned),
                source: emissions.intensity.source.as_ref().to_owned(),
                kind: emissions.intensity.kind.as_str(),
            });
        }
        if let Some(cost) = &settlement.cost {
            *self.cost.get_or_insert_default() += cost.total.usd();
            self.cost_within.add(cost.boundary);
            let same = self.cost_source.as_deref().is_none_or(|known| known == cost.source.as_ref());
            self.cost_source = Some(if same { cost.source.as_ref() } else { "mixed" }.to_owned());
        }
    }

    fn add_energy(&mut self, record: &InferenceRecord) {
        let Some(energy) = &record.settlement.energy else { return };
        let estimate = match (&energy.estimated, energy.method) {
            (Some(estimate), _) => Some(estimate.value),
            (None, Method::Estimated) => Some(energy.total),
            (None, _) => None,
        };
        if let Some(estimate) = estimate {
            *self.estimated.get_or_insert_default() += estimate;
        }
        self.method = Some(self.method.map_or(energy.method, |method| method.with(energy.method)));
        if energy.method == Method::Estimated {
            return;
        }
        *self.measured.get_or_insert_default() += energy.total;
        if let Some(tokens) = record.facts.tokens.output.filter(|tokens| *tokens > 0) {
            self.per_token.0 += energy.total;
            self.per_token.1 = self.per_token.1.saturating_add(tokens);
        }
        if let Some(uncertainty) = &energy.uncertainty {
            *self.random.get_or_insert_default() += uncertainty.random.joules().powi(2);
            self.systematic += uncertainty.systematic.joules();
        }
        let coverage = energy.coverage.ratio();
        self.coverage = Some(self.coverage.map_or(coverage, |least| least.min(coverage)));
        for (sum, kind) in self.kinds.iter_mut().zip(KINDS) {
            if let Some(part) = energy.of_kind(kind) {
                *sum.get_or_insert_default() += part;
            }
        }
        self.idle = match (std::mem::take(&mut self.idle), energy.idle) {
            (Idle::Nothing, Some(idle)) => Idle::Known(idle),
            (Idle::Known(sum), Some(idle)) => Idle::Known(sum + idle),
            _ => Idle::Partly,
        };
    }

    /// Writes the sums into a case's row. What they do not concern stays as it is.
    pub fn apply(&self, row: &mut ResultRow) {
        row.inferences = Some(self.inferences);
        row.input_tokens = self.input;
        row.cache_read_tokens = self.cache_read;
        row.cache_write_tokens = self.cache_write;
        row.output_tokens = self.output;
        row.reasoning_tokens = self.reasoning;
        row.total_tokens = match (self.input, self.output) {
            (None, None) => None,
            (input, output) => Some(input.unwrap_or(0).saturating_add(output.unwrap_or(0))),
        };
        row.time_to_first_token_ms = self.first_token_ms;
        row.energy_j = self.measured.map(Joules::joules);
        row.energy_uncertainty_j = self.random.map(|random| (random + self.systematic.powi(2)).sqrt());
        row.energy_method = self.method.map(|method| method.as_str().to_owned());
        row.energy_coverage = self.coverage;
        [row.energy_gpu_j, row.energy_cpu_j, row.energy_dram_j] =
            self.kinds.map(|part| part.map(Joules::joules));
        row.energy_idle_j = match self.idle {
            Idle::Known(idle) => Some(idle.joules()),
            Idle::Nothing | Idle::Partly => None,
        };
        row.energy_estimated_j = self.estimated.map(Joules::joules);
        row.joules_per_output_token =
            (self.per_token.1 > 0).then(|| self.per_token.0.joules() / self.per_token.1 as f64);
        row.co2_emissions_g = self.grams;
        row.carbon_intensity_g_per_kwh = self.intensity.as_ref().map(|found| found.grams_per_kwh);
        row.carbon_zone = self.intensity.as_ref().and_then(|found| found.zone.clone());
        row.carbon_source = self.intensity.as_ref().map(|found| found.source.clone());
        row.carbon_kind = self.intensity.as_ref().map(|found| found.kind.to_owned());
        row.carbon_boundary = self.grams_within.name();
        row.cost_usd = self.cost;
        row.cost_boundary = self.cost_within.name();
        row.cost_source.clone_from(&self.cost_source);
        row.settle_reason = self.settle_reason.map(str::to_owned);
    }
}

/// Sums inferences up by trace, for whoever runs a case inside one. Give it to the monitor as a sink.
///
/// **Limits** 65 536 traces wait to be taken; then the oldest is given up and counted.
#[derive(Debug)]
pub struct ResultCollector {
    capacity: usize,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    traces: HashMap<[u8; 16], CaseTotals>,
    /// In order of their first inference; may name traces that were taken.
    order: VecDeque<[u8; 16]>,
    dropped: u64,
}

impl Default for ResultCollector {
    fn default() -> Self {
        Self::new(65_536)
    }
}

impl ResultCollector {
    /// Keeps at most this many traces.
    pub fn new(traces: usize) -> Self {
        Self { capacity: traces.max(1), state: Mutex::default() }
    }

    /// How many of a trace's inferences have been settled.
    pub fn settled(&self, trace_id: &[u8; 16]) -> u64 {
        lock(&self.state).traces.get(trace_id).map_or(0, |totals| totals.inferences)
    }

    /// Takes the sums of a trace. **Absent** when none of its inferences has been settled.
    pub fn take(&self, trace_id: &[u8; 16]) -> Option<CaseTotals> {
        let mut state = lock(&self.state);
        let taken = state.traces.remove(trace_id);
        if taken.is_some() && state.order.len() > 2 * state.traces.len() + 16 {
            let State { traces, order, .. } = &mut *state;
            order.retain(|trace| traces.contains_key(trace));
        }
        taken
    }

    /// How many traces were given up.
    pub fn dropped(&self) -> u64 {
        lock(&self.state).dropped
    }
}

impl RecordSink for ResultCollector {
    fn record(&self, record: &InferenceRecord) {
        let Some(place) = record.facts.trace else { return };
        if record.begin.workload == Workload::Load {
            return;
        }
        let mut state = lock(&self.state);
        if !state.traces.contains_key(&place.trace_id) {
            while state.traces.len() >= self.capacity {
                let Some(oldest) = state.order.pop_front() else { break };
                state.dropped += u64::from(state.traces.remove(&oldest).is_some());
            }
            state.order.push_back(place.trace_id);
        }
        state.traces.entry(place.trace_id).or_default().add(record);
    }
}

fn add(sum: &mut Option<u64>, value: Option<u64>) {
    if let Some(value) = value {
        let sum = sum.get_or_insert_default();
        *sum = sum.saturating_add(value);
    }
}

const KINDS: [DeviceKind; 3] = [DeviceKind::Gpu, DeviceKind::Cpu, DeviceKind::Dram];
