//! Structures and codes of nvml.h, laid out as `nvml-wrapper-sys` 0.10 declares them.

use std::ffi::{c_char, c_int, c_longlong, c_uint, c_ulonglong};

/// `nvmlReturn_t`.
pub(crate) type Code = c_uint;
/// `nvmlDevice_t`: opaque to callers, a number to us.
pub(crate) type Handle = *mut std::ffi::c_void;

pub(crate) const SUCCESS: Code = 0;
pub(crate) const UNINITIALIZED: Code = 1;
pub(crate) const INVALID_ARGUMENT: Code = 2;
pub(crate) const NOT_SUPPORTED: Code = 3;
pub(crate) const NOT_FOUND: Code = 6;
pub(crate) const INSUFFICIENT_SIZE: Code = 7;
pub(crate) const GPU_IS_LOST: Code = 15;
pub(crate) const ARGUMENT_VERSION_MISMATCH: Code = 25;
pub(crate) const UNKNOWN: Code = 999;

/// `NVML_VALUE_NOT_AVAILABLE`, for the memory of a process.
pub(crate) const VALUE_NOT_AVAILABLE: c_ulonglong = c_ulonglong::MAX;
/// Instance id of a process outside MIG.
pub(crate) const NO_INSTANCE: c_uint = c_uint::MAX;

/// Names of `nvmlReturn_t`, for `nvmlErrorString`.
pub(crate) fn describe(code: Code) -> &'static std::ffi::CStr {
    match code {
        0 => c"Success",
        1 => c"Uninitialized",
        2 => c"Invalid Argument",
        3 => c"Not Supported",
        4 => c"Insufficient Permissions",
        5 => c"Already Initialized",
        6 => c"Not Found",
        7 => c"Insufficient Size",
        8 => c"Insufficient External Power",
        9 => c"Driver Not Loaded",
        10 => c"Timeout",
        11 => c"Interrupt Request Issue",
        12 => c"NVML Shared Library Not Found",
        13 => c"Function Not Found",
        14 => c"Corrupted infoROM",
        15 => c"GPU is lost",
        16 => c"GPU requires reset",
        17 => c"GPU access blocked by the operating system",
        18 => c"Driver/library version mismatch",
        19 => c"In use by another client",
        20 => c"Insufficient Memory",
        21 => c"No data",
        22 => c"The requested vGPU operation is not available on target device because ECC is enabled",
        23 => c"Insufficient Resources",
        24 => c"Frequency not supported",
        25 => c"Argument version mismatch",
        26 => c"Deprecated",
        27 => c"Not ready",
        28 => c"GPU not found",
        29 => c"Invalid state",
        30 => c"Reset type not supported",
        999 => c"Unknown Error",
        _ => c"Unknown Error code",
    }
}

#[repr(C)]
pub(crate) struct Memory {
    pub(crate) total: c_ulonglong,
    pub(crate) free: c_ulonglong,
    pub(crate) used: c_ulonglong,
}

#[repr(C)]
pub(crate) struct MemoryV2 {
    pub(crate) version: c_uint,
    pub(crate) total: c_ulonglong,
    pub(crate) reserved: c_ulonglong,
    pub(crate) free: c_ulonglong,
    pub(crate) used: c_ulonglong,
}

/// `nvmlBAR1Memory_t` has the fields of `nvmlMemory_t` under other names.
pub(crate) type Bar1Memory = Memory;

#[repr(C)]
pub(crate) struct PciInfo {
    pub(crate) bus_id_legacy: [c_char; 16],
    pub(crate) domain: c_uint,
    pub(crate) bus: c_uint,
    pub(crate) device: c_uint,
    pub(crate) pci_device_id: c_uint,
    pub(crate) pci_sub_system_id: c_uint,
    pub(crate) bus_id: [c_char; 32],
}

#[repr(C)]
pub(crate) struct UtilizationRates {
    pub(crate) gpu: c_uint,
    pub(crate) memory: c_uint,
}

#[repr(C)]
pub(crate) struct ProcessInfoV1 {
    pub(crate) pid: c_uint,
    pub(crate) used_gpu_memory: c_ulonglong,
}

#[repr(C)]
pub(crate) struct ProcessInfoV2 {
    pub(crate) pid: c_uint,
    pub(crate) used_gpu_memory: c_ulonglong,
    pub(crate) gpu_instance_id: c_uint,
    pub(crate) compute_instance_id: c_uint,
}

#[repr(C)]
pub(crate) struct ProcessUtilizationSample {
    pub(crate) pid: c_uint,
    pub(crate) time_stamp: c_ulonglong,
    pub(crate) sm: c_uint,
    pub(crate) memory: c_uint,
    pub(crate) encoder: c_uint,
    pub(crate) decoder: c_uint,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) union Value {
    pub(crate) double: f64,
    pub(crate) unsigned: c_uint,
    pub(crate) unsigned_long_long: c_ulonglong,
}

/// `NVML_VALUE_TYPE_UNSIGNED_INT`.
pub(crate) const TYPE_UNSIGNED: c_uint = 1;
/// `NVML_VALUE_TYPE_UNSIGNED_LONG_LONG`.
pub(crate) const TYPE_UNSIGNED_LONG_LONG: c_uint = 3;

#[repr(C)]
pub(crate) struct FieldValue {
    pub(crate) field_id: c_uint,
    pub(crate) scope_id: c_uint,
    pub(crate) timestamp: c_longlong,
    pub(crate) latency_us: c_longlong,
    pub(crate) value_type: c_uint,
    pub(crate) code: Code,
    pub(crate) value: Value,
}

#[repr(C)]
pub(crate) struct DeviceAttributes {
    pub(crate) multiprocessor_count: c_uint,
    pub(crate) shared_copy_engine_count: c_uint,
    pub(crate) shared_decoder_count: c_uint,
    pub(crate) shared_encoder_count: c_uint,
    pub(crate) shared_jpeg_count: c_uint,
    pub(crate) shared_ofa_count: c_uint,
    pub(crate) gpu_instance_slice_count: c_uint,
    pub(crate) compute_instance_slice_count: c_uint,
    pub(crate) memory_size_mb: c_ulonglong,
}

#[repr(C)]
pub(crate) struct TemperatureV1 {
    pub(crate) version: c_uint,
    pub(crate) sensor_type: c_uint,
    pub(crate) temperature: c_int,
}

/// `NVML_STRUCT_VERSION`: size and version in one word.
pub(crate) const fn struct_version<T>(version: c_uint) -> c_uint {
    size_of::<T>() as c_uint | version << 24
}

#[cfg(test)]
mod tests {
    use std::mem::offset_of;

    use nvml_wrapper_sys::bindings as real;

    use super::*;

    /// Size, and offset of each field in turn.
    macro_rules! same_layout {
        ($ours:ty, $theirs:ty, $($field:ident = $their_field:ident),+ $(,)?) => {
            assert_eq!(size_of::<$ours>(), size_of::<$theirs>(), stringify!($ours));
            $(assert_eq!(offset_of!($ours, $field), offset_of!($theirs, $their_field), stringify!($field));)+
        };
    }

    #[test]
    fn layouts_are_those_of_the_bindings() {
        same_layout!(Memory, real::nvmlMemory_t, total = total, free = free, used = used);
        same_layout!(Bar1Memory, real::nvmlBAR1Memory_t, total = bar1Total, free = bar1Free, used = bar1Used);
        same_layout!(
            MemoryV2,
            real::nvmlMemory_v2_t,
            version = version,
            total = total,
            reserved = reserved,
            free = free,
            used = used,
        );
        same_layout!(
            PciInfo,
            real::nvmlPciInfo_t,
            bus_id_legacy = busIdLegacy,
            domain = domain,
            bus = bus,
            device = device,
            pci_device_id = pciDeviceId,
            pci_sub_system_id = pciSubSystemId,
            bus_id = busId,
        );
        same_layout!(UtilizationRates, real::nvmlUtilization_t, gpu = gpu, memory = memory);
        same_layout!(ProcessInfoV1, real::nvmlProcessInfo_v1_t, pid = pid, used_gpu_memory = usedGpuMemory);
        same_layout!(
            ProcessInfoV2,
            real::nvmlProcessInfo_t,
            pid = pid,
            used_gpu_memory = usedGpuMemory,
            gpu_instance_id = gpuInstanceId,
            compute_instance_id = computeInstanceId,
        );
        same_layout!(
            ProcessUtilizationSample,
            real::nvmlProcessUtilizationSample_t,
            pid = pid,
            time_stamp = timeStamp,
            sm = smUtil,
            memory = memUtil,
            encoder = encUtil,
            decoder = decUtil,
        );
        same_layout!(
            FieldValue,
            real::nvmlFieldValue_t,
            field_id = fieldId,
            scope_id = scopeId,
            timestamp = timestamp,
            latency_us = latencyUsec,
            value_type = valueType,
            code = nvmlReturn,
            value = value,
        );
        same_layout!(
            DeviceAttributes,
            real::nvmlDeviceAttributes_t,
            multiprocessor_count = multiprocessorCount,
            shared_copy_engine_count = sharedCopyEngineCount,
            shared_decoder_count = sharedDecoderCount,
            shared_encoder_count = sharedEncoderCount,
            shared_jpeg_count = sharedJpegCount,
            shared_ofa_count = sharedOfaCount,
            gpu_instance_slice_count = gpuInstanceSliceCount,
            compute_instance_slice_count = computeInstanceSliceCount,
            memory_size_mb = memorySizeMB,
        );
        same_layout!(
            TemperatureV1,
            real::nvmlTemperature_v1_t,
            version = version,
            sensor_type = sensorType,
            temperature = temperature,
        );
    }

    #[test]
    fn memory_version_word_is_the_documented_one() {
        // 40 bytes, version 2 in the upper byte.
        assert_eq!(struct_version::<MemoryV2>(2), 33_554_472);
    }
}
