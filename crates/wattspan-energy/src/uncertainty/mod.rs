//! What a figure is worth: half-widths of 95 % intervals, from the readings around an inference.
//!
//! Two parts are kept apart. The *random* one comes from cutting, sharing and sampling and differs from inference to
//! inference; the *systematic* one is the sensor's gain and has one sign for all of a device.

mod window;

use std::time::Duration;

use wattspan_core::{Joules, Uncertainty};

use crate::calibration::{GAMMA_COUNTER, GAMMA_INSTANT, GAMMA_PART_TIME, GAMMA_TRAILING};
use crate::meter::SensorKind;

pub use window::{WindowEnergy, window_energy};

/// Parameters of the model.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct UncertaintyModel {
    /// Relative half-width of the sensor's gain; 0.05 until a device has been calibrated against a meter.
    ///
    /// **Source** NVML documents ±5 % for its power reading, and single boards were found off by as much
    /// (arXiv:2312.02741).
    pub gain: f64,
    /// Scale of the random part by kind of sensor, fitted: see `docs/calibration.md`.
    pub gamma_counter: f64,
    /// The same for power readings that look at all of their refresh period.
    pub gamma_instant: f64,
    /// The same for power readings that look at a part of it.
    pub gamma_part_time: f64,
    /// The same for a trailing mean.
    pub gamma_trailing: f64,
    /// How late a mark may say that work was done.
    pub mark_latency: Duration,
}

impl Default for UncertaintyModel {
    fn default() -> Self {
        Self {
            gain: 0.05,
            gamma_counter: GAMMA_COUNTER,
            gamma_instant: GAMMA_INSTANT,
            gamma_part_time: GAMMA_PART_TIME,
            gamma_trailing: GAMMA_TRAILING,
            mark_latency: Duration::from_millis(5),
        }
    }
}

impl UncertaintyModel {
    /// Scale of the random part for a sensor with a refresh period.
    ///
    /// A reading of instants that misses more than a tenth of its period is one that looks at a part of it.
    pub fn gamma(&self, sensor: SensorKind, refresh: Duration) -> f64 {
        self.scale(sensor, unseen(sensor, refresh.as_secs_f64()))
    }

    fn scale(&self, sensor: SensorKind, unseen: f64) -> f64 {
        match sensor {
            SensorKind::Counter => self.gamma_counter,
            SensorKind::Instant { .. } if unseen > PART_TIME => self.gamma_part_time,
            SensorKind::Instant { .. } => self.gamma_instant,
            SensorKind::TrailingMean { .. } => self.gamma_trailing,
        }
    }

    /// Both parts of a figure's uncertainty.
    ///
    /// `disagreement` is power over counter where the two were found to disagree: the systematic part is then at least
    /// that.
    pub(crate) fn combine(&self, energy: Joules, random: f64, disagreement: Option<f64>) -> Uncertainty {
        let apart = disagreement.map_or(0.0, |ratio| (ratio - 1.0).abs());
        let systematic = self.gain.max(apart) * energy.joules();
        half_widths(random, systematic)
    }
}

/// Part of its refresh period, in seconds, that a sensor does not look at.
fn unseen(sensor: SensorKind, refresh: f64) -> f64 {
    match sensor {
        SensorKind::Instant { window } => 1.0 - (window.as_secs_f64() / refresh).min(1.0),
        _ => 0.0,
    }
}

/// An uncertainty from its two parts in joules.
pub(crate) fn half_widths(random: f64, systematic: f64) -> Uncertainty {
    let joules = |value: f64| Joules::new(value).unwrap_or(Joules::from_microjoules(i128::MAX));
    Uncertainty {
        total: joules(random.hypot(systematic)),
        random: joules(random),
        systematic: joules(systematic),
    }
}

/// Mean powers around an interval, and what its sensor does not see.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Surroundings {
    pub(crate) sensor: SensorKind,
    /// Mean power of the interval before, where there is one.
    pub(crate) before: Option<f64>,
    /// Mean power of the interval.
    pub(crate) power: f64,
    /// From idle draw to the limit.
    pub(crate) range: f64,
    pub(crate) length: f64,
    pub(crate) refresh: Option<Duration>,
}

/// What one inference has in an interval that can be wrong, in seconds; powers come in once the next interval is known.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Exposure {
    /// Time with nothing in flight, times own share.
    pub(crate) idle: f32,
    /// Spread of the own share over the interval, times its length.
    pub(crate) spread: f32,
    /// Uncertainty of the refresh time at each end that lies in this interval, times own share.
    pub(crate) edge: f32,
    /// Latency of marks, times own share.
    pub(crate) mark: f32,
    /// Length of the interval times own share.
    pub(crate) own: f32,
    /// Uncertainty of the refresh time before the interval, times own share.
    pub(crate) step: f32,
    /// The same for the one after it, where no interval of one's own follows.
    pub(crate) last_step: f32,
}

impl Exposure {
    /// Whether any of it can be wrong by this sensor: the interior of a counter cannot.
    pub(crate) fn matters(&self, sensor: SensorKind) -> bool {
        sensor != SensorKind::Counter || self.idle + self.spread + self.edge + self.mark > 0.0
    }
}

/// Random terms of one inference on one device, gathered interval by interval.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Random {
    squares: f64,
    bounds: f64,
    /// Largest change between neighbouring readings of a trailing mean, in watts per refresh of the sensor's window.
    slope: f32,
    window: f32,
    range: f32,
}

impl Random {
    /// Adds an independent term that lies evenly within a bound, in joules.
    fn bound(&mut self, gamma: f64, bound: f64) {
        let scaled = gamma * bound;
        self.squares += scaled * scaled / 3.0;
        self.bounds += scaled;
    }

    /// The sensor's step, at both ends of the inference.
    pub(crate) fn resolution(&mut self, model: &UncertaintyModel, step: f64) {
        let scaled = model.gamma_counter * step;
        self.squares += scaled * scaled / 6.0;
        self.bounds += scaled;
    }

    /// Adds what an interval contributes. `after` is the mean power of the next one, where it is known.
    pub(crate) fn add(
        &mut self,
        model: &UncertaintyModel,
        around: &Surroundings,
        exposure: &Exposure,
        after: Option<f64>,
    ) {
        let refresh = around.refresh.map_or(around.length, |refresh| refresh.as_secs_f64());
        let unseen = unseen(around.sensor, refresh);
        let gamma = model.scale(around.sensor, unseen);
        let neighbours = [around.before, Some(around.power), after];
        let powers = || neighbours.into_iter().flatten();
        let (low, high) =
            powers().fold((f64::MAX, 0.0_f64), |(low, high), power| (low.min(power), high.max(power)));
        // Even where three means agree, the draw inside may differ by a part of what the device can do.
        let varied = (high - low).max(LEAST_VARIATION * around.range);
        self.bound(gamma, varied * f64::from(exposure.spread));
        self.bound(gamma, around.power * f64::from(exposure.mark));
        match around.sensor {
            SensorKind::Counter => {
                self.bound(gamma, varied * f64::from(exposure.idle));
                self.bound(gamma, high * f64::from(exposure.edge));
            }
            SensorKind::Instant { .. } => {
                self.bound(gamma, varied * f64::from(exposure.idle));
                self.bound(gamma, varied * f64::from(exposure.own) * unseen.max(LEAST_UNSEEN));
                let step = |other: Option<f64>| other.map_or(0.0, |other| (around.power - other).abs());
                self.bound(gamma, step(around.before) * f64::from(exposure.step));
                self.bound(gamma, step(after) * f64::from(exposure.last_step));
            }
            SensorKind::TrailingMean { window } => {
                let step = |other: f64| (around.power - other).abs() * window.as_secs_f64() / refresh;
                let steps = [around.before, after].into_iter().flatten().map(|other| step(other) as f32);
                self.slope = steps.fold(self.slope, f32::max);
                self.window = self.window.max(window.as_secs_f32());
                self.range = self.range.max(around.range as f32);
            }
        }
    }

    /// Half-width of the random part, in joules. `length` is the inference's in seconds, `share` its mean share.
    pub(crate) fn half_width(&self, model: &UncertaintyModel, length: f64, share: f64) -> f64 {
        let sampled = (1.96 * self.squares.sqrt()).min(self.bounds);
        let (slope, range, window) = (f64::from(self.slope), f64::from(self.range), f64::from(self.window));
        let slope = slope.max(LEAST_VARIATION * range).min(range);
        let smeared =
            model.gamma_trailing * std::f64::consts::SQRT_2 * slope * (window / 8.0).min(length) * share;
        sampled.hypot(smeared)
    }
}

/// Part of the device's range by which the draw may vary unseen inside an interval.
const LEAST_VARIATION: f64 = 0.05;
/// A sensor that misses more of its refresh period than this is one that looks at a part of it.
pub(crate) const PART_TIME: f64 = 0.1;
/// Part of a refresh period that a sensor is taken to miss at least: its window is known to a few per cent only.
const LEAST_UNSEEN: f64 = 0.02;

#[cfg(test)]
mod tests {
    use super::*;

    fn around(sensor: SensorKind) -> Surroundings {
        Surroundings {
            sensor,
            before: Some(100.0),
            power: 200.0,
            range: 400.0,
            length: 0.1,
            refresh: Some(Duration::from_millis(100)),
        }
    }

    #[track_caller]
    fn close(found: f64, expected: f64) {
        assert!((found - expected).abs() < 1e-6 * expected.abs().max(1.0), "{found} is not {expected}");
    }

    fn plain() -> UncertaintyModel {
        UncertaintyModel {
            gamma_counter: 1.0,
            gamma_instant: 1.0,
            gamma_part_time: 1.0,
            gamma_trailing: 1.0,
            gain: 0.0,
            ..UncertaintyModel::default()
        }
    }

    #[test]
    fn interior_of_a_counter_adds_nothing() {
        let mut random = Random::default();
        let interior = Exposure { own: 0.1, step: 0.01, ..Exposure::default() };
        random.add(&plain(), &around(SensorKind::Counter), &interior, Some(300.0));
        close(random.half_width(&plain(), 5.0, 1.0), 0.0);
    }

    #[test]
    fn counter_edges_are_worth_the_local_power_for_the_lag() {
        let mut random = Random::default();
        let edge = Exposure { idle: 0.05, edge: 0.01, ..Exposure::default() };
        random.add(&plain(), &around(SensorKind::Counter), &edge, Some(300.0));
        // D = 300 − 100 = 200 W over 50 ms is 10 J; 300 W for 10 ms are 3 J. 1.96·√((10² + 3²)/3) = 11.81 J < 13 J.
        close(random.half_width(&plain(), 5.0, 1.0), 1.96 * (109.0_f64 / 3.0).sqrt());
    }

    #[test]
    fn one_bounded_term_does_not_pass_its_bound() {
        let mut random = Random::default();
        let idle = Exposure { idle: 0.05, ..Exposure::default() };
        random.add(&plain(), &around(SensorKind::Counter), &idle, Some(300.0));
        close(random.half_width(&plain(), 5.0, 1.0), 10.0);
    }

    #[test]
    fn a_sensor_that_looks_at_a_quarter_is_unsure_of_the_rest() {
        let mut random = Random::default();
        let own = Exposure { own: 0.1, ..Exposure::default() };
        let sensor = SensorKind::Instant { window: Duration::from_millis(25) };
        random.add(&plain(), &around(sensor), &own, Some(150.0));
        // D = 100 W over 75 ms.
        close(random.half_width(&plain(), 5.0, 1.0), 7.5);
    }

    #[test]
    fn a_mean_is_as_sharp_as_its_window() {
        let mut random = Random::default();
        let sensor = SensorKind::TrailingMean { window: Duration::from_secs(1) };
        random.add(&plain(), &around(sensor), &Exposure::default(), Some(210.0));
        // 100 W in 100 ms of a 1 s window would be a step of 1 kW; the device's range is 400 W.
        close(random.half_width(&plain(), 5.0, 1.0), 2.0_f64.sqrt() * 400.0 * 0.125);
        close(random.half_width(&plain(), 0.1, 0.5), 2.0_f64.sqrt() * 400.0 * 0.1 * 0.5);
    }

    #[test]
    fn disagreement_of_two_sensors_becomes_systematic() {
        let model = UncertaintyModel::default();
        let energy = Joules::from_millijoules(100_000);
        assert_eq!(model.combine(energy, 0.0, None).systematic, Joules::from_millijoules(5_000));
        assert_eq!(model.combine(energy, 0.0, Some(1.74)).systematic, Joules::from_millijoules(74_000));
        assert_eq!(model.combine(energy, 12.0, None).total, Joules::from_millijoules(13_000));
    }
}
