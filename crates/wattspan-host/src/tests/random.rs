//! Whatever stands in the files, nothing panics and no figure is absurd.

use proptest::prelude::*;
use wattspan_core::Collector;

use super::tree::Tree;
use crate::{ContainerRef, HostOptions, procfs};

/// Every kind of file that the collector reads.
fn everything() -> Tree {
    let tree = Tree::machine("GenuineIntel", "Intel", "vme");
    tree.zone("intel-rapl:0", "package-0-die-0", 5).zone("intel-rapl:1", "package-0-die-1", 5);
    tree.zone("intel-rapl:0:0", "dram", 5).zone("intel-rapl:2", "psys", 5);
    tree.zone("intel-rapl-mmio:0", "package-0", 5);
    tree.put("sys/class/powercap/intel-rapl:0/constraint_0_name", "long_term");
    tree.put("sys/class/powercap/intel-rapl:0/constraint_0_power_limit_uw", "350000000");
    tree.put("sys/class/hwmon/hwmon3/energy3_label", "Esocket1\n");
    tree.put("sys/class/hwmon/hwmon3/energy3_input", "100\n");
    tree.put("sys/class/hwmon/hwmon4/name", "k10temp").put("sys/class/hwmon/hwmon4/temp1_label", "Tctl");
    tree.put("sys/class/hwmon/hwmon4/temp1_input", "5");
    for (file, content) in [
        ("type", "Battery"),
        ("status", "Discharging"),
        ("power_now", "1"),
        ("current_now", "1"),
        ("voltage_now", "1"),
    ] {
        tree.put(&format!("sys/class/power_supply/BAT0/{file}"), content);
    }
    tree.process("77", 77, 5, 5);
    tree.put("sys/fs/cgroup/memory.max", "5").put("sys/fs/cgroup/cpu.max", "5 5");
    tree
}

/// Bytes that look like numbers more often than chance would make them.
fn content() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        prop::collection::vec(any::<u8>(), 0..200),
        any::<u64>().prop_map(|number| number.to_string().into_bytes()),
        any::<i128>().prop_map(|number| number.to_string().into_bytes()),
        "[a-z0-9 :()._\n-]{0,80}".prop_map(String::into_bytes),
        "cpu( [0-9]{1,20}){0,12}".prop_map(String::into_bytes),
        "[0-9]{1,12} \\(x\\) S( [0-9]{1,20}){0,40}".prop_map(String::into_bytes),
        "(MemTotal|MemAvailable): [0-9]{1,20} kB\nMemAvailable: [0-9]{1,20} kB\n"
            .prop_map(String::into_bytes),
        "(package-[0-9]{1,12}(-die-[0-9]{1,12})?|psys|dram|core)".prop_map(String::into_bytes),
        "E(socket|core)[0-9]{0,12}".prop_map(String::into_bytes),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn any_bytes_in_any_file_are_survived(
        before in prop::collection::vec((any::<prop::sample::Index>(), content()), 0..12),
        after in prop::collection::vec((any::<prop::sample::Index>(), content()), 0..12),
    ) {
        let tree = everything();
        let paths = tree.paths();
        let spoil = |edits: Vec<(prop::sample::Index, Vec<u8>)>| {
            for (index, content) in edits {
                tree.overwrite(&paths[index.index(paths.len())], content);
            }
        };
        spoil(before);
        let mut host = tree.open_with(HostOptions { battery: true, per_core: true, ..Tree::options() });
        host.collector.watch(&[77]);
        let first = host.tick();
        spoil(after);
        for sample in first.into_iter().chain(host.tick()).chain(host.tick()) {
            if let Some(power) = sample.power.as_value() {
                prop_assert!((0.0..=1_000.0).contains(&power.watts()));
            }
            if let Some(share) = sample.gauges.utilization.as_value() {
                prop_assert!((0.0..=1.0).contains(&share.ratio()));
            }
            if let (Some(used), Some(total)) = (sample.gauges.memory_used.as_value(), sample.gauges.memory_total.as_value()) {
                prop_assert!(used <= total);
            }
            if let Some(temperature) = sample.gauges.temperature.as_value() {
                prop_assert!((-60.0..=150.0).contains(&temperature.celsius()));
            }
            if let Some(limit) = sample.device.power_limit {
                prop_assert!(limit.watts() > 0.0 && limit.watts() <= 4_000.0);
            }
            if let Some(spec) = sample.device.counter {
                prop_assert_eq!(spec.microjoules_per_tick, (1, 1));
                prop_assert_ne!(spec.modulus, Some(0));
            }
        }
        let facts = host.collector.facts();
        prop_assert!(facts.cpu_limit.is_none_or(|cpus| cpus > 0.0 && cpus.is_finite()));
    }

    #[test]
    fn any_text_is_parsed_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..300), text in "\\PC{0,200}") {
        let lossy = String::from_utf8_lossy(&bytes);
        for text in [&*lossy, &*text] {
            let _ = ContainerRef::parse(text);
            let _ = procfs::cpu_info(text);
            let _ = procfs::memory(text);
            prop_assert!(procfs::listeners(text).count() <= text.lines().count());
            prop_assert!(procfs::unix_listeners(text, "/x").len() <= text.lines().count());
        }
        if let Some(ticks) = procfs::cpu_ticks(&bytes) {
            prop_assert!(ticks.busy <= ticks.all);
        }
        let _ = procfs::process_ticks(&bytes);
    }
}
