//! What to open, and how often to read what.

use std::path::PathBuf;
use std::time::Duration;

use crate::parse::Selection;
use crate::processes::PidNamespace;

/// What to open.
///
/// ```
/// use wattspan_nvidia::{NvidiaOptions, Selection};
///
/// let mut options = NvidiaOptions::default();
/// options.devices = "0,GPU-8932f937".parse::<Selection>()?;
/// # Ok::<(), wattspan_nvidia::InvalidSelection>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct NvidiaOptions {
    /// The NVML library; `None` looks in the usual places (see the crate's documentation). One that is named and
    /// cannot be loaded is an error.
    pub library: Option<PathBuf>,
    /// Which devices to read. All, unless set: `CUDA_VISIBLE_DEVICES` counts only with [`Selection::from_env`].
    pub devices: Selection,
    /// Least time between two readings of utilisation, memory and processes; in between the last ones are repeated.
    /// Temperatures, clocks, limits, fans and error counts are read each fifth time. Energy and power are read at
    /// each tick. 200 ms unless set: the driver itself samples utilisation each sixth of a second to each second.
    pub gauge_interval: Duration,
    /// Whose process ids the driver's are.
    pub pid_namespace: PidNamespace,
}

impl Default for NvidiaOptions {
    fn default() -> Self {
        Self {
            library: None,
            devices: Selection::All,
            gauge_interval: Duration::from_millis(200),
            pid_namespace: PidNamespace::Detect,
        }
    }
}
