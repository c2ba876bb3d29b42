//! What it costs to settle inferences: eight devices, all begins and ends at times of their own.
//!
//! Only a ratio gates, since machines differ: ten thousand in flight may take at most 1.2 times as long each as a
//! hundred do.

#![allow(clippy::print_stdout)] // What it finds is for the terminal.

use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

use criterion::{BenchmarkId, Criterion};
use wattspan_core::{
    Device, DeviceId, DeviceKind, DeviceScope, InferenceId, Joules, LatePhases, Method, MonoTime, Vendor,
};
use wattspan_energy::{Ledger, Measured, Ownership};

/// Devices of a large machine.
const DEVICES: usize = 8;
const MS: u64 = 1_000_000;

fn devices() -> Vec<Arc<Device>> {
    let device = |index| {
        let id = DeviceId::new(format!("GPU-{index}"));
        Arc::new(Device::new(id, DeviceKind::Gpu, Vendor::Nvidia, "bench"))
    };
    (0..DEVICES).map(device).collect()
}

/// A ledger that runs on from one measurement to the next, as it does in a program.
struct Bench {
    ledger: Ledger,
    devices: Vec<Arc<Device>>,
    start: u64,
    /// Lies above all that a measurement frees, so that the heap is not handed back to the system each time.
    ballast: Vec<Vec<u8>>,
}

impl Bench {
    fn new() -> Self {
        let (mut ledger, devices) = (Ledger::new(), devices());
        for device in &devices {
            ledger.add_device(device, MonoTime::ZERO);
        }
        Self { ledger, devices, start: 0, ballast: Vec::new() }
    }

    /// From the first begin to the last settlement. Each inference cuts two of the intervals that it is in.
    fn settle(&mut self, in_flight: u64, marks: bool) -> usize {
        let start = self.start;
        let at = |nanos: u64| MonoTime::from_nanos(start + nanos);
        for id in 0..in_flight {
            let begin = at(id * (100 * MS / in_flight));
            self.ledger.begin(InferenceId::new(id), begin, DeviceScope::All);
        }
        if marks {
            for id in 0..in_flight {
                self.ledger.mark(InferenceId::new(id), at(300 * MS), 0, 1 + id % 50);
            }
        }
        for id in 0..in_flight {
            // A step coprime with the interval scatters the ends.
            let end = at(400 * MS + id * 7_919_003 % (100 * MS));
            self.ledger.finish(InferenceId::new(id), end, LatePhases::default());
        }
        let mut settled = 0;
        for turn in 0..7 {
            let (from, to) = (at(turn * 100 * MS), at((turn + 1) * 100 * MS));
            for device in &self.devices {
                let measured = Measured::new(from, to, Joules::from_millijoules(40_000), Method::Counter);
                self.ledger.interval(device, measured, Ownership::OURS);
            }
            let closed = self.ledger.advance(to);
            settled += closed.settled.len();
            if closed.settled.len() > self.ballast.len() * 1_000 {
                self.ballast.push(vec![0; 256]);
            }
        }
        self.start += 700 * MS;
        assert_eq!(settled as u64, in_flight);
        settled
    }

    /// Mean time of settling so many, so often.
    fn mean(&mut self, start: Instant, in_flight: u64, runs: u32) -> Duration {
        let before = worked(start);
        for _ in 0..runs {
            black_box(self.settle(in_flight, true));
        }
        worked(start).saturating_sub(before) / runs
    }

    /// Times of settling a hundred and ten thousand: by turns, so that a busy stretch of the machine hits both alike,
    /// and of all turns the shortest, since noise only ever adds.
    fn pair(&mut self) -> (Duration, Duration) {
        let start = Instant::now();
        (0..40).fold((Duration::MAX, Duration::MAX), |(hundred, many), _| {
            (hundred.min(self.mean(start, 100, 100)), many.min(self.mean(start, 10_000, 1)))
        })
    }
}

/// Time that this thread has had on a CPU, where the system tells, so that others' work does not count; else the clock.
fn worked(start: Instant) -> Duration {
    let told = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let nanos = told.and_then(|text| text.split_whitespace().next()?.parse().ok()).filter(|nanos| *nanos > 0);
    nanos.map_or_else(|| start.elapsed(), Duration::from_nanos)
}

fn main() {
    let mut bench = Bench::new();
    let mut criterion = Criterion::default()
        .sample_size(10)
        .warm_up_time(Duration::from_millis(300))
        .measurement_time(Duration::from_secs(2))
        .configure_from_args();
    let mut group = criterion.benchmark_group("settle 8 devices");
    for in_flight in [1_u64, 100, 10_000] {
        for (name, marks) in [("by time", false), ("by tokens", true)] {
            let id = BenchmarkId::new(name, in_flight);
            group.bench_function(id, |timer| timer.iter(|| bench.settle(black_box(in_flight), marks)));
        }
    }
    group.finish();
    criterion.final_summary();
    if std::env::args().any(|argument| argument == "--bench") {
        let (hundred, many) = bench.pair();
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
