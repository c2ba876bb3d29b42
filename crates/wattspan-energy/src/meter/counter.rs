//! Energy counters: wraps, resets, freezes, and differences that cannot be.

use std::time::Duration;

use wattspan_core::{CounterSpec, GapReason, Joules, Method, MonoTime};

use super::measured::{Measured, SensorKind};
use super::refresh::RefreshPeriod;

/// Follows one counter from change to change.
#[derive(Debug)]
pub(super) struct CounterTrack {
    spec: CounterSpec,
    ticks: u64,
    /// Part of a microjoule that earlier changes left over, in 1/denominator.
    remainder: u128,
    polled: MonoTime,
    /// When the counter was first seen at its present value.
    changed: MonoTime,
    /// The best guess of when it took that value.
    refreshed: MonoTime,
    period: RefreshPeriod,
    unchanged: u32,
}

/// What limits a difference: watts that the device cannot exceed, and watts that it may draw for long.
#[derive(Clone, Copy, Debug)]
pub(super) struct Plausible {
    /// More than this is no power of this device.
    pub(super) most: f64,
    /// The draw at which a wrap must be expected.
    pub(super) sustained: f64,
}

impl CounterTrack {
    /// Starts at a first reading, which counts as a refresh.
    pub(super) fn new(spec: CounterSpec, ticks: u64, at: MonoTime) -> Self {
        Self {
            spec,
            ticks,
            remainder: 0,
            polled: at,
            changed: at,
            refreshed: at,
            period: RefreshPeriod::of_counter(spec.refresh),
            unchanged: 0,
        }
    }

    /// Starts again at a reading, keeping what is known of the refresh period.
    pub(super) fn restart(&mut self, ticks: u64, at: MonoTime, refreshed: MonoTime) {
        self.ticks = ticks;
        self.remainder = 0;
        self.polled = at;
        self.changed = at;
        self.refreshed = refreshed;
        self.unchanged = 0;
    }

    pub(super) fn refreshed(&self) -> MonoTime {
        self.refreshed
    }

    pub(super) fn period(&self) -> Option<Duration> {
        self.period.get()
    }

    /// One step of the counter, at least a microjoule.
    pub(super) fn resolution(&self) -> Joules {
        let (numerator, denominator) = self.spec.microjoules_per_tick;
        Joules::from_microjoules(i128::from(numerator.div_ceil(denominator.max(1)).max(1)))
    }

    /// Whether the counter stands still although it should have moved: three refresh periods, and three polls, have
    /// passed, and the power readings say that more than a few of its steps were drawn.
    pub(super) fn is_frozen(&self, at: MonoTime, drawn: Joules) -> bool {
        self.is_overdue(at) && drawn.microjoules() > 3 * self.resolution().microjoules()
    }

    /// Whether three refresh periods have passed without a change.
    pub(super) fn is_overdue(&self, at: MonoTime) -> bool {
        let period = self.period().unwrap_or(UNKNOWN_PERIOD);
        self.unchanged >= 3 && at.since(self.refreshed) > period * 3
    }

    /// Closes a stretch without a change as no energy, so that time goes on for a device that draws nothing.
    pub(super) fn stand_still(&mut self, at: MonoTime) -> Measured {
        let mut measured = Measured::new(self.refreshed, at, Joules::ZERO, Method::Counter);
        self.describe(&mut measured, Duration::ZERO);
        self.refreshed = at;
        measured
    }

    /// When a change seen at a poll is likely to have happened.
    pub(super) fn refresh_time(&self, at: MonoTime) -> MonoTime {
        at - self.period.lag(at.since(self.polled))
    }

    /// Takes a reading. Answers with the interval that a change completes.
    pub(super) fn read(&mut self, ticks: u64, at: MonoTime, plausible: Plausible) -> Option<Measured> {
        let since_poll = at.since(self.polled);
        if ticks == self.ticks {
            self.polled = at;
            self.unchanged += 1;
            return None;
        }
        if self.unchanged > 0 {
            self.period.changed(at.since(self.changed), since_poll);
        }
        // The counter moved somewhere between two polls; the middle is the best guess.
        let lag = self.period.lag(since_poll);
        let end = at - lag;
        // The change may have gathered all that was drawn since the reading before this one was taken.
        let span = end.since(self.refreshed) + lag + self.period().unwrap_or(since_poll);
        let energy = self.difference(ticks, span, plausible);
        let start = self.refreshed;
        if energy.is_err() {
            self.remainder = 0;
        }
        self.ticks = ticks;
        self.polled = at;
        self.changed = at;
        self.unchanged = 0;
        if end <= start {
            // Two changes inside one lag: the energy must not be lost, so the interval ends at the poll.
            self.refreshed = at;
        } else {
            self.refreshed = end;
        }
        let mut measured = match energy {
            Ok(energy) => Measured::new(start, self.refreshed, energy, Method::Counter),
            Err(reason) => Measured::gap(start, self.refreshed, Method::Counter, reason),
        };
        self.describe(&mut measured, lag);
        Some(measured)
    }

    fn describe(&self, measured: &mut Measured, lag: Duration) {
        measured.sensor = SensorKind::Counter;
        measured.lag = lag;
        measured.refresh = self.period();
        measured.resolution = self.resolution();
    }

    /// Energy from the counter's present value to another one.
    fn difference(&mut self, ticks: u64, span: Duration, plausible: Plausible) -> Result<Joules, GapReason> {
        let most = (plausible.most * span.as_secs_f64() * 1e6) as i128;
        // powercap was seen to answer with values above its own range; such a counter does not wrap there.
        let modulus = self.spec.modulus.filter(|modulus| ticks < *modulus && self.ticks < *modulus);
        if let Some(modulus) = modulus {
            let range = self.microjoules(u128::from(modulus)).0;
            if plausible.sustained * span.as_secs_f64() * 1e6 > range as f64 {
                return Err(GapReason::WrapAmbiguous);
            }
        }
        let (moved, wrapped) = match (ticks.checked_sub(self.ticks), modulus) {
            (Some(moved), _) => (u128::from(moved), false),
            (None, Some(modulus)) => (u128::from(ticks) + u128::from(modulus) - u128::from(self.ticks), true),
            (None, None) => return Err(GapReason::CounterReset),
        };
        let (microjoules, remainder) = self.microjoules(moved);
        if microjoules > most + self.resolution().microjoules() {
            return Err(if wrapped { GapReason::CounterReset } else { GapReason::Implausible });
        }
        self.remainder = remainder;
        Ok(Joules::from_microjoules(microjoules))
    }

    /// Whole microjoules of a number of ticks and of what was left over before, and what is left over then.
    fn microjoules(&self, ticks: u128) -> (i128, u128) {
        let (numerator, denominator) = self.spec.microjoules_per_tick;
        let denominator = u128::from(denominator.max(1));
        // Ticks and numerator have 64 bits each, so their product has 128; a remainder on top may saturate there.
        let total = ticks.saturating_mul(u128::from(numerator)).saturating_add(self.remainder);
        (i128::try_from(total / denominator).unwrap_or(i128::MAX), total % denominator)
    }
}

/// Taken while no period is known: the slowest counters (Apple's CPU channels) are published once a second.
const UNKNOWN_PERIOD: Duration = Duration::from_secs(1);
