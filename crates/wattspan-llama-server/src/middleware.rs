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
use wattspan_genai::GenAi;

use crate::dialect::route;
use crate::place::{PidResolver, Place};
use crate::watch::{SeenCall, Watch};

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

    fn begin(&self, request: &Request) -> Option<Watch> {
        if !self.on.is_on() || request.method() != Method::POST {
            return None;
        }
        let url = request.url();
        if route(url.path()).is_none() || self.filter.as_ref().is_some_and(|wanted| !wanted(url)) {
            return None;
        }
        let (host, port) = (url.host_str()?, url.port_or_known_default());
        let body = request.body().and_then(reqwest::Body::as_bytes).unwrap_or_default();
        let locality = self.place.locality(host, port, false);
        Watch::begin(&self.genai, &SeenCall::new(url.path(), host, port, locality).body(body))
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
        let Some(mut watch) = self.begin(&request) else {
            return next.run(request, extensions).await;
        };
        watch.inject(&mut HeaderInjector(request.headers_mut()));
        match next.run(request, extensions).await {
            Ok(response) => Ok(read_along(response, watch)),
            Err(error) => {
                self.place.forget();
                watch.fail(match &error {
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
fn read_along(mut response: Response, mut watch: Watch) -> Response {
    let (status, version, url) = (response.status(), response.version(), response.url().clone());
    let headers = std::mem::take(response.headers_mut());
    let mut extensions = std::mem::take(response.extensions_mut());
    // The URL travels in an extension whose type only this builder can make.
    if let Ok(carrier) = http::Response::builder().url(url).body(()) {
        extensions.extend(carrier.into_parts().0.extensions);
    }
    watch.head(status.as_u16(), headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()));
    let watched = Watched { watch, body: Box::pin(response.bytes_stream()) };
    let mut watched = http::Response::new(reqwest::Body::wrap_stream(watched));
    *watched.status_mut() = status;
    *watched.version_mut() = version;
    *watched.headers_mut() = headers;
    *watched.extensions_mut() = extensions;
    watched.into()
}

/// A body that passes through.
struct Watched {
    watch: Watch,
    body: Pin<Box<dyn Stream<Item = reqwest::Result<Bytes>> + Send>>,
}

impl Stream for Watched {
    type Item = reqwest::Result<Bytes>;

    fn poll_next(mut self: Pin<&mut Self>, task: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let next = std::task::ready!(self.body.as_mut().poll_next(task));
        match &next {
            Some(Ok(bytes)) => self.watch.pass(bytes),
            Some(Err(error)) if error.is_timeout() => self.watch.fail("timeout"),
            Some(Err(_)) => self.watch.fail("truncated_stream"),
            None => self.watch.close(),
        }
        Poll::Ready(next)
    }
}

impl fmt::Debug for Instrument {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Instrument").field("on", &self.on.is_on()).finish_non_exhaustive()
    }
}
