//! What `powermetrics` prints, as pure functions of its text: property lists (`-f plist`) and its plain form.
//!
//! **Source** powermetrics(1). Its plist counts energy in millijoules over `elapsed_ns`; its text has milliwatts, and on
//! Intel the watts of the package from RAPL.

mod plist;
mod split;
mod text;

use std::collections::BTreeMap;
use std::time::Duration;

use wattspan_core::{Hertz, Joules, Ratio, Reading, Watts};

use crate::snapshot::{Snapshot, mean, sane};
use plist::Value;
pub(crate) use split::{Format, Splitter};

/// Why a report could not be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PowermetricsError {
    /// Not a property list.
    #[error("powermetrics printed no property list: {0}")]
    Plist(String),
    /// The report lacks the length of its interval, without which no energy can be told.
    #[error("the report of powermetrics has no elapsed time")]
    NoElapsed,
}

/// Reads one report that was printed with `-f plist`.
///
/// # Errors
/// When it is not a property list, or has no elapsed time.
pub fn powermetrics_plist(text: &str) -> Result<Snapshot, PowermetricsError> {
    let Value::Dict(report) = plist::parse(text)? else {
        return Err(PowermetricsError::Plist("its outermost value is not a dictionary".to_owned()));
    };
    let elapsed = report.get("elapsed_ns").and_then(Value::number).filter(|ns| *ns >= 1.0 && *ns < 1e18);
    let elapsed = Duration::from_nanos(elapsed.ok_or(PowermetricsError::NoElapsed)? as u64);
    let mut snapshot = Snapshot::new(elapsed);
    let empty = BTreeMap::new();
    let dict = |key: &str| match report.get(key) {
        Some(Value::Dict(dict)) => dict,
        _ => &empty,
    };
    let (processor, gpu) = (dict("processor"), dict("gpu"));
    snapshot.cpu = part(processor, "cpu", elapsed);
    snapshot.gpu = part(processor, "gpu", elapsed).or_else(|| part(gpu, "gpu", elapsed));
    snapshot.npu = part(processor, "ane", elapsed);
    snapshot.dram = part(processor, "dram", elapsed);
    snapshot.package = part(processor, "package", elapsed);
    // An Intel package counts cores, graphics and uncore together: it is the CPU device, as RAPL's package is elsewhere.
    let intel = || processor.get("package_watts").and_then(Value::number).map_or(Reading::NotSupported, sane);
    snapshot.cpu = snapshot.cpu.or_else(intel);
    let idle = |dict: &BTreeMap<String, Value>| dict.get("idle_ratio").and_then(Value::number);
    snapshot.gpu_utilization = Reading::from(idle(gpu).and_then(|idle| Ratio::share(1.0 - idle)));
    snapshot.gpu_clock = Reading::from(gpu.get("freq_hz").and_then(Value::number).and_then(|hertz| {
        // Releases differ in whether the figure is hertz or megahertz; no GPU runs below 10 kHz or above 10 GHz.
        Hertz::new(if hertz < 1e4 { hertz * 1e6 } else { hertz }).filter(|hertz| hertz.hertz() > 0.0)
    }));
    snapshot.cpu_utilization = cpu_load(processor);
    no_sensor(&mut snapshot);
    Ok(snapshot)
}

/// Reads one report of the plain form, from its line `*** Sampled system activity` on.
///
/// # Errors
/// When it has no elapsed time.
pub fn powermetrics_text(text: &str) -> Result<Snapshot, PowermetricsError> {
    let mut snapshot = text::parse(text).ok_or(PowermetricsError::NoElapsed)?;
    no_sensor(&mut snapshot);
    Ok(snapshot)
}

/// Power of a part: its millijoules over the interval, which are exact, else its milliwatts.
fn part(dict: &BTreeMap<String, Value>, name: &str, elapsed: Duration) -> Reading<Watts> {
    if let Some(millijoules) = dict.get(&format!("{name}_energy")).and_then(Value::number) {
        return match Joules::new(millijoules / 1e3) {
            Some(energy) => mean(energy, elapsed),
            None => Reading::failed("the energy is not a number"),
        };
    }
    let milliwatts = dict.get(&format!("{name}_power")).and_then(Value::number);
    milliwatts.map_or(Reading::NotSupported, |milliwatts| sane(milliwatts / 1e3))
}

/// Mean load of all cores, from their idle ratios.
fn cpu_load(processor: &BTreeMap<String, Value>) -> Reading<Ratio> {
    let array = |value: Option<&Value>| match value {
        Some(Value::Array(items)) => items.clone(),
        _ => Vec::new(),
    };
    let mut busy = Vec::new();
    for cluster in array(processor.get("clusters")) {
        let Value::Dict(cluster) = cluster else { continue };
        for core in array(cluster.get("cpus")) {
            let Value::Dict(core) = core else { continue };
            // A core that is powered down counts as idle beside its idle time.
            let part = |key: &str| core.get(key).and_then(Value::number).unwrap_or(0.0);
            if core.contains_key("idle_ratio") {
                busy.push(1.0 - part("idle_ratio") - part("down_ratio"));
            }
        }
    }
    if busy.is_empty() {
        return Reading::NotSupported;
    }
    let mean = busy.iter().sum::<f64>() / busy.len() as f64;
    Reading::from(Ratio::share(mean))
}

/// A report in which every power is zero comes from a machine without the sensors.
fn no_sensor(snapshot: &mut Snapshot) {
    let parts = [&snapshot.cpu, &snapshot.gpu, &snapshot.npu, &snapshot.dram, &snapshot.package];
    let any = parts.iter().any(|power| power.as_value().is_some_and(|power| power.watts() > 0.0));
    if !any {
        for power in [
            &mut snapshot.cpu,
            &mut snapshot.gpu,
            &mut snapshot.npu,
            &mut snapshot.dram,
            &mut snapshot.package,
        ] {
            if power.is_value() {
                *power = Reading::NotSupported;
            }
        }
    }
}
