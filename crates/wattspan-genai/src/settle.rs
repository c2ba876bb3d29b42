//! Ends a span once its energy is known.

use std::borrow::Cow;
use std::time::SystemTime;

use opentelemetry::trace::{Status, TraceContextExt as _};
use opentelemetry::{Context, KeyValue};
use wattspan_core::{Cost, DeviceKind, Emissions, InferenceEnergy, Joules, Settle, Settlement};
use wattspan_semconv::{Key, Operation, Profile};

use crate::request::Attributes;

/// A span that waits for its settlement. Its attributes are written once, together: a second write of a key would be
/// exported beside the first.
pub(crate) struct LiveSpan {
    pub(crate) context: Context,
    pub(crate) profile: Profile,
    pub(crate) operation: Operation,
    pub(crate) attributes: Vec<KeyValue>,
    pub(crate) end: SystemTime,
    pub(crate) error: Option<Cow<'static, str>>,
    pub(crate) output_tokens: Option<u64>,
}

impl Settle for LiveSpan {
    fn settle(self: Box<Self>, settlement: &Settlement) {
        let mut attributes = Attributes { profile: self.profile, operation: self.operation, list: self.attributes };
        attributes.set(Key::SettleReason, settlement.reason.as_str());
        if let Some(energy) = &settlement.energy {
            set_energy(&mut attributes, energy, self.output_tokens);
        }
        if let Some(emissions) = &settlement.emissions {
            set_emissions(&mut attributes, emissions);
        }
        if let Some(cost) = &settlement.cost {
            set_cost(&mut attributes, cost);
        }
        let span = self.context.span();
        span.set_attributes(attributes.list);
        if let Some(error) = self.error {
            span.set_status(Status::error(error));
        }
        span.end_with_timestamp(self.end);
    }
}

fn set_energy(attributes: &mut Attributes, energy: &InferenceEnergy, output_tokens: Option<u64>) {
    attributes.set(Key::EnergyTotal, energy.total.joules());
    attributes.set(Key::EnergyMethod, energy.method.as_str());
    attributes.set(Key::EnergyCoverage, energy.coverage.ratio());
    attributes.set(Key::EnergyPolicy, energy.policy.clone());
    attributes.set(Key::EnergyPolicySpread, energy.policy_spread.joules());
    if let Some(uncertainty) = &energy.uncertainty {
        attributes.set(Key::EnergyUncertainty, uncertainty.total.joules());
    }
    let mut joules = |key, value: Option<Joules>| {
        if let Some(value) = value {
            attributes.set(key, value.joules());
        }
    };
    joules(Key::EnergyIdle, energy.idle);
    joules(Key::EnergyGpu, energy.of_kind(DeviceKind::Gpu));
    joules(Key::EnergyCpu, energy.of_kind(DeviceKind::Cpu));
    joules(Key::EnergyDram, energy.of_kind(DeviceKind::Dram));
    joules(Key::EnergyEstimated, energy.estimated.as_ref().map(|estimate| estimate.value));
    if let Some(tokens) = output_tokens.filter(|tokens| *tokens > 0) {
        attributes.set(Key::EnergyPerOutputToken, energy.total.joules() / tokens as f64);
    }
    if !energy.devices.is_empty() {
        attributes.set_list(
            Key::EnergyScope,
            energy.devices.iter().map(|share| Cow::Owned(share.device.as_str().to_owned())),
        );
    }
    if !energy.flags.is_empty() {
        attributes.set_list(Key::EnergyFlags, energy.flags.iter().map(|flag| Cow::Borrowed(flag.as_str())));
    }
}

fn set_emissions(attributes: &mut Attributes, emissions: &Emissions) {
    let intensity = &emissions.intensity;
    attributes.set(Key::EmissionsTotal, emissions.total.grams());
    attributes.set(Key::EmissionsIntensity, intensity.value.grams_per_kwh());
    attributes.set(Key::EmissionsSource, intensity.source.clone());
    attributes.set(Key::EmissionsKind, intensity.kind.as_str());
    if let Some(zone) = &intensity.zone {
        attributes.set(Key::EmissionsZone, zone.clone());
    }
}

fn set_cost(attributes: &mut Attributes, cost: &Cost) {
    attributes.set(Key::CostTotal, cost.total.usd());
    attributes.set(Key::CostSource, cost.source.clone());
}
