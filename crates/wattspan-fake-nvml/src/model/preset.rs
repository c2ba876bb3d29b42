//! Sensor behaviour of known architectures.

use super::sensor::PowerSensor;

/// An architecture whose sensor behaviour has been measured or documented.
///
/// **Source** update periods and windows: Yang, Adamek, Armour, "Part-time Power Measurements", arXiv:2312.02741, and
/// its data sheet (GPU_Power_Benchmark, DOI 10.5281/zenodo.13313030), columns for drivers after 530. Which
/// architectures have a total energy counter: NVML API reference, `nvmlDeviceGetTotalEnergyConsumption`. The counter's
/// refresh of 20 ms up to Volta and of 100 ms later is a stand-in: periods of 20 to 100 ms have been reported.
/// Blackwell was not measured; it is given Ada's sensors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Preset {
    /// GP100 and GP10x.
    Pascal,
    /// GV100.
    Volta,
    /// TU10x.
    Turing,
    /// A100: looks at a quarter of the time only.
    AmpereGa100,
    /// GA10x.
    Ampere,
    /// AD10x.
    Ada,
    /// H100: its instant reading looks at a quarter of the time only.
    Hopper,
    /// GB10x and GB20x; assumed.
    Blackwell,
}

impl Preset {
    /// Every preset.
    pub const ALL: [Self; 8] = [
        Self::Pascal,
        Self::Volta,
        Self::Turing,
        Self::AmpereGa100,
        Self::Ampere,
        Self::Ada,
        Self::Hopper,
        Self::Blackwell,
    ];

    /// Name in the control language.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pascal => "pascal",
            Self::Volta => "volta",
            Self::Turing => "turing",
            Self::AmpereGa100 => "ga100",
            Self::Ampere => "ampere",
            Self::Ada => "ada",
            Self::Hopper => "hopper",
            Self::Blackwell => "blackwell",
        }
    }

    /// The preset of this name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|preset| preset.as_str() == name)
    }

    /// `NVML_DEVICE_ARCH_*` of nvml.h.
    pub const fn arch(self) -> u32 {
        match self {
            Self::Pascal => 4,
            Self::Volta => 5,
            Self::Turing => 6,
            Self::AmpereGa100 | Self::Ampere => 7,
            Self::Ada => 8,
            Self::Hopper => 9,
            Self::Blackwell => 10,
        }
    }

    /// CUDA compute capability of the architecture's first board.
    pub const fn compute_capability(self) -> (i32, i32) {
        match self {
            Self::Pascal => (6, 0),
            Self::Volta => (7, 0),
            Self::Turing => (7, 5),
            Self::AmpereGa100 => (8, 0),
            Self::Ampere => (8, 6),
            Self::Ada => (8, 9),
            Self::Hopper => (9, 0),
            Self::Blackwell => (10, 0),
        }
    }

    /// Whether the total energy counter is supported.
    pub const fn has_counter(self) -> bool {
        !matches!(self, Self::Pascal)
    }

    /// Refresh period of the counter, in microseconds.
    pub const fn counter_refresh_us(self) -> u64 {
        match self {
            Self::Pascal | Self::Volta => 20_000,
            _ => 100_000,
        }
    }

    /// The sensor behind `nvmlDeviceGetPowerUsage`.
    pub const fn usage(self) -> PowerSensor {
        match self {
            Self::Ampere | Self::Ada | Self::Hopper | Self::Blackwell => PowerSensor::new(100_000, 1_000_000),
            _ => self.instant(),
        }
    }

    /// The sensor behind field 186.
    pub const fn instant(self) -> PowerSensor {
        match self {
            Self::Pascal | Self::Volta => PowerSensor::new(20_000, 10_000),
            Self::AmpereGa100 | Self::Hopper => PowerSensor::new(100_000, 25_000),
            _ => PowerSensor::new(100_000, 100_000),
        }
    }

    /// The sensor behind field 185, where there is one.
    pub const fn average(self) -> Option<PowerSensor> {
        match self {
            Self::Ampere | Self::Ada | Self::Hopper | Self::Blackwell => {
                Some(PowerSensor::new(100_000, 1_000_000))
            }
            _ => None,
        }
    }
}
