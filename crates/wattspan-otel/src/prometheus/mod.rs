//! Prometheus: scrapes, a Pushgateway, and dcgm-exporter's names.
//!
//! The text is format 0.0.4, also for a scraper that would rather have OpenMetrics: it is labelled as what it is.
//!
//! ```
//! use wattspan_otel::Telemetry;
//! use wattspan_otel::prometheus::Prometheus;
//! use opentelemetry::metrics::MeterProvider as _;
//!
//! let telemetry = Telemetry::builder("app").prometheus(Prometheus::new()).build()?;
//! telemetry.meter_provider().meter("app").u64_counter("requests").build().add(3, &[]);
//! let endpoint = telemetry.metrics_endpoint().expect("it was asked for");
//! assert!(endpoint.render().contains("requests_total{otel_scope_name=\"app\"} 3\n"));
//! # Ok::<(), wattspan_otel::TelemetryError>(())
//! ```

mod dcgm;
mod endpoint;
mod names;
mod push;
mod server;

use std::collections::HashMap;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;

use opentelemetry_prometheus::ResourceSelector;
use opentelemetry_sdk::metrics::MeterProviderBuilder;

pub use dcgm::DcgmNames;
pub use endpoint::MetricsEndpoint;
pub use names::prometheus_name;
pub use push::Pushgateway;

use crate::TelemetryError;
use crate::network::Network;

/// What Prometheus gets and how.
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct Prometheus {
    prefix: Option<String>,
    labels: Vec<(String, String)>,
    resource_labels: Vec<String>,
    dcgm: Option<Arc<DcgmNames>>,
    listen: Option<SocketAddr>,
    push: Option<Pushgateway>,
}

impl Prometheus {
    /// Metrics for a handler that the application mounts; no port is opened.
    pub fn new() -> Self {
        Self::default()
    }

    /// Answers `GET /metrics` on this address. Port 0 takes a free one: see
    /// [`Telemetry::scrape_address`](crate::Telemetry::scrape_address).
    pub fn listen(mut self, address: SocketAddr) -> Self {
        self.listen = Some(address);
        self
    }

    /// Starts every metric's name with this and an underscore; `target_info` and dcgm-exporter's names stay.
    pub fn prefix(mut self, prefix: impl Into<String>) -> Self {
        self.prefix = Some(prefix.into());
        self
    }

    /// Adds a label to every series, such as `platform`, `location`, `pod` or `namespace`.
    pub fn label(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.labels.push((name.into(), value.into()));
        self
    }

    /// Copies a resource attribute from `target_info` to every series.
    pub fn resource_label(mut self, key: impl Into<String>) -> Self {
        self.resource_labels.push(key.into());
        self
    }

    /// Adds dcgm-exporter's names. The same sink is given to the monitor, which feeds it.
    pub fn dcgm(mut self, names: Arc<DcgmNames>) -> Self {
        self.dcgm = Some(names);
        self
    }

    /// Pushes to a Pushgateway, at intervals and at the end.
    pub fn push(mut self, gateway: Pushgateway) -> Self {
        self.push = Some(gateway);
        self
    }

    pub(crate) fn start(
        self,
        meters: MeterProviderBuilder,
        network: &Network,
    ) -> Result<(MeterProviderBuilder, Scrapes), TelemetryError> {
        for name in self.labels.iter().map(|(name, _)| name).chain(&self.prefix) {
            if !names::is_valid(name) {
                return Err(TelemetryError::PrometheusName { name: name.clone() });
            }
        }
        let wrong_label = |_| TelemetryError::PrometheusName {
            name: self.labels.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>().join(", "),
        };
        let labels: HashMap<String, String> = self.labels.iter().cloned().collect();
        let registry =
            prometheus::Registry::new_custom(None, Some(labels).filter(|labels| !labels.is_empty()))
                .map_err(wrong_label)?;
        let mut exporter = opentelemetry_prometheus::exporter().with_registry(registry.clone());
        if let Some(prefix) = &self.prefix {
            exporter = exporter.with_namespace(prefix.clone());
        }
        if !self.resource_labels.is_empty() {
            let keys = self.resource_labels.iter().cloned().map(opentelemetry::Key::from).collect();
            exporter = exporter.with_resource_selector(ResourceSelector::KeyAllowList(keys));
        }
        let exporter =
            exporter.build().map_err(|error| TelemetryError::PrometheusName { name: error.to_string() })?;
        let endpoint = MetricsEndpoint::new(registry, self.prefix.as_deref(), self.dcgm);
        let address = match self.listen {
            Some(address) => Some(listen(address, &endpoint, network)?),
            None => None,
        };
        if let Some(gateway) = &self.push {
            gateway.start(&endpoint, network)?;
        }
        Ok((meters.with_reader(exporter), Scrapes { endpoint, address, push: self.push }))
    }
}

fn listen(
    address: SocketAddr,
    endpoint: &MetricsEndpoint,
    network: &Network,
) -> Result<SocketAddr, TelemetryError> {
    let failed = |source| TelemetryError::Listen { address, source };
    let listener = TcpListener::bind(address).map_err(failed)?;
    listener.set_nonblocking(true).map_err(failed)?;
    let bound = listener.local_addr().map_err(failed)?;
    let spawner = network.spawner();
    let listener = {
        let _inside = spawner.enter();
        tokio::net::TcpListener::from_std(listener).map_err(failed)?
    };
    spawner.start(server::serve(listener, endpoint.clone()));
    Ok(bound)
}

/// What the telemetry keeps of it.
#[derive(Debug)]
pub(crate) struct Scrapes {
    pub(crate) endpoint: MetricsEndpoint,
    pub(crate) address: Option<SocketAddr>,
    push: Option<Pushgateway>,
}

impl Scrapes {
    /// The figures at the end, for jobs that nobody would scrape again.
    pub(crate) fn last_push(&self, network: &Network, within: Duration) {
        if let Some(gateway) = &self.push {
            gateway.push_now(&self.endpoint, network, within);
        }
    }
}
