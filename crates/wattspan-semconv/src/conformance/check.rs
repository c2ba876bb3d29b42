//! The checker: spans, metrics and events against their definitions.

use super::attributes::{check as check_attributes, check_required, get, is_convention_name, text};
use super::data::{Event, Metric, Span, Status, Telemetry};
use super::violation::{Fault, Place, Violation};
use crate::model::{Evidence, MetricDef, SpanDef};
use crate::profile::Profile;
use crate::rename::names_in;
use crate::span_name::span_name;
use crate::{attr, smoltrace};

/// Every violation of a profile, in the order of the telemetry. SMOLTRACE's metrics count as unknown; see [`Checker`].
pub fn check(profile: Profile, telemetry: &Telemetry) -> Vec<Violation> {
    Checker::new(profile).check(telemetry)
}

/// A checker with its choices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Checker {
    profile: Profile,
    smoltrace: bool,
}

impl Checker {
    /// Checks against a profile.
    pub const fn new(profile: Profile) -> Self {
        Self { profile, smoltrace: false }
    }

    /// Lets SMOLTRACE's metrics stand beside the profile's, and checks them too.
    pub const fn with_smoltrace(mut self) -> Self {
        self.smoltrace = true;
        self
    }

    /// Every violation, in the order of the telemetry.
    pub fn check(self, telemetry: &Telemetry) -> Vec<Violation> {
        let mut out = Vec::new();
        check_attributes(self.profile, &Place::Resource, &telemetry.resource.attributes, &mut out);
        for span in &telemetry.spans {
            self.span(span, &mut out);
        }
        for metric in &telemetry.metrics {
            self.metric(metric, &mut out);
        }
        for event in &telemetry.events {
            self.event(event, &Place::Event(event.name.clone()), &mut out);
        }
        out
    }

    fn span(self, span: &Span, out: &mut Vec<Violation>) {
        let place = Place::Span(span.name.clone());
        check_attributes(self.profile, &place, &span.attributes, out);
        for event in &span.events {
            let place = Place::SpanEvent { span: span.name.clone(), event: event.name.clone() };
            self.event(event, &place, out);
        }
        let of_gen_ai =
            span.attributes.iter().any(|(name, _)| name.starts_with("gen_ai.") || name.starts_with("mcp."));
        if !of_gen_ai {
            return;
        }
        let def = self.span_def(span);
        let mut report = |fault| out.push(Violation { place: place.clone(), fault });
        match (span.status, get(&span.attributes, attr::ERROR_TYPE)) {
            (Status::Error, None) => report(Fault::MissingAttribute {
                name: attr::ERROR_TYPE.to_owned(),
                because: "required beside the status error",
            }),
            (Status::Unset | Status::Ok, Some(_)) => report(Fault::ErrorTypeOnSuccess),
            _ => {}
        }
        let Some(def) = def else {
            // An operation of the application's own has no definition; without one it cannot be told what it is.
            let named = [attr::GEN_AI_OPERATION_NAME, attr::MCP_METHOD_NAME];
            if !named.iter().any(|name| get(&span.attributes, name).is_some()) {
                let name = attr::GEN_AI_OPERATION_NAME.to_owned();
                report(Fault::MissingAttribute { name, because: "required" });
            }
            return;
        };
        if !def.kinds_allowed.contains(&span.kind) {
            report(Fault::WrongSpanKind { allowed: def.kinds_allowed, found: span.kind });
        }
        let expected = span_name(def, |name| text(&span.attributes, name));
        if span.name != expected {
            report(Fault::WrongSpanName { expected });
        }
        check_required(&place, def.attributes, &span.attributes, out);
    }

    /// The definition that a span is to be held against: the one whose operation and kind fit, narrowed to the
    /// provider's variant where there is one. An id is not on the wire, so those that were only inferred serve too.
    fn span_def(self, span: &Span) -> Option<&'static SpanDef> {
        let value = |name: &str| text(&span.attributes, name);
        let fits = |def: &&SpanDef| {
            if value(attr::MCP_METHOD_NAME).is_some() {
                def.name_template.starts_with("{mcp.method.name}")
            } else {
                value(attr::GEN_AI_OPERATION_NAME)
                    .is_some_and(|operation| def.operations.contains(&operation))
            }
        };
        let mut general = self.profile.spans().filter(|def| def.refines.is_none()).filter(fits);
        let first = general.next()?;
        let by_kind =
            std::iter::once(first).chain(general).find(|def| def.kinds_allowed.contains(&span.kind));
        let base = by_kind.unwrap_or(first);
        let variant = self.profile.spans().find(|def| {
            def.refines == Some(base.id)
                && def.fixed_attributes.iter().all(|(name, fixed)| value(name) == Some(*fixed))
        });
        Some(variant.unwrap_or(base))
    }

    fn metric(self, metric: &Metric, out: &mut Vec<Violation>) {
        let place = Place::Metric(metric.name.clone());
        let mut report = |fault| out.push(Violation { place: place.clone(), fault });
        let own = || smoltrace::metric(&metric.name).filter(|_| self.smoltrace).map(|entry| &entry.metric);
        let def = self.profile.metric_def(&metric.name).or_else(own);
        match def {
            None if is_convention_name(&metric.name) => {
                let operation =
                    metric.points.first().and_then(|point| text(point, attr::GEN_AI_OPERATION_NAME));
                report(Fault::UnknownMetric { instead: names_in(self.profile, &metric.name, operation) });
            }
            None => {}
            Some(def) => check_instrument(def, metric, &mut report),
        }
        for (index, point) in metric.points.iter().enumerate() {
            let place = Place::Point { metric: metric.name.clone(), index };
            check_attributes(self.profile, &place, point, out);
            if let Some(def) = def {
                check_required(&place, def.attributes, point, out);
            }
        }
    }

    fn event(self, event: &Event, place: &Place, out: &mut Vec<Violation>) {
        check_attributes(self.profile, place, &event.attributes, out);
        let mut report = |fault| out.push(Violation { place: place.clone(), fault });
        let Some(def) = self.profile.event_def(&event.name) else {
            if self.profile.event_is_deprecated(&event.name) {
                report(Fault::DeprecatedEvent);
            } else if is_convention_name(&event.name) {
                report(Fault::UnknownEvent { instead: names_in(self.profile, &event.name, None) });
            }
            return;
        };
        if let (Some(expected), Some(found)) = (def.severity, event.severity)
            && expected != found
        {
            report(Fault::WrongSeverity { expected, found });
        }
        check_required(place, def.attributes, &event.attributes, out);
    }
}

fn check_instrument(def: &'static MetricDef, metric: &Metric, report: &mut impl FnMut(Fault)) {
    if def.evidence == Evidence::Inferred {
        report(Fault::InferredMetric);
    }
    if metric.unit != def.unit {
        report(Fault::WrongUnit { expected: def.unit, found: metric.unit.clone() });
    }
    if metric.instrument != def.instrument {
        report(Fault::WrongInstrument { expected: def.instrument, found: metric.instrument });
    }
    if let Some(found) = metric.value_type.filter(|found| *found != def.value_type) {
        report(Fault::WrongValueType { expected: def.value_type, found });
    }
    if let Some(found) = &metric.buckets
        && !def.buckets.is_empty()
        && found != def.buckets
    {
        report(Fault::WrongBuckets { expected: def.buckets, found: found.clone() });
    }
}
