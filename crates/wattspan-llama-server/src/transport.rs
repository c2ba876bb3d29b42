//! HTTP: sends a request within its bounds on time, repeats what is safe to repeat, and reads bounded answers. Knows
//! nothing of models.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderValue, RETRY_AFTER};
use reqwest::{Method, Url};
use tokio::time::Instant;
use wattspan_core::{Locality, jittered};
use wattspan_genai::GenAi;

use crate::builder::LlamaServerBuilder;
use crate::error::{Error, Wait};
use crate::place::Place;

/// How to reach a server.
pub(crate) struct Transport {
    http: reqwest::Client,
    base: String,
    /// The base without credentials, for errors and spans.
    shown: String,
    pub(crate) address: Arc<str>,
    pub(crate) port: Option<u16>,
    authorization: Option<HeaderValue>,
    deadline: Option<Duration>,
    pub(crate) idle: Option<Duration>,
    retries: u32,
    pub(crate) ask_usage: bool,
    pub(crate) body_limit: usize,
    unix: bool,
    pub(crate) place: Place,
    pub(crate) genai: GenAi,
}

/// The end of a call's time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bound {
    /// When; `None`: never.
    pub(crate) at: Option<Instant>,
    /// How long that was when the call began.
    pub(crate) whole: Duration,
}

impl Bound {
    /// The error of a call whose time is over.
    pub(crate) fn error(self, endpoint: &str) -> Error {
        Error::Deadline { endpoint: endpoint.to_owned(), wait: Wait::WholeCall, after: self.whole }
    }
}

impl Transport {
    pub(crate) fn new(builder: LlamaServerBuilder, place: Place) -> Result<Self, Error> {
        let (url, shown) = parse_base(&builder.base)?;
        let setup = |message: String| Error::Setup { base: shown.clone(), message };
        let address = url.host_str().ok_or_else(|| setup("there is no host in the URL".to_owned()))?;
        let authorization = match &builder.key {
            Some(key) => Some(
                key.bearer()
                    .ok_or_else(|| setup("the API key has characters that no header may".to_owned()))?,
            ),
            None => None,
        };
        let http = match builder.http {
            Some(http) => http,
            None => client(builder.connect, builder.unix_socket.as_deref()).map_err(setup)?,
        };
        Ok(Self {
            http,
            address: address.trim_start_matches('[').trim_end_matches(']').into(),
            port: url.port_or_known_default(),
            base: builder.base,
            shown,
            authorization,
            deadline: builder.deadline,
            idle: builder.idle,
            retries: builder.retries,
            ask_usage: builder.ask_usage,
            body_limit: builder.body_limit,
            unix: builder.unix_socket.is_some(),
            place,
            genai: builder.genai,
        })
    }

    pub(crate) fn locality(&self) -> Locality {
        self.place.locality(&self.address, self.port, self.unix)
    }

    /// A route as errors show it.
    pub(crate) fn endpoint(&self, path: &str) -> String {
        format!("{}{path}", self.shown)
    }

    /// When a call that begins now must be over.
    pub(crate) fn bound(&self, own: Option<Duration>) -> Bound {
        let whole = own.or(self.deadline);
        // A bound beyond what the clock can say is no bound.
        Bound {
            at: whole.and_then(|whole| Instant::now().checked_add(whole)),
            whole: whole.unwrap_or(Duration::MAX),
        }
    }

    /// Sends a request until it is answered with success or may not be sent again.
    pub(crate) async fn send(
        &self,
        method: Method,
        path: &str,
        body: Option<Bytes>,
        headers: &HeaderMap,
        bound: Bound,
    ) -> Result<reqwest::Response, Error> {
        let endpoint = self.endpoint(path);
        let attempts = async {
            let mut attempt = 0;
            loop {
                match self.send_once(method.clone(), path, body.clone(), headers, &endpoint).await {
                    Err(error) if attempt < self.retries && error.is_safe_to_repeat() => {
                        tracing::debug!(%error, attempt, "sending again after a pause");
                        tokio::time::sleep(pause(attempt)).await;
                        attempt += 1;
                    }
                    outcome => return outcome,
                }
            }
        };
        within(bound, &endpoint, attempts).await
    }

    async fn send_once(
        &self,
        method: Method,
        path: &str,
        body: Option<Bytes>,
        headers: &HeaderMap,
        endpoint: &str,
    ) -> Result<reqwest::Response, Error> {
        let mut request = self.http.request(method, format!("{}{path}", self.base)).headers(headers.clone());
        if let Some(authorization) = &self.authorization {
            request = request.header(reqwest::header::AUTHORIZATION, authorization.clone());
        }
        if let Some(body) = body {
            request = request.header(CONTENT_TYPE, "application/json").body(body);
        }
        let response = request.send().await.map_err(|error| {
            self.place.forget();
            unreachable_error(endpoint, error)
        })?;
        let status = response.status();
        if status.is_success() {
            return Ok(response);
        }
        let retry_after = response.headers().get(RETRY_AFTER).and_then(|value| seconds(value.to_str().ok()?));
        let text = self.text(response, endpoint).await?;
        Err(Error::from_answer(endpoint.to_owned(), status.as_u16(), retry_after, &text))
    }

    /// Reads a whole body, up to the bound on its size.
    pub(crate) async fn text(
        &self,
        mut response: reqwest::Response,
        endpoint: &str,
    ) -> Result<String, Error> {
        let mut body = Vec::new();
        loop {
            match response.chunk().await {
                Ok(Some(more)) if body.len() + more.len() > self.body_limit => {
                    return Err(Error::TooLarge { endpoint: endpoint.to_owned(), limit: self.body_limit });
                }
                Ok(Some(more)) => body.extend_from_slice(&more),
                Ok(None) => break,
                Err(error) => {
                    self.place.forget();
                    return Err(broken(endpoint, error));
                }
            }
        }
        String::from_utf8(body).map_err(|error| malformed(endpoint, &error))
    }

    /// Sends a request and reads its whole answer.
    pub(crate) async fn call(
        &self,
        method: Method,
        path: &str,
        body: Option<Bytes>,
        headers: &HeaderMap,
        bound: Bound,
    ) -> Result<String, Error> {
        let response = self.send(method, path, body, headers, bound).await?;
        let endpoint = self.endpoint(path);
        within(bound, &endpoint, self.text(response, &endpoint)).await
    }
}

/// Waits for a future, but not beyond a bound. The future is dropped then, which closes its connection.
async fn within<T>(
    bound: Bound,
    endpoint: &str,
    future: impl Future<Output = Result<T, Error>>,
) -> Result<T, Error> {
    match bound.at {
        Some(at) => tokio::time::timeout_at(at, future).await.unwrap_or_else(|_| Err(bound.error(endpoint))),
        None => future.await,
    }
}

/// An HTTP client of our own settings.
pub(crate) fn client(
    connect: Duration,
    unix_socket: Option<&std::path::Path>,
) -> Result<reqwest::Client, String> {
    // Another part of the program may have chosen its provider before, which then stays.
    let _ = rustls::crypto::ring::default_provider().install_default();
    // No idle connections: llama-server closes some right after an answer, and a request that meets such a close fails
    // without anybody knowing whether the server has begun it. A new connection costs nothing beside an inference.
    let builder = reqwest::Client::builder().connect_timeout(connect).pool_max_idle_per_host(0);
    #[cfg(unix)]
    let builder = match unix_socket {
        Some(path) => builder.unix_socket(path),
        None => builder,
    };
    #[cfg(not(unix))]
    if let Some(path) = unix_socket {
        return Err(format!("no Unix sockets on this system, so not {}", path.display()));
    }
    builder.build().map_err(|error| error.to_string())
}

/// A base URL, and how it may be shown: without its credentials.
pub(crate) fn parse_base(base: &str) -> Result<(Url, String), Error> {
    let url = Url::parse(base).map_err(|error| {
        // Not the text itself: it may hold a password, and where it stands cannot be told from a broken URL.
        Error::Setup { base: "the given URL".to_owned(), message: error.to_string() }
    })?;
    let mut shown = url.clone();
    // Both fail only on URLs without a host, which cannot have credentials.
    let _ = shown.set_username("");
    let _ = shown.set_password(None);
    shown.set_query(None);
    Ok((url, shown.as_str().trim_end_matches('/').to_owned()))
}

pub(crate) fn unreachable_error(endpoint: &str, error: reqwest::Error) -> Error {
    Error::Unreachable { endpoint: endpoint.to_owned(), source: Box::new(error.without_url()) }
}

pub(crate) fn broken(endpoint: &str, error: reqwest::Error) -> Error {
    Error::Truncated { endpoint: endpoint.to_owned(), source: Some(Box::new(error.without_url())) }
}

pub(crate) fn malformed(endpoint: &str, error: &dyn std::fmt::Display) -> Error {
    Error::Malformed { endpoint: endpoint.to_owned(), message: error.to_string() }
}

/// `Retry-After` in seconds; its date form is rare and left out.
fn seconds(text: &str) -> Option<Duration> {
    text.trim().parse().ok().map(Duration::from_secs)
}

/// 100 ms, doubled with each attempt up to 5 s, of which half is drawn by lot so that clients do not come in step.
pub(crate) fn pause(attempt: u32) -> Duration {
    let full = Duration::from_millis(100 << attempt.min(6)).min(Duration::from_secs(5));
    jittered(full)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_and_stay_within_their_bounds() {
        for (attempt, full) in [(0, 100), (1, 200), (2, 400), (6, 5_000), (60, 5_000)] {
            let full = Duration::from_millis(full);
            let pause = pause(attempt);
            assert!(full / 2 <= pause && pause <= full, "{attempt}: {pause:?}");
        }
    }

    #[test]
    fn a_base_is_shown_without_its_password() {
        let (_, shown) = parse_base("http://user:tok-EXAMPLE@127.0.0.1:8080/api?key=tok-EXAMPLE").unwrap();
        assert_eq!(shown, "http://127.0.0.1:8080/api");
        let error = parse_base("http//user:tok-EXAMPLE@host").unwrap_err();
        assert!(!format!("{error} {error:?}").contains("tok-EXAMPLE"));
    }

    #[test]
    fn retry_after_is_read_in_seconds() {
        assert_eq!(seconds(" 7 "), Some(Duration::from_secs(7)));
        assert_eq!(seconds("Wed, 21 Oct 2026 07:28:00 GMT"), None);
    }
}
