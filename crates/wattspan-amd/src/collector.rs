//! The collector: finds the cards, keeps their devices, and reads them.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use wattspan_core::{
    Bytes, CollectError, Collector, Device, DeviceId, DeviceKind, DeviceSample, Gauges, MonoTime, OpenError,
    Reading, SampleBuffer, Vendor,
};

use crate::card::{Identity, Sensors};
use crate::processes::Processes;
use crate::stale::Stale;
use crate::tree::{self, Folder, Source};
use crate::visible::visible_devices;
use crate::{kfd_node, parse};

/// Whose joules the GPU of an APU are. The power of most APUs covers the package, CPU cores included, and the CPU's own
/// counter (RAPL) covers it too.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum ApuEnergy {
    /// A part of something that is counted elsewhere, not known what: never added to totals.
    #[default]
    NotCounted,
    /// A part of this CPU package, which is counted.
    PartOf(DeviceId),
    /// Counted as a GPU. Right only when nothing else counts the package, such as where RAPL may not be read.
    Counted,
}

/// What to open and how.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct AmdOptions {
    /// Folder that stands for `/`.
    pub root: PathBuf,
    /// Whose joules an APU's are.
    pub apu: ApuEnergy,
    /// Tick of the energy accumulator of `gpu_metrics` 1.0 to 1.3, as a fraction of microjoules. The kernel states none
    /// there, and many boards leave the field unusable, so that it is read only when a tick is given: `(153, 10)` is
    /// the 15.3 µJ that ROCm SMI reports for MI100 and MI200.
    pub legacy_tick: Option<(u64, u64)>,
    /// Memory, temperatures, clocks and KFD's list of processes are read this often at most; energy, power and watched
    /// processes at every tick.
    pub gauge_period: Duration,
}

impl Default for AmdOptions {
    fn default() -> Self {
        Self {
            root: PathBuf::from("/"),
            apu: ApuEnergy::default(),
            legacy_tick: None,
            gauge_period: Duration::from_millis(200),
        }
    }
}

/// Reads every GPU that amdgpu drives.
#[derive(Debug)]
pub struct AmdCollector {
    source: Box<dyn Source>,
    options: AmdOptions,
    driver: Option<String>,
    cards: Vec<Card>,
    devices: Vec<Arc<Device>>,
    /// Indices of `devices` in the order of the ROCm runtime.
    runtime_order: Vec<usize>,
    processes: Processes,
}

#[derive(Debug)]
struct Card {
    who: Identity,
    id: DeviceId,
    /// `None` until the card has been seen awake.
    sensors: Option<Sensors>,
    parts: Vec<Part>,
    stale: Stale,
    gauges: Option<(MonoTime, Gauges)>,
    /// Place of its device; those of its parts follow.
    place: usize,
}

/// What KFD knows of a GPU or of one of its partitions.
#[derive(Clone, Debug)]
struct Part {
    partition: u32,
    gpu_id: Option<u64>,
    memory: Option<Bytes>,
    has_cpu: bool,
    /// Number of the topology node, which orders the ROCm runtime's list.
    node: u32,
}

impl AmdCollector {
    /// Finds the cards; `Ok(None)` where there are none, and on other systems than Linux. Does not wake a sleeping card.
    ///
    /// # Errors
    /// When the list of graphics cards may not be read.
    pub fn open(options: &AmdOptions) -> Result<Option<Self>, OpenError> {
        // A folder that a test or a container mounts elsewhere is read on any system.
        if !cfg!(target_os = "linux") && options.root == AmdOptions::default().root {
            return Ok(None);
        }
        Self::open_source(Box::new(Folder(options.root.clone())), options)
    }

    pub(crate) fn open_source(
        source: Box<dyn Source>,
        options: &AmdOptions,
    ) -> Result<Option<Self>, OpenError> {
        let names = match source.list("sys/class/drm") {
            Ok(names) => names,
            Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => {
                return Err(OpenError::Denied {
                    what: "/sys/class/drm".to_owned(),
                    remedy: "mount /sys into the container, or leave the collector `amd` out".into(),
                });
            }
            Err(_) => return Ok(None),
        };
        let mut found: Vec<Identity> =
            names.iter().filter_map(|name| Identity::find(source.as_ref(), name)).collect();
        if found.is_empty() {
            return Ok(None);
        }
        found.sort_by(|one, other| one.pci_address.cmp(&other.pci_address));
        let nodes = topology(source.as_ref());
        let mut ids: Vec<String> = Vec::new();
        let cards = found
            .into_iter()
            .map(|who| {
                let id = who.uuid.clone().filter(|uuid| !ids.contains(uuid));
                let id = id.unwrap_or_else(|| format!("pci-{}", who.pci_address));
                ids.push(id.clone());
                let parts = nodes.iter().filter(|(address, _)| *address == who.pci_address);
                let mut parts: Vec<Part> = parts.map(|(_, part)| part.clone()).collect();
                parts.sort_by_key(|part| part.partition);
                Card {
                    who,
                    id: DeviceId::new(id),
                    sensors: None,
                    parts,
                    stale: Stale::default(),
                    gauges: None,
                    place: 0,
                }
            })
            .collect();
        let driver = tree::line(source.as_ref(), "sys/module/amdgpu/version").or_else(|| {
            tree::line(source.as_ref(), "proc/sys/kernel/osrelease").map(|release| format!("linux {release}"))
        });
        let mut collector = Self {
            source,
            options: options.clone(),
            driver,
            cards,
            devices: Vec::new(),
            runtime_order: Vec::new(),
            processes: Processes::default(),
        };
        collector.probe();
        collector.describe();
        Ok(Some(collector))
    }

    /// The devices that a process with these variables may use, in its own order. A GPU that is cut into partitions is
    /// named by them.
    pub fn visible(
        &self,
        rocr_visible_devices: Option<&str>,
        hip_visible_devices: Option<&str>,
    ) -> Vec<DeviceId> {
        let uuids: Vec<Option<&str>> = self
            .runtime_order
            .iter()
            .map(|place| {
                let card = self.cards.iter().rev().find(|card| card.place <= *place)?;
                card.who.uuid.as_deref()
            })
            .collect();
        visible_devices(rocr_visible_devices, hip_visible_devices, &uuids)
            .into_iter()
            .map(|index| self.devices[self.runtime_order[index]].id.clone())
            .collect()
    }

    /// Looks at cards that have not been seen awake; answers whether there is news.
    fn probe(&mut self) -> bool {
        let mut news = false;
        for card in self.cards.iter_mut().filter(|card| card.sensors.is_none()) {
            if state(self.source.as_ref(), &card.who).is_ok() {
                card.sensors = Sensors::probe(self.source.as_ref(), &card.who, self.options.legacy_tick);
                news |= card.sensors.is_some();
            }
        }
        news
    }

    /// Makes the devices anew from what is known of the cards.
    fn describe(&mut self) {
        let mut devices = Vec::new();
        let mut order = Vec::new();
        for index in 0..self.cards.len() {
            let whole = self.device(index);
            let card = &mut self.cards[index];
            card.place = devices.len();
            let cut = card.parts.len() > 1;
            devices.push(whole);
            for part in &card.parts {
                order.push((part.node, if cut { devices.len() } else { card.place }));
                if cut {
                    devices.push(partition(card, part));
                }
            }
        }
        // A machine without KFD has no ROCm runtime; the order of addresses is what users expect there.
        if order.is_empty() {
            order = self.cards.iter().map(|card| (0, card.place)).collect();
        }
        order.sort_unstable();
        self.runtime_order = order.into_iter().map(|(_, place)| place).collect();
        self.devices = devices.into_iter().map(Arc::new).collect();
    }

    fn device(&self, index: usize) -> Device {
        let card = &self.cards[index];
        let mut device = Device::new(card.id.clone(), DeviceKind::Gpu, Vendor::Amd, card.who.name.clone());
        device.index = u32::try_from(index).ok();
        device.pci_address = Some(card.who.pci_address.clone());
        device.driver_version.clone_from(&self.driver);
        let Some(sensors) = &card.sensors else {
            device.note = Some("asleep or busy since wattspan started; not woken to look at it".to_owned());
            return device;
        };
        device.counter = sensors.counter;
        device.power = sensors.power_spec();
        device.power_limit = sensors.power_limit;
        device.memory_total = sensors.memory_total;
        let mut notes = sensors.notes.clone();
        if let Some(mode) = &sensors.partition
            && card.parts.len() > 1
        {
            notes.push(format!("cut into {} compute partitions ({mode})", card.parts.len()));
        }
        if sensors.is_apu || card.parts.iter().any(|part| part.has_cpu) {
            match &self.options.apu {
                ApuEnergy::Counted => {}
                ApuEnergy::NotCounted => {
                    device.kind = DeviceKind::GpuPartition;
                    notes.push("graphics of an APU: not added, since its package counts it".to_owned());
                }
                ApuEnergy::PartOf(package) => {
                    device.kind = DeviceKind::GpuPartition;
                    device.parent = Some(package.clone());
                    notes.push("graphics of an APU: its package counts it".to_owned());
                }
            }
        } else if let Some(first) = self.first_die(card, sensors) {
            device.kind = DeviceKind::GpuPartition;
            device.parent = Some(first);
            notes.push("second die of a module, whose first die counts both".to_owned());
        }
        device.note = Some(notes.join("; "));
        device
    }

    /// The die that reports for this one: the other of the same module, by serial number.
    fn first_die(&self, card: &Card, sensors: &Sensors) -> Option<DeviceId> {
        let serial = card.who.serial.as_deref()?;
        if sensors.power.is_some() || sensors.counter.is_some() {
            return None;
        }
        self.cards
            .iter()
            .find(|other| {
                other.who.serial.as_deref() == Some(serial)
                    && other.sensors.as_ref().is_some_and(|sensors| sensors.power.is_some())
            })
            .map(|other| other.id.clone())
    }
}

impl Collector for AmdCollector {
    fn name(&self) -> &'static str {
        "amd"
    }

    fn devices(&self) -> &[Arc<Device>] {
        &self.devices
    }

    fn sample(&mut self, into: &mut SampleBuffer<'_>) -> Result<(), CollectError> {
        if self.probe() {
            self.describe();
        }
        let source = self.source.as_ref();
        self.processes.refresh(source, into.now(), self.options.gauge_period);
        for card in &mut self.cards {
            let device = &self.devices[card.place];
            let mut sample = match (state(source, &card.who), &card.sensors) {
                (Err(reason), _) => {
                    card.gauges = None;
                    failed(device, into.now(), reason)
                }
                (Ok(()), None) => failed(device, into.now(), "the card was too busy to be looked at"),
                (Ok(()), Some(sensors)) => {
                    let read = sensors.measure(source, &card.who, &mut card.stale, &|| into.now());
                    let mut sample = DeviceSample::new(Arc::clone(device), read.time);
                    sample.energy = read.energy;
                    sample.power = read.power;
                    let old =
                        card.gauges.take().filter(|(at, _)| read.time.since(*at) < self.options.gauge_period);
                    let (at, gauges) =
                        old.unwrap_or_else(|| (read.time, sensors.gauges(source, &card.who, &read.table)));
                    sample.gauges = gauges.clone();
                    card.gauges = Some((at, gauges));
                    sample
                }
            };
            let time = sample.time;
            let ids: Vec<u64> = card.parts.iter().filter_map(|part| part.gpu_id).collect();
            sample.processes = self.processes.on(Some(&card.who.pci_address), &ids, time);
            into.push(sample);
            if card.parts.len() > 1 {
                for (part, device) in card.parts.iter().zip(&self.devices[card.place + 1..]) {
                    let mut sample = DeviceSample::new(Arc::clone(device), time);
                    sample.gauges.memory_total = Reading::from(part.memory);
                    let ids: Vec<u64> = part.gpu_id.into_iter().collect();
                    sample.processes = self.processes.on(None, &ids, time);
                    into.push(sample);
                }
            }
        }
        Ok(())
    }

    fn watch(&mut self, processes: &[u32]) {
        self.processes.watch(processes);
    }
}

/// Whether a card can be asked without waking it; else why not.
pub(crate) fn state(source: &dyn Source, who: &Identity) -> Result<(), &'static str> {
    match tree::line(source, &format!("{}/power/runtime_status", who.path)).as_deref() {
        Some("suspended" | "suspending") => Err("runtime suspended: the card sleeps and is not woken"),
        Some(_) => Ok(()),
        None => match source.read(&format!("{}/uevent", who.path)) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Err("the card is gone"),
            _ => Ok(()),
        },
    }
}

/// A sample in which every reading failed for one reason.
pub(crate) fn failed(device: &Arc<Device>, time: MonoTime, reason: &'static str) -> DeviceSample {
    let mut sample = DeviceSample::new(Arc::clone(device), time);
    sample.energy = Reading::failed(reason);
    sample.power = Reading::failed(reason);
    sample.gauges.utilization = Reading::failed(reason);
    sample.gauges.memory_used = Reading::failed(reason);
    sample.gauges.temperature = Reading::failed(reason);
    sample
}

/// A compute partition. It has no sensor: the card's power covers it.
fn partition(card: &Card, part: &Part) -> Device {
    let id = DeviceId::new(format!("{}/partition-{}", card.id, part.partition));
    let mut device = Device::new(id, DeviceKind::GpuPartition, Vendor::Amd, card.who.name.clone());
    device.index = Some(part.partition);
    device.parent = Some(card.id.clone());
    device.pci_address = Some(card.who.pci_address.clone());
    device.memory_total = part.memory;
    device.note = Some("compute partition: reports no power of its own".to_owned());
    device
}

/// The GPUs and partitions in KFD's topology, by PCI address.
fn topology(source: &dyn Source) -> Vec<(String, Part)> {
    let folder = "sys/class/kfd/kfd/topology/nodes";
    let mut found = Vec::new();
    for name in source.list(folder).unwrap_or_default() {
        let path = format!("{folder}/{name}");
        let Ok(number) = name.parse::<u32>() else { continue };
        let Some(node) = tree::text(source, &format!("{path}/properties")).and_then(|text| kfd_node(&text))
        else {
            continue;
        };
        let bank = tree::text(source, &format!("{path}/mem_banks/0/properties"));
        let memory = bank.and_then(|text| {
            let size = text.lines().find_map(|line| line.trim().strip_prefix("size_in_bytes "))?;
            size.trim().parse().ok().map(Bytes::new)
        });
        let gpu_id = source.read(&format!("{path}/gpu_id")).ok().and_then(|text| parse::number(&text));
        let part = Part { partition: node.partition, gpu_id, memory, has_cpu: node.has_cpu, node: number };
        found.push((node.pci_address, part));
    }
    found
}
