//! From OpenTelemetry's names to Prometheus's, and what they mean.

use std::collections::HashMap;

use wattspan_semconv::{Instrument, MetricDef, Profile, smoltrace};

/// The name under which a metric is scraped, without a prefix: dots become underscores, then come the unit and, for
/// counters, `total`. **Source** OpenTelemetry specification, "Prometheus and OpenMetrics Compatibility".
///
/// ```
/// use wattspan_otel::prometheus::prometheus_name;
/// use wattspan_semconv::{Profile, metric};
///
/// let energy = Profile::Core.metric_def(metric::WATTSPAN_DEVICE_ENERGY).expect("it is in the registry");
/// assert_eq!(prometheus_name(energy), "wattspan_device_energy_joules_total");
/// ```
pub fn prometheus_name(metric: &MetricDef) -> String {
    let mut name: String =
        metric.name.chars().map(|c| if c.is_ascii_alphanumeric() || c == '_' { c } else { '_' }).collect();
    if let Some(unit) = unit(metric.unit) {
        name.push('_');
        name.push_str(unit);
    }
    if metric.instrument == Instrument::Counter {
        name.push_str("_total");
    }
    name
}

/// The words for the units that our metrics have. Units in braces and currencies have none.
fn unit(ucum: &str) -> Option<&'static str> {
    Some(match ucum {
        "1" => "ratio",
        "%" => "percent",
        "By" => "bytes",
        "MiBy" => "mebibytes",
        "Cel" => "celsius",
        "Hz" => "hertz",
        "J" => "joules",
        "V" => "volts",
        "W" => "watts",
        "g" => "grams",
        "s" => "seconds",
        _ => return None,
    })
}

/// Help texts by scraped name. The SDK's instruments have no descriptions of their own.
pub(super) fn help(prefix: Option<&str>) -> HashMap<String, String> {
    let own = Profile::ALL.into_iter().flat_map(Profile::metrics);
    let all = own.chain(smoltrace::metrics().iter().map(|entry| &entry.metric));
    all.map(|metric| {
        let name = prometheus_name(metric);
        let name = match prefix {
            Some(prefix) => format!("{}_{name}", prefix.trim_end_matches('_')),
            None => name,
        };
        (name, text(metric))
    })
    .collect()
}

fn text(metric: &MetricDef) -> String {
    let said = match metric.name {
        "gen_ai.client.inference.duration" | "gen_ai.client.operation.duration" => {
            "Time that GenAI calls took"
        }
        "gen_ai.client.token.usage" => "Tokens that GenAI calls used",
        "hw.energy" => "Energy that a component has used",
        "hw.errors" => "Errors that a component has met",
        "hw.gpu.memory.limit" => "Memory of a GPU",
        "hw.gpu.memory.usage" => "Memory in use on a GPU",
        "hw.gpu.memory.utilization" => "Fraction of a GPU's memory that is in use",
        "hw.gpu.utilization" => "Fraction of time in which a GPU was at work",
        "hw.power" => "Power that a component draws",
        "hw.temperature" => "Temperature of a component",
        "wattspan.cost" => "Cost of inferences, in US dollars",
        "wattspan.device.energy" => "Energy that a device has used, by what for",
        "wattspan.emissions" => "Greenhouse gas of inferences, as CO2 equivalent",
        "wattspan.inference.energy" => "Energy that inferences used",
        "wattspan.sensor.gaps" => "Stretches of time without known energy, by reason",
        "wattspan.telemetry.dropped" => "Items of telemetry that did not arrive, by reason",
        _ => return format!("OpenTelemetry {} with unit {}.", metric.name, metric.unit),
    };
    format!("{said} (OpenTelemetry {}).", metric.name)
}

/// Names that may be used as they are. The colon is kept for recording rules.
pub(super) fn is_valid(name: &str) -> bool {
    let starts = name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_');
    starts && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn case_prometheus_08_no_name_of_ours_has_a_colon() {
        for profile in Profile::ALL {
            for metric in profile.metrics() {
                let name = prometheus_name(metric);
                assert!(is_valid(&name), "{name}");
            }
        }
        assert!(!is_valid("job:rate"));
        assert!(!is_valid("1st"));
        assert!(!is_valid(""));
    }

    #[test]
    fn case_prometheus_10_names_tell_base_units() {
        let name = |metric| prometheus_name(Profile::Core.metric_def(metric).unwrap());
        assert_eq!(name("hw.power"), "hw_power_watts");
        assert_eq!(name("hw.energy"), "hw_energy_joules_total");
        assert_eq!(name("hw.gpu.memory.usage"), "hw_gpu_memory_usage_bytes");
        assert_eq!(name("gen_ai.client.operation.duration"), "gen_ai_client_operation_duration_seconds");
        assert_eq!(name("gen_ai.client.token.usage"), "gen_ai_client_token_usage");
        assert_eq!(name("wattspan.cost"), "wattspan_cost_total");
    }
}
