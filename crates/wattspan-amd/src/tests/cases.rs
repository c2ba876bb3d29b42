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
    let mut bench = bench(frozen, &AmdOptions::default());
    let mut readings = Vec::new();
    for _ in 0..=20 {
        readings.push(bench.first_after(Duration::from_secs(1)));
    }
    let stale: Vec<bool> = readings.iter().map(|sample| !sample.energy.is_value()).collect();
    assert_eq!(&stale[..5], [false, false, false, true, true]);
    assert!(stale[3..].iter().all(|stale| *stale));
    assert!(readings[20].energy.absence().unwrap().contains("have stood still"));
    // Power stays, so that its integral over the 20 s is 5 000 J.
    assert!(readings.iter().all(|sample| watts(sample) == Some(250.0)));
    let joules: f64 = readings
        .windows(2)
        .map(|pair| watts(&pair[1]).unwrap() * pair[1].time.since(pair[0].time).as_secs_f64())
        .sum();
    assert!((joules - 5_000.0).abs() < 5.0, "{joules}");
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
