//! Faults that users of other tools reported, with the right answer beside them.

use std::time::{Duration, SystemTime};

use wattspan_core::{
    Grams, GramsPerKwh, Intensity, Joules, Place, PriceSource, Provenance, Usd, UsdPerKwh, Watts,
};
use wattspan_energy::{Boundary, Overhead, Tariff, electricity_cost, emissions, spread};

const KWH: Joules = Joules::from_millijoules(3_600_000_000);

fn at(seconds: u64) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)
}

fn intensity(grams: u32) -> Intensity {
    Intensity::new(GramsPerKwh::whole(grams), "example", Provenance::Live)
}

/// With a PUE on energy but not on power, one row contradicted itself.
#[test]
fn case_measurement_05_the_factor_is_on_power_energy_grams_and_cost_alike() {
    let seconds = Duration::from_secs(10);
    let devices = Watts::whole(45) + Watts::whole(10);

    let device = Overhead::NONE.row(devices, seconds);
    assert_eq!(
        (device.boundary, device.power.watts(), device.energy.joules()),
        (Boundary::Device, 55.0, 550.0)
    );
    assert!((device.energy.kilowatt_hours() - 0.000_152_778).abs() < 5e-10);

    let pue = Overhead::facility(1.5).unwrap();
    let facility = pue.row(devices, seconds);
    assert_eq!((facility.boundary, facility.power.watts()), (Boundary::Facility, 82.5));
    assert_eq!(facility.energy, Joules::from_millijoules(825_000));
    assert!((facility.energy.kilowatt_hours() - 0.000_229_167).abs() < 5e-10);
    assert_eq!(facility.energy, pue.energy(device.energy), "power × time is the energy");

    // Emissions and cost of the devices' energy are those of the facility's figure.
    let held = intensity(480);
    let emitted = emissions([(device.energy, &held)], pue).unwrap();
    assert!((emitted.total.grams() - (facility.energy * held.value).grams()).abs() < 1e-12);
    let price = UsdPerKwh::new(0.3).unwrap();
    let cost = electricity_cost([(device.energy, price)], pue, None).unwrap();
    assert!((cost.total.usd() - (facility.energy * price).usd()).abs() < 1e-15);

    // Each says which of the two figures it is from.
    assert_eq!((emitted.boundary, cost.boundary), (Some(Boundary::Facility), Some(Boundary::Facility)));
    let plain = emissions([(device.energy, &held)], Overhead::NONE).unwrap();
    assert_eq!(plain.boundary, Some(Boundary::Device));
}

/// A direct intensity goes before one worked out from a mix: 34 g/kWh for two kilowatt-hours.
#[test]
fn case_carbon_02_grams_are_energy_times_the_direct_intensity() {
    let direct = intensity(34);
    assert_eq!(emissions([(KWH + KWH, &direct)], Overhead::NONE).unwrap().total, Grams::whole(68));
}

/// A run of hours was multiplied by the intensity of its last minute.
#[test]
fn case_carbon_06_each_hour_counts_at_its_own_intensity() {
    let changes = [(at(0), intensity(100)), (at(3_600), intensity(500))];
    let slices = spread(KWH + KWH, at(0), at(7_200), &changes);
    let emitted = emissions(slices, Overhead::NONE).unwrap();
    assert_eq!(emitted.total, Grams::whole(600));
    assert_eq!(emitted.intensity.value, GramsPerKwh::whole(300));
}

/// A local model's cost is its electricity; token prices are not asked for.
#[test]
fn case_tokens_05_a_local_model_costs_its_electricity() {
    let tariff = Tariff::fixed(UsdPerKwh::new(0.30).unwrap());
    let price = tariff.electricity(&Place::default(), at(0)).unwrap();
    let energy = Joules::from_millijoules(2_000_000);
    let cost = electricity_cost([(energy, price.value)], Overhead::NONE, None).unwrap();
    assert!((cost.total.usd() - 2_000.0 / 3.6e6 * 0.30).abs() <= 1e-9 * cost.total.usd());
    assert_eq!((&*cost.source, tariff.tokens("llama.cpp", "local")), ("electricity", None));
    assert_ne!(cost.total, Usd::ZERO);
}
