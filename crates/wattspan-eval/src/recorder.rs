//! What a run's inferences, spans and samples are caught with.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use opentelemetry::trace::TracerProvider as _;
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::trace::{SdkTracerProvider, SpanData, SpanExporter};
use tokio::sync::Notify;
use wattspan_core::{
    Begin, Device, DeviceId, Finish, InferenceId, InferenceObserver, InferenceRecord, IntensitySource,
    Locality, Place, PriceSource, Probe, RecordSink, RunId, SampleSink, SampleTick, SettleReason, Settlement,
    Workload,
};
use wattspan_dataset::{
    CaseTotals, DeviceInfo, MetricCollector, MetricRow, ResultCollector, SpanCollector, TraceRow,
};
use wattspan_genai::{GenAi, GenAiBuilder};

/// Catches what a run's cases do and take: give its three sinks to the monitor and the tracer provider before they start.
///
/// ```
/// use wattspan_core::RunId;
/// use wattspan_eval::Recorder;
///
/// let recorder = Recorder::builder(&RunId::new("demo-1")?).service("my-evaluation").build();
/// let sinks = (recorder.sample_sink(), recorder.record_sink(), recorder.span_exporter());
/// // Wattspan::builder().sample_sink(sinks.0).record_sink(sinks.1).span_exporter(sinks.2).start()?
/// # drop(sinks);
/// # Ok::<(), wattspan_core::InvalidRunId>(())
/// ```
///
/// Clones share what they catch. Only traces of cases are kept, and samples only while cases run: what else the program
/// does, warm-up requests and the loading of a model among it, is in no table.
#[derive(Clone)]
pub struct Recorder {
    pub(crate) shared: Arc<Shared>,
}

/// Puts a [`Recorder`] together.
pub struct RecorderBuilder {
    run: RunId,
    service: String,
    every: Duration,
    place: Place,
    intensity: Option<Arc<dyn IntensitySource>>,
    prices: Option<Arc<dyn PriceSource>>,
}

pub(crate) struct Shared {
    run: RunId,
    metrics: MetricCollector,
    results: ResultCollector,
    spans: SpanCollector,
    /// Whether samples are kept.
    sampling: AtomicBool,
    state: Mutex<State>,
    /// A record or a span of a case has come.
    changed: Notify,
    inferences: AtomicU64,
}

#[derive(Default)]
struct State {
    /// Traces of cases that are not written yet.
    traces: HashMap<[u8; 16], Caught>,
    devices: Vec<DeviceInfo>,
    known: HashSet<DeviceId>,
}

/// How much of a trace has come.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Caught {
    pub(crate) inferences: u64,
    pub(crate) spans: u64,
    pub(crate) locality: Option<Locality>,
}

impl Recorder {
    /// Catches a run, with the usual settings.
    pub fn new(run: &RunId) -> Self {
        Self::builder(run).build()
    }

    /// Catches a run, with settings.
    pub fn builder(run: &RunId) -> RecorderBuilder {
        RecorderBuilder {
            run: run.clone(),
            service: "wattspan-eval".to_owned(),
            every: Duration::from_secs(1),
            place: Place::default(),
            intensity: None,
            prices: None,
        }
    }

    /// For the monitor: fills the metrics table.
    pub fn sample_sink(&self) -> Arc<dyn SampleSink> {
        Arc::new(Samples(Arc::clone(&self.shared)))
    }

    /// For the monitor: fills what each case took.
    pub fn record_sink(&self) -> Arc<dyn RecordSink> {
        Arc::new(Records(Arc::clone(&self.shared)))
    }

    /// For the tracer provider: fills the traces table. A processor that hands spans on at once suits it best.
    pub fn span_exporter(&self) -> RecorderSpans {
        RecorderSpans(Arc::clone(&self.shared))
    }

    /// Instrumentation of a provider without a monitor: tokens and times are recorded here, energy is absent. For targets
    /// of one's own, and for programs that measure nothing.
    pub fn unmeasured(&self, provider: &str) -> GenAiBuilder {
        let tracers = SdkTracerProvider::builder().with_simple_exporter(self.span_exporter()).build();
        GenAi::builder(provider)
            .tracer(tracers.tracer("wattspan"))
            .observer(Arc::new(Unmeasured(Arc::clone(&self.shared))))
    }

    /// The run.
    pub fn run(&self) -> &RunId {
        &self.shared.run
    }

    /// Looks at a trace from now on.
    pub(crate) fn expect(&self, trace: [u8; 16]) {
        lock(&self.shared.state).traces.insert(trace, Caught::default());
    }

    /// Looks at a trace no longer and forgets what was caught of it.
    pub(crate) fn forget(&self, trace: [u8; 16]) {
        drop(self.take(trace));
    }

    pub(crate) fn caught(&self, trace: [u8; 16]) -> Caught {
        lock(&self.shared.state).traces.get(&trace).copied().unwrap_or_default()
    }

    /// Waits until this many inferences and spans of a trace have come, or the time is over.
    pub(crate) async fn settled(&self, trace: [u8; 16], inferences: u64, spans: u64, bound: Duration) {
        let whole = async {
            loop {
                let changed = self.shared.changed.notified();
                tokio::pin!(changed);
                // From here on nothing is missed.
                changed.as_mut().enable();
                let caught = self.caught(trace);
                if caught.inferences >= inferences && caught.spans >= spans {
                    return;
                }
                changed.await;
            }
        };
        // What has not come by then is written without it.
        let _ = tokio::time::timeout(bound, whole).await;
    }

    pub(crate) fn take(&self, trace: [u8; 16]) -> (Caught, Option<CaseTotals>, Option<TraceRow>) {
        let caught = lock(&self.shared.state).traces.remove(&trace).unwrap_or_default();
        (caught, self.shared.results.take(&trace), self.shared.spans.take(&hex(trace)))
    }

    /// Keeps samples from now on, or no longer.
    pub(crate) fn sample(&self, on: bool) {
        self.shared.sampling.store(on, Ordering::Release);
    }

    pub(crate) fn drain_metrics(&self) -> Vec<MetricRow> {
        self.shared.metrics.drain()
    }

    pub(crate) fn devices(&self) -> Vec<DeviceInfo> {
        lock(&self.shared.state).devices.clone()
    }

    /// What found no place, by kind.
    pub(crate) fn dropped(&self) -> [(&'static str, u64); 3] {
        let shared = &self.shared;
        [
            ("metric_rows", shared.metrics.dropped()),
            ("case_totals", shared.results.dropped()),
            ("spans", shared.spans.dropped()),
        ]
    }
}

impl RecorderBuilder {
    /// `service.name` of the metric rows; `wattspan-eval` unless set.
    pub fn service(mut self, name: impl Into<String>) -> Self {
        self.service = name.into();
        self
    }

    /// The least time between two metric rows of a device; a second unless set.
    pub fn every(mut self, every: Duration) -> Self {
        self.every = every;
        self
    }

    /// Where electricity is drawn, for grams and cost in the metrics table.
    pub fn place(mut self, place: Place) -> Self {
        self.place = place;
        self
    }

    /// What grams in the metrics table are worked out with.
    pub fn intensity(mut self, source: Arc<dyn IntensitySource>) -> Self {
        self.intensity = Some(source);
        self
    }

    /// What cost in the metrics table is worked out with.
    pub fn prices(mut self, source: Arc<dyn PriceSource>) -> Self {
        self.prices = Some(source);
        self
    }

    /// Makes it.
    pub fn build(self) -> Recorder {
        let mut metrics = MetricCollector::new(&self.run, self.service).every(self.every).place(self.place);
        if let Some(source) = self.intensity {
            metrics = metrics.intensity(source);
        }
        if let Some(source) = self.prices {
            metrics = metrics.prices(source);
        }
        let shared = Shared {
            spans: SpanCollector::new(&self.run),
            run: self.run,
            metrics,
            results: ResultCollector::default(),
            sampling: AtomicBool::new(false),
            state: Mutex::default(),
            changed: Notify::new(),
            inferences: AtomicU64::new(0),
        };
        Recorder { shared: Arc::new(shared) }
    }
}

impl std::fmt::Debug for Recorder {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Recorder").field("run", &self.shared.run).finish_non_exhaustive()
    }
}

impl std::fmt::Debug for RecorderBuilder {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("RecorderBuilder").field("run", &self.run).finish_non_exhaustive()
    }
}

struct Samples(Arc<Shared>);

impl SampleSink for Samples {
    fn sampled(&self, tick: &SampleTick<'_>) {
        if !self.0.sampling.load(Ordering::Acquire) {
            return;
        }
        {
            let mut state = lock(&self.0.state);
            for device in tick.samples.iter().map(|sample| &sample.device) {
                state.device(device);
            }
        }
        self.0.metrics.sampled(tick);
    }
}

impl State {
    fn device(&mut self, device: &Device) {
        if !self.known.contains(&device.id) {
            self.known.insert(device.id.clone());
            self.devices.push(DeviceInfo::of(device));
        }
    }
}

struct Records(Arc<Shared>);

impl RecordSink for Records {
    fn record(&self, record: &InferenceRecord) {
        self.0.record(record);
    }
}

impl Shared {
    fn record(&self, record: &InferenceRecord) {
        let Some(place) = &record.facts.trace else { return };
        if record.begin.workload == Workload::Load || !lock(&self.state).traces.contains_key(&place.trace_id)
        {
            return;
        }
        self.results.record(record);
        // Counted last: who sees the count finds the sums.
        if let Some(caught) = lock(&self.state).traces.get_mut(&place.trace_id) {
            caught.inferences += 1;
            caught.locality = Some(record.begin.locality);
        }
        self.changed.notify_waiters();
    }
}

/// A span exporter that keeps the spans of a run's cases.
#[derive(Clone)]
pub struct RecorderSpans(Arc<Shared>);

impl SpanExporter for RecorderSpans {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        let mut ours: Vec<SpanData> = batch;
        let mut counts: HashMap<[u8; 16], u64> = HashMap::new();
        {
            let state = lock(&self.0.state);
            ours.retain(|span| state.traces.contains_key(&span.span_context.trace_id().to_bytes()));
        }
        for span in &ours {
            *counts.entry(span.span_context.trace_id().to_bytes()).or_default() += 1;
        }
        if counts.is_empty() {
            return Ok(());
        }
        self.0.spans.export(ours).await?;
        {
            let mut state = lock(&self.0.state);
            for (trace, count) in counts {
                if let Some(caught) = state.traces.get_mut(&trace) {
                    caught.spans += count;
                }
            }
        }
        self.0.changed.notify_waiters();
        Ok(())
    }

    fn set_resource(&mut self, resource: &Resource) {
        // Its clones share what they keep, the resource too.
        self.0.spans.clone().set_resource(resource);
    }
}

impl std::fmt::Debug for RecorderSpans {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("RecorderSpans").field("run", &self.0.run).finish_non_exhaustive()
    }
}

/// Settles inferences at once, with nothing measured.
struct Unmeasured(Arc<Shared>);

impl InferenceObserver for Unmeasured {
    fn begin(&self, begin: Begin) -> Box<dyn Probe> {
        let id = InferenceId::new(self.0.inferences.fetch_add(1, Ordering::Relaxed));
        Box::new(UnmeasuredProbe { shared: Arc::clone(&self.0), id, begin })
    }
}

struct UnmeasuredProbe {
    shared: Arc<Shared>,
    id: InferenceId,
    begin: Begin,
}

impl Probe for UnmeasuredProbe {
    fn decoded(&self, _: u64) {}

    fn prompted(&self, _: u64) {}

    fn finish(self: Box<Self>, finish: Finish) {
        let settlement = Settlement::unknown(SettleReason::NotObserved);
        let Self { shared, id, begin } = *self;
        let Finish { end, facts, settle, .. } = finish;
        settle.settle(&settlement);
        shared.record(&InferenceRecord::new(id, begin, end, facts, settlement));
    }
}

pub(crate) fn hex(trace: [u8; 16]) -> String {
    use std::fmt::Write as _;
    trace.iter().fold(String::with_capacity(32), |mut text, byte| {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// A lock whose holder panicked is taken on: the collections behind it are whole after every statement.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
