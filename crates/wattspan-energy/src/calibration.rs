//! Constants of the uncertainty model that were fitted, with the seeds that they were fitted on.
//!
//! `cargo run -p wattspan-energy --example calibration -- fit` fits them again; without `fit` it judges them on other
//! seeds. See `docs/calibration.md` for the table.

/// Scale of a counter's random terms.
pub(crate) const GAMMA_COUNTER: f64 = 0.45;
/// Scale of an instantaneous power reading's random terms.
pub(crate) const GAMMA_INSTANT: f64 = 0.85;
/// Scale of a trailing mean's random term.
pub(crate) const GAMMA_TRAILING: f64 = 1.4;
