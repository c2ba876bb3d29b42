//! What the tables say of this machine: where it stands, and what it is.

use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::time::SystemTime;

use wattspan::Wattspan;
use wattspan::core::{
    DeviceKind, ElectricityPrice, Intensity, IntensitySource, Place, PriceSource, TokenPrice,
};
use wattspan::dataset::{GpuMemory, HardwareDetail};
use wattspan::eval::Evaluation;
use wattspan::host::HostFacts;

/// What the monitor works out grams and cost with, for the metrics table, which is set up before the monitor.
#[derive(Default)]
pub(super) struct Located(OnceLock<Sources>);

struct Sources {
    place: Place,
    intensity: Option<Arc<dyn IntensitySource>>,
    prices: Option<Arc<dyn PriceSource>>,
}

impl Located {
    /// Takes them over, once per run. The whole is not kept: it holds the table's sink, and would never end.
    pub(super) fn is_at(&self, wattspan: &Wattspan) {
        let _ = self.0.set(Sources {
            place: wattspan.place().clone(),
            intensity: wattspan.intensity(),
            prices: wattspan.prices(),
        });
    }
}

impl IntensitySource for Located {
    fn name(&self) -> &str {
        let source = self.0.get().and_then(|sources| sources.intensity.as_ref());
        source.map_or("none", |source| source.name())
    }

    fn latest(&self, _: &Place, at: SystemTime) -> Option<Intensity> {
        let sources = self.0.get()?;
        sources.intensity.as_ref()?.latest(&sources.place, at)
    }
}

impl PriceSource for Located {
    fn electricity(&self, _: &Place, at: SystemTime) -> Option<ElectricityPrice> {
        let sources = self.0.get()?;
        sources.prices.as_ref()?.electricity(&sources.place, at)
    }

    fn tokens(&self, provider: &str, model: &str) -> Option<TokenPrice> {
        self.0.get()?.prices.as_ref()?.tokens(provider, model)
    }
}

/// Adds what the machine is.
pub(super) fn describe(evaluation: Evaluation, wattspan: &Wattspan, label: Option<&str>) -> Evaluation {
    let facts = HostFacts::read(Path::new("/"));
    let devices = wattspan.monitor().devices();
    let gpus: Vec<_> =
        devices.iter().filter(|device| device.kind == DeviceKind::Gpu && device.parent.is_none()).collect();
    let mut detail = HardwareDetail::default();
    detail.cpu_model.clone_from(&facts.cpu_model);
    detail.logical_cores = facts.logical_cpus.map(u64::from);
    detail.memory_gb = facts.memory_total.map(|bytes| bytes.bytes() as f64 / 1e9);
    detail.os = Some(std::env::consts::OS.to_owned());
    detail.gpus = gpus
        .iter()
        .map(|gpu| {
            let mut memory = GpuMemory::default();
            memory.name.clone_from(&gpu.name);
            memory.memory_gb = gpu.memory_total.map(|bytes| bytes.bytes() as f64 / 1e9);
            memory
        })
        .collect();
    let names: Vec<&str> = gpus.iter().map(|gpu| gpu.name.as_str()).collect();
    let line = label.map_or_else(|| line(&names, facts.cpu_model.as_deref()), str::to_owned);
    let mut evaluation = evaluation.hardware(line, detail);
    if devices.is_empty() {
        let findings: Vec<String> = wattspan.capabilities().iter().map(ToString::to_string).collect();
        evaluation = evaluation.no_devices(findings.join("; "));
    }
    if let Some(basis) = &wattspan.place().basis {
        evaluation = evaluation.method("place", basis.to_string());
    }
    evaluation
}

/// `2 × NVIDIA H200`, or the CPU where there is no GPU.
fn line(gpus: &[&str], cpu: Option<&str>) -> String {
    let mut kinds: Vec<(&str, u32)> = Vec::new();
    for name in gpus {
        match kinds.iter_mut().find(|(known, _)| known == name) {
            Some((_, count)) => *count += 1,
            None => kinds.push((name, 1)),
        }
    }
    if kinds.is_empty() {
        return cpu.unwrap_or("a CPU that is not known").to_owned();
    }
    let shown = kinds.into_iter().map(|(name, count)| match count {
        1 => name.to_owned(),
        many => format!("{many} × {name}"),
    });
    shown.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_is_named_by_its_gpus_or_its_cpu() {
        assert_eq!(line(&["H200", "L4", "H200"], Some("EPYC")), "2 × H200, L4");
        assert_eq!(line(&[], Some("EPYC")), "EPYC");
        assert_eq!(line(&[], None), "a CPU that is not known");
    }
}
