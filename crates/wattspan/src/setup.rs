//! From settings to the parts that they describe.

use std::sync::Arc;

use wattspan_core::{IntensitySource, Place, PriceSource, RunId, UsdPerKwh};
use wattspan_energy::{HardwareRate, Overhead, PriceBook};
use wattspan_monitor::{Cadence, MonitorBuilder};
use wattspan_semconv::Profile;

use crate::prices::Prices;
use crate::{Config, Setting, StartError};

pub(crate) fn profile(config: &Config) -> Profile {
    match config.text(Setting::Profile) {
        Some("genai") => Profile::GenAi,
        _ => Profile::Core,
    }
}

pub(crate) fn cadence(config: &Config) -> Cadence {
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

fn setting_error(setting: Setting, error: &dyn std::fmt::Display) -> StartError {
    StartError::Setting { setting, reason: error.to_string() }
}

#[cfg_attr(
    not(feature = "carbon"),
    allow(clippy::unnecessary_wraps, reason = "the same signature as with it")
)]
pub(crate) fn place(config: &Config) -> Result<Place, StartError> {
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

/// Where carbon intensity comes from.
#[cfg(feature = "carbon")]
pub(crate) fn intensity(config: &Config) -> Result<Option<Arc<dyn IntensitySource>>, StartError> {
    use wattspan_carbon::{Bundled, Chain, Fixed, Series};
    if let Some(grams) = config.number(Setting::Intensity).and_then(wattspan_core::GramsPerKwh::new) {
        return Ok(Some(Arc::new(Fixed::new(grams))));
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
    Ok(Some(Arc::new(chain.with(Arc::new(Bundled::new())))))
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
pub(crate) fn intensity(_config: &Config) -> Result<Option<Arc<dyn IntensitySource>>, StartError> {
    Ok(None)
}

/// What the settings say of overhead, hardware and the run.
pub(crate) fn with_money(mut monitor: MonitorBuilder, config: &Config) -> Result<MonitorBuilder, StartError> {
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
    Ok(monitor)
}

/// Where prices come from; `None` when nothing is known of any.
pub(crate) fn prices(config: &Config) -> Result<Option<Arc<dyn PriceSource>>, StartError> {
    let electricity = electricity(config);
    let book = config.text(Setting::PriceBook).map(price_book).transpose()?;
    if electricity.is_none() && book.is_none() {
        return Ok(None);
    }
    Ok(Some(Arc::new(Prices { electricity, book })))
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
    let price = config.number(Setting::ElectricityPrice).and_then(UsdPerKwh::new)?;
    Some(Arc::new(wattspan_energy::Tariff::fixed(price)))
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
pub(crate) fn telemetry(
    config: &Config,
    span_processors: Vec<crate::builder::AddSpans>,
    #[cfg(feature = "otel-prometheus")] dcgm: Option<Arc<wattspan_otel::prometheus::DcgmNames>>,
) -> Result<wattspan_otel::Telemetry, StartError> {
    use wattspan_otel::{Console, Protocol, Telemetry};
    let mut builder = Telemetry::builder(config.text(Setting::ServiceName).unwrap_or("wattspan"));
    // The standard has more variables than there are settings: whoever reads the environment gets them too.
    let variable = |setting| match config.origin(setting) {
        Some(crate::Origin::Environment(name)) => Some(name.as_str()),
        _ => None,
    };
    if config.reads_process_environment() {
        builder = builder.environment(|name| {
            let known = Setting::all().find(|setting| variable(*setting) == Some(name));
            let given = known.and_then(|setting| config.text(setting)).map(str::to_owned);
            given.or_else(|| std::env::var(name).ok())
        });
    }
    // What a standard variable says is left to the exporters, where that of one signal wins over the general one.
    let is_standard = |setting| variable(setting).is_some_and(|name| name.starts_with("OTEL_"));
    let said = |setting| config.text(setting).filter(|_| !is_standard(setting));
    if let Some(version) = config.text(Setting::ServiceVersion) {
        builder = builder.resource_attribute("service.version", version);
    }
    for (key, value) in config.pairs(Setting::ResourceAttributes) {
        builder = builder.resource_attribute(key, value);
    }
    if let Some(interval) = config.duration(Setting::ExportInterval) {
        builder = builder.export_interval(interval);
    }
    if let Some(endpoint) = said(Setting::OtlpEndpoint) {
        builder = builder.otlp_endpoint(endpoint);
    }
    let protocol = said(Setting::OtlpProtocol).filter(|_| config.origin(Setting::OtlpProtocol).is_some());
    if let Some(protocol) = protocol.and_then(Protocol::from_name) {
        builder = builder.otlp_protocol(protocol);
    }
    if said(Setting::OtlpHeaders).is_some() {
        for (key, value) in config.pairs(Setting::OtlpHeaders) {
            builder = builder.otlp_header(key, value);
        }
    }
    if config.flag(Setting::Console) {
        builder = builder.console(Console::Lines);
    }
    for add in span_processors {
        builder = add(builder);
    }
    #[cfg(feature = "otel-prometheus")]
    if let Some(prometheus) = prometheus(config, dcgm) {
        builder = builder.prometheus(prometheus);
    }
    Ok(builder.build()?)
}

/// Scrapes and pushes, where a setting asks for them.
#[cfg(feature = "otel-prometheus")]
fn prometheus(
    config: &Config,
    dcgm: Option<Arc<wattspan_otel::prometheus::DcgmNames>>,
) -> Option<wattspan_otel::prometheus::Prometheus> {
    use wattspan_otel::prometheus::{Prometheus, Pushgateway};
    let listen = config.text(Setting::PrometheusListen).and_then(|address| address.trim().parse().ok());
    let push = config.text(Setting::Pushgateway);
    if listen.is_none() && push.is_none() {
        return None;
    }
    let mut prometheus = Prometheus::new();
    if let Some(address) = listen {
        prometheus = prometheus.listen(address);
    }
    if let Some(prefix) = config.text(Setting::PrometheusPrefix) {
        prometheus = prometheus.prefix(prefix);
    }
    if let Some(url) = push {
        let job = config.text(Setting::ServiceName).unwrap_or("wattspan");
        prometheus = prometheus.push(Pushgateway::new(url, job));
    }
    if let Some(names) = dcgm {
        prometheus = prometheus.dcgm(names);
    }
    Some(prometheus)
}

/// dcgm-exporter's names, fed by the monitor, where a setting asks for them.
#[cfg(feature = "otel-prometheus")]
pub(crate) fn dcgm(config: &Config) -> Option<Arc<wattspan_otel::prometheus::DcgmNames>> {
    let host = || std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    config
        .flag(Setting::PrometheusDcgm)
        .then(|| Arc::new(wattspan_otel::prometheus::DcgmNames::new(host().trim())))
}

/// What of prompts and answers is recorded: nothing, unless a setting asks for it.
pub(crate) fn content(config: &Config) -> wattspan_genai::ContentPolicy {
    use wattspan_genai::ContentPolicy;
    if !config.flag(Setting::CaptureContent) {
        return ContentPolicy::off();
    }
    let limit = config.number(Setting::ContentLimit);
    limit.map_or_else(ContentPolicy::on, |limit| ContentPolicy::on().limit(limit as usize))
}

/// Starts the poller of a model server's gauges, if one is asked for.
#[cfg(feature = "llama-server")]
pub(crate) fn polling(
    config: &Config,
    monitor: &wattspan_monitor::Monitor,
) -> Result<Option<wattspan_llama_server::Polling>, StartError> {
    let Some(url) = config.text(Setting::LlamaServer) else { return Ok(None) };
    let failed = |error: wattspan_llama_server::Error| setting_error(Setting::LlamaServer, &error);
    let mut poller = wattspan_llama_server::MetricsPoller::builder(url);
    if let Some(interval) = config.duration(Setting::LlamaServerInterval) {
        poller = poller.interval(interval);
    }
    if let Some(key) = config.text(Setting::LlamaServerKey) {
        poller = poller.api_key(key);
    }
    Ok(Some(poller.build().map_err(failed)?.start(monitor.stats_sink()).map_err(failed)?))
}
