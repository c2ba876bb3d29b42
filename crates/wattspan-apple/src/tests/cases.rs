//! Faults that people met in public tools, with the right result.

use wattspan_core::{CounterSpec, Device, DeviceId, GapReason, Joules};
use wattspan_energy::{Measured, Meter};

use super::*;
use crate::{ChipPart, EnergyChannel, channel_energy, temperature};

/// Channels in millijoules.
fn channels<'a>(counts: &'a [(&'a str, u64)]) -> Vec<EnergyChannel<'a>> {
    counts.iter().map(|(name, value)| EnergyChannel { name, unit: "mJ", value: *value }).collect()
}

#[test]
fn case_apple_01_two_dies_are_summed_and_their_cores_not_added_again() {
    let cores = [
        ("DIE_0_EACC_CPU0", 90),
        ("DIE_0_EACC_CPU1", 80),
        ("DIE_0_EACC_CPU2", 80),
        ("DIE_0_EACC_CPU3", 100),
        ("DIE_1_EACC_CPU0", 90),
        ("DIE_1_EACC_CPU1", 80),
        ("DIE_1_EACC_CPU2", 80),
        ("DIE_1_EACC_CPU3", 100),
    ];
    let mut both = cores.to_vec();
    both.extend([("DIE_0_CPU Energy", 350), ("DIE_1_CPU Energy", 350)]);
    for chip in [&cores[..], &both[..]] {
        // 0.70 J over one second.
        assert_eq!(channel_energy(&channels(chip), ChipPart::Cpu), Reading::Value(700_000_000));
    }
    let unknown = channels(&[("DIE_0_NEWCORE7", 350), ("GPU Energy", 3)]);
    assert_eq!(channel_energy(&unknown, ChipPart::Cpu), Reading::NotSupported);
}

/// What a meter makes of an energy counter in nanojoules.
fn metered(part: Part, counts: &[(u64, u64)]) -> Vec<Measured> {
    let mut device: Device = part.device("Apple M2 Ultra", None, false);
    device.id = DeviceId::new("tape");
    device.counter = Some(CounterSpec { microjoules_per_tick: (1, 1_000), modulus: None, refresh: None });
    let device = Arc::new(device);
    let mut meter = Meter::new(Arc::clone(&device));
    let mut found = Vec::new();
    for (milliseconds, nanojoules) in counts {
        let mut sample = DeviceSample::new(Arc::clone(&device), at(*milliseconds));
        sample.energy = Reading::Value(*nanojoules);
        meter.read(&sample, &mut found);
    }
    found
}

fn total(found: &[Measured]) -> Joules {
    found.iter().filter_map(|interval| interval.energy.as_ref().ok()).copied().sum()
}

#[test]
fn case_apple_03_a_negative_delta_is_a_gap_of_a_reset() {
    let counts: Vec<(u64, u64)> = [(0, 5_000), (2_000, 1_200), (4_000, 9_200)]
        .map(|(time, millijoules)| {
            let energy = channel_energy(&channels(&[("GPU Energy", millijoules)]), ChipPart::Gpu);
            (time, energy.value().unwrap())
        })
        .to_vec();
    let found = metered(Part::Gpu, &counts);
    assert_eq!(found.len(), 2);
    assert_eq!(found[0].energy, Err(GapReason::CounterReset));
    assert_eq!(found[1].energy, Ok(Joules::from_millijoules(8_000)));
    assert_eq!(total(&found), Joules::from_millijoules(8_000));
}

#[test]
fn case_apple_05_a_sensor_that_is_no_number_is_absent_and_json_stays_valid() {
    let readings = [temperature(51.5), temperature(f64::NAN), temperature(f64::INFINITY)];
    assert_eq!(readings[0].as_value().unwrap().celsius(), 51.5);
    assert_eq!(serde_json::to_string(&readings).unwrap(), "[51.5,null,null]");
    // The same through a source.
    let raw = Macmon {
        cpu_power: 1.0,
        sys_power: f32::INFINITY,
        cpu_temperature: Some(51.5),
        gpu_temperature: Some(f32::NAN),
        ..Macmon::default()
    };
    let snapshot = raw.snapshot(Duration::from_secs(1));
    assert_eq!(snapshot.cpu_temperature.as_value().unwrap().celsius(), 51.5);
    assert!(!snapshot.gpu_temperature.is_value());
    assert!(!snapshot.platform.is_value());
}

#[test]
fn case_apple_07_energy_that_is_published_once_a_second_is_no_zero() {
    let counts: Vec<(u64, u64)> = (0..20)
        .map(|poll| {
            let (one, other) = if poll < 10 { (1_000, 2_000) } else { (3_500, 4_000) };
            let both = [("DIE_0_CPU Energy", one), ("DIE_1_CPU Energy", other)];
            (poll * 100, channel_energy(&channels(&both), ChipPart::Cpu).value().unwrap())
        })
        .collect();
    let found = metered(Part::Cpu, &counts);
    assert_eq!(total(&found), Joules::from_millijoules(4_500));
    assert!(found.iter().all(|interval| interval.energy != Ok(Joules::ZERO)), "{found:?}");

    // The same where a source has divided by each short interval: nine of 0 W and one of 45 W.
    let mut track = Track::new(Part::Cpu, Part::Cpu.device("Apple M2 Ultra", None, true));
    let mut seen = Vec::new();
    for poll in 1..=20_u64 {
        let published = poll % 10 == 0;
        let mut snapshot = Snapshot::new(Duration::from_millis(100));
        snapshot.cpu = Reading::Value(if published { Watts::whole(45) } else { Watts::ZERO });
        track.take(&snapshot, at(poll * 100));
        seen.push(track.sample(at(poll * 100)));
    }
    assert!(seen.iter().all(|sample| watts(&sample.power) != Some(0.0)));
    near(&seen[9].power, 4.5);
    assert_eq!((seen[9].time, seen[18].time, seen[19].time), (at(1_000), at(1_000), at(2_000)));
}

#[test]
fn a_cpu_channel_that_has_died_is_absent() {
    let mut track = Track::new(Part::Cpu, Part::Cpu.device("Apple M2 Ultra", None, true));
    let mut snapshot = Snapshot::new(Duration::from_millis(500));
    snapshot.cpu = Reading::Value(Watts::ZERO);
    for poll in 1..=8 {
        track.take(&snapshot, at(poll * 500));
    }
    let absence = track.sample(at(4_000)).power.absence().unwrap();
    assert!(absence.contains("no CPU energy"), "{absence}");
}
