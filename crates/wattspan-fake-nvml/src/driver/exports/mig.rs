//! Multi-instance GPUs.

use super::*;

device_pairs! {
    nvmlDeviceGetMigMode: (c_uint, c_uint) = |view| match view.board()?.mig {
        Mig::Unsupported => Err(NOT_SUPPORTED),
        Mig::Disabled => Ok((0, 0)),
        Mig::Enabled(_) => Ok((1, 1)),
    };
}

device_values_by_kind! {
    nvmlDeviceGetMigDeviceHandleByIndex: Handle = |view, index| {
        let Device { mig, epoch, .. } = view.board()?;
        match mig {
            Mig::Unsupported => Err(NOT_SUPPORTED),
            Mig::Disabled => Err(NOT_FOUND),
            Mig::Enabled(slices) => {
                let slice = slices.get(index as usize).ok_or(NOT_FOUND)?;
                Ok(encode(view.slot, *epoch, Some(slice.serial)))
            }
        }
    };
}

device_values! {
    nvmlDeviceGetMaxMigDeviceCount: c_uint = |view| match view.board()?.mig {
        Mig::Enabled(_) => Ok(7),
        Mig::Unsupported | Mig::Disabled => Ok(0),
    };
    nvmlDeviceIsMigDeviceHandle: c_uint = |view| Ok(c_uint::from(view.slice.is_some()));
    nvmlDeviceGetDeviceHandleFromMigDeviceHandle: Handle = |view| {
        view.slice().map(|_| encode(view.slot, view.device.epoch, None)).ok_or(INVALID_ARGUMENT)
    };
    nvmlDeviceGetGpuInstanceId: c_uint = |view| {
        view.slice().map(|slice| slice.gpu_instance).ok_or(NOT_SUPPORTED)
    };
    nvmlDeviceGetComputeInstanceId: c_uint = |view| {
        view.slice().map(|slice| slice.compute_instance).ok_or(NOT_SUPPORTED)
    };
    nvmlDeviceGetAttributes_v2: DeviceAttributes = |view| {
        let slice = view.slice().ok_or(NOT_SUPPORTED)?;
        Ok(DeviceAttributes {
            multiprocessor_count: slice.multiprocessors,
            shared_copy_engine_count: 1,
            shared_decoder_count: 0,
            shared_encoder_count: 0,
            shared_jpeg_count: 0,
            shared_ofa_count: 0,
            gpu_instance_slice_count: slice.gpu_slices,
            compute_instance_slice_count: slice.compute_slices,
            memory_size_mb: slice.memory.total >> 20,
        })
    };
}
