//! dcgm-exporter's common names, so that dashboards made for it light up.
//!
//! They come from the device samples and not from the meter: no unit or `total` is put behind them. **Source**
//! NVIDIA/dcgm-exporter, `etc/default-counters.csv` and `internal/pkg/rendermetrics/render_metrics.go`.

use std::fmt::Write as _;
use std::sync::{Arc, Mutex, PoisonError};

use wattspan_core::{Device, DeviceKind, DeviceSample, GpuInstance, Reading, SampleSink, SampleTick};

/// Keeps the last figures of every GPU, and writes them under dcgm-exporter's names.
///
/// A device that is no longer sampled is gone from the next scrape.
///
/// A MIG device has its GPU's labels and, as dcgm-exporter has it, `GPU_I_PROFILE` and `GPU_I_ID`. A figure that the
/// slices of a GPU have, such as memory, is written for them and not for the GPU, so that a dashboard's sum counts it
/// once; what only the board has, such as power, is written for the GPU alone and never repeated for its slices.
#[derive(Debug, Default)]
pub struct DcgmNames {
    hostname: String,
    gpus: Mutex<Vec<Gpu>>,
}

#[derive(Debug)]
struct Gpu {
    /// Whose labels it has: a slice those of its GPU.
    device: Arc<Device>,
    slice: Option<GpuInstance>,
    figures: [Option<f64>; FAMILIES.len()],
}

/// One family: its figure, absent where it could not be read.
struct Family {
    name: &'static str,
    kind: &'static str,
    help: &'static str,
    decimals: usize,
    figure: fn(&DeviceSample) -> Option<f64>,
}

const MIB: f64 = 1_048_576.0;

/// In the order of dcgm-exporter's own list.
const FAMILIES: [Family; 11] = [
    Family {
        name: "DCGM_FI_DEV_SM_CLOCK",
        kind: "gauge",
        help: "SM clock frequency (in MHz).",
        decimals: 0,
        figure: |sample| value(&sample.gauges.clock).map(|clock| clock.hertz() / 1e6),
    },
    Family {
        name: "DCGM_FI_DEV_MEM_CLOCK",
        kind: "gauge",
        help: "Memory clock frequency (in MHz).",
        decimals: 0,
        figure: |sample| value(&sample.gauges.memory_clock).map(|clock| clock.hertz() / 1e6),
    },
    Family {
        name: "DCGM_FI_DEV_MEMORY_TEMP",
        kind: "gauge",
        help: "Memory temperature (in C).",
        decimals: 0,
        figure: |sample| value(&sample.gauges.memory_temperature).map(wattspan_core::Celsius::celsius),
    },
    Family {
        name: "DCGM_FI_DEV_GPU_TEMP",
        kind: "gauge",
        help: "GPU temperature (in C).",
        decimals: 0,
        figure: |sample| value(&sample.gauges.temperature).map(wattspan_core::Celsius::celsius),
    },
    Family {
        name: "DCGM_FI_DEV_POWER_USAGE",
        kind: "gauge",
        help: "Power draw (in W).",
        decimals: 6,
        figure: |sample| value(&sample.power).map(wattspan_core::Watts::watts),
    },
    Family {
        name: "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION",
        kind: "counter",
        help: "Total energy consumption since boot (in mJ).",
        decimals: 0,
        figure: |sample| {
            let (numerator, denominator) = sample.device.counter?.microjoules_per_tick;
            let ticks = value(&sample.energy)?;
            Some(ticks as f64 * numerator as f64 / denominator as f64 / 1e3)
        },
    },
    Family {
        name: "DCGM_FI_DEV_PCIE_REPLAY_COUNTER",
        kind: "counter",
        help: "Total number of PCIe retries.",
        decimals: 0,
        figure: |sample| value(&sample.gauges.pcie_replays).map(|count| count as f64),
    },
    Family {
        name: "DCGM_FI_DEV_GPU_UTIL",
        kind: "gauge",
        help: "GPU utilization (in %).",
        decimals: 0,
        figure: |sample| value(&sample.gauges.utilization).map(|part| part.ratio() * 100.0),
    },
    Family {
        name: "DCGM_FI_DEV_MEM_COPY_UTIL",
        kind: "gauge",
        help: "Memory utilization (in %).",
        decimals: 0,
        figure: |sample| value(&sample.gauges.memory_utilization).map(|part| part.ratio() * 100.0),
    },
    Family {
        name: "DCGM_FI_DEV_FB_FREE",
        kind: "gauge",
        help: "Framebuffer memory free (in MiB).",
        decimals: 0,
        figure: |sample| {
            let gauges = &sample.gauges;
            let total = value(&gauges.memory_total)?.bytes();
            let taken = value(&gauges.memory_used)?.bytes()
                + value(&gauges.memory_reserved).map_or(0, wattspan_core::Bytes::bytes);
            Some((total.saturating_sub(taken) as f64 / MIB).floor())
        },
    },
    Family {
        name: "DCGM_FI_DEV_FB_USED",
        kind: "gauge",
        help: "Framebuffer memory used (in MiB).",
        decimals: 0,
        figure: |sample| value(&sample.gauges.memory_used).map(|used| (used.bytes() as f64 / MIB).floor()),
    },
];

fn value<T: Copy>(reading: &Reading<T>) -> Option<T> {
    reading.as_value().copied()
}

impl DcgmNames {
    /// Nothing sampled yet. The host's name stands on every series, as dcgm-exporter has it.
    pub fn new(hostname: impl Into<String>) -> Self {
        Self { hostname: hostname.into(), gpus: Mutex::default() }
    }

    /// Appends the families: each with its help and type once, then all its samples.
    pub(super) fn render(&self, text: &mut String) {
        let gpus = self.gpus.lock().unwrap_or_else(PoisonError::into_inner);
        for (at, family) in FAMILIES.iter().enumerate() {
            let has = |gpu: &Gpu| gpu.figures[at].is_some();
            let in_slices = |board: &Gpu| {
                let of_board = |gpu: &&Gpu| gpu.slice.is_some() && gpu.device.id == board.device.id;
                board.slice.is_none() && gpus.iter().filter(of_board).any(has)
            };
            let mut samples = gpus
                .iter()
                .filter(|gpu| !in_slices(gpu))
                .filter_map(|gpu| Some((gpu, gpu.figures[at]?)))
                .peekable();
            if samples.peek().is_none() {
                continue;
            }
            let Family { name, kind, help, decimals, .. } = family;
            let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} {kind}");
            for (gpu, value) in samples {
                let labels = self.labels(gpu);
                let _ = writeln!(text, "{name}{{{labels}}} {value:.decimals$}");
            }
        }
    }

    fn labels(&self, gpu: &Gpu) -> String {
        let device = &gpu.device;
        let mut labels = String::new();
        let mut add = |name: &str, value: &str| {
            let comma = if labels.is_empty() { "" } else { "," };
            let value = value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
            let _ = write!(labels, "{comma}{name}=\"{value}\"");
        };
        let index = device.index.map(|index| index.to_string());
        if let Some(index) = &index {
            add("gpu", index);
        }
        add("UUID", device.id.as_str());
        if let Some(address) = device.pci_address.as_deref() {
            add("pci_bus_id", &long_address(address));
        }
        if let Some(index) = &index {
            add("device", &format!("nvidia{index}"));
        }
        add("modelName", &device.name);
        if let Some(slice) = &gpu.slice {
            // dcgm-exporter always has one; without it the label would make the slice look like its GPU.
            add("GPU_I_PROFILE", slice.profile.as_deref().unwrap_or_default());
            add("GPU_I_ID", &slice.id.to_string());
        }
        add("hostname", &self.hostname);
        if let Some(version) = &device.driver_version {
            add("DCGM_FI_DRIVER_VERSION", version);
        }
        labels
    }
}

/// NVML's long form: the domain has eight digits, all in upper case.
fn long_address(address: &str) -> String {
    let (domain, rest) = address.split_once(':').unwrap_or(("", address));
    format!("{domain:0>8}:{rest}").to_uppercase()
}

impl SampleSink for DcgmNames {
    fn sampled(&self, tick: &SampleTick<'_>) {
        let figures = |sample| FAMILIES.each_ref().map(|family| (family.figure)(sample));
        let mut gpus: Vec<Gpu> = Vec::new();
        for sample in tick.samples {
            let device = &sample.device;
            match (device.kind, &device.gpu_instance) {
                (DeviceKind::Gpu, _) => {
                    gpus.push(Gpu { device: Arc::clone(device), slice: None, figures: figures(sample) });
                }
                (DeviceKind::GpuPartition, Some(slice)) => {
                    let board =
                        tick.samples.iter().find(|board| device.parent.as_ref() == Some(&board.device.id));
                    // Compute instances of one GPU instance share its memory and its labels.
                    let known = |gpu: &Gpu| {
                        Some(&gpu.device.id) == device.parent.as_ref()
                            && gpu.slice.as_ref().is_some_and(|known| known.id == slice.id)
                    };
                    if let Some(board) = board.filter(|_| !gpus.iter().any(known)) {
                        let (device, slice) = (Arc::clone(&board.device), Some(slice.clone()));
                        gpus.push(Gpu { device, slice, figures: figures(sample) });
                    }
                }
                _ => {}
            }
        }
        *self.gpus.lock().unwrap_or_else(PoisonError::into_inner) = gpus;
    }
}
