//! Tells a machine that slept from a wall clock that was set.
//!
//! The monotonic clock stands still while the machine sleeps; the wall clock does not. Where the two part, the time since
//! boot decides, which counts sleep and which nobody sets.

use std::time::{Duration, SystemTime};

use wattspan_core::MonoTime;

/// Follows by how much the clocks are apart.
#[derive(Debug, Default)]
pub(crate) struct Suspends {
    wall_ahead: Option<i128>,
    boot_ahead: Option<i128>,
}

impl Suspends {
    /// Whether the machine slept since the last call. `since_boot` is asked only when the clocks have parted, and at the
    /// first call.
    pub(crate) fn slept(
        &mut self,
        mono: MonoTime,
        wall: SystemTime,
        since_boot: impl FnOnce() -> Option<Duration>,
    ) -> bool {
        let ahead = |time: Duration| time.as_nanos() as i128 - i128::from(mono.nanos());
        let wall_ahead = ahead(wall.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default());
        let Some(before) = self.wall_ahead.replace(wall_ahead) else {
            self.boot_ahead = since_boot().map(ahead);
            return false;
        };
        if (wall_ahead - before).abs() < PARTED {
            return false;
        }
        match (self.boot_ahead, since_boot().map(ahead)) {
            (Some(before), Some(boot_ahead)) => {
                self.boot_ahead = Some(boot_ahead);
                boot_ahead - before > PARTED
            }
            (_, boot_ahead) => {
                self.boot_ahead = boot_ahead;
                false
            }
        }
    }
}

/// Time since boot, sleep included. **Absent** where `/proc/uptime` is not there or unreadable.
pub(crate) fn since_boot() -> Option<Duration> {
    let text = std::fs::read_to_string("/proc/uptime").ok()?;
    Duration::try_from_secs_f64(text.split_whitespace().next()?.parse().ok()?).ok()
}

/// Clocks that part by less are only being corrected; `/proc/uptime` counts hundredths of a second.
const PARTED: i128 = 500_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(steps: &[(u64, u64, Option<u64>)], expected: &[bool]) {
        let mut suspends = Suspends::default();
        let found: Vec<bool> = steps
            .iter()
            .map(|(mono, wall, boot)| {
                let mono = MonoTime::ZERO + Duration::from_secs(*mono);
                let wall = SystemTime::UNIX_EPOCH + Duration::from_secs(*wall);
                suspends.slept(mono, wall, || boot.map(Duration::from_secs))
            })
            .collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn sleep_moves_wall_and_boot_time_but_not_the_monotonic_clock() {
        check(&[(1, 1_001, Some(51)), (2, 1_002, Some(52)), (3, 4_603, Some(3_653))], &[false, false, true]);
    }

    #[test]
    fn a_wall_clock_that_is_set_is_no_sleep() {
        check(&[(1, 1_001, Some(51)), (2, 4_602, Some(52)), (3, 4_603, Some(53))], &[false; 3]);
        check(&[(1, 1_001, Some(51)), (2, 102, Some(52))], &[false; 2]);
    }

    #[test]
    fn without_a_boot_clock_nothing_is_claimed() {
        check(&[(1, 1_001, None), (2, 9_002, None)], &[false; 2]);
    }
}
