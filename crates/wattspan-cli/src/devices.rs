//! `wattspan devices`: sensor by sensor, what answers and why the others do not.

use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use serde_json::{Map, Value, json};
use wattspan::core::{Device, DeviceSample, Reading, SampleBuffer, SystemClock};
use wattspan::monitor::EstimateInputs;
use wattspan::{Collectors, Config, Finding, Outcome};

use crate::args::JsonArgs;
use crate::estimate::is_modelled;
use crate::exit::{Failure, OK};
use crate::figures::Figures;
use crate::output::Output;

pub(crate) fn devices(args: &JsonArgs) -> Result<u8, Failure> {
    let config = args.settings.config()?;
    let inputs = config.estimate_inputs();
    let seen = Seen::look(&config);
    let text = if args.json {
        let devices: Vec<Value> = seen.samples.iter().map(|sample| as_json(sample, &inputs)).collect();
        let value = json!({
            "collectors": seen.findings.iter().map(Found::of).collect::<Vec<_>>(),
            "errors": seen.errors,
            "devices": devices,
        });
        format!("{value:#}\n")
    } else {
        as_text(&seen, &inputs)
    };
    Output::Stdout.text(&text).map(|()| OK)
}

/// What a look at the machine's sensors gave.
pub(crate) struct Seen {
    pub(crate) findings: Vec<Finding>,
    pub(crate) samples: Vec<DeviceSample>,
    /// Collectors that could not read anything.
    pub(crate) errors: Vec<String>,
}

impl Seen {
    /// Opens every collector and reads every device, twice, since some readings are differences.
    pub(crate) fn look(config: &Config) -> Self {
        let collectors = Collectors::detect(config);
        let findings = collectors.findings().to_vec();
        let mut opened = collectors.into_inner();
        let (mut samples, mut errors) = (Vec::new(), Vec::new());
        for last in [false, true] {
            samples.clear();
            errors.clear();
            for collector in &mut opened {
                if let Err(error) = collector.sample(&mut SampleBuffer::new(&SystemClock, &mut samples)) {
                    errors.push(format!("{}: {error}", collector.name()));
                }
            }
            if !last && !opened.is_empty() {
                std::thread::sleep(APART);
            }
        }
        Self { findings, samples, errors }
    }
}

/// Two looks that a kernel's clock tick of 10 ms tells apart.
const APART: Duration = Duration::from_millis(50);

/// How a device's energy is known.
pub(crate) fn energy_state(sample: &DeviceSample, inputs: &EstimateInputs) -> (&'static str, Option<String>) {
    let readings = [sample.energy.absence(), sample.power.absence()];
    if readings.iter().any(Option::is_none) {
        return ("measured", None);
    }
    let denied = matches!(sample.energy, Reading::Denied(_)) || matches!(sample.power, Reading::Denied(_));
    let failed = matches!(sample.energy, Reading::Failed(_)) || matches!(sample.power, Reading::Failed(_));
    // The more telling of the two reasons.
    let why = readings.into_iter().flatten().find(|reason| reason != "not supported");
    let why = why.or_else(|| Some("it has no sensor".to_owned()));
    let state = if denied {
        "denied"
    } else if failed {
        "failed"
    } else if is_modelled(sample.device.kind, inputs) && sample.device.is_counted() {
        "estimated"
    } else {
        "missing"
    };
    (state, why)
}

fn as_json(sample: &DeviceSample, inputs: &EstimateInputs) -> Value {
    let device = &sample.device;
    let (state, why) = energy_state(sample, inputs);
    let figures = Figures::of(sample);
    let absent = absences(sample, &figures);
    let mut value = to_map(&**device);
    value.insert("counted".to_owned(), device.is_counted().into());
    value.insert("energy".to_owned(), state.into());
    value.insert("energy_reason".to_owned(), why.into());
    value.insert("energy_counter".to_owned(), sample.energy.is_value().into());
    value.insert("readings".to_owned(), Value::Object(to_map(&figures)));
    value.insert("absent".to_owned(), Value::Object(absent));
    Value::Object(value)
}

fn absences(sample: &DeviceSample, figures: &Figures<'_>) -> Map<String, Value> {
    let readings = figures.each().into_iter().filter_map(|(name, reading)| Some((name, reading.err()?)));
    let counter = sample.energy.absence().map(|reason| ("energy_counter", reason));
    counter.into_iter().chain(readings).map(|(name, reason)| (name.to_owned(), reason.into())).collect()
}

fn to_map(value: &impl Serialize) -> Map<String, Value> {
    match serde_json::to_value(value) {
        Ok(Value::Object(map)) => map,
        _ => Map::new(),
    }
}

fn as_text(seen: &Seen, inputs: &EstimateInputs) -> String {
    let mut lines: Vec<String> = Vec::new();
    for sample in &seen.samples {
        let device = &sample.device;
        let index = device.index.map_or_else(String::new, |index| format!(" {index}"));
        lines.push(format!("{}{index}: {} ({})", device.kind.as_str(), device.name, device.id));
        let (state, why) = energy_state(sample, inputs);
        let how = match (state, sample.energy.is_value(), sample.power.is_value()) {
            ("measured", true, true) => ": energy counter and power sensor".to_owned(),
            ("measured", true, false) => ": energy counter".to_owned(),
            ("measured", ..) => ": power sensor".to_owned(),
            _ => why.map_or_else(String::new, |why| format!(": {why}")),
        };
        lines.push(format!("  {:<28} {state}{how}", "energy"));
        if let Some(parent) = &device.parent {
            lines.push(format!("  {:<28} {parent}, which counts its energy", "part of"));
        }
        for (name, reading) in Figures::of(sample).each() {
            let reading = reading.unwrap_or_else(|reason| format!("– {reason}"));
            lines.push(format!("  {name:<28} {reading}"));
        }
        if let Some(note) = &device.note {
            lines.push(format!("  {:<28} {note}", "note"));
        }
    }
    if seen.samples.is_empty() {
        lines.push("no device was found".to_owned());
    }
    lines.push("collectors:".to_owned());
    lines.extend(seen.findings.iter().map(|finding| format!("  {finding}")));
    lines.extend(seen.errors.iter().map(|error| format!("  {error}")));
    lines.join("\n") + "\n"
}

/// A finding as JSON has it.
#[derive(Serialize)]
pub(crate) struct Found<'a> {
    collector: &'a str,
    outcome: &'static str,
    reason: Option<String>,
    devices: Vec<&'a str>,
}

impl<'a> Found<'a> {
    pub(crate) fn of(finding: &'a Finding) -> Self {
        let ids = |devices: &'a [Arc<Device>]| devices.iter().map(|device| device.id.as_str()).collect();
        let (outcome, reason, devices) = match &finding.outcome {
            Outcome::Found(devices) => ("found", None, ids(devices)),
            Outcome::Absent => ("absent", None, Vec::new()),
            Outcome::Failed(reason) => ("failed", Some(reason.clone()), Vec::new()),
            Outcome::Off(setting) => ("off", Some(format!("off by {setting}")), Vec::new()),
            Outcome::NotCompiled => ("not_compiled", None, Vec::new()),
            _ => ("unknown", Some(finding.to_string()), Vec::new()),
        };
        Self { collector: finding.collector, outcome, reason, devices }
    }
}
