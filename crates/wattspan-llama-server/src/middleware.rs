//! A layer for an application's own HTTP client: its calls to a model server become instrumented inferences, and no
//! call site changes. Bodies pass through unchanged, byte for byte, streamed ones too.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use bytes::Bytes;
use futures_core::Stream;
use opentelemetry_http::HeaderInjector;
use reqwest::header::CONTENT_TYPE;
use reqwest::{Method, Request, Response, ResponseBuilderExt as _, Url};
use reqwest_middleware::{Middleware, Next};
use wattspan_core::Locality;
use wattspan_genai::{GenAi, Inference};

use crate::content::record_input;
use crate::describe::describe;
use crate::dialect::{Dialect, Progress, route};
use crate::error::{Error, is_word};
use crate::place::{PidResolver, Place};
use crate::sse::Events;
use crate::tally::Tally;

/// Instruments the calls of a [`reqwest_middleware::ClientWithMiddleware`] to a llama-server or any server with OpenAI's
/// or Anthropic's routes.
///
/// A call counts as finished when its body was read to the end; one whose body is dropped before counts as cancelled.
/// Requests whose body is itself a stream are instrumented without their parameters, since those cannot be read.
///
/// ```
/// use wattspan_genai::GenAi;
/// use wattspan_llama_server::middleware::Instrument;
///
/// let layer = Instrument::new(GenAi::builder("llama_cpp").build());
/// let switch = layer.switch();
/// # let _ = rustls::crypto::ring::default_provider().install_default();
/// let http = reqwest_middleware::ClientBuilder::new(reqwest::Client::new()).with(layer).build();
/// switch.turn_off(); // Calls go through untouched until it is turned on again.
/// # drop(http);
/// ```
#[derive(Clone)]
pub struct Instrument {
    genai: GenAi,
    place: Place,
    resolver: Option<PidResolver>,
    locality: Option<Locality>,
    filter: Option<Filter>,
    on: Switch,
}

type Filter = Arc<dyn Fn(&Url) -> bool + Send + Sync>;

/// Turns a layer off and on while the program runs.
#[derive(Clone, Debug)]
pub struct Switch(Arc<AtomicBool>);

impl Switch {
    /// Calls that begin from now on are instrumented.
    pub fn turn_on(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Calls that begin from now on go through untouched. Those under way are instrumented to their end.
    pub fn turn_off(&self) {
        self.0.store(false, Ordering::Relaxed);
    }

    /// Whether calls are instrumented.
    pub fn is_on(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

impl Instrument {
    /// A layer that is on.
    pub fn new(genai: GenAi) -> Self {
        Self {
            genai,
            place: Place::new(None, None),
            resolver: None,
            locality: None,
            filter: None,
            on: Switch(Arc::new(AtomicBool::new(true))),
        }
    }

    /// The switch of this layer and its clones.
    pub fn switch(&self) -> Switch {
        self.on.clone()
    }

    /// Instruments only calls to these addresses. Unless set, the path alone decides.
    pub fn only(mut self, filter: impl Fn(&Url) -> bool + Send + Sync + 'static) -> Self {
        self.filter = Some(Arc::new(filter));
        self
    }

    /// Says where the server runs; see
    /// [`LlamaServerBuilder::locality`](crate::LlamaServerBuilder::locality).
    pub fn locality(mut self, locality: Locality) -> Self {
        self.locality = Some(locality);
        self.place = Place::new(self.locality, self.resolver.clone());
        self
    }

    /// Finds a local server's process by its port; see
    /// [`LlamaServerBuilder::pid_resolver`](crate::LlamaServerBuilder::pid_resolver).
    pub fn pid_resolver(mut self, resolver: impl Fn(u16) -> Option<u32> + Send + Sync + 'static) -> Self {
        self.resolver = Some(Arc::new(resolver));
        self.place = Place::new(self.locality, self.resolver.clone());
        self
    }

    fn begin(&self, request: &Request) -> Option<(Inference, Dialect)> {
        if !self.on.is_on() || request.method() != Method::POST {
            return None;
        }
        let url = request.url();
        let (operation, dialect) = route(url.path())?;
        if self.filter.as_ref().is_some_and(|wanted| !wanted(url)) {
            return None;
        }
        let body = request.body().and_then(reqwest::Body::as_bytes).unwrap_or_default();
        let body = serde_json::from_slice(body).unwrap_or(serde_json::Value::Null);
        let host = url.host_str()?;
        let port = url.port_or_known_default();
        let asked = describe(operation, &body)
            .server(host.trim_start_matches('[').trim_end_matches(']'), port)
            .locality(self.place.locality(host, port, false));
        let mut inference = self.genai.begin(asked);
        record_input(&body, &mut inference);
        Some((inference, dialect))
    }
}

#[async_trait::async_trait]
impl Middleware for Instrument {
    async fn handle(
        &self,
        mut request: Request,
        extensions: &mut http::Extensions,
        next: Next<'_>,
    ) -> reqwest_middleware::Result<Response> {
        let Some((inference, dialect)) = self.begin(&request) else {
            return next.run(request, extensions).await;
        };
        wattspan_genai::context::inject(inference.context(), &mut HeaderInjector(request.headers_mut()));
        match next.run(request, extensions).await {
            Ok(response) => Ok(watch(response, inference, dialect)),
            Err(error) => {
                self.place.forget();
                inference.fail(match &error {
                    reqwest_middleware::Error::Reqwest(error) if error.is_timeout() => "timeout",
                    reqwest_middleware::Error::Reqwest(_) => "connection_error",
                    reqwest_middleware::Error::Middleware(_) => "middleware_error",
                });
                Err(error)
            }
        }
    }
}

/// The same response, whose body tells the inference what passes.
fn watch(mut response: Response, inference: Inference, dialect: Dialect) -> Response {
    let (status, version, url) = (response.status(), response.version(), response.url().clone());
    let headers = std::mem::take(response.headers_mut());
    let mut extensions = std::mem::take(response.extensions_mut());
    // The URL travels in an extension whose type only this builder can make.
    if let Ok(carrier) = http::Response::builder().url(url).body(()) {
        extensions.extend(carrier.into_parts().0.extensions);
    }
    let is_stream = headers
        .get(CONTENT_TYPE)
        .and_then(|kind| kind.to_str().ok())
        .is_some_and(|kind| kind.starts_with("text/event-stream"));
    let watched = Watched {
        status: status.as_u16(),
        reader: if is_stream { Reader::Events(Events::new(BODY_LIMIT)) } else { Reader::Whole(Vec::new()) },
        tally: Tally::default(),
        inference: Some(inference),
        dialect,
        body: Box::pin(response.bytes_stream()),
    };
    let mut watched = http::Response::new(reqwest::Body::wrap_stream(watched));
    *watched.status_mut() = status;
    *watched.version_mut() = version;
    *watched.headers_mut() = headers;
    *watched.extensions_mut() = extensions;
    watched.into()
}

/// A body that passes through.
struct Watched {
    status: u16,
    reader: Reader,
    tally: Tally,
    inference: Option<Inference>,
    dialect: Dialect,
    body: Pin<Box<dyn Stream<Item = reqwest::Result<Bytes>> + Send>>,
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

impl Watched {
    fn pass(&mut self, bytes: &[u8]) {
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
    fn closed(&mut self) {
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

impl Stream for Watched {
    type Item = reqwest::Result<Bytes>;

    fn poll_next(mut self: Pin<&mut Self>, task: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let next = std::task::ready!(self.body.as_mut().poll_next(task));
        match &next {
            Some(Ok(bytes)) => self.pass(bytes),
            Some(Err(error)) => {
                let kind = if error.is_timeout() { "timeout" } else { "truncated_stream" };
                self.end(Some(kind.to_owned()));
            }
            None => self.closed(),
        }
        Poll::Ready(next)
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        // An error status says enough, whether or not its text was read.
        if self.status >= 400 {
            self.end(Some(self.status.to_string()));
        } else if let Some(inference) = &mut self.inference {
            self.tally.apply(inference);
        }
    }
}

impl fmt::Debug for Instrument {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Instrument").field("on", &self.on.is_on()).finish_non_exhaustive()
    }
}

/// How much of an answer is kept for reading its counts. The rest still passes through; only the counts are lost.
const BODY_LIMIT: usize = 16 << 20;
