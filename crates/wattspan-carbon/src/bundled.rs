//! Intensity from the tables in this program.

use std::sync::Arc;
use std::time::SystemTime;

use wattspan_core::{Intensity, IntensitySource, Place, Provenance};

use crate::tables::{self, RegionBasis};

/// The tables of this crate as a source: cloud region, then state or province, then grid zone, then country.
///
/// Every figure is an annual mean, whatever time is asked for; its year is the answer's `valid_from` and
/// `valid_until`, its zone is what the figure describes (a cloud region without a figure of its own answers with its
/// state's or country's, and says so). A place without a figure is `None`, never a neighbour's.
#[derive(Clone, Copy, Debug, Default)]
pub struct Bundled {
    world: bool,
}

impl Bundled {
    /// Answers for known places only.
    pub const fn new() -> Self {
        Self { world: false }
    }

    /// Answers for any other place with the world's average, labelled [`Provenance::WorldAverage`].
    pub const fn or_world_average(mut self) -> Self {
        self.world = true;
        self
    }
}

impl IntensitySource for Bundled {
    fn name(&self) -> &'static str {
        "bundled"
    }

    fn latest(&self, place: &Place, _at: SystemTime) -> Option<Intensity> {
        cloud(place)
            .or_else(|| subdivision(place))
            .or_else(|| zone(place))
            .or_else(|| country(place))
            .or_else(|| self.world.then(world_average).flatten())
    }
}

/// The world's average, labelled so.
pub(crate) fn world_average() -> Option<Intensity> {
    let row = tables::aggregate("WORLD")?;
    Some(row.figure.intensity(Arc::from(row.code), Provenance::WorldAverage))
}

/// The place's own text where it has the code already, so that a look-up allocates nothing.
fn shared(known: Option<&Arc<str>>, code: &str) -> Arc<str> {
    match known {
        Some(text) if **text == *code => Arc::clone(text),
        _ => Arc::from(code),
    }
}

fn cloud(place: &Place) -> Option<Intensity> {
    let region = place.cloud_region.as_deref()?;
    let row = tables::cloud_region(place.cloud_provider.as_deref()?, region)?;
    let zone = match (row.basis, row.subdivision) {
        (RegionBasis::Subdivision, Some(code)) => shared(place.subdivision.as_ref(), code),
        (RegionBasis::Country, _) => shared(place.country.as_ref(), row.country),
        _ => shared(place.cloud_region.as_ref(), row.region),
    };
    Some(row.figure.intensity(zone, Provenance::Bundled))
}

fn subdivision(place: &Place) -> Option<Intensity> {
    let code = place.subdivision.as_ref()?;
    let row = tables::subdivision(code)?;
    Some(row.figure.intensity(Arc::clone(code), Provenance::Bundled))
}

/// A live source's zone that is also a code of ours: `CAMX`, `CA-ON`, `FR`.
fn zone(place: &Place) -> Option<Intensity> {
    let code = place.zone.as_ref()?;
    let row = tables::egrid_subregion(code).or_else(|| tables::subdivision(code));
    let figure = match row {
        Some(row) => row.figure,
        None => tables::country(code)?.figure?,
    };
    Some(figure.intensity(Arc::clone(code), Provenance::Bundled))
}

fn country(place: &Place) -> Option<Intensity> {
    let code = place.country.as_ref()?;
    let row = tables::country(code)?;
    Some(row.figure?.intensity(Arc::clone(code), Provenance::Bundled))
}
