//! Power readings: each is turned into energy by what it describes, back-dated, and never across a long silence.

use std::time::Duration;

use wattspan_core::{GapReason, Joules, Method, MonoTime, PowerShape, PowerSpec, Watts};

use super::measured::{Measured, SensorKind};
use super::refresh::RefreshPeriod;

/// Follows one power reading from refresh to refresh.
#[derive(Debug)]
pub(super) struct PowerTrack {
    spec: PowerSpec,
    period: RefreshPeriod,
    max_gap: Duration,
    last: Option<Last>,
}

#[derive(Clone, Copy, Debug)]
struct Last {
    value: Watts,
    polled: MonoTime,
    changed: MonoTime,
    refreshed: MonoTime,
}

impl PowerTrack {
    pub(super) fn new(spec: PowerSpec, max_gap: Duration) -> Self {
        Self { spec, period: RefreshPeriod::of_power(spec.refresh), max_gap, last: None }
    }

    /// The last reading.
    pub(super) fn value(&self) -> Option<Watts> {
        self.last.map(|last| last.value)
    }

    /// Forgets the last reading, so that nothing is integrated from it on.
    pub(super) fn restart(&mut self) {
        self.last = None;
    }

    pub(super) fn period(&self) -> Option<Duration> {
        self.period.get()
    }

    pub(super) fn kind(&self) -> SensorKind {
        match self.spec.shape {
            PowerShape::TrailingMean { window } => SensorKind::TrailingMean { window },
            PowerShape::Instant { window } => SensorKind::Instant { window },
            // The mean since the reading before: it looks at all of its interval, however long.
            _ => SensorKind::Instant { window: Duration::MAX },
        }
    }

    /// How far the middle of what a reading describes lies before it.
    fn back_date(&self) -> Duration {
        match self.spec.shape {
            PowerShape::TrailingMean { window } => window / 2,
            _ => Duration::ZERO,
        }
    }

    /// Takes a reading. Answers with the interval that it completes.
    pub(super) fn read(&mut self, value: Watts, at: MonoTime) -> Option<Measured> {
        let Some(last) = self.last else {
            self.last = Some(Last { value, polled: at, changed: at, refreshed: at });
            return None;
        };
        let since_poll = at.since(last.polled);
        let back = self.back_date();
        if since_poll > self.max_gap {
            self.last = Some(Last { value, polled: at, changed: at, refreshed: at });
            let mut gap =
                Measured::gap(last.refreshed - back, at - back, Method::Integrated, GapReason::Missing);
            gap.sensor = self.kind();
            gap.refresh = self.period();
            return Some(gap);
        }
        let changed = value != last.value;
        if changed {
            self.period.changed(at.since(last.changed), since_poll);
        }
        let (refreshed, lag) = self.refresh_time(&last, changed, at)?;
        self.last = Some(Last {
            value,
            polled: at,
            changed: if changed { at } else { last.changed },
            refreshed: refreshed.max(last.refreshed),
        });
        let length = refreshed.since(last.refreshed);
        if length.is_zero() {
            return None;
        }
        let energy = self.energy(last.value, value, length);
        let mut measured = Measured::new(last.refreshed - back, refreshed - back, energy, Method::Integrated);
        measured.sensor = self.kind();
        measured.lag = lag;
        measured.refresh = self.period().or(Some(since_poll));
        Some(measured)
    }

    /// When the reading was refreshed, as far as this poll tells, and how sure that is.
    fn refresh_time(&mut self, last: &Last, changed: bool, at: MonoTime) -> Option<(MonoTime, Duration)> {
        let since_poll = at.since(last.polled);
        if matches!(self.spec.shape, PowerShape::IntervalMean) {
            return Some((at, Duration::ZERO));
        }
        let lag = self.period.lag(since_poll);
        let Some(period) = self.period().filter(|period| *period > since_poll) else {
            return Some((at - lag, lag));
        };
        if changed {
            return Some((at - lag, lag));
        }
        // An equal value may be a refresh that changed nothing; it is one when its time is over.
        if at.since(last.refreshed) >= period + lag {
            return Some((last.refreshed + period, lag));
        }
        self.last = Some(Last { polled: at, ..*last });
        None
    }

    /// Energy between two refreshes whose readings are known.
    fn energy(&self, before: Watts, value: Watts, length: Duration) -> Joules {
        match self.spec.shape {
            PowerShape::IntervalMean => value * length,
            // Points: the draw is taken to run straight between them.
            PowerShape::Instant { window } if window.is_zero() => trapezoid(before, value, length),
            // A reading speaks for its own refresh period; what lies before that was seen by neither.
            _ => {
                let own = self.period().unwrap_or(length).min(length);
                value * own + trapezoid(before, value, length.saturating_sub(own))
            }
        }
    }
}

fn trapezoid(from: Watts, to: Watts, length: Duration) -> Joules {
    let mean = Watts::new(f64::midpoint(from.watts(), to.watts())).unwrap_or(to);
    mean * length
}
