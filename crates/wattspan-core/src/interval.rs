//! Energy of one device between two refreshes of its sensor, and prices of tokens.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::{DeviceId, Method, MonoTime, StateEnergy, Usd};

/// Energy of a device in one interval of the ledger, by what it was used for.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct IntervalEnergy {
    /// The device.
    pub device: DeviceId,
    /// First refresh.
    pub start: MonoTime,
    /// Last refresh.
    pub end: MonoTime,
    /// How it was obtained.
    pub method: Method,
    /// The parts; they add up to what was measured.
    pub energy: StateEnergy,
    /// Why the interval has no energy, when it is a gap.
    pub gap: Option<GapReason>,
}

impl IntervalEnergy {
    /// A measured interval.
    pub fn new(
        device: DeviceId,
        start: MonoTime,
        end: MonoTime,
        method: Method,
        energy: StateEnergy,
    ) -> Self {
        Self { device, start, end, method, energy, gap: None }
    }

    /// An interval of which the energy is unknown.
    pub fn gap(device: DeviceId, start: MonoTime, end: MonoTime, method: Method, reason: GapReason) -> Self {
        Self { device, start, end, method, energy: StateEnergy::default(), gap: Some(reason) }
    }
}

/// Why the energy of a stretch of time is not known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum GapReason {
    /// The counter started again: driver reload, power gating, sleep.
    CounterReset,
    /// The counter stands still while the device draws power.
    CounterFrozen,
    /// The counter may have wrapped more than once between two readings.
    WrapAmbiguous,
    /// The difference would need more than the device can draw.
    Implausible,
    /// The machine was suspended.
    Suspended,
    /// No reading came for too long.
    Missing,
    /// Time stamps went back or stood still.
    ClockJump,
    /// The device was gone.
    DeviceLost,
}

impl GapReason {
    /// The value of the `reason` of `wattspan.sensor.gaps`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::CounterReset => "counter_reset",
            Self::CounterFrozen => "counter_frozen",
            Self::WrapAmbiguous => "wrap_ambiguous",
            Self::Implausible => "implausible",
            Self::Suspended => "suspended",
            Self::Missing => "missing",
            Self::ClockJump => "clock_jump",
            Self::DeviceLost => "device_lost",
        }
    }
}

/// Prices of a hosted model's tokens.
///
/// **Unit** United States dollars per token. **Absent** a price that the user did not give.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct TokenPrice {
    /// A fresh input token.
    pub input: Option<Usd>,
    /// An input token read from a cache.
    pub cache_read: Option<Usd>,
    /// An input token written to a cache.
    pub cache_write: Option<Usd>,
    /// An output token.
    pub output: Option<Usd>,
    /// The entry that matched.
    pub entry: Option<Arc<str>>,
}
