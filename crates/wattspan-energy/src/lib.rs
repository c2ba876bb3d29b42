//! Pure energy accounting: from sensor readings to joules per inference, with nothing lost and nothing counted twice.
//!
//! Take this crate to attribute energy in a program of your own; the monitor of `wattspan-monitor` drives it with real
//! sensors and clocks.
//!
//! ```
//! use std::sync::Arc;
//! use std::time::Duration;
//! use wattspan_core::{
//!     CounterSpec, Device, DeviceId, DeviceKind, DeviceSample, DeviceScope, InferenceId, Joules, LatePhases, MonoTime,
//!     Reading, Vendor,
//! };
//! use wattspan_energy::{Ledger, Meter, Ownership};
//!
//! let mut gpu = Device::new(DeviceId::new("GPU-0"), DeviceKind::Gpu, Vendor::Nvidia, "test");
//! let refresh = Some(Duration::from_millis(100));
//! gpu.counter = Some(CounterSpec { microjoules_per_tick: (1_000, 1), modulus: None, refresh });
//! let gpu = Arc::new(gpu);
//! let (mut meter, mut ledger) = (Meter::new(Arc::clone(&gpu)), Ledger::new());
//! let at = |millis: u64| MonoTime::from_nanos(millis * 1_000_000);
//!
//! ledger.begin(InferenceId::new(1), at(100), DeviceScope::All);
//! ledger.finish(InferenceId::new(1), at(900), LatePhases::default());
//! let (mut measured, mut settled) = (Vec::new(), Vec::new());
//! for (millis, millijoules) in [(0, 0), (1_000, 300_000), (2_000, 310_000)] {
//!     let mut sample = DeviceSample::new(Arc::clone(&gpu), at(millis));
//!     sample.energy = Reading::Value(millijoules);
//!     meter.read(&sample, &mut measured);
//!     for interval in measured.drain(..) {
//!         ledger.interval(&gpu, interval, Ownership::OURS);
//!     }
//!     settled.extend(ledger.advance(at(millis)).settled);
//! }
//! // Nothing more will come: close what waits for its poll.
//! settled.extend(ledger.flush(at(2_000)).settled);
//! let energy = settled[0].energy.as_ref().unwrap();
//! let totals = ledger.totals(&gpu.id).unwrap();
//! assert_eq!(totals.total(), Joules::from_millijoules(310_000));
//! assert_eq!(totals.inference, energy.total);
//! ```

mod boundary;
mod calibration;
mod electricity;
mod emissions;
mod estimate;
mod flags;
mod integrate;
mod ledger;
mod meter;
mod price_book;
mod price_book_litellm;
mod price_book_own;
mod sci;
mod uncertainty;

pub use boundary::{Boundary, InvalidOverhead, Overhead, Scoped};
pub use electricity::{HardwareRate, InvalidTime, LocalTime, Tariff, UtcOffset, electricity_cost};
pub use emissions::{emissions, spread};
pub use estimate::{
    InvalidCurve, MemoryPower, MemorySize, PowerCurve, cpu_estimate, total_estimate, utilization_estimate,
};
pub use integrate::{
    Integral, PowerMean, PowerPoint, Uncovered, back_dated, clip_means, clip_points, interval_means,
    refreshes, trapezoid,
};
pub use ledger::{
    ByTime, ByTokens, Clipped, Closed, Ledger, LedgerConfig, Ownership, Settled, SharePolicy, Work,
};
pub use meter::{Measured, Meter, MeterConfig, SensorKind};
pub use price_book::{PriceBook, PriceBookError, PriceBookProblem, PriceBookRead, token_cost};
pub use sci::{Embodied, InvalidSci, sci};
pub use uncertainty::{UncertaintyModel, WindowEnergy, window_energy};
