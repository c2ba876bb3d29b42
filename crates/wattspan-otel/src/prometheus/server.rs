//! A small server for scrapes: bounded in connections and in time.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;

use super::endpoint::MetricsEndpoint;

/// More scrapers than any set-up has.
const CONNECTIONS: usize = 32;
/// Prometheus keeps connections open between scrapes; one that sends nothing for this long makes room for others.
const IDLE: Duration = Duration::from_secs(90);
/// For one connection altogether, so that nobody holds one for ever.
const LONGEST: Duration = Duration::from_secs(3_600);

pub(super) async fn serve(listener: TcpListener, endpoint: MetricsEndpoint) {
    let places = Arc::new(Semaphore::new(CONNECTIONS));
    loop {
        let Ok(place) = Arc::clone(&places).acquire_owned().await else { return };
        let stream = match listener.accept().await {
            Ok((stream, _)) => stream,
            Err(error) => {
                // Such as no more file descriptors: other connections may end soon.
                tracing::debug!("a scrape could not be accepted: {error}");
                tokio::time::sleep(Duration::from_millis(100)).await;
                continue;
            }
        };
        let endpoint = endpoint.clone();
        tokio::spawn(async move {
            let _place = place;
            let service = service_fn(move |request| {
                let response = endpoint.route(&request);
                async move { Ok::<_, Infallible>(response) }
            });
            let connection = http1::Builder::new()
                .timer(TokioTimer::new())
                .header_read_timeout(IDLE)
                .serve_connection(TokioIo::new(stream), service);
            if let Ok(Err(error)) = tokio::time::timeout(LONGEST, connection).await {
                tracing::debug!("a scrape broke off: {error}");
            }
        });
    }
}
