//! What a meter says: the energy of a device between two refreshes, and what is known about that figure.

use std::time::Duration;

use wattspan_core::{GapReason, Joules, Method, MonoTime, Watts};

/// Kind of sensor behind a figure; decides which terms its uncertainty has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SensorKind {
    /// An energy counter: nothing between two refreshes is missed.
    Counter,
    /// A power reading that looks at `window` of each refresh period.
    Instant {
        /// The part of the refresh period that the sensor looks at.
        window: Duration,
    },
    /// A mean over a sliding window longer than the refresh period.
    TrailingMean {
        /// Length of the mean.
        window: Duration,
    },
}

/// Energy of a device between two refreshes of its sensor, or why it is not known.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Measured {
    /// First refresh.
    pub start: MonoTime,
    /// Last refresh.
    pub end: MonoTime,
    /// The energy, or the reason of a gap.
    pub energy: Result<Joules, GapReason>,
    /// How it was obtained.
    pub method: Method,
    /// What the sensor is.
    pub sensor: SensorKind,
    /// Half of the time in which the last refresh may have happened.
    pub lag: Duration,
    /// Refresh period, as far as it is known: measured from the readings, else the sensor table's.
    pub refresh: Option<Duration>,
    /// Smallest step of the sensor.
    pub resolution: Joules,
    /// Highest power that the device may draw: its limit, else the largest seen.
    pub limit: Option<Watts>,
    /// Energy by power readings over energy by counter, where the two disagree (1.74: power says 74 % more).
    pub cross_check: Option<f64>,
    /// Why power is integrated although there is a counter.
    pub fallback: Option<GapReason>,
}

impl Measured {
    /// An interval of which nothing but the energy is known; set the public fields for the rest.
    pub fn new(start: MonoTime, end: MonoTime, energy: Joules, method: Method) -> Self {
        let sensor = match method {
            Method::Counter => SensorKind::Counter,
            _ => SensorKind::Instant { window: end.since(start) },
        };
        Self {
            start,
            end,
            energy: Ok(energy),
            method,
            sensor,
            lag: Duration::ZERO,
            refresh: None,
            resolution: Joules::ZERO,
            limit: None,
            cross_check: None,
            fallback: None,
        }
    }

    /// An interval of which the energy is not known.
    pub fn gap(start: MonoTime, end: MonoTime, method: Method, reason: GapReason) -> Self {
        Self { energy: Err(reason), ..Self::new(start, end, Joules::ZERO, method) }
    }

    /// Length of the interval.
    pub fn length(&self) -> Duration {
        self.end.since(self.start)
    }

    /// Mean power; `None` in a gap and over no time.
    pub fn power(&self) -> Option<Watts> {
        self.energy.ok().and_then(|energy| energy / self.length())
    }

    /// The part of the interval from a time on, with its share of the energy; `None` when nothing is left.
    pub(crate) fn clipped_from(mut self, from: MonoTime) -> Option<Self> {
        if self.end <= from {
            return None;
        }
        if self.start < from {
            self.energy = self.energy.map(|energy| prorate(energy, self.end.since(from), self.length()));
            self.start = from;
        }
        Some(self)
    }
}

/// The share of an energy that falls into a part of its time, rounded down.
pub(crate) fn prorate(energy: Joules, part: Duration, whole: Duration) -> Joules {
    let whole = whole.as_nanos().max(1) as i128;
    let part = (part.as_nanos() as i128).min(whole);
    let microjoules = energy.microjoules();
    // Divided first, so that no product leaves the range.
    Joules::from_microjoules(microjoules / whole * part + microjoules % whole * part / whole)
}
