//! Each group of functions answers the real `nvml-wrapper` with what the script says.
#![cfg(target_os = "linux")]
#![allow(missing_docs)]
#![allow(deprecated)] // Deprecated functions are answered too.
#![allow(unsafe_code)] // Functions that the wrapper does not wrap are called through its table.

use nvml_wrapper::bitmasks::InitFlags;
use nvml_wrapper::bitmasks::device::ThrottleReasons;
use nvml_wrapper::enum_wrappers::device::{
    Clock, EccCounter, MemoryError, PcieUtilCounter, PerformanceState, TemperatureSensor,
    TemperatureThreshold,
};
use nvml_wrapper::enums::device::DeviceArchitecture::{
    self, Ada, Ampere, Blackwell, Hopper, Pascal, Turing, Volta,
};
use nvml_wrapper::enums::device::{SampleValue, UsedGpuMemory};
use nvml_wrapper::error::NvmlError;
use nvml_wrapper::structs::device::FieldId;
use nvml_wrapper::{Device, Nvml};
use nvml_wrapper_sys::bindings as raw;
use wattspan_fake_nvml::model::{Preset, Utilisation};
use wattspan_fake_nvml::{FakeNvml, ProcessKind, ProcessSpec};

const GIB: u64 = 1 << 30;

fn driver(fake: &FakeNvml) -> Nvml {
    Nvml::builder().lib_path(fake.path().as_os_str()).init().expect("the fake initialises")
}

/// A driver with one GPU that is set up by control lines after `gpu 0`.
fn with_lines(lines: &[&str]) -> (FakeNvml, Nvml) {
    let fake = FakeNvml::new().unwrap();
    for line in lines {
        fake.gpu(0).line(line).unwrap();
    }
    let nvml = driver(&fake);
    (fake, nvml)
}

fn first(nvml: &Nvml) -> Device<'_> {
    nvml.device_by_index(0).unwrap()
}

#[test]
fn system_tells_its_versions() {
    let fake = FakeNvml::builder().driver_version("470.161.03").load().unwrap();
    fake.control("driver nvml 11.470.161.03\ndriver cuda 11040").unwrap();
    let nvml = driver(&fake);
    assert_eq!(nvml.sys_driver_version().unwrap(), "470.161.03");
    assert_eq!(nvml.sys_nvml_version().unwrap(), "11.470.161.03");
    assert_eq!(nvml.sys_cuda_driver_version().unwrap(), 11_040);
}

#[test]
fn flags_and_shutdown_are_counted() {
    let fake = FakeNvml::new().unwrap();
    let library = fake.path().as_os_str();
    let nvml = Nvml::builder().lib_path(library).flags(InitFlags::NO_ATTACH).init().unwrap();
    let second = driver(&fake);
    nvml.shutdown().unwrap();
    assert_eq!(second.device_count().unwrap(), 1, "one of two users is left");
    second.shutdown().unwrap();
    assert_eq!(fake.calls("nvmlInitWithFlags").unwrap(), 1);
    assert_eq!(fake.calls("nvmlInit_v2").unwrap(), 1);
    assert_eq!(fake.calls("nvmlShutdown").unwrap(), 2);
}

#[test]
fn sixteen_gpus_are_told_apart() {
    let fake = FakeNvml::builder().gpus(16).load().unwrap();
    for slot in 0..16 {
        fake.gpu(slot).line(format!("idle {}", slot + 1)).unwrap();
    }
    let nvml = driver(&fake);
    assert_eq!(nvml.device_count().unwrap(), 16);
    for index in 0..16 {
        let device = nvml.device_by_index(index).unwrap();
        assert_eq!(device.index().unwrap(), index);
        assert_eq!(device.minor_number().unwrap(), index);
        assert_eq!(device.power_usage().unwrap(), (index + 1) * 1_000);
        let uuid = device.uuid().unwrap();
        assert_eq!(nvml.device_by_uuid(uuid.as_str()).unwrap().index().unwrap(), index);
        let bus_id = device.pci_info().unwrap().bus_id;
        assert_eq!(nvml.device_by_pci_bus_id(bus_id.as_str()).unwrap().index().unwrap(), index);
    }
    assert!(matches!(nvml.device_by_index(16), Err(NvmlError::InvalidArg)));
    assert!(matches!(nvml.device_by_uuid("GPU-none"), Err(NvmlError::NotFound)));
    assert!(fake.set_gpus(17).is_err());
}

#[test]
fn no_gpu_is_an_empty_machine() {
    let fake = FakeNvml::builder().gpus(0).load().unwrap();
    let nvml = driver(&fake);
    assert_eq!(nvml.device_count().unwrap(), 0);
    assert!(matches!(nvml.device_by_index(0), Err(NvmlError::InvalidArg)));
}

#[test]
fn identity_is_as_scripted() {
    let (_fake, nvml) = with_lines(&[
        "name NVIDIA A100-SXM4-80GB",
        "uuid GPU-5c4a9f2e-1b1f-4d5e-9c3b-0a1b2c3d4e5f",
        "serial 1322621026143",
        "pci 0001:65:00.0",
        "minor 3",
        "preset ga100",
    ]);
    let device = first(&nvml);
    assert_eq!(device.name().unwrap(), "NVIDIA A100-SXM4-80GB");
    assert_eq!(device.uuid().unwrap(), "GPU-5c4a9f2e-1b1f-4d5e-9c3b-0a1b2c3d4e5f");
    assert_eq!(device.serial().unwrap(), "1322621026143");
    assert_eq!(nvml.device_by_serial("1322621026143").unwrap().minor_number().unwrap(), 3);
    assert_eq!(device.architecture().unwrap(), DeviceArchitecture::Ampere);
    let capability = device.cuda_compute_capability().unwrap();
    assert_eq!((capability.major, capability.minor), (8, 0));
    let pci = device.pci_info().unwrap();
    assert_eq!((pci.domain, pci.bus, pci.device), (1, 0x65, 0));
    assert_eq!(pci.bus_id, "00000001:65:00.0");
}

#[test]
fn presets_name_their_architecture() {
    let fake = FakeNvml::builder().gpus(Preset::ALL.len()).load().unwrap();
    for (slot, preset) in Preset::ALL.into_iter().enumerate() {
        fake.gpu(slot).preset(preset).unwrap();
    }
    let nvml = driver(&fake);
    let architectures = (0..nvml.device_count().unwrap())
        .map(|index| nvml.device_by_index(index).unwrap().architecture().unwrap())
        .collect::<Vec<_>>();
    assert_eq!(architectures, [Pascal, Volta, Turing, Ampere, Ampere, Ada, Hopper, Blackwell]);
    let pascal = nvml.device_by_index(0).unwrap();
    assert!(matches!(pascal.total_energy_consumption(), Err(NvmlError::NotSupported)));
    assert!(nvml.device_by_index(1).unwrap().total_energy_consumption().is_ok());
}

#[test]
fn limits_and_clocks_are_as_scripted() {
    let (_fake, nvml) = with_lines(&[
        "limit 350 min 100 max 450 default 400 enforced 300",
        "clock graphics 1410 1980",
        "clock sm 1400 1970",
        "clock mem 2619 2620",
        "clock video 1275 1830",
        "reasons 68",
        "fan 41 43",
        "pstate 2",
    ]);
    let device = first(&nvml);
    assert_eq!(device.power_management_limit().unwrap(), 350_000);
    assert_eq!(device.enforced_power_limit().unwrap(), 300_000);
    assert_eq!(device.power_management_limit_default().unwrap(), 400_000);
    let constraints = device.power_management_limit_constraints().unwrap();
    assert_eq!((constraints.min_limit, constraints.max_limit), (100_000, 450_000));
    assert!(device.is_power_management_algo_active().unwrap());
    for (clock, now, max) in [
        (Clock::Graphics, 1_410, 1_980),
        (Clock::SM, 1_400, 1_970),
        (Clock::Memory, 2_619, 2_620),
        (Clock::Video, 1_275, 1_830),
    ] {
        assert_eq!(device.clock_info(clock).unwrap(), now);
        assert_eq!(device.max_clock_info(clock).unwrap(), max);
    }
    // Bits 2 and 6 of nvml.h.
    let reasons = ThrottleReasons::SW_POWER_CAP | ThrottleReasons::HW_THERMAL_SLOWDOWN;
    assert_eq!(device.current_throttle_reasons().unwrap(), reasons);
    assert!(device.supported_throttle_reasons().unwrap().contains(reasons));
    assert_eq!((device.num_fans().unwrap(), device.fan_speed(1).unwrap()), (2, 43));
    assert!(matches!(device.fan_speed(2), Err(NvmlError::InvalidArg)));
    assert_eq!(device.performance_state().unwrap(), PerformanceState::Two);
}

#[test]
fn limits_are_fields_too() {
    let (_fake, nvml) = with_lines(&["limit 350 min 100 max 450 default 400 enforced 300", "temp 61 77"]);
    let ids = [82, 187, 188, 189, 190, 192, 94].map(FieldId);
    let values: Vec<SampleValue> = first(&nvml)
        .field_values_for(&ids)
        .unwrap()
        .into_iter()
        .map(|field| field.unwrap().value.unwrap())
        .collect();
    let expected = [77, 100_000, 450_000, 400_000, 300_000, 350_000, 0].map(SampleValue::U32);
    assert_eq!(values, expected);
    let unknown = first(&nvml).field_values_for(&[FieldId(191)]).unwrap().remove(0).unwrap();
    assert!(matches!(unknown.value, Err(NvmlError::NotSupported)));
}

#[test]
fn case_nvml_05_counter_covers_the_module() {
    let (fake, nvml) = with_lines(&["idle 400", "module 200"]);
    fake.set_time_us(10_000_000).unwrap();
    let device = first(&nvml);
    let value = |scope: u32| {
        // SAFETY: plain numbers, for which nought is a value.
        let mut field: raw::nvmlFieldValue_t = unsafe { std::mem::zeroed() };
        field.fieldId = 186;
        field.scopeId = scope;
        let function = nvml.lib().nvmlDeviceGetFieldValues.as_ref().unwrap();
        // SAFETY: the handle is valid and one value is passed.
        assert_eq!(unsafe { function(device.handle(), 1, &raw mut field) }, 0);
        // SAFETY: the type says that this member was written.
        (field.nvmlReturn, unsafe { field.value.uiVal })
    };
    assert_eq!(value(raw::NVML_POWER_SCOPE_GPU), (0, 400_000));
    assert_eq!(value(raw::NVML_POWER_SCOPE_MODULE), (0, 600_000));
    assert_eq!(value(raw::NVML_POWER_SCOPE_MEMORY).0, 3);
    // The counter covers the module.
    assert_eq!(device.total_energy_consumption().unwrap(), 6_000_000);
}

#[test]
fn memory_keeps_the_reserved_part_apart() {
    let (_fake, nvml) = with_lines(&[&format!("memory {} {} {}", 80 * GIB, GIB, 30 * GIB)]);
    let device = first(&nvml);
    let memory = device.memory_info().unwrap();
    assert_eq!(
        (memory.total, memory.reserved, memory.used, memory.free),
        (80 * GIB, GIB, 30 * GIB, 49 * GIB)
    );
    // SAFETY: plain numbers, for which nought is a value.
    let mut old: raw::nvmlMemory_t = unsafe { std::mem::zeroed() };
    let function = nvml.lib().nvmlDeviceGetMemoryInfo.as_ref().unwrap();
    // SAFETY: the handle is valid and the place is one of the right type.
    assert_eq!(unsafe { function(device.handle(), &raw mut old) }, 0);
    assert_eq!((old.total, old.used, old.free), (80 * GIB, 31 * GIB, 49 * GIB));
    let mut wrong = raw::nvmlMemory_v2_t { version: 1, total: 0, reserved: 0, free: 0, used: 0 };
    let function = nvml.lib().nvmlDeviceGetMemoryInfo_v2.as_ref().unwrap();
    // SAFETY: as above.
    assert_eq!(unsafe { function(device.handle(), &raw mut wrong) }, 25);
}

#[test]
fn utilisation_is_fixed_or_follows_the_loads() {
    let (fake, nvml) = with_lines(&["util fixed 41 20"]);
    let rates = || {
        let rates = first(&nvml).utilization_rates().unwrap();
        (rates.gpu, rates.memory)
    };
    assert_eq!(rates(), (41, 20));
    let follow = Utilisation::Loads { update_us: 0, window_us: 1_000_000, memory_share: 0.5 };
    fake.gpu(0).utilisation(follow).unwrap().load("r", 1_000_000, 1_800_000, 100.0, 0).unwrap();
    fake.set_time_us(2_000_000).unwrap();
    assert_eq!(rates(), (80, 40));
}

#[test]
fn temperatures_and_thresholds_are_as_scripted() {
    let (_fake, nvml) = with_lines(&["temp 83", "threshold slowdown 92", "threshold mem_max off"]);
    let device = first(&nvml);
    assert_eq!(device.temperature(TemperatureSensor::Gpu).unwrap(), 83);
    assert_eq!(device.temperature_threshold(TemperatureThreshold::Slowdown).unwrap(), 92);
    let missing = device.temperature_threshold(TemperatureThreshold::MemoryMax);
    assert!(matches!(missing, Err(NvmlError::NotSupported)));
    let mut reading = raw::nvmlTemperature_v1_t { version: 0x0100_000c, sensorType: 0, temperature: 0 };
    let function = nvml.lib().nvmlDeviceGetTemperatureV.as_ref().unwrap();
    // SAFETY: the handle is valid and the place is one of the right type.
    assert_eq!(unsafe { function(device.handle(), &raw mut reading) }, 0);
    assert_eq!(reading.temperature, 83);
}

#[test]
fn link_and_memory_errors_are_as_scripted() {
    let (fake, nvml) = with_lines(&["pcie tx 1200 rx 3400 replay 7 gen 4 width 8", "ecc 5 1"]);
    let device = first(&nvml);
    assert_eq!(device.pcie_throughput(PcieUtilCounter::Send).unwrap(), 1_200);
    assert_eq!(device.pcie_throughput(PcieUtilCounter::Receive).unwrap(), 3_400);
    assert_eq!(device.pcie_replay_counter().unwrap(), 7);
    assert_eq!((device.current_pcie_link_gen().unwrap(), device.current_pcie_link_width().unwrap()), (4, 8));
    let errors = |kind| device.total_ecc_errors(kind, EccCounter::Volatile);
    assert_eq!(errors(MemoryError::Corrected).unwrap(), 5);
    assert_eq!(errors(MemoryError::Uncorrected).unwrap(), 1);
    assert!(device.is_ecc_enabled().unwrap().currently_enabled);
    fake.gpu(0).line("ecc off").unwrap();
    assert!(matches!(errors(MemoryError::Corrected), Err(NvmlError::NotSupported)));
}

#[test]
fn processes_are_listed_by_kind() {
    let fake = FakeNvml::new().unwrap();
    let spec = ProcessSpec { pid: 100, memory: Some(GIB), ..ProcessSpec::default() };
    let gpu = fake.gpu(0).process(spec).unwrap();
    let gpu = gpu.process(ProcessSpec { pid: 101, memory: None, ..spec }).unwrap();
    gpu.process(ProcessSpec { pid: 102, kind: ProcessKind::Graphics, ..spec }).unwrap();
    let nvml = driver(&fake);
    let device = first(&nvml);
    let compute = device.running_compute_processes().unwrap();
    let found: Vec<_> = compute.into_iter().map(|process| (process.pid, process.used_gpu_memory)).collect();
    assert_eq!(found, [(100, UsedGpuMemory::Used(GIB)), (101, UsedGpuMemory::Unavailable)]);
    let graphics = device.running_graphics_processes().unwrap();
    assert_eq!(graphics.iter().map(|process| process.pid).collect::<Vec<_>>(), [102]);
    assert_eq!(graphics[0].gpu_instance_id, None);
    assert_eq!(device.mps_running_compute_processes().unwrap(), []);
    // SAFETY: plain numbers, for which nought is a value.
    let mut old: [raw::nvmlProcessInfo_v2_t; 2] = unsafe { std::mem::zeroed() };
    let mut count = 2;
    let function = nvml.lib().nvmlDeviceGetComputeRunningProcesses_v2.as_ref().unwrap();
    // SAFETY: the handle is valid and there is room for two.
    assert_eq!(unsafe { function(device.handle(), &raw mut count, old.as_mut_ptr()) }, 0);
    assert_eq!((count, old[0].pid, old[1].pid), (2, 100, 101));
    fake.gpu(0).clear_processes().unwrap();
    assert_eq!(device.running_compute_processes().unwrap(), []);
}

#[test]
fn process_samples_come_once() {
    let fake = FakeNvml::new().unwrap();
    let spec = ProcessSpec { pid: 7, utilisation: Some((35, 12)), ..ProcessSpec::default() };
    fake.gpu(0).process(spec).unwrap().process(ProcessSpec { pid: 8, ..ProcessSpec::default() }).unwrap();
    let nvml = driver(&fake);
    fake.set_time_us(1_000_000).unwrap();
    let device = first(&nvml);
    let samples = device.process_utilization_stats(0).unwrap();
    assert_eq!(samples.len(), 1, "the other process has no samples");
    assert_eq!((samples[0].pid, samples[0].sm_util, samples[0].mem_util), (7, 35, 12));
    let seen = samples[0].timestamp;
    assert!(matches!(device.process_utilization_stats(seen), Err(NvmlError::NotFound)));
    fake.advance_us(200_000).unwrap();
    assert!(device.process_utilization_stats(seen).unwrap()[0].timestamp > seen);
}

#[test]
fn every_export_is_there_and_counts() {
    let fake = FakeNvml::new().unwrap();
    let nvml = driver(&fake);
    let lib = nvml.lib();
    macro_rules! present {
        ($($name:ident)*) => { $(assert!(lib.$name.is_ok(), stringify!($name));)* };
    }
    present! {
        nvmlDeviceGetBrand nvmlDeviceGetBoardId nvmlDeviceGetVbiosVersion nvmlDeviceGetBAR1MemoryInfo
        nvmlDeviceGetCurrentClocksEventReasons nvmlDeviceGetFanSpeed nvmlDeviceGetPersistenceMode
        nvmlDeviceGetComputeMode nvmlDeviceGetDisplayActive nvmlDeviceGetDisplayMode
        nvmlDeviceGetEncoderUtilization nvmlDeviceGetDecoderUtilization nvmlDeviceGetMaxPcieLinkGeneration
        nvmlDeviceGetMaxPcieLinkWidth nvmlDeviceGetComputeRunningProcesses
        nvmlDeviceGetGraphicsRunningProcesses nvmlDeviceGetGraphicsRunningProcesses_v2
        nvmlDeviceGetMPSComputeRunningProcesses_v2 nvmlSystemGetCudaDriverVersion
    }
    fake.reset_calls().unwrap();
    let device = first(&nvml);
    for _ in 0..3 {
        device.power_usage().unwrap();
    }
    let calls = fake.all_calls().unwrap();
    let expected = [("nvmlDeviceGetHandleByIndex_v2", 1), ("nvmlDeviceGetPowerUsage", 3)];
    assert_eq!(calls, expected.map(|(name, count)| (name.to_owned(), count)));
    assert!(lib.nvmlDeviceGetNvLinkState.is_err(), "what the fake does not have is missing, not wrong");
    // SAFETY: the function takes any code and returns text with a NUL that lives as long as the library.
    let text = unsafe { std::ffi::CStr::from_ptr(lib.nvmlErrorString.as_ref().unwrap()(15)) };
    assert_eq!(text.to_str().unwrap(), "GPU is lost");
}

#[test]
fn delay_makes_a_call_last() {
    let fake = FakeNvml::builder().delay_us(2_000).load().unwrap();
    let nvml = driver(&fake);
    let device = first(&nvml);
    let begin = std::time::Instant::now();
    device.power_usage().unwrap();
    // A lower bound only: a loaded machine may take any time longer.
    assert!(begin.elapsed() >= std::time::Duration::from_micros(2_000));
}
