//! The last sample of every device and running totals, for observable instruments, snapshots and `watch`.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use wattspan_core::{
    Device, DeviceId, DeviceSample, Grams, IntervalEnergy, Joules, Method, MonoTime, Ratio, Reading,
    ServerStats, StateEnergy, StatsSink, Usd, Watts,
};
use wattspan_energy::Overhead;

/// One device at the last poll, and its energy since the monitor started.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct DeviceSnapshot {
    /// The last sample: utilisation, memory, temperature and the rest, each absent where it could not be read.
    pub sample: DeviceSample,
    /// Mean power over the last closed interval, where the sensor's own reading is absent; else that reading.
    pub power: Reading<Watts>,
    /// Energy since the monitor started, by what it was used for.
    pub energy: StateEnergy,
    /// How that was obtained; `None` while nothing was measured.
    pub method: Option<Method>,
    /// Emissions of that energy, where an intensity was known all along.
    pub emissions: Option<Grams>,
    /// Cost of that energy, where a price was known all along.
    pub cost: Option<Usd>,
    /// Stretches of time without data.
    pub gaps: u64,
}

impl DeviceSnapshot {
    /// The device.
    pub fn device(&self) -> &Arc<Device> {
        &self.sample.device
    }
}

/// All devices and servers at one moment.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Snapshot {
    /// When the last poll was, on the monotonic clock.
    pub time: MonoTime,
    /// The same moment on the wall clock.
    pub wall: SystemTime,
    /// The devices, by id.
    pub devices: Vec<DeviceSnapshot>,
    /// The model servers that are polled, by name.
    pub servers: Vec<ServerStats>,
    /// Inferences in flight or waiting for settlement.
    pub open_inferences: usize,
}

impl Snapshot {
    /// Power of all counted devices that have a reading; absent when none has.
    pub fn total_power(&self) -> Reading<Watts> {
        total_power(self.devices.iter()).into()
    }

    /// Mean utilisation of all GPUs that report it.
    pub fn mean_gpu_utilization(&self) -> Reading<Ratio> {
        let known: Vec<f64> = self
            .devices
            .iter()
            .filter(|device| device.device().kind == wattspan_core::DeviceKind::Gpu)
            .filter_map(|device| device.sample.gauges.utilization.as_value().map(|ratio| ratio.ratio()))
            .collect();
        if known.is_empty() {
            return Reading::NotSupported;
        }
        Ratio::new(known.iter().sum::<f64>() / known.len() as f64).into()
    }
}

fn total_power<'a>(devices: impl Iterator<Item = &'a DeviceSnapshot>) -> Option<Watts> {
    let counted = devices.filter(|device| device.device().is_counted());
    counted.filter_map(|device| device.power.as_value().copied()).reduce(|sum, more| sum + more)
}

/// The shared board. Written by settlement once a poll, read by anyone.
#[derive(Clone, Debug, Default)]
pub(crate) struct Board(Arc<Mutex<State>>);

#[derive(Debug, Default)]
pub(crate) struct State {
    pub(crate) time: MonoTime,
    pub(crate) wall: Option<SystemTime>,
    pub(crate) devices: BTreeMap<DeviceId, DeviceSnapshot>,
    /// Sum and number of the utilisations polled since they were last exported.
    utilization: BTreeMap<DeviceId, (f64, u32)>,
    pub(crate) servers: BTreeMap<Arc<str>, ServerStats>,
}

impl State {
    /// Mean utilisation since the last call, so that work between two exports shows; of one device, with the last reading
    /// where there has been no poll since.
    pub(crate) fn take_utilization(&mut self) -> Vec<(Arc<Device>, Ratio)> {
        let mut means = std::mem::take(&mut self.utilization);
        let devices = self.devices.values();
        devices
            .filter_map(|device| {
                let last = *device.sample.gauges.utilization.as_value()?;
                let mean = means.remove(&device.sample.device.id);
                let mean = mean.and_then(|(sum, count)| Ratio::new(sum / f64::from(count)));
                Some((Arc::clone(device.device()), mean.unwrap_or(last)))
            })
            .collect()
    }

    pub(crate) fn total_power(&self) -> Option<Watts> {
        total_power(self.devices.values())
    }
}

/// What a joule of a closed interval emits and costs.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Rates {
    pub(crate) intensity: Option<wattspan_core::GramsPerKwh>,
    pub(crate) price: Option<wattspan_core::UsdPerKwh>,
    pub(crate) overhead: Overhead,
}

impl Rates {
    /// Emissions of a device's energy, overhead included.
    pub(crate) fn grams(&self, energy: Joules) -> Option<Grams> {
        self.intensity.map(|intensity| self.overhead.grams(energy * intensity))
    }

    /// Cost of a device's energy, overhead included.
    pub(crate) fn cost(&self, energy: Joules) -> Option<Usd> {
        self.price.map(|price| self.overhead.cost(energy * price))
    }
}

impl Board {
    pub(crate) fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn update(
        &self,
        time: MonoTime,
        wall: SystemTime,
        samples: &[DeviceSample],
        intervals: &[IntervalEnergy],
        new_gaps: &[bool],
        rates: Rates,
    ) {
        let mut state = self.lock();
        state.time = time;
        state.wall = Some(wall);
        for sample in samples {
            if let Some(utilization) = sample.gauges.utilization.as_value() {
                let (sum, count) = state.utilization.entry(sample.device.id.clone()).or_default();
                if *count == u32::MAX {
                    // Nobody exports: the last four billion polls count as one.
                    (*sum, *count) = (*sum / f64::from(*count), 1);
                }
                *sum += utilization.ratio();
                *count += 1;
            }
            if let Some(device) = state.devices.get_mut(&sample.device.id) {
                // Without a power sensor the mean of the last interval stands, as long as the counter answers.
                let derived = sample.power == Reading::NotSupported && sample.energy.is_value();
                if !derived {
                    device.power = sample.power.clone();
                }
                device.sample = sample.clone();
                continue;
            }
            let device = DeviceSnapshot {
                power: sample.power.clone(),
                sample: sample.clone(),
                energy: StateEnergy::default(),
                method: None,
                emissions: Some(Grams::ZERO),
                cost: Some(Usd::ZERO),
                gaps: 0,
            };
            state.devices.insert(sample.device.id.clone(), device);
        }
        for (interval, new_gap) in intervals.iter().zip(new_gaps) {
            if let Some(device) = state.devices.get_mut(&interval.device) {
                device.add(interval, rates, *new_gap);
            }
        }
    }

    pub(crate) fn snapshot(&self, open_inferences: usize) -> Option<Snapshot> {
        let state = self.lock();
        Some(Snapshot {
            time: state.time,
            wall: state.wall?,
            devices: state.devices.values().cloned().collect(),
            servers: state.servers.values().cloned().collect(),
            open_inferences,
        })
    }
}

impl StatsSink for Board {
    fn stats(&self, stats: &ServerStats) {
        self.lock().servers.insert(Arc::clone(&stats.server), stats.clone());
    }
}

impl DeviceSnapshot {
    fn add(&mut self, interval: &IntervalEnergy, rates: Rates, new_gap: bool) {
        if interval.gap.is_some() {
            self.gaps += u64::from(new_gap);
            return;
        }
        let energy: Joules = interval.energy.total();
        self.energy += interval.energy;
        self.method = Some(self.method.map_or(interval.method, |method| method.with(interval.method)));
        // One interval without a rate makes the sum a lower bound that says nothing: it is absent from then on.
        self.emissions = self.emissions.zip(rates.grams(energy)).map(|(sum, more)| sum + more);
        self.cost = self.cost.zip(rates.cost(energy)).map(|(sum, more)| sum + more);
        if self.sample.power == Reading::NotSupported
            && self.sample.energy.is_value()
            && let Some(mean) = energy / interval.end.since(interval.start)
        {
            self.power = Reading::Value(mean);
        }
    }
}
