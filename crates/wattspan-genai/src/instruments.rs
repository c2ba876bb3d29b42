//! The instruments of a profile, made once, with the boundaries that the conventions ask for.

use opentelemetry::KeyValue;
use opentelemetry::metrics::{Counter, Histogram, Meter};
use wattspan_semconv::{Instrument, Measure, MetricDef, Operation, Profile, ValueType};

/// Instruments by their definition. A handful, so that a scan beats a map.
pub(crate) struct Instruments {
    profile: Profile,
    made: Vec<(&'static str, Handle)>,
}

enum Handle {
    FloatHistogram(Histogram<f64>),
    IntHistogram(Histogram<u64>),
    IntCounter(Counter<u64>),
}

/// What this crate records.
const MEASURES: [Measure; 4] =
    [Measure::OperationDuration, Measure::InputTokens, Measure::OutputTokens, Measure::TimeToFirstChunk];

const OPERATIONS: [Operation; 4] =
    [Operation::Chat, Operation::TextCompletion, Operation::Embeddings, Operation::Rerank];

impl Instruments {
    pub(crate) fn new(profile: Profile, meter: &Meter) -> Self {
        let mut made: Vec<(&'static str, Handle)> = Vec::new();
        for operation in OPERATIONS {
            for measure in MEASURES {
                for used in profile.instruments(operation, measure) {
                    if made.iter().all(|(name, _)| *name != used.metric.name) {
                        made.extend(make(meter, used.metric).map(|handle| (used.metric.name, handle)));
                    }
                }
            }
        }
        Self { profile, made }
    }

    pub(crate) fn record(&self, operation: Operation, measure: Measure, value: f64, attributes: &[KeyValue]) {
        for used in self.profile.instruments(operation, measure) {
            let Some((_, handle)) = self.made.iter().find(|(name, _)| *name == used.metric.name) else { continue };
            let with_fixed: Vec<KeyValue>;
            let attributes = if used.fixed.is_empty() {
                attributes
            } else {
                let fixed = used.fixed.iter().map(|(key, value)| KeyValue::new(*key, *value));
                with_fixed = attributes.iter().cloned().chain(fixed).collect();
                &with_fixed
            };
            match handle {
                Handle::FloatHistogram(histogram) => histogram.record(value, attributes),
                Handle::IntHistogram(histogram) => histogram.record(value as u64, attributes),
                Handle::IntCounter(counter) => counter.add(value as u64, attributes),
            }
        }
    }
}

fn make(meter: &Meter, metric: &MetricDef) -> Option<Handle> {
    let buckets = || metric.buckets.to_vec();
    match (metric.instrument, metric.value_type) {
        (Instrument::Histogram, ValueType::Double) => {
            let builder = meter.f64_histogram(metric.name).with_unit(metric.unit);
            let builder = if metric.buckets.is_empty() { builder } else { builder.with_boundaries(buckets()) };
            Some(Handle::FloatHistogram(builder.build()))
        }
        (Instrument::Histogram, ValueType::Int) => {
            let builder = meter.u64_histogram(metric.name).with_unit(metric.unit);
            let builder = if metric.buckets.is_empty() { builder } else { builder.with_boundaries(buckets()) };
            Some(Handle::IntHistogram(builder.build()))
        }
        (Instrument::Counter, ValueType::Int) => {
            Some(Handle::IntCounter(meter.u64_counter(metric.name).with_unit(metric.unit).build()))
        }
        _ => None,
    }
}
