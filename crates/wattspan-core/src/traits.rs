//! The traits between the crates. Each says who calls, on which thread, how often, and whether it may block.

use std::time::SystemTime;

use crate::{
    Begin, Cell, CollectError, Device, DeviceSample, ElectricityPrice, Facts, InferenceRecord, Intensity,
    IntervalEnergy, LatePhases, MonoTime, Place, Row, RunId, SampleBuffer, ServerStats, Settlement,
    SinkError, Table, TokenPrice,
};
use std::sync::Arc;

/// Reads devices of one vendor or subsystem.
///
/// Owned by the sampler thread, which alone calls it, up to a hundred times a second. A call may take as long as the
/// driver takes and must not wait for anything else.
pub trait Collector: Send {
    /// Short name for logs and reports, such as `nvidia`.
    fn name(&self) -> &'static str;

    /// The devices found so far. Changes only inside [`Collector::sample`].
    fn devices(&self) -> &[Arc<Device>];

    /// Reads every device once and pushes one sample for each, also where all its readings are absent. A device that
    /// vanished gets samples whose readings are [`Reading::Failed`](crate::Reading::Failed).
    ///
    /// # Errors
    /// When nothing could be read at all. One device's trouble is not an error.
    fn sample(&mut self, into: &mut SampleBuffer<'_>) -> Result<(), CollectError>;

    /// Names the processes whose use should be reported from now on, in addition to those that the driver lists.
    /// Collectors that cannot tell ignore it.
    fn watch(&mut self, processes: &[u32]);
}

/// Answers with the carbon intensity of a place.
///
/// Called on the settlement thread and by exporters: must answer from memory. A worker of the source's own keeps that
/// memory fresh.
pub trait IntensitySource: Send + Sync {
    /// Short name for logs, such as `electricity-maps`.
    fn name(&self) -> &str;

    /// The best value known for a place at a time; `None` where it knows nothing of that place.
    fn latest(&self, place: &Place, at: SystemTime) -> Option<Intensity>;
}

/// Answers with prices. Called on the settlement thread: must answer from memory.
pub trait PriceSource: Send + Sync {
    /// Price of electricity at a place and time; `None` where it is not known.
    fn electricity(&self, place: &Place, at: SystemTime) -> Option<ElectricityPrice>;

    /// Prices of a hosted model's tokens; `None` where the user gave none. Never asked for a local model unless the
    /// user says so.
    fn tokens(&self, provider: &str, model: &str) -> Option<TokenPrice>;
}

/// Watches inferences and settles them. Implemented by the monitor, called by the instrumentation.
pub trait InferenceObserver: Send + Sync {
    /// An inference begins. Called on the caller's thread: must not block and should cost well under a microsecond.
    fn begin(&self, begin: Begin) -> Box<dyn Probe>;
}

/// One inference in flight. Belongs to its caller; marks may come from several threads.
///
/// Dropping a probe without [`Probe::finish`] gives the inference up: it ends at the drop and is not recorded.
pub trait Probe: Send + Sync {
    /// Decode steps have been made: one per output token, or per emitted batch of them. Costs an atomic addition.
    fn decoded(&self, steps: u64);

    /// Prompt tokens have been computed. Costs an atomic addition.
    fn prompted(&self, tokens: u64);

    /// The inference has ended. Never waits: `settle` is called later from the settlement thread, exactly once, also
    /// at shutdown.
    fn finish(self: Box<Self>, finish: Finish);
}

/// What a probe gets at the end.
#[non_exhaustive]
pub struct Finish {
    /// When it ended.
    pub end: MonoTime,
    /// What came back.
    pub facts: Facts,
    /// Phases that a server reported.
    pub phases: LatePhases,
    /// Ends the span.
    pub settle: Box<dyn Settle>,
}

impl Finish {
    /// Puts the parts together.
    pub fn new(end: MonoTime, facts: Facts, phases: LatePhases, settle: Box<dyn Settle>) -> Self {
        Self { end, facts, phases, settle }
    }
}

impl std::fmt::Debug for Finish {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Finish").field("end", &self.end).field("facts", &self.facts).finish_non_exhaustive()
    }
}

/// Holds a live span and ends it once its energy is known.
pub trait Settle: Send {
    /// Sets what is known on the span, each key once, and ends it with its own end time. Called on the settlement
    /// thread (or on the caller's, when nobody observes); may run an exporter.
    fn settle(self: Box<Self>, settlement: &Settlement);
}

/// Takes a model server's gauges. Called by its poller, every few seconds: must not block.
pub trait StatsSink: Send + Sync {
    /// New gauges.
    fn stats(&self, stats: &ServerStats);
}

/// Takes device samples and the energy of closed intervals. Called on the settlement thread: should not block for
/// long, and a slow sink delays settlement only.
pub trait SampleSink: Send + Sync {
    /// One tick of the sampler.
    fn sampled(&self, tick: &SampleTick<'_>);
}

/// One tick, as a [`SampleSink`] gets it.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct SampleTick<'a> {
    /// When the tick began.
    pub time: MonoTime,
    /// The same moment on the wall clock.
    pub wall: SystemTime,
    /// All devices' samples.
    pub samples: &'a [DeviceSample],
    /// Intervals that this tick closed.
    pub intervals: &'a [IntervalEnergy],
}

impl<'a> SampleTick<'a> {
    /// Puts the parts together.
    pub fn new(
        time: MonoTime,
        wall: SystemTime,
        samples: &'a [DeviceSample],
        intervals: &'a [IntervalEnergy],
    ) -> Self {
        Self { time, wall, samples, intervals }
    }
}

/// Takes settled inferences. Called on the settlement thread: should not block for long.
pub trait RecordSink: Send + Sync {
    /// One settled inference.
    fn record(&self, record: &InferenceRecord);
}

/// Stores a run's tables somewhere. Owned by one task; calls do not overlap.
///
/// Everything is idempotent by run id: the same rows written again change nothing.
#[async_trait::async_trait]
pub trait DatasetSink: Send {
    /// Makes the tables of a run, or finds them.
    ///
    /// # Errors
    /// When the place cannot be reached or written.
    async fn create(&mut self, run: &RunId) -> Result<(), SinkError>;

    /// Adds rows to a table. Rows come in order and in batches of any size.
    ///
    /// # Errors
    /// When they could not be stored; the error says whether to come again.
    async fn write(&mut self, table: Table, rows: &[Row]) -> Result<(), SinkError>;

    /// Stores the run's metadata and makes everything durable. Answers where the run can be found.
    ///
    /// # Errors
    /// When it could not be completed; what was written stays.
    async fn finish(&mut self, metadata: &Cell) -> Result<String, SinkError>;
}
