//! Process lists and their utilisation.

use super::*;

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
