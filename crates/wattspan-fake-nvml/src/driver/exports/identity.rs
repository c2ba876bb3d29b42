//! What a device says of itself.

use super::*;

device_texts! {
    nvmlDeviceGetName = |view| Ok(match view.slice() {
        Some(slice) => slice.name.clone().unwrap_or_else(|| {
            let gib = slice.memory.total.div_ceil(1 << 30);
            format!("{} MIG {}g.{gib}gb", view.device.name, slice.gpu_slices)
        }),
        None => view.device.name.clone(),
    });
    nvmlDeviceGetUUID = |view| Ok(view.slice().map_or(&view.device.uuid, |slice| &slice.uuid).clone());
    nvmlDeviceGetSerial = |view| view.board()?.serial.clone().ok_or(NOT_SUPPORTED);
    nvmlDeviceGetVbiosVersion = |view| view.board().map(|_| "96.00.00.00.01".to_owned());
}

device_values! {
    nvmlDeviceGetIndex: c_uint = |view| view.index.map(|index| index as c_uint).ok_or(NOT_FOUND);
    nvmlDeviceGetMinorNumber: c_uint = |view| Ok(view.board()?.minor);
    nvmlDeviceGetBrand: c_uint = |view| Ok(view.device.brand);
    nvmlDeviceGetBoardId: c_uint = |view| Ok(view.board()?.pci.bus << 8);
    nvmlDeviceGetArchitecture: c_uint = |view| Ok(view.device.arch);
    nvmlDeviceGetPciInfo_v3: PciInfo = |view| {
        let pci = view.device.pci;
        Ok(PciInfo {
            bus_id_legacy: array(&pci.bus_id_legacy()),
            domain: pci.domain,
            bus: pci.bus,
            device: pci.device,
            // An H100 SXM5's: any real one serves.
            pci_device_id: 0x2330_10de,
            pci_sub_system_id: 0x16c1_10de,
            bus_id: array(&pci.bus_id()),
        })
    };
}

device_pairs! {
    nvmlDeviceGetCudaComputeCapability: (c_int, c_int) = |view| Ok(view.device.compute_capability);
}
