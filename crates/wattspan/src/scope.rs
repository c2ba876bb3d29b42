//! Which GPUs inferences use, from a list as `CUDA_VISIBLE_DEVICES` has it.

use std::sync::Arc;

use wattspan_core::{Device, DeviceId, DeviceKind, DeviceScope};

use crate::{Config, Origin, Setting, StartError};

/// The scope that the configuration asks for, among the devices that are there.
///
/// In `CUDA_VISIBLE_DEVICES` an entry that names no device ends the list, as it does for CUDA; in our own setting it is
/// an error that names what there is.
pub(crate) fn scope(config: &Config, devices: &[Arc<Device>]) -> Result<DeviceScope, StartError> {
    let Some(list) = config.text(Setting::GpuDevices) else { return Ok(DeviceScope::All) };
    let of_cuda = matches!(config.origin(Setting::GpuDevices),
        Some(Origin::Environment(name) | Origin::DotEnv(_, name)) if name == "CUDA_VISIBLE_DEVICES");
    let list = list.trim().trim_start_matches('[').trim_end_matches(']');
    let mut chosen: Vec<DeviceId> = Vec::new();
    for entry in list.split(',').map(str::trim).filter(|entry| !entry.is_empty()) {
        if entry == "-1" {
            break;
        }
        let Some(device) = named(entry, devices) else {
            if of_cuda {
                tracing::warn!(
                    entry,
                    "CUDA_VISIBLE_DEVICES names a device that is not there; the list ends before it"
                );
                break;
            }
            let there: Vec<&str> = gpus(devices).map(|gpu| gpu.id.as_str()).collect();
            let reason = format!("there is no GPU {entry:?}; there are [{}]", there.join(", "));
            return Err(StartError::Setting { setting: Setting::GpuDevices, reason });
        };
        // A slice has no power of its own: its parent is what can be measured.
        let id = device.parent.as_ref().unwrap_or(&device.id);
        if !chosen.contains(id) {
            chosen.push(id.clone());
        }
    }
    Ok(DeviceScope::Gpus(chosen.into()))
}

fn gpus(devices: &[Arc<Device>]) -> impl Iterator<Item = &Arc<Device>> {
    devices.iter().filter(|device| matches!(device.kind, DeviceKind::Gpu | DeviceKind::GpuPartition))
}

/// The GPU or slice that an entry names: an index, a UUID or the beginning of one, a PCI address.
fn named<'d>(entry: &str, devices: &'d [Arc<Device>]) -> Option<&'d Arc<Device>> {
    if let Ok(index) = entry.parse::<u32>() {
        return gpus(devices).find(|gpu| gpu.kind == DeviceKind::Gpu && gpu.index == Some(index));
    }
    let entry = entry.to_ascii_lowercase();
    // The older name of a slice, `MIG-GPU-<uuid>/<gi>/<ci>`, has its GPU's UUID in it.
    let of_parent = entry
        .strip_prefix("mig-")
        .and_then(|rest| rest.split('/').next())
        .filter(|id| id.starts_with("gpu-"));
    gpus(devices).find(|gpu| {
        let id = gpu.id.as_str().to_ascii_lowercase();
        id.starts_with(&entry)
            || of_parent.is_some_and(|parent| id == parent)
            || gpu.pci_address.as_deref().is_some_and(|address| address.eq_ignore_ascii_case(&entry))
    })
}

#[cfg(test)]
mod tests {
    use wattspan_core::Vendor;

    use super::*;

    fn machine() -> Vec<Arc<Device>> {
        let gpu = |index: u32| {
            let id = format!("GPU-3f2504e0-4f89-11d3-9a0c-0305e82c330{index}");
            let mut device = Device::new(DeviceId::new(id), DeviceKind::Gpu, Vendor::Nvidia, "test");
            device.index = Some(index);
            device.pci_address = Some(format!("00000000:0{index}:00.0"));
            Arc::new(device)
        };
        let mut devices: Vec<_> = (0..8).map(gpu).collect();
        let id = DeviceId::new("MIG-aaaa");
        let mut slice = Device::new(id, DeviceKind::GpuPartition, Vendor::Nvidia, "slice");
        slice.parent = Some(devices[2].id.clone());
        devices.push(Arc::new(slice));
        devices
    }

    fn chosen(variable: &str, list: &str) -> Result<Vec<usize>, StartError> {
        let devices = machine();
        let config = Config::new().environment([(variable.to_owned(), list.to_owned())]).unwrap();
        let DeviceScope::Gpus(ids) = scope(&config, &devices)? else { panic!("a list gives a scope") };
        let place = |id: &DeviceId| devices.iter().position(|device| device.id == *id).unwrap();
        Ok(ids.iter().map(place).collect())
    }

    #[test]
    fn case_config_02_lists_of_indices() {
        let own = |list| chosen("WATTSPAN_GPU_DEVICES", list).unwrap();
        assert_eq!(own(""), [0; 0]);
        assert_eq!(own("1,3,5"), [1, 3, 5]);
        assert_eq!(own("1, 3"), [1, 3]);
        assert_eq!(own("[1,3]"), [1, 3]);
        let error = chosen("WATTSPAN_GPU_DEVICES", "x").unwrap_err().to_string();
        assert!(error.contains("\"x\""), "{error}");
        assert_eq!(scope(&Config::new(), &machine()).unwrap(), DeviceScope::All);
    }

    #[test]
    fn case_attribution_05_only_the_visible_gpu_is_charged() {
        assert_eq!(chosen("CUDA_VISIBLE_DEVICES", "3").unwrap(), [3]);
    }

    #[test]
    fn case_nvml_07_slices_lead_to_their_gpu_and_an_unknown_name_to_none() {
        let cuda = |list| chosen("CUDA_VISIBLE_DEVICES", list).unwrap();
        assert_eq!(cuda("MIG-aaaa"), [2]);
        assert_eq!(cuda("GPU-3f2504e0-4f89-11d3-9a0c-0305e82c3304"), [4]);
        assert_eq!(cuda("MIG-GPU-3f2504e0-4f89-11d3-9a0c-0305e82c3305/1/0"), [5]);
        assert_eq!(cuda("-1"), [0; 0]);
        assert_eq!(cuda("0,2"), [0, 2]);
        assert_eq!(cuda("1,GPU-ffff,2"), [1]);
    }
}
