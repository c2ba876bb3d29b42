//! Ends a span once its energy is known.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::SystemTime;

use opentelemetry::trace::{Status, TraceContextExt as _};
use opentelemetry::{Context, KeyValue};
use wattspan_core::{
    Cost, DeviceKind, Emissions, InferenceEnergy, Intensity, Joules, Method, Provenance, Settle, Settlement,
};
use wattspan_semconv::{Key, Operation, Profile};

use crate::attributes::Attributes;
use crate::genai::Shared;
use crate::instruments::Slot;

/// A span that waits for its settlement. Its attributes are written once, together: a second write of a key would be
/// exported beside the first.
pub(crate) struct LiveSpan {
    pub(crate) context: Context,
    pub(crate) recording: bool,
    pub(crate) profile: Profile,
    pub(crate) operation: Operation,
    pub(crate) attributes: Vec<KeyValue>,
    pub(crate) end: SystemTime,
    /// The status's description, of a failure.
    pub(crate) status: Option<Cow<'static, str>>,
    pub(crate) output_tokens: Option<u64>,
    pub(crate) chunks: Option<ChunkTimes>,
}

/// Times between chunks, to be recorded away from the caller's thread.
pub(crate) struct ChunkTimes {
    pub(crate) shared: Arc<Shared>,
    pub(crate) operation: Operation,
    pub(crate) nanos: Vec<u64>,
    pub(crate) attributes: Vec<KeyValue>,
}

impl ChunkTimes {
    pub(crate) fn record(mut self) {
        let instruments = self.shared.instruments.of(self.operation);
        for nanos in self.nanos {
            instruments.record(Slot::ChunkInterval, nanos as f64 / 1e9, &mut self.attributes);
        }
    }
}

impl Settle for LiveSpan {
    fn settle(self: Box<Self>, settlement: &Settlement) {
        // Metrics do not depend on sampling.
        if let Some(chunks) = self.chunks {
            chunks.record();
        }
        let span = self.context.span();
        if self.recording {
            // None of the keys of a settlement can be among the others.
            let room = if settlement.energy.is_some() { 26 } else { 10 };
            let mut attributes = Attributes::new(self.profile, self.operation, room);
            settled(&mut attributes, settlement, self.output_tokens);
            span.set_attributes(self.attributes.into_iter().chain(attributes.list));
            if let Some(description) = self.status {
                span.set_status(Status::error(description));
            }
        }
        span.end_with_timestamp(self.end);
    }
}

fn settled(attributes: &mut Attributes, settlement: &Settlement, output_tokens: Option<u64>) {
    attributes.set(Key::SettleReason, settlement.reason.as_str());
    // Coverage of nothing means that no measured device had data: there is no figure, and none is written.
    let measured =
        |energy: &&InferenceEnergy| energy.method == Method::Estimated || energy.coverage.ratio() > 0.0;
    if let Some(energy) = settlement.energy.as_ref().filter(measured) {
        set_energy(attributes, energy, output_tokens);
    }
    if let Some(emissions) = &settlement.emissions {
        set_emissions(attributes, emissions);
    }
    if let Some(cost) = &settlement.cost {
        set_cost(attributes, cost);
    }
}

fn set_energy(attributes: &mut Attributes, energy: &InferenceEnergy, output_tokens: Option<u64>) {
    attributes.set(Key::EnergyTotal, energy.total.joules());
    attributes.set(Key::EnergyMethod, energy.method.as_str());
    attributes.set(Key::EnergyCoverage, energy.coverage.ratio());
    attributes.set(Key::EnergyPolicy, energy.policy.clone());
    attributes.set(Key::EnergyPolicySpread, energy.policy_spread.joules());
    let estimate = energy.method == Method::Estimated;
    if let Some(uncertainty) = energy.uncertainty.as_ref().filter(|_| !estimate) {
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
    // An estimate that is the total already is not said again beside it: somebody would add the two.
    let beside = energy.estimated.as_ref().filter(|_| !estimate);
    joules(Key::EnergyEstimated, beside.map(|estimate| estimate.value));
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
    attributes.set(Key::EmissionsZone, zone(intensity));
    if let Some(boundary) = emissions.boundary {
        attributes.set(Key::EmissionsBoundary, boundary.as_str());
    }
}

/// The zone stands beside every figure of emissions. One that has none says where the figure comes from instead.
fn zone(intensity: &Intensity) -> Arc<str> {
    match (&intensity.zone, intensity.provenance) {
        (Some(zone), _) => Arc::clone(zone),
        (None, Provenance::User) => "user".into(),
        (None, Provenance::WorldAverage) => "world".into(),
        (None, _) => "unknown".into(),
    }
}

fn set_cost(attributes: &mut Attributes, cost: &Cost) {
    attributes.set(Key::CostTotal, cost.total.usd());
    attributes.set(Key::CostSource, cost.source.clone());
    if let Some(boundary) = cost.boundary {
        attributes.set(Key::CostBoundary, boundary.as_str());
    }
}
