//! A machine with a fake GPU at a known power, and inferences on it without a model.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use opentelemetry::metrics::MeterProvider as _;
use opentelemetry::trace::TracerProvider as _;
use wattspan_core::{DeviceId, IntervalEnergy, Joules, SampleSink, SampleTick, TokenUsage};
use wattspan_fake_nvml::FakeNvml;
use wattspan_genai::{Failure, GenAi, Request, Tool};
use wattspan_monitor::Monitor;
use wattspan_nvidia::{NvidiaCollector, NvidiaOptions};
use wattspan_otel::Telemetry;
use wattspan_semconv::Profile;

/// Power of each GPU.
pub const WATTS: f64 = 300.0;

/// What the sensors said, beside what is exported.
#[derive(Default)]
pub struct Kept {
    intervals: Mutex<Vec<IntervalEnergy>>,
    counters: Mutex<Vec<(DeviceId, u64)>>,
}

impl SampleSink for Kept {
    fn sampled(&self, tick: &SampleTick<'_>) {
        let lock = |held| Mutex::lock(held).unwrap_or_else(PoisonError::into_inner);
        lock(&self.intervals).extend_from_slice(tick.intervals);
        let readings = tick
            .samples
            .iter()
            .filter_map(|sample| Some((sample.device.id.clone(), *sample.energy.as_value()?)));
        self.counters.lock().unwrap_or_else(PoisonError::into_inner).extend(readings);
    }
}

impl Kept {
    /// Joules of all closed intervals.
    pub fn closed(&self) -> f64 {
        let intervals = self.intervals.lock().unwrap_or_else(PoisonError::into_inner);
        intervals.iter().map(|interval| interval.energy.total()).sum::<Joules>().joules()
    }

    /// Joules by which a GPU's counter moved between its first and its last reading.
    pub fn moved(&self, device: &str) -> f64 {
        let counters = self.counters.lock().unwrap_or_else(PoisonError::into_inner);
        let mut readings =
            counters.iter().filter(|(id, _)| id.as_str() == device).map(|(_, reading)| *reading);
        let first = readings.next().unwrap_or(0);
        (readings.next_back().unwrap_or(first) - first) as f64 / 1e3
    }
}

/// A measured machine.
pub struct Machine {
    /// The driver; it lives as long as its library is used.
    pub driver: FakeNvml,
    /// The running monitor.
    pub monitor: Monitor,
    /// What the sensors said.
    pub kept: Arc<Kept>,
    genai: GenAi,
}

impl Machine {
    /// Starts to measure some GPUs and to record into `telemetry`.
    ///
    /// # Panics
    /// When the fake driver cannot be loaded or the monitor does not start.
    pub fn start(telemetry: &Telemetry, profile: Profile, gpus: usize) -> Self {
        let driver = FakeNvml::builder().gpus(gpus).real_clock().load().expect("the fake driver");
        for gpu in 0..gpus {
            let control = driver.gpu(gpu);
            control.idle_watts(WATTS).and_then(|gpu| gpu.counter_refresh(20_000, 0)).expect("a known power");
        }
        let mut options = NvidiaOptions::default();
        options.library = Some(driver.path().to_owned());
        let collector = NvidiaCollector::open(&options).expect("it opens").expect("it has GPUs");
        let kept = Arc::new(Kept::default());
        let monitor = Monitor::builder()
            .collector(Box::new(collector))
            .sample_sink(Arc::clone(&kept) as Arc<dyn SampleSink>)
            .profile(profile)
            .meter(telemetry.meter_provider().meter("wattspan"))
            .settle_within(Duration::from_secs(30))
            .start()
            .expect("the monitor");
        let genai = GenAi::builder("llama_cpp")
            .profile(profile)
            .tracer(telemetry.tracer_provider().tracer("wattspan"))
            .meter(telemetry.meter_provider().meter("wattspan"))
            .observer(monitor.observer())
            .build();
        Self { driver, monitor, kept, genai }
    }

    /// A streamed chat, one that fails, embeddings and a tool: four spans. Waits until all are settled.
    ///
    /// # Panics
    /// When they are not settled in time.
    pub fn work(&self) {
        let mut usage = TokenUsage::default();
        usage.fresh = Some(12);
        usage.output = Some(3);
        let mut chat = self.genai.begin(Request::chat("smollm2").temperature(0.2).max_tokens(64).streaming());
        for _ in 0..3 {
            // The work: at least as long as the sensor's refresh, so that it has energy of its own.
            std::thread::sleep(Duration::from_millis(30));
            chat.token();
        }
        chat.usage(usage);
        chat.finish_reason("stop");
        chat.finish();
        self.genai.begin(Request::chat("smollm2")).fail(Failure::new("timeout").message("too slow"));
        let mut embeddings = self.genai.begin(Request::embeddings("minilm"));
        usage.output = None;
        embeddings.usage(usage);
        embeddings.finish();
        self.genai.begin_tool(Tool::new("get_weather").call_id("call_1").kind("function")).finish();
        assert!(self.monitor.flush(Duration::from_secs(60)), "the inferences were not settled");
    }
}
