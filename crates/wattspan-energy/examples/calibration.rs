//! Prints how often the truth lies inside ± on simulated devices, and how wide ± is: the table of `docs/calibration.md`.
//!
//! `cargo run -p wattspan-energy --example calibration` judges the constants of the crate on seeds that they were not
//! fitted on; with `-- fit` it fits them again on their own seeds.

#[path = "../tests/support/mod.rs"]
mod support;

use std::io::Write;

use support::{Coupling, SENSORS, Sensor, Trial, quantile, summary, trials};
use wattspan_energy::{LedgerConfig, UncertaintyModel};

fn main() -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    if std::env::args().any(|argument| argument == "fit") { fit(&mut out) } else { judge(&mut out) }
}

/// A model whose ± is all random, as the simulated sensors have no gain, and which is not scaled.
fn unscaled() -> LedgerConfig {
    let mut config = without_gain();
    config.uncertainty.gamma_counter = 1.0;
    config.uncertainty.gamma_instant = 1.0;
    config.uncertainty.gamma_trailing = 1.0;
    config
}

fn without_gain() -> LedgerConfig {
    let mut config = LedgerConfig::default();
    config.uncertainty = UncertaintyModel::default();
    config.uncertainty.gain = 0.0;
    config
}

/// Scales that put 95.5 % of the truths inside ±, by kind of sensor.
fn fit(out: &mut impl Write) -> std::io::Result<()> {
    let mut kinds: Vec<(&str, Vec<f64>)> = Vec::new();
    for (name, sensor) in SENSORS {
        let kind = match sensor {
            Sensor::Counter { .. } => "counter",
            Sensor::Instant { .. } => "instant",
            Sensor::Mean { .. } => "trailing mean",
        };
        let all = trials(sensor, &unscaled(), FIT);
        let mut ratios: Vec<f64> = all
            .iter()
            .flat_map(|(_, trials)| trials)
            .filter(|trial| !trial.below)
            .map(|trial| trial.error() / trial.half_width.max(1e-6))
            .collect();
        writeln!(out, "{name}: {:.3} ({} trials)", quantile(&mut ratios, 0.955), ratios.len())?;
        match kinds.iter_mut().find(|(known, _)| *known == kind) {
            Some((_, known)) => known.extend(ratios),
            None => kinds.push((kind, ratios)),
        }
    }
    for (kind, mut ratios) in kinds {
        writeln!(out, "γ of {kind}: {:.3}", quantile(&mut ratios, 0.955))?;
    }
    Ok(())
}

fn judge(out: &mut impl Write) -> std::io::Result<()> {
    writeln!(
        out,
        "| sensor | profile | trials | inside ± | median ± J | P95 of error J | ratio | too short | inside bounds |"
    )?;
    writeln!(out, "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")?;
    for (name, sensor) in SENSORS {
        let all = trials(sensor, &without_gain(), JUDGE);
        for ((shape, coupling), trials) in &all {
            row(out, name, &format!("{shape:?}, {coupling:?}").to_lowercase(), &mut trials.iter())?;
        }
        let causal = all.iter().filter(|((_, coupling), _)| *coupling == Coupling::Causal);
        row(out, name, "**all causal**", &mut causal.flat_map(|(_, trials)| trials))?;
        row(out, name, "**all**", &mut all.iter().flat_map(|(_, trials)| trials))?;
    }
    Ok(())
}

fn row(
    out: &mut impl Write,
    sensor: &str,
    profile: &str,
    trials: &mut dyn Iterator<Item = &Trial>,
) -> std::io::Result<()> {
    let (below, rest): (Vec<&Trial>, Vec<&Trial>) = trials.partition(|trial| trial.below);
    let found = summary(rest.into_iter());
    let inside = below.iter().filter(|trial| trial.within_bounds).count();
    let bounds = if below.is_empty() {
        String::new()
    } else {
        format!("{:.1} %", 100.0 * inside as f64 / below.len() as f64)
    };
    writeln!(
        out,
        "| {sensor} | {profile} | {} | {:.1} % | {:.2} | {:.2} | {:.2} | {} | {bounds} |",
        found.trials,
        100.0 * found.coverage,
        found.median_half_width,
        found.p95_error,
        found.median_half_width / found.p95_error,
        below.len(),
    )
}

/// Seeds on which the scales are fitted.
const FIT: std::ops::Range<u64> = 1_000..1_024;
/// Seeds on which they are judged.
const JUDGE: std::ops::Range<u64> = 2_000..2_024;
