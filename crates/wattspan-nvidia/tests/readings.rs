//! What one GPU reports, through the real wrapper and a scripted driver.
#![cfg(target_os = "linux")]

mod common;

use std::time::Duration;

use common::{Bench, SECOND, told};
use wattspan_core::{Bytes, Celsius, DeviceKind, Hertz, Joules, PowerShape, Ratio, Reading, Watts};
use wattspan_fake_nvml::model::{PowerReading, PowerSensor};
use wattspan_fake_nvml::{ErrorWindow, FakeNvml, ProcessSpec};
use wattspan_nvidia::PidNamespace;

const GIB: u64 = 1 << 30;

fn millijoules(count: u64) -> Joules {
    Joules::from_millijoules(i64::try_from(count).expect("a count of a short run"))
}

#[test]
fn everything_that_a_card_has_is_read() {
    let mut bench = Bench::new(1);
    bench
        .fake
        .control(&format!(
            "gpu 0 name NVIDIA H100\ngpu 0 pci 0000:65:00.0\ngpu 0 util fixed 41 20\n\
             gpu 0 memory {} {} {}\ngpu 0 temp 83 91\ngpu 0 limit 700 enforced 650\ngpu 0 clock sm 1410 1980\n\
             gpu 0 clock mem 2619 2619\ngpu 0 reasons 69\ngpu 0 fan 30\ngpu 0 pcie replay 3\ngpu 0 ecc 5 2",
            80 * GIB,
            GIB,
            2 * GIB
        ))
        .unwrap();
    bench = Bench::on(bench.fake);
    let sample = bench.one();
    assert_eq!(sample.energy, Reading::Value(60_000));
    assert_eq!(sample.power, Reading::Value(Watts::whole(60)));
    let gauges = &sample.gauges;
    assert_eq!(gauges.utilization, Reading::Value(Ratio::percent(41.0).unwrap()));
    assert_eq!(gauges.memory_utilization, Reading::Value(Ratio::percent(20.0).unwrap()));
    assert_eq!(gauges.memory_used, Reading::Value(Bytes::new(2 * GIB)));
    assert_eq!(gauges.memory_total, Reading::Value(Bytes::new(80 * GIB)));
    assert_eq!(gauges.memory_reserved, Reading::Value(Bytes::new(GIB)));
    assert_eq!(gauges.temperature, Reading::Value(Celsius::whole(83)));
    assert_eq!(gauges.memory_temperature, Reading::Value(Celsius::whole(91)));
    assert_eq!(gauges.power_limit, Reading::Value(Watts::whole(650)));
    assert_eq!(gauges.clock, Reading::Value(Hertz::new(1.41e9).unwrap()));
    assert_eq!(gauges.memory_clock, Reading::Value(Hertz::new(2.619e9).unwrap()));
    assert_eq!(gauges.throttle, Reading::Value(vec!["sw_power_cap", "hw_thermal_slowdown"]));
    assert_eq!(gauges.fan, Reading::Value(Ratio::percent(30.0).unwrap()));
    assert_eq!(gauges.pcie_replays, Reading::Value(3));
    assert_eq!(gauges.memory_errors, Reading::Value(2));
    let device = &sample.device;
    assert_eq!((device.kind, device.index, device.parent.as_ref()), (DeviceKind::Gpu, Some(0), None));
    assert_eq!(device.id.as_str(), "GPU-fa4e0000-0000-4000-8000-000000000000");
    assert_eq!(device.name, "NVIDIA H100");
    assert_eq!(device.pci_address.as_deref(), Some("0000:65:00.0"));
    assert_eq!(device.power_limit, Some(Watts::whole(650)));
    assert_eq!(device.memory_total, Some(Bytes::new(80 * GIB)));
    assert_eq!(device.driver_version.as_deref(), Some("580.95.05"));
}

/// Preset, then shape, window and refresh of the chosen reading in milliseconds, what the note names, and whether
/// energy is counted.
#[track_caller]
fn check_sensor(lines: &str, shape: (&str, u64, u64), note: &str, counted: bool) {
    let bench = Bench::built(FakeNvml::builder().control(lines));
    let device = &bench.fake_device();
    let spec = device.power.expect("a power reading");
    let found = match spec.shape {
        PowerShape::Instant { window } => ("instant", window),
        PowerShape::TrailingMean { window } => ("mean", window),
        other => panic!("{other:?}"),
    };
    let milliseconds = |time: Duration| u64::try_from(time.as_millis()).unwrap();
    assert_eq!((found.0, milliseconds(found.1), milliseconds(spec.refresh.unwrap())), shape, "{lines}");
    assert!(device.note.as_deref().unwrap_or_default().contains(note), "{lines}: {:?}", device.note);
    assert_eq!(device.counter.is_some(), counted, "{lines}");
}

impl Bench {
    fn fake_device(&self) -> wattspan_core::Device {
        use wattspan_core::Collector as _;
        (*self.collector.devices()[0]).clone()
    }
}

#[test]
fn best_power_reading_of_each_generation_is_taken_and_named() {
    check_sensor("gpu 0 preset pascal\ngpu 0 idle 60", ("instant", 10, 20), "field 186", false);
    check_sensor("gpu 0 preset volta\ngpu 0 idle 60", ("instant", 10, 20), "field 186", true);
    check_sensor("gpu 0 preset turing\ngpu 0 idle 60", ("instant", 100, 100), "field 186", true);
    check_sensor(
        "gpu 0 preset ga100\ngpu 0 idle 60",
        ("instant", 25, 100),
        "Ampere GA100 sees 25 of each",
        true,
    );
    check_sensor("gpu 0 preset ampere\ngpu 0 idle 60", ("instant", 100, 100), "field 186", true);
    check_sensor("gpu 0 preset hopper\ngpu 0 idle 60", ("instant", 25, 100), "field 186", true);
    check_sensor("gpu 0 preset blackwell\ngpu 0 idle 60", ("instant", 25, 100), "assumed", true);
    // Without field 186, as before release 530.
    let old = "gpu 0 preset ada\ngpu 0 idle 60\ngpu 0 sensor instant off\ngpu 0 sensor average off";
    check_sensor(old, ("mean", 1_000, 100), "nvmlDeviceGetPowerUsage", true);
    // Only field 185.
    let average = "gpu 0 preset ada\ngpu 0 idle 60\ngpu 0 sensor instant off\ngpu 0 sensor usage off";
    check_sensor(average, ("mean", 1_000, 100), "field 185", true);
}

#[test]
fn case_nvml_01_unsupported_power_hides_nothing_else() {
    let mut bench = Bench::new(1);
    for reading in [PowerReading::Usage, PowerReading::Average, PowerReading::Instant] {
        bench.fake.gpu(0).sensor(reading, None).unwrap();
    }
    let memory = format!(
        "gpu 0 counter off\ngpu 0 temp 83\ngpu 0 util fixed 41 20\ngpu 0 memory {} 0 2147483648",
        8 * GIB
    );
    bench.fake.control(&memory).unwrap();
    let sample = bench.one();
    assert_eq!(sample.gauges.temperature, Reading::Value(Celsius::whole(83)));
    assert_eq!(sample.gauges.utilization, Reading::Value(Ratio::percent(41.0).unwrap()));
    assert_eq!(sample.gauges.memory_used, Reading::Value(Bytes::new(2_147_483_648)));
    assert_eq!(sample.power, Reading::NotSupported);
    assert_eq!(sample.energy, Reading::NotSupported);
    // The same for a card that never had them.
    let sample = Bench::on(bench.fake).one();
    assert_eq!((sample.device.counter, sample.device.power), (None, None));
    assert_eq!((sample.energy, sample.power), (Reading::NotSupported, Reading::NotSupported));
    assert_eq!(sample.gauges.temperature, Reading::Value(Celsius::whole(83)));
}

#[test]
fn case_nvml_03_without_a_counter_power_stands_in_and_the_device_says_so() {
    let fake = FakeNvml::builder().gpus(2).control("gpu all preset pascal").load().unwrap();
    fake.gpu(0).idle_watts(26.0).unwrap();
    fake.gpu(1).idle_watts(29.0).unwrap();
    let mut bench = Bench::on(fake);
    let samples = bench.tick(Duration::from_secs(3_600));
    let hour = Duration::from_secs(3_600);
    for (sample, joules, kilowatt_hours) in [(&samples[0], 93_600.0, 0.026), (&samples[1], 104_400.0, 0.029)]
    {
        assert_eq!(sample.device.counter, None);
        assert_eq!(sample.energy, Reading::NotSupported);
        let energy = *sample.power.as_value().expect("power") * hour;
        assert!((energy.joules() - joules).abs() < joules * 1e-3, "{energy}");
        assert!((energy.kilowatt_hours() - kilowatt_hours).abs() < 1e-6, "{energy}");
        assert!(sample.device.note.as_deref().unwrap_or_default().contains("energy: no counter"));
    }
}

#[test]
fn case_nvml_05_counter_of_a_module_is_not_the_gpus() {
    let lines = "gpu 0 preset hopper\ngpu 0 name GH200 480GB\ngpu 0 idle 400\ngpu 0 module 200";
    let mut bench = Bench::built(FakeNvml::builder().control(lines));
    let before = bench.tick(SECOND);
    let after = bench.tick(Duration::from_secs(10));
    let [module, gpu] = &after[..] else { panic!("a module and a GPU, not {after:?}") };
    assert_eq!(module.device.kind, DeviceKind::Module);
    assert!(!module.device.is_counted(), "or its joules would be added to those of CPU and GPU");
    let delta = module.energy.as_value().unwrap() - before[0].energy.as_value().unwrap();
    assert_eq!(millijoules(delta), Joules::from_millijoules(6_000_000));
    assert_eq!(module.power, Reading::Value(Watts::whole(600)));

    assert!(gpu.device.is_counted());
    assert_eq!((gpu.device.kind, gpu.device.counter), (DeviceKind::Gpu, None));
    assert_eq!(gpu.energy, Reading::NotSupported);
    assert_eq!(gpu.power, Reading::Value(Watts::whole(400)));
    let integrated = *gpu.power.as_value().unwrap() * Duration::from_secs(10);
    assert_eq!(integrated, Joules::from_millijoules(4_000_000));
    assert!(gpu.device.note.as_deref().unwrap_or_default().contains("covers the whole module"));
}

#[test]
fn module_is_known_by_its_power_and_a_board_that_repeats_its_own_is_none() {
    let kinds = |lines: &str| -> Vec<DeviceKind> {
        let mut bench = Bench::built(FakeNvml::builder().control(lines));
        bench.tick(SECOND).iter().map(|sample| sample.device.kind).collect()
    };
    let board = "gpu 0 preset hopper\ngpu 0 name NVIDIA H200\ngpu 0 idle 400";
    assert_eq!(kinds(board), [DeviceKind::Gpu]);
    assert_eq!(kinds(&format!("{board}\ngpu 0 module 200")), [DeviceKind::Module, DeviceKind::Gpu]);
    // A module whose driver has no reading in that scope is known by its name, and has no power of its own.
    let mut bench =
        Bench::built(FakeNvml::builder().control(&board.replace("NVIDIA H200", "NVIDIA GH200 96GB")));
    let samples = bench.tick(SECOND);
    assert_eq!((samples[0].device.power, samples[0].energy.clone()), (None, Reading::Value(400_000)));
    assert_eq!((samples[1].device.counter, samples[1].energy.clone()), (None, Reading::NotSupported));
}

#[test]
fn case_nvml_09_missing_symbol_costs_one_reading_at_most() {
    let process = "gpu 0 preset turing\ngpu 0 idle 60\ngpu 0 proc add 4242 1048576";
    let old = || FakeNvml::builder().driver_version("470.161.03").control(process);
    let without = |names: &[&str]| {
        let mut bench = Bench::built(names.iter().fold(old(), |builder, name| builder.without_symbol(name)));
        bench.one()
    };
    let v3 = "nvmlDeviceGetComputeRunningProcesses_v3";
    let v2 = "nvmlDeviceGetComputeRunningProcesses_v2";
    for names in [&[v3][..], &[v3, v2]] {
        let sample = without(names);
        let processes = sample.processes.as_value().expect("an older list");
        assert_eq!(processes.len(), 1);
        assert_eq!(processes[0].pid, 4_242);
        assert_eq!(processes[0].memory, Reading::Value(Bytes::new(1 << 20)));
        assert_eq!(sample.energy, Reading::Value(60_000));
        assert_eq!(sample.power, Reading::Value(Watts::whole(60)));
    }
}

#[test]
fn memory_of_a_driver_without_the_second_version_includes_what_is_reserved() {
    let builder = FakeNvml::builder()
        .without_symbol("nvmlDeviceGetMemoryInfo_v2")
        .control("gpu 0 memory 1000000 1000 5000");
    let sample = Bench::built(builder).one();
    assert_eq!(sample.gauges.memory_total, Reading::Value(Bytes::new(1_000_000)));
    assert_eq!(sample.gauges.memory_used, Reading::Value(Bytes::new(6_000)));
    assert_eq!(sample.gauges.memory_reserved, Reading::NotSupported);
}

#[test]
fn driver_without_fields_and_new_names_still_gives_power() {
    let mut builder = FakeNvml::builder().control("gpu 0 preset volta\ngpu 0 idle 60\ngpu 0 reasons 4");
    for name in [
        "nvmlDeviceGetFieldValues",
        "nvmlDeviceGetEnforcedPowerLimit",
        "nvmlDeviceGetCurrentClocksThrottleReasons",
        "nvmlDeviceGetMigMode",
        "nvmlDeviceGetProcessUtilization",
    ] {
        builder = builder.without_symbol(name);
    }
    let sample = Bench::built(builder).one();
    assert_eq!(sample.power, Reading::Value(Watts::whole(60)));
    assert_eq!(sample.gauges.power_limit, Reading::Value(Watts::whole(700)));
    assert_eq!(sample.gauges.throttle, Reading::Value(vec!["sw_power_cap"]));
    assert_eq!(sample.gauges.memory_temperature, Reading::NotSupported);
}

#[test]
fn case_nvml_11_board_without_any_reading_is_listed_and_absent() {
    let fake = FakeNvml::builder().control("gpu 0 name Orin (nvgpu)\ngpu 0 err * 3").load().unwrap();
    for identity in ["nvmlDeviceGetName", "nvmlDeviceGetUUID", "nvmlDeviceGetIndex"] {
        fake.gpu(0).fail(identity, 0, ErrorWindow::ALWAYS).unwrap();
    }
    let mut bench = Bench::on(fake);
    for _ in 0..3 {
        let sample = bench.one();
        assert_eq!(sample.device.name, "Orin (nvgpu)");
        assert_eq!((sample.device.counter, sample.device.power), (None, None));
        assert_eq!((&sample.energy, &sample.power), (&Reading::NotSupported, &Reading::NotSupported));
        assert_eq!(sample.gauges, wattspan_core::Gauges::default());
        assert_eq!(sample.processes, Reading::NotSupported);
    }
}

#[test]
fn case_nvml_13_counter_and_power_are_handed_on_apart() {
    // 187.443 J by the counter and 326.88 J by power over 5.0045 s.
    let fake = FakeNvml::builder().control("gpu 0 preset hopper\ngpu 0 idle 65.318").load().unwrap();
    fake.gpu(0).counter_refresh(0, 0).unwrap();
    let counter_gain = 187.443 / (65.318 * 5.0045);
    fake.gpu(0).gains(counter_gain, 1.0).unwrap();
    let mut bench = Bench::on(fake);
    let before = bench.one();
    let window = Duration::from_micros(5_004_500);
    let after = bench.tick(window).remove(0);
    assert!(after.device.counter.is_some());
    let delta = after.energy.as_value().unwrap() - before.energy.as_value().unwrap();
    assert!(delta.abs_diff(187_443) <= 1, "{delta}");
    let integrated = *after.power.as_value().unwrap() * window;
    assert!((integrated.joules() - 326.88).abs() < 0.01, "{integrated}");
}

#[test]
fn each_code_becomes_a_reading_that_says_what_to_do() {
    #[track_caller]
    fn check(code: u32, expected: &str) {
        let mut bench = Bench::new(1);
        bench.fake.gpu(0).fail("nvmlDeviceGetTemperature", code, ErrorWindow::ALWAYS).unwrap();
        let sample = bench.one();
        let told = told(&sample.gauges.temperature);
        assert!(told.starts_with(expected), "code {code}: {told}");
        assert_eq!(sample.energy, Reading::Value(60_000), "code {code}");
    }
    check(3, "not supported");
    check(4, "denied: run as a user who may open /dev/nvidiactl");
    check(15, "failed: the GPU has fallen off the bus");
    check(16, "failed: the GPU waits for a reset: stop what uses it and run `nvidia-smi --gpu-reset`");
    check(17, "denied: the operating system or a cgroup device rule");
    check(18, "failed: the driver's library and its kernel module are of different releases");
    check(999, "failed: the driver reports an unknown error (999)");
}

#[test]
fn denied_energy_and_power_say_what_to_do_and_are_asked_again() {
    let mut bench = Bench::new(1);
    for name in ["nvmlDeviceGetTotalEnergyConsumption", "nvmlDeviceGetFieldValues"] {
        bench.fake.gpu(0).fail(name, 4, ErrorWindow::until(2_500_000)).unwrap();
    }
    let sample = bench.one();
    assert!(told(&sample.energy).starts_with("denied: run as"), "{:?}", sample.energy);
    assert!(told(&sample.power).starts_with("denied: run as"), "{:?}", sample.power);
    bench.one();
    let sample = bench.one();
    assert!(sample.energy.is_value() && sample.power.is_value());
}

trait Until {
    fn until(until_us: u64) -> Self;
}

impl Until for ErrorWindow {
    fn until(until_us: u64) -> Self {
        Self::between_us(0, until_us)
    }
}

#[test]
fn processes_come_with_memory_and_share_and_rubbish_is_counted() {
    let mut bench = Bench::new(1);
    let process =
        |pid, memory, utilisation| ProcessSpec { pid, memory, utilisation, ..ProcessSpec::default() };
    for spec in [
        process(7_044, Some(GIB), Some((12, 3))),
        process(0, None, Some((u32::MAX, 0))),
        process(999_999, Some(0), Some((3_100, 0))),
        process(7_180, None, Some((7, 1))),
    ] {
        bench.fake.gpu(0).process(spec).unwrap();
    }
    let sample = bench.one();
    let processes = sample.processes.as_value().expect("a list");
    let share = |pid: u32| {
        let process = processes.iter().find(|process| process.pid == pid).expect("a process");
        (process.memory.clone(), process.utilization.as_value().copied())
    };
    assert_eq!(share(7_044), (Reading::Value(Bytes::new(GIB)), Ratio::percent(12.0)));
    assert_eq!(share(7_180), (Reading::NotSupported, Ratio::percent(7.0)));
    assert_eq!(share(999_999).1, None);
    assert!(processes.iter().all(|process| process.pid != 0));
    assert_eq!(bench.collector.rejected_process_samples(), 2);
}

#[test]
fn process_whose_list_an_old_driver_lacks_is_known_by_its_share() {
    let mut bench = Bench::built(
        FakeNvml::builder()
            .without_symbol("nvmlDeviceGetMPSComputeRunningProcesses_v2")
            .without_symbol("nvmlDeviceGetMPSComputeRunningProcesses_v3")
            .control("gpu 0 proc add 11 1048576 util 30 5\ngpu 0 proc add 22 1048576 kind M util 40 5"),
    );
    let sample = bench.one();
    let found: Vec<_> = sample
        .processes
        .as_value()
        .expect("a list")
        .iter()
        .map(|process| (process.pid, process.memory.is_value(), process.utilization.as_value().copied()))
        .collect();
    assert_eq!(found, [(11, true, Ratio::percent(30.0)), (22, false, Ratio::percent(40.0))]);
    assert_eq!(bench.collector.rejected_process_samples(), 0);
}

#[test]
fn share_of_a_process_stands_for_two_seconds_and_is_counted_once() {
    let fake = FakeNvml::builder().control("gpu 0 proc add 11 1048576 util 30 5").load().unwrap();
    fake.control("gpu 0 proc add 12 0 util 3100 0").unwrap();
    let mut options = common::options(&fake);
    options.gauge_interval = Duration::ZERO;
    let mut bench = Bench::with(fake, &options);
    let share = |bench: &mut Bench, after: Duration| {
        let sample = bench.tick(after).remove(0);
        sample.processes.as_value().expect("a list")[0].utilization.clone()
    };
    let known = Reading::Value(Ratio::percent(30.0).unwrap());
    assert_eq!(share(&mut bench, SECOND), known);
    // The driver has no newer sample: neither is the old one lost, nor the rubbish counted again.
    assert_eq!(share(&mut bench, Duration::from_micros(1)), known);
    assert_eq!(bench.collector.rejected_process_samples(), 1);
    bench.fake.gpu(0).fail("nvmlDeviceGetProcessUtilization", 6, ErrorWindow::ALWAYS).unwrap();
    assert_eq!(share(&mut bench, Duration::from_millis(1_900)), known);
    let told = told(&share(&mut bench, Duration::from_millis(200)));
    assert!(told.contains("no sample of this process"), "{told}");
}

#[test]
fn count_without_a_known_unit_is_not_handed_on() {
    // A generation without a documented counter, whose counter could not be read at the start.
    let fake =
        FakeNvml::builder().control("gpu 0 preset pascal\ngpu 0 counter on\ngpu 0 idle 60").load().unwrap();
    fake.gpu(0).fail("nvmlDeviceGetTotalEnergyConsumption", 10, ErrorWindow::times(1)).unwrap();
    let sample = Bench::on(fake).one();
    assert_eq!((sample.device.counter, sample.energy), (None, Reading::NotSupported));
}

#[test]
fn case_container_01_host_pids_are_not_reported_in_a_container() {
    let fake = FakeNvml::builder().control("gpu 0 idle 60\ngpu 0 proc add 28290 1061158912").load().unwrap();
    let mut options = common::options(&fake);
    options.pid_namespace = PidNamespace::Container;
    let mut bench = Bench::with(fake, &options);
    let sample = bench.one();
    let told = told(&sample.processes);
    assert!(told.starts_with("failed: NVML names processes by the host's ids"), "{told}");
    assert!(told.contains("hostPID"), "{told}");
    assert!(sample.energy.is_value());
    // In the host's namespace the same list is good.
    let sample = Bench::on(bench.fake).one();
    assert_eq!(sample.processes.as_value().map(|list| list[0].pid), Some(28_290));
}

#[test]
fn slow_sensor_shows_what_the_driver_shows() {
    // The collector takes the driver's word: a 1 s mean stays a 1 s mean, and its shape says so.
    let fake = FakeNvml::builder().control("gpu 0 preset ada\ngpu 0 idle 100").load().unwrap();
    fake.gpu(0).sensor(PowerReading::Instant, None).unwrap();
    fake.gpu(0).sensor(PowerReading::Usage, Some(PowerSensor::new(100_000, 1_000_000))).unwrap();
    fake.gpu(0).load("a", 5_000_000, 9_000_000, 200.0, 0).unwrap();
    let mut bench = Bench::on(fake);
    bench.tick(Duration::from_secs(5));
    let sample = bench.tick(Duration::from_millis(500)).remove(0);
    assert_eq!(sample.power, Reading::Value(Watts::whole(200)));
    assert_eq!(
        sample.device.power.unwrap().shape,
        PowerShape::TrailingMean { window: Duration::from_secs(1) }
    );
}
