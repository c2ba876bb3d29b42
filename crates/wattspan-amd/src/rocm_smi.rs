//! A second back-end over AMD's library ROCm SMI, for machines whose sysfs is hidden or whose tables are newer than
//! [`gpu_metrics`](crate::gpu_metrics()) knows.
//!
//! The functions are called directly: the crate's own wrapper ignores the status of `rsmi_init`, so that it opens with
//! no devices where the library does not work, and its power query writes past its buffers. After a failed start no
//! function of the library may be called, since it crashes.

// The functions of a C library can be called in no other way.
#![allow(unsafe_code)]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rocm_smi_lib::{
    rsmi_dev_busy_percent_get, rsmi_dev_energy_count_get, rsmi_dev_memory_total_get,
    rsmi_dev_memory_usage_get, rsmi_dev_pci_id_get, rsmi_dev_power_ave_get, rsmi_dev_power_cap_get,
    rsmi_dev_temp_metric_get, rsmi_init, rsmi_memory_type_t_RSMI_MEM_TYPE_VRAM as VRAM,
    rsmi_num_monitor_devices, rsmi_shut_down, rsmi_status_t,
    rsmi_temperature_metric_t_RSMI_TEMP_CURRENT as CURRENT,
    rsmi_temperature_type_t_RSMI_TEMP_TYPE_EDGE as EDGE,
};
use wattspan_core::{
    Bytes, CollectError, Collector, CounterSpec, Device, DeviceId, DeviceKind, DeviceSample, OpenError,
    PowerShape, PowerSpec, Ratio, Reading, SampleBuffer, Vendor, Watts,
};

use crate::card::{AVERAGE_WINDOW, Identity};
use crate::collector::{AmdOptions, failed, state};
use crate::limits;
use crate::stale::Stale;
use crate::tree::{Folder, Source};

/// Reads AMD GPUs through ROCm SMI.
///
/// It has no partitions, processes or visible devices; [`AmdCollector`](crate::AmdCollector) has, and should be taken
/// where it works. Devices have the same names in both, so that only one of them may run.
#[derive(Debug)]
pub struct RocmSmiCollector {
    source: Folder,
    cards: Vec<Card>,
    devices: Vec<Arc<Device>>,
    // Last, so that the library is shut down after everything else is gone.
    _library: Library,
}

#[derive(Debug)]
struct Card {
    index: u32,
    who: Identity,
    stale: Stale,
}

/// The started library; one at a time, since its state is global.
#[derive(Debug)]
struct Library;

static STARTED: AtomicBool = AtomicBool::new(false);

impl RocmSmiCollector {
    /// Starts the library; `Ok(None)` on a machine without a card that amdgpu drives. Of the options, only `root` is
    /// used.
    ///
    /// # Errors
    /// When the library does not start, or finds no device although the driver has some.
    pub fn open(options: &AmdOptions) -> Result<Option<Self>, OpenError> {
        let source = Folder(options.root.clone());
        let present: Vec<Identity> = source
            .list("sys/class/drm")
            .unwrap_or_default()
            .iter()
            .filter_map(|name| Identity::find(&source, name))
            .collect();
        if present.is_empty() {
            return Ok(None);
        }
        let (library, count) = Library::start(present.len())?;
        let mut cards = Vec::new();
        let mut devices = Vec::new();
        for index in 0..count {
            // SAFETY: the library is started, `index` is below its count, and `out` is valid for the call.
            let bdf = ask("PCI address", |out: &mut u64| unsafe { rsmi_dev_pci_id_get(index, out) });
            let Some(address) = bdf.value().map(pci_address) else { continue };
            let Some(who) = present.iter().find(|card| card.pci_address == address) else { continue };
            devices.push(Arc::new(describe(index, who)));
            cards.push(Card { index, who: who.clone(), stale: Stale::default() });
        }
        if cards.is_empty() {
            return Err(broken(
                "its devices are not those that sysfs shows: check that both are of this machine".to_owned(),
            ));
        }
        Ok(Some(Self { source, cards, devices, _library: library }))
    }
}

impl Collector for RocmSmiCollector {
    fn name(&self) -> &'static str {
        "amd-rocm-smi"
    }

    fn devices(&self) -> &[Arc<Device>] {
        &self.devices
    }

    fn sample(&mut self, into: &mut SampleBuffer<'_>) -> Result<(), CollectError> {
        for (card, device) in self.cards.iter_mut().zip(&self.devices) {
            if let Err(reason) = state(&self.source, &card.who) {
                into.push(failed(device, into.now(), reason));
                continue;
            }
            let index = card.index;
            let counted = if device.counter.is_some() { energy(index) } else { Reading::NotSupported };
            let time = into.now();
            let mut sample = DeviceSample::new(Arc::clone(device), time);
            sample.energy = counted.and_then(|counted| {
                match card.stale.advance(time, counted.count, None, Some(counted.time)) {
                    Some(reason) => Reading::failed(reason),
                    None => Reading::Value(counted.count),
                }
            });
            sample.power = power(index).and_then(|power| {
                if limits::beyond(power, device.power_limit) {
                    return Reading::failed(format!("{power} is more than this card can draw"));
                }
                Reading::Value(power)
            });
            // SAFETY: for all four, the library is started, `index` is one of its devices, and `out` is valid for the
            // call.
            let gauges = &mut sample.gauges;
            gauges.utilization =
                ask("load", |out: &mut u32| unsafe { rsmi_dev_busy_percent_get(index, out) }).and_then(
                    |percent| match Ratio::percent(f64::from(percent)) {
                        Some(ratio) => Reading::Value(ratio),
                        None => Reading::failed(format!("{percent} % busy is not possible")),
                    },
                );
            gauges.memory_used =
                ask("memory", |out: &mut u64| unsafe { rsmi_dev_memory_usage_get(index, VRAM, out) })
                    .map(Bytes::new);
            gauges.memory_total =
                ask("memory", |out: &mut u64| unsafe { rsmi_dev_memory_total_get(index, VRAM, out) })
                    .map(Bytes::new);
            gauges.temperature = ask("temperature", |out: &mut i64| unsafe {
                rsmi_dev_temp_metric_get(index, EDGE, CURRENT, out)
            })
            .and_then(|milli| Reading::from(limits::plausible_temperature(milli as f64 / 1e3)));
            into.push(sample);
        }
        Ok(())
    }

    fn watch(&mut self, _processes: &[u32]) {
        // The library does not tell how busy a process keeps a GPU.
    }
}

impl Library {
    /// Starts the library on a machine with some cards and answers how many it finds.
    fn start(cards: usize) -> Result<(Self, u32), OpenError> {
        if STARTED.swap(true, Ordering::AcqRel) {
            return Err(broken("it is open already: keep one collector of it".to_owned()));
        }
        // SAFETY: the flag above lets one start at a time through; 0 asks for AMD GPUs only.
        let status = unsafe { rsmi_init(0) };
        if let Err(error) = started(status) {
            STARTED.store(false, Ordering::Release);
            return Err(error);
        }
        // Dropping it from here on shuts the library down.
        let library = Self;
        let mut count = 0_u32;
        // SAFETY: the library is started and `count` is valid for the call.
        let status = unsafe { rsmi_num_monitor_devices(&raw mut count) };
        found(status, count, cards)?;
        Ok((library, count))
    }
}

impl Drop for Library {
    fn drop(&mut self) {
        // SAFETY: a `Library` exists only after a start that succeeded, and is dropped once. The status of a shutdown
        // has no consequence.
        unsafe { rsmi_shut_down() };
        STARTED.store(false, Ordering::Release);
    }
}

/// What the status of `rsmi_init` means.
fn started(status: rsmi_status_t) -> Result<(), OpenError> {
    if status == SUCCESS {
        return Ok(());
    }
    Err(broken(format!(
        "rsmi_init answered {status}: check that rocm-smi runs, or leave out the feature `rocm-smi`"
    )))
}

/// What the count of devices means on a machine with some cards. None is the library's false success.
fn found(status: rsmi_status_t, count: u32, cards: usize) -> Result<(), OpenError> {
    if status == SUCCESS && count > 0 {
        return Ok(());
    }
    Err(broken(format!(
        "it finds no device where amdgpu drives {cards} (status {status}): give the process /dev/kfd and /dev/dri, \
         or leave out the feature `rocm-smi`"
    )))
}

fn broken(remedy: String) -> OpenError {
    OpenError::Broken { what: "ROCm SMI".to_owned(), remedy: remedy.into(), source: None }
}

fn describe(index: u32, who: &Identity) -> Device {
    let id = who.uuid.clone().unwrap_or_else(|| format!("pci-{}", who.pci_address));
    let mut device = Device::new(DeviceId::new(id), DeviceKind::Gpu, Vendor::Amd, who.name.clone());
    device.index = Some(index);
    device.pci_address = Some(who.pci_address.clone());
    device.counter = energy(index).value().and_then(|counted| {
        let microjoules_per_tick = tick(counted.resolution)?;
        Some(CounterSpec { microjoules_per_tick, modulus: None, refresh: None })
    });
    if power(index).is_value() {
        device.power =
            Some(PowerSpec { shape: PowerShape::TrailingMean { window: AVERAGE_WINDOW }, refresh: None });
    }
    // SAFETY: for both, the library is started, `index` is one of its devices, and `out` is valid for the call.
    let cap = ask("power cap", |out: &mut u64| unsafe { rsmi_dev_power_cap_get(index, 0, out) });
    device.power_limit = cap.value().filter(|cap| *cap > 0).map(Watts::from_microwatts);
    device.memory_total =
        ask("memory", |out: &mut u64| unsafe { rsmi_dev_memory_total_get(index, VRAM, out) })
            .value()
            .map(Bytes::new);
    device.note = Some("read through ROCm SMI".to_owned());
    device
}

struct Counted {
    count: u64,
    /// Microjoules of one tick, as the library says.
    resolution: f32,
    /// Nanoseconds.
    time: u64,
}

/// The accumulator; one that never moved is that of a die without its own.
fn energy(index: u32) -> Reading<Counted> {
    let (mut resolution, mut time) = (0.0_f32, 0_u64);
    ask("energy", |count: &mut u64| {
        // SAFETY: the library is started, `index` is one of its devices, and all three places are valid for the call.
        unsafe { rsmi_dev_energy_count_get(index, count, &raw mut resolution, &raw mut time) }
    })
    .and_then(|count| match count {
        0 | u64::MAX => Reading::NotSupported,
        count => Reading::Value(Counted { count, resolution, time }),
    })
}

/// The average power in watts; zero is "no sensor".
fn power(index: u32) -> Reading<Watts> {
    // SAFETY: the library is started, `index` is one of its devices, and `out` is valid for the call.
    ask("power", |out: &mut u64| unsafe { rsmi_dev_power_ave_get(index, 0, out) }).and_then(|microwatts| {
        match microwatts {
            0 => Reading::NotSupported,
            microwatts => Reading::Value(Watts::from_microwatts(microwatts)),
        }
    })
}

/// One question to the library.
fn ask<T: Default>(what: &str, call: impl FnOnce(&mut T) -> rsmi_status_t) -> Reading<T> {
    let mut value = T::default();
    match call(&mut value) {
        SUCCESS => Reading::Value(value),
        NOT_SUPPORTED | NOT_FOUND => Reading::NotSupported,
        PERMISSION => Reading::denied("add the user to the groups `video` and `render`"),
        status => Reading::failed(format!("ROCm SMI answered {status} for {what}")),
    }
}

/// Statuses of `rocm_smi.h`, `rsmi_status_t`.
const SUCCESS: rsmi_status_t = 0;
const NOT_SUPPORTED: rsmi_status_t = 2;
const PERMISSION: rsmi_status_t = 4;
const NOT_FOUND: rsmi_status_t = 10;

/// A resolution in microjoules as a fraction. It is a constant with one or three decimals in the library, which a
/// single-precision float does not hold exactly.
fn tick(resolution: f32) -> Option<(u64, u64)> {
    let thousandths = (f64::from(resolution) * 1e3).round();
    if !(1.0..1e9).contains(&thousandths) {
        return None;
    }
    let (numerator, denominator) = (thousandths as u64, 1_000);
    let common = gcd(numerator, denominator);
    Some((numerator / common, denominator / common))
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// The address that a `bdfid` packs: domain in the high half, then bus, device and function.
fn pci_address(bdf: u64) -> String {
    format!("{:04x}:{:02x}:{:02x}.{}", bdf >> 32, bdf >> 8 & 0xff, bdf >> 3 & 0x1f, bdf & 7)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_resolution_becomes_the_fraction_that_was_meant() {
        assert_eq!(tick(15.3), Some((153, 10)));
        assert_eq!(tick(15.259), Some((15_259, 1_000)));
        for nonsense in [0.0, -1.0, f32::NAN, f32::INFINITY, 1e30] {
            assert_eq!(tick(nonsense), None);
        }
    }

    #[test]
    fn success_without_devices_is_broken_where_cards_are() {
        let error = found(SUCCESS, 0, 2).unwrap_err().to_string();
        assert!(error.contains("no device where amdgpu drives 2"), "{error}");
        assert!(found(SUCCESS, 2, 2).is_ok());
        assert!(started(8).unwrap_err().to_string().contains("rsmi_init answered 8"));
    }

    #[test]
    fn a_packed_address_is_written_as_the_kernel_writes_it() {
        assert_eq!(pci_address(1 << 32 | 0xc1 << 8 | 0x2 << 3 | 1), "0001:c1:02.1");
    }

    #[test]
    fn a_machine_without_cards_does_not_start_the_library() {
        let root = std::env::temp_dir().join("wattspan-no-such-root");
        let options = AmdOptions { root, ..AmdOptions::default() };
        assert!(matches!(RocmSmiCollector::open(&options), Ok(None)));
    }

    #[test]
    fn a_card_that_the_library_cannot_show_is_broken() {
        // No machine has a card at this address: without GPUs the start fails, with others none of them matches.
        let root = std::env::temp_dir().join(format!("wattspan-rocm-smi-{}", std::process::id()));
        let card = root.join("sys/class/drm/card0/device");
        std::fs::create_dir_all(&card).unwrap();
        std::fs::write(card.join("uevent"), "DRIVER=amdgpu\nPCI_SLOT_NAME=ffff:ff:1f.7\n").unwrap();
        let options = AmdOptions { root: root.clone(), ..AmdOptions::default() };
        for _ in 0..2 {
            let error = RocmSmiCollector::open(&options).unwrap_err();
            assert!(error.to_string().starts_with("ROCm SMI does not work"), "{error}");
            assert!(!error.to_string().contains("open already"), "{error}");
        }
        std::fs::remove_dir_all(&root).unwrap();
    }
}
