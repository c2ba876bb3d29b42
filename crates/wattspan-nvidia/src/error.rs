//! What went wrong in a call to NVML, sorted by what follows from it, and what a user can do.

use std::borrow::Cow;
use std::path::Path;

use nvml_wrapper::error::NvmlError;
use wattspan_core::{OpenError, Reading};

/// A failed call. The wrapper's own error can neither be copied nor compared, and it lumps codes together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// This device or driver does not have it: also a function that the library does not export.
    NotSupported,
    /// The user may not.
    NoPermission,
    /// The operating system or a container keeps the device away.
    Blocked,
    /// The GPU has fallen off the bus.
    Lost,
    /// The GPU waits for a reset.
    ResetRequired,
    /// NVML was shut down beneath us: the driver has been reloaded.
    Uninitialized,
    /// NVML knows no more than that something is wrong.
    Unknown,
    /// The handle, index or name means nothing to the driver.
    Invalid,
    /// The driver lists no such device any more.
    Vanished,
    /// Nothing to be found: no process, no slice.
    NotFound,
    /// The driver has no figure yet.
    NoData,
    /// The kernel module is not there.
    DriverNotLoaded,
    /// Library and kernel module are of different releases.
    VersionMismatch,
    /// It took too long.
    Timeout,
    /// More to be written than there was room for.
    TooSmall,
    /// A value of a type or size that makes no sense.
    Nonsense,
    /// Any other code of `nvmlReturn_t`.
    Code(u32),
}

/// `NVML_ERROR_ARGUMENT_VERSION_MISMATCH`: the driver does not know this version of a structure.
const ARGUMENT_VERSION_MISMATCH: u32 = 25;
/// `NVML_ERROR_DEPRECATED`.
const DEPRECATED: u32 = 26;
/// `NVML_ERROR_NOT_READY`.
const NOT_READY: u32 = 27;
/// `NVML_ERROR_GPU_NOT_FOUND`.
const GPU_NOT_FOUND: u32 = 28;

const PERMISSION_REMEDY: &str = "run as a user who may open /dev/nvidiactl and /dev/nvidia*; in a container, hand \
     the GPU in (`--gpus all`, or the device plugin's resource); on Windows, run as administrator";
const BLOCKED_REMEDY: &str = "the operating system or a cgroup device rule blocks the GPU: allow /dev/nvidia* for this container or service";
const MISMATCH_REMEDY: &str = "the driver's library and its kernel module are of different releases, as after an \
     upgrade: reboot, or unload and load the nvidia modules; in a container, remove a libnvidia-ml that the image \
     brought along";

impl From<NvmlError> for Fault {
    fn from(error: NvmlError) -> Self {
        match error {
            NvmlError::NotSupported
            | NvmlError::FailedToLoadSymbol(_)
            | NvmlError::FunctionNotFound
            | NvmlError::UnexpectedVariant(ARGUMENT_VERSION_MISMATCH | DEPRECATED) => Self::NotSupported,
            NvmlError::NoPermission => Self::NoPermission,
            NvmlError::OperatingSystem => Self::Blocked,
            NvmlError::GpuLost => Self::Lost,
            NvmlError::UnexpectedVariant(GPU_NOT_FOUND) => Self::Vanished,
            NvmlError::ResetRequired => Self::ResetRequired,
            NvmlError::Uninitialized => Self::Uninitialized,
            NvmlError::Unknown => Self::Unknown,
            NvmlError::InvalidArg => Self::Invalid,
            NvmlError::NotFound => Self::NotFound,
            NvmlError::NoData | NvmlError::UnexpectedVariant(NOT_READY) => Self::NoData,
            NvmlError::DriverNotLoaded => Self::DriverNotLoaded,
            NvmlError::LibRmVersionMismatch => Self::VersionMismatch,
            NvmlError::Timeout => Self::Timeout,
            NvmlError::InsufficientSize(_) => Self::TooSmall,
            NvmlError::InsufficientPower => Self::Code(8),
            NvmlError::IrqIssue => Self::Code(11),
            NvmlError::LibraryNotFound => Self::Code(12),
            NvmlError::CorruptedInfoROM => Self::Code(14),
            NvmlError::InUse => Self::Code(19),
            NvmlError::InsufficientMemory => Self::Code(20),
            NvmlError::UnexpectedVariant(code) => Self::Code(code),
            // Text that is no UTF-8, bits that are none: the wrapper's own complaints about an answer.
            _ => Self::Nonsense,
        }
    }
}

impl Fault {
    /// Whether the handle is void until NVML is initialised anew.
    pub(crate) const fn is_loss(self) -> bool {
        matches!(
            self,
            Self::Lost | Self::ResetRequired | Self::Uninitialized | Self::Vanished | Self::DriverNotLoaded
        )
    }

    /// Whether a driver in this state may come up by itself.
    pub(crate) const fn may_pass(self) -> bool {
        // 19 and 20: another client holds the driver, or it has no memory at this moment.
        matches!(
            self,
            Self::DriverNotLoaded | Self::Timeout | Self::NoData | Self::Lost | Self::Code(19 | 20)
        )
    }

    /// The reason and what to do, in one line.
    pub(crate) fn text(self) -> Cow<'static, str> {
        Cow::Borrowed(match self {
            Self::NotSupported => "this GPU or driver does not have it",
            Self::NoPermission => PERMISSION_REMEDY,
            Self::Blocked => BLOCKED_REMEDY,
            Self::Lost => {
                "the GPU has fallen off the bus: look for an Xid in the kernel log and reseat or reset it; it is taken \
                 up again when the driver finds it"
            }
            Self::ResetRequired => {
                "the GPU waits for a reset: stop what uses it and run `nvidia-smi --gpu-reset`, or reboot"
            }
            Self::Uninitialized => "the driver was reloaded; NVML is being initialised anew",
            Self::Unknown => {
                "the driver reports an unknown error (999): look into the kernel log; after a suspend, reload the \
                 nvidia_uvm module"
            }
            Self::Invalid => "the driver does not know this device any more",
            Self::Vanished => "the driver no longer lists this GPU; it is looked for again",
            Self::NotFound => "the driver found nothing",
            Self::NoData => "the driver has no figure yet",
            Self::DriverNotLoaded => {
                "the NVIDIA driver is not loaded: run `modprobe nvidia` or start the driver; it is tried again"
            }
            Self::VersionMismatch => MISMATCH_REMEDY,
            Self::Timeout => "the driver did not answer in time",
            Self::TooSmall => "the driver's list grew while it was read",
            Self::Nonsense => "the driver gave a value that makes no sense",
            Self::Code(code) => {
                return Cow::Owned(format!(
                    "NVML answered with code {code}: see nvmlReturn_t in its reference"
                ));
            }
        })
    }

    /// The reading that this failure is.
    pub(crate) fn reading<T>(self) -> Reading<T> {
        match self {
            Self::NotSupported => Reading::NotSupported,
            Self::NoPermission | Self::Blocked => Reading::denied(self.text()),
            _ => Reading::failed(self.text()),
        }
    }

    /// The error of a collector that cannot be opened because of it.
    pub(crate) fn open_error(self, library: &Path) -> OpenError {
        let what = format!("NVML ({})", library.display());
        match self {
            Self::NoPermission | Self::Blocked => OpenError::Denied { what, remedy: self.text() },
            Self::NotSupported => OpenError::Broken {
                what,
                remedy: Cow::Borrowed(
                    "it lacks functions that every NVML since release 375 has; name the driver's own library",
                ),
                source: None,
            },
            _ => OpenError::Broken { what, remedy: self.text(), source: None },
        }
    }
}

/// A reading from the result of a call.
pub(crate) fn reading<T>(result: Result<T, Fault>) -> Reading<T> {
    result.map_or_else(Fault::reading, Reading::Value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(code: u32, expected: &str) {
        let fault: Fault = NvmlError::from(code).into();
        let shown = match fault.reading::<u32>() {
            Reading::Value(_) => "value".to_owned(),
            absent => absent.absence().unwrap_or_default(),
        };
        assert!(shown.starts_with(expected), "code {code} is {shown:?}");
    }

    #[test]
    fn each_code_says_what_follows_from_it() {
        check(1, "failed: the driver was reloaded");
        check(2, "failed: the driver does not know");
        check(3, "not supported");
        check(4, "denied: run as a user who may open");
        check(13, "not supported");
        check(15, "failed: the GPU has fallen off the bus");
        check(16, "failed: the GPU waits for a reset");
        check(17, "denied: the operating system");
        check(18, "failed: the driver's library and its kernel module");
        check(19, "failed: NVML answered with code 19");
        check(25, "not supported");
        check(27, "failed: the driver has no figure yet");
        check(999, "failed: the driver reports an unknown error (999)");
        check(4_711, "failed: NVML answered with code 4711");
    }
}
