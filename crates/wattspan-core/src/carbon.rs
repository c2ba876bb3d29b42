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

/// What a figure covers: only what was measured, or also what stands around it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Boundary {
    /// The measured devices: GPU board, CPU package, memory.
    #[default]
    Device,
    /// The machine: with fans, network and the loss of its power supply.
    Host,
    /// The building: with cooling and power distribution.
    Facility,
}

impl Boundary {
    /// The value of `wattspan.emissions.boundary` and `wattspan.cost.boundary`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Device => "device",
            Self::Host => "host",
            Self::Facility => "facility",
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
    /// What the energy behind the grams covers. **Absent** when nobody said: in records of before it was kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub boundary: Option<Boundary>,
}

impl Emissions {
    /// Puts the figure and its intensity together.
    pub fn new(total: Grams, intensity: Intensity) -> Self {
        Self { total, intensity, boundary: None }
    }

    /// Says what the grams cover.
    #[must_use]
    pub fn within(mut self, boundary: Boundary) -> Self {
        self.boundary = Some(boundary);
        self
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
    /// What the electricity in it covers. **Absent** for prices of tokens, which have none, and when nobody said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub boundary: Option<Boundary>,
}

impl Cost {
    /// Puts a sum and its source together.
    pub fn new(total: Usd, source: impl Into<Arc<str>>) -> Self {
        Self { total, source: source.into(), note: None, boundary: None }
    }

    /// Says what the electricity in it covers.
    #[must_use]
    pub fn within(mut self, boundary: Boundary) -> Self {
        self.boundary = Some(boundary);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_without_a_boundary_are_read_and_written_as_before() {
        let old = r#"{"total_usd":0.5,"source":"electricity","note":null}"#;
        let cost: Cost = serde_json::from_str(old).unwrap();
        assert_eq!(cost.boundary, None);
        assert_eq!(serde_json::to_string(&cost).unwrap(), old);
        let intensity = Intensity::new(GramsPerKwh::whole(100), "fixed", Provenance::User);
        let emissions = Emissions::new(Grams::whole(1), intensity);
        let old = serde_json::to_string(&emissions).unwrap();
        assert!(!old.contains("boundary"), "{old}");
        assert_eq!(serde_json::from_str::<Emissions>(&old).unwrap(), emissions);
    }

    #[test]
    fn a_boundary_survives_a_trip_through_json_under_its_attributes_value() {
        for boundary in [Boundary::Device, Boundary::Host, Boundary::Facility] {
            let cost = Cost::new(Usd::whole(1), "electricity").within(boundary);
            let text = serde_json::to_string(&cost).unwrap();
            assert!(text.contains(&format!(r#""boundary":"{}""#, boundary.as_str())), "{text}");
            assert_eq!(serde_json::from_str::<Cost>(&text).unwrap(), cost);
        }
    }
}
