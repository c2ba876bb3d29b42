//! What it costs to settle inferences: eight devices, all begins and ends at times of their own.
//!
//! Only a ratio gates, since machines differ: ten thousand in flight may take at most 1.2 times as long each as a
//! hundred do.

use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

use criterion::{BenchmarkId, Criterion};
use wattspan_core::{
    Device, DeviceId, DeviceKind, DeviceScope, InferenceId, Joules, LatePhases, Method, MonoTime, Vendor,
};
use wattspan_energy::{Ledger, Measured, Ownership};

const DEVICES: usize = 8;
const MS: u64 = 1_000_000;

fn devices() -> Vec<Arc<Device>> {
    let device = |index| {
        let id = DeviceId::new(format!("GPU-{index}"));
        Arc::new(Device::new(id, DeviceKind::Gpu, Vendor::Nvidia, "bench"))
    };
    (0..DEVICES).map(device).collect()
}

/// From the first begin to the last settlement. Each inference cuts the first interval and the last but one.
fn settle(devices: &[Arc<Device>], in_flight: u64, marks: bool) -> usize {
    let mut ledger = Ledger::new();
    for device in devices {
        ledger.add_device(device, MonoTime::ZERO);
    }
    let at = |nanos: u64| MonoTime::from_nanos(nanos);
    for id in 0..in_flight {
        // A step coprime with the interval scatters the cuts.
        ledger.begin(InferenceId::new(id), at(id * 7_919_003 % (100 * MS)), DeviceScope::All);
    }
    if marks {
        for id in 0..in_flight {
            ledger.mark(InferenceId::new(id), at(300 * MS), 0, 1 + id % 50);
        }
    }
    for id in 0..in_flight {
        let end = 400 * MS + id * 7_919_003 % (100 * MS);
        ledger.finish(InferenceId::new(id), at(end), LatePhases::default());
    }
    let mut settled = 0;
    for turn in 0..7 {
        for device in devices {
            let (start, end) = (at(turn * 100 * MS), at((turn + 1) * 100 * MS));
            let measured = Measured::new(start, end, Joules::from_millijoules(40_000), Method::Counter);
            ledger.interval(device, measured, Ownership::OURS);
        }
        settled += ledger.advance(at((turn + 1) * 100 * MS)).settled.len();
    }
    assert_eq!(settled as u64, in_flight);
    settled
}

/// The shortest of several runs: noise only ever adds.
fn shortest(devices: &[Arc<Device>], in_flight: u64, runs: u32) -> Duration {
    (0..runs)
        .map(|_| {
            let start = Instant::now();
            black_box(settle(devices, in_flight, true));
            start.elapsed()
        })
        .min()
        .unwrap_or_default()
}

fn main() {
    let devices = devices();
    let mut criterion = Criterion::default()
        .sample_size(10)
        .warm_up_time(Duration::from_millis(300))
        .measurement_time(Duration::from_secs(2))
        .configure_from_args();
    let mut group = criterion.benchmark_group("settle 8 devices");
    for in_flight in [1_u64, 100, 10_000] {
        for (name, marks) in [("by time", false), ("by tokens", true)] {
            let id = BenchmarkId::new(name, in_flight);
            group.bench_function(id, |bench| bench.iter(|| settle(&devices, black_box(in_flight), marks)));
        }
    }
    group.finish();
    criterion.final_summary();
    if std::env::args().any(|argument| argument == "--bench") {
        let (hundred, many) = (shortest(&devices, 100, 50), shortest(&devices, 10_000, 5));
        let ratio = many.as_secs_f64() / (100.0 * hundred.as_secs_f64());
        println!("ratio settle: {ratio:.2} (10 000 in flight {many:?}, 100 {hundred:?}; at most 1.2)");
        println!(
            "memory per inference in flight: {} bytes with one device, {} with eight",
            Ledger::bytes_per_inference(1),
            Ledger::bytes_per_inference(8)
        );
        assert!(ratio <= 1.2, "settling ten thousand costs more each than settling a hundred");
    }
}
