//! What a settlement writes: figures with what they stand beside, and nothing where nothing was measured.

use std::sync::Arc;

use opentelemetry::Value;
use wattspan_core::{
    Boundary, Cost, DeviceId, DeviceKind, DeviceShare, Emissions, EnergyFlag, EnergyRange, Estimate, Grams,
    GramsPerKwh, InferenceEnergy, Intensity, Joules, Method, Provenance, Ratio, SettleReason, Settlement,
    TokenUsage, Uncertainty, Usd,
};
use wattspan_genai::{Profile, Request};

use crate::support::{Keeper, Rig, names, text, value};

fn settled(profile: Profile, output: Option<u64>, settlement: &Settlement) -> Vec<opentelemetry::KeyValue> {
    let rig = Rig::new(profile);
    let keeper = Keeper::default();
    let mut inference = rig.builder().observer(Arc::new(keeper.clone())).build().begin(Request::chat("m"));
    let mut usage = TokenUsage::default();
    usage.output = output;
    inference.usage(usage);
    inference.finish();
    assert_eq!(keeper.settle(settlement), 1);
    rig.check();
    let mut own = rig.span().attributes;
    own.retain(|pair| pair.key.as_str().starts_with("wattspan."));
    own
}

fn measured() -> InferenceEnergy {
    let joules = Joules::from_millijoules;
    let mut energy = InferenceEnergy::new(joules(5_000), Method::Mixed, "tokens");
    energy.uncertainty =
        Some(Uncertainty { total: joules(300), random: joules(200), systematic: joules(224) });
    energy.coverage = Ratio::new(0.9).unwrap();
    energy.idle = Some(joules(1_000));
    energy.policy_spread = joules(50);
    energy.devices = vec![
        DeviceShare::new(DeviceId::new("gpu-0"), DeviceKind::Gpu, Method::Counter, joules(4_000)),
        DeviceShare::new(DeviceId::new("package-0"), DeviceKind::Cpu, Method::Integrated, joules(700)),
        DeviceShare::new(DeviceId::new("dram-0"), DeviceKind::Dram, Method::Counter, joules(300)),
    ];
    energy.estimated =
        Some(Estimate::new(joules(900), EnergyRange { low: joules(1), high: joules(2_000) }, "TDP"));
    energy.flags = vec![EnergyFlag::SettledEarly];
    energy
}

fn emissions(provenance: Provenance, zone: Option<&str>) -> Emissions {
    let mut intensity = Intensity::new(GramsPerKwh::new(360.0).unwrap(), "test-table", provenance);
    intensity.zone = zone.map(Into::into);
    Emissions::new(Grams::new(0.0005).unwrap(), intensity)
}

#[test]
fn a_measured_settlement_writes_every_figure_with_what_it_stands_beside() {
    for profile in Profile::ALL {
        let mut settlement = Settlement::unknown(SettleReason::Covered);
        settlement.energy = Some(measured());
        settlement.emissions = Some(emissions(Provenance::Bundled, Some("DE")).within(Boundary::Facility));
        settlement.cost =
            Some(Cost::new(Usd::new(0.000_4).unwrap(), "electricity").within(Boundary::Facility));
        let own = settled(profile, Some(50), &settlement);
        let number = |name: &str| match value(&own, &format!("wattspan.{name}")) {
            Some(Value::F64(number)) => *number,
            other => panic!("{name}: {other:?}"),
        };
        for (name, want) in [
            ("energy.total", 5.0),
            ("energy.uncertainty", 0.3),
            ("energy.coverage", 0.9),
            ("energy.gpu", 4.0),
            ("energy.cpu", 0.7),
            ("energy.dram", 0.3),
            ("energy.idle", 1.0),
            ("energy.estimated", 0.9),
            ("energy.policy_spread", 0.05),
            ("energy.per_output_token", 0.1),
            ("emissions.total", 0.0005),
            ("emissions.intensity", 360.0),
            ("cost.total", 0.000_4),
        ] {
            assert!((number(name) - want).abs() < 1e-12, "{name} is {}", number(name));
        }
        for (name, want) in [
            ("energy.method", "mixed"),
            ("energy.policy", "tokens"),
            ("emissions.zone", "DE"),
            ("emissions.source", "test-table"),
            ("emissions.kind", "average"),
            ("emissions.boundary", "facility"),
            ("cost.source", "electricity"),
            ("cost.boundary", "facility"),
            ("settle.reason", "covered"),
            ("energy.scope", "[\"gpu-0\",\"package-0\",\"dram-0\"]"),
            ("energy.flags", "[\"settled_early\"]"),
        ] {
            assert_eq!(text(&own, &format!("wattspan.{name}")), want);
        }
        assert_eq!(own.len(), 24, "{:?}", names(&own));
    }
}

#[test]
fn nothing_measured_writes_no_energy() {
    for reason in [SettleReason::NoSensor, SettleReason::Remote, SettleReason::Overload] {
        let own = settled(Profile::Core, Some(9), &Settlement::unknown(reason));
        assert_eq!(names(&own), ["wattspan.settle.reason"]);
    }
    // A figure of which no device had data is none.
    let mut settlement = Settlement::unknown(SettleReason::TimedOut);
    let mut energy = InferenceEnergy::new(Joules::ZERO, Method::Counter, "tokens");
    energy.coverage = Ratio::ZERO;
    settlement.energy = Some(energy);
    assert_eq!(names(&settled(Profile::Core, Some(9), &settlement)), ["wattspan.settle.reason"]);
}

#[test]
fn no_output_tokens_no_energy_per_token() {
    let mut settlement = Settlement::unknown(SettleReason::Covered);
    settlement.energy = Some(measured());
    for output in [None, Some(0)] {
        let own = settled(Profile::Core, output, &settlement);
        assert_eq!(value(&own, "wattspan.energy.per_output_token"), None);
    }
}

#[test]
fn an_estimate_is_said_once_and_without_an_interval() {
    let mut settlement = Settlement::unknown(SettleReason::NoSensor);
    let mut energy = measured();
    energy.method = Method::Estimated;
    energy.devices.clear();
    energy.coverage = Ratio::ZERO;
    settlement.energy = Some(energy);
    let own = settled(Profile::Core, Some(1), &settlement);
    assert_eq!(text(&own, "wattspan.energy.method"), "estimated");
    assert!(value(&own, "wattspan.energy.total").is_some());
    for absent in ["estimated", "uncertainty", "gpu", "cpu", "scope"] {
        assert_eq!(value(&own, &format!("wattspan.energy.{absent}")), None, "{absent}");
    }
}

#[test]
fn emissions_always_name_a_zone() {
    for (provenance, want) in
        [(Provenance::User, "user"), (Provenance::WorldAverage, "world"), (Provenance::Live, "unknown")]
    {
        let mut settlement = Settlement::unknown(SettleReason::Covered);
        settlement.emissions = Some(emissions(provenance, None));
        assert_eq!(text(&settled(Profile::Core, None, &settlement), "wattspan.emissions.zone"), want);
    }
}
