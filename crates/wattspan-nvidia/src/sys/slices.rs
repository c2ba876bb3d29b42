//! The MIG devices that a GPU is cut into.

use nvml_wrapper::error::NvmlError;

use super::Handle;
use crate::error::Fault;

/// A MIG device as its GPU lists it.
#[derive(Debug)]
pub(crate) struct Slice {
    pub(crate) handle: Handle,
    /// GPU instance and compute instance.
    pub(crate) instance: Option<(u32, u32)>,
}

impl Handle {
    /// The MIG devices on this GPU, with GPU and compute instance; none where MIG is off.
    ///
    /// An error says that the driver did not tell, which is not the same as none.
    pub(crate) fn slices(&self) -> Result<Vec<Slice>, Fault> {
        let device = self.device();
        if device.mig_mode()?.current != 1 {
            return Ok(Vec::new());
        }
        let mut slices = Vec::new();
        for index in 0..device.mig_device_count()? {
            match device.mig_device_by_index(index) {
                Ok(slice) => {
                    let handle = Self::keep(&self.nvml, &slice);
                    let instance = handle.instance();
                    slices.push(Slice { handle, instance });
                }
                // Numbers may have holes.
                Err(NvmlError::NotFound | NvmlError::InvalidArg) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(slices)
    }

    /// Whether both are the driver's same handle.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        self.address == other.address
    }

    fn instance(&self) -> Option<(u32, u32)> {
        let lib = self.nvml.lib();
        let gpu = lib.nvmlDeviceGetGpuInstanceId.as_ref().ok()?;
        let compute = lib.nvmlDeviceGetComputeInstanceId.as_ref().ok()?;
        let (mut gpu_instance, mut compute_instance) = (0, 0);
        // SAFETY: the handle is of this session (see `device`), and both places are valid for a write.
        let codes = unsafe {
            (gpu(self.raw(), &raw mut gpu_instance), compute(self.raw(), &raw mut compute_instance))
        };
        (codes == (0, 0)).then_some((gpu_instance, compute_instance))
    }
}
