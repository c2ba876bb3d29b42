//! Samples and inferences as lines of JSON.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use serde::Serialize;
use wattspan::core::{
    Cost, DeviceId, DeviceSample, Emissions, GapReason, InferenceEnergy, InferenceRecord, Joules, Method,
    MonoTime, Reading, RecordSink, RunId, SampleSink, SampleTick, SettleReason, StateEnergy, TokenUsage,
    TraceRef, Watts,
};

use crate::figures::Figures;

/// Writes each device's samples, and each settled inference, as one line of JSON.
///
/// A line of a device has `"type":"sample"` and the energy since the device's line before, so that the lines' energies
/// add up to what was measured. A line of an inference has `"type":"inference"`. What is absent is `null`. Units stand in
/// the names. Prompts and answers are not in it.
///
/// Both sinks run on the settlement thread and cannot fail: the first error is kept for [`JsonLines::finish`], and
/// nothing is written after it.
#[derive(Debug)]
pub struct JsonLines<W: Write + Send> {
    state: Mutex<State<W>>,
    every: Duration,
}

#[derive(Debug)]
struct State<W> {
    out: W,
    error: Option<io::Error>,
    /// When lines of samples were last written.
    written: Option<MonoTime>,
    devices: BTreeMap<DeviceId, Pending>,
}

/// What a device's next line will say.
#[derive(Debug)]
struct Pending {
    sample: DeviceSample,
    wall: SystemTime,
    /// Whether there is something that no line has said.
    news: bool,
    energy: Option<StateEnergy>,
    time: Duration,
    method: Option<Method>,
    gaps: Vec<GapReason>,
}

#[derive(Serialize)]
struct SampleLine<'a> {
    r#type: &'static str,
    time_unix_seconds: f64,
    device: &'a DeviceId,
    kind: &'static str,
    vendor: &'static str,
    name: &'a str,
    index: Option<u32>,
    counted: bool,
    energy_joules: Option<Joules>,
    energy_by_state: Option<StateEnergy>,
    method: Option<Method>,
    gaps: &'a [GapReason],
    #[serde(flatten)]
    figures: Figures<'a>,
}

#[derive(Serialize)]
struct InferenceLine<'a> {
    r#type: &'static str,
    time_unix_seconds: f64,
    run: Option<&'a RunId>,
    trace_id: Option<String>,
    span_id: Option<String>,
    operation: &'a str,
    provider: &'a str,
    model: Option<&'a str>,
    duration_seconds: f64,
    time_to_first_token_seconds: Option<f64>,
    tokens: TokenUsage,
    error_type: Option<&'a str>,
    energy: Option<&'a InferenceEnergy>,
    emissions: Option<&'a Emissions>,
    cost: Option<&'a Cost>,
    settled: SettleReason,
}

impl<W: Write + Send> JsonLines<W> {
    /// Writes every sample. Lines are not gathered: wrap a slow writer into a [`BufWriter`](io::BufWriter).
    pub fn new(out: W) -> Self {
        let state = State { out, error: None, written: None, devices: BTreeMap::new() };
        Self { state: Mutex::new(state), every: Duration::ZERO }
    }

    /// Leaves this time between two lines of a device, a twentieth less at most; energy is carried over to the next line.
    #[must_use]
    pub fn every(mut self, interval: Duration) -> Self {
        self.every = interval;
        self
    }

    /// Writes a line of the caller's own among the others.
    pub fn line(&self, value: &impl Serialize) {
        self.lock().line(value);
    }

    /// Writes what is left.
    ///
    /// # Errors
    /// The first error there was since the last call.
    pub fn finish(&self) -> io::Result<()> {
        let mut state = self.lock();
        state.samples();
        match state.error.take() {
            Some(error) => Err(error),
            None => state.out.flush(),
        }
    }

    /// Writes what is left and gives the writer back.
    ///
    /// # Errors
    /// As [`JsonLines::finish`].
    pub fn into_inner(self) -> io::Result<W> {
        self.finish()?;
        Ok(self.state.into_inner().unwrap_or_else(PoisonError::into_inner).out)
    }

    fn lock(&self) -> MutexGuard<'_, State<W>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<W: Write> State<W> {
    fn line(&mut self, value: &impl Serialize) {
        if self.error.is_some() {
            return;
        }
        let written = serde_json::to_vec(value).map_err(io::Error::from).and_then(|mut line| {
            line.push(b'\n');
            // In one piece, so that a line is whole or not there.
            self.out.write_all(&line)
        });
        self.error = written.err();
    }

    fn samples(&mut self) {
        for (id, mut pending) in std::mem::take(&mut self.devices) {
            if pending.news {
                let power = pending.power();
                self.line(&pending.line(&power));
            }
            pending.forget();
            self.devices.insert(id, pending);
        }
    }
}

impl Pending {
    fn new(sample: DeviceSample, wall: SystemTime) -> Self {
        Self { sample, wall, news: true, energy: None, time: Duration::ZERO, method: None, gaps: Vec::new() }
    }

    fn forget(&mut self) {
        (self.news, self.energy, self.time, self.method) = (false, None, Duration::ZERO, None);
        self.gaps.clear();
    }

    /// The sensor's reading; a device with a counter and no power sensor has the mean over the line's time.
    fn power(&self) -> Reading<Watts> {
        match (&self.sample.power, self.energy) {
            (Reading::NotSupported, Some(energy)) => (energy.total() / self.time).into(),
            (reading, _) => reading.clone(),
        }
    }

    fn line<'a>(&'a self, power: &'a Reading<Watts>) -> SampleLine<'a> {
        let device = &self.sample.device;
        SampleLine {
            r#type: "sample",
            time_unix_seconds: unix_seconds(self.wall),
            device: &device.id,
            kind: device.kind.as_str(),
            vendor: device.vendor.as_str(),
            name: &device.name,
            index: device.index,
            counted: device.is_counted(),
            energy_joules: self.energy.map(|energy| energy.total()),
            energy_by_state: self.energy,
            method: self.method,
            gaps: &self.gaps,
            figures: Figures::of(&self.sample).power(power),
        }
    }
}

impl<W: Write + Send> SampleSink for JsonLines<W> {
    fn sampled(&self, tick: &SampleTick<'_>) {
        let mut state = self.lock();
        for sample in tick.samples {
            match state.devices.get_mut(&sample.device.id) {
                Some(pending) => {
                    (pending.sample, pending.wall, pending.news) = (sample.clone(), tick.wall, true);
                }
                None => {
                    state.devices.insert(sample.device.id.clone(), Pending::new(sample.clone(), tick.wall));
                }
            }
        }
        for interval in tick.intervals {
            let Some(pending) = state.devices.get_mut(&interval.device) else { continue };
            pending.news = true;
            if let Some(reason) = interval.gap {
                pending.gaps.push(reason);
                continue;
            }
            *pending.energy.get_or_insert_default() += interval.energy;
            pending.time += interval.end.since(interval.start);
            pending.method =
                Some(pending.method.map_or(interval.method, |method| method.with(interval.method)));
        }
        if state.written.is_none_or(|written| tick.time.since(written) >= self.every.mul_f64(EARLY)) {
            state.written = Some(tick.time);
            state.samples();
        }
    }
}

impl<W: Write + Send> RecordSink for JsonLines<W> {
    fn record(&self, record: &InferenceRecord) {
        let (begin, facts, settlement) = (&record.begin, &record.facts, &record.settlement);
        self.lock().line(&InferenceLine {
            r#type: "inference",
            time_unix_seconds: unix_seconds(begin.wall),
            run: record.run.as_ref(),
            trace_id: facts.trace.as_ref().map(TraceRef::trace_hex),
            span_id: facts.trace.as_ref().map(TraceRef::span_hex),
            operation: &begin.operation,
            provider: &begin.provider,
            model: begin.model.as_deref(),
            duration_seconds: record.duration().as_secs_f64(),
            time_to_first_token_seconds: record.time_to_first_token().map(|time| time.as_secs_f64()),
            tokens: facts.tokens,
            error_type: facts.error_type.as_deref(),
            energy: settlement.energy.as_ref(),
            emissions: settlement.emissions.as_ref(),
            cost: settlement.cost.as_ref(),
            settled: settlement.reason,
        });
    }
}

/// Polls come a little early or late; a line must not wait for another poll because of that.
pub(crate) const EARLY: f64 = 0.95;

pub(crate) fn unix_seconds(wall: SystemTime) -> f64 {
    wall.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs_f64()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::Value;
    use wattspan::core::{Begin, Device, DeviceKind, Facts, InferenceId, IntervalEnergy, Settlement, Vendor};

    use super::*;

    const MILLISECOND: u64 = 1_000_000;

    fn device(name: &str) -> Arc<Device> {
        Arc::new(Device::new(DeviceId::new(name), DeviceKind::Gpu, Vendor::Nvidia, name))
    }

    fn interval(device: &Arc<Device>, from: u64, to: u64, millijoules: i64) -> IntervalEnergy {
        let idle = Joules::from_millijoules(millijoules);
        let energy = StateEnergy { idle, ..StateEnergy::default() };
        let [from, to] = [from, to].map(|at| MonoTime::from_nanos(at * MILLISECOND));
        IntervalEnergy::new(device.id.clone(), from, to, Method::Counter, energy)
    }

    fn tick<W: Write + Send>(
        lines: &JsonLines<W>,
        at: u64,
        devices: &[Arc<Device>],
        intervals: &[IntervalEnergy],
    ) {
        let time = MonoTime::from_nanos(at * MILLISECOND);
        let samples: Vec<_> =
            devices.iter().map(|device| DeviceSample::new(Arc::clone(device), time)).collect();
        let wall = SystemTime::UNIX_EPOCH + Duration::from_millis(at);
        lines.sampled(&SampleTick::new(time, wall, &samples, intervals));
    }

    fn parsed(lines: JsonLines<Vec<u8>>) -> Vec<Value> {
        let text = String::from_utf8(lines.into_inner().unwrap()).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    #[test]
    fn energy_between_two_lines_is_carried_over_and_none_is_lost() {
        let gpu = device("gpu");
        let lines = JsonLines::new(Vec::new()).every(Duration::from_secs(1));
        tick(&lines, 0, std::slice::from_ref(&gpu), &[]);
        for number in 1..=14 {
            let closed = interval(&gpu, (number - 1) * 100, number * 100, 30_000);
            tick(&lines, number * 100, std::slice::from_ref(&gpu), &[closed]);
        }
        let told: Vec<_> = parsed(lines)
            .iter()
            .map(|line| (line["energy_joules"].clone(), line["power_watts"].clone()))
            .collect();
        // At 0 s, at 1 s with ten intervals of 30 J, and what was left with four.
        assert_eq!(
            told,
            [(Value::Null, Value::Null), (300.0.into(), 300.0.into()), (120.0.into(), 300.0.into())]
        );
    }

    #[test]
    fn a_gap_is_named_and_gives_no_joules() {
        let gpu = device("gpu");
        let lines = JsonLines::new(Vec::new());
        let [from, to] = [0, 100].map(|at| MonoTime::from_nanos(at * MILLISECOND));
        let gap = IntervalEnergy::gap(gpu.id.clone(), from, to, Method::Counter, GapReason::CounterReset);
        tick(&lines, 100, &[gpu], &[gap]);
        let line = parsed(lines).remove(0);
        assert_eq!((&line["energy_joules"], &line["gaps"][0]), (&Value::Null, &"counter_reset".into()));
    }

    #[test]
    fn case_cli_06_seventy_two_gpus_are_seventy_two_lines() {
        let mut gpus: Vec<_> = (0..72).map(|number| device(&format!("gpu-{number}"))).collect();
        let lines = JsonLines::new(Vec::new());
        let closed: Vec<_> = gpus.iter().map(|gpu| interval(gpu, 0, 100, 1_000)).collect();
        tick(&lines, 100, &gpus, &closed);
        gpus.remove(3);
        tick(&lines, 200, &gpus, &[]);
        let all = parsed(lines);
        let first = &all[..72];
        let ids: std::collections::BTreeSet<_> =
            first.iter().map(|line| line["device"].as_str().unwrap()).collect();
        let sum: f64 = first.iter().map(|line| line["energy_joules"].as_f64().unwrap()).sum();
        assert_eq!((ids.len(), sum, all.len()), (72, 72.0, 72 + 71));
    }

    #[test]
    fn an_inference_is_a_line_and_what_is_not_known_is_null() {
        let lines = JsonLines::new(Vec::new());
        let mut begin = Begin::new(MonoTime::ZERO, SystemTime::UNIX_EPOCH, "chat", "llama_cpp");
        begin.model = Some("SmolLM2".into());
        let mut facts = Facts::default();
        facts.tokens.output = Some(4);
        let end = MonoTime::from_nanos(250 * MILLISECOND);
        let settlement = Settlement::unknown(SettleReason::NoSensor);
        lines.record(&InferenceRecord::new(InferenceId::new(1), begin, end, facts, settlement));
        let line = parsed(lines).remove(0);
        assert_eq!((&line["type"], &line["model"]), (&"inference".into(), &"SmolLM2".into()));
        assert_eq!((&line["duration_seconds"], &line["tokens"]["output"]), (&0.25.into(), &4.into()));
        assert_eq!((&line["energy"], &line["settled"]), (&Value::Null, &"no_sensor".into()));
    }

    #[test]
    fn the_first_error_is_kept_and_nothing_is_written_after_it() {
        /// Takes one line.
        struct Full(usize);
        impl Write for Full {
            fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
                self.0 += 1;
                if self.0 == 2 { Err(io::ErrorKind::StorageFull.into()) } else { Ok(bytes.len()) }
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let lines = JsonLines::new(Full(0));
        for at in 0..5 {
            tick(&lines, at, &[device("gpu")], &[]);
        }
        assert_eq!(lines.finish().unwrap_err().kind(), io::ErrorKind::StorageFull);
        assert_eq!(lines.into_inner().unwrap().0, 2);
    }
}
