//! Quantiles of a stream in bounded memory.

use std::collections::BTreeMap;

/// Quantiles of positive numbers.
///
/// Exact while there are at most [`Quantiles::EXACT`] values (linear interpolation between the two nearest, as NumPy and
/// pandas do by default). Beyond, values are counted in buckets that grow geometrically, so that a quantile is within 1 %
/// of a value that was seen. **Limits** about 1 900 buckets for everything between a nanosecond and a year in
/// milliseconds; values outside of that range count as its ends.
#[derive(Clone, Debug, Default)]
pub struct Quantiles {
    exact: Vec<f64>,
    buckets: BTreeMap<i32, u64>,
    count: u64,
    sum: f64,
}

impl Quantiles {
    /// Number of values up to which quantiles are exact.
    pub const EXACT: usize = 4_096;

    /// Adds a value. Negative and non-finite ones are not durations and are left out.
    pub fn add(&mut self, value: f64) {
        if !value.is_finite() || value < 0.0 {
            return;
        }
        self.count += 1;
        self.sum += value;
        if self.buckets.is_empty() && self.exact.len() < Self::EXACT {
            self.exact.push(value);
            return;
        }
        for earlier in std::mem::take(&mut self.exact) {
            *self.buckets.entry(bucket(earlier)).or_default() += 1;
        }
        *self.buckets.entry(bucket(value)).or_default() += 1;
    }

    /// How many values there are.
    pub const fn count(&self) -> u64 {
        self.count
    }

    /// Sum of all values.
    pub const fn sum(&self) -> f64 {
        self.sum
    }

    /// Their mean. **Absent** without values.
    pub fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum / self.count as f64)
    }

    /// The value below which a fraction of all lies. **Range** of `fraction` 0 to 1. **Absent** without values.
    pub fn quantile(&self, fraction: f64) -> Option<f64> {
        if self.count == 0 || !(0.0..=1.0).contains(&fraction) {
            return None;
        }
        let rank = fraction * (self.count - 1) as f64;
        if self.buckets.is_empty() {
            let mut sorted = self.exact.clone();
            sorted.sort_by(f64::total_cmp);
            let below = *sorted.get(rank.floor() as usize)?;
            let above = *sorted.get(rank.ceil() as usize)?;
            return Some(below + (above - below) * rank.fract());
        }
        let mut left = rank.round() as u64;
        for (bucket, count) in &self.buckets {
            if left < *count {
                return Some(middle(*bucket));
            }
            left -= count;
        }
        None
    }
}

/// Buckets double in 35 steps: each spans 2 %, and its middle is within 1 % of both ends.
const STEPS: f64 = 35.0;

fn bucket(value: f64) -> i32 {
    (value.clamp(LEAST, MOST).log2() * STEPS).floor() as i32
}

fn middle(bucket: i32) -> f64 {
    let low = f64::from(bucket);
    let ends = (low / STEPS).exp2() + ((low + 1.0) / STEPS).exp2();
    ends / 2.0
}

/// A nanosecond in milliseconds.
const LEAST: f64 = 1e-6;
/// A year in milliseconds.
const MOST: f64 = 3.2e10;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_values_are_exact() {
        let mut quantiles = Quantiles::default();
        for value in [10.0, 20.0, 30.0, 40.0] {
            quantiles.add(value);
        }
        // numpy.quantile([10, 20, 30, 40], [0, .5, .9, .95, 1])
        let found = [0.0, 0.5, 0.9, 0.95, 1.0].map(|fraction| quantiles.quantile(fraction).unwrap());
        for (found, expected) in found.into_iter().zip([10.0, 25.0, 37.0, 38.5, 40.0]) {
            assert!((found - expected).abs() < 1e-9, "{found} for {expected}");
        }
        assert_eq!(quantiles.mean(), Some(25.0));
    }

    #[test]
    fn many_values_are_within_a_per_cent_and_memory_is_bounded() {
        let mut quantiles = Quantiles::default();
        // 0.1 ms to 100 000 ms, evenly: the quantile is the fraction itself.
        for value in 1..=1_000_000_u32 {
            quantiles.add(f64::from(value) / 10.0);
        }
        for fraction in [0.01, 0.5, 0.9, 0.95, 0.99] {
            let (found, expected) = (quantiles.quantile(fraction).unwrap(), fraction * 100_000.0);
            assert!((found / expected - 1.0).abs() < 0.01, "{fraction}: {found} for {expected}");
        }
        assert!(quantiles.buckets.len() < 2_000 && quantiles.exact.is_empty());
    }

    #[test]
    fn nothing_has_no_quantile() {
        let mut quantiles = Quantiles::default();
        quantiles.add(f64::NAN);
        assert_eq!((quantiles.quantile(0.5), quantiles.mean(), quantiles.count()), (None, None, 0));
    }
}
