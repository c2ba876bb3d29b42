//! Compares a counter with the power readings beside it.

use std::time::Duration;

use super::measured::{Measured, SensorKind};

/// Gathers both over some seconds and says how far apart they are.
#[derive(Debug, Default)]
pub(super) struct CrossCheck {
    counted: Sum,
    integrated: Sum,
    verdict: Option<f64>,
}

#[derive(Debug, Default)]
struct Sum {
    joules: f64,
    seconds: f64,
    first: Option<u64>,
    last: u64,
    low: f64,
    high: f64,
    slack: f64,
}

impl Sum {
    fn add(&mut self, measured: &Measured) {
        let (Ok(energy), Some(power)) = (measured.energy, measured.power()) else { return };
        let power = power.watts();
        if self.first.is_none() {
            self.first = Some(measured.start.nanos());
            (self.low, self.high) = (power, power);
        }
        self.low = self.low.min(power);
        self.high = self.high.max(power);
        self.last = measured.end.nanos();
        self.joules += energy.joules();
        self.seconds += measured.length().as_secs_f64();
        if let (SensorKind::Instant { window }, Some(refresh)) = (measured.sensor, measured.refresh) {
            // What the sensor does not look at differs from what it does, at random from one refresh to the next.
            let unseen = 1.0 - (window.as_secs_f64() / refresh.as_secs_f64()).min(1.0);
            self.slack += (unseen * measured.length().as_secs_f64()).powi(2);
        }
    }
}

impl CrossCheck {
    pub(super) fn counted(&mut self, measured: &Measured) {
        self.counted.add(measured);
        self.judge();
    }

    pub(super) fn integrated(&mut self, measured: &Measured) {
        self.integrated.add(measured);
        self.judge();
    }

    /// Power over counter where they disagree, as of the last window.
    pub(super) fn verdict(&self) -> Option<f64> {
        self.verdict
    }

    fn judge(&mut self) {
        let (counted, integrated) = (&self.counted, &self.integrated);
        let enough = WINDOW.as_secs_f64();
        if counted.seconds < enough || integrated.seconds < enough {
            return;
        }
        let (mean_counted, mean_integrated) =
            (counted.joules / counted.seconds, integrated.joules / integrated.seconds);
        // The two windows do not lie on top of each other, and the power readings may look at a part only.
        let apart = |one: u64, other: u64| one.abs_diff(other) as f64 / 1e9;
        let shifted = apart(counted.first.unwrap_or_default(), integrated.first.unwrap_or_default())
            + apart(counted.last, integrated.last);
        let range = counted.high.max(integrated.high) - counted.low.min(integrated.low);
        let varied = (integrated.high - integrated.low).max(counted.high - counted.low).min(range);
        let slack = varied * (shifted + 2.0 * integrated.slack.sqrt()) / counted.seconds;
        let larger = mean_counted.max(mean_integrated);
        let difference = (mean_integrated - mean_counted).abs();
        self.verdict = (difference > TOLERANCE * larger + slack && mean_counted > 0.0)
            .then(|| mean_integrated / mean_counted);
        self.counted = Sum::default();
        self.integrated = Sum::default();
    }
}

/// Long enough for a hundred refreshes of common sensors and for the window of a one-second mean not to matter much.
const WINDOW: Duration = Duration::from_secs(4);
/// Twice the ±5 % that single boards were found off by (arXiv:2312.02741), since here two sensors may be.
const TOLERANCE: f64 = 0.10;
