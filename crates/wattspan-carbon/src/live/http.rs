//! The client of live sources: bounded in time and size, no redirects, nothing of an answer's text in a message.

use std::sync::Once;
use std::time::{Duration, SystemTime};

use reqwest::header::{HeaderMap, HeaderValue, RETRY_AFTER};
use reqwest::{Client, RequestBuilder, Url, redirect};
use serde_json::Value;
use wattspan_core::is_loopback_host;

use crate::live::Failure;
use crate::{Secret, time};

/// Answers are a few kilobytes.
const LIMIT: usize = 1024 * 1024;
/// No source is trusted to silence itself for longer.
const LONGEST_WAIT: Duration = Duration::from_secs(24 * 3_600);

/// A status and a body.
pub(crate) struct Answer {
    pub(crate) status: u16,
    retry_after: Option<Duration>,
    body: Vec<u8>,
}

/// A client for one base URL.
pub(crate) fn client(base: &str, time_limit: Duration) -> Result<Client, Failure> {
    static PROVIDER: Once = Once::new();
    PROVIDER.call_once(|| {
        // Someone else's provider stays: any will do.
        let _ = rustls::crypto::ring::default_provider().install_default();
    });
    let mut builder = Client::builder()
        .user_agent(concat!("wattspan/", env!("CARGO_PKG_VERSION")))
        // A redirect could carry a key to another host.
        .redirect(redirect::Policy::none())
        .timeout(time_limit)
        .connect_timeout(time_limit.min(Duration::from_secs(5)));
    if Url::parse(base).is_ok_and(|url| is_loopback(&url)) {
        builder = builder.no_proxy();
    }
    builder.build().map_err(|_| Failure::Transient("the TLS client cannot be set up".to_owned()))
}

/// A path below a base URL, with a query.
pub(crate) fn url(base: &str, path: &str, query: &[(&str, &str)]) -> Result<Url, Failure> {
    let text = format!("{}{path}", base.trim_end_matches('/'));
    // The base was checked when the source was attached.
    let mut url = Url::parse(&text).map_err(|_| Failure::Malformed("the base URL is none".to_owned()))?;
    if !query.is_empty() {
        url.query_pairs_mut().extend_pairs(query);
    }
    Ok(url)
}

/// Whether a URL is of this machine.
pub(crate) fn is_loopback(url: &Url) -> bool {
    is_loopback_host(url.host_str().unwrap_or_default())
}

/// A header value that is never shown.
pub(crate) fn sensitive(secret: &Secret) -> Result<HeaderValue, Failure> {
    let mut value = HeaderValue::from_str(secret.expose()).map_err(|_| Failure::Refused {
        status: 0,
        remedy: format!("the key {secret} has characters that no header may have"),
    })?;
    value.set_sensitive(true);
    Ok(value)
}

/// Sends and reads.
pub(crate) async fn send(request: RequestBuilder, wall: SystemTime) -> Result<Answer, Failure> {
    let mut response = request.send().await.map_err(|error| transport(&error))?;
    let status = response.status().as_u16();
    let retry_after = retry_after(response.headers(), wall);
    let mut body = Vec::new();
    while let Some(part) = response.chunk().await.map_err(|error| transport(&error))? {
        if body.len() + part.len() > LIMIT {
            return Err(Failure::Malformed("the answer is longer than 1 MiB".to_owned()));
        }
        body.extend_from_slice(&part);
    }
    Ok(Answer { status, retry_after, body })
}

impl Answer {
    /// The JSON of a success, or why there is none. `remedy` is what to do about a refusal.
    pub(crate) fn json(&self, remedy: impl FnOnce() -> String) -> Result<Value, Failure> {
        match self.status {
            200 => serde_json::from_slice(&self.body)
                .map_err(|_| Failure::Malformed("the answer is not JSON".to_owned())),
            status @ (401 | 403) => Err(Failure::Refused { status, remedy: remedy() }),
            429 => Err(Failure::Limited { after: self.retry_after }),
            404 => Err(Failure::NoData("the source has nothing for this zone (404)")),
            503 if self.retry_after.is_some() => Err(Failure::Limited { after: self.retry_after }),
            status @ (408 | 500..=599) => {
                Err(Failure::Transient(format!("the source is in trouble ({status})")))
            }
            status => Err(Failure::Malformed(format!("the source answers {status}"))),
        }
    }
}

/// Says what went wrong without the URL.
fn transport(error: &reqwest::Error) -> Failure {
    let reason = if error.is_timeout() {
        "no answer in time"
    } else if error.is_connect() {
        "cannot connect"
    } else {
        "the connection broke off"
    };
    Failure::Transient(reason.to_owned())
}

/// Seconds, or a date (RFC 9110, section 10.2.3).
fn retry_after(headers: &HeaderMap, wall: SystemTime) -> Option<Duration> {
    let text = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    let wait = match text.parse() {
        Ok(seconds) => Duration::from_secs(seconds),
        Err(_) => http_date(text)?.duration_since(wall).unwrap_or_default(),
    };
    Some(wait.min(LONGEST_WAIT))
}

/// `Thu, 01 Jan 2026 00:01:00 GMT`.
fn http_date(text: &str) -> Option<SystemTime> {
    const MONTHS: [&str; 12] =
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let mut parts = text.split_whitespace().skip(1);
    let (day, month, year, clock) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
    let month = MONTHS.iter().position(|name| *name == month)? + 1;
    time::parse(&format!("{year}-{month:02}-{day}T{clock}Z"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_is_seconds_or_a_date_and_bounded() {
        let wall = time::parse("2026-01-01T00:00:00Z").unwrap();
        let wait = |text: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert(RETRY_AFTER, HeaderValue::from_static(text));
            retry_after(&headers, wall).map(|wait| wait.as_secs())
        };
        assert_eq!(wait("60"), Some(60));
        assert_eq!(wait("Thu, 01 Jan 2026 00:01:30 GMT"), Some(90));
        assert_eq!(wait("Wed, 31 Dec 2025 23:00:00 GMT"), Some(0));
        assert_eq!(wait("31536000"), Some(86_400));
        assert_eq!(wait("soon"), None);
        assert_eq!(retry_after(&HeaderMap::new(), wall), None);
    }
}
