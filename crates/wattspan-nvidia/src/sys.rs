//! The edge to NVML: opens the library, keeps handles, and makes each call an owned value or a [`Fault`]. Knows nothing
//! of cadence, selection or samples.
#![allow(unsafe_code)] // The wrapper lacks older functions, scopes of fields and handles without a lifetime.

mod slices;

use std::mem::{MaybeUninit, forget};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use nvml_wrapper::enum_wrappers::device::{Clock, EccCounter, MemoryError, TemperatureSensor};
use nvml_wrapper::error::{NvmlError, nvml_try};
use nvml_wrapper::{Device, Nvml};
use nvml_wrapper_sys::bindings as raw;

use crate::error::Fault;
use crate::parse::PciAddress;
pub(crate) use slices::Slice;

/// NVML, initialised. The last of it and of its [`Handle`]s to go shuts NVML down.
#[derive(Debug)]
pub(crate) struct Session {
    nvml: Arc<Nvml>,
    /// What was loaded.
    pub(crate) library: PathBuf,
    pub(crate) driver_version: Option<String>,
}

/// Why there is no session.
#[derive(Debug)]
pub(crate) enum Closed {
    /// No library at any of the places.
    Missing,
    /// A file that is there and cannot be loaded.
    Unusable { library: PathBuf, reason: String },
    /// The library was loaded and does not start.
    Refused { library: PathBuf, fault: Fault },
}

impl Session {
    /// Loads the first library of a list that can be loaded, and initialises it.
    pub(crate) fn open(candidates: &[PathBuf]) -> Result<Self, Closed> {
        let mut closed = Closed::Missing;
        for library in candidates {
            match Self::start(library) {
                Ok(session) => return Ok(session),
                Err(refused @ Closed::Refused { .. }) => return Err(refused),
                Err(unusable @ Closed::Unusable { .. }) => closed = unusable,
                Err(Closed::Missing) => {}
            }
        }
        Err(closed)
    }

    fn start(library: &Path) -> Result<Self, Closed> {
        let nvml = match Nvml::builder().lib_path(library.as_os_str()).init() {
            Ok(nvml) => nvml,
            Err(NvmlError::LibloadingError(error)) => {
                // By a bare name the loader does not say whether there was a file.
                return Err(if library.is_absolute() && library.exists() {
                    Closed::Unusable { library: library.to_owned(), reason: error.to_string() }
                } else {
                    Closed::Missing
                });
            }
            // Code 12: what was loaded is a stub that has not found the real library.
            Err(NvmlError::LibraryNotFound) => return Err(Closed::Missing),
            Err(error) => {
                return Err(Closed::Refused { library: library.to_owned(), fault: error.into() });
            }
        };
        if nvml.lib().nvmlShutdown.is_err() {
            // The wrapper's destructor calls this function and panics without it: no NVML lacks it, so this is none.
            forget(nvml);
            return Err(Closed::Refused { library: library.to_owned(), fault: Fault::NotSupported });
        }
        let driver_version = nvml.sys_driver_version().ok();
        Ok(Self { nvml: Arc::new(nvml), library: library.to_owned(), driver_version })
    }

    /// Number of GPUs, also of those that may not be used.
    pub(crate) fn count(&self) -> Result<u32, Fault> {
        Ok(self.nvml.device_count()?)
    }

    /// The GPU of this number.
    pub(crate) fn gpu(&self, index: u32) -> Result<Handle, Fault> {
        let device = self.nvml.device_by_index(index)?;
        Ok(Handle::keep(&self.nvml, &device))
    }
}

/// A GPU or MIG device for as long as its session lasts.
///
/// The wrapper's own `Device` borrows its `Nvml`, so that the two could not live side by side in one collector.
#[derive(Debug)]
pub(crate) struct Handle {
    nvml: Arc<Nvml>,
    /// `nvmlDevice_t`, a pointer that only the driver follows; as a number it may move to the sampler's thread.
    address: usize,
}

/// Bytes, as `nvmlDeviceGetMemoryInfo` gives them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Memory {
    pub(crate) total: u64,
    /// With the first version this includes what the driver keeps for itself.
    pub(crate) used: u64,
    pub(crate) reserved: Option<u64>,
}

/// One field to ask for, and the answer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Field {
    id: u32,
    scope: u32,
    pub(crate) answer: Result<u32, Fault>,
}

impl Field {
    /// Field 185 or 186, in milliwatts, of the GPU alone or of the module around it.
    pub(crate) const fn power(id: u32, scope: u32) -> Self {
        Self { id, scope, answer: Err(Fault::NotSupported) }
    }

    /// Field 82, in degrees Celsius.
    pub(crate) const fn memory_temperature() -> Self {
        Self::power(raw::field_id::NVML_FI_DEV_MEMORY_TEMP, GPU)
    }
}

pub(crate) const AVERAGE: u32 = raw::field_id::NVML_FI_DEV_POWER_AVERAGE;
pub(crate) const INSTANT: u32 = raw::field_id::NVML_FI_DEV_POWER_INSTANT;
/// The board itself.
pub(crate) const GPU: u32 = raw::NVML_POWER_SCOPE_GPU;
/// The module that holds it together with a CPU.
pub(crate) const MODULE: u32 = raw::NVML_POWER_SCOPE_MODULE;

/// Fields in one call: no reader asks for more.
const MOST_FIELDS: usize = 4;

/// A process in one of the driver's lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Listed {
    pub(crate) pid: u32,
    /// Absent where the driver may not tell: on Windows' display driver model, and inside MIG without the right to.
    pub(crate) memory: Option<u64>,
}

/// Share of a process in the device's time, over one of the driver's sampling periods.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Used {
    pub(crate) pid: u32,
    /// Microseconds since 1970.
    pub(crate) time: u64,
    /// Percent of the time of the multiprocessors; rubbish happens.
    pub(crate) multiprocessors: u32,
}

/// Which list of processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum List {
    Compute,
    Graphics,
    Mps,
}

/// Room for the driver's answers, kept from tick to tick.
#[derive(Debug, Default)]
pub(crate) struct Buffers {
    processes: Vec<raw::nvmlProcessInfo_t>,
    processes_v1: Vec<raw::nvmlProcessInfo_v1_t>,
    used: Vec<raw::nvmlProcessUtilizationSample_t>,
}

impl Handle {
    fn keep(nvml: &Arc<Nvml>, device: &Device<'_>) -> Self {
        // SAFETY: the pointer is only stored; every use of it goes through `device` below.
        let handle = unsafe { device.handle() };
        Self { nvml: Arc::clone(nvml), address: handle.expose_provenance() }
    }

    fn raw(&self) -> raw::nvmlDevice_t {
        std::ptr::with_exposed_provenance_mut(self.address)
    }

    fn device(&self) -> Device<'_> {
        // SAFETY: the handle came from this very `Nvml`, which stays initialised while `self.nvml` lives. One that the
        // driver has voided since is answered with an error code; NVML checks handles that it is given.
        unsafe { Device::new(self.raw(), &self.nvml) }
    }

    // Identity, asked once per session.

    pub(crate) fn uuid(&self) -> Result<String, Fault> {
        Ok(self.device().uuid()?)
    }

    pub(crate) fn name(&self) -> Result<String, Fault> {
        Ok(self.device().name()?)
    }

    pub(crate) fn pci(&self) -> Result<PciAddress, Fault> {
        let pci = self.device().pci_info()?;
        Ok(PciAddress { domain: pci.domain, bus: pci.bus as u8, device: pci.device as u8 })
    }

    pub(crate) fn compute_capability(&self) -> Result<(i32, i32), Fault> {
        let capability = self.device().cuda_compute_capability()?;
        Ok((capability.major, capability.minor))
    }

    // Energy and power.

    /// Millijoules since the driver was loaded.
    pub(crate) fn total_energy(&self) -> Result<u64, Fault> {
        Ok(self.device().total_energy_consumption()?)
    }

    /// Milliwatts.
    pub(crate) fn power_usage(&self) -> Result<u32, Fault> {
        Ok(self.device().power_usage()?)
    }

    /// Asks for several fields in one call of the driver. Each gets its own answer; the error is of the whole call.
    pub(crate) fn fields(&self, fields: &mut [Field]) -> Result<(), Fault> {
        let call = self.nvml.lib().nvmlDeviceGetFieldValues.as_ref().map_err(|_| Fault::NotSupported)?;
        let count = fields.len().min(MOST_FIELDS);
        // SAFETY: a structure of numbers and a union of numbers; all zeroes are a value of it.
        let mut values: [raw::nvmlFieldValue_t; MOST_FIELDS] = unsafe { MaybeUninit::zeroed().assume_init() };
        for (value, field) in values.iter_mut().zip(&*fields) {
            value.fieldId = field.id;
            value.scopeId = field.scope;
        }
        // SAFETY: the handle is of this session (see `device`), and `values` holds at least `count` values.
        let code = unsafe { call(self.raw(), count as i32, values.as_mut_ptr()) };
        nvml_try(code)?;
        for (value, field) in values.iter().zip(fields) {
            field.answer = nvml_try(value.nvmlReturn).map_err(Fault::from).and_then(|()| number(value));
        }
        Ok(())
    }

    /// Milliwatts; the limit in force, whoever has set it.
    pub(crate) fn power_limit(&self) -> Result<u32, Fault> {
        match self.device().enforced_power_limit() {
            Err(NvmlError::NotSupported | NvmlError::FailedToLoadSymbol(_)) => {
                Ok(self.device().power_management_limit()?)
            }
            limit => Ok(limit?),
        }
    }

    // Gauges.

    /// Percent of time of GPU and memory.
    pub(crate) fn utilization(&self) -> Result<(u32, u32), Fault> {
        let rates = self.device().utilization_rates()?;
        Ok((rates.gpu, rates.memory))
    }

    /// With the second version, which tells what the driver keeps for itself.
    pub(crate) fn memory_v2(&self) -> Result<Memory, Fault> {
        let memory = self.device().memory_info()?;
        Ok(Memory { total: memory.total, used: memory.used, reserved: Some(memory.reserved) })
    }

    /// With the first version, for drivers before 510. The wrapper only has the second.
    pub(crate) fn memory_v1(&self) -> Result<Memory, Fault> {
        let call = self.nvml.lib().nvmlDeviceGetMemoryInfo.as_ref().map_err(|_| Fault::NotSupported)?;
        let mut memory = raw::nvmlMemory_t { total: 0, free: 0, used: 0 };
        // SAFETY: the handle is of this session (see `device`), and the place is valid for a write.
        nvml_try(unsafe { call(self.raw(), &raw mut memory) })?;
        Ok(Memory { total: memory.total, used: memory.used, reserved: None })
    }

    /// Degrees Celsius.
    pub(crate) fn temperature(&self) -> Result<u32, Fault> {
        Ok(self.device().temperature(TemperatureSensor::Gpu)?)
    }

    /// Megahertz of the multiprocessors.
    pub(crate) fn clock(&self) -> Result<u32, Fault> {
        Ok(self.device().clock_info(Clock::SM)?)
    }

    /// Megahertz of the memory.
    pub(crate) fn memory_clock(&self) -> Result<u32, Fault> {
        Ok(self.device().clock_info(Clock::Memory)?)
    }

    /// Bits of `nvmlClocksEventReasons`. Drivers from 535 on have it under two names, older ones under the first.
    pub(crate) fn throttle(&self) -> Result<u64, Fault> {
        let lib = self.nvml.lib();
        let call = lib
            .nvmlDeviceGetCurrentClocksThrottleReasons
            .as_ref()
            .or(lib.nvmlDeviceGetCurrentClocksEventReasons.as_ref())
            .map_err(|_| Fault::NotSupported)?;
        let mut reasons = 0;
        // SAFETY: the handle is of this session (see `device`), and the place is valid for a write.
        nvml_try(unsafe { call(self.raw(), &raw mut reasons) })?;
        Ok(reasons)
    }

    /// Percent of the first fan's maximum.
    pub(crate) fn fan(&self) -> Result<u32, Fault> {
        Ok(self.device().fan_speed(0)?)
    }

    /// Since the driver was loaded.
    pub(crate) fn pcie_replays(&self) -> Result<u32, Fault> {
        Ok(self.device().pcie_replay_counter()?)
    }

    /// Uncorrected errors since the driver was loaded.
    pub(crate) fn memory_errors(&self) -> Result<u64, Fault> {
        Ok(self.device().total_ecc_errors(MemoryError::Uncorrected, EccCounter::Volatile)?)
    }

    // Processes.

    /// Adds a list of processes with the newest version of the call that the driver has: 3 came with release 510, 2
    /// with 460.
    pub(crate) fn processes(
        &self,
        list: List,
        buffers: &mut Buffers,
        into: &mut Vec<Listed>,
    ) -> Result<(), Fault> {
        let lib = self.nvml.lib();
        let (v3, v2, v1) = match list {
            List::Compute => (
                &lib.nvmlDeviceGetComputeRunningProcesses_v3,
                &lib.nvmlDeviceGetComputeRunningProcesses_v2,
                &lib.nvmlDeviceGetComputeRunningProcesses,
            ),
            List::Graphics => (
                &lib.nvmlDeviceGetGraphicsRunningProcesses_v3,
                &lib.nvmlDeviceGetGraphicsRunningProcesses_v2,
                &lib.nvmlDeviceGetGraphicsRunningProcesses,
            ),
            List::Mps => (
                &lib.nvmlDeviceGetMPSComputeRunningProcesses_v3,
                &lib.nvmlDeviceGetMPSComputeRunningProcesses_v2,
                &lib.nvmlDeviceGetMPSComputeRunningProcesses,
            ),
        };
        // Versions 2 and 3 share a layout.
        if let Ok(call) = v3.as_ref().or(v2.as_ref()) {
            // SAFETY: a structure of numbers; all zeroes are a value of it.
            let zero: raw::nvmlProcessInfo_t = unsafe { MaybeUninit::zeroed().assume_init() };
            let found = filled(&mut buffers.processes, zero, |count, infos| {
                // SAFETY: the handle is of this session (see `device`); `infos` has room for `count` entries.
                unsafe { call(self.raw(), count, infos) }
            })?;
            into.extend(found.iter().map(|info| Listed::new(info.pid, info.usedGpuMemory)));
            return Ok(());
        }
        let call = v1.as_ref().map_err(|_| Fault::NotSupported)?;
        let zero = raw::nvmlProcessInfo_v1_t { pid: 0, usedGpuMemory: 0 };
        let found = filled(&mut buffers.processes_v1, zero, |count, infos| {
            // SAFETY: the handle is of this session (see `device`); `infos` has room for `count` entries.
            unsafe { call(self.raw(), count, infos) }
        })?;
        into.extend(found.iter().map(|info| Listed::new(info.pid, info.usedGpuMemory)));
        Ok(())
    }

    /// Adds the shares of processes that the driver has sampled since a time of its own clock; nothing if there are no
    /// new ones.
    pub(crate) fn used(&self, since: u64, buffers: &mut Buffers, into: &mut Vec<Used>) -> Result<(), Fault> {
        let call =
            self.nvml.lib().nvmlDeviceGetProcessUtilization.as_ref().map_err(|_| Fault::NotSupported)?;
        // SAFETY: a structure of numbers; all zeroes are a value of it.
        let zero: raw::nvmlProcessUtilizationSample_t = unsafe { MaybeUninit::zeroed().assume_init() };
        let found = filled(&mut buffers.used, zero, |count, samples| {
            // SAFETY: the handle is of this session (see `device`); `samples` has room for `count` entries.
            unsafe { call(self.raw(), samples, count, since) }
        });
        match found {
            Ok(found) => into.extend(found.iter().map(|sample| Used {
                pid: sample.pid,
                time: sample.timeStamp,
                multiprocessors: sample.smUtil,
            })),
            Err(Fault::NotFound | Fault::NoData) => {}
            Err(fault) => return Err(fault),
        }
        Ok(())
    }
}

impl Listed {
    fn new(pid: u32, memory: u64) -> Self {
        // NVML_VALUE_NOT_AVAILABLE is -1 in the field's own width.
        Self { pid, memory: (memory != u64::MAX).then_some(memory) }
    }
}

/// Lets the driver fill a buffer, which grows until the list fits. One call where it fits at once.
fn filled<T: Copy>(
    buffer: &mut Vec<T>,
    zero: T,
    mut call: impl FnMut(*mut u32, *mut T) -> raw::nvmlReturn_t,
) -> Result<&[T], Fault> {
    /// Room to begin with, and beyond what was asked for: processes come while one reads.
    const ROOM: usize = 16;
    /// A driver that asks for more each time is not waited for.
    const TRIES: usize = 4;
    /// More entries than any machine has processes: a driver that asks for them is not believed.
    const MOST: usize = 1 << 20;
    if buffer.is_empty() {
        buffer.resize(ROOM, zero);
    }
    for _ in 0..TRIES {
        // Drivers have been seen to count entries that they did not write: those must not show an earlier answer.
        buffer.fill(zero);
        let mut count = buffer.len() as u32;
        match nvml_try(call(&raw mut count, buffer.as_mut_ptr())).map_err(Fault::from) {
            // Never more than there is room for, whatever the driver claims to have written.
            Ok(()) => return Ok(&buffer[..buffer.len().min(count as usize)]),
            Err(Fault::TooSmall) => {
                let wanted = (count as usize).max(buffer.len()) + ROOM;
                if wanted > MOST {
                    return Err(Fault::Nonsense);
                }
                buffer.resize(wanted, zero);
            }
            Err(fault) => return Err(fault),
        }
    }
    Err(Fault::TooSmall)
}

/// The number in a field's answer. Which member of the union is set, the driver says; that a kind of field always
/// comes as the same type is nowhere promised.
fn number(value: &raw::nvmlFieldValue_t) -> Result<u32, Fault> {
    let union = value.value;
    // SAFETY: every member is a number of at most the union's size, and the driver has written the union as a whole;
    // whichever is read, its bits are a value.
    let wide: i128 = unsafe {
        match value.valueType {
            raw::nvmlValueType_enum_NVML_VALUE_TYPE_DOUBLE => {
                let number = union.dVal;
                return if (0.0..=f64::from(u32::MAX)).contains(&number) {
                    Ok(number.round() as u32)
                } else {
                    Err(Fault::Nonsense)
                };
            }
            raw::nvmlValueType_enum_NVML_VALUE_TYPE_UNSIGNED_INT => i128::from(union.uiVal),
            // `unsigned long` has 32 bits on Windows.
            raw::nvmlValueType_enum_NVML_VALUE_TYPE_UNSIGNED_LONG => i128::from(union.ulVal),
            raw::nvmlValueType_enum_NVML_VALUE_TYPE_UNSIGNED_LONG_LONG => i128::from(union.ullVal),
            raw::nvmlValueType_enum_NVML_VALUE_TYPE_SIGNED_LONG_LONG => i128::from(union.sllVal),
            raw::nvmlValueType_enum_NVML_VALUE_TYPE_SIGNED_INT => i128::from(union.siVal),
            raw::nvmlValueType_enum_NVML_VALUE_TYPE_UNSIGNED_SHORT => i128::from(union.usVal),
            _ => return Err(Fault::Nonsense),
        }
    };
    u32::try_from(wide).map_err(|_| Fault::Nonsense)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(value_type: u32, value: raw::nvmlValue_t, expected: Result<u32, Fault>) {
        let field = raw::nvmlFieldValue_t {
            fieldId: INSTANT,
            scopeId: GPU,
            timestamp: 0,
            latencyUsec: 0,
            valueType: value_type,
            nvmlReturn: 0,
            value,
        };
        assert_eq!(number(&field), expected);
    }

    #[test]
    fn field_is_read_as_the_type_that_the_driver_names() {
        check(0, raw::nvmlValue_t { dVal: 412_000.4 }, Ok(412_000));
        check(0, raw::nvmlValue_t { dVal: f64::NAN }, Err(Fault::Nonsense));
        check(1, raw::nvmlValue_t { uiVal: 412_000 }, Ok(412_000));
        check(3, raw::nvmlValue_t { ullVal: 412_000 }, Ok(412_000));
        check(3, raw::nvmlValue_t { ullVal: 1 << 40 }, Err(Fault::Nonsense));
        check(5, raw::nvmlValue_t { siVal: -1 }, Err(Fault::Nonsense));
        check(77, raw::nvmlValue_t { ullVal: 5 }, Err(Fault::Nonsense));
    }

    #[test]
    fn list_that_grows_while_it_is_read_is_read_again() {
        let mut calls = 0;
        let mut buffer = Vec::new();
        let found = filled(&mut buffer, 0_u8, |count, out| {
            calls += 1;
            // SAFETY: the buffer has the length that `count` says.
            unsafe {
                if *count < 30 {
                    *count = 30;
                    return 7;
                }
                out.add(29).write(9);
                *count = 30;
            }
            0
        });
        assert_eq!(found.map(|found| (found.len(), found[29])), Ok((30, 9)));
        assert_eq!(calls, 2);
    }

    #[test]
    fn driver_that_always_wants_more_is_given_up() {
        let mut buffer = Vec::new();
        assert_eq!(filled(&mut buffer, 0_u8, |_, _| 7), Err(Fault::TooSmall));
        let endless = filled(&mut buffer, 0_u8, |count, _| {
            // SAFETY: the place is valid for a write.
            unsafe { *count = u32::MAX };
            7
        });
        assert_eq!(endless, Err(Fault::Nonsense));
    }

    #[cfg(target_os = "linux")]
    mod places {
        use wattspan_fake_nvml::{ErrorWindow, FakeNvml};

        use super::*;

        /// Opens the first of some places: a fake driver whose start gives this code, or nothing at all.
        fn open(starts: &[Option<u32>]) -> Result<usize, String> {
            let fakes: Vec<Option<FakeNvml>> = starts
                .iter()
                .map(|code| {
                    code.map(|code| {
                        let fake = FakeNvml::new().expect("a fake driver");
                        fake.fail("nvmlInit_v2", code, ErrorWindow::ALWAYS).expect("a code");
                        fake
                    })
                })
                .collect();
            let place = |fake: &Option<FakeNvml>| {
                fake.as_ref().map_or_else(
                    || PathBuf::from("/nowhere/libnvidia-ml.so.1"),
                    |fake| fake.path().to_owned(),
                )
            };
            let candidates: Vec<PathBuf> = fakes.iter().map(place).collect();
            match Session::open(&candidates) {
                Ok(session) => {
                    Ok(candidates.iter().position(|one| *one == session.library).expect("one of them"))
                }
                Err(Closed::Missing) => Err("missing".to_owned()),
                Err(Closed::Unusable { reason, .. }) => Err(reason),
                Err(Closed::Refused { fault, .. }) => Err(format!("{fault:?}")),
            }
        }

        #[test]
        fn next_place_is_tried_where_there_is_no_library_or_only_a_stub() {
            assert_eq!(open(&[None, Some(0)]), Ok(1));
            assert_eq!(open(&[Some(12), Some(0)]), Ok(1));
            assert_eq!(open(&[None, Some(12)]), Err("missing".to_owned()));
            assert_eq!(open(&[]), Err("missing".to_owned()));
        }

        #[test]
        fn driver_that_was_found_and_does_not_start_is_the_answer() {
            assert_eq!(open(&[Some(18), Some(0)]), Err("VersionMismatch".to_owned()));
            assert_eq!(open(&[None, Some(9), Some(0)]), Err("DriverNotLoaded".to_owned()));
        }
    }
}
