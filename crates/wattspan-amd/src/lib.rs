//! AMD GPUs: reads power, energy, memory and load of every card that the Linux driver amdgpu shows.
//!
//! Take this crate to read AMD cards into a sampler of your own. To measure a program, take the facade `wattspan`,
//! which has it as a feature. Needs no vendor library: everything comes from sysfs, procfs and KFD.
//!
//! ```
//! use wattspan_amd::{AmdCollector, AmdOptions};
//! use wattspan_core::{Collector, SampleBuffer, SystemClock};
//!
//! let mut options = AmdOptions::default();
//! options.root = std::env::temp_dir().join("a-machine-without-a-card");
//! if let Some(mut collector) = AmdCollector::open(&options)? {
//!     let mut samples = Vec::new();
//!     collector.sample(&mut SampleBuffer::new(&SystemClock, &mut samples))?;
//!     for sample in samples {
//!         println!("{}: {:?}", sample.device.id, sample.power);
//!     }
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What is read
//! | figure | from | absent |
//! | --- | --- | --- |
//! | energy | accumulator of `gpu_metrics` 1.4 and later (2⁻¹⁶ J) | older tables, unless [`AmdOptions::legacy_tick`] is given; failed while it stands still together with its clock |
//! | power | `current_socket_power`, else hwmon's `power1_average` or `power1_input`, else `average_socket_power`; which one is in [`Device::note`](wattspan_core::Device::note) | 0 W and all ones are "no sensor"; the second die of a module |
//! | the rest | hwmon, `gpu_busy_percent`, `mem_info_vram_*` | file by file |
//! | processes | `fdinfo` of watched processes, KFD's list | without KFD and without a watched process |
//!
//! # What is counted
//! A card is a [`Gpu`](wattspan_core::DeviceKind::Gpu). Compute partitions and a module's second die are parts of it and
//! never added. The graphics of an APU is a part of its package, which the host's collector counts: see [`ApuEnergy`].
//!
//! # Limits
//! Linux only; elsewhere opening answers `Ok(None)`. A card that sleeps is not woken: its readings fail with that
//! reason. The unit of `gpu_metrics` 2.0 to 2.3 is not stated by the kernel, so such APUs are read through hwmon. The
//! length of AMD's power averages is not published; one second is assumed. Layouts 1.6 (late) and 1.7 come from mailing
//! lists and have not been seen on hardware by the authors; nor has any other card been.
//!
//! # Features
//! None are on by default.
//!
//! | feature | adds | needs |
//! | --- | --- | --- |
//! | `rocm-smi` | `RocmSmiCollector`, a second back-end (Linux) | `librocm_smi64` and libclang at build time; the program then starts only where `librocm_smi64.so.1` is installed |

mod card;
mod collector;
mod gpu_metrics;
mod limits;
mod parse;
mod processes;
#[cfg(all(feature = "rocm-smi", target_os = "linux"))]
mod rocm_smi;
mod stale;
#[cfg(test)]
mod tests;
mod tree;
mod visible;

pub use collector::{AmdCollector, AmdOptions, ApuEnergy};
pub use gpu_metrics::{EnergyTick, GpuMetrics, MetricsError, PowerField, gpu_metrics};
pub use parse::{DrmClient, KfdNode, drm_client, kfd_node};
#[cfg(all(feature = "rocm-smi", target_os = "linux"))]
pub use rocm_smi::RocmSmiCollector;
pub use visible::visible_devices;
