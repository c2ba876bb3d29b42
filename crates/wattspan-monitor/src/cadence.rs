//! When the sampler polls.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use crate::queue::Queue;
use crate::sampler::{Batch, Sampler};

/// How often the sampler polls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cadence {
    /// While an inference is in flight or waits for its settlement.
    pub busy: Duration,
    /// For [`Cadence::linger`] after that, so that the idle draw between requests that come often is known.
    pub recent: Duration,
    /// When nothing has happened for longer.
    pub idle: Duration,
    /// How long after the last inference `recent` holds.
    pub linger: Duration,
}

impl Default for Cadence {
    /// 20 ms busy: a fifth of the refresh period of most GPU counters; 200 ms for ten seconds after; then 1 s.
    fn default() -> Self {
        Self {
            busy: Duration::from_millis(20),
            recent: Duration::from_millis(200),
            idle: Duration::from_secs(1),
            linger: Duration::from_secs(10),
        }
    }
}

/// Batches that may wait for the settlement thread. The sampler waits when an exporter holds settlement up that long;
/// counters lose nothing by it.
pub(crate) const BATCHES: usize = 64;

pub(crate) fn sample_until(
    stop: &AtomicBool,
    queue: &Queue,
    cadence: Cadence,
    sampler: &mut Sampler,
    send: &mpsc::SyncSender<Batch>,
) {
    let mut last_busy: Option<Instant> = None;
    let mut deadline = Instant::now();
    loop {
        let last = stop.load(Ordering::Acquire);
        if send.send(sampler.poll(last)).is_err() || last {
            return;
        }
        let now = Instant::now();
        let period = if queue.is_busy() {
            last_busy = Some(now);
            cadence.busy
        } else if queue.is_watched() || last_busy.is_some_and(|busy| now - busy < cadence.linger) {
            cadence.recent
        } else {
            cadence.idle
        };
        deadline = next(deadline, period, now);
        if queue.wake().sleep_until(deadline) {
            deadline = Instant::now();
        }
    }
}

/// The next deadline: whole periods after the last one, so that polls do not drift; those that were slept through are
/// skipped.
fn next(last: Instant, period: Duration, now: Instant) -> Instant {
    let late = now.saturating_duration_since(last).as_nanos();
    let periods = late / period.as_nanos().max(1) + 1;
    last + period * u32::try_from(periods).unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn polls_keep_their_beat_however_late_they_are() {
        let begin = Instant::now();
        let at = |millis: u64| begin + Duration::from_millis(millis);
        let period = Duration::from_millis(20);
        assert_eq!(next(at(0), period, at(3)), at(20));
        assert_eq!(next(at(20), period, at(39)), at(40));
        // Late by more than a period: the beat goes on where it would have been.
        assert_eq!(next(at(40), period, at(107)), at(120));
        assert_eq!(next(at(40), period, at(60)), at(80));
        // A deadline that is still to come, after being woken.
        assert_eq!(next(at(50), period, at(40)), at(70));
    }
}
