//! The fake driver: its state, its clock and what it answers. Knows nothing of how it is loaded.

pub(crate) mod abi;
mod control;
mod device;
mod exports;
mod functions;
mod query;
mod script;

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use abi::{Code, GPU_IS_LOST, Handle, INVALID_ARGUMENT, NOT_SUPPORTED, UNINITIALIZED, UNKNOWN};
use device::{Device, ErrorRule, answered, injected};
use script::Script;

/// More than eight-GPU servers need and as many as the largest cloud machines have.
const MAX_GPUS: usize = 16;

/// Everything that the library remembers.
#[derive(Debug)]
pub(crate) struct Driver {
    clock: Clock,
    devices: Vec<Device>,
    /// Slots in the order in which the next enumeration lists them.
    order: Vec<usize>,
    /// Slots that the last enumeration found, by index.
    visible: Vec<usize>,
    initialised: u32,
    version: String,
    nvml_version: String,
    cuda_version: i32,
    errors: Vec<ErrorRule>,
    delay: Duration,
    delays: BTreeMap<String, Duration>,
    calls: BTreeMap<&'static str, u64>,
    /// Control lines that wait for their time, ascending.
    pending: Vec<(u64, String)>,
    script: Option<Script>,
    /// A line of the script was wrong: nobody may mistake what follows for what was meant.
    script_broken: bool,
    last_error: String,
}

#[derive(Debug, Clone, Copy)]
enum Clock {
    Virtual(u64),
    Real { base: u64, since: Instant },
}

/// What a call on a handle works on.
#[derive(Debug)]
struct View<'a> {
    device: &'a mut Device,
    global_errors: &'a mut [ErrorRule],
    slot: usize,
    index: Option<usize>,
    /// Index of the MIG device, if the handle is one's.
    slice: Option<usize>,
    now: u64,
}

impl Driver {
    fn new() -> Self {
        let mut driver = Self {
            clock: Clock::Virtual(0),
            devices: Vec::new(),
            order: Vec::new(),
            visible: Vec::new(),
            initialised: 0,
            version: "580.95.05".to_owned(),
            nvml_version: "13.580.95.05".to_owned(),
            cuda_version: 13_000,
            errors: Vec::new(),
            delay: Duration::ZERO,
            delays: BTreeMap::new(),
            calls: BTreeMap::new(),
            pending: Vec::new(),
            script: None,
            script_broken: false,
            last_error: String::new(),
        };
        driver.set_gpu_count(1);
        driver
    }

    /// A driver that follows the script which the environment names, if it does.
    pub(crate) fn from_environment() -> Self {
        let mut driver = Self::new();
        driver.script = std::env::var_os(script::VARIABLE).map(Script::new);
        driver
    }

    fn now(&self) -> u64 {
        match self.clock {
            Clock::Virtual(now) => now,
            Clock::Real { base, since } => base + since.elapsed().as_micros() as u64,
        }
    }

    /// Does what is due: lines of the script file, then those that waited for their time.
    fn sync(&mut self) -> u64 {
        if let Some(lines) = self.script.as_mut().and_then(Script::news) {
            self.script_broken |= self.control(&lines).is_err();
        }
        let now = self.now();
        while self.pending.first().is_some_and(|(at, _)| *at <= now) {
            let (at, line) = self.pending.remove(0);
            if let Err(error) = self.apply(&line, at) {
                self.last_error = format!("at {at} {line}: {error}");
            }
        }
        self.now()
    }

    fn set_gpu_count(&mut self, count: usize) {
        self.devices.truncate(count);
        for index in self.devices.len()..count {
            self.devices.push(Device::new(index as u32));
        }
        self.order = (0..count).collect();
        self.enumerate();
    }

    fn enumerate(&mut self) {
        let devices = &self.devices;
        self.visible = self.order.iter().copied().filter(|&slot| !devices[slot].lost).collect();
    }

    /// The time, if there is anything to answer.
    fn ready(&mut self) -> Result<u64, Code> {
        let now = self.sync();
        if self.script_broken {
            Err(UNKNOWN)
        } else if self.initialised == 0 {
            Err(UNINITIALIZED)
        } else {
            Ok(now)
        }
    }

    /// Begins a call: counts it and tells how long it is to take.
    fn enter(&mut self, function: &'static str) -> Duration {
        *self.calls.entry(function).or_default() += 1;
        self.delays.get(function).copied().unwrap_or(self.delay)
    }

    /// Answers a call that needs no handle.
    fn system_call<T>(
        &mut self,
        function: &'static str,
        answer: impl FnOnce(&mut Self, u64) -> Result<T, Code>,
    ) -> Result<T, Code> {
        let now = self.ready()?;
        answered(injected(&mut self.errors, function, now))?;
        answer(self, now)
    }

    /// Answers a call on a handle.
    fn device_call<T>(
        &mut self,
        function: &'static str,
        handle: Handle,
        answer: impl FnOnce(&mut View<'_>) -> Result<T, Code>,
    ) -> Result<T, Code> {
        let now = self.ready()?;
        let mut view = self.view(handle, now)?;
        view.injected(function)?;
        answer(&mut view)
    }

    fn view(&mut self, handle: Handle, now: u64) -> Result<View<'_>, Code> {
        let word = handle.addr();
        let slot = (word >> 16).checked_sub(1).ok_or(INVALID_ARGUMENT)?;
        let device = self.devices.get_mut(slot).ok_or(INVALID_ARGUMENT)?;
        if device.lost || (word >> 8) & 0xff != device.epoch & 0xff {
            return Err(GPU_IS_LOST);
        }
        let slice = match (word & 0xff).checked_sub(1) {
            None => None,
            Some(serial) => {
                let at = device.slices().iter().position(|slice| slice.serial == serial);
                Some(at.ok_or(INVALID_ARGUMENT)?)
            }
        };
        let index = self.visible.iter().position(|&visible| visible == slot);
        Ok(View { device, global_errors: &mut self.errors, slot, index, slice, now })
    }

    fn handle(&self, slot: usize) -> Result<Handle, Code> {
        let device = self.devices.get(slot).ok_or(INVALID_ARGUMENT)?;
        if device.lost { Err(GPU_IS_LOST) } else { Ok(encode(slot, device.epoch, None)) }
    }

    /// Handle of the visible GPU that `matches`.
    fn find(&self, code: Code, matches: impl Fn(&Device) -> bool) -> Result<Handle, Code> {
        let slot = self.visible.iter().copied().find(|&slot| matches(&self.devices[slot])).ok_or(code)?;
        self.handle(slot)
    }
}

impl View<'_> {
    /// The code that a script wants instead of the answer: the slice's rule first, then the GPU's, then everybody's.
    fn injected(&mut self, function: &str) -> Result<(), Code> {
        let now = self.now;
        let of_slice = match (self.slice, &mut self.device.mig) {
            (Some(slice), device::Mig::Enabled(slices)) => injected(&mut slices[slice].errors, function, now),
            _ => None,
        };
        let code = of_slice
            .or_else(|| injected(&mut self.device.errors, function, now))
            .or_else(|| injected(self.global_errors, function, now));
        answered(code)
    }

    /// The GPU, for what MIG devices do not support.
    fn board(&self) -> Result<&Device, Code> {
        if self.slice.is_some() { Err(NOT_SUPPORTED) } else { Ok(self.device) }
    }

    fn slice(&self) -> Option<&device::Slice> {
        self.device.slices().get(self.slice?)
    }
}

/// A handle: slot from 1 on, epoch, serial of the MIG device from 1 on or none.
fn encode(slot: usize, epoch: usize, slice: Option<usize>) -> Handle {
    let word = (slot + 1) << 16 | (epoch & 0xff) << 8 | slice.map_or(0, |slice| slice + 1);
    std::ptr::without_provenance_mut(word)
}
