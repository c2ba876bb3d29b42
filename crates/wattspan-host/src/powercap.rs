//! Powercap zones to devices. Pure: zones come in as found, devices go out, nothing is opened.
//!
//! Zones go by their names: their numbers differ between machines (`intel-rapl:0:0` is the cores on one and memory on
//! another, and psys may be `intel-rapl:1`). The kernel drives AMD's counters through the same `intel-rapl` type.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use wattspan_core::{CounterSpec, Device, DeviceId, DeviceKind, Vendor, Watts};

/// A zone as it was found.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Zone {
    /// Its folder's name, such as `intel-rapl:0:2`.
    pub(crate) id: String,
    /// The content of `name`, such as `dram`.
    pub(crate) name: String,
    /// Its `energy_uj`.
    pub(crate) energy: PathBuf,
    /// The content of `max_energy_range_uj`.
    pub(crate) range_uj: Option<u64>,
    /// The counter as it stood, where it could be read.
    pub(crate) energy_uj: Option<u64>,
    /// Names and limits of its constraints.
    pub(crate) limits_uw: Vec<(String, u64)>,
}

impl Zone {
    /// The part before the first colon: the driver that answers for the zone.
    pub(crate) fn control(&self) -> &str {
        self.id.split(':').next().unwrap_or_default()
    }

    fn parent(&self) -> Option<&str> {
        self.id.rsplit_once(':').map(|(parent, _)| parent).filter(|parent| parent.contains(':'))
    }

    /// Where the counter starts again at 0; `None` when that cannot be told.
    ///
    /// The counter wraps from the highest value back to 0, one hardware step above `max_energy_range_uj` (61 µJ on
    /// most); taking the range itself is exact within that step.
    pub(crate) fn modulus(&self) -> Option<u64> {
        let range = self.range_uj.filter(|range| *range > 0)?;
        (self.energy_uj.unwrap_or(0) <= range).then_some(range)
    }

    /// The highest limit in force for more than an instant, if it is one that a CPU can reach.
    fn power_limit(&self) -> Option<Watts> {
        let limits = self.limits_uw.iter().filter(|(name, limit)| {
            matches!(name.as_str(), "long_term" | "short_term") && (1..=HIGHEST_LIMIT_UW).contains(limit)
        });
        limits.map(|(_, limit)| Watts::from_microwatts(*limit)).reduce(Watts::max)
    }
}

/// What a zone's name says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum ZoneName {
    Package { package: u32, die: Option<u32> },
    Core,
    Uncore,
    Dram,
    Psys,
}

impl ZoneName {
    /// Reads a name; `None` for zones that this crate does not know.
    pub(crate) fn parse(name: &str) -> Option<Self> {
        match name {
            "core" => Some(Self::Core),
            "uncore" => Some(Self::Uncore),
            "dram" => Some(Self::Dram),
            "psys" => Some(Self::Psys),
            _ => {
                let rest = name.strip_prefix("package-")?;
                let (package, die) = match rest.split_once("-die-") {
                    Some((package, die)) => (package, Some(die.parse().ok()?)),
                    None => (rest, None),
                };
                Some(Self::Package { package: package.parse().ok()?, die })
            }
        }
    }
}

/// A device and the zones that count for it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Planned {
    pub(crate) device: Device,
    pub(crate) source: Source,
}

/// Where a planned device's energy comes from.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Source {
    /// One counter.
    Zone(Zone),
    /// Several zones of one name or of one package's dies, which may be copies of one counter.
    Group(Vec<Zone>),
    /// One of the zones of the group of an earlier device.
    Member {
        /// Place of that device in the plan.
        group: usize,
        /// Place of the zone in the group.
        member: usize,
    },
}

/// What several zones may stand for together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Slot {
    Package(u32),
    Core(Option<(u32, Option<u32>)>),
    Uncore(Option<(u32, Option<u32>)>),
    Dram(Option<u32>),
    Psys,
}

/// The devices that zones stand for: each package once, memory beside it, parts below it, the platform apart.
pub(crate) fn plan(zones: &[Zone], core_zones: bool, vendor: Vendor, model: &str) -> Vec<Planned> {
    let mut slots: BTreeMap<Slot, Vec<&Zone>> = BTreeMap::new();
    for zone in zones {
        if let Some(slot) = slot_of(zone, zones) {
            slots.entry(slot).or_default().push(zone);
        }
    }
    let mut plan = Vec::new();
    let mut packages: BTreeMap<u32, DeviceId> = BTreeMap::new();
    for (slot, zones) in slots {
        if matches!(slot, Slot::Core(_) | Slot::Uncore(_)) && !core_zones {
            continue;
        }
        // `intel-rapl` sorts before `intel-rapl-mmio`, which repeats the same counters by another way.
        let Some(control) = zones.iter().map(|zone| zone.control()).min() else {
            continue;
        };
        let (used, repeated): (Vec<&Zone>, Vec<&Zone>) =
            zones.into_iter().partition(|zone| zone.control() == control);
        let Some(&first) = used.first() else {
            continue;
        };
        let (path, kind, parent) = match slot {
            Slot::Package(package) => (format!("package-{package}"), DeviceKind::Cpu, None),
            Slot::Core(at) | Slot::Uncore(at) => {
                let parent = at.and_then(|(package, _)| packages.get(&package).cloned());
                (below(at, &first.name), DeviceKind::CpuPart, parent)
            }
            Slot::Dram(package) => {
                (below(package.map(|package| (package, None)), "dram"), DeviceKind::Dram, None)
            }
            Slot::Psys => ("psys".to_owned(), DeviceKind::Platform, None),
        };
        let name = if model.is_empty() { path.as_str() } else { model };
        let mut device = Device::new(DeviceId::new(format!("powercap:{control}:{path}")), kind, vendor, name);
        device.parent = parent;
        device.power_limit = first.power_limit();
        let mut notes = Vec::new();
        if !repeated.is_empty() {
            let names: Vec<&str> = repeated.iter().map(|zone| zone.id.as_str()).collect();
            let pick = used.iter().map(|zone| zone.id.as_str()).collect::<Vec<_>>().join(", ");
            notes.push(format!("{} repeats the counter of {pick} and is left out", names.join(", ")));
        }
        match slot {
            Slot::Package(package) => {
                device.index = Some(package);
                packages.insert(package, device.id.clone());
            }
            Slot::Psys => notes.push(
                "the whole platform: holds the packages and memory, so it is never added to them".to_owned(),
            ),
            _ => {}
        }
        let refresh = (slot != Slot::Psys).then_some(REFRESH);
        let mut members = Vec::new();
        let source = if used.len() == 1 {
            let modulus = first.modulus();
            if modulus.is_none() {
                notes.push(
                    "the counter's range is unknown or already passed: a wrap shows as a reset".to_owned(),
                );
            }
            device.counter = Some(CounterSpec { microjoules_per_tick: (1, 1), modulus, refresh });
            Source::Zone(first.clone())
        } else {
            // Added up here, so it has no range of its own.
            device.counter = Some(CounterSpec { microjoules_per_tick: (1, 1), modulus: None, refresh });
            device.power_limit = used
                .iter()
                .map(|zone| zone.power_limit())
                .try_fold(Watts::ZERO, |sum, limit| Some(sum + limit?));
            if core_zones && matches!(slot, Slot::Package(_)) {
                members = used.iter().map(|zone| die(zone, control, &device)).collect();
            }
            Source::Group(used.into_iter().cloned().collect())
        };
        device.note = (!notes.is_empty()).then(|| notes.join("; "));
        let group = plan.len();
        plan.push(Planned { device, source });
        plan.extend(
            members
                .into_iter()
                .enumerate()
                .map(|(member, device)| Planned { device, source: Source::Member { group, member } }),
        );
    }
    plan
}

/// A die of a package, as a part of it.
fn die(zone: &Zone, control: &str, package: &Device) -> Device {
    let path = match ZoneName::parse(&zone.name) {
        Some(ZoneName::Package { die: Some(_), .. }) => zone.name.clone(),
        // Two zones of the same name: only the number tells them apart.
        _ => format!("{}@{}", zone.name, zone.id),
    };
    let id = DeviceId::new(format!("powercap:{control}:{path}"));
    let mut device = Device::new(id, DeviceKind::CpuPart, package.vendor, package.name.clone());
    device.parent = Some(package.id.clone());
    device.power_limit = zone.power_limit();
    device.counter =
        Some(CounterSpec { microjoules_per_tick: (1, 1), modulus: zone.modulus(), refresh: Some(REFRESH) });
    device
}

/// The path of names of a zone inside a package or die.
fn below(at: Option<(u32, Option<u32>)>, name: &str) -> String {
    match at {
        Some((package, Some(die))) => format!("package-{package}-die-{die}/{name}"),
        Some((package, None)) => format!("package-{package}/{name}"),
        None => name.to_owned(),
    }
}

fn slot_of(zone: &Zone, zones: &[Zone]) -> Option<Slot> {
    let above = || {
        let parent = zone.parent()?;
        let parent = zones.iter().find(|other| other.id == parent)?;
        match ZoneName::parse(&parent.name)? {
            ZoneName::Package { package, die } => Some((package, die)),
            _ => None,
        }
    };
    Some(match ZoneName::parse(&zone.name)? {
        ZoneName::Package { package, .. } => Slot::Package(package),
        ZoneName::Core => Slot::Core(above()),
        ZoneName::Uncore => Slot::Uncore(above()),
        ZoneName::Dram => Slot::Dram(above().map(|(package, _)| package)),
        ZoneName::Psys => Slot::Psys,
    })
}

/// Intel updates the counters about once a millisecond (Software Developer's Manual, volume 3, 16.10.3); no figure is
/// given for the platform's.
const REFRESH: Duration = Duration::from_millis(1);

/// Firmware writes limits of thousands of watts to mean "none" (4 095.875 W on desktop boards); no CPU package reaches
/// 2 kW.
const HIGHEST_LIMIT_UW: u64 = 2_000_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    fn zone(id: &str, name: &str) -> Zone {
        Zone {
            id: id.to_owned(),
            name: name.to_owned(),
            energy: PathBuf::from(id).join("energy_uj"),
            range_uj: Some(262_143_328_850),
            energy_uj: Some(5),
            limits_uw: Vec::new(),
        }
    }

    #[track_caller]
    fn check(zones: &[(&str, &str)], devices: &[(&str, DeviceKind, Option<&str>)]) {
        let zones: Vec<Zone> = zones.iter().map(|(id, name)| zone(id, name)).collect();
        let plan = plan(&zones, true, Vendor::Intel, "");
        let found: Vec<_> = plan
            .iter()
            .map(|planned| {
                let device = &planned.device;
                (device.id.as_str(), device.kind, device.parent.as_ref().map(DeviceId::as_str))
            })
            .collect();
        assert_eq!(found, devices);
    }

    #[test]
    fn names_decide_and_not_numbers() {
        check(
            &[("intel-rapl:0", "package-0"), ("intel-rapl:0:0", "dram"), ("intel-rapl:1", "psys")],
            &[
                ("powercap:intel-rapl:package-0", DeviceKind::Cpu, None),
                ("powercap:intel-rapl:package-0/dram", DeviceKind::Dram, None),
                ("powercap:intel-rapl:psys", DeviceKind::Platform, None),
            ],
        );
        check(
            &[("intel-rapl:0", "package-15"), ("intel-rapl:0:0", "core"), ("intel-rapl:0:1", "odd")],
            &[
                ("powercap:intel-rapl:package-15", DeviceKind::Cpu, None),
                (
                    "powercap:intel-rapl:package-15/core",
                    DeviceKind::CpuPart,
                    Some("powercap:intel-rapl:package-15"),
                ),
            ],
        );
    }

    #[test]
    fn mmio_alone_is_used_under_its_own_name() {
        check(
            &[("intel-rapl-mmio:0", "package-0")],
            &[("powercap:intel-rapl-mmio:package-0", DeviceKind::Cpu, None)],
        );
    }

    #[test]
    fn memory_that_only_the_other_way_has_is_kept() {
        check(
            &[
                ("intel-rapl-mmio:0", "package-0"),
                ("intel-rapl-mmio:0:0", "dram"),
                ("intel-rapl:0", "package-0"),
            ],
            &[
                ("powercap:intel-rapl:package-0", DeviceKind::Cpu, None),
                ("powercap:intel-rapl-mmio:package-0/dram", DeviceKind::Dram, None),
            ],
        );
    }

    #[test]
    fn dies_are_parts_of_their_package() {
        check(
            &[
                ("intel-rapl:0", "package-0-die-0"),
                ("intel-rapl:1", "package-0-die-1"),
                ("intel-rapl:1:0", "core"),
            ],
            &[
                ("powercap:intel-rapl:package-0", DeviceKind::Cpu, None),
                (
                    "powercap:intel-rapl:package-0-die-0",
                    DeviceKind::CpuPart,
                    Some("powercap:intel-rapl:package-0"),
                ),
                (
                    "powercap:intel-rapl:package-0-die-1",
                    DeviceKind::CpuPart,
                    Some("powercap:intel-rapl:package-0"),
                ),
                (
                    "powercap:intel-rapl:package-0-die-1/core",
                    DeviceKind::CpuPart,
                    Some("powercap:intel-rapl:package-0"),
                ),
            ],
        );
    }

    #[test]
    fn a_counter_above_its_range_has_no_modulus() {
        let above = Zone { energy_uj: Some(60_293_987_000_000), ..zone("intel-rapl:0", "package-0") };
        let planned = plan(&[above], true, Vendor::Intel, "");
        assert_eq!(planned[0].device.counter.unwrap().modulus, None);
        assert!(planned[0].device.note.as_deref().unwrap().contains("range"));
    }

    #[test]
    fn a_limit_that_means_none_is_absent() {
        let limits = |limits: &[(&str, u64)]| {
            let limits_uw = limits.iter().map(|(name, limit)| ((*name).to_owned(), *limit)).collect();
            let zone = Zone { limits_uw, ..zone("intel-rapl:0", "package-0") };
            plan(&[zone], true, Vendor::Intel, "")[0].device.power_limit
        };
        let usual = [("long_term", 125_000_000), ("short_term", 253_000_000), ("peak_power", 900_000_000)];
        assert_eq!(limits(&usual), Some(Watts::whole(253)));
        assert_eq!(limits(&[("long_term", 4_095_875_000)]), None);
        assert_eq!(limits(&[]), None);
    }
}
