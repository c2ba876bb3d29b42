//! Power readings to joules, by what a reading describes. Slices in, joules out: for reports and for checking a
//! recording as a whole. The [`Meter`](crate::Meter) does the same step by step while a program runs.
//!
//! An instant between two others is joined to them by a line ([`trapezoid`]). A mean over an interval counts for its own
//! interval and for nothing else ([`interval_means`]): a trapezoid over means loses the first interval and half of the
//! last step. A mean over a sliding window is first moved to where it belongs ([`back_dated`]).

use std::time::Duration;

use wattspan_core::{Joules, MonoTime, Watts};

/// A power reading and when it was taken.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PowerPoint {
    /// When.
    pub time: MonoTime,
    /// The reading.
    pub power: Watts,
}

impl PowerPoint {
    /// Puts the two together.
    pub const fn new(time: MonoTime, power: Watts) -> Self {
        Self { time, power }
    }
}

/// A mean power and the interval that it is the mean of.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PowerMean {
    /// Begin of the interval.
    pub start: MonoTime,
    /// Its end.
    pub end: MonoTime,
    /// The mean.
    pub power: Watts,
}

impl PowerMean {
    /// A mean over the time between two points.
    pub const fn new(start: MonoTime, end: MonoTime, power: Watts) -> Self {
        Self { start, end, power }
    }
}

/// A stretch of time without power.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Uncovered {
    /// Its begin.
    pub start: MonoTime,
    /// Its end.
    pub end: MonoTime,
}

/// What an integration found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Integral {
    /// Energy of the covered time. Nothing is added for gaps.
    pub energy: Joules,
    /// How much time it covers.
    pub covered: Duration,
    /// Stretches between the first and the last reading that it does not cover.
    pub gaps: Vec<Uncovered>,
    /// Readings left out: below 0 W, or not later than the one before.
    pub rejected: usize,
}

/// Integrates readings that are known to be instants, joining neighbours by a line.
///
/// Neighbours further apart than `longest_step` are a gap: what happened between them is not known. A reading below 0 W
/// is left out, and so is one that is not later than the reading before it.
///
/// **Unit** joules, each step rounded to a microjoule.
///
/// ```
/// use std::time::Duration;
/// use wattspan_core::{Joules, MonoTime, Watts};
/// use wattspan_energy::{PowerPoint, trapezoid};
///
/// let at = |seconds: u64, watts| PowerPoint::new(MonoTime::from_nanos(seconds * 1_000_000_000), Watts::whole(watts));
/// let ramp = trapezoid(&[at(0, 100), at(1, 300), at(60, 300), at(61, 300)], Duration::from_secs(5));
/// assert_eq!(ramp.energy, Joules::from_millijoules(200_000 + 300_000));
/// assert_eq!(ramp.gaps.len(), 1);
/// ```
pub fn trapezoid(points: &[PowerPoint], longest_step: Duration) -> Integral {
    let mut found = Integral::default();
    let mut before: Option<PowerPoint> = None;
    for point in points {
        if point.power < Watts::ZERO || before.is_some_and(|before| point.time <= before.time) {
            found.rejected += 1;
            continue;
        }
        if let Some(before) = before {
            let step = point.time.since(before.time);
            if step > longest_step {
                found.gaps.push(Uncovered { start: before.time, end: point.time });
            } else {
                found.energy += mean(before.power, point.power) * step;
                found.covered += step;
            }
        }
        before = Some(*point);
    }
    found
}

/// Adds up means, each times its own interval.
///
/// Time that two intervals share is counted once, for the earlier one. Time between two intervals is a gap. Readings
/// must come in the order of their begins; one below 0 W, empty, or wholly within time already counted is left out.
pub fn interval_means(means: &[PowerMean]) -> Integral {
    let mut found = Integral::default();
    let mut counted_to: Option<MonoTime> = None;
    for mean in means {
        let start = counted_to.map_or(mean.start, |to| to.max(mean.start));
        if mean.power < Watts::ZERO || mean.end <= start {
            found.rejected += 1;
            continue;
        }
        if let Some(to) = counted_to.filter(|to| *to < start) {
            found.gaps.push(Uncovered { start: to, end: start });
        }
        let length = mean.end.since(start);
        found.energy += mean.power * length;
        found.covered += length;
        counted_to = Some(mean.end);
    }
    found
}

/// Moves readings of a sliding mean to the time that they describe.
///
/// A mean over `window` that ends at its reading is centred half a window earlier; from there it counts half-way to its
/// neighbours on both sides. The first and the last count outwards as far as inwards. Where two readings are further
/// apart than `longest_step`, they count no further towards each other than towards their other neighbour, or not at all
/// where that is missing too. Give it one reading per refresh of the sensor ([`refreshes`]), not one per poll.
///
/// With `window` equal to the refresh period the result is the means' own intervals; with a window of zero, the readings
/// count around their own time. What falls before the clock's zero is cut off.
pub fn back_dated(points: &[PowerPoint], window: Duration, longest_step: Duration) -> Vec<PowerMean> {
    let mut kept: Vec<PowerPoint> = Vec::with_capacity(points.len());
    for point in points.iter().filter(|point| point.power >= Watts::ZERO) {
        if kept.last().is_none_or(|last| point.time > last.time) {
            kept.push(*point);
        }
    }
    let half_step = |from: PowerPoint, to: PowerPoint| {
        let step = to.time.since(from.time);
        (step <= longest_step).then_some(step / 2)
    };
    let mut means = Vec::with_capacity(kept.len());
    for (index, point) in kept.iter().enumerate() {
        let earlier = index.checked_sub(1).and_then(|before| half_step(kept[before], *point));
        let later = kept.get(index + 1).and_then(|after| half_step(*point, *after));
        let Some((before, after)) = earlier.or(later).zip(later.or(earlier)) else { continue };
        // Shift last, so that halves of odd nanoseconds still meet their neighbours'.
        let start = match earlier {
            Some(_) => kept[index - 1].time + before,
            None => point.time - before,
        };
        means.push(PowerMean::new(start - window / 2, (point.time + after) - window / 2, point.power));
    }
    means
}

/// Keeps the readings at which a sensor changed, dated between the poll that saw it and the poll before.
///
/// Polling is mostly faster than a sensor's refresh, and then most readings repeat the last one. The first reading is
/// kept as it is. A sensor that happens to give the same figure twice loses that refresh, which changes no energy.
pub fn refreshes(polls: &[PowerPoint]) -> Vec<PowerPoint> {
    let mut found: Vec<PowerPoint> = Vec::new();
    let mut polled: Option<MonoTime> = None;
    for poll in polls {
        match (polled, found.last()) {
            (Some(before), Some(last)) if poll.time > before => {
                if poll.power != last.power {
                    let refreshed = poll.time - poll.time.since(before) / 2;
                    found.push(PowerPoint::new(refreshed, poll.power));
                }
            }
            (None, _) => found.push(*poll),
            _ => continue,
        }
        polled = Some(poll.time);
    }
    found
}

/// The part of a polyline within a window; its ends are interpolated.
pub fn clip_points(points: &[PowerPoint], from: MonoTime, to: MonoTime) -> Vec<PowerPoint> {
    let mut clipped: Vec<PowerPoint> = Vec::new();
    for pair in points.windows(2) {
        let (first, second) = (pair[0], pair[1]);
        let (start, end) = (first.time.max(from), second.time.min(to));
        if start >= end {
            continue;
        }
        if clipped.last().is_none_or(|last| last.time < start) {
            clipped.push(PowerPoint::new(start, between(first, second, start)));
        }
        clipped.push(PowerPoint::new(end, between(first, second, end)));
    }
    clipped
}

/// The parts of means within a window.
pub fn clip_means(means: &[PowerMean], from: MonoTime, to: MonoTime) -> Vec<PowerMean> {
    let within = |mean: &PowerMean| PowerMean::new(mean.start.max(from), mean.end.min(to), mean.power);
    means.iter().map(within).filter(|mean| mean.start < mean.end).collect()
}

fn mean(first: Watts, second: Watts) -> Watts {
    Watts::new(f64::midpoint(first.watts(), second.watts()))
        .expect("the middle of two finite numbers is finite")
}

fn between(first: PowerPoint, second: PowerPoint, at: MonoTime) -> Watts {
    let whole = second.time.since(first.time).as_secs_f64();
    let part = at.since(first.time).as_secs_f64() / whole;
    // Weights rather than a slope, so that the ends come out exactly.
    let power = first.power.watts() * (1.0 - part) + second.power.watts() * part;
    Watts::new(power).unwrap_or(first.power)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const FOREVER: Duration = Duration::MAX;

    fn ms(millis: u64) -> MonoTime {
        MonoTime::from_nanos(millis * 1_000_000)
    }

    fn points(list: &[(u64, u32)]) -> Vec<PowerPoint> {
        list.iter().map(|(millis, watts)| PowerPoint::new(ms(*millis), Watts::whole(*watts))).collect()
    }

    fn joules(whole: i64) -> Joules {
        Joules::from_millijoules(whole * 1_000)
    }

    #[test]
    fn a_line_between_instants_is_a_trapezoid() {
        let found = trapezoid(&points(&[(0, 0), (1_000, 100), (3_000, 200)]), FOREVER);
        assert_eq!((found.energy, found.covered), (joules(50 + 300), Duration::from_secs(3)));
    }

    #[test]
    fn nothing_is_made_up_across_a_gap() {
        let found =
            trapezoid(&points(&[(0, 100), (100, 100), (9_000, 100), (9_100, 100)]), Duration::from_secs(1));
        assert_eq!(found.energy, joules(20));
        assert_eq!(found.gaps, [Uncovered { start: ms(100), end: ms(9_000) }]);
    }

    #[test]
    fn times_that_stand_or_go_back_are_left_out() {
        let found =
            trapezoid(&points(&[(0, 100), (1_000, 100), (1_000, 900), (500, 900), (2_000, 100)]), FOREVER);
        assert_eq!((found.energy, found.rejected), (joules(200), 2));
    }

    #[test]
    fn a_reading_below_zero_is_left_out() {
        let mut list = points(&[(0, 100), (500, 100), (1_000, 100)]);
        list[1].power = Watts::new(-7.0).unwrap();
        let found = trapezoid(&list, FOREVER);
        assert_eq!((found.energy, found.rejected), (joules(100), 1));
        let means = [PowerMean::new(ms(0), ms(1_000), list[1].power)];
        assert_eq!(interval_means(&means).rejected, 1);
    }

    #[test]
    fn a_mean_counts_for_its_own_interval_only() {
        let means = [
            PowerMean::new(ms(0), ms(1_000), Watts::whole(100)),
            PowerMean::new(ms(1_000), ms(3_000), Watts::whole(50)),
            PowerMean::new(ms(4_000), ms(5_000), Watts::whole(10)),
        ];
        let found = interval_means(&means);
        assert_eq!((found.energy, found.covered), (joules(100 + 100 + 10), Duration::from_secs(4)));
        assert_eq!(found.gaps, [Uncovered { start: ms(3_000), end: ms(4_000) }]);
    }

    #[test]
    fn time_that_two_means_share_is_counted_once() {
        let means = [
            PowerMean::new(ms(0), ms(2_000), Watts::whole(100)),
            PowerMean::new(ms(1_000), ms(3_000), Watts::whole(10)),
            PowerMean::new(ms(1_500), ms(2_500), Watts::whole(10)),
        ];
        let found = interval_means(&means);
        assert_eq!((found.energy, found.rejected), (joules(200 + 10), 1));
    }

    #[test]
    fn a_one_second_mean_is_centred_half_a_second_earlier() {
        let readings = points(&[(5_000, 100), (5_100, 100), (5_200, 300)]);
        let means = back_dated(&readings, Duration::from_secs(1), FOREVER);
        let spans: Vec<_> = means.iter().map(|mean| (mean.start, mean.end)).collect();
        assert_eq!(spans, [(ms(4_450), ms(4_550)), (ms(4_550), ms(4_650)), (ms(4_650), ms(4_750))]);
        assert_eq!(interval_means(&means).energy, joules(10 + 10 + 30));
    }

    #[test]
    fn a_window_of_one_refresh_gives_the_means_own_intervals() {
        let readings = points(&[(200, 10), (300, 20), (400, 30)]);
        let means = back_dated(&readings, Duration::from_millis(100), FOREVER);
        let spans: Vec<_> = means.iter().map(|mean| (mean.start, mean.end)).collect();
        assert_eq!(spans, [(ms(100), ms(200)), (ms(200), ms(300)), (ms(300), ms(400))]);
    }

    #[test]
    fn back_dating_does_not_reach_into_a_gap() {
        let readings = points(&[(1_000, 10), (1_100, 10), (9_000, 10), (9_100, 10), (20_000, 99)]);
        let means = back_dated(&readings, Duration::ZERO, Duration::from_secs(1));
        let found = interval_means(&means);
        assert_eq!((found.energy, found.covered), (joules(4), Duration::from_millis(400)));
        assert_eq!(found.gaps, [Uncovered { start: ms(1_150), end: ms(8_950) }]);
    }

    #[test]
    fn a_repeated_reading_is_no_refresh() {
        let polls = points(&[(0, 10), (10, 10), (20, 30), (30, 30), (50, 10)]);
        assert_eq!(refreshes(&polls), points(&[(0, 10), (15, 30), (40, 10)]));
    }

    /// A polyline with steps of 1 to 200 ms and powers of 0 to 700 W.
    fn polyline() -> impl Strategy<Value = Vec<PowerPoint>> {
        prop::collection::vec((1_u64..200, 0_u32..700), 2..60).prop_map(|steps| {
            let mut millis = 0;
            steps
                .into_iter()
                .map(|(step, watts)| {
                    millis += step;
                    PowerPoint::new(ms(millis), Watts::whole(watts))
                })
                .collect()
        })
    }

    proptest! {
        #[test]
        fn cutting_a_window_in_two_loses_nothing(list in polyline(), part in 0.0_f64..1.0) {
            let (from, to) = (list[0].time, list[list.len() - 1].time);
            let cut = from + to.since(from).mul_f64(part);
            let energy = |from, to| trapezoid(&clip_points(&list, from, to), FOREVER).energy;
            let difference = energy(from, to) - energy(from, cut) - energy(cut, to);
            // Each step is rounded once, and the cut adds one step; 700 W over the float's error in a time adds less.
            prop_assert!(difference.microjoules().abs() <= 2, "{difference}");
        }

        #[test]
        fn centred_means_agree_with_the_trapezoid_inside(list in polyline()) {
            let means = back_dated(&list, Duration::ZERO, FOREVER);
            let (from, to) = (list[0].time, list[list.len() - 1].time);
            let stepped = interval_means(&clip_means(&means, from, to)).energy;
            let difference = stepped - trapezoid(&list, FOREVER).energy;
            // Both give each reading half of both neighbouring steps; they differ by rounding, 0.5 µJ a step each.
            prop_assert!(difference.microjoules().abs() <= list.len() as i128, "{difference}");
        }
    }
}
