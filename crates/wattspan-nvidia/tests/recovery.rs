//! GPUs that are lost and come back, drivers that are reloaded or not yet there.
#![cfg(target_os = "linux")]

mod common;

use std::sync::Arc;
use std::time::Duration;

use common::{Bench, SECOND, options, told};
use wattspan_core::{CollectError, Collector, OpenError, Reading};
use wattspan_fake_nvml::{ErrorWindow, FakeNvml};
use wattspan_nvidia::{NvidiaCollector, NvidiaOptions};

const ENERGY: &str = "nvmlDeviceGetTotalEnergyConsumption";

#[test]
fn lost_gpu_does_not_stop_the_others_and_comes_back_under_its_name() {
    let mut bench = Bench::new(3);
    let before = bench.tick(SECOND);
    bench.fake.gpu(1).lose().unwrap();
    let lost = bench.tick(SECOND);
    assert!(told(&lost[1].energy).starts_with("failed: the GPU has fallen off the bus"), "{:?}", lost[1]);
    assert!(told(&lost[1].power).starts_with("failed"), "{:?}", lost[1]);
    assert!(told(&lost[1].gauges.temperature).starts_with("failed"), "{:?}", lost[1]);
    assert_eq!((&lost[0].energy, &lost[2].energy), (&Reading::Value(120_000), &Reading::Value(120_000)));

    // NVML is initialised anew and does not find it; the others keep their counters.
    bench.tick(SECOND);
    let vanished = bench.tick(SECOND);
    assert!(told(&vanished[1].energy).contains("no longer lists this GPU"), "{:?}", vanished[1]);
    assert_eq!(vanished[2].energy, Reading::Value(240_000));

    // It returns with another number.
    bench.fake.control("gpu 1 return index 0").unwrap();
    let mut back = bench.tick(SECOND);
    for _ in 0..300 {
        if back[1].energy.is_value() {
            break;
        }
        back = bench.tick(SECOND);
    }
    assert!(back[1].energy.is_value() && back[1].power.is_value(), "{:?}", back[1]);
    assert_eq!(back[1].device.id, before[1].device.id);
    assert_eq!(back[1].device.index, Some(0));
    assert_eq!(back.len(), 3);
    // Its counter began again: lower than before, so the meter sees a reset and no jump.
    assert!(back[1].energy.as_value() < back[0].energy.as_value());
}

#[test]
fn lost_gpu_is_not_asked_until_nvml_is_initialised_anew() {
    let mut bench = Bench::new(2);
    bench.fake.gpu(1).lose().unwrap();
    bench.tick(SECOND);
    let fast = Duration::from_millis(10);
    bench.tick(fast);
    bench.fake.reset_calls().unwrap();
    bench.tick(fast);
    assert_eq!(bench.fake.calls(ENERGY).unwrap(), 1, "only the one that works");
    assert_eq!(bench.fake.calls("nvmlInit_v2").unwrap(), 0);
}

#[test]
fn attempts_become_rare_while_a_gpu_stays_away() {
    let mut bench = Bench::new(2);
    bench.fake.gpu(1).lose().unwrap();
    bench.fake.reset_calls().unwrap();
    for _ in 0..600 {
        bench.tick(SECOND);
    }
    let attempts = bench.fake.calls("nvmlInit_v2").unwrap();
    assert!((5..=11).contains(&attempts), "{attempts} initialisations in ten minutes");
    assert_eq!(bench.fake.calls("nvmlShutdown").unwrap(), attempts);
}

#[test]
fn new_trouble_after_a_calm_time_is_seen_to_at_once() {
    let mut bench = Bench::new(2);
    let ticks_until_back = |bench: &mut Bench| {
        (1..400).find(|_| bench.tick(SECOND)[1].energy.is_value()).expect("a GPU that returned")
    };
    bench.fake.gpu(1).lose().unwrap();
    for _ in 0..100 {
        bench.tick(SECOND);
    }
    bench.fake.control("gpu 1 return").unwrap();
    assert!(ticks_until_back(&mut bench) > 3, "attempts had become rare");
    for _ in 0..400 {
        bench.tick(SECOND);
    }
    bench.fake.control("gpu 1 lost\ngpu 1 return").unwrap();
    assert!(ticks_until_back(&mut bench) <= 3);
}

#[test]
fn reloaded_driver_is_taken_up_again_and_its_counter_is_lower() {
    let mut bench = Bench::new(2);
    let before = bench.tick(Duration::from_secs(100));
    bench.fake.reload_driver().unwrap();
    let gap = bench.tick(SECOND);
    assert!(told(&gap[0].energy).starts_with("failed: the driver was reloaded"), "{:?}", gap[0]);
    let after = bench.tick(SECOND);
    assert!(Arc::ptr_eq(&before[0].device, &after[0].device), "the same device, to whoever holds it");
    // Two seconds at 60 W, not 102: what became of the counter in between is for the meter, as a gap.
    assert_eq!((&after[0].energy, &after[1].energy), (&Reading::Value(120_000), &Reading::Value(120_000)));
}

#[test]
fn gpu_that_waits_for_a_reset_says_so_and_recovers() {
    let mut bench = Bench::new(1);
    bench.fake.gpu(0).fail("*", 16, ErrorWindow::between_us(0, 10_000_000)).unwrap();
    let sample = bench.one();
    assert!(told(&sample.energy).contains("nvidia-smi --gpu-reset"), "{:?}", sample.energy);
    for _ in 0..60 {
        bench.one();
    }
    assert!(bench.one().energy.is_value());
}

#[test]
fn unknown_error_of_everything_is_a_loss_and_of_one_call_is_not() {
    let mut bench = Bench::new(1);
    bench.fake.gpu(0).fail("nvmlDeviceGetFieldValues", 999, ErrorWindow::ALWAYS).unwrap();
    bench.fake.reset_calls().unwrap();
    for _ in 0..5 {
        let sample = bench.one();
        assert!(sample.energy.is_value());
        assert!(told(&sample.power).contains("999"), "{:?}", sample.power);
    }
    assert_eq!(bench.fake.calls("nvmlInit_v2").unwrap(), 0);
    bench.fake.gpu(0).fail(ENERGY, 999, ErrorWindow::times(1)).unwrap();
    assert!(told(&bench.one().energy).contains("999"));
    assert!(bench.one().energy.is_value());
    assert_eq!(bench.fake.calls("nvmlInit_v2").unwrap(), 1);
}

#[test]
fn case_cli_04_driver_that_comes_up_late_is_taken_up_without_a_restart() {
    let fake = FakeNvml::builder().control("gpu all preset hopper\ngpu all idle 60").load().unwrap();
    // Fails at opening and at three polls.
    fake.fail("nvmlInit_v2", 9, ErrorWindow::times(4)).unwrap();
    let mut bench = Bench::on(fake);
    assert!(bench.collector.devices().is_empty());
    let mut polls = Vec::new();
    for _ in 0..10 {
        match bench.try_tick(SECOND) {
            Ok(samples) => {
                assert_eq!(samples.len(), 1);
                assert!(samples[0].energy.is_value() && samples[0].gauges.temperature.is_value());
                polls.push("up");
            }
            Err(CollectError::Retry { reason, .. }) => {
                assert!(reason.contains("the NVIDIA driver is not loaded"), "{reason}");
                polls.push("waits");
            }
            Err(other) => panic!("{other}"),
        }
    }
    assert_eq!(polls.first(), Some(&"waits"));
    assert_eq!(polls.last(), Some(&"up"));
    let first_up = polls.iter().position(|poll| *poll == "up").unwrap();
    assert!(polls[first_up..].iter().all(|poll| *poll == "up"), "{polls:?}");
    // Back-off: four failures, and between the polls nothing was asked.
    assert_eq!(bench.fake.calls("nvmlInit_v2").unwrap(), 5);
}

#[test]
fn driver_that_goes_away_leaves_its_devices_failed_until_it_is_back() {
    let mut bench = Bench::new(2);
    bench.tick(SECOND);
    bench.fake.fail("nvmlInit_v2", 9, ErrorWindow::between_us(0, 8_000_000)).unwrap();
    bench.fake.reload_driver().unwrap();
    bench.tick(SECOND);
    let samples = bench.tick(SECOND);
    assert_eq!(samples.len(), 2);
    assert!(told(&samples[1].energy).contains("modprobe nvidia"), "{:?}", samples[1].energy);
    for _ in 0..70 {
        bench.tick(SECOND);
    }
    assert!(bench.tick(SECOND).iter().all(|sample| sample.energy.is_value()));
}

#[track_caller]
fn open_with(code: u32) -> Result<Option<NvidiaCollector>, OpenError> {
    let fake = FakeNvml::new().unwrap();
    fake.fail("nvmlInit_v2", code, ErrorWindow::ALWAYS).unwrap();
    NvidiaCollector::open(&options(&fake))
}

#[test]
fn driver_that_is_there_and_broken_is_an_error_that_says_what_to_do() {
    assert!(matches!(open_with(4), Err(OpenError::Denied { remedy, .. }) if remedy.contains("--gpus all")));
    assert!(matches!(open_with(18), Err(OpenError::Broken { remedy, .. }) if remedy.contains("reboot")));
    assert!(matches!(open_with(999), Err(OpenError::Broken { remedy, .. }) if remedy.contains("999")));
    // The stub that has found no real library.
    let fake = FakeNvml::new().unwrap();
    fake.fail("nvmlInit_v2", 12, ErrorWindow::ALWAYS).unwrap();
    assert!(NvidiaCollector::open(&options(&fake)).is_err(), "a library that was named must work");
}

#[test]
fn no_gpu_is_none_and_a_named_library_that_is_not_there_is_an_error() {
    let fake = FakeNvml::builder().gpus(0).load().unwrap();
    assert!(NvidiaCollector::open(&options(&fake)).unwrap().is_none());
    let mut options = NvidiaOptions::default();
    options.library = Some("/nowhere/libnvidia-ml.so.1".into());
    let error = NvidiaCollector::open(&options).unwrap_err().to_string();
    assert!(error.contains("/nowhere/libnvidia-ml.so.1"), "{error}");
}

#[test]
fn file_that_is_no_library_is_named() {
    let mut options = NvidiaOptions::default();
    options.library = Some(std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml"));
    let error = NvidiaCollector::open(&options).unwrap_err().to_string();
    assert!(error.contains("Cargo.toml"), "{error}");
}

#[test]
fn library_without_its_shutdown_is_refused_and_nothing_panics() {
    let fake = FakeNvml::builder().without_symbol("nvmlShutdown").load().unwrap();
    let error = NvidiaCollector::open(&options(&fake)).unwrap_err().to_string();
    assert!(error.contains("lacks functions"), "{error}");
    let fake = FakeNvml::builder().without_symbol("nvmlInit_v2").load().unwrap();
    let error = NvidiaCollector::open(&options(&fake)).unwrap_err().to_string();
    assert!(error.contains("lacks functions"), "{error}");
}

#[test]
fn gpu_that_may_not_be_used_is_listed_beside_those_that_may() {
    let fake = FakeNvml::builder().gpus(2).control("gpu all idle 60").load().unwrap();
    // The second call is for the second GPU.
    fake.fail("nvmlDeviceGetHandleByIndex_v2", 4, ErrorWindow::ALWAYS).unwrap();
    assert!(matches!(NvidiaCollector::open(&options(&fake)), Err(OpenError::Denied { .. })));
    fake.succeed("nvmlDeviceGetHandleByIndex_v2").unwrap();
    fake.fail("nvmlDeviceGetHandleByIndex_v2", 4, ErrorWindow::times(1)).unwrap();
    let mut bench = Bench::on(fake);
    let samples = bench.tick(SECOND);
    assert!(told(&samples[0].energy).starts_with("denied"), "{:?}", samples[0]);
    assert_eq!(samples[1].energy, Reading::Value(60_000));
}

#[test]
fn gpu_that_is_lost_at_the_start_takes_its_place_when_it_is_found() {
    let fake = FakeNvml::builder().gpus(2).control("gpu all preset hopper\ngpu all idle 60").load().unwrap();
    fake.gpu(1).fail("nvmlDeviceGetUUID", 15, ErrorWindow::times(1)).unwrap();
    let mut bench = Bench::on(fake);
    let samples = bench.tick(SECOND);
    assert!(told(&samples[1].energy).starts_with("failed: the GPU has fallen off"), "{:?}", samples[1]);
    bench.tick(SECOND);
    let samples = bench.tick(SECOND);
    assert_eq!(samples.len(), 2);
    assert!(samples[1].energy.is_value(), "{:?}", samples[1]);
    assert!(samples[1].device.id.as_str().starts_with("GPU-"));
}
