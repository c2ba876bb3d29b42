//! How often a sensor shows a new value, found from the readings themselves.

use std::collections::VecDeque;
use std::time::Duration;

/// Follows the time between changes of a reading.
#[derive(Debug)]
pub(super) struct RefreshPeriod {
    table: Option<Duration>,
    seen: VecDeque<Duration>,
    measured: Option<Duration>,
    /// An equal reading may be a refresh.
    repeats: bool,
}

impl RefreshPeriod {
    /// Of a counter, which moves at each refresh while anything is drawn.
    pub(super) fn of_counter(table: Option<Duration>) -> Self {
        Self { table, seen: VecDeque::new(), measured: None, repeats: false }
    }

    /// Of a power reading, which may well be refreshed and stay the same.
    pub(super) fn of_power(table: Option<Duration>) -> Self {
        Self { repeats: true, ..Self::of_counter(table) }
    }

    /// The period: measured, else the sensor table's, else unknown.
    pub(super) fn get(&self) -> Option<Duration> {
        match (self.measured, self.table) {
            // Refreshes that changed nothing make the time between changes longer, never shorter.
            (Some(measured), Some(table)) if self.repeats => Some(measured.min(table)),
            (measured, table) => measured.or(table),
        }
    }

    /// A reading changed this long after it changed before, `since_poll` after the poll before it.
    ///
    /// Only where polls lie clearly closer than changes does the time between changes tell the sensor's period rather
    /// than the poller's.
    pub(super) fn changed(&mut self, since_change: Duration, since_poll: Duration) {
        if since_poll * 2 > since_change {
            return;
        }
        if self.seen.len() == SEEN {
            self.seen.pop_front();
        }
        self.seen.push_back(since_change);
        if self.seen.len() < ENOUGH {
            return;
        }
        let mut sorted: Vec<Duration> = self.seen.iter().copied().collect();
        sorted.sort_unstable();
        // A missed change (no draw, equal reading) doubles a time; none halves it. So the lower half is nearer.
        let middle = &sorted[sorted.len() / 4..=sorted.len() / 2];
        self.measured = Some(middle.iter().sum::<Duration>() / middle.len() as u32);
    }

    /// Half of the time in which a refresh, seen at a poll, may have happened.
    pub(super) fn lag(&self, since_poll: Duration) -> Duration {
        self.get().map_or(since_poll, |period| period.min(since_poll)) / 2
    }
}

/// Changes remembered: a median over these rides out single outliers and follows a new period within a second or two.
const SEEN: usize = 15;
/// Changes needed before the measured period replaces the table's.
const ENOUGH: usize = 5;

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    #[test]
    fn the_period_is_that_of_the_sensor_not_of_the_poller() {
        let mut period = RefreshPeriod::of_counter(None);
        for _ in 0..20 {
            period.changed(ms(200), ms(200));
        }
        assert_eq!(period.get(), None, "a change at each poll says nothing");
        for millis in [100, 120, 80, 100, 100, 200, 100, 100, 120, 80, 100, 100] {
            period.changed(ms(millis), ms(20));
        }
        let found = period.get().unwrap();
        assert!((95..=105).contains(&found.as_millis()), "{found:?}");
        assert_eq!(period.lag(ms(20)), ms(10));
        assert_eq!(period.lag(ms(1_000)), found / 2);
    }

    #[test]
    fn before_it_is_measured_the_table_counts() {
        let mut period = RefreshPeriod::of_counter(Some(ms(100)));
        period.changed(ms(60), ms(10));
        assert_eq!(period.get(), Some(ms(100)));
    }
}
