//! The `OTEL_*` variables, read once through a look-up that the caller may replace.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use opentelemetry_sdk::trace::Sampler;
use wattspan_core::percent_decoded;

/// Variables that are looked up. `docs/telemetry.md` has a line for each.
pub(crate) const VARIABLES: &[&str] = &[
    "OTEL_BLRP_MAX_EXPORT_BATCH_SIZE",
    "OTEL_BLRP_MAX_QUEUE_SIZE",
    "OTEL_BLRP_SCHEDULE_DELAY",
    "OTEL_BSP_MAX_EXPORT_BATCH_SIZE",
    "OTEL_BSP_MAX_QUEUE_SIZE",
    "OTEL_BSP_SCHEDULE_DELAY",
    "OTEL_EXPORTER_OTLP_CERTIFICATE",
    "OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE",
    "OTEL_EXPORTER_OTLP_CLIENT_KEY",
    "OTEL_EXPORTER_OTLP_COMPRESSION",
    "OTEL_EXPORTER_OTLP_ENDPOINT",
    "OTEL_EXPORTER_OTLP_HEADERS",
    "OTEL_EXPORTER_OTLP_INSECURE",
    "OTEL_EXPORTER_OTLP_LOGS_CERTIFICATE",
    "OTEL_EXPORTER_OTLP_LOGS_CLIENT_CERTIFICATE",
    "OTEL_EXPORTER_OTLP_LOGS_CLIENT_KEY",
    "OTEL_EXPORTER_OTLP_LOGS_COMPRESSION",
    "OTEL_EXPORTER_OTLP_LOGS_ENDPOINT",
    "OTEL_EXPORTER_OTLP_LOGS_HEADERS",
    "OTEL_EXPORTER_OTLP_LOGS_INSECURE",
    "OTEL_EXPORTER_OTLP_LOGS_PROTOCOL",
    "OTEL_EXPORTER_OTLP_LOGS_TIMEOUT",
    "OTEL_EXPORTER_OTLP_METRICS_CERTIFICATE",
    "OTEL_EXPORTER_OTLP_METRICS_CLIENT_CERTIFICATE",
    "OTEL_EXPORTER_OTLP_METRICS_CLIENT_KEY",
    "OTEL_EXPORTER_OTLP_METRICS_COMPRESSION",
    "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT",
    "OTEL_EXPORTER_OTLP_METRICS_HEADERS",
    "OTEL_EXPORTER_OTLP_METRICS_INSECURE",
    "OTEL_EXPORTER_OTLP_METRICS_PROTOCOL",
    "OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE",
    "OTEL_EXPORTER_OTLP_METRICS_TIMEOUT",
    "OTEL_EXPORTER_OTLP_PROTOCOL",
    "OTEL_EXPORTER_OTLP_TIMEOUT",
    "OTEL_EXPORTER_OTLP_TRACES_CERTIFICATE",
    "OTEL_EXPORTER_OTLP_TRACES_CLIENT_CERTIFICATE",
    "OTEL_EXPORTER_OTLP_TRACES_CLIENT_KEY",
    "OTEL_EXPORTER_OTLP_TRACES_COMPRESSION",
    "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
    "OTEL_EXPORTER_OTLP_TRACES_HEADERS",
    "OTEL_EXPORTER_OTLP_TRACES_INSECURE",
    "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL",
    "OTEL_EXPORTER_OTLP_TRACES_TIMEOUT",
    "OTEL_EXPORTER_PROMETHEUS_HOST",
    "OTEL_EXPORTER_PROMETHEUS_PORT",
    "OTEL_LOGS_EXPORTER",
    "OTEL_METRICS_EXPORTER",
    "OTEL_METRIC_EXPORT_INTERVAL",
    "OTEL_PROPAGATORS",
    "OTEL_RESOURCE_ATTRIBUTES",
    "OTEL_SDK_DISABLED",
    "OTEL_SERVICE_NAME",
    "OTEL_TRACES_EXPORTER",
    "OTEL_TRACES_SAMPLER",
    "OTEL_TRACES_SAMPLER_ARG",
];

/// What the environment says. Empty means unset, as the specification has it.
#[derive(Clone, Default)]
pub(crate) struct Environment {
    values: BTreeMap<&'static str, String>,
}

impl fmt::Debug for Environment {
    /// Names only: headers are secret.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_set().entries(self.values.keys()).finish()
    }
}

impl Environment {
    pub(crate) fn read(lookup: impl Fn(&str) -> Option<String>) -> Self {
        let found = VARIABLES.iter().filter_map(|name| Some((*name, lookup(name)?)));
        let values = found.map(|(name, value)| (name, value.trim().to_owned()));
        Self { values: values.filter(|(_, value)| !value.is_empty()).collect() }
    }

    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.values.get(name).map(String::as_str)
    }

    /// The variable of a signal, or else the general one: `{}` stands for `TRACES_` or nothing.
    pub(crate) fn of_signal(&self, signal: &str, what: &str) -> Option<&str> {
        self.get(&format!("OTEL_EXPORTER_OTLP_{signal}_{what}"))
            .or_else(|| self.get(&format!("OTEL_EXPORTER_OTLP_{what}")))
    }

    /// A value that does not parse is warned of and ignored, as the specification has it.
    pub(crate) fn parsed<T: FromStr>(&self, name: &str) -> Option<T> {
        let text = self.get(name)?;
        let value = text.parse().ok();
        if value.is_none() {
            tracing::warn!("{name} is ignored: {text:?} is not of its kind");
        }
        value
    }

    pub(crate) fn millis(&self, name: &str) -> Option<Duration> {
        self.parsed(name).map(Duration::from_millis)
    }

    pub(crate) fn flag(&self, name: &str) -> Option<bool> {
        let text = self.get(name)?;
        match text.to_ascii_lowercase().as_str() {
            "true" => Some(true),
            "false" => Some(false),
            _ => {
                tracing::warn!("{name} is taken as false: {text:?} is neither true nor false");
                Some(false)
            }
        }
    }

    /// Words with commas between them; `None` when unset.
    pub(crate) fn list(&self, name: &str) -> Option<Vec<&str>> {
        let words = self.get(name)?.split(',').map(str::trim);
        Some(words.filter(|word| !word.is_empty()).collect())
    }

    pub(crate) fn sampler(&self) -> Option<Sampler> {
        let ratio = || Sampler::TraceIdRatioBased(self.parsed("OTEL_TRACES_SAMPLER_ARG").unwrap_or(1.0));
        let parent = |root| Some(Sampler::ParentBased(Box::new(root)));
        match self.get("OTEL_TRACES_SAMPLER")? {
            "always_on" => Some(Sampler::AlwaysOn),
            "always_off" => Some(Sampler::AlwaysOff),
            "traceidratio" => Some(ratio()),
            "parentbased_always_on" => parent(Sampler::AlwaysOn),
            "parentbased_always_off" => parent(Sampler::AlwaysOff),
            "parentbased_traceidratio" => parent(ratio()),
            other => {
                tracing::warn!("OTEL_TRACES_SAMPLER is ignored: {other:?} is no sampler known here");
                None
            }
        }
    }
}

/// `key=value` pairs with commas between them, values percent-encoded: `OTEL_RESOURCE_ATTRIBUTES` and headers.
pub(crate) fn pairs(text: &str) -> Vec<(String, String)> {
    let pairs = text.split(',').filter_map(|pair| pair.split_once('='));
    let pairs = pairs.map(|(key, value)| (key.trim(), value.trim())).filter(|(key, _)| !key.is_empty());
    pairs.map(|(key, value)| (percent_decoded(key), percent_decoded(value))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_are_decoded_and_rubbish_is_left_out() {
        let found = pairs("authorization=Bearer%20other, x-id = 7 ,broken,=none,pct=50%");
        let expected = [("authorization", "Bearer other"), ("x-id", "7"), ("pct", "50%")]
            .map(|(key, value)| (key.to_owned(), value.to_owned()));
        assert_eq!(found, expected);
    }

    #[test]
    fn empty_is_unset_and_a_wrong_number_is_ignored() {
        let env = Environment::read(|name| match name {
            "OTEL_SERVICE_NAME" => Some("  ".to_owned()),
            "OTEL_BSP_MAX_QUEUE_SIZE" => Some("many".to_owned()),
            "OTEL_SDK_DISABLED" => Some("TRUE".to_owned()),
            _ => None,
        });
        assert_eq!(env.get("OTEL_SERVICE_NAME"), None);
        assert_eq!(env.parsed::<usize>("OTEL_BSP_MAX_QUEUE_SIZE"), None);
        assert_eq!(env.flag("OTEL_SDK_DISABLED"), Some(true));
    }

    #[test]
    fn the_variable_of_a_signal_wins_over_the_general_one() {
        let env = Environment::read(|name| match name {
            "OTEL_EXPORTER_OTLP_TIMEOUT" => Some("1".to_owned()),
            "OTEL_EXPORTER_OTLP_TRACES_TIMEOUT" => Some("2".to_owned()),
            _ => None,
        });
        assert_eq!(env.of_signal("TRACES", "TIMEOUT"), Some("2"));
        assert_eq!(env.of_signal("METRICS", "TIMEOUT"), Some("1"));
    }

    #[test]
    fn every_variable_stands_in_the_documentation() {
        let docs = include_str!("../../../docs/telemetry.md");
        for name in VARIABLES {
            let general = ["TRACES_", "METRICS_", "LOGS_"].iter().fold((*name).to_owned(), |name, signal| {
                name.replace(&format!("OTLP_{signal}"), "OTLP_{SIGNAL}_")
            });
            let spelt = [format!("`{name}`"), format!("`{general}`")];
            assert!(spelt.iter().any(|name| docs.contains(name)), "{name} is missing in docs/telemetry.md");
        }
    }
}
