//! A collector on a fake driver, with one clock for both.
#![allow(dead_code, unreachable_pub)] // Each test program uses a part of it.

use std::time::{Duration, SystemTime};

use wattspan_core::{
    Clock, CollectError, Collector, Device, DeviceSample, MonoTime, OpenError, Reading, SampleBuffer,
    ScriptedClock,
};
use wattspan_fake_nvml::{Builder, FakeNvml};
use wattspan_nvidia::{NvidiaCollector, NvidiaOptions, PidNamespace, Selection};

pub struct Bench {
    // Closed before the library is removed.
    pub collector: NvidiaCollector,
    pub fake: FakeNvml,
    pub clock: ScriptedClock,
}

pub fn options(fake: &FakeNvml) -> NvidiaOptions {
    let mut options = NvidiaOptions::default();
    options.library = Some(fake.path().to_owned());
    // The fake's processes are nobody's, wherever the test runs.
    options.pid_namespace = PidNamespace::Host;
    options
}

/// Opens a fake driver whose devices are selected by text.
pub fn open_selected(fake: &FakeNvml, devices: &str) -> Result<Option<NvidiaCollector>, OpenError> {
    let mut options = options(fake);
    options.devices = devices.parse().expect("a selection");
    NvidiaCollector::open(&options)
}

impl Bench {
    /// A driver with GPUs of 60 W each.
    #[track_caller]
    pub fn new(gpus: usize) -> Self {
        Self::built(FakeNvml::builder().gpus(gpus).control("gpu all preset hopper\ngpu all idle 60"))
    }

    #[track_caller]
    pub fn built(builder: Builder) -> Self {
        Self::on(builder.load().expect("a fake driver"))
    }

    #[track_caller]
    pub fn on(fake: FakeNvml) -> Self {
        let options = options(&fake);
        Self::with(fake, &options)
    }

    #[track_caller]
    pub fn with(fake: FakeNvml, options: &NvidiaOptions) -> Self {
        let collector = NvidiaCollector::open(options).expect("a driver that works").expect("a driver");
        Self { collector, fake, clock: ScriptedClock::new(SystemTime::UNIX_EPOCH) }
    }

    /// With a selection as `CUDA_VISIBLE_DEVICES` has it.
    #[track_caller]
    pub fn visible(fake: FakeNvml, value: &str) -> Self {
        let mut options = options(&fake);
        options.devices = Selection::cuda_visible_devices(Some(value)).expect("a value");
        Self::with(fake, &options)
    }

    /// Moves both clocks on and reads everything.
    #[track_caller]
    pub fn tick(&mut self, after: Duration) -> Vec<DeviceSample> {
        self.try_tick(after).expect("samples")
    }

    pub fn try_tick(&mut self, after: Duration) -> Result<Vec<DeviceSample>, CollectError> {
        self.clock.advance(after);
        let now = self.clock.mono().since(MonoTime::ZERO);
        self.fake.set_time_us(now.as_micros() as u64).expect("a virtual clock");
        let mut samples = Vec::new();
        self.collector.sample(&mut SampleBuffer::new(&self.clock, &mut samples))?;
        let listed: Vec<&Device> = self.collector.devices().iter().map(|device| &**device).collect();
        let sampled: Vec<&Device> = samples.iter().map(|sample| &*sample.device).collect();
        assert_eq!(sampled, listed, "one sample for each device");
        Ok(samples)
    }

    /// The only sample after a second.
    #[track_caller]
    pub fn one(&mut self) -> DeviceSample {
        let mut samples = self.tick(SECOND);
        assert_eq!(samples.len(), 1);
        samples.remove(0)
    }

    /// Calls of the driver in the next tick.
    #[track_caller]
    pub fn calls(&mut self, after: Duration) -> u64 {
        self.fake.reset_calls().expect("a fake driver");
        self.tick(after);
        self.fake.all_calls().expect("counts").iter().map(|(_, count)| count).sum()
    }
}

pub const SECOND: Duration = Duration::from_secs(1);

/// A reading in a word: the value, or why there is none.
pub fn told<T: std::fmt::Debug>(reading: &Reading<T>) -> String {
    match reading {
        Reading::Value(value) => format!("{value:?}"),
        absent => absent.clone_absence(),
    }
}

trait CloneAbsence {
    fn clone_absence(&self) -> String;
}

impl<T> CloneAbsence for Reading<T> {
    fn clone_absence(&self) -> String {
        self.absence().unwrap_or_default()
    }
}
