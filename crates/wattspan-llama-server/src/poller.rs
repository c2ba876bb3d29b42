//! Asks a llama-server for its gauges now and then.
//!
//! Once each poll, `/metrics` and `/slots`; both may be off, which makes their gauges absent and nothing else. Polling
//! keeps a sleeping server asleep, and is slow on purpose: builds are known that stop under a scrape each second.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use reqwest::header::HeaderMap;
use tokio::sync::oneshot;
use wattspan_core::{Clock, Reading, ServerStats, StatsSink, SystemClock};

use crate::error::Error;
use crate::metrics::{Scrape, Tracker};
use crate::plain::Slot;
use crate::secret::ApiKey;
use crate::transport::{client, parse_base, pause};

/// Polls one server. [`start`](Self::start) does it from a thread of its own.
pub struct MetricsPoller {
    http: reqwest::Client,
    base: String,
    server: Arc<str>,
    headers: HeaderMap,
    interval: Duration,
    timeout: Duration,
    clock: Arc<dyn Clock>,
    tracker: Mutex<Tracker>,
}

/// Settings of a [`MetricsPoller`].
pub struct MetricsPollerBuilder {
    base: String,
    key: Option<ApiKey>,
    interval: Duration,
    timeout: Duration,
    http: Option<reqwest::Client>,
    clock: Arc<dyn Clock>,
}

/// Polls until it is dropped. The drop waits for the thread, at most for a moment: a poll under way is given up.
#[must_use = "polling stops when this is dropped"]
pub struct Polling {
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// Least and usual interval.
const INTERVAL: Duration = Duration::from_secs(5);
/// A server that decodes a large batch answers late; older builds answer only between batches.
const TIMEOUT: Duration = Duration::from_secs(4);
/// Far more than `/metrics` and the `/slots` of hundreds of slots.
const BODY_LIMIT: usize = 8 << 20;

impl MetricsPoller {
    /// A poller of the server at a base URL.
    pub fn builder(base: &str) -> MetricsPollerBuilder {
        MetricsPollerBuilder {
            base: base.trim_end_matches('/').to_owned(),
            key: None,
            interval: INTERVAL,
            timeout: TIMEOUT,
            http: None,
            clock: Arc::new(SystemClock),
        }
    }

    /// Asks once. Rates need a call before this one. Never fails: what could not be had is absent, with the reason.
    pub async fn poll_once(&self) -> ServerStats {
        let (scrape, slots) = futures_util::join!(self.scrape(), self.slots());
        let time = self.clock.mono();
        let mut tracker = self.tracker.lock().unwrap_or_else(PoisonError::into_inner);
        tracker.advance(time, Arc::clone(&self.server), scrape, slots)
    }

    /// Polls from a thread of its own, at once and then at the interval, and hands each result to `sink`.
    ///
    /// # Errors
    /// [`Error::Setup`] when the system gives no thread.
    pub fn start(self, sink: Arc<dyn StatsSink>) -> Result<Polling, Error> {
        let failed = |base: &str, error: &dyn fmt::Display| Error::Setup {
            base: base.to_owned(),
            message: format!("no thread for polling: {error}"),
        };
        let base = self.base.clone();
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| failed(&base, &error))?;
        let (stop, mut stopped) = oneshot::channel::<()>();
        let thread = std::thread::Builder::new().name("wattspan-poller".to_owned()).spawn(move || {
            runtime.block_on(async {
                tokio::select! {
                    _ = &mut stopped => {}
                    () = self.run(sink.as_ref()) => {}
                }
            });
            // Look-ups of names run on threads of the runtime, which must not hold up the stop.
            runtime.shutdown_background();
        });
        let thread = thread.map_err(|error| failed(&base, &error))?;
        Ok(Polling { stop: Some(stop), thread: Some(thread) })
    }

    async fn run(&self, sink: &dyn StatsSink) {
        let mut failures = 0;
        loop {
            let stats = self.poll_once().await;
            let reached = !matches!(stats.tokens_total, Reading::Failed(_));
            if reached {
                failures = 0;
            } else {
                if failures == 0 {
                    tracing::warn!(server = %self.server, reason = ?stats.tokens_total, "no metrics from the server");
                }
                failures += 1;
            }
            sink.stats(&stats);
            // A server that is gone is asked less often, up to once in ten intervals or so.
            let extra = if failures > 1 { pause(failures) * 10 } else { Duration::ZERO };
            tokio::time::sleep(self.interval + extra.min(self.interval * 10)).await;
        }
    }

    async fn scrape(&self) -> Reading<Scrape> {
        // A router loads a model for a scrape unless told not to; a plain server skips the parameter.
        let (process, text) = match self.fetch("/metrics?autoload=false").await {
            Reading::Value(answer) => answer,
            absent => return absent.and_then(|_| Reading::NotSupported),
        };
        match Scrape::parse(&text) {
            Ok(scrape) => Reading::Value(scrape.of_process(process)),
            Err(crate::metrics::NotMetrics) => Reading::failed("the answer of /metrics is no metrics text"),
        }
    }

    async fn slots(&self) -> Reading<Vec<Slot>> {
        self.fetch("/slots").await.and_then(|(_, text)| {
            serde_json::from_str(&text)
                .map_or_else(|_| Reading::failed("the answer of /slots is no list of slots"), Reading::Value)
        })
    }

    /// The body of a route, and the server process's mark.
    async fn fetch(&self, path: &str) -> Reading<(Option<String>, String)> {
        match tokio::time::timeout(self.timeout, self.body(path)).await {
            Ok(Ok(answer)) => answer,
            Ok(Err(error)) => Reading::failed(if error.is_connect() {
                "the server cannot be reached"
            } else {
                "the server broke off its answer"
            }),
            Err(_) => Reading::failed("the server did not answer in time"),
        }
    }

    async fn body(&self, path: &str) -> reqwest::Result<Reading<(Option<String>, String)>> {
        let request = self.http.get(format!("{}{path}", self.base)).headers(self.headers.clone());
        let mut response = request.send().await?;
        match response.status().as_u16() {
            200 => {}
            401 | 403 => return Ok(Reading::denied("give the poller the server's API key")),
            404 | 501 => return Ok(Reading::NotSupported),
            503 => return Ok(Reading::failed("the server still loads its model")),
            status => return Ok(Reading::failed(format!("the server answered {status}"))),
        }
        let process = response.headers().get("process-start-time-unix");
        let process = process.and_then(|value| value.to_str().ok()).map(str::to_owned);
        let mut body = Vec::new();
        while let Some(more) = response.chunk().await? {
            if body.len() + more.len() > BODY_LIMIT {
                return Ok(Reading::failed("the server's answer is too large"));
            }
            body.extend_from_slice(&more);
        }
        Ok(Reading::Value((process, String::from_utf8_lossy(&body).into_owned())))
    }
}

impl MetricsPollerBuilder {
    /// The key that the server was started with.
    pub fn api_key(mut self, key: impl Into<Arc<str>>) -> Self {
        self.key = Some(ApiKey::new(key));
        self
    }

    /// Time between polls; five seconds unless set.
    pub fn interval(mut self, interval: Duration) -> Self {
        self.interval = interval;
        self
    }

    /// Bounds each request of a poll; four seconds unless set.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Takes an HTTP client with settings of its own.
    pub fn http_client(mut self, http: reqwest::Client) -> Self {
        self.http = Some(http);
        self
    }

    /// Takes another clock than the system's.
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = clock;
        self
    }

    /// Makes the poller. Does not connect.
    ///
    /// # Errors
    /// [`Error::Setup`] when the URL has no host, the key cannot stand in a header, or TLS cannot be set up.
    pub fn build(self) -> Result<MetricsPoller, Error> {
        let (url, shown) = parse_base(&self.base)?;
        let setup = |message: &str| Error::Setup { base: shown.clone(), message: message.to_owned() };
        let host = url.host_str().ok_or_else(|| setup("there is no host in the URL"))?;
        let server = match url.port_or_known_default() {
            Some(port) => format!("{host}:{port}"),
            None => host.to_owned(),
        };
        let mut headers = HeaderMap::new();
        if let Some(key) = &self.key {
            let bearer =
                key.bearer().ok_or_else(|| setup("the API key has characters that no header may"))?;
            headers.insert(reqwest::header::AUTHORIZATION, bearer);
        }
        let http = match self.http {
            Some(http) => http,
            None => client(self.timeout, None).map_err(|message| setup(&message))?,
        };
        Ok(MetricsPoller {
            http,
            base: self.base,
            server: server.into(),
            headers,
            // No pause at all would be a denial of service.
            interval: self.interval.max(Duration::from_millis(10)),
            timeout: self.timeout,
            clock: self.clock,
            tracker: Mutex::default(),
        })
    }
}

impl Drop for Polling {
    fn drop(&mut self) {
        // An error only says that the thread has ended already; so does a failed join.
        if let Some(stop) = self.stop.take() {
            let _ = stop.send(());
        }
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl fmt::Debug for MetricsPoller {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("MetricsPoller")
            .field("server", &self.server)
            .field("interval", &self.interval)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for MetricsPollerBuilder {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Not the base: it may hold a password.
        out.debug_struct("MetricsPollerBuilder").field("key", &self.key).finish_non_exhaustive()
    }
}

impl fmt::Debug for Polling {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Polling").finish_non_exhaustive()
    }
}
