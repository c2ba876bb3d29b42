//! RAPL zones, `amd_energy` and batteries.

use std::io::ErrorKind;
use std::time::Duration;

use wattspan_core::{Celsius, Collector, Device, DeviceKind, Reading, Vendor, Watts};

use super::tree::{Host, Tree, find};
use crate::HostOptions;

const PACKAGE: &str = "powercap:intel-rapl:package-0";
const DRAM: &str = "powercap:intel-rapl:package-0/dram";

/// Two packages with memory; `intel-rapl:0:0` is memory, since these have no core zone.
fn intel_server() -> Tree {
    let tree = Tree::machine("GenuineIntel", "Intel(R) Xeon(R) Platinum 8480+", "vme");
    tree.put("sys/class/powercap/intel-rapl/enabled", "1\n");
    tree.zone("intel-rapl:0", "package-0", 100).zone("intel-rapl:0:0", "dram", 200);
    tree.zone("intel-rapl:1", "package-1", 300).zone("intel-rapl:1:0", "dram", 400);
    for package in ["intel-rapl:0", "intel-rapl:1"] {
        for (index, name, limit) in [(0, "long_term", 350_000_000), (1, "short_term", 420_000_000_u64)] {
            tree.put(&format!("sys/class/powercap/{package}/constraint_{index}_name"), name);
            let path = format!("sys/class/powercap/{package}/constraint_{index}_power_limit_uw");
            tree.put(&path, limit.to_string());
        }
    }
    tree
}

fn laptop() -> Tree {
    let tree = Tree::machine("GenuineIntel", "Intel(R) Core(TM) Ultra 7 155H", "vme");
    tree.zone("intel-rapl:0", "package-0", 0).zone("intel-rapl:0:0", "core", 0);
    tree.zone("intel-rapl:0:1", "uncore", 0).zone("intel-rapl:0:2", "dram", 0);
    tree.zone("intel-rapl:1", "psys", 0);
    tree
}

/// Joules counted between two readings of a counter, by the device's own description of it.
#[track_caller]
fn counted(device: &Device, from: &Reading<u64>, to: &Reading<u64>) -> f64 {
    let (from, to) = (*from.as_value().unwrap(), *to.as_value().unwrap());
    let spec = device.counter.unwrap();
    assert_eq!(spec.microjoules_per_tick, (1, 1), "powercap is in microjoules already");
    let moved = if to >= from { to - from } else { to + spec.modulus.unwrap() - from };
    moved as f64 / 1e6
}

fn device<'a>(host: &'a Host, id: &str) -> &'a Device {
    host.collector.devices().iter().find(|device| device.id.as_str() == id).unwrap()
}

#[test]
fn a_server_has_two_packages_and_two_memories() {
    let mut host = intel_server().open();
    assert_eq!(
        host.ids(),
        [PACKAGE, "powercap:intel-rapl:package-1", DRAM, "powercap:intel-rapl:package-1/dram",]
    );
    let package = device(&host, PACKAGE);
    assert_eq!((package.kind, package.vendor, package.index), (DeviceKind::Cpu, Vendor::Intel, Some(0)));
    assert_eq!(package.name, "Intel(R) Xeon(R) Platinum 8480+");
    assert_eq!(package.power_limit, Some(Watts::whole(420)));
    assert!(host.collector.devices().iter().all(|device| device.is_counted()));
    let counts: Vec<Reading<u64>> = host.tick().into_iter().map(|sample| sample.energy).collect();
    assert_eq!(counts, [100, 300, 200, 400].map(Reading::Value));
}

#[test]
fn amd_is_read_through_the_same_zones() {
    let tree = Tree::machine("AuthenticAMD", "AMD EPYC 9354 32-Core Processor", "vme");
    tree.zone("intel-rapl:0", "package-0", 1).zone("intel-rapl:0:0", "core", 2);
    let host = tree.open();
    assert_eq!(host.ids(), [PACKAGE, "powercap:intel-rapl:package-0/core"]);
    assert_eq!(device(&host, PACKAGE).vendor, Vendor::Amd);
    let part = device(&host, "powercap:intel-rapl:package-0/core");
    assert_eq!(part.parent.as_ref().unwrap().as_str(), PACKAGE);
    assert!(!part.is_counted());
    let without = HostOptions { core_zones: false, ..Tree::options() };
    assert_eq!(tree.open_with(without).ids(), [PACKAGE]);
}

#[test]
fn zones_inside_each_other_are_found_too() {
    let tree = Tree::machine("GenuineIntel", "Intel", "vme");
    tree.zone("intel-rapl/intel-rapl:0", "package-0", 1);
    tree.zone("intel-rapl/intel-rapl:0/intel-rapl:0:0", "dram", 2);
    let mut host = tree.open();
    assert_eq!(host.ids(), [PACKAGE, DRAM]);
    assert_eq!(host.energy(DRAM), Reading::Value(2));
}

#[test]
fn case_rapl_01_wrap() {
    let tree = intel_server();
    tree.energy("intel-rapl:0", 261_439_421_273);
    let mut host = tree.open();
    let before = host.energy(PACKAGE);
    tree.energy("intel-rapl:0", 708_461_094);
    let after = host.energy(PACKAGE);
    let joules = counted(device(&host, PACKAGE), &before, &after);
    assert!((joules - 1_412.368_671).abs() <= 100e-6, "{joules}");
}

#[test]
fn case_rapl_03_each_wrap_is_seen() {
    let tree = intel_server();
    tree.energy("intel-rapl:0", 0);
    let mut host = tree.open();
    let mut last = host.energy(PACKAGE);
    let mut total = 0.0;
    for energy in [
        120_000_000_000,
        240_000_000_000,
        97_856_671_150,
        217_856_671_150,
        75_713_342_300,
        195_713_342_300_u64,
    ] {
        tree.energy("intel-rapl:0", energy);
        let samples = host.after(Duration::from_secs(600));
        let now = find(&samples, PACKAGE).energy.clone();
        total += counted(device(&host, PACKAGE), &last, &now);
        last = now;
    }
    assert!((total - 720_000.0).abs() <= 200e-6, "{total}");
}

#[test]
fn case_rapl_05_mmio_repeats_the_package() {
    let tree = Tree::machine("GenuineIntel", "Intel", "vme");
    tree.zone("intel-rapl:0", "package-0", 1_000_000).zone("intel-rapl-mmio:0", "package-0", 1_000_000);
    let mut host = tree.open();
    assert_eq!(host.ids(), [PACKAGE]);
    let note = device(&host, PACKAGE).note.clone().unwrap();
    assert!(note.contains("intel-rapl-mmio:0") && note.contains("intel-rapl:0"), "{note}");
    let before = host.energy(PACKAGE);
    tree.energy("intel-rapl:0", 51_000_000).energy("intel-rapl-mmio:0", 51_000_000);
    let after = host.energy(PACKAGE);
    assert_eq!(counted(device(&host, PACKAGE), &before, &after), 50.0);
}

/// Two dies that move by so many joules at each of five samples; answers with the package's joules and note.
fn two_dies(first: u64, second: u64) -> (f64, Option<String>) {
    let tree = Tree::machine("GenuineIntel", "Intel(R) Xeon(R) w7-3465X", "vme");
    tree.zone("intel-rapl:0", "package-0-die-0", 7_000).zone("intel-rapl:1", "package-0-die-1", 7_000);
    let mut host = tree.open();
    let before = host.energy(PACKAGE);
    for step in 1..=5 {
        tree.energy("intel-rapl:0", 7_000 + step * first * 1_000_000);
        tree.energy("intel-rapl:1", 7_000 + step * second * 1_000_000);
        host.tick();
    }
    let after = host.energy(PACKAGE);
    (counted(device(&host, PACKAGE), &before, &after), device(&host, PACKAGE).note.clone())
}

#[test]
fn case_rapl_07_copies_of_one_counter_count_once() {
    let (joules, note) = two_dies(68, 68);
    assert_eq!(joules, 5.0 * 68.0);
    let note = note.unwrap();
    assert!(note.contains("package-0-die-1 (intel-rapl:1) moved exactly as package-0-die-0"), "{note}");
}

#[test]
fn case_rapl_07_different_dies_are_summed() {
    let (joules, note) = two_dies(68, 41);
    assert_eq!(joules, 5.0 * (68.0 + 41.0));
    assert!(note.unwrap().contains("sum of package-0-die-0"));
}

#[test]
fn dies_are_parts_and_show_their_own_counters() {
    let tree = Tree::machine("GenuineIntel", "Intel", "vme");
    tree.zone("intel-rapl:0", "package-0-die-0", 5).zone("intel-rapl:1", "package-0-die-1", 9);
    let mut host = tree.open();
    assert_eq!(host.energy("powercap:intel-rapl:package-0-die-1"), Reading::Value(9));
    assert!(!device(&host, "powercap:intel-rapl:package-0-die-1").is_counted());
    assert_eq!(host.collector.devices().iter().filter(|device| device.is_counted()).count(), 1);
}

#[test]
fn a_refresh_between_two_reads_does_not_make_copies_distinct() {
    let tree = Tree::machine("GenuineIntel", "Intel", "vme");
    tree.zone("intel-rapl:0", "package-0-die-0", 0).zone("intel-rapl:1", "package-0-die-1", 0);
    let mut host = tree.open();
    let before = host.energy(PACKAGE);
    for second in 1..=6_u64 {
        let energy = second * 50_000_000;
        // The first zone is read just before the counter moves on by 61 µJ, the second just after.
        tree.energy("intel-rapl:0", energy).energy("intel-rapl:1", energy + 61);
        tree.script("sys/class/powercap/intel-rapl:0/energy_uj", &[energy + 61]);
        host.tick();
    }
    tree.energy("intel-rapl:0", 400_000_000).energy("intel-rapl:1", 400_000_000);
    let after = host.energy(PACKAGE);
    assert_eq!(counted(device(&host, PACKAGE), &before, &after), 400.0);
}

#[test]
fn a_reset_of_dies_goes_back_and_is_no_energy() {
    let tree = Tree::machine("GenuineIntel", "Intel", "vme");
    tree.zone("intel-rapl:0", "package-0-die-0", 0).zone("intel-rapl:1", "package-0-die-1", 0);
    let mut host = tree.open();
    host.tick();
    for (first, second, right) in
        [(10_000_000, 20_000_000, 30_000_000), (1_000, 2_000, 0), (5_001_000, 7_002_000, 12_000_000)]
    {
        tree.energy("intel-rapl:0", first).energy("intel-rapl:1", second);
        assert_eq!(host.energy(PACKAGE), Reading::Value(right));
    }
}

#[test]
fn dies_that_may_have_wrapped_twice_are_a_gap() {
    let tree = Tree::machine("GenuineIntel", "Intel", "vme");
    tree.zone("intel-rapl:0", "package-0-die-0", 0).zone("intel-rapl:1", "package-0-die-1", 0);
    let mut host = tree.open();
    host.tick();
    tree.energy("intel-rapl:0", 9_000_000).energy("intel-rapl:1", 5_000_000);
    assert_eq!(host.energy(PACKAGE), Reading::Value(14_000_000));
    tree.energy("intel-rapl:0", 10_000_000).energy("intel-rapl:1", 6_000_000);
    let samples = host.after(Duration::from_secs(1_000));
    // 262 kJ is passed within 262 s at 1 kW: the count goes back, which is a gap to its reader.
    assert_eq!(find(&samples, PACKAGE).energy, Reading::Value(0));
}

#[test]
fn case_rapl_09_no_factor_on_memory() {
    for vendor_model in ["Intel(R) Xeon(R) CPU E5-2680 v3", "Intel(R) Xeon(R) Platinum 8480+"] {
        let tree = Tree::machine("GenuineIntel", vendor_model, "vme");
        tree.zone("intel-rapl:0", "package-0", 0).zone("intel-rapl:0:0", "dram", 0);
        let mut host = tree.open();
        let before = host.energy(DRAM);
        // What the kernel makes of a million counts of 61.035 µJ.
        tree.energy("intel-rapl:0:0", 61_035_000);
        let after = host.energy(DRAM);
        assert_eq!(counted(device(&host, DRAM), &before, &after), 61.035);
    }
}

#[test]
fn case_rapl_11_refused_counters_are_denied_with_a_remedy() {
    let tree = intel_server();
    for zone in ["intel-rapl:0", "intel-rapl:0:0", "intel-rapl:1"] {
        tree.refuse(&format!("sys/class/powercap/{zone}/energy_uj"), ErrorKind::PermissionDenied);
    }
    let mut host = tree.open();
    let samples = host.tick();
    for id in [PACKAGE, DRAM, "powercap:intel-rapl:package-1"] {
        let Reading::Denied(remedy) = &find(&samples, id).energy else {
            panic!("{id} is {:?}", find(&samples, id).energy);
        };
        for part in ["energy_uj", "cap_dac_read_search", "/etc/udev/rules.d", crate::POWERCAP_UDEV_RULE] {
            assert!(remedy.as_str().contains(part), "{part} in {remedy}");
        }
    }
    // The others go on, and so does the CPU time that an estimate needs.
    assert_eq!(find(&samples, "powercap:intel-rapl:package-1/dram").energy, Reading::Value(400));
    assert!(find(&samples, PACKAGE).gauges.cpu_busy.is_value());
    assert!(device(&host, PACKAGE).counter.is_some());
}

#[test]
fn a_counter_that_is_granted_later_is_read_later() {
    let tree = intel_server();
    tree.refuse("sys/class/powercap/intel-rapl:0/energy_uj", ErrorKind::PermissionDenied);
    let mut host = tree.open();
    for _ in 0..10 {
        assert!(matches!(host.energy(PACKAGE), Reading::Denied(_)));
    }
    tree.energy("intel-rapl:0", 77);
    let found = (0..300).map(|_| host.energy(PACKAGE)).find(Reading::is_value);
    assert_eq!(found, Some(Reading::Value(77)));
}

#[test]
fn a_refused_counter_is_not_opened_at_every_tick() {
    let tree = intel_server();
    tree.refuse("sys/class/powercap/intel-rapl:0/energy_uj", ErrorKind::PermissionDenied);
    let mut host = tree.open();
    host.tick();
    let before = tree.opens();
    for _ in 0..100 {
        host.after(Duration::from_millis(1));
    }
    // 1, 2, 4, 8, 16 and 32 ticks of waiting fall into a hundred; all other files stay open.
    assert!(tree.opens() - before <= 7, "{} opens", tree.opens() - before);
}

#[test]
fn a_lost_counter_is_failed_and_comes_back() {
    let tree = intel_server();
    let mut host = tree.open();
    assert_eq!(host.energy(PACKAGE), Reading::Value(100));
    tree.remove("sys/class/powercap/intel-rapl:0/energy_uj");
    assert!(matches!(host.energy(PACKAGE), Reading::Failed(_)));
    assert_eq!(host.energy(DRAM), Reading::Value(200));
    tree.energy("intel-rapl:0", 5);
    let found = (0..8).map(|_| host.energy(PACKAGE)).find(Reading::is_value);
    assert_eq!(found, Some(Reading::Value(5)));
}

#[test]
fn case_rapl_13_platform_stands_apart() {
    let tree = laptop();
    let mut host = tree.open();
    let before = host.tick();
    tree.energy("intel-rapl:0", 30_000_000).energy("intel-rapl:0:0", 27_000_000);
    tree.energy("intel-rapl:1", 38_000_000).energy("intel-rapl:0:2", 2_000_000);
    let after = host.tick();
    let joules = |kind: DeviceKind, counted_only: bool| -> f64 {
        let of = |sample: &&wattspan_core::DeviceSample| {
            sample.device.kind == kind && (!counted_only || sample.device.is_counted())
        };
        after
            .iter()
            .filter(of)
            .map(|sample| {
                let id = sample.device.id.as_str();
                counted(&sample.device, &find(&before, id).energy, &sample.energy)
            })
            .sum()
    };
    assert_eq!((joules(DeviceKind::Cpu, true), joules(DeviceKind::Dram, true)), (30.0, 2.0));
    assert_eq!((joules(DeviceKind::Platform, false), joules(DeviceKind::Platform, true)), (38.0, 0.0));
    assert_eq!((joules(DeviceKind::CpuPart, false), joules(DeviceKind::CpuPart, true)), (27.0, 0.0));
}

#[test]
fn a_zone_without_a_counter_is_no_device() {
    let tree = intel_server();
    tree.remove("sys/class/powercap/intel-rapl:1/energy_uj");
    assert!(!tree.open().ids().contains(&"powercap:intel-rapl:package-1"));
}

#[test]
fn a_masked_container_says_what_to_do() {
    let tree = Tree::machine("GenuineIntel", "Intel", "vme");
    // Links without what they point to.
    for zone in ["intel-rapl", "intel-rapl:0", "intel-rapl:0:0"] {
        tree.link(&format!("sys/class/powercap/{zone}"), "../../devices/virtual/powercap");
    }
    tree.put(".dockerenv", "");
    let mut host = tree.open();
    assert_eq!(host.ids(), ["host:cpu"]);
    assert!(device(&host, "host:cpu").note.as_deref().unwrap().contains("systempaths=unconfined"));
    let Reading::Denied(remedy) = host.energy("host:cpu") else { panic!("masked is denied") };
    assert!(remedy.as_str().contains("/sys/devices/virtual/powercap"));
}

fn amd_energy() -> Tree {
    let tree = Tree::machine("AuthenticAMD", "AMD EPYC 7742 64-Core Processor", "vme");
    tree.put("sys/class/hwmon/hwmon0/name", "nvme\n")
        .put("sys/class/hwmon/hwmon0/temp1_label", "Composite\n");
    tree.put("sys/class/hwmon/hwmon3/name", "amd_energy\n");
    for (number, label, energy) in [(1, "Ecore000", 11), (2, "Ecore001", 12), (3, "Esocket0", 100_u64)] {
        tree.put(&format!("sys/class/hwmon/hwmon3/energy{number}_label"), format!("{label}\n"));
        tree.put(&format!("sys/class/hwmon/hwmon3/energy{number}_input"), format!("{energy}\n"));
    }
    tree
}

#[test]
fn amd_energy_is_read_where_powercap_is_not() {
    let tree = amd_energy();
    let mut host = tree.open();
    assert_eq!(host.ids(), ["hwmon:amd_energy:socket-0"]);
    assert_eq!(host.energy("hwmon:amd_energy:socket-0"), Reading::Value(100));
    assert_eq!(device(&host, "hwmon:amd_energy:socket-0").counter.unwrap().modulus, None);
    let cores = tree.open_with(HostOptions { per_core: true, ..Tree::options() });
    assert_eq!(cores.ids().len(), 3);
    assert_eq!(cores.collector.devices().iter().filter(|device| device.is_counted()).count(), 1);
}

#[test]
fn each_package_has_its_temperature() {
    let tree = intel_server();
    for (chip, package, temperature) in [("hwmon1", 0, "54000\n"), ("hwmon2", 1, "61500\n")] {
        let folder = format!("sys/class/hwmon/{chip}");
        tree.put(&format!("{folder}/name"), "coretemp\n");
        tree.put(&format!("{folder}/temp1_label"), format!("Package id {package}\n"));
        tree.put(&format!("{folder}/temp1_input"), temperature);
        tree.put(&format!("{folder}/temp2_label"), "Core 0\n")
            .put(&format!("{folder}/temp2_input"), "99000\n");
    }
    let samples = tree.open().tick();
    let temperature = |id: &str| find(&samples, id).gauges.temperature.clone().value().map(Celsius::celsius);
    assert_eq!(temperature(PACKAGE), Some(54.0));
    assert_eq!(temperature("powercap:intel-rapl:package-1"), Some(61.5));
    assert_eq!(temperature(DRAM), None);

    let tree = amd_energy();
    tree.put("sys/class/hwmon/hwmon4/name", "k10temp\n").put("sys/class/hwmon/hwmon4/temp1_label", "Tctl\n");
    tree.put("sys/class/hwmon/hwmon4/temp1_input", "40125\n");
    let samples = tree.open().tick();
    assert_eq!(samples[0].gauges.temperature, Reading::Value(Celsius::new(40.125).unwrap()));
}

#[test]
fn amd_energy_does_not_repeat_powercap() {
    let tree = amd_energy();
    tree.zone("intel-rapl:0", "package-0", 1);
    assert_eq!(tree.open_with(HostOptions { per_core: true, ..Tree::options() }).ids(), [PACKAGE]);
}

fn battery(files: &[(&str, &str)]) -> Reading<Watts> {
    let tree = laptop();
    for (file, content) in files {
        tree.put(&format!("sys/class/power_supply/BAT0/{file}"), content);
    }
    tree.put("sys/class/power_supply/BAT0/type", "Battery\n")
        .put("sys/class/power_supply/AC/type", "Mains\n");
    tree.put("sys/class/power_supply/mouse/type", "Battery\n");
    tree.put("sys/class/power_supply/mouse/scope", "Device\n");
    assert!(!tree.open().ids().contains(&"battery:BAT0"), "only when asked for");
    let mut host = tree.open_with(HostOptions { battery: true, ..Tree::options() });
    assert!(!host.ids().contains(&"battery:mouse"));
    let samples = host.tick();
    let sample = find(&samples, "battery:BAT0");
    assert_eq!((sample.device.kind, sample.device.is_counted()), (DeviceKind::Platform, false));
    sample.power.clone()
}

#[test]
fn a_battery_tells_power_while_it_discharges() {
    let discharging = ("status", "Discharging\n");
    assert_eq!(
        battery(&[discharging, ("power_now", "15250000\n")]),
        Reading::Value(Watts::new(15.25).unwrap())
    );
    let product = battery(&[discharging, ("current_now", "-1250000\n"), ("voltage_now", "12000000\n")]);
    assert_eq!(product, Reading::Value(Watts::whole(15)));
    assert!(matches!(battery(&[("status", "Charging\n"), ("power_now", "15250000\n")]), Reading::Failed(_)));
    assert!(matches!(battery(&[discharging, ("power_now", "0\n")]), Reading::Failed(_)));
    assert!(matches!(battery(&[discharging, ("power_now", "65535000000\n")]), Reading::Failed(_)));
    assert!(matches!(battery(&[discharging]), Reading::Failed(_)));
}
