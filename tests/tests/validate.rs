//! A validation of cards whose sensors are known: it finds out what the fake driver was told to be.

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use wattspan_core::{Clock, MonoTime, Ratio, ScriptedClock};
use wattspan_energy::UncertaintyModel;
use wattspan_fake_nvml::FakeNvml;
use wattspan_fake_nvml::model::Preset;
use wattspan_monitor::validate::{
    Load, Pace, PromptRun, ValidateError, ValidateOptions, Validation, Verdict, validate,
};
use wattspan_nvidia::{NvidiaCollector, NvidiaOptions};

/// Moves both clocks on instead of sleeping.
struct Scripted<'a>(&'a FakeNvml, Arc<ScriptedClock>);

impl Pace for Scripted<'_> {
    fn wait_until(&mut self, time: MonoTime) {
        self.1.advance_to(time);
        self.0.set_time_us(self.1.mono().nanos() / 1_000).unwrap();
    }
}

/// A load that the fake adds at once and takes away at once.
struct FakeLoad<'a> {
    driver: &'a FakeNvml,
    running: u32,
    busy: bool,
}

impl Load for FakeLoad<'_> {
    fn set(&mut self, level: Ratio) {
        if std::mem::take(&mut self.busy) {
            self.driver.gpu(0).end_load(&format!("l{}", self.running), 0).unwrap();
        }
        if level.ratio() > 0.0 {
            self.running += 1;
            self.driver.gpu(0).begin_load(&format!("l{}", self.running), 400.0 * level.ratio()).unwrap();
            self.busy = true;
        }
        // What is long over is forgotten; its energy stays.
        self.driver
            .gpu(0)
            .forget_loads_before(self.driver.now_us().unwrap().saturating_sub(5_000_000))
            .unwrap();
    }
}

fn run(preset: Preset, gains: (f64, f64), with_load: bool) -> Validation {
    run_as(preset, &[], gains, with_load)
}

/// With more lines about the GPU.
fn run_as(preset: Preset, lines: &[&str], gains: (f64, f64), with_load: bool) -> Validation {
    let driver = FakeNvml::new().unwrap();
    let gpu = driver.gpu(0).preset(preset).unwrap().idle_watts(60.0).unwrap().power_limit(700.0).unwrap();
    gpu.gains(gains.0, gains.1).unwrap();
    for line in lines {
        driver.gpu(0).line(line).unwrap();
    }
    let mut options = NvidiaOptions::default();
    options.library = Some(driver.path().to_owned());
    let mut collector = NvidiaCollector::open(&options).unwrap().unwrap();
    let clock = Arc::new(ScriptedClock::new(SystemTime::UNIX_EPOCH + Duration::from_secs(1_767_225_600)));
    let mut pace = Scripted(&driver, clock.clone());
    let mut load = FakeLoad { driver: &driver, running: 0, busy: false };
    let mut options = ValidateOptions::default();
    options.plateau = Duration::from_secs(10);
    let load: Option<&mut dyn Load> = if with_load { Some(&mut load) } else { None };
    let found = validate(&mut collector, load, &*clock, &mut pace, &options).unwrap();
    assert!(found.duration_seconds < 300.0, "it takes {} s", found.duration_seconds);
    found
}

#[track_caller]
fn near(found: Option<f64>, truth: f64, by: f64) {
    let found = found.expect("it was found");
    assert!((found - truth).abs() <= by, "{found} for {truth}");
}

#[test]
fn refresh_step_and_duty_of_a_known_card_are_found() {
    // Hopper's power reading looks at 25 of each 100 ms.
    let found = run(Preset::Hopper, (1.0, 1.0), true);
    let device = &found.devices[0];
    near(device.counter_refresh_seconds, 0.1, 0.003);
    assert_eq!(device.counter_step.unwrap().microjoules() % 1_000, 0);
    near(device.power_refresh_seconds, 0.1, 0.003);
    near(device.power_window_seconds, 0.025, 0.006);
    near(device.power_duty_ratio, 0.25, 0.06);
    for (row, truth) in device.plateaus.iter().zip([60.0, 160.0, 260.0, 360.0, 460.0]) {
        near(row.counter_watts, truth, 0.01 * truth);
        near(row.ratio, 1.0, 0.01);
    }
    assert_eq!(device.squares.len(), 9 - 1, "the refresh itself is one of the periods that are always tried");
    for row in &device.squares {
        // The counter misses nothing, whatever the period.
        near(row.counter_watts, 260.0, 5.0);
    }
    // A load in step with a sensor that sees a quarter of it: the power reading is wrong by much.
    let locked = device.squares.iter().find(|row| row.period_seconds == Some(0.1)).unwrap();
    assert!((locked.ratio.unwrap() - 1.0).abs() > 0.3, "{locked:?}");
    assert_eq!(found.verdict, Verdict::SelfConsistent);
    let table = found.table();
    assert!(table.contains("square 100 ms") && table.ends_with("self-consistent\n"), "{table}");
    let json = serde_json_round_trip(&found);
    assert_eq!(json.verdict, Verdict::SelfConsistent);
}

#[test]
fn the_scale_is_that_of_the_sensor_that_was_found() {
    let model = UncertaintyModel::default();
    let scales = [model.gamma_counter, model.gamma_instant, model.gamma_part_time, model.gamma_trailing];
    assert!(scales.iter().enumerate().all(|(at, one)| !scales[..at].contains(one)), "or this shows nothing");
    let counted = run(Preset::Hopper, (1.0, 1.0), true);
    assert_eq!(counted.devices[0].gamma, model.gamma_counter);
    // Known beforehand to look at 10 of 20 ms, and found to.
    let part = run(Preset::Pascal, (1.0, 1.0), true);
    near(part.devices[0].power_duty_ratio, 0.5, 0.1);
    assert_eq!(part.devices[0].gamma, model.gamma_part_time);
    assert_eq!(run(Preset::Pascal, (1.0, 1.0), false).devices[0].gamma, model.gamma_part_time);
    // Stated to look at all of its period.
    let whole = run_as(Preset::Turing, &["counter off"], (1.0, 1.0), true);
    assert_eq!(whole.devices[0].gamma, model.gamma_instant);
    let lines =
        ["usage", "average", "instant"].map(|name| format!("sensor {name} update 100000 window 25000"));
    let lines: Vec<&str> = std::iter::once("counter off").chain(lines.iter().map(String::as_str)).collect();
    let found = run_as(Preset::Turing, &lines, (1.0, 1.0), true);
    near(found.devices[0].power_duty_ratio, 0.25, 0.06);
    assert_eq!(found.devices[0].gamma, model.gamma_part_time, "what was found outweighs what is stated");
}

fn serde_json_round_trip(found: &Validation) -> Validation {
    serde_json::from_str(&serde_json::to_string(found).unwrap()).unwrap()
}

#[test]
fn a_reading_that_is_off_is_inconsistent() {
    let found = run(Preset::Turing, (1.0, 1.2), true);
    near(found.devices[0].plateaus[4].ratio, 1.2, 0.02);
    assert_eq!(found.verdict, Verdict::Inconsistent);
}

#[test]
fn without_a_load_the_rest_is_named_as_skipped() {
    let found = run(Preset::Turing, (1.0, 1.0), false);
    near(found.devices[0].counter_refresh_seconds, 0.1, 0.003);
    assert_eq!(found.devices[0].plateaus.len(), 1);
    assert!(found.skipped.iter().any(|text| text.contains("no load")), "{:?}", found.skipped);
}

#[test]
fn only_a_meter_makes_it_validated() {
    let found = run(Preset::Turing, (1.0, 1.0), true);
    // A supply that loses a tenth, and 35 W besides; the meter's clock is 2 s ahead.
    let meter = |slope: f64, drift: f64| {
        let mut csv = String::from("unix_seconds,watts\n");
        for (second, power) in found.power_watts.iter().enumerate() {
            let watts = power.unwrap_or(60.0) * slope + 35.0 + drift * second as f64;
            let time = found.start_unix_seconds + second as f64 + 2.0;
            // Writing to a string cannot fail.
            let _ = writeln!(csv, "{time},{watts:.1}");
        }
        csv
    };
    let validated = found.clone().with_meter(&meter(1.1, 0.0)).unwrap();
    let fit = validated.meter.unwrap();
    assert!((fit.slope - 1.1).abs() < 0.01 && (fit.offset_watts - 35.0).abs() < 2.0, "{fit:?}");
    assert!((fit.clock_ahead_seconds - 2.0).abs() < 0.15, "{fit:?}");
    assert_eq!(validated.verdict, Verdict::Validated, "{fit:?}");
    assert!(validated.devices[0].gain_ratio < 0.05);

    let drifting = found.clone().with_meter(&meter(1.1, 3.0)).unwrap();
    assert_eq!(drifting.verdict, Verdict::Refuted, "{:?}", drifting.meter);
    for wrong in ["", "1,2\n1,3\n", "unix,watts\n1,x\n", "1,2\n2,3\n"] {
        let error = found.clone().with_meter(wrong).unwrap_err();
        assert!(matches!(error, ValidateError::Meter { .. }), "{wrong:?}: {error}");
    }
}

#[test]
fn identical_prompts_show_their_spread() {
    use wattspan_core::Joules;
    let found = run(Preset::Turing, (1.0, 1.0), false);
    let energies = [98_000, 100_000, 102_000].map(Joules::from_millijoules).to_vec();
    let with = found.with_prompts(&[PromptRun::new(1, energies, Joules::from_millijoules(310_000))]);
    let spread = &with.prompts[0];
    assert_eq!((spread.count, spread.mean_joules), (3, 100.0));
    assert!((spread.spread_ratio - 0.02).abs() < 1e-9 && (spread.sum_ratio - 300.0 / 310.0).abs() < 1e-9);
    assert!(!with.skipped.iter().any(|text| text.contains("prompts")));
}
