//! Errors, lost GPUs, reloads, MIG, old drivers, and copies that do not disturb each other.
#![cfg(target_os = "linux")]
#![allow(missing_docs)]
#![allow(clippy::print_stdout)] // The child process of the last test speaks to its parent.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::{env, fs, thread};

use nvml_wrapper::enum_wrappers::device::{self as kind, TemperatureSensor};
use nvml_wrapper::error::NvmlError;
use nvml_wrapper::structs::device::FieldId;
use nvml_wrapper::{Device, Nvml};
use wattspan_fake_nvml::{Error, ErrorWindow, FakeNvml, MigDevice, ProcessSpec, ScriptFile};

const SECOND: u64 = 1_000_000;
const GIB: u64 = 1 << 30;

fn init(fake: &FakeNvml) -> Result<Nvml, NvmlError> {
    Nvml::builder().lib_path(fake.path().as_os_str()).init()
}

fn driver(fake: &FakeNvml) -> Nvml {
    init(fake).expect("the fake initialises")
}

fn first(nvml: &Nvml) -> Device<'_> {
    nvml.device_by_index(0).unwrap()
}

#[test]
fn each_code_reaches_the_caller() {
    let fake = FakeNvml::new().unwrap();
    let nvml = driver(&fake);
    for code in (1..=30).chain([999]) {
        fake.gpu(0).fail("nvmlDeviceGetPowerUsage", code, ErrorWindow::times(1)).unwrap();
        let error = first(&nvml).power_usage().expect_err("a code was injected");
        // The wrapper's own table, backwards.
        assert_eq!(raw(error), code);
        assert!(first(&nvml).power_usage().is_ok(), "code {code} was for one call");
    }
}

fn raw(error: NvmlError) -> u32 {
    error.into()
}

#[test]
fn each_function_can_fail() {
    type Call = fn(&Device<'_>) -> Option<NvmlError>;
    let fake = FakeNvml::new().unwrap();
    fake.gpu(0).line("ecc 0 0").unwrap().line("serial 1").unwrap().mig(false).unwrap();
    let nvml = driver(&fake);
    let calls: [(&str, Call); 22] = [
        ("nvmlDeviceGetName", |device| device.name().err()),
        ("nvmlDeviceGetUUID", |device| device.uuid().err()),
        ("nvmlDeviceGetSerial", |device| device.serial().err()),
        ("nvmlDeviceGetPciInfo_v3", |device| device.pci_info().err()),
        ("nvmlDeviceGetMinorNumber", |device| device.minor_number().err()),
        ("nvmlDeviceGetArchitecture", |device| device.architecture().err()),
        ("nvmlDeviceGetCudaComputeCapability", |device| device.cuda_compute_capability().err()),
        ("nvmlDeviceGetTotalEnergyConsumption", |device| device.total_energy_consumption().err()),
        ("nvmlDeviceGetPowerManagementLimit", |device| device.power_management_limit().err()),
        ("nvmlDeviceGetEnforcedPowerLimit", |device| device.enforced_power_limit().err()),
        ("nvmlDeviceGetUtilizationRates", |device| device.utilization_rates().err()),
        ("nvmlDeviceGetMemoryInfo_v2", |device| device.memory_info().err()),
        ("nvmlDeviceGetTemperature", |device| device.temperature(TemperatureSensor::Gpu).err()),
        ("nvmlDeviceGetClockInfo", |device| device.clock_info(kind::Clock::SM).err()),
        ("nvmlDeviceGetMaxClockInfo", |device| device.max_clock_info(kind::Clock::SM).err()),
        ("nvmlDeviceGetCurrentClocksThrottleReasons", |device| device.current_throttle_reasons().err()),
        ("nvmlDeviceGetFanSpeed_v2", |device| device.fan_speed(0).err()),
        ("nvmlDeviceGetPerformanceState", |device| device.performance_state().err()),
        ("nvmlDeviceGetPcieReplayCounter", |device| device.pcie_replay_counter().err()),
        ("nvmlDeviceGetTotalEccErrors", |device| {
            device.total_ecc_errors(kind::MemoryError::Corrected, kind::EccCounter::Volatile).err()
        }),
        ("nvmlDeviceGetComputeRunningProcesses_v3", |device| device.running_compute_processes().err()),
        ("nvmlDeviceGetMigMode", |device| device.mig_mode().err()),
    ];
    let device = first(&nvml);
    for (function, call) in calls {
        assert!(call(&device).is_none(), "{function} works");
        fake.gpu(0).fail(function, 4, ErrorWindow::ALWAYS).unwrap();
        assert!(matches!(call(&device), Some(NvmlError::NoPermission)), "{function} fails");
        fake.gpu(0).succeed(function).unwrap();
        assert!(call(&device).is_none(), "{function} works again");
    }
}

#[test]
fn error_comes_and_goes_at_its_time() {
    let fake = FakeNvml::builder().gpus(2).load().unwrap();
    let window = ErrorWindow::between_us(2 * SECOND, 3 * SECOND);
    fake.gpu(1).fail("*", 10, window).unwrap();
    let nvml = driver(&fake);
    let (other, device) = (first(&nvml), nvml.device_by_index(1).unwrap());
    for (time, fails) in [(0, false), (2 * SECOND - 1, false), (2 * SECOND, true), (3 * SECOND, false)] {
        fake.set_time_us(time).unwrap();
        assert_eq!(matches!(device.power_usage(), Err(NvmlError::Timeout)), fails, "at {time}");
        assert!(other.power_usage().is_ok(), "the other GPU goes on");
    }
}

#[test]
fn initialisation_can_fail() {
    let fake = FakeNvml::new().unwrap();
    fake.fail("nvmlInit_v2", 9, ErrorWindow::times(1)).unwrap();
    assert!(matches!(init(&fake), Err(NvmlError::DriverNotLoaded)));
    fake.fail("nvmlInit_v2", 18, ErrorWindow::times(1)).unwrap();
    assert!(matches!(init(&fake), Err(NvmlError::LibRmVersionMismatch)));
    assert!(init(&fake).is_ok());
}

#[test]
fn one_field_can_fail_beside_others() {
    let fake = FakeNvml::new().unwrap();
    fake.gpu(0).idle_watts(50.0).unwrap().fail("field:186", 3, ErrorWindow::ALWAYS).unwrap();
    let nvml = driver(&fake);
    let fields = first(&nvml).field_values_for(&[FieldId(83), FieldId(186)]).unwrap();
    let results: Vec<bool> = fields.into_iter().map(|field| field.unwrap().value.is_ok()).collect();
    assert_eq!(results, [true, false]);
}

#[test]
fn lost_gpu_returns_elsewhere_with_its_uuid() {
    let fake = FakeNvml::builder().gpus(3).load().unwrap();
    fake.all_gpus().idle_watts(100.0).unwrap();
    fake.at(5 * SECOND, "gpu 0 lost").unwrap();
    let nvml = driver(&fake);
    let uuid = first(&nvml).uuid().unwrap();
    let device = first(&nvml);
    fake.set_time_us(5 * SECOND - 1).unwrap();
    assert!(device.power_usage().is_ok());
    fake.set_time_us(5 * SECOND).unwrap();
    assert!(matches!(device.power_usage(), Err(NvmlError::GpuLost)));
    assert!(matches!(nvml.device_by_index(0), Err(NvmlError::GpuLost)), "its index is still taken");
    assert_eq!(nvml.device_count().unwrap(), 3);
    assert!(nvml.device_by_index(1).unwrap().power_usage().is_ok(), "the others go on");
    let again = driver(&fake);
    assert_eq!(again.device_count().unwrap(), 2, "a new initialisation does not find it");
    assert!(matches!(again.device_by_uuid(uuid.as_str()), Err(NvmlError::NotFound)));

    fake.gpu(0).return_at(Some(2)).unwrap();
    assert!(matches!(device.power_usage(), Err(NvmlError::GpuLost)), "the old handle stays void");
    let again = driver(&fake);
    assert_eq!(again.device_count().unwrap(), 3);
    let found = again.device_by_uuid(uuid.as_str()).unwrap();
    assert_eq!(found.index().unwrap(), 2);
    assert_eq!(found.total_energy_consumption().unwrap(), 0);
    fake.advance_us(SECOND).unwrap();
    assert_eq!(found.total_energy_consumption().unwrap(), 100_000);
}

#[test]
fn reload_voids_handles_and_resets_the_counter() {
    let fake = FakeNvml::new().unwrap();
    fake.gpu(0).idle_watts(100.0).unwrap();
    let nvml = driver(&fake);
    fake.set_time_us(SECOND).unwrap();
    let device = first(&nvml);
    assert_eq!(device.total_energy_consumption().unwrap(), 100_000);
    fake.reload_driver().unwrap();
    assert!(matches!(device.total_energy_consumption(), Err(NvmlError::Uninitialized)));
    let again = driver(&fake);
    assert!(matches!(device.total_energy_consumption(), Err(NvmlError::GpuLost)), "an old handle");
    assert_eq!(first(&again).total_energy_consumption().unwrap(), 0);
}

#[test]
fn counter_wraps_and_freezes() {
    let fake = FakeNvml::new().unwrap();
    fake.gpu(0).idle_watts(100.0).unwrap().counter("wrap 250000").unwrap();
    let nvml = driver(&fake);
    let read = |time| {
        fake.set_time_us(time).unwrap();
        first(&nvml).total_energy_consumption().unwrap()
    };
    assert_eq!(read(2 * SECOND), 200_000);
    assert_eq!(read(3 * SECOND), 50_000);
    fake.gpu(0).counter("freeze").unwrap();
    assert_eq!(read(4 * SECOND), 50_000);
    fake.gpu(0).counter("thaw").unwrap().counter("wrap off").unwrap();
    assert_eq!(read(5 * SECOND), 500_000);
}

#[test]
fn mig_devices_have_memory_and_no_power() {
    let fake = FakeNvml::new().unwrap();
    let gpu = fake.gpu(0).name("NVIDIA A100-SXM4-80GB").unwrap().mig(true).unwrap();
    let uuid = "MIG-3f2504e0-4f89-11d3-9a0c-0305e82c3301";
    let small = MigDevice { memory: 10 * GIB, used: 3 * GIB, ..MigDevice::default() };
    let large = MigDevice {
        memory: 40 * GIB,
        instance: Some((9, 1)),
        uuid: Some(uuid.to_owned()),
        slices: Some(3),
        ..MigDevice::default()
    };
    let gpu = gpu.mig_device(&small).unwrap().mig_device(&large).unwrap();
    let process = ProcessSpec { pid: 42, memory: Some(GIB), ..ProcessSpec::default() };
    let gpu = gpu.process(ProcessSpec { instance: Some((9, 1)), ..process }).unwrap();
    gpu.process(ProcessSpec { pid: 43, instance: Some((1, 0)), ..process }).unwrap();
    let nvml = driver(&fake);
    let parent = first(&nvml);
    assert_eq!(parent.mig_mode().unwrap().current, 1);
    assert_eq!(parent.mig_device_count().unwrap(), 7, "that is the most there can be");
    assert!(!parent.mig_is_mig_device_handle().unwrap());
    assert!(matches!(parent.mig_device_by_index(2), Err(NvmlError::NotFound)));
    assert!(parent.power_usage().is_ok());
    assert_eq!(parent.running_compute_processes().unwrap().len(), 2);

    let slice = parent.mig_device_by_index(1).unwrap();
    assert!(slice.mig_is_mig_device_handle().unwrap());
    assert_eq!(slice.uuid().unwrap(), uuid);
    assert_eq!(slice.name().unwrap(), "NVIDIA A100-SXM4-80GB MIG 3g.40gb");
    assert_eq!(slice.memory_info().unwrap().total, 40 * GIB);
    assert_eq!(slice.attributes().unwrap().gpu_instance_slice_count, 3);
    let processes = slice.running_compute_processes().unwrap();
    let found: Vec<_> = processes.iter().map(|process| (process.pid, process.gpu_instance_id)).collect();
    assert_eq!(found, [(42, Some(9))]);
    assert_eq!(slice.mig_parent_device().unwrap().uuid().unwrap(), parent.uuid().unwrap());
    assert!(matches!(slice.power_usage(), Err(NvmlError::NotSupported)));
    assert!(matches!(slice.total_energy_consumption(), Err(NvmlError::NotSupported)));
    assert!(matches!(slice.utilization_rates(), Err(NvmlError::NotSupported)));
    assert_eq!(nvml.device_by_uuid(uuid).unwrap().memory_info().unwrap().total, 40 * GIB);

    let first_slice = parent.mig_device_by_index(0).unwrap();
    fake.gpu(0).fail_mig(0, "nvmlDeviceGetMemoryInfo_v2", 4, ErrorWindow::ALWAYS).unwrap();
    assert!(matches!(first_slice.memory_info(), Err(NvmlError::NoPermission)));
    assert!(slice.memory_info().is_ok() && parent.memory_info().is_ok());

    fake.gpu(0).mig(false).unwrap();
    assert!(matches!(slice.uuid(), Err(NvmlError::InvalidArg)));
    assert_eq!(parent.mig_mode().unwrap().current, 0);
}

#[test]
fn a_mig_device_that_is_taken_away_leaves_the_others_their_handles() {
    let fake = FakeNvml::new().unwrap();
    let small = MigDevice { memory: 10 * GIB, ..MigDevice::default() };
    let gpu = fake.gpu(0).mig(true).unwrap();
    let gpu =
        gpu.mig_device(&small).unwrap().mig_device(&MigDevice { memory: 20 * GIB, ..small.clone() }).unwrap();
    let nvml = driver(&fake);
    let parent = first(&nvml);
    let (one, two) = (parent.mig_device_by_index(0).unwrap(), parent.mig_device_by_index(1).unwrap());
    gpu.remove_mig_device(0).unwrap();
    assert!(matches!(one.memory_info(), Err(NvmlError::InvalidArg)));
    assert_eq!(two.memory_info().unwrap().total, 20 * GIB);
    assert_eq!(parent.mig_device_by_index(0).unwrap().memory_info().unwrap().total, 20 * GIB);
    assert!(matches!(parent.mig_device_by_index(1), Err(NvmlError::NotFound)));
    // A new one is not the old one.
    let new = MigDevice { uuid: Some("MIG-3f2504e0-4f89-11d3-9a0c-0305e82c3301".to_owned()), ..small };
    fake.gpu(0).mig_device(&new).unwrap();
    assert!(matches!(one.uuid(), Err(NvmlError::InvalidArg)));
    assert_eq!(parent.mig_device_by_index(1).unwrap().memory_info().unwrap().total, 10 * GIB);
    assert!(fake.gpu(0).remove_mig_device(2).is_err());
}

#[test]
fn gpu_without_mig_says_so() {
    let fake = FakeNvml::new().unwrap();
    let nvml = driver(&fake);
    assert!(matches!(first(&nvml).mig_mode(), Err(NvmlError::NotSupported)));
    assert_eq!(first(&nvml).mig_device_count().unwrap(), 0);
}

#[test]
fn case_nvml_01_power_unsupported_leaves_the_rest() {
    let fake = FakeNvml::new().unwrap();
    let gpu = fake.gpu(0).fail("nvmlDeviceGetPowerUsage", 3, ErrorWindow::ALWAYS).unwrap();
    let gpu = gpu.counter("off").unwrap().temperature(83, None).unwrap();
    gpu.line("util fixed 41 20").unwrap().memory(8 * GIB, 0, 2 * GIB).unwrap();
    let nvml = driver(&fake);
    let device = first(&nvml);
    assert!(matches!(device.power_usage(), Err(NvmlError::NotSupported)));
    assert!(matches!(device.total_energy_consumption(), Err(NvmlError::NotSupported)));
    assert_eq!(device.temperature(TemperatureSensor::Gpu).unwrap(), 83);
    let rates = device.utilization_rates().unwrap();
    assert_eq!((rates.gpu, rates.memory), (41, 20));
    assert_eq!(device.memory_info().unwrap().used, 2_147_483_648);
}

#[test]
fn case_nvml_09_old_driver_lacks_new_symbols() {
    let fake = FakeNvml::builder()
        .driver_version("470.161.03")
        .without_symbol("nvmlDeviceGetComputeRunningProcesses_v3")
        .without_symbol("nvmlDeviceGetMemoryInfo_v2")
        .load()
        .unwrap();
    let nvml = driver(&fake);
    let device = first(&nvml);
    assert!(matches!(device.running_compute_processes(), Err(NvmlError::FailedToLoadSymbol(_))));
    assert!(matches!(device.memory_info(), Err(NvmlError::FailedToLoadSymbol(_))));
    assert!(nvml.lib().nvmlDeviceGetComputeRunningProcesses_v2.is_ok());
    assert!(nvml.lib().nvmlDeviceGetMemoryInfo.is_ok());
    assert!(device.power_usage().is_ok() && device.total_energy_consumption().is_ok());
}

#[test]
fn case_nvml_11_jetson_starts_and_supports_nothing() {
    let fake = FakeNvml::new().unwrap();
    let gpu = fake.gpu(0).name("Orin (nvgpu)").unwrap().fail("*", 3, ErrorWindow::ALWAYS).unwrap();
    gpu.fail("nvmlDeviceGetName", 0, ErrorWindow::ALWAYS).unwrap();
    let nvml = driver(&fake);
    assert_eq!(nvml.device_count().unwrap(), 1);
    let device = first(&nvml);
    assert_eq!(device.name().unwrap(), "Orin (nvgpu)");
    assert!(matches!(device.power_usage(), Err(NvmlError::NotSupported)));
    assert!(matches!(device.total_energy_consumption(), Err(NvmlError::NotSupported)));
    assert!(matches!(device.temperature(TemperatureSensor::Gpu), Err(NvmlError::NotSupported)));
    assert!(matches!(device.utilization_rates(), Err(NvmlError::NotSupported)));
    assert!(matches!(device.memory_info(), Err(NvmlError::NotSupported)));
    assert!(matches!(device.clock_info(kind::Clock::SM), Err(NvmlError::NotSupported)));
}

#[test]
fn library_without_init_is_refused_by_the_wrapper() {
    let fake = FakeNvml::builder().without_symbol("nvmlInit_v2").load().unwrap();
    assert!(matches!(init(&fake), Err(NvmlError::FailedToLoadSymbol(_))));
}

#[test]
fn only_exported_symbols_can_be_removed() {
    let error = FakeNvml::builder().without_symbol("nvmlNothing").load().unwrap_err();
    assert!(matches!(error, Error::NoSymbol { name } if name == "nvmlNothing"));
}

#[test]
fn fakes_do_not_disturb_each_other() {
    let threads: Vec<_> = (1..=8_u32)
        .map(|number| {
            thread::spawn(move || {
                let fake = FakeNvml::builder().gpus(number as usize).load().unwrap();
                fake.all_gpus().idle_watts(f64::from(number)).unwrap();
                let nvml = driver(&fake);
                for second in 1..=50_u64 {
                    fake.set_time_us(second * SECOND).unwrap();
                    for index in 0..number {
                        let energy = nvml.device_by_index(index).unwrap().total_energy_consumption().unwrap();
                        assert_eq!(energy, u64::from(number) * second * 1_000);
                    }
                }
                assert_eq!(nvml.device_count().unwrap(), number);
            })
        })
        .collect();
    for thread in threads {
        thread.join().unwrap();
    }
}

#[test]
fn copy_goes_away_and_its_users_go_on() {
    let fake = FakeNvml::new().unwrap();
    let path = fake.path().to_owned();
    let nvml = driver(&fake);
    drop(fake);
    assert!(!path.exists());
    assert!(first(&nvml).power_usage().is_ok());
}

#[test]
fn wrong_lines_are_told() {
    let fake = FakeNvml::new().unwrap();
    for (line, complaint) in [
        ("gpu 0 idle", "gpu 0 idle: a word is missing"),
        ("gpu 0 idle -1", "gpu 0 idle -1: power must be between 0 and 1000000 watts"),
        ("gpu 1 idle 1", "gpu 1 idle 1: no GPU 1"),
        ("gpu 0 idle 1 2", "gpu 0 idle 1 2: too many words: 2"),
        ("err nvmlDeviceGetPower 3", "err nvmlDeviceGetPower 3: no function nvmlDeviceGetPower"),
        ("frobnicate", "frobnicate: unknown word frobnicate"),
    ] {
        let error = fake.control(line).unwrap_err();
        assert!(matches!(&error, Error::Control { message } if message == complaint), "{error}");
    }
    assert!(matches!(fake.query("joules 3 0 1"), Err(Error::Query { .. })));
    // Blank lines and remarks are none of the fake's business.
    fake.control("\n# nothing\n  gpu 0 idle 5 # watts\n").unwrap();
    assert_eq!(fake.gpu(0).watts_at(0).unwrap(), 5.0);
}

#[test]
fn line_for_later_counts_from_its_own_moment() {
    let fake = FakeNvml::new().unwrap();
    fake.at(SECOND, "gpu 0 idle 100").unwrap();
    fake.at(3 * SECOND, "gpu 0 load begin r 50").unwrap();
    fake.at(4 * SECOND, "gpu 0 load end r").unwrap();
    // One leap over all of them.
    fake.set_time_us(10 * SECOND).unwrap();
    assert_eq!(fake.gpu(0).joules(0, 10 * SECOND).unwrap(), 900.0 + 50.0);
}

#[test]
fn reset_forgets_everything_but_who_initialised() {
    let fake = FakeNvml::builder().gpus(4).load().unwrap();
    let nvml = driver(&fake);
    fake.set_time_us(SECOND).unwrap();
    fake.control("reset").unwrap();
    assert_eq!(fake.now_us().unwrap(), 0);
    assert_eq!(nvml.device_count().unwrap(), 1);
}

/// Marks the process that the next test starts.
const CHILD: &str = "WATTSPAN_FAKE_NVML_CHILD";

/// The test starts itself anew as another process, which reads power until it changes, and tells what it saw.
#[test]
fn script_file_drives_another_process() {
    if let Some(library) = env::var_os(CHILD) {
        let nvml = Nvml::builder().lib_path(&library).init().unwrap();
        println!("\nSAW {}", first(&nvml).power_usage().unwrap());
        // Ends by an error that the script injects; the parent ends the process if it never comes.
        loop {
            match first(&nvml).power_usage() {
                Err(error) => break println!("\nSAW {error}"),
                Ok(_) => thread::yield_now(),
            }
        }
        return;
    }
    let fake = FakeNvml::new().unwrap();
    let script = ScriptFile::new().unwrap();
    script.append("gpus 2\ngpu 0 idle 123").unwrap();
    let mut child = Command::new(env::current_exe().unwrap())
        .args(["--exact", "script_file_drives_another_process", "--nocapture"])
        .env(CHILD, fake.path())
        .env(ScriptFile::VARIABLE, script.path())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut seen = Vec::new();
    for line in BufReader::new(child.stdout.take().unwrap()).lines() {
        if let Some(saw) = line.unwrap().strip_prefix("SAW ") {
            seen.push(saw.to_owned());
            if seen.len() == 1 {
                script.append("gpu 0 err nvmlDeviceGetPowerUsage 15").unwrap();
            }
        }
    }
    assert!(child.wait().unwrap().success());
    assert_eq!(seen, ["123000".to_owned(), NvmlError::GpuLost.to_string()]);
    assert!(fs::read_to_string(script.path()).unwrap().ends_with("15\n"));
}
