//! How a sensor behaves, from polling it fast: how often it refreshes, by which steps, and how far back it looks.

use std::time::Duration;

use wattspan_core::MonoTime;

/// Times and values of changes of a polled value; between two it stood still.
pub(super) fn changes<T: Copy + PartialEq>(
    polled: impl Iterator<Item = (MonoTime, T)>,
) -> Vec<(MonoTime, T)> {
    let mut changes: Vec<(MonoTime, T)> = Vec::new();
    for (time, value) in polled {
        if changes.last().is_none_or(|(_, last)| *last != value) {
            changes.push((time, value));
        }
    }
    // The first one is where polling began, not a change.
    if !changes.is_empty() {
        changes.remove(0);
    }
    changes
}

/// Refresh period: the usual time between two changes, where those that skipped a refresh are left out.
///
/// **Absent** with fewer than eight changes, and when they do not come at multiples of any period: a sensor that shows
/// each change at once has none.
pub(super) fn refresh(times: &[MonoTime]) -> Option<Duration> {
    let mut between: Vec<Duration> = times.windows(2).map(|pair| pair[1].since(pair[0])).collect();
    if between.len() < 7 {
        return None;
    }
    between.sort_unstable();
    let short = *between.get(between.len() / 10)?;
    // Jitter makes some short and others long; what is half as long again has skipped one.
    let usual: Vec<Duration> = between.iter().copied().filter(|one| *one <= short + short / 2).collect();
    let period = usual.iter().sum::<Duration>() / usual.len() as u32;
    let whole = |one: &&Duration| {
        let times = one.as_secs_f64() / period.as_secs_f64();
        // Far off, the period's own error adds up to anything.
        times.round() > 5.0 || (times - times.round()).abs() < 0.15
    };
    (between.iter().filter(whole).count() * 5 >= between.len() * 4).then_some(period)
}

/// The largest step that all changes of a counter are multiples of.
pub(super) fn step(counts: &[u64]) -> Option<u64> {
    let steps = counts.windows(2).filter_map(|pair| pair[1].checked_sub(pair[0]));
    steps.filter(|step| *step > 0).reduce(gcd)
}

fn gcd(mut one: u64, mut other: u64) -> u64 {
    while other > 0 {
        (one, other) = (other, one % other);
    }
    one
}

/// A change of load, and the readings around it.
pub(super) struct Step {
    pub(super) at: MonoTime,
    /// The reading before, and the one that the new load settles at.
    pub(super) before: f64,
    pub(super) settled: f64,
    /// Changed readings after it, in order.
    pub(super) after: Vec<(MonoTime, f64)>,
}

impl Step {
    fn fraction(&self, reading: f64) -> f64 {
        (reading - self.before) / (self.settled - self.before)
    }

    fn is_clear(&self) -> bool {
        (self.settled - self.before).abs() > 5.0
    }
}

/// How far back a sliding mean looks: the time in which it climbs to a new level, when that takes several refreshes.
pub(super) fn sliding_window(step: &Step, refresh: Duration) -> Option<Duration> {
    let (time, _) = step.after.iter().find(|(_, reading)| step.fraction(*reading) >= 0.95)?;
    let climb = time.since(step.at);
    // It is on its way for its window, and shown up to a refresh later: half of one on average.
    (step.is_clear() && climb > 2 * refresh + refresh / 2)
        .then(|| climb.saturating_sub(refresh / 2).div_f64(0.95))
}

/// The part of its refresh period that a sensor looks at: a step within it leaves a reading in between.
///
/// **Absent** with fewer than four clear steps.
pub(super) fn seen_window(steps: &[Step], refresh: Duration) -> Option<Duration> {
    let firsts: Vec<(f64, f64)> = steps
        .iter()
        .filter(|step| step.is_clear())
        .filter_map(|step| {
            let (time, reading) = step.after.first()?;
            Some((time.since(step.at).as_secs_f64(), step.fraction(*reading)))
        })
        .filter(|(since, _)| *since <= 1.1 * refresh.as_secs_f64())
        .collect();
    if firsts.len() < 4 {
        return None;
    }
    let mut windows: Vec<f64> = firsts
        .iter()
        .filter(|(_, fraction)| (0.05..0.95).contains(fraction))
        .map(|(since, fraction)| since / fraction)
        .collect();
    // None in between: it looks at a moment.
    windows.sort_unstable_by(f64::total_cmp);
    let middle = windows.get(windows.len() / 2).copied().unwrap_or(0.0);
    Duration::try_from_secs_f64(middle).ok().map(|window| window.min(refresh))
}

/// Middle of some values.
pub(super) fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_unstable_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> MonoTime {
        MonoTime::from_nanos(millis * 1_000_000)
    }

    #[test]
    fn refresh_is_the_usual_time_between_changes() {
        let times: Vec<MonoTime> = [0, 100, 201, 299, 500, 600, 701, 800, 1_200, 1_300].map(at).to_vec();
        let refresh = refresh(&times).unwrap().as_secs_f64();
        assert!((refresh - 0.1).abs() < 0.002, "{refresh}");
        assert_eq!(super::refresh(&times[..5]), None);
        let at_once: Vec<MonoTime> =
            [0, 462, 1_100, 1_490, 2_230, 2_600, 3_310, 3_800, 4_550].map(at).to_vec();
        assert_eq!(super::refresh(&at_once), None);
    }

    #[test]
    fn step_divides_every_increment() {
        assert_eq!(step(&[0, 6_000, 15_000, 15_000, 42_000]), Some(3_000));
        assert_eq!(step(&[5]), None);
    }

    fn stepped(at_ms: u64, first_ms: u64, first: f64) -> Step {
        Step {
            at: at(at_ms),
            before: 100.0,
            settled: 500.0,
            after: vec![(at(first_ms), first), (at(first_ms + 100), 500.0)],
        }
    }

    #[test]
    fn a_quarter_of_the_period_is_seen() {
        // The sensor looks at the last 25 of each 100 ms: a step 10 ms before the refresh shows as two fifths.
        let steps = [
            stepped(90, 100, 260.0),
            stepped(280, 300, 420.0),
            stepped(420, 500, 500.0),
            stepped(640, 700, 500.0),
        ];
        let window = seen_window(&steps, Duration::from_millis(100)).unwrap();
        assert!((window.as_secs_f64() - 0.025).abs() < 1e-9, "{window:?}");
        let whole = [stepped(50, 100, 500.0), stepped(250, 300, 500.0)];
        assert_eq!(seen_window(&whole, Duration::from_millis(100)), None);
    }

    #[test]
    fn a_mean_over_a_second_climbs_for_a_second() {
        let after = (1..=12).map(|turn| (at(turn * 100), (100.0 + turn as f64 * 40.0).min(500.0))).collect();
        let step = Step { at: at(50), before: 100.0, settled: 500.0, after };
        let window = sliding_window(&step, Duration::from_millis(100)).unwrap().as_secs_f64();
        assert!((0.9..=1.1).contains(&window), "{window}");
    }
}
