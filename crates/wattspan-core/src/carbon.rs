//! Carbon intensity and electricity price, each with where it comes from.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};

use crate::{Grams, GramsPerKwh, Usd, UsdPerKwh};

/// Whether an intensity is the grid's average or that of one more kilowatt-hour.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IntensityKind {
    /// Mean of what the grid generates or consumes.
    Average,
    /// Of the plants that follow demand.
    Marginal,
}

impl IntensityKind {
    /// The value of `wattspan.emissions.kind`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Average => "average",
            Self::Marginal => "marginal",
        }
    }
}

/// Which emissions of a plant an intensity counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum EmissionScope {
    /// From building and fuel supply to decommissioning.
    LifeCycle,
    /// Burning fuel only.
    Direct,
    /// The source does not say.
    Unknown,
}

/// How an intensity came about, best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Provenance {
    /// Given by the user: a fixed value or a series.
    User,
    /// From a live source, within its validity.
    Live,
    /// The last value of a live source that does not answer now.
    LastGood,
    /// From a table in this program.
    Bundled,
    /// The world's average, because the place is not known.
    WorldAverage,
}

/// Carbon intensity of the electricity at a place and time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Intensity {
    /// The figure.
    #[serde(rename = "grams_per_kwh")]
    pub value: GramsPerKwh,
    /// Name of the source, such as `ember-2025` or `electricity-maps`.
    pub source: Arc<str>,
    /// How it came about.
    pub provenance: Provenance,
    /// Grid zone, country or region that it holds for; `None` for a value that the user gave without one.
    pub zone: Option<Arc<str>>,
    /// Average or marginal.
    pub kind: IntensityKind,
    /// Which emissions it counts.
    pub scope: EmissionScope,
    /// Start of the time it holds for, where the source says.
    pub valid_from: Option<SystemTime>,
    /// End of that time.
    pub valid_until: Option<SystemTime>,
    /// How long ago the source gave it; `None` for values that do not age.
    pub age: Option<Duration>,
}

impl Intensity {
    /// An average intensity of unknown scope; set the public fields for the rest.
    pub fn new(value: GramsPerKwh, source: impl Into<Arc<str>>, provenance: Provenance) -> Self {
        Self {
            value,
            source: source.into(),
            provenance,
            zone: None,
            kind: IntensityKind::Average,
            scope: EmissionScope::Unknown,
            valid_from: None,
            valid_until: None,
            age: None,
        }
    }
}

/// Where electricity is drawn, as far as it is known. All parts may be empty: then it is nowhere in particular.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Place {
    /// ISO 3166-1 alpha-2 country code.
    pub country: Option<Arc<str>>,
    /// ISO 3166-2 subdivision code, such as `US-CA`.
    pub subdivision: Option<Arc<str>>,
    /// Grid zone as a live source names it.
    pub zone: Option<Arc<str>>,
    /// Latitude and longitude in degrees.
    pub coordinates: Option<(f64, f64)>,
    /// Cloud provider, `aws`, `gcp` or `azure`.
    pub cloud_provider: Option<Arc<str>>,
    /// Cloud region, as the provider names it.
    pub cloud_region: Option<Arc<str>>,
    /// How the place is known: `explicit`, `environment`, `cloud metadata`, `time zone (guess)`.
    pub basis: Option<Arc<str>>,
}

/// Price of electricity at a place and time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ElectricityPrice {
    /// The figure.
    #[serde(rename = "usd_per_kwh")]
    pub value: UsdPerKwh,
    /// Who says so.
    pub source: Arc<str>,
    /// End of the time it holds for.
    pub valid_until: Option<SystemTime>,
}

impl ElectricityPrice {
    /// A price that does not end.
    pub fn new(value: UsdPerKwh, source: impl Into<Arc<str>>) -> Self {
        Self { value, source: source.into(), valid_until: None }
    }
}

/// Emissions of one inference.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Emissions {
    /// Grams of CO2 equivalent.
    #[serde(rename = "total_grams")]
    pub total: Grams,
    /// Intensity that holds for most of the energy; `value` is the energy-weighted mean when several did.
    pub intensity: Intensity,
}

impl Emissions {
    /// Puts the figure and its intensity together.
    pub fn new(total: Grams, intensity: Intensity) -> Self {
        Self { total, intensity }
    }
}

/// What one inference cost.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Cost {
    /// The sum.
    #[serde(rename = "total_usd")]
    pub total: Usd,
    /// Where it comes from: `electricity`, `electricity+hardware`, `price_book`.
    pub source: Arc<str>,
    /// What a reader should know, such as "no cache price: upper bound".
    pub note: Option<Arc<str>>,
}

impl Cost {
    /// Puts a sum and its source together.
    pub fn new(total: Usd, source: impl Into<Arc<str>>) -> Self {
        Self { total, source: source.into(), note: None }
    }
}
