//! Which exporters the environment asks for.

use crate::env::Environment;
use crate::otlp::Signal;

/// Whether an exporter is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wanted {
    Yes,
    /// If somebody named an endpoint.
    IfNamed,
    No,
}

/// What `OTEL_TRACES_EXPORTER` and its siblings choose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Chosen {
    pub(crate) otlp: Wanted,
    pub(crate) console: bool,
    pub(crate) prometheus: bool,
}

impl Chosen {
    pub(crate) fn of(env: &Environment, signal: Signal) -> Self {
        let variable = format!("OTEL_{}_EXPORTER", signal.upper());
        let Some(names) = env.list(&variable) else {
            return Self { otlp: Wanted::IfNamed, console: false, prometheus: false };
        };
        let mut chosen = Self { otlp: Wanted::No, console: false, prometheus: false };
        for name in names {
            match name {
                "otlp" => chosen.otlp = Wanted::Yes,
                "console" => chosen.console = true,
                "prometheus" if signal == Signal::Metrics => chosen.prometheus = true,
                "none" => {}
                other => tracing::warn!("{variable}: {other:?} is not known here and is left out"),
            }
        }
        chosen
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_exporter_variables_choose() {
        let of = |signal, value: Option<&'static str>| {
            Chosen::of(
                &Environment::read(|name| value.filter(|_| name.ends_with("_EXPORTER")).map(str::to_owned)),
                signal,
            )
        };
        let chosen = |otlp, console, prometheus| Chosen { otlp, console, prometheus };
        assert_eq!(of(Signal::Traces, None), chosen(Wanted::IfNamed, false, false));
        assert_eq!(of(Signal::Traces, Some("none")), chosen(Wanted::No, false, false));
        assert_eq!(of(Signal::Traces, Some("otlp, console")), chosen(Wanted::Yes, true, false));
        assert_eq!(of(Signal::Metrics, Some("prometheus")), chosen(Wanted::No, false, true));
        assert_eq!(of(Signal::Traces, Some("zipkin")), chosen(Wanted::No, false, false));
    }
}
