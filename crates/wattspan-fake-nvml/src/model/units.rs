//! Integer units of the power model.
//!
//! Power is held in nanowatts and time in microseconds, so energy comes out in femtojoules. A linear slope gives
//! half femtojoules; energies are therefore stored doubled, which keeps every sum and every difference exact.

/// Doubled energy: one unit is half a femtojoule.
pub(crate) type Energy2 = i128;

/// Half femtojoules in a millijoule.
pub(crate) const PER_MILLIJOULE: Energy2 = 2_000_000_000_000;

/// Half femtojoules in a joule.
const PER_JOULE: f64 = 2e15;

/// Largest power that the model takes, in watts; the sums of thousands of such loads still fit.
pub(crate) const MAX_WATTS: f64 = 1e6;

/// Nanowatts, rounded to the nearest.
pub(crate) fn nanowatts(watts: f64) -> i64 {
    (watts * 1e9).round() as i64
}

/// Joules of a doubled energy.
pub(crate) fn joules(energy: Energy2) -> f64 {
    energy as f64 / PER_JOULE
}
