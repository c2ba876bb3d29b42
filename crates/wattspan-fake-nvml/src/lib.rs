//! A scripted look-alike of libnvidia-ml for tests without a GPU.

mod driver;
mod error;
mod fake;
mod image;
mod library;
pub mod model;

pub use error::Error;
pub use fake::{Builder, ErrorWindow, FakeNvml, GpuControl, MigDevice, ProcessKind, ProcessSpec};
