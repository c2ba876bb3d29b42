//! From a device's raw readings to the energy between two refreshes of its sensor.

use std::sync::Arc;
use std::time::Duration;

use wattspan_core::{CounterSpec, Device, DeviceSample, GapReason, Joules, Method, MonoTime};

/// Energy of a device between two refreshes of its sensor, or why it is not known.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Measured {
    /// First refresh.
    pub start: MonoTime,
    /// Last refresh.
    pub end: MonoTime,
    /// The energy, or the reason of a gap.
    pub energy: Result<Joules, GapReason>,
    /// How it was obtained.
    pub method: Method,
}

/// Follows one device's sensor. Feed it every sample in order; it answers with an interval when the sensor has moved.
#[derive(Debug)]
pub struct Meter {
    device: Arc<Device>,
    counter: Option<Counter>,
}

#[derive(Debug)]
struct Counter {
    spec: CounterSpec,
    ticks: u64,
    polled: MonoTime,
    refreshed: MonoTime,
}

impl Meter {
    /// A meter that has seen nothing.
    pub fn new(device: Arc<Device>) -> Self {
        Self { device, counter: None }
    }

    /// The device it follows.
    pub fn device(&self) -> &Arc<Device> {
        &self.device
    }

    /// Takes a sample and adds the intervals that it completes.
    pub fn read(&mut self, sample: &DeviceSample, out: &mut Vec<Measured>) {
        let (Some(spec), Some(ticks)) = (self.device.counter, sample.energy.as_value().copied()) else {
            return;
        };
        let Some(counter) = &mut self.counter else {
            self.counter = Some(Counter { spec, ticks, polled: sample.time, refreshed: sample.time });
            return;
        };
        let since_poll = sample.time.since(counter.polled);
        counter.polled = sample.time;
        if ticks == counter.ticks {
            return;
        }
        // The counter moved somewhere between two polls; half of that is the best guess (docs/measurement.md, rule 3).
        let lag = counter.spec.refresh.unwrap_or(since_poll).min(since_poll) / 2;
        let end = sample.time - lag;
        let energy = match ticks.checked_sub(counter.ticks) {
            Some(moved) => {
                let (numerator, denominator) = counter.spec.microjoules_per_tick;
                Ok(Joules::from_microjoules(
                    i128::from(moved) * i128::from(numerator) / i128::from(denominator.max(1)),
                ))
            }
            None => Err(GapReason::CounterReset),
        };
        if end.since(counter.refreshed) > Duration::ZERO {
            out.push(Measured { start: counter.refreshed, end, energy, method: Method::Counter });
        }
        counter.ticks = ticks;
        counter.refreshed = end;
    }
}
