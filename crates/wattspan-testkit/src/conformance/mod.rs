//! What every implementation of a core trait must do. Each suite is called from a test of the implementor's and panics
//! with what is wrong.

mod collector;
mod dataset;
mod observer;
mod sinks;
mod sources;

pub use collector::collector;
pub use dataset::dataset_sink;
pub use observer::{Observed, observer};
pub use sinks::{record_sink, sample_sink, stats_sink};
pub use sources::{intensity_source, price_source};

#[cfg(test)]
mod tests;
