//! The text of a scrape, and the handler that answers with it.

use std::collections::HashMap;
use std::convert::Infallible;
use std::fmt;
use std::future::{Ready, ready};
use std::sync::Arc;
use std::task::{Context, Poll};

use http::header::{ALLOW, CONTENT_TYPE};
use http::{HeaderValue, Method, Request, Response, StatusCode};
use prometheus::TextEncoder;

use super::dcgm::DcgmNames;
use super::names::help;

const TEXT: HeaderValue = HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");
const PLAIN: HeaderValue = HeaderValue::from_static("text/plain; charset=utf-8");

/// Answers scrapes. Cheap to clone; also a `tower` service, which axum mounts with `route_service`.
///
/// A scrape calls the instruments' callbacks on the calling thread and takes well under a millisecond; it waits for
/// nothing else.
#[derive(Clone)]
pub struct MetricsEndpoint {
    inner: Arc<Inner>,
}

struct Inner {
    registry: prometheus::Registry,
    help: HashMap<String, String>,
    dcgm: Option<Arc<DcgmNames>>,
}

impl fmt::Debug for MetricsEndpoint {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("MetricsEndpoint").field("dcgm", &self.inner.dcgm.is_some()).finish_non_exhaustive()
    }
}

impl MetricsEndpoint {
    pub(super) fn new(
        registry: prometheus::Registry,
        prefix: Option<&str>,
        dcgm: Option<Arc<DcgmNames>>,
    ) -> Self {
        Self { inner: Arc::new(Inner { registry, help: help(prefix), dcgm }) }
    }

    /// All metrics in text format 0.0.4.
    pub fn render(&self) -> String {
        let mut families = self.inner.registry.gather();
        for family in &mut families {
            if family.help().is_empty() {
                let text = self.inner.help.get(family.name()).map_or("No description.", String::as_str);
                family.set_help(text.to_owned());
            }
        }
        let mut text = String::new();
        if let Err(error) = TextEncoder::new().encode_utf8(&families, &mut text) {
            tracing::warn!("metrics cannot be written: {error}");
            text.clear();
        }
        if let Some(dcgm) = &self.inner.dcgm {
            dcgm.render(&mut text);
        }
        text
    }

    /// Answers a request whatever its path: the server it is mounted in has routed it. Only `GET` and `HEAD` are
    /// answered, and always with format 0.0.4.
    pub fn respond<B>(&self, request: &Request<B>) -> Response<String> {
        let (status, kind, body) = match *request.method() {
            Method::GET => (StatusCode::OK, TEXT, self.render()),
            Method::HEAD => (StatusCode::OK, TEXT, String::new()),
            _ => (StatusCode::METHOD_NOT_ALLOWED, PLAIN, "only GET and HEAD\n".to_owned()),
        };
        let mut response = Response::new(body);
        *response.status_mut() = status;
        response.headers_mut().insert(CONTENT_TYPE, kind);
        if status == StatusCode::METHOD_NOT_ALLOWED {
            response.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
        }
        response
    }

    /// Answers `/metrics` and nothing else.
    pub(super) fn route<B>(&self, request: &Request<B>) -> Response<String> {
        if request.uri().path() == "/metrics" {
            return self.respond(request);
        }
        let mut response = Response::new("see /metrics\n".to_owned());
        *response.status_mut() = StatusCode::NOT_FOUND;
        response.headers_mut().insert(CONTENT_TYPE, PLAIN);
        response
    }
}

impl<B> tower_service::Service<Request<B>> for MetricsEndpoint {
    type Response = Response<String>;
    type Error = Infallible;
    type Future = Ready<Result<Self::Response, Infallible>>;

    fn poll_ready(&mut self, _context: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        ready(Ok(self.respond(&request)))
    }
}
