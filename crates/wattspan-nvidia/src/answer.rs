//! Judges answers: which calls are not worth repeating, what is a loss, and what numbers mean. Pure.

use wattspan_core::{Ratio, Reading};

use crate::error::Fault;

/// Calls that a device does not support, which are not made again before the next initialisation.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Memo(u32);

#[derive(Clone, Copy, Debug)]
pub(crate) enum Ask {
    Utilization,
    MemoryV2,
    MemoryV1,
    Temperature,
    MemoryTemperature,
    Clock,
    MemoryClock,
    Limit,
    Fan,
    Throttle,
    Replays,
    MemoryErrors,
    Compute,
    Graphics,
    Mps,
    Used,
}

impl Memo {
    fn knows(self, ask: Ask) -> bool {
        self.0 & (1 << ask as u32) != 0
    }

    pub(crate) fn ask<T>(&mut self, ask: Ask, call: impl FnOnce() -> Result<T, Fault>) -> Result<T, Fault> {
        if self.knows(ask) {
            return Err(Fault::NotSupported);
        }
        let answer = call();
        if matches!(answer, Err(Fault::NotSupported)) {
            self.0 |= 1 << ask as u32;
        }
        answer
    }
}

/// Replaces a reading of a device that is gone.
pub(crate) fn lose<T>(reading: &mut Reading<T>, fault: Fault) {
    if !matches!(reading, Reading::NotSupported) {
        *reading = fault.reading();
    }
}

/// Whether a handle has become void, by what energy and power said.
pub(crate) fn loss(energy: Option<Fault>, power: Option<Fault>, any: bool) -> Option<Fault> {
    let mut faults = [energy, power].into_iter().flatten();
    if let Some(lost) = faults.clone().find(|fault| fault.is_loss()) {
        return Some(lost);
    }
    // Some cards answer one call with "unknown error" for ever. Only where nothing else works is it taken for a loss.
    faults.find(|fault| matches!(fault, Fault::Unknown | Fault::Invalid)).filter(|_| !any)
}

pub(crate) fn percent(value: u32) -> Reading<Ratio> {
    Ratio::percent(f64::from(value))
        .map_or_else(|| Reading::failed("the driver gave more than 100 percent"), Reading::Value)
}

/// Names of what holds clocks back. Idling (bit 0) does not: it only leaves them low.
///
/// **Source** nvml.h, `nvmlClocksEventReasons`.
const THROTTLE: [(u64, &str); 8] = [
    (0x2, "applications_clocks_setting"),
    (0x4, "sw_power_cap"),
    (0x8, "hw_slowdown"),
    (0x10, "sync_boost"),
    (0x20, "sw_thermal_slowdown"),
    (0x40, "hw_thermal_slowdown"),
    (0x80, "hw_power_brake_slowdown"),
    (0x100, "display_clock_setting"),
];

pub(crate) fn throttle_names(bits: u64) -> Vec<&'static str> {
    THROTTLE.iter().filter(|(bit, _)| bits & bit != 0).map(|(_, name)| *name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_broken_call_is_no_loss() {
        assert_eq!(loss(Some(Fault::Unknown), None, true), None);
        assert_eq!(loss(Some(Fault::Unknown), Some(Fault::NotSupported), false), Some(Fault::Unknown));
        assert_eq!(loss(None, Some(Fault::Lost), true), Some(Fault::Lost));
        assert_eq!(loss(Some(Fault::NotSupported), Some(Fault::NotSupported), false), None);
    }

    #[test]
    fn idling_is_no_throttling() {
        assert_eq!(throttle_names(0x1), Vec::<&str>::new());
        assert_eq!(throttle_names(0x45), ["sw_power_cap", "hw_thermal_slowdown"]);
    }
}
