//! A rig of in-memory exporters.

use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use opentelemetry::logs::LoggerProvider as _;
use opentelemetry::metrics::MeterProvider as _;
use opentelemetry::trace::TracerProvider as _;
use opentelemetry::{KeyValue, Value};
use opentelemetry_sdk::logs::{InMemoryLogExporter, SdkLogRecord, SdkLoggerProvider};
use opentelemetry_sdk::metrics::data::{self, AggregatedMetrics, MetricData, SumDataPoint};
use opentelemetry_sdk::metrics::{InMemoryMetricExporter, PeriodicReader, SdkMeterProvider};
use opentelemetry_sdk::trace::{InMemorySpanExporter, Sampler, SdkTracerProvider, SpanData};
use wattspan_core::{Begin, Finish, InferenceObserver, Probe, ScriptedClock, Settlement};
use wattspan_genai::{GenAi, GenAiBuilder, LogEvents, Profile};
use wattspan_semconv::conformance::{self, Metric, Telemetry};
use wattspan_testkit::neutral;

/// Providers whose output stays in memory, and a clock that stands still.
pub(crate) struct Rig {
    pub(crate) profile: Profile,
    pub(crate) clock: Arc<ScriptedClock>,
    pub(crate) tracers: SdkTracerProvider,
    meters: SdkMeterProvider,
    loggers: SdkLoggerProvider,
    spans: InMemorySpanExporter,
    metrics: InMemoryMetricExporter,
    logs: InMemoryLogExporter,
}

/// A point of a metric: its attributes and what it says.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Point {
    pub(crate) attributes: Vec<(String, String)>,
    pub(crate) count: u64,
    pub(crate) sum: f64,
}

impl Point {
    fn new<'a>(attributes: impl Iterator<Item = &'a KeyValue>, count: u64, sum: f64) -> Self {
        let text = |pair: &KeyValue| (pair.key.as_str().to_owned(), pair.value.as_str().into_owned());
        Self { attributes: attributes.map(text).collect(), count, sum }
    }

    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.attributes.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }
}

pub(crate) fn start() -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000)
}

pub(crate) fn seconds(seconds: f64) -> Duration {
    Duration::from_nanos((seconds * 1e9).round() as u64)
}

impl Rig {
    pub(crate) fn new(profile: Profile) -> Self {
        Self::sampled(profile, Sampler::AlwaysOn)
    }

    pub(crate) fn sampled(profile: Profile, sampler: Sampler) -> Self {
        let (spans, metrics, logs) = (
            InMemorySpanExporter::default(),
            InMemoryMetricExporter::default(),
            InMemoryLogExporter::default(),
        );
        Self {
            profile,
            clock: Arc::new(ScriptedClock::new(start())),
            tracers: SdkTracerProvider::builder()
                .with_sampler(sampler)
                .with_simple_exporter(spans.clone())
                .build(),
            meters: SdkMeterProvider::builder()
                .with_reader(
                    PeriodicReader::builder(metrics.clone())
                        .with_interval(Duration::from_secs(3_600))
                        .build(),
                )
                .build(),
            loggers: SdkLoggerProvider::builder().with_simple_exporter(logs.clone()).build(),
            spans,
            metrics,
            logs,
        }
    }

    /// Without a log sink.
    pub(crate) fn builder(&self) -> GenAiBuilder {
        GenAi::builder("llama_cpp")
            .tracer(self.tracers.tracer("test"))
            .meter(self.meters.meter("test"))
            .profile(self.profile)
            .clock(self.clock.clone())
    }

    /// With a log sink.
    pub(crate) fn with_logs(&self) -> GenAiBuilder {
        self.builder().events(Arc::new(LogEvents::new(self.loggers.logger("test"))))
    }

    pub(crate) fn genai(&self) -> GenAi {
        self.builder().build()
    }

    pub(crate) fn advance(&self, by: f64) {
        self.clock.advance(seconds(by));
    }

    pub(crate) fn spans(&self) -> Vec<SpanData> {
        self.spans.get_finished_spans().unwrap()
    }

    /// The only span.
    #[track_caller]
    pub(crate) fn span(&self) -> SpanData {
        let spans = self.spans();
        assert_eq!(spans.len(), 1, "{spans:#?}");
        spans.into_iter().next().unwrap()
    }

    pub(crate) fn logs(&self) -> Vec<SdkLogRecord> {
        self.logs.get_emitted_logs().unwrap().into_iter().map(|log| log.record).collect()
    }

    /// All metrics so far. Cumulative: the last export stands.
    pub(crate) fn metrics(&self) -> Vec<(Metric, Vec<Point>)> {
        self.metrics.reset();
        self.meters.force_flush().unwrap();
        let exported = self.metrics.get_finished_metrics().unwrap();
        let Some(last) = exported.last() else { return Vec::new() };
        last.scope_metrics()
            .flat_map(opentelemetry_sdk::metrics::data::ScopeMetrics::metrics)
            .map(metric)
            .collect()
    }

    /// Points of one metric; empty when it was not recorded.
    pub(crate) fn points(&self, name: &str) -> Vec<Point> {
        let found = self.metrics().into_iter().find(|(metric, _)| metric.name == name);
        found.map(|(_, points)| points).unwrap_or_default()
    }

    /// Everything recorded conforms to the profile.
    #[track_caller]
    pub(crate) fn check(&self) {
        let telemetry = Telemetry {
            spans: self.spans().iter().map(neutral::span).collect(),
            metrics: self.metrics().into_iter().map(|(metric, _)| metric).collect(),
            events: self.logs().iter().map(neutral::log).collect(),
            ..Telemetry::default()
        };
        let violations = conformance::check(self.profile, &telemetry);
        let texts: Vec<String> = violations.iter().map(ToString::to_string).collect();
        assert_eq!(texts, Vec::<String>::new(), "profile {}", self.profile);
    }
}

pub(crate) fn value<'a>(attributes: &'a [KeyValue], name: &str) -> Option<&'a Value> {
    attributes.iter().find(|pair| pair.key.as_str() == name).map(|pair| &pair.value)
}

#[track_caller]
pub(crate) fn text(attributes: &[KeyValue], name: &str) -> String {
    value(attributes, name).unwrap_or_else(|| panic!("no {name}")).as_str().into_owned()
}

pub(crate) fn names(attributes: &[KeyValue]) -> Vec<&str> {
    attributes.iter().map(|pair| pair.key.as_str()).collect()
}

fn metric(metric: &data::Metric) -> (Metric, Vec<Point>) {
    let points = match metric.data() {
        AggregatedMetrics::F64(data) => points(data, |value| value),
        AggregatedMetrics::U64(data) => points(data, |value| value as f64),
        AggregatedMetrics::I64(data) => points(data, |value| value as f64),
    };
    (neutral::metric(metric), points)
}

fn points<T: Copy>(data: &MetricData<T>, number: impl Fn(T) -> f64) -> Vec<Point> {
    let one = |point: &SumDataPoint<T>| Point::new(point.attributes(), 1, number(point.value()));
    match data {
        MetricData::Sum(sum) => sum.data_points().map(one).collect(),
        MetricData::Histogram(histogram) => histogram
            .data_points()
            .map(|point| Point::new(point.attributes(), point.count(), number(point.sum())))
            .collect(),
        MetricData::Gauge(gauge) => gauge
            .data_points()
            .map(|point| Point::new(point.attributes(), 1, number(point.value())))
            .collect(),
        MetricData::ExponentialHistogram(_) => panic!("boundaries are explicit"),
    }
}

/// An observer that keeps what it is told and settles when the test says so.
#[derive(Clone, Default)]
pub(crate) struct Keeper(Arc<Mutex<Kept>>);

#[derive(Default)]
pub(crate) struct Kept {
    pub(crate) begun: Vec<Begin>,
    pub(crate) decoded: u64,
    pub(crate) prompted: u64,
    pub(crate) finished: Vec<Finish>,
}

struct KeeperProbe(Arc<Mutex<Kept>>);

impl Keeper {
    pub(crate) fn with<T>(&self, look: impl FnOnce(&mut Kept) -> T) -> T {
        look(&mut self.0.lock().unwrap())
    }

    /// Settles all that has ended; answers how many.
    pub(crate) fn settle(&self, settlement: &Settlement) -> usize {
        let finished = self.with(|kept| std::mem::take(&mut kept.finished));
        let count = finished.len();
        for finish in finished {
            finish.settle.settle(settlement);
        }
        count
    }
}

impl InferenceObserver for Keeper {
    fn begin(&self, begin: Begin) -> Box<dyn Probe> {
        self.with(|kept| kept.begun.push(begin));
        Box::new(KeeperProbe(Arc::clone(&self.0)))
    }
}

impl Probe for KeeperProbe {
    fn decoded(&self, steps: u64) {
        self.0.lock().unwrap().decoded += steps;
    }

    fn prompted(&self, tokens: u64) {
        self.0.lock().unwrap().prompted += tokens;
    }

    fn finish(self: Box<Self>, finish: Finish) {
        self.0.lock().unwrap().finished.push(finish);
    }
}
