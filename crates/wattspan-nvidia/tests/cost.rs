//! What a tick costs: calls of the driver, counted by the fake.
#![cfg(target_os = "linux")]

mod common;

use std::time::Duration;

use common::{Bench, SECOND};
use wattspan_core::Reading;
use wattspan_fake_nvml::FakeNvml;

const FAST: Duration = Duration::from_millis(20);

#[test]
fn fast_tick_makes_two_calls_for_each_gpu() {
    let mut bench = Bench::new(8);
    bench.tick(SECOND);
    for _ in 0..9 {
        assert_eq!(bench.calls(FAST), 2 * 8);
    }
}

#[test]
fn gauges_are_read_each_200_ms_and_conditions_each_second() {
    let mut bench = Bench::new(8);
    bench.tick(SECOND);
    let calls: Vec<u64> = (0..100).map(|_| bench.calls(FAST)).collect();
    assert!(calls.iter().all(|calls| calls % 8 == 0), "{calls:?}");
    let at_least = |least: u64| calls.iter().filter(|calls| **calls / 8 >= least).count();
    assert_eq!(at_least(3), 10, "gauges in two seconds: {calls:?}");
    assert_eq!(at_least(9), 2, "conditions in two seconds: {calls:?}");
    assert!(calls.iter().all(|calls| calls / 8 <= 18), "{calls:?}");
    // At a hundred ticks in two seconds a GPU costs less than three calls a tick.
    assert!(calls.iter().sum::<u64>() / 8 <= 300, "{calls:?}");
}

#[test]
fn looking_for_slices_costs_a_call_in_half_a_minute_and_none_where_there_can_be_none() {
    let lines = "gpu 0 mig off\ngpu 1 mig on\ngpu 1 mig add 1073741824";
    let mut bench = Bench::built(FakeNvml::builder().gpus(8).control(lines));
    bench.tick(SECOND);
    bench.fake.reset_calls().unwrap();
    // Of the six that have no MIG one look is enough.
    let mut asked = Vec::new();
    for _ in 0..121 {
        bench.tick(SECOND);
        asked.push(bench.fake.calls("nvmlDeviceGetMigMode").unwrap());
    }
    asked.dedup();
    assert_eq!(asked, [0, 8, 10, 12, 14]);
    assert_eq!(bench.fake.calls("nvmlDeviceGetMigDeviceHandleByIndex").unwrap(), 4 * 7);
}

#[test]
fn gauges_stay_as_they_were_read_in_between() {
    let mut bench = Bench::new(1);
    bench.fake.control("gpu 0 util fixed 41 20").unwrap();
    let before = bench.one();
    bench.fake.control("gpu 0 util fixed 90 90").unwrap();
    let between = bench.tick(FAST).remove(0);
    assert_eq!(between.gauges.utilization, before.gauges.utilization);
    let after = bench.tick(Duration::from_millis(200)).remove(0);
    assert_eq!(after.gauges.utilization.as_value().map(|share| share.ratio()), Some(0.9));
}

#[test]
fn what_is_not_supported_is_asked_once() {
    let lines = "gpu all preset pascal\ngpu all idle 60\ngpu all fan off\ngpu all ecc off";
    let mut bench = Bench::built(FakeNvml::builder().gpus(2).control(lines));
    for _ in 0..20 {
        let samples = bench.tick(SECOND);
        assert_eq!(samples[0].gauges.fan, Reading::NotSupported);
    }
    for name in
        ["nvmlDeviceGetFanSpeed_v2", "nvmlDeviceGetTotalEccErrors", "nvmlDeviceGetTotalEnergyConsumption"]
    {
        assert_eq!(bench.fake.calls(name).unwrap(), 2, "{name}: once for each GPU");
    }
    // After a reload they may be supported: energy again, as with another driver.
    bench.fake.control("driver reload\ngpu all preset volta\ngpu all fan 40").unwrap();
    bench.tick(SECOND);
    bench.tick(SECOND);
    let samples = bench.tick(SECOND);
    assert!(samples[0].energy.is_value() && samples[0].device.counter.is_some());
    assert!(samples[0].gauges.fan.is_value());
}

#[test]
fn module_is_read_in_the_same_calls_as_its_gpu() {
    let lines = "gpu all preset hopper\ngpu all name GH200 480GB\ngpu all idle 400\ngpu all module 200";
    let mut bench = Bench::built(FakeNvml::builder().gpus(4).control(lines));
    bench.tick(SECOND);
    assert_eq!(bench.calls(FAST), 2 * 4);
}

#[test]
fn handles_are_kept() {
    let mut bench = Bench::new(4);
    bench.fake.reset_calls().unwrap();
    for _ in 0..50 {
        bench.tick(SECOND);
    }
    for name in
        ["nvmlDeviceGetHandleByIndex_v2", "nvmlDeviceGetHandleByUUID", "nvmlDeviceGetCount_v2", "nvmlInit_v2"]
    {
        assert_eq!(bench.fake.calls(name).unwrap(), 0, "{name}");
    }
}
