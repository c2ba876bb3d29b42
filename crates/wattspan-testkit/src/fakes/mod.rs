//! Implementations of the core traits that do nothing, answer what they are told to, or write down what they get.

mod collector;
mod dataset;
mod observer;
mod sinks;
mod sources;

pub(crate) use collector::lost;
pub use collector::{FakeCollector, TapeCollector};
pub use dataset::MemoryDataset;
pub use observer::{Closing, RecordingObserver, SeenInference};
pub use sinks::{RecordingRecords, RecordingSamples, RecordingStats, SeenTick};
pub use sources::{FakeIntensity, FakePrices};

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use wattspan_core::{
    Begin, CollectError, Collector, Device, ElectricityPrice, Finish, InferenceObserver, InferenceRecord,
    Intensity, IntensitySource, Place, PriceSource, Probe, RecordSink, SampleBuffer, SampleSink, SampleTick,
    ServerStats, Settle, SettleReason, Settlement, StatsSink, TokenPrice,
};

/// A lock that a panic elsewhere does not break: the test that panicked has failed already.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Does nothing and knows nothing, as each of the core traits.
///
/// As an observer it settles at once, on the caller's thread, with nothing known.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoOp;

impl Collector for NoOp {
    fn name(&self) -> &'static str {
        "none"
    }

    fn devices(&self) -> &[Arc<Device>] {
        &[]
    }

    fn sample(&mut self, _into: &mut SampleBuffer<'_>) -> Result<(), CollectError> {
        Ok(())
    }

    fn watch(&mut self, _processes: &[u32]) {}
}

impl IntensitySource for NoOp {
    fn name(&self) -> &'static str {
        "none"
    }

    fn latest(&self, _place: &Place, _at: SystemTime) -> Option<Intensity> {
        None
    }
}

impl PriceSource for NoOp {
    fn electricity(&self, _place: &Place, _at: SystemTime) -> Option<ElectricityPrice> {
        None
    }

    fn tokens(&self, _provider: &str, _model: &str) -> Option<TokenPrice> {
        None
    }
}

impl InferenceObserver for NoOp {
    fn begin(&self, _begin: Begin) -> Box<dyn Probe> {
        Box::new(Self)
    }
}

impl Probe for NoOp {
    fn decoded(&self, _steps: u64) {}

    fn prompted(&self, _tokens: u64) {}

    fn finish(self: Box<Self>, finish: Finish) {
        finish.settle.settle(&Settlement::unknown(SettleReason::NotObserved));
    }
}

impl Settle for NoOp {
    fn settle(self: Box<Self>, _settlement: &Settlement) {}
}

impl StatsSink for NoOp {
    fn stats(&self, _stats: &ServerStats) {}
}

impl SampleSink for NoOp {
    fn sampled(&self, _tick: &SampleTick<'_>) {}
}

impl RecordSink for NoOp {
    fn record(&self, _record: &InferenceRecord) {}
}
