//! How a sensor shows the model's power: refresh instants, windows, rounding.

/// Which of the power readings of a GPU is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum PowerReading {
    /// `nvmlDeviceGetPowerUsage`.
    Usage,
    /// `NVML_FI_DEV_POWER_AVERAGE`, field 185.
    Average,
    /// `NVML_FI_DEV_POWER_INSTANT`, field 186.
    Instant,
}

/// A power sensor: at each refresh it shows the mean over the window that ends there.
///
/// A window as long as the update period is a plain interval mean; a shorter one looks at a part of the time only;
/// a longer one, such as a second, is a trailing average. No window shows the power at the refresh itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PowerSensor {
    /// Time between refreshes, in microseconds; 0 refreshes with each reading.
    pub update_us: u64,
    /// Length of the window behind each refresh, in microseconds.
    pub window_us: u64,
    /// Moment of a refresh, in microseconds; the others lie whole periods away.
    pub phase_us: u64,
}

impl PowerSensor {
    /// A sensor that shows the power of the moment.
    pub const EXACT: Self = Self { update_us: 0, window_us: 0, phase_us: 0 };

    /// A sensor with a window and a period, refreshing at their multiples.
    pub const fn new(update_us: u64, window_us: u64) -> Self {
        Self { update_us, window_us, phase_us: 0 }
    }

    /// The same with another phase.
    pub const fn with_phase(mut self, phase_us: u64) -> Self {
        self.phase_us = phase_us;
        self
    }
}

/// Where the utilisation rates come from.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum Utilisation {
    /// These values.
    Fixed {
        /// Percent of time that a kernel ran.
        gpu: u32,
        /// Percent of time that memory was read or written.
        memory: u32,
    },
    /// Percent of the window that a load was active; memory is a fraction of that.
    Loads {
        /// Time between refreshes, in microseconds.
        update_us: u64,
        /// Window behind each refresh, in microseconds.
        window_us: u64,
        /// Memory utilisation as a fraction of the GPU's.
        memory_share: f64,
    },
}

/// The last refresh at or before `t`. Before the first one it is the beginning of time.
pub(crate) fn last_refresh(t: u64, period: u64, phase: u64) -> u64 {
    if period == 0 {
        return t;
    }
    let phase = phase % period;
    if t < phase { 0 } else { t - (t - phase) % period }
}

/// The state of a total energy counter.
#[derive(Debug, Clone)]
pub(crate) struct Counter {
    pub(crate) supported: bool,
    pub(crate) refresh_us: u64,
    pub(crate) phase_us: u64,
    pub(crate) quantum_mj: u64,
    pub(crate) start_mj: u64,
    pub(crate) wrap_mj: Option<u64>,
    pub(crate) gain: f64,
    pub(crate) module_nw: i64,
    /// Moments at which the counter began again at nought, ascending.
    pub(crate) resets: Vec<u64>,
    /// Spans without a refresh, ascending; the last one may be open.
    pub(crate) freezes: Vec<(u64, Option<u64>)>,
}

impl Default for Counter {
    fn default() -> Self {
        Self {
            supported: true,
            refresh_us: 0,
            phase_us: 0,
            quantum_mj: 1,
            start_mj: 0,
            wrap_mj: None,
            gain: 1.0,
            module_nw: 0,
            resets: Vec::new(),
            freezes: Vec::new(),
        }
    }
}

impl Counter {
    /// The refresh that a reading at `t` shows, and the reset that it counts from.
    pub(crate) fn span(&self, t: u64) -> (u64, Option<u64>) {
        let mut shown = last_refresh(t, self.refresh_us, self.phase_us);
        for &(from, until) in self.freezes.iter().rev() {
            if shown >= from && until.is_none_or(|until| shown < until) {
                shown = last_refresh(from, self.refresh_us, self.phase_us);
            }
        }
        let reset = self.resets.iter().rev().copied().find(|&reset| reset <= t);
        (shown.max(reset.unwrap_or(0)), reset)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refreshes_lie_whole_periods_from_the_phase() {
        assert_eq!(last_refresh(99, 100, 0), 0);
        assert_eq!(last_refresh(100, 100, 0), 100);
        assert_eq!(last_refresh(199, 100, 30), 130);
        assert_eq!(last_refresh(29, 100, 30), 0);
        assert_eq!(last_refresh(230, 100, 1_030), 230);
        assert_eq!(last_refresh(77, 0, 5), 77);
    }

    #[test]
    fn frozen_counter_shows_the_refresh_before_the_freeze() {
        let mut counter = Counter { refresh_us: 100, ..Counter::default() };
        counter.freezes = vec![(250, Some(450))];
        assert_eq!(counter.span(240), (200, None));
        assert_eq!(counter.span(460), (200, None), "the refresh at 400 fell into the freeze");
        assert_eq!(counter.span(500), (500, None));
    }

    #[test]
    fn reset_hides_what_came_before() {
        let counter = Counter { refresh_us: 100, resets: vec![250], ..Counter::default() };
        assert_eq!(counter.span(249), (200, None));
        assert_eq!(counter.span(260), (250, Some(250)));
        assert_eq!(counter.span(310), (300, Some(250)));
    }
}
