//! The suites pass the fakes, and catch what they are for.

use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, SystemTime};

use super::*;
use crate::tape::Tape;
use crate::{
    FakeCollector, FakeIntensity, FakePrices, MemoryDataset, NoOp, RecordingObserver, RecordingRecords,
    RecordingSamples, RecordingStats, TapeCollector,
};
use wattspan_core::{
    Begin, Collector, CounterSpec, Device, DeviceId, DeviceKind, DeviceSample, ElectricityPrice, Finish,
    GramsPerKwh, InferenceObserver, Intensity, MonoTime, Place, Probe, Provenance, Reading, RunId,
    ScriptedClock, SettleReason, Settlement, Table, TokenPrice, Usd, UsdPerKwh, Vendor,
};

fn gpu(id: &str) -> Device {
    let mut gpu = Device::new(DeviceId::new(id), DeviceKind::Gpu, Vendor::Nvidia, "fake");
    gpu.counter = Some(CounterSpec { microjoules_per_tick: (1, 1), modulus: Some(1_000), refresh: None });
    gpu
}

fn counting(device: &Arc<Device>, now: MonoTime) -> DeviceSample {
    let mut sample = DeviceSample::new(Arc::clone(device), now);
    sample.energy = Reading::Value(now.nanos() % 1_000);
    sample
}

fn check(make: impl FnMut() -> Box<dyn Collector>) {
    let clock = ScriptedClock::new(SystemTime::UNIX_EPOCH);
    collector(make, &clock, |clock| clock.advance(Duration::from_millis(100)));
}

fn fake(
    devices: &[Device],
    script: impl FnMut(&Arc<Device>, MonoTime) -> DeviceSample + Send + Copy + 'static,
) {
    check(|| Box::new(FakeCollector::new("fake", devices.iter().cloned().map(Arc::new), script)));
}

#[test]
fn fakes_are_collectors() {
    fake(&[gpu("a"), gpu("b")], counting);
    check(|| Box::new(NoOp));
    let tape = concat!(
        r#"{"wattspan_tape":1,"wall_unix_ms":0}"#,
        "\n",
        r#"{"event":"device","device":{"id":"g","kind":"gpu","vendor":"amd","name":"x"}}"#,
        "\n",
        r#"{"event":"sample","t_ns":150000000,"device":"g","processes":[]}"#,
    );
    let tape = Tape::read(tape).unwrap();
    check(|| Box::new(TapeCollector::new(&tape)));
}

#[test]
#[should_panic(expected = "two devices are a")]
fn an_id_given_twice_is_caught() {
    fake(&[gpu("a"), gpu("a")], counting);
}

#[test]
#[should_panic(expected = "is not there")]
fn a_lost_parent_is_caught() {
    let mut child = gpu("a");
    child.parent = Some(DeviceId::new("b"));
    fake(&[child], counting);
}

#[test]
#[should_panic(expected = "contains itself")]
fn a_loop_of_parents_is_caught() {
    let (mut one, mut two) = (gpu("a"), gpu("b"));
    (one.parent, two.parent) = (Some(two.id.clone()), Some(one.id.clone()));
    fake(&[one, two], counting);
}

#[test]
#[should_panic(expected = "unknown ticks")]
fn energy_without_a_counter_is_caught() {
    let mut mute = gpu("a");
    mute.counter = None;
    fake(&[mute], counting);
}

#[test]
#[should_panic(expected = "before the call")]
fn a_stale_time_is_caught() {
    fake(&[gpu("a")], |device, _| counting(device, MonoTime::ZERO));
}

#[test]
#[should_panic(expected = "after the call")]
fn a_time_to_come_is_caught() {
    fake(&[gpu("a")], |device, now| counting(device, now + Duration::from_secs(1)));
}

#[test]
#[should_panic(expected = "not among the devices")]
fn a_sample_of_no_device_is_caught() {
    fake(&[gpu("a")], |_, now| counting(&Arc::new(gpu("b")), now));
}

#[test]
#[should_panic(expected = "could not sample: fake gave no samples")]
fn a_tick_that_fails_is_caught() {
    check(|| {
        let collector = FakeCollector::new("fake", [Arc::new(gpu("a"))], counting);
        let error = wattspan_core::CollectError::Retry { collector: "fake", reason: "busy".into() };
        collector.failures().lock().unwrap().push_back(error);
        Box::new(collector)
    });
}

fn intensity(provenance: Provenance) -> Intensity {
    Intensity::new(GramsPerKwh::whole(100), "test", provenance)
}

#[test]
fn fakes_are_sources() {
    let known = [(Place::default(), SystemTime::UNIX_EPOCH)];
    intensity_source(&FakeIntensity::new(intensity(Provenance::User)), &known);
    intensity_source(&NoOp, &[]);
    let mut price = TokenPrice::default();
    price.input = Some(Usd::whole(1));
    let prices = FakePrices::new()
        .electricity(ElectricityPrice::new(UsdPerKwh::whole(1), "test"))
        .tokens("openai", "model-9", price);
    price_source(&prices, &known, &[("openai", "model-9")]);
    price_source(&NoOp, &[], &[]);
}

#[test]
#[should_panic(expected = "for no place")]
fn a_figure_for_no_place_is_caught() {
    intensity_source(&FakeIntensity::new(intensity(Provenance::Live)), &[]);
}

#[test]
#[should_panic(expected = "the world's average the zone")]
fn a_zone_for_the_world_is_caught() {
    let mut world = intensity(Provenance::WorldAverage);
    world.zone = Some("DE".into());
    intensity_source(&FakeIntensity::new(world), &[]);
}

#[test]
#[should_panic(expected = "does not know")]
fn an_unknown_place_is_caught() {
    intensity_source(&NoOp, &[(Place::default(), SystemTime::UNIX_EPOCH)]);
}

#[test]
#[should_panic(expected = "invented")]
fn an_invented_price_is_caught() {
    let prices = FakePrices::new().tokens("openai", "no-such-model", TokenPrice::default());
    price_source(&prices, &[], &[]);
}

#[test]
fn fakes_are_sinks_that_lose_nothing() {
    let samples = RecordingSamples::default();
    sample_sink(&samples);
    assert_eq!(samples.ticks().len(), 5 + 4 * 25 * 4);
    let records = RecordingRecords::default();
    record_sink(&records);
    assert_eq!(records.records().len(), 3 + 4 * 25);
    let stats = RecordingStats::default();
    stats_sink(&stats);
    assert_eq!(stats.stats().len(), 4 * 25 * 2);
    sample_sink(&NoOp);
    record_sink(&NoOp);
    stats_sink(&NoOp);
}

#[test]
fn fakes_are_observers() {
    observer(|| Observed::new(Arc::new(NoOp), || {}));
    observer(|| Observed::new(Arc::new(RecordingObserver::default()), || {}));
}

#[test]
fn a_held_observer_settles_when_told() {
    let observer = RecordingObserver::held(Settlement::unknown(SettleReason::Covered));
    let begin = || Begin::new(MonoTime::ZERO, SystemTime::UNIX_EPOCH, "chat", "p");
    let probe = observer.begin(begin());
    probe.prompted(11);
    probe.decoded(2);
    probe.finish(Finish::new(
        MonoTime::from_nanos(5),
        wattspan_core::Facts::default(),
        wattspan_core::LatePhases::default(),
        Box::new(NoOp),
    ));
    drop(observer.begin(begin()));
    let seen = observer.seen();
    assert_eq!((seen[0].prompted, seen[0].decoded), (11, 2));
    assert!(matches!(seen[0].closing, crate::Closing::Finished { end, .. } if end.nanos() == 5));
    assert!(matches!(seen[1].closing, crate::Closing::GivenUp));
    assert_eq!((observer.settle(), observer.settle()), (1, 0));
}

/// Loses every inference.
struct Forgetful;

impl InferenceObserver for Forgetful {
    fn begin(&self, _begin: Begin) -> Box<dyn Probe> {
        Box::new(Self)
    }
}

impl Probe for Forgetful {
    fn decoded(&self, _steps: u64) {}
    fn prompted(&self, _tokens: u64) {}
    fn finish(self: Box<Self>, _finish: Finish) {}
}

#[test]
#[should_panic(expected = "each end is settled once")]
fn an_observer_that_loses_inferences_is_caught() {
    observer(|| Observed::new(Arc::new(Forgetful), || {}));
}

/// Runs a future that never waits.
fn now<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("it waits"),
    }
}

#[test]
fn a_dataset_in_memory_keeps_each_row_once() {
    let (mut sink, run) = (MemoryDataset::new(), RunId::new("run-1").unwrap());
    assert_eq!(now(dataset_sink(&mut sink, &run)), "memory:run-1");
    for table in Table::ALL {
        assert_eq!(sink.rows(&run, table).len(), 3, "{table:?}");
    }
    assert!(sink.metadata(&run).is_some());
    let error =
        now(wattspan_core::DatasetSink::write(&mut MemoryDataset::new(), Table::Results, &[])).unwrap_err();
    assert!(error.to_string().contains("call `create` first"), "{error}");
}
