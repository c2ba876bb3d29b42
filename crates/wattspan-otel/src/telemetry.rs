//! Running providers, and the guard that ends them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use opentelemetry::global;
use opentelemetry::propagation::TextMapCompositePropagator;
use opentelemetry_sdk::logs::SdkLoggerProvider;
use opentelemetry_sdk::metrics::SdkMeterProvider;
use opentelemetry_sdk::trace::SdkTracerProvider;

use crate::builder::TelemetryBuilder;
use crate::drops::Drops;
use crate::env::Environment;
use crate::network::Network;
use crate::propagation::propagator;

/// Running providers. Dropping it flushes and shuts them down, in bounded time.
///
/// It must outlive whatever still ends spans: a span that ends later is lost, and counted as such. With the facade this
/// is seen to; an application that holds the parts itself drops the monitor first, which settles what is open.
#[derive(Debug)]
pub struct Telemetry {
    pub(crate) tracers: SdkTracerProvider,
    pub(crate) meters: SdkMeterProvider,
    pub(crate) loggers: SdkLoggerProvider,
    pub(crate) env: Environment,
    pub(crate) drops: Arc<Drops>,
    /// `None` when nothing goes over a network.
    pub(crate) network: Option<Network>,
    pub(crate) shutdown_timeout: Duration,
    pub(crate) over: AtomicBool,
    #[cfg(feature = "prometheus")]
    pub(crate) scrapes: Option<crate::prometheus::Scrapes>,
}

impl Telemetry {
    /// A builder; without an endpoint telemetry is collected and not sent. The environment is not read unless
    /// [`TelemetryBuilder::from_env`] says so.
    pub fn builder(service_name: impl Into<String>) -> TelemetryBuilder {
        TelemetryBuilder::new().service_name(service_name)
    }

    /// The tracer provider.
    pub fn tracer_provider(&self) -> &SdkTracerProvider {
        &self.tracers
    }

    /// The meter provider.
    pub fn meter_provider(&self) -> &SdkMeterProvider {
        &self.meters
    }

    /// The logger provider, for GenAI events.
    pub fn logger_provider(&self) -> &SdkLoggerProvider {
        &self.loggers
    }

    /// What carries contexts over process borders: W3C trace context and baggage, or what `OTEL_PROPAGATORS` chose.
    pub fn propagator(&self) -> TextMapCompositePropagator {
        propagator(&self.env)
    }

    /// Makes the providers and the propagator the global ones. Nothing else in this crate touches globals.
    pub fn install_global(&self) {
        global::set_tracer_provider(self.tracers.clone());
        global::set_meter_provider(self.meters.clone());
        global::set_text_map_propagator(self.propagator());
    }

    /// Spans, log records and points that did not arrive, as far as is known by now. The metric
    /// `wattspan.telemetry.dropped` has them by reason.
    pub fn dropped(&self) -> u64 {
        self.drops.total()
    }

    /// What scrapes are answered from: to be mounted in a server of the application's own.
    #[cfg(feature = "prometheus")]
    pub fn metrics_endpoint(&self) -> Option<&crate::prometheus::MetricsEndpoint> {
        self.scrapes.as_ref().map(|scrapes| &scrapes.endpoint)
    }

    /// Where scrapes are answered, when a port was asked for.
    #[cfg(feature = "prometheus")]
    pub fn scrape_address(&self) -> Option<std::net::SocketAddr> {
        self.scrapes.as_ref()?.address
    }

    /// Sends what waits, for five seconds at most. Answers whether everything was sent.
    pub fn flush(&self) -> bool {
        self.flush_within(Duration::from_secs(5))
    }

    /// Sends what waits. Answers whether everything was sent in time. Blocks the calling thread, whatever runtime that
    /// belongs to; the exporting itself needs none.
    pub fn flush_within(&self, time: Duration) -> bool {
        let (tracers, loggers, meters) = (self.tracers.clone(), self.loggers.clone(), self.meters.clone());
        let (say, hear) = mpsc::channel();
        // The SDK waits for metrics without a bound: on a thread of its own that does no harm.
        let flushing = std::thread::Builder::new().name("wattspan-flush".to_owned()).spawn(move || {
            let sent = tracers.force_flush().is_ok() & loggers.force_flush().is_ok();
            // Nobody may be waiting any more.
            let _ = say.send(sent & meters.force_flush().is_ok());
        });
        flushing.is_ok() && hear.recv_timeout(time).unwrap_or(false)
    }

    /// Flushes and ends everything, within the builder's bound. A second call does nothing.
    pub fn shutdown(&self) {
        if self.over.swap(true, Relaxed) {
            return;
        }
        let end = Instant::now() + self.shutdown_timeout;
        // A provider is always given some time, so that one that has nothing to wait for ends cleanly.
        let left = || end.saturating_duration_since(Instant::now()).max(Duration::from_millis(100));
        if let Some(network) = &self.network {
            network.hurry(self.shutdown_timeout);
        }
        // Whoever shuts down can do nothing about a receiver that is gone; what is lost is counted.
        let _ = self.tracers.shutdown_with_timeout(left());
        let _ = self.loggers.shutdown_with_timeout(left());
        #[cfg(feature = "prometheus")]
        if let (Some(scrapes), Some(network)) = (&self.scrapes, &self.network) {
            scrapes.last_push(network, left());
        }
        // Metrics come last, so that they tell of what was lost.
        let _ = self.meters.shutdown_with_timeout(left());
        if let Some(network) = &self.network {
            network.end();
        }
        let dropped = self.dropped();
        if dropped > 0 {
            tracing::warn!(dropped, "telemetry is shut down; so many items did not arrive");
        }
    }
}

impl Drop for Telemetry {
    fn drop(&mut self) {
        self.shutdown();
    }
}
