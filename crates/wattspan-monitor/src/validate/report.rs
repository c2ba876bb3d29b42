//! What a validation found; goes into `validation.json`.

use std::collections::HashMap;
use std::fmt::Write as _;

use serde::{Deserialize, Serialize};
use wattspan_core::{DeviceId, Joules};

use super::meter::MeterFit;

/// What a validation may claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Verdict {
    /// Counter and power of one device agree. The gain of both can still be wrong alike.
    SelfConsistent,
    /// They do not agree.
    Inconsistent,
    /// An independent meter agrees.
    Validated,
    /// An independent meter does not agree.
    Refuted,
    /// There was nothing to compare.
    NotCompared,
}

impl Verdict {
    /// The word in reports.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::SelfConsistent => "self-consistent",
            Self::Inconsistent => "inconsistent",
            Self::Validated => "validated",
            Self::Refuted => "refuted",
            Self::NotCompared => "not-compared",
        }
    }
}

/// All that a run found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Validation {
    /// Release of this crate.
    pub version: String,
    /// Begin, on the wall clock.
    pub start_unix_seconds: f64,
    /// Length of the run.
    pub duration_seconds: f64,
    /// Each device that has a sensor.
    pub devices: Vec<DeviceValidation>,
    /// Identical prompts, when they were given.
    pub prompts: Vec<PromptSpread>,
    /// The comparison with an independent meter.
    pub meter: Option<MeterFit>,
    /// What may be claimed.
    pub verdict: Verdict,
    /// Parts that were left out, and why.
    pub skipped: Vec<String>,
    /// Power of all counted devices together, second by second.
    pub power_watts: Vec<Option<f64>>,
}

/// One device.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct DeviceValidation {
    /// Its stable name (UUID).
    pub id: DeviceId,
    /// Its model.
    pub name: String,
    /// Its driver.
    pub driver_version: Option<String>,
    /// How often it was read.
    pub samples: u64,
    /// Whether its energy counts in totals.
    pub counted: bool,
    /// Refresh period of the counter.
    pub counter_refresh_seconds: Option<f64>,
    /// Step of the counter.
    #[serde(rename = "counter_step_joules")]
    pub counter_step: Option<Joules>,
    /// Refresh period of the power reading.
    pub power_refresh_seconds: Option<f64>,
    /// How far back the power reading looks: less than the refresh period, that, or a sliding mean.
    pub power_window_seconds: Option<f64>,
    /// Part of the time that the power reading looks at.
    pub power_duty_ratio: Option<f64>,
    /// Steady loads.
    pub plateaus: Vec<Comparison>,
    /// Square loads.
    pub squares: Vec<Comparison>,
    /// Scale of the random part of ± for the sensor in use.
    pub gamma: f64,
    /// Relative half-width of the gain to use: that of the meter's fit, else 5 %.
    pub gain_ratio: f64,
}

/// Counter against power over one stretch of load.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Comparison {
    /// Load level, 0 to 1; of a square load the mean.
    pub level_ratio: f64,
    /// Period of a square load.
    pub period_seconds: Option<f64>,
    /// Length.
    pub seconds: f64,
    /// Mean power by the counter.
    pub counter_watts: Option<f64>,
    /// Mean power by back-dated power readings.
    pub power_watts: Option<f64>,
    /// Power over counter.
    pub ratio: Option<f64>,
    /// What the two can differ by without either being wrong, as a ratio: timing and step of both.
    pub bound_ratio: Option<f64>,
}

impl Comparison {
    /// Whether the two agree to 5 %, the documented gain of power readings, and their bounds.
    pub fn agrees(&self) -> Option<bool> {
        Some((self.ratio? - 1.0).abs() <= GAIN + self.bound_ratio.unwrap_or(0.0))
    }
}

/// N identical prompts at once.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct PromptRun {
    /// How many were in flight.
    pub at_once: u32,
    /// Energy of each.
    pub energies: Vec<Joules>,
    /// What the devices drew above idle and for them in all, from the counter.
    pub devices: Joules,
}

impl PromptRun {
    /// A run from the energies of its inferences, and that of the devices between the same refreshes.
    pub fn new(at_once: u32, energies: Vec<Joules>, devices: Joules) -> Self {
        Self { at_once, energies, devices }
    }
}

/// How alike identical prompts are.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct PromptSpread {
    /// How many were in flight.
    pub at_once: u32,
    /// How many there were.
    pub count: u64,
    /// Mean energy.
    pub mean_joules: f64,
    /// Standard deviation over mean.
    pub spread_ratio: f64,
    /// Sum over what the devices drew; more than 1 would be made up.
    pub sum_ratio: f64,
}

impl PromptSpread {
    pub(super) fn of(run: &PromptRun) -> Option<Self> {
        let count = run.energies.len();
        let sum: Joules = run.energies.iter().sum();
        let mean = sum.joules() / count as f64;
        let squares: f64 = run.energies.iter().map(|one| (one.joules() - mean).powi(2)).sum();
        let found = Self {
            at_once: run.at_once,
            count: count as u64,
            mean_joules: mean,
            spread_ratio: (squares / (count.max(2) - 1) as f64).sqrt() / mean,
            sum_ratio: sum.joules() / run.devices.joules(),
        };
        [mean, found.spread_ratio, found.sum_ratio].iter().all(|one| one.is_finite()).then_some(found)
    }
}

impl Validation {
    /// The findings as a table for people.
    pub fn table(&self) -> String {
        let mut out = String::new();
        // Writing to a string cannot fail.
        let _ = self.write(&mut out);
        out
    }

    fn write(&self, out: &mut String) -> std::fmt::Result {
        fn shown(value: Option<f64>, unit: &str) -> String {
            value.map_or_else(|| "–".to_owned(), |value| format!("{value:.3}{unit}"))
        }
        for device in &self.devices {
            writeln!(out, "{} ({}), {} samples", device.name, device.id, device.samples)?;
            writeln!(
                out,
                "  counter: refresh {}, step {}; power: refresh {}, looks back {}, sees {} of the time",
                shown(device.counter_refresh_seconds, " s"),
                device.counter_step.map_or_else(|| "–".to_owned(), |step| step.to_string()),
                shown(device.power_refresh_seconds, " s"),
                shown(device.power_window_seconds, " s"),
                shown(device.power_duty_ratio, ""),
            )?;
            writeln!(out, "  {:<18} {:>10} {:>10} {:>8}  agree", "load", "counter W", "power W", "ratio")?;
            for row in device.plateaus.iter().chain(&device.squares) {
                let load = match row.period_seconds {
                    Some(period) => format!("square {:.0} ms", period * 1e3),
                    None => format!("{:.0} %", row.level_ratio * 100.0),
                };
                let agrees = match row.agrees() {
                    Some(true) => "yes",
                    Some(false) => "no",
                    None => "–",
                };
                let (counter, power) = (shown(row.counter_watts, ""), shown(row.power_watts, ""));
                writeln!(
                    out,
                    "  {load:<18} {counter:>10} {power:>10} {:>8}  {agrees}",
                    shown(row.ratio, "")
                )?;
            }
        }
        for run in &self.prompts {
            writeln!(
                out,
                "{} prompts, {} at once: {:.3} J each, spread {:.1} %, sum {:.4} of the devices'",
                run.count,
                run.at_once,
                run.mean_joules,
                run.spread_ratio * 100.0,
                run.sum_ratio
            )?;
        }
        if let Some(meter) = &self.meter {
            writeln!(
                out,
                "meter: {:.4} ± {:.4} W by W of the devices, {:.1} W besides; {} of {} held-out windows inside ±",
                meter.slope, meter.slope_half_width, meter.offset_watts, meter.inside, meter.windows
            )?;
        }
        for skipped in &self.skipped {
            writeln!(out, "skipped: {skipped}")?;
        }
        writeln!(out, "{}", self.verdict.as_str())
    }

    /// Gains for [`LedgerConfig::gains`](wattspan_energy::LedgerConfig::gains): those of devices that a meter agreed with.
    pub fn gains(&self) -> HashMap<DeviceId, f64> {
        let validated = self.verdict == Verdict::Validated;
        let devices = self.devices.iter().filter(|_| validated);
        devices.map(|device| (device.id.clone(), device.gain_ratio)).collect()
    }

    /// Adds runs of identical prompts. Those without energies are left out.
    pub fn with_prompts(mut self, runs: &[PromptRun]) -> Self {
        self.prompts.extend(runs.iter().filter_map(PromptSpread::of));
        self.skipped.retain(|text| text != NO_PROMPTS);
        self
    }

    pub(super) fn judge(&mut self) {
        // Square loads may well alias: they tell about the sensor, not about its gain.
        let compared =
            || self.devices.iter().flat_map(|device| &device.plateaus).filter_map(Comparison::agrees);
        self.verdict = match &self.meter {
            Some(meter) if meter.agrees() => Verdict::Validated,
            Some(_) => Verdict::Refuted,
            None if compared().next().is_none() => Verdict::NotCompared,
            None if compared().all(|agrees| agrees) => Verdict::SelfConsistent,
            None => Verdict::Inconsistent,
        };
    }
}

pub(super) const NO_PROMPTS: &str = "identical prompts: none were given";
pub(super) const NO_METER: &str = "an independent meter: none was given";
/// Documented accuracy of NVML's power readings.
pub(super) const GAIN: f64 = 0.05;
