//! What each architecture's sensors show: a table, and the choice of the best one. Pure.
//!
//! **Sources**
//! - Update periods and windows: Z. Yang, K. Adamek, W. Armour, "Part-time Power Measurements: nvidia-smi's Lack of
//!   Attention", arXiv:2312.02741, and its data sheet (GPU_Power_Benchmark, DOI 10.5281/zenodo.13313030), columns for
//!   drivers after 530, and for 530 itself where that differs.
//! - Which cards average, and which count energy: NVML API reference, `nvmlDeviceGetPowerUsage` and
//!   `nvmlDeviceGetTotalEnergyConsumption`.
//! - Refresh of the counter: about 10 ms were seen on one Volta system, and 20 to 100 ms are reported for newer ones;
//!   the slower end stands here until the meter has measured it.

use std::time::Duration;

use wattspan_core::{CounterSpec, PowerShape, PowerSpec};

/// One generation of GPUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Generation {
    /// Lowest CUDA compute capability of it.
    since: (i32, i32),
    /// Name, for notes.
    pub(crate) name: &'static str,
    /// Whether it counts energy.
    pub(crate) counter: bool,
    /// How often the counter changes.
    counter_refresh_ms: u64,
    /// What `nvmlDeviceGetPowerUsage` shows.
    usage: Sensor,
    /// What field 186 shows.
    instant: Sensor,
    /// Whether somebody has measured these windows, and not only assumed them.
    measured: bool,
}

/// One reading.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sensor {
    /// The mean over the last `window` of each `period`, in milliseconds.
    Instant { window: u64, period: u64 },
    /// A trailing mean of one second that changes each `period`. It also stands for the slow, capacitor-like response
    /// of Kepler and Maxwell, for which no closer shape exists.
    Mean { period: u64 },
}

/// Ascending by capability; a card belongs to the last row that is not above it.
const GENERATIONS: [Generation; 11] = [
    // Fermi: worked out from activity rather than measured, with no known period.
    row((2, 0), "Fermi", None, Sensor::Mean { period: 100 }, Sensor::Mean { period: 100 }, false),
    row((3, 0), "Kepler", None, Sensor::Mean { period: 100 }, Sensor::Mean { period: 100 }, true),
    row((5, 0), "Maxwell", None, Sensor::Mean { period: 100 }, Sensor::Mean { period: 100 }, true),
    row((6, 0), "Pascal", None, instant(10, 20), instant(10, 20), true),
    row((7, 0), "Volta", Some(20), instant(10, 20), instant(10, 20), true),
    row((7, 5), "Turing", Some(100), instant(100, 100), instant(100, 100), true),
    row((8, 0), "Ampere GA100", Some(100), instant(25, 100), instant(25, 100), true),
    row((8, 6), "Ampere", Some(100), Sensor::Mean { period: 100 }, instant(100, 100), true),
    row((8, 9), "Ada Lovelace", Some(100), Sensor::Mean { period: 100 }, instant(100, 100), true),
    row((9, 0), "Hopper", Some(100), Sensor::Mean { period: 100 }, instant(25, 100), true),
    // Blackwell was not in the study: the shorter window claims less.
    row((10, 0), "Blackwell or newer", Some(100), Sensor::Mean { period: 100 }, instant(25, 100), false),
];

const fn instant(window: u64, period: u64) -> Sensor {
    Sensor::Instant { window, period }
}

const fn row(
    since: (i32, i32),
    name: &'static str,
    counter_refresh_ms: Option<u64>,
    usage: Sensor,
    instant: Sensor,
    measured: bool,
) -> Generation {
    let (counter, counter_refresh_ms) = match counter_refresh_ms {
        Some(refresh) => (true, refresh),
        None => (false, 100),
    };
    Generation { since, name, counter, counter_refresh_ms, usage, instant, measured }
}

/// Which reading gives a device's power.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PowerSource {
    /// `nvmlDeviceGetPowerUsage`.
    Usage,
    /// Field 185, `NVML_FI_DEV_POWER_AVERAGE`.
    Average,
    /// Field 186, `NVML_FI_DEV_POWER_INSTANT`.
    Instant,
}

/// Which of them a device answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Answers {
    pub(crate) usage: Option<u32>,
    pub(crate) average: Option<u32>,
    pub(crate) instant: Option<u32>,
}

impl Generation {
    /// The generation of a card; one whose capability is not known is taken for the one that claims least.
    pub(crate) fn of(capability: Option<(i32, i32)>) -> &'static Self {
        let last = &GENERATIONS[GENERATIONS.len() - 1];
        let Some(capability) = capability else { return last };
        GENERATIONS.iter().rfind(|row| row.since <= capability).unwrap_or(&GENERATIONS[0])
    }

    /// The counter's ticks and refresh.
    pub(crate) const fn counter_spec(&self) -> CounterSpec {
        CounterSpec {
            // Millijoules.
            microjoules_per_tick: (1_000, 1),
            // 64 bits of millijoules last for half a million years at a kilowatt; a fall is a reset.
            modulus: None,
            refresh: Some(Duration::from_millis(self.counter_refresh_ms)),
        }
    }

    /// What a reading shows under a driver of this major release.
    pub(crate) const fn power_spec(&self, source: PowerSource, driver: Option<u32>) -> PowerSpec {
        let sensor = match source {
            PowerSource::Instant => self.instant,
            // Field 185 is defined as the average; only cards whose usage averages were seen to have it.
            PowerSource::Average => Sensor::Mean { period: 100 },
            PowerSource::Usage => match (self.usage, driver) {
                // Release 530 alone gave the instant reading here, on Ampere and Ada as measured.
                (Sensor::Mean { .. }, Some(530)) if self.is_ampere_or_ada() => self.instant,
                (usage, _) => usage,
            },
        };
        match sensor {
            Sensor::Instant { window, period } => PowerSpec {
                shape: PowerShape::Instant { window: Duration::from_millis(window) },
                refresh: Some(Duration::from_millis(period)),
            },
            Sensor::Mean { period } => PowerSpec {
                shape: PowerShape::TrailingMean { window: Duration::from_secs(1) },
                refresh: Some(Duration::from_millis(period)),
            },
        }
    }

    const fn is_ampere_or_ada(&self) -> bool {
        self.since.0 == 8 && self.since.1 >= 6
    }

    /// What a reader should know about a power reading.
    pub(crate) fn power_note(&self, source: PowerSource, driver: Option<u32>) -> String {
        let reading = match source {
            PowerSource::Usage => "nvmlDeviceGetPowerUsage",
            PowerSource::Average => "NVML field 185 (average)",
            PowerSource::Instant => "NVML field 186 (instant)",
        };
        let spec = self.power_spec(source, driver);
        let refresh = spec.refresh.unwrap_or_default().as_millis();
        let seen = match spec.shape {
            PowerShape::Instant { window } => format!("{} of each {refresh} ms", window.as_millis()),
            PowerShape::TrailingMean { window } => {
                format!("a mean of {} ms, new each {refresh} ms", window.as_millis())
            }
            _ => format!("new each {refresh} ms"),
        };
        let basis = if self.measured { "" } else { ", assumed: not measured for this generation" };
        format!("power: {reading}, {} sees {seen}{basis}", self.name)
    }
}

/// The best reading for energy over short stretches: the one that follows the load at once.
///
/// A one-second mean tells little about an inference of 300 ms; the instant reading may look at a part of the time
/// only, which its [`PowerShape`] says and the uncertainty takes in. Where field 186 does not exist (drivers before
/// 530), or answers 0 while the board draws power, the usage goes first and field 185 last.
pub(crate) fn best(answers: Answers) -> Option<PowerSource> {
    let draws = answers.usage.or(answers.average).is_some_and(|milliwatts| milliwatts > 0);
    match answers {
        Answers { instant: Some(milliwatts), .. } if milliwatts > 0 || !draws => Some(PowerSource::Instant),
        Answers { usage: Some(_), .. } => Some(PowerSource::Usage),
        Answers { average: Some(_), .. } => Some(PowerSource::Average),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(spec: PowerSpec) -> (&'static str, u128, u128) {
        let refresh = spec.refresh.unwrap_or_default().as_millis();
        match spec.shape {
            PowerShape::Instant { window } => ("instant", window.as_millis(), refresh),
            PowerShape::TrailingMean { window } => ("mean", window.as_millis(), refresh),
            _ => ("other", 0, refresh),
        }
    }

    #[track_caller]
    fn check(capability: (i32, i32), usage: (&str, u128, u128), instant: (&str, u128, u128), counter: bool) {
        let generation = Generation::of(Some(capability));
        assert_eq!(shape(generation.power_spec(PowerSource::Usage, Some(550))), usage);
        assert_eq!(shape(generation.power_spec(PowerSource::Instant, Some(550))), instant);
        assert_eq!(generation.counter, counter);
    }

    #[test]
    fn table_is_the_published_one() {
        check((6, 1), ("instant", 10, 20), ("instant", 10, 20), false);
        check((7, 2), ("instant", 10, 20), ("instant", 10, 20), true);
        check((7, 5), ("instant", 100, 100), ("instant", 100, 100), true);
        check((8, 0), ("instant", 25, 100), ("instant", 25, 100), true);
        check((8, 6), ("mean", 1_000, 100), ("instant", 100, 100), true);
        check((8, 9), ("mean", 1_000, 100), ("instant", 100, 100), true);
        check((9, 0), ("mean", 1_000, 100), ("instant", 25, 100), true);
    }

    #[test]
    fn older_and_unknown_cards_claim_little() {
        assert_eq!(Generation::of(Some((1, 3))).name, "Fermi");
        assert_eq!(Generation::of(Some((13, 0))).name, "Blackwell or newer");
        let unknown = Generation::of(None);
        assert_eq!(shape(unknown.power_spec(PowerSource::Usage, None)), ("mean", 1_000, 100));
        assert!(unknown.power_note(PowerSource::Instant, None).contains("assumed"));
    }

    #[test]
    fn release_530_showed_the_instant_reading_as_usage() {
        let ampere = Generation::of(Some((8, 6)));
        assert_eq!(shape(ampere.power_spec(PowerSource::Usage, Some(530))), ("instant", 100, 100));
        assert_eq!(shape(ampere.power_spec(PowerSource::Usage, Some(525))), ("mean", 1_000, 100));
    }

    #[test]
    fn instant_reading_is_preferred_unless_it_is_not_there_or_dead() {
        let answers = |usage, average, instant| Answers { usage, average, instant };
        assert_eq!(best(answers(Some(60_000), Some(60_000), Some(61_000))), Some(PowerSource::Instant));
        assert_eq!(best(answers(Some(60_000), None, Some(0))), Some(PowerSource::Usage));
        assert_eq!(best(answers(Some(0), None, Some(0))), Some(PowerSource::Instant));
        assert_eq!(best(answers(Some(60_000), None, None)), Some(PowerSource::Usage));
        assert_eq!(best(answers(None, Some(60_000), None)), Some(PowerSource::Average));
        assert_eq!(best(Answers::default()), None);
    }
}
