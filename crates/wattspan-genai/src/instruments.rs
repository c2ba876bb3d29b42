//! The instruments of a profile, made once, with the boundaries that the conventions ask for, and listed for each
//! operation and measure, so that recording looks nothing up by name.

use opentelemetry::metrics::{Counter, Histogram, Meter};
use opentelemetry::{KeyValue, Value};
use wattspan_semconv::{Instrument, Measure, MetricDef, Operation, Profile, ValueType, attr};

/// What this crate records, in the order of [`Slot`].
const MEASURES: [Measure; 13] = [
    Measure::OperationDuration,
    Measure::InputTokens,
    Measure::OutputTokens,
    Measure::CacheReadTokens,
    Measure::CacheWriteTokens,
    Measure::ReasoningTokens,
    Measure::TimeToFirstChunk,
    Measure::TimePerOutputChunk,
    Measure::ServerRequestDuration,
    Measure::ServerTimeToFirstToken,
    Measure::ServerTimePerOutputToken,
    Measure::AgentInferenceCalls,
    Measure::AgentToolCalls,
];

/// A measure's place in an operation's list.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Slot {
    Duration,
    InputTokens,
    OutputTokens,
    CacheRead,
    CacheWrite,
    Reasoning,
    FirstChunk,
    ChunkInterval,
    ServerDuration,
    ServerFirstToken,
    ServerOutputToken,
    AgentInferences,
    AgentTools,
}

/// All instruments by operation.
pub(crate) struct Instruments {
    /// In the order of [`Operation::ALL`], then one for custom operations.
    by_operation: Vec<OfOperation>,
}

/// The instruments of one operation.
pub(crate) struct OfOperation {
    slots: [Vec<Prepared>; MEASURES.len()],
}

/// An instrument and what a point on it carries.
struct Prepared {
    handle: Handle,
    metric: &'static MetricDef,
    /// What tells this measure from others on the instrument, such as the direction of tokens.
    fixed: Vec<KeyValue>,
    /// Whether the instrument asks for the modality of its tokens.
    modality: bool,
}

#[derive(Clone)]
enum Handle {
    FloatHistogram(Histogram<f64>),
    IntHistogram(Histogram<u64>),
    IntCounter(Counter<u64>),
}

impl Handle {
    fn record(&self, value: f64, attributes: &[KeyValue]) {
        match self {
            Self::FloatHistogram(histogram) => histogram.record(value, attributes),
            Self::IntHistogram(histogram) => histogram.record(value as u64, attributes),
            Self::IntCounter(counter) => counter.add(value as u64, attributes),
        }
    }
}

impl Instruments {
    pub(crate) fn new(profile: Profile, meter: &Meter) -> Self {
        let mut made: Vec<(&'static str, Handle)> = Vec::new();
        let mut list = |operation| OfOperation {
            slots: MEASURES.map(|measure| {
                let uses = profile.instruments(operation, measure).iter();
                uses.filter_map(|used| {
                    let name = used.metric.name;
                    let known = made.iter().find(|(made, _)| *made == name).map(|(_, handle)| handle.clone());
                    let handle = known.or_else(|| make(meter, used.metric))?;
                    made.push((name, handle.clone()));
                    Some(Prepared {
                        handle,
                        metric: used.metric,
                        fixed: used.fixed.iter().map(|(key, value)| KeyValue::new(*key, *value)).collect(),
                        modality: takes(used.metric, attr::GEN_AI_TOKEN_MODALITY),
                    })
                })
                .collect()
            }),
        };
        let mut by_operation: Vec<OfOperation> = Operation::ALL.iter().map(|known| list(*known)).collect();
        by_operation.push(list(Operation::Custom("custom")));
        Self { by_operation }
    }

    /// The instruments of an operation; those of custom operations where it has none of its own.
    pub(crate) fn of(&self, operation: Operation) -> &OfOperation {
        let at = Operation::ALL.iter().position(|known| *known == operation);
        &self.by_operation[at.unwrap_or(self.by_operation.len() - 1)]
    }
}

impl OfOperation {
    /// Records a value on every instrument of a measure. The attributes are those that all inference instruments
    /// share; the list is used as a scratch pad and comes back as it was.
    pub(crate) fn record(&self, slot: Slot, value: f64, attributes: &mut Vec<KeyValue>) {
        self.record_modal(slot, value, "text", attributes);
    }

    /// Records tokens of a modality.
    pub(crate) fn record_modal(
        &self,
        slot: Slot,
        value: f64,
        modality: &'static str,
        attributes: &mut Vec<KeyValue>,
    ) {
        let shared = attributes.len();
        for prepared in &self.slots[slot as usize] {
            attributes.extend_from_slice(&prepared.fixed);
            if prepared.modality {
                attributes.push(KeyValue::new(attr::GEN_AI_TOKEN_MODALITY, modality));
            }
            prepared.handle.record(value, attributes);
            attributes.truncate(shared);
        }
    }

    /// Records a value with those of the attributes that each instrument lists.
    pub(crate) fn record_listed(&self, slot: Slot, value: f64, attributes: &[KeyValue]) {
        for prepared in &self.slots[slot as usize] {
            let listed = attributes.iter().filter(|pair| takes(prepared.metric, pair.key.as_str()));
            let listed: Vec<KeyValue> = listed.chain(&prepared.fixed).cloned().collect();
            prepared.handle.record(value, &listed);
        }
    }

    /// Whether a measure has instruments that count tokens by modality, and how to tell those that do not.
    pub(crate) fn splits_modalities(&self, slot: Slot) -> bool {
        self.slots[slot as usize].iter().any(|prepared| prepared.modality)
    }

    /// Records tokens by modality on the instruments that ask for it, and their sum on the others.
    pub(crate) fn record_split(
        &self,
        slot: Slot,
        total: u64,
        parts: &[(&'static str, u64)],
        attributes: &mut Vec<KeyValue>,
    ) {
        let shared = attributes.len();
        for prepared in &self.slots[slot as usize] {
            attributes.extend_from_slice(&prepared.fixed);
            if prepared.modality {
                for (modality, count) in parts {
                    attributes.push(KeyValue::new(attr::GEN_AI_TOKEN_MODALITY, Value::from(*modality)));
                    prepared.handle.record(*count as f64, attributes);
                    attributes.pop();
                }
            } else {
                prepared.handle.record(total as f64, attributes);
            }
            attributes.truncate(shared);
        }
    }
}

fn takes(metric: &MetricDef, name: &str) -> bool {
    metric.attributes.iter().any(|listed| listed.name == name)
}

fn make(meter: &Meter, metric: &MetricDef) -> Option<Handle> {
    let buckets = || metric.buckets.to_vec();
    match (metric.instrument, metric.value_type) {
        (Instrument::Histogram, ValueType::Double) => {
            let builder = meter.f64_histogram(metric.name).with_unit(metric.unit);
            let builder =
                if metric.buckets.is_empty() { builder } else { builder.with_boundaries(buckets()) };
            Some(Handle::FloatHistogram(builder.build()))
        }
        (Instrument::Histogram, ValueType::Int) => {
            let builder = meter.u64_histogram(metric.name).with_unit(metric.unit);
            let builder =
                if metric.buckets.is_empty() { builder } else { builder.with_boundaries(buckets()) };
            Some(Handle::IntHistogram(builder.build()))
        }
        (Instrument::Counter, ValueType::Int) => {
            Some(Handle::IntCounter(meter.u64_counter(metric.name).with_unit(metric.unit).build()))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_slots_are_in_the_order_of_the_measures() {
        for (slot, measure) in [
            (Slot::Duration, Measure::OperationDuration),
            (Slot::InputTokens, Measure::InputTokens),
            (Slot::OutputTokens, Measure::OutputTokens),
            (Slot::CacheRead, Measure::CacheReadTokens),
            (Slot::CacheWrite, Measure::CacheWriteTokens),
            (Slot::Reasoning, Measure::ReasoningTokens),
            (Slot::FirstChunk, Measure::TimeToFirstChunk),
            (Slot::ChunkInterval, Measure::TimePerOutputChunk),
            (Slot::ServerDuration, Measure::ServerRequestDuration),
            (Slot::ServerFirstToken, Measure::ServerTimeToFirstToken),
            (Slot::ServerOutputToken, Measure::ServerTimePerOutputToken),
            (Slot::AgentInferences, Measure::AgentInferenceCalls),
            (Slot::AgentTools, Measure::AgentToolCalls),
        ] {
            assert_eq!(MEASURES[slot as usize], measure);
        }
    }
}
