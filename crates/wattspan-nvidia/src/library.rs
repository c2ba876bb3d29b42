//! Where the driver's library may lie. Pure: the surroundings are handed in.

use std::env;
use std::path::{Path, PathBuf};

/// What decides where to look.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Surroundings {
    /// Linux on a machine or in a container.
    Linux,
    /// Linux under Windows.
    Wsl,
    /// Windows, with the folders that its environment names.
    Windows { system_root: Option<String>, program_files: Vec<String> },
    /// No NVML exists for it.
    Other,
}

impl Surroundings {
    /// Those of this process.
    pub(crate) fn here() -> Self {
        if cfg!(target_os = "linux") {
            // Every WSL 2 kernel has this device; the variable is missing in services.
            let wsl = env::var_os("WSL_DISTRO_NAME").is_some() || Path::new("/dev/dxg").exists();
            if wsl { Self::Wsl } else { Self::Linux }
        } else if cfg!(windows) {
            Self::Windows {
                system_root: env::var("SystemRoot").ok(),
                // The first names the 64-bit folder also in a 32-bit process.
                program_files: ["ProgramW6432", "ProgramFiles"]
                    .into_iter()
                    .filter_map(|name| env::var(name).ok())
                    .collect(),
            }
        } else {
            Self::Other
        }
    }

    /// The places to try, in this order.
    pub(crate) fn candidates(&self) -> Vec<PathBuf> {
        match self {
            Self::Linux => LINUX.iter().map(PathBuf::from).collect(),
            // A library that a distribution's package brought finds no driver under WSL: Windows' own goes first.
            Self::Wsl => std::iter::once(&WSL).chain(&LINUX).map(PathBuf::from).collect(),
            // Full paths only. By the bare name Windows would also load a file that lies in the current folder.
            Self::Windows { system_root, program_files } => {
                let root = system_root.as_deref().unwrap_or(r"C:\Windows");
                let mut paths = vec![format!(r"{root}\System32\nvml.dll")];
                let fallback = [r"C:\Program Files".to_owned()];
                let folders = if program_files.is_empty() { &fallback[..] } else { program_files };
                for folder in folders {
                    let path = format!(r"{folder}\NVIDIA Corporation\NVSMI\nvml.dll");
                    if !paths.contains(&path) {
                        paths.push(path);
                    }
                }
                paths.into_iter().map(PathBuf::from).collect()
            }
            Self::Other => Vec::new(),
        }
    }
}

/// The loader's own search first; then places outside it.
const LINUX: [&str; 4] = [
    "libnvidia-ml.so.1",
    // NixOS keeps the drivers of the running system here.
    "/run/opengl-driver/lib/libnvidia-ml.so.1",
    // Kubernetes nodes whose driver is installed by a container mount it here (GKE's device plugin).
    "/usr/local/nvidia/lib64/libnvidia-ml.so.1",
    // The development name, where only that was linked.
    "libnvidia-ml.so",
];

/// Where WSL 2 mounts the host's driver. **Source** NVIDIA, "CUDA on WSL User Guide".
const WSL: &str = "/usr/lib/wsl/lib/libnvidia-ml.so.1";

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(surroundings: &Surroundings, expected: &[&str]) {
        let expected: Vec<PathBuf> = expected.iter().map(PathBuf::from).collect();
        assert_eq!(surroundings.candidates(), expected);
    }

    #[test]
    fn linux_asks_the_loader_first() {
        check(
            &Surroundings::Linux,
            &[
                "libnvidia-ml.so.1",
                "/run/opengl-driver/lib/libnvidia-ml.so.1",
                "/usr/local/nvidia/lib64/libnvidia-ml.so.1",
                "libnvidia-ml.so",
            ],
        );
    }

    #[test]
    fn wsl_takes_the_library_of_windows_before_that_of_a_package() {
        let candidates = Surroundings::Wsl.candidates();
        assert_eq!(candidates[0], PathBuf::from("/usr/lib/wsl/lib/libnvidia-ml.so.1"));
        assert_eq!(candidates[1], PathBuf::from("libnvidia-ml.so.1"));
    }

    #[test]
    fn windows_looks_into_its_system_folder_then_into_nvsmi() {
        check(
            &Surroundings::Windows {
                system_root: Some(r"D:\Windows".into()),
                program_files: vec![r"D:\Programme".into(), r"D:\Programme".into()],
            },
            &[r"D:\Windows\System32\nvml.dll", r"D:\Programme\NVIDIA Corporation\NVSMI\nvml.dll"],
        );
        check(
            &Surroundings::Windows { system_root: None, program_files: Vec::new() },
            &[r"C:\Windows\System32\nvml.dll", r"C:\Program Files\NVIDIA Corporation\NVSMI\nvml.dll"],
        );
    }

    #[test]
    fn elsewhere_there_is_nothing_to_look_for() {
        check(&Surroundings::Other, &[]);
    }
}
