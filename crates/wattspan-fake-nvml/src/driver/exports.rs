//! The exported functions of libnvidia-ml, and ours to control them.
//!
//! No export calls another one: such a call would go through the symbol table, and a copy of the library from which
//! that symbol was taken away could not be loaded. Length: one function of the driver's interface each, in the groups
//! of its reference manual.
#![allow(unsafe_code)] // This is the C edge of the crate.
#![allow(non_snake_case)] // The names are NVIDIA's.
#![allow(clippy::wildcard_imports)] // The C edge needs nearly every C type.

use std::ffi::{CStr, c_char, c_int, c_uint, c_ulonglong};
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::abi::*;
use super::device::{Device, MemoryUse, Mig, Process, ProcessKind, injected};
use super::{Driver, View, encode};
use crate::model::Reading;

static DRIVER: LazyLock<Mutex<Driver>> = LazyLock::new(|| Mutex::new(Driver::from_environment()));

fn driver() -> MutexGuard<'static, Driver> {
    DRIVER.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Makes a call last as long as the script wants. The driver is not held meanwhile.
fn timed<T>(function: &'static str, call: impl FnOnce(&mut Driver) -> T) -> T {
    let mut driver = driver();
    let delay = driver.enter(function);
    let begin = if delay == Duration::ZERO { None } else { Some(Instant::now()) };
    let result = call(&mut driver);
    drop(driver);
    if let Some(begin) = begin {
        while begin.elapsed() < delay {
            std::hint::spin_loop();
        }
    }
    result
}

fn on_system<T>(
    function: &'static str,
    answer: impl FnOnce(&mut Driver, u64) -> Result<T, Code>,
) -> Result<T, Code> {
    timed(function, |driver| driver.system_call(function, answer))
}

fn on_device<T>(
    function: &'static str,
    handle: Handle,
    answer: impl FnOnce(&mut View<'_>) -> Result<T, Code>,
) -> Result<T, Code> {
    timed(function, |driver| driver.device_call(function, handle, answer))
}

fn code(result: Result<(), Code>) -> Code {
    result.err().unwrap_or(SUCCESS)
}

/// Writes an answer where the caller wants it.
///
/// # Safety
///
/// `out` is null or valid for a write.
unsafe fn put<T>(out: *mut T, answer: Result<T, Code>) -> Code {
    match answer {
        Err(code) => code,
        Ok(_) if out.is_null() => INVALID_ARGUMENT,
        Ok(value) => {
            // SAFETY: not null, and the caller promises that it can be written.
            unsafe { out.write(value) };
            SUCCESS
        }
    }
}

/// Writes two answers.
///
/// # Safety
///
/// Both are null or valid for a write.
unsafe fn put_two<A, B>(first: *mut A, second: *mut B, answer: Result<(A, B), Code>) -> Code {
    match answer {
        Err(code) => code,
        Ok(_) if first.is_null() || second.is_null() => INVALID_ARGUMENT,
        // SAFETY: neither is null, and the caller promises that they can be written.
        Ok((a, b)) => unsafe {
            first.write(a);
            second.write(b);
            SUCCESS
        },
    }
}

/// Writes text with its final NUL.
///
/// # Safety
///
/// `out` is null or valid for `length` bytes.
unsafe fn put_text(out: *mut c_char, length: c_uint, answer: Result<String, Code>) -> Code {
    let text = match answer {
        Ok(text) => text,
        Err(code) => return code,
    };
    if out.is_null() {
        return INVALID_ARGUMENT;
    }
    if text.len() >= length as usize {
        return INSUFFICIENT_SIZE;
    }
    // SAFETY: text and NUL fit into the `length` bytes that the caller promises.
    unsafe {
        std::ptr::copy_nonoverlapping(text.as_ptr().cast(), out, text.len());
        out.add(text.len()).write(0);
    }
    SUCCESS
}

/// Text that the caller gives.
///
/// # Safety
///
/// `text` is null or ends in a NUL.
unsafe fn text<'a>(text: *const c_char) -> Option<&'a str> {
    if text.is_null() {
        return None;
    }
    // SAFETY: not null, and the caller promises the NUL.
    unsafe { CStr::from_ptr(text) }.to_str().ok()
}

fn array<const N: usize>(text: &str) -> [c_char; N] {
    let mut array = [0; N];
    for (to, from) in array.iter_mut().zip(text.bytes().take(N - 1)) {
        *to = from as c_char;
    }
    array
}

/// Exports of the form `(device, *mut value)`.
macro_rules! device_values {
    ($($name:ident: $type:ty = |$view:ident| $answer:expr;)*) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name(device: Handle, out: *mut $type) -> Code {
            let answer = on_device(stringify!($name), device, |$view| $answer);
            // SAFETY: NVML's contract: the caller passes null or a place for the value.
            unsafe { put(out, answer) }
        }
    )*};
}

/// Exports of the form `(device, *mut first, *mut second)`.
macro_rules! device_pairs {
    ($($name:ident: ($first:ty, $second:ty) = |$view:ident| $answer:expr;)*) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name(device: Handle, first: *mut $first, second: *mut $second) -> Code {
            let answer = on_device(stringify!($name), device, |$view| $answer);
            // SAFETY: NVML's contract: the caller passes null or places for the values.
            unsafe { put_two(first, second, answer) }
        }
    )*};
}

/// Exports of the form `(device, kind, *mut value)`.
macro_rules! device_values_by_kind {
    ($($name:ident: $type:ty = |$view:ident, $kind:ident| $answer:expr;)*) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name(device: Handle, $kind: c_uint, out: *mut $type) -> Code {
            let answer = on_device(stringify!($name), device, |$view| $answer);
            // SAFETY: NVML's contract: the caller passes null or a place for the value.
            unsafe { put(out, answer) }
        }
    )*};
}

/// Exports of the form `(device, *mut char, length)`.
macro_rules! device_texts {
    ($($name:ident = |$view:ident| $answer:expr;)*) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name(device: Handle, out: *mut c_char, length: c_uint) -> Code {
            let answer = on_device(stringify!($name), device, |$view| $answer);
            // SAFETY: NVML's contract: the caller passes null or `length` bytes.
            unsafe { put_text(out, length, answer) }
        }
    )*};
}

// Initialisation and system.

fn init(function: &'static str) -> Code {
    code(timed(function, |driver| {
        let now = driver.sync();
        injected(&mut driver.errors, function, now).map_or(Ok(()), Err)?;
        driver.initialised += 1;
        driver.enumerate();
        Ok(())
    }))
}

#[unsafe(no_mangle)]
extern "C" fn nvmlInit_v2() -> Code {
    init("nvmlInit_v2")
}

#[unsafe(no_mangle)]
extern "C" fn nvmlInitWithFlags(_flags: c_uint) -> Code {
    init("nvmlInitWithFlags")
}

#[unsafe(no_mangle)]
extern "C" fn nvmlShutdown() -> Code {
    code(on_system("nvmlShutdown", |driver, _| {
        driver.initialised -= 1;
        Ok(())
    }))
}

#[unsafe(no_mangle)]
extern "C" fn nvmlErrorString(result: Code) -> *const c_char {
    describe(result).as_ptr()
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlSystemGetDriverVersion(out: *mut c_char, length: c_uint) -> Code {
    let answer = on_system("nvmlSystemGetDriverVersion", |driver, _| Ok(driver.version.clone()));
    // SAFETY: NVML's contract: the caller passes null or `length` bytes.
    unsafe { put_text(out, length, answer) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlSystemGetNVMLVersion(out: *mut c_char, length: c_uint) -> Code {
    let answer = on_system("nvmlSystemGetNVMLVersion", |driver, _| Ok(driver.nvml_version.clone()));
    // SAFETY: NVML's contract: the caller passes null or `length` bytes.
    unsafe { put_text(out, length, answer) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlSystemGetCudaDriverVersion(out: *mut c_int) -> Code {
    let answer = on_system("nvmlSystemGetCudaDriverVersion", |driver, _| Ok(driver.cuda_version));
    // SAFETY: NVML's contract: the caller passes null or a place for the value.
    unsafe { put(out, answer) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlSystemGetCudaDriverVersion_v2(out: *mut c_int) -> Code {
    let answer = on_system("nvmlSystemGetCudaDriverVersion_v2", |driver, _| Ok(driver.cuda_version));
    // SAFETY: NVML's contract: the caller passes null or a place for the value.
    unsafe { put(out, answer) }
}

// Enumeration.

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlDeviceGetCount_v2(out: *mut c_uint) -> Code {
    let answer = on_system("nvmlDeviceGetCount_v2", |driver, _| Ok(driver.visible.len() as c_uint));
    // SAFETY: NVML's contract: the caller passes null or a place for the value.
    unsafe { put(out, answer) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlDeviceGetHandleByIndex_v2(index: c_uint, out: *mut Handle) -> Code {
    let answer = on_system("nvmlDeviceGetHandleByIndex_v2", |driver, _| {
        let slot = *driver.visible.get(index as usize).ok_or(INVALID_ARGUMENT)?;
        driver.handle(slot)
    });
    // SAFETY: NVML's contract: the caller passes null or a place for the handle.
    unsafe { put(out, answer) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlDeviceGetHandleByUUID(uuid: *const c_char, out: *mut Handle) -> Code {
    // SAFETY: NVML's contract: the caller passes null or text with a NUL.
    let uuid = unsafe { text(uuid) };
    let answer = on_system("nvmlDeviceGetHandleByUUID", |driver, _| {
        let uuid = uuid.ok_or(INVALID_ARGUMENT)?;
        for &slot in &driver.visible {
            let slice = driver.devices[slot].slices().iter().position(|slice| slice.uuid == uuid);
            if slice.is_some() {
                driver.handle(slot)?;
                return Ok(encode(slot, driver.devices[slot].epoch, slice));
            }
        }
        driver.find(NOT_FOUND, |device| device.uuid == uuid)
    });
    // SAFETY: NVML's contract: the caller passes null or a place for the handle.
    unsafe { put(out, answer) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlDeviceGetHandleByPciBusId_v2(bus_id: *const c_char, out: *mut Handle) -> Code {
    // SAFETY: NVML's contract: the caller passes null or text with a NUL.
    let bus_id = unsafe { text(bus_id) };
    let answer = on_system("nvmlDeviceGetHandleByPciBusId_v2", |driver, _| {
        let pci = bus_id.and_then(super::device::Pci::parse).ok_or(INVALID_ARGUMENT)?;
        driver.find(NOT_FOUND, |device| device.pci.bus_id() == pci.bus_id())
    });
    // SAFETY: NVML's contract: the caller passes null or a place for the handle.
    unsafe { put(out, answer) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlDeviceGetHandleBySerial(serial: *const c_char, out: *mut Handle) -> Code {
    // SAFETY: NVML's contract: the caller passes null or text with a NUL.
    let serial = unsafe { text(serial) };
    let answer = on_system("nvmlDeviceGetHandleBySerial", |driver, _| {
        let serial = serial.ok_or(INVALID_ARGUMENT)?;
        driver.find(NOT_FOUND, |device| device.serial.as_deref() == Some(serial))
    });
    // SAFETY: NVML's contract: the caller passes null or a place for the handle.
    unsafe { put(out, answer) }
}

// Identity.

device_texts! {
    nvmlDeviceGetName = |view| Ok(match view.slice() {
        Some(slice) => slice.name.clone().unwrap_or_else(|| {
            let gib = slice.memory.total.div_ceil(1 << 30);
            format!("{} MIG {}g.{gib}gb", view.device.name, slice.gpu_slices)
        }),
        None => view.device.name.clone(),
    });
    nvmlDeviceGetUUID = |view| Ok(view.slice().map_or(&view.device.uuid, |slice| &slice.uuid).clone());
    nvmlDeviceGetSerial = |view| view.board()?.serial.clone().ok_or(NOT_SUPPORTED);
    nvmlDeviceGetVbiosVersion = |view| view.board().map(|_| "96.00.00.00.01".to_owned());
}

device_values! {
    nvmlDeviceGetIndex: c_uint = |view| view.index.map(|index| index as c_uint).ok_or(NOT_FOUND);
    nvmlDeviceGetMinorNumber: c_uint = |view| Ok(view.board()?.minor);
    nvmlDeviceGetBrand: c_uint = |view| Ok(view.device.brand);
    nvmlDeviceGetBoardId: c_uint = |view| Ok(view.board()?.pci.bus << 8);
    nvmlDeviceGetArchitecture: c_uint = |view| Ok(view.device.arch);
    nvmlDeviceGetPciInfo_v3: PciInfo = |view| {
        let pci = view.device.pci;
        Ok(PciInfo {
            bus_id_legacy: array(&pci.bus_id_legacy()),
            domain: pci.domain,
            bus: pci.bus,
            device: pci.device,
            // An H100 SXM5's: any real one serves.
            pci_device_id: 0x2330_10de,
            pci_sub_system_id: 0x16c1_10de,
            bus_id: array(&pci.bus_id()),
        })
    };
}

device_pairs! {
    nvmlDeviceGetCudaComputeCapability: (c_int, c_int) = |view| Ok(view.device.compute_capability);
}

// Power and energy.

fn reading(view: &View<'_>, reading: Reading) -> Result<c_uint, Code> {
    let milliwatts = view.board()?.power.reading_mw_at(reading, view.now).ok_or(NOT_SUPPORTED)?;
    Ok(milliwatts as c_uint)
}

fn total_energy(view: &View<'_>) -> Result<c_ulonglong, Code> {
    let power = &view.board()?.power;
    if power.counter_supported() { Ok(power.counter_mj_at(view.now)) } else { Err(NOT_SUPPORTED) }
}

device_values! {
    nvmlDeviceGetPowerUsage: c_uint = |view| reading(view, Reading::Usage);
    nvmlDeviceGetTotalEnergyConsumption: c_ulonglong = |view| total_energy(view);
    nvmlDeviceGetPowerManagementMode: c_uint = |view| view.board().map(|_| 1);
    nvmlDeviceGetPowerManagementLimit: c_uint = |view| Ok(view.board()?.limit.current);
    nvmlDeviceGetPowerManagementDefaultLimit: c_uint = |view| Ok(view.board()?.limit.default);
    nvmlDeviceGetEnforcedPowerLimit: c_uint = |view| Ok(view.board()?.limit.enforced);
}

device_pairs! {
    nvmlDeviceGetPowerManagementLimitConstraints: (c_uint, c_uint) = |view| {
        let limit = view.board()?.limit;
        Ok((limit.min, limit.max))
    };
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlDeviceGetFieldValues(device: Handle, count: c_int, values: *mut FieldValue) -> Code {
    let Ok(count) = usize::try_from(count) else { return INVALID_ARGUMENT };
    if values.is_null() || count == 0 {
        return INVALID_ARGUMENT;
    }
    // SAFETY: NVML's contract: the caller passes `count` values, and nobody else uses them during the call.
    let values = unsafe { std::slice::from_raw_parts_mut(values, count) };
    code(on_device("nvmlDeviceGetFieldValues", device, |view| {
        for value in values {
            let injected = view.injected(&format!("field:{}", value.field_id));
            let answer = injected.map_or_else(|| field(view, value.field_id, value.scope_id), Err);
            value.timestamp = view.now as i64;
            value.latency_us = 0;
            (value.code, value.value_type, value.value) = match answer {
                Ok(Field::Small(number)) => (SUCCESS, TYPE_UNSIGNED, Value { unsigned: number }),
                Ok(Field::Large(number)) => {
                    (SUCCESS, TYPE_UNSIGNED_LONG_LONG, Value { unsigned_long_long: number })
                }
                Err(code) => (code, TYPE_UNSIGNED, Value { unsigned_long_long: 0 }),
            };
        }
        Ok(())
    }))
}

enum Field {
    Small(c_uint),
    Large(c_ulonglong),
}

/// One field. Field 191, `NVML_FI_DEV_ENERGY`, is left out: neither its unit nor its type is documented.
fn field(view: &View<'_>, id: c_uint, scope: c_uint) -> Result<Field, Code> {
    let board = view.board()?;
    let power = |kind: Reading| match scope {
        0 => reading(view, kind).map(Field::Small),
        1 if board.power.module_mw() > 0 => {
            reading(view, kind).map(|board_mw| Field::Small(board_mw + board.power.module_mw() as c_uint))
        }
        _ => Err(NOT_SUPPORTED),
    };
    match id {
        82 => board.memory_temperature.map(Field::Small).ok_or(NOT_SUPPORTED),
        83 => total_energy(view).map(Field::Large),
        94 => Ok(Field::Small(board.pcie.replays)),
        185 => power(Reading::Average),
        186 => power(Reading::Instant),
        187 => Ok(Field::Small(board.limit.min)),
        188 => Ok(Field::Small(board.limit.max)),
        189 => Ok(Field::Small(board.limit.default)),
        190 => Ok(Field::Small(board.limit.enforced)),
        192 => Ok(Field::Small(board.limit.current)),
        _ => Err(NOT_SUPPORTED),
    }
}

// Load, memory, temperature, clocks.

fn memory(view: &View<'_>) -> MemoryUse {
    view.slice().map_or(view.device.memory, |slice| slice.memory)
}

fn free(memory: MemoryUse) -> u64 {
    memory.total.saturating_sub(memory.reserved).saturating_sub(memory.used)
}

device_values! {
    nvmlDeviceGetUtilizationRates: UtilizationRates = |view| {
        let (gpu, memory) = view.board()?.power.utilisation_at(view.now);
        Ok(UtilizationRates { gpu, memory })
    };
    // The first version counts what the driver keeps for itself as used.
    nvmlDeviceGetMemoryInfo: Memory = |view| {
        let memory = memory(view);
        Ok(Memory { total: memory.total, free: free(memory), used: memory.used + memory.reserved })
    };
    nvmlDeviceGetBAR1MemoryInfo: Bar1Memory = |view| {
        let total = view.board()?.memory.total.next_power_of_two();
        Ok(Bar1Memory { total, free: total, used: 0 })
    };
    nvmlDeviceGetCurrentClocksThrottleReasons: c_ulonglong = |view| Ok(view.board()?.event_reasons);
    nvmlDeviceGetCurrentClocksEventReasons: c_ulonglong = |view| Ok(view.board()?.event_reasons);
    // The nine reasons of nvml.h.
    nvmlDeviceGetSupportedClocksThrottleReasons: c_ulonglong = |view| view.board().map(|_| 0x1ff);
    nvmlDeviceGetSupportedClocksEventReasons: c_ulonglong = |view| view.board().map(|_| 0x1ff);
    nvmlDeviceGetFanSpeed: c_uint = |view| view.board()?.fans.first().copied().ok_or(NOT_SUPPORTED);
    nvmlDeviceGetNumFans: c_uint = |view| Ok(view.board()?.fans.len() as c_uint);
    nvmlDeviceGetPerformanceState: c_uint = |view| Ok(view.board()?.performance_state);
    nvmlDeviceGetPersistenceMode: c_uint = |view| view.board().map(|_| 1);
    nvmlDeviceGetComputeMode: c_uint = |view| view.board().map(|_| 0);
    nvmlDeviceGetDisplayActive: c_uint = |view| view.board().map(|_| 0);
    nvmlDeviceGetDisplayMode: c_uint = |view| view.board().map(|_| 0);
}

device_pairs! {
    // Percent and sampling period in microseconds; no video is ever coded.
    nvmlDeviceGetEncoderUtilization: (c_uint, c_uint) = |view| view.board().map(|_| (0, 167_000));
    nvmlDeviceGetDecoderUtilization: (c_uint, c_uint) = |view| view.board().map(|_| (0, 167_000));
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlDeviceGetMemoryInfo_v2(device: Handle, out: *mut MemoryV2) -> Code {
    if out.is_null() {
        return INVALID_ARGUMENT;
    }
    // SAFETY: not null; NVML's contract: the caller has filled in the version.
    let version = unsafe { (*out).version };
    let answer = on_device("nvmlDeviceGetMemoryInfo_v2", device, |view| {
        if version != struct_version::<MemoryV2>(2) {
            return Err(ARGUMENT_VERSION_MISMATCH);
        }
        let memory = memory(view);
        let MemoryUse { total, reserved, used } = memory;
        Ok(MemoryV2 { version, total, reserved, free: free(memory), used })
    });
    // SAFETY: NVML's contract: the caller passes a place for the value.
    unsafe { put(out, answer) }
}

device_values_by_kind! {
    nvmlDeviceGetTemperature: c_uint = |view, sensor| match sensor {
        0 => Ok(view.board()?.temperature.max(0) as c_uint),
        _ => Err(INVALID_ARGUMENT),
    };
    nvmlDeviceGetTemperatureThreshold: c_uint = |view, kind| {
        (*view.board()?.thresholds.get(kind as usize).ok_or(INVALID_ARGUMENT)?).ok_or(NOT_SUPPORTED)
    };
    nvmlDeviceGetClockInfo: c_uint = |view, kind| clock(view, kind).map(|clock| clock.0);
    nvmlDeviceGetMaxClockInfo: c_uint = |view, kind| clock(view, kind).map(|clock| clock.1);
    nvmlDeviceGetFanSpeed_v2: c_uint = |view, fan| {
        let fans = &view.board()?.fans;
        if fans.is_empty() { Err(NOT_SUPPORTED) } else { fans.get(fan as usize).copied().ok_or(INVALID_ARGUMENT) }
    };
    nvmlDeviceGetPcieThroughput: c_uint = |view, direction| {
        let pcie = view.board()?.pcie;
        match direction {
            0 => Ok(pcie.tx_kib),
            1 => Ok(pcie.rx_kib),
            _ => Err(INVALID_ARGUMENT),
        }
    };
}

fn clock(view: &View<'_>, kind: c_uint) -> Result<(u32, u32), Code> {
    view.board()?.clocks.get(kind as usize).copied().ok_or(INVALID_ARGUMENT)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlDeviceGetTemperatureV(device: Handle, out: *mut TemperatureV1) -> Code {
    if out.is_null() {
        return INVALID_ARGUMENT;
    }
    // SAFETY: not null; NVML's contract: the caller has filled in version and sensor.
    let (version, sensor_type) = unsafe { ((*out).version, (*out).sensor_type) };
    let answer = on_device("nvmlDeviceGetTemperatureV", device, |view| {
        if version != struct_version::<TemperatureV1>(1) {
            return Err(ARGUMENT_VERSION_MISMATCH);
        }
        let temperature = view.board()?.temperature;
        if sensor_type == 0 {
            Ok(TemperatureV1 { version, sensor_type, temperature })
        } else {
            Err(INVALID_ARGUMENT)
        }
    });
    // SAFETY: NVML's contract: the caller passes a place for the value.
    unsafe { put(out, answer) }
}

// Link and memory errors.

device_values! {
    nvmlDeviceGetPcieReplayCounter: c_uint = |view| Ok(view.board()?.pcie.replays);
    nvmlDeviceGetCurrPcieLinkGeneration: c_uint = |view| Ok(view.board()?.pcie.generation);
    nvmlDeviceGetCurrPcieLinkWidth: c_uint = |view| Ok(view.board()?.pcie.width);
    nvmlDeviceGetMaxPcieLinkGeneration: c_uint = |view| Ok(view.board()?.pcie.generation);
    nvmlDeviceGetMaxPcieLinkWidth: c_uint = |view| Ok(view.board()?.pcie.width);
}

device_pairs! {
    nvmlDeviceGetEccMode: (c_uint, c_uint) = |view| {
        view.board()?.ecc.map(|_| (1, 1)).ok_or(NOT_SUPPORTED)
    };
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlDeviceGetTotalEccErrors(
    device: Handle,
    error_type: c_uint,
    counter_type: c_uint,
    out: *mut c_ulonglong,
) -> Code {
    let answer = on_device("nvmlDeviceGetTotalEccErrors", device, |view| {
        let (corrected, uncorrected) = view.board()?.ecc.ok_or(NOT_SUPPORTED)?;
        match (error_type, counter_type) {
            (0, 0 | 1) => Ok(corrected),
            (1, 0 | 1) => Ok(uncorrected),
            _ => Err(INVALID_ARGUMENT),
        }
    });
    // SAFETY: NVML's contract: the caller passes null or a place for the value.
    unsafe { put(out, answer) }
}

// Processes.

/// Lists processes with NVML's protocol: the count that was needed, and the entries if they fit.
///
/// # Safety
///
/// `count` is null or valid; `out` is null or has room for as many entries as `count` says.
unsafe fn list<P, T>(
    count: *mut c_uint,
    out: *mut T,
    answer: Result<Vec<P>, Code>,
    convert: impl Fn(P) -> T,
) -> Code {
    let entries = match answer {
        Ok(entries) => entries,
        Err(code) => return code,
    };
    if count.is_null() {
        return INVALID_ARGUMENT;
    }
    // SAFETY: not null, and the caller promises that it is valid.
    let room = unsafe { count.replace(entries.len() as c_uint) } as usize;
    if entries.is_empty() {
        return SUCCESS;
    }
    if room < entries.len() || out.is_null() {
        return INSUFFICIENT_SIZE;
    }
    for (index, entry) in entries.into_iter().enumerate() {
        // SAFETY: `index` is below `room`, and the caller promises that many entries.
        unsafe { out.add(index).write(convert(entry)) };
    }
    SUCCESS
}

fn processes(view: &View<'_>, kind: ProcessKind) -> Vec<Process> {
    let instance = view.slice().map(|slice| (slice.gpu_instance, slice.compute_instance));
    let here = |process: &&Process| {
        process.kind == kind
            && instance.is_none_or(|(gpu, compute)| {
                process.gpu_instance == Some(gpu) && process.compute_instance.unwrap_or(compute) == compute
            })
    };
    view.device.processes.iter().filter(here).copied().collect()
}

macro_rules! process_lists {
    ($($name:ident: $kind:ident as $type:ident = $convert:expr;)*) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name(device: Handle, count: *mut c_uint, out: *mut $type) -> Code {
            let answer = on_device(stringify!($name), device, |view| Ok(processes(view, ProcessKind::$kind)));
            // SAFETY: NVML's contract: the caller passes null or that many entries.
            unsafe { list(count, out, answer, $convert) }
        }
    )*};
}

fn process_v1(process: Process) -> ProcessInfoV1 {
    ProcessInfoV1 { pid: process.pid, used_gpu_memory: process.memory.unwrap_or(VALUE_NOT_AVAILABLE) }
}

fn process_v2(process: Process) -> ProcessInfoV2 {
    ProcessInfoV2 {
        pid: process.pid,
        used_gpu_memory: process.memory.unwrap_or(VALUE_NOT_AVAILABLE),
        gpu_instance_id: process.gpu_instance.unwrap_or(NO_INSTANCE),
        compute_instance_id: process.compute_instance.unwrap_or(NO_INSTANCE),
    }
}

process_lists! {
    nvmlDeviceGetComputeRunningProcesses: Compute as ProcessInfoV1 = process_v1;
    nvmlDeviceGetComputeRunningProcesses_v2: Compute as ProcessInfoV2 = process_v2;
    nvmlDeviceGetComputeRunningProcesses_v3: Compute as ProcessInfoV2 = process_v2;
    nvmlDeviceGetGraphicsRunningProcesses: Graphics as ProcessInfoV1 = process_v1;
    nvmlDeviceGetGraphicsRunningProcesses_v2: Graphics as ProcessInfoV2 = process_v2;
    nvmlDeviceGetGraphicsRunningProcesses_v3: Graphics as ProcessInfoV2 = process_v2;
    nvmlDeviceGetMPSComputeRunningProcesses_v2: Mps as ProcessInfoV2 = process_v2;
    nvmlDeviceGetMPSComputeRunningProcesses_v3: Mps as ProcessInfoV2 = process_v2;
}

/// The driver samples processes about six times a second.
const PROCESS_SAMPLE_US: u64 = 166_667;

#[unsafe(no_mangle)]
unsafe extern "C" fn nvmlDeviceGetProcessUtilization(
    device: Handle,
    out: *mut ProcessUtilizationSample,
    count: *mut c_uint,
    last_seen: c_ulonglong,
) -> Code {
    let answer = on_device("nvmlDeviceGetProcessUtilization", device, |view| {
        let sampled = (view.now - view.now % PROCESS_SAMPLE_US).max(1);
        let samples = view.board()?.processes.iter().filter_map(|process| {
            let (sm, memory) = process.utilisation?;
            let time_stamp = sampled;
            Some(ProcessUtilizationSample {
                pid: process.pid,
                time_stamp,
                sm,
                memory,
                encoder: 0,
                decoder: 0,
            })
        });
        let samples: Vec<_> = samples.filter(|sample| sample.time_stamp > last_seen).collect();
        if samples.is_empty() { Err(NOT_FOUND) } else { Ok(samples) }
    });
    // SAFETY: NVML's contract: the caller passes null or that many samples.
    unsafe { list(count, out, answer, |sample| sample) }
}

// Multi-instance GPUs.

device_pairs! {
    nvmlDeviceGetMigMode: (c_uint, c_uint) = |view| match view.board()?.mig {
        Mig::Unsupported => Err(NOT_SUPPORTED),
        Mig::Disabled => Ok((0, 0)),
        Mig::Enabled(_) => Ok((1, 1)),
    };
}

device_values_by_kind! {
    nvmlDeviceGetMigDeviceHandleByIndex: Handle = |view, index| {
        let Device { mig, epoch, .. } = view.board()?;
        match mig {
            Mig::Unsupported => Err(NOT_SUPPORTED),
            Mig::Enabled(slices) if (index as usize) < slices.len() => {
                Ok(encode(view.slot, *epoch, Some(index as usize)))
            }
            Mig::Disabled | Mig::Enabled(_) => Err(NOT_FOUND),
        }
    };
}

device_values! {
    nvmlDeviceGetMaxMigDeviceCount: c_uint = |view| match view.board()?.mig {
        Mig::Enabled(_) => Ok(7),
        Mig::Unsupported | Mig::Disabled => Ok(0),
    };
    nvmlDeviceIsMigDeviceHandle: c_uint = |view| Ok(c_uint::from(view.slice.is_some()));
    nvmlDeviceGetDeviceHandleFromMigDeviceHandle: Handle = |view| {
        view.slice().map(|_| encode(view.slot, view.device.epoch, None)).ok_or(INVALID_ARGUMENT)
    };
    nvmlDeviceGetGpuInstanceId: c_uint = |view| {
        view.slice().map(|slice| slice.gpu_instance).ok_or(NOT_SUPPORTED)
    };
    nvmlDeviceGetComputeInstanceId: c_uint = |view| {
        view.slice().map(|slice| slice.compute_instance).ok_or(NOT_SUPPORTED)
    };
    nvmlDeviceGetAttributes_v2: DeviceAttributes = |view| {
        let slice = view.slice().ok_or(NOT_SUPPORTED)?;
        Ok(DeviceAttributes {
            multiprocessor_count: slice.multiprocessors,
            shared_copy_engine_count: 1,
            shared_decoder_count: 0,
            shared_encoder_count: 0,
            shared_jpeg_count: 0,
            shared_ofa_count: 0,
            gpu_instance_slice_count: slice.gpu_slices,
            compute_instance_slice_count: slice.compute_slices,
            memory_size_mb: slice.memory.total >> 20,
        })
    };
}

// Ours.

/// Carries out control lines. Returns 0, or the number of the first line that was wrong, from 1 on; -1 if the text is
/// not UTF-8. `fake_nvml_query("error")` tells what was wrong.
#[unsafe(no_mangle)]
unsafe extern "C" fn fake_nvml_ctl(lines: *const c_char) -> c_int {
    // SAFETY: the caller passes null or text with a NUL.
    let Some(lines) = (unsafe { text(lines) }) else { return -1 };
    driver().control(lines).err().unwrap_or(0) as c_int
}

/// Answers a question. Returns the length of the answer, whose beginning is written with a NUL as far as it fits; or
/// -1, and the answer is what is wrong.
#[unsafe(no_mangle)]
unsafe extern "C" fn fake_nvml_query(question: *const c_char, out: *mut c_char, length: usize) -> isize {
    // SAFETY: the caller passes null or text with a NUL.
    let question = unsafe { text(question) }.unwrap_or_default();
    let answer = driver().query(question);
    let right = answer.is_ok();
    let answer = answer.unwrap_or_else(|wrong| wrong);
    if !out.is_null() && length > 0 {
        let fits = answer.len().min(length - 1);
        // SAFETY: not null, and the caller promises `length` bytes.
        unsafe {
            std::ptr::copy_nonoverlapping(answer.as_ptr().cast(), out, fits);
            out.add(fits).write(0);
        }
    }
    if right { answer.len() as isize } else { -1 }
}
