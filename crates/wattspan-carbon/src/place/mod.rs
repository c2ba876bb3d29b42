//! From what somebody wrote to a [`Place`]: spellings, contradictions, and what was ignored.

mod guess;
mod labels;
mod locate;
mod names;

pub(crate) use locate::METADATA_TIME;
pub use locate::{Located, Locator};

use std::sync::Arc;

use wattspan_core::Place;

use crate::Error;
use crate::tables;

/// A place as a user or a machine spells it; all parts may be missing.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct PlaceQuery {
    /// ISO 3166-1 alpha-2 or alpha-3 code, or English name.
    pub country: Option<String>,
    /// State or province: ISO 3166-2 code, its part after the dash, or English name.
    pub subdivision: Option<String>,
    /// Grid zone of a live source (`SE-SE3`), or eGRID acronym (`CAMX`).
    pub zone: Option<String>,
    /// Latitude and longitude in degrees.
    pub coordinates: Option<(f64, f64)>,
    /// `aws`, `gcp` or `azure`.
    pub cloud_provider: Option<String>,
    /// Region or availability zone of the provider.
    pub cloud_region: Option<String>,
}

/// What a [`PlaceQuery`] came to.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Resolution {
    /// The place, as far as it is understood; empty when nothing is. Never another place than the one meant.
    pub place: Place,
    /// What was understood and not used, and why. For the log, at information level.
    pub notes: Vec<String>,
    /// What was not understood. The run can go on with `place`.
    pub errors: Vec<Error>,
}

impl Resolution {
    /// The place, or the first thing that was not understood.
    ///
    /// # Errors
    /// The first of `errors`.
    pub fn strict(self) -> Result<Place, Error> {
        match self.errors.into_iter().next() {
            Some(error) => Err(error),
            None => Ok(self.place),
        }
    }
}

impl PlaceQuery {
    /// A query that asks for nothing; set the public fields.
    pub fn new() -> Self {
        Self::default()
    }

    /// Reads one word or phrase: `DE`, `DEU`, `Germany`, `US-CA`, `California`, `aws:us-east-1`, `us-east-1`,
    /// `SE-SE3`, `CAMX`, `52.52,13.405`.
    ///
    /// # Errors
    /// [`Error::Unknown`] with near names, [`Error::Ambiguous`] (Georgia is a country and a state),
    /// [`Error::Coordinates`].
    ///
    /// ```
    /// use wattspan_carbon::PlaceQuery;
    ///
    /// let place = PlaceQuery::parse("us-east-1")?.resolve("explicit").strict()?;
    /// assert_eq!(place.subdivision.as_deref(), Some("US-VA"));
    /// let error = PlaceQuery::parse("Germny").unwrap_err();
    /// assert_eq!(error.to_string(), r#"no place is called "Germny": did you mean Germany (DE)?"#);
    /// # Ok::<(), wattspan_carbon::Error>(())
    /// ```
    pub fn parse(text: &str) -> Result<Self, Error> {
        let text = text.trim();
        let mut query = Self::default();
        if let Some(coordinates) = parse_coordinates(text) {
            query.coordinates = Some(coordinates?);
            return Ok(query);
        }
        if let Some((provider, region)) = text.split_once([':', '/']) {
            let provider = names::provider(provider)?;
            query.cloud_provider = Some(provider.to_owned());
            query.cloud_region = Some(names::cloud_region(region, Some(provider))?.region.to_owned());
            return Ok(query);
        }
        let country = names::country(text);
        let state = names::subdivision(text, None);
        match (country, state) {
            (Some(country), Some(state)) => {
                let meanings = vec![
                    format!("{} ({})", country.name, country.iso2),
                    format!("{} ({})", state.name, state.code),
                ];
                return Err(Error::Ambiguous { value: text.to_owned(), meanings });
            }
            (Some(country), None) => {
                query.country = Some(country.iso2.to_owned());
                return Ok(query);
            }
            (None, Some(state)) => {
                query.subdivision = Some(state.code.to_owned());
                return Ok(query);
            }
            (None, None) => {}
        }
        match names::cloud_region(text, None) {
            Ok(row) => {
                query.cloud_provider = Some(row.provider.to_owned());
                query.cloud_region = Some(row.region.to_owned());
                return Ok(query);
            }
            Err(error @ Error::Ambiguous { .. }) => return Err(error),
            Err(_) => {}
        }
        let errors = [
            Err(names::unknown_country(text)),
            Err(names::unknown_subdivision(text, None)),
            names::cloud_region(text, None),
        ];
        let mut near: Vec<String> = Vec::new();
        for error in errors {
            if let Err(Error::Unknown { near: more, .. }) = error {
                near.extend(more);
            }
        }
        near.truncate(3);
        // Live sources' zones cannot be listed here. What begins with a country's code is taken for one, unless it
        // looks like a slip in a name that is known.
        let upper = text.to_ascii_uppercase();
        let zone = tables::egrid_subregion(&upper).is_some()
            || (near.is_empty() && upper.len() > 2 && country_of_zone(&upper).is_some());
        if zone {
            query.zone = Some(upper);
            return Ok(query);
        }
        Err(Error::Unknown { what: "place".to_owned(), value: text.to_owned(), near })
    }

    /// Reads the variables `WATTSPAN_COUNTRY`, `WATTSPAN_SUBDIVISION`, `WATTSPAN_ZONE`, `WATTSPAN_COORDINATES`
    /// (`latitude,longitude`), `WATTSPAN_CLOUD_PROVIDER` and `WATTSPAN_CLOUD_REGION`. A blank one is unset.
    ///
    /// # Errors
    /// [`Error::Coordinates`]; other spellings are checked when the query is resolved.
    pub fn from_variables(lookup: &dyn Fn(&str) -> Option<String>) -> Result<Self, Error> {
        let read =
            |name: &str| lookup(name).map(|text| text.trim().to_owned()).filter(|text| !text.is_empty());
        let coordinates = match read("WATTSPAN_COORDINATES") {
            Some(text) => Some(parse_coordinates(&text).unwrap_or(Err(Error::Coordinates { given: text }))?),
            None => None,
        };
        Ok(Self {
            country: read("WATTSPAN_COUNTRY"),
            subdivision: read("WATTSPAN_SUBDIVISION"),
            zone: read("WATTSPAN_ZONE"),
            coordinates,
            cloud_provider: read("WATTSPAN_CLOUD_PROVIDER"),
            cloud_region: read("WATTSPAN_CLOUD_REGION"),
        })
    }

    /// Whether nothing is asked for. A provider alone is no place.
    pub fn is_empty(&self) -> bool {
        let Self { country, subdivision, zone, coordinates, cloud_provider: _, cloud_region } = self;
        country.is_none()
            && subdivision.is_none()
            && zone.is_none()
            && coordinates.is_none()
            && cloud_region.is_none()
    }

    /// Understands the query. A cloud region says most, so it wins over a country or state given beside it; what it
    /// overrides is named in the notes. What is not understood is an error, and the rest is used without it.
    ///
    /// A state or district of a country of which the tables have none is a note and not an error: the country holds.
    pub fn resolve(&self, basis: &str) -> Resolution {
        let mut out = Resolution::default();
        let region = self.cloud(&mut out);
        let country = self.country.as_deref().and_then(|text| {
            let found = names::country(text);
            if found.is_none() {
                out.errors.push(names::unknown_country(text));
            }
            found
        });
        match region {
            Some(row) => self.take_region(row, country, &mut out),
            None => self.take_names(country, &mut out),
        }
        self.zone_and_coordinates(&mut out);
        if out.place != Place::default() {
            out.place.basis = Some(Arc::from(basis));
        }
        out
    }

    fn cloud(&self, out: &mut Resolution) -> Option<&'static tables::CloudRegion> {
        let provider = match self.cloud_provider.as_deref().map(names::provider) {
            Some(Ok(provider)) => Some(provider),
            Some(Err(error)) => {
                out.errors.push(error);
                None
            }
            None => None,
        };
        out.place.cloud_provider = provider.map(Arc::from);
        match names::cloud_region(self.cloud_region.as_deref()?, provider) {
            Ok(row) => {
                out.place.cloud_provider = Some(Arc::from(row.provider));
                out.place.cloud_region = Some(Arc::from(row.region));
                Some(row)
            }
            Err(error) => {
                out.errors.push(error);
                None
            }
        }
    }

    fn take_region(
        &self,
        row: &'static tables::CloudRegion,
        country: Option<&'static tables::Country>,
        out: &mut Resolution,
    ) {
        out.place.country = Some(Arc::from(row.country));
        out.place.subdivision = row.subdivision.map(Arc::from);
        let cloud = format!("{}:{}", row.provider, row.region);
        if let Some(country) = country {
            out.notes.push(if country.iso2 == row.country {
                format!("country {} is ignored: the cloud region {cloud} says more", country.iso2)
            } else {
                format!("country {} is ignored: the cloud region {cloud} is in {}", country.iso2, row.country)
            });
        }
        if let Some(text) = &self.subdivision {
            out.notes.push(format!("region {text:?} is ignored: the cloud region {cloud} says more"));
        }
    }

    fn take_names(&self, country: Option<&'static tables::Country>, out: &mut Resolution) {
        let code = country.map(|row| row.iso2);
        out.place.country = code.map(Arc::from);
        let Some(text) = self.subdivision.as_deref() else { return };
        match (names::subdivision(text, code), code) {
            (Some(row), _) => {
                out.place.subdivision = Some(Arc::from(row.code));
                out.place.country = row.code.get(..2).map(Arc::from);
            }
            (None, Some(code))
                if !names::has_subdivisions(code) && names::subdivision(text, None).is_none() =>
            {
                out.notes
                    .push(format!("there are no figures for parts of {code}: {text:?} is taken as {code}"));
            }
            (None, _) if country.is_none() && self.country.is_some() => {
                out.notes.push(format!("region {text:?} is ignored: its country is not known"));
            }
            (None, _) => out.errors.push(names::unknown_subdivision(text, code)),
        }
    }

    fn zone_and_coordinates(&self, out: &mut Resolution) {
        if let Some(zone) = &self.zone {
            let upper = zone.trim().to_ascii_uppercase();
            // Zones are their source's own: they are passed on as given, and only codes of ours are put in capitals.
            let ours = tables::egrid_subregion(&upper).is_some() || country_of_zone(&upper).is_some();
            if out.place.country.is_none() {
                out.place.country = country_of_zone(&upper).map(Arc::from);
            }
            out.place.zone = Some(Arc::from(if ours { upper.as_str() } else { zone.trim() }));
        }
        if let Some((latitude, longitude)) = self.coordinates {
            if on_the_globe(latitude, longitude) {
                out.place.coordinates = Some((latitude, longitude));
            } else {
                out.errors.push(Error::Coordinates { given: format!("{latitude},{longitude}") });
            }
        }
    }
}

/// `aws`, `azure` or `gcp` for any spelling of theirs.
pub(crate) fn canonical_provider(text: &str) -> Option<&'static str> {
    names::provider(text).ok()
}

/// The country that a zone such as `SE-SE3` or `CAMX` lies in.
fn country_of_zone(zone: &str) -> Option<&'static str> {
    if tables::egrid_subregion(zone).is_some() {
        // Puerto Rico has an ISO code of its own; eGRID counts it with the states.
        return Some(if zone == "PRMS" { "PR" } else { "US" });
    }
    let code = zone.split_once('-').map_or(zone, |(code, _)| code);
    (code.len() == 2).then(|| tables::country(code)).flatten().map(|row| row.iso2)
}

fn on_the_globe(latitude: f64, longitude: f64) -> bool {
    (-90.0..=90.0).contains(&latitude) && (-180.0..=180.0).contains(&longitude)
}

/// `None` when the text is not two numbers at all.
fn parse_coordinates(text: &str) -> Option<Result<(f64, f64), Error>> {
    let (latitude, longitude) = text.split_once(',')?;
    let (latitude, longitude) = (latitude.trim().parse().ok()?, longitude.trim().parse().ok()?);
    Some(if on_the_globe(latitude, longitude) {
        Ok((latitude, longitude))
    } else {
        Err(Error::Coordinates { given: text.to_owned() })
    })
}
