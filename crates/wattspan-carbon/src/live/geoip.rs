//! The country of this machine's public address, from a service that the user names.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use wattspan_core::{Clock, Place, SystemClock};

use crate::live::{Base, Failure, check_base, http};
use crate::place::PlaceQuery;
use crate::{Error, tables};

/// Asks a GeoIP service where this machine's public address is. Only ever used when the user gives its URL: the
/// service learns the address.
///
/// The answer is JSON with a country code (`country_code`, `countryCode` or `country`) and, if it has them, a region
/// code and coordinates under their usual names.
#[derive(Clone, Debug)]
pub struct GeoIp {
    url: Base,
    time_limit: Duration,
}

impl GeoIp {
    /// With the service's whole URL.
    ///
    /// # Errors
    /// [`Error::Setting`] for a URL that is none.
    pub fn new(url: impl Into<String>) -> Result<Self, Error> {
        let url = Base(url.into());
        check_base("URL of the GeoIP service", &url, false)?;
        Ok(Self { url, time_limit: Duration::from_secs(5) })
    }

    /// Bounds the question; five seconds if never called.
    pub fn time_limit(mut self, limit: Duration) -> Self {
        self.time_limit = limit;
        self
    }

    /// Asks, once. Blocks for the time limit at most; can be called inside and outside an async runtime.
    ///
    /// # Errors
    /// [`Error::GeoIp`] when there is no answer or none that names a country.
    pub fn locate(&self) -> Result<Place, Error> {
        let endpoint =
            reqwest::Url::parse(self.url.as_str()).ok().and_then(|url| url.host_str().map(str::to_owned));
        let failed = |reason: String| Error::GeoIp { endpoint: endpoint.clone().unwrap_or_default(), reason };
        // A thread of its own, since a runtime cannot be started inside another.
        let json = std::thread::scope(|scope| scope.spawn(|| self.ask()).join());
        let json = json.unwrap_or_else(|_| Err(Failure::Transient("the client failed".to_owned())));
        let query = read(&json.map_err(|failure| failed(failure.to_string()))?);
        let query = query.ok_or_else(|| failed("the answer names no country".to_owned()))?;
        query.resolve("GeoIP").strict().map_err(|error| failed(error.to_string()))
    }

    fn ask(&self) -> Result<Value, Failure> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|_| Failure::Transient("no runtime".to_owned()))?;
        let answer = runtime.block_on(async {
            let client = http::client(self.url.as_str(), self.time_limit)?;
            let request = client.get(self.url.as_str()).header("Accept", "application/json");
            match tokio::time::timeout(self.time_limit, http::send(request, SystemClock.wall())).await {
                Ok(answer) => answer,
                Err(_) => Err(Failure::Transient("no answer in time".to_owned())),
            }
        });
        runtime.shutdown_background();
        answer?.json(|| "check the URL of the GeoIP service".to_owned())
    }
}

/// Understands an answer. Regions and points are used where they are ours; they never move the country.
fn read(json: &Value) -> Option<PlaceQuery> {
    let text = |names: &[&str]| names.iter().find_map(|name| json[*name].as_str());
    let country = text(&["country_code", "countryCode", "country_iso", "country"])?.to_ascii_uppercase();
    tables::country(&country)?;
    let mut query = PlaceQuery::new();
    if let Some(region) = text(&["region_code", "regionCode"]) {
        let code: Arc<str> = Arc::from(format!("{country}-{}", region.to_ascii_uppercase()));
        query.subdivision = tables::subdivision(&code).map(|row| row.code.to_owned());
    }
    let number = |names: &[&str]| names.iter().find_map(|name| json[*name].as_f64());
    query.coordinates = number(&["latitude", "lat"]).zip(number(&["longitude", "lon", "lng"]));
    query.country = Some(country);
    Some(query)
}
