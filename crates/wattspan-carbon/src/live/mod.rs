//! Live sources: one worker thread asks, everybody else reads a cache.
//!
//! [`worker`] moves requests, [`cache`] decides without I/O what is due and what may be answered, and one file for each
//! service knows its requests and answers.

mod cache;
mod electricity_maps;
mod geoip;
mod http;
mod uk;
mod watttime;
mod worker;

pub use electricity_maps::ElectricityMaps;
pub use geoip::GeoIp;
pub use uk::UkCarbonIntensity;
pub use watttime::WattTime;
pub use worker::{LiveSource, Worker, WorkerOptions};

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use reqwest::Client;
use wattspan_core::{Clock, Intensity, Place};

use crate::Error;

/// How a live source stands with one zone; for `doctor` and for tests.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ZoneStatus {
    /// What was asked for: a zone, or latitude and longitude.
    pub zone: String,
    /// How long ago it last answered; `None` if it never did.
    pub answered: Option<Duration>,
    /// Why it did not answer the last time; `None` if it did.
    pub problem: Option<String>,
    /// Whether it is being asked now.
    pub asking: bool,
    /// When it may be asked again; zero when it may be now.
    pub next: Duration,
}

/// What a source is asked for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Query {
    /// A zone by its name at the source.
    Zone(Arc<str>),
    /// A point, in ten-thousandths of a degree (11 m), so that it can be a key.
    Point { latitude: i32, longitude: i32 },
}

impl Query {
    fn point((latitude, longitude): (f64, f64)) -> Self {
        Self::Point { latitude: (latitude * 1e4).round() as i32, longitude: (longitude * 1e4).round() as i32 }
    }

    /// Latitude and longitude as text, if it is a point.
    fn degrees(&self) -> Option<(String, String)> {
        match self {
            Self::Zone(_) => None,
            Self::Point { latitude, longitude } => {
                let text = |tenth_millis: i32| (f64::from(tenth_millis) / 1e4).to_string();
                Some((text(*latitude), text(*longitude)))
            }
        }
    }
}

impl fmt::Display for Query {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self, self.degrees()) {
            (Self::Zone(zone), _) => out.write_str(zone),
            (_, Some((latitude, longitude))) => write!(out, "{latitude},{longitude}"),
            (Self::Point { .. }, None) => Ok(()),
        }
    }
}

/// Why a request gave nothing. The texts are ours: no word of an answer and no URL goes into them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Failure {
    /// 401 or 403. May be a limit in disguise, so it is tried again, much later.
    Refused { status: u16, remedy: String },
    /// The source asks to come later.
    Limited { after: Option<Duration> },
    /// The source has nothing for this zone now.
    NoData(&'static str),
    /// The network, or the source's own trouble.
    Transient(String),
    /// An answer that means nothing to us.
    Malformed(String),
}

impl fmt::Display for Failure {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused { status, remedy } => write!(out, "refused with {status}: {remedy}"),
            Self::Limited { after: Some(after) } => {
                write!(out, "limited: asks to wait {} s", after.as_secs())
            }
            Self::Limited { after: None } => out.write_str("limited: too many requests"),
            Self::NoData(reason) => out.write_str(reason),
            Self::Transient(reason) | Self::Malformed(reason) => out.write_str(reason),
        }
    }
}

/// A service that can be asked.
#[derive(Debug)]
pub(crate) enum Provider {
    ElectricityMaps(ElectricityMaps),
    WattTime(Box<watttime::Session>),
    UkCarbonIntensity(UkCarbonIntensity),
}

impl Provider {
    fn name(&self) -> &'static str {
        match self {
            Self::ElectricityMaps(_) => "electricity-maps",
            Self::WattTime(_) => "watttime",
            Self::UkCarbonIntensity(_) => "uk-carbon-intensity",
        }
    }

    fn base_url(&self) -> &str {
        match self {
            Self::ElectricityMaps(source) => source.base(),
            Self::WattTime(session) => session.base(),
            Self::UkCarbonIntensity(source) => source.base(),
        }
    }

    /// What to ask for a place; `None` where this source has nothing to say. Never a question that the source would
    /// answer for the caller's own address.
    fn query(&self, place: &Place) -> Option<Query> {
        match self {
            Self::ElectricityMaps(_) => ElectricityMaps::query(place),
            Self::WattTime(session) => session.query(place),
            Self::UkCarbonIntensity(_) => UkCarbonIntensity::query(place),
        }
    }

    /// Asks. The answers are in order of time, each with its validity.
    async fn fetch(
        &self,
        client: &Client,
        query: &Query,
        clock: &dyn Clock,
    ) -> Result<Vec<Intensity>, Failure> {
        match self {
            Self::ElectricityMaps(source) => source.fetch(client, query, clock).await,
            Self::WattTime(session) => session.fetch(client, query, clock).await,
            Self::UkCarbonIntensity(source) => source.fetch(client, query, clock).await,
        }
    }
}

/// A URL that a user gave, which may hold a token: shown as scheme, host and port only.
#[derive(Clone)]
pub(crate) struct Base(String);

impl Base {
    fn as_str(&self) -> &str {
        &self.0
    }
}

impl<T: Into<String>> From<T> for Base {
    fn from(text: T) -> Self {
        Self(text.into())
    }
}

impl fmt::Debug for Base {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match reqwest::Url::parse(&self.0) {
            Ok(url) => write!(out, "{}", url.origin().ascii_serialization()),
            Err(_) => out.write_str("no URL"),
        }
    }
}

/// Checks a base URL that a user gave. A key is sent over TLS or to this machine, and nowhere else.
fn check_base(setting: &'static str, base: &Base, keyed: bool) -> Result<(), Error> {
    let base = base.as_str();
    // Only the host is repeated: a URL may hold a password.
    let host =
        reqwest::Url::parse(base).ok().and_then(|url| url.host_str().map(str::to_owned)).unwrap_or_default();
    let wrong = |remedy| Err(Error::Setting { setting, value: host.clone(), remedy });
    let Ok(url) = reqwest::Url::parse(base) else { return wrong("give a URL such as https://example.org") };
    if !url.username().is_empty() || url.password().is_some() {
        return wrong("take user and password out of the URL");
    }
    match url.scheme() {
        "https" => Ok(()),
        "http" if !keyed || http::is_loopback(&url) => Ok(()),
        "http" => wrong("use https: a key would cross the network in the clear"),
        _ => wrong("use https"),
    }
}
