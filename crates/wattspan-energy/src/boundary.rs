//! What a figure covers beyond the measured devices: nothing, the machine around them, or the building.
//!
//! One factor scales energy, power, grams and cost alike, so that a row of figures never contradicts itself.

use std::time::Duration;

use serde::Serialize;
pub use wattspan_core::Boundary;
use wattspan_core::{Grams, Joules, Usd, Watts};

/// A stated factor from the devices' figures to those of a wider boundary.
///
/// ```
/// use wattspan_core::{Joules, Watts};
/// use wattspan_energy::{Boundary, Overhead};
///
/// let facility = Overhead::facility(1.5).unwrap();
/// assert_eq!(facility.power(Watts::whole(55)), Watts::new(82.5).unwrap());
/// assert_eq!(facility.energy(Joules::from_millijoules(550_000)), Joules::from_millijoules(825_000));
/// assert_eq!(facility.boundary(), Boundary::Facility);
/// assert!(Overhead::facility(0.9).is_err());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Overhead {
    boundary: Boundary,
    factor: f64,
}

/// A factor that would make the wider boundary use less than what is inside it, or no number.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("factor {factor} for the {} boundary cannot be: give a number of at least 1", boundary.as_str())]
pub struct InvalidOverhead {
    boundary: Boundary,
    factor: f64,
}

impl Overhead {
    /// The devices as measured.
    pub const NONE: Self = Self { boundary: Boundary::Device, factor: 1.0 };

    /// The machine: `factor` times the measured devices.
    ///
    /// # Errors
    /// When the factor is below 1 or not finite.
    pub fn host(factor: f64) -> Result<Self, InvalidOverhead> {
        Self::new(Boundary::Host, factor)
    }

    /// The building: `pue` times the measured devices. The machine's own overhead is left out; see
    /// [`Overhead::within`].
    ///
    /// **Source** power usage effectiveness, ISO/IEC 30134-2: energy of the whole site by energy of its IT equipment.
    ///
    /// # Errors
    /// When the factor is below 1 or not finite.
    pub fn facility(pue: f64) -> Result<Self, InvalidOverhead> {
        Self::new(Boundary::Facility, pue)
    }

    /// The building around a machine whose own overhead is known: both factors together.
    ///
    /// # Errors
    /// When the factor is below 1 or the product is not finite.
    pub fn within(self, pue: f64) -> Result<Self, InvalidOverhead> {
        Self::facility(pue)?;
        Self::new(Boundary::Facility, self.factor * pue)
    }

    fn new(boundary: Boundary, factor: f64) -> Result<Self, InvalidOverhead> {
        // A figure of 1000 and more is a percentage or a slip, and keeps every product finite.
        if (1.0..1e3).contains(&factor) {
            Ok(Self { boundary, factor })
        } else {
            Err(InvalidOverhead { boundary, factor })
        }
    }

    /// What the scaled figures cover.
    pub const fn boundary(self) -> Boundary {
        self.boundary
    }

    /// The factor.
    pub const fn factor(self) -> f64 {
        self.factor
    }

    /// Energy inside the boundary.
    pub fn energy(self, devices: Joules) -> Joules {
        // Past the range of `Joules` only the range itself is left to say.
        devices.scaled(self.factor).unwrap_or(Joules::from_microjoules(i128::MAX))
    }

    /// Power inside the boundary.
    pub fn power(self, devices: Watts) -> Watts {
        self.scaled(Watts::new, devices.watts())
    }

    /// Emissions of the boundary's energy.
    pub fn grams(self, devices: Grams) -> Grams {
        self.scaled(Grams::new, devices.grams())
    }

    /// Cost of the boundary's energy.
    pub fn cost(self, devices: Usd) -> Usd {
        self.scaled(Usd::new, devices.usd())
    }

    /// Saturates at the largest number.
    fn scaled<T>(self, unit: impl Fn(f64) -> Option<T>, number: f64) -> T {
        let scaled = (number * self.factor).clamp(f64::MIN, f64::MAX);
        unit(scaled).expect("the product of two finite numbers, clamped, is finite")
    }

    /// Power and energy of a stretch of time, stated with what they cover.
    pub fn row(self, devices: Watts, over: Duration) -> Scoped {
        let power = self.power(devices);
        Scoped { boundary: self.boundary, power, energy: power * over }
    }
}

/// Power and energy with what they cover; power × time is the energy.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Scoped {
    /// What both cover.
    pub boundary: Boundary,
    /// Mean power.
    #[serde(rename = "power_watts")]
    pub power: Watts,
    /// Energy.
    #[serde(rename = "energy_joules")]
    pub energy: Joules,
}

impl Default for Overhead {
    fn default() -> Self {
        Self::NONE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn factors_that_cannot_be_are_refused_with_what_to_give() {
        for factor in [0.99, 0.0, -1.0, f64::NAN, f64::INFINITY, 1_500.0] {
            let error = Overhead::facility(factor).unwrap_err().to_string();
            assert!(error.contains("facility") && error.contains("at least 1"), "{error}");
        }
    }

    #[test]
    fn a_building_around_a_machine_takes_both_factors() {
        let both = Overhead::host(1.25).unwrap().within(1.2).unwrap();
        assert_eq!((both.boundary(), both.factor()), (Boundary::Facility, 1.5));
    }

    #[test]
    fn without_a_factor_nothing_changes() {
        let energy = Joules::from_microjoules(123_456_789);
        assert_eq!(Overhead::NONE.energy(energy), energy);
        assert_eq!(Overhead::default().boundary(), Boundary::Device);
    }
}
