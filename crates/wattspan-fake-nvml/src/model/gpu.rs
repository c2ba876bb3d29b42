//! A board: profile, loads, sensors, truth.

use std::collections::HashMap;

use super::curve::Curve;
use super::preset::Preset;
use super::profile::{Profile, Shape};
use super::request::{Part, Request, RequestTruth, close_part, open_part};
use super::sensor::{Counter, PowerSensor, Reading, Utilisation, last_refresh};
use super::units::{Energy2, PER_MILLIJOULE, joules};
use super::{ModelError, check_watts};

/// A board that draws power, and its sensors.
///
/// Times are microseconds from the beginning of the model. Readings are pure functions of time: asking again, or
/// asking about the past, gives the same answer, as long as the profile and loads until then are unchanged.
#[derive(Debug, Clone)]
pub struct Gpu {
    base: Vec<Segment>,
    loads: Curve,
    requests: Vec<Request>,
    by_id: HashMap<String, usize>,
    counter: Counter,
    usage: Option<PowerSensor>,
    average: Option<PowerSensor>,
    instant: Option<PowerSensor>,
    power_gain: f64,
    utilisation: Utilisation,
}

#[derive(Debug, Clone)]
struct Segment {
    from: u64,
    energy_before: Energy2,
    shape: Shape,
}

impl Default for Gpu {
    fn default() -> Self {
        Self::new()
    }
}

impl Gpu {
    /// A board that draws nothing, with sensors that follow at once and a counter of whole millijoules.
    pub fn new() -> Self {
        Self {
            base: Vec::new(),
            loads: Curve::default(),
            requests: Vec::new(),
            by_id: HashMap::new(),
            counter: Counter::default(),
            usage: Some(PowerSensor::EXACT),
            average: Some(PowerSensor::new(0, 1_000_000)),
            instant: Some(PowerSensor::EXACT),
            power_gain: 1.0,
            utilisation: Utilisation::Loads { update_us: 0, window_us: 1_000_000, memory_share: 0.5 },
        }
    }

    /// Gives the board the sensors of an architecture.
    pub fn set_preset(&mut self, preset: Preset) {
        self.counter.supported = preset.has_counter();
        self.counter.refresh_us = preset.counter_refresh_us();
        self.usage = Some(preset.usage());
        self.average = preset.average();
        self.instant = Some(preset.instant());
    }

    /// Sets what the board draws apart from loads, from a moment on; what was set for later is dropped.
    ///
    /// # Errors
    ///
    /// [`ModelError`] for a profile that makes no sense; the board is left as it was.
    pub fn set_profile(&mut self, from_us: u64, profile: &Profile) -> Result<(), ModelError> {
        let shape = profile.compile()?;
        let energy_before = self.base_energy(from_us);
        self.base.retain(|segment| segment.from < from_us);
        self.base.push(Segment { from: from_us, energy_before, shape });
        Ok(())
    }

    /// Adds a load to a request, which is made if it is new. An open load ends with [`end_load`](Self::end_load).
    /// After its end the load falls in a straight line over `tail_us`.
    ///
    /// # Errors
    ///
    /// [`ModelError::Watts`] or [`ModelError::EndBeforeBegin`].
    pub fn add_load(
        &mut self,
        id: &str,
        begin_us: u64,
        end_us: Option<u64>,
        watts: f64,
        tail_us: u64,
    ) -> Result<(), ModelError> {
        if end_us.is_some_and(|end| end < begin_us) {
            return Err(ModelError::EndBeforeBegin);
        }
        let part = Part { begin: begin_us, end: end_us, power: check_watts(watts)?, tail: tail_us };
        open_part(&mut self.loads, part);
        close_part(&mut self.loads, part);
        let index = *self.by_id.entry(id.to_owned()).or_insert_with(|| {
            self.requests.push(Request::new(id, begin_us));
            self.requests.len() - 1
        });
        self.requests[index].push(part);
        Ok(())
    }

    /// Ends the latest open load of a request.
    ///
    /// # Errors
    ///
    /// [`ModelError::UnknownLoad`] if none is open that began by then.
    pub fn end_load(&mut self, id: &str, end_us: u64, tail_us: u64) -> Result<(), ModelError> {
        let index = *self.by_id.get(id).ok_or(ModelError::UnknownLoad)?;
        let part = self.requests[index].close(end_us, tail_us).ok_or(ModelError::UnknownLoad)?;
        close_part(&mut self.loads, part);
        Ok(())
    }

    /// Refresh period and phase of the counter, in microseconds; a period of 0 follows at once.
    pub fn set_counter_refresh(&mut self, refresh_us: u64, phase_us: u64) {
        self.counter.refresh_us = refresh_us;
        self.counter.phase_us = phase_us;
    }

    /// Step of the counter in millijoules, at least 1.
    pub fn set_counter_quantum(&mut self, millijoules: u64) {
        self.counter.quantum_mj = millijoules.max(1);
    }

    /// What the counter shows at the beginning.
    pub fn set_counter_start(&mut self, millijoules: u64) {
        self.counter.start_mj = millijoules;
    }

    /// Makes the counter begin again at nought whenever it reaches this value.
    pub fn set_counter_wrap(&mut self, millijoules: Option<u64>) {
        self.counter.wrap_mj = millijoules.filter(|&wrap| wrap > 0);
    }

    /// Makes the counter wrong by a factor.
    ///
    /// # Errors
    ///
    /// [`ModelError::Gain`].
    pub fn set_counter_gain(&mut self, gain: f64) -> Result<(), ModelError> {
        self.counter.gain = check_gain(gain)?;
        Ok(())
    }

    /// Whether the counter can be read.
    pub fn set_counter_supported(&mut self, supported: bool) {
        self.counter.supported = supported;
    }

    /// Begins the count again at nought, as a driver reload does.
    pub fn reset_counter(&mut self, at_us: u64) {
        self.counter.resets.retain(|&reset| reset < at_us);
        self.counter.resets.push(at_us);
    }

    /// Stops the counter's refreshes.
    pub fn freeze_counter(&mut self, at_us: u64) {
        if self.counter.freezes.last().is_none_or(|freeze| freeze.1.is_some()) {
            self.counter.freezes.push((at_us, None));
        }
    }

    /// Lets the counter refresh again; it then shows all energy, that of the freeze included.
    pub fn thaw_counter(&mut self, at_us: u64) {
        if let Some((_, end @ None)) = self.counter.freezes.last_mut() {
            *end = Some(at_us);
        }
    }

    /// Makes the counter cover a module that draws this much more than the board, at all times.
    ///
    /// # Errors
    ///
    /// [`ModelError::Watts`].
    pub fn set_module_watts(&mut self, watts: f64) -> Result<(), ModelError> {
        self.counter.module_nw = check_watts(watts)?;
        Ok(())
    }

    /// Gives one of the power readings a sensor, or takes it away.
    pub fn set_sensor(&mut self, reading: Reading, sensor: Option<PowerSensor>) {
        match reading {
            Reading::Usage => self.usage = sensor,
            Reading::Average => self.average = sensor,
            Reading::Instant => self.instant = sensor,
        }
    }

    /// Makes every power reading wrong by a factor.
    ///
    /// # Errors
    ///
    /// [`ModelError::Gain`].
    pub fn set_power_gain(&mut self, gain: f64) -> Result<(), ModelError> {
        self.power_gain = check_gain(gain)?;
        Ok(())
    }

    /// Where the utilisation comes from.
    pub fn set_utilisation(&mut self, utilisation: Utilisation) {
        self.utilisation = utilisation;
    }

    /// Whether the counter can be read.
    pub fn counter_supported(&self) -> bool {
        self.counter.supported
    }

    /// What the total energy counter shows, in millijoules.
    pub fn counter_mj_at(&self, t: u64) -> u64 {
        let (shown, reset) = self.counter.span(t);
        let from = reset.unwrap_or(0);
        let module = 2 * i128::from(self.counter.module_nw) * i128::from(shown - from);
        let energy = self.energy_to(shown) - self.energy_to(from) + module;
        let millijoules = if self.counter.gain == 1.0 {
            (energy / PER_MILLIJOULE) as u64
        } else {
            (energy as f64 / PER_MILLIJOULE as f64 * self.counter.gain) as u64
        };
        let start = if reset.is_none() { self.counter.start_mj } else { 0 };
        let stepped = millijoules - millijoules % self.counter.quantum_mj;
        let total = start.saturating_add(stepped);
        self.counter.wrap_mj.map_or(total, |wrap| total % wrap)
    }

    /// What `nvmlDeviceGetPowerUsage` shows, in milliwatts.
    ///
    /// **Absent** if the reading is switched off.
    pub fn power_mw_at(&self, t: u64) -> Option<u64> {
        self.reading_mw_at(Reading::Usage, t)
    }

    /// What one of the power readings shows, in milliwatts.
    ///
    /// **Absent** if the reading is switched off.
    pub fn reading_mw_at(&self, reading: Reading, t: u64) -> Option<u64> {
        let sensor = match reading {
            Reading::Usage => self.usage,
            Reading::Average => self.average,
            Reading::Instant => self.instant,
        }?;
        let shown = last_refresh(t, sensor.update_us, sensor.phase_us);
        let from = shown.saturating_sub(sensor.window_us);
        let nanowatts = if from == shown {
            self.value_at(shown) as f64
        } else {
            (self.energy_to(shown) - self.energy_to(from)) as f64 / (2 * (shown - from)) as f64
        };
        Some((nanowatts * self.power_gain / 1e6).round() as u64)
    }

    /// Power of the module beyond the board's, in milliwatts.
    pub fn module_mw(&self) -> u64 {
        self.counter.module_nw as u64 / 1_000_000
    }

    /// Utilisation of the GPU and of its memory, in percent.
    pub fn utilisation_at(&self, t: u64) -> (u32, u32) {
        match self.utilisation {
            Utilisation::Fixed { gpu, memory } => (gpu, memory),
            Utilisation::Loads { update_us, window_us, memory_share } => {
                let shown = last_refresh(t, update_us, 0);
                let from = shown.saturating_sub(window_us.max(1));
                let busy = self.loads.busy_to(shown) - self.loads.busy_to(from);
                let percent = 100.0 * busy as f64 / (shown - from).max(1) as f64;
                (percent.round() as u32, (percent * memory_share).round() as u32)
            }
        }
    }

    /// True power at a moment, in watts; at a step, the power after it.
    pub fn watts_at(&self, t: u64) -> f64 {
        self.value_at(t) as f64 / 1e9
    }

    /// True energy between two moments, in joules, without the module.
    pub fn joules(&self, from_us: u64, to_us: u64) -> f64 {
        joules(self.energy_to(to_us) - self.energy_to(from_us))
    }

    /// True energy of the base profile between two moments, in joules.
    pub fn base_joules(&self, from_us: u64, to_us: u64) -> f64 {
        joules(self.base_energy(to_us) - self.base_energy(from_us))
    }

    /// True energy between two moments while no request was in flight, in joules. Requests still open count as in
    /// flight.
    pub fn joules_without_requests(&self, from_us: u64, to_us: u64) -> f64 {
        let (mut covered, mut idle) = (from_us, 0);
        let mut spans: Vec<(u64, u64)> =
            self.requests.iter().map(|request| (request.begin, request.end().unwrap_or(to_us))).collect();
        spans.sort_unstable();
        spans.push((to_us, to_us));
        for (begin, end) in spans {
            let begin = begin.min(to_us);
            if begin > covered {
                idle += self.energy_to(begin) - self.energy_to(covered);
            }
            covered = covered.max(end);
        }
        joules(idle)
    }

    /// The truth about one request. One that is still open is counted up to `now_us`; one that has ended is counted
    /// whole, whatever the time.
    ///
    /// **Absent** if there is none of this name.
    pub fn request(&self, id: &str, now_us: u64) -> Option<RequestTruth> {
        let request = self.requests.get(*self.by_id.get(id)?)?;
        let end = request.end().unwrap_or(now_us).max(request.begin);
        let whole = request.energy_to(request.tail_end().unwrap_or(end));
        let in_flight = request.energy_to(end);
        let overlapping: Vec<(u64, u64, &Request)> = self
            .requests
            .iter()
            .map(|other| (other.begin, other.end().unwrap_or(end), other))
            .filter(|&(other_begin, other_end, _)| other_begin < end && request.begin < other_end)
            .collect();
        let inside = |t: &u64| (request.begin..=end).contains(t);
        let mut edges: Vec<u64> =
            overlapping.iter().flat_map(|&(begin, end, _)| [begin, end]).filter(inside).collect();
        edges.extend([request.begin, end]);
        edges.sort_unstable();
        edges.dedup();
        let (mut base_share, mut shared) = (0.0, 0.0);
        for edge in edges.windows(2) {
            let (from, to) = (edge[0], edge[1]);
            let mut count = 0_u32;
            let mut owned = 0;
            for &(_, _, other) in overlapping.iter().filter(|other| other.0 <= from && from < other.1) {
                count += 1;
                owned += other.energy_to(to) - other.energy_to(from);
            }
            // At least the request itself is in flight between its begin and end.
            let count = f64::from(count.max(1));
            base_share += joules(self.base_energy(to) - self.base_energy(from)) / count;
            shared += joules(self.energy_to(to) - self.energy_to(from) - owned) / count;
        }
        Some(RequestTruth {
            begin_us: request.begin,
            end_us: request.end(),
            joules: joules(whole),
            in_flight: joules(in_flight),
            tail: joules(whole - in_flight),
            base_share,
            shared,
        })
    }

    /// Names of all requests, in the order in which they were made.
    pub fn requests(&self) -> impl Iterator<Item = &str> {
        self.requests.iter().map(|request| request.id.as_str())
    }

    /// Forgets the loads that lie wholly before a moment, so that a long run stays small. The energy stays in the
    /// counter; the truth about forgotten requests is gone.
    pub fn forget_before(&mut self, t: u64) {
        self.requests.retain(|request| request.tail_end().is_none_or(|end| end > t));
        self.by_id =
            self.requests.iter().enumerate().map(|(index, request)| (request.id.clone(), index)).collect();
        self.loads.forget_before(t);
    }

    fn value_at(&self, t: u64) -> i64 {
        let base = self.segment(t).map_or(0, |segment| segment.shape.value_at(t - segment.from));
        base + self.loads.value_at(t)
    }

    fn energy_to(&self, t: u64) -> Energy2 {
        self.base_energy(t) + self.loads.energy_to(t)
    }

    fn base_energy(&self, t: u64) -> Energy2 {
        self.segment(t).map_or(0, |segment| segment.energy_before + segment.shape.energy_to(t - segment.from))
    }

    fn segment(&self, t: u64) -> Option<&Segment> {
        let index = self.base.partition_point(|segment| segment.from <= t);
        index.checked_sub(1).and_then(|index| self.base.get(index))
    }
}

fn check_gain(gain: f64) -> Result<f64, ModelError> {
    if gain.is_finite() && gain >= 0.0 { Ok(gain) } else { Err(ModelError::Gain) }
}
