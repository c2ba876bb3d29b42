//! What a run comes to, from its rows as they pass by.

use std::collections::BTreeMap;

use wattspan_core::Joules;

use crate::{GpuSummary, LeaderboardRow, MetricRow, Quantiles, ResultRow, TraceRow};

/// Sums a run up in bounded memory: per case nothing is kept, per device some numbers.
///
/// Totals over GPUs are sums over GPUs at the same moment (rows with the same `timestamp_unix_nano`, which come one after
/// the other), never the largest single one. Measured and estimated energy stay apart. What no row has stays absent.
///
/// Every row that is added counts: of a case that was run again and replaced its row, add the last one only, or leave the sums to
/// [`JsonDataset`](crate::JsonDataset), which makes them of what it keeps.
#[derive(Clone, Debug, Default)]
pub struct RunAggregate {
    results: u64,
    success: u64,
    completed: u64,
    timed_out: u64,
    max_steps: u64,
    errored: u64,
    prompts: u64,
    passed: u64,
    steps: Mean,
    duration: Quantiles,
    first_token: Quantiles,
    tokens: Count,
    input: Count,
    output: Count,
    cached: Count,
    cost: Mean,
    co2: Mean,
    energy: Energy,
    devices: BTreeMap<String, DeviceAggregate>,
    moment: Moment,
    gpu_memory_peak: Option<f64>,
    gpu_power_peak: Option<f64>,
    traces: u64,
    spans: u64,
}

impl RunAggregate {
    /// Of nothing so far.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a case.
    pub fn result(&mut self, row: &ResultRow) {
        self.results += 1;
        self.success += u64::from(row.success == Some(true));
        let timed_out = row.timed_out == Some(true);
        self.timed_out += u64::from(timed_out);
        self.completed += u64::from(!timed_out);
        self.max_steps += u64::from(row.stop_reason.as_deref() == Some("max_steps"));
        self.errored += u64::from(row.error.is_some());
        if row.attempt.is_none_or(|attempt| attempt == 1) {
            self.prompts += 1;
            self.passed += u64::from(row.pass_at_1_passed.or(row.success) == Some(true));
        }
        self.steps.add(row.steps.map(|steps| steps as f64));
        row.execution_time_ms.into_iter().for_each(|time| self.duration.add(time));
        row.time_to_first_token_ms.into_iter().for_each(|time| self.first_token.add(time));
        self.tokens.add(row.total_tokens);
        self.input.add(row.input_tokens);
        self.output.add(row.output_tokens);
        self.cached.add(row.cache_read_tokens);
        self.cost.add(row.cost_usd);
        self.co2.add(row.co2_emissions_g);
        self.energy.add(row);
    }

    /// Adds a trace.
    pub fn trace(&mut self, row: &TraceRow) {
        self.traces += 1;
        self.spans += row.spans.len() as u64;
    }

    /// Adds a device's moment. Rows of one moment come one after the other, each device's in the order of time.
    pub fn metric(&mut self, row: &MetricRow) {
        if self.moment.time != row.timestamp_unix_nano {
            self.close_moment();
            row.timestamp_unix_nano.clone_into(&mut self.moment.time);
        }
        let is_gpu = row.device_kind == "gpu";
        if is_gpu {
            add(&mut self.moment.memory, row.gpu_memory_used_mib);
            add(&mut self.moment.power, row.gpu_power_watts);
        }
        if let Some(device) = self.devices.get_mut(&row.device_id) {
            device.add(row);
        } else {
            let mut device = DeviceAggregate::new(row, is_gpu);
            device.add(row);
            self.devices.insert(row.device_id.clone(), device);
        }
    }

    /// Writes the sums into a row. What else the row holds (model, hardware, references, …) stays; `planned_tests` decides
    /// what was interrupted.
    pub fn fill(&self, row: &mut LeaderboardRow) {
        row.total_tests = self.results;
        row.successful_tests = self.success;
        row.failed_tests = self.results - self.success;
        // In one step, so that it is the number that others get.
        row.success_rate = (self.results > 0).then(|| self.success as f64 * 100.0 / self.results as f64);
        row.pass_at_1 = share(self.passed, self.prompts);
        row.evaluated_prompts = self.prompts;
        row.passed_prompts = self.passed;
        row.completed_tests = self.completed;
        row.interrupted_tests = row.planned_tests.map(|planned| planned.saturating_sub(self.results));
        row.timed_out_tests = self.timed_out;
        row.max_steps_tests = self.max_steps;
        row.errored_tests = self.errored;
        row.avg_steps = self.steps.mean();
        row.avg_duration_ms = self.duration.mean();
        row.total_duration_ms = (self.duration.count() > 0).then(|| self.duration.sum());
        row.total_tokens = self.tokens.total();
        row.avg_tokens_per_test = self.tokens.mean();
        row.total_prompt_tokens = self.input.total();
        row.total_completion_tokens = self.output.total();
        row.cache_read_tokens = self.cached.total();
        row.total_cost_usd = self.cost.total();
        row.avg_cost_per_test_usd = self.cost.mean();
        row.inference_co2_g = self.co2.total();
        let at = |quantiles: &Quantiles| [0.5, 0.9, 0.95, 0.99].map(|part| quantiles.quantile(part));
        [row.duration_p50_ms, row.duration_p90_ms, row.duration_p95_ms, row.duration_p99_ms] =
            at(&self.duration);
        [
            row.time_to_first_token_p50_ms,
            row.time_to_first_token_p90_ms,
            row.time_to_first_token_p95_ms,
            row.time_to_first_token_p99_ms,
        ] = at(&self.first_token);
        (row.traces, row.spans) = (self.traces, self.spans);
        self.energy.fill(row);
        self.fill_devices(row);
    }

    fn fill_devices(&self, row: &mut LeaderboardRow) {
        let counted = || self.devices.values().filter(|device| device.counted);
        let gpus: Vec<&DeviceAggregate> = self.devices.values().filter(|device| device.is_gpu).collect();
        let mut last = self.clone_moment();
        last.close(&mut row.gpu_memory_max_mib, &mut row.gpu_power_max_w);
        row.gpu_memory_max_mib = most(self.gpu_memory_peak, row.gpu_memory_max_mib);
        row.gpu_power_max_w = most(self.gpu_power_peak, row.gpu_power_max_w);
        row.device_energy_j = sum(counted().map(|device| device.energy.total()));
        row.co2_emissions_g = sum(counted().map(|device| device.co2.total()));
        row.power_cost_total_usd = sum(counted().map(|device| device.cost.total()));
        row.gpu_memory_avg_mib = sum(gpus.iter().map(|gpu| gpu.memory.mean()));
        row.gpu_power_avg_w = sum(gpus.iter().map(|gpu| gpu.power.mean()));
        let all = |part: fn(&DeviceAggregate) -> &Mean| {
            gpus.iter().fold(Mean::default(), |all, gpu| all.with(part(gpu)))
        };
        let (utilization, temperature) = (all(|gpu| &gpu.utilization), all(|gpu| &gpu.temperature));
        (row.gpu_utilization_avg, row.gpu_utilization_max) = (utilization.mean(), utilization.max);
        (row.gpu_temperature_avg, row.gpu_temperature_max) = (temperature.mean(), temperature.max);
        row.gpus = gpus.iter().map(|gpu| gpu.summary()).collect();
    }

    fn clone_moment(&self) -> Moment {
        Moment { time: String::new(), ..self.moment }
    }

    fn close_moment(&mut self) {
        let (mut memory, mut power) = (None, None);
        self.moment.close(&mut memory, &mut power);
        self.gpu_memory_peak = most(self.gpu_memory_peak, memory);
        self.gpu_power_peak = most(self.gpu_power_peak, power);
    }
}

/// Sums over the GPUs of one moment.
#[derive(Clone, Debug, Default)]
struct Moment {
    time: String,
    memory: Option<f64>,
    power: Option<f64>,
}

impl Moment {
    fn close(&mut self, memory: &mut Option<f64>, power: &mut Option<f64>) {
        (*memory, *power) = (self.memory.take(), self.power.take());
    }
}

/// Energy of the cases.
#[derive(Clone, Debug, Default)]
struct Energy {
    measured: Option<Joules>,
    estimated: Option<Joules>,
    measured_cases: u64,
    estimated_cases: u64,
    /// Of the cases that have measured energy and output tokens.
    per_token: (Joules, u64),
    /// The sum of the half-widths, an upper bound: a gain error has the same sign in all cases.
    uncertainty: Option<f64>,
    coverage: Option<f64>,
    method: Option<String>,
}

impl Energy {
    fn add(&mut self, row: &ResultRow) {
        let estimated = row.energy_estimated_j.and_then(Joules::new);
        if let Some(estimated) = estimated {
            *self.estimated.get_or_insert_default() += estimated;
        }
        let Some(measured) = row.energy_j.and_then(Joules::new) else {
            self.estimated_cases += u64::from(estimated.is_some());
            return;
        };
        *self.measured.get_or_insert_default() += measured;
        self.measured_cases += 1;
        if let Some(tokens) = row.output_tokens.filter(|tokens| *tokens > 0) {
            self.per_token.0 += measured;
            self.per_token.1 = self.per_token.1.saturating_add(tokens);
        }
        add(&mut self.uncertainty, row.energy_uncertainty_j);
        if let Some(coverage) = row.energy_coverage {
            self.coverage = Some(self.coverage.map_or(coverage, |least: f64| least.min(coverage)));
        }
        if let Some(method) = &row.energy_method {
            let same = self.method.as_ref().is_none_or(|known| known == method);
            self.method = Some(if same { method.clone() } else { "mixed".to_owned() });
        }
    }

    fn fill(&self, row: &mut LeaderboardRow) {
        row.inference_energy_j = self.measured.map(Joules::joules);
        row.inference_energy_estimated_j = self.estimated.map(Joules::joules);
        row.inference_energy_uncertainty_j = self.uncertainty;
        row.energy_coverage = self.coverage;
        row.energy_method = self.method.clone().or_else(|| self.estimated.map(|_| "estimated".to_owned()));
        (row.measured_tests, row.estimated_tests) = (self.measured_cases, self.estimated_cases);
        row.joules_per_output_token =
            (self.per_token.1 > 0).then(|| self.per_token.0.joules() / self.per_token.1 as f64);
    }
}

/// One device over the run.
#[derive(Clone, Debug, Default)]
struct DeviceAggregate {
    id: String,
    name: String,
    is_gpu: bool,
    counted: bool,
    /// `started_unix_nano` of the latest row.
    started: String,
    energy: Cumulative,
    co2: Cumulative,
    cost: Cumulative,
    power: Mean,
    memory: Mean,
    utilization: Mean,
    temperature: Mean,
}

impl DeviceAggregate {
    fn new(row: &MetricRow, is_gpu: bool) -> Self {
        Self {
            id: row.device_id.clone(),
            name: row.device_name.clone(),
            is_gpu,
            counted: row.device_is_counted,
            ..Self::default()
        }
    }

    fn add(&mut self, row: &MetricRow) {
        let restarted = self.started != row.started_unix_nano;
        if restarted {
            row.started_unix_nano.clone_into(&mut self.started);
        }
        self.energy.add(row.energy_j, restarted);
        self.co2.add(row.co2_emissions_gco2e, restarted);
        self.cost.add(row.power_cost_usd, restarted);
        self.power.add(row.power_watts);
        self.power.peak(row.power_peak_watts);
        self.memory.add(row.gpu_memory_used_mib);
        self.utilization.add(row.utilization_percent.or(row.gpu_utilization_percent));
        self.temperature.add(row.temperature_celsius.or(row.gpu_temperature_celsius));
    }

    fn summary(&self) -> GpuSummary {
        GpuSummary {
            device_id: self.id.clone(),
            name: self.name.clone(),
            energy_j: self.energy.total(),
            power_avg_w: self.power.mean(),
            power_max_w: self.power.max,
            memory_avg_mib: self.memory.mean(),
            memory_max_mib: self.memory.max,
            utilization_avg_percent: self.utilization.mean(),
            utilization_max_percent: self.utilization.max,
            temperature_avg_celsius: self.temperature.mean(),
            temperature_max_celsius: self.temperature.max,
        }
    }
}

/// A column that counts up, and starts again at 0 with another collector.
#[derive(Clone, Debug, Default)]
struct Cumulative {
    before: Option<f64>,
    latest: Option<f64>,
}

impl Cumulative {
    fn add(&mut self, value: Option<f64>, restarted: bool) {
        if restarted {
            let latest = self.latest.take();
            add(&mut self.before, latest);
        }
        if value.is_some_and(f64::is_finite) {
            self.latest = value;
        }
    }

    fn total(&self) -> Option<f64> {
        sum([self.before, self.latest])
    }
}

/// Sum, number and largest of values that may be absent.
#[derive(Clone, Debug, Default)]
struct Mean {
    sum: f64,
    count: u64,
    max: Option<f64>,
}

impl Mean {
    fn add(&mut self, value: Option<f64>) {
        if let Some(value) = value.filter(|value| value.is_finite()) {
            self.sum += value;
            self.count += 1;
            self.peak(Some(value));
        }
    }

    fn peak(&mut self, value: Option<f64>) {
        self.max = most(self.max, value.filter(|value| value.is_finite()));
    }

    fn with(self, other: &Self) -> Self {
        Self { sum: self.sum + other.sum, count: self.count + other.count, max: most(self.max, other.max) }
    }

    fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum / self.count as f64)
    }

    fn total(&self) -> Option<f64> {
        (self.count > 0).then_some(self.sum)
    }
}

/// Sum and number of counts that may be absent.
#[derive(Clone, Debug, Default)]
struct Count {
    sum: u64,
    count: u64,
}

impl Count {
    fn add(&mut self, value: Option<u64>) {
        if let Some(value) = value {
            self.sum = self.sum.saturating_add(value);
            self.count += 1;
        }
    }

    fn total(&self) -> Option<u64> {
        (self.count > 0).then_some(self.sum)
    }

    fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum as f64 / self.count as f64)
    }
}

fn add(sum: &mut Option<f64>, value: Option<f64>) {
    if let Some(value) = value.filter(|value| value.is_finite()) {
        *sum.get_or_insert_default() += value;
    }
}

fn sum(values: impl IntoIterator<Item = Option<f64>>) -> Option<f64> {
    values.into_iter().flatten().reduce(|one, other| one + other)
}

fn most(one: Option<f64>, other: Option<f64>) -> Option<f64> {
    one.into_iter().chain(other).reduce(f64::max)
}

fn share(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}
