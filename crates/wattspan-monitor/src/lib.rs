//! Watches the machine's devices, settles each inference's energy once the reading that covers its end is in, and reports
//! what a stretch of time took.
//!
//! Take this crate to put a measurement together yourself: your own collectors, sources and sinks, or a monitor without
//! OpenTelemetry. Programs that just want spans with joules take the facade `wattspan`; the arithmetic without threads is
//! in `wattspan-energy`; collectors are in `wattspan-nvidia` and its siblings; a client's side, which begins and finishes
//! inferences, is in `wattspan-genai`.
//!
//! ```
//! use std::sync::Arc;
//! use std::time::Duration;
//! use wattspan_core::{
//!     CollectError, Collector, CounterSpec, Device, DeviceId, DeviceKind, DeviceSample, Joules, Reading, SampleBuffer,
//!     ScriptedClock, Vendor,
//! };
//! use wattspan_monitor::{Monitor, PerformanceMonitor};
//!
//! /// A device that draws 300 W.
//! struct Heater(Vec<Arc<Device>>);
//!
//! impl Collector for Heater {
//!     fn name(&self) -> &'static str {
//!         "heater"
//!     }
//!     fn devices(&self) -> &[Arc<Device>] {
//!         &self.0
//!     }
//!     fn sample(&mut self, into: &mut SampleBuffer<'_>) -> Result<(), CollectError> {
//!         let mut sample = DeviceSample::new(Arc::clone(&self.0[0]), into.now());
//!         // Millijoules since the start.
//!         sample.energy = Reading::Value(sample.time.nanos() / 1_000_000 * 300);
//!         into.push(sample);
//!         Ok(())
//!     }
//!     fn watch(&mut self, _processes: &[u32]) {}
//! }
//!
//! let mut device = Device::new(DeviceId::new("heater-0"), DeviceKind::Gpu, Vendor::Unknown, "heater");
//! device.counter = Some(CounterSpec { microjoules_per_tick: (1_000, 1), modulus: None, refresh: None });
//!
//! // `start()` would run this on two threads and the system's clock; here the example steps by itself.
//! let clock = Arc::new(ScriptedClock::new(std::time::SystemTime::UNIX_EPOCH));
//! let mut monitor =
//!     Monitor::builder().clock(clock.clone()).collector(Box::new(Heater(vec![Arc::new(device)]))).stepper();
//! let mut seconds = |count: u32| {
//!     for _ in 0..count * 10 {
//!         clock.advance(Duration::from_millis(100));
//!         monitor.step();
//!     }
//!     PerformanceMonitor::start_stepped(&monitor)
//! };
//! let window = seconds(2);
//! seconds(10);
//! window.end();
//! seconds(1);
//!
//! let report = window.report();
//! assert_eq!(report.total.energy, Some(Joules::from_millijoules(3_000_000)));
//! // Nothing was in flight, no intensity is known, and there is no utilisation to be read.
//! assert_eq!(report.total.energy_by_state.unwrap().idle, report.total.energy.unwrap());
//! assert_eq!((report.total.emissions, report.devices[0].avg_utilization), (None, None));
//! ```
//!
//! # Parts
//! - [`Monitor`]: one thread samples, another settles. [`Monitor::observer`] goes to the instrumentation,
//!   [`Monitor::stats_sink`] to a model server's poller; sinks get samples, intervals and settled inferences;
//!   [`MonitorBuilder::meter`] makes `hw.*`, `wattspan.*` and, by choice, SMOLTRACE's metrics; [`Monitor::snapshot`] is
//!   the last poll.
//! - [`PerformanceMonitor`]: start and stop around any code; [`PerformanceReport`] has energy by state with its bound,
//!   grams, dollars, gauges, inferences with percentiles and SCI, and [merges](PerformanceReport::merge) with others.
//! - [`Stepper`]: the same without threads, for tests and tapes.
//! - [`validate`](mod@validate): what a device's sensors are worth.
//!
//! # Order at the end
//! Dropping the monitor settles what has ended and ends its threads; an exporter comes after it, since a span that ends
//! after its provider was shut down is lost. [`Monitor::flush`] first, if the last inference's end has only just been: its
//! reading comes within a refresh or two of the sensor.
//!
//! # Limits
//! - A driver's call that hangs holds the sampler up; a sink or an exporter that hangs holds settlement up, and the sampler
//!   64 polls later. Inferences never wait. Counters lose nothing by it; more than [`MonitorBuilder::most_open`] inferences
//!   at once are not measured, and counted. Dropping waits for [`MonitorBuilder::stop_within`] at most.
//! - That the machine slept is told by `/proc/uptime`, on Linux; elsewhere sleep shows as what the counters make of it.
//! - A change of intensity or price is noticed within a second, and at the next poll while nothing is in flight.
//! - A report keeps the last three minutes and more of each device interval by interval, older ones coarser; totals stay
//!   exact, only merging windows that overlap then cuts along coarser lines.
//! - Observable instruments cannot be taken back: one monitor for each meter and process.
//!
//! # Features
//! None. The public interface has `opentelemetry`'s `Meter` (0.33) and `serde`'s traits.

mod board;
mod cadence;
mod estimate;
mod guard;
mod instruments;
mod link;
mod monitor;
mod ownership;
mod performance;
mod queue;
mod sampler;
mod settlement;
mod sinks;
mod stepper;
mod suspend;
mod tariffs;
pub mod validate;

pub use board::{DeviceSnapshot, Snapshot};
pub use cadence::Cadence;
pub use estimate::EstimateInputs;
pub use monitor::{Monitor, MonitorBuilder};
pub use performance::{
    DeviceReport, Embodiment, InferenceReport, Percentiles, PerformanceMonitor, PerformanceReport, SciReport,
    ServerReport, TotalReport,
};
pub use stepper::Stepper;
