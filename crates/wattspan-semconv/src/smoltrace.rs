//! SMOLTRACE's seven metrics, emitted in addition to a profile when the user asks for them.

use crate::generated::smoltrace::{FLAT_COLUMNS, METRICS};
use crate::model::MetricDef;

/// One of SMOLTRACE's metrics.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SmoltraceMetric {
    /// Its instrument.
    pub metric: MetricDef,
    /// Its column in the flat table.
    pub flat_column: &'static str,
    /// The hardware metric that says the same, and the factor that turns this value into that one. `None` for emissions
    /// and cost, which the hardware conventions do not know; they are running totals.
    pub hw: Option<(&'static str, f64)>,
}

/// The seven metrics, in the order of the flat table's columns.
pub fn metrics() -> &'static [SmoltraceMetric] {
    &METRICS
}

/// The metric with this name.
pub fn metric(name: &str) -> Option<&'static SmoltraceMetric> {
    METRICS.iter().find(|entry| entry.metric.name == name)
}

/// The SMOLTRACE metric that says the same as a hardware metric.
pub fn for_hardware(hw_name: &str) -> Option<&'static SmoltraceMetric> {
    METRICS.iter().find(|entry| entry.hw.is_some_and(|(name, _)| name == hw_name))
}

/// Columns of the flat table with their types, in order.
pub fn flat_columns() -> &'static [(&'static str, &'static str)] {
    &FLAT_COLUMNS
}
