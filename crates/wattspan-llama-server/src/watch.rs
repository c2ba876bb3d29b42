//! Reads along an answer that others asked for and others read: bytes in, an inference out. For the layer, and for a
//! proxy. Knows nothing of HTTP libraries.

use std::fmt;

use wattspan_core::Locality;
use wattspan_genai::{GenAi, Inference};

use crate::content::record_input;
use crate::describe::describe;
use crate::dialect::{Dialect, Progress, route};
use crate::error::{Error, is_word};
use crate::sse::Events;
use crate::tally::Tally;

/// A call that somebody else makes, as it is seen.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct SeenCall<'a> {
    /// Path of the URL, which tells the route.
    pub path: &'a str,
    /// The server's host name or address.
    pub host: &'a str,
    /// The server's port.
    pub port: Option<u16>,
    /// The request's body; empty when it cannot be read.
    pub body: &'a [u8],
    /// Where the server runs.
    pub locality: Locality,
}

/// An inference whose answer is read along.
///
/// Give it the response's [`head`](Self::head), then each piece of the body with [`pass`](Self::pass), and at the body's
/// end [`close`](Self::close). Dropping it before counts as cancelled, unless the status says more.
///
/// ```
/// use wattspan_core::Locality;
/// use wattspan_genai::GenAi;
/// use wattspan_llama_server::{SeenCall, Watch};
///
/// let genai = GenAi::builder("llama_cpp").build();
/// let call = SeenCall::new("/v1/chat/completions", "127.0.0.1", Some(8080), Locality::Remote)
///     .body(br#"{"model":"m","stream":true}"#);
/// let mut watch = Watch::begin(&genai, &call).expect("this route is an inference");
/// watch.head(200, Some("text/event-stream"));
/// watch.pass(b"data: {\"choices\":[{\"delta\":{\"content\":\"Hi\"}}]}\n\n");
/// watch.pass(b"data: [DONE]\n\n");
/// watch.close();
/// assert!(Watch::begin(&genai, &SeenCall::new("/v1/models", "127.0.0.1", None, Locality::Remote)).is_none());
/// ```
pub struct Watch {
    status: u16,
    reader: Reader,
    tally: Tally,
    inference: Option<Inference>,
    dialect: Dialect,
}

/// How the body is read along.
enum Reader {
    /// A stream of events.
    Events(Events),
    /// One whole answer.
    Whole(Vec<u8>),
    /// It is larger than is kept, or cannot be read.
    Lost,
}

impl<'a> SeenCall<'a> {
    /// A call without a body that can be read.
    pub const fn new(path: &'a str, host: &'a str, port: Option<u16>, locality: Locality) -> Self {
        Self { path, host, port, body: &[], locality }
    }

    /// Adds the request's body.
    pub const fn body(mut self, body: &'a [u8]) -> Self {
        self.body = body;
        self
    }
}

impl Watch {
    /// Begins the inference of a call; `None` when its route is none.
    pub fn begin(genai: &GenAi, call: &SeenCall<'_>) -> Option<Self> {
        let (operation, dialect) = route(call.path)?;
        let body = serde_json::from_slice(call.body).unwrap_or(serde_json::Value::Null);
        let host = call.host.trim_start_matches('[').trim_end_matches(']');
        let asked = describe(operation, &body).server(host, call.port).locality(call.locality);
        let mut inference = genai.begin(asked);
        record_input(&body, &mut inference);
        Some(Self {
            status: 200,
            reader: Reader::Whole(Vec::new()),
            tally: Tally::default(),
            inference: Some(inference),
            dialect,
        })
    }

    /// Writes the trace context into the headers of the call.
    pub fn inject(&self, headers: &mut dyn opentelemetry::propagation::Injector) {
        if let Some(inference) = &self.inference {
            wattspan_genai::context::inject(inference.context(), headers);
        }
    }

    /// The response's status and content type have come.
    pub fn head(&mut self, status: u16, content_type: Option<&str>) {
        self.status = status;
        if content_type.is_some_and(|kind| kind.starts_with("text/event-stream")) {
            self.reader = Reader::Events(Events::new(BODY_LIMIT));
        }
    }

    /// A piece of the body has passed.
    pub fn pass(&mut self, bytes: &[u8]) {
        let Some(inference) = &mut self.inference else { return };
        let mut progress = Progress::Open;
        match &mut self.reader {
            Reader::Events(events) => {
                events.push(bytes);
                while progress == Progress::Open {
                    match events.next() {
                        Ok(Some(data)) => progress = self.dialect.event(&data, &mut self.tally, inference),
                        Ok(None) => break,
                        Err(crate::sse::TooLarge(_)) => {
                            self.reader = Reader::Lost;
                            break;
                        }
                    }
                }
            }
            Reader::Whole(kept) if kept.len() + bytes.len() <= BODY_LIMIT => kept.extend_from_slice(bytes),
            Reader::Whole(_) => self.reader = Reader::Lost,
            Reader::Lost => {}
        }
        match progress {
            Progress::Open => {}
            Progress::Done => self.end(None),
            Progress::Failed(kind) => {
                self.end(Some(if is_word(&kind) { kind } else { "stream_error".to_owned() }));
            }
        }
    }

    /// The body is at its end.
    pub fn close(&mut self) {
        let error = match std::mem::replace(&mut self.reader, Reader::Lost) {
            _ if self.inference.is_none() => None,
            Reader::Whole(kept) => self.whole(&String::from_utf8_lossy(&kept)),
            Reader::Events(_) if self.status < 400 && !self.tally.has_ended() => {
                Some("truncated_stream".to_owned())
            }
            _ => (self.status >= 400).then(|| self.status.to_string()),
        };
        self.end(error);
    }

    /// The call failed, with an `error.type` of few different values.
    pub fn fail(&mut self, error_type: &str) {
        self.end(Some(error_type.to_owned()));
    }

    /// Reads a whole answer; gives its `error.type`.
    fn whole(&mut self, body: &str) -> Option<String> {
        if self.status >= 400 {
            let error = Error::from_answer(String::new(), self.status, None, body);
            return Some(error.error_type().into_owned());
        }
        let keep = self.inference.as_ref().is_some_and(Inference::captures_content);
        match self.dialect.whole(body, keep, &mut self.tally) {
            Progress::Failed(kind) if is_word(&kind) => Some(kind),
            Progress::Failed(_) => Some("stream_error".to_owned()),
            Progress::Open => Some("malformed_response".to_owned()),
            Progress::Done => None,
        }
    }

    fn end(&mut self, error: Option<String>) {
        let Some(mut inference) = self.inference.take() else { return };
        self.tally.apply(&mut inference);
        match error {
            Some(error) => inference.fail(error),
            None => inference.finish(),
        }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        // An error status says enough, whether or not its text was read.
        if self.status >= 400 {
            self.end(Some(self.status.to_string()));
        } else if let Some(inference) = &mut self.inference {
            self.tally.apply(inference);
        }
    }
}

impl fmt::Debug for Watch {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Watch").field("ended", &self.inference.is_none()).finish_non_exhaustive()
    }
}

/// How much of an answer is kept for reading its counts. The rest still passes through; only the counts are lost.
const BODY_LIMIT: usize = 16 << 20;
