//! What sampling costs: CPU time a minute and memory for 8 GPUs whose driver takes 20 µs a call, beside a bare loop that
//! makes as many calls, and a monitor at rest beside nothing at all.
//!
//! `cargo bench -p wattspan-tests --bench sampler`. Minutes are compressed: the ticks of a minute are run one after the
//! other and their CPU time is what a minute would take. Linux only: CPU time is the scheduler's own count.

use std::hint::black_box;
use std::io::Write as _;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use nvml_wrapper::Nvml;
use nvml_wrapper::enum_wrappers::device::TemperatureSensor;
use wattspan_core::ScriptedClock;
use wattspan_fake_nvml::FakeNvml;
use wattspan_monitor::Monitor;
use wattspan_nvidia::{NvidiaCollector, NvidiaOptions};

const GPUS: usize = 8;
const DELAY_US: u64 = 20;
/// Simulated minutes of each run.
const MINUTES: u32 = 3;

/// CPU time of this thread so far.
fn thread_cpu() -> Duration {
    cpu_of("/proc/thread-self/schedstat")
}

/// CPU time of all threads that are alive.
fn process_cpu() -> Duration {
    let tasks = std::fs::read_dir("/proc/self/task").expect("Linux lists its threads");
    tasks.flatten().map(|task| cpu_of(&format!("{}/schedstat", task.path().display()))).sum()
}

fn cpu_of(path: &str) -> Duration {
    // A thread that has just ended has no figure any more.
    let text = std::fs::read_to_string(path).unwrap_or_default();
    Duration::from_nanos(text.split(' ').next().and_then(|nanos| nanos.parse().ok()).unwrap_or(0))
}

fn resident_kib() -> i64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux tells a process's memory");
    let line = status.lines().find(|line| line.starts_with("VmRSS:"));
    line.and_then(|line| line.split_whitespace().nth(1)?.parse().ok()).expect("in kibibytes")
}

fn driver() -> FakeNvml {
    let driver = FakeNvml::builder().gpus(GPUS).delay_us(DELAY_US).load().expect("the fake driver loads");
    driver.all_gpus().idle_watts(200.0).expect("there are GPUs");
    driver
}

fn collector(driver: &FakeNvml) -> NvidiaCollector {
    let mut options = NvidiaOptions::default();
    options.library = Some(driver.path().to_owned());
    NvidiaCollector::open(&options).expect("the fake driver opens").expect("it has GPUs")
}

/// CPU time a minute of sampler and settlement, the number of calls a minute, and the memory that it took.
fn ours(cadence: Duration) -> (Duration, u64, i64) {
    let driver = driver();
    let clock = Arc::new(ScriptedClock::new(SystemTime::UNIX_EPOCH));
    let before = resident_kib();
    let mut stepper =
        Monitor::builder().collector(Box::new(collector(&driver))).clock(clock.clone()).stepper();
    let mut tick = || {
        clock.advance(cadence);
        driver.advance_us(cadence.as_micros() as u64).expect("the clock is virtual");
        stepper.step();
    };
    (0..20).for_each(|_| tick());
    driver.reset_calls().expect("calls are counted");
    let ticks = (Duration::from_secs(60).as_millis() / cadence.as_millis()) as u32 * MINUTES;
    let start = thread_cpu();
    (0..ticks).for_each(|_| tick());
    let cpu = thread_cpu().saturating_sub(start) / MINUTES;
    let calls = driver.all_calls().expect("calls are counted").iter().map(|(_, count)| count).sum::<u64>();
    (cpu, calls / u64::from(MINUTES), resident_kib() - before)
}

/// CPU time a minute of a loop that makes as many calls and keeps nothing.
fn bare(cadence: Duration, calls: u64) -> Duration {
    let driver = driver();
    let nvml = Nvml::builder().lib_path(driver.path().as_os_str()).init().expect("the fake driver starts");
    let devices: Vec<_> =
        (0..GPUS as u32).map(|index| nvml.device_by_index(index).expect("it is there")).collect();
    let ticks = (Duration::from_secs(60).as_millis() / cadence.as_millis()) as u64 * u64::from(MINUTES);
    let calls = calls * u64::from(MINUTES);
    let mut made = 0;
    let start = thread_cpu();
    for tick in 1..=ticks {
        driver.advance_us(cadence.as_micros() as u64).expect("the clock is virtual");
        // The calls spread evenly over the ticks, and over GPUs and functions.
        while made < calls * tick / ticks {
            let device = &devices[made as usize % GPUS];
            match made as usize / GPUS % 4 {
                0 => drop(black_box(device.total_energy_consumption())),
                1 => drop(black_box(device.power_usage())),
                2 => drop(black_box(device.utilization_rates())),
                _ => drop(black_box(device.temperature(TemperatureSensor::Gpu))),
            }
            made += 1;
        }
    }
    thread_cpu().saturating_sub(start) / MINUTES
}

/// CPU time a minute of a monitor with its two threads at rest, and of a process that waits as long.
fn at_rest() -> (Duration, Duration) {
    const LENGTH: Duration = Duration::from_secs(5);
    let start = process_cpu();
    std::thread::sleep(LENGTH);
    let nothing = process_cpu().saturating_sub(start);
    let driver = driver();
    driver.use_real_clock().expect("the clock can run");
    let monitor = Monitor::builder().collector(Box::new(collector(&driver))).start().expect("threads start");
    std::thread::sleep(Duration::from_secs(1));
    let start = process_cpu();
    std::thread::sleep(LENGTH);
    let rest = process_cpu().saturating_sub(start);
    drop(monitor);
    (rest * 12, nothing * 12)
}

fn main() -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    let millis = |cpu: Duration| cpu.as_secs_f64() * 1e3;
    writeln!(out, "{GPUS} GPUs, {DELAY_US} µs a call")?;
    writeln!(out, "| cadence | CPU a minute | calls a minute | bare loop | ratio | memory |")?;
    writeln!(out, "| ---: | ---: | ---: | ---: | ---: | ---: |")?;
    for cadence in [1_000, 100].map(Duration::from_millis) {
        let (cpu, calls, memory) = ours(cadence);
        let beside = bare(cadence, calls);
        writeln!(
            out,
            "| {} ms | {:.1} ms | {calls} | {:.1} ms | {:.2} (goal 1.3) | {memory} KiB |",
            cadence.as_millis(),
            millis(cpu),
            millis(beside),
            cpu.as_secs_f64() / beside.as_secs_f64(),
        )?;
    }
    let (rest, nothing) = at_rest();
    writeln!(
        out,
        "at rest, with threads and a 1 s cadence: {:.1} ms a minute; without a monitor: {:.1} ms",
        millis(rest),
        millis(nothing)
    )
}
