//! The two threads, and the guard that ends them.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, mpsc};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use opentelemetry::metrics::Meter;
use wattspan_core::{
    Clock, Collector, Device, DeviceScope, InferenceObserver, IntensitySource, Place, PriceSource,
    RecordSink, RunId, SampleSink, StatsSink, SystemClock,
};
use wattspan_energy::{HardwareRate, LedgerConfig, Overhead};
use wattspan_semconv::Profile;

use crate::board::{Board, Snapshot};
use crate::estimate::EstimateInputs;
use crate::instruments::{Choice, Instruments};

use crate::queue::{Observer, Queue, Waiters};
use crate::sampler::{Batch, Sampler};
use crate::settlement::{Context, Settler, Sinks};

/// Puts a monitor together.
pub struct MonitorBuilder {
    clock: Arc<dyn Clock>,
    collectors: Vec<Box<dyn Collector>>,
    context: Context,
    ledger: LedgerConfig,
    meter: Option<Meter>,
    choice: Choice,
    cadence: Cadence,
    settle_within: Duration,
    most_open: usize,
}

/// How often the sampler polls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cadence {
    /// While an inference is in flight or waits for its settlement.
    pub busy: Duration,
    /// For [`Cadence::linger`] after that, so that the idle draw between requests that come often is known.
    pub recent: Duration,
    /// When nothing has happened for longer.
    pub idle: Duration,
    /// How long after the last inference `recent` holds.
    pub linger: Duration,
}

impl Default for Cadence {
    /// 20 ms busy: a fifth of the refresh period of most GPU counters; 200 ms for ten seconds after; then 1 s.
    fn default() -> Self {
        Self {
            busy: Duration::from_millis(20),
            recent: Duration::from_millis(200),
            idle: Duration::from_secs(1),
            linger: Duration::from_secs(10),
        }
    }
}

impl Default for MonitorBuilder {
    fn default() -> Self {
        Self {
            clock: Arc::new(SystemClock),
            collectors: Vec::new(),
            context: Context {
                scope: DeviceScope::All,
                place: Place::default(),
                intensity: None,
                prices: None,
                price_local_tokens: false,
                hardware: None,
                overhead: Overhead::NONE,
                estimate: EstimateInputs::default(),
                run: None,
                instruments: None,
                board: Board::default(),
                sinks: Arc::new(Sinks::default()),
            },
            ledger: LedgerConfig::default(),
            meter: None,
            choice: Choice::default(),
            cadence: Cadence::default(),
            settle_within: Duration::from_secs(3),
            most_open: 65_536,
        }
    }
}

impl MonitorBuilder {
    /// Adds a collector.
    pub fn collector(mut self, collector: Box<dyn Collector>) -> Self {
        self.collectors.push(collector);
        self
    }

    /// Takes another clock than the system's.
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = clock;
        self
    }

    /// Which devices inferences use that do not say it themselves.
    pub fn scope(mut self, scope: DeviceScope) -> Self {
        self.context.scope = scope;
        self
    }

    /// Where electricity is drawn.
    pub fn place(mut self, place: Place) -> Self {
        self.context.place = place;
        self
    }

    /// Where carbon intensity comes from.
    pub fn intensity(mut self, source: Arc<dyn IntensitySource>) -> Self {
        self.context.intensity = Some(source);
        self
    }

    /// Where prices come from.
    pub fn prices(mut self, source: Arc<dyn PriceSource>) -> Self {
        self.context.prices = Some(source);
        self
    }

    /// Adds a sink for device samples and intervals.
    pub fn sample_sink(self, sink: Arc<dyn SampleSink>) -> Self {
        self.context.sinks.samples.write().unwrap_or_else(PoisonError::into_inner).push(sink);
        self
    }

    /// Adds a sink for settled inferences.
    pub fn record_sink(self, sink: Arc<dyn RecordSink>) -> Self {
        self.context.sinks.records.write().unwrap_or_else(PoisonError::into_inner).push(sink);
        self
    }

    /// Records metrics of devices and of attributed energy on a meter. Once per meter and process: observable
    /// instruments cannot be taken back.
    pub fn meter(mut self, meter: Meter) -> Self {
        self.meter = Some(meter);
        self
    }

    /// Chooses the names of metrics.
    pub fn profile(mut self, profile: Profile) -> Self {
        self.choice.profile = profile;
        self
    }

    /// Records SMOLTRACE's seven metrics too.
    pub fn smoltrace_metrics(mut self, on: bool) -> Self {
        self.choice.smoltrace = on;
        self
    }

    /// Sets policy, uncertainty and calibrated gains of the ledger.
    pub fn ledger(mut self, config: LedgerConfig) -> Self {
        self.ledger = config;
        self
    }

    /// Estimates what has no sensor, labelled so. Without this nothing is estimated.
    pub fn estimate(mut self, inputs: EstimateInputs) -> Self {
        self.context.estimate = inputs;
        self
    }

    /// Adds a stated factor for what lies outside the devices, such as a data centre's PUE, to grams and cost.
    pub fn overhead(mut self, overhead: Overhead) -> Self {
        self.context.overhead = overhead;
        self
    }

    /// Adds the hardware's price to the cost of local inferences.
    pub fn hardware(mut self, rate: HardwareRate) -> Self {
        self.context.hardware = Some(rate);
        self
    }

    /// Prices the tokens of local models by the price book instead of their electricity.
    pub fn price_local_tokens(mut self, on: bool) -> Self {
        self.context.price_local_tokens = on;
        self
    }

    /// Names the run that records belong to.
    pub fn run(mut self, run: RunId) -> Self {
        self.context.run = Some(run);
        self
    }

    /// Sets how often the sampler polls.
    pub fn cadence(mut self, cadence: Cadence) -> Self {
        self.cadence = cadence;
        self
    }

    /// Sets how long an ended inference waits at most for the reading that covers its end.
    pub fn settle_within(mut self, bound: Duration) -> Self {
        self.settle_within = bound;
        self
    }

    /// Sets how many inferences may be in flight or wait for settlement; more are not measured, and counted.
    pub fn most_open(mut self, most: usize) -> Self {
        self.most_open = most;
        self
    }

    /// Starts the two threads.
    ///
    /// # Errors
    /// When the operating system refuses a thread.
    pub fn start(self) -> std::io::Result<Monitor> {
        let cadence = self.cadence;
        let (board, sinks) = (self.context.board.clone(), Arc::clone(&self.context.sinks));
        let devices = self.devices();
        let (queue, mut sampler, mut settler) = self.parts();
        let stop = Arc::new(AtomicBool::new(false));
        let rounds = Arc::new(Waiters::default());
        let (send, receive) = mpsc::sync_channel::<Batch>(BATCHES);
        let settlement = {
            let rounds = Arc::clone(&rounds);
            std::thread::Builder::new().name("wattspan-settle".to_owned()).spawn(move || {
                while let Ok(batch) = receive.recv() {
                    settler.process(batch);
                    rounds.done();
                }
            })?
        };
        let sampling = {
            let (queue, stop) = (Arc::clone(&queue), Arc::clone(&stop));
            std::thread::Builder::new()
                .name("wattspan-sample".to_owned())
                .spawn(move || sample_until(&stop, &queue, cadence, &mut sampler, &send))?
        };
        Ok(Monitor { queue, stop, rounds, board, sinks, devices, threads: vec![sampling, settlement] })
    }

    fn devices(&self) -> Vec<Arc<Device>> {
        self.collectors.iter().flat_map(|collector| collector.devices()).cloned().collect()
    }

    fn parts(mut self) -> (Arc<Queue>, Sampler, Settler) {
        let board = &self.context.board;
        self.context.instruments =
            self.meter.as_ref().and_then(|meter| Instruments::new(meter, self.choice, board));
        let (queue, receive) = Queue::new(Arc::clone(&self.clock), self.most_open);
        let sampler = Sampler::new(self.clock, self.collectors, receive);
        let settler = Settler::new(Arc::clone(&queue), self.context, self.ledger, self.settle_within);
        (queue, sampler, settler)
    }

    /// Builds a monitor without threads, which polls when it is told to; for tests and for playing tapes.
    pub fn stepper(self) -> Stepper {
        let board = self.context.board.clone();
        let (queue, sampler, settler) = self.parts();
        Stepper { queue, sampler, settler, board }
    }
}

/// Batches that may wait for the settlement thread. The sampler waits when an exporter holds settlement up that long;
/// counters lose nothing by it.
const BATCHES: usize = 64;

fn sample_until(
    stop: &AtomicBool,
    queue: &Queue,
    cadence: Cadence,
    sampler: &mut Sampler,
    send: &mpsc::SyncSender<Batch>,
) {
    let mut last_busy: Option<Instant> = None;
    let mut deadline = Instant::now();
    loop {
        let last = stop.load(Ordering::Acquire);
        if send.send(sampler.poll(last)).is_err() || last {
            return;
        }
        let now = Instant::now();
        let period = if queue.open() > 0 {
            last_busy = Some(now);
            cadence.busy
        } else if last_busy.is_some_and(|busy| now - busy < cadence.linger) {
            cadence.recent
        } else {
            cadence.idle
        };
        // Deadlines are multiples of the period, so that polls do not drift; those that were slept through are
        // skipped.
        deadline += period;
        if deadline <= now {
            deadline = now + period;
        }
        if queue.wake().sleep_until(deadline) {
            deadline = Instant::now();
        }
    }
}

/// A running monitor. Dropping it settles what is left and ends its threads.
pub struct Monitor {
    queue: Arc<Queue>,
    stop: Arc<AtomicBool>,
    rounds: Arc<Waiters>,
    board: Board,
    sinks: Arc<Sinks>,
    devices: Vec<Arc<Device>>,
    threads: Vec<JoinHandle<()>>,
}

impl Monitor {
    /// A builder with the system clock and no collectors.
    pub fn builder() -> MonitorBuilder {
        MonitorBuilder::default()
    }

    /// The observer for the instrumentation.
    pub fn observer(&self) -> Arc<dyn InferenceObserver> {
        Arc::new(Observer(Arc::clone(&self.queue)))
    }

    /// The devices that the collectors had found at the start.
    pub fn devices(&self) -> &[Arc<Device>] {
        &self.devices
    }

    /// All devices and servers as of the last poll; `None` before the first.
    pub fn snapshot(&self) -> Option<Snapshot> {
        self.board.snapshot(self.queue.open())
    }

    /// Where a model server's poller puts its gauges.
    pub fn stats_sink(&self) -> Arc<dyn StatsSink> {
        Arc::new(self.board.clone())
    }

    /// Adds a sink for device samples and intervals while the monitor runs.
    pub fn add_sample_sink(&self, sink: Arc<dyn SampleSink>) {
        self.sinks.samples.write().unwrap_or_else(PoisonError::into_inner).push(sink);
    }

    /// Adds a sink for settled inferences while the monitor runs.
    pub fn add_record_sink(&self, sink: Arc<dyn RecordSink>) {
        self.sinks.records.write().unwrap_or_else(PoisonError::into_inner).push(sink);
    }

    /// Waits until every inference that has ended is settled, or until the time is up. Answers whether all are.
    ///
    /// Inferences still in flight keep it waiting.
    pub fn flush(&self, timeout: Duration) -> bool {
        let until = Instant::now() + timeout;
        while self.queue.open() > 0 {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            self.queue.wake().notify();
            self.rounds.wait(left.min(Duration::from_millis(50)));
        }
        true
    }

    fn stop(&mut self) {
        self.queue.close();
        self.stop.store(true, Ordering::Release);
        self.queue.wake().notify();
        for thread in self.threads.drain(..) {
            if thread.join().is_err() {
                tracing::error!("a monitor thread panicked");
            }
        }
    }
}

impl Drop for Monitor {
    fn drop(&mut self) {
        self.stop();
    }
}

/// A monitor without threads.
pub struct Stepper {
    queue: Arc<Queue>,
    sampler: Sampler,
    settler: Settler,
    board: Board,
}

impl Stepper {
    /// All devices as of the last poll; `None` before the first.
    pub fn snapshot(&self) -> Option<Snapshot> {
        self.board.snapshot(self.queue.open())
    }

    /// The observer for the instrumentation.
    pub fn observer(&self) -> Arc<dyn InferenceObserver> {
        Arc::new(Observer(Arc::clone(&self.queue)))
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
        self.queue.open()
    }
}
