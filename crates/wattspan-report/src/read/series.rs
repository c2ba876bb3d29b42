//! A time series of any length in bounded memory.

use std::collections::BTreeMap;

/// Minimum, mean and maximum of values per stretch of time. Stretches double when there come to be too many.
#[derive(Clone, Debug)]
pub(crate) struct Series {
    /// Length of a stretch in nanoseconds.
    width: u64,
    most: usize,
    /// By number of the stretch since 1970, so that rows may come in any order and series of several devices line up.
    buckets: BTreeMap<u64, Bucket>,
    last: Option<u64>,
    /// Sum and number of the steps between one value and the next: how often values come.
    steps: (f64, u64),
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Bucket {
    pub(crate) count: u64,
    pub(crate) sum: f64,
    pub(crate) min: f64,
    pub(crate) max: f64,
}

/// A stretch with values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Point {
    /// Nanoseconds since 1970.
    pub(crate) begin: u64,
    pub(crate) end: u64,
    pub(crate) mean: f64,
    pub(crate) min: f64,
    pub(crate) max: f64,
}

impl Point {
    pub(crate) fn middle(&self) -> u64 {
        self.begin + (self.end - self.begin) / 2
    }
}

impl Series {
    /// Keeps at most so many stretches.
    pub(crate) fn new(most: usize) -> Self {
        Self { width: SHORTEST, most: most.max(2), buckets: BTreeMap::new(), last: None, steps: (0.0, 0) }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.buckets.is_empty()
    }

    pub(crate) fn width(&self) -> u64 {
        self.width
    }

    /// Adds a value, and a higher one that was seen since the one before.
    pub(crate) fn add(&mut self, time: u64, value: Option<f64>, peak: Option<f64>) {
        let Some(value) = value.filter(|value| value.is_finite()) else { return };
        let max = peak.filter(|peak| peak.is_finite()).map_or(value, |peak| peak.max(value));
        self.merge(time / self.width, Bucket { count: 1, sum: value, min: value, max });
        if let Some(step) = self.last.and_then(|last| time.checked_sub(last)).filter(|step| *step > 0) {
            // A pause is no step: it would hide itself.
            let mean = self.steps.0 / self.steps.1.max(1) as f64;
            if self.steps.1 < 8 || step as f64 <= mean * LONG {
                self.steps = (self.steps.0 + step as f64, self.steps.1 + 1);
            }
        }
        self.last = Some(time);
        while self.buckets.len() > self.most {
            self.coarsen(self.width * 2);
        }
    }

    /// Makes stretches as long as those of another series: both widths are the shortest one, doubled some times.
    pub(crate) fn coarsen(&mut self, width: u64) {
        if width <= self.width {
            return;
        }
        let factor = width / self.width;
        self.width = width;
        for (index, bucket) in std::mem::take(&mut self.buckets) {
            self.merge(index / factor, bucket);
        }
    }

    fn merge(&mut self, index: u64, new: Bucket) {
        self.buckets
            .entry(index)
            .and_modify(|known| {
                known.count += new.count;
                known.sum += new.sum;
                known.min = known.min.min(new.min);
                known.max = known.max.max(new.max);
            })
            .or_insert(new);
    }

    pub(crate) fn points(&self) -> impl Iterator<Item = Point> + '_ {
        self.buckets.iter().map(|(index, bucket)| Point {
            begin: index * self.width,
            end: (index + 1) * self.width,
            mean: bucket.sum / bucket.count as f64,
            min: bucket.min,
            max: bucket.max,
        })
    }

    /// The points in runs without a pause: where values that should have come are missing, the line breaks.
    pub(crate) fn stretches(&self) -> Vec<Vec<Point>> {
        let step = self.steps.0 / self.steps.1.max(1) as f64;
        let pause = (step * LONG).max(self.width as f64 * 1.5);
        let mut all: Vec<Vec<Point>> = Vec::new();
        for point in self.points() {
            match all.last_mut() {
                Some(run) if run.last().is_some_and(|last| ((point.begin - last.begin) as f64) <= pause) => {
                    run.push(point);
                }
                _ => all.push(vec![point]),
            }
        }
        all
    }

    /// The same with fewer points: at most so many.
    pub(crate) fn at_most(&self, most: usize) -> Self {
        let mut coarse = self.clone();
        while coarse.buckets.len() > most.max(1) {
            coarse.coarsen(coarse.width * 2);
        }
        coarse
    }

    /// Mean of all values. **Absent** without any.
    pub(crate) fn mean(&self) -> Option<f64> {
        let all = self
            .buckets
            .values()
            .fold((0.0, 0), |(sum, count), bucket| (sum + bucket.sum, count + bucket.count));
        (all.1 > 0).then(|| all.0 / all.1 as f64)
    }

    pub(crate) fn max(&self) -> Option<f64> {
        self.buckets.values().map(|bucket| bucket.max).reduce(f64::max)
    }
}

/// A tenth of a second: sensors are not read faster than that for rows.
const SHORTEST: u64 = 100_000_000;

/// So many usual steps without a value are a pause.
const LONG: f64 = 4.0;

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    #[test]
    fn a_million_values_are_a_few_stretches_with_the_same_extremes_and_mean() {
        let mut series = Series::new(240);
        for second in 0..1_000_000_u64 {
            let value = if second == 700_001 { 900.0 } else { 100.0 + (second % 2) as f64 };
            series.add(second * SECOND, Some(value), None);
        }
        let points: Vec<Point> = series.points().collect();
        assert!((100..=240).contains(&points.len()), "{}", points.len());
        assert_eq!(points.iter().map(|point| point.max).reduce(f64::max), Some(900.0));
        assert_eq!(points.iter().map(|point| point.min).reduce(f64::min), Some(100.0));
        assert!((points[3].mean - 100.5).abs() < 1e-6);
        let width = points[0].end - points[0].begin;
        assert!(points.iter().all(|point| point.end - point.begin == width));
        assert_eq!(series.stretches().len(), 1);
    }

    #[test]
    fn a_pause_breaks_the_line_and_a_missing_value_is_not_zero() {
        let mut series = Series::new(240);
        for second in (0..30).chain(200..230) {
            series.add(second * SECOND, Some(50.0), Some(70.0));
        }
        series.add(15 * SECOND, None, None);
        series.add(16 * SECOND, Some(f64::NAN), None);
        let stretches = series.stretches();
        assert_eq!(stretches.len(), 2);
        assert!(stretches.iter().flatten().all(|point| point.min == 50.0 && point.max == 70.0));
    }

    #[test]
    fn order_does_not_matter() {
        let (mut forward, mut backward) = (Series::new(16), Series::new(16));
        for second in 0..500_u64 {
            forward.add(second * SECOND, Some(second as f64), None);
            backward.add((499 - second) * SECOND, Some((499 - second) as f64), None);
        }
        let width = forward.width().max(backward.width());
        forward.coarsen(width);
        backward.coarsen(width);
        assert!(forward.points().eq(backward.points()));
    }
}
