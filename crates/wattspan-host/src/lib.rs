//! CPU, memory and platform energy of this machine, whose CPU time it was, and what to estimate from without a sensor.
//!
//! Take this crate to read RAPL counters (powercap on Intel and AMD, `amd_energy`), a battery's discharge and
//! processes' CPU time and CPU temperatures as a [`Collector`](wattspan_core::Collector). To measure a program, take
//! the facade `wattspan`; for GPUs `wattspan-nvidia` or `wattspan-amd`, for Macs `wattspan-apple`.
//!
//! ```
//! use wattspan_core::{Collector, DeviceKind, SampleBuffer, SystemClock};
//! use wattspan_host::{HostCollector, HostOptions};
//!
//! if let Some(mut host) = HostCollector::open(HostOptions::default())? {
//!     let mut samples = Vec::new();
//!     host.sample(&mut SampleBuffer::new(&SystemClock, &mut samples))?;
//!     // There is a CPU on every machine, with a counter or with the reason why there is none.
//!     let cpu = samples.iter().find(|sample| sample.device.kind == DeviceKind::Cpu).unwrap();
//!     let counter = cpu.energy.absence().unwrap_or_else(|| "counts energy".to_owned());
//!     let processes = cpu.processes.as_value().unwrap();
//!     assert_eq!(processes[0].pid, std::process::id(), "{counter}");
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Devices
//! | id | kind | counted |
//! | --- | --- | --- |
//! | `powercap:intel-rapl:package-0` | CPU | yes |
//! | `powercap:intel-rapl:package-0/dram` | memory | yes, beside the package |
//! | `powercap:intel-rapl:package-0/core`, `…/uncore`, `powercap:intel-rapl:package-0-die-1` | part of a CPU | no: in its package |
//! | `powercap:intel-rapl:psys`, `battery:BAT0` | platform | no: holds all the others |
//! | `hwmon:amd_energy:socket-0` | CPU | yes |
//! | `host:cpu` | CPU without a sensor | – |
//!
//! # Limits
//! Counters are for root alone since Linux 5.10: without the right a reading is `Denied` and says what to do
//! ([`POWERCAP_UDEV_RULE`]). Virtual machines have no counters. CPU time comes in steps of 10 ms. Devices are found when
//! the collector is opened: a driver loaded later needs a new one. Outside Linux there is no sensor backend, and only
//! [`HostFacts`] says something.
//!
//! # Features
//! None.

mod battery;
mod cgroup;
mod collector;
mod counter;
mod cpu_watts;
mod discover;
mod facts;
mod files;
mod hwmon;
mod owner;
mod powercap;
mod processes;
mod procfs;
mod remedy;
#[cfg(test)]
mod tests;

pub use cgroup::ContainerRef;
pub use collector::{HostCollector, HostOptions};
pub use cpu_watts::CpuPower;
pub use facts::{CgroupCpu, HostFacts};
pub use owner::{container_by_process, process_by_port, process_by_socket};
pub use remedy::POWERCAP_UDEV_RULE;
