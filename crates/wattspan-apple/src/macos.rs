//! The two sources of macOS: macmon on a thread of its own, and `powermetrics` as a child.

// `geteuid` has no safe form in libc.
#![allow(unsafe_code)]

use std::process::{Command, Stdio};
use std::sync::mpsc::Receiver;
use std::time::Duration;

use wattspan_core::OpenError;

use crate::worker::{self, Message, UNNAMED_CHIP, Worker};

/// Starts `powermetrics` where this process may; never asks for rights.
pub(crate) fn powermetrics(interval: Duration) -> Result<(Worker, Receiver<Message>, String), OpenError> {
    // SAFETY: the function takes nothing, cannot fail and touches no memory of ours.
    let user = unsafe { libc::geteuid() };
    if user != 0 {
        return Err(OpenError::Denied {
            what: "powermetrics".to_owned(),
            remedy: "run as root, or start `sudo powermetrics -f plist` yourself and hand over its output"
                .into(),
        });
    }
    let broken = |error: std::io::Error| OpenError::Broken {
        what: "powermetrics".to_owned(),
        remedy: "check that /usr/bin/powermetrics runs".into(),
        source: Some(Box::new(error)),
    };
    // An absolute path: a program of that name in $PATH must not be run as root.
    let mut child = Command::new("/usr/bin/powermetrics")
        .args(["--samplers", SAMPLERS, "--format", format(), "--sample-rate"])
        .arg(interval.as_millis().to_string())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(broken)?;
    let Some(output) = child.stdout.take() else {
        // Dropping the worker ends the child.
        drop(Worker::with_child(child));
        return Err(broken(std::io::ErrorKind::BrokenPipe.into()));
    };
    let (_, messages) = worker::read(output);
    let chip = if cfg!(target_arch = "aarch64") { UNNAMED_CHIP } else { "Intel" };
    Ok((Worker::with_child(child), messages, chip.to_owned()))
}

const SAMPLERS: &str = "cpu_power,gpu_power";

/// Intel's package power is in the plain form only.
const fn format() -> &'static str {
    if cfg!(target_arch = "aarch64") { "plist" } else { "text" }
}

#[cfg(target_arch = "aarch64")]
pub(crate) use apple_silicon::macmon;

#[cfg(target_arch = "aarch64")]
mod apple_silicon {
    use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
    use std::thread;
    use std::time::{Duration, Instant};

    use macmon::{Metrics, Sampler};
    use wattspan_core::OpenError;

    use crate::snapshot::Macmon;
    use crate::worker::{self, Message, Worker};

    /// Starts a sampler on a thread of its own: it holds raw pointers, so that it can neither be moved there nor back,
    /// and it sleeps for each interval.
    pub(crate) fn macmon(interval: Duration) -> Result<(Worker, Receiver<Message>, String), OpenError> {
        let (sender, messages) = worker::queue();
        let (ready, started) = sync_channel(1);
        let thread = thread::Builder::new()
            .name("wattspan-macmon".to_owned())
            .spawn(move || run(interval, &ready, &sender));
        let broken = |reason: String| OpenError::Broken {
            what: "macmon".to_owned(),
            remedy: format!("{reason}; try the source `powermetrics`").into(),
            source: None,
        };
        thread.map_err(|error| broken(error.to_string()))?;
        match started.recv_timeout(START) {
            Ok(Ok(chip)) => Ok((Worker::default(), messages, chip)),
            Ok(Err(reason)) => Err(broken(reason)),
            Err(_) => Err(broken("the sampler did not start in time".to_owned())),
        }
    }

    /// Opening the chip's sensors takes a fraction of a second.
    const START: Duration = Duration::from_secs(10);

    /// Longest pause between two attempts after a failure.
    const LONGEST_PAUSE: Duration = Duration::from_secs(30);

    fn run(interval: Duration, ready: &SyncSender<Result<String, String>>, sender: &SyncSender<Message>) {
        let mut sampler = match Sampler::new() {
            Ok(sampler) => sampler,
            Err(error) => {
                // Whoever opened may have given up; then nobody needs the reason.
                let _ = ready.send(Err(error.to_string()));
                return;
            }
        };
        if ready.send(Ok(sampler.get_soc_info().chip_name.clone())).is_err() {
            return;
        }
        let milliseconds = u32::try_from(interval.as_millis()).unwrap_or(u32::MAX);
        let mut pause = interval;
        // macmon measures from one call's end to the next and does not return that length, so it is measured here.
        let mut before = Instant::now();
        loop {
            match sampler.get_metrics(milliseconds) {
                Ok(metrics) => {
                    let at = Instant::now();
                    let snapshot = Box::new(figures(&metrics).snapshot(at - before));
                    before = at;
                    pause = interval;
                    if sender.send(Message::Interval { snapshot, at }).is_err() {
                        return;
                    }
                }
                Err(error) => {
                    if sender.send(Message::Trouble(error.to_string())).is_err() {
                        return;
                    }
                    thread::sleep(pause);
                    pause = (pause * 2).min(LONGEST_PAUSE);
                    if let Ok(fresh) = Sampler::new() {
                        sampler = fresh;
                    }
                    before = Instant::now();
                }
            }
        }
    }

    fn figures(metrics: &Metrics) -> Macmon {
        Macmon {
            cpu_power: metrics.cpu_power,
            gpu_power: metrics.gpu_power,
            ane_power: metrics.ane_power,
            ram_power: metrics.ram_power,
            sys_power: metrics.sys_power,
            cpu_active: metrics.cpu_active_ratio,
            gpu_active: metrics.gpu_active_ratio,
            gpu_mhz: metrics.gpu_freq_mhz,
            cpu_temperature: metrics.temp.cpu_temp_avg,
            gpu_temperature: metrics.temp.gpu_temp_avg,
            memory_used: metrics.memory.ram_usage,
            memory_total: metrics.memory.ram_total,
        }
    }
}
