//! What a collector reads in one tick.

use std::sync::Arc;
use std::time::Duration;

use crate::{Bytes, Celsius, Clock, Device, Hertz, MonoTime, Ratio, Reading, Watts};

/// Everything read from one device at one moment.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct DeviceSample {
    /// The device, shared by all its samples.
    pub device: Arc<Device>,
    /// When its energy was read: taken right after the driver answered; the end of the interval for a mean over one
    /// ([`PowerShape::IntervalMean`](crate::PowerShape::IntervalMean)).
    pub time: MonoTime,
    /// Raw count of the energy counter, in the ticks of [`Device::counter`].
    pub energy: Reading<u64>,
    /// Power, of the shape of [`Device::power`].
    pub power: Reading<Watts>,
    /// The rest of what it reports.
    pub gauges: Gauges,
    /// Processes that use it, where the driver tells.
    pub processes: Reading<Vec<ProcessUse>>,
}

impl DeviceSample {
    /// A sample in which nothing has been read.
    pub fn new(device: Arc<Device>, time: MonoTime) -> Self {
        Self {
            device,
            time,
            energy: Reading::NotSupported,
            power: Reading::NotSupported,
            gauges: Gauges::default(),
            processes: Reading::NotSupported,
        }
    }
}

/// Readings other than energy and power. Each is absent unless its collector has it.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Gauges {
    /// Fraction of time in which the device was at work.
    pub utilization: Reading<Ratio>,
    /// Fraction of time in which its memory was read or written.
    pub memory_utilization: Reading<Ratio>,
    /// Memory in use.
    pub memory_used: Reading<Bytes>,
    /// All memory.
    pub memory_total: Reading<Bytes>,
    /// Memory that the driver keeps for itself.
    pub memory_reserved: Reading<Bytes>,
    /// Core temperature.
    pub temperature: Reading<Celsius>,
    /// Memory temperature.
    pub memory_temperature: Reading<Celsius>,
    /// Clock of the compute units.
    pub clock: Reading<Hertz>,
    /// Clock of the memory.
    pub memory_clock: Reading<Hertz>,
    /// Power limit in force.
    pub power_limit: Reading<Watts>,
    /// Fan speed as a fraction of its maximum.
    pub fan: Reading<Ratio>,
    /// Why clocks are held back, as short names (`sw_power_cap`, `hw_thermal_slowdown`); empty when they are not.
    pub throttle: Reading<Vec<&'static str>>,
    /// PCIe replays since the driver was loaded.
    pub pcie_replays: Reading<u64>,
    /// Uncorrected memory errors since the driver was loaded.
    pub memory_errors: Reading<u64>,
    /// CPU time that all processes have used, of all cores together, since boot (CPU devices only).
    pub cpu_busy: Reading<Duration>,
}

impl Default for Gauges {
    fn default() -> Self {
        Self {
            utilization: Reading::NotSupported,
            memory_utilization: Reading::NotSupported,
            memory_used: Reading::NotSupported,
            memory_total: Reading::NotSupported,
            memory_reserved: Reading::NotSupported,
            temperature: Reading::NotSupported,
            memory_temperature: Reading::NotSupported,
            clock: Reading::NotSupported,
            memory_clock: Reading::NotSupported,
            power_limit: Reading::NotSupported,
            fan: Reading::NotSupported,
            throttle: Reading::NotSupported,
            pcie_replays: Reading::NotSupported,
            memory_errors: Reading::NotSupported,
            cpu_busy: Reading::NotSupported,
        }
    }
}

/// One process on one device.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ProcessUse {
    /// Process id in the namespace of the driver: on NVIDIA that of the host.
    pub pid: u32,
    /// Device memory it holds.
    pub memory: Reading<Bytes>,
    /// Its part of the device's time since the sample before.
    pub utilization: Reading<Ratio>,
    /// Time on the device, or CPU time, that it has used in all.
    pub busy: Reading<Duration>,
}

impl ProcessUse {
    /// A process of which only the id is known.
    pub fn new(pid: u32) -> Self {
        Self {
            pid,
            memory: Reading::NotSupported,
            utilization: Reading::NotSupported,
            busy: Reading::NotSupported,
        }
    }
}

/// Where collectors put their samples. The sampler owns one and clears it each tick, so that a tick need not allocate.
pub struct SampleBuffer<'a> {
    clock: &'a dyn Clock,
    samples: &'a mut Vec<DeviceSample>,
}

impl<'a> SampleBuffer<'a> {
    /// Wraps the sampler's clock and its list.
    pub fn new(clock: &'a dyn Clock, samples: &'a mut Vec<DeviceSample>) -> Self {
        Self { clock, samples }
    }

    /// The monotonic time now; asked right after the driver answered.
    pub fn now(&self) -> MonoTime {
        self.clock.mono()
    }

    /// Adds a sample.
    pub fn push(&mut self, sample: DeviceSample) {
        self.samples.push(sample);
    }
}

impl std::fmt::Debug for SampleBuffer<'_> {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("SampleBuffer").field("samples", &self.samples.len()).finish_non_exhaustive()
    }
}
