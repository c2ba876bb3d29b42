//! A piecewise linear power curve with running sums, so that any integral costs two binary searches.

use super::units::Energy2;

/// A sum of steps and slopes over time; zero before the first knot.
#[derive(Debug, Clone, Default)]
pub(crate) struct Curve {
    knots: Vec<Knot>,
    // What was forgotten: nothing changes before `horizon`, and the first knot's sums begin with these.
    horizon: u64,
    energy_before: Energy2,
    busy_before: u64,
}

#[derive(Debug, Clone, Copy)]
struct Knot {
    at: u64,
    step: i64,
    bend: i64,
    starts: i64,
    // Running sums, valid from `at` on.
    value: i64,
    slope: i64,
    active: i64,
    energy: Energy2,
    busy_us: u64,
}

impl Curve {
    /// Adds a step in nanowatts, a change of slope in nanowatts per microsecond and a change of the count of active
    /// parts at one moment. Knots added in time order cost a constant; earlier ones shift those behind them. What
    /// lies in the forgotten past happens at its end.
    pub(crate) fn add(&mut self, at: u64, step: i64, bend: i64, starts: i64) {
        let at = at.max(self.horizon);
        let index = self.knots.partition_point(|knot| knot.at < at);
        match self.knots.get_mut(index) {
            Some(knot) if knot.at == at => {
                knot.step += step;
                knot.bend += bend;
                knot.starts += starts;
            }
            _ => self.knots.insert(
                index,
                Knot { at, step, bend, starts, value: 0, slope: 0, active: 0, energy: 0, busy_us: 0 },
            ),
        }
        self.sum_from(index);
    }

    /// Adds a straight line from `from` at `begin` to `to` at `end`, which ends in a step back to zero.
    pub(crate) fn add_line(&mut self, begin: u64, end: u64, from: i64, to: i64) {
        let length = end.saturating_sub(begin) as i64;
        if length == 0 {
            return;
        }
        // What the whole-number slope cannot carry goes in the last step: under one nanowatt per microsecond.
        let slope = (to - from) / length;
        self.add(begin, from, slope, 0);
        self.add(end, -(from + slope * length), -slope, 0);
    }

    /// Power at a moment, in nanowatts; at a step, the power after it.
    pub(crate) fn value_at(&self, t: u64) -> i64 {
        self.before(t).map_or(0, |knot| knot.value + knot.slope * (t - knot.at) as i64)
    }

    /// Energy from the beginning of time.
    pub(crate) fn energy_to(&self, t: u64) -> Energy2 {
        self.before(t).map_or(0, |knot| knot.energy + knot.energy_over(t - knot.at))
    }

    /// Time with at least one part active, from the beginning of time, in microseconds.
    pub(crate) fn busy_to(&self, t: u64) -> u64 {
        self.before(t).map_or(0, |knot| knot.busy_us + knot.busy_over(t - knot.at))
    }

    /// Joins the knots before a moment into one. Sums from there on stay as they are; those before are lost.
    pub(crate) fn forget_before(&mut self, t: u64) {
        let index = self.knots.partition_point(|knot| knot.at <= t).saturating_sub(1);
        if index == 0 {
            return;
        }
        self.knots.drain(..index);
        if let Some(first) = self.knots.first_mut() {
            (first.step, first.bend, first.starts) = (first.value, first.slope, first.active);
            self.horizon = first.at;
            self.energy_before = first.energy;
            self.busy_before = first.busy_us;
        }
    }

    fn before(&self, t: u64) -> Option<&Knot> {
        let index = self.knots.partition_point(|knot| knot.at <= t);
        index.checked_sub(1).and_then(|index| self.knots.get(index))
    }

    fn sum_from(&mut self, first: usize) {
        for index in first..self.knots.len() {
            let previous = index.checked_sub(1).map(|before| self.knots[before]);
            let knot = &mut self.knots[index];
            if let Some(previous) = previous {
                let length = knot.at - previous.at;
                knot.value = previous.value + previous.slope * length as i64 + knot.step;
                knot.slope = previous.slope + knot.bend;
                knot.active = previous.active + knot.starts;
                knot.energy = previous.energy + previous.energy_over(length);
                knot.busy_us = previous.busy_us + previous.busy_over(length);
            } else {
                (knot.value, knot.slope, knot.active) = (knot.step, knot.bend, knot.starts);
                (knot.energy, knot.busy_us) = (self.energy_before, self.busy_before);
            }
        }
    }
}

impl Knot {
    fn energy_over(&self, length: u64) -> Energy2 {
        let length = i128::from(length);
        2 * i128::from(self.value) * length + i128::from(self.slope) * length * length
    }

    fn busy_over(&self, length: u64) -> u64 {
        if self.active > 0 { length } else { 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MILLI: Energy2 = super::super::units::PER_MILLIJOULE;

    #[test]
    fn step_of_one_watt_for_one_second_is_one_joule() {
        let mut curve = Curve::default();
        curve.add(500_000, 1_000_000_000, 0, 1);
        curve.add(1_500_000, -1_000_000_000, 0, -1);
        assert_eq!(curve.energy_to(500_000), 0);
        assert_eq!(curve.energy_to(1_000_000), 500 * MILLI);
        assert_eq!(curve.energy_to(9_000_000), 1_000 * MILLI);
        assert_eq!(curve.busy_to(9_000_000), 1_000_000);
        assert_eq!(curve.value_at(1_500_000), 0);
    }

    #[test]
    fn triangle_has_half_the_area_of_its_box() {
        let mut curve = Curve::default();
        // 100 W down to nothing in 15 ms: 0.75 J.
        curve.add_line(1_000, 16_000, 100_000_000_000, 0);
        // A slope of 6 666 666 nW/us instead of 6 666 666.67 is 75 nJ too much at most.
        let excess = curve.energy_to(20_000) - 750 * MILLI;
        assert!((0..MILLI / 10_000).contains(&excess), "{excess}");
        assert_eq!(curve.value_at(20_000), 0);
    }

    #[test]
    fn forgetting_keeps_the_sums() {
        let mut curve = Curve::default();
        for at in 0..10 {
            curve.add(at * 10, 1, 0, 1);
        }
        // 1 + 2 + ... + 10, ten microseconds each.
        assert_eq!(curve.energy_to(100), 2 * 550);
        curve.forget_before(75);
        assert_eq!(curve.knots.len(), 3, "those at 70, 80 and 90");
        assert_eq!(curve.energy_to(100), 2 * 550);
        curve.add(70, 5, 0, 0);
        curve.add(20, 1, 0, 0);
        assert_eq!(curve.energy_to(100), 2 * (550 + 30 * 6));
        assert_eq!(curve.busy_to(100), 100);
        assert_eq!(curve.value_at(95), 16);
    }

    #[test]
    fn order_of_insertion_does_not_matter() {
        let parts = [(5_u64, 3_i64), (90, -1), (1, 7), (50, 2), (5, 4)];
        let mut forward = Curve::default();
        let mut backward = Curve::default();
        for &(at, step) in &parts {
            forward.add(at, step, 0, 0);
        }
        for &(at, step) in parts.iter().rev() {
            backward.add(at, step, 0, 0);
        }
        // 7 from 1 to 5, 14 to 50, 16 to 90, 15 to 100, doubled.
        assert_eq!(forward.energy_to(100), 2 * (7 * 4 + 14 * 45 + 16 * 40 + 15 * 10));
        assert_eq!(backward.energy_to(100), forward.energy_to(100));
    }
}
