//! Sampler, settlement and hardware metrics of wattspan.

mod board;
mod estimate;
mod guard;
mod instruments;
mod monitor;
mod ownership;
mod performance;
mod queue;
mod sampler;
mod settlement;
mod suspend;
pub mod validate;

pub use board::{DeviceSnapshot, Snapshot};
pub use estimate::EstimateInputs;
pub use monitor::{Cadence, Monitor, MonitorBuilder, Stepper};
pub use performance::{
    DeviceReport, Embodiment, InferenceReport, Percentiles, PerformanceMonitor, PerformanceReport, SciReport,
    ServerReport, TotalReport,
};
