//! Puts providers together from what code and environment say.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use opentelemetry::metrics::MeterProvider as _;
use opentelemetry::{InstrumentationScope, KeyValue};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::logs::{LoggerProviderBuilder, SdkLoggerProvider};
use opentelemetry_sdk::metrics::exporter::PushMetricExporter;
use opentelemetry_sdk::metrics::{MeterProviderBuilder, PeriodicReader, SdkMeterProvider, Temporality};
use opentelemetry_sdk::trace::{
    Sampler, SdkTracerProvider, SpanExporter, SpanProcessor, TracerProviderBuilder,
};

use crate::chosen::{Chosen, Wanted};
use crate::console::{Console, Lines};
use crate::drops::Drops;
use crate::env::Environment;
use crate::network::LazyNetwork;
use crate::otlp::{LogSender, MetricSender, Otlp, Protocol, Signal, SpanSender};
use crate::queue::{Batching, Bounded};
use crate::resource::resource;
use crate::{Telemetry, TelemetryError};

type AddSpans = Box<dyn FnOnce(TracerProviderBuilder, Batching, &Arc<Drops>) -> TracerProviderBuilder + Send>;
type AddMetrics = Box<dyn FnOnce(MeterProviderBuilder, Duration) -> MeterProviderBuilder + Send>;

/// Puts providers together. What is set here wins over the environment.
#[must_use]
pub struct TelemetryBuilder {
    service: Option<String>,
    resource: Vec<KeyValue>,
    env: Environment,
    otlp: Otlp,
    more: Vec<Otlp>,
    console: Vec<Console>,
    spans: Vec<AddSpans>,
    metrics: Vec<AddMetrics>,
    sampler: Option<Sampler>,
    temporality: Option<Temporality>,
    export_interval: Option<Duration>,
    queue_limit: Option<usize>,
    batch_delay: Option<Duration>,
    shutdown_timeout: Duration,
    #[cfg(feature = "prometheus")]
    prometheus: Option<crate::prometheus::Prometheus>,
}

impl fmt::Debug for TelemetryBuilder {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("TelemetryBuilder")
            .field("service", &self.service)
            .field("otlp", &self.otlp)
            .field("more", &self.more)
            .field("console", &self.console)
            .finish_non_exhaustive()
    }
}

impl Default for TelemetryBuilder {
    fn default() -> Self {
        Self::new()
    }
}

impl TelemetryBuilder {
    /// A builder in which nothing is set.
    pub fn new() -> Self {
        Self {
            service: None,
            resource: Vec::new(),
            env: Environment::default(),
            otlp: Otlp::default(),
            more: Vec::new(),
            console: Vec::new(),
            spans: Vec::new(),
            metrics: Vec::new(),
            sampler: None,
            temporality: None,
            export_interval: None,
            queue_limit: None,
            batch_delay: None,
            shutdown_timeout: Duration::from_secs(5),
            #[cfg(feature = "prometheus")]
            prometheus: None,
        }
    }

    /// Honours the standard's `OTEL_*` variables, below what is set in code.
    pub fn from_env(self) -> Self {
        self.environment(|name| std::env::var(name).ok())
    }

    /// Honours the standard's variables as `lookup` answers them.
    ///
    /// ```
    /// use wattspan_otel::TelemetryBuilder;
    ///
    /// let off = TelemetryBuilder::new()
    ///     .environment(|name| (name == "OTEL_SDK_DISABLED").then(|| "true".to_owned()))
    ///     .otlp_endpoint("http://127.0.0.1:4318")
    ///     .build()?;
    /// assert!(off.flush(), "there is nothing to send");
    /// # Ok::<(), wattspan_otel::TelemetryError>(())
    /// ```
    pub fn environment(mut self, lookup: impl Fn(&str) -> Option<String>) -> Self {
        self.env = Environment::read(lookup);
        self
    }

    /// Name of the service.
    pub fn service_name(mut self, name: impl Into<String>) -> Self {
        self.service = Some(name.into());
        self
    }

    /// Adds a resource attribute.
    pub fn resource_attribute(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.resource.push(KeyValue::new(key.into(), value.into()));
        self
    }

    /// Where to export to; without it nothing leaves the program.
    pub fn otlp_endpoint(mut self, endpoint: impl Into<String>) -> Self {
        self.otlp = self.otlp.endpoint(endpoint);
        self
    }

    /// Adds a header for the receiver.
    pub fn otlp_header(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.otlp = self.otlp.header(key, value);
        self
    }

    /// Chooses the protocol.
    pub fn otlp_protocol(mut self, protocol: Protocol) -> Self {
        self.otlp = self.otlp.protocol(protocol);
        self
    }

    /// All settings of the exporter, instead of those given so far.
    pub fn otlp(mut self, otlp: Otlp) -> Self {
        self.otlp = otlp;
        self
    }

    /// Exports to one more receiver, which the environment says nothing about.
    pub fn also_otlp(mut self, otlp: Otlp) -> Self {
        self.more.push(otlp);
        self
    }

    /// Prints spans as well.
    pub fn console(mut self, console: Console) -> Self {
        self.console.push(console);
        self
    }

    /// Exports spans by one more exporter, behind a bounded queue of its own.
    pub fn span_exporter(mut self, exporter: impl SpanExporter + 'static) -> Self {
        self.spans.push(Box::new(move |builder, batching, drops| {
            builder.with_span_processor(Bounded::spans(exporter, batching, drops))
        }));
        self
    }

    /// Hands spans to a processor of the program's own, on the threads that begin and end them: it must not wait.
    pub fn span_processor(mut self, processor: impl SpanProcessor + 'static) -> Self {
        self.spans.push(Box::new(move |builder, _, _| builder.with_span_processor(processor)));
        self
    }

    /// Exports metrics by one more exporter.
    pub fn metric_exporter(mut self, exporter: impl PushMetricExporter) -> Self {
        self.metrics.push(Box::new(move |builder, interval| {
            builder.with_reader(PeriodicReader::builder(exporter).with_interval(interval).build())
        }));
        self
    }

    /// Answers scrapes, or pushes to a Pushgateway.
    #[cfg(feature = "prometheus")]
    pub fn prometheus(mut self, prometheus: crate::prometheus::Prometheus) -> Self {
        self.prometheus = Some(prometheus);
        self
    }

    /// Which spans are recorded. All by default, and those whose parent is.
    pub fn sampler(mut self, sampler: Sampler) -> Self {
        self.sampler = Some(sampler);
        self
    }

    /// Whether exported metrics are totals or differences. Up-down counters are totals always.
    pub fn temporality(mut self, temporality: Temporality) -> Self {
        self.temporality = Some(temporality);
        self
    }

    /// Time between two exports of metrics.
    pub fn export_interval(mut self, interval: Duration) -> Self {
        self.export_interval = Some(interval);
        self
    }

    /// How many spans may wait for each exporter, and as many log records; 2 048 unless said otherwise. What comes when
    /// so many wait is dropped and counted.
    pub fn queue_limit(mut self, limit: usize) -> Self {
        self.queue_limit = Some(limit.max(1));
        self
    }

    /// Longest wait of a span before it is sent; five seconds unless said otherwise.
    pub fn batch_delay(mut self, delay: Duration) -> Self {
        self.batch_delay = Some(delay);
        self
    }

    /// Longest time that a shutdown may take; five seconds unless said otherwise.
    pub fn shutdown_timeout(mut self, timeout: Duration) -> Self {
        self.shutdown_timeout = timeout;
        self
    }

    /// Starts the providers. Opens no connection: a receiver that is not there is found out later, and tried again.
    ///
    /// # Errors
    /// When an endpoint, header or certificate is not usable, a port is taken, or no thread can be had.
    pub fn build(mut self) -> Result<Telemetry, TelemetryError> {
        let resource = resource(&self.env, self.service.as_deref(), &self.resource);
        let drops = Arc::new(Drops::default());
        let tracers = SdkTracerProvider::builder().with_resource(resource.clone());
        if self.env.flag("OTEL_SDK_DISABLED") == Some(true) {
            return Ok(self.disabled(tracers.with_sampler(Sampler::AlwaysOff).build(), resource, drops));
        }
        let default = || Sampler::ParentBased(Box::new(Sampler::AlwaysOn));
        let sampler = self.sampler.take().or_else(|| self.env.sampler()).unwrap_or_else(default);
        let mut tracers = tracers.with_sampler(sampler);
        let mut meters = SdkMeterProvider::builder().with_resource(resource.clone());
        let mut loggers = SdkLoggerProvider::builder().with_resource(resource);

        let mut network = LazyNetwork::default();
        tracers = self.add_spans(tracers, &mut network, &drops)?;
        meters = self.add_metrics(meters, &mut network, &drops)?;
        loggers = self.add_logs(loggers, &mut network, &drops)?;
        #[cfg(feature = "prometheus")]
        let scrapes = match self.scrapes_wanted() {
            Some(prometheus) => {
                let (builder, scrapes) = prometheus.start(meters, network.get()?)?;
                meters = builder;
                Some(scrapes)
            }
            None => None,
        };
        let meters = meters.build();
        let scope = InstrumentationScope::builder("wattspan-otel").with_version(env!("CARGO_PKG_VERSION"));
        drops.observe(&meters.meter_with_scope(scope.build()));
        Ok(Telemetry {
            tracers: tracers.build(),
            meters,
            loggers: loggers.build(),
            env: self.env,
            drops,
            network: network.0,
            shutdown_timeout: self.shutdown_timeout,
            over: AtomicBool::new(false),
            #[cfg(feature = "prometheus")]
            scrapes,
        })
    }

    /// Providers that lead nowhere and record no span.
    fn disabled(self, tracers: SdkTracerProvider, resource: Resource, drops: Arc<Drops>) -> Telemetry {
        Telemetry {
            tracers,
            meters: SdkMeterProvider::builder().with_resource(resource.clone()).build(),
            loggers: SdkLoggerProvider::builder().with_resource(resource).build(),
            env: self.env,
            drops,
            network: None,
            shutdown_timeout: self.shutdown_timeout,
            over: AtomicBool::new(false),
            #[cfg(feature = "prometheus")]
            scrapes: None,
        }
    }

    fn add_spans(
        &mut self,
        mut builder: TracerProviderBuilder,
        network: &mut LazyNetwork,
        drops: &Arc<Drops>,
    ) -> Result<TracerProviderBuilder, TelemetryError> {
        let batching = self.batching("BSP");
        let chosen = Chosen::of(&self.env, Signal::Traces);
        let mut targets = Vec::new();
        if chosen.otlp != Wanted::No {
            targets.extend(self.otlp.target(Signal::Traces, &self.env, chosen.otlp == Wanted::Yes)?);
        }
        for otlp in &self.more {
            targets.extend(otlp.target(Signal::Traces, &Environment::default(), true)?);
        }
        for target in targets {
            let sender = SpanSender::new(&target, network.get()?, drops)?;
            builder = builder.with_span_processor(Bounded::spans(sender, batching, drops));
        }
        for add in self.spans.drain(..) {
            builder = add(builder, batching, drops);
        }
        if chosen.console && self.console.is_empty() {
            #[cfg(feature = "console")]
            self.console.push(Console::Raw);
            #[cfg(not(feature = "console"))]
            self.console.push(Console::Lines);
        }
        for console in &self.console {
            builder = match console {
                Console::Lines => builder.with_simple_exporter(Lines::to_stderr()),
                Console::LinesTo(out) => builder.with_simple_exporter(Lines::new(Arc::clone(out))),
                #[cfg(feature = "console")]
                Console::Raw => builder.with_simple_exporter(opentelemetry_stdout::SpanExporter::default()),
            };
        }
        Ok(builder)
    }

    fn add_metrics(
        &mut self,
        mut builder: MeterProviderBuilder,
        network: &mut LazyNetwork,
        drops: &Arc<Drops>,
    ) -> Result<MeterProviderBuilder, TelemetryError> {
        let interval = self.export_interval.or_else(|| self.env.millis("OTEL_METRIC_EXPORT_INTERVAL"));
        let interval = interval.filter(|time| !time.is_zero()).unwrap_or(Duration::from_secs(60));
        let temporality = self.temporality.or_else(|| {
            let name = self.env.get("OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE")?;
            let known = name.parse().ok();
            if known.is_none() {
                tracing::warn!("a temporality preference of {name:?} is not known and is ignored");
            }
            known
        });
        let temporality = temporality.unwrap_or(Temporality::Cumulative);
        let chosen = Chosen::of(&self.env, Signal::Metrics);
        let mut targets = Vec::new();
        if chosen.otlp != Wanted::No {
            targets.extend(self.otlp.target(Signal::Metrics, &self.env, chosen.otlp == Wanted::Yes)?);
        }
        for otlp in &self.more {
            targets.extend(otlp.target(Signal::Metrics, &Environment::default(), true)?);
        }
        for target in targets {
            let sender = MetricSender::new(&target, temporality, network.get()?, drops)?;
            builder = builder.with_reader(PeriodicReader::builder(sender).with_interval(interval).build());
        }
        for add in self.metrics.drain(..) {
            builder = add(builder, interval);
        }
        #[cfg(feature = "console")]
        if chosen.console || self.console.iter().any(|console| matches!(console, Console::Raw)) {
            let exporter = opentelemetry_stdout::MetricExporter::default();
            builder = builder.with_reader(PeriodicReader::builder(exporter).with_interval(interval).build());
        }
        #[cfg(not(feature = "console"))]
        if chosen.console {
            tracing::warn!("OTEL_METRICS_EXPORTER: `console` needs this crate's feature `console`");
        }
        #[cfg(not(feature = "prometheus"))]
        if chosen.prometheus {
            tracing::warn!("OTEL_METRICS_EXPORTER: `prometheus` needs this crate's feature `prometheus`");
        }
        Ok(builder)
    }

    fn add_logs(
        &self,
        mut builder: LoggerProviderBuilder,
        network: &mut LazyNetwork,
        drops: &Arc<Drops>,
    ) -> Result<LoggerProviderBuilder, TelemetryError> {
        let batching = self.batching("BLRP");
        let chosen = Chosen::of(&self.env, Signal::Logs);
        let mut targets = Vec::new();
        if chosen.otlp != Wanted::No {
            targets.extend(self.otlp.target(Signal::Logs, &self.env, chosen.otlp == Wanted::Yes)?);
        }
        for otlp in &self.more {
            targets.extend(otlp.target(Signal::Logs, &Environment::default(), true)?);
        }
        for target in targets {
            let sender = LogSender::new(&target, network.get()?, drops)?;
            builder = builder.with_log_processor(Bounded::logs(sender, batching, drops));
        }
        if chosen.console {
            tracing::warn!("OTEL_LOGS_EXPORTER: `console` is not known here and is left out");
        }
        Ok(builder)
    }

    /// Code, then the variables of the processor, then the specification's defaults.
    fn batching(&self, processor: &str) -> Batching {
        let name = |what: &str| format!("OTEL_{processor}_{what}");
        let positive = |what: &str| self.env.parsed::<usize>(&name(what)).filter(|value| *value > 0);
        let limit = self.queue_limit.or_else(|| positive("MAX_QUEUE_SIZE")).unwrap_or(2_048);
        let delay = self.batch_delay.or_else(|| self.env.millis(&name("SCHEDULE_DELAY")));
        Batching {
            limit,
            batch: positive("MAX_EXPORT_BATCH_SIZE").unwrap_or(512).min(limit),
            delay: delay.unwrap_or(Duration::from_secs(5)),
        }
    }

    /// What code asked for, or else what the environment did.
    #[cfg(feature = "prometheus")]
    fn scrapes_wanted(&mut self) -> Option<crate::prometheus::Prometheus> {
        if let Some(prometheus) = self.prometheus.take() {
            return Some(prometheus);
        }
        if !Chosen::of(&self.env, Signal::Metrics).prometheus {
            return None;
        }
        let host = self.env.get("OTEL_EXPORTER_PROMETHEUS_HOST").unwrap_or("localhost");
        // No name is looked up at the start: it may take long.
        let host = if host == "localhost" { "127.0.0.1" } else { host };
        let Ok(host) = host.parse::<std::net::IpAddr>() else {
            tracing::warn!("OTEL_EXPORTER_PROMETHEUS_HOST has to be an address, not {host:?}: no scrapes");
            return None;
        };
        let port = self.env.parsed("OTEL_EXPORTER_PROMETHEUS_PORT").unwrap_or(9_464);
        Some(crate::prometheus::Prometheus::new().listen((host, port).into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queues_are_told_by_code_then_environment_then_the_specification() {
        let env = |name: &str| match name {
            "OTEL_BSP_MAX_QUEUE_SIZE" => Some("100".to_owned()),
            "OTEL_BSP_MAX_EXPORT_BATCH_SIZE" => Some("300".to_owned()),
            "OTEL_BSP_SCHEDULE_DELAY" => Some("250".to_owned()),
            _ => None,
        };
        let spec = TelemetryBuilder::new().batching("BSP");
        assert_eq!((spec.limit, spec.batch, spec.delay), (2_048, 512, Duration::from_secs(5)));
        let set = TelemetryBuilder::new().environment(env).batching("BSP");
        assert_eq!((set.limit, set.batch, set.delay), (100, 100, Duration::from_millis(250)));
        let code = TelemetryBuilder::new().environment(env).queue_limit(7).batching("BSP");
        assert_eq!((code.limit, code.batch), (7, 7));
    }
}
