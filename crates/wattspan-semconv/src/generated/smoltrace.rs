// Written by `cargo xtask codegen` from `registry/*.json`: change those and run it again.
// Length: generated.
//! SMOLTRACE's metrics and the columns of its flat table.

use crate::model::{AttributeRef, Evidence, Instrument, Level, MetricDef, ValueType};
use crate::smoltrace::SmoltraceMetric;

pub(crate) static METRICS: [SmoltraceMetric; 7] = [
    SmoltraceMetric {
        metric: MetricDef {
            name: "gen_ai.co2.emissions",
            instrument: Instrument::Counter,
            unit: "gCO2e",
            value_type: ValueType::Double,
            buckets: &[],
            attributes: &[AttributeRef::new("gpu_id", Level::Recommended)],
            evidence: Evidence::Release,
        },
        flat_column: "co2_emissions_gco2e",
        hw: None,
    },
    SmoltraceMetric {
        metric: MetricDef {
            name: "gen_ai.power.cost",
            instrument: Instrument::Counter,
            unit: "USD",
            value_type: ValueType::Double,
            buckets: &[],
            attributes: &[
                AttributeRef::new("gpu_id", Level::Recommended),
                AttributeRef::new("gpu_name", Level::Recommended),
            ],
            evidence: Evidence::Release,
        },
        flat_column: "power_cost_usd",
        hw: None,
    },
    SmoltraceMetric {
        metric: MetricDef {
            name: "gen_ai.gpu.utilization",
            instrument: Instrument::Gauge,
            unit: "%",
            value_type: ValueType::Double,
            buckets: &[],
            attributes: &[
                AttributeRef::new("gpu_id", Level::Recommended),
                AttributeRef::new("gpu_name", Level::Recommended),
            ],
            evidence: Evidence::Release,
        },
        flat_column: "gpu_utilization_percent",
        hw: Some(("hw.gpu.utilization", 0.01)),
    },
    SmoltraceMetric {
        metric: MetricDef {
            name: "gen_ai.gpu.memory.used",
            instrument: Instrument::Gauge,
            unit: "MiB",
            value_type: ValueType::Double,
            buckets: &[],
            attributes: &[
                AttributeRef::new("gpu_id", Level::Recommended),
                AttributeRef::new("gpu_name", Level::Recommended),
            ],
            evidence: Evidence::Release,
        },
        flat_column: "gpu_memory_used_mib",
        hw: Some(("hw.gpu.memory.usage", 1_048_576.0)),
    },
    SmoltraceMetric {
        metric: MetricDef {
            name: "gen_ai.gpu.memory.total",
            instrument: Instrument::Gauge,
            unit: "MiB",
            value_type: ValueType::Double,
            buckets: &[],
            attributes: &[
                AttributeRef::new("gpu_id", Level::Recommended),
                AttributeRef::new("gpu_name", Level::Recommended),
            ],
            evidence: Evidence::Release,
        },
        flat_column: "gpu_memory_total_mib",
        hw: Some(("hw.gpu.memory.limit", 1_048_576.0)),
    },
    SmoltraceMetric {
        metric: MetricDef {
            name: "gen_ai.gpu.temperature",
            instrument: Instrument::Gauge,
            unit: "Cel",
            value_type: ValueType::Double,
            buckets: &[],
            attributes: &[
                AttributeRef::new("gpu_id", Level::Recommended),
                AttributeRef::new("gpu_name", Level::Recommended),
            ],
            evidence: Evidence::Release,
        },
        flat_column: "gpu_temperature_celsius",
        hw: Some(("hw.temperature", 1.0)),
    },
    SmoltraceMetric {
        metric: MetricDef {
            name: "gen_ai.gpu.power",
            instrument: Instrument::Gauge,
            unit: "W",
            value_type: ValueType::Double,
            buckets: &[],
            attributes: &[
                AttributeRef::new("gpu_id", Level::Recommended),
                AttributeRef::new("gpu_name", Level::Recommended),
            ],
            evidence: Evidence::Release,
        },
        flat_column: "gpu_power_watts",
        hw: Some(("hw.power", 1.0)),
    },
];

pub(crate) static FLAT_COLUMNS: [(&str, &str); 13] = [
    ("run_id", "string"),
    ("service_name", "string"),
    ("timestamp", "datetime"),
    ("timestamp_unix_nano", "string"),
    ("gpu_id", "string"),
    ("gpu_name", "string"),
    ("co2_emissions_gco2e", "float"),
    ("power_cost_usd", "float"),
    ("gpu_utilization_percent", "float"),
    ("gpu_memory_used_mib", "float"),
    ("gpu_memory_total_mib", "float"),
    ("gpu_temperature_celsius", "float"),
    ("gpu_power_watts", "float"),
];
