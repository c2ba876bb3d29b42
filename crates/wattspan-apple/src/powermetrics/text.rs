//! The plain form of a report: one figure to a line.

use std::time::Duration;

use wattspan_core::{Ratio, Reading, Watts};

use crate::snapshot::{Snapshot, megahertz, sane};

/// Reads a report; `None` when it has no elapsed time.
pub(crate) fn parse(text: &str) -> Option<Snapshot> {
    let elapsed = text.lines().find_map(elapsed)?;
    let mut snapshot = Snapshot::new(elapsed);
    for line in text.lines() {
        let Some((name, value)) = line.split_once(':') else { continue };
        let value = value.trim();
        match name.trim() {
            "CPU Power" => snapshot.cpu = power(value),
            // The GPU's own section repeats the line.
            "GPU Power" => snapshot.gpu = power(value),
            "ANE Power" => snapshot.npu = power(value),
            "DRAM Power" => snapshot.dram = power(value),
            "Package Power" => snapshot.package = power(value),
            // RAPL's package on Intel, which is the CPU device; the words in brackets differ between releases.
            name if name.starts_with("Intel energy model derived package power") => {
                snapshot.cpu = power(value);
            }
            "GPU active frequency" | "GPU HW active frequency" => {
                if let Some(number) = value.strip_suffix("MHz").and_then(|number| number.trim().parse().ok())
                {
                    snapshot.gpu_clock = megahertz(number);
                }
            }
            "GPU active residency" | "GPU HW active residency" => {
                let percent = value.split('%').next().and_then(|number| number.trim().parse().ok());
                snapshot.gpu_utilization = Reading::from(percent.and_then(Ratio::percent));
            }
            _ => {}
        }
    }
    Some(snapshot)
}

/// `*** Sampled system activity (date) (1004.51ms elapsed) ***`
fn elapsed(line: &str) -> Option<Duration> {
    let before = line.strip_prefix("*** Sampled")?.split("ms elapsed)").next()?;
    let milliseconds: f64 = before.rsplit('(').next()?.trim().parse().ok()?;
    // A day is beyond any interval that powermetrics is asked for.
    (0.001..86_400_000.0).contains(&milliseconds).then(|| Duration::from_secs_f64(milliseconds / 1e3))
}

/// `947 mW` or `1.24W`.
fn power(value: &str) -> Reading<Watts> {
    let (number, scale) = match value.strip_suffix("mW") {
        Some(number) => (number, 1e-3),
        None => match value.strip_suffix('W') {
            Some(number) => (number, 1.0),
            None => return Reading::failed("the power has no unit"),
        },
    };
    match number.trim().parse::<f64>() {
        Ok(number) => sane(number * scale),
        Err(_) => Reading::failed("the power is not a number"),
    }
}
