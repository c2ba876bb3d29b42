//! A board: profile, loads, sensors, truth.

use std::collections::HashMap;

use super::curve::Curve;
use super::preset::Preset;
use super::profile::{Profile, Shape};
use super::request::{Part, Request, RequestTruth, close_part, open_part};
use super::sensor::{Counter, PowerReading, PowerSensor, Utilisation, last_refresh};
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
    pub fn set_sensor(&mut self, reading: PowerReading, sensor: Option<PowerSensor>) {
        match reading {
            PowerReading::Usage => self.usage = sensor,
            PowerReading::Average => self.average = sensor,
            PowerReading::Instant => self.instant = sensor,
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
        self.reading_mw_at(PowerReading::Usage, t)
    }

    /// What one of the power readings shows, in milliwatts.
    ///
    /// **Absent** if the reading is switched off.
    pub fn reading_mw_at(&self, reading: PowerReading, t: u64) -> Option<u64> {
        let sensor = match reading {
            PowerReading::Usage => self.usage,
            PowerReading::Average => self.average,
            PowerReading::Instant => self.instant,
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

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000;

    fn constant(watts: f64) -> Gpu {
        let mut gpu = Gpu::new();
        gpu.set_profile(0, &Profile::Constant { watts }).expect("a valid profile");
        gpu
    }

    #[track_caller]
    fn near(value: f64, expected: f64) {
        assert!((value - expected).abs() < 1e-6, "{value} instead of {expected}");
    }

    #[test]
    fn shares_follow_who_is_in_flight() {
        let mut gpu = constant(60.0);
        // a alone for 1 s, both for 1 s, b alone for 1 s, then a second of nobody.
        gpu.add_load("a", SECOND, Some(3 * SECOND), 100.0, 0).unwrap();
        gpu.add_load("b", 2 * SECOND, Some(4 * SECOND), 40.0, 0).unwrap();
        let a = gpu.request("a", 0).unwrap();
        let b = gpu.request("b", 0).unwrap();
        assert_eq!((a.joules, a.base_share, a.gross()), (200.0, 90.0, 290.0));
        assert_eq!((b.joules, b.base_share, b.gross()), (80.0, 90.0, 170.0));
        assert_eq!(gpu.joules_without_requests(0, 5 * SECOND), 120.0);
        assert_eq!(gpu.joules(0, 5 * SECOND), 290.0 + 170.0 + 120.0);
    }

    #[test]
    fn tail_of_one_falls_to_those_in_flight() {
        let mut gpu = constant(0.0);
        // 100 W that falls over two seconds: 100 J, of which 75 J in the first second, where b is in flight.
        gpu.add_load("a", 0, Some(SECOND), 100.0, 2 * SECOND).unwrap();
        gpu.add_load("b", SECOND, Some(2 * SECOND), 10.0, 0).unwrap();
        let a = gpu.request("a", 0).unwrap();
        let b = gpu.request("b", 0).unwrap();
        near(a.joules, 200.0);
        near(a.tail, 100.0);
        near(a.gross(), 100.0);
        near(b.joules, 10.0);
        near(b.shared, 75.0);
        near(gpu.joules_without_requests(0, 9 * SECOND), 25.0);
    }

    #[test]
    fn energies_of_many_requests_are_conserved() {
        let mut gpu = Gpu::new();
        let square = Profile::Square { low: 55.0, high: 310.0, period_us: 97_003, duty: 0.37, phase_us: 11 };
        gpu.set_profile(0, &square).unwrap();
        // A linear congruential generator: any spread of times will do.
        let mut state = 12_345_u64;
        let mut random = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) % below
        };
        for index in 0..200 {
            let begin = random(60 * SECOND);
            let end = begin + 50_000 + random(2 * SECOND);
            let watts = random(400) as f64;
            gpu.add_load(&format!("r{index}"), begin, Some(end), watts, random(30_000)).unwrap();
        }
        let shares: f64 = gpu.requests().map(|id| gpu.request(id, 0).unwrap().gross()).sum();
        let idle = gpu.joules_without_requests(0, 100 * SECOND);
        near((shares + idle) / gpu.joules(0, 100 * SECOND), 1.0);
        let loads: f64 = gpu.requests().map(|id| gpu.request(id, 0).unwrap().joules).sum();
        near(loads, gpu.joules(0, 100 * SECOND) - gpu.base_joules(0, 100 * SECOND));
    }

    #[test]
    fn request_of_several_loads_is_one_request() {
        let mut gpu = Gpu::new();
        gpu.add_load("r", SECOND, Some(2 * SECOND), 300.0, 0).unwrap();
        gpu.add_load("r", 2 * SECOND, Some(4 * SECOND), 150.0, 0).unwrap();
        let truth = gpu.request("r", 0).unwrap();
        assert_eq!((truth.begin_us, truth.end_us, truth.joules), (SECOND, Some(4 * SECOND), 600.0));
        assert_eq!(gpu.requests().count(), 1);
    }

    #[test]
    fn new_profile_keeps_what_was_drawn() {
        let mut gpu = constant(100.0);
        gpu.set_profile(2 * SECOND, &Profile::Ramp { from: 0.0, to: 100.0, begin_us: 0, end_us: SECOND })
            .unwrap();
        near(gpu.joules(0, 4 * SECOND), 200.0 + 50.0 + 100.0);
        assert_eq!(gpu.watts_at(2 * SECOND + SECOND / 2), 50.0);
    }

    #[test]
    fn counter_starts_steps_wraps_and_resets() {
        let mut gpu = constant(1.0);
        gpu.set_counter_start(5_000);
        assert_eq!(gpu.counter_mj_at(2 * SECOND), 7_000);
        gpu.set_counter_quantum(1_500);
        assert_eq!(gpu.counter_mj_at(2 * SECOND), 5_000 + 1_500);
        gpu.set_counter_quantum(1);
        gpu.set_counter_wrap(Some(6_000));
        assert_eq!(gpu.counter_mj_at(2 * SECOND), 1_000);
        gpu.set_counter_wrap(None);
        gpu.reset_counter(3 * SECOND);
        assert_eq!(gpu.counter_mj_at(3 * SECOND - 1), 7_999);
        assert_eq!(gpu.counter_mj_at(3 * SECOND), 0);
        assert_eq!(gpu.counter_mj_at(4 * SECOND), 1_000);
    }

    #[test]
    fn frozen_counter_catches_up() {
        let mut gpu = constant(10.0);
        gpu.set_counter_refresh(100_000, 0);
        gpu.freeze_counter(SECOND);
        assert_eq!(gpu.counter_mj_at(5 * SECOND), 10_000);
        gpu.thaw_counter(6 * SECOND);
        assert_eq!(gpu.counter_mj_at(6 * SECOND), 60_000);
        assert_eq!(gpu.counter_mj_at(5 * SECOND), 10_000, "the past stays as it was shown");
    }

    #[test]
    fn gains_make_sensors_wrong_and_leave_the_truth() {
        let mut gpu = constant(100.0);
        gpu.set_counter_gain(0.5).unwrap();
        gpu.set_power_gain(1.1).unwrap();
        assert_eq!(gpu.counter_mj_at(SECOND), 50_000);
        assert_eq!(gpu.power_mw_at(SECOND), Some(110_000));
        assert_eq!(gpu.joules(0, SECOND), 100.0);
        assert_eq!(gpu.set_power_gain(f64::NAN), Err(ModelError::Gain));
    }

    #[test]
    fn module_is_in_the_counter_only() {
        let mut gpu = constant(400.0);
        gpu.set_module_watts(200.0).unwrap();
        assert_eq!(gpu.counter_mj_at(10 * SECOND), 6_000_000);
        assert_eq!(gpu.power_mw_at(10 * SECOND), Some(400_000));
        assert_eq!(gpu.joules(0, 10 * SECOND), 4_000.0);
    }

    #[test]
    fn quarter_window_misses_what_lies_outside_it() {
        let mut gpu = Gpu::new();
        gpu.set_preset(Preset::AmpereGa100);
        // High in the first 75 ms of each 100 ms, low in the 25 ms that the sensor looks at.
        let square = Profile::Square { low: 100.0, high: 500.0, period_us: 100_000, duty: 0.75, phase_us: 0 };
        gpu.set_profile(0, &square).unwrap();
        assert_eq!(gpu.power_mw_at(10 * SECOND + 1), Some(100_000));
        assert_eq!(gpu.counter_mj_at(10 * SECOND), 4_000_000);
        assert_eq!(gpu.reading_mw_at(PowerReading::Average, SECOND), None);
    }

    #[test]
    fn utilisation_is_the_busy_part_of_the_window() {
        let mut gpu = Gpu::new();
        gpu.add_load("a", SECOND, Some(SECOND + 300_000), 10.0, 0).unwrap();
        gpu.add_load("b", SECOND + 200_000, Some(SECOND + 400_000), 10.0, 500_000).unwrap();
        // 400 ms of the last second; the tail is no work.
        assert_eq!(gpu.utilisation_at(2 * SECOND), (40, 20));
        gpu.set_utilisation(Utilisation::Fixed { gpu: 97, memory: 3 });
        assert_eq!(gpu.utilisation_at(0), (97, 3));
    }

    #[test]
    fn forgotten_loads_stay_in_the_energy() {
        let mut gpu = constant(10.0);
        gpu.add_load("old", SECOND, Some(2 * SECOND), 100.0, 0).unwrap();
        gpu.add_load("new", 5 * SECOND, None, 50.0, 0).unwrap();
        gpu.forget_before(4 * SECOND);
        assert_eq!(gpu.request("old", 0), None);
        gpu.end_load("new", 6 * SECOND, 0).unwrap();
        assert_eq!(gpu.joules(0, 10 * SECOND), 100.0 + 100.0 + 50.0);
        assert_eq!(gpu.request("new", 0).unwrap().joules, 50.0);
    }

    #[test]
    fn loads_that_make_no_sense_are_refused() {
        let mut gpu = Gpu::new();
        assert_eq!(gpu.add_load("r", 2, Some(1), 1.0, 0), Err(ModelError::EndBeforeBegin));
        assert_eq!(gpu.add_load("r", 1, None, f64::INFINITY, 0), Err(ModelError::Watts));
        assert_eq!(gpu.end_load("r", 1, 0), Err(ModelError::UnknownLoad));
        gpu.add_load("r", 10, None, 1.0, 0).unwrap();
        assert_eq!(gpu.end_load("r", 5, 0), Err(ModelError::UnknownLoad), "it begins later");
        gpu.end_load("r", 20, 0).unwrap();
        assert_eq!(gpu.end_load("r", 30, 0), Err(ModelError::UnknownLoad), "it has ended");
        assert_eq!(gpu.request("x", 0), None);
    }
}
