//! Cloud machines: what they are made of, what they draw, what making them emitted, and how to ask them who they are.

mod dmi;
mod http;
mod instance;
mod metadata;

pub use instance::{InstanceFacts, PowerRange, Utilisation, instance_facts};
pub use metadata::{Endpoints, Metadata, Probe};

use wattspan_core::{Grams, Ratio};

use crate::place::canonical_provider;
use crate::tables;

/// What a machine's metadata service says about it: plain text for `cloud.*` and `host.*` resource attributes.
///
/// Accounts, names, tags, addresses and user data are not read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CloudFacts {
    /// `aws`, `azure` or `gcp`.
    pub provider: &'static str,
    /// Kind of machine or service, as `cloud.platform` has it.
    pub platform: Option<&'static str>,
    /// Region.
    pub region: Option<String>,
    /// Availability zone.
    pub availability_zone: Option<String>,
    /// Instance type, such as `p5.48xlarge`.
    pub instance_type: Option<String>,
    /// Id of the instance.
    pub instance_id: Option<String>,
}

impl CloudFacts {
    /// The attributes that are known, by their OpenTelemetry names (resource conventions of cloud and host).
    pub fn attributes(&self) -> Vec<(&'static str, &str)> {
        let known = [
            ("cloud.provider", Some(self.provider)),
            ("cloud.platform", self.platform),
            ("cloud.region", self.region.as_deref()),
            ("cloud.availability_zone", self.availability_zone.as_deref()),
            ("host.type", self.instance_type.as_deref()),
            ("host.id", self.instance_id.as_deref()),
        ];
        known
            .into_iter()
            .filter_map(|(key, value)| Some((key, value.filter(|value| !value.is_empty())?)))
            .collect()
    }

    /// What its instance type is made of, where that is known.
    pub fn instance(&self) -> Option<InstanceFacts> {
        instance_facts(self.provider, self.instance_type.as_deref()?)
    }
}

/// Power usage effectiveness: a facility's energy over its computers' energy.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Pue {
    /// The factor. **Range** 1 and more.
    pub factor: Ratio,
    /// Who says so.
    pub source: &'static str,
}

/// The PUE of a provider's region, else of the provider; of a machine room of one's own for `on_premise`, of an
/// unknown one for `unknown`. **Absent** for any other word.
///
/// ```
/// assert_eq!(wattspan_carbon::pue("gcp", Some("europe-north1")).unwrap().factor.ratio(), 1.09);
/// assert_eq!(wattspan_carbon::pue("aws", None).unwrap().factor.ratio(), 1.135);
/// ```
pub fn pue(provider: &str, region: Option<&str>) -> Option<Pue> {
    let provider = canonical_provider(provider).unwrap_or(provider);
    let of = |region: &str| tables::PUE.iter().find(|row| (row.0, row.1) == (provider, region));
    let row = region.filter(|region| !region.is_empty()).and_then(of).or_else(|| of(""))?;
    Some(Pue { factor: Ratio::new(row.2)?, source: row.3 })
}

/// Hours that a server is expected to serve, over which its embodied carbon is spread: four years of 8 760 hours.
///
/// **Source** Cloud Carbon Footprint, `SERVER_EXPECTED_LIFESPAN`.
pub const SERVER_LIFESPAN_HOURS: f64 = tables::LIFESPAN_HOURS;

/// Carbon emitted in making a server: a rack server with one CPU, and what is added to it.
///
/// Rough: the figure of a GPU is one constant for all models, and boards of the H100's class are likely above it.
///
/// **Source** Cloud Carbon Footprint, embodied emissions (after Teads).
pub fn embodied_server(cpus: u32, memory_gb: f64, disks: u32, gpus: u32) -> Option<Grams> {
    let memory = (memory_gb - tables::EMBODIED_DRAM_INCLUDED_GB).max(0.0);
    let kilograms = tables::EMBODIED_SERVER_KG
        + f64::from(cpus.saturating_sub(1)) * tables::EMBODIED_CPU_KG
        + memory * tables::EMBODIED_DRAM_KG_PER_GB
        + f64::from(disks) * tables::EMBODIED_SSD_KG
        + f64::from(gpus) * tables::EMBODIED_GPU_KG;
    Grams::new(kilograms * 1_000.0)
}
