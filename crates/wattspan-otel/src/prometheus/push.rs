//! A Pushgateway, for jobs that end before anybody scrapes them.

use std::fmt::{self, Write as _};
use std::time::Duration;

use reqwest::{Client, Url};
use tokio::time::Instant;

use super::endpoint::MetricsEndpoint;
use super::names;
use crate::TelemetryError;
use crate::network::Network;
use crate::otlp::{reason, shown};

/// Where a job leaves its figures, and under which labels.
#[derive(Clone)]
#[must_use]
pub struct Pushgateway {
    url: String,
    job: String,
    grouping: Vec<(String, String)>,
    interval: Option<Duration>,
}

impl fmt::Debug for Pushgateway {
    /// Without user and password, which a URL may hold.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Pushgateway")
            .field("url", &shown(&self.url))
            .field("job", &self.job)
            .field("grouping", &self.grouping)
            .field("interval", &self.interval)
            .finish()
    }
}

/// Longest wait for the gateway's answer.
const TIMEOUT: Duration = Duration::from_secs(10);

impl Pushgateway {
    /// A gateway's base URL and the name of the job. Without more, figures are pushed once, at the end.
    pub fn new(url: impl Into<String>, job: impl Into<String>) -> Self {
        Self { url: url.into(), job: job.into(), grouping: Vec::new(), interval: None }
    }

    /// Adds a label that tells this run of the job from others, such as `instance`.
    pub fn grouping(mut self, label: impl Into<String>, value: impl Into<String>) -> Self {
        self.grouping.push((label.into(), value.into()));
        self
    }

    /// Pushes at intervals as well.
    pub fn every(mut self, interval: Duration) -> Self {
        self.interval = Some(interval.max(Duration::from_millis(100)));
        self
    }

    /// The address of the group. A value that a path cannot hold is written in base64, as the gateway has it.
    fn group(&self) -> Result<Url, TelemetryError> {
        let unusable =
            |reason: &str| TelemetryError::Endpoint { endpoint: shown(&self.url), reason: reason.to_owned() };
        let mut path = self.url.trim_end_matches('/').to_owned();
        path.push_str("/metrics");
        let job = ("job".to_owned(), self.job.clone());
        for (label, value) in std::iter::once(&job).chain(&self.grouping) {
            if !names::is_valid(label) {
                return Err(TelemetryError::PrometheusName { name: label.clone() });
            }
            let plain = |c: char| c.is_ascii_alphanumeric() || "-_.~".contains(c);
            if !value.is_empty() && value.chars().all(plain) && value != "." && value != ".." {
                let _ = write!(path, "/{label}/{value}");
            } else {
                let _ = write!(path, "/{label}@base64/{}", base64(value.as_bytes()));
            }
        }
        let url = Url::parse(&path).map_err(|_| unusable("it is no URL"))?;
        if self.job.is_empty() || !matches!(url.scheme(), "http" | "https") {
            return Err(unusable("expected http:// or https:// and the name of a job"));
        }
        Ok(url)
    }

    pub(super) fn start(&self, endpoint: &MetricsEndpoint, network: &Network) -> Result<(), TelemetryError> {
        let url = self.group()?;
        let Some(interval) = self.interval else { return Ok(()) };
        let (endpoint, clock) = (endpoint.clone(), network.clock());
        let shown = shown(&self.url);
        network.spawner().start(async move {
            let mut said = false;
            loop {
                let wake = Instant::now() + interval;
                if clock.limit(wake) < wake {
                    // A shutdown has begun, which pushes by itself.
                    return;
                }
                clock.sleep_until(wake).await;
                match push(&url, endpoint.render()).await {
                    Ok(()) => said = false,
                    Err(why) if !said => {
                        tracing::warn!("cannot push metrics to {shown}, will go on trying: {why}");
                        said = true;
                    }
                    Err(_) => {}
                }
            }
        });
        Ok(())
    }

    /// Pushes and waits for the answer.
    pub(super) fn push_now(&self, endpoint: &MetricsEndpoint, network: &Network, within: Duration) {
        let Ok(url) = self.group() else { return };
        let (text, clock) = (endpoint.render(), network.clock());
        let (say, hear) = std::sync::mpsc::channel();
        network.spawner().start(async move {
            let answer = clock.within(Instant::now() + within, push(&url, text)).await;
            // Nobody may be waiting any more.
            let _ = say.send(answer.unwrap_or_else(|| Err("no answer in time".to_owned())));
        });
        let answer = hear.recv_timeout(within).unwrap_or_else(|_| Err("no answer in time".to_owned()));
        if let Err(why) = answer {
            tracing::warn!("the last metrics could not be pushed to {}: {why}", shown(&self.url));
        }
    }
}

/// Replaces all metrics of the group.
async fn push(url: &Url, text: String) -> Result<(), String> {
    let client = Client::builder().timeout(TIMEOUT).redirect(reqwest::redirect::Policy::none());
    let client = client.build().map_err(reason)?;
    let request = client.put(url.clone()).header("content-type", "text/plain; version=0.0.4").body(text);
    let status = request.send().await.map_err(reason)?.status();
    if status.is_success() { Ok(()) } else { Err(format!("it answered {status}")) }
}

/// RFC 4648, section 5, with padding; the empty text is a lone `=`, as the gateway has it.
fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    if bytes.is_empty() {
        return "=".to_owned();
    }
    let mut out = String::new();
    for chunk in bytes.chunks(3) {
        let byte = |at: usize| u32::from(chunk.get(at).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for digit in 0..4 {
            if digit <= chunk.len() {
                out.push(char::from(DIGITS[(bits >> (18 - 6 * digit) & 63) as usize]));
            } else {
                out.push('=');
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_that_of_the_standard() {
        // RFC 4648, section 10, and one text whose digits differ in the alphabet for URLs.
        let known = [("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foobar", "Zm9vYmFy"), ("", "=")];
        for (text, expected) in known {
            assert_eq!(base64(text.as_bytes()), expected);
        }
        assert_eq!(base64(&[0xFB, 0xFF]), "-_8=");
    }

    #[test]
    fn groups_are_paths_that_the_gateway_reads() {
        let url = |gateway: Pushgateway| gateway.group().map(String::from);
        let plain = Pushgateway::new("http://127.0.0.1:9091/", "eval").grouping("instance", "a-1");
        assert_eq!(url(plain).unwrap(), "http://127.0.0.1:9091/metrics/job/eval/instance/a-1");
        // The gateway's README: a job with a slash.
        let slash =
            Pushgateway::new("http://127.0.0.1:9091", "directory_cleaner").grouping("path", "/var/tmp");
        let expected = "http://127.0.0.1:9091/metrics/job/directory_cleaner/path@base64/L3Zhci90bXA=";
        assert_eq!(url(slash).unwrap(), expected);
        assert!(url(Pushgateway::new("http://127.0.0.1:9091", "")).is_err());
        assert!(url(Pushgateway::new("127.0.0.1", "x")).is_err());
        assert!(url(Pushgateway::new("http://127.0.0.1", "x").grouping("a-b", "c")).is_err());
    }
}
