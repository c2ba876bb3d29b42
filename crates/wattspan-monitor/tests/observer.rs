//! The duties of an observer, and what must not take the monitor down.

mod support;

use std::borrow::Cow;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use support::{Settled, clock, gpu, infer, steady, step_to};
use wattspan_core::{
    CollectError, CounterSpec, Device, DeviceId, DeviceKind, DeviceSample, ElectricityPrice, InferenceRecord,
    Intensity, IntensitySource, Place, PriceSource, Reading, RecordSink, SampleSink, SampleTick,
    SettleReason, TokenPrice, Vendor, Watts,
};
use wattspan_energy::PowerCurve;
use wattspan_monitor::{EstimateInputs, Monitor, Stepper};
use wattspan_testkit::conformance::{Observed, observer};
use wattspan_testkit::{FakeCollector, RecordingRecords, RecordingSamples};

#[test]
fn a_monitor_keeps_the_duties_of_an_observer() {
    observer(|| {
        let monitor = Monitor::builder().collector(Box::new(steady("GPU-a"))).start().unwrap();
        Observed::new(monitor.observer(), move || drop(monitor))
    });
}

#[test]
fn a_stepper_keeps_the_duties_of_an_observer() {
    observer(|| {
        let stepper = Monitor::builder().clock(clock()).collector(Box::new(steady("GPU-a"))).stepper();
        Observed::new(stepper.observer(), move || stepper.finish())
    });
    // Dropped without a finish, it still ends what it holds.
    observer(|| {
        let stepper: Stepper = Monitor::builder().clock(clock()).stepper();
        Observed::new(stepper.observer(), move || drop(stepper))
    });
}

/// Panics wherever it is asked.
struct Bad;

impl IntensitySource for Bad {
    fn name(&self) -> &'static str {
        "bad"
    }
    fn latest(&self, _place: &Place, _at: std::time::SystemTime) -> Option<Intensity> {
        panic!("intensity")
    }
}

impl PriceSource for Bad {
    fn electricity(&self, _place: &Place, _at: std::time::SystemTime) -> Option<ElectricityPrice> {
        panic!("price")
    }
    fn tokens(&self, _provider: &str, _model: &str) -> Option<TokenPrice> {
        panic!("tokens")
    }
}

impl SampleSink for Bad {
    fn sampled(&self, _tick: &SampleTick<'_>) {
        panic!("sample sink")
    }
}

impl RecordSink for Bad {
    fn record(&self, _record: &InferenceRecord) {
        panic!("record sink")
    }
}

#[test]
fn nobody_elses_panic_stops_the_measurement() {
    let clock = clock();
    let records = RecordingRecords::default();
    let panicking = FakeCollector::new("panicking", [gpu("GPU-b")], |_, now| {
        assert!(now.nanos() < 500_000_000, "the driver's wrapper has a bug");
        DeviceSample::new(gpu("GPU-b"), now)
    });
    let mut stepper = Monitor::builder()
        .clock(clock.clone())
        .collector(Box::new(panicking))
        .collector(Box::new(steady("GPU-a")))
        .intensity(Arc::new(Bad))
        .prices(Arc::new(Bad))
        .sample_sink(Arc::new(Bad))
        .record_sink(Arc::new(Bad))
        .record_sink(Arc::new(records.clone()))
        .stepper();
    let settled = Settled::default();
    step_to(&mut stepper, &clock, 1_000);
    infer(&*stepper.observer(), 1_000, 2_000, 5, &settled);
    step_to(&mut stepper, &clock, 8_000);
    assert_eq!((settled.count(), records.records().len(), stepper.open()), (1, 1, 0));
    let energy = records.records()[0].settlement.energy.clone().unwrap();
    assert_eq!(energy.total.joules(), 100.0);
    let snapshot = stepper.snapshot().unwrap();
    let broken = snapshot.devices.iter().find(|device| device.device().id.as_str() == "GPU-b").unwrap();
    assert!(broken.power.absence().unwrap().contains("panicked"), "{:?}", broken.power);
}

#[test]
fn a_failing_collectors_devices_read_as_failed_and_their_gap_is_one() {
    let clock = clock();
    let collector = steady("GPU-a");
    let failures = collector.failures();
    let samples = RecordingSamples::default();
    let mut stepper = Monitor::builder()
        .clock(clock.clone())
        .collector(Box::new(collector))
        .sample_sink(Arc::new(samples.clone()))
        .stepper();
    step_to(&mut stepper, &clock, 2_000);
    assert!(stepper.snapshot().unwrap().devices[0].power.is_value(), "derived from the counter");
    let error = || CollectError::Retry { collector: "steady", reason: Cow::Borrowed("bus is gone") };
    failures.lock().unwrap().extend((0..6).map(|_| error()));
    step_to(&mut stepper, &clock, 6_000);
    let device = stepper.snapshot().unwrap().devices[0].clone();
    assert!(!device.power.is_value() && !device.sample.gauges.utilization.is_value());
    assert!(device.sample.energy.absence().unwrap().contains("bus is gone"));
    step_to(&mut stepper, &clock, 60_000);
    let device = stepper.snapshot().unwrap().devices[0].clone();
    assert!(device.power.is_value() && device.sample.energy.is_value(), "it is back");
    let mut reasons: Vec<_> = samples
        .ticks()
        .iter()
        .flat_map(|tick| tick.intervals.clone())
        .filter_map(|interval| interval.gap)
        .collect();
    let polls = reasons.len();
    reasons.dedup();
    assert!(polls > 10, "{polls}");
    assert_eq!(device.gaps, reasons.len() as u64, "a gap that goes on poll by poll is one: {reasons:?}");
}

#[test]
fn without_any_collector_an_inference_settles_at_the_next_poll() {
    let clock = clock();
    let mut stepper = Monitor::builder().clock(clock.clone()).stepper();
    let settled = Settled::default();
    step_to(&mut stepper, &clock, 1_000);
    infer(&*stepper.observer(), 1_000, 1_001, 5, &settled);
    step_to(&mut stepper, &clock, 1_100);
    assert_eq!(settled.1.lock().unwrap()[0].reason, SettleReason::NoSensor);
}

/// A GPU whose counter answers the same all along, and whose utilisation is one half.
fn gpu_that_answers(answer: fn() -> Reading<u64>) -> FakeCollector {
    let mut device = (*gpu("GPU-a")).clone();
    device.power_limit = Some(Watts::whole(400));
    FakeCollector::new("answers", [Arc::new(device)], move |device, now| {
        let mut sample = DeviceSample::new(Arc::clone(device), now);
        sample.energy = answer();
        sample.gauges.utilization = wattspan_core::Ratio::new(0.5).into();
        sample
    })
}

#[test]
fn where_no_device_can_ever_be_measured_an_inference_settles_at_the_next_poll_with_its_estimate() {
    for answer in [|| Reading::NotSupported, || Reading::denied("read it as root")] {
        let clock = clock();
        let mut inputs = EstimateInputs::default();
        inputs.gpu = true;
        let collector = Box::new(gpu_that_answers(answer));
        let mut stepper =
            Monitor::builder().clock(clock.clone()).collector(collector).estimate(inputs).stepper();
        let settled = Settled::default();
        step_to(&mut stepper, &clock, 1_000);
        infer(&*stepper.observer(), 1_000, 1_090, 5, &settled);
        step_to(&mut stepper, &clock, 1_100);
        let settlement = settled.1.lock().unwrap()[0].clone();
        assert_eq!(settlement.reason, SettleReason::NoSensor);
        let energy = settlement.energy.unwrap();
        // Half of 400 W for 90 ms.
        assert_eq!(energy.method, wattspan_core::Method::Estimated);
        assert!((energy.total.joules() - 18.0).abs() < 1e-6, "{energy:?}");
        assert_eq!(stepper.open(), 0);
    }
}

#[test]
fn a_sensor_that_fails_for_the_time_being_is_waited_for() {
    let clock = clock();
    let collector = Box::new(gpu_that_answers(|| Reading::failed("in reset")));
    let mut stepper = Monitor::builder()
        .clock(clock.clone())
        .collector(collector)
        .settle_within(Duration::from_secs(2))
        .stepper();
    let (waits, other) = (Settled::default(), Settled::default());
    step_to(&mut stepper, &clock, 1_000);
    infer(&*stepper.observer(), 1_000, 1_090, 5, &waits);
    let mut begin = wattspan_core::Begin::new(
        wattspan_core::MonoTime::from_nanos(1_000_000_000),
        std::time::SystemTime::UNIX_EPOCH,
        "chat",
        "llama_cpp",
    );
    begin.devices = wattspan_core::DeviceScope::Only([DeviceId::new("GPU-b")].into());
    let end = wattspan_core::MonoTime::from_nanos(1_090_000_000);
    let finish = wattspan_core::Finish::new(
        end,
        wattspan_core::Facts::default(),
        wattspan_core::LatePhases::default(),
        Box::new(other.clone()),
    );
    stepper.observer().begin(begin).finish(finish);
    step_to(&mut stepper, &clock, 3_000);
    assert_eq!((waits.count(), other.count()), (0, 1), "the other was on a device that is not there");
    step_to(&mut stepper, &clock, 3_200);
    assert_eq!(waits.1.lock().unwrap()[0].reason, SettleReason::NoSensor);
}

#[test]
fn a_sensor_that_answers_again_in_time_still_tells() {
    let clock = clock();
    let collector = FakeCollector::new("resets", [gpu("GPU-a")], |device, now| {
        let millis = now.nanos() / 1_000_000;
        let mut sample = DeviceSample::new(Arc::clone(device), now);
        // 100 W, and not to be read for a second.
        sample.energy = match millis {
            1_500..2_500 => Reading::failed("in reset"),
            _ => Reading::Value(millis * 100),
        };
        sample
    });
    let mut stepper = Monitor::builder().clock(clock.clone()).collector(Box::new(collector)).stepper();
    let settled = Settled::default();
    step_to(&mut stepper, &clock, 1_000);
    infer(&*stepper.observer(), 1_000, 2_000, 5, &settled);
    step_to(&mut stepper, &clock, 2_400);
    assert_eq!(settled.count(), 0);
    step_to(&mut stepper, &clock, 4_000);
    assert_eq!(settled.1.lock().unwrap()[0].energy.as_ref().unwrap().total.joules(), 100.0);
}

/// Holds the settlement thread until it is let go.
struct Held(Mutex<mpsc::Receiver<()>>, AtomicU64);

impl SampleSink for Held {
    fn sampled(&self, _tick: &SampleTick<'_>) {
        self.1.fetch_add(1, Ordering::SeqCst);
        let _ = self.0.lock().unwrap().recv();
    }
}

#[test]
fn a_sink_that_hangs_does_not_hang_the_shutdown() {
    let (release, held) = mpsc::channel::<()>();
    let monitor = Monitor::builder()
        .collector(Box::new(steady("GPU-a")))
        .sample_sink(Arc::new(Held(Mutex::new(held), AtomicU64::new(0))))
        .stop_within(Duration::from_millis(50))
        .start()
        .unwrap();
    let settled = Settled::default();
    infer(&*monitor.observer(), 0, 1, 5, &settled);
    assert!(!monitor.flush(Duration::from_millis(10)));
    drop(monitor);
    // Let go, the threads end by themselves and the span with them.
    drop(release);
    let until = std::time::Instant::now() + Duration::from_secs(60);
    while settled.count() == 0 && std::time::Instant::now() < until {
        std::thread::yield_now();
    }
    assert_eq!(settled.count(), 1);
}

#[test]
fn too_many_at_once_are_not_measured_and_settle_all_the_same() {
    let clock = clock();
    let mut stepper = Monitor::builder().clock(clock.clone()).most_open(2).stepper();
    let settled = Settled::default();
    let observer = stepper.observer();
    (0..5).for_each(|_| infer(&*observer, 1, 2, 5, &settled));
    let reasons: Vec<SettleReason> =
        settled.1.lock().unwrap().iter().map(|settlement| settlement.reason).collect();
    assert_eq!(reasons, [SettleReason::Overload; 3]);
    step_to(&mut stepper, &clock, 200);
    assert_eq!((settled.count(), stepper.open()), (5, 0));
}

#[test]
fn a_sensor_without_power_shows_none_while_it_does_not_answer() {
    let clock = clock();
    let dark = FakeCollector::new("dark", [gpu("GPU-a")], |device, now| {
        let mut sample = DeviceSample::new(Arc::clone(device), now);
        let millis = now.nanos() / 1_000_000;
        sample.energy =
            if millis < 1_000 { Reading::Value(millis * 100) } else { Reading::failed("fell off the bus") };
        sample
    });
    let mut stepper = Monitor::builder().clock(clock.clone()).collector(Box::new(dark)).stepper();
    step_to(&mut stepper, &clock, 900);
    assert_eq!(stepper.snapshot().unwrap().total_power().value().map(Watts::watts), Some(100.0));
    step_to(&mut stepper, &clock, 1_500);
    assert!(!stepper.snapshot().unwrap().total_power().is_value());
}

#[test]
fn a_sensor_that_may_not_be_read_takes_nothing_from_the_others() {
    let clock = clock();
    let denied = FakeCollector::new("denied", [cpu_package()], |device, now| {
        let mut sample = DeviceSample::new(Arc::clone(device), now);
        sample.energy = Reading::denied("read energy_uj as root");
        sample
    });
    let records = RecordingRecords::default();
    let mut inputs = EstimateInputs::default();
    let cores = std::num::NonZeroU32::new(8).unwrap();
    inputs.cpu = Some((PowerCurve::proportional(Watts::whole(80)).unwrap(), cores));
    let mut stepper = Monitor::builder()
        .clock(clock.clone())
        .collector(Box::new(denied))
        .collector(Box::new(steady("GPU-a")))
        .estimate(inputs)
        .record_sink(Arc::new(records.clone()))
        .stepper();
    step_to(&mut stepper, &clock, 1_000);
    infer(&*stepper.observer(), 1_000, 2_000, 5, &Settled::default());
    step_to(&mut stepper, &clock, 2_500);
    let settlement = records.records()[0].settlement.clone();
    assert_eq!(settlement.reason, SettleReason::Covered);
    let energy = settlement.energy.unwrap();
    assert_eq!((energy.total.joules(), energy.coverage.ratio()), (100.0, 1.0));
    assert!(energy.estimated.unwrap().basis.contains("cpu"), "what is not measured is estimated beside it");
}

fn cpu_package() -> Arc<Device> {
    let mut device = Device::new(DeviceId::new("cpu-0"), DeviceKind::Cpu, Vendor::Intel, "test CPU");
    device.counter = Some(CounterSpec { microjoules_per_tick: (1, 1), modulus: None, refresh: None });
    Arc::new(device)
}
