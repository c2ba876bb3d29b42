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
    config.uncertainty.gamma_part_time = 1.0;
    config.uncertainty.gamma_trailing = 1.0;
    config
}

fn without_gain() -> LedgerConfig {
    let mut config = LedgerConfig::default();
    config.uncertainty = UncertaintyModel::default();
    config.uncertainty.gain = 0.0;
    config
}

/// Ratios of error to unscaled ± by kind of sensor, and by sensor and profile within it.
type Ratios = Vec<(&'static str, Vec<Vec<f64>>)>;

/// The smallest scale, by kind of sensor, that puts 95.5 % of all truths inside ± and 88.5 % of those of each profile.
fn fit(out: &mut impl Write) -> std::io::Result<()> {
    let mut kinds: Ratios = Vec::new();
    for (_, sensor) in SENSORS {
        let kind = match sensor {
            Sensor::Counter { .. } => "counter",
            Sensor::Instant { update, window } if window < 0.9 * update => "part-time power",
            Sensor::Instant { .. } => "instant power",
            Sensor::Mean { .. } => "trailing mean",
        };
        let ratios = trials(sensor, &unscaled(), FIT).into_iter().map(|(_, trials)| {
            let judged = trials.iter().filter(|trial| !trial.below);
            judged.map(|trial| trial.error() / trial.half_width.max(1e-6)).collect()
        });
        match kinds.iter_mut().find(|(known, _)| *known == kind) {
            Some((_, known)) => known.extend(ratios),
            None => kinds.push((kind, ratios.collect())),
        }
    }
    for (kind, profiles) in kinds {
        let mut all: Vec<f64> = profiles.iter().flatten().copied().collect();
        let worst = profiles.into_iter().map(|mut ratios| quantile(&mut ratios, 0.885)).fold(0.0, f64::max);
        let pooled = quantile(&mut all, 0.955);
        writeln!(
            out,
            "{kind}: {:.3} (pooled {pooled:.3}, worst profile {worst:.3}, {} trials)",
            pooled.max(worst),
            all.len()
        )?;
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
