//! Reads every NVIDIA GPU that the driver shows, and finds them again after they were lost.

use std::borrow::Cow;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use wattspan_core::{CollectError, Collector, Device, DeviceId, MonoTime, OpenError, SampleBuffer};

use crate::error::Fault;
use crate::library::Surroundings;
use crate::options::NvidiaOptions;
use crate::parse::{DeviceName, Entry, Selection};
use crate::retry::Retry;
use crate::sys::{Closed, Session, Slice};
use crate::unit::{Found, Scratch, Unit};

/// Reads NVIDIA GPUs and MIG devices through NVML.
///
/// One collector reads all of them, one after the other, with one clock. Energy and power of all devices come first
/// and close together; slower gauges follow.
#[derive(Debug)]
pub struct NvidiaCollector {
    options: NvidiaOptions,
    candidates: Vec<PathBuf>,
    host_pids: bool,
    /// Goes after the units' handles: the last one to go shuts NVML down.
    units: Vec<Unit>,
    session: Result<Session, Fault>,
    devices: Vec<Arc<Device>>,
    /// Whether the selection has been applied to a list of devices; from then on those are followed by their names.
    resolved: bool,
    retry: Retry,
    /// When to look next whether MIG devices came or went.
    layout_due: Option<MonoTime>,
    scratch: Scratch,
}

impl NvidiaCollector {
    /// Opens NVML.
    ///
    /// `Ok(None)` on a machine without the library or without a GPU, on systems that have no NVML, and if no device is
    /// selected. A driver that is installed and not up yet gives a collector without devices, whose
    /// [`sample`](Collector::sample) tries again with back-off until they come up.
    ///
    /// # Errors
    /// [`OpenError::Denied`] without the right to use the GPU; [`OpenError::NoSuchDevice`] if a selected device is not
    /// there; [`OpenError::Broken`] if the library does not work, does not fit to the driver, or was named and cannot
    /// be loaded. Each says what to do.
    pub fn open(options: &NvidiaOptions) -> Result<Option<Self>, OpenError> {
        if options.devices == Selection::None {
            return Ok(None);
        }
        let candidates = match &options.library {
            Some(library) => vec![library.clone()],
            None => Surroundings::here().candidates(),
        };
        let session = match Session::open(&candidates) {
            Ok(session) => Ok(session),
            Err(Closed::Missing) => {
                return match &options.library {
                    None => Ok(None),
                    Some(library) => Err(unusable(library.display(), "there is no library to be loaded")),
                };
            }
            Err(Closed::Unusable { library, reason }) => return Err(unusable(library.display(), &reason)),
            Err(Closed::Refused { fault, .. }) if fault.may_pass() => {
                tracing::warn!(reason = %fault.text(), "NVML is installed and not ready");
                Err(fault)
            }
            Err(Closed::Refused { library, fault }) => return Err(fault.open_error(&library)),
        };
        let mut collector = Self {
            options: options.clone(),
            candidates,
            host_pids: options.pid_namespace.is_host(),
            units: Vec::new(),
            session: Err(Fault::DriverNotLoaded),
            devices: Vec::new(),
            resolved: false,
            retry: Retry::default(),
            layout_due: None,
            scratch: Scratch::default(),
        };
        match session {
            Err(fault) => collector.session = Err(fault),
            Ok(session) => match collector.adopt(&session) {
                Ok(()) if collector.units.is_empty() => return Ok(None),
                Ok(()) => collector.session = Ok(session),
                Err(Refusal::Fault(fault)) if fault.may_pass() => collector.session = Err(fault),
                Err(Refusal::Fault(fault)) => return Err(fault.open_error(&session.library)),
                Err(Refusal::NoSuch { name, there }) => {
                    return Err(OpenError::NoSuchDevice {
                        selection: name.to_string(),
                        remedy: Cow::Owned(format!("the driver lists {there}")),
                    });
                }
            },
        }
        Ok(Some(collector))
    }

    /// Samples of processes that the driver gave and that made no sense: of process 0, of dead ones, or above 100 %.
    pub fn rejected_process_samples(&self) -> u64 {
        self.scratch.rejected
    }

    /// Takes up the devices of a session: known ones by their names, whatever their numbers are by now.
    fn adopt(&mut self, session: &Session) -> Result<(), Refusal> {
        let driver = session.driver_version.as_deref();
        let found = inventory(session)?;
        let entries: Vec<Entry> = found.iter().map(|found| found.entry.clone()).collect();
        let chosen = if self.resolved && self.options.devices != Selection::All {
            Vec::new()
        } else {
            let chosen = self.options.devices.resolve(&entries);
            chosen.map_err(|name| Refusal::NoSuch { name, there: describe(&found) })?
        };
        if !self.resolved && self.options.devices.counts_as_cuda() {
            let order = std::env::var("CUDA_DEVICE_ORDER").ok();
            let names: Vec<&str> =
                found.iter().filter(|one| one.parent.is_none()).map(|one| &*one.name).collect();
            if !order_is_certain(order.as_deref(), &names) {
                tracing::warn!(
                    "CUDA counts GPUs of several models by speed, NVML by PCI address: set \
                     CUDA_DEVICE_ORDER=PCI_BUS_ID, or name GPUs by UUID"
                );
            }
        }
        let first = !self.resolved || self.options.devices == Selection::All;
        self.resolved = true;

        let mut taken = vec![false; self.units.len()];
        let mut strangers = Vec::new();
        for (position, found) in found.into_iter().enumerate() {
            let index = found.entry.index;
            let same = |unit: &Unit| {
                // One that could not be identified so far is known by its number only.
                unit.device.id == found.id
                    || (!unit.identified && index.is_some() && unit.device.index == index)
            };
            if let Some(at) = self.units.iter().position(same) {
                taken[at] = true;
                self.units[at].attach(found, driver);
                continue;
            }
            let whole = first && self.options.devices.takes_whole(&entries, position);
            let parent = |unit: &&Unit| Some(&unit.device.id) == found.parent.as_ref();
            let followed = self.units.iter().find(parent).is_some_and(|parent| parent.slicing.followed);
            if followed || chosen.contains(&position) {
                strangers.push((whole, found));
            }
        }
        for (unit, _) in self.units.iter_mut().zip(&taken).filter(|(_, taken)| !**taken) {
            unit.detach(Fault::Vanished);
        }
        // A number without a name may well be the GPU that is missed; it is not listed a second time.
        let missed = self.units.iter().zip(&taken).any(|(unit, taken)| !taken && unit.identified);
        strangers.retain(|(_, found)| found.entry.uuid.is_some() || !missed);
        let mut position = 0;
        self.units.retain(|unit| {
            position += 1;
            unit.identified || taken[position - 1]
        });
        self.units.extend(strangers.into_iter().map(|(whole, found)| {
            let mut unit = Unit::new(found, driver);
            unit.slicing.followed = whole;
            unit
        }));
        self.list();
        Ok(())
    }

    fn list(&mut self) {
        self.devices.clear();
        for unit in &self.units {
            self.devices.extend(unit.module.iter().cloned());
            self.devices.push(Arc::clone(&unit.device));
        }
    }

    /// Looks whether MIG devices came or went, which the driver tells nobody: by a call for each GPU that may have some,
    /// and three or four for each that it has.
    fn look_for_slices(&mut self) {
        let Ok(session) = &self.session else { return };
        let driver = session.driver_version.as_deref();
        for at in 0..self.units.len() {
            let Some(slices) = self.units[at].layout() else { continue };
            let (gpu, whole) = (self.units[at].device.id.clone(), self.units[at].slicing.followed);
            let mut there = Vec::new();
            for (number, slice) in slices.into_iter().enumerate() {
                let found = found_slice(slice, number, at, &gpu);
                there.push(found.id.clone());
                match self.units.iter_mut().find(|unit| unit.device.id == found.id) {
                    Some(known) if found.handle.as_ref().is_ok_and(|handle| known.is_read_by(handle)) => {}
                    Some(known) => known.attach(found, driver),
                    None if whole => {
                        tracing::info!(device = %found.id, gpu = %gpu, "a MIG device has been made");
                        self.units.push(Unit::new(found, driver));
                    }
                    None => {}
                }
            }
            let of_it = |unit: &&mut Unit| unit.is_slice() && unit.device.parent.as_ref() == Some(&gpu);
            for unit in self.units.iter_mut().filter(of_it) {
                if !there.contains(&unit.device.id) && unit.absence().is_none() {
                    tracing::info!(device = %unit.device.id, gpu = %gpu, "a MIG device has been taken away");
                    unit.detach(Fault::Vanished);
                }
            }
        }
        self.list();
    }

    /// MIG devices that cannot be read any more.
    fn slices_gone(&self) -> usize {
        self.units.iter().filter(|unit| unit.is_slice() && unit.absence().is_some()).count()
    }

    /// Shuts NVML down and initialises it again.
    fn reconnect(&mut self) {
        let absence = |unit: &Unit| unit.absence().unwrap_or(Fault::Uninitialized);
        for unit in &mut self.units {
            let fault = absence(unit);
            unit.detach(fault);
        }
        // Every handle is gone; so this is where NVML is shut down, before it is loaded again.
        self.session = Err(Fault::Uninitialized);
        self.session = match Session::open(&self.candidates) {
            Ok(session) => match self.adopt(&session) {
                Ok(()) => Ok(session),
                Err(Refusal::Fault(fault)) => Err(fault),
                Err(Refusal::NoSuch { .. }) => Err(Fault::Vanished),
            },
            Err(Closed::Refused { fault, .. }) => Err(fault),
            Err(Closed::Missing | Closed::Unusable { .. }) => Err(Fault::DriverNotLoaded),
        };
        match &self.session {
            Ok(_) => tracing::info!(devices = self.units.len(), "NVML has been initialised anew"),
            Err(fault) => {
                tracing::warn!(reason = %fault.text(), "NVML cannot be initialised anew");
                for unit in &mut self.units {
                    unit.detach(*fault);
                }
            }
        }
    }

    /// Decides whether, and when, to initialise NVML anew.
    fn look_after(&mut self, now: MonoTime) {
        let worth = |fault: &Fault| fault.is_loss() || matches!(fault, Fault::Unknown | Fault::Invalid);
        let absent = |unit: &Unit| unit.absence().filter(worth);
        // A partition that is gone was taken away by somebody: it is not waited for.
        let missing =
            self.units.iter().filter(|unit| !unit.is_slice() || unit.absence() != Some(Fault::Vanished));
        let reasons: Vec<Fault> = missing.filter_map(absent).collect();
        if self.session.is_ok() && reasons.is_empty() {
            self.retry.calm(now);
            return;
        }
        let others = self.units.iter().any(|unit| unit.absence().is_none());
        self.retry.wanted(now, reasons.contains(&Fault::Uninitialized), others);
    }
}

impl Collector for NvidiaCollector {
    fn name(&self) -> &'static str {
        "nvidia"
    }

    fn devices(&self) -> &[Arc<Device>] {
        &self.devices
    }

    fn sample(&mut self, into: &mut SampleBuffer<'_>) -> Result<(), CollectError> {
        let begin = into.now();
        if self.session.is_err() && self.units.is_empty() && self.retry == Retry::default() {
            // The first tick after opening in vain tries at once: the driver may have come up since.
            self.retry.wanted(begin, true, false);
        }
        if self.retry.take(begin) {
            self.reconnect();
            self.layout_due = None;
        }
        if *self.layout_due.get_or_insert(begin + LAYOUT) <= begin {
            self.look_for_slices();
            self.layout_due = Some(begin + LAYOUT);
        }
        let gone = self.slices_gone();
        for unit in &mut self.units {
            unit.read_power(|| into.now());
        }
        for unit in &mut self.units {
            unit.read_gauges(begin, self.options.gauge_interval, self.host_pids, &mut self.scratch);
        }
        if self.slices_gone() > gone {
            // Somebody lays a GPU out anew, and others may be on their way.
            self.layout_due = self.layout_due.map(|due| due.min(begin + LAYOUT_CHANGES));
        }
        for unit in &self.units {
            unit.push(|sample| into.push(sample));
        }
        self.look_after(begin);
        match &self.session {
            Err(fault) if self.units.is_empty() => {
                Err(CollectError::Retry { collector: "nvidia", reason: fault.text() })
            }
            _ => Ok(()),
        }
    }

    fn watch(&mut self, _processes: &[u32]) {
        // The driver lists every process by itself.
    }
}

/// How often it is looked for MIG devices that were made or taken away.
const LAYOUT: Duration = Duration::from_secs(30);
/// How soon after one of them could not be read any more.
const LAYOUT_CHANGES: Duration = Duration::from_secs(1);

/// Why the devices of a session were not taken up.
enum Refusal {
    Fault(Fault),
    NoSuch { name: DeviceName, there: String },
}

impl From<Fault> for Refusal {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault)
    }
}

fn unusable(library: impl std::fmt::Display, reason: &str) -> OpenError {
    OpenError::Broken {
        what: format!("NVML ({library})"),
        remedy: Cow::Owned(format!(
            "{reason}: name the driver's libnvidia-ml.so.1 or nvml.dll, for this machine"
        )),
        source: None,
    }
}

/// Everything that the driver lists, each GPU before its MIG devices.
fn inventory(session: &Session) -> Result<Vec<Found>, Fault> {
    let mut list = Vec::new();
    let mut denied = None;
    for index in 0..session.count()? {
        let unknown = |fault| Found {
            entry: Entry { index: Some(index), ..Entry::default() },
            id: DeviceId::new(format!("nvidia:{index}")),
            parent: None,
            name: format!("NVIDIA GPU {index}"),
            handle: Err(fault),
        };
        let handle = match session.gpu(index) {
            Ok(handle) => handle,
            Err(fault) => {
                if matches!(fault, Fault::NoPermission | Fault::Blocked) {
                    denied = Some(fault);
                }
                list.push(unknown(fault));
                continue;
            }
        };
        let uuid = match handle.uuid() {
            Err(fault) if fault.is_loss() => {
                list.push(unknown(fault));
                continue;
            }
            uuid => uuid.ok(),
        };
        let entry = Entry { index: Some(index), uuid, pci: handle.pci().ok(), ..Entry::default() };
        let id = match (&entry.uuid, entry.pci) {
            (Some(uuid), _) => DeviceId::new(uuid.as_str()),
            (None, Some(pci)) => DeviceId::new(pci.to_string()),
            (None, None) => DeviceId::new(format!("nvidia:{index}")),
        };
        let name = handle.name().unwrap_or_else(|_| format!("NVIDIA GPU {index}"));
        let parent = list.len();
        let slices = handle.slices().unwrap_or_default();
        list.push(Found { entry, id: id.clone(), parent: None, name, handle: Ok(handle) });
        list.extend(
            slices.into_iter().enumerate().map(|(number, slice)| found_slice(slice, number, parent, &id)),
        );
    }
    match denied {
        // If nothing may be used, that is what the user must hear.
        Some(fault) if list.iter().all(|found| found.handle.is_err()) => Err(fault),
        _ => Ok(list),
    }
}

fn found_slice(slice: Slice, number: usize, parent: usize, parent_id: &DeviceId) -> Found {
    let Slice { handle, instance } = slice;
    let uuid = handle.uuid().ok();
    let id = match (&uuid, instance) {
        (Some(uuid), _) => DeviceId::new(uuid.as_str()),
        (None, Some((gpu, compute))) => DeviceId::new(format!("{parent_id}/{gpu}/{compute}")),
        (None, None) => DeviceId::new(format!("{parent_id}/mig{number}")),
    };
    Found {
        entry: Entry { uuid, instance, parent: Some(parent), ..Entry::default() },
        parent: Some(parent_id.clone()),
        name: handle.name().unwrap_or_else(|_| format!("MIG device {number}")),
        id,
        handle: Ok(handle),
    }
}

/// The list for a user whose selection is wrong.
fn describe(found: &[Found]) -> String {
    if found.is_empty() {
        return "no device".to_owned();
    }
    let one = |found: &Found| match found.entry.index {
        Some(index) => format!("{index} = {}", found.id),
        None => found.id.to_string(),
    };
    found.iter().map(one).collect::<Vec<_>>().join(", ")
}

/// Whether CUDA counts these GPUs as NVML does.
fn order_is_certain(order: Option<&str>, names: &[&str]) -> bool {
    order == Some("PCI_BUS_ID") || names.windows(2).all(|pair| pair[0] == pair[1])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_cudas_only_in_its_pci_order_or_among_equals() {
        assert!(order_is_certain(None, &["NVIDIA A100", "NVIDIA A100"]));
        assert!(order_is_certain(Some("PCI_BUS_ID"), &["NVIDIA A100", "NVIDIA T4"]));
        assert!(!order_is_certain(Some("FASTEST_FIRST"), &["NVIDIA A100", "NVIDIA T4"]));
        assert!(!order_is_certain(None, &["NVIDIA A100", "NVIDIA T4"]));
        assert!(order_is_certain(None, &[]));
    }
}
