//! A GPU whose power a test sets, on a scripted clock.

#![allow(dead_code, unreachable_pub)] // Each test that includes this uses a part of it.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use wattspan_core::{
    Begin, Bytes, Celsius, Clock, CounterSpec, Device, DeviceId, DeviceKind, DeviceSample, Facts, Finish,
    InferenceObserver, LatePhases, MonoTime, Ratio, Reading, ScriptedClock, Settle, Settlement, Vendor,
};
use wattspan_monitor::Stepper;
use wattspan_testkit::FakeCollector;

pub const START: u64 = 1_767_225_600;

pub fn clock() -> Arc<ScriptedClock> {
    Arc::new(ScriptedClock::new(SystemTime::UNIX_EPOCH + Duration::from_secs(START)))
}

pub fn gpu(id: &str) -> Arc<Device> {
    let mut device = Device::new(DeviceId::new(id), DeviceKind::Gpu, Vendor::Nvidia, "test GPU");
    device.counter = Some(CounterSpec {
        microjoules_per_tick: (1_000, 1),
        modulus: None,
        refresh: Some(Duration::from_millis(100)),
    });
    device.index = Some(0);
    Arc::new(device)
}

/// A counter that refreshes at each read: 100 W, 250 W from 10 s on. Utilisation 0.25, then 0.75.
pub fn steady(id: &str) -> FakeCollector {
    FakeCollector::new("steady", [gpu(id)], |device, now| {
        let millis = now.nanos() / 1_000_000;
        let mut sample = DeviceSample::new(Arc::clone(device), now);
        sample.energy = Reading::Value(100 * millis.min(10_000) + 250 * millis.saturating_sub(10_000));
        let high = millis >= 10_000;
        sample.gauges.utilization = Ratio::new(if high { 0.75 } else { 0.25 }).into();
        sample.gauges.memory_used = Reading::Value(Bytes::new(if high { 3 << 30 } else { 1 << 30 }));
        sample.gauges.memory_total = Reading::Value(Bytes::new(24 << 30));
        sample.gauges.temperature = Celsius::new(if high { 71.0 } else { 40.0 }).into();
        sample
    })
}

pub fn step_to(stepper: &mut Stepper, clock: &ScriptedClock, millis: u64) {
    while clock.mono().nanos() / 1_000_000 + 100 <= millis {
        clock.advance(Duration::from_millis(100));
        stepper.step();
    }
}

/// Counts settlements.
#[derive(Clone, Default)]
pub struct Settled(pub Arc<AtomicU64>, pub Arc<Mutex<Vec<Settlement>>>);

impl Settled {
    pub fn count(&self) -> u64 {
        self.0.load(Ordering::SeqCst)
    }
}

impl Settle for Settled {
    fn settle(self: Box<Self>, settlement: &Settlement) {
        self.0.fetch_add(1, Ordering::SeqCst);
        self.1.lock().unwrap().push(settlement.clone());
    }
}

/// One inference between two times, both told at once, at its begin.
pub fn infer(observer: &dyn InferenceObserver, from: u64, to: u64, output: u64, settled: &Settled) {
    let at = |millis: u64| MonoTime::from_nanos(millis * 1_000_000);
    let wall = SystemTime::UNIX_EPOCH + Duration::from_secs(START) + Duration::from_millis(from);
    let mut begin = Begin::new(at(from), wall, "chat", "llama_cpp");
    begin.model = Some("smollm2".into());
    let mut facts = Facts::default();
    facts.tokens.output = Some(output);
    facts.tokens.fresh = Some(7);
    facts.first_token = Some(at(from + 100));
    let finish = Finish::new(at(to), facts, LatePhases::default(), Box::new(settled.clone()));
    observer.begin(begin).finish(finish);
}
