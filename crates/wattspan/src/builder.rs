//! From a configuration to a running whole.

use std::num::NonZeroU32;
use std::sync::{Arc, PoisonError, RwLock, Weak};
use std::time::Duration;

use wattspan_core::{
    Collector, DeviceId, DeviceKind, DeviceScope, IntensitySource, Locality, Place, PriceSource, RecordSink,
    RunId, SampleSink, UsdPerKwh,
};
use wattspan_energy::{HardwareRate, Overhead, PowerCurve, PriceBook};
use wattspan_genai::{GenAi, GenAiBuilder};
use wattspan_monitor::{Cadence, EstimateInputs, Monitor, MonitorBuilder};
use wattspan_semconv::Profile;

use crate::prices::Prices;
use crate::{Collectors, Config, ConfigError, Finding, Setting};

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
    global: bool,
}

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
        let scope = scope(&config, &collectors)?;
        let place = place(&config)?;
        let mut monitor = Monitor::builder()
            .profile(profile(&config))
            .smoltrace_metrics(config.flag(Setting::SmoltraceMetrics))
            .cadence(cadence(&config))
            .place(place.clone())
            .scope(scope)
            .price_local_tokens(config.flag(Setting::PriceLocalTokens))
            .estimate(estimate(&config));
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
        monitor = with_money(monitor, &config, self.prices)?;
        match self.intensity {
            Some(source) => monitor = monitor.intensity(source),
            None => monitor = with_intensity(monitor, &config)?,
        }
        #[cfg(feature = "otel")]
        let telemetry = telemetry(&config)?;
        #[cfg(feature = "otel")]
        let otel_meter = {
            use opentelemetry::metrics::MeterProvider as _;
            telemetry.meter_provider().meter("wattspan")
        };
        #[cfg(not(feature = "otel"))]
        let otel_meter = opentelemetry::global::meter("wattspan");
        let monitor =
            monitor.meter(otel_meter.clone()).start().map_err(|source| StartError::Thread { source })?;
        let inner = Arc::new(Inner {
            monitor,
            #[cfg(feature = "otel")]
            telemetry,
            meter: otel_meter,
            config,
            place,
            findings,
        });
        if self.global {
            *GLOBAL.write().unwrap_or_else(PoisonError::into_inner) = Arc::downgrade(&inner);
        }
        Ok(Wattspan { inner })
    }
}

/// A running wattspan. The last one to be dropped settles what is left, sends it, and ends its threads.
#[derive(Clone)]
pub struct Wattspan {
    inner: Arc<Inner>,
}

/// Fields are dropped in this order: settlement comes before the providers shut down, since a span that ends after
/// that is lost.
struct Inner {
    monitor: Monitor,
    #[cfg(feature = "otel")]
    telemetry: wattspan_otel::Telemetry,
    meter: opentelemetry::metrics::Meter,
    config: Config,
    place: Place,
    findings: Vec<Finding>,
}

static GLOBAL: RwLock<Weak<Inner>> = RwLock::new(Weak::new());

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
            .observer(self.inner.monitor.observer());
        #[cfg(feature = "otel")]
        let builder = {
            use opentelemetry::trace::TracerProvider as _;
            builder.tracer(self.inner.telemetry.tracer_provider().tracer("wattspan"))
        };
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

fn profile(config: &Config) -> Profile {
    match config.text(Setting::Profile) {
        Some("genai") => Profile::GenAi,
        _ => Profile::Core,
    }
}

fn cadence(config: &Config) -> Cadence {
    let mut cadence = Cadence::default();
    if let Some(busy) = config.duration(Setting::SamplingBusy) {
        cadence.busy = busy;
    }
    if let Some(idle) = config.duration(Setting::SamplingIdle) {
        cadence.idle = idle;
        cadence.recent = cadence.recent.min(idle);
    }
    cadence
}

/// Which GPUs inferences use.
fn scope(config: &Config, collectors: &Collectors) -> Result<DeviceScope, StartError> {
    let Some(selection) = config.text(Setting::GpuDevices) else { return Ok(DeviceScope::All) };
    let gpus: Vec<_> =
        collectors.devices().into_iter().filter(|device| device.kind == DeviceKind::Gpu).collect();
    let mut chosen: Vec<DeviceId> = Vec::new();
    for part in selection.split(',').map(str::trim).filter(|part| !part.is_empty()) {
        if part == "-1" {
            break;
        }
        let named = gpus.iter().find(|gpu| {
            gpu.index.is_some_and(|index| part.parse() == Ok(index))
                || gpu.id.as_str().to_ascii_lowercase().starts_with(&part.to_ascii_lowercase())
                || gpu.pci_address.as_deref().is_some_and(|pci| pci.eq_ignore_ascii_case(part))
        });
        let Some(gpu) = named else {
            let there: Vec<_> = gpus.iter().map(|gpu| gpu.id.as_str().to_owned()).collect();
            let reason = format!("no GPU {part:?}; there are [{}]", there.join(", "));
            return Err(StartError::Setting { setting: Setting::GpuDevices, reason });
        };
        chosen.push(gpu.id.clone());
    }
    Ok(DeviceScope::Gpus(chosen.into()))
}

fn estimate(config: &Config) -> EstimateInputs {
    let mut inputs = EstimateInputs::default();
    if !config.flag(Setting::Estimate) {
        return inputs;
    }
    inputs.gpu = config.flag(Setting::Gpu);
    #[cfg(feature = "host")]
    if config.flag(Setting::Host) {
        let facts = wattspan_host::HostFacts::read(std::path::Path::new("/"));
        let curve = facts.cpu_power.as_ref().and_then(|power| PowerCurve::new(power.idle, power.full).ok());
        inputs.cpu = curve.zip(facts.logical_cpus.and_then(NonZeroU32::new));
        inputs.memory = facts.memory_total.map(|total| {
            let usable = wattspan_energy::MemorySize::usable(total, facts.memory_limit);
            wattspan_energy::MemoryPower::by_size(usable)
        });
    }
    #[cfg(not(feature = "host"))]
    {
        // The curve's type is used by the other branch only.
        let _ = None::<(PowerCurve, NonZeroU32)>;
    }
    inputs
}

fn setting_error(setting: Setting, error: &dyn std::fmt::Display) -> StartError {
    StartError::Setting { setting, reason: error.to_string() }
}

fn place(config: &Config) -> Result<Place, StartError> {
    #[cfg(feature = "carbon")]
    {
        let text = |setting| config.text(setting).map(str::to_owned);
        let mut query = wattspan_carbon::PlaceQuery::new();
        query.country = text(Setting::Country);
        query.subdivision = text(Setting::Subdivision);
        query.zone = text(Setting::Zone);
        query.cloud_provider = text(Setting::CloudProvider);
        query.cloud_region = text(Setting::CloudRegion);
        if let Some(coordinates) = config.text(Setting::Coordinates) {
            query.coordinates = wattspan_carbon::PlaceQuery::parse(coordinates)
                .map_err(|error| setting_error(Setting::Coordinates, &error))?
                .coordinates;
        }
        let mut locator = wattspan_carbon::Locator::new()
            .explicit(query)
            .variables(|_| None)
            .guess(config.flag(Setting::GuessPlace));
        if !config.flag(Setting::CloudMetadata) {
            locator = locator.metadata(None);
        }
        let located = locator.locate();
        for note in &located.notes {
            tracing::info!(note, "place");
        }
        match located.errors.first() {
            Some(error) => Err(setting_error(Setting::Country, error)),
            None => Ok(located.place),
        }
    }
    #[cfg(not(feature = "carbon"))]
    {
        let mut place = Place::default();
        place.country = config.text(Setting::Country).map(Into::into);
        place.zone = config.text(Setting::Zone).map(Into::into);
        Ok(place)
    }
}

#[cfg(feature = "carbon")]
fn with_intensity(monitor: MonitorBuilder, config: &Config) -> Result<MonitorBuilder, StartError> {
    use wattspan_carbon::{Bundled, Chain, Fixed, Series};
    if let Some(grams) = config.number(Setting::Intensity).and_then(wattspan_core::GramsPerKwh::new) {
        return Ok(monitor.intensity(Arc::new(Fixed::new(grams))));
    }
    let mut chain = Chain::new();
    if let Some(path) = config.text(Setting::IntensitySeries) {
        let series = Series::open(path).map_err(|error| setting_error(Setting::IntensitySeries, &error))?;
        chain = chain.with(Arc::new(series));
    }
    #[cfg(feature = "carbon-live")]
    {
        chain = with_live_sources(chain, config)?;
    }
    Ok(monitor.intensity(Arc::new(chain.with(Arc::new(Bundled::new())))))
}

#[cfg(feature = "carbon-live")]
fn with_live_sources(
    mut chain: wattspan_carbon::Chain,
    config: &Config,
) -> Result<wattspan_carbon::Chain, StartError> {
    use wattspan_carbon::{ElectricityMaps, Secret, UkCarbonIntensity, WattTime, Worker, WorkerOptions};
    let secret = |setting: Setting| {
        let origin = config.origin(setting).map_or_else(String::new, ToString::to_string);
        config.text(setting).map(|text| Secret::new(text, origin))
    };
    let wanted = [Setting::ElectricityMapsKey, Setting::Co2SignalKey, Setting::WattTimePassword];
    if wanted.iter().all(|setting| config.text(*setting).is_none())
        && !config.flag(Setting::UkCarbonIntensity)
    {
        return Ok(chain);
    }
    let worker = Worker::start(WorkerOptions::new())
        .map_err(|error| setting_error(Setting::ElectricityMapsKey, &error))?;
    if let Some(key) = secret(Setting::ElectricityMapsKey) {
        let source = ElectricityMaps::new(key).attach(&worker);
        chain =
            chain.with(Arc::new(source.map_err(|error| setting_error(Setting::ElectricityMapsKey, &error))?));
    }
    if let Some(key) = secret(Setting::Co2SignalKey) {
        let source = ElectricityMaps::co2signal(key).attach(&worker);
        chain = chain.with(Arc::new(source.map_err(|error| setting_error(Setting::Co2SignalKey, &error))?));
    }
    if let (Some(user), Some(password)) =
        (config.text(Setting::WattTimeUser), secret(Setting::WattTimePassword))
    {
        let source = WattTime::new(user, password).attach(&worker);
        chain = chain.with(Arc::new(source.map_err(|error| setting_error(Setting::WattTimeUser, &error))?));
    }
    if config.flag(Setting::UkCarbonIntensity) {
        let source = UkCarbonIntensity::new().attach(&worker);
        chain =
            chain.with(Arc::new(source.map_err(|error| setting_error(Setting::UkCarbonIntensity, &error))?));
    }
    Ok(chain)
}

#[cfg(not(feature = "carbon"))]
#[allow(clippy::unnecessary_wraps, reason = "the same signature as with the feature")]
fn with_intensity(monitor: MonitorBuilder, _config: &Config) -> Result<MonitorBuilder, StartError> {
    Ok(monitor)
}

fn with_money(
    mut monitor: MonitorBuilder,
    config: &Config,
    prices: Option<Arc<dyn PriceSource>>,
) -> Result<MonitorBuilder, StartError> {
    if let Some(pue) = config.number(Setting::Pue) {
        monitor =
            monitor.overhead(Overhead::facility(pue).map_err(|error| setting_error(Setting::Pue, &error))?);
    }
    if let Some(rate) = config.number(Setting::HardwarePrice).and_then(wattspan_core::Usd::new) {
        monitor = monitor.hardware(
            HardwareRate::per_hour(rate)
                .ok_or_else(|| setting_error(Setting::HardwarePrice, &"not a price"))?,
        );
    }
    if let Some(run) = config.text(Setting::Run) {
        monitor = monitor.run(RunId::new(run).map_err(|error| setting_error(Setting::Run, &error))?);
    }
    if let Some(prices) = prices {
        return Ok(monitor.prices(prices));
    }
    let electricity = electricity(config);
    let book = config.text(Setting::PriceBook).map(price_book).transpose()?;
    if electricity.is_none() && book.is_none() {
        return Ok(monitor);
    }
    Ok(monitor.prices(Arc::new(Prices { electricity, book })))
}

#[cfg(feature = "carbon")]
#[allow(clippy::unnecessary_wraps, reason = "the same signature as without the feature")]
fn electricity(config: &Config) -> Option<Arc<dyn PriceSource>> {
    let price = config.number(Setting::ElectricityPrice).and_then(UsdPerKwh::new);
    Some(Arc::new(
        price.map_or_else(
            wattspan_carbon::ElectricityPrices::bundled,
            wattspan_carbon::ElectricityPrices::fixed,
        ),
    ))
}

#[cfg(not(feature = "carbon"))]
fn electricity(config: &Config) -> Option<Arc<dyn PriceSource>> {
    struct Fixed(UsdPerKwh);
    impl PriceSource for Fixed {
        fn electricity(
            &self,
            _: &Place,
            _: std::time::SystemTime,
        ) -> Option<wattspan_core::ElectricityPrice> {
            Some(wattspan_core::ElectricityPrice::new(self.0, "user"))
        }
        fn tokens(&self, _: &str, _: &str) -> Option<wattspan_core::TokenPrice> {
            None
        }
    }
    let price = config.number(Setting::ElectricityPrice).and_then(UsdPerKwh::new)?;
    Some(Arc::new(Fixed(price)))
}

fn price_book(path: &str) -> Result<PriceBook, StartError> {
    let failed = |error: &dyn std::fmt::Display| setting_error(Setting::PriceBook, error);
    let text = std::fs::read_to_string(path).map_err(|error| failed(&format!("{path}: {error}")))?;
    let is_toml = std::path::Path::new(path).extension().is_some_and(|end| end.eq_ignore_ascii_case("toml"));
    let read = if is_toml { PriceBook::from_toml(&text) } else { PriceBook::from_json(&text) };
    let read = read.map_err(|error| failed(&error))?;
    for problem in &read.problems {
        tracing::warn!(%problem, path, "an entry of the price book is not used");
    }
    Ok(read.book)
}

#[cfg(feature = "otel")]
fn telemetry(config: &Config) -> Result<wattspan_otel::Telemetry, StartError> {
    use wattspan_otel::{Protocol, Telemetry};
    let mut builder = Telemetry::builder(config.text(Setting::ServiceName).unwrap_or("wattspan"));
    if let Some(version) = config.text(Setting::ServiceVersion) {
        builder = builder.resource_attribute("service.version", version);
    }
    for (key, value) in config.pairs(Setting::ResourceAttributes) {
        builder = builder.resource_attribute(key, value);
    }
    if let Some(interval) = config.duration(Setting::ExportInterval) {
        builder = builder.export_interval(interval);
    }
    if let Some(endpoint) = config.text(Setting::OtlpEndpoint) {
        builder = builder.otlp_endpoint(endpoint).otlp_protocol(match config.text(Setting::OtlpProtocol) {
            Some("grpc") => Protocol::Grpc,
            _ => Protocol::HttpProtobuf,
        });
        for (key, value) in config.pairs(Setting::OtlpHeaders) {
            builder = builder.otlp_header(key, value);
        }
    }
    Ok(builder.build()?)
}
