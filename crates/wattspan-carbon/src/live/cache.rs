//! What a live source has said, and when it is to be asked again. No I/O and no clock of its own.

use std::collections::HashMap;
use std::collections::hash_map::Entry as Slot;
use std::time::{Duration, SystemTime};

use wattspan_core::{Intensity, MonoTime, Provenance, random_share};

use crate::live::{Failure, Query, ZoneStatus};

/// A zone that nobody has asked for so long is not refreshed any more.
const IDLE: Duration = Duration::from_secs(2 * 3_600);
/// Zones kept for one source. A machine is in one place; this is for those that compare.
const MOST_ZONES: usize = 64;
/// Values kept for one zone, for inferences that are settled late: half a day of hours, or two hours of five minutes.
const MOST_VALUES: usize = 24;
/// The soonest that an answered zone is asked again, and the latest.
const REFRESH: (Duration, Duration) = (Duration::from_secs(300), Duration::from_secs(3_600));
/// How long past its refresh an answer still counts as live, for the request to be made in.
const GRACE: Duration = Duration::from_secs(60);

/// The memory of one source.
#[derive(Debug)]
pub(crate) struct Cache {
    max_age: Duration,
    entries: HashMap<Query, Entry>,
    /// No request of this source before.
    hold: MonoTime,
    /// Limits met one after the other.
    limits: u32,
    /// A request has succeeded, so the key is good, whatever a 401 says.
    proven: bool,
    /// The refusal has been said.
    refusal_said: bool,
}

#[derive(Debug)]
struct Entry {
    /// In order of `valid_from`.
    values: Vec<Value>,
    /// When somebody last asked.
    wanted: MonoTime,
    due: MonoTime,
    in_flight: bool,
    failures: u32,
    problem: Option<String>,
    answered: Option<MonoTime>,
}

#[derive(Debug)]
struct Value {
    intensity: Intensity,
    from: SystemTime,
    until: SystemTime,
    /// When the source gave it. Ages are differences of the monotonic clock; the wall clock only tells which hour a
    /// value is for.
    given: MonoTime,
    /// End of the time in which it counts as live if no request has failed since.
    fresh_until: MonoTime,
}

impl Cache {
    pub(crate) fn new(max_age: Duration) -> Self {
        Self {
            max_age,
            entries: HashMap::new(),
            hold: MonoTime::ZERO,
            limits: 0,
            proven: false,
            refusal_said: false,
        }
    }

    /// The best value for a time, and whether there is something to fetch. Registers the zone as wanted.
    pub(crate) fn look(&mut self, query: &Query, at: SystemTime, now: MonoTime) -> (Option<Intensity>, bool) {
        let full = self.entries.len() >= MOST_ZONES;
        if full && !self.entries.contains_key(query) {
            self.entries.retain(|_, entry| entry.in_flight || now.since(entry.wanted) < IDLE);
            if self.entries.len() >= MOST_ZONES {
                return (None, false);
            }
        }
        match self.entries.entry(query.clone()) {
            Slot::Vacant(slot) => {
                slot.insert(Entry {
                    values: Vec::new(),
                    wanted: now,
                    due: now,
                    in_flight: false,
                    failures: 0,
                    problem: None,
                    answered: None,
                });
                (None, true)
            }
            Slot::Occupied(mut slot) => {
                let entry = slot.get_mut();
                entry.wanted = now;
                let fetch = !entry.in_flight && entry.due.max(self.hold) <= now;
                (entry.best(at, now, self.max_age), fetch)
            }
        }
    }

    /// Takes the zone that has been due longest, to be asked for now. One request at a time for each zone.
    pub(crate) fn take_due(&mut self, now: MonoTime) -> Option<Query> {
        if now < self.hold {
            return None;
        }
        let ready = self.entries.iter_mut().filter(|(_, entry)| entry.ready(now));
        let (query, entry) = ready.min_by_key(|(_, entry)| entry.due)?;
        entry.in_flight = true;
        Some(query.clone())
    }

    /// When the next zone becomes due; `None` when nothing is wanted.
    pub(crate) fn next_due(&self, now: MonoTime) -> Option<MonoTime> {
        let waiting =
            self.entries.values().filter(|entry| !entry.in_flight && now.since(entry.wanted) < IDLE);
        waiting.map(|entry| entry.due.max(self.hold)).min()
    }

    /// Whether a request is under way or could be made now.
    pub(crate) fn is_busy(&self, now: MonoTime) -> bool {
        self.entries.values().any(|entry| entry.in_flight)
            || (now >= self.hold && self.entries.values().any(|entry| entry.ready(now)))
    }

    /// Whether an answer's newest value ended so long ago that it must not pass for a live one.
    pub(crate) fn is_stale(&self, values: &[Intensity], wall: SystemTime) -> bool {
        let end = values.last().and_then(|last| last.valid_until);
        end.is_some_and(|end| wall.duration_since(end).is_ok_and(|age| age > self.max_age))
    }

    /// Takes an answer in. Values without a validity hold until the next refresh.
    pub(crate) fn succeed(&mut self, query: &Query, values: Vec<Intensity>, now: MonoTime, wall: SystemTime) {
        self.proven = true;
        self.limits = 0;
        let spread = Duration::from_secs(30).mul_f64(random_share());
        let Some(entry) = self.entries.get_mut(query) else { return };
        let end = values.last().and_then(|last| last.valid_until).unwrap_or(wall + REFRESH.0);
        let left = end.duration_since(wall).unwrap_or_default();
        let wait = left.clamp(REFRESH.0, REFRESH.1) + spread;
        entry.in_flight = false;
        entry.failures = 0;
        entry.problem = None;
        entry.answered = Some(now);
        entry.due = now + wait;
        for intensity in values {
            let from = intensity.valid_from.unwrap_or(wall);
            let until = intensity.valid_until.unwrap_or(wall + wait);
            let value = Value { intensity, from, until, given: now, fresh_until: now + wait + GRACE };
            match entry.values.binary_search_by_key(&from, |value| value.from) {
                Ok(at) => entry.values[at] = value,
                Err(at) => entry.values.insert(at, value),
            }
        }
        let excess = entry.values.len().saturating_sub(MOST_VALUES);
        entry.values.drain(..excess);
    }

    /// Takes a failure in. Answers with what is to be said to the log: once for each zone until it answers again, and
    /// a refusal once for the source.
    pub(crate) fn fail(&mut self, query: &Query, failure: &Failure, now: MonoTime) -> Option<String> {
        let proven = self.proven;
        let entry = self.entries.get_mut(query)?;
        entry.in_flight = false;
        entry.failures = entry.failures.saturating_add(1);
        let first = entry.failures == 1;
        let count = entry.failures;
        entry.problem = Some(failure.to_string());
        let delay = match failure {
            Failure::Refused { .. } if proven => backed_off(60, 6 * 3_600, count),
            Failure::Refused { .. } => backed_off(600, 6 * 3_600, count),
            Failure::Transient(_) => backed_off(5, 600, count),
            Failure::NoData(_) | Failure::Malformed(_) => backed_off(300, 3_600, count),
            Failure::Limited { after } => {
                self.limits = self.limits.saturating_add(1);
                let least = after.unwrap_or_default();
                least.max(backed_off(60, 3_600, self.limits))
            }
        };
        // Up to a quarter longer, never shorter than was asked for.
        let delay = delay.mul_f64(1.0 + random_share() / 4.0);
        entry.due = now + delay;
        if matches!(failure, Failure::Limited { .. }) {
            self.hold = self.hold.max(now + delay);
        }
        let say = match failure {
            Failure::Refused { .. } => !std::mem::replace(&mut self.refusal_said, true),
            _ => first,
        };
        say.then(|| failure.to_string())
    }

    /// How every zone stands.
    pub(crate) fn status(&self, now: MonoTime) -> Vec<ZoneStatus> {
        let mut all: Vec<_> = self
            .entries
            .iter()
            .map(|(query, entry)| ZoneStatus {
                zone: query.to_string(),
                answered: entry.answered.map(|answered| now.since(answered)),
                problem: entry.problem.clone(),
                asking: entry.in_flight,
                next: entry.due.max(self.hold).since(now),
            })
            .collect();
        all.sort_by(|a, b| a.zone.cmp(&b.zone));
        all
    }
}

impl Entry {
    fn ready(&self, now: MonoTime) -> bool {
        !self.in_flight && self.due <= now && now.since(self.wanted) < IDLE
    }

    /// The value that covers a time; else the nearest one, as a last good value, if it is young enough.
    fn best(&self, at: SystemTime, now: MonoTime, max_age: Duration) -> Option<Intensity> {
        let after = self.values.partition_point(|value| value.from <= at);
        let value = self.values.get(after.saturating_sub(1))?;
        let age = now.since(value.given);
        let live = if value.from > at {
            // Somewhat before the first value: the request came after the inference it is for.
            let early = value.from.duration_since(at).unwrap_or_default();
            let period = value.until.duration_since(value.from).unwrap_or_default();
            if early > max_age {
                return None;
            }
            early <= period
        } else {
            at < value.until || (self.failures == 0 && now < value.fresh_until)
        };
        if !live && age > max_age {
            return None;
        }
        let mut answer = value.intensity.clone();
        answer.provenance = if live { Provenance::Live } else { Provenance::LastGood };
        answer.age = Some(age);
        Some(answer)
    }
}

/// `first` seconds after the first failure, twice that after each further one, `most` seconds in the end.
fn backed_off(first: u64, most: u64, failures: u32) -> Duration {
    let doublings = failures.saturating_sub(1).min(20);
    Duration::from_secs((first << doublings).min(most))
}

#[cfg(test)]
mod tests;
