//! Sampler, settlement and hardware metrics of wattspan.

mod board;
mod estimate;
mod instruments;
mod monitor;
mod ownership;
mod queue;
mod sampler;
mod settlement;

pub use board::{DeviceSnapshot, Snapshot};
pub use estimate::EstimateInputs;
pub use monitor::{Cadence, Monitor, MonitorBuilder, Stepper};
