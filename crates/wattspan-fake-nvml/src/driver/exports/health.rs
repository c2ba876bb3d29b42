//! Utilisation, memory, temperature, clocks, link and memory errors.

use super::*;

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
