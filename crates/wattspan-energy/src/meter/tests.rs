//! Scripts of readings, and the intervals that must come of them.

use wattspan_core::{CounterSpec, DeviceId, PowerShape, PowerSpec, Reading, Vendor};

use super::*;

const POWERCAP: CounterSpec =
    CounterSpec { microjoules_per_tick: (1, 1), modulus: None, refresh: Some(MS_1) };
const NVML: CounterSpec =
    CounterSpec { microjoules_per_tick: (1_000, 1), modulus: None, refresh: Some(MS_1) };
const MS_1: Duration = Duration::from_millis(1);

fn at(millis: u64) -> MonoTime {
    MonoTime::from_nanos(millis * 1_000_000)
}

fn device(counter: Option<CounterSpec>, power: Option<PowerSpec>, limit: Option<u32>) -> Arc<Device> {
    let mut device = Device::new(DeviceId::new("d"), DeviceKind::Gpu, Vendor::Unknown, "test");
    device.counter = counter;
    device.power = power;
    device.power_limit = limit.map(Watts::whole);
    Arc::new(device)
}

const fn instant(refresh: u64) -> PowerSpec {
    let window = Duration::from_millis(refresh);
    PowerSpec { shape: PowerShape::Instant { window }, refresh: Some(window) }
}

/// Plays samples of (milliseconds, ticks, milliwatts).
fn play(
    device: &Arc<Device>,
    samples: impl IntoIterator<Item = (u64, Option<u64>, Option<u32>)>,
) -> Vec<Measured> {
    let mut meter = Meter::new(Arc::clone(device));
    let mut out = Vec::new();
    for (millis, ticks, milliwatts) in samples {
        let mut sample = DeviceSample::new(Arc::clone(device), at(millis));
        sample.energy = ticks.map_or_else(|| Reading::failed("test"), Reading::Value);
        sample.power = milliwatts
            .map_or_else(|| Reading::failed("test"), |mw| Reading::Value(Watts::from_milliwatts(mw)));
        meter.read(&sample, &mut out);
    }
    for pair in out.windows(2) {
        assert!(pair[0].end <= pair[1].start, "intervals overlap: {pair:?}");
    }
    for measured in &out {
        assert!(!measured.energy.is_ok_and(Joules::is_negative), "{measured:?}");
    }
    out
}

fn counted(spec: CounterSpec, limit: Option<u32>, readings: &[(u64, u64)]) -> Vec<Measured> {
    let readings = readings.iter().map(|(millis, ticks)| (*millis, Some(*ticks), None));
    play(&device(Some(spec), None, limit), readings)
}

fn total(intervals: &[Measured]) -> Joules {
    intervals.iter().filter_map(|measured| measured.energy.ok()).sum()
}

#[track_caller]
fn energies(intervals: &[Measured], expected: &[Result<i128, GapReason>]) {
    let found: Vec<_> = intervals.iter().map(|measured| measured.energy.map(Joules::microjoules)).collect();
    assert_eq!(found, expected);
}

#[track_caller]
fn near(found: f64, expected: f64, part: f64) {
    assert!((found - expected).abs() <= part * expected, "{found} is not {expected}");
}

#[test]
fn case_measurement_01_a_counter_tells_the_whole_interval() {
    let found = counted(POWERCAP, Some(300), &[(0, 0), (10, 20_000), (15_000, 1_199_220_000)]);
    assert_eq!(total(&found), Joules::from_microjoules(1_199_220_000));
    let span = found.last().unwrap().end.since(found[0].start);
    near((total(&found) / span).unwrap().watts(), 79.948, 1e-3);
}

#[test]
fn case_measurement_07_an_unchanged_counter_is_not_zero_power() {
    let ticks = [1_000, 1_000, 1_000, 3_000, 3_000, 3_000, 5_000];
    let spec = CounterSpec { refresh: None, ..NVML };
    let readings: Vec<_> = ticks.iter().enumerate().map(|(turn, ticks)| (turn as u64 * 10, *ticks)).collect();
    let found = counted(spec, None, &readings);
    energies(&found, &[Ok(2_000_000), Ok(2_000_000)]);
    // 4 J; between the first reading and the last refresh lie 55 ms, known to half a poll.
    near((total(&found) / Duration::from_millis(60)).unwrap().watts(), 66.7, 1e-3);
    let window = crate::window_energy(&found, at(0), at(60)).unwrap();
    assert!(found.iter().all(|measured| measured.energy != Ok(Joules::ZERO)));
    assert!(window.energy <= Joules::from_millijoules(4_000));
}

#[test]
fn case_measurement_09_a_counter_that_drops_to_zero_and_returns_books_nothing() {
    let readings = [(0, 1_000_000_000_000), (10_000, 0), (20_000, 1_000_000_500_000)];
    for limit in [None, Some(300)] {
        let found = counted(POWERCAP, limit, &readings);
        energies(&found, &[Err(GapReason::CounterReset), Err(GapReason::Implausible)]);
    }
}

#[test]
fn case_nvml_03_without_a_counter_power_is_integrated() {
    for (milliwatts, joules) in [(26_000, 93_600.0), (29_000, 104_400.0)] {
        let device = device(None, Some(instant(100)), None);
        let found = play(&device, (0..=3_600).map(|second| (second * 1_000, None, Some(milliwatts))));
        near(total(&found).joules(), joules, 1e-3);
        assert!(found.iter().all(|measured| measured.method == Method::Integrated));
    }
}

#[test]
fn case_nvml_13_the_counter_wins_and_the_disagreement_is_told() {
    let device = device(Some(NVML), Some(instant(100)), None);
    let steps = 50_u64;
    let ticks = |turn: u64| Some(187_443 * turn / steps);
    let found = play(&device, (0..=steps).map(|turn| (turn * 50_045 / 500, ticks(turn), Some(65_318))));
    assert_eq!(total(&found), Joules::from_millijoules(187_443));
    assert!(found.iter().all(|measured| measured.method == Method::Counter));
    near(found.last().unwrap().cross_check.unwrap(), 1.74, 5e-3);
}

#[test]
fn agreement_is_not_reported() {
    let device = device(Some(NVML), Some(instant(100)), None);
    let watts = |turn: u64| if (turn / 10).is_multiple_of(2) { 300 } else { 60 };
    let mut ticks = 0;
    let found = play(
        &device,
        (0..=200).map(|turn| {
            ticks += watts(turn) * 100;
            (turn * 100, Some(ticks), Some(watts(turn) as u32 * 1_000))
        }),
    );
    assert_eq!(found.last().unwrap().cross_check, None);
}

#[test]
fn case_amd_03_a_frozen_counter_is_replaced_by_power() {
    let spec = CounterSpec { microjoules_per_tick: (153, 10), modulus: None, refresh: None };
    let device = device(Some(spec), Some(instant(100)), Some(560));
    let found = play(&device, (0..=200).map(|turn| (turn * 100, Some(8_152_136), Some(250_000))));
    // The last refresh may lie up to one period before the last poll.
    near(total(&found).joules(), 5_000.0, 0.011);
    for measured in &found {
        assert_eq!(
            (measured.method, measured.fallback),
            (Method::Integrated, Some(GapReason::CounterFrozen))
        );
    }
    assert_eq!(found[0].start, at(0));
}

#[test]
fn a_counter_that_moves_again_takes_over_without_booking_twice() {
    let spec = CounterSpec { refresh: Some(Duration::from_millis(100)), ..NVML };
    let device = device(Some(spec), Some(instant(100)), Some(560));
    // 200 W throughout; the counter stands still from 5 s to 10 s and then shows all that it had missed.
    let ticks = |turn: u64| if (50..100).contains(&turn) { 50 * 20_000 } else { turn * 20_000 };
    let found = play(&device, (0..=200).map(|turn| (turn * 100, Some(ticks(turn)), Some(200_000))));
    let span = found.last().unwrap().end.since(found[0].start).as_secs_f64();
    // The first refresh is taken to lie half a period before it was seen.
    near(total(&found).joules(), 200.0 * span, 3e-3);
    assert_eq!(found.last().unwrap().method, Method::Counter);
    assert!(found.iter().any(|measured| measured.method == Method::Integrated));
    for pair in found.windows(2) {
        assert_eq!(pair[0].end, pair[1].start, "no hole where they change over");
    }
}

#[test]
fn a_counter_of_a_device_that_draws_nothing_is_not_frozen() {
    let device = device(Some(NVML), Some(instant(100)), None);
    let found = play(&device, (0..=100).map(|turn| (turn * 100, Some(7), Some(0))));
    assert!(!found.is_empty());
    assert!(found.iter().all(|measured| measured.energy == Ok(Joules::ZERO)));
    assert!(found.iter().all(|measured| measured.method == Method::Counter));
}

#[test]
fn case_amd_07_megawatts_are_refused() {
    let delta = (12_572_969.9 * 15.0 * 1e6) as u64;
    let found = counted(POWERCAP, Some(560), &[(0, 0), (15_000, delta), (30_000, delta + 8_400_000_000)]);
    energies(&found, &[Err(GapReason::Implausible), Ok(8_400_000_000)]);
}

#[test]
fn case_amd_01_ticks_are_multiplied_by_their_size() {
    let spec = CounterSpec { microjoules_per_tick: (153, 10), ..POWERCAP };
    let found = counted(spec, None, &[(0, 8_152_136), (10_000, 8_802_136)]);
    energies(&found, &[Ok(9_945_000)]);
}

#[test]
fn case_apple_03_a_negative_difference_after_sleep_is_a_reset() {
    let found = counted(NVML, None, &[(0, 5_000), (2_000, 1_200), (4_000, 9_200)]);
    energies(&found, &[Err(GapReason::CounterReset), Ok(8_000_000)]);
    near(found[1].power().unwrap().watts(), 4.0, 1e-3);
    assert!((1_999..=2_000).contains(&(found[0].end.nanos() / 1_000_000)));
}

#[test]
fn case_apple_07_channels_that_are_published_once_a_second() {
    let spec = CounterSpec { refresh: None, ..NVML };
    let die = |from: u64, to: u64, next: u64| {
        let ticks = move |turn: u64| match turn {
            0..10 => from,
            10..20 => to,
            _ => next,
        };
        counted(spec, None, &(0..=20).map(|turn| (turn * 100, ticks(turn))).collect::<Vec<_>>())
    };
    let (first, second) = (die(1_000, 3_500, 6_000), die(2_000, 4_000, 6_000));
    for (found, millijoules) in [(&first, 2_500), (&second, 2_000)] {
        energies(found, &[Ok(millijoules * 1_000), Ok(millijoules * 1_000)]);
        assert_eq!(found[1].length(), Duration::from_secs(1));
    }
    let together = first[1].power().unwrap() + second[1].power().unwrap();
    near(together.watts(), 4.5, 1e-3);
}

#[test]
fn case_rapl_01_a_counter_wraps_at_its_range() {
    let spec = CounterSpec { modulus: Some(262_143_328_850), ..POWERCAP };
    let found = counted(spec, Some(200), &[(0, 261_439_421_273), (15_000, 708_461_094)]);
    let energy = found[0].energy.unwrap().microjoules();
    assert!((energy - 1_412_368_671).abs() <= 100, "{energy}");
    near(found[0].power().unwrap().watts(), 94.158, 1e-3);
}

#[test]
fn case_rapl_03_each_wrap_that_was_seen_counts_and_one_that_may_be_missed_is_a_gap() {
    let spec = CounterSpec { modulus: Some(262_143_328_850), ..POWERCAP };
    let ticks = [
        0,
        120_000_000_000,
        240_000_000_000,
        97_856_671_150,
        217_856_671_150,
        75_713_342_300,
        195_713_342_300,
    ];
    let samples: Vec<_> =
        ticks.iter().enumerate().map(|(turn, ticks)| (turn as u64 * 600_000, *ticks)).collect();
    for limit in [Some(400), Some(225)] {
        let found = counted(spec, limit, &samples);
        let energy = total(&found).microjoules();
        assert!((energy - 720_000_000_000).abs() <= 200, "{energy}");
    }
    let ends = [samples[0], samples[6]];
    energies(&counted(spec, Some(400), &ends), &[Err(GapReason::WrapAmbiguous)]);
    energies(&counted(spec, None, &ends), &[Err(GapReason::WrapAmbiguous)]);
}

#[test]
fn a_fall_that_no_wrap_explains_is_a_reset() {
    let spec = CounterSpec { modulus: Some(262_143_328_850), ..POWERCAP };
    let found = counted(spec, Some(200), &[(0, 100_000_000_000), (1_000, 5_000), (2_000, 100_005_000)]);
    energies(&found, &[Err(GapReason::CounterReset), Ok(100_000_000)]);
}

#[test]
fn a_counter_above_its_own_range_does_not_wrap() {
    let spec = CounterSpec { modulus: Some(262_143_328_850), ..POWERCAP };
    let found = counted(spec, Some(200), &[(0, 60_293_987_000_000), (1_000, 60_294_087_000_000)]);
    energies(&found, &[Ok(100_000_000)]);
    let found = counted(spec, Some(200), &[(0, 60_293_987_000_000), (1_000, 5)]);
    energies(&found, &[Err(GapReason::CounterReset)]);
}

#[test]
fn case_k8s_01_a_smaller_count_adds_nothing() {
    energies(&counted(POWERCAP, None, &[(0, 5_000), (1_000, 4_000)]), &[Err(GapReason::CounterReset)]);
}

#[test]
fn ticks_finer_than_a_microjoule_carry_their_remainder() {
    // 2⁻¹⁶ J: 65 536 ticks are a joule, whatever the steps in which they came.
    let spec =
        CounterSpec { microjoules_per_tick: (15_625, 1_024), modulus: Some(1 << 32), refresh: Some(MS_1) };
    let start = (1_u64 << 32) - 30_000;
    let readings: Vec<_> = (0..=65_536_u64)
        .step_by(7)
        .chain([65_536])
        .map(|ticks| (ticks, (start + ticks) % (1 << 32)))
        .collect();
    let found = counted(spec, None, &readings);
    assert_eq!(total(&found), Joules::from_microjoules(1_000_000));
}

#[test]
fn duplicates_equal_times_and_late_samples_change_nothing() {
    let readings = [(0, 0), (100, 1_000), (100, 1_000), (100, 1_500), (50, 700), (200, 2_000), (300, 3_000)];
    let found = counted(NVML, None, &readings);
    assert_eq!(total(&found), Joules::from_millijoules(3_000));
    let mut meter = Meter::new(device(Some(NVML), None, None));
    let mut out = Vec::new();
    for (millis, ticks) in readings {
        let mut sample = DeviceSample::new(Arc::clone(meter.device()), at(millis));
        sample.energy = Reading::Value(ticks);
        meter.read(&sample, &mut out);
    }
    assert_eq!(meter.dropped(), 3);
}

#[test]
fn a_clock_that_went_back_is_a_gap_and_measuring_goes_on() {
    let device = device(Some(NVML), None, None);
    let mut meter = Meter::new(Arc::clone(&device));
    let mut out = Vec::new();
    let times = (0..=10).map(|turn| 100_000 + turn * 100).chain((0..=20).map(|turn| 5_000 + turn * 100));
    for (turn, millis) in times.enumerate() {
        let mut sample = DeviceSample::new(Arc::clone(&device), at(millis));
        sample.energy = Reading::Value(turn as u64 * 1_000);
        meter.read(&sample, &mut out);
    }
    assert!(out.iter().any(|measured| measured.energy == Err(GapReason::ClockJump)));
    let last = out.last().unwrap();
    assert_eq!((last.energy, last.end), (Ok(Joules::from_millijoules(1_000)), at(7_000) - MS_1 / 2));
}

#[test]
fn what_the_caller_knows_becomes_a_gap() {
    let device = device(Some(NVML), None, None);
    let mut meter = Meter::new(Arc::clone(&device));
    let mut out = Vec::new();
    let read = |meter: &mut Meter, millis: u64, ticks: u64, out: &mut Vec<Measured>| {
        let mut sample = DeviceSample::new(Arc::clone(&device), at(millis));
        sample.energy = Reading::Value(ticks);
        meter.read(&sample, out);
    };
    read(&mut meter, 0, 0, &mut out);
    read(&mut meter, 1_000, 50_000, &mut out);
    meter.interrupt(at(9_000), GapReason::Suspended, &mut out);
    read(&mut meter, 9_001, 10, &mut out);
    read(&mut meter, 10_001, 50_010, &mut out);
    let gap = out.iter().find(|measured| measured.energy == Err(GapReason::Suspended)).unwrap();
    assert_eq!(gap.end, at(9_000));
    assert_eq!(total(&out), Joules::from_millijoules(100_000));
}

#[test]
fn a_device_that_stops_answering_is_lost_and_found_again() {
    let device = device(Some(NVML), Some(instant(100)), None);
    let answer = |turn: u64| !(20..60).contains(&turn);
    let found = play(
        &device,
        (0..=100).map(|turn| {
            let there = answer(turn);
            (turn * 100, there.then_some(turn * 10_000), there.then_some(100_000))
        }),
    );
    assert!(found.iter().any(|measured| measured.energy == Err(GapReason::DeviceLost)));
    // 2 s before and 4 s after at 100 W, to a refresh at each edge.
    near(total(&found).joules(), 590.0, 0.05);
    assert_eq!(found.last().unwrap().method, Method::Counter);
}

#[test]
fn nothing_is_said_of_a_device_without_readings() {
    let found =
        play(&device(Some(NVML), Some(instant(100)), None), (0..=50).map(|turn| (turn * 100, None, None)));
    assert_eq!(found, []);
}

#[test]
fn a_trailing_mean_is_dated_back_by_half_its_window() {
    let window = Duration::from_secs(1);
    let spec =
        PowerSpec { shape: PowerShape::TrailingMean { window }, refresh: Some(Duration::from_millis(100)) };
    // A step from 100 W to 300 W at 5 s reaches the mean of one second evenly until 6 s.
    let mean = |millis: u64| 100_000 + 200 * millis.saturating_sub(5_000).min(1_000) as u32;
    let found = play(
        &device(None, Some(spec), None),
        (0..=1_000).map(|turn| (turn * 10, None, Some(mean(turn * 10 / 100 * 100)))),
    );
    let energy = crate::window_energy(&found, at(1_000), at(9_000)).unwrap();
    near(energy.energy.joules(), 4.0 * 100.0 + 4.0 * 300.0, 0.01);
    let half = crate::window_energy(&found, at(1_000), at(5_000)).unwrap();
    // Half of the ramp lies before the step: 200 W × 1 s / 8.
    near(half.energy.joules(), 400.0 + 25.0, 0.02);
}

#[test]
fn interval_means_hold_since_the_reading_before() {
    let spec = PowerSpec { shape: PowerShape::IntervalMean, refresh: None };
    let readings = [(0, 0), (104, 1_473), (209, 773), (1_209, 500)];
    let found = play(
        &device(None, Some(spec), None),
        readings.map(|(millis, milliwatts)| (millis, None, Some(milliwatts))),
    );
    energies(&found, &[Ok(153_192), Ok(81_165), Ok(500_000)]);
}

#[test]
fn points_are_joined_by_straight_lines() {
    let spec = PowerSpec { shape: PowerShape::Instant { window: Duration::ZERO }, refresh: Some(MS_1) };
    let found = play(
        &device(None, Some(spec), None),
        [(0, 0), (1_000, 100_000), (2_000, 0)].map(|(millis, mw)| (millis, None, Some(mw))),
    );
    let joules: Vec<_> = found.iter().map(|measured| measured.energy.unwrap().joules().round()).collect();
    assert_eq!(joules, [50.0, 50.0]);
}

#[test]
fn power_is_not_integrated_across_a_long_silence() {
    let readings = [(0, 100_000), (1_000, 100_000), (61_000, 100_000), (62_000, 100_000)];
    let found =
        play(&device(None, Some(instant(100)), None), readings.map(|(millis, mw)| (millis, None, Some(mw))));
    assert!(found.iter().any(|measured| measured.energy == Err(GapReason::Missing)));
    near(total(&found).joules(), 200.0, 0.11);
}

#[test]
fn a_power_that_cannot_be_is_left_out() {
    let device = device(None, Some(instant(100)), Some(300));
    let found = play(
        &device,
        (0..=20).map(|turn| (turn * 100, None, Some(if turn == 10 { 4_000_000_000 } else { 100_000 }))),
    );
    near(total(&found).joules(), 200.0, 0.06);
}
