//! Window totals against known profiles.

mod support;

use std::sync::Arc;

use support::{Curve, LIMIT, Refreshes, Rng, Sensor, nanos, sample};
use wattspan_energy::{Measured, Meter, window_energy};

/// All intervals of a meter that polls a curve each `poll` seconds.
fn measure(sensor: Sensor, curve: &Curve, poll: f64, until: f64, rng: &mut Rng) -> Vec<Measured> {
    let device = Arc::new(sensor.device(LIMIT));
    let refreshes = Refreshes::new(rng, sensor.refresh(), 0.0, until);
    let mut meter = Meter::new(Arc::clone(&device));
    let mut out = Vec::new();
    let mut at = 0.0005;
    while at < until {
        meter.read(&sample(&device, sensor, curve, &refreshes, at), &mut out);
        at += poll + rng.between(0.0, 0.001);
    }
    out
}

fn constant(until: f64) -> Curve {
    Curve::new(vec![(0.0, 300.0), (until, 300.0)])
}

/// 100 and 500 W in turn.
fn square(rng: &mut Rng, until: f64) -> Curve {
    let half = rng.log_between(0.02, 1.0);
    let mut steps = Vec::new();
    let mut at = -rng.unit() * half;
    while at < until {
        steps.push((at.max(0.0), if steps.len() % 2 == 0 { 100.0 } else { 500.0 }));
        at += half;
    }
    Curve::new(steps)
}

#[test]
fn no_window_is_off_by_more_than_a_refresh_of_the_range() {
    let mut rng = Rng::new(11);
    for turn in 0..60 {
        let refresh = [0.02, 0.1][turn % 2];
        let curve = if turn % 3 == 0 { constant(30.0) } else { square(&mut rng, 30.0) };
        let range = if turn % 3 == 0 { 0.0 } else { 400.0 };
        let found = measure(Sensor::Counter { refresh }, &curve, 0.01, 30.0, &mut rng);
        for _ in 0..20 {
            let from = rng.between(1.0, 20.0);
            let to = from + rng.log_between(0.3, 8.0);
            let window = window_energy(&found, nanos(from), nanos(to)).expect("data in the window");
            let truth = curve.energy(to) - curve.energy(from);
            let error = (window.energy.joules() - truth).abs();
            // The draw of both ends, known to the refresh period; a constant one to half a poll of timing.
            let timing = 2.0 * 0.006 * curve.power(from).max(curve.power(to));
            let bound = refresh * range + timing + 0.001;
            assert!(error <= bound, "turn {turn}: {error} J over {} s, bound {bound} J", to - from);
            assert_eq!(window.coverage.ratio(), 1.0);
        }
    }
}

#[test]
fn a_minute_at_100_ms_is_within_a_quarter_per_cent() {
    let mut rng = Rng::new(12);
    for turn in 0..20 {
        let curve = if turn % 2 == 0 { constant(70.0) } else { square(&mut rng, 70.0) };
        let found = measure(Sensor::Counter { refresh: 0.1 }, &curve, 0.05, 70.0, &mut rng);
        let from = rng.between(2.0, 5.0);
        let window = window_energy(&found, nanos(from), nanos(from + 60.0)).expect("data in the window");
        let truth = curve.energy(from + 60.0) - curve.energy(from);
        let error = (window.energy.joules() - truth).abs() / truth;
        assert!(error <= 0.0025, "turn {turn}: {} %", error * 100.0);
    }
}

#[test]
fn a_continuous_counter_is_exact_to_a_hundredth_of_a_per_cent() {
    let mut rng = Rng::new(13);
    for turn in 0..20 {
        let curve = if turn % 2 == 0 { constant(70.0) } else { square(&mut rng, 70.0) };
        let found = measure(Sensor::Counter { refresh: 0.001 }, &curve, 0.002, 70.0, &mut rng);
        let from = rng.between(2.0, 5.0);
        let window = window_energy(&found, nanos(from), nanos(from + 60.0)).expect("data in the window");
        let truth = curve.energy(from + 60.0) - curve.energy(from);
        let error = (window.energy.joules() - truth).abs() / truth;
        assert!(error <= 0.0001, "turn {turn}: {} %", error * 100.0);
    }
}

#[test]
fn the_bound_that_is_told_holds() {
    let mut rng = Rng::new(14);
    let (mut held, mut all) = (0, 0);
    for _ in 0..30 {
        let curve = square(&mut rng, 20.0);
        let found = measure(Sensor::Counter { refresh: 0.1 }, &curve, 0.01, 20.0, &mut rng);
        for _ in 0..20 {
            let from = rng.between(1.0, 10.0);
            let to = from + rng.log_between(0.3, 8.0);
            let window = window_energy(&found, nanos(from), nanos(to)).expect("data in the window");
            let truth = curve.energy(to) - curve.energy(from);
            held += usize::from((window.energy.joules() - truth).abs() <= window.bound.joules());
            all += 1;
        }
    }
    // A square near the sensor's own period hides its range from it.
    assert!(held * 100 >= all * 90, "{held} of {all}");
}

#[test]
fn time_without_data_is_not_in_the_coverage() {
    let mut rng = Rng::new(15);
    let curve = constant(10.0);
    let mut found = measure(Sensor::Counter { refresh: 0.02 }, &curve, 0.01, 10.0, &mut rng);
    found.retain(|measured| measured.end <= nanos(4.0) || measured.start >= nanos(6.0));
    let window = window_energy(&found, nanos(2.0), nanos(8.0)).expect("data in the window");
    assert!((window.coverage.ratio() - 4.0 / 6.0).abs() < 0.02, "{window:?}");
    assert!((window.energy.joules() - 1_200.0).abs() < 20.0, "{window:?}");
    assert_eq!(window_energy(&found, nanos(4.5), nanos(5.5)), None);
}
