//! The running whole, and the guard that ends it.

use std::sync::{Arc, PoisonError, RwLock, Weak};
use std::time::Duration;

use wattspan_core::{IntensitySource, Locality, Place, PriceSource};
use wattspan_genai::{GenAi, GenAiBuilder};
use wattspan_monitor::Monitor;

use crate::builder::WattspanBuilder;
use crate::setup::{content, profile};
use crate::{Config, ConfigError, Finding};

/// A running wattspan. The last one to be dropped settles what is left, sends it, and ends its threads.
#[derive(Clone)]
pub struct Wattspan {
    pub(crate) inner: Arc<Inner>,
}

/// Fields are dropped in this order: settlement comes before the providers shut down, since a span that ends after
/// that is lost.
pub(crate) struct Inner {
    /// Ends before the monitor that it feeds.
    #[cfg(feature = "llama-server")]
    pub(crate) _polling: Option<wattspan_llama_server::Polling>,
    pub(crate) monitor: Monitor,
    #[cfg(feature = "otel")]
    pub(crate) telemetry: wattspan_otel::Telemetry,
    pub(crate) meter: opentelemetry::metrics::Meter,
    pub(crate) config: Config,
    pub(crate) place: Place,
    pub(crate) intensity: Option<Arc<dyn IntensitySource>>,
    pub(crate) prices: Option<Arc<dyn PriceSource>>,
    pub(crate) findings: Vec<Finding>,
}

static GLOBAL: RwLock<Weak<Inner>> = RwLock::new(Weak::new());

pub(crate) fn make_global(inner: &Arc<Inner>) {
    *GLOBAL.write().unwrap_or_else(PoisonError::into_inner) = Arc::downgrade(inner);
}

/// The wattspan that was started last and is still running; `None` before that and after its end.
pub fn global() -> Option<Wattspan> {
    let inner = GLOBAL.read().unwrap_or_else(PoisonError::into_inner).upgrade()?;
    Some(Wattspan { inner })
}

impl Wattspan {
    /// A builder with nothing set: defaults and what is set in code.
    pub fn builder() -> WattspanBuilder {
        WattspanBuilder::new(Config::new())
    }

    /// A builder that takes the environment's `WATTSPAN_*` and `OTEL_*` variables.
    ///
    /// # Errors
    /// On an unknown variable or a value that does not fit.
    pub fn from_env() -> Result<WattspanBuilder, ConfigError> {
        Ok(WattspanBuilder::new(Config::from_env()?))
    }

    /// Instrumentation for a provider, such as `llama_cpp`, whose inferences run in this process.
    pub fn genai(&self, provider: &str) -> GenAi {
        self.genai_builder(provider).build()
    }

    /// The same, to be changed before it is built: a server's client sets where inferences run.
    pub fn genai_builder(&self, provider: &str) -> GenAiBuilder {
        let builder = GenAi::builder(provider)
            .meter(self.inner.meter.clone())
            .profile(profile(&self.inner.config))
            .locality(Locality::InProcess)
            .content(content(&self.inner.config))
            .observer(self.inner.monitor.observer());
        #[cfg(feature = "otel")]
        let builder = {
            use opentelemetry::trace::TracerProvider as _;
            let builder = builder.tracer(self.inner.telemetry.tracer_provider().tracer("wattspan"));
            // Without a receiver for log records, events stay on their spans.
            match self.inner.config.text(crate::Setting::OtlpEndpoint) {
                Some(_) => {
                    use opentelemetry::logs::LoggerProvider as _;
                    let logger = self.inner.telemetry.logger_provider().logger("wattspan");
                    builder.events(Arc::new(wattspan_genai::LogEvents::new(logger)))
                }
                None => builder,
            }
        };
        builder
    }

    /// A client of the llama-server or OpenAI-compatible server at a base URL, such as `http://127.0.0.1:8080`, to be
    /// changed before it is built. A server on this machine is found by its port, so that its share of the CPU is its
    /// own.
    #[cfg(feature = "llama-server")]
    pub fn llama_server(&self, base: &str) -> wattspan_llama_server::LlamaServerBuilder {
        let builder = wattspan_llama_server::LlamaServer::builder(base, self.genai("llama_cpp"));
        #[cfg(feature = "host")]
        let builder = builder
            .pid_resolver(|port| wattspan_host::process_by_port(std::path::Path::new("/"), port).value());
        builder
    }

    /// The monitor: snapshots, sinks, flushing.
    pub fn monitor(&self) -> &Monitor {
        &self.inner.monitor
    }

    /// Providers for the program's own spans and metrics.
    #[cfg(feature = "otel")]
    pub fn telemetry(&self) -> &wattspan_otel::Telemetry {
        &self.inner.telemetry
    }

    /// The configuration in force.
    pub fn config(&self) -> &Config {
        &self.inner.config
    }

    /// Where electricity is drawn, as far as it is known.
    pub fn place(&self) -> &Place {
        &self.inner.place
    }

    /// Where the carbon intensity comes from that emissions are worked out with; `None` when none is known.
    pub fn intensity(&self) -> Option<Arc<dyn IntensitySource>> {
        self.inner.intensity.clone()
    }

    /// Where the prices come from that costs are worked out with; `None` when none is known.
    pub fn prices(&self) -> Option<Arc<dyn PriceSource>> {
        self.inner.prices.clone()
    }

    /// What came of each collector: found, absent, denied with the remedy, off, not compiled in.
    pub fn capabilities(&self) -> &[Finding] {
        &self.inner.findings
    }

    /// Settles every inference that has ended and sends what waits. Answers whether all was settled in time.
    pub fn flush(&self, timeout: Duration) -> bool {
        let settled = self.inner.monitor.flush(timeout);
        #[cfg(feature = "otel")]
        let settled = self.inner.telemetry.flush() && settled;
        settled
    }
}
