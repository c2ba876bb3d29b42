//! A device whose true draw is known, its sensors, and a sampler that polls them: all apart from the code under test.
//!
//! The draw is constant between steps; energy is its exact integral. An inference's truth is the integral of the draw
//! over its time, divided at each moment by the number in flight.

#![allow(dead_code, unreachable_pub)] // Each test, example or benchmark that includes this uses a part of it.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use wattspan_core::{
    CounterSpec, Device, DeviceId, DeviceKind, DeviceSample, DeviceScope, EnergyFlag, InferenceId,
    LatePhases, MonoTime, PowerShape, PowerSpec, Reading, Vendor, Watts,
};
use wattspan_energy::{Ledger, LedgerConfig, Measured, Meter, Ownership, Settled};

/// A small generator of random numbers (SplitMix64, Steele et al. 2014), so that seeds mean the same for ever.
pub struct Rng(u64);

impl Rng {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// From 0 to 1.
    pub fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    pub fn between(&mut self, low: f64, high: f64) -> f64 {
        low + self.unit() * (high - low)
    }

    pub fn log_between(&mut self, low: f64, high: f64) -> f64 {
        (self.between(low.ln(), high.ln())).exp()
    }

    pub fn exponential(&mut self, mean: f64) -> f64 {
        -mean * (1.0 - self.unit()).ln()
    }

    pub fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }
}

/// Power over time, in steps. Times are seconds.
#[derive(Clone, Debug, Default)]
pub struct Curve {
    steps: Vec<(f64, f64)>,
    joules: Vec<f64>,
}

impl Curve {
    pub fn new(steps: Vec<(f64, f64)>) -> Self {
        let mut joules = vec![0.0];
        for pair in steps.windows(2) {
            joules.push(joules[joules.len() - 1] + (pair[1].0 - pair[0].0) * pair[0].1);
        }
        Self { steps, joules }
    }

    /// From the first step to a time.
    pub fn energy(&self, to: f64) -> f64 {
        let index = self.steps.partition_point(|(at, _)| *at <= to);
        match index.checked_sub(1) {
            Some(index) => self.joules[index] + (to - self.steps[index].0) * self.steps[index].1,
            None => 0.0,
        }
    }

    pub fn power(&self, at: f64) -> f64 {
        let index = self.steps.partition_point(|(step, _)| *step <= at);
        index.checked_sub(1).map_or(0.0, |index| self.steps[index].1)
    }

    pub fn steps(&self) -> &[(f64, f64)] {
        &self.steps
    }
}

/// How a load varies, from 0 to 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    Constant,
    Square,
    Burst,
    Random,
}

/// Whether a load follows the inferences or goes its own way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Coupling {
    Causal,
    Exogenous,
}

pub const SHAPES: [Shape; 4] = [Shape::Constant, Shape::Square, Shape::Burst, Shape::Random];
pub const COUPLINGS: [Coupling; 2] = [Coupling::Causal, Coupling::Exogenous];

impl Shape {
    fn curve(self, rng: &mut Rng, until: f64) -> Curve {
        let mut steps = Vec::new();
        let mut at = 0.0;
        let mut high = false;
        while at < until {
            let (level, lasts) = match self {
                Self::Constant => (1.0, until),
                Self::Square => (if high { 1.0 } else { 0.2 }, rng.between(0.015, 0.5)),
                Self::Burst if high => (1.0, rng.between(0.01, 0.08)),
                Self::Burst => (0.15, rng.exponential(0.15)),
                Self::Random => (rng.unit(), rng.exponential(0.05)),
            };
            steps.push((at, level));
            at += lasts.max(0.001);
            high = !high;
        }
        Curve::new(steps)
    }
}

/// What reads the device.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Sensor {
    Counter { refresh: f64 },
    Instant { update: f64, window: f64 },
    Mean { update: f64, window: f64 },
}

impl Sensor {
    pub fn refresh(self) -> f64 {
        match self {
            Self::Counter { refresh } => refresh,
            Self::Instant { update, .. } | Self::Mean { update, .. } => update,
        }
    }

    pub fn device(self, limit: f64) -> Device {
        let mut device = Device::new(DeviceId::new("GPU-0"), DeviceKind::Gpu, Vendor::Nvidia, "simulated");
        device.power_limit = Watts::new(limit);
        let refresh = Some(Duration::from_secs_f64(self.refresh()));
        match self {
            Self::Counter { .. } => {
                device.counter =
                    Some(CounterSpec { microjoules_per_tick: (1_000, 1), modulus: None, refresh });
            }
            Self::Instant { window, .. } => {
                let window = Duration::from_secs_f64(window);
                device.power = Some(PowerSpec { shape: PowerShape::Instant { window }, refresh });
            }
            Self::Mean { window, .. } => {
                let window = Duration::from_secs_f64(window);
                device.power = Some(PowerSpec { shape: PowerShape::TrailingMean { window }, refresh });
            }
        }
        device
    }
}

/// The moments at which a sensor takes a new value.
pub struct Refreshes(Vec<f64>);

impl Refreshes {
    pub fn new(rng: &mut Rng, period: f64, jitter: f64, until: f64) -> Self {
        let period = period * rng.between(0.995, 1.005);
        let mut at = -period * rng.unit();
        let mut times = Vec::new();
        while at < until + period {
            times.push(at + period * rng.between(-jitter, jitter));
            at += period;
        }
        Self(times)
    }

    pub fn last(&self, at: f64) -> f64 {
        let index = self.0.partition_point(|time| *time <= at);
        index.checked_sub(1).map_or(0.0, |index| self.0[index].max(0.0))
    }
}

/// An inference that will happen.
#[derive(Clone, Copy, Debug)]
pub struct Planned {
    pub begin: f64,
    pub end: f64,
}

/// What a session is like.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    pub sensor: Sensor,
    pub shape: Shape,
    pub coupling: Coupling,
    /// Least and most inferences at once.
    pub at_once: (u64, u64),
}

/// One inference's figure beside the truth.
#[derive(Clone, Copy, Debug)]
pub struct Trial {
    pub truth: f64,
    pub energy: f64,
    pub half_width: f64,
    pub below: bool,
    pub within_bounds: bool,
    pub length: f64,
    pub coverage: f64,
}

impl Trial {
    pub fn error(&self) -> f64 {
        (self.energy - self.truth).abs()
    }
}

/// Draw after the last kernel of an inference.
const TAIL: f64 = 0.015;
const POLL_BUSY: f64 = 0.02;
const POLL_IDLE: f64 = 0.2;
pub const LIMIT: f64 = 500.0;

/// Plays a session of some groups of inferences through meter and ledger.
pub fn session(setting: &Setting, config: LedgerConfig, seed: u64) -> Vec<Trial> {
    let mut rng = Rng::new(seed);
    let (plan, most) = plan(setting, &mut rng);
    let until = plan.iter().map(|planned| planned.end).fold(0.0, f64::max) + 4.0;
    let idle = rng.between(30.0, 90.0);
    let curve = draw(setting, &mut rng, &plan, most, idle, until);
    let truth = truths(&plan, &curve);
    let settled = play(setting.sensor, &curve, &plan, config, &mut rng, until);
    plan.iter()
        .zip(truth)
        .enumerate()
        .filter_map(|(index, (planned, truth))| {
            let energy = settled.get(&(index as u64))?.energy.as_ref()?;
            let bounds = energy.bounds;
            Some(Trial {
                truth,
                energy: energy.total.joules(),
                half_width: energy.uncertainty?.total.joules(),
                below: energy.flags.contains(&EnergyFlag::BelowResolution),
                within_bounds: bounds.is_some_and(|bounds| {
                    (bounds.low.joules() - 0.01..=bounds.high.joules() + 0.01).contains(&truth)
                }),
                length: planned.end - planned.begin,
                coverage: energy.coverage.ratio(),
            })
        })
        .collect()
}

fn plan(setting: &Setting, rng: &mut Rng) -> (Vec<Planned>, u64) {
    let (least, most) = setting.at_once;
    let mut plan: Vec<Planned> = Vec::new();
    let mut at = 2.0 + rng.unit();
    let mut at_once = 1;
    for _ in 0..6 {
        let count = least + rng.below(most - least + 1);
        at_once = at_once.max(count);
        let mut last = at;
        for _ in 0..count {
            let length = rng.log_between(0.05, 5.0);
            let begin = at + if count > 1 { rng.between(0.0, 1.0) } else { 0.0 };
            plan.push(Planned { begin, end: begin + length });
            last = last.max(begin + length);
        }
        at = last + rng.log_between(0.05, 2.5);
    }
    (plan, at_once)
}

fn draw(setting: &Setting, rng: &mut Rng, plan: &[Planned], at_once: u64, idle: f64, until: f64) -> Curve {
    let shape = setting.shape.curve(rng, until);
    let amplitude = rng.between(100.0, 380.0);
    let each = amplitude / at_once as f64;
    let mut times: Vec<f64> = shape.steps().iter().map(|step| step.0).collect();
    let mut changes: Vec<(f64, f64)> = Vec::new();
    if setting.coupling == Coupling::Causal {
        for planned in plan {
            changes.push((planned.begin, 1.0));
            changes.push((planned.end + TAIL, -1.0));
        }
        changes.sort_by(|one, other| one.0.total_cmp(&other.0));
        times.extend(changes.iter().map(|change| change.0));
        times.sort_by(f64::total_cmp);
    }
    let (mut running, mut next) = (0.0, 0);
    let steps = times.into_iter().map(|at| {
        while changes.get(next).is_some_and(|change| change.0 <= at) {
            running += changes[next].1;
            next += 1;
        }
        let load = match setting.coupling {
            Coupling::Causal => each * running,
            Coupling::Exogenous => amplitude,
        };
        (at, idle + load * shape.power(at))
    });
    Curve::new(steps.collect())
}

fn truths(plan: &[Planned], curve: &Curve) -> Vec<f64> {
    let mut times: Vec<(f64, f64)> =
        plan.iter().flat_map(|one| [(one.begin, 1.0), (one.end, -1.0)]).collect();
    times.sort_by(|one, other| one.0.total_cmp(&other.0));
    let mut sums: Vec<(f64, f64)> = Vec::new();
    let (mut sum, mut running, mut before) = (0.0, 0.0, 0.0);
    for (at, change) in times {
        if running > 0.5 {
            sum += (curve.energy(at) - curve.energy(before)) / running;
        }
        sums.push((at, sum));
        running += change;
        before = at;
    }
    let at = |time: f64| sums[sums.partition_point(|(known, _)| *known < time)].1;
    plan.iter().map(|one| at(one.end) - at(one.begin)).collect()
}

pub fn nanos(seconds: f64) -> MonoTime {
    MonoTime::from_nanos((seconds * 1e9).round() as u64)
}

/// A reading of a sensor at a time.
pub fn sample(
    device: &Arc<Device>,
    sensor: Sensor,
    curve: &Curve,
    refreshes: &Refreshes,
    at: f64,
) -> DeviceSample {
    let mut sample = DeviceSample::new(Arc::clone(device), nanos(at));
    let refresh = refreshes.last(at);
    let mean = |window: f64| {
        let from = (refresh - window).max(0.0);
        let length = refresh - from;
        let watts = if length > 0.0 {
            (curve.energy(refresh) - curve.energy(from)) / length
        } else {
            curve.power(refresh)
        };
        Watts::from_milliwatts((watts * 1e3).round() as u32)
    };
    match sensor {
        Sensor::Counter { .. } => {
            sample.energy = Reading::Value(1_000_000 + (curve.energy(refresh) * 1e3).floor() as u64);
        }
        Sensor::Instant { window, .. } | Sensor::Mean { window, .. } => {
            sample.power = Reading::Value(mean(window));
        }
    }
    sample
}

fn play(
    sensor: Sensor,
    curve: &Curve,
    plan: &[Planned],
    config: LedgerConfig,
    rng: &mut Rng,
    until: f64,
) -> HashMap<u64, Settled> {
    let device = Arc::new(sensor.device(LIMIT));
    let refreshes = Refreshes::new(rng, sensor.refresh(), 0.02, until);
    let (mut meter, mut ledger) = (Meter::new(Arc::clone(&device)), Ledger::with_config(config));
    let mut events: Vec<(f64, usize, bool)> = Vec::new();
    for (index, planned) in plan.iter().enumerate() {
        events.push((planned.begin, index, true));
        events.push((planned.end, index, false));
    }
    events.sort_by(|one, other| one.0.total_cmp(&other.0));
    let mut events = events.into_iter().peekable();
    let mut measured: Vec<Measured> = Vec::new();
    let mut settled = HashMap::new();
    let mut at = 0.001;
    while at < until {
        while let Some((time, index, begins)) = events.next_if(|event| event.0 <= at) {
            let id = InferenceId::new(index as u64);
            if begins {
                ledger.begin(id, nanos(time), DeviceScope::All);
            } else {
                ledger.finish(id, nanos(time), LatePhases::default());
            }
        }
        meter.read(&sample(&device, sensor, curve, &refreshes, at), &mut measured);
        for interval in measured.drain(..) {
            ledger.interval(&device, interval, Ownership::OURS);
        }
        for done in ledger.advance(nanos(at)).settled {
            settled.insert(done.id.number(), done);
        }
        let busy = ledger.open() > 0;
        let mut next = at + if busy { POLL_BUSY } else { POLL_IDLE } + rng.between(0.0, 0.003);
        if !busy && let Some((begin, _, true)) = events.peek() {
            // A begin wakes the sampler from its slow polling.
            next = next.min(begin + 0.000_1).max(at + 0.000_1);
        }
        at = next;
    }
    settled
}

/// What a set of trials shows.
#[derive(Clone, Copy, Debug, Default)]
pub struct Summary {
    pub trials: usize,
    /// Fraction of truths inside ±.
    pub coverage: f64,
    pub median_half_width: f64,
    pub p95_error: f64,
}

pub fn summary<'a>(trials: impl Iterator<Item = &'a Trial>) -> Summary {
    let trials: Vec<&Trial> = trials.collect();
    if trials.is_empty() {
        return Summary::default();
    }
    let hits = trials.iter().filter(|trial| trial.error() <= trial.half_width).count();
    let mut errors: Vec<f64> = trials.iter().map(|trial| trial.error()).collect();
    let mut widths: Vec<f64> = trials.iter().map(|trial| trial.half_width).collect();
    Summary {
        trials: trials.len(),
        coverage: hits as f64 / trials.len() as f64,
        median_half_width: quantile(&mut widths, 0.5),
        p95_error: quantile(&mut errors, 0.95),
    }
}

pub fn quantile(values: &mut [f64], part: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    values[((values.len() - 1) as f64 * part).round() as usize]
}

/// The sensors that are calibrated, with their names.
pub const SENSORS: [(&str, Sensor); 6] = [
    ("counter, 20 ms", Sensor::Counter { refresh: 0.02 }),
    ("counter, 100 ms", Sensor::Counter { refresh: 0.1 }),
    ("instant, 100 of 100 ms", Sensor::Instant { update: 0.1, window: 0.1 }),
    ("instant, 25 of 100 ms", Sensor::Instant { update: 0.1, window: 0.025 }),
    ("instant, 10 of 20 ms", Sensor::Instant { update: 0.02, window: 0.01 }),
    ("mean of 1 s, each 100 ms", Sensor::Mean { update: 0.1, window: 1.0 }),
];

/// Trials of one sensor by profile: some sessions for each profile and number at once.
pub fn trials(
    sensor: Sensor,
    config: &LedgerConfig,
    seeds: std::ops::Range<u64>,
) -> Vec<((Shape, Coupling), Vec<Trial>)> {
    let mut profiles = Vec::new();
    for shape in SHAPES {
        for coupling in COUPLINGS {
            let mut found = Vec::new();
            for seed in seeds.clone() {
                // Alone mostly, since those are the hardest; sessions with many give many trials each.
                for (turn, at_once) in [(1, 1), (1, 1), (1, 1), (1, 1), (2, 4)].into_iter().enumerate() {
                    let setting = Setting { sensor, shape, coupling, at_once };
                    let salt = (turn as u64) << 48 | (shape as u64) << 40 | (coupling as u64) << 32;
                    found.extend(session(&setting, config.clone(), seed ^ salt));
                }
                if seed % 8 == 0 {
                    let setting = Setting { sensor, shape, coupling, at_once: (5, 64) };
                    let salt = 7 << 48 | (shape as u64) << 40 | (coupling as u64) << 32;
                    found.extend(session(&setting, config.clone(), seed ^ salt));
                }
            }
            profiles.push(((shape, coupling), found));
        }
    }
    profiles
}
