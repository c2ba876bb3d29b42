//! Lines of text: one for each interval, for `watch` where there is no terminal and beside a measured command.

use std::fmt::Write as _;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use wattspan::core::{
    Device, DeviceId, DeviceKind, DeviceSample, Joules, Reading, SampleSink, SampleTick, ServerStats, Watts,
};
use wattspan::monitor::Snapshot;

use crate::json_lines::EARLY;
use crate::output::say;

/// One moment of all devices and servers.
pub(super) fn line(elapsed: Duration, snapshot: &Snapshot) -> String {
    let energy = total_energy(snapshot);
    let mut text = format!(
        "{:>8.1} s  {}  {}",
        elapsed.as_secs_f64(),
        shown(&snapshot.total_power()),
        energy.map_or_else(|| "–".to_owned(), |energy| energy.to_string())
    );
    for device in &snapshot.devices {
        let energy = device.method.map(|_| device.energy.total());
        text.push_str(&of_device(&device.sample, &device.power, energy));
    }
    for server in &snapshot.servers {
        text.push_str(&of_server(server));
    }
    text
}

/// Energy of all counted devices since the start. **Absent** while none was measured.
pub(super) fn total_energy(snapshot: &Snapshot) -> Option<Joules> {
    let counted =
        snapshot.devices.iter().filter(|device| device.device().is_counted() && device.method.is_some());
    counted.map(|device| device.energy.total()).reduce(|sum, more| sum + more)
}

fn of_device(sample: &DeviceSample, power: &Reading<Watts>, energy: Option<Joules>) -> String {
    let gauges = &sample.gauges;
    let mut text = format!("  | {} {}", label(&sample.device), shown(power));
    if let Some(energy) = energy {
        push(&mut text, &energy.to_string());
    }
    let utilization = gauges.utilization.as_value().map(ToString::to_string);
    for figure in [utilization, memory(sample)].iter().flatten() {
        push(&mut text, figure);
    }
    if let Some(temperature) = gauges.temperature.as_value() {
        push(&mut text, &temperature.to_string());
    }
    text
}

fn of_server(server: &ServerStats) -> String {
    let mut text = format!("  | {}", server.server);
    match &server.tokens_per_second {
        Reading::Value(rate) => push(&mut text, &format!("{rate:.1} tokens/s")),
        absent => push(&mut text, &format!("– tokens/s ({})", absent.absence().unwrap_or_default())),
    }
    if let (Reading::Value(busy), Reading::Value(slots)) = (&server.busy_slots, &server.slots) {
        push(&mut text, &format!("{busy}/{slots} slots"));
    }
    if let Reading::Value(queued) = &server.queued {
        push(&mut text, &format!("{queued} waiting"));
    }
    text
}

pub(super) fn memory(sample: &DeviceSample) -> Option<String> {
    let used = sample.gauges.memory_used.as_value()?;
    Some(match sample.gauges.memory_total.as_value() {
        Some(total) => format!("{used} of {total}"),
        None => used.to_string(),
    })
}

fn push(text: &mut String, figure: &str) {
    // Writing to a string does not fail.
    let _ = write!(text, " {figure}");
}

pub(super) fn label(device: &Device) -> String {
    match (device.kind, device.index) {
        (DeviceKind::Gpu, Some(index)) => format!("gpu{index}"),
        (kind, Some(index)) => format!("{}{index}", kind.as_str()),
        (kind, None) => kind.as_str().to_owned(),
    }
}

pub(super) fn shown<T: ToString>(reading: &Reading<T>) -> String {
    reading.as_value().map_or_else(|| "–".to_owned(), ToString::to_string)
}

/// The same lines on standard error while a command is measured.
pub(crate) struct Console {
    every: Duration,
    state: Mutex<ConsoleState>,
}

#[derive(Default)]
struct ConsoleState {
    begun: Option<Instant>,
    written: Option<Instant>,
    energy: std::collections::BTreeMap<DeviceId, (Joules, Duration)>,
}

impl Console {
    pub(crate) fn new(every: Duration) -> Self {
        Self { every, state: Mutex::default() }
    }
}

impl SampleSink for Console {
    fn sampled(&self, tick: &SampleTick<'_>) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let begun = *state.begun.get_or_insert_with(Instant::now);
        for interval in tick.intervals.iter().filter(|interval| interval.gap.is_none()) {
            let (energy, time) = state.energy.entry(interval.device.clone()).or_default();
            *energy += interval.energy.total();
            *time += interval.end.since(interval.start);
        }
        if state.written.is_some_and(|written| written.elapsed() < self.every.mul_f64(EARLY)) {
            return;
        }
        state.written = Some(Instant::now());
        let mut text = format!("wattspan: {:>8.1} s", begun.elapsed().as_secs_f64());
        for sample in tick.samples {
            let energy = state.energy.get(&sample.device.id).copied();
            let power = match (&sample.power, energy) {
                (Reading::NotSupported, Some((energy, time))) => (energy / time).into(),
                (reading, _) => reading.clone(),
            };
            text.push_str(&of_device(sample, &power, energy.map(|(energy, _)| energy)));
        }
        say(&text);
    }
}
