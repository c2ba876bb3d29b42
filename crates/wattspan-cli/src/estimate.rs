//! What the machine's devices without a sensor may have drawn in a window: a labelled range, beside what was measured.

use std::num::NonZeroU32;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use wattspan::core::{Device, DeviceKind, Estimate, MonoTime, SampleSink, SampleTick};
use wattspan::energy::{
    MemoryPower, MemorySize, PowerCurve, cpu_estimate, total_estimate, utilization_estimate,
};
use wattspan::host::HostFacts;
use wattspan::monitor::PerformanceReport;
use wattspan::{Config, Setting};

use crate::settings::is_on;

/// What could be estimated on this machine. Nothing where the settings say no.
#[derive(Debug, Default)]
pub(crate) struct Machine {
    cpu: Option<(PowerCurve, NonZeroU32)>,
    memory: Option<MemoryPower>,
    gpu: bool,
    busy: Mutex<Busy>,
}

/// CPU time of all processes: first and last reading.
#[derive(Debug, Default)]
struct Busy {
    first: Option<(MonoTime, Duration)>,
    last: Option<(MonoTime, Duration)>,
}

impl Machine {
    pub(crate) fn new(config: &Config) -> Self {
        if !is_on(config, Setting::Estimate) {
            return Self::default();
        }
        let mut machine = Self { gpu: is_on(config, Setting::Gpu), ..Self::default() };
        if is_on(config, Setting::Host) {
            let facts = HostFacts::read(Path::new("/"));
            let curve =
                facts.cpu_power.as_ref().and_then(|power| PowerCurve::new(power.idle, power.full).ok());
            machine.cpu = curve.zip(facts.logical_cpus.and_then(NonZeroU32::new));
            machine.memory = facts
                .memory_total
                .map(|total| MemoryPower::by_size(MemorySize::usable(total, facts.memory_limit)));
        }
        machine
    }

    /// Whether a kind of device has a model here.
    pub(crate) fn has(&self, kind: DeviceKind) -> bool {
        match kind {
            DeviceKind::Cpu => self.cpu.is_some(),
            DeviceKind::Dram => self.memory.is_some(),
            DeviceKind::Gpu => self.gpu,
            _ => false,
        }
    }

    /// The estimate of what has no sensor. **Absent** where everything has one or nothing can be said.
    pub(crate) fn over<'d>(
        &self,
        report: &PerformanceReport,
        devices: &(impl Iterator<Item = &'d Device> + Clone),
    ) -> Option<Estimate> {
        let window = report.duration;
        let measured = |kind| {
            devices
                .clone()
                .any(|device| device.kind == kind && (device.counter.is_some() || device.power.is_some()))
        };
        let mut estimates = Vec::new();
        if let (Some((curve, cores)), false) = (self.cpu, measured(DeviceKind::Cpu)) {
            // Without a reading the cores may have been idle or busy: half-way is the figure, the range says so.
            let busy = self.busy_cores().unwrap_or(f64::from(cores.get()) / 2.0);
            estimates.push(cpu_estimate(curve, window.mul_f64(busy), cores, window));
        }
        if let (Some(memory), false) = (&self.memory, measured(DeviceKind::Dram)) {
            estimates.push(memory.over(window));
        }
        let blind = devices.clone().filter(|device| {
            self.gpu && device.kind == DeviceKind::Gpu && device.counter.is_none() && device.power.is_none()
        });
        for device in blind {
            let curve = device.power_limit.and_then(|limit| PowerCurve::proportional(limit).ok());
            let busy = report.device(&device.id).and_then(|known| known.avg_utilization);
            if let (Some(curve), Some(busy)) = (curve, busy) {
                estimates.push(utilization_estimate(curve, busy, window));
            }
        }
        total_estimate(&estimates)
    }

    /// Mean number of cores at work between the first reading and the last.
    fn busy_cores(&self) -> Option<f64> {
        let busy = self.busy.lock().unwrap_or_else(PoisonError::into_inner);
        let ((from, before), (to, after)) = busy.first.zip(busy.last)?;
        let time = to.since(from).as_secs_f64();
        (time > 0.0).then(|| after.saturating_sub(before).as_secs_f64() / time)
    }
}

impl SampleSink for Machine {
    fn sampled(&self, tick: &SampleTick<'_>) {
        // The reading is the whole machine's, and every CPU device has the same.
        let read =
            tick.samples.iter().find_map(|sample| Some((sample.time, *sample.gauges.cpu_busy.as_value()?)));
        let Some(read) = read else { return };
        let mut busy = self.busy.lock().unwrap_or_else(PoisonError::into_inner);
        busy.first.get_or_insert(read);
        busy.last = Some(read);
    }
}
