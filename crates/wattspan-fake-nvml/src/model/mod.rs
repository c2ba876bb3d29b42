//! The power model behind the fake driver, in plain Rust: usable without loading anything.
//!
//! A [`Gpu`] draws the power of its [`Profile`] plus the loads of requests. Its sensors show that power as real ones
//! do: refreshed at intervals, averaged over windows, rounded. The truth beside them, energy over any window and
//! joules of each request, is computed from the loads and profile alone, never from a sensor.
//!
//! ```
//! use wattspan_fake_nvml::model::{Gpu, Profile};
//!
//! let mut gpu = Gpu::new();
//! gpu.set_profile(0, &Profile::Constant { watts: 60.0 })?;
//! gpu.set_counter_refresh(100_000, 0);
//! gpu.add_load("r1", 250_000, Some(750_000), 240.0, 0)?;
//!
//! assert_eq!(gpu.request("r1", 0).unwrap().joules, 120.0);
//! // The counter last moved at 700 ms: 60 W x 0.7 s + 240 W x 0.45 s.
//! assert_eq!(gpu.counter_mj_at(760_000), 150_000);
//! # Ok::<(), wattspan_fake_nvml::model::ModelError>(())
//! ```

mod curve;
mod gpu;
mod preset;
mod profile;
mod request;
mod sensor;
mod units;

use std::error::Error;
use std::fmt;

pub use gpu::Gpu;
pub use preset::Preset;
pub use profile::Profile;
pub use request::RequestTruth;
pub use sensor::{PowerReading, PowerSensor, Utilisation};

/// What is wrong with a profile or load.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ModelError {
    /// A power that is negative, not finite or above a megawatt.
    Watts,
    /// Times that run backwards.
    EndBeforeBegin,
    /// A period of no length.
    ZeroPeriod,
    /// A duty outside 0 to 1.
    Duty,
    /// A list without entries.
    Empty,
    /// No open load of this name.
    UnknownLoad,
    /// A gain that is negative or not finite.
    Gain,
}

impl fmt::Display for ModelError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Watts => "power must be between 0 and 1000000 watts",
            Self::EndBeforeBegin => "times must not run backwards",
            Self::ZeroPeriod => "the period must be at least one microsecond",
            Self::Duty => "the duty must be between 0 and 1",
            Self::Empty => "at least one point is needed",
            Self::UnknownLoad => "no open load of this name",
            Self::Gain => "the gain must be finite and not negative",
        })
    }
}

impl Error for ModelError {}

pub(crate) fn check_watts(watts: f64) -> Result<i64, ModelError> {
    if (0.0..=units::MAX_WATTS).contains(&watts) {
        Ok(units::nanowatts(watts))
    } else {
        Err(ModelError::Watts)
    }
}
