//! Waiting and reading that a signal ends early.

use std::sync::Arc;

use wattspan::core::{Clock as _, CollectError, Collector, Device, MonoTime, SampleBuffer, SystemClock};
use wattspan::monitor::validate::Pace;

use crate::signals::Signals;

/// Sleeps until a time or a signal.
pub(super) struct Patient<'a> {
    pub(super) signals: &'a Signals,
}

impl Pace for Patient<'_> {
    fn wait_until(&mut self, time: MonoTime) {
        self.signals.wait(Some(time.since(SystemClock.mono())));
    }
}

/// A collector that has nothing more to say once a signal has come, which ends the run.
pub(super) struct Attended<'a> {
    pub(super) inner: &'a mut dyn Collector,
    pub(super) signals: &'a Signals,
}

impl Collector for Attended<'_> {
    fn name(&self) -> &'static str {
        self.inner.name()
    }

    fn devices(&self) -> &[Arc<Device>] {
        self.inner.devices()
    }

    fn sample(&mut self, into: &mut SampleBuffer<'_>) -> Result<(), CollectError> {
        if self.signals.came() {
            return Err(CollectError::Dead { collector: self.name(), reason: "a signal came".into() });
        }
        self.inner.sample(into)
    }

    fn watch(&mut self, processes: &[u32]) {
        self.inner.watch(processes);
    }
}
