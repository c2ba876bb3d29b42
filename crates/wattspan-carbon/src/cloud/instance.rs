//! Instance types: vCPUs, memory, GPUs, and from them power and embodied carbon.

use wattspan_core::{Bytes, Grams, Ratio, Watts};

use crate::cloud::embodied_server;
use crate::place::canonical_provider;
use crate::tables::{self, GpuFacts, GpuInstance};

/// What an instance type is made of, as far as the tables or its name tell.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct InstanceFacts {
    /// `aws`, `azure` or `gcp`.
    pub provider: &'static str,
    /// Its name, as asked for.
    pub name: String,
    /// Virtual CPUs.
    pub vcpus: u32,
    /// Memory. **Absent** when the name does not tell.
    pub memory: Option<Bytes>,
    /// GPU model. **Absent** also for a GPU type that the tables lack: see `gpu_count`.
    pub gpu: Option<&'static GpuFacts>,
    /// Number of GPUs. **Absent** when unknown, 0 when there is none.
    pub gpu_count: Option<u32>,
    /// CPU family. **Absent** when it differs from machine to machine or is not known.
    pub cpu: Option<&'static str>,
    /// vCPUs of the whole server, on which embodied carbon is shared out. **Absent** when unknown.
    pub server_vcpus: Option<u32>,
}

/// Power between no and full load. An estimate from coefficients, never a measurement.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct PowerRange {
    /// At no load.
    pub idle: Watts,
    /// At full load.
    pub full: Watts,
    /// Where the coefficients come from.
    pub source: &'static str,
}

/// Load of CPUs and GPUs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Utilisation(Ratio);

impl Utilisation {
    /// The load that Cloud Carbon Footprint assumes where none is known: half.
    pub fn assumed() -> Self {
        Self(Ratio::percent(tables::DEFAULT_UTILISATION_PERCENT).unwrap_or(Ratio::ONE))
    }

    /// A known load; `None` outside 0 to 1.
    pub fn new(share: f64) -> Option<Self> {
        Ratio::share(share).map(Self)
    }
}

impl PowerRange {
    /// The power at a load, on the straight line between the two ends.
    pub fn at(&self, load: Utilisation) -> Watts {
        let share = load.0.ratio();
        let watts = self.idle.watts() + (self.full.watts() - self.idle.watts()) * share;
        Watts::new(watts).unwrap_or(self.full)
    }
}

/// GPU boards draw this share of their nominal power when idle, in the coefficients of the one board that both tables
/// have (Cloud Carbon Footprint, "NVIDIA Tesla A100": 46 of 400 W). Used for boards that those coefficients lack.
const IDLE_SHARE_OF_TDP: f64 = 46.0 / 400.0;

const SOURCE: &str = "cloud-carbon-footprint";

/// What an instance type is made of. GPU types stand in a table; of others the vCPUs are told by the name's own rule
/// (AWS sizes, the number at the end of Google's names, the first number of Azure's). **Absent** for a name that
/// follows none.
///
/// ```
/// let facts = wattspan_carbon::instance_facts("aws", "p4d.24xlarge").unwrap();
/// assert_eq!((facts.vcpus, facts.gpu_count), (96, Some(8)));
/// assert_eq!(facts.gpu.unwrap().model, "A100 SXM4 40GB");
/// ```
pub fn instance_facts(provider: &str, name: &str) -> Option<InstanceFacts> {
    let provider = canonical_provider(provider)?;
    let row = tables::INSTANCES
        .iter()
        .find(|row| row.provider == provider && row.name.eq_ignore_ascii_case(name.trim()));
    match row {
        Some(row) => Some(from_row(row)),
        None => from_name(provider, name.trim()),
    }
}

impl InstanceFacts {
    /// Power between no and full load: watts per vCPU of its CPU family, or of the provider's mean machine, plus its
    /// GPUs. **Absent** when it has GPUs of an unknown kind or may have.
    ///
    /// Memory, storage and network are not in it; the figure of a vCPU includes its share of the server.
    pub fn power(&self) -> Option<PowerRange> {
        let cpu = self
            .cpu
            .and_then(|family| {
                tables::CPUS.iter().find(|row| (row.provider, row.family) == (self.provider, family))
            })
            .or_else(|| tables::CPU_DEFAULTS.iter().find(|row| row.provider == self.provider))?;
        let (mut idle, mut full) = (cpu.idle * f64::from(self.vcpus), cpu.full * f64::from(self.vcpus));
        let gpus = self.gpu_count?;
        if gpus > 0 {
            let (gpu_idle, gpu_full) = gpu_power(self.gpu?);
            idle += gpu_idle * f64::from(gpus);
            full += gpu_full * f64::from(gpus);
        }
        Some(PowerRange { idle: Watts::new(idle)?, full: Watts::new(full)?, source: SOURCE })
    }

    /// Carbon emitted in making its share of the server: two CPUs, the family's largest memory and GPUs, by vCPUs.
    /// **Absent** for types whose server is not known.
    pub fn embodied(&self) -> Option<Grams> {
        let share = f64::from(self.vcpus) / f64::from(self.server_vcpus?);
        let gib = self.memory?.bytes() as f64 / f64::from(1 << 30);
        let gpus = f64::from(self.gpu_count?) / share;
        let whole = embodied_server(2, gib / share, 0, gpus.round() as u32)?;
        Grams::new(whole.grams() * share)
    }
}

/// Idle and full watts of a board: the coefficients' where they have it, else from its nominal power.
fn gpu_power(gpu: &GpuFacts) -> (f64, f64) {
    let listed = tables::GPU_WATTS.iter().find(|row| {
        let model = row.name.trim_start_matches("NVIDIA ").trim_start_matches("Tesla ");
        gpu.vendor == "NVIDIA"
            && gpu.model.trim_start_matches("Tesla ").split(' ').next() == Some(model)
            && row.full >= gpu.tdp.watts()
            && row.full <= gpu.tdp.watts() * 1.1
    });
    match listed {
        Some(row) => (row.idle, row.full),
        None => (gpu.tdp.watts() * IDLE_SHARE_OF_TDP, gpu.tdp.watts()),
    }
}

fn from_row(row: &'static GpuInstance) -> InstanceFacts {
    InstanceFacts {
        provider: row.provider,
        name: row.name.to_owned(),
        vcpus: row.vcpus,
        memory: Some(Bytes::new(u64::from(row.memory_gib) << 30)),
        gpu: tables::GPUS.iter().find(|gpu| gpu.model == row.gpu),
        gpu_count: Some(row.gpu_count),
        cpu: row.cpu,
        server_vcpus: Some(row.server_vcpus),
    }
}

fn from_name(provider: &'static str, name: &str) -> Option<InstanceFacts> {
    let lower = name.to_ascii_lowercase();
    let (vcpus, family, gpus) = match provider {
        "aws" => aws_name(&lower)?,
        "gcp" => gcp_name(&lower)?,
        _ => azure_name(&lower)?,
    };
    let memory = family.gib_per_vcpu.map(|ratio| Bytes::new(u64::from(vcpus * ratio) << 30));
    Some(InstanceFacts {
        provider,
        name: name.to_owned(),
        vcpus,
        memory,
        gpu: None,
        gpu_count: gpus,
        cpu: family.cpu,
        server_vcpus: None,
    })
}

/// What a family's name tells.
#[derive(Default)]
struct Family {
    gib_per_vcpu: Option<u32>,
    cpu: Option<&'static str>,
}

/// `m7i.4xlarge`: `large` is 2 vCPUs, `xlarge` 4, `N xlarge` 4 N (Amazon EC2 instance type names).
fn aws_name(name: &str) -> Option<(u32, Family, Option<u32>)> {
    let (family, size) = name.split_once('.')?;
    let vcpus = match size.strip_suffix("xlarge") {
        Some("") => 4,
        Some(times) => times.parse::<u32>().ok().filter(|times| (1..=448).contains(times))? * 4,
        None if size == "large" => 2,
        None => return None,
    };
    let generation = family.bytes().find(u8::is_ascii_digit)? - b'0';
    let letters = family.split(|letter: char| letter.is_ascii_digit()).next()?;
    let gib_per_vcpu = match (letters, generation) {
        ("c", 5..) => Some(2),
        ("m", 5..) => Some(4),
        ("r", 5..) => Some(8),
        _ => None,
    };
    let cpu = match (letters, family.get(letters.len() + 1..)?, generation) {
        ("c" | "m" | "r", "i", 6) => Some("Ice Lake"),
        ("c" | "m" | "r", "i", 7) => Some("Sapphire Rapids"),
        ("c" | "m" | "r", "a", 6) => Some("EPYC 3rd Gen"),
        ("c" | "m" | "r", "a", 7) => Some("EPYC 4th Gen"),
        ("c" | "m" | "r", "g", 6) => Some("Graviton2"),
        ("c" | "m" | "r", "g", 7) => Some("Graviton3"),
        ("c" | "m" | "r", "g", 8) => Some("Graviton4"),
        _ => None,
    };
    // These letters stand for no accelerator; of any other, such as g, p, inf and trn, it is not known.
    let plain = matches!(letters, "c" | "m" | "r" | "t" | "i" | "d" | "z" | "x" | "a" | "h");
    Some((vcpus, Family { gib_per_vcpu, cpu }, plain.then_some(0)))
}

/// `n2-standard-8`: the number at the end is the vCPUs (Google Compute Engine machine types). GPUs can be attached to
/// machines of the first generation without the name telling.
fn gcp_name(name: &str) -> Option<(u32, Family, Option<u32>)> {
    let mut parts = name.split('-');
    let (series, kind, count) = (parts.next()?, parts.next()?, parts.next()?);
    let vcpus = count.parse().ok().filter(|count| (1..=1_000).contains(count))?;
    let gib_per_vcpu = match (series, kind) {
        ("n2" | "n2d" | "e2" | "t2d" | "c3" | "c3d", "standard") => Some(4),
        ("n2" | "n2d" | "e2" | "c3" | "c3d", "highmem") => Some(8),
        _ => None,
    };
    let cpu = match series {
        "c2" => Some("Cascade Lake"),
        "c2d" | "t2d" => Some("EPYC 3rd Gen"),
        "c3" => Some("Sapphire Rapids"),
        "c3d" => Some("EPYC 4th Gen"),
        _ => None,
    };
    let plain =
        matches!(series, "n2" | "n2d" | "e2" | "c2" | "c2d" | "c3" | "c3d" | "c4" | "n4" | "t2d" | "t2a");
    Some((vcpus, Family { gib_per_vcpu, cpu }, plain.then_some(0)))
}

/// `Standard_D8s_v5`: the first number is the vCPUs; after a dash the ones that are active (Azure VM naming
/// conventions, "constrained vCPUs").
fn azure_name(name: &str) -> Option<(u32, Family, Option<u32>)> {
    let size = name.strip_prefix("standard_").or_else(|| name.strip_prefix("basic_"))?;
    let letters = size.split(|letter: char| letter.is_ascii_digit()).next()?;
    let number = |text: &str| {
        let end = text.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(text.len());
        text[..end].parse::<u32>().ok().filter(|count| (1..=1_000).contains(count))
    };
    let rest = size.get(letters.len()..)?;
    let all = number(rest)?;
    let vcpus = match rest.split_once('-') {
        Some((_, active)) => number(active)?,
        None => all,
    };
    let modern = ["_v3", "_v4", "_v5", "_v6"].iter().any(|version| size.ends_with(version));
    let gib_per_vcpu = match letters {
        "d" if modern && vcpus == all => Some(4),
        _ => None,
    };
    let plain = matches!(letters, "a" | "b" | "d" | "dc" | "e" | "ec" | "f" | "l" | "m");
    Some((vcpus, Family { gib_per_vcpu, cpu: None }, plain.then_some(0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(provider: &str, name: &str, vcpus: u32, gib: Option<u64>, gpus: Option<u32>) {
        let facts = instance_facts(provider, name).unwrap_or_else(|| panic!("{name}"));
        let memory = facts.memory.map(|memory| memory.bytes() >> 30);
        assert_eq!((facts.vcpus, memory, facts.gpu_count), (vcpus, gib, gpus), "{name}");
    }

    #[test]
    fn names_tell_vcpus_by_each_providers_rule() {
        check("aws", "m7i.large", 2, Some(8), Some(0));
        check("aws", "c6g.16xlarge", 64, Some(128), Some(0));
        check("aws", "r5.xlarge", 4, Some(32), Some(0));
        check("aws", "trn1.32xlarge", 128, None, None);
        check("gcp", "n2-standard-8", 8, Some(32), Some(0));
        check("google", "n1-standard-8", 8, None, None);
        check("azure", "Standard_D8s_v5", 8, Some(32), Some(0));
        check("azure", "Standard_E8-4s_v5", 4, None, Some(0));
        check("azure", "STANDARD_ND96ASR_V4", 96, Some(900), Some(8));
    }

    #[test]
    fn a_name_that_follows_no_rule_is_absent() {
        for (provider, name) in [
            ("aws", "m5.metal"),
            ("aws", "xlarge"),
            ("aws", "m5.0xlarge"),
            ("gcp", "e2-micro"),
            ("gcp", "n2-standard-x"),
            ("azure", "D8s"),
            ("azure", "Standard_"),
            ("oracle", "VM.Standard2.1"),
        ] {
            assert_eq!(instance_facts(provider, name), None, "{name}");
        }
    }

    #[test]
    fn power_is_that_of_cpus_and_gpus() {
        // 96 vCPU of aws' mean machine at 0.74 and 3.5 W, 8 × A100 at 46 and 407 W.
        let power = instance_facts("aws", "p4d.24xlarge").unwrap().power().unwrap();
        assert!((power.idle.watts() - (96.0 * 0.74 + 8.0 * 46.0)).abs() < 1e-9);
        assert!((power.full.watts() - (96.0 * 3.5 + 8.0 * 407.0)).abs() < 1e-9);
        let half = f64::midpoint(power.idle.watts(), power.full.watts());
        assert!((power.at(Utilisation::assumed()).watts() - half).abs() < 1e-9);
        // 700 W boards that the coefficients lack.
        let power = instance_facts("aws", "p5.48xlarge").unwrap().power().unwrap();
        assert!((power.full.watts() - (192.0 * 1.9573 + 8.0 * 700.0)).abs() < 1e-9);
        // Nothing is known of the accelerators, so nothing is said of the whole.
        assert_eq!(instance_facts("aws", "trn1.32xlarge").unwrap().power(), None);
    }

    #[test]
    fn embodied_carbon_is_shared_by_vcpus() {
        // The whole server: 1000 + 100 + (768 − 16) × 1.388021 + 8 × 150 kg.
        let whole = 1_000.0 + 100.0 + (768.0 - 16.0) * 1.388_021 + 8.0 * 150.0;
        let all = instance_facts("aws", "g5.48xlarge").unwrap().embodied().unwrap();
        assert!((all.grams() / 1e3 - whole).abs() < 1e-6, "{all}");
        let half = instance_facts("aws", "g6.24xlarge").unwrap().embodied().unwrap();
        assert!(half.grams() * 2.0 <= all.grams() + 1e-6);
        assert_eq!(instance_facts("aws", "m7i.large").unwrap().embodied(), None);
    }
}
