//! Random codes of random functions at random moments: never a panic, a lost device or a made-up value.
#![cfg(target_os = "linux")]

mod common;

use std::time::Duration;

use common::Bench;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use wattspan_core::Reading;
use wattspan_fake_nvml::{FakeNvml, MigDevice};

const FUNCTIONS: [&str; 27] = [
    "*",
    "field:185",
    "field:186",
    "field:82",
    "nvmlInit_v2",
    "nvmlShutdown",
    "nvmlDeviceGetCount_v2",
    "nvmlDeviceGetHandleByIndex_v2",
    "nvmlDeviceGetUUID",
    "nvmlDeviceGetName",
    "nvmlDeviceGetPciInfo_v3",
    "nvmlDeviceGetCudaComputeCapability",
    "nvmlDeviceGetTotalEnergyConsumption",
    "nvmlDeviceGetFieldValues",
    "nvmlDeviceGetPowerUsage",
    "nvmlDeviceGetEnforcedPowerLimit",
    "nvmlDeviceGetUtilizationRates",
    "nvmlDeviceGetMemoryInfo_v2",
    "nvmlDeviceGetMemoryInfo",
    "nvmlDeviceGetTemperature",
    "nvmlDeviceGetClockInfo",
    "nvmlDeviceGetFanSpeed_v2",
    "nvmlDeviceGetComputeRunningProcesses_v3",
    "nvmlDeviceGetProcessUtilization",
    "nvmlDeviceGetMigMode",
    "nvmlDeviceGetMigDeviceHandleByIndex",
    "nvmlDeviceGetMaxMigDeviceCount",
];

fn codes() -> impl Strategy<Value = u32> {
    prop_oneof![1_u32..31, Just(999), any::<u32>()]
}

/// A line of the fake's language that breaks something for a while.
fn faults() -> impl Strategy<Value = String> {
    let function = prop::sample::select(FUNCTIONS.to_vec());
    let whose = prop_oneof![Just(""), Just("gpu 0 "), Just("gpu 1 ")];
    let window = (0_u64..20_000_000, 0_u64..5_000_000);
    let error = (whose, function, codes(), window).prop_map(|(whose, function, code, (from, length))| {
        format!("{whose}err {function} {code} from {from} until {}", from + length)
    });
    let moment = 0_u64..20_000_000;
    prop_oneof![
        8 => error,
        1 => moment.clone().prop_map(|at| format!("at {at} gpu 1 lost")),
        1 => moment.clone().prop_map(|at| format!("at {at} gpu 1 return index 0")),
        1 => moment.clone().prop_map(|at| format!("at {at} driver reload")),
        1 => moment.prop_map(|at| format!("at {at} gpu 0 mig off")),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 64,
        rng_seed: RngSeed::Fixed(0x5EED),
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn no_code_of_no_function_makes_the_collector_panic_or_lie(
        lines in prop::collection::vec(faults(), 1..8),
        steps in prop::collection::vec(10_u64..3_000, 8..24),
    ) {
        let fake = FakeNvml::builder().gpus(2).control("gpu all preset hopper\ngpu all idle 60").load().unwrap();
        fake.gpu(0).mig(true).unwrap().mig_device(&MigDevice { memory: 1 << 30, ..MigDevice::default() }).unwrap();
        let mut bench = Bench::on(fake);
        for line in &lines {
            bench.fake.control(line).unwrap();
        }
        for step in steps {
            // Samples may be absent as a whole only while there are no devices.
            let Ok(samples) = bench.try_tick(Duration::from_millis(step)) else { continue };
            let now = bench.fake.now_us().unwrap();
            for sample in samples {
                if let Reading::Value(energy) = sample.energy {
                    // 60 W from the start at most: a reset makes it less.
                    prop_assert!(u128::from(energy) * 1_000 <= u128::from(now) * 60, "{energy} mJ at {now} µs");
                }
                if let Reading::Value(power) = sample.power {
                    prop_assert!((power.watts() - 60.0).abs() < 1e-9, "{power}");
                }
            }
        }
        // Long after the last fault everything that is there is read again.
        let _ = bench.try_tick(Duration::from_secs(60));
        bench.fake.control("gpu 1 return keep").unwrap();
        let mut samples = Vec::new();
        for _ in 0..40 {
            if let Ok(now) = bench.try_tick(Duration::from_secs(30)) {
                samples = now;
            }
        }
        prop_assert!(samples.iter().filter(|sample| sample.device.is_counted()).count() >= 2);
        for sample in samples.iter().filter(|sample| sample.device.is_counted()) {
            prop_assert!(sample.energy.is_value(), "{:?}", sample);
        }
    }
}
