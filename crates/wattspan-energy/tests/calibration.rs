//! The truth lies inside ± as often as it should, on seeds that the scales were not fitted on, and ± is not wide.
//!
//! The table, on the same seeds, is printed by `cargo run -p wattspan-energy --example calibration`.

mod support;

use support::{Coupling, SENSORS, Sensor, Trial, summary, trials};
use wattspan_energy::{LedgerConfig, UncertaintyModel};

/// Not those of the fit (1000 to 1023).
const SEEDS: std::ops::Range<u64> = 2_000..2_024;

fn without_gain() -> LedgerConfig {
    let mut config = LedgerConfig::default();
    config.uncertainty = UncertaintyModel::default();
    // The simulated sensors have none.
    config.uncertainty.gain = 0.0;
    config
}

fn judge(name: &str) {
    let sensor = SENSORS.into_iter().find(|(known, _)| *known == name).expect("a calibrated sensor").1;
    let profiles = trials(sensor, &without_gain(), SEEDS);
    let long = |trial: &&Trial| !trial.below;
    let count: usize = profiles.iter().map(|(_, trials)| trials.len()).sum();
    assert!(count >= 2_000, "{name}: {count} trials");
    for ((shape, coupling), trials) in &profiles {
        let found = summary(trials.iter().filter(long));
        assert!(found.coverage >= 0.88, "{name}, {shape:?}, {coupling:?}: {found:?}");
        assert!(trials.iter().all(|trial| trial.coverage == 1.0), "{name}: not all time has data");
    }
    let pooled = summary(profiles.iter().flat_map(|(_, trials)| trials).filter(long));
    assert!((0.93..=0.98).contains(&pooled.coverage), "{name}: {pooled:?}");
    let causal = profiles.iter().filter(|((_, coupling), _)| *coupling == Coupling::Causal);
    let causal = summary(causal.flat_map(|(_, trials)| trials).filter(long));
    assert!(causal.median_half_width <= 1.5 * causal.p95_error, "{name}: {causal:?}");
    // What is too short says so, and its physical bounds hold for loads that inferences cause.
    let short = |trial: &&Trial| trial.length < 2.0 * sensor.refresh() * 0.9;
    assert!(profiles.iter().flat_map(|(_, trials)| trials).filter(short).all(|trial| trial.below), "{name}");
    let bounded: Vec<&Trial> = profiles
        .iter()
        .filter(|((_, coupling), _)| *coupling == Coupling::Causal)
        .flat_map(|(_, trials)| trials.iter().filter(|trial| trial.below))
        .collect();
    let held = bounded.iter().filter(|trial| trial.within_bounds).count();
    assert!(held as f64 >= 0.98 * bounded.len() as f64, "{name}: {held} of {} inside bounds", bounded.len());
}

#[test]
fn a_counter_of_20_ms_is_calibrated() {
    judge("counter, 20 ms");
}

#[test]
fn a_counter_of_100_ms_is_calibrated() {
    judge("counter, 100 ms");
}

#[test]
fn instant_power_is_calibrated() {
    judge("instant, 100 of 100 ms");
}

#[test]
fn power_that_looks_at_a_quarter_of_the_time_is_calibrated() {
    judge("instant, 25 of 100 ms");
}

#[test]
fn power_that_looks_at_half_of_the_time_is_calibrated() {
    judge("instant, 10 of 20 ms");
}

#[test]
fn a_mean_of_a_second_is_calibrated() {
    judge("mean of 1 s, each 100 ms");
}

#[test]
fn a_wider_sensor_gain_shows_in_the_systematic_part() {
    let sensor = Sensor::Counter { refresh: 0.02 };
    let plain = trials(sensor, &without_gain(), 2_000..2_001);
    let with_gain = trials(sensor, &LedgerConfig::default(), 2_000..2_001);
    for ((_, plain), (_, wide)) in plain.iter().zip(&with_gain) {
        for (one, other) in plain.iter().zip(wide) {
            let expected = one.half_width.hypot(0.05 * one.energy);
            assert!((other.half_width - expected).abs() < 1e-5, "{one:?} {other:?}");
        }
    }
}
