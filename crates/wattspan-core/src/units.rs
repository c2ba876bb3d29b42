//! Units as types. A conversion between two of them stands here and nowhere else.
//!
//! Energy is exact (whole microjoules); the others are finite `f64`. A value that is not finite cannot be made: `new`
//! answers `None`, and the caller decides which [`Reading`](crate::Reading) that is.

use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Div, Mul, Neg, Sub, SubAssign};
use std::time::Duration;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// Microjoules in one kilowatt-hour: 3.6 MJ (SI brochure, 9th edition, table 8: 1 h = 3 600 s).
const MICROJOULES_PER_KWH: f64 = 3.6e12;

/// Energy in whole microjoules, so that sums are exact and parts add up to their total.
///
/// **Unit** microjoules inside, joules as serde number and in [`Joules::joules`].
/// **Range** that of `i128`: 1.7 × 10³² J. Operators saturate there; `checked_*` say so.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Joules(i128);

impl Joules {
    /// No energy, measured as such. Not a stand-in for an absent figure.
    pub const ZERO: Self = Self(0);

    /// From whole microjoules.
    pub const fn from_microjoules(microjoules: i128) -> Self {
        Self(microjoules)
    }

    /// From whole millijoules, the step of NVML's energy counter.
    pub const fn from_millijoules(millijoules: i64) -> Self {
        Self(millijoules as i128 * 1_000)
    }

    /// From joules, rounded to the nearest microjoule; `None` when not finite or out of range.
    pub fn new(joules: f64) -> Option<Self> {
        let microjoules = (joules * 1e6).round();
        (microjoules.is_finite() && microjoules.abs() < 1.7e38).then_some(Self(microjoules as i128))
    }

    /// Whole microjoules.
    pub const fn microjoules(self) -> i128 {
        self.0
    }

    /// Joules as a float, for display and export.
    pub fn joules(self) -> f64 {
        // Dividing by 1e6 keeps every value below 2^53 µJ (9 GJ) the nearest float to its decimal form.
        self.0 as f64 / 1e6
    }

    /// Kilowatt-hours.
    pub fn kilowatt_hours(self) -> f64 {
        self.0 as f64 / MICROJOULES_PER_KWH
    }

    /// Sum, or `None` past the range.
    pub fn checked_add(self, other: Self) -> Option<Self> {
        self.0.checked_add(other.0).map(Self)
    }

    /// Difference, or `None` past the range.
    pub fn checked_sub(self, other: Self) -> Option<Self> {
        self.0.checked_sub(other.0).map(Self)
    }

    /// Whether this is below zero, which no measured energy is.
    pub const fn is_negative(self) -> bool {
        self.0 < 0
    }

    /// The value scaled by a finite factor and rounded to a microjoule; `None` when the factor is not finite.
    pub fn scaled(self, factor: f64) -> Option<Self> {
        let scaled = (self.0 as f64 * factor).round();
        (scaled.is_finite() && scaled.abs() < 1.7e38).then_some(Self(scaled as i128))
    }
}

impl Add for Joules {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl Sub for Joules {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl Neg for Joules {
    type Output = Self;
    fn neg(self) -> Self {
        Self(self.0.saturating_neg())
    }
}

impl AddAssign for Joules {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl SubAssign for Joules {
    fn sub_assign(&mut self, other: Self) {
        *self = *self - other;
    }
}

impl Sum for Joules {
    fn sum<I: Iterator<Item = Self>>(values: I) -> Self {
        values.fold(Self::ZERO, Add::add)
    }
}

impl<'a> Sum<&'a Self> for Joules {
    fn sum<I: Iterator<Item = &'a Self>>(values: I) -> Self {
        values.copied().sum()
    }
}

impl Div<Duration> for Joules {
    type Output = Option<Watts>;
    /// Mean power over a duration; `None` over no time.
    fn div(self, over: Duration) -> Option<Watts> {
        Watts::new(self.joules() / over.as_secs_f64())
    }
}

impl fmt::Display for Joules {
    /// Four significant digits with an SI prefix: `12.35 mJ`, `450 J`, `1.2 MJ`.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        si(out, self.joules(), "J")
    }
}

impl Serialize for Joules {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(self.joules())
    }
}

impl<'de> Deserialize<'de> for Joules {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::new(f64::deserialize(deserializer)?).ok_or_else(|| de::Error::custom("energy is out of range"))
    }
}

/// Writes a number with an SI prefix and four significant digits, trailing zeros left out.
fn si(out: &mut fmt::Formatter<'_>, value: f64, unit: &str) -> fmt::Result {
    const PREFIXES: [(f64, &str); 7] =
        [(1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, ""), (1e-3, "m"), (1e-6, "µ")];
    if value == 0.0 {
        return write!(out, "0 {unit}");
    }
    let (scale, prefix) =
        PREFIXES.into_iter().find(|(scale, _)| value.abs() >= *scale * 0.999_95).unwrap_or((1e-9, "n"));
    let scaled = value / scale;
    let decimals = (3 - scaled.abs().log10().floor() as i32).clamp(0, 3) as usize;
    let mut digits = format!("{scaled:.decimals$}");
    if digits.contains('.') {
        digits.truncate(digits.trim_end_matches('0').trim_end_matches('.').len());
    }
    write!(out, "{digits} {prefix}{unit}")
}

macro_rules! finite_unit {
    ($(#[$doc:meta])* $name:ident, $suffix:literal, $get:ident, $get_doc:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
        pub struct $name(f64);

        impl $name {
            /// Zero, known as such. Not a stand-in for an absent figure.
            pub const ZERO: Self = Self(0.0);

            /// From a number in this unit; `None` when it is not finite.
            pub const fn new(value: f64) -> Option<Self> {
                if value.is_finite() { Some(Self(value)) } else { None }
            }

            /// From a whole number in this unit.
            pub const fn whole(value: u32) -> Self {
                Self(value as f64)
            }

            #[doc = $get_doc]
            pub const fn $get(self) -> f64 {
                self.0
            }

            /// The larger of two.
            pub fn max(self, other: Self) -> Self {
                Self(self.0.max(other.0))
            }

            /// The smaller of two.
            pub fn min(self, other: Self) -> Self {
                Self(self.0.min(other.0))
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_f64(self.0)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                Self::new(f64::deserialize(deserializer)?).ok_or_else(|| de::Error::custom("number is not finite"))
            }
        }

        impl Add for $name {
            type Output = Self;
            /// Saturates at the largest finite value.
            fn add(self, other: Self) -> Self {
                Self((self.0 + other.0).clamp(f64::MIN, f64::MAX))
            }
        }

        impl Sub for $name {
            type Output = Self;
            /// Saturates at the largest finite value.
            fn sub(self, other: Self) -> Self {
                Self((self.0 - other.0).clamp(f64::MIN, f64::MAX))
            }
        }

        impl AddAssign for $name {
            fn add_assign(&mut self, other: Self) {
                *self = *self + other;
            }
        }

        impl Sum for $name {
            fn sum<I: Iterator<Item = Self>>(values: I) -> Self {
                values.fold(Self::ZERO, Add::add)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                match $suffix {
                    // Nobody speaks of milli-degrees, and a milli-share is a per cent figure.
                    "°C" => write!(out, "{:.1} °C", self.0),
                    "" => write!(out, "{:.1} %", self.0 * 100.0),
                    unit => si(out, self.0, unit),
                }
            }
        }
    };
}

finite_unit!(
    /// Power.
    ///
    /// **Unit** watts.
    Watts, "W", watts, "The number of watts."
);
finite_unit!(
    /// Mass of carbon dioxide equivalent.
    ///
    /// **Unit** grams CO2e.
    Grams, "gCO2e", grams, "The number of grams."
);
finite_unit!(
    /// Money.
    ///
    /// **Unit** United States dollars.
    Usd, "USD", usd, "The number of dollars."
);
finite_unit!(
    /// Carbon intensity of electricity.
    ///
    /// **Unit** grams CO2e per kilowatt-hour.
    GramsPerKwh, "gCO2e/kWh", grams_per_kwh, "The number of grams per kilowatt-hour."
);
finite_unit!(
    /// Price of electricity.
    ///
    /// **Unit** United States dollars per kilowatt-hour.
    UsdPerKwh, "USD/kWh", usd_per_kwh, "The number of dollars per kilowatt-hour."
);
finite_unit!(
    /// Temperature.
    ///
    /// **Unit** degrees Celsius.
    Celsius, "°C", celsius, "The number of degrees Celsius."
);
finite_unit!(
    /// A fraction: utilisation, coverage, a share.
    ///
    /// **Unit** 1, so 41 % is 0.41. **Range** mostly 0 to 1, which [`Ratio::percent`] and [`Ratio::share`] enforce.
    Ratio, "", ratio, "The fraction."
);
finite_unit!(
    /// Frequency.
    ///
    /// **Unit** hertz.
    Hertz, "Hz", hertz, "The number of hertz."
);

impl Watts {
    /// From whole milliwatts, NVML's unit of power.
    pub fn from_milliwatts(milliwatts: u32) -> Self {
        Self(f64::from(milliwatts) / 1e3)
    }

    /// From whole microwatts, hwmon's unit of power.
    pub fn from_microwatts(microwatts: u64) -> Self {
        Self(microwatts as f64 / 1e6)
    }
}

impl Ratio {
    /// The whole.
    pub const ONE: Self = Self(1.0);

    /// From percent; `None` outside 0 to 100.
    pub fn percent(percent: f64) -> Option<Self> {
        (0.0..=100.0).contains(&percent).then_some(Self(percent / 100.0))
    }

    /// From a fraction; `None` outside 0 to 1.
    pub fn share(fraction: f64) -> Option<Self> {
        (0.0..=1.0).contains(&fraction).then_some(Self(fraction))
    }
}

impl Mul<Duration> for Watts {
    type Output = Joules;
    /// Energy of a constant power over a duration, to the nearest microjoule.
    fn mul(self, over: Duration) -> Joules {
        let microjoules = (self.0 * over.as_nanos() as f64 / 1e3).round();
        // A float-to-integer cast saturates, which only powers beyond 10^22 W over years would reach.
        Joules(microjoules as i128)
    }
}

impl Mul<GramsPerKwh> for Joules {
    type Output = Grams;
    fn mul(self, intensity: GramsPerKwh) -> Grams {
        Grams((self.0 as f64 * intensity.0 / MICROJOULES_PER_KWH).clamp(f64::MIN, f64::MAX))
    }
}

impl Mul<UsdPerKwh> for Joules {
    type Output = Usd;
    fn mul(self, price: UsdPerKwh) -> Usd {
        Usd((self.0 as f64 * price.0 / MICROJOULES_PER_KWH).clamp(f64::MIN, f64::MAX))
    }
}

/// An amount of memory.
///
/// **Unit** bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Bytes(u64);

impl Bytes {
    /// From a number of bytes.
    pub const fn new(bytes: u64) -> Self {
        Self(bytes)
    }

    /// The number of bytes.
    pub const fn bytes(self) -> u64 {
        self.0
    }

    /// Mebibytes (2²⁰ bytes).
    pub fn mebibytes(self) -> f64 {
        self.0 as f64 / 1_048_576.0
    }
}

impl Sum for Bytes {
    fn sum<I: Iterator<Item = Self>>(values: I) -> Self {
        Self(values.fold(0, |sum, next| sum.saturating_add(next.0)))
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        const STEPS: [(u64, &str); 4] =
            [(1 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
        match STEPS.into_iter().find(|(step, _)| self.0 >= *step) {
            Some((step, unit)) => write!(out, "{:.2} {unit}", self.0 as f64 / step as f64),
            None => write!(out, "{} B", self.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[track_caller]
    fn shows(value: impl fmt::Display, text: &str) {
        assert_eq!(value.to_string(), text);
    }

    #[test]
    fn display_takes_the_prefix_that_reads_well() {
        shows(Joules::from_microjoules(0), "0 J");
        shows(Joules::from_microjoules(7), "7 µJ");
        shows(Joules::from_microjoules(12_345), "12.35 mJ");
        shows(Joules::from_millijoules(450_000), "450 J");
        shows(Joules::from_millijoules(3_600_000_000), "3.6 MJ");
        shows(Watts::whole(1_500), "1.5 kW");
        shows(Watts::from_milliwatts(999_960), "1 kW");
        shows(Bytes::new(2_147_483_648), "2.00 GiB");
    }

    #[test]
    fn one_kilowatt_hour_is_three_point_six_megajoules() {
        let energy = Watts::whole(1_000) * Duration::from_secs(3_600);
        assert_eq!(energy, Joules::from_millijoules(3_600_000_000));
        assert_eq!(energy.kilowatt_hours(), 1.0);
        assert_eq!((energy * GramsPerKwh::whole(475)).grams(), 475.0);
        assert_eq!((energy * UsdPerKwh::new(0.12).unwrap()).usd(), 0.12);
    }

    #[test]
    fn what_is_not_finite_cannot_be_made() {
        for value in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            assert_eq!(Watts::new(value), None);
            assert_eq!(Joules::new(value), None);
        }
        assert_eq!(Joules::new(1e300), None);
        assert_eq!(Ratio::percent(101.0), None);
        assert_eq!(Joules::from_microjoules(1) / Duration::ZERO, None);
    }

    #[test]
    fn serde_is_a_plain_number_of_joules() {
        let energy = Joules::from_microjoules(1_234_567);
        assert_eq!(serde_json::to_string(&energy).unwrap(), "1.234567");
        assert_eq!(serde_json::from_str::<Joules>("1.234567").unwrap(), energy);
        assert!(serde_json::from_str::<Joules>("1e300").is_err());
    }

    #[test]
    fn sums_saturate_and_checked_ones_say_so() {
        let most = Joules::from_microjoules(i128::MAX);
        assert_eq!(most + Joules::from_microjoules(1), most);
        assert_eq!(most.checked_add(Joules::from_microjoules(1)), None);
    }

    proptest! {
        #[test]
        fn sums_do_not_depend_on_order(mut parts in prop::collection::vec(-1_000_000_000_000_i64..1_000_000_000_000, 0..50)) {
            let energy = |parts: &[i64]| parts.iter().map(|part| Joules::from_microjoules(i128::from(*part))).sum::<Joules>();
            let forward = energy(&parts);
            parts.reverse();
            prop_assert_eq!(forward, energy(&parts));
            prop_assert_eq!(forward.microjoules(), parts.iter().map(|part| i128::from(*part)).sum::<i128>());
        }

        #[test]
        fn json_keeps_every_microjoule_up_to_a_gigajoule(microjoules in -1_000_000_000_000_000_i64..1_000_000_000_000_000) {
            let energy = Joules::from_microjoules(i128::from(microjoules));
            let text = serde_json::to_string(&energy).unwrap();
            prop_assert_eq!(serde_json::from_str::<Joules>(&text).unwrap(), energy);
        }
    }
}
