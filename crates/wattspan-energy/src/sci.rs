//! Software Carbon Intensity: `SCI = ((E · I) + M) / R`.
//!
//! **Source** ISO/IEC 21031:2024, the Green Software Foundation's Software Carbon Intensity specification.

use std::time::Duration;

use wattspan_core::Grams;

/// Emissions of making the hardware, and the part of the hardware that was used: `M = TE · (TR/EL) · (RR/ToR)`.
///
/// ```
/// use std::time::Duration;
/// use wattspan_core::Grams;
/// use wattspan_energy::Embodied;
///
/// // A server of 1,000 kgCO2e that is kept for four years, used whole for an hour.
/// let hour = Duration::from_secs(3_600);
/// let server = Embodied::new(Grams::whole(1_000_000), hour, hour * 35_040, 1.0, 1.0).unwrap();
/// assert!((server.share().grams() - 28.538_812_785).abs() < 1e-6);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Embodied {
    share: Grams,
}

/// Input from which no embodied share or SCI can be worked out.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what} cannot be: {remedy}")]
pub struct InvalidSci {
    what: &'static str,
    remedy: &'static str,
}

impl Embodied {
    /// `total` (TE) for the whole hardware; reserved for `time_reserved` (TR) of an `expected_lifespan` (EL); of
    /// `total_resources` (ToR), `resources_reserved` (RR) are used: GPUs of a server, virtual CPUs of a host.
    ///
    /// # Errors
    /// When the emissions are negative, the lifespan or the total is zero, more than the whole is
    /// reserved, or the share is past every number.
    pub fn new(
        total: Grams,
        time_reserved: Duration,
        expected_lifespan: Duration,
        resources_reserved: f64,
        total_resources: f64,
    ) -> Result<Self, InvalidSci> {
        let refuse = |what, remedy| Err(InvalidSci { what, remedy });
        if total < Grams::ZERO {
            return refuse("embodied emissions below zero", "give the hardware's emissions in grams");
        }
        if expected_lifespan.is_zero() {
            return refuse("a lifespan of zero", "give the hardware's expected lifespan, such as four years");
        }
        if !(total_resources > 0.0 && (0.0..=total_resources).contains(&resources_reserved)) {
            return refuse("that part of the resources", "give how many of how many are reserved");
        }
        let time = time_reserved.as_secs_f64() / expected_lifespan.as_secs_f64();
        match Grams::new(total.grams() * time * (resources_reserved / total_resources)) {
            Some(share) => Ok(Self { share }),
            None => refuse("so large an embodied share", "check total emissions and times"),
        }
    }

    /// The part to account for, `M`.
    pub fn share(&self) -> Grams {
        self.share
    }
}

/// Grams per functional unit: `operational` (E · I) and `embodied` (M) emissions over the number of `units` (R).
///
/// # Errors
/// When the number of units is not above zero or not finite.
pub fn sci(operational: Grams, embodied: Grams, units: f64) -> Result<Grams, InvalidSci> {
    let per_unit = if units > 0.0 { Grams::new((operational + embodied).grams() / units) } else { None };
    per_unit.filter(|_| units.is_finite()).ok_or(InvalidSci {
        what: "that number of functional units",
        remedy: "give how many requests, tokens or images the emissions are for, above zero",
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: Duration = Duration::from_secs(3_600);

    #[test]
    fn what_cannot_be_is_refused() {
        let grams = Grams::whole(1_000);
        assert!(Embodied::new(Grams::new(-1.0).unwrap(), HOUR, HOUR, 1.0, 1.0).is_err());
        assert!(Embodied::new(grams, HOUR, Duration::ZERO, 1.0, 1.0).is_err());
        for (reserved, total) in [(1.0, 0.0), (2.0, 1.0), (-1.0, 1.0), (f64::NAN, 1.0), (0.0, f64::NAN)] {
            assert!(Embodied::new(grams, HOUR, HOUR, reserved, total).is_err(), "{reserved} of {total}");
        }
        for units in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(sci(grams, Grams::ZERO, units).is_err(), "{units}");
        }
    }

    #[test]
    fn hardware_used_all_its_life_counts_whole() {
        let all = Embodied::new(Grams::whole(5_000), HOUR * 100, HOUR * 100, 8.0, 8.0).unwrap();
        assert_eq!(all.share(), Grams::whole(5_000));
    }
}
