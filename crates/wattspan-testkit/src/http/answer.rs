//! What a stub server answers.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use crate::fakes::lock;

/// One answer. Made by its status, and changed from there.
#[derive(Clone, Debug)]
pub struct Answer {
    pub(super) status: u16,
    pub(super) headers: Vec<(String, String)>,
    /// Each with what is waited for before it is sent.
    pub(super) parts: Vec<(Wait, Vec<u8>)>,
    pub(super) form: Form,
}

/// How the body is delimited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// By its length.
    Length,
    /// In chunks: one per part.
    Chunked,
    /// By its length, of which only so many bytes are sent.
    Truncated(usize),
    /// The connection is closed without a word.
    Silence,
}

#[derive(Clone, Debug)]
pub(super) enum Wait {
    Not,
    For(Duration),
    Until(Gate),
}

impl Answer {
    /// A status and an empty body.
    pub const fn status(status: u16) -> Self {
        Self { status, headers: Vec::new(), parts: Vec::new(), form: Form::Length }
    }

    /// 200 with JSON.
    pub fn json(body: impl Into<Vec<u8>>) -> Self {
        Self::status(200).header("content-type", "application/json").body(body)
    }

    /// 200 with server-sent events, each in a chunk of its own; `events` are the lines without the blank one after them.
    pub fn events<T: AsRef<str>>(events: impl IntoIterator<Item = T>) -> Self {
        let mut answer = Self::status(200).header("content-type", "text/event-stream");
        for event in events {
            answer = answer.chunk(format!("{}\n\n", event.as_ref()));
        }
        answer
    }

    /// Closes the connection without an answer.
    pub const fn hang_up() -> Self {
        Self { status: 0, headers: Vec::new(), parts: Vec::new(), form: Form::Silence }
    }

    /// Adds a header.
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Sets the whole body, sent with its length.
    #[must_use]
    pub fn body(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.parts = vec![(Wait::Not, body.into())];
        self.form = Form::Length;
        self
    }

    /// Adds a chunk to a body that is sent in chunks. An empty one sends nothing.
    #[must_use]
    pub fn chunk(mut self, chunk: impl Into<Vec<u8>>) -> Self {
        self.parts.push((Wait::Not, chunk.into()));
        self.form = Form::Chunked;
        self
    }

    /// Adds a chunk that is sent when a gate opens.
    #[must_use]
    pub fn chunk_at(mut self, gate: &Gate, chunk: impl Into<Vec<u8>>) -> Self {
        self.parts.push((Wait::Until(gate.clone()), chunk.into()));
        self.form = Form::Chunked;
        self
    }

    /// Waits a time before the first byte, to look slow. A test should not depend on how long that is; where it would,
    /// take a [`Gate`].
    #[must_use]
    pub fn after(self, time: Duration) -> Self {
        self.first(Wait::For(time))
    }

    /// Waits for a gate before the first byte.
    #[must_use]
    pub fn at(self, gate: &Gate) -> Self {
        self.first(Wait::Until(gate.clone()))
    }

    /// Sends only so many bytes of the body that the headers promise, and closes. A chunked body gets no end.
    #[must_use]
    pub fn truncated(mut self, bytes: usize) -> Self {
        self.form = Form::Truncated(bytes);
        self
    }

    fn first(mut self, wait: Wait) -> Self {
        // An empty part in front carries the wait and no bytes.
        self.parts.insert(0, (wait, Vec::new()));
        self
    }
}

/// Holds answers back until a test opens it. Clones are one gate.
#[derive(Clone, Debug, Default)]
pub struct Gate {
    shared: Arc<(Mutex<bool>, Condvar)>,
}

impl Gate {
    /// A closed gate.
    pub fn new() -> Self {
        Self::default()
    }

    /// Opens it, for good.
    pub fn open(&self) {
        *lock(&self.shared.0) = true;
        self.shared.1.notify_all();
    }

    /// Waits until it is open or the server stops; answers whether it is open.
    pub(super) fn wait(&self, stop: &AtomicBool) -> bool {
        let mut open = lock(&self.shared.0);
        while !*open && !stop.load(Ordering::SeqCst) {
            // Woken by the gate; the bound is for the stop flag, which has no waker.
            let waited = self.shared.1.wait_timeout(open, Duration::from_millis(50));
            open = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        *open
    }
}
