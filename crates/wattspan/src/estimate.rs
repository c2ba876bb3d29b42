//! What devices without a sensor are estimated with.

#[cfg(feature = "host")]
use std::num::NonZeroU32;
#[cfg(feature = "host")]
use std::path::Path;

use wattspan_monitor::EstimateInputs;

use crate::{Config, Setting};

impl Config {
    /// What is estimated on this machine, and with what, as far as the settings let it be. Reads the machine's facts.
    pub fn estimate_inputs(&self) -> EstimateInputs {
        let mut inputs = EstimateInputs::default();
        if !self.flag(Setting::Estimate) {
            return inputs;
        }
        inputs.gpu = self.flag(Setting::Gpu);
        #[cfg(feature = "host")]
        if self.flag(Setting::Host) {
            let facts = wattspan_host::HostFacts::read(Path::new("/"));
            let power = facts.cpu_power.as_ref();
            let curve = power.and_then(|power| wattspan_energy::PowerCurve::new(power.idle, power.full).ok());
            inputs.cpu = curve.zip(facts.logical_cpus.and_then(NonZeroU32::new));
            inputs.memory = facts.memory_total.map(|total| {
                let usable = wattspan_energy::MemorySize::usable(total, facts.memory_limit);
                wattspan_energy::MemoryPower::by_size(usable)
            });
        }
        inputs
    }
}
