//! The devices of an Apple machine, and the readings of each between two ticks. Pure: no source, no clock.
//!
//! Which of them are counted: CPU, GPU, Neural Engine and memory are disjoint sensors, each a device of its own without
//! a parent, so that a GPU's joules stay those of a GPU and each joule is added once. The package's and the machine's
//! sensors repeat them (with fabric, media and displays beside): they are of kinds that are never added.

use std::sync::Arc;
use std::time::Duration;

use wattspan_core::{
    Device, DeviceId, DeviceKind, DeviceSample, Joules, MonoTime, PowerShape, PowerSpec, Reading, Vendor,
    Watts,
};

use crate::snapshot::Snapshot;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    Cpu,
    Gpu,
    Npu,
    Dram,
    Package,
    Platform,
}

impl Part {
    pub(crate) const ALL: [Self; 6] =
        [Self::Cpu, Self::Gpu, Self::Npu, Self::Dram, Self::Package, Self::Platform];

    fn reading(self, snapshot: &Snapshot) -> &Reading<Watts> {
        match self {
            Self::Cpu => &snapshot.cpu,
            Self::Gpu => &snapshot.gpu,
            Self::Npu => &snapshot.npu,
            Self::Dram => &snapshot.dram,
            Self::Package => &snapshot.package,
            Self::Platform => &snapshot.platform,
        }
    }

    /// Id, kind, what its name adds to the chip's, and what its reader should know.
    const fn traits(self) -> (&'static str, DeviceKind, &'static str, &'static str) {
        match self {
            Self::Cpu => {
                ("apple-cpu", DeviceKind::Cpu, "CPU", "all cores; power is a mean over the interval")
            }
            Self::Gpu => (
                "apple-gpu",
                DeviceKind::Gpu,
                "GPU",
                "power is a mean over the interval; memory is shared with the CPU",
            ),
            Self::Npu => ("apple-npu", DeviceKind::Npu, "Neural Engine", "power is a mean over the interval"),
            Self::Dram => ("apple-dram", DeviceKind::Dram, "memory", "power is a mean over the interval"),
            Self::Package => (
                "apple-package",
                DeviceKind::Module,
                "package",
                "repeats CPU, GPU, Neural Engine and memory: not added to them",
            ),
            Self::Platform => (
                "apple-platform",
                DeviceKind::Platform,
                "machine",
                "repeats all parts, and never reads below their sum: not added to them",
            ),
        }
    }

    /// The device, with or without a power sensor.
    pub(crate) fn device(self, chip: &str, refresh: Option<Duration>, has_power: bool) -> Device {
        let (id, kind, name, note) = self.traits();
        let vendor = if chip.contains("Intel") { Vendor::Intel } else { Vendor::Apple };
        let mut device = Device::new(DeviceId::new(id), kind, vendor, format!("{chip} {name}"));
        device.power = has_power.then_some(PowerSpec { shape: PowerShape::IntervalMean, refresh });
        device.note = Some(if has_power { note.to_owned() } else { "no power sensor".to_owned() });
        device
    }
}

/// One device and what has come in for it since its last sample.
#[derive(Debug)]
pub(crate) struct Track {
    pub(crate) part: Part,
    pub(crate) device: Arc<Device>,
    /// Energy and time of the intervals since the last one that was handed out.
    energy: Joules,
    span: Duration,
    /// Time whose energy the chip has not published yet.
    unpublished: Duration,
    /// What the next sample says, and the time that it holds for.
    power: Reading<Watts>,
    time: Option<MonoTime>,
    /// Whether `energy` and `span` hold something new, up to a time.
    fresh: Option<MonoTime>,
}

/// Chips of two dies publish CPU energy about once a second. CPU cores always draw, so that an interval without any is
/// one that was not published; one this long means that the channel has died.
const LONGEST_UNPUBLISHED: Duration = Duration::from_secs(3);

impl Track {
    pub(crate) fn new(part: Part, device: Device) -> Self {
        Self {
            part,
            device: Arc::new(device),
            energy: Joules::ZERO,
            span: Duration::ZERO,
            unpublished: Duration::ZERO,
            power: Reading::failed("the first interval has not ended"),
            time: None,
            fresh: None,
        }
    }

    /// Whether a snapshot has a figure for a part.
    pub(crate) fn is_in(part: Part, snapshot: &Snapshot) -> bool {
        part.reading(snapshot).is_value()
    }

    /// Takes an interval that ended at a time.
    pub(crate) fn take(&mut self, snapshot: &Snapshot, end: MonoTime) {
        match self.part.reading(snapshot) {
            Reading::Value(power) if self.part == Part::Cpu && power.watts() == 0.0 => {
                self.unpublished += snapshot.elapsed;
                if self.unpublished > LONGEST_UNPUBLISHED {
                    self.lose(Reading::failed("the chip has published no CPU energy for seconds"), end);
                }
            }
            Reading::Value(power) => {
                self.energy += *power * snapshot.elapsed;
                self.span += snapshot.elapsed + self.unpublished;
                self.unpublished = Duration::ZERO;
                self.fresh = Some(end);
            }
            absent => self.lose(absent.clone(), end),
        }
    }

    /// Nothing is known of the time up to `end`.
    pub(crate) fn lose(&mut self, reason: Reading<Watts>, end: MonoTime) {
        self.energy = Joules::ZERO;
        self.span = Duration::ZERO;
        self.unpublished = Duration::ZERO;
        self.fresh = None;
        self.power = reason;
        self.time = Some(end);
    }

    /// Whether an interval has come that no sample has shown.
    pub(crate) fn has_news(&self) -> bool {
        self.fresh.is_some()
    }

    /// The sample of a tick. One without news repeats the last, with its time, so that no interval is counted twice.
    pub(crate) fn sample(&mut self, now: MonoTime) -> DeviceSample {
        if let Some(end) = self.fresh.take() {
            self.power = match self.energy / self.span {
                Some(power) => Reading::Value(power),
                None => Reading::failed("an interval without length has no power"),
            };
            self.time = Some(end);
            self.energy = Joules::ZERO;
            self.span = Duration::ZERO;
        }
        let mut sample = DeviceSample::new(Arc::clone(&self.device), self.time.unwrap_or(now));
        sample.power = self.power.clone();
        sample
    }
}
