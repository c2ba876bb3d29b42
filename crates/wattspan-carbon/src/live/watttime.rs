//! WattTime: the marginal intensity, in pounds a megawatt-hour, behind a login.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use reqwest::{Client, RequestBuilder};
use serde_json::Value;
use tokio::sync::Mutex;
use wattspan_core::{Clock, GramsPerKwh, Intensity, IntensityKind, MonoTime, Place, Provenance};

use crate::live::http::{self, Answer};
use crate::live::{Base, Failure, LiveSource, Provider, Query, Worker, check_base};
use crate::{Error, GRAMS_PER_KWH_OF_POUNDS_PER_MWH, Secret, time};

/// The carbon intensity of WattTime: that of the plants that follow demand, forecast for the hour to come.
///
/// A place is asked for by its zone if that is a region of WattTime's (`CAISO_NORTH`), else by its coordinates, for
/// which the region is looked up once. Marginal figures are not comparable with the averages of other sources; the
/// answer's kind says which it is. `/v3/signal-index`, a percentile, is never taken for an intensity.
///
/// **Source** WattTime API v3, `/v3/forecast`.
#[derive(Clone)]
pub struct WattTime {
    user: String,
    password: Secret,
    base: Base,
    region: Option<Arc<str>>,
    signal: Signal,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Signal {
    Marginal,
    Average,
}

impl Signal {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Marginal => "co2_moer",
            Self::Average => "co2_aoer",
        }
    }
}

impl WattTime {
    /// With an account.
    pub fn new(user: impl Into<String>, password: Secret) -> Self {
        let base = "https://api.watttime.org".into();
        Self { user: user.into(), password, base, region: None, signal: Signal::Marginal }
    }

    /// Answers for one region whatever the place is.
    pub fn region(mut self, region: impl Into<Arc<str>>) -> Self {
        self.region = Some(region.into());
        self
    }

    /// Asks for the average instead of the marginal figure, where the plan has it.
    pub fn average(mut self) -> Self {
        self.signal = Signal::Average;
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
    /// [`Error::Setting`] for a base URL that is none, or that would send the password in the clear.
    pub fn attach(self, worker: &Worker) -> Result<LiveSource, Error> {
        check_base("base URL of WattTime", &self.base, true)?;
        let login = Mutex::new(Login { token: None, refused: None, regions: HashMap::new() });
        Ok(worker.attach(Provider::WattTime(Box::new(Session { settings: self, login }))))
    }
}

impl fmt::Debug for WattTime {
    /// Without the user, who may be a person's address.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("WattTime")
            .field("password", &self.password)
            .field("region", &self.region)
            .field("signal", &self.signal)
            .finish_non_exhaustive()
    }
}

/// Settings and what was learned with them.
#[derive(Debug)]
pub(crate) struct Session {
    settings: WattTime,
    /// Held while logging in, so that many zones log in once.
    login: Mutex<Login>,
}

struct Login {
    /// The token, and when it was given.
    token: Option<(Secret, MonoTime)>,
    /// The login was refused: until when it is not tried again, and with what.
    refused: Option<(MonoTime, Failure)>,
    /// Regions of points. They do not move.
    regions: HashMap<Query, Arc<str>>,
}

impl fmt::Debug for Login {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Login").field("token", &self.token.is_some()).finish_non_exhaustive()
    }
}

/// A token lasts thirty minutes; it is renewed before.
const TOKEN_TIME: Duration = Duration::from_secs(25 * 60);
/// Zones that become due together do not each try a login that was refused a moment ago.
const LOGIN_PAUSE: Duration = Duration::from_secs(50);
const HOURS_AHEAD: &str = "1";

impl Session {
    pub(super) fn base(&self) -> &str {
        self.settings.base.as_str()
    }

    pub(super) fn query(&self, place: &Place) -> Option<Query> {
        let zone = self.settings.region.as_ref().or(place.zone.as_ref());
        match (zone, place.coordinates) {
            (Some(zone), _) => Some(Query::Zone(Arc::clone(zone))),
            (None, Some(coordinates)) => Some(Query::point(coordinates)),
            (None, None) => None,
        }
    }

    pub(super) async fn fetch(
        &self,
        client: &Client,
        query: &Query,
        clock: &dyn Clock,
    ) -> Result<Vec<Intensity>, Failure> {
        let region = self.region(client, query, clock).await?;
        let signal = self.settings.signal;
        let parameters =
            [("region", &*region), ("signal_type", signal.as_str()), ("horizon_hours", HOURS_AHEAD)];
        let answer = self.ask(client, "/v3/forecast", &parameters, clock).await?;
        read(signal, &region, &answer.json(|| self.remedy(&region))?)
    }

    fn remedy(&self, region: &str) -> String {
        format!(
            "check that the WattTime plan has region {region}; the password is {}",
            self.settings.password
        )
    }

    async fn region(&self, client: &Client, query: &Query, clock: &dyn Clock) -> Result<Arc<str>, Failure> {
        let (latitude, longitude) = match (query, query.degrees()) {
            (_, Some(degrees)) => degrees,
            (Query::Zone(zone), None) => return Ok(Arc::clone(zone)),
            (Query::Point { .. }, None) => return Err(Failure::NoData("the place has no coordinates")),
        };
        if let Some(region) = self.login.lock().await.regions.get(query) {
            return Ok(Arc::clone(region));
        }
        let signal = self.settings.signal.as_str();
        let parameters =
            [("latitude", latitude.as_str()), ("longitude", longitude.as_str()), ("signal_type", signal)];
        let answer = self.ask(client, "/v3/region-from-loc", &parameters, clock).await?;
        let json = answer.json(|| self.remedy("of these coordinates"))?;
        let region = json["region"].as_str().filter(|region| !region.is_empty());
        let region: Arc<str> =
            region.ok_or_else(|| Failure::Malformed("the answer names no region".to_owned()))?.into();
        self.login.lock().await.regions.insert(query.clone(), Arc::clone(&region));
        Ok(region)
    }

    /// Asks with a token; with a new one, once, if that is refused as expired.
    async fn ask(
        &self,
        client: &Client,
        path: &str,
        parameters: &[(&str, &str)],
        clock: &dyn Clock,
    ) -> Result<Answer, Failure> {
        let url = http::url(self.settings.base.as_str(), path, parameters)?;
        let request =
            |token: &Secret| -> RequestBuilder { client.get(url.clone()).bearer_auth(token.expose()) };
        let token = self.token(client, None, clock).await?;
        let answer = http::send(request(&token), clock.wall()).await?;
        if answer.status != 401 {
            return Ok(answer);
        }
        let token = self.token(client, Some(&token), clock).await?;
        http::send(request(&token), clock.wall()).await
    }

    /// The token in use, or a new one if it is old or `stale`.
    async fn token(
        &self,
        client: &Client,
        stale: Option<&Secret>,
        clock: &dyn Clock,
    ) -> Result<Secret, Failure> {
        let mut login = self.login.lock().await;
        let now = clock.mono();
        if let Some((token, given)) = &login.token
            && now.since(*given) < TOKEN_TIME
            && stale != Some(token)
        {
            return Ok(token.clone());
        }
        if let Some((until, failure)) = &login.refused
            && now < *until
        {
            return Err(failure.clone());
        }
        login.token = None;
        let url = http::url(self.settings.base.as_str(), "/login", &[])?;
        let request = client.get(url).basic_auth(&self.settings.user, Some(self.settings.password.expose()));
        let json = http::send(request, clock.wall())
            .await?
            .json(|| format!("check the WattTime user and password (password {})", self.settings.password));
        let json = match json {
            Err(failure @ Failure::Refused { .. }) => {
                login.refused = Some((now + LOGIN_PAUSE, failure.clone()));
                return Err(failure);
            }
            other => other?,
        };
        let token = json["token"].as_str().filter(|token| !token.is_empty());
        let token = token.ok_or_else(|| Failure::Malformed("the login gives no token".to_owned()))?;
        let token = Secret::new(token, "login");
        login.refused = None;
        login.token = Some((token.clone(), now));
        Ok(token)
    }
}

/// Understands a forecast.
fn read(signal: Signal, region: &str, json: &Value) -> Result<Vec<Intensity>, Failure> {
    let malformed = |reason: &str| Failure::Malformed(reason.to_owned());
    let meta = &json["meta"];
    // A percentile or another unit must never pass for grams.
    if meta["units"] != "lbs_co2_per_mwh" {
        return Err(malformed("the answer is not in pounds of CO2 a megawatt-hour"));
    }
    if meta["region"] != *region || meta["signal_type"] != signal.as_str() {
        return Err(malformed("the answer is for another region or signal than the one asked for"));
    }
    let period = Duration::from_secs(meta["data_point_period_seconds"].as_u64().unwrap_or(300));
    let zone: Arc<str> = Arc::from(region);
    let rows = json["data"].as_array().ok_or_else(|| malformed("the answer has no data"))?;
    let mut answers = Vec::with_capacity(rows.len());
    for row in rows {
        let Some(pounds) = row["value"].as_f64() else { continue };
        // A marginal figure can be below zero: more demand that lets more wind in.
        let value = GramsPerKwh::new(pounds * GRAMS_PER_KWH_OF_POUNDS_PER_MWH);
        let from = row["point_time"].as_str().and_then(time::parse);
        let (Some(value), Some(from)) = (value, from) else {
            return Err(malformed("a point has no number or no time"));
        };
        let mut answer = Intensity::new(value, "watttime (forecast)", Provenance::Live);
        answer.zone = Some(Arc::clone(&zone));
        answer.kind = match signal {
            Signal::Marginal => IntensityKind::Marginal,
            Signal::Average => IntensityKind::Average,
        };
        answer.valid_from = Some(from);
        answer.valid_until = from.checked_add(period);
        answers.push(answer);
    }
    answers.sort_by_key(|answer| answer.valid_from);
    if answers.is_empty() { Err(Failure::NoData("the forecast is empty")) } else { Ok(answers) }
}
