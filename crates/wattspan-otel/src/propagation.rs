//! Context over process borders, as `OTEL_PROPAGATORS` chooses it.

use opentelemetry::propagation::{TextMapCompositePropagator, TextMapPropagator};
use opentelemetry_sdk::propagation::{BaggagePropagator, TraceContextPropagator};

use crate::env::Environment;

/// W3C trace context and baggage unless the environment says otherwise. Others are not known here: an application that
/// needs them sets its own global propagator.
pub(crate) fn propagator(env: &Environment) -> TextMapCompositePropagator {
    let names = env.list("OTEL_PROPAGATORS").unwrap_or_else(|| vec!["tracecontext", "baggage"]);
    let mut chosen: Vec<Box<dyn TextMapPropagator + Send + Sync>> = Vec::new();
    let mut seen = Vec::new();
    for name in names {
        if seen.contains(&name) {
            continue;
        }
        seen.push(name);
        match name {
            "tracecontext" => chosen.push(Box::new(TraceContextPropagator::new())),
            "baggage" => chosen.push(Box::new(BaggagePropagator::new())),
            "none" => chosen.clear(),
            other => tracing::warn!("OTEL_PROPAGATORS: {other:?} is not known here and is left out"),
        }
    }
    TextMapCompositePropagator::new(chosen)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_variable_chooses_which_headers_are_written() {
        let fields = |value: Option<&'static str>| {
            let env =
                Environment::read(|name| value.filter(|_| name == "OTEL_PROPAGATORS").map(str::to_owned));
            let mut fields: Vec<String> = propagator(&env).fields().map(str::to_owned).collect();
            fields.sort();
            fields
        };
        assert_eq!(fields(None), ["baggage", "traceparent", "tracestate"]);
        assert_eq!(fields(Some("tracecontext,b3,tracecontext")), ["traceparent", "tracestate"]);
        assert_eq!(fields(Some("none")), [""; 0]);
    }
}
