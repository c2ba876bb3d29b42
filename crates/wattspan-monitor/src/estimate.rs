//! The labelled estimate of what has no sensor, gathered poll by poll.

use std::collections::HashSet;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use wattspan_core::{
    Device, DeviceId, DeviceKind, DeviceSample, EnergyRange, Estimate, Joules, MonoTime, Ratio, Watts,
};
use wattspan_energy::{MemoryPower, PowerCurve, cpu_estimate, utilization_estimate};

use crate::ownership::CpuUse;

/// What the estimate is fed with. Nothing is estimated that is not given here.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct EstimateInputs {
    /// Draw of all CPU packages by utilisation, and the number of logical cores.
    pub cpu: Option<(PowerCurve, NonZeroU32)>,
    /// Draw of the memory.
    pub memory: Option<MemoryPower>,
    /// Whether GPUs without a power sensor are estimated from utilisation and their power limit.
    pub gpu: bool,
}

/// An inference's estimate so far.
#[derive(Debug, Default)]
pub(crate) struct Gathered {
    value: Joules,
    low: Joules,
    high: Joules,
    bases: Vec<String>,
    pub(crate) by_tariff: Vec<(u32, Joules)>,
}

impl Gathered {
    fn add(&mut self, estimate: &Estimate, tariff: u32) {
        self.value += estimate.value;
        self.low += estimate.range.low;
        self.high += estimate.range.high;
        if !self.bases.contains(&estimate.basis) {
            self.bases.push(estimate.basis.clone());
        }
        match self.by_tariff.last_mut().filter(|(last, _)| *last == tariff) {
            Some((_, sum)) => *sum += estimate.value,
            None => self.by_tariff.push((tariff, estimate.value)),
        }
    }

    /// Several estimates as one; what they rest on is named once.
    pub(crate) fn together<'e>(estimates: impl IntoIterator<Item = &'e Estimate>) -> Option<Estimate> {
        let mut all = Self::default();
        estimates.into_iter().for_each(|estimate| all.add(estimate, 0));
        all.estimate()
    }

    pub(crate) fn estimate(&self) -> Option<Estimate> {
        let range = EnergyRange { low: self.low, high: self.high };
        (!self.bases.is_empty()).then(|| Estimate::new(self.value, range, self.bases.join(" + ")))
    }
}

/// What a window says about the machine's devices without a sensor.
pub(crate) struct Window<'a> {
    pub(crate) length: Duration,
    /// Mean number of cores at work; `None` where nothing tells.
    pub(crate) busy_cores: Option<f64>,
    /// Kinds of which a device has been measured.
    pub(crate) measured: &'a [DeviceKind],
    /// GPUs that have not, with their mean utilisation.
    pub(crate) gpus: &'a [(Arc<Device>, Ratio)],
}

/// What one poll says about the machine's devices without a sensor.
pub(crate) struct Poll<'a> {
    pub(crate) start: MonoTime,
    pub(crate) end: MonoTime,
    pub(crate) samples: &'a [DeviceSample],
    /// Devices whose sensor has answered at least once.
    pub(crate) answered: &'a HashSet<DeviceId>,
    pub(crate) cpu: Option<CpuUse>,
    pub(crate) tariff: u32,
}

impl Poll<'_> {
    /// Whether a sensor tells the energy of a device. One that may not be read does not.
    fn is_measured(&self, sample: &DeviceSample) -> bool {
        self.answered.contains(&sample.device.id)
    }
}

impl EstimateInputs {
    /// Shares a poll's estimate among the inferences that were in flight, by their time in it.
    pub(crate) fn share<'g>(
        &self,
        poll: &Poll<'_>,
        in_flight: impl Iterator<Item = (MonoTime, Option<MonoTime>, &'g mut Gathered)>,
    ) {
        let overlaps: Vec<_> = in_flight
            .map(|(begin, end, gathered)| {
                let last = end.unwrap_or(poll.end).min(poll.end);
                (last.since(begin.max(poll.start)), gathered)
            })
            .filter(|(overlap, _)| !overlap.is_zero())
            .collect();
        let sum: f64 = overlaps.iter().map(|(overlap, _)| overlap.as_secs_f64()).sum();
        let length = poll.end.since(poll.start).as_secs_f64();
        for (overlap, gathered) in overlaps {
            let own = overlap.as_secs_f64();
            // Side by side, each has its part of the machine; alone, each has the machine for its time.
            let machine_time = overlap.mul_f64((length / sum).min(1.0));
            for estimate in self.over(poll, machine_time, own / sum) {
                gathered.add(&estimate, poll.tariff);
            }
        }
    }

    /// What a window's devices without a sensor may have drawn, all of the machine together, whoever used it.
    pub(crate) fn window(&self, window: &Window<'_>) -> Vec<Estimate> {
        let Window { length, measured, .. } = *window;
        let mut estimates = Vec::new();
        if let (Some((curve, cores)), false) = (self.cpu, measured.contains(&DeviceKind::Cpu)) {
            // As for an inference: without a reading half-way is the figure, and the range says so.
            let all = f64::from(cores.get());
            let busy = window.busy_cores.unwrap_or(all / 2.0).clamp(0.0, all);
            estimates.push(cpu_estimate(curve, length.mul_f64(busy), cores, length));
        }
        if let (Some(memory), false) = (&self.memory, measured.contains(&DeviceKind::Dram)) {
            estimates.push(memory.over(length));
        }
        for (device, busy) in window.gpus.iter().filter(|_| self.gpu) {
            let curve = device.power_limit.and_then(|limit| PowerCurve::proportional(limit).ok());
            estimates.extend(curve.map(|curve| utilization_estimate(curve, *busy, length)));
        }
        estimates
    }

    fn over(&self, poll: &Poll<'_>, machine_time: Duration, part: f64) -> Vec<Estimate> {
        let mut estimates = Vec::new();
        let measured =
            |kind| poll.samples.iter().any(|sample| sample.device.kind == kind && poll.is_measured(sample));
        if let (Some((curve, cores)), false) = (self.cpu, measured(DeviceKind::Cpu)) {
            // Without process times the cores may have been idle or busy: half-way is the figure, the range says so.
            let cpu_time = match poll.cpu {
                Some(used) => used.ours.mul_f64(part),
                None => machine_time.mul_f64(f64::from(cores.get()) / 2.0),
            };
            estimates.push(cpu_estimate(curve, cpu_time, cores, machine_time));
        }
        if let (Some(memory), false) = (&self.memory, measured(DeviceKind::Dram)) {
            estimates.push(memory.over(machine_time));
        }
        if self.gpu {
            let blind = poll
                .samples
                .iter()
                .filter(|sample| sample.device.kind == DeviceKind::Gpu && !poll.is_measured(sample));
            for sample in blind {
                let limit: Option<Watts> = sample.device.power_limit;
                let curve = limit.and_then(|limit| PowerCurve::proportional(limit).ok());
                if let (Some(curve), Some(busy)) = (curve, sample.gauges.utilization.as_value()) {
                    estimates.push(utilization_estimate(curve, *busy, machine_time));
                }
            }
        }
        estimates
    }
}
