//! Whole machines: what is found, what is counted, and what becomes of faults.

use super::*;

const VEGA: &str = include_str!("../../fixtures/vega.tree");
const RDNA: &str = include_str!("../../fixtures/rdna.tree");
const INSTINCT: &str = include_str!("../../fixtures/instinct.tree");
const APU: &str = include_str!("../../fixtures/apu.tree");

const VEGA_CARD: &str = "sys/class/drm/card0/device";
const SECOND: Duration = Duration::from_secs(1);

/// Id, kind, parent and whether it is added, of each device.
fn listed(collector: &AmdCollector) -> Vec<(String, DeviceKind, Option<String>, bool)> {
    collector
        .devices()
        .iter()
        .map(|device| {
            let parent = device.parent.as_ref().map(ToString::to_string);
            (device.id.to_string(), device.kind, parent, device.is_counted())
        })
        .collect()
}

#[test]
fn vega_reads_hwmon_where_the_table_says_zero_watts() {
    let mut bench = Bench::new(VEGA);
    let device = Arc::clone(&bench.collector.devices()[0]);
    assert_eq!(device.id.as_str(), "GPU-2160ac9c2a5b43f1");
    assert_eq!(device.name, "AMD GPU 1002:66af");
    assert_eq!(device.pci_address.as_deref(), Some("0000:0a:00.0"));
    assert_eq!(device.driver_version.as_deref(), Some("linux 6.8.0-45-generic"));
    assert_eq!(device.power_limit, Some(Watts::whole(250)));
    assert_eq!(device.counter, None);
    assert_eq!(device.power.unwrap().shape, PowerShape::TrailingMean { window: SECOND });
    assert!(device.note.as_deref().unwrap().contains("power is hwmon power1_average"));
    let sample = bench.sample().remove(0);
    assert_eq!(sample.energy, Reading::NotSupported);
    assert_eq!(sample.power, Reading::Value(Watts::whole(181)));
    assert_eq!(sample.gauges.utilization, Reading::Value(Ratio::percent(37.0).unwrap()));
    assert_eq!(sample.gauges.memory_used, Reading::Value(Bytes::new(1_048_576_000)));
    assert_eq!(sample.gauges.memory_total, Reading::Value(Bytes::new(17_163_091_968)));
    assert_eq!(sample.gauges.temperature, Reading::Value(Celsius::whole(54)));
    assert_eq!(sample.gauges.memory_temperature, Reading::Value(Celsius::whole(58)));
    assert_eq!(sample.gauges.fan, Reading::Value(Ratio::share(0.5).unwrap()));
    assert_eq!(sample.gauges.clock.as_value().unwrap().hertz(), 1.801e9);
    assert_eq!(sample.gauges.memory_utilization, Reading::NotSupported);
    assert_eq!(sample.processes, Reading::NotSupported);
}

#[test]
fn only_cards_of_amdgpu_are_found_and_in_the_order_of_their_addresses() {
    let bench = Bench::new(RDNA);
    let right = [
        ("GPU-f00dcafe12345678".to_owned(), DeviceKind::Gpu, None, true),
        ("pci-0000:2f:00.0".to_owned(), DeviceKind::Gpu, None, true),
    ];
    assert_eq!(listed(&bench.collector), right);
}

#[test]
fn a_card_without_an_average_gives_its_instant_power() {
    let mut bench = Bench::new(RDNA);
    let samples = bench.sample();
    assert_eq!(samples[0].power, Reading::Value(Watts::whole(339)));
    assert_eq!(samples[0].device.power.unwrap().shape, PowerShape::Instant { window: Duration::ZERO });
    assert_eq!(samples[0].gauges.temperature, Reading::Value(Celsius::whole(84)));
    assert_eq!(samples[1].power, Reading::Value(Watts::whole(41)));
    // The accumulator of this generation has no stated unit: not trusted unless asked for.
    assert_eq!(samples[1].device.counter, None);
    assert_eq!(samples[1].energy, Reading::NotSupported);
}

#[test]
fn instinct_partitions_and_second_dies_are_never_added_to_their_parents() {
    let bench = Bench::new(INSTINCT);
    let gpu = |id: &str| (id.to_owned(), DeviceKind::Gpu, None, true);
    let part =
        |id: &str, parent: &str| (id.to_owned(), DeviceKind::GpuPartition, Some(parent.to_owned()), false);
    let right = [
        gpu("GPU-0100000000000001"),
        gpu("GPU-0200000000000002"),
        gpu("GPU-0250000000000003"),
        part("GPU-0250000000000004", "GPU-0250000000000003"),
        gpu("GPU-0300000000000005"),
        part("GPU-0300000000000005/partition-0", "GPU-0300000000000005"),
        part("GPU-0300000000000005/partition-1", "GPU-0300000000000005"),
    ];
    assert_eq!(listed(&bench.collector), right);
    assert_eq!(bench.collector.devices()[4].driver_version.as_deref(), Some("6.10.5"));
}

#[test]
fn a_die_without_a_sensor_is_absent_and_not_zero_watts() {
    let mut bench = Bench::new(INSTINCT);
    let samples = bench.sample();
    assert_eq!(samples[2].power, Reading::Value(Watts::whole(420)));
    assert_eq!(samples[3].power, Reading::NotSupported);
    assert_eq!(samples[3].energy, Reading::NotSupported);
    // The rest of the die is its own.
    assert_eq!(samples[3].gauges.memory_used, Reading::Value(Bytes::new(11_000_000)));
    assert_eq!(samples[5].power, Reading::NotSupported);
}

#[test]
fn the_accumulator_with_a_stated_tick_is_a_counter() {
    let mut bench = Bench::new(INSTINCT);
    let right = CounterSpec { microjoules_per_tick: (15_625, 1_024), modulus: None, refresh: None };
    assert_eq!(bench.collector.devices()[4].counter, Some(right));
    assert_eq!(bench.sample()[4].energy, Reading::Value(65_536_000));
    // 65 536 000 ticks of 2⁻¹⁶ J are 1 000 J.
    assert_eq!(65_536_000_u128 * 15_625 / 1_024, 1_000_000_000);
}

#[test]
fn processes_of_kfd_go_to_the_partition_that_they_use() {
    let mut bench = Bench::new(INSTINCT);
    let samples = bench.sample();
    let pids = |sample: &DeviceSample| -> Vec<(u32, Option<u64>)> {
        let processes = sample.processes.as_value().unwrap();
        processes.iter().map(|one| (one.pid, one.memory.as_value().map(|memory| memory.bytes()))).collect()
    };
    assert_eq!(pids(&samples[4]), [(900, Some(1_000_000)), (901, Some(3_000_000))]);
    assert_eq!(pids(&samples[5]), [(900, Some(1_000_000))]);
    assert_eq!(pids(&samples[6]), [(901, Some(3_000_000))]);
    assert_eq!(pids(&samples[0]), []);
    assert_eq!(samples[5].gauges.memory_total, Reading::Value(Bytes::new(103_066_632_192)));
}

#[test]
fn a_watched_process_has_its_clients_counted_once() {
    let mut bench = Bench::new(RDNA);
    bench.collector.watch(&[4242]);
    let first = bench.sample().remove(0).processes.value().unwrap();
    assert_eq!(first.len(), 1);
    assert_eq!(first[0].pid, 4242);
    // Client 31 (4 s, on two descriptors) and client 32 (0.5 s).
    assert_eq!(first[0].busy, Reading::Value(Duration::from_millis(4_500)));
    // KFD knows of more memory than fdinfo.
    assert_eq!(first[0].memory, Reading::Value(Bytes::new(8_589_934_592)));
    assert!(!first[0].utilization.is_value());
    let later = "drm-driver:\\tamdgpu\\ndrm-pdev:\\t0000:03:00.0\\ndrm-client-id:\\t31\\n\
                 drm-engine-compute:\\t4250000000 ns";
    bench.files.set("proc/4242/fdinfo/7", later);
    bench.files.set("proc/4242/fdinfo/8", later);
    let then = bench.first_after(Duration::from_millis(500)).processes.value().unwrap();
    assert_eq!(then[0].utilization, Reading::Value(Ratio::share(0.5).unwrap()));
}

#[test]
fn a_process_that_may_not_be_read_is_denied_with_a_remedy() {
    let files = Memory::new(VEGA);
    files.put("proc/77/fdinfo", Err(EACCES));
    let mut bench = Bench::with(files, &AmdOptions::default());
    bench.collector.watch(&[77]);
    let processes = bench.sample().remove(0).processes;
    assert!(processes.absence().unwrap().contains("process 77"), "{processes:?}");
}

#[test]
fn an_apu_is_not_added_unless_asked_and_says_what_its_power_covers() {
    let mut bench = Bench::new(APU);
    assert!(bench.collector.devices().iter().all(|device| !device.is_counted()));
    let note = bench.collector.devices()[0].note.clone().unwrap();
    assert!(note.contains("CPU cores included"), "{note}");
    let samples = bench.sample();
    assert_eq!(samples[0].power, Reading::Value(Watts::whole(18)));
    // The newer table has the graphics part by itself.
    assert_eq!(samples[1].power, Reading::Value(Watts::from_milliwatts(11_500)));
    assert_eq!(samples[1].gauges.utilization, Reading::Value(Ratio::percent(41.5).unwrap()));

    let mut options =
        AmdOptions { apu: ApuEnergy::PartOf(DeviceId::new("package-0")), ..AmdOptions::default() };
    let bench = Bench::with(Memory::new(APU), &options);
    assert_eq!(bench.collector.devices()[0].parent, Some(DeviceId::new("package-0")));
    options.apu = ApuEnergy::Counted;
    let bench = Bench::with(Memory::new(APU), &options);
    assert!(bench.collector.devices()[0].is_counted());
}

#[test]
fn a_sleeping_card_is_not_woken_and_is_looked_at_once_it_wakes() {
    let files = Memory::new(VEGA);
    files.set(&format!("{VEGA_CARD}/power/runtime_status"), "suspended");
    let mut bench = Bench::with(files, &AmdOptions::default());
    assert_eq!(bench.collector.devices()[0].power, None);
    let asleep = bench.sample().remove(0);
    assert!(asleep.power.absence().unwrap().contains("runtime suspended"));
    assert!(asleep.gauges.memory_used.absence().unwrap().contains("runtime suspended"));
    assert!(!asleep.energy.is_value());
    // What the driver keeps in memory may be read; the sensors and counters would wake the card.
    let kept =
        ["uevent", "vendor", "device", "unique_id", "serial_number", "product_name", "power/runtime_status"];
    for path in bench.files.touched() {
        let own = path.strip_prefix(VEGA_CARD).map(|path| path.trim_start_matches('/').to_owned());
        assert!(own.is_none_or(|path| kept.contains(&path.as_str())), "{path}");
    }

    bench.files.set(&format!("{VEGA_CARD}/power/runtime_status"), "active");
    let awake = bench.first_after(SECOND);
    assert_eq!(awake.power, Reading::Value(Watts::whole(181)));
    assert!(bench.collector.devices()[0].power.is_some());
    assert_eq!(awake.device.id, asleep.device.id);
}

#[test]
fn a_refused_or_busy_file_says_so_and_a_later_one_is_read() {
    let mut bench = Bench::new(VEGA);
    let power = format!("{VEGA_CARD}/hwmon/hwmon3/power1_average");
    for (code, word) in [(EACCES, "denied"), (EPERM, "denied"), (EBUSY, "busy"), (EIO, "cannot be read")] {
        bench.files.put(&power, Err(code));
        let sample = bench.first_after(SECOND);
        let absence = sample.power.absence().unwrap();
        assert!(absence.contains(word) && absence.contains("power1_average"), "{absence}");
    }
    bench.files.set(&power, "181000000");
    assert_eq!(bench.first_after(SECOND).power, Reading::Value(Watts::whole(181)));
}

#[test]
fn zero_watts_from_a_sensor_that_worked_is_absent() {
    let mut bench = Bench::new(VEGA);
    bench.files.set(&format!("{VEGA_CARD}/hwmon/hwmon3/power1_average"), "0");
    assert_eq!(watts(&bench.first_after(SECOND)), None);
}

#[test]
fn a_card_that_was_pulled_out_fails_with_that_reason() {
    let mut bench = Bench::new(RDNA);
    bench.files.remove("sys/class/drm/card1/");
    let samples = bench.sample();
    assert_eq!(samples.len(), 2);
    assert!(samples[0].power.absence().unwrap().contains("gone"));
    assert!(samples[1].power.is_value());
}

#[test]
fn an_unknown_table_falls_back_to_hwmon() {
    let files = Memory::new(VEGA);
    let mut unknown = vec![0_u8; 512];
    unknown[..4].copy_from_slice(&[0, 2, 1, 9]);
    files.put(&format!("{VEGA_CARD}/gpu_metrics"), Ok(unknown));
    let mut bench = Bench::with(files, &AmdOptions::default());
    let note = bench.collector.devices()[0].note.clone().unwrap();
    assert!(note.contains("v1.9 of 512 bytes") && note.contains("hwmon"), "{note}");
    assert_eq!(bench.sample().remove(0).power, Reading::Value(Watts::whole(181)));
}

#[test]
fn a_short_table_fails_this_time_only() {
    let files = Memory::new(INSTINCT);
    let mut bench = Bench::with(files, &AmdOptions::default());
    let path = "sys/class/drm/card5/device/gpu_metrics";
    let whole = bench.files.read(path).unwrap();
    bench.files.put(path, Ok(whole[..200].to_vec()));
    let sample = &bench.sample()[4];
    assert!(sample.energy.absence().unwrap().contains("200 bytes of 384"));
    assert!(!sample.power.is_value());
    bench.files.put(path, Ok(whole));
    assert_eq!(bench.sample()[4].energy, Reading::Value(65_536_000));
}

#[test]
fn no_card_is_no_collector_and_a_forbidden_list_is_an_error() {
    let none = AmdCollector::open_source(Box::new(Memory::default()), &AmdOptions::default());
    assert!(matches!(none, Ok(None)));
    let files = Memory::default();
    files.put("sys/class/drm", Err(EACCES));
    let denied = AmdCollector::open_source(Box::new(files), &AmdOptions::default()).unwrap_err();
    assert!(denied.to_string().contains("may not be read"), "{denied}");
}

#[test]
fn a_tree_on_disk_is_read_like_one_in_memory() {
    let root = std::env::temp_dir().join(format!("wattspan-amd-{}", std::process::id()));
    for (path, content) in Memory::new(VEGA).0.lock().unwrap().iter() {
        let path = root.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content.as_ref().unwrap()).unwrap();
    }
    let mut options = AmdOptions::default();
    options.root.clone_from(&root);
    let mut collector = AmdCollector::open(&options).unwrap().unwrap();
    let (clock, mut samples) = (ScriptedClock::new(SystemTime::UNIX_EPOCH), Vec::new());
    collector.sample(&mut SampleBuffer::new(&clock, &mut samples)).unwrap();
    std::fs::remove_dir_all(&root).unwrap();
    assert_eq!(samples[0].power, Reading::Value(Watts::whole(181)));
    assert_eq!(clock.mono(), samples[0].time);
}

#[test]
fn visible_devices_are_named_in_the_order_of_the_runtime() {
    let bench = Bench::new(INSTINCT);
    let names = |rocr: Option<&str>, hip: Option<&str>| -> Vec<String> {
        bench.collector.visible(rocr, hip).iter().map(ToString::to_string).collect()
    };
    // Four whole dies and the two partitions of the fifth.
    assert_eq!(names(None, None).len(), 6);
    assert_eq!(names(Some("5,0"), Some("0")), ["GPU-0300000000000005/partition-1"]);
    assert_eq!(names(Some("GPU-0200000000000002"), None), ["GPU-0200000000000002"]);
    assert_eq!(names(Some(""), None), [""; 0]);
}
