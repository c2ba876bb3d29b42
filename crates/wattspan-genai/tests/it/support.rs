//! A rig of in-memory exporters, and the adapter from the SDK's types to the checker's neutral ones.

use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use opentelemetry::logs::{AnyValue, LoggerProvider as _};
use opentelemetry::metrics::MeterProvider as _;
use opentelemetry::trace::{SpanKind, Status, TracerProvider as _};
use opentelemetry::{Array, KeyValue, Value};
use opentelemetry_sdk::logs::{InMemoryLogExporter, SdkLogRecord, SdkLoggerProvider};
use opentelemetry_sdk::metrics::data::{AggregatedMetrics, HistogramDataPoint, MetricData};
use opentelemetry_sdk::metrics::{InMemoryMetricExporter, PeriodicReader, SdkMeterProvider};
use opentelemetry_sdk::trace::{InMemorySpanExporter, Sampler, SdkTracerProvider, SpanData};
use wattspan_core::{Begin, Finish, InferenceObserver, Probe, ScriptedClock, Settlement};
use wattspan_genai::{GenAi, GenAiBuilder, LogEvents, Profile};
use wattspan_semconv::conformance::{self, Event, Metric, Span, Telemetry};
use wattspan_semconv::{Instrument, ValueType};

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
            spans: self.spans().iter().map(span).collect(),
            metrics: self.metrics().into_iter().map(|(metric, _)| metric).collect(),
            events: self.logs().iter().map(log).collect(),
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

fn span(data: &SpanData) -> Span {
    Span {
        name: data.name.to_string(),
        kind: match data.span_kind {
            SpanKind::Internal => wattspan_semconv::SpanKind::Internal,
            SpanKind::Client => wattspan_semconv::SpanKind::Client,
            SpanKind::Server => wattspan_semconv::SpanKind::Server,
            SpanKind::Producer => wattspan_semconv::SpanKind::Producer,
            SpanKind::Consumer => wattspan_semconv::SpanKind::Consumer,
        },
        status: match data.status {
            Status::Unset => conformance::Status::Unset,
            Status::Ok => conformance::Status::Ok,
            Status::Error { .. } => conformance::Status::Error,
        },
        attributes: data.attributes.iter().map(pair).collect(),
        events: data
            .events
            .iter()
            .map(|event| Event {
                name: event.name.to_string(),
                severity: None,
                attributes: event.attributes.iter().map(pair).collect(),
            })
            .collect(),
    }
}

fn pair(pair: &KeyValue) -> (String, conformance::Value) {
    use conformance::Value as Neutral;
    let value = match &pair.value {
        Value::Bool(value) => Neutral::Bool(*value),
        Value::I64(value) => Neutral::Int(*value),
        Value::F64(value) => Neutral::Double(*value),
        Value::String(value) => Neutral::String(value.as_str().to_owned()),
        Value::Array(Array::String(items)) => {
            Neutral::Array(items.iter().map(|item| Neutral::String(item.as_str().to_owned())).collect())
        }
        other => panic!("no attribute of ours is {other:?}"),
    };
    (pair.key.as_str().to_owned(), value)
}

fn log(record: &SdkLogRecord) -> Event {
    Event {
        name: record.event_name().unwrap_or_default().to_owned(),
        severity: record.severity_number().map(|severity| severity as u8),
        attributes: record
            .attributes_iter()
            .map(|(key, value)| (key.as_str().to_owned(), neutral(value)))
            .collect(),
    }
}

fn neutral(value: &AnyValue) -> conformance::Value {
    use conformance::Value as Neutral;
    match value {
        AnyValue::Int(value) => Neutral::Int(*value),
        AnyValue::Double(value) => Neutral::Double(*value),
        AnyValue::String(value) => Neutral::String(value.as_str().to_owned()),
        AnyValue::Boolean(value) => Neutral::Bool(*value),
        AnyValue::Bytes(bytes) => Neutral::Bytes(bytes.to_vec()),
        AnyValue::ListAny(items) => Neutral::Array(items.iter().map(neutral).collect()),
        AnyValue::Map(fields) => Neutral::Map(
            fields.iter().map(|(key, value)| (key.as_str().to_owned(), neutral(value))).collect(),
        ),
        other => panic!("unknown value {other:?}"),
    }
}

fn metric(metric: &opentelemetry_sdk::metrics::data::Metric) -> (Metric, Vec<Point>) {
    let (instrument, value_type, buckets, points) = match metric.data() {
        AggregatedMetrics::F64(data) => {
            let (instrument, buckets, points) = data_points(data, |value| value);
            (instrument, ValueType::Double, buckets, points)
        }
        AggregatedMetrics::U64(data) => {
            let (instrument, buckets, points) = data_points(data, |value| value as f64);
            (instrument, ValueType::Int, buckets, points)
        }
        AggregatedMetrics::I64(data) => {
            let (instrument, buckets, points) = data_points(data, |value| value as f64);
            (instrument, ValueType::Int, buckets, points)
        }
    };
    let neutral = Metric {
        name: metric.name().to_owned(),
        unit: metric.unit().to_owned(),
        instrument,
        value_type: Some(value_type),
        buckets,
        points: points.iter().map(|(attributes, _, _)| attributes.iter().map(pair).collect()).collect(),
    };
    let points = points
        .into_iter()
        .map(|(attributes, count, sum)| Point {
            attributes: attributes
                .iter()
                .map(|pair| (pair.key.as_str().to_owned(), pair.value.as_str().into_owned()))
                .collect(),
            count,
            sum,
        })
        .collect();
    (neutral, points)
}

type RawPoints = Vec<(Vec<KeyValue>, u64, f64)>;

fn data_points<T: Copy>(
    data: &MetricData<T>,
    number: impl Fn(T) -> f64,
) -> (Instrument, Option<Vec<f64>>, RawPoints) {
    match data {
        MetricData::Sum(sum) => {
            let instrument = if sum.is_monotonic() { Instrument::Counter } else { Instrument::UpDownCounter };
            let points = sum
                .data_points()
                .map(|point| (point.attributes().cloned().collect(), 1, number(point.value())));
            (instrument, None, points.collect())
        }
        MetricData::Histogram(histogram) => {
            let bounds = |point: &HistogramDataPoint<T>| point.bounds().collect::<Vec<f64>>();
            let buckets = histogram.data_points().next().map(bounds);
            let points = histogram
                .data_points()
                .map(|point| (point.attributes().cloned().collect(), point.count(), number(point.sum())));
            (Instrument::Histogram, buckets, points.collect())
        }
        MetricData::Gauge(gauge) => {
            let points = gauge
                .data_points()
                .map(|point| (point.attributes().cloned().collect(), 1, number(point.value())));
            (Instrument::Gauge, None, points.collect())
        }
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
