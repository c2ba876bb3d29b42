//! Start and stop around any code, and what it took in between.
//!
//! A window's edges cut the sensors' intervals by time. Stopping waits, within a bound, for the readings that cover the
//! end; the code that was measured has long gone on.

mod data;
mod distribution;
mod inferences;
mod recorder;
mod report;
mod spans;

use std::sync::Arc;
use std::time::Duration;

use crate::link::Link;
use crate::monitor::{Monitor, MonitorBuilder};
use crate::queue::Attention;
use crate::stepper::Stepper;
use data::Data;

pub use data::Embodiment;
pub use distribution::Percentiles;
pub(crate) use recorder::{Recorder, Tick};
pub use report::{DeviceReport, InferenceReport, PerformanceReport, SciReport, ServerReport, TotalReport};

/// Watches a window of time: what its devices drew and did, and what the inferences that ended in it took.
///
/// Any number may run over one [`Monitor`], nested or side by side. While one runs the devices are polled at
/// [`Cadence::recent`](crate::Cadence::recent) at least.
pub struct PerformanceMonitor {
    link: Link,
    recorder: Arc<Recorder>,
    _watch: Attention,
    /// Of the stand-alone form.
    owned: Option<Monitor>,
    steps: bool,
}

impl PerformanceMonitor {
    /// Begins a window on a running monitor.
    pub fn start(monitor: &Monitor) -> Self {
        Self::over(monitor.link(), None, false)
    }

    /// Begins a window on a monitor without threads; [`PerformanceMonitor::end`] it, step on, and ask for the report.
    pub fn start_stepped(stepper: &Stepper) -> Self {
        Self::over(stepper.link(), None, true)
    }

    /// Starts a monitor of its own, which ends with it, and begins a window once that has read its devices (or has not
    /// for a second).
    ///
    /// # Errors
    /// When the operating system refuses a thread.
    pub fn stand_alone(builder: MonitorBuilder) -> std::io::Result<Self> {
        let monitor = builder.start()?;
        let first = Self::start(&monitor);
        first.recorder.wait_ticked(FIRST_POLL);
        let mut own = Self::start(&monitor);
        drop(first);
        own.owned = Some(monitor);
        Ok(own)
    }

    /// Begins the window anew with the emissions of making the hardware, for SCI.
    pub fn embodied(self, embodiment: Embodiment) -> Self {
        let mut anew = Self::over(&self.link, Some(embodiment), self.steps);
        anew.owned = self.owned;
        anew
    }

    fn over(link: &Link, embodiment: Option<Embodiment>, steps: bool) -> Self {
        let recorder = link.record(embodiment);
        Self { link: link.clone(), recorder, _watch: link.watch(), owned: None, steps }
    }

    /// The monitor of the stand-alone form, for its observer and sinks.
    pub fn monitor(&self) -> Option<&Monitor> {
        self.owned.as_ref()
    }

    /// The report so far, up to where all devices are known; after [`PerformanceMonitor::end`], of the window.
    pub fn report(&self) -> PerformanceReport {
        self.recorder.report()
    }

    /// Ends the window now, without waiting for the readings that cover it. A second end changes nothing.
    pub fn end(&self) {
        self.recorder.end(self.link.clock.mono());
    }

    /// Ends the window and reports, after three seconds at most.
    pub fn stop(self) -> PerformanceReport {
        self.stop_within(STOP_WITHIN)
    }

    /// Ends the window, waits for the readings that cover its end and for the inferences that ended in it, and reports.
    /// When the time is up first, the report says so in its notes.
    pub fn stop_within(self, bound: Duration) -> PerformanceReport {
        self.end();
        if !self.steps {
            let _hurry = self.link.queue.hurry();
            self.recorder.wait_complete(bound);
        }
        self.recorder.report()
    }
}

impl Monitor {
    /// Runs something and reports what was drawn meanwhile, by whomever.
    pub fn measure<T>(&self, run: impl FnOnce() -> T) -> (T, PerformanceReport) {
        let window = PerformanceMonitor::start(self);
        let answer = run();
        (answer, window.stop())
    }
}

impl PerformanceReport {
    /// Puts reports together: of several monitors, machines, or windows of one. **Absent** without a report.
    ///
    /// A device's time is counted once, by its id: where two reports have it, the longer one's figures stand. So is an
    /// inference that two windows of one monitor saw. Reports of several monitors are laid side by side by the wall
    /// clocks at their starts. Reports that were read back from JSON have their energy spread evenly over their window,
    /// and no percentiles to be merged.
    pub fn merge<'a>(reports: impl IntoIterator<Item = &'a Self>) -> Option<Self> {
        let mut parts: Vec<Data> = reports
            .into_iter()
            .map(|report| match &report.data {
                Some(data) => (**data).clone(),
                None => Data::read_back(report),
            })
            .collect();
        parts.sort_by_key(|data| std::cmp::Reverse(data.length()));
        let mut parts = parts.into_iter();
        let mut all = parts.next()?;
        parts.for_each(|part| all.absorb(&part));
        Some(all.report())
    }
}

/// How long the stand-alone form waits for its devices' first readings.
const FIRST_POLL: Duration = Duration::from_secs(1);
/// A second more than a one-second mean needs to tell of its end.
const STOP_WITHIN: Duration = Duration::from_secs(3);
