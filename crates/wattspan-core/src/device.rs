//! Which device a figure belongs to, and what its sensors are.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::{Bytes, Watts};

/// The stable name of a device: NVML's UUID, a PCI address, a powercap zone's path of names.
///
/// It survives restarts and renumbering, so that a series goes on under the same name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct DeviceId(Arc<str>);

impl DeviceId {
    /// Wraps a stable name.
    pub fn new(id: impl Into<Arc<str>>) -> Self {
        Self(id.into())
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for DeviceId {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

/// Who made a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Vendor {
    /// AMD.
    Amd,
    /// Apple.
    Apple,
    /// Intel.
    Intel,
    /// NVIDIA.
    Nvidia,
    /// Another one, or not known.
    Unknown,
}

impl Vendor {
    /// The lower-case name, as `hw.vendor` has it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Amd => "amd",
            Self::Apple => "apple",
            Self::Intel => "intel",
            Self::Nvidia => "nvidia",
            Self::Unknown => "unknown",
        }
    }
}

/// What a device is, as far as energy goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum DeviceKind {
    /// A GPU board: what NVML and amdgpu call the power of the card.
    Gpu,
    /// A part of a GPU: a MIG slice, a compute partition, one die of several.
    GpuPartition,
    /// A CPU package.
    Cpu,
    /// A part of a CPU package: RAPL's core and uncore zones, a die.
    CpuPart,
    /// Memory modules.
    Dram,
    /// A neural-network engine beside CPU and GPU.
    Npu,
    /// A module that holds a CPU and a GPU and counts them together, such as Grace-Hopper.
    Module,
    /// The whole machine as one sensor sees it: RAPL's psys, a battery's discharge.
    Platform,
}

impl DeviceKind {
    /// The name used in attributes and tables.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Gpu => "gpu",
            Self::GpuPartition => "gpu_partition",
            Self::Cpu => "cpu",
            Self::CpuPart => "cpu_part",
            Self::Dram => "dram",
            Self::Npu => "npu",
            Self::Module => "module",
            Self::Platform => "platform",
        }
    }

    /// Whether its energy goes into totals. The others repeat what such a device already counts: a part its parent's,
    /// a platform or module that of the devices in it.
    pub const fn is_counted(self) -> bool {
        matches!(self, Self::Gpu | Self::Cpu | Self::Dram | Self::Npu)
    }
}

/// How a device counts energy.
///
/// A raw count times `microjoules_per_tick.0 / microjoules_per_tick.1` is microjoules: `(1000, 1)` for NVML's
/// millijoules, `(1, 1)` for powercap, `(15_625, 1_024)` for 2⁻¹⁶ J.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CounterSpec {
    /// Size of one tick as an exact fraction of microjoules.
    pub microjoules_per_tick: (u64, u64),
    /// The count starts again at 0 after reaching this many ticks; `None` when it never wraps in practice.
    pub modulus: Option<u64>,
    /// Time between two changes of the counter, as far as it is known beforehand.
    pub refresh: Option<Duration>,
}

/// What a power reading says about the time before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum PowerShape {
    /// The draw just before the reading changed: a mean over `window` at the end of each refresh period (25 of 100 ms
    /// on some A100 and H100; a window of zero is a point sample).
    Instant {
        /// The part of the refresh period that the sensor looks at.
        window: Duration,
    },
    /// A mean over a sliding `window` that ends at the reading, whose refresh period is shorter (NVML on most GPUs
    /// since Ampere: one second).
    TrailingMean {
        /// Length of the mean.
        window: Duration,
    },
    /// The mean since the reading before it: powermetrics, macmon.
    IntervalMean,
}

/// How a device reports power.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PowerSpec {
    /// What a reading describes.
    pub shape: PowerShape,
    /// Time between two changes of the reading, as far as it is known beforehand.
    pub refresh: Option<Duration>,
}

/// Which instance of its GPU a MIG device is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct GpuInstance {
    /// The driver's number of the GPU instance. Compute instances of one GPU instance share it.
    pub id: u32,
    /// Profile, such as `1g.10gb`. **Absent** when the driver does not name it.
    pub profile: Option<String>,
}

impl GpuInstance {
    /// An instance, and its profile if it is known.
    pub fn new(id: u32, profile: Option<String>) -> Self {
        Self { id, profile }
    }
}

/// One device, as its collector found it. Shared by all its samples.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Device {
    /// Stable name.
    pub id: DeviceId,
    /// What it is.
    pub kind: DeviceKind,
    /// Who made it.
    pub vendor: Vendor,
    /// Model name, as the driver gives it.
    pub name: String,
    /// Its number among the collector's devices, as the vendor's own tool counts (not stable across reboots).
    pub index: Option<u32>,
    /// The device that contains this one and already counts its energy.
    pub parent: Option<DeviceId>,
    /// Which instance of that device it is. **Absent** for all but MIG devices.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gpu_instance: Option<GpuInstance>,
    /// PCI address, `domain:bus:device.function` in lower-case hexadecimal.
    pub pci_address: Option<String>,
    /// How it counts energy; `None` without a counter.
    pub counter: Option<CounterSpec>,
    /// How it reports power; `None` without such a sensor.
    pub power: Option<PowerSpec>,
    /// Highest power the device may draw now (a limit set or a rating), for bounds and plausibility.
    #[serde(rename = "power_limit_watts")]
    pub power_limit: Option<Watts>,
    /// All memory of the device.
    #[serde(rename = "memory_total_bytes")]
    pub memory_total: Option<Bytes>,
    /// Version of the driver that answers for it.
    pub driver_version: Option<String>,
    /// What a reader should know about its figures, such as "the counter covers the whole module".
    pub note: Option<String>,
}

impl Device {
    /// A device of which only identity is known; set the public fields for the rest.
    pub fn new(id: DeviceId, kind: DeviceKind, vendor: Vendor, name: impl Into<String>) -> Self {
        Self {
            id,
            kind,
            vendor,
            name: name.into(),
            index: None,
            parent: None,
            gpu_instance: None,
            pci_address: None,
            counter: None,
            power: None,
            power_limit: None,
            memory_total: None,
            driver_version: None,
            note: None,
        }
    }

    /// Whether its energy goes into totals: a counted kind that no other device contains.
    pub fn is_counted(&self) -> bool {
        self.kind.is_counted() && self.parent.is_none()
    }
}
