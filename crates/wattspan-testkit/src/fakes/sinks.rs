//! Sinks that keep what they get. Clones share it, so that a test keeps one and gives one away.

use std::sync::{Arc, Mutex};
use std::time::SystemTime;

use wattspan_core::{
    DeviceSample, InferenceRecord, IntervalEnergy, MonoTime, RecordSink, SampleSink, SampleTick, ServerStats,
    StatsSink,
};

use super::lock;

/// A tick as it was seen.
#[derive(Clone, Debug, PartialEq)]
pub struct SeenTick {
    /// When.
    pub time: MonoTime,
    /// The same on the wall clock.
    pub wall: SystemTime,
    /// All samples.
    pub samples: Vec<DeviceSample>,
    /// All intervals that it closed.
    pub intervals: Vec<IntervalEnergy>,
}

/// Keeps ticks.
#[derive(Clone, Debug, Default)]
pub struct RecordingSamples {
    ticks: Arc<Mutex<Vec<SeenTick>>>,
}

impl RecordingSamples {
    /// All ticks so far.
    pub fn ticks(&self) -> Vec<SeenTick> {
        lock(&self.ticks).clone()
    }
}

impl SampleSink for RecordingSamples {
    fn sampled(&self, tick: &SampleTick<'_>) {
        lock(&self.ticks).push(SeenTick {
            time: tick.time,
            wall: tick.wall,
            samples: tick.samples.to_vec(),
            intervals: tick.intervals.to_vec(),
        });
    }
}

/// Keeps settled inferences.
#[derive(Clone, Debug, Default)]
pub struct RecordingRecords {
    records: Arc<Mutex<Vec<InferenceRecord>>>,
}

impl RecordingRecords {
    /// All records so far.
    pub fn records(&self) -> Vec<InferenceRecord> {
        lock(&self.records).clone()
    }
}

impl RecordSink for RecordingRecords {
    fn record(&self, record: &InferenceRecord) {
        lock(&self.records).push(record.clone());
    }
}

/// Keeps a server's gauges.
#[derive(Clone, Debug, Default)]
pub struct RecordingStats {
    stats: Arc<Mutex<Vec<ServerStats>>>,
}

impl RecordingStats {
    /// All gauges so far.
    pub fn stats(&self) -> Vec<ServerStats> {
        lock(&self.stats).clone()
    }
}

impl StatsSink for RecordingStats {
    fn stats(&self, stats: &ServerStats) {
        lock(&self.stats).push(stats.clone());
    }
}
