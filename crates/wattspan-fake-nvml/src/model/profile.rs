//! Base power profiles: what the board draws without the loads of requests.

use super::curve::Curve;
use super::units::{Energy2, nanowatts};
use super::{ModelError, check_watts};

/// What a board draws apart from added loads.
///
/// **Unit** watts and microseconds. Times count from the moment the profile is set, which is time zero for one that
/// is set before the clock runs.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Profile {
    /// One power for ever.
    Constant {
        /// The power.
        watts: f64,
    },
    /// A straight line between two flat parts.
    Ramp {
        /// Power until `begin_us`.
        from: f64,
        /// Power from `end_us` on.
        to: f64,
        /// Begin of the line.
        begin_us: u64,
        /// End of the line.
        end_us: u64,
    },
    /// High for the first part of each period, low for the rest.
    Square {
        /// Power in the second part of a period.
        low: f64,
        /// Power in the first part of a period.
        high: f64,
        /// Length of a period.
        period_us: u64,
        /// Fraction of a period that is high, 0 to 1.
        duty: f64,
        /// How far into a period the profile begins.
        phase_us: u64,
    },
    /// One block of high power.
    Burst {
        /// Power before and after.
        base: f64,
        /// Power of the block.
        high: f64,
        /// Begin of the block.
        begin_us: u64,
        /// Length of the block.
        length_us: u64,
    },
    /// Each power holds until the next time; the first also holds before its time.
    Steps(Vec<(u64, f64)>),
    /// Straight lines between the points, flat before the first and after the last.
    Points(Vec<(u64, f64)>),
}

/// A profile in integer units, ready to be read.
#[derive(Debug, Clone)]
pub(crate) enum Shape {
    Constant(i64),
    Square { low: i64, high: i64, period: u64, high_for: u64, phase: u64 },
    Curve(Curve),
}

impl Profile {
    pub(crate) fn compile(&self) -> Result<Shape, ModelError> {
        match self {
            Self::Constant { watts } => Ok(Shape::Constant(check_watts(*watts)?)),
            Self::Ramp { from, to, begin_us, end_us } => {
                if end_us < begin_us {
                    return Err(ModelError::EndBeforeBegin);
                }
                points(&[(*begin_us, *from), (*end_us, *to)])
            }
            Self::Square { low, high, period_us, duty, phase_us } => {
                if *period_us == 0 {
                    return Err(ModelError::ZeroPeriod);
                }
                if !(0.0..=1.0).contains(duty) {
                    return Err(ModelError::Duty);
                }
                Ok(Shape::Square {
                    low: check_watts(*low)?,
                    high: check_watts(*high)?,
                    period: *period_us,
                    high_for: (*period_us as f64 * duty).round() as u64,
                    phase: phase_us % period_us,
                })
            }
            Self::Burst { base, high, begin_us, length_us } => {
                let end = begin_us.saturating_add(*length_us);
                steps(&[(0, *base), (*begin_us, *high), (end, *base)])
            }
            Self::Steps(list) => steps(list),
            Self::Points(list) => points(list),
        }
    }
}

impl Shape {
    pub(crate) fn value_at(&self, t: u64) -> i64 {
        match self {
            Self::Constant(power) => *power,
            Self::Square { low, high, period, high_for, phase } => {
                if (t + phase) % period < *high_for {
                    *high
                } else {
                    *low
                }
            }
            Self::Curve(curve) => curve.value_at(t),
        }
    }

    pub(crate) fn energy_to(&self, t: u64) -> Energy2 {
        match self {
            Self::Constant(power) => 2 * i128::from(*power) * i128::from(t),
            Self::Square { low, high, period, high_for, phase } => {
                let from_edge = |t: u64| {
                    let (whole, part) = (i128::from(t / period), t % period);
                    let high_time = whole * i128::from(*high_for) + i128::from(part.min(*high_for));
                    let low_time = i128::from(t) - high_time;
                    2 * (i128::from(*high) * high_time + i128::from(*low) * low_time)
                };
                from_edge(t + phase) - from_edge(*phase)
            }
            Self::Curve(curve) => curve.energy_to(t),
        }
    }
}

fn steps(list: &[(u64, f64)]) -> Result<Shape, ModelError> {
    let mut curve = Curve::default();
    let mut power = 0;
    for (index, &(at, watts)) in list.iter().enumerate() {
        let next = check_watts(watts)?;
        curve.add(if index == 0 { 0 } else { at }, next - power, 0, 0);
        power = next;
    }
    sorted(list).map(|()| Shape::Curve(curve))
}

fn points(list: &[(u64, f64)]) -> Result<Shape, ModelError> {
    sorted(list)?;
    for &(_, watts) in list {
        check_watts(watts)?;
    }
    let mut curve = Curve::default();
    let (Some(first), Some(last)) = (list.first(), list.last()) else { return Err(ModelError::Empty) };
    if first.0 > 0 {
        curve.add_line(0, first.0, nanowatts(first.1), nanowatts(first.1));
    }
    for pair in list.windows(2) {
        curve.add_line(pair[0].0, pair[1].0, nanowatts(pair[0].1), nanowatts(pair[1].1));
    }
    curve.add(last.0, nanowatts(last.1), 0, 0);
    Ok(Shape::Curve(curve))
}

fn sorted(list: &[(u64, f64)]) -> Result<(), ModelError> {
    if list.is_empty() {
        return Err(ModelError::Empty);
    }
    if list.windows(2).any(|pair| pair[1].0 < pair[0].0) {
        return Err(ModelError::EndBeforeBegin);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::units::joules;
    use super::*;

    #[track_caller]
    fn check(profile: &Profile, t: u64, watts: f64, energy: f64) {
        let shape = profile.compile().expect("a valid profile");
        assert_eq!(shape.value_at(t), nanowatts(watts), "power at {t}");
        assert!(
            (joules(shape.energy_to(t)) - energy).abs() < 1e-6,
            "energy to {t}: {}",
            joules(shape.energy_to(t))
        );
    }

    #[test]
    fn constant_is_watts_times_seconds() {
        check(&Profile::Constant { watts: 300.0 }, 10_000_000, 300.0, 3_000.0);
    }

    #[test]
    fn square_counts_whole_and_broken_periods() {
        let square = Profile::Square { low: 100.0, high: 500.0, period_us: 100_000, duty: 0.5, phase_us: 0 };
        // 10 s: 5 s at each: 500 + 2 500.
        check(&square, 10_000_000, 500.0, 3_000.0);
        // 25 ms more at 500 W.
        check(&square, 10_025_000, 500.0, 3_012.5);
        // 75 ms more: 25 J + 2.5 J.
        check(&square, 10_075_000, 100.0, 3_027.5);
    }

    #[test]
    fn square_phase_begins_inside_the_period() {
        let square =
            Profile::Square { low: 0.0, high: 100.0, period_us: 1_000_000, duty: 0.25, phase_us: 200_000 };
        // High for the 50 ms that are left of the quarter, then low until 800 ms, then high.
        check(&square, 700_000, 0.0, 5.0);
        check(&square, 900_000, 100.0, 15.0);
    }

    #[test]
    fn ramp_is_a_trapezoid() {
        let ramp = Profile::Ramp { from: 100.0, to: 300.0, begin_us: 1_000_000, end_us: 3_000_000 };
        // 1 s at 100 W, 2 s at a mean of 200 W, 1 s at 300 W.
        check(&ramp, 4_000_000, 300.0, 800.0);
        // Half way: 100 + (100 + 200) / 2.
        check(&ramp, 2_000_000, 200.0, 250.0);
    }

    #[test]
    fn burst_is_one_block() {
        let burst = Profile::Burst { base: 50.0, high: 450.0, begin_us: 2_000_000, length_us: 300_000 };
        // 10 s at 50 W and 0.3 s of 400 W more.
        check(&burst, 10_000_000, 50.0, 620.0);
        check(&burst, 2_000_000, 450.0, 100.0);
    }

    #[test]
    fn steps_hold_and_the_first_reaches_back() {
        let steps = Profile::Steps(vec![(1_000_000, 10.0), (2_000_000, 20.0), (4_000_000, 0.0)]);
        check(&steps, 5_000_000, 0.0, 10.0 * 2.0 + 20.0 * 2.0);
    }

    #[test]
    fn points_are_joined_by_lines() {
        let points =
            Profile::Points(vec![(1_000_000, 0.0), (2_000_000, 100.0), (3_000_000, 100.0), (5_000_000, 0.0)]);
        check(&points, 6_000_000, 0.0, 50.0 + 100.0 + 100.0);
    }

    #[test]
    fn nonsense_is_refused() {
        let check = |profile: Profile, error: ModelError| {
            assert_eq!(profile.compile().err(), Some(error), "{profile:?}");
        };
        check(Profile::Constant { watts: -1.0 }, ModelError::Watts);
        check(Profile::Constant { watts: f64::NAN }, ModelError::Watts);
        check(Profile::Steps(Vec::new()), ModelError::Empty);
        check(Profile::Points(vec![(2, 1.0), (1, 1.0)]), ModelError::EndBeforeBegin);
        let square = |period_us, duty| Profile::Square { low: 1.0, high: 2.0, period_us, duty, phase_us: 0 };
        check(square(0, 0.5), ModelError::ZeroPeriod);
        check(square(10, 1.5), ModelError::Duty);
    }
}
