//! Gathers what a report needs, poll by poll. Fed by settlement, read by whoever holds the report's monitor.

use std::collections::{BTreeMap, HashSet};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use wattspan_core::{
    Device, DeviceId, DeviceKind, DeviceSample, Estimate, GapReason, InferenceRecord, IntervalEnergy, Joules,
    MonoTime, Ratio, ServerStats, Watts,
};
use wattspan_energy::{Measured, window_energy};

use super::data::{Data, DeviceData, Embodiment, Segment};
use super::inferences::Row;
use super::report::PerformanceReport;
use crate::board::Rates;
use crate::estimate::{EstimateInputs, Window};
use crate::link::Link;

/// One poll, as a recorder sees it.
pub(crate) struct Tick<'a> {
    pub(crate) time: MonoTime,
    pub(crate) samples: &'a [DeviceSample],
    pub(crate) measured: &'a [(Arc<Device>, Measured)],
    pub(crate) intervals: &'a [IntervalEnergy],
    /// Devices whose sensor has answered at least once.
    pub(crate) answered: &'a HashSet<DeviceId>,
    pub(crate) servers: &'a [ServerStats],
    /// Power of all counted devices together.
    pub(crate) power: Option<Watts>,
    pub(crate) rates: Rates,
    /// Earliest end of an inference that waits for its settlement.
    pub(crate) pending: Option<MonoTime>,
    pub(crate) last: bool,
}

/// Records from its making on.
pub(crate) struct Recorder {
    name: Arc<str>,
    epoch: u64,
    from: MonoTime,
    estimate: EstimateInputs,
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    data: Data,
    live: BTreeMap<DeviceId, Live>,
    until: Option<MonoTime>,
    ticked: Option<MonoTime>,
    complete: bool,
    servers: BTreeMap<Arc<str>, MonoTime>,
    embodiment: Option<Embodiment>,
    /// CPU time of all processes, which every CPU device tells alike: first and last reading in the window.
    busy: Option<[(MonoTime, Duration); 2]>,
}

/// What is needed of a device only while it is recorded.
#[derive(Default)]
struct Live {
    /// Up to here its intervals are closed.
    closed_to: Option<MonoTime>,
    gap: Option<(GapReason, MonoTime)>,
    /// Its last sample had neither energy nor power.
    dark: bool,
    /// Its sensor has answered at least once.
    answered: bool,
    /// How uncertain the time of its last refresh is.
    lag: Option<Duration>,
    short: Option<Short>,
    /// The intervals that decide the bound: lowest and highest power, longest refresh and lag, largest step.
    extremes: [Option<Measured>; 5],
}

/// Intervals that are too short to tell power one by one.
struct Short {
    start: MonoTime,
    end: MonoTime,
    energy: Joules,
    /// How uncertain the time of its start is.
    lag: Duration,
}

impl Live {
    fn measured(&mut self, measured: &Measured) {
        let more: [fn(&Measured, &Measured) -> bool; 5] = [
            |new, known| power_of(new) < power_of(known),
            |new, known| power_of(new) > power_of(known),
            |new, known| new.refresh.unwrap_or(new.length()) > known.refresh.unwrap_or(known.length()),
            |new, known| new.lag > known.lag,
            |new, known| new.resolution > known.resolution,
        ];
        for (slot, beats) in self.extremes.iter_mut().zip(more) {
            if slot.as_ref().is_none_or(|known| beats(measured, known)) {
                *slot = Some(measured.clone());
            }
        }
    }

    /// Mean power of an interval, or of some together that are too short to tell it one by one: over a few milliseconds
    /// the counter's step, and what is not known of the times of its refreshes, make any power.
    fn power(&mut self, measured: &Measured) -> Option<Watts> {
        // Of the first one's start nothing is known.
        let lag = self.lag.replace(measured.lag).unwrap_or(measured.length() / 2);
        let energy = *measured.energy.as_ref().ok()?;
        let before = self.short.take().filter(|short| short.end == measured.start);
        let mut all =
            before.unwrap_or(Short { start: measured.start, end: measured.end, energy: Joules::ZERO, lag });
        all.end = measured.end;
        all.energy += energy;
        // A refresh is met early or late by a poll, so that what is a quarter short is a whole one.
        let refresh = measured.refresh.unwrap_or_default().mul_f64(0.75);
        let length = all.end.since(all.start);
        if length < refresh.max(SHORTEST).max((all.lag + measured.lag) * 2) {
            self.short = Some(all);
            return None;
        }
        all.energy / length
    }

    fn bound(&self, from: MonoTime, to: MonoTime) -> Option<Joules> {
        let kept: Vec<Measured> = self.extremes.iter().flatten().cloned().collect();
        window_energy(&kept, from, to).map(|window| window.bound)
    }
}

fn power_of(measured: &Measured) -> f64 {
    measured.power().map_or(0.0, Watts::watts)
}

impl Recorder {
    pub(crate) fn new(link: &Link, embodiment: Option<Embodiment>) -> Self {
        let data = Data { overhead: link.overhead, ..Data::default() };
        Self {
            name: Arc::clone(&link.name),
            epoch: link.epoch_unix_nanos,
            from: link.clock.mono(),
            estimate: link.estimate.clone(),
            state: Mutex::new(State {
                data,
                live: BTreeMap::new(),
                until: None,
                ticked: None,
                complete: false,
                servers: BTreeMap::new(),
                embodiment,
                busy: None,
            }),
            changed: Condvar::new(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn unix(&self, time: MonoTime) -> u64 {
        self.epoch.saturating_add(time.nanos())
    }

    /// The window ends; the first end stands.
    pub(crate) fn end(&self, at: MonoTime) {
        self.lock().until.get_or_insert(at);
    }

    /// Waits until everything up to the end is in, or until the time is up.
    pub(crate) fn wait_complete(&self, timeout: Duration) -> bool {
        let until = Instant::now() + timeout;
        self.wait(until, |state| state.complete)
    }

    /// Waits until a poll has been seen, or until the time is up.
    pub(crate) fn wait_ticked(&self, timeout: Duration) -> bool {
        self.wait(Instant::now() + timeout, |state| state.ticked.is_some())
    }

    fn wait(&self, until: Instant, done: impl Fn(&State) -> bool) -> bool {
        let mut state = self.lock();
        while !done(&state) {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            state = self.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        true
    }

    pub(crate) fn tick(&self, tick: &Tick<'_>) {
        let mut state = self.lock();
        // Devices are known from the first poll on, even if the window is over by then.
        for sample in tick.samples {
            let device = state.device(&sample.device).device.id.clone();
            let dark = !sample.energy.is_value() && !sample.power.is_value();
            let answered = tick.answered.contains(&device);
            let live = state.live.entry(device).or_default();
            live.dark = dark;
            live.answered |= answered;
        }
        let open = state.until.is_none_or(|until| tick.time <= until);
        if open && tick.time >= self.from {
            state.data.snapshots += 1;
            for sample in tick.samples {
                state.sample(sample);
            }
            state.busy(tick.samples);
            if let Some(power) = tick.power {
                state.data.power.add(power.watts());
            }
            for stats in tick.servers {
                state.server(stats, self.from);
            }
        }
        for (device, measured) in tick.measured {
            let power = state.live.entry(device.id.clone()).or_default().power(measured);
            let inside = measured.end > self.from && state.until.is_none_or(|until| measured.start < until);
            if let Some(power) = power.filter(|_| inside) {
                state.device(device).power.add(power.watts());
            }
            let reach = measured.refresh.unwrap_or(measured.length()).max(measured.length());
            let after = state.until.is_some_and(|until| measured.start > until + reach);
            if measured.end + reach >= self.from && !after && measured.energy.is_ok() {
                state.device(device);
                state.live.entry(device.id.clone()).or_default().measured(measured);
            }
        }
        for interval in tick.intervals {
            self.interval(&mut state, interval, tick.rates);
        }
        state.ticked = Some(tick.time);
        if let Some(until) = state.until {
            let covered = state.data.devices.keys().all(|device| {
                let live = state.live.get(device);
                // One that has never answered is not waited for.
                live.is_some_and(|live| live.closed_to.map_or(live.dark, |to| to >= until))
            });
            let settled = tick.pending.is_none_or(|end| end > until);
            state.complete |= tick.last || (tick.time >= until && covered && settled);
        }
        drop(state);
        self.changed.notify_all();
    }

    fn interval(&self, state: &mut State, interval: &IntervalEnergy, rates: Rates) {
        let Some(device) = state.data.devices.get_mut(&interval.device) else { return };
        let live = state.live.entry(interval.device.clone()).or_default();
        live.closed_to = Some(live.closed_to.map_or(interval.end, |to| to.max(interval.end)));
        let after = state.until.is_some_and(|until| interval.start >= until);
        if interval.end <= self.from || after {
            return;
        }
        if let Some(reason) = interval.gap {
            device.gaps += u64::from(live.gap != Some((reason, interval.start)));
            live.gap = Some((reason, interval.end));
            return;
        }
        live.gap = None;
        let energy = interval.energy.total();
        let segment = Segment {
            span: (self.unix(interval.start), self.unix(interval.end)),
            covered: interval.end.since(interval.start).as_nanos() as u64,
            energy: interval.energy,
            method: interval.method,
            grams: rates.grams(energy),
            cost: rates.cost(energy),
        };
        if let Some(segment) = segment.within((self.unix(self.from), u64::MAX)) {
            device.push(segment);
        }
    }

    pub(crate) fn record(&self, record: &InferenceRecord) {
        let mut state = self.lock();
        let within = record.end >= self.from && state.until.is_none_or(|until| record.end <= until);
        if within {
            let row = Row::new(&self.name, self.unix(record.end), record);
            state.data.row(row);
        }
    }

    /// What is known up to the end; while that is open, up to where every device is known.
    pub(crate) fn report(&self) -> PerformanceReport {
        let state = self.lock();
        let to = state.until.or_else(|| state.known_to()).unwrap_or(self.from).max(self.from);
        let mut data = state.data.clone();
        let window = (self.unix(self.from), self.unix(to));
        data.windows.push((Arc::clone(&self.name), window));
        for (id, device) in &mut data.devices {
            device.segments = device.segments.iter().filter_map(|segment| segment.within(window)).collect();
            device.watched.push(window);
            device.bound = state.live.get(id).and_then(|live| live.bound(self.from, to));
        }
        data.rows.retain(|row| row.end <= window.1);
        if let Some(embodiment) = state.embodiment {
            data.hardware.push((embodiment, data.devices.keys().cloned().collect(), vec![window]));
        }
        let estimates = state.estimates(&self.estimate, to.since(self.from));
        data.estimates.extend(estimates.map(|estimate| (Arc::clone(&self.name), window, estimate)));
        if state.until.is_some() && !state.complete {
            data.notes
                .push("not all devices or inferences had been read up to the end of the window".to_owned());
        }
        drop(state);
        data.report()
    }
}

impl State {
    fn device(&mut self, device: &Arc<Device>) -> &mut DeviceData {
        self.data.devices.entry(device.id.clone()).or_insert_with(|| DeviceData::new(Arc::clone(device)))
    }

    fn sample(&mut self, sample: &DeviceSample) {
        let device = self.device(&sample.device);
        let gauges = &sample.gauges;
        if let Some(utilization) = gauges.utilization.as_value() {
            device.utilization.add(utilization.ratio());
        }
        if let Some(memory) = gauges.memory_used.as_value() {
            device.memory.add(memory.bytes() as f64);
        }
        if let Some(temperature) = gauges.temperature.as_value() {
            device.temperature.add(temperature.celsius());
        }
        if let Some(total) = gauges.memory_total.as_value() {
            device.memory_total = Some(*total);
        }
    }

    fn server(&mut self, stats: &ServerStats, from: MonoTime) {
        let seen = self.servers.insert(Arc::clone(&stats.server), stats.time);
        if stats.time < from || seen == Some(stats.time) {
            return;
        }
        let server = self.data.servers.entry(Arc::clone(&stats.server)).or_default();
        server.polls += 1;
        stats.tokens_per_second.as_value().into_iter().for_each(|rate| server.tokens.add(*rate));
        stats.prompt_tokens_per_second.as_value().into_iter().for_each(|rate| server.prompt.add(*rate));
        stats.kv_cache.as_value().into_iter().for_each(|ratio| server.cache.add(ratio.ratio()));
    }

    fn busy(&mut self, samples: &[DeviceSample]) {
        let read = samples.iter().find_map(|sample| Some((sample.time, *sample.gauges.cpu_busy.as_value()?)));
        if let Some(read) = read {
            self.busy.get_or_insert([read; 2])[1] = read;
        }
    }

    /// What the machine's devices without a sensor may have drawn in a window of some length.
    fn estimates(&self, inputs: &EstimateInputs, length: Duration) -> impl Iterator<Item = Estimate> {
        let busy_cores = self.busy.and_then(|[(from, before), (to, after)]| {
            let time = to.since(from).as_secs_f64();
            (time > 0.0).then(|| after.saturating_sub(before).as_secs_f64() / time)
        });
        let answered = |device: &Device| self.live.get(&device.id).is_some_and(|live| live.answered);
        let (mut measured, mut gpus) = (Vec::new(), Vec::new());
        for data in self.data.devices.values() {
            let device = &data.device;
            if answered(device) {
                measured.push(device.kind);
            } else if device.kind == DeviceKind::Gpu {
                let busy = data.utilization.mean().and_then(Ratio::new);
                gpus.extend(busy.map(|busy| (Arc::clone(device), busy)));
            }
        }
        inputs.window(&Window { length, busy_cores, measured: &measured, gpus: &gpus }).into_iter()
    }

    /// Up to where every device is known; one that has been silent for long is not waited for.
    fn known_to(&self) -> Option<MonoTime> {
        let ticked = self.ticked?;
        let closed = self.live.values().filter_map(|live| live.closed_to).min();
        Some(closed.unwrap_or(ticked).max(ticked - SILENT))
    }
}

/// Intervals shorter than this tell no power of their own, whatever the sensor's refresh: a poll takes its time to within
/// about a millisecond.
const SHORTEST: Duration = Duration::from_millis(10);
/// A device that has not been heard of for this long does not hold a running report up.
const SILENT: Duration = Duration::from_secs(5);
