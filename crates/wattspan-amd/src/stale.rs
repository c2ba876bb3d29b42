//! Finds an energy accumulator that stands still together with its clock, as some boards' firmware leaves it. Pure.
//!
//! A clock that moves while the accumulator does not is another matter: whether that is a card without draw, only power
//! can tell, and the meter that has both decides it.

use std::time::Duration;

use wattspan_core::MonoTime;

/// So many readings alike are no chance: the firmware refreshes its table within a few milliseconds.
const ALIKE: u32 = 3;

/// And for so long, since the driver caches the table for a moment and a fast sampler reads the same one again.
const STILL: Duration = Duration::from_millis(300);

/// What the accumulator and its clocks said before.
#[derive(Clone, Debug, Default)]
pub(crate) struct Stale {
    last: Option<Seen>,
}

#[derive(Clone, Debug)]
struct Seen {
    count: u64,
    firmware_clock: Option<u64>,
    system_clock: Option<u64>,
    /// When these figures were first seen.
    since: MonoTime,
    repeats: u32,
}

impl Stale {
    /// Takes one reading; answers with the reason when the accumulator is not to be trusted.
    pub(crate) fn advance(
        &mut self,
        time: MonoTime,
        count: u64,
        firmware_clock: Option<u64>,
        system_clock: Option<u64>,
    ) -> Option<String> {
        let fresh = Seen { count, firmware_clock, system_clock, since: time, repeats: 0 };
        let Some(seen) = &mut self.last else {
            self.last = Some(fresh);
            return None;
        };
        let stopped = |before: Option<u64>, now: Option<u64>| before.is_some() && before == now;
        // The driver's own clock may go on where the firmware's has stopped.
        let clock_stopped =
            stopped(seen.firmware_clock, firmware_clock) || stopped(seen.system_clock, system_clock);
        if seen.count != count || !clock_stopped {
            self.last = Some(fresh);
            return None;
        }
        seen.repeats += 1;
        let still = time.since(seen.since);
        if seen.repeats < ALIKE || still < STILL {
            return None;
        }
        Some(format!(
            "the energy accumulator and its time stamp have stood still for {:.1} s",
            still.as_secs_f64()
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(milliseconds: u64) -> MonoTime {
        MonoTime::ZERO + Duration::from_millis(milliseconds)
    }

    #[test]
    fn a_fast_sampler_that_meets_the_same_table_again_is_not_alarmed() {
        let mut stale = Stale::default();
        for poll in 0..20 {
            assert_eq!(stale.advance(at(poll * 10), 5, Some(1), Some(1)), None);
        }
        assert_eq!(stale.advance(at(200), 6, Some(2), Some(2)), None);
    }

    #[test]
    fn a_moving_clock_leaves_the_judgement_to_the_meter() {
        let mut stale = Stale::default();
        for poll in 0..20 {
            assert_eq!(stale.advance(at(poll * 1_000), 5, Some(poll), Some(poll)), None);
        }
    }

    #[test]
    fn it_is_trusted_again_once_it_moves() {
        let mut stale = Stale::default();
        let found: Vec<bool> =
            (0..5).map(|poll| stale.advance(at(poll * 1_000), 5, Some(9), None).is_some()).collect();
        assert_eq!(found, [false, false, false, true, true]);
        assert_eq!(stale.advance(at(5_000), 6, Some(10), None), None);
    }
}
