//! A scripted HTTP server on loopback.

mod answer;
mod exchange;

use std::collections::HashMap;
use std::fmt;
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::fakes::lock;

pub use answer::{Answer, Gate};

/// A request as it came in.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct StubRequest {
    /// `GET`, `POST`, …
    pub method: String,
    /// Path and query, as sent.
    pub target: String,
    /// Headers in order, their names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body, its transfer coding undone.
    pub body: Vec<u8>,
}

impl StubRequest {
    /// The first header of a name, in any case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(known, _)| known.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.as_str())
    }

    /// The path without its query.
    pub fn path(&self) -> &str {
        self.target.split('?').next().unwrap_or(&self.target)
    }

    /// The body as text, with what is not UTF-8 replaced.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

type Handler = dyn FnMut(&StubRequest) -> Answer + Send;

/// A server that answers as it is told and keeps what it was asked.
///
/// Each connection gets one answer and is closed after it. It stops when it is dropped, with whatever is under way.
///
/// ```
/// use std::io::{Read, Write};
/// use wattspan_testkit::{Answer, StubServer};
///
/// let server = StubServer::in_order([Answer::status(503), Answer::json(r#"{"ok":true}"#)]);
/// let ask = || {
///     let mut stream = std::net::TcpStream::connect(server.address()).unwrap();
///     stream.write_all(b"GET /v1/latest?zone=DE HTTP/1.1\r\nauth-token: t\r\n\r\n").unwrap();
///     let mut answer = String::new();
///     stream.read_to_string(&mut answer).unwrap();
///     answer
/// };
/// assert!(ask().starts_with("HTTP/1.1 503 "));
/// assert!(ask().ends_with(r#"{"ok":true}"#));
/// assert_eq!(server.requests()[1].path(), "/v1/latest");
/// assert_eq!(server.requests()[1].header("Auth-Token"), Some("t"));
/// ```
pub struct StubServer {
    address: SocketAddr,
    shared: Arc<Shared>,
    accepting: Option<JoinHandle<()>>,
}

struct Shared {
    handler: Mutex<Box<Handler>>,
    requests: Mutex<Vec<StubRequest>>,
    arrived: Condvar,
    open: Mutex<HashMap<u64, TcpStream>>,
    stop: AtomicBool,
}

impl StubServer {
    /// Answers by a closure. Requests that come at once are answered one after another, in the order in which they
    /// arrived whole; the waiting that an [`Answer`] asks for does not hold up the others.
    ///
    /// # Panics
    /// When loopback has no free port.
    pub fn new(handler: impl FnMut(&StubRequest) -> Answer + Send + 'static) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0))
            .unwrap_or_else(|error| panic!("no port on 127.0.0.1: {error}"));
        let address = listener.local_addr().unwrap_or_else(|error| panic!("a port without address: {error}"));
        let shared = Arc::new(Shared {
            handler: Mutex::new(Box::new(handler)),
            requests: Mutex::default(),
            arrived: Condvar::new(),
            open: Mutex::default(),
            stop: AtomicBool::new(false),
        });
        let accepting = thread::spawn({
            let shared = Arc::clone(&shared);
            move || accept(&listener, &shared)
        });
        Self { address, shared, accepting: Some(accepting) }
    }

    /// Gives these answers, one after another whatever is asked, and then 500 to every further request.
    ///
    /// # Panics
    /// When loopback has no free port.
    pub fn in_order(answers: impl IntoIterator<Item = Answer>) -> Self {
        let answers: Vec<Answer> = answers.into_iter().collect();
        let mut answers = answers.into_iter();
        Self::new(move |request| answers.next().unwrap_or_else(|| unexpected(request)))
    }

    /// Gives each path (without its query) its answer, as often as it is asked, and 404 to all others.
    ///
    /// # Panics
    /// When loopback has no free port.
    pub fn by_path(answers: impl IntoIterator<Item = (&'static str, Answer)>) -> Self {
        let answers: HashMap<&'static str, Answer> = answers.into_iter().collect();
        Self::new(move |request| answers.get(request.path()).cloned().unwrap_or_else(|| Answer::status(404)))
    }

    /// Where it listens.
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Its address with a path, such as `/v1/metrics`, as a URL.
    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// All requests that have come in whole.
    pub fn requests(&self) -> Vec<StubRequest> {
        lock(&self.shared.requests).clone()
    }

    /// Waits until so many requests have come in, and gives all that have.
    ///
    /// # Panics
    /// When they do not come within a minute: far longer than any test should need, also on a busy machine.
    #[track_caller]
    pub fn wait_for(&self, count: usize) -> Vec<StubRequest> {
        let until = Instant::now() + Duration::from_secs(60);
        let mut requests = lock(&self.shared.requests);
        while requests.len() < count {
            let left = until.saturating_duration_since(Instant::now());
            assert!(!left.is_zero(), "{} of {count} requests came in", requests.len());
            requests =
                self.shared.arrived.wait_timeout(requests, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        requests.clone()
    }
}

impl Drop for StubServer {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::SeqCst);
        // Wakes the accepting thread.
        let _ = TcpStream::connect(self.address);
        for stream in lock(&self.shared.open).values() {
            let _ = stream.shutdown(Shutdown::Both);
        }
        if let Some(accepting) = self.accepting.take() {
            let _ = accepting.join();
        }
    }
}

impl fmt::Debug for StubServer {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Without the requests, which may carry keys.
        out.debug_struct("StubServer").field("address", &self.address).finish_non_exhaustive()
    }
}

fn unexpected(request: &StubRequest) -> Answer {
    Answer::status(500).body(format!("no answer is left for {} {}", request.method, request.target))
}

fn accept(listener: &TcpListener, shared: &Arc<Shared>) {
    for (number, stream) in (0..).zip(listener.incoming()) {
        if shared.stop.load(Ordering::SeqCst) {
            return;
        }
        let Ok(stream) = stream else { continue };
        if let Ok(twin) = stream.try_clone() {
            lock(&shared.open).insert(number, twin);
        }
        let shared = Arc::clone(shared);
        thread::spawn(move || {
            serve(stream, &shared);
            lock(&shared.open).remove(&number);
        });
    }
}

fn serve(mut stream: TcpStream, shared: &Shared) {
    let Ok(Some(request)) = exchange::read(&mut stream) else { return };
    let mut handler = lock(&shared.handler);
    lock(&shared.requests).push(request.clone());
    shared.arrived.notify_all();
    let answer = handler(&request);
    drop(handler);
    // A client that has gone has its own reasons.
    let _ = exchange::write(&mut stream, &answer, &shared.stop);
}

#[cfg(test)]
mod tests;
