//! Faults that people met in public tools, with the right result.

use wattspan_core::{GapReason, Joules, Method};
use wattspan_energy::{Measured, Meter};

use super::*;

/// One MI200-like card whose table the test fills.
const ONE: &str = "
[sys/class/drm/card0/device]
uevent = DRIVER=amdgpu\\nPCI_SLOT_NAME=0000:c1:00.0
product_name = AMD Instinct
unique_id = 1
power/runtime_status = active
";

const TABLE: &str = "sys/class/drm/card0/device/gpu_metrics";

fn bench(table: &str, options: &AmdOptions) -> Bench {
    let files = Memory::new(ONE);
    files.set(TABLE, table);
    Bench::with(files, options)
}

/// Energy of the first device over some ticks of one length, each with its own table.
fn metered(bench: &mut Bench, step: Duration, tables: &[String]) -> Vec<Measured> {
    let mut meter = Meter::new(Arc::clone(&bench.collector.devices()[0]));
    let mut found = Vec::new();
    for (tick, table) in tables.iter().enumerate() {
        bench.files.set(TABLE, table);
        let sample = bench.first_after(if tick == 0 { Duration::ZERO } else { step });
        meter.read(&sample, &mut found);
    }
    found
}

fn total(found: &[Measured]) -> Joules {
    found.iter().filter_map(|interval| interval.energy.as_ref().ok()).copied().sum()
}

#[test]
fn case_amd_01_accumulator_is_multiplied_by_its_resolution() {
    let table = |count: u64, time: u64| {
        format!(
            "table 1.3 120 average_socket_power=94 energy_accumulator={count} system_clock_counter={time}"
        )
    };
    let options = AmdOptions { legacy_tick: Some((153, 10)), ..AmdOptions::default() };
    let tables = [table(8_152_136, 1), table(8_802_136, 2)];
    let mut bench = bench(&tables[0], &options);
    let spec = bench.collector.devices()[0].counter.unwrap();
    assert_eq!(spec, CounterSpec { microjoules_per_tick: (153, 10), modulus: None, refresh: None });
    let found = metered(&mut bench, Duration::from_secs(10), &tables);
    assert_eq!(total(&found), Joules::from_microjoules(9_945_000));
    assert_eq!(found[0].method, Method::Counter);
    // The figure at the start, 124.7276808 J, in tenths of a microjoule.
    let (numerator, denominator) = spec.microjoules_per_tick;
    assert_eq!(8_152_136 * numerator * 10 / denominator, 1_247_276_808);
}

#[test]
fn case_amd_03_an_accumulator_with_a_frozen_time_stamp_is_stale_and_power_counts() {
    let frozen = "table 1.4 288 current_socket_power=250 energy_accumulator=8152136 \
                  firmware_timestamp=3824190842400799 system_clock_counter=3824190842400799";
    let mut slow = bench(frozen, &AmdOptions::default());
    let readings: Vec<DeviceSample> = (0..=20).map(|_| slow.first_after(Duration::from_secs(1))).collect();
    let stale: Vec<bool> = readings.iter().map(|sample| !sample.energy.is_value()).collect();
    assert_eq!(&stale[..5], [false, false, false, true, true]);
    assert!(stale[3..].iter().all(|stale| *stale));
    assert!(readings[20].energy.absence().unwrap().contains("have stood still"));
    assert!(readings.iter().all(|sample| watts(sample) == Some(250.0)));

    // The energy of 20 s is that of the power, at a rate at which half a poll is below the tolerance of 0.1 %.
    let mut fast = bench(frozen, &AmdOptions::default());
    let mut meter = Meter::new(Arc::clone(&fast.collector.devices()[0]));
    let mut found = Vec::new();
    for _ in 0..=1_000 {
        meter.read(&fast.first_after(Duration::from_millis(20)), &mut found);
    }
    assert!(found.iter().all(|interval| interval.method == Method::Integrated), "{found:?}");
    let joules = total(&found).joules();
    assert!((joules - 5_000.0).abs() <= 5.0, "{joules}");
}

#[test]
fn case_amd_05_each_generation_by_the_field_that_it_fills() {
    let mut mi200 = bench("table 1.3 120 average_socket_power=94", &AmdOptions::default());
    let mut mi300 = bench("table 1.6 1664 current_socket_power=717", &AmdOptions::default());
    for (bench, right, field) in
        [(&mut mi200, 94.0, "average_socket_power"), (&mut mi300, 717.0, "current_socket_power")]
    {
        let sample = bench.sample().remove(0);
        assert_eq!(watts(&sample), Some(right));
        assert!(sample.device.note.as_deref().unwrap().contains(field), "{:?}", sample.device.note);
    }
    // All ones, 65 535 W, is never a wattage.
    mi300.files.set(TABLE, "table 1.6 1664");
    assert_eq!(watts(&mi300.sample()[0]), None);
}

#[test]
fn case_amd_07_a_node_of_twelve_megawatts_is_rejected() {
    let files: String = (0..4)
        .map(|card| {
            format!(
                "[sys/class/drm/card{card}/device]\nuevent = DRIVER=amdgpu\\nPCI_SLOT_NAME=0000:c{card}:00.0\n\
                 power/runtime_status = active\nhwmon/hwmon{card}/name = amdgpu\n\
                 hwmon/hwmon{card}/power1_average = 300000000\nhwmon/hwmon{card}/power1_cap = 560000000\n"
            )
        })
        .collect::<Vec<_>>()
        .concat();
    let mut bench = Bench::new(&files);
    for card in 0..4 {
        // The mean that the run printed, as if a driver had said it.
        let path = format!("sys/class/drm/card{card}/device/hwmon/hwmon{card}/power1_average");
        bench.files.set(&path, "12572969900000");
    }
    let samples = bench.sample();
    assert_eq!(samples.len(), 4);
    for sample in &samples {
        assert_eq!(sample.device.power_limit, Some(Watts::whole(560)));
        let absence = sample.power.absence().unwrap();
        assert!(
            absence.starts_with("failed") && absence.contains("more than this card can draw"),
            "{absence}"
        );
    }

    // The same mean by a counter whose unit slipped: 12 572 969.9 W over 15 s, in ticks of 2⁻¹⁶ J.
    let slipped = (12_572_969.9 * 15.0 * 65_536.0) as u64;
    let table = |count: u64, time: u64| {
        format!("table 1.4 288 current_socket_power=300 energy_accumulator={count} firmware_timestamp={time}")
    };
    let tables = [table(1, 1), table(1 + slipped, 2)];
    let files =
        Memory::new(&format!("{ONE}hwmon/hwmon0/name = amdgpu\nhwmon/hwmon0/power1_cap = 560000000\n"));
    files.set(TABLE, &tables[0]);
    let mut bench = Bench::with(files, &AmdOptions::default());
    let found = metered(&mut bench, Duration::from_secs(15), &tables);
    assert!(found.iter().any(|interval| interval.energy == Err(GapReason::Implausible)), "{found:?}");
    assert_eq!(total(&found), Joules::ZERO);
}

#[test]
fn a_counter_that_starts_again_is_a_gap() {
    let table = |count: u64, time: u64| {
        format!("table 1.4 288 current_socket_power=250 energy_accumulator={count} firmware_timestamp={time}")
    };
    let tables = [table(65_536, 1), table(65_536 * 11, 2), table(65_536 * 4, 3), table(65_536 * 9, 4)];
    let mut bench = bench(&tables[0], &AmdOptions::default());
    let found = metered(&mut bench, Duration::from_secs(1), &tables);
    assert_eq!(found.iter().filter(|interval| interval.energy == Err(GapReason::CounterReset)).count(), 1);
    assert!(!total(&found).is_negative());
}
