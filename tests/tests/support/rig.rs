//! A fake driver and a scripted clock that move together, and the sampler's cadence played by hand.

#![allow(dead_code, unreachable_pub)] // Each test that includes this uses a part of it.

use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use wattspan_core::{
    Clock, InferenceRecord, IntervalEnergy, MonoTime, RecordSink, SampleSink, SampleTick, ScriptedClock,
};
use wattspan_energy::LedgerConfig;
use wattspan_fake_nvml::FakeNvml;
use wattspan_monitor::{Monitor, MonitorBuilder, Stepper};
use wattspan_nvidia::{NvidiaCollector, NvidiaOptions};

/// A small generator of random numbers (SplitMix64, Steele et al. 2014), so that seeds mean the same for ever.
pub struct Rng(pub u64);

impl Rng {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    pub fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    pub fn between(&mut self, low: f64, high: f64) -> f64 {
        low + self.unit() * (high - low)
    }

    pub fn log_between(&mut self, low: f64, high: f64) -> f64 {
        self.between(low.ln(), high.ln()).exp()
    }

    pub fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }
}

/// Keeps what sinks get.
#[derive(Default)]
pub struct Kept {
    pub intervals: Mutex<Vec<IntervalEnergy>>,
    /// Device, time and raw count of each sample with an energy.
    pub counter: Mutex<Vec<(String, MonoTime, u64)>>,
    pub records: Mutex<Vec<InferenceRecord>>,
}

impl SampleSink for Kept {
    fn sampled(&self, tick: &SampleTick<'_>) {
        self.intervals.lock().unwrap().extend_from_slice(tick.intervals);
        self.counter.lock().unwrap().extend(tick.samples.iter().filter_map(|sample| {
            let ticks = *sample.energy.as_value()?;
            Some((sample.device.id.as_str().to_owned(), sample.time, ticks))
        }));
    }
}

impl RecordSink for Kept {
    fn record(&self, record: &InferenceRecord) {
        self.records.lock().unwrap().push(record.clone());
    }
}

/// The driver, the clock and a monitor without threads.
pub struct Rig {
    pub driver: FakeNvml,
    pub clock: Arc<ScriptedClock>,
    pub stepper: Stepper,
    pub kept: Arc<Kept>,
}

impl Rig {
    pub fn new(driver: FakeNvml) -> Self {
        Self::with(driver, |monitor| monitor)
    }

    pub fn with(driver: FakeNvml, change: impl FnOnce(MonitorBuilder) -> MonitorBuilder) -> Self {
        let start = SystemTime::UNIX_EPOCH + Duration::from_secs(1_767_225_600);
        let clock = Arc::new(ScriptedClock::new(start));
        let mut options = NvidiaOptions::default();
        options.library = Some(driver.path().to_owned());
        let collector = NvidiaCollector::open(&options).unwrap().expect("the fake driver has GPUs");
        let kept = Arc::new(Kept::default());
        let monitor = Monitor::builder()
            .collector(Box::new(collector))
            .clock(clock.clone())
            .ledger(without_gain())
            .sample_sink(kept.clone())
            .record_sink(kept.clone());
        let stepper = change(monitor).stepper();
        Self { driver, clock, stepper, kept }
    }

    pub fn now_us(&self) -> u64 {
        self.clock.mono().nanos() / 1_000
    }

    /// Moves both clocks on to a moment.
    pub fn go_to(&self, us: u64) {
        if us > self.now_us() {
            self.clock.advance_to(MonoTime::from_nanos(us * 1_000));
            self.driver.set_time_us(us).unwrap();
        }
    }

    /// Polls at a moment.
    pub fn poll_at(&mut self, us: u64) {
        self.go_to(us);
        self.stepper.step();
    }

    /// When the sampler would poll next, by its own cadence.
    pub fn next_poll_us(&self, rng: &mut Rng) -> u64 {
        let period = if self.stepper.open() > 0 { 20_000 } else { 200_000 };
        self.now_us() + period + rng.below(500)
    }

    /// Polls by a fixed period up to a moment.
    pub fn poll_until(&mut self, us: u64, period_us: u64) {
        while self.now_us() + period_us <= us {
            self.poll_at(self.now_us() + period_us);
        }
        self.go_to(us);
    }
}

/// The fake has no gain error unless it is given one, so that ± is all random.
pub fn without_gain() -> LedgerConfig {
    let mut config = LedgerConfig::default();
    config.uncertainty.gain = 0.0;
    config
}
