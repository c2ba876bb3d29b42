//! The labelled estimate: energy of a device without a sensor, from how busy it was and what its maker says it draws.
//!
//! Collectors and tables only supply the inputs. A result is an [`Estimate`] with the range from idle draw to the limit;
//! it stands beside measured joules and is never added to them.
//!
//! **Source** of the curve: power grows linearly with utilisation from idle to full draw. X. Fan, W.-D. Weber, L. A.
//! Barroso, "Power provisioning for a warehouse-sized computer", ISCA 2007; Cloud Carbon Footprint,
//! methodology, "Compute": `min + utilisation × (max − min)`.

use std::num::NonZeroU32;
use std::time::Duration;

use wattspan_core::{Bytes, EnergyRange, Estimate, Joules, Ratio, Watts};

/// Power by utilisation: a straight line from idle draw to the limit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PowerCurve {
    idle: Watts,
    limit: Watts,
}

/// Powers that make no curve.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("no device draws {idle} when idle and {limit} at most: give an idle draw from 0 W up to the limit")]
pub struct InvalidCurve {
    idle: Watts,
    limit: Watts,
}

impl PowerCurve {
    /// From idle draw to the limit: a rating such as the TDP, or the board's power limit.
    ///
    /// # Errors
    /// When idle draw is below zero or above the limit.
    pub fn new(idle: Watts, limit: Watts) -> Result<Self, InvalidCurve> {
        if idle >= Watts::ZERO && idle <= limit {
            Ok(Self { idle, limit })
        } else {
            Err(InvalidCurve { idle, limit })
        }
    }

    /// A device of which only the rating is known: in proportion to utilisation, nothing when idle.
    ///
    /// # Errors
    /// When the rating is below zero.
    pub fn proportional(rating: Watts) -> Result<Self, InvalidCurve> {
        Self::new(Watts::ZERO, rating)
    }

    /// Draw at a utilisation, which is taken as 0 or 1 where it lies outside.
    pub fn at(self, utilization: Ratio) -> Watts {
        let part = utilization.ratio().clamp(0.0, 1.0);
        // Weights rather than a slope, so that both ends come out exactly.
        let power = self.idle.watts() * (1.0 - part) + self.limit.watts() * part;
        Watts::new(power).unwrap_or(self.limit)
    }

    fn over(self, utilization: Ratio, length: Duration, basis: String) -> Estimate {
        let range = EnergyRange { low: self.idle * length, high: self.limit * length };
        Estimate::new(self.at(utilization) * length, range, basis)
    }
}

/// Energy of a CPU from the CPU time that its processes took: of all cores together, over a time.
///
/// `cores` are the logical cores that the curve's limit is for. More CPU time than they have counts as all of it.
///
/// ```
/// use std::num::NonZeroU32;
/// use std::time::Duration;
/// use wattspan_core::{Joules, Watts};
/// use wattspan_energy::{PowerCurve, cpu_estimate};
///
/// let curve = PowerCurve::new(Watts::whole(20), Watts::whole(120))?;
/// // Four of eight cores at work for ten seconds: 20 W + 0.5 × 100 W.
/// let estimate = cpu_estimate(curve, Duration::from_secs(40), NonZeroU32::new(8).unwrap(), Duration::from_secs(10));
/// assert_eq!(estimate.value, Joules::from_millijoules(700_000));
/// assert_eq!(estimate.range.low, Joules::from_millijoules(200_000));
/// assert_eq!(estimate.range.high, Joules::from_millijoules(1_200_000));
/// # Ok::<(), wattspan_energy::InvalidCurve>(())
/// ```
pub fn cpu_estimate(curve: PowerCurve, cpu_time: Duration, cores: NonZeroU32, length: Duration) -> Estimate {
    let all = length.as_secs_f64() * f64::from(cores.get());
    let busy = Ratio::new(cpu_time.as_secs_f64() / all).unwrap_or(Ratio::ZERO);
    curve.over(busy, length, format!("cpu time × {} curve", curve.limit))
}

/// Energy of a GPU, or of a CPU whose mean utilisation is all that is known.
///
/// A GPU's utilisation is the time in which any kernel ran, so that a lightly loaded GPU may draw far less than this says.
pub fn utilization_estimate(curve: PowerCurve, utilization: Ratio, length: Duration) -> Estimate {
    curve.over(utilization, length, format!("utilisation × {} curve", curve.limit))
}

/// Draw of memory, typical and at most.
#[derive(Clone, Debug, PartialEq)]
pub struct MemoryPower {
    typical: Watts,
    most: Watts,
    basis: String,
}

/// Which size of memory an estimate is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemorySize {
    size: Bytes,
    basis: &'static str,
}

impl MemorySize {
    /// What a program may use: its control group's limit where that is set and below the machine's memory, else all of it.
    ///
    /// A program in a container is not charged for memory that other containers hold.
    pub fn usable(total: Bytes, group_limit: Option<Bytes>) -> Self {
        match group_limit.filter(|limit| *limit < total) {
            Some(limit) => Self { size: limit, basis: "cgroup limit" },
            None => Self { size: total, basis: "installed memory" },
        }
    }

    /// The size.
    pub const fn size(self) -> Bytes {
        self.size
    }

    /// What it is: `cgroup limit` or `installed memory`.
    pub const fn basis(self) -> &'static str {
        self.basis
    }
}

/// 3 W per 8 GiB. **Source** Crucial, "How much power does memory use?"; CodeCarbon before 3.0, `ram.py`.
const TYPICAL_WATTS_PER_GIB: f64 = 3.0 / 8.0;

/// 5 W per module, **source** CodeCarbon 3, `ram.py`, `RAM_SLOT_POWER_X86`, on modules of 8 GiB, the smallest in wide use.
const MOST_WATTS_PER_MODULE: f64 = 5.0;
const MOST_WATTS_PER_GIB: f64 = MOST_WATTS_PER_MODULE / 8.0;

impl MemoryPower {
    /// By size alone.
    pub fn by_size(memory: MemorySize) -> Self {
        let gibibytes = gibibytes(memory.size);
        Self {
            typical: watts(gibibytes * TYPICAL_WATTS_PER_GIB),
            most: watts(gibibytes * MOST_WATTS_PER_GIB),
            basis: format!("{} × 0.375 W/GiB, {}", memory.size, memory.basis),
        }
    }

    /// By the modules that are installed: a large one does not draw more at most than a small one.
    pub fn by_modules(modules: &[Bytes]) -> Self {
        let size: Bytes = modules.iter().copied().sum();
        let typical = gibibytes(size) * TYPICAL_WATTS_PER_GIB;
        Self {
            typical: watts(typical),
            most: watts(typical.max(modules.len() as f64 * MOST_WATTS_PER_MODULE)),
            basis: format!("{} modules, {size} × 0.375 W/GiB", modules.len()),
        }
    }

    /// Typical draw.
    pub const fn typical(&self) -> Watts {
        self.typical
    }

    /// Energy over a time. The lower end of its range is zero: no public figure for idle memory is taken.
    pub fn over(&self, length: Duration) -> Estimate {
        let range = EnergyRange { low: Joules::ZERO, high: self.most * length };
        Estimate::new(self.typical * length, range, self.basis.clone())
    }
}

/// Adds up estimates of several devices: values, both ends of the ranges, and what they rest on. `None` of none.
pub fn total_estimate<'a>(estimates: impl IntoIterator<Item = &'a Estimate>) -> Option<Estimate> {
    let mut estimates = estimates.into_iter();
    let mut total = estimates.next()?.clone();
    for estimate in estimates {
        total.value += estimate.value;
        total.range.low += estimate.range.low;
        total.range.high += estimate.range.high;
        total.basis.push_str("; ");
        total.basis.push_str(&estimate.basis);
    }
    Some(total)
}

fn gibibytes(size: Bytes) -> f64 {
    size.mebibytes() / 1_024.0
}

fn watts(number: f64) -> Watts {
    Watts::new(number).expect("a count of bytes times a constant is finite")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn share(number: f64) -> Ratio {
        Ratio::share(number).unwrap()
    }

    #[test]
    fn case_container_03_memory_is_what_the_container_may_use() {
        let total = Bytes::new(1_056_964_608 * 1_024);
        let limited = MemoryPower::by_size(MemorySize::usable(total, Some(Bytes::new(107_374_182_400))));
        assert_eq!(limited.typical(), Watts::new(37.5).unwrap());
        let estimate = limited.over(Duration::from_secs(2));
        assert_eq!(estimate.value, Joules::from_millijoules(75_000));
        assert!(estimate.basis.contains("cgroup limit"), "{}", estimate.basis);
        let free = MemoryPower::by_size(MemorySize::usable(total, None));
        assert_eq!(free.typical(), Watts::whole(378));
        assert!(free.over(Duration::from_secs(1)).basis.contains("installed memory"));
        // A limit above what is installed limits nothing.
        let above = MemorySize::usable(total, Some(Bytes::new(u64::MAX)));
        assert_eq!((above.size(), above.basis()), (total, "installed memory"));
    }

    #[test]
    fn case_cloud_05_a_constant_load_is_constant() {
        let curve = PowerCurve::proportional(Watts::whole(150)).unwrap();
        for (seconds, joules) in [(10.0, 750.0), (60.0, 4_500.0), (61.7, 4_627.5)] {
            let length = Duration::from_secs_f64(seconds);
            let estimate = utilization_estimate(curve, share(0.5), length);
            assert_eq!(estimate.value.joules(), joules);
            assert_eq!(estimate.value / length, Some(Watts::whole(75)));
            assert_eq!(estimate.range.high.joules(), 2.0 * joules);
        }
    }

    #[test]
    fn a_curve_runs_from_idle_to_the_limit() {
        let curve = PowerCurve::new(Watts::whole(46), Watts::whole(407)).unwrap();
        assert_eq!(curve.at(Ratio::ZERO), Watts::whole(46));
        assert_eq!(curve.at(share(0.5)), Watts::new(226.5).unwrap());
        assert_eq!(curve.at(Ratio::ONE), Watts::whole(407));
        assert_eq!(curve.at(Ratio::new(31.0).unwrap()), Watts::whole(407), "a rubbish reading");
        assert!(PowerCurve::new(Watts::whole(2), Watts::whole(1)).is_err());
        let error = PowerCurve::proportional(Watts::new(-1.0).unwrap()).unwrap_err().to_string();
        assert!(error.contains("from 0 W up to the limit"), "{error}");
    }

    #[test]
    fn no_time_takes_no_energy() {
        let curve = PowerCurve::new(Watts::whole(10), Watts::whole(100)).unwrap();
        let none = cpu_estimate(curve, Duration::ZERO, NonZeroU32::MIN, Duration::ZERO);
        assert_eq!((none.value, none.range.high), (Joules::ZERO, Joules::ZERO));
    }

    #[test]
    fn large_modules_draw_no_more_at_most_than_small_ones() {
        let gib = |count: u64| Bytes::new(count << 30);
        let second = Duration::from_secs(1);
        let large = MemoryPower::by_modules(&[gib(8); 2]).over(second);
        assert_eq!((large.value.joules(), large.range.high.joules()), (6.0, 10.0));
        // 64 GiB are 24 W by size, more than the 5 W of one module: the range still holds the value.
        let one = MemoryPower::by_modules(&[gib(64)]).over(second);
        assert_eq!((one.value.joules(), one.range.high.joules()), (24.0, 24.0));
    }

    #[test]
    fn a_total_says_all_that_it_rests_on() {
        let curve = PowerCurve::new(Watts::whole(10), Watts::whole(100)).unwrap();
        let second = Duration::from_secs(1);
        let cpu = cpu_estimate(curve, second, NonZeroU32::MIN, second);
        let memory = MemoryPower::by_size(MemorySize::usable(Bytes::new(8 << 30), None)).over(second);
        let both = total_estimate([&cpu, &memory]).unwrap();
        assert_eq!(
            (both.value.joules(), both.range.low.joules(), both.range.high.joules()),
            (103.0, 10.0, 105.0)
        );
        assert_eq!(both.basis, "cpu time × 100 W curve; 8.00 GiB × 0.375 W/GiB, installed memory");
        assert_eq!(total_estimate([]), None);
    }

    proptest! {
        #[test]
        fn an_estimate_lies_in_its_range(
            idle in 0_u32..500, above in 0_u32..1_000, cpu_millis in 0_u64..1_000_000,
            cores in 1_u32..512, millis in 0_u64..100_000,
        ) {
            let curve = PowerCurve::new(Watts::whole(idle), Watts::whole(idle + above)).unwrap();
            let cores = NonZeroU32::new(cores).unwrap();
            let estimate = cpu_estimate(curve, Duration::from_millis(cpu_millis), cores, Duration::from_millis(millis));
            prop_assert!(estimate.range.low <= estimate.value && estimate.value <= estimate.range.high);
        }
    }
}
