//! Any bytes as amdgpu's table, and as the text files beside it: an error or figures that a board can have. The first byte
//! picks one of the layouts, since blind bytes seldom hit a size and a revision together.
#![no_main]

use libfuzzer_sys::fuzz_target;
use wattspan_amd::{drm_client, gpu_metrics, kfd_node};

/// Sizes and revisions that kernels have written (`kgd_pp_interface.h`).
const HEADS: [(u16, u8, u8); 16] = [
    (80, 1, 0),
    (96, 1, 1),
    (104, 1, 2),
    (120, 1, 3),
    (288, 1, 4),
    (360, 1, 5),
    (384, 1, 6),
    (1_664, 1, 6),
    (2_208, 1, 7),
    (3_872, 1, 8),
    (120, 2, 0),
    (120, 2, 1),
    (128, 2, 2),
    (152, 2, 3),
    (168, 2, 4),
    (264, 3, 0),
];

fuzz_target!(|bytes: &[u8]| {
    let _ = gpu_metrics(bytes);
    let text = String::from_utf8_lossy(bytes);
    let _ = drm_client(&text);
    let _ = kfd_node(&text);
    let Some((pick, rest)) = bytes.split_first() else { return };
    let (size, format, content) = HEADS[usize::from(*pick) % HEADS.len()];
    let mut table = Vec::from(size.to_le_bytes());
    table.extend([format, content]);
    table.extend(rest.iter().cycle().take(if rest.is_empty() { 0 } else { usize::from(size) - 4 }));
    let Ok(metrics) = gpu_metrics(&table) else { return };
    for power in [metrics.socket_power, metrics.graphics_power].into_iter().flatten() {
        assert!((0.0..100_000.0).contains(&power.watts()), "{power}");
    }
    for temperature in [metrics.temperature, metrics.memory_temperature].into_iter().flatten() {
        assert!((-100.0..1_000.0).contains(&temperature.celsius()), "{temperature}");
    }
    assert!(metrics.activity.is_none_or(|activity| (0.0..=1.0).contains(&activity.ratio())));
});
