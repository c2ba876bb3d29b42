//! Electricity Maps: version 3 with `auth-token`, and the older CO2 Signal form.

use std::sync::Arc;
use std::time::Duration;

use reqwest::Client;
use serde_json::Value;
use wattspan_core::{Clock, EmissionScope, GramsPerKwh, Intensity, Place, Provenance};

use crate::live::{Base, Failure, LiveSource, Provider, Query, Worker, check_base, http};
use crate::{Error, Secret, tables, time};

/// The carbon intensity of Electricity Maps: average, by zone or by latitude and longitude.
///
/// A place is asked for by its zone; else its coordinates; else its province or state in Canada and Australia, whose
/// zones have the same codes; else its country, unless a part of the country is known, for which the bundled figure
/// is nearer. A place without any of these is not asked for at all, since the service would answer for the caller's
/// own address. An answer for another zone than the one asked for is not used.
///
/// **Source** Electricity Maps API, `carbon-intensity/latest`.
#[derive(Clone, Debug)]
pub struct ElectricityMaps {
    key: Secret,
    base: Base,
    form: Form,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Version3,
    Co2Signal,
}

/// Every answer is for one hour (`datetime` is its beginning).
const HOUR: Duration = Duration::from_secs(3_600);

impl ElectricityMaps {
    /// With a key of version 3.
    pub fn new(key: Secret) -> Self {
        Self { key, base: "https://api.electricitymaps.com".into(), form: Form::Version3 }
    }

    /// With a key of the older CO2 Signal service.
    pub fn co2signal(key: Secret) -> Self {
        Self { key, base: "https://api.co2signal.com".into(), form: Form::Co2Signal }
    }

    /// Asks another server of the same form.
    pub fn base_url(mut self, base: impl Into<String>) -> Self {
        self.base = Base(base.into());
        self
    }

    /// Starts answering through a worker.
    ///
    /// # Errors
    /// [`Error::Setting`] for a base URL that is none, or that would send the key in the clear.
    pub fn attach(self, worker: &Worker) -> Result<LiveSource, Error> {
        check_base("base URL of Electricity Maps", &self.base, true)?;
        Ok(worker.attach(Provider::ElectricityMaps(self)))
    }

    pub(super) fn base(&self) -> &str {
        self.base.as_str()
    }

    pub(super) fn query(place: &Place) -> Option<Query> {
        // An eGRID acronym is no zone of theirs, and stands for a part of the country.
        if let Some(zone) = &place.zone {
            if tables::egrid_subregion(zone).is_some() {
                return None;
            }
            return Some(Query::Zone(Arc::clone(zone)));
        }
        if let Some(coordinates) = place.coordinates {
            return Some(Query::point(coordinates));
        }
        match &place.subdivision {
            Some(code) if code.starts_with("CA-") || code.starts_with("AU-") => {
                Some(Query::Zone(Arc::clone(code)))
            }
            Some(_) => None,
            None => Some(Query::Zone(Arc::clone(place.country.as_ref()?))),
        }
    }

    pub(super) async fn fetch(
        &self,
        client: &Client,
        query: &Query,
        clock: &dyn Clock,
    ) -> Result<Vec<Intensity>, Failure> {
        let (path, zone_name) = match self.form {
            Form::Version3 => ("/v3/carbon-intensity/latest", "zone"),
            Form::Co2Signal => ("/v1/latest", "countryCode"),
        };
        let url = match (query, query.degrees()) {
            (_, Some((latitude, longitude))) => {
                http::url(self.base.as_str(), path, &[("lat", &latitude), ("lon", &longitude)])?
            }
            (Query::Zone(zone), None) => http::url(self.base.as_str(), path, &[(zone_name, zone)])?,
            (Query::Point { .. }, None) => return Err(Failure::NoData("the place has no coordinates")),
        };
        let request = client.get(url).header("auth-token", http::sensitive(&self.key)?);
        let json = http::send(request, clock.wall()).await?.json(|| {
            format!(
                "check the Electricity Maps key ({}), that its plan has zone {query}, and its rate limit",
                self.key
            )
        })?;
        read(self.form, query, &json).map(|intensity| vec![intensity])
    }
}

/// Understands an answer.
fn read(form: Form, query: &Query, json: &Value) -> Result<Intensity, Failure> {
    let malformed = |reason: &str| Failure::Malformed(reason.to_owned());
    // Some failures come with status 200.
    if json.get("error").is_some() || json["status"] == "error" || json["status"] == "no-data" {
        return Err(Failure::NoData("the source has no recent data for this zone"));
    }
    let (body, zone) = match form {
        Form::Version3 => (json, json["zone"].as_str()),
        Form::Co2Signal => (&json["data"], json["countryCode"].as_str()),
    };
    if form == Form::Co2Signal {
        if json["status"] != "ok" {
            return Err(malformed("the answer has an unknown status"));
        }
        if json["units"]["carbonIntensity"].as_str().is_some_and(|unit| unit != "gCO2eq/kWh") {
            return Err(malformed("the answer is in an unknown unit"));
        }
    }
    let zone = zone.ok_or_else(|| malformed("the answer names no zone"))?;
    if let Query::Zone(asked) = query
        && **asked != *zone
    {
        return Err(malformed("the answer is for another zone than the one asked for"));
    }
    let value = match &body["carbonIntensity"] {
        Value::Null => return Err(Failure::NoData("the source has no value for this hour")),
        number => number.as_f64().filter(|grams| *grams >= 0.0).and_then(GramsPerKwh::new),
    };
    let value = value.ok_or_else(|| malformed("the carbon intensity is no number"))?;
    let from = body["datetime"].as_str().and_then(time::parse);
    let from = from.ok_or_else(|| malformed("the answer names no time"))?;
    let source =
        if body["isEstimated"] == true { "electricity-maps (estimated)" } else { "electricity-maps" };
    let mut answer = Intensity::new(value, source, Provenance::Live);
    answer.zone = Some(Arc::from(zone));
    answer.scope = match body["emissionFactorType"].as_str() {
        Some("lifecycle") => EmissionScope::LifeCycle,
        Some("direct") => EmissionScope::Direct,
        _ => EmissionScope::Unknown,
    };
    answer.valid_from = Some(from);
    answer.valid_until = from.checked_add(HOUR);
    Ok(answer)
}
