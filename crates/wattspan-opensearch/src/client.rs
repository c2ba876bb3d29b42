//! Requests and answers: bounded in time and size, no redirects, tried again while that may help.

use std::io::Write as _;
use std::sync::Once;
use std::time::{Duration, SystemTime};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use reqwest::header::{AUTHORIZATION, CONTENT_ENCODING, CONTENT_TYPE, HeaderValue, RETRY_AFTER};
use reqwest::{Method, redirect};
use wattspan_core::jittered;

use crate::options::{Target, is_loopback, place};
use crate::response::Fault;
use crate::{Error, Options, Retry};

/// A server and how to talk to it.
pub(crate) struct Client {
    http: reqwest::Client,
    base: String,
    pub(crate) endpoint: String,
    login: Option<HeaderValue>,
    pub(crate) retry: Retry,
    gzip: bool,
    #[cfg(feature = "aws")]
    aws: Option<crate::Aws>,
}

/// What to ask.
pub(crate) struct Request<'a> {
    /// For messages: `store documents`.
    pub(crate) operation: &'static str,
    pub(crate) method: Method,
    /// With its query. Names in it are checked ones, which need no escaping.
    pub(crate) path: &'a str,
    pub(crate) body: Body<'a>,
}

/// What to send along.
#[derive(Clone, Copy)]
pub(crate) enum Body<'a> {
    None,
    Json(&'a serde_json::Value),
    /// Lines of JSON, compressed where that is wanted.
    Lines(&'a Bytes),
}

/// A status and what came with it.
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) body: Vec<u8>,
    /// Bytes of the request's body as they went out.
    pub(crate) sent: u64,
    after: Option<Duration>,
}

impl Client {
    pub(crate) fn new(options: &Options) -> Result<Self, Error> {
        static PROVIDER: Once = Once::new();
        PROVIDER.call_once(|| {
            // Someone else's provider stays: any will do.
            let _ = rustls::crypto::ring::default_provider().install_default();
        });
        let Target { base, login } = options.target()?;
        let mut builder = reqwest::Client::builder()
            .user_agent(concat!("wattspan/", env!("CARGO_PKG_VERSION")))
            // A redirect could carry the password to another host.
            .redirect(redirect::Policy::none())
            .timeout(options.retry.timeout)
            .connect_timeout(options.retry.timeout.min(Duration::from_secs(10)))
            .tls_danger_accept_invalid_certs(!options.verify_certs);
        if is_loopback(&base) {
            builder = builder.no_proxy();
            if base.scheme() == "http" {
                // Nothing will be checked against the system's authorities, which take longer to read than a small run.
                builder = builder.tls_certs_only([]);
            }
        }
        let http = builder.build().map_err(|_| Error::Option {
            option: "url",
            reason: "the TLS client cannot be set up: check the system's certificate authorities".to_owned(),
        })?;
        let login = login.map(|(user, password)| basic(&user, password.expose()));
        Ok(Self {
            http,
            endpoint: place(&base),
            base: base.as_str().trim_end_matches('/').to_owned(),
            login,
            retry: options.retry,
            gzip: options.bulk.gzip.unwrap_or(!is_loopback(&base)),
            #[cfg(feature = "aws")]
            aws: options.aws.clone(),
        })
    }

    /// One try. Every status is an answer.
    pub(crate) async fn once(&self, request: &Request<'_>) -> Result<Answer, Error> {
        let url = format!("{}{}", self.base, request.path);
        let mut to_send = self.http.request(request.method.clone(), url);
        let (body, kind, coding) = match request.body {
            Body::None => (Bytes::new(), None, None),
            Body::Json(value) => (value.to_string().into(), Some("application/json"), None),
            Body::Lines(lines) if self.gzip => {
                (compressed(lines).into(), Some("application/x-ndjson"), Some("gzip"))
            }
            Body::Lines(lines) => (lines.clone(), Some("application/x-ndjson"), None),
        };
        if let Some(kind) = kind {
            to_send = to_send.header(CONTENT_TYPE, kind);
        }
        if let Some(coding) = coding {
            to_send = to_send.header(CONTENT_ENCODING, coding);
        }
        if let Some(login) = &self.login {
            to_send = to_send.header(AUTHORIZATION, login.clone());
        }
        let sent = body.len() as u64;
        if !body.is_empty() {
            to_send = to_send.body(body);
        }
        #[cfg(feature = "aws")]
        let to_send = match &self.aws {
            Some(aws) => aws.sign(to_send, SystemTime::now())?,
            None => to_send,
        };
        let mut response = to_send.send().await.map_err(|error| self.broken(request.operation, &error))?;
        let status = response.status().as_u16();
        let after = response.headers().get(RETRY_AFTER).and_then(retry_after);
        let mut body = Vec::new();
        while let Some(part) =
            response.chunk().await.map_err(|error| self.broken(request.operation, &error))?
        {
            if body.len() + part.len() > LARGEST_ANSWER {
                return Err(self.answer(request.operation, status, "the answer is longer than 64 MiB"));
            }
            body.extend_from_slice(&part);
        }
        Ok(Answer { status, body, sent, after })
    }

    /// Tries until there is an answer that another try would not change.
    pub(crate) async fn call(&self, request: &Request<'_>) -> Result<Answer, Error> {
        let mut tries = 0;
        loop {
            let error = match self.once(request).await {
                Ok(answer) if !answer.is_busy() => return Ok(answer),
                Ok(answer) => self.refusal(request.operation, &answer),
                Err(error) => error,
            };
            self.wait(&mut tries, error).await?;
        }
    }

    /// Waits for the next try, or gives the reason back when there were enough.
    pub(crate) async fn wait(&self, tries: &mut u32, reason: Error) -> Result<(), Error> {
        if *tries >= self.retry.times || !reason.is_transient() {
            return Err(reason);
        }
        let asked = match &reason {
            Error::Busy { after, .. } => *after,
            _ => None,
        };
        let wait = self.retry.pause(*tries, asked);
        *tries += 1;
        tracing::debug!(?wait, tries, "will be tried again: {reason}");
        tokio::time::sleep(wait).await;
        Ok(())
    }

    /// What an answer that is no success means.
    pub(crate) fn refusal(&self, operation: &'static str, answer: &Answer) -> Error {
        let endpoint = self.endpoint.clone();
        if answer.is_busy() {
            return Error::Busy { endpoint, operation, status: answer.status, after: answer.after };
        }
        let fault = Fault::of_body(&answer.body);
        match answer.status {
            401 => Error::Denied {
                endpoint,
                operation,
                status: 401,
                remedy: "check user and OPENSEARCH_PASSWORD".to_owned(),
            },
            403 => Error::Denied {
                endpoint,
                operation,
                status: 403,
                remedy: format!(
                    "{}; have the rights in docs/opensearch.md granted to this user",
                    fault.summary()
                ),
            },
            status => self.answer(operation, status, &fault.summary()),
        }
    }

    pub(crate) fn answer(&self, operation: &'static str, status: u16, reason: &str) -> Error {
        Error::Answer { endpoint: self.endpoint.clone(), operation, status, reason: reason.to_owned() }
    }

    /// What went wrong, without the URL.
    fn broken(&self, operation: &'static str, error: &reqwest::Error) -> Error {
        let reason = if error.is_timeout() {
            "no answer in time".to_owned()
        } else if error.is_connect() {
            format!("cannot connect ({})", innermost(error))
        } else {
            "the connection broke off".to_owned()
        };
        Error::Unreachable { endpoint: self.endpoint.clone(), operation, reason }
    }
}

impl Answer {
    /// Overloaded, or a balancer whose server is not there now.
    pub(crate) fn is_busy(&self) -> bool {
        matches!(self.status, 429 | 502 | 503 | 504)
    }

    pub(crate) fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }
}

impl Retry {
    /// The wait before try number `tries` + 2.
    fn pause(&self, tries: u32, asked: Option<Duration>) -> Duration {
        let wait = self.first.saturating_mul(1 << tries.min(16)).min(self.longest);
        let wait = jittered(wait);
        asked.map_or(wait, |asked| wait.max(asked.min(self.longest.saturating_mul(10))))
    }
}

/// A login as RFC 7617 has it; never shown.
fn basic(user: &str, password: &str) -> HeaderValue {
    let text = format!("Basic {}", STANDARD.encode(format!("{user}:{password}")));
    // Base64 is all a header may have; the fallback is never used.
    let mut value = HeaderValue::from_str(&text).unwrap_or_else(|_| HeaderValue::from_static("Basic"));
    value.set_sensitive(true);
    value
}

fn compressed(lines: &[u8]) -> Vec<u8> {
    let mut coder = GzEncoder::new(Vec::with_capacity(lines.len() / 8), Compression::fast());
    // A vector takes every write.
    let _ = coder.write_all(lines);
    coder.finish().unwrap_or_default()
}

/// The cause at the bottom: "connection refused", "invalid peer certificate".
fn innermost(error: &reqwest::Error) -> String {
    let mut cause: &dyn std::error::Error = error;
    while let Some(next) = cause.source() {
        cause = next;
    }
    cause.to_string()
}

/// Seconds, or a date.
fn retry_after(value: &HeaderValue) -> Option<Duration> {
    let text = value.to_str().ok()?.trim();
    if let Ok(seconds) = text.parse() {
        return Some(Duration::from_secs(seconds));
    }
    let date = httpdate::parse_http_date(text).ok()?;
    Some(date.duration_since(SystemTime::now()).unwrap_or_default())
}

/// A bulk answer has a few hundred bytes for each document at most.
const LARGEST_ANSWER: usize = 64 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_login_is_rfc_7617s_and_not_shown() {
        // RFC 7617, section 2.
        assert_eq!(basic("Aladdin", "open sesame"), "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==");
        assert!(!format!("{:?}", basic("Aladdin", "open sesame")).contains("QWxh"));
    }

    #[test]
    fn waits_double_with_jitter_and_heed_the_server_within_bounds() {
        let retry = Retry::default();
        for _ in 0..100 {
            for (tries, most) in [(0, 250), (1, 500), (2, 1_000), (5, 8_000), (6, 10_000), (60, 10_000)] {
                let (wait, most) = (retry.pause(tries, None), Duration::from_millis(most));
                assert!(wait >= most / 2 && wait <= most, "{tries}: {wait:?}");
            }
        }
        assert_eq!(retry.pause(0, Some(Duration::from_secs(30))), Duration::from_secs(30));
        assert_eq!(retry.pause(0, Some(Duration::from_secs(86_400))), Duration::from_secs(100));
    }
}
