// Written by `cargo xtask codegen` from `registry/*.json`: change those and run it again.
// Length: generated.
//! The tables of wattspan.

use crate::model::{
    AttributeDef, AttributeRef, AttributeType, Evidence, Instrument, Level, MetricDef, Registry, SpanDef,
    SpanKind, ValueType,
};

pub(crate) static REGISTRY: Registry = Registry {
    attributes: &ATTRIBUTES,
    metrics: &METRICS,
    spans: &SPANS,
    events: &EVENTS,
    deprecated_events: &DEPRECATED_EVENTS,
};

pub(crate) static ATTRIBUTES: [AttributeDef; 36] = [
    AttributeDef::new("wattspan.cost.boundary", AttributeType::String, Evidence::Release)
        .values(&["device", "host", "facility"])
        .closed(),
    AttributeDef::new("wattspan.cost.source", AttributeType::String, Evidence::Release),
    AttributeDef::new("wattspan.cost.total", AttributeType::Double, Evidence::Release)
        .unit("USD")
        .requires(&["wattspan.cost.source"]),
    AttributeDef::new("wattspan.device.index", AttributeType::Int, Evidence::Release),
    AttributeDef::new("wattspan.drop.reason", AttributeType::String, Evidence::Release),
    AttributeDef::new("wattspan.emissions.boundary", AttributeType::String, Evidence::Release)
        .values(&["device", "host", "facility"])
        .closed(),
    AttributeDef::new("wattspan.emissions.intensity", AttributeType::Double, Evidence::Release).unit("g/kWh"),
    AttributeDef::new("wattspan.emissions.kind", AttributeType::String, Evidence::Release)
        .values(&["average", "marginal"])
        .closed(),
    AttributeDef::new("wattspan.emissions.source", AttributeType::String, Evidence::Release),
    AttributeDef::new("wattspan.emissions.total", AttributeType::Double, Evidence::Release)
        .unit("g")
        .requires(&[
            "wattspan.emissions.intensity",
            "wattspan.emissions.zone",
            "wattspan.emissions.source",
            "wattspan.emissions.kind",
        ]),
    AttributeDef::new("wattspan.emissions.zone", AttributeType::String, Evidence::Release),
    AttributeDef::new("wattspan.energy.coverage", AttributeType::Double, Evidence::Release).unit("1"),
    AttributeDef::new("wattspan.energy.cpu", AttributeType::Double, Evidence::Release).unit("J"),
    AttributeDef::new("wattspan.energy.dram", AttributeType::Double, Evidence::Release).unit("J"),
    AttributeDef::new("wattspan.energy.estimated", AttributeType::Double, Evidence::Release).unit("J"),
    AttributeDef::new("wattspan.energy.flags", AttributeType::StringArray, Evidence::Release)
        .values(&["below_resolution", "aliasing_possible", "cross_check_failed", "settled_early"])
        .closed(),
    AttributeDef::new("wattspan.energy.gpu", AttributeType::Double, Evidence::Release).unit("J"),
    AttributeDef::new("wattspan.energy.idle", AttributeType::Double, Evidence::Release).unit("J"),
    AttributeDef::new("wattspan.energy.method", AttributeType::String, Evidence::Release)
        .values(&["counter", "integrated", "estimated", "mixed"])
        .closed(),
    AttributeDef::new("wattspan.energy.per_output_token", AttributeType::Double, Evidence::Release).unit("J"),
    AttributeDef::new("wattspan.energy.policy", AttributeType::String, Evidence::Release)
        .values(&["tokens", "time"]),
    AttributeDef::new("wattspan.energy.policy_spread", AttributeType::Double, Evidence::Release).unit("J"),
    AttributeDef::new("wattspan.energy.scope", AttributeType::StringArray, Evidence::Release),
    AttributeDef::new("wattspan.energy.state", AttributeType::String, Evidence::Release)
        .values(&["inference", "idle", "other", "unattributed"])
        .closed(),
    AttributeDef::new("wattspan.energy.total", AttributeType::Double, Evidence::Release)
        .unit("J")
        .requires(&["wattspan.energy.method", "wattspan.energy.coverage"]),
    AttributeDef::new("wattspan.energy.uncertainty", AttributeType::Double, Evidence::Release).unit("J"),
    AttributeDef::new("wattspan.gap.reason", AttributeType::String, Evidence::Release)
        .values(&[
            "counter_reset",
            "counter_frozen",
            "wrap_ambiguous",
            "implausible",
            "suspended",
            "missing",
            "clock_jump",
            "device_lost",
        ])
        .closed(),
    AttributeDef::new("wattspan.model.architecture", AttributeType::String, Evidence::Release),
    AttributeDef::new("wattspan.model.context_length", AttributeType::Int, Evidence::Release).unit("{token}"),
    AttributeDef::new("wattspan.model.license", AttributeType::String, Evidence::Release),
    AttributeDef::new("wattspan.model.name", AttributeType::String, Evidence::Release),
    AttributeDef::new("wattspan.model.parameters", AttributeType::Int, Evidence::Release).unit("{parameter}"),
    AttributeDef::new("wattspan.model.quantization", AttributeType::String, Evidence::Release),
    AttributeDef::new("wattspan.model.size", AttributeType::Int, Evidence::Release).unit("By"),
    AttributeDef::new("wattspan.model.size_label", AttributeType::String, Evidence::Release),
    AttributeDef::new("wattspan.settle.reason", AttributeType::String, Evidence::Release)
        .values(&["covered", "timed_out", "shutdown", "no_sensor", "remote", "not_observed", "overload"])
        .closed(),
];

pub(crate) static METRICS: [MetricDef; 6] = [
    MetricDef {
        name: "wattspan.cost",
        instrument: Instrument::Counter,
        unit: "USD",
        value_type: ValueType::Double,
        buckets: &[],
        attributes: &[
            AttributeRef::new("wattspan.energy.method", Level::ConditionallyRequired),
            AttributeRef::new("gen_ai.operation.name", Level::Recommended),
            AttributeRef::new("gen_ai.provider.name", Level::Recommended),
            AttributeRef::new("gen_ai.request.model", Level::Recommended),
            AttributeRef::new("wattspan.cost.boundary", Level::Recommended),
            AttributeRef::new("wattspan.cost.source", Level::Recommended),
        ],
        evidence: Evidence::Release,
    },
    MetricDef {
        name: "wattspan.device.energy",
        instrument: Instrument::Counter,
        unit: "J",
        value_type: ValueType::Double,
        buckets: &[],
        attributes: &[
            AttributeRef::new("hw.id", Level::Required),
            AttributeRef::new("hw.type", Level::Required),
            AttributeRef::new("wattspan.energy.method", Level::Required),
            AttributeRef::new("wattspan.energy.state", Level::Required),
            AttributeRef::new("hw.name", Level::Recommended),
            AttributeRef::new("hw.parent", Level::Recommended),
            AttributeRef::new("wattspan.device.index", Level::Recommended),
        ],
        evidence: Evidence::Release,
    },
    MetricDef {
        name: "wattspan.emissions",
        instrument: Instrument::Counter,
        unit: "g",
        value_type: ValueType::Double,
        buckets: &[],
        attributes: &[
            AttributeRef::new("wattspan.energy.method", Level::Required),
            AttributeRef::new("gen_ai.operation.name", Level::Recommended),
            AttributeRef::new("gen_ai.provider.name", Level::Recommended),
            AttributeRef::new("gen_ai.request.model", Level::Recommended),
            AttributeRef::new("wattspan.emissions.boundary", Level::Recommended),
            AttributeRef::new("wattspan.emissions.kind", Level::Recommended),
            AttributeRef::new("wattspan.emissions.source", Level::Recommended),
            AttributeRef::new("wattspan.emissions.zone", Level::Recommended),
        ],
        evidence: Evidence::Release,
    },
    MetricDef {
        name: "wattspan.inference.energy",
        instrument: Instrument::Histogram,
        unit: "J",
        value_type: ValueType::Double,
        buckets: &[
            0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0, 3000.0, 10_000.0, 30_000.0,
            100_000.0,
        ],
        attributes: &[
            AttributeRef::new("wattspan.energy.method", Level::Required),
            AttributeRef::new("gen_ai.operation.name", Level::Recommended),
            AttributeRef::new("gen_ai.provider.name", Level::Recommended),
            AttributeRef::new("gen_ai.request.model", Level::Recommended),
        ],
        evidence: Evidence::Release,
    },
    MetricDef {
        name: "wattspan.sensor.gaps",
        instrument: Instrument::Counter,
        unit: "{gap}",
        value_type: ValueType::Int,
        buckets: &[],
        attributes: &[
            AttributeRef::new("hw.id", Level::Required),
            AttributeRef::new("wattspan.gap.reason", Level::Required),
        ],
        evidence: Evidence::Release,
    },
    MetricDef {
        name: "wattspan.telemetry.dropped",
        instrument: Instrument::Counter,
        unit: "{item}",
        value_type: ValueType::Int,
        buckets: &[],
        attributes: &[AttributeRef::new("wattspan.drop.reason", Level::Required)],
        evidence: Evidence::Release,
    },
];

pub(crate) static SPANS: [SpanDef; 2] = [
    SpanDef {
        id: "wattspan.load",
        kind: SpanKind::Internal,
        kinds_allowed: &[SpanKind::Internal],
        name_template: "{gen_ai.operation.name} {gen_ai.request.model}",
        name_fallback: Some("{gen_ai.operation.name}"),
        operations: &["load"],
        fixed_attributes: &[],
        refines: None,
        attributes: &[
            AttributeRef::new("gen_ai.operation.name", Level::Required).sampled(),
            AttributeRef::new("gen_ai.provider.name", Level::Required).sampled(),
            AttributeRef::new("error.type", Level::ConditionallyRequired),
            AttributeRef::new("gen_ai.request.model", Level::ConditionallyRequired).sampled(),
        ],
        evidence: Evidence::Release,
    },
    SpanDef {
        id: "wattspan.rerank",
        kind: SpanKind::Client,
        kinds_allowed: &[SpanKind::Client, SpanKind::Internal],
        name_template: "{gen_ai.operation.name} {gen_ai.request.model}",
        name_fallback: Some("{gen_ai.operation.name}"),
        operations: &["rerank"],
        fixed_attributes: &[],
        refines: None,
        attributes: &[
            AttributeRef::new("gen_ai.operation.name", Level::Required).sampled(),
            AttributeRef::new("gen_ai.provider.name", Level::Required).sampled(),
            AttributeRef::new("error.type", Level::ConditionallyRequired),
            AttributeRef::new("gen_ai.request.model", Level::ConditionallyRequired).sampled(),
            AttributeRef::new("server.port", Level::ConditionallyRequired).sampled(),
            AttributeRef::new("gen_ai.response.model", Level::Recommended),
            AttributeRef::new("gen_ai.usage.input_tokens", Level::Recommended),
            AttributeRef::new("server.address", Level::Recommended).sampled(),
        ],
        evidence: Evidence::Release,
    },
];

static EVENTS: [crate::model::EventDef; 0] = [];

static DEPRECATED_EVENTS: [&str; 0] = [];
