//! Settings of a client.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use wattspan_core::Locality;
use wattspan_genai::GenAi;

use crate::client::LlamaServer;
use crate::error::Error;
use crate::place::{PidResolver, Place};
use crate::secret::ApiKey;
use crate::transport::Transport;

/// Puts a [`LlamaServer`] together.
#[derive(Clone)]
pub struct LlamaServerBuilder {
    pub(crate) base: String,
    pub(crate) genai: GenAi,
    pub(crate) key: Option<ApiKey>,
    pub(crate) deadline: Option<Duration>,
    pub(crate) idle: Option<Duration>,
    pub(crate) connect: Duration,
    pub(crate) retries: u32,
    pub(crate) ask_usage: bool,
    pub(crate) body_limit: usize,
    pub(crate) unix_socket: Option<PathBuf>,
    pub(crate) http: Option<reqwest::Client>,
    locality: Option<Locality>,
    resolver: Option<PidResolver>,
}

impl LlamaServerBuilder {
    pub(crate) fn new(base: &str, genai: GenAi) -> Self {
        Self {
            base: base.trim_end_matches('/').to_owned(),
            genai,
            key: None,
            deadline: None,
            // Longer than a long prompt takes on a slow machine; shorter than anybody waits for a server that hangs.
            idle: Some(Duration::from_secs(300)),
            connect: Duration::from_secs(10),
            retries: 3,
            ask_usage: true,
            body_limit: 64 << 20,
            unix_socket: None,
            http: None,
            locality: None,
            resolver: None,
        }
    }

    /// The key that the server was started with.
    pub fn api_key(mut self, key: impl Into<Arc<str>>) -> Self {
        self.key = Some(ApiKey::new(key));
        self
    }

    /// Bounds each whole call. Without it a call may take as long as it takes.
    pub fn deadline(mut self, deadline: Duration) -> Self {
        self.deadline = Some(deadline);
        self
    }

    /// Bounds the silence between two pieces of a stream; five minutes unless set. `None`: no bound.
    pub fn idle_timeout(mut self, idle: impl Into<Option<Duration>>) -> Self {
        self.idle = idle.into();
        self
    }

    /// Bounds the time to connect; ten seconds unless set.
    pub fn connect_timeout(mut self, connect: Duration) -> Self {
        self.connect = connect;
        self
    }

    /// How often a call is sent again when the server refused the connection or still loads its model, with a pause
    /// that doubles from 100 ms; three times unless set. A request that the server may have begun is never repeated.
    pub fn retries(mut self, retries: u32) -> Self {
        self.retries = retries;
        self
    }

    /// Whether streams ask for token counts (`stream_options.include_usage`); yes unless set.
    pub fn ask_usage(mut self, ask: bool) -> Self {
        self.ask_usage = ask;
        self
    }

    /// Bounds an answer, or one event of a stream, in bytes; 64 MiB unless set.
    pub fn body_limit(mut self, bytes: usize) -> Self {
        self.body_limit = bytes;
        self
    }

    /// Says where the server runs. Unless set, a server on loopback or a Unix socket is on this machine and any other
    /// is remote.
    pub fn locality(mut self, locality: Locality) -> Self {
        self.locality = Some(locality);
        self
    }

    /// Finds the server's process by its port, so that its share of the CPU is known. Called at the first inference and
    /// again after a broken connection, on the caller's thread.
    pub fn pid_resolver(mut self, resolver: impl Fn(u16) -> Option<u32> + Send + Sync + 'static) -> Self {
        self.resolver = Some(Arc::new(resolver));
        self
    }

    /// Reaches the server through a Unix socket; the base URL then only names it.
    ///
    /// # Errors
    /// [`build`](Self::build) fails on systems without Unix sockets.
    pub fn unix_socket(mut self, path: impl Into<PathBuf>) -> Self {
        self.unix_socket = Some(path.into());
        self
    }

    /// Takes an HTTP client with settings of its own, such as a proxy or a pool of idle
    /// connections, which the client's own does not keep; `connect_timeout` and `unix_socket` are then its.
    pub fn http_client(mut self, http: reqwest::Client) -> Self {
        self.http = Some(http);
        self
    }

    /// Makes the client. Does not connect.
    ///
    /// # Errors
    /// [`Error::Setup`] when the URL has no host, the key cannot stand in a header, or TLS cannot be set up.
    pub fn build(self) -> Result<LlamaServer, Error> {
        let place = Place::new(self.locality, self.resolver.clone());
        Ok(LlamaServer::with(Transport::new(self, place)?))
    }
}

impl fmt::Debug for LlamaServerBuilder {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Not the base: it may hold a password.
        out.debug_struct("LlamaServerBuilder")
            .field("key", &self.key)
            .field("deadline", &self.deadline)
            .field("idle", &self.idle)
            .field("retries", &self.retries)
            .finish_non_exhaustive()
    }
}
