//! From a configuration to a running whole.

use std::sync::Arc;

use wattspan_core::{Collector, IntensitySource, PriceSource, RecordSink, SampleSink};
use wattspan_monitor::Monitor;

use crate::running::{Inner, Wattspan, make_global};
use crate::scope::scope;
use crate::setup;
use crate::{Collectors, Config, ConfigError, Setting};

/// wattspan could not be started.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// A setting is wrong.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// A setting names something that is not there.
    #[error("{setting} cannot be used: {reason}")]
    Setting {
        /// Which setting.
        setting: Setting,
        /// Why, and what to do.
        reason: String,
    },
    /// Spans and metrics could not be set up.
    #[cfg(feature = "otel")]
    #[error(transparent)]
    Telemetry(#[from] wattspan_otel::TelemetryError),
    /// The operating system refused a thread.
    #[error("cannot start the monitor's threads")]
    Thread {
        /// The cause.
        source: std::io::Error,
    },
}

/// Puts wattspan together. What is set here wins over the environment and files.
#[must_use]
pub struct WattspanBuilder {
    config: Config,
    error: Option<ConfigError>,
    collectors: Vec<Box<dyn Collector>>,
    detect: bool,
    intensity: Option<Arc<dyn IntensitySource>>,
    prices: Option<Arc<dyn PriceSource>>,
    sample_sinks: Vec<Arc<dyn SampleSink>>,
    record_sinks: Vec<Arc<dyn RecordSink>>,
    #[cfg(feature = "otel")]
    span_processors: Vec<AddSpans>,
    global: bool,
}

/// Adds a span processor, whose type only its caller knows.
#[cfg(feature = "otel")]
pub(crate) type AddSpans =
    Box<dyn FnOnce(wattspan_otel::TelemetryBuilder) -> wattspan_otel::TelemetryBuilder + Send>;

impl WattspanBuilder {
    pub(crate) fn new(config: Config) -> Self {
        Self {
            config,
            error: None,
            collectors: Vec::new(),
            detect: true,
            intensity: None,
            prices: None,
            sample_sinks: Vec::new(),
            record_sinks: Vec::new(),
            #[cfg(feature = "otel")]
            span_processors: Vec::new(),
            global: true,
        }
    }

    /// Sets any setting. A wrong value is reported by [`WattspanBuilder::start`].
    pub fn set(mut self, setting: Setting, value: impl Into<String>) -> Self {
        if let Err(error) = self.config.set(setting, value) {
            self.error.get_or_insert(error);
        }
        self
    }

    /// Takes settings from elsewhere; those already set in code stay.
    pub fn config(mut self, config: Config) -> Self {
        self.config = self.config.or(config);
        self
    }

    /// Name and version of the service.
    pub fn service(self, name: &str, version: &str) -> Self {
        self.set(Setting::ServiceName, name).set(Setting::ServiceVersion, version)
    }

    /// Where spans and metrics are sent. Without it they are collected and not sent.
    pub fn otlp_endpoint(self, endpoint: &str) -> Self {
        self.set(Setting::OtlpEndpoint, endpoint)
    }

    /// Two-letter code, three-letter code or name of the country.
    pub fn country(self, country: &str) -> Self {
        self.set(Setting::Country, country)
    }

    /// Which GPUs inferences use, as `CUDA_VISIBLE_DEVICES` has them.
    pub fn gpus(self, selection: &str) -> Self {
        self.set(Setting::GpuDevices, selection)
    }

    /// Adds a collector of the program's own.
    pub fn collector(mut self, collector: Box<dyn Collector>) -> Self {
        self.collectors.push(collector);
        self
    }

    /// Opens no hardware but the collectors added here.
    pub fn without_detection(mut self) -> Self {
        self.detect = false;
        self
    }

    /// Takes carbon intensity from here instead of from the settings.
    pub fn intensity(mut self, source: Arc<dyn IntensitySource>) -> Self {
        self.intensity = Some(source);
        self
    }

    /// Takes prices from here instead of from the settings.
    pub fn prices(mut self, source: Arc<dyn PriceSource>) -> Self {
        self.prices = Some(source);
        self
    }

    /// Adds a sink for device samples.
    pub fn sample_sink(mut self, sink: Arc<dyn SampleSink>) -> Self {
        self.sample_sinks.push(sink);
        self
    }

    /// Adds a sink for settled inferences.
    pub fn record_sink(mut self, sink: Arc<dyn RecordSink>) -> Self {
        self.record_sinks.push(sink);
        self
    }

    /// Hands each span to this exporter at once, on the thread that ends it: for exporters that only keep it, such as the
    /// one that fills a table of traces. It takes no part in what the settings say of exporters.
    #[cfg(feature = "otel")]
    pub fn span_exporter(mut self, exporter: impl opentelemetry_sdk::trace::SpanExporter + 'static) -> Self {
        let processor = opentelemetry_sdk::trace::SimpleSpanProcessor::new(exporter);
        self.span_processors.push(Box::new(|telemetry| telemetry.span_processor(processor)));
        self
    }

    /// Keeps it out of [`crate::global`].
    pub fn not_global(mut self) -> Self {
        self.global = false;
        self
    }

    /// Opens the hardware and starts measuring.
    ///
    /// # Errors
    /// When a setting is wrong or a thread cannot be had. Hardware that cannot be read is no error: see
    /// [`Wattspan::capabilities`].
    pub fn start(mut self) -> Result<Wattspan, StartError> {
        if let Some(error) = self.error.take() {
            return Err(error.into());
        }
        let config = self.config;
        let mut collectors = if self.detect { Collectors::detect(&config) } else { Collectors::default() };
        for collector in self.collectors {
            collectors = collectors.with(collector);
        }
        let findings = collectors.findings().to_vec();
        let scope = scope(&config, &collectors.devices())?;
        let place = setup::place(&config)?;
        let mut monitor = Monitor::builder()
            .profile(setup::profile(&config))
            .smoltrace_metrics(config.flag(Setting::SmoltraceMetrics))
            .cadence(setup::cadence(&config))
            .place(place.clone())
            .scope(scope)
            .price_local_tokens(config.flag(Setting::PriceLocalTokens))
            .estimate(config.estimate_inputs());
        if let Some(bound) = config.duration(Setting::SettleWithin) {
            monitor = monitor.settle_within(bound);
        }
        for collector in collectors.into_inner() {
            monitor = monitor.collector(collector);
        }
        for sink in self.sample_sinks {
            monitor = monitor.sample_sink(sink);
        }
        for sink in self.record_sinks {
            monitor = monitor.record_sink(sink);
        }
        monitor = setup::with_money(monitor, &config)?;
        let prices = self.prices.map_or_else(|| setup::prices(&config), |given| Ok(Some(given)))?;
        let intensity = self.intensity.map_or_else(|| setup::intensity(&config), |given| Ok(Some(given)))?;
        if let Some(source) = &prices {
            monitor = monitor.prices(Arc::clone(source));
        }
        if let Some(source) = &intensity {
            monitor = monitor.intensity(Arc::clone(source));
        }
        #[cfg(feature = "otel-prometheus")]
        let dcgm = setup::dcgm(&config);
        #[cfg(feature = "otel-prometheus")]
        if let Some(names) = &dcgm {
            monitor = monitor.sample_sink(names.clone());
        }
        #[cfg(feature = "otel")]
        let telemetry = setup::telemetry(
            &config,
            self.span_processors,
            #[cfg(feature = "otel-prometheus")]
            dcgm,
        )?;
        #[cfg(feature = "otel")]
        let otel_meter = {
            use opentelemetry::metrics::MeterProvider as _;
            telemetry.meter_provider().meter("wattspan")
        };
        #[cfg(not(feature = "otel"))]
        let otel_meter = opentelemetry::global::meter("wattspan");
        let monitor =
            monitor.meter(otel_meter.clone()).start().map_err(|source| StartError::Thread { source })?;
        #[cfg(feature = "llama-server")]
        let polling = setup::polling(&config, &monitor)?;
        let inner = Arc::new(Inner {
            #[cfg(feature = "llama-server")]
            _polling: polling,
            monitor,
            #[cfg(feature = "otel")]
            telemetry,
            meter: otel_meter,
            config,
            place,
            intensity,
            prices,
            findings,
        });
        if self.global {
            make_global(&inner);
        }
        Ok(Wattspan { inner })
    }
}
