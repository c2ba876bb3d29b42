//! Apple machines: power of CPU, GPU, Neural Engine, memory and the whole machine, with temperatures and load.
//!
//! Take this crate to read a Mac into a sampler of your own. To measure a program, take the facade `wattspan`, which has
//! it as a feature.
//!
//! ```
//! use wattspan_apple::powermetrics_text;
//!
//! let report = "*** Sampled system activity (Mon Jan 1 00:00:00 2024 +0000) (500.00ms elapsed) ***\n\
//!     CPU Power: 947 mW\nGPU Power: 153 mW\nANE Power: 0 mW\n";
//! let snapshot = powermetrics_text(report)?;
//! let gpu = snapshot.gpu.value().expect("the report has the GPU's power") * snapshot.elapsed;
//! assert_eq!(gpu.to_string(), "76.5 mJ");
//! # Ok::<(), wattspan_apple::PowermetricsError>(())
//! ```
//!
//! # What is counted
//! CPU, GPU, Neural Engine and memory are devices without a parent: their sensors are disjoint, each joule is added
//! once, and a GPU's joules are those of a [`Gpu`](wattspan_core::DeviceKind::Gpu). The package's sensor is a
//! [`Module`](wattspan_core::DeviceKind::Module) and the machine's a [`Platform`](wattspan_core::DeviceKind::Platform):
//! they repeat the parts and are never added. On Intel Macs the package, which cannot be divided, is the CPU.
//!
//! # Limits
//! There is no energy counter to read: power is a mean over an interval, and energy is that mean times the interval as
//! measured here, so that its method is `Integrated`. macmon does not return the length that it divided by; the two
//! differ by the scheduling delay of a thread, about a millisecond in each interval, which does not add up over several.
//! All-zero power is "no sensor" (virtual machines), and not 0 W. A CPU that reads 0 W has not published its energy yet,
//! as chips of two dies do once a second: the interval is joined to the next. There is no attribution to processes.
//! Macs with an Intel chip are read through `powermetrics` only, which needs root; nothing here ever asks for rights.
//! On other systems opening answers `Ok(None)`, while reports can be read anywhere. The authors had no Mac: the sources
//! type-check for macOS, and the parsers are tested with reports in the documented form.
//!
//! # Features
//! None.

mod channels;
mod collector;
#[cfg(target_os = "macos")]
mod macos;
mod parts;
mod powermetrics;
mod snapshot;
#[cfg(test)]
mod tests;
mod worker;

pub use channels::{ChannelName, ChipPart, EnergyChannel, channel_energy, channel_name};
pub use collector::{AppleCollector, AppleOptions, AppleSource};
pub use powermetrics::{PowermetricsError, powermetrics_plist, powermetrics_text};
pub use snapshot::{Snapshot, temperature};
