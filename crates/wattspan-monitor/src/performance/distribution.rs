//! Percentiles of a stream of figures in bounded memory.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// How figures are spread. The unit is that of the field's name.
///
/// Percentiles are those of the figures themselves (nearest rank) up to 4,096 of them; of more they are within 0.5 %.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Percentiles {
    /// How many figures.
    pub count: u64,
    /// The least.
    pub min: f64,
    /// Their mean.
    pub mean: f64,
    /// Half of them are at most this.
    pub p50: f64,
    /// 90 % of them are at most this.
    pub p90: f64,
    /// 95 % of them are at most this.
    pub p95: f64,
    /// 99 % of them are at most this.
    pub p99: f64,
    /// The largest.
    pub max: f64,
}

/// Figures so far: each of them while they are few, then a histogram whose bins are 1 % wide.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Distribution {
    exact: Vec<f64>,
    bins: BTreeMap<i32, u64>,
    count: u64,
    sum: f64,
    min: f64,
    max: f64,
}

impl Distribution {
    pub(crate) fn add(&mut self, value: f64) {
        if !value.is_finite() {
            return;
        }
        self.widen(value, value);
        self.count += 1;
        self.sum += value;
        if self.bins.is_empty() && self.exact.len() < EXACT {
            self.exact.push(value);
            return;
        }
        self.fold();
        *self.bins.entry(bin(value)).or_default() += 1;
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        if other.count == 0 {
            return;
        }
        self.widen(other.min, other.max);
        self.count += other.count;
        self.sum += other.sum;
        self.exact.extend_from_slice(&other.exact);
        for (bin, count) in &other.bins {
            *self.bins.entry(*bin).or_default() += count;
        }
        if !self.bins.is_empty() || self.exact.len() > EXACT {
            self.fold();
        }
    }

    /// Takes another's figures, or of figures that are in here already only how far they reach.
    pub(crate) fn merge_unless_double(&mut self, other: &Self, apart: bool) {
        if apart || self.count == 0 {
            self.merge(other);
        } else if other.count > 0 {
            self.widen(other.min, other.max);
        }
    }

    pub(crate) fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum / self.count as f64)
    }

    pub(crate) fn max(&self) -> Option<f64> {
        (self.count > 0).then_some(self.max)
    }

    pub(crate) fn percentiles(&self) -> Option<Percentiles> {
        let mean = self.mean()?;
        let mut sorted = self.exact.clone();
        sorted.sort_unstable_by(f64::total_cmp);
        let at = |fraction: f64| {
            let rank = ((fraction * self.count as f64).ceil() as u64).clamp(1, self.count);
            let found = match sorted.get(rank as usize - 1) {
                Some(value) if self.bins.is_empty() => *value,
                _ => self.ranked(rank),
            };
            found.clamp(self.min, self.max)
        };
        Some(Percentiles {
            count: self.count,
            min: self.min,
            mean,
            p50: at(0.5),
            p90: at(0.9),
            p95: at(0.95),
            p99: at(0.99),
            max: self.max,
        })
    }

    fn widen(&mut self, low: f64, high: f64) {
        (self.min, self.max) =
            if self.count == 0 { (low, high) } else { (self.min.min(low), self.max.max(high)) };
    }

    fn fold(&mut self) {
        for value in self.exact.drain(..) {
            *self.bins.entry(bin(value)).or_default() += 1;
        }
    }

    fn ranked(&self, rank: u64) -> f64 {
        let mut below = 0;
        for (bin, count) in &self.bins {
            below += count;
            if below >= rank {
                return middle(*bin);
            }
        }
        self.max
    }
}

/// Figures here are times, powers and energies: none is negative, and what is below a billionth counts as nothing.
fn bin(value: f64) -> i32 {
    if value < 1e-9 { NOTHING } else { (value.ln() / WIDTH.ln()).floor() as i32 }
}

fn middle(bin: i32) -> f64 {
    if bin == NOTHING { 0.0 } else { WIDTH.powf(f64::from(bin) + 0.5) }
}

const NOTHING: i32 = i32::MIN;
const WIDTH: f64 = 1.01;
const EXACT: usize = 4_096;

#[cfg(test)]
mod tests {
    use super::*;

    fn of(values: impl IntoIterator<Item = f64>) -> Distribution {
        let mut distribution = Distribution::default();
        values.into_iter().for_each(|value| distribution.add(value));
        distribution
    }

    #[test]
    fn few_figures_have_exact_percentiles() {
        let found = of((1..=100).rev().map(f64::from)).percentiles().unwrap();
        assert_eq!((found.count, found.min, found.max), (100, 1.0, 100.0));
        assert_eq!((found.p50, found.p90, found.p95, found.p99), (50.0, 90.0, 95.0, 99.0));
        assert_eq!(found.mean, 50.5);
    }

    #[test]
    fn many_figures_are_within_half_a_percent_and_take_bounded_memory() {
        let many = of((1..=1_000_000).map(|number| f64::from(number) / 1e3));
        let found = many.percentiles().unwrap();
        for (value, truth) in [(found.p50, 500.0), (found.p90, 900.0), (found.p99, 990.0)] {
            assert!((value / truth - 1.0).abs() <= 0.0051, "{value} for {truth}");
        }
        assert!(many.exact.is_empty() && many.bins.len() < 1_500, "{} bins", many.bins.len());
    }

    #[test]
    fn nothing_has_no_percentiles_and_zero_is_a_figure() {
        assert_eq!(Distribution::default().percentiles(), None);
        assert_eq!(of([f64::NAN, f64::INFINITY]).percentiles(), None);
        assert_eq!(of((0..5_000).map(|_| 0.0)).percentiles().unwrap().p99, 0.0);
    }

    #[test]
    fn merged_parts_are_the_whole() {
        let whole = of((0..9_000).map(f64::from));
        let mut merged = of((0..2_000).map(f64::from));
        merged.merge(&of((2_000..9_000).map(f64::from)));
        assert_eq!(merged.percentiles(), whole.percentiles());
    }
}
