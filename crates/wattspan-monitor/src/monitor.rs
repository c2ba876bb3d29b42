//! The two threads, and the guard that ends them.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
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
use crate::cadence::{BATCHES, Cadence, sample_until};
use crate::estimate::EstimateInputs;
use crate::guard::unwind;
use crate::instruments::{Choice, Instruments};
use crate::link::{Link, name, unix_nanos};
use crate::queue::{Observer, Queue, Waiters};
use crate::sampler::{Batch, Sampler};
use crate::settlement::{Context, Settler};
use crate::sinks::Sinks;
use crate::stepper::Stepper;

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
    stop_within: Duration,
    most_open: usize,
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
            stop_within: Duration::from_secs(10),
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

    /// Sets how often the sampler polls; a period below a millisecond counts as one.
    pub fn cadence(mut self, cadence: Cadence) -> Self {
        let least = |period: Duration| period.max(Duration::from_millis(1));
        self.cadence = Cadence {
            busy: least(cadence.busy),
            recent: least(cadence.recent),
            idle: least(cadence.idle),
            linger: cadence.linger,
        };
        self
    }

    /// Sets how long an ended inference waits at most for the reading that covers its end.
    pub fn settle_within(mut self, bound: Duration) -> Self {
        self.settle_within = bound;
        self
    }

    /// Sets how long dropping the monitor waits at most for its threads, which a driver or an exporter may hold up; ten
    /// seconds unless set. Threads that take longer end by themselves.
    pub fn stop_within(mut self, bound: Duration) -> Self {
        self.stop_within = bound;
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
        let (cadence, stop_within) = (self.cadence, self.stop_within);
        let devices = self.devices();
        let (link, mut sampler, mut settler) = self.parts();
        let stop = Arc::new(AtomicBool::new(false));
        let rounds = Arc::new(Waiters::default());
        let (send, receive) = mpsc::sync_channel::<Batch>(BATCHES);
        // Each thread holds a sender, which goes with it: when all are gone, the threads have ended.
        let (alive, ended) = mpsc::channel::<()>();
        let settlement = {
            let (rounds, alive) = (Arc::clone(&rounds), alive.clone());
            std::thread::Builder::new().name("wattspan-settle".to_owned()).spawn(move || {
                while let Ok(batch) = receive.recv() {
                    unwind("settlement", || settler.process(batch));
                    rounds.done();
                }
                drop((settler, alive));
            })?
        };
        let sampling = {
            let (queue, stop) = (Arc::clone(&link.queue), Arc::clone(&stop));
            std::thread::Builder::new().name("wattspan-sample".to_owned()).spawn(move || {
                sample_until(&stop, &queue, cadence, &mut sampler, &send);
                // The settlement thread ends when nothing more can come.
                drop((sampler, send, alive));
            })?
        };
        let threads = vec![sampling, settlement];
        Ok(Monitor { link, stop, rounds, devices, threads, ended: Mutex::new(ended), stop_within })
    }

    fn devices(&self) -> Vec<Arc<Device>> {
        self.collectors.iter().flat_map(|collector| collector.devices()).cloned().collect()
    }

    fn parts(mut self) -> (Link, Sampler, Settler) {
        let board = self.context.board.clone();
        self.context.instruments =
            self.meter.as_ref().and_then(|meter| Instruments::new(meter, self.choice, &board));
        let (queue, receive) = Queue::new(Arc::clone(&self.clock), self.most_open);
        let link = Link {
            queue: Arc::clone(&queue),
            board,
            sinks: Arc::clone(&self.context.sinks),
            clock: Arc::clone(&self.clock),
            name: name(&*self.clock),
            epoch_unix_nanos: unix_nanos(&*self.clock),
            overhead: self.context.overhead,
            estimate: self.context.estimate.clone(),
        };
        let sampler = Sampler::new(self.clock, self.collectors, receive);
        let settler = Settler::new(queue, self.context, self.ledger, self.settle_within);
        (link, sampler, settler)
    }

    /// Builds a monitor without threads, which polls when it is told to; for tests and for playing tapes.
    pub fn stepper(self) -> Stepper {
        let (link, sampler, settler) = self.parts();
        Stepper { link, sampler, settler }
    }
}

/// A running monitor. Dropping it settles what is left and ends its threads.
pub struct Monitor {
    link: Link,
    stop: Arc<AtomicBool>,
    rounds: Arc<Waiters>,
    devices: Vec<Arc<Device>>,
    threads: Vec<JoinHandle<()>>,
    /// Answers that all senders are gone once the threads have ended.
    ended: Mutex<mpsc::Receiver<()>>,
    stop_within: Duration,
}

impl Monitor {
    /// A builder with the system clock and no collectors.
    pub fn builder() -> MonitorBuilder {
        MonitorBuilder::default()
    }

    /// The observer for the instrumentation.
    pub fn observer(&self) -> Arc<dyn InferenceObserver> {
        Arc::new(Observer(Arc::clone(&self.link.queue)))
    }

    /// The devices that the collectors had found at the start.
    pub fn devices(&self) -> &[Arc<Device>] {
        &self.devices
    }

    /// All devices and servers as of the last poll; `None` before the first.
    pub fn snapshot(&self) -> Option<Snapshot> {
        self.link.board.snapshot(self.link.queue.open())
    }

    /// Where a model server's poller puts its gauges.
    pub fn stats_sink(&self) -> Arc<dyn StatsSink> {
        Arc::new(self.link.board.clone())
    }

    /// Adds a sink for device samples and intervals while the monitor runs.
    pub fn add_sample_sink(&self, sink: Arc<dyn SampleSink>) {
        self.link.sinks.samples.write().unwrap_or_else(PoisonError::into_inner).push(sink);
    }

    /// Adds a sink for settled inferences while the monitor runs.
    pub fn add_record_sink(&self, sink: Arc<dyn RecordSink>) {
        self.link.sinks.records.write().unwrap_or_else(PoisonError::into_inner).push(sink);
    }

    /// Waits until every inference that has ended is settled, or until the time is up. Answers whether all are.
    ///
    /// Inferences still in flight keep it waiting.
    pub fn flush(&self, timeout: Duration) -> bool {
        let until = Instant::now() + timeout;
        let _hurry = self.link.queue.hurry();
        while self.link.queue.open() > 0 {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            // A round that ended between the question and the wait is made up for by the next.
            self.rounds.wait(left.min(Duration::from_millis(50)));
        }
        true
    }

    pub(crate) fn link(&self) -> &Link {
        &self.link
    }

    fn stop(&mut self) {
        self.link.queue.close();
        self.stop.store(true, Ordering::Release);
        self.link.queue.wake().notify();
        let own = std::thread::current().id();
        if self.threads.iter().any(|thread| thread.thread().id() == own) {
            // Dropped by a sink, on a thread that would wait for itself.
            return;
        }
        let ended = self.ended.get_mut().unwrap_or_else(PoisonError::into_inner);
        if ended.recv_timeout(self.stop_within) == Err(mpsc::RecvTimeoutError::Timeout) {
            tracing::error!(
                "the monitor's threads are held up by a driver, a sink or an exporter and are left to themselves"
            );
            return;
        }
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
