//! A monitor that is driven by hand.

use std::sync::Arc;

use wattspan_core::{InferenceObserver, StatsSink};

use crate::board::Snapshot;
use crate::link::Link;
use crate::queue::Observer;
use crate::sampler::Sampler;
use crate::settlement::Settler;

/// A monitor without threads.
pub struct Stepper {
    pub(crate) link: Link,
    pub(crate) sampler: Sampler,
    pub(crate) settler: Settler,
}

impl Stepper {
    /// All devices as of the last poll; `None` before the first.
    pub fn snapshot(&self) -> Option<Snapshot> {
        self.link.board.snapshot(self.link.queue.open())
    }

    /// The observer for the instrumentation.
    pub fn observer(&self) -> Arc<dyn InferenceObserver> {
        Arc::new(Observer(Arc::clone(&self.link.queue)))
    }

    /// Polls once at the clock's time, and settles what that completes.
    pub fn step(&mut self) {
        let batch = self.sampler.poll(false);
        self.settler.process(batch);
    }

    /// Polls once more and settles what is left.
    pub fn finish(mut self) {
        let batch = self.sampler.poll(true);
        self.settler.process(batch);
    }

    /// How many inferences are in flight or wait for settlement.
    pub fn open(&self) -> usize {
        self.link.queue.open()
    }

    /// Where a model server's poller puts its gauges.
    pub fn stats_sink(&self) -> Arc<dyn StatsSink> {
        Arc::new(self.link.board.clone())
    }

    /// Inferences held in memory: by settlement, and by the ledger.
    pub fn held(&self) -> (usize, usize) {
        self.settler.held()
    }

    pub(crate) fn link(&self) -> &Link {
        &self.link
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, SystemTime};

    use wattspan_core::{
        CounterSpec, Device, DeviceId, DeviceKind, DeviceSample, Reading, ScriptedClock, Vendor,
    };
    use wattspan_testkit::{FakeCollector, RecordingSamples};

    use crate::Monitor;

    use super::*;

    #[test]
    fn a_machine_that_slept_leaves_a_gap_and_goes_on() {
        let clock = Arc::new(ScriptedClock::new(SystemTime::UNIX_EPOCH));
        let mut gpu = Device::new(DeviceId::new("GPU-a"), DeviceKind::Gpu, Vendor::Nvidia, "test");
        gpu.counter = Some(CounterSpec { microjoules_per_tick: (1_000, 1), modulus: None, refresh: None });
        let collector = FakeCollector::new("fake", [Arc::new(gpu)], |device, now| {
            let mut sample = DeviceSample::new(Arc::clone(device), now);
            sample.energy = Reading::Value(now.nanos() / 1_000_000 * 100);
            sample
        });
        let samples = RecordingSamples::default();
        let mut stepper = Monitor::builder()
            .clock(clock.clone())
            .collector(Box::new(collector))
            .sample_sink(Arc::new(samples.clone()))
            .stepper();
        for turn in 0..40 {
            clock.advance(Duration::from_millis(100));
            let mut batch = stepper.sampler.poll(false);
            batch.slept = turn == 20;
            stepper.settler.process(batch);
        }
        let gaps: Vec<_> = samples
            .ticks()
            .iter()
            .flat_map(|tick| tick.intervals.clone())
            .filter_map(|interval| interval.gap)
            .collect();
        assert_eq!(gaps, [wattspan_core::GapReason::Suspended]);
        let device = stepper.snapshot().unwrap().devices[0].clone();
        assert_eq!(device.gaps, 1);
        // 100 W for 3.9 s, but for a gap of one or two polls.
        let joules = device.energy.total().joules();
        assert!((360.0..390.0).contains(&joules), "{joules} J");
    }
}
