//! UK Carbon Intensity (National Energy System Operator): Great Britain, half-hourly, no key.

use std::sync::Arc;

use reqwest::Client;
use serde_json::Value;
use wattspan_core::{Clock, EmissionScope, GramsPerKwh, Intensity, Place, Provenance};

use crate::live::{Base, Failure, LiveSource, Provider, Query, Worker, check_base, http};
use crate::{Error, time};

/// The carbon intensity of Great Britain: average, of the whole or of one region.
///
/// Answers for places in `GB` only, Northern Ireland included by that code though it has a grid of its own. The national figure is the actual one, or the forecast until it is known, which
/// the answer's source says; regions have forecasts only. It counts what power stations emit while generating.
///
/// **Source** Carbon Intensity API of the National Energy System Operator, version 2.
#[derive(Clone, Debug)]
pub struct UkCarbonIntensity {
    base: Base,
    area: Area,
}

#[derive(Clone, Debug)]
enum Area {
    Nation,
    Postcode(String),
    Region(u8),
}

impl UkCarbonIntensity {
    /// For the whole of Great Britain.
    pub fn new() -> Self {
        Self { base: "https://api.carbonintensity.org.uk".into(), area: Area::Nation }
    }

    /// For the region of a postcode; its outward part (`RG10`) is sent and no more.
    pub fn postcode(mut self, postcode: &str) -> Self {
        let outward = postcode.split_whitespace().next().unwrap_or_default();
        self.area = Area::Postcode(outward.to_ascii_uppercase());
        self
    }

    /// For a region by its number, 1 to 17.
    pub fn region(mut self, number: u8) -> Self {
        self.area = Area::Region(number);
        self
    }

    /// Asks another server.
    pub fn base_url(mut self, base: impl Into<String>) -> Self {
        self.base = Base(base.into());
        self
    }

    /// Starts answering through a worker.
    ///
    /// # Errors
    /// [`Error::Setting`] for a base URL, a postcode or a region that is none.
    pub fn attach(self, worker: &Worker) -> Result<LiveSource, Error> {
        check_base("base URL of UK Carbon Intensity", &self.base, false)?;
        let wrong = |value: &str, remedy| {
            Err(Error::Setting { setting: "area of UK Carbon Intensity", value: value.to_owned(), remedy })
        };
        match &self.area {
            Area::Postcode(outward)
                if !(2..=4).contains(&outward.len())
                    || !outward.bytes().all(|byte| byte.is_ascii_alphanumeric()) =>
            {
                return wrong(outward, "give the first part of a postcode, such as RG10");
            }
            Area::Region(number) if !(1..=17).contains(number) => {
                return wrong(&number.to_string(), "give a number from 1 to 17");
            }
            _ => {}
        }
        Ok(worker.attach(Provider::UkCarbonIntensity(self)))
    }

    pub(super) fn base(&self) -> &str {
        self.base.as_str()
    }

    pub(super) fn query(place: &Place) -> Option<Query> {
        let country = place.country.as_ref()?;
        (**country == *"GB").then(|| Query::Zone(Arc::clone(country)))
    }

    pub(super) async fn fetch(
        &self,
        client: &Client,
        _query: &Query,
        clock: &dyn Clock,
    ) -> Result<Vec<Intensity>, Failure> {
        let path = match &self.area {
            Area::Nation => "/intensity".to_owned(),
            Area::Postcode(outward) => format!("/regional/postcode/{outward}"),
            Area::Region(number) => format!("/regional/regionid/{number}"),
        };
        let url = http::url(self.base.as_str(), &path, &[])?;
        let request = client.get(url).header("Accept", "application/json");
        let answer = http::send(request, clock.wall()).await?;
        let json = answer.json(|| "the service needs no key: check for a proxy on the way".to_owned())?;
        read(!matches!(self.area, Area::Nation), &json).map(|intensity| vec![intensity])
    }
}

impl Default for UkCarbonIntensity {
    fn default() -> Self {
        Self::new()
    }
}

/// Understands an answer: `data[0]` of the nation, `data[0].data[0]` of a region.
fn read(regional: bool, json: &Value) -> Result<Intensity, Failure> {
    let malformed = |reason: &str| Failure::Malformed(reason.to_owned());
    if json.get("error").is_some() {
        return Err(Failure::NoData("the source has nothing for this half hour"));
    }
    let outer = &json["data"][0];
    let (row, zone) = if regional {
        let name = outer["shortname"].as_str().ok_or_else(|| malformed("the answer names no region"))?;
        (&outer["data"][0], format!("GB {name}"))
    } else {
        (outer, "GB".to_owned())
    };
    let grams =
        |name: &str| row["intensity"][name].as_f64().filter(|grams| *grams >= 0.0).and_then(GramsPerKwh::new);
    let (value, source) = match (grams("actual"), grams("forecast")) {
        (Some(actual), _) => (actual, "uk-carbon-intensity"),
        (None, Some(forecast)) => (forecast, "uk-carbon-intensity (forecast)"),
        (None, None) => return Err(Failure::NoData("the source has no value for this half hour")),
    };
    let edge = |name: &str| row[name].as_str().and_then(time::parse);
    let (Some(from), Some(until)) = (edge("from"), edge("to")) else {
        return Err(malformed("the answer names no times"));
    };
    let mut answer = Intensity::new(value, source, Provenance::Live);
    answer.zone = Some(Arc::from(zone));
    answer.scope = EmissionScope::Direct;
    answer.valid_from = Some(from);
    answer.valid_until = Some(until);
    Ok(answer)
}
