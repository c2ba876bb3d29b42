//! A wall meter's recording against the devices' power.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::ValidateError;
use super::report::{NO_METER, Validation};

/// `P_wall = slope · P_devices + offset`, fitted on the first two thirds and judged on the last.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct MeterFit {
    /// Watts at the wall by watt of the devices: the power supply's loss, and the devices' gain.
    pub slope: f64,
    /// Half-width of its 95 % interval.
    pub slope_half_width: f64,
    /// What the rest of the machine draws.
    pub offset_watts: f64,
    /// By how much the meter's clock is ahead.
    pub clock_ahead_seconds: f64,
    /// Held-out windows.
    pub windows: u32,
    /// Those in which the meter's energy lies within ± of the fit's.
    pub inside: u32,
}

impl MeterFit {
    /// Whether 19 of 20 held-out windows are inside their ±.
    pub fn agrees(&self) -> bool {
        self.windows > 0 && self.inside * 20 >= self.windows * 19
    }
}

impl Validation {
    /// Adds a meter's recording: lines of `unix seconds,watts`, at least one a second, with or without a header.
    ///
    /// # Errors
    /// [`ValidateError::Meter`] when a line cannot be read, or the recording and the run have less than a minute in
    /// common.
    pub fn with_meter(mut self, csv: &str) -> Result<Self, ValidateError> {
        let meter = parse(csv)?;
        let fit = fit(self.start_unix_seconds, &self.power_watts, &meter)?;
        for device in &mut self.devices {
            device.gain_ratio = fit.slope_half_width / fit.slope.abs().max(f64::MIN_POSITIVE);
        }
        self.meter = Some(fit);
        self.skipped.retain(|text| text != NO_METER);
        self.judge();
        Ok(self)
    }
}

fn wrong(reason: impl Into<String>) -> ValidateError {
    ValidateError::Meter { reason: reason.into() }
}

fn parse(csv: &str) -> Result<Vec<(f64, f64)>, ValidateError> {
    let mut rows: Vec<(f64, f64)> = Vec::new();
    for (index, line) in csv.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let mut cells = line.split([',', ';', '\t']).map(|cell| cell.trim().parse::<f64>());
        match (cells.next(), cells.next()) {
            (Some(Ok(time)), Some(Ok(watts))) if time.is_finite() && watts.is_finite() => {
                if rows.last().is_some_and(|(last, _)| *last >= time) {
                    return Err(wrong(format!("line {}: times must grow", index + 1)));
                }
                rows.push((time, watts));
            }
            // A header.
            _ if rows.is_empty() => {}
            _ => return Err(wrong(format!("line {}: give unix seconds and watts", index + 1))),
        }
    }
    Ok(rows)
}

/// Mean of the meter between two times; its readings hold until the next. **Absent** where they are more than a second
/// and a half apart.
fn mean(meter: &[(f64, f64)], from: f64, to: f64) -> Option<f64> {
    let first = meter.partition_point(|(time, _)| *time <= from).checked_sub(1)?;
    let mut energy = 0.0;
    for (index, (time, watts)) in meter.iter().enumerate().skip(first) {
        let next = meter.get(index + 1)?.0;
        if next - time > 1.5 {
            return None;
        }
        energy += watts * (next.min(to) - time.max(from)).max(0.0);
        if next >= to {
            return Some(energy / (to - from));
        }
    }
    None
}

/// Seconds that both have, as (device, wall), with the meter's clock moved back.
fn pairs(start: f64, power: &[Option<f64>], meter: &[(f64, f64)], ahead: f64) -> Vec<(f64, f64)> {
    let second = |(index, device): (usize, &Option<f64>)| {
        let from = start + index as f64 + ahead;
        Some(((*device)?, mean(meter, from, from + 1.0)?))
    };
    power.iter().enumerate().filter_map(second).collect()
}

/// Least squares: slope, offset, half-width of the slope, standard deviation of what is left, and the correlation.
fn line(pairs: &[(f64, f64)]) -> Option<(f64, f64, f64, f64, f64)> {
    let count = pairs.len() as f64;
    let (mean_x, mean_y) = (
        pairs.iter().map(|(x, _)| x).sum::<f64>() / count,
        pairs.iter().map(|(_, y)| y).sum::<f64>() / count,
    );
    let (mut xx, mut xy, mut yy) = (0.0, 0.0, 0.0);
    for (x, y) in pairs {
        xx += (x - mean_x).powi(2);
        xy += (x - mean_x) * (y - mean_y);
        yy += (y - mean_y).powi(2);
    }
    let slope = xy / xx;
    let offset = mean_y - slope * mean_x;
    let left: f64 = pairs.iter().map(|(x, y)| (y - slope * x - offset).powi(2)).sum();
    let deviation = (left / (count - 2.0)).sqrt();
    let half_width = 1.96 * deviation / xx.sqrt();
    let all = (slope, offset, half_width, deviation, xy / (xx * yy).sqrt());
    (pairs.len() > 2 && slope.is_finite() && half_width.is_finite()).then_some(all)
}

fn fit(start: f64, power: &[Option<f64>], meter: &[(f64, f64)]) -> Result<MeterFit, ValidateError> {
    // The clocks are aligned by the load's own steps.
    let ahead = (-50..=50)
        .map(|tenths| f64::from(tenths) / 10.0)
        .filter_map(|ahead| Some((ahead, line(&pairs(start, power, meter, ahead))?.4)))
        .filter(|(_, correlation)| correlation.is_finite())
        .max_by(|one, other| one.1.total_cmp(&other.1).then(other.0.abs().total_cmp(&one.0.abs())))
        .map(|(ahead, _)| ahead)
        .ok_or_else(|| wrong("it has no time in common with the run, or the load never changed"))?;
    let pairs = pairs(start, power, meter, ahead);
    if pairs.len() < LEAST.as_secs() as usize {
        return Err(wrong(format!("it has {} s in common with the run; {LEAST:?} are needed", pairs.len())));
    }
    let (fitted, held_out) = pairs.split_at(pairs.len() * 2 / 3);
    let (slope, offset, half_width, deviation, _) =
        line(fitted).ok_or_else(|| wrong("the load never changed: there is nothing to fit"))?;
    let length = (held_out.len() / 20).max(1);
    let (mut windows, mut inside) = (0, 0);
    for window in held_out.chunks_exact(length) {
        let device: f64 = window.iter().map(|(x, _)| x).sum();
        let wall: f64 = window.iter().map(|(_, y)| y).sum();
        let count = window.len() as f64;
        // What is left of the fit second by second, the slope's own width, and the meter's step of a tenth of a watt.
        let random = 1.96 * deviation * count.sqrt();
        let allowed = random.hypot(half_width * device).hypot(0.1 * count);
        windows += 1;
        inside += u32::from((wall - slope * device - offset * count).abs() <= allowed);
    }
    Ok(MeterFit {
        slope,
        slope_half_width: half_width,
        offset_watts: offset,
        clock_ahead_seconds: ahead,
        windows,
        inside,
    })
}

/// Least time that run and recording must have in common.
const LEAST: Duration = Duration::from_secs(60);
