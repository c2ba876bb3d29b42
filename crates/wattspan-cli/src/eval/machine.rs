//! What the tables say of this machine: where it stands, and what it is.

use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::time::SystemTime;

use wattspan::carbon::{Bundled, ElectricityPrices, Fixed, Series};
use wattspan::core::{
    DeviceKind, ElectricityPrice, GramsPerKwh, Intensity, IntensitySource, Place, PriceSource, TokenPrice,
    UsdPerKwh,
};
use wattspan::dataset::{GpuMemory, HardwareDetail};
use wattspan::eval::Evaluation;
use wattspan::host::HostFacts;
use wattspan::{Config, Setting, Wattspan};

use crate::result::live_sources;
use crate::settings::number;

/// Intensity and price for the metrics table, which is set up before the place is known.
pub(super) struct Located {
    place: OnceLock<Place>,
    intensity: Vec<Arc<dyn IntensitySource>>,
    price: ElectricityPrices,
}

impl Located {
    pub(super) fn new(config: &Config) -> Self {
        let own = number(config, Setting::ElectricityPrice).and_then(UsdPerKwh::new);
        let price = own.map_or_else(ElectricityPrices::bundled, ElectricityPrices::fixed);
        let mut intensity: Vec<Arc<dyn IntensitySource>> = Vec::new();
        if let Some(value) = number(config, Setting::Intensity).and_then(GramsPerKwh::new) {
            intensity.push(Arc::new(Fixed::new(value)));
        } else if live_sources(config).is_empty() {
            let series = config.text(Setting::IntensitySeries).and_then(|path| Series::open(path).ok());
            if let Some(series) = series {
                intensity.push(Arc::new(series));
            }
            intensity.push(Arc::new(Bundled::new()));
        }
        Self { place: OnceLock::new(), intensity, price }
    }

    /// A live source's values are the monitor's: another figure beside them would contradict.
    pub(super) fn knows_intensity(&self) -> bool {
        !self.intensity.is_empty()
    }

    pub(super) fn is_at(&self, place: &Place) {
        // Once per run.
        let _ = self.place.set(place.clone());
    }
}

impl IntensitySource for Located {
    fn name(&self) -> &str {
        self.intensity.first().map_or("none", |source| source.name())
    }

    fn latest(&self, _: &Place, at: SystemTime) -> Option<Intensity> {
        let place = self.place.get()?;
        self.intensity.iter().find_map(|source| source.latest(place, at))
    }
}

impl PriceSource for Located {
    fn electricity(&self, _: &Place, at: SystemTime) -> Option<ElectricityPrice> {
        self.price.electricity(self.place.get()?, at)
    }

    fn tokens(&self, provider: &str, model: &str) -> Option<TokenPrice> {
        self.price.tokens(provider, model)
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
