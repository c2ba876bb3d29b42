//! The bundled tables: rows, sources and look-ups. Static data only; nothing is read or parsed at run time.
//!
//! The row files are written by the `bundle` example from `data/`.

#![allow(clippy::unreadable_literal)] // Numbers stand as their sources write them.

mod coefficients;
mod countries;
mod find;
mod gpus;
mod instances;
mod prices;
mod regions;
mod subdivisions;

pub(crate) use coefficients::*;
pub(crate) use countries::{AGGREGATES, COUNTRIES, WITHOUT_FIGURE};
pub use find::{cloud_region, country, egrid_subregion, subdivision};
pub(crate) use gpus::GPUS;
pub(crate) use instances::INSTANCES;
pub(crate) use prices::PRICES;
pub(crate) use regions::REGIONS;
pub(crate) use subdivisions::{EGRID, SUBDIVISIONS};

use std::sync::{Arc, OnceLock};
use std::time::{Duration, SystemTime};

use wattspan_core::{
    EmissionScope, GramsPerKwh, Intensity, IntensityKind, Provenance, Ratio, UsdPerKwh, Watts,
};

use crate::time::year_start;

/// Where a row comes from.
#[derive(Debug)]
pub struct Source {
    /// Short name, as it stands in [`Intensity::source`](wattspan_core::Intensity).
    pub id: &'static str,
    /// Who published what.
    pub title: &'static str,
    /// Its licence.
    pub licence: &'static str,
    /// Which emissions it counts.
    pub scope: EmissionScope,
    /// The id as the contract wants it, made once.
    shared: OnceLock<Arc<str>>,
}

impl Source {
    const fn new(id: &'static str, title: &'static str, licence: &'static str, scope: EmissionScope) -> Self {
        Self { id, title, licence, scope, shared: OnceLock::new() }
    }

    fn shared(&self) -> Arc<str> {
        Arc::clone(self.shared.get_or_init(|| Arc::from(self.id)))
    }
}

/// Ember counts the whole life cycle of a plant (Global Electricity Review, supporting material, "Emissions").
pub(crate) static EMBER: Source = Source::new(
    "owid-ember-2026-04",
    "Ember, Yearly Electricity Data (2026), processed by Our World in Data",
    "CC-BY-4.0",
    EmissionScope::LifeCycle,
);
/// eGRID counts what leaves the stack.
pub(crate) static EGRID_2023: Source = Source::new(
    "epa-egrid-2023-rev2",
    "US Environmental Protection Agency, eGRID2023 rev 2",
    "public domain",
    EmissionScope::Direct,
);
pub(crate) static EGRID_2022: Source = Source::new(
    "epa-egrid-2022",
    "US Environmental Protection Agency, eGRID2022",
    "public domain",
    EmissionScope::Direct,
);
pub(crate) static NIR_2024: Source = Source::new(
    "eccc-nir-2024-annex13",
    "Environment and Climate Change Canada, National Inventory Report 1990-2022, Annex 13",
    "OGL-Canada",
    EmissionScope::Unknown,
);
pub(crate) static GOOGLE_2024: Source = Source::new(
    "google-region-carbon-info-2024",
    "Google Cloud, region carbon info 2024",
    "Apache-2.0",
    EmissionScope::Unknown,
);

/// The sources of the bundled grid figures.
pub fn sources() -> [&'static Source; 5] {
    [&EMBER, &EGRID_2023, &EGRID_2022, &NIR_2024, &GOOGLE_2024]
}

/// One bundled figure and the year it describes.
#[derive(Clone, Copy, Debug)]
pub struct Figure {
    /// The annual mean.
    pub value: GramsPerKwh,
    /// The calendar year.
    pub year: u16,
    /// Who says so.
    pub source: &'static Source,
    /// The year's first second and the next year's, since 1970.
    seconds: (u64, u64),
}

impl Figure {
    /// The figure as an answer for a zone. It holds for its year; `valid_until` is when that year ended.
    pub(crate) fn intensity(&self, zone: Arc<str>, provenance: Provenance) -> Intensity {
        let mut answer = Intensity::new(self.value, self.source.shared(), provenance);
        answer.zone = Some(zone);
        answer.kind = IntensityKind::Average;
        answer.scope = self.source.scope;
        answer.valid_from = Some(SystemTime::UNIX_EPOCH + Duration::from_secs(self.seconds.0));
        answer.valid_until = Some(SystemTime::UNIX_EPOCH + Duration::from_secs(self.seconds.1));
        answer
    }
}

/// A country of ISO 3166-1.
#[derive(Clone, Copy, Debug)]
pub struct Country {
    /// Alpha-2 code.
    pub iso2: &'static str,
    /// Alpha-3 code.
    pub iso3: &'static str,
    /// English name.
    pub name: &'static str,
    /// Its figure, where one was found.
    pub figure: Option<Figure>,
}

/// A state, province, grid subregion or group of countries.
#[derive(Clone, Copy, Debug)]
pub struct Grid {
    /// ISO 3166-2 code, eGRID acronym, or a word such as `WORLD`.
    pub code: &'static str,
    /// English name.
    pub name: &'static str,
    /// Its figure.
    pub figure: Figure,
}

/// What the figure of a cloud region describes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RegionBasis {
    /// The region itself, as its provider publishes it.
    Provider,
    /// The state or province it stands in.
    Subdivision,
    /// The country it stands in.
    Country,
}

/// A region of a cloud provider.
#[derive(Clone, Copy, Debug)]
pub struct CloudRegion {
    /// `aws`, `azure` or `gcp`.
    pub provider: &'static str,
    /// As the provider names it.
    pub region: &'static str,
    /// Place as the provider describes it.
    pub location: &'static str,
    /// ISO 3166-1 alpha-2 code of its country.
    pub country: &'static str,
    /// ISO 3166-2 code of its state or province, where the tables have that one.
    pub subdivision: Option<&'static str>,
    /// Share of carbon-free energy as Google states it. **Absent** for other providers.
    pub carbon_free: Option<Ratio>,
    /// Its grid's figure.
    pub figure: Figure,
    /// What the figure describes.
    pub basis: RegionBasis,
}

/// Name-plate facts of an accelerator, for estimates where no sensor can be read.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GpuFacts {
    /// Model name.
    pub model: &'static str,
    /// Vendor name.
    pub vendor: &'static str,
    /// `gpu`, `tpu` or `accelerator`.
    pub kind: &'static str,
    /// Name of the chip's architecture.
    pub architecture: &'static str,
    /// Memory as marketed. **Unit** gigabytes.
    pub memory_gb: Option<f64>,
    /// Nominal power of a board.
    pub tdp: Watts,
    /// Year it came out.
    pub release_year: Option<u16>,
    /// Name that NVML gives, where it is known.
    pub nvml_name: Option<&'static str>,
    /// Who says so.
    pub source: &'static str,
    /// What to know about the row.
    pub note: Option<&'static str>,
}

/// A GPU machine type, as its row says.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GpuInstance {
    pub(crate) provider: &'static str,
    pub(crate) name: &'static str,
    pub(crate) vcpus: u32,
    pub(crate) memory_gib: u32,
    pub(crate) gpu: &'static str,
    pub(crate) gpu_count: u32,
    pub(crate) cpu: Option<&'static str>,
    pub(crate) server_vcpus: u32,
}

/// Mean retail price of a year.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RetailPrice {
    pub(crate) code: &'static str,
    pub(crate) value: UsdPerKwh,
    pub(crate) year: u16,
}

/// Watts of a vCPU at no and at full load.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CpuWatts {
    pub(crate) provider: &'static str,
    pub(crate) family: &'static str,
    pub(crate) idle: f64,
    pub(crate) full: f64,
}

/// Watts of a GPU at no and at full load.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GpuWatts {
    pub(crate) name: &'static str,
    pub(crate) idle: f64,
    pub(crate) full: f64,
}

/// A group of countries: `WORLD`, `EU27`, `EUROPE`, …
pub fn aggregate(code: &str) -> Option<&'static Grid> {
    AGGREGATES.iter().find(|row| row.code == code)
}

/// All countries, those without a figure last.
pub fn countries() -> impl Iterator<Item = &'static Country> {
    COUNTRIES.iter().chain(WITHOUT_FIGURE)
}

/// All states and provinces that have a figure.
pub fn subdivisions() -> impl Iterator<Item = &'static Grid> {
    SUBDIVISIONS.iter()
}

/// All cloud regions.
pub fn cloud_regions() -> impl Iterator<Item = &'static CloudRegion> {
    REGIONS.iter()
}

/// All accelerators.
pub fn gpus() -> impl Iterator<Item = &'static GpuFacts> {
    GPUS.iter()
}

/// Name-plate facts of a GPU by the name that its driver gives, or by its model name.
///
/// Letter case, a leading vendor name and dashes do not matter; anything else does, so that a laptop's GPU is never
/// taken for the desktop board of the same number. **Absent** for a board that the table lacks.
///
/// ```
/// let facts = wattspan_carbon::gpu_facts("NVIDIA A100-SXM4-80GB").unwrap();
/// assert_eq!(facts.tdp, wattspan_core::Watts::whole(400));
/// assert!(wattspan_carbon::gpu_facts("NVIDIA GeForce RTX 3080 Laptop GPU").is_none());
/// ```
pub fn gpu_facts(name: &str) -> Option<&'static GpuFacts> {
    let wanted = plain(name);
    GPUS.iter()
        .find(|row| row.nvml_name.is_some_and(|known| plain(known) == wanted))
        .or_else(|| GPUS.iter().find(|row| plain(row.model) == wanted))
}

/// A GPU name in small letters, without vendor and with one space between words.
fn plain(name: &str) -> String {
    let small = name.to_lowercase().replace(['-', '_'], " ");
    let words = small.split_whitespace().filter(|word| !matches!(*word, "nvidia" | "amd" | "intel"));
    words.collect::<Vec<_>>().join(" ")
}

// The constructors below run at compile time only, so that a number that is not finite fails the build.

const fn figure(grams: f64, year: u16, source: &'static Source) -> Figure {
    match GramsPerKwh::new(grams) {
        Some(value) => Figure { value, year, source, seconds: (year_start(year), year_start(year + 1)) },
        None => panic!("tables hold finite numbers"),
    }
}

const fn country_row(
    iso2: &'static str,
    iso3: &'static str,
    name: &'static str,
    figure: Option<Figure>,
) -> Country {
    Country { iso2, iso3, name, figure }
}

const fn grid_row(
    code: &'static str,
    name: &'static str,
    grams: f64,
    year: u16,
    source: &'static Source,
) -> Grid {
    Grid { code, name, figure: figure(grams, year, source) }
}

#[allow(clippy::too_many_arguments)] // One argument a column.
const fn region_row(
    provider: &'static str,
    region: &'static str,
    location: &'static str,
    country: &'static str,
    subdivision: Option<&'static str>,
    grams: f64,
    carbon_free_percent: Option<f64>,
    year: u16,
    basis: RegionBasis,
    source: &'static Source,
) -> CloudRegion {
    let carbon_free = match carbon_free_percent {
        Some(percent) => Ratio::new(percent / 100.0),
        None => None,
    };
    let figure = figure(grams, year, source);
    CloudRegion { provider, region, location, country, subdivision, carbon_free, figure, basis }
}

#[allow(clippy::too_many_arguments)] // One argument a column.
const fn gpu_row(
    model: &'static str,
    vendor: &'static str,
    kind: &'static str,
    architecture: &'static str,
    memory_gb: Option<f64>,
    tdp_watts: f64,
    release_year: Option<u16>,
    nvml_name: Option<&'static str>,
    source: &'static str,
    note: Option<&'static str>,
) -> GpuFacts {
    let tdp = constant(Watts::new(tdp_watts));
    GpuFacts { model, vendor, kind, architecture, memory_gb, tdp, release_year, nvml_name, source, note }
}

#[allow(clippy::too_many_arguments)] // One argument a column.
const fn instance_row(
    provider: &'static str,
    name: &'static str,
    vcpus: u32,
    memory_gib: u32,
    gpu: &'static str,
    gpu_count: u32,
    cpu: Option<&'static str>,
    server_vcpus: u32,
) -> GpuInstance {
    GpuInstance { provider, name, vcpus, memory_gib, gpu, gpu_count, cpu, server_vcpus }
}

const fn price_row(code: &'static str, usd_per_kwh: f64, year: u16) -> RetailPrice {
    match UsdPerKwh::new(usd_per_kwh) {
        Some(value) => RetailPrice { code, value, year },
        None => panic!("tables hold finite numbers"),
    }
}

const fn cpu_row(provider: &'static str, family: &'static str, idle: f64, full: f64) -> CpuWatts {
    CpuWatts { provider, family, idle, full }
}

const fn gpu_watts_row(name: &'static str, idle: f64, full: f64) -> GpuWatts {
    GpuWatts { name, idle, full }
}

/// The watts of a constant.
pub(crate) const fn constant(watts: Option<Watts>) -> Watts {
    match watts {
        Some(watts) => watts,
        None => panic!("tables hold finite numbers"),
    }
}
