//! The contract of wattspan: units, readings, devices, inference records and the traits between its crates.
//!
//! Depend on this crate to write a collector, an intensity source, a sink or a client of your own. To measure a
//! program, take the facade `wattspan` instead. Nothing here does I/O, starts a thread or knows OpenTelemetry.
//!
//! ```
//! use std::time::Duration;
//! use wattspan_core::{GramsPerKwh, Joules, Reading, Watts};
//!
//! // Units convert into each other and into nothing else.
//! let energy: Joules = Watts::whole(300) * Duration::from_secs(10);
//! assert_eq!(energy.to_string(), "3 kJ");
//! assert_eq!((energy * GramsPerKwh::whole(475)).to_string(), "395.8 mgCO2e");
//!
//! // A sensor that is not there is absent, and never 0 W.
//! let power: Reading<Watts> = Reading::denied("add the user to the group `video`");
//! assert_eq!(power.absence().as_deref(), Some("denied: add the user to the group `video`"));
//! assert_eq!(power.value(), None);
//! ```
//!
//! # Limits
//! Energy is exact in microjoules up to 1.7 × 10³² J; other units are finite `f64`. Times are nanoseconds of a
//! process's own monotonic clock for up to 584 years.
//!
//! # Features
//! None.

mod carbon;
mod clock;
mod dataset;
mod device;
mod energy;
mod error;
mod interval;
mod network;
mod percent;
mod reading;
mod record;
mod sample;
mod secret;
mod stats;
mod traits;
mod units;

pub use carbon::{
    Boundary, Cost, ElectricityPrice, EmissionScope, Emissions, Intensity, IntensityKind, Place, Provenance,
};
pub use clock::{Clock, MonoTime, ScriptedClock, SystemClock};
pub use dataset::{Cell, Row, Table};
pub use device::{CounterSpec, Device, DeviceId, DeviceKind, GpuInstance, PowerShape, PowerSpec, Vendor};
pub use energy::{
    DeviceShare, EnergyFlag, EnergyRange, EnergyState, Estimate, InferenceEnergy, Method, StateEnergy,
    Uncertainty,
};
pub use error::{CollectError, OpenError, SinkError};
pub use interval::{GapReason, IntervalEnergy, TokenPrice};
pub use network::{is_loopback_host, jittered, random_share};
pub use percent::percent_decoded;
pub use reading::{Failure, Reading, Remedy};
pub use record::{
    Begin, DeviceScope, Facts, InferenceId, InferenceRecord, InvalidRunId, LatePhases, Locality, RunId,
    SettleReason, Settlement, TokenUsage, TraceRef, Workload,
};
pub use sample::{DeviceSample, Gauges, ProcessUse, SampleBuffer};
pub use secret::Secret;
pub use stats::ServerStats;
pub use traits::{
    Collector, DatasetSink, Finish, InferenceObserver, IntensitySource, PriceSource, Probe, RecordSink,
    SampleSink, SampleTick, Settle, StatsSink,
};
pub use units::{Bytes, Celsius, Grams, GramsPerKwh, Hertz, Joules, Ratio, Usd, UsdPerKwh, Watts};
