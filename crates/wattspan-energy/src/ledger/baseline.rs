//! What a device draws with contexts resident and nothing in flight.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

/// Follows the intervals in which nothing was in flight.
#[derive(Debug, Default)]
pub(super) struct Baseline {
    recent: VecDeque<Idle>,
    /// All of them by power, in steps of half a per cent: seconds, and joules in them.
    all: BTreeMap<i32, (f64, f64)>,
    seconds: f64,
}

#[derive(Clone, Copy, Debug)]
struct Idle {
    end: u64,
    watts: f64,
}

impl Baseline {
    /// An interval in which nothing was in flight, and which begins well after the last end.
    pub(super) fn idle(&mut self, start: u64, end: u64, watts: f64) {
        if self.recent.len() == RECENT {
            self.recent.pop_front();
        }
        self.recent.push_back(Idle { end, watts });
        let seconds = (end - start) as f64 / 1e9;
        // ln 1.005: steps of half a per cent; a device without any draw has one step of its own.
        let step = if watts > 0.0 { (watts.ln() / 0.004_987_541_5).round() as i32 } else { i32::MIN };
        let bin = self.all.entry(step).or_default();
        bin.0 += seconds;
        bin.1 += seconds * watts;
        self.seconds += seconds;
    }

    /// Idle draw for an interval: the mean of the two latest idle intervals shortly before it, else the session's.
    ///
    /// `clear` is how long before the interval an idle one must have ended for its reading not to reach into it.
    pub(super) fn before(&self, start: u64, clear: Duration) -> Option<f64> {
        let oldest = start.saturating_sub(FRESH.as_nanos() as u64);
        let newest = start.saturating_sub(clear.as_nanos() as u64);
        let mut latest = self
            .recent
            .iter()
            .rev()
            .filter(|idle| (oldest..=newest).contains(&idle.end))
            .take(2)
            .map(|idle| idle.watts);
        match (latest.next(), latest.next()) {
            (Some(one), Some(other)) => Some(f64::midpoint(one, other)),
            (Some(one), None) => Some(one),
            _ => self.session(),
        }
    }

    /// Median, by time, of all idle intervals.
    pub(super) fn session(&self) -> Option<f64> {
        let mut seconds = 0.0;
        for (in_step, joules) in self.all.values() {
            seconds += in_step;
            if seconds * 2.0 >= self.seconds && *in_step > 0.0 {
                return Some(joules / in_step);
            }
        }
        None
    }
}

/// How old the latest idle intervals may be: one second of slow polling and a refresh.
const FRESH: Duration = Duration::from_millis(1_200);
/// Idle intervals remembered one by one; at one each 10 ms these are more than the 1.2 s that count.
const RECENT: usize = 128;

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    #[test]
    fn the_two_latest_count_while_they_are_fresh() {
        let mut baseline = Baseline::default();
        for (start, watts) in [(0, 10.0), (100, 20.0), (200, 40.0)] {
            baseline.idle(start * MS, (start + 100) * MS, watts);
        }
        assert_eq!(baseline.before(300 * MS, Duration::ZERO), Some(30.0));
        assert_eq!(baseline.before(300 * MS, Duration::from_millis(50)), Some(15.0));
        let later = baseline.before(9_000 * MS, Duration::ZERO).unwrap();
        assert!((later - 20.0).abs() < 1e-9, "median of the session: {later}");
    }

    #[test]
    fn without_idle_time_there_is_none() {
        assert_eq!(Baseline::default().before(5, Duration::ZERO), None);
    }

    #[test]
    fn the_median_is_by_time() {
        let mut baseline = Baseline::default();
        for start in 0..9 {
            baseline.idle(start * MS, (start + 1) * MS, 300.0);
        }
        baseline.idle(10 * MS, 110 * MS, 50.0);
        assert_eq!(baseline.session().map(f64::round), Some(50.0));
    }
}
