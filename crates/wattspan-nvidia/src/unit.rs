//! One GPU or MIG device: what it is, which calls it answers, and its readings of this tick.

use std::sync::Arc;
use std::time::Duration;

use wattspan_core::{
    Bytes, Celsius, Device, DeviceId, DeviceKind, DeviceSample, Gauges, GpuInstance, Hertz, MonoTime,
    ProcessUse, Reading, Vendor, Watts,
};

use crate::answer::{Ask, Memo, lose, loss, percent, throttle_names};
use crate::error::{Fault, reading};
use crate::parse::Entry;
use crate::processes::{FOREIGN, Shares, join};
use crate::sensors::{Answers, Generation, PowerSource, best};
use crate::sys::{self, Buffers, Field, Handle, List, Listed, Memory, Slice, Used};

/// A device that the driver lists.
#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) entry: Entry,
    pub(crate) id: DeviceId,
    /// The GPU that a MIG device is a part of.
    pub(crate) parent: Option<DeviceId>,
    pub(crate) name: String,
    pub(crate) handle: Result<Handle, Fault>,
}

/// A device that is read.
#[derive(Debug)]
pub(crate) struct Unit {
    pub(crate) device: Arc<Device>,
    /// The module around it, if the energy counter is that module's.
    pub(crate) module: Option<Arc<Device>>,
    /// Whether its identity is the driver's, and not only its number.
    pub(crate) identified: bool,
    /// The handle, or why there is none.
    link: Result<Handle, Fault>,
    pub(crate) slicing: Slicing,
    /// Whether to ask for the counter.
    counter: bool,
    power: Option<PowerSource>,
    memo: Memo,
    time: MonoTime,
    energy: Reading<u64>,
    watts: Reading<Watts>,
    module_watts: Reading<Watts>,
    gauges: Gauges,
    processes: Reading<Vec<ProcessUse>>,
    gauges_due: MonoTime,
    conditions_due: MonoTime,
    /// Time of the newest sample of processes, on the driver's clock.
    last_seen: u64,
    /// Samples of processes, and until when they stand for what goes on.
    shares: Shares,
    shares_end: MonoTime,
    /// Whether it has been said what this device lacks.
    noticed: bool,
}

/// What is known of a GPU's MIG devices beforehand.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Slicing {
    /// Those that are made later belong to what was selected.
    pub(crate) followed: bool,
    /// It can have some.
    possible: bool,
}

/// What is shared by all units while gauges are read.
#[derive(Debug, Default)]
pub(crate) struct Scratch {
    buffers: Buffers,
    listed: Vec<Listed>,
    used: Vec<Used>,
    /// Samples of processes that made no sense, so far.
    pub(crate) rejected: u64,
}

/// How long a sample of a process stands where no newer one comes: the driver samples each sixth of a second to each
/// second, and not at all while nothing runs.
const SHARES_STAND: Duration = Duration::from_secs(2);

/// Temperatures, clocks and the like change slowly: they are read each fifth time.
const CONDITIONS: u32 = 5;

impl Unit {
    /// A device that was found, asked what it has.
    pub(crate) fn new(found: Found, driver: Option<&str>) -> Self {
        let placeholder = Device::new(found.id.clone(), DeviceKind::Gpu, Vendor::Nvidia, found.name.clone());
        let mut unit = Self {
            device: Arc::new(placeholder),
            module: None,
            identified: found.entry.uuid.is_some(),
            link: Err(Fault::Vanished),
            slicing: Slicing { followed: false, possible: true },
            counter: false,
            power: None,
            memo: Memo::default(),
            time: MonoTime::ZERO,
            energy: Reading::NotSupported,
            watts: Reading::NotSupported,
            module_watts: Reading::NotSupported,
            gauges: Gauges::default(),
            processes: Reading::NotSupported,
            gauges_due: MonoTime::ZERO,
            conditions_due: MonoTime::ZERO,
            last_seen: 0,
            shares: Shares::default(),
            shares_end: MonoTime::ZERO,
            noticed: false,
        };
        unit.attach(found, driver);
        unit
    }

    /// Takes the device up under a handle of a new session. Everything is asked again: a reset, another driver or
    /// another partition may have changed what it has.
    pub(crate) fn attach(&mut self, found: Found, driver: Option<&str>) {
        self.identified |= found.entry.uuid.is_some();
        self.memo = Memo::default();
        self.gauges_due = MonoTime::ZERO;
        self.conditions_due = MonoTime::ZERO;
        self.last_seen = 0;
        self.slicing.possible = true;
        let kind = if found.parent.is_some() { DeviceKind::GpuPartition } else { DeviceKind::Gpu };
        let mut device = Device::new(found.id, kind, Vendor::Nvidia, found.name);
        device.index = found.entry.index;
        device.parent = found.parent;
        device.gpu_instance = found.entry.instance.map(|(gpu, _)| {
            // NVML names a MIG device by its GPU and its profile: `NVIDIA A100-SXM4-80GB MIG 3g.40gb`.
            let profile = device.name.rsplit_once(" MIG ").map(|(_, profile)| profile.to_owned());
            GpuInstance::new(gpu, profile)
        });
        device.pci_address = found.entry.pci.map(|address| address.to_string());
        device.driver_version = driver.map(str::to_owned);
        self.module = None;
        match found.handle {
            Err(fault) => self.detach(fault),
            Ok(handle) => {
                let memory = handle.memory_v2().or_else(|_| handle.memory_v1());
                device.memory_total = memory.ok().map(|memory| Bytes::new(memory.total));
                if kind == DeviceKind::Gpu {
                    self.probe(&handle, &mut device, driver);
                } else {
                    (self.counter, self.power) = (false, None);
                    device.note = Some("no energy of its own: it is a part of its GPU's".to_owned());
                }
                self.link = Ok(handle);
            }
        }
        // A device that has not changed stays the same one to whoever holds it.
        if *self.device != device {
            self.device = Arc::new(device);
        }
        self.notice();
    }

    /// Finds out which counter and which power reading there are.
    fn probe(&mut self, handle: &Handle, device: &mut Device, driver: Option<&str>) {
        let generation = Generation::of(handle.compute_capability().ok());
        let release = driver.and_then(|version| version.split('.').next()?.parse().ok());
        device.power_limit = handle.power_limit().ok().map(Watts::from_milliwatts);

        let energy = handle.total_energy();
        self.counter = energy != Err(Fault::NotSupported);
        // One that cannot be read at this moment is believed to be there where its generation has it.
        let counts = self.counter && (energy.is_ok() || generation.counter);
        let counter = counts.then(|| generation.counter_spec());

        let mut fields = [
            Field::power(sys::INSTANT, sys::GPU),
            Field::power(sys::AVERAGE, sys::GPU),
            Field::power(sys::INSTANT, sys::MODULE),
            Field::power(sys::AVERAGE, sys::MODULE),
        ];
        if let Err(fault) = handle.fields(&mut fields) {
            for field in &mut fields {
                field.answer = Err(fault);
            }
        }
        let usage = handle.power_usage();
        let answer = |at: usize| fields[at].answer.ok();
        self.power =
            best(Answers { usage: usage.ok(), average: answer(1), instant: answer(0) }).or_else(|| {
                let failing = usage != Err(Fault::NotSupported);
                failing.then_some(PowerSource::Usage)
            });
        device.power = self.power.map(|source| generation.power_spec(source, release));
        let mut notes: Vec<String> =
            self.power.map(|source| generation.power_note(source, release)).into_iter().collect();

        // A module draws more than the GPU in it; a board without one gives no such reading, or its own.
        let module_source = [(0, 2, PowerSource::Instant), (1, 3, PowerSource::Average)]
            .into_iter()
            .find(|&(gpu, module, _)| answer(module) > answer(gpu).or(usage.ok()).or(Some(0)))
            .map(|(.., source)| source);
        if module_source.is_some() || device.name.contains("GH200") {
            // The counter of such a part runs with the CPU and the memory of its module, so the GPU itself has none.
            // (Seen on GH200: ml-energy/zeus, pull request 172.)
            let id = format!("{}/module", device.id);
            let name = format!("{} (module)", device.name);
            let mut module = Device::new(DeviceId::new(id), DeviceKind::Module, Vendor::Nvidia, name);
            module.index = device.index;
            module.counter = counter;
            module.driver_version.clone_from(&device.driver_version);
            module.note = Some("the energy counter covers GPU, CPU and memory of the module".to_owned());
            // It is read along with the GPU's, by the same field.
            if module_source.is_some() && module_source == self.power {
                module.power = device.power;
            }
            self.module = Some(Arc::new(module));
            notes.push("energy: integrated, since the counter covers the whole module".to_owned());
            if self.power == Some(PowerSource::Usage) {
                notes.push(
                    "whether this power is the GPU's or the module's, this driver does not say".to_owned(),
                );
            }
        } else {
            device.counter = counter;
            if counter.is_none() {
                notes.push("energy: no counter".to_owned());
            }
        }
        device.note = (!notes.is_empty()).then(|| notes.join("; "));
    }

    /// Gives the device up until the next initialisation.
    pub(crate) fn detach(&mut self, fault: Fault) {
        self.link = Err(fault);
        // What it never had stays "not supported"; of one that has not been identified nothing is known.
        let unknown = !self.identified;
        self.energy = if self.counter || unknown { fault.reading() } else { Reading::NotSupported };
        self.watts = if self.power.is_some() || unknown { fault.reading() } else { Reading::NotSupported };
        self.module_watts = fault.reading();
        let gauges = &mut self.gauges;
        lose(&mut gauges.memory_used, fault);
        lose(&mut gauges.memory_total, fault);
        lose(&mut gauges.memory_reserved, fault);
        lose(&mut gauges.utilization, fault);
        lose(&mut gauges.memory_utilization, fault);
        lose(&mut gauges.temperature, fault);
        lose(&mut gauges.memory_temperature, fault);
        lose(&mut gauges.clock, fault);
        lose(&mut gauges.memory_clock, fault);
        lose(&mut gauges.power_limit, fault);
        lose(&mut gauges.fan, fault);
        lose(&mut gauges.throttle, fault);
        lose(&mut gauges.pcie_replays, fault);
        lose(&mut gauges.memory_errors, fault);
        lose(&mut self.processes, fault);
    }

    /// Why there is no handle.
    pub(crate) fn absence(&self) -> Option<Fault> {
        self.link.as_ref().err().copied()
    }

    /// The MIG devices on this GPU as of now. `None` where there can be none, and where the driver does not tell.
    pub(crate) fn layout(&mut self) -> Option<Vec<Slice>> {
        let handle = self.link.as_ref().ok().filter(|_| self.slicing.possible && !self.is_slice())?;
        let slices = handle.slices();
        // Of a GPU that has no MIG this need not be asked again.
        self.slicing.possible = !matches!(slices, Err(Fault::NotSupported));
        slices.ok()
    }

    /// Whether it is read through this handle.
    pub(crate) fn is_read_by(&self, handle: &Handle) -> bool {
        self.link.as_ref().is_ok_and(|own| own.is_same(handle))
    }

    pub(crate) fn is_slice(&self) -> bool {
        self.device.kind == DeviceKind::GpuPartition
    }

    /// Energy and power. Two calls, or one where either is missing.
    pub(crate) fn read_power(&mut self, now: impl Fn() -> MonoTime) {
        let Ok(handle) = &self.link else {
            self.time = now();
            return;
        };
        let energy = if self.counter { handle.total_energy() } else { Err(Fault::NotSupported) };
        self.time = now();
        self.counter &= energy != Err(Fault::NotSupported);
        let mut module = Err(Fault::NotSupported);
        let power = match self.power {
            None => Err(Fault::NotSupported),
            Some(PowerSource::Usage) => handle.power_usage(),
            Some(source) => {
                let id = if source == PowerSource::Instant { sys::INSTANT } else { sys::AVERAGE };
                let mut fields = [Field::power(id, sys::GPU), Field::power(id, sys::MODULE)];
                let with_module = self.module.as_ref().is_some_and(|module| module.power.is_some());
                let asked = if with_module { &mut fields[..] } else { &mut fields[..1] };
                let answer = handle.fields(asked);
                module = answer.and(fields[1].answer);
                answer.and(fields[0].answer)
            }
        };
        if energy.is_err() {
            self.time = now();
        }
        let lost = loss(energy.err(), power.err(), energy.is_ok() || power.is_ok());
        self.energy = reading(energy);
        self.watts = reading(power).map(Watts::from_milliwatts);
        self.module_watts = reading(module).map(Watts::from_milliwatts);
        if let Some(fault) = lost {
            tracing::warn!(device = %self.device.id, reason = %fault.text(), "this GPU cannot be read");
            self.detach(fault);
        }
    }

    /// Everything else, as far as it is due.
    pub(crate) fn read_gauges(
        &mut self,
        now: MonoTime,
        interval: Duration,
        host_pids: bool,
        scratch: &mut Scratch,
    ) {
        if self.link.is_err() || now < self.gauges_due {
            return;
        }
        self.gauges_due = now + interval;
        self.read_memory();
        if self.link.is_err() {
            return;
        }
        if !self.is_slice() {
            self.read_utilization();
            if now >= self.conditions_due {
                self.conditions_due = now + interval.saturating_mul(CONDITIONS);
                self.read_conditions();
            }
        }
        if host_pids {
            self.read_processes(now, scratch);
        } else {
            self.processes = Reading::failed(FOREIGN);
        }
    }

    fn read_memory(&mut self) {
        let Ok(handle) = &self.link else { return };
        let memory = match self.memo.ask(Ask::MemoryV2, || handle.memory_v2()) {
            Err(Fault::NotSupported) => self.memo.ask(Ask::MemoryV1, || handle.memory_v1()),
            memory => memory,
        };
        // Without energy and power there is no other reading by which to notice that the device is gone.
        if !self.counter
            && self.power.is_none()
            && let Err(fault) = memory
            && (fault.is_loss() || (fault == Fault::Invalid && self.is_slice()))
        {
            self.detach(if fault == Fault::Invalid { Fault::Vanished } else { fault });
            return;
        }
        let memory: Reading<Memory> = reading(memory);
        self.gauges.memory_used = memory.clone().map(|memory| Bytes::new(memory.used));
        self.gauges.memory_total = memory.clone().map(|memory| Bytes::new(memory.total));
        self.gauges.memory_reserved = memory.and_then(|memory| memory.reserved.map(Bytes::new).into());
    }

    fn read_utilization(&mut self) {
        let Ok(handle) = &self.link else { return };
        let rates = reading(self.memo.ask(Ask::Utilization, || handle.utilization()));
        self.gauges.utilization = rates.clone().and_then(|(gpu, _)| percent(gpu));
        self.gauges.memory_utilization = rates.and_then(|(_, memory)| percent(memory));
    }

    fn read_conditions(&mut self) {
        let Ok(handle) = &self.link else { return };
        let (memo, gauges) = (&mut self.memo, &mut self.gauges);
        let megahertz = |clock: u32| Hertz::new(f64::from(clock) * 1e6).into();
        gauges.temperature = reading(memo.ask(Ask::Temperature, || handle.temperature())).map(Celsius::whole);
        gauges.memory_temperature = reading(memo.ask(Ask::MemoryTemperature, || {
            let mut field = [Field::memory_temperature()];
            handle.fields(&mut field)?;
            field[0].answer
        }))
        .map(Celsius::whole);
        gauges.clock = reading(memo.ask(Ask::Clock, || handle.clock())).and_then(megahertz);
        gauges.memory_clock =
            reading(memo.ask(Ask::MemoryClock, || handle.memory_clock())).and_then(megahertz);
        gauges.power_limit =
            reading(memo.ask(Ask::Limit, || handle.power_limit())).map(Watts::from_milliwatts);
        // The driver gives the intended speed, which may be above the fan's maximum.
        gauges.fan = reading(memo.ask(Ask::Fan, || handle.fan())).and_then(|fan| percent(fan.min(100)));
        gauges.throttle = reading(memo.ask(Ask::Throttle, || handle.throttle())).map(throttle_names);
        gauges.pcie_replays = reading(memo.ask(Ask::Replays, || handle.pcie_replays())).map(u64::from);
        gauges.memory_errors = reading(memo.ask(Ask::MemoryErrors, || handle.memory_errors()));
    }

    fn read_processes(&mut self, now: MonoTime, scratch: &mut Scratch) {
        let Ok(handle) = &self.link else { return };
        let Scratch { buffers, listed, used, rejected } = scratch;
        listed.clear();
        used.clear();
        let mut answered = 0;
        let mut failed = None;
        let lists = [(Ask::Compute, List::Compute), (Ask::Graphics, List::Graphics), (Ask::Mps, List::Mps)];
        for (ask, list) in lists {
            match self.memo.ask(ask, || handle.processes(list, buffers, listed)) {
                Ok(()) => answered += 1,
                Err(Fault::NotSupported) => {}
                Err(fault) => failed = failed.or(Some(fault)),
            }
        }
        let shares = if self.device.kind == DeviceKind::GpuPartition {
            Err(Fault::NotSupported)
        } else {
            self.memo.ask(Ask::Used, || handle.used(self.last_seen, buffers, used))
        };
        if !used.is_empty() {
            // Only together do the lists name everybody who lives.
            self.shares.take(used, (answered == lists.len()).then_some(listed));
            self.shares_end = now + SHARES_STAND;
            self.last_seen = self.shares.newest.unwrap_or(self.last_seen);
            if self.shares.rejected > 0 {
                *rejected += self.shares.rejected;
                tracing::debug!(device = %self.device.id, samples = self.shares.rejected, "dropped process samples");
            }
        } else if now >= self.shares_end {
            self.shares = Shares::default();
        }
        let shares = reading(shares).map(|()| &self.shares);
        let any = answered > 0 || shares.as_value().is_some_and(|shares| !shares.is_empty());
        self.processes = match (any, failed) {
            // A list that cannot be read makes the others look complete.
            (_, Some(fault)) => fault.reading(),
            (false, None) => Reading::NotSupported,
            (true, None) => Reading::Value(join(listed, &shares)),
        };
    }

    /// Adds the readings of this tick: those of the module first, which contains the GPU.
    pub(crate) fn push(&self, mut push: impl FnMut(DeviceSample)) {
        let mut sample = DeviceSample::new(Arc::clone(&self.device), self.time);
        if let Some(module) = &self.module {
            let mut sample = DeviceSample::new(Arc::clone(module), self.time);
            sample.energy = self.energy.clone();
            if module.power.is_some() {
                sample.power = self.module_watts.clone();
            }
            push(sample);
        } else if self.device.counter.is_some() || !matches!(self.energy, Reading::Value(_)) {
            sample.energy = self.energy.clone();
        }
        sample.power = self.watts.clone();
        sample.gauges = self.gauges.clone();
        sample.processes = self.processes.clone();
        push(sample);
    }

    /// Says once what a user should know before trusting the figures.
    fn notice(&mut self) {
        if self.noticed || self.link.is_err() || self.is_slice() {
            return;
        }
        self.noticed = true;
        let Device { id, name, counter, power, .. } = &*self.device;
        match (counter, power) {
            (None, None) => {
                tracing::warn!(device = %id, %name, "this GPU reports neither energy nor power: its energy stays absent");
            }
            (None, Some(_)) => {
                tracing::warn!(device = %id, %name, "this GPU has no energy counter: its power is integrated over time");
            }
            (Some(_), _) => {}
        }
    }
}
