//! When to initialise NVML anew. Pure.

use std::time::Duration;

use wattspan_core::MonoTime;

/// Back-off between initialisations: each costs the sampler some milliseconds to a second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Retry {
    due: Option<MonoTime>,
    delay: Duration,
    last: Option<MonoTime>,
}

impl Retry {
    /// First wait.
    const FIRST: Duration = Duration::from_secs(1);
    /// Longest wait while nothing can be read at all.
    const LONGEST: Duration = Duration::from_secs(60);
    /// Longest wait while other GPUs work, whose readings each attempt holds up.
    const LONGEST_BESIDE_OTHERS: Duration = Duration::from_secs(300);

    /// Whether to try now; a try that is due counts as made.
    pub(crate) fn take(&mut self, now: MonoTime) -> bool {
        let due = self.due.is_some_and(|due| due <= now);
        if due {
            self.due = None;
            self.last = Some(now);
        }
        due
    }

    /// There is something to try for. `at_once` skips the first wait, where nothing can be lost by it.
    pub(crate) fn wanted(&mut self, now: MonoTime, at_once: bool, others_work: bool) {
        if self.due.is_some() {
            return;
        }
        let longest = if others_work { Self::LONGEST_BESIDE_OTHERS } else { Self::LONGEST };
        let wait = if at_once && self.delay.is_zero() { Duration::ZERO } else { self.delay.max(Self::FIRST) };
        self.delay = (self.delay.max(Self::FIRST / 2) * 2).min(longest);
        self.due = Some(now + wait.min(longest));
    }

    /// Nothing is wrong. Once that has lasted as long as the last wait, the next trouble is a new one.
    pub(crate) fn calm(&mut self, now: MonoTime) {
        self.due = None;
        if self.last.is_none_or(|last| now.since(last) > self.delay) {
            self.delay = Duration::ZERO;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Seconds at which it is tried, if each try fails.
    fn tries(at_once: bool, others_work: bool) -> Vec<u64> {
        let mut retry = Retry::default();
        let mut tries = Vec::new();
        for second in 0..1_000 {
            let now = MonoTime::ZERO + Duration::from_secs(second);
            if retry.take(now) {
                tries.push(second);
            }
            retry.wanted(now, at_once, others_work);
        }
        tries
    }

    #[test]
    fn waits_double_up_to_a_bound() {
        assert_eq!(tries(false, false)[..9], [1, 2, 4, 8, 16, 32, 64, 124, 184]);
        assert_eq!(tries(false, true)[..10], [1, 2, 4, 8, 16, 32, 64, 128, 256, 512]);
    }

    #[test]
    fn driver_that_was_reloaded_is_taken_up_at_the_next_tick() {
        assert_eq!(tries(true, false)[..4], [1, 2, 4, 8]);
        let mut retry = Retry::default();
        retry.wanted(MonoTime::ZERO, true, false);
        assert!(retry.take(MonoTime::ZERO));
    }

    #[test]
    fn calm_forgets_earlier_trouble_only_after_a_while() {
        let at = |seconds| MonoTime::ZERO + Duration::from_secs(seconds);
        let mut retry = Retry::default();
        for _ in 0..4 {
            retry.wanted(at(0), false, false);
            assert!(retry.take(at(20)));
        }
        let before = retry;
        retry.calm(at(21));
        assert_eq!(retry, before);
        retry.calm(at(60));
        retry.wanted(at(60), false, false);
        assert!(retry.take(at(61)));
    }
}
