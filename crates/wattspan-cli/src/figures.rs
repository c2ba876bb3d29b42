//! What a device answers, figure by figure, under the names that JSON has.

use serde::Serialize;
use wattspan::core::{Bytes, Celsius, DeviceSample, Hertz, Ratio, Reading, Watts};

/// The readings of a sample. One that is absent is null.
#[derive(Debug, Serialize)]
pub(crate) struct Figures<'a> {
    power_watts: &'a Reading<Watts>,
    power_limit_watts: &'a Reading<Watts>,
    utilization_ratio: &'a Reading<Ratio>,
    memory_utilization_ratio: &'a Reading<Ratio>,
    memory_used_bytes: &'a Reading<Bytes>,
    memory_total_bytes: &'a Reading<Bytes>,
    memory_reserved_bytes: &'a Reading<Bytes>,
    temperature_celsius: &'a Reading<Celsius>,
    memory_temperature_celsius: &'a Reading<Celsius>,
    clock_hertz: &'a Reading<Hertz>,
    memory_clock_hertz: &'a Reading<Hertz>,
    fan_ratio: &'a Reading<Ratio>,
    throttle: &'a Reading<Vec<&'static str>>,
    pcie_replays: &'a Reading<u64>,
    memory_errors: &'a Reading<u64>,
}

impl<'a> Figures<'a> {
    pub(crate) fn of(sample: &'a DeviceSample) -> Self {
        let gauges = &sample.gauges;
        Self {
            power_watts: &sample.power,
            power_limit_watts: &gauges.power_limit,
            utilization_ratio: &gauges.utilization,
            memory_utilization_ratio: &gauges.memory_utilization,
            memory_used_bytes: &gauges.memory_used,
            memory_total_bytes: &gauges.memory_total,
            memory_reserved_bytes: &gauges.memory_reserved,
            temperature_celsius: &gauges.temperature,
            memory_temperature_celsius: &gauges.memory_temperature,
            clock_hertz: &gauges.clock,
            memory_clock_hertz: &gauges.memory_clock,
            fan_ratio: &gauges.fan,
            throttle: &gauges.throttle,
            pcie_replays: &gauges.pcie_replays,
            memory_errors: &gauges.memory_errors,
        }
    }

    /// The same with a power that was found otherwise.
    pub(crate) fn power(mut self, power: &'a Reading<Watts>) -> Self {
        self.power_watts = power;
        self
    }

    /// Each figure for people, with its name and, where it is absent, the reason.
    pub(crate) fn each(&self) -> Vec<(&'static str, Result<String, String>)> {
        fn shown<T: ToString>(reading: &Reading<T>) -> Result<String, String> {
            match reading {
                Reading::Value(value) => Ok(value.to_string()),
                absent => Err(absent.absence().unwrap_or_default()),
            }
        }
        let throttle = match self.throttle {
            Reading::Value(reasons) if reasons.is_empty() => Ok("none".to_owned()),
            Reading::Value(reasons) => Ok(reasons.join(", ")),
            absent => Err(absent.absence().unwrap_or_default()),
        };
        vec![
            ("power_watts", shown(self.power_watts)),
            ("power_limit_watts", shown(self.power_limit_watts)),
            ("utilization_ratio", shown(self.utilization_ratio)),
            ("memory_utilization_ratio", shown(self.memory_utilization_ratio)),
            ("memory_used_bytes", shown(self.memory_used_bytes)),
            ("memory_total_bytes", shown(self.memory_total_bytes)),
            ("memory_reserved_bytes", shown(self.memory_reserved_bytes)),
            ("temperature_celsius", shown(self.temperature_celsius)),
            ("memory_temperature_celsius", shown(self.memory_temperature_celsius)),
            ("clock_hertz", shown(self.clock_hertz)),
            ("memory_clock_hertz", shown(self.memory_clock_hertz)),
            ("fan_ratio", shown(self.fan_ratio)),
            ("throttle", throttle),
            ("pcie_replays", shown(self.pcie_replays)),
            ("memory_errors", shown(self.memory_errors)),
        ]
    }
}
