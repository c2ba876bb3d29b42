//! The collector: reads all sensors of the host once a tick.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use wattspan_core::{
    Bytes, Celsius, CollectError, Collector, Device, DeviceId, DeviceKind, DeviceSample, MonoTime, OpenError,
    Ratio, Reading, Remedy, SampleBuffer, Vendor,
};

use crate::battery::Battery;
use crate::counter::Group;
use crate::files::{Absent, Disk, Files, Polled, text};
use crate::powercap::{Planned, Source};
use crate::processes::Processes;
use crate::procfs::{self, CpuTicks, ticks_to_time};
use crate::{HostFacts, discover, hwmon, powercap, remedy};

/// What the collector reads.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct HostOptions {
    /// Where `sys` and `proc` are: `/`, the host's own as mounted into a container (`/host`), or a test's folder. Process
    /// numbers are those of that `proc`.
    pub root: PathBuf,
    /// Parts of a CPU package that it already counts: RAPL's core and uncore zones, dies.
    pub core_zones: bool,
    /// One counter for each core, where the `amd_energy` driver has them: up to hundreds of files a tick.
    pub per_core: bool,
    /// What a laptop's battery gives while it discharges.
    pub battery: bool,
}

impl Default for HostOptions {
    /// The machine itself, with core zones, without single cores and battery.
    fn default() -> Self {
        Self { root: PathBuf::from("/"), core_zones: true, per_core: false, battery: false }
    }
}

/// Reads CPU, memory and platform energy, and whose CPU time it was.
///
/// There is always at least one CPU device, also without a sensor, so that its energy can be estimated. Machine-wide
/// figures stand on every CPU package's sample (CPU time, utilisation, processes) or on the first one's (memory).
pub struct HostCollector {
    files: Arc<dyn Files>,
    proc: PathBuf,
    facts: HostFacts,
    devices: Vec<Arc<Device>>,
    sensors: Vec<Sensor>,
    /// Package number and sensor.
    temperatures: Vec<(u32, Polled)>,
    processes: Processes,
    cpu: CpuTime,
    memory: Memory,
}

/// Where a device's energy or power comes from.
enum Sensor {
    Counter(Polled),
    Group(Group),
    Member {
        group: usize,
        member: usize,
    },
    Battery(Box<Battery>),
    /// None, and why.
    Absent(Reading<u64>),
}

impl std::fmt::Debug for HostCollector {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("HostCollector").field("devices", &self.devices).finish_non_exhaustive()
    }
}

impl HostCollector {
    /// Finds the sensors. `Ok(None)` where nothing at all can be read, as outside Linux.
    ///
    /// Counters that may not be read are no error: their readings are `Denied` and say what to do, and the others go on.
    ///
    /// # Errors
    /// When `root` was set and is no folder that can be listed.
    pub fn open(options: HostOptions) -> Result<Option<Self>, OpenError> {
        if !cfg!(target_os = "linux") && options.root == Path::new("/") {
            return Ok(None);
        }
        Self::open_with(Arc::new(Disk), options)
    }

    pub(crate) fn open_with(files: Arc<dyn Files>, options: HostOptions) -> Result<Option<Self>, OpenError> {
        let root = options.root;
        if let Err(error) = files.list(&root) {
            return Err(OpenError::Broken {
                what: format!("the host's root {}", root.display()),
                remedy: "name a folder that holds `sys` and `proc`, or leave the root as it is".into(),
                source: Some(Box::new(error)),
            });
        }
        let proc = root.join("proc");
        let facts = HostFacts::of(&*files, &root);
        let vendor = facts.cpu_vendor.unwrap_or(Vendor::Unknown);
        let model = facts.cpu_model.clone().unwrap_or_default();
        let found = discover::zones(&*files, &root.join("sys/class/powercap"));
        let (mut devices, mut sensors) = (Vec::new(), Vec::new());
        for Planned { device, source } in powercap::plan(&found.zones, options.core_zones, vendor, &model) {
            sensors.push(match source {
                Source::Zone(zone) => Sensor::Counter(Polled::new(zone.energy, remedy::powercap)),
                Source::Group(zones) => Sensor::Group(Group::new(zones.into_iter().map(member).collect())),
                Source::Member { group, member } => Sensor::Member { group, member },
            });
            devices.push(device);
        }
        let sockets: Vec<Option<u32>> = devices
            .iter()
            .filter(|device| device.kind == DeviceKind::Cpu)
            .map(|device| device.index)
            .collect();
        for found in hwmon::find(&*files, &root.join("sys/class/hwmon"), options.per_core, &model) {
            // Powercap and this driver read the same counters.
            let known = match found.device.kind {
                DeviceKind::Cpu => sockets.contains(&found.device.index),
                _ => !sockets.is_empty(),
            };
            if !known {
                sensors.push(Sensor::Counter(Polled::new(found.energy, remedy::root_only)));
                devices.push(found.device);
            }
        }
        if options.battery {
            for (device, battery) in Battery::find(&*files, &root.join("sys/class/power_supply")) {
                sensors.push(Sensor::Battery(Box::new(battery)));
                devices.push(device);
            }
        }
        let temperatures = hwmon::temperatures(&*files, &root.join("sys/class/hwmon"))
            .into_iter()
            .map(|(package, input)| (package, Polled::new(input, remedy::root_only)))
            .collect();
        let mut cpu = CpuTime::new(proc.join("stat"));
        let readable = cpu.read(&*files).0.is_value();
        if devices.is_empty() && !readable && facts.cpu_vendor.is_none() {
            return Ok(None);
        }
        if devices.iter().all(|device| device.kind != DeviceKind::Cpu) {
            let (device, why) = without_sensor(&facts, found.masked, vendor);
            sensors.push(Sensor::Absent(why));
            devices.push(device);
        }
        Ok(Some(Self {
            temperatures,
            processes: Processes::new(&proc),
            memory: Memory::new(proc.join("meminfo")),
            devices: devices.into_iter().map(Arc::new).collect(),
            proc,
            files,
            facts,
            sensors,
            cpu,
        }))
    }

    fn temperature(&mut self, package: u32) -> Reading<Celsius> {
        let Some((_, file)) = self.temperatures.iter_mut().find(|(of, _)| *of == package) else {
            return Reading::NotSupported;
        };
        let mut buffer = [0; 32];
        match file.read(&*self.files, &mut buffer).map(hwmon::celsius) {
            Ok(Some(celsius)) => Reading::Value(celsius),
            Ok(None) => Reading::failed(format!("{} holds no believable temperature", file.path().display())),
            Err(absent) => absent.reading(),
        }
    }

    /// What is known of the machine without a sensor, as it was when the collector was opened.
    pub fn facts(&self) -> &HostFacts {
        &self.facts
    }
}

impl Collector for HostCollector {
    fn name(&self) -> &'static str {
        "host"
    }

    fn devices(&self) -> &[Arc<Device>] {
        &self.devices
    }

    /// Never fails: a reading that is absent says why in its sample.
    fn sample(&mut self, into: &mut SampleBuffer<'_>) -> Result<(), CollectError> {
        // Processes first, so that the machine's CPU time holds all of theirs.
        let processes = self.processes.read(&*self.files);
        let (busy, utilization) = self.cpu.read(&*self.files);
        self.memory.refresh(&*self.files, into.now());
        let mut first_cpu = true;
        for index in 0..self.devices.len() {
            let (mut energy, mut power) = (Reading::NotSupported, Reading::NotSupported);
            match &mut self.sensors[index] {
                Sensor::Counter(file) => {
                    energy = file.number(&*self.files).map_or_else(Absent::reading, Reading::Value);
                }
                Sensor::Group(group) => {
                    energy = group.read(&*self.files, || into.now());
                    if let Some(finding) = group.finding() {
                        let mut device = Device::clone(&self.devices[index]);
                        device.note = Some(finding);
                        self.devices[index] = Arc::new(device);
                    }
                }
                Sensor::Battery(battery) => power = battery.read(&*self.files),
                Sensor::Absent(why) => energy = why.clone(),
                Sensor::Member { group, member } => {
                    let (group, member) = (*group, *member);
                    if let Some(Sensor::Group(group)) = self.sensors.get(group) {
                        energy = group.raw(member);
                    }
                }
            }
            let mut sample = DeviceSample::new(Arc::clone(&self.devices[index]), into.now());
            sample.energy = energy;
            sample.power = power;
            if sample.device.kind == DeviceKind::Cpu {
                sample.gauges.cpu_busy = busy.clone();
                sample.gauges.utilization = utilization.clone();
                sample.processes = Reading::Value(processes.clone());
                sample.gauges.temperature = self.temperature(sample.device.index.unwrap_or(0));
                if std::mem::take(&mut first_cpu) {
                    sample.gauges.memory_total = self.memory.total.clone();
                    sample.gauges.memory_used = self.memory.used.clone();
                }
            }
            into.push(sample);
        }
        Ok(())
    }

    /// Replaces the list of the call before; this process is always watched.
    fn watch(&mut self, processes: &[u32]) {
        self.processes.watch(&self.proc, processes);
    }
}

fn member(zone: powercap::Zone) -> (String, Polled, Option<u64>) {
    let modulus = zone.modulus();
    (format!("{} ({})", zone.name, zone.id), Polled::new(zone.energy, remedy::powercap), modulus)
}

/// A CPU whose energy no sensor tells, and the reason.
fn without_sensor(facts: &HostFacts, masked: bool, vendor: Vendor) -> (Device, Reading<u64>) {
    let name = facts.cpu_model.clone().unwrap_or_else(|| "CPU".to_owned());
    let mut device = Device::new(DeviceId::new("host:cpu"), DeviceKind::Cpu, vendor, name);
    device.memory_total = facts.memory_total;
    if masked {
        let remedy = remedy::powercap_masked();
        device.note = Some(format!("no energy counter: {remedy}"));
        return (device, Reading::Denied(Remedy::new(remedy)));
    }
    let why = match (facts.virtual_machine, facts.container) {
        (Some(true), _) => "no energy counter: the hypervisor hands none to this virtual machine",
        (_, true) => {
            "no energy counter: none on the host, or /sys/class/powercap is hidden in this container"
        }
        _ => "no energy counter: the kernel shows none (module `intel_rapl_msr` serves Intel and AMD)",
    };
    device.note = Some(why.to_owned());
    (device, Reading::NotSupported)
}

/// The machine's CPU time.
struct CpuTime {
    file: Polled,
    last: Option<CpuTicks>,
    utilization: Reading<Ratio>,
}

impl CpuTime {
    fn new(stat: PathBuf) -> Self {
        let utilization = Reading::failed("there is no earlier sample to compare with");
        Self { file: Polled::new(stat, remedy::root_only), last: None, utilization }
    }

    /// Busy time since boot, and the busy part of the time since the last call.
    fn read(&mut self, files: &dyn Files) -> (Reading<Duration>, Reading<Ratio>) {
        // All that comes before the first line's end: ten numbers of up to 20 digits.
        let mut buffer = [0; 256];
        let ticks = match self.file.read(files, &mut buffer) {
            Ok(bytes) => procfs::cpu_ticks(bytes),
            Err(absent) => return (absent.clone().reading(), absent.reading()),
        };
        let Some((ticks, busy)) = ticks.and_then(|ticks| Some((ticks, ticks_to_time(ticks.busy)?))) else {
            let reason = format!("{} cannot be understood", self.file.path().display());
            return (Reading::failed(reason.clone()), Reading::failed(reason));
        };
        match self.last {
            // Two reads within one clock tick: the figure of the time before it stands.
            Some(last) if ticks.all == last.all => {}
            Some(last) => {
                let part = ticks.busy.checked_sub(last.busy).zip(ticks.all.checked_sub(last.all));
                let share = part.and_then(|(busy, all)| Ratio::share(busy as f64 / all as f64));
                self.utilization =
                    share.map_or_else(|| Reading::failed("CPU time went back"), Reading::Value);
                self.last = Some(ticks);
            }
            None => self.last = Some(ticks),
        }
        (Reading::Value(busy), self.utilization.clone())
    }
}

/// The machine's memory, read once a second at most: the kernel adds it up over all zones and CPUs each time.
struct Memory {
    path: PathBuf,
    read: Option<MonoTime>,
    total: Reading<Bytes>,
    used: Reading<Bytes>,
}

impl Memory {
    fn new(path: PathBuf) -> Self {
        Self { path, read: None, total: Reading::NotSupported, used: Reading::NotSupported }
    }

    fn refresh(&mut self, files: &dyn Files, now: MonoTime) {
        if self.read.is_some_and(|before| now.since(before) < MEMORY_PERIOD) {
            return;
        }
        self.read = Some(now);
        let memory = text(files, &self.path).map(|text| procfs::memory(&text)).unwrap_or_default();
        self.total = memory.total.into();
        let used = memory.total.zip(memory.available);
        self.used = used
            .and_then(|(total, available)| total.bytes().checked_sub(available.bytes()))
            .map(Bytes::new)
            .into();
    }
}

const MEMORY_PERIOD: Duration = Duration::from_secs(1);
