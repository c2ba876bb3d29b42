//! Finds loads that keep time with a sensor, which no reading can reveal.

use std::collections::VecDeque;
use std::time::Duration;

use wattspan_core::MonoTime;

/// Follows how regularly inferences begin.
#[derive(Debug, Default)]
pub(crate) struct Cadence {
    begins: VecDeque<u64>,
}

impl Cadence {
    pub(crate) fn begin(&mut self, at: MonoTime) {
        if self.begins.len() == BEGINS {
            self.begins.pop_front();
        }
        self.begins.push_back(at.nanos());
    }

    /// The period with which inferences begin, where they do so regularly.
    pub(crate) fn period(&self) -> Option<Duration> {
        if self.begins.len() < BEGINS {
            return None;
        }
        let (first, last) = (*self.begins.front()?, *self.begins.back()?);
        let mean = last.checked_sub(first)? as f64 / (BEGINS - 1) as f64;
        let regular = self
            .begins
            .iter()
            .zip(self.begins.iter().skip(1))
            .all(|(one, next)| (next.saturating_sub(*one) as f64 - mean).abs() <= NEAR * mean);
        (regular && mean > 0.0).then(|| Duration::from_nanos(mean as u64))
    }
}

/// Whether something that repeats with a period may stay in step with a sensor's refresh: the period is close to the
/// refresh period, or to one of its low multiples.
pub(crate) fn keeps_step(period: Duration, refresh: Duration) -> bool {
    if refresh.is_zero() {
        return false;
    }
    let times = period.as_secs_f64() / refresh.as_secs_f64();
    let nearest = times.round();
    (1.0..=3.0).contains(&nearest) && (times - nearest).abs() <= NEAR * nearest
}

/// Begins that must be regular before it is said: with eight in a row, chance is out.
const BEGINS: usize = 8;
/// How near is near: within this, a beat between load and sensor takes more than twenty refreshes, longer than most
/// inferences last.
const NEAR: f64 = 0.05;

#[cfg(test)]
mod tests {
    use super::*;

    fn cadence(times: impl IntoIterator<Item = u64>) -> Option<Duration> {
        let mut cadence = Cadence::default();
        for millis in times {
            cadence.begin(MonoTime::from_nanos(millis * 1_000_000));
        }
        cadence.period()
    }

    #[test]
    fn regular_begins_have_a_period_and_others_none() {
        assert_eq!(cadence((0..8).map(|turn| turn * 100)), Some(Duration::from_millis(100)));
        assert_eq!(cadence((0..7).map(|turn| turn * 100)), None);
        assert_eq!(cadence([0, 100, 200, 290, 400, 500, 600, 700]), None);
    }

    #[test]
    fn step_is_kept_at_low_multiples() {
        let refresh = Duration::from_millis(100);
        for (millis, kept) in [(100, true), (104, true), (110, false), (203, true), (50, false), (400, false)]
        {
            assert_eq!(keeps_step(Duration::from_millis(millis), refresh), kept, "{millis} ms");
        }
    }
}
