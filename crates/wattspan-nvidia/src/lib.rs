//! NVIDIA GPU collector over NVML, opened at run time.

mod collector;

pub use collector::{NvidiaCollector, NvidiaOptions};
