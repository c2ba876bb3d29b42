//! Grid carbon intensity, place, cloud tables and electricity prices, each answer with where it comes from.
//!
//! Use this crate to turn joules into grams and dollars in a program of your own; the facade `wattspan` builds it from
//! one configuration. The arithmetic of emissions, cost and token prices is in `wattspan-energy`.
//!
//! ```
//! use std::time::SystemTime;
//! use wattspan_carbon::{Chain, PlaceQuery};
//! use wattspan_core::{IntensitySource, Joules, Provenance};
//!
//! let place = PlaceQuery::parse("us-east-1")?.resolve("explicit").strict()?;
//! let grid = Chain::new().latest(&place, SystemTime::now()).unwrap();
//! assert_eq!(&*grid.source, "epa-egrid-2023-rev2");
//! assert_eq!((grid.zone.as_deref(), grid.provenance), (Some("US-VA"), Provenance::Bundled));
//! let emitted = Joules::from_millijoules(3_600_000_000) * grid.value;
//! assert!((emitted.grams() - 244.758).abs() < 1e-9);
//! # Ok::<(), wattspan_carbon::Error>(())
//! ```
//!
//! # Limits
//! Bundled figures are annual means of 2022 to 2025 on three different bases (see [`SOURCES`]): do not rank zones
//! across them. Bundled prices are for the United States only. Power and embodied carbon of cloud machines are
//! estimates from published coefficients.
//!
//! # Features
//! - `live`: Electricity Maps, WattTime, UK Carbon Intensity and GeoIP, with one worker thread. Off by default; without
//!   it the crate has no HTTP client with TLS and talks to nothing but a cloud's metadata service.

mod bundled;
mod chain;
mod cloud;
mod error;
mod fixed;
#[cfg(feature = "live")]
mod live;
mod place;
mod price;
mod series;
mod tables;
mod time;

pub use bundled::Bundled;
pub use chain::Chain;
pub use cloud::{
    CloudFacts, Endpoints, InstanceFacts, Metadata, PowerRange, Probe, Pue, SERVER_LIFESPAN_HOURS,
    Utilisation, embodied_server, instance_facts, pue,
};
pub use error::Error;
pub use fixed::Fixed;
#[cfg(feature = "live")]
pub use live::{
    ElectricityMaps, GeoIp, LiveSource, UkCarbonIntensity, WattTime, Worker, WorkerOptions, ZoneStatus,
};
pub use place::{Located, Locator, PlaceQuery, Resolution};
pub use price::{Days, ElectricityPrices, TimeOfDay};
pub use series::Series;
pub use tables::{
    CloudRegion, Country, Figure, GpuFacts, Grid, RegionBasis, Source, aggregate, cloud_region,
    cloud_regions, countries, country, egrid_subregion, gpu_facts, gpus, sources, subdivision, subdivisions,
};
pub use wattspan_core::Secret;

/// Notices that must go along with the bundled data wherever it goes. `wattspan licences` prints them.
pub fn licences() -> &'static str {
    include_str!("../data/NOTICE.md")
}

/// Where each bundled figure comes from, and on which basis.
pub const SOURCES: &str = include_str!("../data/SOURCES.md");

/// One pound a megawatt-hour in grams a kilowatt-hour: the pound is 0.45359237 kg by definition (international yard
/// and pound agreement, 1959), and kilograms a megawatt-hour are grams a kilowatt-hour.
pub(crate) const GRAMS_PER_KWH_OF_POUNDS_PER_MWH: f64 = 0.453_592_37;
