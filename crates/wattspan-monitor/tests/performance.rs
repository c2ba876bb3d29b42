//! Windows over a known power: the figures, their absence, and their sums.

mod support;

use std::sync::Arc;
use std::time::Duration;

use support::{START, Settled, clock, infer, steady, step_to};
use wattspan_core::{
    Device, DeviceId, DeviceKind, ElectricityPrice, Grams, GramsPerKwh, Intensity, IntervalEnergy, Joules,
    MonoTime, Provenance, Ratio, Reading, ServerStats, StatsSink, UsdPerKwh, Vendor, Watts,
};
use wattspan_energy::{Overhead, PowerCurve};
use wattspan_monitor::{Embodiment, EstimateInputs, Monitor, PerformanceMonitor, PerformanceReport};
use wattspan_testkit::{FakeCollector, FakeIntensity, FakePrices, RecordingSamples};

fn joules(joules: i64) -> Joules {
    Joules::from_millijoules(joules * 1_000)
}

#[test]
fn a_window_has_every_figure_of_its_device() {
    let clock = clock();
    let intensity = Intensity::new(GramsPerKwh::whole(360), "fixed", Provenance::User);
    let price = ElectricityPrice::new(UsdPerKwh::new(0.36).unwrap(), "fixed");
    let mut stepper = Monitor::builder()
        .clock(clock.clone())
        .collector(Box::new(steady("GPU-a")))
        .intensity(Arc::new(FakeIntensity::new(intensity)))
        .prices(Arc::new(FakePrices::new().electricity(price)))
        .overhead(Overhead::facility(1.5).unwrap())
        .stepper();
    step_to(&mut stepper, &clock, 5_000);
    // A server of 1 kgCO2e that lasts 1,000 s, of which a tenth is used.
    let embodied = Embodiment::new(Grams::whole(1_000), Duration::from_secs(1_000), Ratio::new(0.1).unwrap());
    let window = PerformanceMonitor::start_stepped(&stepper).embodied(embodied);
    step_to(&mut stepper, &clock, 11_000);
    let settled = Settled::default();
    infer(&*stepper.observer(), 11_000, 12_000, 50, &settled);
    step_to(&mut stepper, &clock, 15_000);
    window.end();
    step_to(&mut stepper, &clock, 16_000);

    let report = window.report();
    assert_eq!(report.duration, Duration::from_secs(10));
    assert_eq!(report.start, std::time::SystemTime::UNIX_EPOCH + Duration::from_secs(START + 5));
    assert_eq!(report.snapshots, 100);
    // 5 s of 100 W and 5 s of 250 W, of which one second is an inference's. When the power rises is known to half a
    // poll, and so is which side of a refresh that is on.
    let near = |found: f64, truth: f64| assert!((found - truth).abs() <= 7.5 + 1e-9, "{found} for {truth}");
    let device = &report.devices[0];
    let energy = device.energy.unwrap();
    near(energy.joules(), 1_750.0);
    assert_eq!(device.energy_by_state.unwrap().inference, joules(250));
    near(device.energy_by_state.unwrap().idle.joules(), 1_500.0);
    assert_eq!(device.energy_by_state.unwrap().total(), energy);
    assert!(device.bound.unwrap().joules() >= (energy.joules() - 1_750.0).abs());
    assert_eq!((device.coverage, device.gaps), (Ratio::ONE, 0));
    near(device.mean_power.unwrap().watts() * 10.0, 1_750.0);
    assert_eq!(device.power.unwrap().p95, 250.0);
    // 50 polls at each level.
    assert!((device.avg_utilization.unwrap().ratio() - 0.505).abs() < 0.006);
    assert_eq!(device.peak_utilization.unwrap().ratio(), 0.75);
    assert_eq!(device.peak_memory.unwrap().bytes(), 3 << 30);
    assert_eq!(device.memory_total.unwrap().bytes(), 24 << 30);
    assert_eq!(device.peak_temperature.unwrap().celsius(), 71.0);
    assert_eq!(report.total.power.unwrap().p95, 250.0);
    // 360 g/kWh are 0.1 mg/J, half as much again for the building; the price has the same digits.
    let grams = energy.joules() * 1.5e-4;
    assert!((report.total.emissions.unwrap().grams() - grams).abs() < 1e-9);
    assert!((report.total.cost.unwrap().usd() - grams / 1e3).abs() < 1e-12);
    assert_eq!(report.total.boundary, wattspan_energy::Boundary::Facility);

    let all = &report.inferences;
    assert_eq!((all.count, all.failed, all.measured, settled.count()), (1, 0, 1, 1));
    assert_eq!((all.energy, all.joules_per_output_token), (Some(joules(250)), Some(5.0)));
    assert_eq!(all.duration_seconds.unwrap().p99, 1.0);
    assert_eq!(all.time_to_first_token_seconds.unwrap().p50, 0.1);
    assert!((all.time_per_output_token_seconds.unwrap().mean - 0.9 / 49.0).abs() < 1e-12);
    assert_eq!(all.output_tokens_per_second, Some(5.0));
    // M = 1 kg · 10 s/1,000 s · 0.1 = 1 g.
    let sci = report.sci.unwrap();
    assert!((sci.embodied.unwrap().grams() - 1.0).abs() < 1e-9);
    assert!((sci.per_inference.unwrap().grams() - (1.0 + grams)).abs() < 1e-9);
    assert!((sci.per_thousand_tokens.unwrap().grams() - (1.0 + grams) / 0.05).abs() < 1e-6);
}

#[test]
fn edges_cut_intervals_by_time() {
    let clock = clock();
    let mut stepper = Monitor::builder().clock(clock.clone()).collector(Box::new(steady("GPU-a"))).stepper();
    step_to(&mut stepper, &clock, 2_000);
    clock.advance(Duration::from_millis(30));
    let window = PerformanceMonitor::start_stepped(&stepper);
    clock.advance(Duration::from_millis(500));
    stepper.step();
    clock.advance(Duration::from_millis(500));
    window.end();
    step_to(&mut stepper, &clock, 5_000);
    // The first and the last interval reach over the edges, at 100 W all the way.
    let report = window.report();
    let energy = report.total.energy.unwrap();
    assert!((energy.joules() - 100.0).abs() < 1e-5, "{energy}");
    assert!(report.total.bound.unwrap().joules() >= 0.001);
}

#[test]
fn windows_of_one_device_are_counted_once() {
    let clock = clock();
    let mut stepper = Monitor::builder().clock(clock.clone()).collector(Box::new(steady("GPU-a"))).stepper();
    step_to(&mut stepper, &clock, 1_000);
    let outer = PerformanceMonitor::start_stepped(&stepper);
    step_to(&mut stepper, &clock, 2_000);
    let inner = PerformanceMonitor::start_stepped(&stepper);
    let settled = Settled::default();
    infer(&*stepper.observer(), 2_000, 3_000, 10, &settled);
    step_to(&mut stepper, &clock, 4_000);
    inner.end();
    step_to(&mut stepper, &clock, 5_000);
    let late = PerformanceMonitor::start_stepped(&stepper);
    outer.end();
    infer(&*stepper.observer(), 5_000, 6_000, 10, &settled);
    step_to(&mut stepper, &clock, 8_000);
    late.end();
    step_to(&mut stepper, &clock, 9_000);
    let (outer, inner, late) = (outer.report(), inner.report(), late.report());
    assert_eq!((outer.total.energy, inner.total.energy), (Some(joules(400)), Some(joules(200))));

    let nested = PerformanceReport::merge([&inner, &outer]).unwrap();
    assert_eq!(nested.total.energy, Some(joules(400)));
    assert_eq!((nested.inferences.count, nested.duration), (1, Duration::from_secs(4)));
    assert_eq!(nested.snapshots, outer.snapshots);

    let all = PerformanceReport::merge([&inner, &late, &outer]).unwrap();
    assert_eq!(all.total.energy, Some(joules(700)));
    assert_eq!((all.inferences.count, all.duration), (2, Duration::from_secs(7)));
    assert_eq!(all.devices[0].coverage, Ratio::ONE);
    assert_eq!(PerformanceReport::merge([]), None);

    // Read back from JSON, windows side by side still add up.
    let back = |report: &PerformanceReport| -> PerformanceReport {
        serde_json::from_str(&serde_json::to_string(report).unwrap()).unwrap()
    };
    let again = PerformanceReport::merge([&back(&outer), &back(&late)]).unwrap();
    assert!((again.total.energy.unwrap().joules() - 700.0).abs() < 0.01, "{:?}", again.total);
    assert_eq!(again.inferences.count, 2);
}

#[test]
fn two_machines_are_added() {
    let report = |id: &str| {
        let clock = clock();
        let mut stepper = Monitor::builder().clock(clock.clone()).collector(Box::new(steady(id))).stepper();
        step_to(&mut stepper, &clock, 1_000);
        let window = PerformanceMonitor::start_stepped(&stepper);
        step_to(&mut stepper, &clock, 3_000);
        window.end();
        step_to(&mut stepper, &clock, 4_000);
        window.report()
    };
    let (one, two) = (report("GPU-a"), report("GPU-b"));
    let both = PerformanceReport::merge([&one, &two]).unwrap();
    assert_eq!(both.total.energy, Some(joules(400)));
    assert_eq!((both.duration, both.devices.len()), (Duration::from_secs(2), 2));
    assert_eq!(both.snapshots, 40);
}

#[test]
fn absent_figures_are_null_and_never_zero() {
    let clock = clock();
    let dark = FakeCollector::new("dark", [support::gpu("GPU-a")], |device, now| {
        let mut sample = wattspan_core::DeviceSample::new(Arc::clone(device), now);
        sample.energy = Reading::failed("no");
        sample
    });
    let mut stepper = Monitor::builder().clock(clock.clone()).collector(Box::new(dark)).stepper();
    step_to(&mut stepper, &clock, 1_000);
    let window = PerformanceMonitor::start_stepped(&stepper);
    step_to(&mut stepper, &clock, 2_000);
    window.end();
    let json: serde_json::Value = serde_json::to_value(window.report()).unwrap();
    let device = &json["devices"][0];
    for field in [
        "energy_joules",
        "energy_by_state",
        "method",
        "energy_bound_joules",
        "emissions_grams",
        "cost_usd",
        "mean_power_watts",
        "power_watts",
        "avg_utilization_ratio",
        "peak_utilization_ratio",
        "peak_memory_used_bytes",
        "memory_total_bytes",
        "peak_temperature_celsius",
    ] {
        assert!(device.get(field).is_some_and(serde_json::Value::is_null), "{field}: {device}");
    }
    assert_eq!(device["coverage_ratio"], 0.0);
    assert!(json["total"]["energy_joules"].is_null() && json["sci"].is_null());
    assert!(json["total"]["coverage_ratio"].is_null(), "nothing was to be covered");
    assert!(json["inferences"]["duration_seconds"].is_null());
    assert_eq!(json["duration_seconds"], 1.0);
}

#[test]
fn peak_power_is_not_that_of_a_few_milliseconds() {
    let clock = clock();
    let mut device = (*support::gpu("GPU-a")).clone();
    device.counter.as_mut().unwrap().refresh = Some(Duration::from_millis(1));
    let turn = Arc::new(std::sync::atomic::AtomicU64::new(0));
    let reads = Arc::clone(&turn);
    // 200 W, and each other time the counter is read a millisecond after the clock.
    let late = FakeCollector::new("late", [Arc::new(device)], move |device, now| {
        let late = reads.fetch_add(1, std::sync::atomic::Ordering::Relaxed) % 2;
        let mut sample = wattspan_core::DeviceSample::new(Arc::clone(device), now);
        sample.energy = Reading::Value((now.nanos() / 1_000_000 + late) * 200);
        sample
    });
    let samples = RecordingSamples::default();
    let mut stepper = Monitor::builder()
        .clock(clock.clone())
        .collector(Box::new(late))
        .sample_sink(Arc::new(samples.clone()))
        .stepper();
    step_to(&mut stepper, &clock, 1_000);
    let window = PerformanceMonitor::start_stepped(&stepper);
    for turn in 0..700 {
        clock.advance(Duration::from_millis([1, 2, 3, 20, 7, 100, 1][turn % 7]));
        stepper.step();
    }
    window.end();
    step_to(&mut stepper, &clock, 60_000);
    let ticks = samples.ticks();
    let intervals = ticks.iter().flat_map(|tick| &tick.intervals);
    let power = |interval: &IntervalEnergy| {
        interval.energy.total().joules() / interval.end.since(interval.start).as_secs_f64()
    };
    assert!(intervals.map(power).fold(0.0, f64::max) >= 399.0, "one by one they are peaks that never were");
    let report = window.report().devices[0].clone();
    let power = report.power.unwrap();
    // Over ten milliseconds: one of them, and half of one at each end.
    assert!(power.max <= 240.5 && power.min >= 159.5, "{power:?}");
    assert!((report.mean_power.unwrap().watts() - 200.0).abs() < 0.1, "and no energy is lost by it");
}

#[test]
fn peak_power_is_not_that_of_a_change_of_the_polls_cadence() {
    let clock = clock();
    let mut device = (*support::gpu("GPU-a")).clone();
    device.counter.as_mut().unwrap().refresh = None;
    let steady = FakeCollector::new("steady", [Arc::new(device)], |device, now| {
        let mut sample = wattspan_core::DeviceSample::new(Arc::clone(device), now);
        sample.energy = Reading::Value(now.nanos() / 1_000_000 * 200);
        sample
    });
    let mut stepper = Monitor::builder().clock(clock.clone()).collector(Box::new(steady)).stepper();
    step_to(&mut stepper, &clock, 1_000);
    let window = PerformanceMonitor::start_stepped(&stepper);
    // Idle and busy by turns. Its refresh is not known, and a change seen after a second may be as old.
    for turn in 0..400 {
        clock.advance(Duration::from_millis(if turn % 40 < 30 { 20 } else { 1_000 }));
        stepper.step();
    }
    window.end();
    step_to(&mut stepper, &clock, 200_000);
    let power = window.report().devices[0].power.unwrap();
    assert!(power.count > 20 && power.max <= 300.0 && power.min >= 100.0, "{power:?}");
}

/// A GPU without a sensor at 0.25 of 400 W, and a CPU of which three of eight cores are busy.
fn unmeasured() -> FakeCollector {
    let mut gpu = (*support::gpu("GPU-a")).clone();
    (gpu.counter, gpu.power_limit) = (None, Some(Watts::whole(400)));
    let cpu = Device::new(DeviceId::new("cpu-0"), DeviceKind::Cpu, Vendor::Unknown, "test CPU");
    FakeCollector::new("unmeasured", [Arc::new(gpu), Arc::new(cpu)], |device, now| {
        let mut sample = wattspan_core::DeviceSample::new(Arc::clone(device), now);
        if device.kind == DeviceKind::Cpu {
            sample.gauges.cpu_busy = Reading::Value(now.since(MonoTime::ZERO) * 3);
        } else {
            sample.gauges.utilization = Ratio::new(0.25).into();
        }
        sample
    })
}

fn all_inputs() -> EstimateInputs {
    let mut inputs = EstimateInputs::default();
    let cores = std::num::NonZeroU32::new(8).unwrap();
    inputs.cpu = Some((PowerCurve::new(Watts::whole(20), Watts::whole(100)).unwrap(), cores));
    inputs.gpu = true;
    inputs
}

#[test]
fn a_windows_estimate_stands_beside_what_was_measured_and_is_off_unless_asked_for() {
    let run = |inputs: Option<EstimateInputs>| {
        let clock = clock();
        let mut builder = Monitor::builder().clock(clock.clone()).collector(Box::new(unmeasured()));
        builder = builder.collector(Box::new(steady("GPU-b")));
        if let Some(inputs) = inputs {
            builder = builder.estimate(inputs);
        }
        let mut stepper = builder.stepper();
        step_to(&mut stepper, &clock, 1_000);
        let first = PerformanceMonitor::start_stepped(&stepper);
        step_to(&mut stepper, &clock, 3_000);
        let second = PerformanceMonitor::start_stepped(&stepper);
        step_to(&mut stepper, &clock, 5_000);
        first.end();
        step_to(&mut stepper, &clock, 7_000);
        second.end();
        step_to(&mut stepper, &clock, 8_000);
        (first.report(), second.report())
    };
    let (without, _) = run(None);
    assert_eq!(without.estimate, None);
    let (first, second) = run(Some(all_inputs()));
    let estimate = first.estimate.clone().unwrap();
    // Four seconds of 20 W + 3/8 of 80 W, and of a quarter of 400 W; at least 20 W and at most 500 W.
    assert!((estimate.value.joules() - 600.0).abs() < 1e-3, "{estimate:?}");
    assert_eq!((estimate.range.low, estimate.range.high), (joules(80), joules(2_000)));
    assert!(estimate.basis.contains("cpu time") && estimate.basis.contains("utilisation"), "{estimate:?}");
    assert_eq!(first.total.energy, without.total.energy, "it is in no other figure");
    let json = serde_json::to_value(&first).unwrap();
    assert!((json["estimate"]["value_joules"].as_f64().unwrap() - 600.0).abs() < 1e-3, "{json}");
    assert!(first.to_string().contains("not in the total"), "{first}");

    // Two seconds are in both windows, and count once; 150 W for six seconds. Another machine's are added.
    let both = PerformanceReport::merge([&first, &second]).unwrap().estimate.unwrap();
    assert!((both.value.joules() - 900.0).abs() < 1e-3, "{both:?}");
    assert_eq!(both.basis, estimate.basis, "what it rests on is named once");
    let back: PerformanceReport = serde_json::from_value(json).unwrap();
    assert_eq!(PerformanceReport::merge([&back]).unwrap().estimate, Some(estimate));
}

#[test]
fn a_measured_device_is_not_estimated_too() {
    let clock = clock();
    let mut stepper = Monitor::builder()
        .clock(clock.clone())
        .collector(Box::new(steady("GPU-a")))
        .estimate({
            let mut inputs = all_inputs();
            inputs.cpu = None;
            inputs
        })
        .stepper();
    step_to(&mut stepper, &clock, 1_000);
    let window = PerformanceMonitor::start_stepped(&stepper);
    step_to(&mut stepper, &clock, 3_000);
    window.end();
    step_to(&mut stepper, &clock, 4_000);
    assert_eq!((window.report().estimate, window.report().total.energy), (None, Some(joules(200))));
}

#[test]
fn a_servers_gauges_reach_snapshot_and_report() {
    let clock = clock();
    let mut stepper = Monitor::builder().clock(clock.clone()).collector(Box::new(steady("GPU-a"))).stepper();
    let sink: Arc<dyn StatsSink> = stepper.stats_sink();
    let window = PerformanceMonitor::start_stepped(&stepper);
    for (second, rate, cache) in [(1, 20.0, 0.5), (2, 40.0, 0.7)] {
        step_to(&mut stepper, &clock, second * 1_000);
        let mut stats = ServerStats::new(MonoTime::from_nanos(second * 1_000_000_000), "127.0.0.1:8080");
        stats.tokens_per_second = Reading::Value(rate);
        stats.kv_cache = Ratio::new(cache).into();
        sink.stats(&stats);
    }
    step_to(&mut stepper, &clock, 3_000);
    let server = stepper.snapshot().unwrap().servers[0].clone();
    assert_eq!(server.tokens_per_second, Reading::Value(40.0));
    let report = window.report();
    let server = &report.servers[0];
    assert_eq!((server.server.as_str(), server.polls), ("127.0.0.1:8080", 2));
    assert_eq!((server.avg_tokens_per_second, server.peak_tokens_per_second), (Some(30.0), Some(40.0)));
    assert!((server.avg_kv_cache.unwrap().ratio() - 0.6).abs() < 1e-12);
    assert_eq!(server.avg_prompt_tokens_per_second, None);
}

#[test]
fn code_can_be_measured_on_the_real_clock() {
    let monitor = Monitor::builder().collector(Box::new(steady("GPU-a"))).start().unwrap();
    let (answer, report) = monitor.measure(|| 6 * 7);
    assert_eq!((answer, report.monitors.len()), (42, 1));
    let report = PerformanceMonitor::start(&monitor).stop_within(Duration::from_secs(60));
    assert!(report.notes.is_empty(), "the end of the window was waited for: {:?}", report.notes);
    assert_eq!(report.devices[0].coverage, Ratio::ONE);

    let own =
        PerformanceMonitor::stand_alone(Monitor::builder().collector(Box::new(steady("GPU-b")))).unwrap();
    assert_eq!(own.monitor().unwrap().devices().len(), 1);
    let report = own.stop_within(Duration::from_secs(60));
    assert_eq!((report.devices[0].id.as_str(), report.notes.len()), ("GPU-b", 0));
}

#[test]
fn case_cli_02_two_monitors_at_once_each_see_the_whole() {
    let clock = clock();
    let make = || Monitor::builder().clock(clock.clone()).collector(Box::new(steady("GPU-a"))).stepper();
    let (mut one, mut two) = (make(), make());
    let mut both = |millis: u64| {
        while wattspan_core::Clock::mono(&*clock).nanos() / 1_000_000 < millis {
            clock.advance(Duration::from_millis(100));
            one.step();
            two.step();
        }
        [PerformanceMonitor::start_stepped(&one), PerformanceMonitor::start_stepped(&two)]
    };
    let windows = both(1_000);
    both(3_000);
    windows.iter().for_each(PerformanceMonitor::end);
    both(4_000);
    let reports = windows.map(|window| window.report());
    assert!(reports.iter().all(|report| report.total.energy == Some(joules(200))));
    let merged = PerformanceReport::merge(&reports).unwrap();
    assert_eq!(merged.total.energy, Some(joules(200)), "one device is counted once, whoever watches it");
}
