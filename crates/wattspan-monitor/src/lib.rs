//! Sampler, settlement and hardware metrics of wattspan.

mod monitor;
mod queue;
mod sampler;
mod settlement;

pub use monitor::{Cadence, Monitor, MonitorBuilder, Stepper};
