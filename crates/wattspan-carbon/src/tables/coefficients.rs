//! Written by `cargo run -p wattspan-carbon --example bundle` from `data/cloud/coefficients.json`.
//!
//! One row a line, sorted by key. Change the data and run that command; never edit this file.

use super::{CpuWatts, GpuWatts, cpu_row, gpu_watts_row};

/// Watts per vCPU at no and full load, by provider and CPU family.
#[rustfmt::skip]
pub(crate) static CPUS: &[CpuWatts] = &[
    cpu_row("aws", "Broadwell", 0.7128, 3.6853),
    cpu_row("aws", "Cascade Lake", 0.6903, 4.0632),
    cpu_row("aws", "Coffee Lake", 1.1384, 5.4218),
    cpu_row("aws", "EPYC 1st Gen", 0.8468, 2.6042),
    cpu_row("aws", "EPYC 2nd Gen", 0.4743, 1.693),
    cpu_row("aws", "EPYC 3rd Gen", 0.4556, 1.9573),
    cpu_row("aws", "EPYC 4th Gen", 0.7391, 2.2822),
    cpu_row("aws", "EPYC 5th Gen", 3.6824, 8.9614),
    cpu_row("aws", "Emerald Rapids", 0.814, 4.482),
    cpu_row("aws", "Granite Rapids", 0.5816, 2.5275),
    cpu_row("aws", "Graviton2", 0.4743, 1.693),
    cpu_row("aws", "Graviton3", 0.4743, 1.693),
    cpu_row("aws", "Graviton3E", 0.4743, 1.693),
    cpu_row("aws", "Graviton4", 0.4743, 1.693),
    cpu_row("aws", "Haswell", 1.8574, 5.5954),
    cpu_row("aws", "Ice Lake", 0.7668, 3.7582),
    cpu_row("aws", "Ivy Bridge", 1.7074, 5.5569),
    cpu_row("aws", "Sandy Bridge", 2.2122, 8.6309),
    cpu_row("aws", "Sapphire Rapids", 1.0363, 4.1605),
    cpu_row("aws", "Skylake", 0.613, 4.1042),
    cpu_row("azure", "Broadwell", 0.7128, 3.6853),
    cpu_row("azure", "Cascade Lake", 0.6389, 3.9673),
    cpu_row("azure", "Coffee Lake", 1.1384, 5.4218),
    cpu_row("azure", "EPYC 1st Gen", 0.8227, 2.5531),
    cpu_row("azure", "EPYC 2nd Gen", 0.4743, 1.693),
    cpu_row("azure", "EPYC 3rd Gen", 0.4454, 2.0193),
    cpu_row("azure", "Haswell", 1.9006, 6.0129),
    cpu_row("azure", "Skylake", 0.6446, 4.1934),
    cpu_row("gcp", "Broadwell", 0.7128, 3.3857),
    cpu_row("gcp", "Cascade Lake", 0.6903, 3.7549),
    cpu_row("gcp", "EPYC 2nd Gen", 0.4743, 1.5752),
    cpu_row("gcp", "EPYC 3rd Gen", 0.4556, 1.8337),
    cpu_row("gcp", "EPYC 4th Gen", 0.7391, 2.1959),
    cpu_row("gcp", "Emerald Rapids", 0.814, 4.3817),
    cpu_row("gcp", "Ice Lake", 0.7668, 3.6516),
    cpu_row("gcp", "Sapphire Rapids", 1.0363, 4.0621),
    cpu_row("gcp", "Skylake", 0.613, 3.8679),
];

/// The same where the family is not known, by provider.
#[rustfmt::skip]
pub(crate) static CPU_DEFAULTS: &[CpuWatts] = &[
    cpu_row("aws", "", 0.74, 3.5),
    cpu_row("azure", "", 0.74, 3.54),
    cpu_row("gcp", "", 0.68, 4.11),
];

/// Watts per GPU at no and full load, by name.
#[rustfmt::skip]
pub(crate) static GPU_WATTS: &[GpuWatts] = &[
    gpu_watts_row("AMD Radeon Pro V520", 26.0, 229.0),
    gpu_watts_row("NVIDIA A10G", 18.0, 153.0),
    gpu_watts_row("NVIDIA K520", 26.0, 229.0),
    gpu_watts_row("NVIDIA T4", 8.0, 71.0),
    gpu_watts_row("NVIDIA Tesla A100", 46.0, 407.0),
    gpu_watts_row("NVIDIA Tesla K80", 35.0, 306.0),
    gpu_watts_row("NVIDIA Tesla M60", 35.0, 306.0),
    gpu_watts_row("NVIDIA Tesla P100", 36.0, 306.0),
    gpu_watts_row("NVIDIA Tesla P4", 9.0, 76.5),
    gpu_watts_row("NVIDIA Tesla P40", 30.0, 255.0),
    gpu_watts_row("NVIDIA Tesla V100", 35.0, 306.0),
];

/// Power usage effectiveness, by provider and region (empty: all others), and who says so.
#[rustfmt::skip]
pub(crate) static PUE: &[(&str, &str, f64, &str)] = &[
    ("aws", "", 1.135, "cloud-carbon-footprint"),
    ("azure", "", 1.185, "cloud-carbon-footprint"),
    ("gcp", "", 1.1, "cloud-carbon-footprint"),
    ("gcp", "asia-east1", 1.12, "cloud-carbon-footprint"),
    ("gcp", "asia-southeast1", 1.13, "cloud-carbon-footprint"),
    ("gcp", "europe-north1", 1.09, "cloud-carbon-footprint"),
    ("gcp", "europe-west1", 1.09, "cloud-carbon-footprint"),
    ("gcp", "europe-west4", 1.07, "cloud-carbon-footprint"),
    ("gcp", "us-central1", 1.11, "cloud-carbon-footprint"),
    ("gcp", "us-central2", 1.11, "cloud-carbon-footprint"),
    ("gcp", "us-east4", 1.08, "cloud-carbon-footprint"),
    ("on_premise", "", 1.58, "cloud-carbon-footprint"),
    ("unknown", "", 1.56, "green-algorithms-v3.0 (Uptime Institute 2024 survey)"),
];

/// Kilograms CO2e of a rack server with one CPU and little memory.
#[rustfmt::skip]
pub(crate) const EMBODIED_SERVER_KG: f64 = 1000.0;

/// Kilograms CO2e of each further CPU.
#[rustfmt::skip]
pub(crate) const EMBODIED_CPU_KG: f64 = 100.0;

/// Kilograms CO2e of each gigabyte of memory beyond those that the server comes with.
#[rustfmt::skip]
pub(crate) const EMBODIED_DRAM_KG_PER_GB: f64 = 1.388021;

/// Gigabytes of memory that the server's figure includes.
#[rustfmt::skip]
pub(crate) const EMBODIED_DRAM_INCLUDED_GB: f64 = 16.0;

/// Kilograms CO2e of each GPU.
#[rustfmt::skip]
pub(crate) const EMBODIED_GPU_KG: f64 = 150.0;

/// Kilograms CO2e of each solid-state disk.
#[rustfmt::skip]
pub(crate) const EMBODIED_SSD_KG: f64 = 100.0;

/// Hours that a server is expected to serve.
#[rustfmt::skip]
pub(crate) const LIFESPAN_HOURS: f64 = 35040.0;

/// Load that is assumed where none is known, in per cent.
#[rustfmt::skip]
pub(crate) const DEFAULT_UTILISATION_PERCENT: f64 = 50.0;
