//! What a report says. Every figure that could not be had is absent, and `null` in JSON.

use std::fmt;
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};
use wattspan_core::{
    Bytes, Celsius, DeviceId, DeviceKind, Estimate, Grams, Joules, Method, Ratio, StateEnergy, Usd, Watts,
};
use wattspan_energy::Boundary;

use super::data::Data;
use super::distribution::Percentiles;

/// What a stretch of time took, per device and in all.
///
/// **Unit** in the names of the serialised fields. Power and energy are those of the devices; grams and dollars include
/// the overhead that the monitor was given, whose boundary is named.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct PerformanceReport {
    /// Which monitors it is from.
    pub monitors: Vec<String>,
    /// Begin of the (first) window, on the wall clock.
    #[serde(rename = "start_unix_seconds", with = "unix_seconds")]
    pub start: SystemTime,
    /// Length of the window; of merged ones, the time that they cover.
    #[serde(rename = "duration_seconds", with = "seconds")]
    pub duration: Duration,
    /// Polls in it.
    pub snapshots: u64,
    /// Each device.
    pub devices: Vec<DeviceReport>,
    /// All counted devices together.
    pub total: TotalReport,
    /// What the devices without a sensor may have drawn, whoever used them: modelled, with its range and what it rests on,
    /// and in no other figure of the report. **Absent** where every device is measured, and unless the monitor was told
    /// what to estimate with ([`MonitorBuilder::estimate`](crate::MonitorBuilder::estimate)).
    #[serde(default)]
    pub estimate: Option<Estimate>,
    /// Inferences that ended in the window.
    pub inferences: InferenceReport,
    /// The model servers that were polled.
    pub servers: Vec<ServerReport>,
    /// Software Carbon Intensity. **Absent** without emissions.
    pub sci: Option<SciReport>,
    /// What to know about the figures.
    pub notes: Vec<String>,
    /// What the figures are from, for merging. **Absent** after a trip through JSON.
    #[serde(skip)]
    pub(super) data: Option<Box<Data>>,
}

/// One device in the window.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct DeviceReport {
    /// Its stable name.
    pub id: DeviceId,
    /// What it is.
    pub kind: DeviceKind,
    /// Its model.
    pub name: String,
    /// Its number, as the vendor's tool counts.
    pub index: Option<u32>,
    /// Whether its energy is in the total: no other device contains it.
    pub counted: bool,
    /// Energy, as the sum of its states.
    #[serde(rename = "energy_joules")]
    pub energy: Option<Joules>,
    /// Energy by what it was used for.
    pub energy_by_state: Option<StateEnergy>,
    /// How it was obtained.
    pub method: Option<Method>,
    /// What the sensor's timing and step can make the energy wrong by; the sensor's gain is not in it.
    #[serde(rename = "energy_bound_joules")]
    pub bound: Option<Joules>,
    /// Part of the window for which there was data; below 1 the energy is a lower bound.
    #[serde(rename = "coverage_ratio")]
    pub coverage: Ratio,
    /// Stretches without data.
    pub gaps: u64,
    /// Emissions, where an intensity was known all along.
    #[serde(rename = "emissions_grams")]
    pub emissions: Option<Grams>,
    /// Cost of the electricity, where a price was known all along.
    #[serde(rename = "cost_usd")]
    pub cost: Option<Usd>,
    /// Energy over the time with data.
    #[serde(rename = "mean_power_watts")]
    pub mean_power: Option<Watts>,
    /// Mean power of the sensor's intervals. Those that are shorter than its refresh period, than 10 ms, or than twice
    /// what is not known of the times of their ends, are taken together until they are not: a step of the counter over a
    /// few milliseconds would be a peak that never was.
    #[serde(rename = "power_watts")]
    pub power: Option<Percentiles>,
    /// Mean of the polled utilisation.
    #[serde(rename = "avg_utilization_ratio")]
    pub avg_utilization: Option<Ratio>,
    /// Largest polled utilisation.
    #[serde(rename = "peak_utilization_ratio")]
    pub peak_utilization: Option<Ratio>,
    /// Mean memory in use.
    #[serde(rename = "avg_memory_used_bytes")]
    pub avg_memory: Option<Bytes>,
    /// Most memory in use.
    #[serde(rename = "peak_memory_used_bytes")]
    pub peak_memory: Option<Bytes>,
    /// All memory.
    #[serde(rename = "memory_total_bytes")]
    pub memory_total: Option<Bytes>,
    /// Mean temperature.
    #[serde(rename = "avg_temperature_celsius")]
    pub avg_temperature: Option<Celsius>,
    /// Highest temperature.
    #[serde(rename = "peak_temperature_celsius")]
    pub peak_temperature: Option<Celsius>,
}

/// All counted devices together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct TotalReport {
    /// Energy of all measured devices.
    #[serde(rename = "energy_joules")]
    pub energy: Option<Joules>,
    /// The same by what it was used for.
    pub energy_by_state: Option<StateEnergy>,
    /// How it was obtained.
    pub method: Option<Method>,
    /// Sum of the devices' bounds.
    #[serde(rename = "energy_bound_joules")]
    pub bound: Option<Joules>,
    /// Least coverage of a device that was measured at all.
    #[serde(rename = "coverage_ratio")]
    pub coverage: Option<Ratio>,
    /// Emissions. **Absent** when some device's are.
    #[serde(rename = "emissions_grams")]
    pub emissions: Option<Grams>,
    /// Cost of the electricity. **Absent** when some device's is.
    #[serde(rename = "cost_usd")]
    pub cost: Option<Usd>,
    /// What grams and dollars cover.
    pub boundary: Boundary,
    /// Sum of the devices' mean power.
    #[serde(rename = "mean_power_watts")]
    pub mean_power: Option<Watts>,
    /// Power of all devices together, poll by poll. **Absent** for merged windows that were side by side.
    #[serde(rename = "power_watts")]
    pub power: Option<Percentiles>,
}

/// The inferences that ended in the window. Their energy is a part of the devices', not in addition to it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct InferenceReport {
    /// How many.
    pub count: u64,
    /// How many of them failed.
    pub failed: u64,
    /// How many have measured energy.
    pub measured: u64,
    /// Input tokens of those that tell.
    pub input_tokens: Option<u64>,
    /// Output tokens of those that tell.
    pub output_tokens: Option<u64>,
    /// Measured energy.
    #[serde(rename = "energy_joules")]
    pub energy: Option<Joules>,
    /// Modelled energy of what has no sensor, beside the measured one.
    #[serde(rename = "estimated_joules")]
    pub estimated: Option<Joules>,
    /// Measured energy by output token, over those inferences that have both.
    pub joules_per_output_token: Option<f64>,
    /// Emissions of measured energy.
    #[serde(rename = "emissions_grams")]
    pub emissions: Option<Grams>,
    /// Emissions of modelled energy, where nothing was measured.
    #[serde(rename = "estimated_emissions_grams")]
    pub estimated_emissions: Option<Grams>,
    /// Cost of those that have one: electricity, hardware or tokens.
    #[serde(rename = "cost_usd")]
    pub cost: Option<Usd>,
    /// How many have a cost.
    pub priced: u64,
    /// Output tokens by length of the window.
    pub output_tokens_per_second: Option<f64>,
    /// Duration.
    pub duration_seconds: Option<Percentiles>,
    /// Time to the first token.
    pub time_to_first_token_seconds: Option<Percentiles>,
    /// Time by output token after the first.
    pub time_per_output_token_seconds: Option<Percentiles>,
    /// Measured energy by inference.
    pub inference_energy_joules: Option<Percentiles>,
}

/// A model server's own gauges in the window.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ServerReport {
    /// Which server.
    pub server: String,
    /// How often it answered.
    pub polls: u64,
    /// Mean output rate.
    pub avg_tokens_per_second: Option<f64>,
    /// Highest output rate.
    pub peak_tokens_per_second: Option<f64>,
    /// Mean rate of prompt tokens.
    pub avg_prompt_tokens_per_second: Option<f64>,
    /// Highest rate of prompt tokens.
    pub peak_prompt_tokens_per_second: Option<f64>,
    /// Mean use of the KV cache.
    #[serde(rename = "avg_kv_cache_ratio")]
    pub avg_kv_cache: Option<Ratio>,
    /// Highest use of the KV cache.
    #[serde(rename = "peak_kv_cache_ratio")]
    pub peak_kv_cache: Option<Ratio>,
}

/// Software Carbon Intensity of the window: emissions of all counted devices, idle time included, and the hardware's.
///
/// **Source** ISO/IEC 21031:2024.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct SciReport {
    /// Emissions of the energy, E · I.
    #[serde(rename = "operational_grams")]
    pub operational: Grams,
    /// The window's part of making the hardware, M. **Absent** when it was not given; the figures below are then without.
    #[serde(rename = "embodied_grams")]
    pub embodied: Option<Grams>,
    /// By inference.
    #[serde(rename = "grams_per_inference")]
    pub per_inference: Option<Grams>,
    /// By 1,000 output tokens.
    #[serde(rename = "grams_per_1000_output_tokens")]
    pub per_thousand_tokens: Option<Grams>,
}

impl PerformanceReport {
    /// The report of a device.
    pub fn device(&self, id: &DeviceId) -> Option<&DeviceReport> {
        self.devices.iter().find(|device| device.id == *id)
    }
}

impl fmt::Display for PerformanceReport {
    /// A few lines for people.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        fn shown<T: fmt::Display>(value: Option<T>) -> String {
            value.map_or_else(|| "–".to_owned(), |value| value.to_string())
        }
        writeln!(out, "{:.3} s, {} polls", self.duration.as_secs_f64(), self.snapshots)?;
        for device in &self.devices {
            writeln!(
                out,
                "{} ({}): {} ± {}, mean {}, utilisation {} (peak {}), memory peak {}",
                device.name,
                device.id,
                shown(device.energy),
                shown(device.bound),
                shown(device.mean_power),
                shown(device.avg_utilization),
                shown(device.peak_utilization),
                shown(device.peak_memory),
            )?;
        }
        let total = &self.total;
        writeln!(out, "total {} {} {}", shown(total.energy), shown(total.emissions), shown(total.cost))?;
        if let Some(estimate) = &self.estimate {
            let range = &estimate.range;
            let Estimate { value, basis, .. } = estimate;
            writeln!(out, "estimated {value} ({} to {}), not in the total: {basis}", range.low, range.high)?;
        }
        let all = &self.inferences;
        write!(out, "{} inferences, {} failed, {} measured", all.count, all.failed, shown(all.energy))?;
        if let Some(joules) = all.joules_per_output_token {
            write!(out, ", {joules:.4} J per output token")?;
        }
        Ok(())
    }
}

mod seconds {
    use std::time::Duration;

    use serde::{Deserialize, Deserializer, Serializer, de};

    pub(super) fn serialize<S: Serializer>(value: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(value.as_secs_f64())
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
        Duration::try_from_secs_f64(f64::deserialize(deserializer)?).map_err(de::Error::custom)
    }
}

mod unix_seconds {
    use std::time::{Duration, SystemTime};

    use serde::{Deserializer, Serializer, de};

    #[allow(
        clippy::trivially_copy_pass_by_ref,
        reason = "serde gives a reference; it is small on Windows only"
    )]
    pub(super) fn serialize<S: Serializer>(value: &SystemTime, serializer: S) -> Result<S::Ok, S::Error> {
        let since: Duration = value.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        super::seconds::serialize(&since, serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<SystemTime, D::Error> {
        let since = super::seconds::deserialize(deserializer)?;
        SystemTime::UNIX_EPOCH.checked_add(since).ok_or_else(|| de::Error::custom("the time is out of range"))
    }
}
