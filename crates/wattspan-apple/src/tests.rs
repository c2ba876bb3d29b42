//! Reports of powermetrics, and the way of an interval from a source to a sample.

use std::io::Cursor;
use std::sync::Arc;
use std::sync::mpsc::SyncSender;
use std::time::{Duration, Instant, SystemTime};

use proptest::prelude::*;
use wattspan_core::{
    Collector, DeviceKind, DeviceSample, MonoTime, PowerShape, Ratio, Reading, SampleBuffer, ScriptedClock,
    SystemClock, Vendor, Watts,
};

use crate::collector::end_of;
use crate::parts::{Part, Track};
use crate::powermetrics::{Format, Splitter};
use crate::snapshot::Macmon;
use crate::worker::{Message, Worker, queue};
use crate::{AppleCollector, PowermetricsError, Snapshot, powermetrics_plist, powermetrics_text};

mod cases;
mod recording;

const PLIST: &str = include_str!("../fixtures/m1.plist");
const TEXT: &str = include_str!("../fixtures/m1.txt");
const INTEL: &str = include_str!("../fixtures/intel.txt");

fn at(milliseconds: u64) -> MonoTime {
    MonoTime::ZERO + Duration::from_millis(milliseconds)
}

fn watts(reading: &Reading<Watts>) -> Option<f64> {
    reading.as_value().map(|power| power.watts())
}

#[track_caller]
fn near(got: &Reading<Watts>, right: f64) {
    let got = watts(got).unwrap_or_else(|| panic!("no power: {got:?}"));
    assert!((got - right).abs() < 1e-5, "{got} W is not {right} W");
}

#[test]
fn a_property_list_gives_power_from_energy_and_time() {
    let snapshot = powermetrics_plist(PLIST).unwrap();
    assert_eq!(snapshot.elapsed, Duration::from_millis(500));
    near(&snapshot.cpu, 5.0);
    near(&snapshot.gpu, 8.2);
    near(&snapshot.npu, 0.0);
    near(&snapshot.dram, 1.2);
    near(&snapshot.package, 14.8);
    assert_eq!(snapshot.platform, Reading::NotSupported);
    assert_eq!(snapshot.gpu_utilization, Reading::Value(Ratio::share(0.75).unwrap()));
    assert_eq!(snapshot.gpu_clock.value().unwrap().hertz(), 1.278_5e9);
    // Cores are busy for 0.5, 0.2 and 0.9 of the time.
    let load = snapshot.cpu_utilization.value().unwrap().ratio();
    assert!((load - 1.6 / 3.0).abs() < 1e-9, "{load}");
}

#[test]
fn the_plain_form_gives_the_totals_and_not_the_clusters() {
    let snapshot = powermetrics_text(TEXT).unwrap();
    assert_eq!(snapshot.elapsed, Duration::from_micros(104_510));
    near(&snapshot.cpu, 0.947);
    near(&snapshot.gpu, 0.153);
    near(&snapshot.npu, 0.0);
    near(&snapshot.dram, 0.220);
    near(&snapshot.package, 1.473);
    assert_eq!(snapshot.gpu_utilization, Reading::Value(Ratio::percent(6.5).unwrap()));
    assert_eq!(snapshot.gpu_clock.value().unwrap().hertz(), 720e6);
}

#[test]
fn the_package_of_an_intel_mac_is_its_cpu() {
    let snapshot = powermetrics_text(INTEL).unwrap();
    near(&snapshot.cpu, 14.5);
    assert_eq!(snapshot.gpu, Reading::NotSupported);
    assert_eq!(snapshot.package, Reading::NotSupported);
}

#[test]
fn all_zero_is_no_sensor_and_not_zero_watts() {
    let zeros = "*** Sampled system activity (x) (500.00ms elapsed) ***\nCPU Power: 0 mW\nGPU Power: 0 mW\nANE Power: 0 mW\n";
    let snapshot = powermetrics_text(zeros).unwrap();
    for power in [&snapshot.cpu, &snapshot.gpu, &snapshot.npu] {
        assert_eq!(power, &Reading::NotSupported);
    }
    let snapshot = Macmon::default().snapshot(Duration::from_secs(1));
    for power in [&snapshot.cpu, &snapshot.gpu, &snapshot.npu, &snapshot.dram, &snapshot.platform] {
        assert_eq!(power, &Reading::NotSupported);
    }
    // One part alone at zero is a measurement.
    let one = Macmon { cpu_power: 1.5, ..Macmon::default() }.snapshot(Duration::from_secs(1));
    assert_eq!(watts(&one.gpu), Some(0.0));
    assert_eq!(one.dram, Reading::NotSupported);
}

#[test]
fn faults_of_a_report_are_told() {
    assert_eq!(powermetrics_text("CPU Power: 5 mW"), Err(PowermetricsError::NoElapsed));
    assert_eq!(powermetrics_plist("<plist><dict></dict></plist>"), Err(PowermetricsError::NoElapsed));
    assert!(matches!(powermetrics_plist("<plist><array/></plist>"), Err(PowermetricsError::Plist(_))));
    assert!(matches!(powermetrics_plist(&PLIST[..900]), Err(PowermetricsError::Plist(_))));
    let deep = format!("<plist>{}", "<array>".repeat(10_000));
    assert!(matches!(powermetrics_plist(&deep), Err(PowermetricsError::Plist(_))));
    let negative = "<plist><dict><key>elapsed_ns</key><integer>1000000000</integer><key>processor</key><dict>\
                    <key>cpu_energy</key><integer>-5</integer><key>gpu_energy</key><real>nan</real>\
                    <key>ane_energy</key><integer>7</integer></dict></dict></plist>";
    let snapshot = powermetrics_plist(negative).unwrap();
    assert_eq!(watts(&snapshot.cpu), None);
    assert_eq!(watts(&snapshot.gpu), None);
    near(&snapshot.npu, 0.007);
}

proptest! {
    #[test]
    fn random_text_never_panics_and_never_gives_the_impossible(text in "\\PC{0,300}") {
        prop_assert!(powermetrics_plist(&text).is_err());
        let _ = crate::channel_name(&text);
        let report = format!("*** Sampled system activity (x) (10.00ms elapsed) ***\nCPU Power: {text}\nGPU Power: 5 mW\n");
        let snapshot = powermetrics_text(&report).unwrap();
        prop_assert!(watts(&snapshot.cpu).is_none_or(|watts| (0.0..=1_500.0).contains(&watts)));
    }

    #[test]
    fn damaged_property_lists_never_panic(cut in 0_usize..2_000, junk in prop::collection::vec(any::<u8>(), 0..8)) {
        let mut bytes = PLIST.as_bytes().to_vec();
        let cut = cut.min(bytes.len());
        bytes.splice(cut..(cut + junk.len()).min(PLIST.len()), junk);
        if let Ok(snapshot) = powermetrics_plist(&String::from_utf8_lossy(&bytes)) {
            for power in [&snapshot.cpu, &snapshot.gpu, &snapshot.npu, &snapshot.dram, &snapshot.package] {
                prop_assert!(watts(power).is_none_or(|watts| (0.0..=1_500.0).contains(&watts)));
            }
        }
    }
}

proptest! {
    #[test]
    fn reports_do_not_depend_on_how_the_stream_is_cut(
        parts in prop::collection::vec(prop::sample::select(vec![PLIST, TEXT, INTEL, "\0", "<?xml", "*** Sampled", "junk"]), 0..6),
        sizes in prop::collection::vec(1_usize..700, 1..40),
    ) {
        let stream = parts.concat();
        let now = Instant::now();
        let mut splitter = Splitter::default();
        let mut whole: Vec<String> = splitter.push(stream.as_bytes(), now).into_iter().map(|found| found.1).collect();
        whole.extend(splitter.finish().map(|found| found.1));
        let mut splitter = Splitter::default();
        let (mut pieces, mut rest, mut sizes) = (Vec::new(), stream.as_bytes(), sizes.into_iter().cycle());
        while !rest.is_empty() {
            let (piece, later) = rest.split_at(sizes.next().unwrap().min(rest.len()));
            pieces.extend(splitter.push(piece, now).into_iter().map(|found| found.1));
            rest = later;
        }
        pieces.extend(splitter.finish().map(|found| found.1));
        prop_assert_eq!(whole, pieces);
    }
}

/// A collector without a source, and the way to send to it.
fn bench() -> (AppleCollector, SyncSender<Message>, ScriptedClock) {
    let (sender, messages) = queue();
    let refresh = Some(Duration::from_secs(1));
    let collector = AppleCollector::new(Worker::default(), messages, "Apple M1".to_owned(), refresh);
    (collector, sender, ScriptedClock::new(SystemTime::UNIX_EPOCH))
}

fn sample(collector: &mut AppleCollector, clock: &ScriptedClock) -> Vec<DeviceSample> {
    let mut samples = Vec::new();
    collector.sample(&mut SampleBuffer::new(clock, &mut samples)).unwrap();
    samples
}

fn interval(snapshot: &Snapshot) -> Message {
    Message::Interval { snapshot: Box::new(snapshot.clone()), at: Instant::now() }
}

fn kinds(collector: &AppleCollector) -> Vec<(DeviceKind, bool)> {
    collector.devices().iter().map(|device| (device.kind, device.is_counted())).collect()
}

#[test]
fn parts_are_counted_once_and_package_and_machine_never() {
    let (mut collector, sender, clock) = bench();
    assert_eq!(kinds(&collector), [(DeviceKind::Cpu, true), (DeviceKind::Gpu, true)]);
    clock.advance(Duration::from_secs(1));
    let mut snapshot = powermetrics_plist(PLIST).unwrap();
    snapshot.platform = Reading::Value(Watts::whole(20));
    sender.send(interval(&snapshot)).unwrap();
    let samples = sample(&mut collector, &clock);
    let right = [
        (DeviceKind::Cpu, true),
        (DeviceKind::Gpu, true),
        (DeviceKind::Npu, true),
        (DeviceKind::Dram, true),
        (DeviceKind::Module, false),
        (DeviceKind::Platform, false),
    ];
    assert_eq!(kinds(&collector), right);
    // What is added up: 5 + 8.2 + 0 + 1.2 W.
    let counted: f64 = samples
        .iter()
        .filter(|sample| sample.device.is_counted())
        .map(|sample| watts(&sample.power).unwrap())
        .sum();
    assert!((counted - 14.4).abs() < 1e-6, "{counted}");
    for sample in &samples {
        assert_eq!(sample.device.power.unwrap().shape, PowerShape::IntervalMean);
        assert_eq!(sample.device.vendor, Vendor::Apple);
        assert_eq!(sample.energy, Reading::NotSupported);
    }
    assert_eq!(samples[1].gauges.utilization, Reading::Value(Ratio::share(0.75).unwrap()));
}

#[test]
fn a_machine_without_sensors_keeps_its_devices_without_power() {
    let (mut collector, sender, clock) = bench();
    let mut raw =
        Macmon { gpu_active: 0.5, memory_total: 16 << 30, memory_used: 3 << 30, ..Macmon::default() };
    raw.cpu_temperature = Some(f32::NAN);
    sender.send(interval(&raw.snapshot(Duration::from_secs(1)))).unwrap();
    let samples = sample(&mut collector, &clock);
    assert_eq!(samples.len(), 2);
    for sample in &samples {
        assert_eq!(sample.power, Reading::NotSupported);
        assert_eq!(sample.device.power, None);
    }
    assert!(!samples[0].gauges.temperature.is_value());
    assert_eq!(samples[1].gauges.memory_used.as_value().unwrap().bytes(), 3 << 30);
}

#[test]
fn a_tick_without_news_repeats_the_last_sample_with_its_time() {
    let (mut collector, sender, clock) = bench();
    clock.advance(Duration::from_secs(5));
    sender.send(interval(&powermetrics_plist(PLIST).unwrap())).unwrap();
    let first = sample(&mut collector, &clock);
    clock.advance(Duration::from_millis(10));
    let second = sample(&mut collector, &clock);
    for (first, second) in first.iter().zip(&second) {
        assert_eq!((first.time, &first.power), (second.time, &second.power));
    }
}

#[test]
fn trouble_is_a_failure_with_its_reason_and_passes() {
    let (mut collector, sender, clock) = bench();
    sender.send(Message::Trouble("the sensor hub is away".to_owned())).unwrap();
    let absence = sample(&mut collector, &clock)[1].power.absence().unwrap();
    assert!(absence.contains("the sensor hub is away"), "{absence}");
    sender.send(interval(&powermetrics_plist(PLIST).unwrap())).unwrap();
    assert_eq!(watts(&sample(&mut collector, &clock)[1].power), Some(8.2));
    sender.send(Message::Ended("it was stopped".to_owned())).unwrap();
    let absence = sample(&mut collector, &clock)[1].power.absence().unwrap();
    assert!(absence.contains("it was stopped"), "{absence}");
}

#[test]
fn silence_is_a_failure() {
    let (mut collector, sender, clock) = bench();
    sender.send(interval(&powermetrics_plist(PLIST).unwrap())).unwrap();
    assert!(sample(&mut collector, &clock)[0].power.is_value());
    clock.advance(Duration::from_secs(11));
    let absence = sample(&mut collector, &clock)[0].power.absence().unwrap();
    assert!(absence.contains("no figures have come for 11 s"), "{absence}");
}

#[test]
fn intervals_between_two_ticks_are_joined_by_their_energy() {
    let mut track = Track::new(Part::Gpu, Part::Gpu.device("Apple M1", None, true));
    let mut snapshot = Snapshot::new(Duration::from_millis(100));
    snapshot.gpu = Reading::Value(Watts::whole(2));
    track.take(&snapshot, at(100));
    snapshot.elapsed = Duration::from_millis(300);
    snapshot.gpu = Reading::Value(Watts::whole(10));
    track.take(&snapshot, at(400));
    let sample = track.sample(at(405));
    // 0.2 J and 3 J over 0.4 s.
    near(&sample.power, 8.0);
    assert_eq!(sample.time, at(400));
}

#[test]
fn ends_of_intervals_do_not_jitter_with_their_arrival() {
    let second = Duration::from_secs(1);
    assert_eq!(end_of(None, at(1_007), second), at(1_007));
    assert_eq!(end_of(Some(at(1_007)), at(2_030), second), at(2_007));
    assert_eq!(end_of(Some(at(1_007)), at(1_990), second), at(2_007));
    // After a sleep of the machine, or a lost report, time starts again where it is.
    assert_eq!(end_of(Some(at(1_007)), at(60_000), second), at(60_000));
    assert_eq!(end_of(Some(at(1_007)), at(500), second), at(1_007));
}

/// All that a collector gives of a stream until it has ended.
fn drain(stream: Vec<u8>) -> Vec<DeviceSample> {
    let mut collector = AppleCollector::from_powermetrics(Cursor::new(stream));
    let mut all = Vec::new();
    let deadline = Instant::now() + Duration::from_secs(60);
    loop {
        let mut samples = Vec::new();
        collector.sample(&mut SampleBuffer::new(&SystemClock, &mut samples)).unwrap();
        let ended = samples[0].power.absence().is_some_and(|absence| absence.contains("has ended"));
        all.extend(samples);
        if ended {
            return all;
        }
        assert!(Instant::now() < deadline, "the stream did not end");
        std::thread::yield_now();
    }
}

#[test]
fn a_stream_of_property_lists_is_cut_at_each_document() {
    let stream = format!("{PLIST}\0{PLIST}\0{}", &PLIST[..200]);
    let samples = drain(stream.into_bytes());
    let gpu = samples.iter().find(|sample| sample.device.kind == DeviceKind::Gpu && sample.power.is_value());
    near(&gpu.unwrap().power, 8.2);
}

#[test]
fn a_stream_in_the_plain_form_is_read_to_its_last_report() {
    let samples = drain(TEXT.as_bytes().to_vec());
    let package = samples.iter().find(|sample| sample.device.kind == DeviceKind::Module);
    near(&package.unwrap().power, 1.473);
}

#[test]
fn bytes_may_come_one_by_one() {
    let now = Instant::now();
    let cut = |stream: &str| {
        let mut splitter = Splitter::default();
        let mut reports = Vec::new();
        for byte in stream.as_bytes() {
            reports
                .extend(splitter.push(&[*byte], now).into_iter().map(|(format, report, _)| (format, report)));
        }
        reports.extend(splitter.finish().map(|(format, report, _)| (format, report)));
        reports
    };
    let intel = (Format::Text, INTEL.to_owned());
    assert_eq!(cut(&format!("Machine model: x\n\n{INTEL}{INTEL}")), [intel.clone(), intel]);
    let m1 = (Format::Plist, PLIST.trim_end().to_owned());
    // What has begun and not ended is not a report.
    assert_eq!(cut(&format!("{PLIST}\0{PLIST}\0{}", &PLIST[..300])), [m1.clone(), m1]);
}

#[test]
#[cfg(not(target_os = "macos"))]
fn elsewhere_there_is_no_collector() {
    use crate::{AppleOptions, AppleSource};
    for source in [AppleSource::Macmon, AppleSource::Powermetrics] {
        let options = AppleOptions { source, ..AppleOptions::default() };
        assert!(matches!(AppleCollector::open(&options), Ok(None)));
    }
    assert_eq!(Arc::strong_count(&AppleCollector::from_powermetrics(std::io::empty()).devices()[0]), 2);
}
