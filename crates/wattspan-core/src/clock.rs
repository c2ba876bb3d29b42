//! Two clocks: the monotonic one, whose times are subtracted, and the wall clock, which only labels.

use std::ops::{Add, Sub};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime};

use serde::{Deserialize, Serialize};

/// A point on the monotonic clock.
///
/// **Unit** nanoseconds since an epoch that all clocks of a process share. Only differences mean anything, and only
/// inside one process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct MonoTime(u64);

impl MonoTime {
    /// The epoch itself.
    pub const ZERO: Self = Self(0);

    /// From nanoseconds since the epoch.
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// Nanoseconds since the epoch.
    pub const fn nanos(self) -> u64 {
        self.0
    }

    /// Time since an earlier point; zero if that point is later.
    pub const fn since(self, earlier: Self) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }
}

impl Add<Duration> for MonoTime {
    type Output = Self;
    /// Saturates after 584 years.
    fn add(self, later: Duration) -> Self {
        Self(self.0.saturating_add(u64::try_from(later.as_nanos()).unwrap_or(u64::MAX)))
    }
}

impl Sub<Duration> for MonoTime {
    type Output = Self;
    /// Stops at the epoch.
    fn sub(self, earlier: Duration) -> Self {
        Self(self.0.saturating_sub(u64::try_from(earlier.as_nanos()).unwrap_or(u64::MAX)))
    }
}

/// Where time comes from. Called from every thread, many times a second: must not block.
pub trait Clock: Send + Sync {
    /// The monotonic time now. Never goes back.
    fn mono(&self) -> MonoTime;

    /// The wall-clock time now. May jump either way.
    fn wall(&self) -> SystemTime;
}

/// The operating system's clocks.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

/// One epoch for the process, so that times of two `SystemClock`s can be compared.
fn epoch() -> Instant {
    static EPOCH: OnceLock<Instant> = OnceLock::new();
    *EPOCH.get_or_init(Instant::now)
}

impl Clock for SystemClock {
    fn mono(&self) -> MonoTime {
        MonoTime::ZERO + epoch().elapsed()
    }

    fn wall(&self) -> SystemTime {
        SystemTime::now()
    }
}

/// A clock that stands still until it is told to move; for tests and for playing tapes.
#[derive(Debug)]
pub struct ScriptedClock {
    mono: AtomicU64,
    /// Nanoseconds since the Unix epoch at monotonic zero; moved by a wall-clock step.
    wall_offset: AtomicU64,
}

impl ScriptedClock {
    /// Starts at monotonic zero, with the wall clock at a given time (not before 1970).
    pub fn new(wall: SystemTime) -> Self {
        let offset = wall.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        Self { mono: AtomicU64::new(0), wall_offset: AtomicU64::new(offset.as_nanos() as u64) }
    }

    /// Moves both clocks on.
    pub fn advance(&self, by: Duration) {
        self.mono.fetch_add(by.as_nanos() as u64, Ordering::SeqCst);
    }

    /// Moves both clocks on to a monotonic time; does nothing if it is past.
    pub fn advance_to(&self, time: MonoTime) {
        self.mono.fetch_max(time.nanos(), Ordering::SeqCst);
    }

    /// Steps the wall clock alone, as NTP or a user does.
    pub fn step_wall(&self, seconds: i64) {
        let step = Duration::from_secs(seconds.unsigned_abs()).as_nanos() as u64;
        if seconds < 0 {
            self.wall_offset.fetch_sub(step, Ordering::SeqCst);
        } else {
            self.wall_offset.fetch_add(step, Ordering::SeqCst);
        }
    }
}

impl Clock for ScriptedClock {
    fn mono(&self) -> MonoTime {
        MonoTime(self.mono.load(Ordering::SeqCst))
    }

    fn wall(&self) -> SystemTime {
        let since_unix =
            self.wall_offset.load(Ordering::SeqCst).saturating_add(self.mono.load(Ordering::SeqCst));
        SystemTime::UNIX_EPOCH + Duration::from_nanos(since_unix)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wall_step_leaves_the_monotonic_clock_alone() {
        let start = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000);
        let clock = ScriptedClock::new(start);
        clock.advance(Duration::from_secs(4));
        clock.step_wall(-30);
        clock.advance(Duration::from_secs(1));
        assert_eq!(clock.mono().since(MonoTime::ZERO), Duration::from_secs(5));
        assert_eq!(clock.wall(), start - Duration::from_secs(25));
    }

    #[test]
    fn differences_never_go_negative() {
        assert_eq!(MonoTime::from_nanos(3).since(MonoTime::from_nanos(5)), Duration::ZERO);
        assert_eq!(MonoTime::from_nanos(3) - Duration::from_nanos(5), MonoTime::ZERO);
    }

    #[test]
    fn two_system_clocks_share_an_epoch() {
        let (first, second) = (SystemClock.mono(), SystemClock.mono());
        assert!(second >= first);
    }
}
