//! NVIDIA GPUs: reads energy, power, memory, load and processes of every GPU and MIG device that NVML shows.
//!
//! Take this crate to read NVIDIA GPUs into a sampler of your own. To measure a program, take the facade `wattspan`,
//! which has it built in. Nothing is needed at build time: the driver's library is opened at run time, and a machine
//! without it is `Ok(None)`.
//!
//! ```
//! use wattspan_core::{Collector, SampleBuffer, SystemClock};
//! use wattspan_nvidia::{NvidiaCollector, NvidiaOptions};
//!
//! if let Some(mut collector) = NvidiaCollector::open(&NvidiaOptions::default())? {
//!     let mut samples = Vec::new();
//!     collector.sample(&mut SampleBuffer::new(&SystemClock, &mut samples))?;
//!     for sample in samples {
//!         println!("{}: {:?}, {:?}", sample.device.id, sample.energy, sample.power);
//!     }
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What is read
//! | figure | from | how often |
//! | --- | --- | --- |
//! | energy | `nvmlDeviceGetTotalEnergyConsumption`, millijoules since the driver was loaded (Volta and newer) | each tick |
//! | power | field 186 (instant), else `nvmlDeviceGetPowerUsage`, else field 185 (average); [`Device::note`] says which, [`Device::power`] what it shows | each tick |
//! | utilisation, memory, processes | memory in version 2, else 1 (where `used` includes what is reserved); compute, graphics and MPS lists in the newest version that the driver has | each [`gauge_interval`](NvidiaOptions::gauge_interval), 200 ms |
//! | temperatures, clocks, throttle reasons, limit, fan, PCIe replays, uncorrected memory errors | the call of that name; field 82 for the memory's temperature | each fifth time of those |
//!
//! A tick asks all GPUs for energy and power first, two calls each, and only then for what else is due; in between
//! the last gauges are repeated. What a GPU does not support is asked once.
//!
//! # What each sensor shows
//! The periods and windows come from published measurements, by CUDA compute capability: on A100 and H100 the instant
//! reading sees 25 of each 100 ms, on other cards since Ampere the usage is a mean over one second. Generations that
//! nobody has measured (Blackwell) are given the shape that claims least, and their note says "assumed".
//!
//! # What is counted
//! A GPU board is a [`Gpu`](wattspan_core::DeviceKind::Gpu). A MIG device is a part of it, with memory and processes and
//! without energy or power of its own, so that the two never add up. On a Grace-Hopper module the energy counter runs
//! with CPU and memory: it is listed as a [`Module`](wattspan_core::DeviceKind::Module), which no total contains, and
//! the GPU's energy is integrated from the power of the GPU alone.
//!
//! # When something fails
//! Every failed call is a [`Reading`](wattspan_core::Reading) that says what to do, and stops no other. A GPU that is
//! lost, waits for a reset or belongs to a driver that was reloaded is not asked again; NVML is shut down and
//! initialised anew, at first after a second and then ever more rarely, up to each minute, or each five minutes while
//! other GPUs work. Devices are found again by their UUID, whatever their number is by then. A counter that begins
//! again is handed on as it is: the meter makes a gap of it.
//!
//! # Where the library is looked for
//! On Linux by the loader as `libnvidia-ml.so.1`, then in `/run/opengl-driver/lib` and `/usr/local/nvidia/lib64`; under
//! WSL in `/usr/lib/wsl/lib` before that; on Windows as `nvml.dll` in `System32` and in `NVIDIA Corporation\NVSMI`, by
//! full paths only. [`NvidiaOptions::library`] names it anywhere else.
//!
//! # Limits
//! - Initialising takes NVML some milliseconds to a second, for which the sampler's thread waits. If another part of
//!   the program uses NVML too, shutting down does not reach the driver, and a lost GPU stays lost.
//! - MIG devices that are made later are found within 30 s, and a second after one was seen to be gone. Those that are
//!   gone stay listed, and say so.
//! - Process ids are the host's. In a container with ids of its own there are none: see [`PidNamespace`].
//! - CUDA counts GPUs of several models by speed, unless told otherwise, and only CUDA knows that order: see
//!   [`Selection::cuda_visible_devices`].
//! - The slow response of Kepler and Maxwell is passed off as a mean of one second.
//! - Checked against a scripted driver through the real `nvml-wrapper`; the authors have run it on no card.
//! - macOS has no NVML: opening answers `Ok(None)`.
//!
//! # Features
//! None.
//!
//! [`Device::note`]: wattspan_core::Device::note
//! [`Device::power`]: wattspan_core::Device::power

mod answer;
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
