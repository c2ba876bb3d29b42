//! NVIDIA GPUs.

mod collector;
mod error;
mod library;
mod options;
mod parse;
mod processes;
mod retry;
mod sensors;
mod sys;
mod unit;

pub use collector::NvidiaCollector;
pub use options::NvidiaOptions;
pub use parse::{DeviceName, InvalidSelection, PciAddress, Selection};
pub use processes::PidNamespace;
