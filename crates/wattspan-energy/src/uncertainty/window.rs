//! Energy of a device in a window of time, from the intervals of its meter.

use std::time::Duration;

use wattspan_core::{Joules, MonoTime, Ratio};

use crate::meter::{Measured, prorate};

/// Energy of a device between two times.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct WindowEnergy {
    /// What was measured in it.
    pub energy: Joules,
    /// The sensor's timing and step cannot make the figure wrong by more than this.
    ///
    /// One refresh period times the range of power in and around the window, plus the sensor's step, plus the highest
    /// power for as long as the time of a refresh is not known at each end.
    pub bound: Joules,
    /// Fraction of the window for which there was data.
    pub coverage: Ratio,
}

/// Energy of a window. Intervals that reach over an end are cut by time.
///
/// **Range** intervals in order of time, as a [`Meter`](crate::Meter) gives them.
/// **Absent** when no interval with data touches the window.
pub fn window_energy(intervals: &[Measured], from: MonoTime, to: MonoTime) -> Option<WindowEnergy> {
    let mut energy = Joules::ZERO;
    let mut covered = Duration::ZERO;
    let (mut low, mut high, mut refresh, mut step) = (f64::MAX, 0.0_f64, Duration::ZERO, Joules::ZERO);
    let mut lag = Duration::ZERO;
    let mut touched = false;
    let near = |measured: &&Measured| {
        let reach = measured.refresh.unwrap_or(measured.length()).max(measured.length());
        measured.end + reach >= from && measured.start <= to + reach
    };
    for measured in intervals.iter().filter(near) {
        let (Ok(whole), Some(power)) = (measured.energy, measured.power()) else { continue };
        low = low.min(power.watts());
        high = high.max(power.watts());
        refresh = refresh.max(measured.refresh.unwrap_or(measured.length()));
        step = step.max(measured.resolution);
        lag = lag.max(measured.lag);
        let inside = measured.end.min(to).since(measured.start.max(from));
        if !inside.is_zero() {
            touched = true;
            energy += prorate(whole, inside, measured.length());
            covered += inside;
        }
    }
    let coverage = Ratio::new(covered.as_secs_f64() / to.since(from).as_secs_f64())?;
    let timing = refresh.as_secs_f64() * (high - low).max(0.0) + 2.0 * lag.as_secs_f64() * high;
    let timing = Joules::new(timing)?;
    touched.then_some(WindowEnergy { energy, bound: timing + step, coverage: coverage.min(Ratio::ONE) })
}
