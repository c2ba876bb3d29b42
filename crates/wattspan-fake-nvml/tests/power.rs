//! Energy and power, through the real `nvml-wrapper`, against sums done by hand.
#![cfg(target_os = "linux")]
#![allow(missing_docs)]

use nvml_wrapper::Nvml;
use nvml_wrapper::enums::device::SampleValue;
use nvml_wrapper::error::NvmlError;
use nvml_wrapper::structs::device::FieldId;
use wattspan_fake_nvml::FakeNvml;
use wattspan_fake_nvml::model::{PowerReading, PowerSensor, Preset, Profile};

const SECOND: u64 = 1_000_000;

fn driver(fake: &FakeNvml) -> Nvml {
    Nvml::builder().lib_path(fake.path().as_os_str()).init().expect("the fake initialises")
}

fn energy_mj(nvml: &Nvml) -> u64 {
    nvml.device_by_index(0).unwrap().total_energy_consumption().unwrap()
}

fn field(nvml: &Nvml, id: u32) -> Result<SampleValue, NvmlError> {
    let device = nvml.device_by_index(0).unwrap();
    device.field_values_for(&[FieldId(id)]).unwrap().remove(0).unwrap().value
}

#[test]
fn constant_power_is_counted_to_the_millijoule() {
    let fake = FakeNvml::new().unwrap();
    fake.gpu(0).idle_watts(300.0).unwrap();
    let nvml = driver(&fake);
    assert_eq!(energy_mj(&nvml), 0);
    fake.set_time_us(10 * SECOND).unwrap();
    assert_eq!(energy_mj(&nvml), 3_000_000);
    assert_eq!(nvml.device_by_index(0).unwrap().power_usage().unwrap(), 300_000);
    fake.advance_us(3).unwrap();
    // 0.9 mJ more do not show.
    assert_eq!(energy_mj(&nvml), 3_000_000);
    fake.advance_us(1).unwrap();
    assert_eq!(energy_mj(&nvml), 3_000_001);
}

#[test]
fn square_wave_and_a_request_add_up() {
    let fake = FakeNvml::new().unwrap();
    let square = Profile::Square { low: 100.0, high: 500.0, period_us: 100_000, duty: 0.5, phase_us: 0 };
    fake.gpu(0).profile(&square).unwrap().load("r1", SECOND, 3 * SECOND, 50.0, 0).unwrap();
    let nvml = driver(&fake);
    fake.set_time_us(10 * SECOND).unwrap();
    // 10 s of 300 W on average, and 2 s of 50 W.
    assert_eq!(energy_mj(&nvml), 3_100_000);
    let truth = fake.gpu(0).request("r1").unwrap();
    assert_eq!(truth.joules, 100.0);
    assert_eq!(truth.gross(), 700.0, "it was alone, so the base of its two seconds is its own");
    assert_eq!(fake.gpu(0).joules(0, 10 * SECOND).unwrap(), 3_100.0);
    assert_eq!(fake.gpu(0).joules_without_requests(0, 10 * SECOND).unwrap(), 2_400.0);
}

#[test]
fn counter_moves_at_its_refreshes_only() {
    let fake = FakeNvml::new().unwrap();
    fake.gpu(0).idle_watts(100.0).unwrap().counter_refresh(100_000, 30_000).unwrap();
    let nvml = driver(&fake);
    for (time, millijoules) in [(29_999, 0), (30_000, 3_000), (129_999, 3_000), (130_000, 13_000)] {
        fake.set_time_us(time).unwrap();
        assert_eq!(energy_mj(&nvml), millijoules, "at {time}");
    }
}

#[test]
fn power_fields_average_over_their_windows() {
    let fake = FakeNvml::new().unwrap();
    let gpu = fake.gpu(0);
    // 100 W, and 500 W from 2 s on.
    gpu.profile(&Profile::Steps(vec![(0, 100.0), (2 * SECOND, 500.0)])).unwrap();
    let gpu = fake.gpu(0).sensor(PowerReading::Usage, Some(PowerSensor::new(100_000, SECOND))).unwrap();
    let gpu = gpu.sensor(PowerReading::Average, Some(PowerSensor::new(100_000, SECOND))).unwrap();
    gpu.sensor(PowerReading::Instant, Some(PowerSensor::new(100_000, 25_000))).unwrap();
    let nvml = driver(&fake);
    fake.set_time_us(2 * SECOND + 250_000).unwrap();
    // The refresh at 2.2 s: 0.8 s at 100 W and 0.2 s at 500 W; the instant window lies wholly behind the step.
    assert_eq!(nvml.device_by_index(0).unwrap().power_usage().unwrap(), 180_000);
    assert_eq!(field(&nvml, 185).unwrap(), SampleValue::U32(180_000));
    assert_eq!(field(&nvml, 186).unwrap(), SampleValue::U32(500_000));
    // 2 s at 100 W and 0.25 s at 500 W.
    assert_eq!(field(&nvml, 83).unwrap(), SampleValue::U64(325_000));
    fake.gpu(0).sensor(PowerReading::Average, None).unwrap();
    assert!(matches!(field(&nvml, 185), Err(NvmlError::NotSupported)));
}

#[test]
fn open_load_ends_later() {
    let fake = FakeNvml::new().unwrap();
    fake.gpu(0).begin_load("r1", 200.0).unwrap();
    let nvml = driver(&fake);
    fake.set_time_us(SECOND).unwrap();
    assert_eq!(energy_mj(&nvml), 200_000);
    assert_eq!(fake.gpu(0).request("r1").unwrap().end_us, None);
    fake.gpu(0).end_load("r1", 500_000).unwrap();
    fake.set_time_us(5 * SECOND).unwrap();
    // The tail is half of 200 W for half a second.
    assert_eq!(energy_mj(&nvml), 250_000);
    let truth = fake.gpu(0).request("r1").unwrap();
    assert_eq!((truth.end_us, truth.in_flight), (Some(SECOND), 200.0));
    assert!((truth.tail - 50.0).abs() < 1e-3);
}

#[test]
fn every_profile_is_counted_to_the_millijoule_on_every_gpu() {
    let points = Profile::Points(vec![(0, 0.0), (SECOND, 100.0), (3 * SECOND, 100.0), (4 * SECOND, 0.0)]);
    let burst = Profile::Burst { base: 75.0, high: 450.0, begin_us: 4_321_000, length_us: 300_000 };
    let square = |period_us, phase_us| {
        let (low, high, duty) = (100.0, 500.0, 0.5);
        Profile::Square { low, high, period_us, duty, phase_us }
    };
    // Joules to 10 s and to 60 s, by hand.
    let cases: [(Profile, u64, u64); 8] = [
        (Profile::Constant { watts: 300.0 }, 3_000_000, 18_000_000),
        (square(100_000, 0), 3_000_000, 18_000_000),
        // 97 ms: 103 whole periods are 9.991 s, and 9 ms at 500 W; 618 are 59.946 s, and 48.5 high, 5.5 low.
        (square(97_000, 0), 2_997_300 + 4_500, 17_983_800 + 24_250 + 550),
        // Half a period in: 50 ms less high at the beginning come back at the end.
        (square(100_000, 50_000), 3_000_000, 18_000_000),
        (
            Profile::Ramp { from: 100.0, to: 300.0, begin_us: 2 * SECOND, end_us: 4 * SECOND },
            200_000 + 400_000 + 1_800_000,
            200_000 + 400_000 + 16_800_000,
        ),
        (burst, 750_000 + 112_500, 4_500_000 + 112_500),
        (Profile::Steps(vec![(0, 50.0), (5 * SECOND, 250.0), (20 * SECOND, 0.0)]), 1_500_000, 4_000_000),
        (points, 50_000 + 200_000 + 50_000, 300_000),
    ];
    let fake = FakeNvml::builder().gpus(cases.len()).load().unwrap();
    for (slot, (profile, ..)) in cases.iter().enumerate() {
        fake.gpu(slot).profile(profile).unwrap();
    }
    let nvml = driver(&fake);
    for time in [10 * SECOND, 60 * SECOND] {
        fake.set_time_us(time).unwrap();
        for (index, (profile, to_ten, to_sixty)) in cases.iter().enumerate() {
            let read = nvml.device_by_index(index as u32).unwrap().total_energy_consumption().unwrap();
            let expected = if time == 10 * SECOND { *to_ten } else { *to_sixty };
            assert!(read.abs_diff(expected) <= 1, "{profile:?} to {time}: {read} instead of {expected}");
        }
    }
}

#[test]
fn profile_counts_its_times_from_when_it_is_set() {
    let fake = FakeNvml::new().unwrap();
    let burst = Profile::Burst { base: 10.0, high: 110.0, begin_us: SECOND, length_us: SECOND };
    fake.gpu(0).idle_watts(10.0).unwrap();
    fake.set_time_us(5 * SECOND).unwrap();
    fake.gpu(0).profile(&burst).unwrap();
    fake.set_time_us(10 * SECOND).unwrap();
    assert_eq!(fake.gpu(0).joules(5 * SECOND, 6 * SECOND).unwrap(), 10.0);
    assert_eq!(fake.gpu(0).joules(6 * SECOND, 7 * SECOND).unwrap(), 110.0);
    assert_eq!(energy_mj(&driver(&fake)), 200_000);
}

#[test]
fn case_nvml_03_pascal_has_power_and_no_counter() {
    let fake = FakeNvml::builder().gpus(2).load().unwrap();
    fake.all_gpus().preset(Preset::Pascal).unwrap();
    fake.gpu(0).idle_watts(26.0).unwrap();
    fake.gpu(1).idle_watts(29.0).unwrap();
    fake.set_time_us(3_600 * SECOND).unwrap();
    let nvml = driver(&fake);
    for (index, milliwatts, joules) in [(0, 26_000, 93_600.0), (1, 29_000, 104_400.0)] {
        let device = nvml.device_by_index(index).unwrap();
        assert!(matches!(device.total_energy_consumption(), Err(NvmlError::NotSupported)));
        assert_eq!(device.power_usage().unwrap(), milliwatts);
        assert_eq!(fake.gpu(index as usize).joules(0, 3_600 * SECOND).unwrap(), joules);
    }
}

#[test]
fn case_nvml_13_counter_and_power_can_disagree() {
    let fake = FakeNvml::new().unwrap();
    // 187.443 J shown for 65.318 W over 5.0045 s, which are 326.883931 J.
    fake.gpu(0).idle_watts(65.318).unwrap().gains(187.443_5 / 326.883_931, 1.0).unwrap();
    fake.set_time_us(5_004_500).unwrap();
    let nvml = driver(&fake);
    assert_eq!(energy_mj(&nvml), 187_443);
    assert_eq!(nvml.device_by_index(0).unwrap().power_usage().unwrap(), 65_318);
}

#[test]
fn real_clock_goes_on_from_the_virtual_one() {
    let fake = FakeNvml::new().unwrap();
    fake.gpu(0).idle_watts(1_000.0).unwrap();
    fake.set_time_us(SECOND).unwrap();
    fake.use_real_clock().unwrap();
    let nvml = driver(&fake);
    let before = fake.now_us().unwrap();
    let read = energy_mj(&nvml);
    let after = fake.now_us().unwrap();
    // At a kilowatt a microsecond is a millijoule.
    assert!(before >= SECOND && (before..=after).contains(&read), "{before} {read} {after}");
    assert!(fake.set_time_us(after + SECOND).is_err(), "a real clock cannot be set");
}
