//! Device samples and closed intervals → metric rows.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use wattspan_core::{
    DeviceId, DeviceKind, DeviceSample, Grams, IntensitySource, IntervalEnergy, Method, MonoTime, Place,
    PriceSource, RunId, SampleSink, SampleTick, StateEnergy, Usd, Watts,
};

use super::lock;
use crate::MetricRow;

/// Makes metric rows from what the sampler reads. Give it to the monitor as a sink, and write what
/// [`MetricCollector::drain`] gives to a dataset.
///
/// Energy, grams and cost count every interval, also those between two rows and those whose row was dropped.
///
/// **Limits** One row per device and second, unless told otherwise by [`MetricCollector::every`]; 65 536 rows wait to be
/// drained, and those that find no place are dropped and counted. Never blocks for longer than a copy.
pub struct MetricCollector {
    run: String,
    service: String,
    every: Duration,
    capacity: usize,
    place: Place,
    intensity: Option<Arc<dyn IntensitySource>>,
    prices: Option<Arc<dyn PriceSource>>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    started: Option<SystemTime>,
    last: Option<MonoTime>,
    devices: HashMap<DeviceId, Account>,
    rows: Vec<MetricRow>,
    dropped: u64,
}

/// What one device has used.
#[derive(Default)]
struct Account {
    energy: Option<StateEnergy>,
    method: Option<Method>,
    grams: Option<Grams>,
    cost: Option<Usd>,
    gaps: u64,
    gap_reason: Option<&'static str>,
    peak: Option<Watts>,
}

impl MetricCollector {
    /// Collects for a run.
    pub fn new(run: &RunId, service_name: impl Into<String>) -> Self {
        Self {
            run: run.to_string(),
            service: service_name.into(),
            every: Duration::from_secs(1),
            capacity: 65_536,
            place: Place::default(),
            intensity: None,
            prices: None,
            state: Mutex::default(),
        }
    }

    /// The least time between two rows of a device; zero makes a row of every sample.
    pub fn every(mut self, every: Duration) -> Self {
        self.every = every;
        self
    }

    /// How many rows may wait to be drained.
    pub fn capacity(mut self, rows: usize) -> Self {
        self.capacity = rows;
        self
    }

    /// Where the electricity is drawn, for grams and cost.
    pub fn place(mut self, place: Place) -> Self {
        self.place = place;
        self
    }

    /// What grams are worked out with.
    pub fn intensity(mut self, source: Arc<dyn IntensitySource>) -> Self {
        self.intensity = Some(source);
        self
    }

    /// What cost is worked out with.
    pub fn prices(mut self, source: Arc<dyn PriceSource>) -> Self {
        self.prices = Some(source);
        self
    }

    /// Takes out the rows that wait, oldest first.
    pub fn drain(&self) -> Vec<MetricRow> {
        std::mem::take(&mut lock(&self.state).rows)
    }

    /// How many rows found no place.
    pub fn dropped(&self) -> u64 {
        lock(&self.state).dropped
    }

    fn account(&self, state: &mut State, tick: &SampleTick<'_>) {
        if tick.intervals.is_empty() {
            return;
        }
        let intensity = self.intensity.as_ref().and_then(|source| source.latest(&self.place, tick.wall));
        let price = self.prices.as_ref().and_then(|source| source.electricity(&self.place, tick.wall));
        for interval in tick.intervals {
            if !state.devices.contains_key(&interval.device) {
                state.devices.insert(interval.device.clone(), Account::default());
            }
            let Some(account) = state.devices.get_mut(&interval.device) else { continue };
            account.add(interval);
            if interval.gap.is_none() {
                let energy = interval.energy.total();
                if let Some(intensity) = &intensity {
                    let grams = account.grams.get_or_insert(Grams::ZERO);
                    *grams += energy * intensity.value;
                }
                if let Some(price) = &price {
                    let cost = account.cost.get_or_insert(Usd::ZERO);
                    *cost += energy * price.value;
                }
            }
        }
    }

    fn row(
        &self,
        sample: &DeviceSample,
        account: Option<&Account>,
        tick: &SampleTick<'_>,
        started: SystemTime,
    ) -> MetricRow {
        let (device, gauges) = (&sample.device, &sample.gauges);
        // Not its partitions: SMOLTRACE's columns have no parent, and a reader of them would count the board twice.
        let is_gpu = device.kind == DeviceKind::Gpu;
        let of_gpu = |value: Option<f64>| value.filter(|_| is_gpu);
        let percent = |ratio: wattspan_core::Ratio| ratio.ratio() * 100.0;
        let megahertz = |clock: wattspan_core::Hertz| clock.hertz() / 1e6;
        let memory_total = gauges.memory_total.as_value().copied().or(device.memory_total);
        let power = sample.power.as_value().map(|power| power.watts());
        let utilization = gauges.utilization.as_value().copied().map(percent);
        let temperature = gauges.temperature.as_value().map(|degrees| degrees.celsius());
        let energy = account.and_then(|account| account.energy);
        MetricRow {
            run_id: self.run.clone(),
            service_name: self.service.clone(),
            timestamp: tick.wall.into(),
            timestamp_unix_nano: unix_nano(tick.wall),
            gpu_id: is_gpu
                .then(|| device.index.map_or_else(|| device.id.to_string(), |index| index.to_string())),
            gpu_name: is_gpu.then(|| device.name.clone()),
            co2_emissions_gco2e: account.and_then(|account| account.grams).map(Grams::grams),
            power_cost_usd: account.and_then(|account| account.cost).map(Usd::usd),
            gpu_utilization_percent: of_gpu(utilization),
            gpu_memory_used_mib: of_gpu(gauges.memory_used.as_value().map(|memory| memory.mebibytes())),
            gpu_memory_total_mib: of_gpu(memory_total.map(wattspan_core::Bytes::mebibytes)),
            gpu_temperature_celsius: of_gpu(temperature),
            gpu_power_watts: of_gpu(power),
            device_id: device.id.to_string(),
            device_kind: device.kind.as_str().to_owned(),
            device_name: device.name.clone(),
            device_vendor: device.vendor.as_str().to_owned(),
            device_parent: device.parent.as_ref().map(ToString::to_string),
            device_is_counted: device.is_counted(),
            power_watts: power,
            power_peak_watts: account.and_then(|account| account.peak).map(Watts::watts),
            power_limit_watts: gauges
                .power_limit
                .as_value()
                .copied()
                .or(device.power_limit)
                .map(Watts::watts),
            utilization_percent: utilization,
            memory_utilization_percent: gauges.memory_utilization.as_value().copied().map(percent),
            memory_temperature_celsius: gauges.memory_temperature.as_value().map(|degrees| degrees.celsius()),
            temperature_celsius: temperature,
            clock_mhz: gauges.clock.as_value().copied().map(megahertz),
            memory_clock_mhz: gauges.memory_clock.as_value().copied().map(megahertz),
            fan_percent: gauges.fan.as_value().copied().map(percent),
            throttle: gauges.throttle.as_value().map(|reasons| reasons.join(",")),
            energy_j: energy.map(|energy| energy.total().joules()),
            energy_inference_j: energy.map(|energy| energy.inference.joules()),
            energy_idle_j: energy.map(|energy| energy.idle.joules()),
            energy_other_j: energy.map(|energy| energy.other.joules()),
            energy_unattributed_j: energy.map(|energy| energy.unattributed.joules()),
            energy_method: account
                .and_then(|account| account.method)
                .map(|method| method.as_str().to_owned()),
            gaps: account.map_or(0, |account| account.gaps),
            gap_reason: account.and_then(|account| account.gap_reason).map(str::to_owned),
            absence: sample.power.absence().and_then(|power| match sample.energy.absence() {
                Some(energy) if energy == power => Some(power),
                Some(energy) => Some(format!("power {power}; energy {energy}")),
                None => None,
            }),
            started_unix_nano: unix_nano(started),
        }
    }
}

impl SampleSink for MetricCollector {
    fn sampled(&self, tick: &SampleTick<'_>) {
        let state = &mut *lock(&self.state);
        let started = *state.started.get_or_insert(tick.wall);
        self.account(state, tick);
        for sample in tick.samples {
            if let Some(power) = sample.power.as_value() {
                let peak = &mut state.devices.entry(sample.device.id.clone()).or_default().peak;
                *peak = Some(peak.map_or(*power, |peak| peak.max(*power)));
            }
        }
        // A row per `every`, give or take a hundredth: ticks do not come to the nanosecond.
        let due = |last: MonoTime| tick.time.since(last) + self.every / 100 >= self.every;
        if tick.samples.is_empty() || !state.last.is_none_or(due) {
            return;
        }
        state.last = Some(tick.time);
        for sample in tick.samples {
            if state.rows.len() >= self.capacity {
                state.dropped += 1;
                continue;
            }
            let row = self.row(sample, state.devices.get(&sample.device.id), tick, started);
            state.rows.push(row);
            if let Some(account) = state.devices.get_mut(&sample.device.id) {
                account.peak = None;
            }
        }
    }
}

impl fmt::Debug for MetricCollector {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("MetricCollector")
            .field("run", &self.run)
            .field("every", &self.every)
            .finish_non_exhaustive()
    }
}

impl Account {
    fn add(&mut self, interval: &IntervalEnergy) {
        if let Some(reason) = interval.gap {
            self.gaps += 1;
            self.gap_reason = Some(reason.as_str());
            return;
        }
        *self.energy.get_or_insert_default() += interval.energy;
        self.method = Some(self.method.map_or(interval.method, |method| method.with(interval.method)));
    }
}

fn unix_nano(wall: SystemTime) -> String {
    wall.duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos().to_string()
}
