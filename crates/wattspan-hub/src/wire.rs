//! Requests and answers: bounded in time and size, tried again where that can help, without redirects, and without the
//! token for anybody but the Hub.

use std::cell::{Cell, RefCell};
use std::sync::Once;
use std::sync::atomic::Ordering;
use std::time::{Duration, SystemTime};

use reqwest::header::{
    ACCEPT, AUTHORIZATION, CONTENT_LENGTH, CONTENT_TYPE, HeaderMap, HeaderValue, RETRY_AFTER,
};
use reqwest::{Client, Method, Url, redirect};
use wattspan_core::{is_loopback_host, jittered, random_share};

use crate::file::Slice;
use crate::hub::Settings;
use crate::{HubError, Progress};

/// What is sent.
#[derive(Clone)]
pub(crate) enum Body {
    Nothing,
    Text {
        kind: &'static str,
        bytes: Vec<u8>,
    },
    /// A part of a file, which is read while it is sent.
    File(Slice),
}

/// A request, which can be sent again.
pub(crate) struct Request<'a> {
    pub(crate) method: Method,
    pub(crate) url: Url,
    /// Whether it goes to the Hub itself and so with the token.
    pub(crate) token: bool,
    pub(crate) accept: Option<&'static str>,
    pub(crate) headers: &'a [(String, String)],
    pub(crate) body: Body,
    /// Most bytes of the answer.
    pub(crate) limit: usize,
    /// What it is for, as in "the token may not …".
    pub(crate) operation: &'static str,
}

/// A status, a few headers, and a body.
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Vec<u8>,
}

/// Speaks with the Hub for one push or check. It lives on the network thread.
pub(crate) struct Session<'a> {
    pub(crate) settings: &'a Settings,
    client: Client,
    waited: Cell<Duration>,
    progress: RefCell<&'a mut (dyn FnMut(Progress) + Send)>,
}

impl<'a> Session<'a> {
    pub(crate) fn new(
        settings: &'a Settings,
        progress: &'a mut (dyn FnMut(Progress) + Send),
    ) -> Result<Self, HubError> {
        static PROVIDER: Once = Once::new();
        PROVIDER.call_once(|| {
            // Someone else's provider stays: any will do.
            let _ = rustls::crypto::ring::default_provider().install_default();
        });
        let mut builder = Client::builder()
            .user_agent(concat!("wattspan/", env!("CARGO_PKG_VERSION")))
            // A redirect could carry the token, or a run, to another host.
            .redirect(redirect::Policy::none())
            .connect_timeout(Duration::from_secs(10));
        if is_loopback(&settings.endpoint) {
            builder = builder.no_proxy();
        }
        let client = builder.build().map_err(|_| HubError::Unreachable {
            endpoint: settings.host(),
            operation: "set up TLS",
            reason: "cannot be asked without certificate authorities".to_owned(),
        })?;
        Ok(Self { settings, client, waited: Cell::default(), progress: RefCell::new(progress) })
    }

    pub(crate) fn report(&self, progress: Progress) {
        (self.progress.borrow_mut())(progress);
    }

    /// Sends until there is an answer that sending again would not change.
    pub(crate) async fn send(
        &self,
        request: &Request<'_>,
        sent: &mut dyn FnMut(u64),
    ) -> Result<Answer, HubError> {
        let mut backoff = Backoff::new(Duration::from_millis(500));
        let mut tries = 0;
        // An upload that breaks off gets fresh addresses rather than many tries with the old ones.
        let most = if matches!(request.body, Body::File(_)) { 2 } else { TRIES };
        loop {
            let outcome = self.once(request, sent).await;
            tries += 1;
            match outcome {
                Ok(answer) if answer.status == 429 => {
                    let asked = answer.asks_to_wait();
                    let wait = asked.unwrap_or_default().max(backoff.next());
                    if !self.wait(wait, "the Hub limits the rate").await {
                        return Err(HubError::Limited {
                            endpoint: self.settings.host(),
                            operation: request.operation,
                            after: wait,
                        });
                    }
                }
                Ok(answer) if (answer.status == 408 || answer.status >= 500) && answer.status != 507 => {
                    let wait = answer.asks_to_wait().unwrap_or_default().max(backoff.next());
                    let reason = format!("the answer was {}", answer.status);
                    if tries >= most || !self.wait(wait, &reason).await {
                        return Ok(answer);
                    }
                }
                Ok(answer) => return Ok(answer),
                Err(reason) => {
                    if tries >= most || !self.wait(backoff.next(), &reason).await {
                        return Err(HubError::Unreachable {
                            endpoint: host(&request.url),
                            operation: request.operation,
                            reason,
                        });
                    }
                }
            }
        }
    }

    /// Waits, unless that is longer than there is patience; answers whether it did.
    pub(crate) async fn wait(&self, time: Duration, reason: &str) -> bool {
        // Not all at the same moment when a limit ends.
        let time = time + time.mul_f64(random_share() / 10.0);
        let waited = self.waited.get() + time;
        if waited > self.settings.options.patience {
            return false;
        }
        self.waited.set(waited);
        tracing::debug!(?time, "the Hub is asked again: {reason}");
        self.report(Progress::Waiting { time, reason: reason.to_owned() });
        match &self.settings.options.wait {
            Some(wait) => wait(time),
            None => tokio::time::sleep(time).await,
        }
        true
    }

    async fn once(&self, request: &Request<'_>, sent: &mut dyn FnMut(u64)) -> Result<Answer, String> {
        let mut builder = self.client.request(request.method.clone(), request.url.clone());
        for (name, value) in request.headers {
            builder = builder.header(name, value);
        }
        if let Some(accept) = request.accept {
            builder = builder.header(ACCEPT, accept);
        }
        if let Some(token) = self.settings.bearer.as_ref().filter(|_| request.token) {
            builder = builder.header(AUTHORIZATION, token);
        }
        let mut patience = ANSWER;
        let mut counter = None;
        match &request.body {
            Body::Nothing => {}
            Body::Text { kind, bytes } => {
                builder = builder.header(CONTENT_TYPE, *kind).body(bytes.clone());
            }
            Body::File(slice) => {
                let stream = slice.stream().map_err(|_| "the file cannot be read any more".to_owned())?;
                counter = Some(stream.counter());
                patience += Duration::from_secs(slice.length / SLOWEST);
                // Storage behind signed URLs wants a length and refuses chunks.
                let length = HeaderValue::from(slice.length);
                builder = builder.header(CONTENT_LENGTH, length).body(reqwest::Body::wrap_stream(stream));
            }
        }
        let answer = async {
            let mut response = builder.timeout(patience).send().await.map_err(|error| transport(&error))?;
            let (status, headers) = (response.status().as_u16(), response.headers().clone());
            let mut body = Vec::new();
            while let Some(part) = response.chunk().await.map_err(|error| transport(&error))? {
                if body.len() + part.len() > request.limit {
                    return Err("gave a longer answer than can be right".to_owned());
                }
                body.extend_from_slice(&part);
            }
            Ok(Answer { status, headers, body })
        };
        let Some(counter) = counter else { return answer.await };
        let mut answer = std::pin::pin!(answer);
        let mut ticks = tokio::time::interval(Duration::from_millis(200));
        loop {
            tokio::select! {
                biased;
                answer = &mut answer => {
                    sent(counter.load(Ordering::Relaxed));
                    return answer;
                }
                _ = ticks.tick() => sent(counter.load(Ordering::Relaxed)),
            }
        }
    }

    /// An answer that is not a success, as an error.
    pub(crate) fn failure(&self, answer: &Answer, operation: &'static str, target: &str) -> HubError {
        let (said, target) = (self.said(answer), target.to_owned());
        match answer.status {
            401 => HubError::TokenRefused { endpoint: self.settings.host(), origin: self.settings.origin() },
            402 | 413 | 507 => HubError::Quota { target, said },
            403 if is_about_storage(&said) => HubError::Quota { target, said },
            403 => HubError::NoRight { operation, target, said },
            status => HubError::Refused { operation, target, status, said },
        }
    }

    pub(crate) fn malformed(&self, operation: &'static str, reason: impl Into<String>) -> HubError {
        HubError::Malformed { endpoint: self.settings.host(), operation, reason: reason.into() }
    }

    /// What the Hub gives as reason, short and on one line; should it repeat the token, without that.
    fn said(&self, answer: &Answer) -> String {
        let header =
            answer.headers.get("x-error-message").map(|text| String::from_utf8_lossy(text.as_bytes()));
        let said = header.map(std::borrow::Cow::into_owned).or_else(|| {
            let json: serde_json::Value = serde_json::from_slice(&answer.body).ok()?;
            json.get("error")?.as_str().map(str::to_owned)
        });
        let said = said.unwrap_or_else(|| "no reason given".to_owned());
        let said = match &self.settings.options.token {
            Some(token) if !token.expose().is_empty() => said.replace(token.expose(), "[token]"),
            _ => said,
        };
        said.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(LONGEST_REASON).collect()
    }
}

impl Answer {
    pub(crate) const fn is_success(&self) -> bool {
        self.status >= 200 && self.status < 300
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// `Retry-After` in seconds or as a date (RFC 9110, section 10.2.3), or the reset of `RateLimit: "api";r=0;t=120`.
    fn asks_to_wait(&self) -> Option<Duration> {
        if let Some(text) = self.headers.get(RETRY_AFTER).and_then(|value| value.to_str().ok()) {
            let text = text.trim();
            if let Ok(seconds) = text.parse() {
                return Some(Duration::from_secs(seconds));
            }
            let date = httpdate::parse_http_date(text).ok()?;
            return Some(date.duration_since(SystemTime::now()).unwrap_or_default());
        }
        let reset = self.header("ratelimit")?.split(';').find_map(|part| part.trim().strip_prefix("t="))?;
        reset.parse().ok().map(Duration::from_secs)
    }
}

/// Waits that grow, each between half of it and all of it, so that those who failed together do not return together.
pub(crate) struct Backoff(Duration);

impl Backoff {
    pub(crate) const fn new(first: Duration) -> Self {
        Self(first)
    }

    pub(crate) fn next(&mut self) -> Duration {
        let wait = self.0;
        self.0 = (wait * 2).min(Duration::from_secs(30));
        jittered(wait)
    }
}

/// Says what went wrong without the URL, which may be signed.
fn transport(error: &reqwest::Error) -> String {
    if error.is_timeout() {
        "did not answer in time"
    } else if error.is_connect() {
        "cannot be reached"
    } else {
        "broke the connection off"
    }
    .to_owned()
}

/// The Hub has no status of its own for this: it answers 403 with a sentence about storage.
fn is_about_storage(said: &str) -> bool {
    let said = said.to_ascii_lowercase();
    ["storage", "quota", "upgrade your plan"].iter().any(|word| said.contains(word))
}

/// Whether a URL is of this machine.
pub(crate) fn is_loopback(url: &Url) -> bool {
    is_loopback_host(url.host_str().unwrap_or_default())
}

/// Scheme, host and port.
pub(crate) fn host(url: &Url) -> String {
    url.origin().ascii_serialization()
}

/// An address without what stands before `@` in it.
pub(crate) fn without_userinfo(text: &str) -> String {
    match text.split_once("://") {
        Some((scheme, rest)) => {
            let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
            let (authority, path) = rest.split_at(end);
            let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
            format!("{scheme}://{host}{path}")
        }
        None => text.rsplit_once('@').map_or(text, |(_, host)| host).to_owned(),
    }
}

/// For an answer, besides the time that sending takes.
const ANSWER: Duration = Duration::from_secs(60);
/// Bytes a second of the slowest line that an upload is given time for.
const SLOWEST: u64 = 64 * 1_024;
/// How often a request is sent that gets no answer, or one of trouble.
const TRIES: u32 = 5;
const LONGEST_REASON: usize = 300;

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(headers: &[(&'static str, &str)]) -> Answer {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.insert(*name, HeaderValue::from_str(value).unwrap());
        }
        Answer { status: 429, headers: map, body: vec![] }
    }

    #[test]
    fn the_wait_that_is_asked_for_is_read_in_each_of_its_forms() {
        let seconds = |headers| answer(headers).asks_to_wait().map(|wait| wait.as_secs());
        assert_eq!(seconds(&[("retry-after", "271")]), Some(271));
        assert_eq!(seconds(&[("retry-after", "Sun, 06 Nov 1994 08:49:37 GMT")]), Some(0));
        assert_eq!(seconds(&[("ratelimit", "\"api\";r=0;t=120")]), Some(120));
        assert_eq!(seconds(&[("retry-after", "soon")]), None);
        assert_eq!(seconds(&[]), None);
    }

    #[test]
    fn waits_grow_to_half_a_minute() {
        let mut backoff = Backoff::new(Duration::from_millis(500));
        let waits: Vec<Duration> = (0..12).map(|_| backoff.next()).collect();
        assert!(waits[0] >= Duration::from_millis(250) && waits[0] <= Duration::from_millis(500));
        assert!(waits[11] >= Duration::from_secs(15) && waits[11] <= Duration::from_secs(30));
    }

    #[test]
    fn an_address_is_shown_without_its_password() {
        for (text, shown) in [
            ("https://me:pw@hub.example/x?a=b@c", "https://hub.example/x?a=b@c"),
            ("https://hub.example", "https://hub.example"),
            ("me:pw@hub", "hub"),
        ] {
            assert_eq!(without_userinfo(text), shown);
        }
    }
}
