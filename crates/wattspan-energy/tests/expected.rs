//! Every figure of `data/expected.json`, worked out beforehand in 40-digit decimal arithmetic, comes out of our types.

use std::time::Duration;

use serde::Deserialize;
use wattspan_core::{Grams, GramsPerKwh, Intensity, Joules, Provenance, UsdPerKwh, Watts};
use wattspan_energy::{Embodied, Overhead, electricity_cost, emissions, sci};

#[derive(Deserialize)]
struct Expected {
    schema: u32,
    cases: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    id: String,
    input: Input,
    expected: Figures,
}

#[derive(Deserialize)]
struct Input {
    watts: Option<String>,
    seconds: Option<String>,
    joules: String,
    pue: String,
    gco2e_per_kwh: String,
    usd_per_kwh: Option<String>,
    embodied: Option<EmbodiedInput>,
    functional_units: Option<String>,
}

#[derive(Deserialize)]
struct EmbodiedInput {
    total_kgco2e: String,
    time_reserved_hours: String,
    expected_lifespan_hours: String,
    resources_reserved: String,
    total_resources: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Figures {
    watt_hours: String,
    kilowatt_hours: String,
    facility_kilowatt_hours: String,
    gco2e: String,
    usd: Option<String>,
    embodied_gco2e: Option<String>,
    total_gco2e: Option<String>,
    sci_gco2e_per_unit: Option<String>,
}

fn number(text: &str) -> f64 {
    text.parse().unwrap()
}

#[track_caller]
fn same(case: &str, what: &str, ours: f64, expected: &str) {
    let expected = number(expected);
    assert!((ours - expected).abs() <= 1e-9 * expected.abs(), "{case}: {what} is {ours}, not {expected}");
}

#[test]
fn every_expected_figure_comes_out() {
    let all: Expected = serde_json::from_str(include_str!("data/expected.json")).unwrap();
    assert_eq!((all.schema, all.cases.len()), (1, 19));
    all.cases.iter().for_each(check);
}

fn check(case: &Case) {
    let (id, input, expected) = (case.id.as_str(), &case.input, &case.expected);
    let energy = Joules::new(number(&input.joules)).unwrap();
    if let (Some(watts), Some(seconds)) = (&input.watts, &input.seconds) {
        let from_power = Watts::new(number(watts)).unwrap() * Duration::from_secs_f64(number(seconds));
        assert_eq!(from_power, energy, "{id}");
    }
    let overhead = match number(&input.pue) {
        1.0 => Overhead::NONE,
        pue => Overhead::facility(pue).unwrap(),
    };
    same(id, "Wh", energy.kilowatt_hours() * 1e3, &expected.watt_hours);
    same(id, "kWh", energy.kilowatt_hours(), &expected.kilowatt_hours);
    same(id, "facility kWh", overhead.energy(energy).kilowatt_hours(), &expected.facility_kilowatt_hours);

    let value = GramsPerKwh::new(number(&input.gco2e_per_kwh)).unwrap();
    let intensity = Intensity::new(value, "expected.json", Provenance::User);
    let emitted = emissions([(energy, &intensity)], overhead).unwrap();
    same(id, "gCO2e", emitted.total.grams(), &expected.gco2e);
    assert_eq!(emitted.intensity, intensity, "{id}");

    assert_eq!(input.usd_per_kwh.is_some(), expected.usd.is_some(), "{id}");
    if let (Some(price), Some(usd)) = (&input.usd_per_kwh, &expected.usd) {
        let price = UsdPerKwh::new(number(price)).unwrap();
        let cost = electricity_cost([(energy, price)], overhead, None).unwrap();
        same(id, "USD", cost.total.usd(), usd);
    }

    let embodied = input.embodied.as_ref().map(|made| {
        let hours = |text: &str| Duration::from_secs_f64(number(text) * 3_600.0);
        let total = Grams::new(number(&made.total_kgco2e) * 1e3).unwrap();
        let (reserved, lifespan) = (hours(&made.time_reserved_hours), hours(&made.expected_lifespan_hours));
        let (used, of) = (number(&made.resources_reserved), number(&made.total_resources));
        Embodied::new(total, reserved, lifespan, used, of).unwrap().share()
    });
    assert_eq!(embodied.is_some(), expected.embodied_gco2e.is_some(), "{id}");
    if let (Some(ours), Some(expected)) = (embodied, &expected.embodied_gco2e) {
        same(id, "embodied g", ours.grams(), expected);
    }
    let embodied = embodied.unwrap_or(Grams::ZERO);
    if let Some(total) = &expected.total_gco2e {
        same(id, "total g", (emitted.total + embodied).grams(), total);
    }
    assert_eq!(input.functional_units.is_some(), expected.sci_gco2e_per_unit.is_some(), "{id}");
    if let (Some(units), Some(per_unit)) = (&input.functional_units, &expected.sci_gco2e_per_unit) {
        let ours = sci(emitted.total, embodied, number(units)).unwrap();
        same(id, "SCI", ours.grams(), per_unit);
    }
}
