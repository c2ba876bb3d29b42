//! Constants of the uncertainty model that were fitted, with the seeds that they were fitted on.
//!
//! `cargo run -p wattspan-energy --example calibration -- fit` fits them again, on seeds 1000 to 1023; each is the
//! fit rounded up to a hundredth. Without `fit` it judges them on seeds 2000 to 2023. See `docs/calibration.md`.

/// Scale of a counter's random terms.
pub(crate) const GAMMA_COUNTER: f64 = 0.80;
/// Scale of those of a power reading that looks at all of its refresh period.
pub(crate) const GAMMA_INSTANT: f64 = 1.06;
/// Scale of those of a power reading that looks at a part of it.
pub(crate) const GAMMA_PART_TIME: f64 = 0.88;
/// Scale of a trailing mean's random term.
pub(crate) const GAMMA_TRAILING: f64 = 1.10;
