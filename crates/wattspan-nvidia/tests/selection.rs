//! Which devices are read: selections and MIG.
#![cfg(target_os = "linux")]

mod common;

use std::time::Duration;

use common::{Bench, SECOND, open_selected, told};
use wattspan_core::{Bytes, Collector, DeviceKind, DeviceSample, GpuInstance, Joules, OpenError, Reading};
use wattspan_fake_nvml::{FakeNvml, MigDevice, ProcessSpec};
use wattspan_nvidia::{NvidiaCollector, Selection};

const GIB: u64 = 1 << 30;
const SLICE: &str = "MIG-3f2504e0-4f89-11d3-9a0c-0305e82c3301";

fn gpus(count: usize) -> FakeNvml {
    FakeNvml::builder().gpus(count).control("gpu all preset hopper\ngpu all idle 60").load().unwrap()
}

fn indices(samples: &[DeviceSample]) -> Vec<Option<u32>> {
    samples.iter().map(|sample| sample.device.index).collect()
}

/// GPU 0 with two MIG devices, GPU 1 without.
fn partitioned() -> FakeNvml {
    let fake = gpus(2);
    let slice = |uuid: &str, used: u64, instance: (u32, u32)| MigDevice {
        memory: 20 * GIB,
        used,
        instance: Some(instance),
        uuid: Some(uuid.to_owned()),
        slices: Some(2),
    };
    let other = "MIG-00000000-4f89-11d3-9a0c-0305e82c3302";
    fake.gpu(0).mig(true).unwrap().mig_device(&slice(SLICE, GIB, (1, 0))).unwrap();
    fake.gpu(0).mig_device(&slice(other, 2 * GIB, (2, 0))).unwrap();
    let process = |pid, gpu: u32| ProcessSpec {
        pid,
        memory: Some(GIB),
        instance: Some((gpu, 0)),
        ..ProcessSpec::default()
    };
    fake.gpu(0).process(process(11, 1)).unwrap().process(process(22, 2)).unwrap();
    fake
}

#[test]
fn case_attribution_05_only_the_visible_gpu_is_read() {
    let fake = gpus(8);
    fake.gpu(3).idle_watts(400.0).unwrap();
    let mut bench = Bench::visible(fake, "3");
    let before = bench.one();
    let after = bench.tick(Duration::from_secs(10));
    assert_eq!(indices(&after), [Some(3)]);
    let delta = after[0].energy.as_value().unwrap() - before.energy.as_value().unwrap();
    assert_eq!(Joules::from_millijoules(delta as i64), Joules::from_millijoules(4_000_000));
}

#[test]
fn selections_find_devices_by_each_of_their_names() {
    #[track_caller]
    fn check(devices: &str, expected: &[u32]) {
        let fake = gpus(4);
        let collector = open_selected(&fake, devices).expect("devices").expect("a driver");
        let found: Vec<u32> = collector.devices().iter().filter_map(|device| device.index).collect();
        assert_eq!(found, expected, "{devices}");
    }
    check("all", &[0, 1, 2, 3]);
    check("2", &[2]);
    check("GPU-fa4e0000-0000-4000-8000-000000000001", &[1]);
    check("0000:04:00.0", &[3]);
    check("3,0", &[0, 3]);
}

#[test]
fn device_that_is_not_there_is_named_with_those_that_are() {
    let fake = gpus(2);
    let Err(OpenError::NoSuchDevice { selection, remedy }) = open_selected(&fake, "0,7") else {
        panic!("there is no device 7");
    };
    assert_eq!(selection, "7");
    assert!(remedy.contains("1 = GPU-fa4e0000-0000-4000-8000-000000000001"), "{remedy}");
}

#[test]
fn nothing_selected_does_not_even_load_the_driver() {
    let fake = gpus(1);
    let mut options = common::options(&fake);
    options.devices = Selection::cuda_visible_devices(Some("")).unwrap();
    assert!(NvidiaCollector::open(&options).unwrap().is_none());
    assert_eq!(fake.calls("nvmlInit_v2").unwrap(), 0);
}

#[test]
fn selected_gpu_is_followed_when_numbers_change() {
    let fake = gpus(2);
    fake.gpu(1).idle_watts(400.0).unwrap();
    let mut bench = Bench::visible(fake, "1");
    let before = bench.one();
    bench.fake.control("gpu 1 lost").unwrap();
    bench.one();
    bench.fake.control("gpu 1 return index 0").unwrap();
    for _ in 0..10 {
        bench.one();
    }
    let after = bench.one();
    assert_eq!(after.device.id, before.device.id);
    assert_eq!(after.device.index, Some(0));
    assert!(after.energy.is_value());
}

#[test]
fn slices_are_parts_of_their_gpu_and_add_no_energy() {
    let mut bench = Bench::on(partitioned());
    let samples = bench.tick(SECOND);
    let kinds: Vec<DeviceKind> = samples.iter().map(|sample| sample.device.kind).collect();
    assert_eq!(kinds, [DeviceKind::Gpu, DeviceKind::GpuPartition, DeviceKind::GpuPartition, DeviceKind::Gpu]);
    let counted: u64 = samples
        .iter()
        .filter(|sample| sample.device.is_counted())
        .map(|sample| sample.energy.as_value().expect("a counter"))
        .sum();
    assert_eq!(counted, 120_000, "two GPUs of 60 W, and nothing twice");
    // Two sevenths of the GPU and 20 GB each, as the driver's names have it.
    let instances: Vec<_> = samples.iter().map(|sample| sample.device.gpu_instance.clone()).collect();
    let slice = |id| Some(GpuInstance::new(id, Some("2g.20gb".to_owned())));
    assert_eq!(instances, [None, slice(1), slice(2), None]);
    for slice in &samples[1..3] {
        assert_eq!(slice.device.parent.as_ref(), Some(&samples[0].device.id));
        assert!(!slice.device.is_counted());
        assert_eq!((slice.device.counter, slice.device.power), (None, None));
        assert_eq!((&slice.energy, &slice.power), (&Reading::NotSupported, &Reading::NotSupported));
        assert_eq!(slice.gauges.memory_total, Reading::Value(Bytes::new(20 * GIB)));
    }
    assert_eq!(samples[1].gauges.memory_used, Reading::Value(Bytes::new(GIB)));
    assert_eq!(samples[2].gauges.memory_used, Reading::Value(Bytes::new(2 * GIB)));
    let pids = |at: usize| -> Vec<u32> {
        samples[at].processes.as_value().expect("a list").iter().map(|process| process.pid).collect()
    };
    assert_eq!((pids(1), pids(2)), (vec![11], vec![22]));
}

#[test]
fn case_nvml_07_visible_slice_comes_with_its_gpu() {
    for value in [SLICE.to_owned(), "MIG-GPU-fa4e0000-0000-4000-8000-000000000000/1/0".to_owned()] {
        let mut bench = Bench::visible(partitioned(), &value);
        let samples = bench.tick(SECOND);
        assert_eq!(samples.len(), 2, "{value}");
        assert_eq!(samples[1].device.id.as_str(), SLICE);
        assert_eq!(samples[1].device.parent.as_ref(), Some(&samples[0].device.id));
        assert_eq!(samples[0].energy, Reading::Value(60_000));
    }
    let fake = partitioned();
    let mut options = common::options(&fake);
    options.devices =
        Selection::cuda_visible_devices(Some("MIG-ffffffff-4f89-11d3-9a0c-0305e82c3301")).unwrap();
    assert!(matches!(NvidiaCollector::open(&options), Err(OpenError::NoSuchDevice { .. })));
}

#[test]
fn partition_that_is_taken_away_leaves_the_gpu_alone() {
    let mut bench = Bench::on(partitioned());
    bench.tick(SECOND);
    bench.fake.gpu(0).mig(false).unwrap();
    bench.tick(SECOND);
    for _ in 0..10 {
        bench.tick(SECOND);
    }
    bench.fake.reset_calls().unwrap();
    let samples = bench.tick(SECOND);
    assert_eq!(samples[0].energy, Reading::Value(13_000 * 60));
    assert!(told(&samples[1].gauges.memory_used).contains("no longer lists"), "{:?}", samples[1]);
    assert_eq!(samples[1].energy, Reading::NotSupported);
    // What somebody took away on purpose is not waited for.
    assert_eq!(bench.fake.calls("nvmlInit_v2").unwrap(), 0);
}

/// Another MIG device of GPU 0.
fn third() -> MigDevice {
    MigDevice {
        memory: 10 * GIB,
        uuid: Some("MIG-00000000-4f89-11d3-9a0c-0305e82c3303".to_owned()),
        instance: Some((3, 0)),
        ..MigDevice::default()
    }
}

fn counted(samples: &[DeviceSample]) -> u64 {
    let counted = samples.iter().filter(|sample| sample.device.is_counted());
    counted.map(|sample| *sample.energy.as_value().expect("a counter")).sum()
}

#[test]
fn slices_that_are_made_later_are_found_within_half_a_minute() {
    let fake = partitioned();
    fake.gpu(1).mig(false).unwrap();
    let mut bench = Bench::on(fake);
    assert_eq!(bench.tick(SECOND).len(), 4);
    bench.fake.gpu(0).mig_device(&third()).unwrap();
    let ticks = (1..=31).find(|_| bench.tick(SECOND).len() == 5).expect("it is found");
    assert!(ticks >= 20, "each tick asks for no list: found after {ticks} s");
    bench.fake.reset_calls().unwrap();
    let samples = bench.tick(SECOND);
    let new =
        samples.iter().find(|sample| Some(sample.device.id.as_str()) == third().uuid.as_deref()).unwrap();
    assert_eq!(new.device.parent.as_ref(), Some(&samples[0].device.id));
    assert_eq!(new.gauges.memory_total, Reading::Value(Bytes::new(10 * GIB)));
    // Its energy is its GPU's, and nobody's a second time.
    assert_eq!((&new.energy, &new.power), (&Reading::NotSupported, &Reading::NotSupported));
    assert_eq!(counted(&samples), 2 * samples[0].energy.as_value().unwrap());
    assert_eq!(bench.fake.calls("nvmlInit_v2").unwrap(), 0);
    // Switched on later, on a GPU that had MIG off.
    bench
        .fake
        .gpu(1)
        .mig(true)
        .unwrap()
        .mig_device(&MigDevice { memory: GIB, ..MigDevice::default() })
        .unwrap();
    assert!((1..=31).any(|_| bench.tick(SECOND).len() == 6));
}

#[test]
fn a_slice_that_is_taken_away_is_a_gap_and_one_in_its_place_is_another() {
    let mut bench = Bench::on(partitioned());
    bench.tick(SECOND);
    bench.fake.gpu(0).remove_mig_device(0).unwrap();
    bench.fake.gpu(0).mig_device(&third()).unwrap();
    let find = |samples: &[DeviceSample], id: &str| {
        samples.iter().find(|sample| sample.device.id.as_str() == id).cloned()
    };
    // That it is gone shows at once, and the new one soon after.
    let samples = bench.tick(SECOND);
    assert!(told(&find(&samples, SLICE).unwrap().gauges.memory_used).contains("no longer lists"));
    let new = third().uuid.unwrap();
    let mut last = samples;
    assert!((1..=3).any(|_| {
        last = bench.tick(SECOND);
        find(&last, &new).is_some()
    }));
    assert!(told(&find(&last, SLICE).unwrap().gauges.memory_used).contains("no longer lists"));
    let other = find(&last, "MIG-00000000-4f89-11d3-9a0c-0305e82c3302").unwrap();
    assert_eq!(other.gauges.memory_used, Reading::Value(Bytes::new(2 * GIB)), "it went on all along");
    assert_eq!(counted(&last), 2 * last[0].energy.as_value().unwrap());
    // The first comes back under its name.
    let again =
        MigDevice { memory: 20 * GIB, used: 5 * GIB, uuid: Some(SLICE.to_owned()), ..MigDevice::default() };
    bench.fake.gpu(0).mig_device(&again).unwrap();
    for _ in 0..31 {
        last = bench.tick(SECOND);
    }
    assert_eq!(find(&last, SLICE).unwrap().gauges.memory_used, Reading::Value(Bytes::new(5 * GIB)));
    assert_eq!(last.len(), 5);
}

#[test]
fn later_slices_are_read_only_where_their_gpu_was_selected() {
    for (selection, more) in [("0", 1), ("1", 0), (SLICE, 0)] {
        let fake = partitioned();
        let mut options = common::options(&fake);
        options.devices = selection.parse().unwrap();
        let mut bench = Bench::with(fake, &options);
        let before = bench.tick(SECOND).len();
        bench.fake.gpu(0).mig_device(&third()).unwrap();
        let after = (0..31).map(|_| bench.tick(SECOND).len()).max();
        assert_eq!(after, Some(before + more), "{selection}");
    }
}
