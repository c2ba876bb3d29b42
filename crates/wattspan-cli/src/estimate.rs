//! Which kinds of devices have a model where they have no sensor.

use wattspan::core::DeviceKind;
use wattspan::monitor::EstimateInputs;

/// Whether a kind of device is estimated with these inputs.
pub(crate) fn is_modelled(kind: DeviceKind, inputs: &EstimateInputs) -> bool {
    match kind {
        DeviceKind::Cpu => inputs.cpu.is_some(),
        DeviceKind::Dram => inputs.memory.is_some(),
        DeviceKind::Gpu => inputs.gpu,
        _ => false,
    }
}
