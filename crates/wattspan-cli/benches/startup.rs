//! What `wattspan run -- true` takes above `true`: until the command starts, and in all, with the reading that covers the
//! command's end.
//!
//! `cargo bench -p wattspan-cli --bench startup` prints medians and 95th percentiles. Both run in turns within one run so that
//! noise of the machine hits both sides: without sensors, with this machine's own, and with eight GPUs of the driver
//! look-alike, whose counters refresh each 20 ms. The goal is that the command starts at most 50 ms later.

// A benchmark reports to its reader.
#![allow(clippy::print_stdout)]

use std::ffi::OsString;
use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime};

use wattspan_fake_nvml::{FakeNvml, ScriptFile};

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.iter().any(|argument| argument == STAMP) {
        println!("{}", unix().as_nanos());
        return;
    }
    // Cargo passes `--bench` and whatever follows `--`; a number is how many turns.
    let turns = arguments.iter().find_map(|argument| argument.parse().ok()).unwrap_or(100);
    let driver = FakeNvml::builder().gpus(0).load().expect("the fake driver is built beside the benchmarks");
    let script = ScriptFile::new().expect("the temporary directory can be written");
    let gpus = "clock real\ngpus 8\ngpu all idle 300\ngpu all counter refresh 20000\n";
    script.append(gpus).expect("the script can be written");

    println!(
        "{:<16} {:>12} {:>12} {:>12} {:>12} {:>12}",
        "sensors", "bare", "start later", "p95", "end later", "p95"
    );
    measure("none", turns, |command| {
        command.env("WATTSPAN_GPU", "off").env("WATTSPAN_HOST", "off");
    });
    measure("this machine's", turns, |_| {});
    measure("eight GPUs", turns, |command| {
        command.env("WATTSPAN_HOST", "off");
        command.env("WATTSPAN_NVML_LIBRARY", driver.path()).env(ScriptFile::VARIABLE, script.path());
    });
    println!("goal: the command starts at most 50 ms later");
}

fn measure(name: &str, turns: usize, prepare: impl Fn(&mut Command)) {
    let this = std::env::current_exe().expect("a running program has a file").into_os_string();
    let (mut bare, mut start, mut end) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..turns {
        let alone = run(&mut Command::new(&this), &[STAMP.into()]);
        let mut command = Command::new(env!("CARGO_BIN_EXE_wattspan"));
        prepare(&mut command);
        let arguments: [OsString; 5] =
            ["run".into(), "--quiet".into(), "--".into(), this.clone(), STAMP.into()];
        let with = run(&mut command, &arguments);
        bare.push(alone.1);
        start.push(with.0.saturating_sub(alone.0));
        end.push(with.1.saturating_sub(alone.1));
    }
    let [start_p95, end_p95] = [quantile(&mut start, 0.95), quantile(&mut end, 0.95)];
    let figures =
        [quantile(&mut bare, 0.5), quantile(&mut start, 0.5), start_p95, quantile(&mut end, 0.5), end_p95];
    let figures = figures.map(|time| format!("{:>9.2} ms", time.as_secs_f64() * 1e3));
    println!("{name:<16} {}", figures.join(" "));
}

/// Time until the stamp was made, and until all had ended.
fn run(command: &mut Command, arguments: &[OsString]) -> (Duration, Duration) {
    command.args(arguments).stdin(Stdio::null()).stderr(Stdio::null());
    let begun = unix();
    let output = command.output().expect("it can be started");
    let ended = unix();
    assert!(output.status.success(), "{command:?} fails: {}", output.status);
    let stamp = String::from_utf8_lossy(&output.stdout).trim().parse().expect("it prints a number");
    (Duration::from_nanos(stamp).saturating_sub(begun), ended.saturating_sub(begun))
}

/// The one clock that two processes share.
fn unix() -> Duration {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default()
}

fn quantile(times: &mut [Duration], part: f64) -> Duration {
    times.sort_unstable();
    let last = times.len().saturating_sub(1);
    times.get((last as f64 * part).round() as usize).copied().unwrap_or_default()
}

/// Asks this program for the time at which it runs, in place of what it is for.
const STAMP: &str = "--print-the-time";
