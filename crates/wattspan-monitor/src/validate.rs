//! Finds out what a device's sensors are worth, on the device itself.
//!
//! Five parts: refresh period, step and duty of the sensors by fast polling; steady loads, counter against power; square
//! loads around the sensor's own period; identical prompts, when somebody brings them; an independent meter's recording,
//! when there is one. Without a meter a run can only say `self-consistent`: the driver's own tool reads the same sensor.
//!
//! Nothing here knows a driver: a [`Collector`] is read, a [`Load`] is set, a [`Pace`] waits.

mod meter;
mod report;
mod sensor;

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use wattspan_core::{
    Clock, CollectError, Collector, Device, DeviceId, DeviceSample, Joules, MonoTime, PowerShape, PowerSpec,
    Ratio, SampleBuffer, SystemClock,
};
use wattspan_energy::{Measured, Meter, SensorKind, UncertaintyModel, window_energy};

use report::{GAIN, NO_METER, NO_PROMPTS};
use sensor::{Step, changes, median, refresh, seen_window, sliding_window, step};

pub use meter::MeterFit;
pub use report::{Comparison, DeviceValidation, PromptRun, PromptSpread, Validation, Verdict};

/// A load that can be set. Called on the thread that validates; must return at once.
pub trait Load {
    /// From now on the device is kept busy for this part of its time: 0 is idle, 1 is all it has.
    fn set(&mut self, level: Ratio);
}

/// Waits. A test's moves a scripted clock on.
pub trait Pace {
    /// Returns when the clock has reached a time.
    fn wait_until(&mut self, time: MonoTime);
}

/// Sleeps until the system's clock has got there.
#[derive(Clone, Copy, Debug, Default)]
pub struct RealPace;

impl Pace for RealPace {
    fn wait_until(&mut self, time: MonoTime) {
        std::thread::sleep(time.since(SystemClock.mono()));
    }
}

/// How long each part takes. The defaults need under five minutes in all.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ValidateOptions {
    /// Length of the fast polling.
    pub explore: Duration,
    /// Length of each steady load.
    pub plateau: Duration,
    /// Levels of the steady loads.
    pub levels: Vec<Ratio>,
    /// Length of each square load.
    pub square: Duration,
    /// Periods of the square loads; those at 0.9, 1 and 1.1 times the power reading's refresh come in addition.
    pub periods: Vec<Duration>,
    /// How long a new level settles, and how long readings of its end are waited for; longer than a sliding mean.
    pub settle: Duration,
}

impl Default for ValidateOptions {
    fn default() -> Self {
        Self {
            explore: Duration::from_secs(20),
            plateau: Duration::from_secs(20),
            levels: [0.0, 0.25, 0.5, 0.75, 1.0].into_iter().filter_map(Ratio::share).collect(),
            square: Duration::from_secs(8),
            periods: [20, 50, 100, 200, 500, 1_000].map(Duration::from_millis).to_vec(),
            settle: Duration::from_millis(1_500),
        }
    }
}

/// A validation that could not be done.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ValidateError {
    /// There is no device with a sensor.
    #[error(
        "{collector} has no device with an energy counter or a power reading: there is nothing to validate"
    )]
    NoSensor {
        /// Which collector.
        collector: &'static str,
    },
    /// The collector failed.
    #[error("{collector} failed during the run: start it again")]
    Collect {
        /// Which collector.
        collector: &'static str,
        /// Why.
        source: CollectError,
    },
    /// The meter's recording cannot be used.
    #[error("the meter's recording cannot be used: {reason}")]
    Meter {
        /// Why.
        reason: String,
    },
}

/// Validates all devices of a collector. Without a load only what an idle device shows is found, and the rest is named
/// as skipped.
///
/// # Errors
/// [`ValidateError::NoSensor`] and [`ValidateError::Collect`].
pub fn validate<'a>(
    collector: &'a mut dyn Collector,
    load: Option<&'a mut dyn Load>,
    clock: &'a dyn Clock,
    pace: &'a mut dyn Pace,
    options: &ValidateOptions,
) -> Result<Validation, ValidateError> {
    let name = collector.name();
    let begin = clock.mono();
    let start = clock.wall().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let mut bench = Bench { collector, load, clock, pace, watched: Vec::new(), level: 0.0 };
    bench.find()?;
    if bench.watched.is_empty() {
        return Err(ValidateError::NoSensor { collector: name });
    }
    let mut skipped = vec![NO_PROMPTS.to_owned(), NO_METER.to_owned()];
    bench.explore(options)?;
    if bench.load.is_some() {
        for level in &options.levels {
            bench.plateau(level.ratio(), options)?;
        }
        bench.squares(options)?;
    } else {
        bench.plateau(0.0, options)?;
        skipped.push(
            "steady loads above idle, square loads and the sensor's duty: no load was given".to_owned(),
        );
    }
    bench.set(0.0);
    let end = clock.mono();
    let mut validation = Validation {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        start_unix_seconds: start.as_secs_f64(),
        duration_seconds: end.since(begin).as_secs_f64(),
        power_watts: by_second(&bench.watched, begin, end),
        devices: bench.watched.into_iter().map(|watched| watched.found).collect(),
        prompts: Vec::new(),
        meter: None,
        verdict: Verdict::NotCompared,
        skipped,
    };
    validation.judge();
    Ok(validation)
}

/// Everything that a run works with.
struct Bench<'a> {
    collector: &'a mut dyn Collector,
    load: Option<&'a mut dyn Load>,
    clock: &'a dyn Clock,
    pace: &'a mut dyn Pace,
    watched: Vec<Watched>,
    level: f64,
}

/// One device, metered twice: by its counter alone, and by its power readings alone.
struct Watched {
    id: DeviceId,
    counter: Track,
    power: Track,
    /// Readings of the fast polling.
    polled: Vec<(MonoTime, Option<u64>, Option<f64>)>,
    spec: Option<PowerSpec>,
    microjoules_per_tick: Option<(u64, u64)>,
    found: DeviceValidation,
}

/// The time that a power reading was found to look at.
#[derive(Clone, Copy, Debug)]
enum Seen {
    /// Over several refreshes.
    Sliding(Duration),
    /// Within one.
    Part(Duration),
}

/// A meter that uses one of a device's sensors, and what it has measured.
struct Track {
    device: Option<Arc<Device>>,
    meter: Option<Meter>,
    measured: Vec<Measured>,
}

impl Track {
    fn new(device: Option<Device>) -> Self {
        let device = device.map(Arc::new);
        Self { meter: device.clone().map(Meter::new), device, measured: Vec::new() }
    }

    fn read(&mut self, sample: &DeviceSample) {
        if let (Some(meter), Some(device)) = (&mut self.meter, &self.device) {
            let mut own = sample.clone();
            own.device = Arc::clone(device);
            meter.read(&own, &mut self.measured);
        }
    }

    /// Mean power in a window, and what its energy can be wrong by, as a ratio.
    fn mean(&self, from: MonoTime, to: MonoTime) -> Option<(f64, f64)> {
        let first = self.measured.partition_point(|measured| measured.end < from - Duration::from_secs(2));
        let window = window_energy(&self.measured[first..], from, to)?;
        if window.coverage.ratio() < 0.9 {
            return None;
        }
        let joules = window.energy.joules();
        let watts = joules / (to.since(from).as_secs_f64() * window.coverage.ratio());
        Some((watts, window.bound.joules() / joules.max(1e-9)))
    }
}

impl Bench<'_> {
    fn find(&mut self) -> Result<(), ValidateError> {
        // Devices may come up at the first reading.
        self.sample(|_, _| ())?;
        for device in self.collector.devices() {
            if device.counter.is_none() && device.power.is_none() {
                continue;
            }
            let mut by_counter = (**device).clone();
            by_counter.power = None;
            let mut by_power = (**device).clone();
            by_power.counter = None;
            let mut watched = Watched {
                id: device.id.clone(),
                counter: Track::new(device.counter.map(|_| by_counter)),
                power: Track::new(device.power.map(|_| by_power)),
                polled: Vec::new(),
                spec: device.power,
                microjoules_per_tick: device.counter.map(|spec| spec.microjoules_per_tick),
                found: DeviceValidation {
                    id: device.id.clone(),
                    name: device.name.clone(),
                    driver_version: device.driver_version.clone(),
                    samples: 0,
                    counted: device.is_counted(),
                    counter_refresh_seconds: None,
                    counter_step: None,
                    power_refresh_seconds: None,
                    power_window_seconds: None,
                    power_duty_ratio: None,
                    plateaus: Vec::new(),
                    squares: Vec::new(),
                    gamma: 0.0,
                    gain_ratio: GAIN,
                },
            };
            watched.scale(None);
            self.watched.push(watched);
        }
        Ok(())
    }

    fn set(&mut self, level: f64) {
        self.level = level;
        if let (Some(load), Some(level)) = (&mut self.load, Ratio::share(level)) {
            load.set(level);
        }
    }

    fn sample(&mut self, mut more: impl FnMut(&mut Watched, &DeviceSample)) -> Result<(), ValidateError> {
        let mut samples = Vec::new();
        let read = self.collector.sample(&mut SampleBuffer::new(self.clock, &mut samples));
        if let Err(source) = read {
            return Err(ValidateError::Collect { collector: self.collector.name(), source });
        }
        for sample in &samples {
            let Some(watched) = self.watched.iter_mut().find(|watched| watched.id == sample.device.id) else {
                continue;
            };
            watched.found.samples += 1;
            watched.counter.read(sample);
            watched.power.read(sample);
            more(watched, sample);
        }
        Ok(())
    }

    /// Polls until a time, and sets levels at theirs.
    fn run(
        &mut self,
        until: MonoTime,
        poll: Duration,
        levels: &[(MonoTime, f64)],
        mut more: impl FnMut(&mut Watched, &DeviceSample),
    ) -> Result<(), ValidateError> {
        let mut levels = levels.iter().peekable();
        let mut next = self.clock.mono() + poll;
        while next <= until {
            while let Some((at, level)) = levels.next_if(|(at, _)| *at <= next) {
                self.pace.wait_until(*at);
                self.set(*level);
            }
            self.pace.wait_until(next);
            self.sample(&mut more)?;
            // Polls that were slept through are skipped.
            next = (next + poll).max(self.clock.mono());
        }
        Ok(())
    }

    /// Part 1: refresh, step and duty, from a rest, a full load, and steps at odd times between the two.
    fn explore(&mut self, options: &ValidateOptions) -> Result<(), ValidateError> {
        let begin = self.clock.mono();
        let quarter = options.explore / 4;
        let mut steps = vec![(begin + quarter, 1.0)];
        let mut at = begin + quarter * 2;
        let mut level = 0.0;
        // Multiples of the golden ratio fall evenly over every period.
        let mut turn = 0.0_f64;
        while at < begin + options.explore {
            steps.push((at, level));
            level = 1.0 - level;
            turn = (turn + 0.618_033_988_75).fract();
            at = at + Duration::from_secs_f64(0.35 + 0.4 * turn);
        }
        self.set(0.0);
        let levels = if self.load.is_some() { &steps[..] } else { &[] };
        self.run(begin + options.explore, Duration::from_millis(1), levels, |watched, sample| {
            let power = sample.power.as_value().map(|power| power.watts());
            watched.polled.push((sample.time, sample.energy.as_value().copied(), power));
        })?;
        let loaded = self.load.is_some();
        for watched in &mut self.watched {
            watched.learn(begin, quarter, loaded.then_some(&steps[..]));
        }
        Ok(())
    }

    /// Part 2: a steady load.
    fn plateau(&mut self, level: f64, options: &ValidateOptions) -> Result<(), ValidateError> {
        self.set(level);
        let from = self.clock.mono() + options.settle;
        let to = from + options.plateau;
        self.run(to + options.settle, POLL, &[], |_, _| ())?;
        for watched in &mut self.watched {
            let row = watched.compare(from, to, level, None);
            watched.found.plateaus.push(row);
        }
        Ok(())
    }

    /// Part 3: square loads, by themselves and around each device's own refresh.
    fn squares(&mut self, options: &ValidateOptions) -> Result<(), ValidateError> {
        let mut periods = options.periods.clone();
        let refresh = self.watched.iter().find_map(|watched| watched.found.power_refresh_seconds);
        for refresh in refresh.into_iter().filter_map(|seconds| Duration::try_from_secs_f64(seconds).ok()) {
            periods.extend([0.9, 1.0, 1.1].map(|times| refresh.mul_f64(times)));
        }
        periods.sort_unstable();
        periods.dedup();
        for period in periods.into_iter().filter(|period| !period.is_zero()) {
            let begin = self.clock.mono();
            let from = begin + options.settle;
            let count = (options.square.as_secs_f64() / period.as_secs_f64()).floor().max(1.0) as u32;
            let to = from + period * count;
            let mut levels = Vec::new();
            let mut at = begin;
            let mut level = 1.0;
            while at < to + options.settle {
                levels.push((at, level));
                level = 1.0 - level;
                at = at + period / 2;
            }
            self.run(to + options.settle, POLL, &levels, |_, _| ())?;
            for watched in &mut self.watched {
                let row = watched.compare(from, to, 0.5, Some(period));
                watched.found.squares.push(row);
            }
        }
        Ok(())
    }
}

impl Watched {
    fn compare(&self, from: MonoTime, to: MonoTime, level: f64, period: Option<Duration>) -> Comparison {
        let (counter, power) = (self.counter.mean(from, to), self.power.mean(from, to));
        let both = counter.zip(power).filter(|((counter, _), _)| *counter > 0.0);
        Comparison {
            level_ratio: level,
            period_seconds: period.map(|period| period.as_secs_f64()),
            seconds: to.since(from).as_secs_f64(),
            counter_watts: counter.map(|(watts, _)| watts),
            power_watts: power.map(|(watts, _)| watts),
            ratio: both.map(|((counter, _), (power, _))| power / counter),
            bound_ratio: both.map(|((_, one), (_, other))| one + other),
        }
    }

    /// Chooses the scale of ± for the sensor that energy comes from: by what was found of it, else by what is stated.
    fn scale(&mut self, found: Option<Seen>) {
        let refresh =
            self.found.power_refresh_seconds.and_then(|period| Duration::try_from_secs_f64(period).ok());
        let refresh = refresh.or(self.spec.and_then(|spec| spec.refresh)).unwrap_or_default();
        let sensor = match (self.spec.map(|spec| spec.shape), found) {
            _ if self.microjoules_per_tick.is_some() => SensorKind::Counter,
            (Some(PowerShape::TrailingMean { window }), _) | (_, Some(Seen::Sliding(window))) => {
                SensorKind::TrailingMean { window }
            }
            (_, Some(Seen::Part(window))) | (Some(PowerShape::Instant { window }), None) => {
                SensorKind::Instant { window }
            }
            // The mean since the reading before.
            _ => SensorKind::Instant { window: refresh },
        };
        self.found.gamma = UncertaintyModel::default().gamma(sensor, refresh);
    }

    fn learn(&mut self, begin: MonoTime, quarter: Duration, steps: Option<&[(MonoTime, f64)]>) {
        let polled = std::mem::take(&mut self.polled);
        let counter = changes(polled.iter().filter_map(|(time, count, _)| Some((*time, (*count)?))));
        let times: Vec<MonoTime> = counter.iter().map(|(time, _)| *time).collect();
        self.found.counter_refresh_seconds = refresh(&times).map(|refresh| refresh.as_secs_f64());
        let counts: Vec<u64> = counter.iter().map(|(_, count)| *count).collect();
        self.found.counter_step =
            step(&counts).zip(self.microjoules_per_tick).map(|(step, (over, under))| {
                Joules::from_microjoules(i128::from(step) * i128::from(over) / i128::from(under.max(1)))
            });
        let readings: Vec<(MonoTime, f64)> =
            polled.iter().filter_map(|(time, _, watts)| Some((*time, (*watts)?))).collect();
        let power = changes(readings.iter().copied());
        let times: Vec<MonoTime> = power.iter().map(|(time, _)| *time).collect();
        let Some(period) = refresh(&times) else { return };
        self.found.power_refresh_seconds = Some(period.as_secs_f64());
        let Some(steps) = steps else { return };
        // What the rest and the full load settle at: the later halves of their quarters.
        let settled = |from: MonoTime| {
            let to = from + quarter;
            let late = |(time, _): &&(MonoTime, f64)| *time >= from + quarter / 2 && *time < to;
            median(readings.iter().filter(late).map(|(_, watts)| *watts).collect())
        };
        let (Some(low), Some(high)) = (settled(begin), settled(begin + quarter)) else { return };
        let around = |index: usize, (at, level): &(MonoTime, f64)| {
            let until = steps.get(index + 1).map_or(*at + quarter, |(next, _)| *next);
            let before = power.iter().rev().find(|(time, _)| time <= at).map_or(low, |(_, watts)| *watts);
            let after = power.iter().filter(|(time, _)| time > at && *time <= until).copied().collect();
            Step { at: *at, before, settled: if *level > 0.5 { high } else { low }, after }
        };
        let steps: Vec<Step> = steps.iter().enumerate().map(|(index, step)| around(index, step)).collect();
        let sliding = steps.first().and_then(|step| sliding_window(step, period));
        let part = || seen_window(&steps, period).map(Seen::Part);
        let seen = sliding.map(Seen::Sliding).or_else(part);
        self.scale(seen);
        let window = seen.map(|(Seen::Sliding(window) | Seen::Part(window))| window);
        self.found.power_window_seconds = window.map(|window| window.as_secs_f64());
        self.found.power_duty_ratio =
            window.map(|window| (window.as_secs_f64() / period.as_secs_f64()).min(1.0));
        if let (Some(window), Some(PowerShape::TrailingMean { window: stated })) =
            (sliding, self.spec.map(|spec| spec.shape))
            && window.abs_diff(stated) > stated / 4
        {
            tracing::warn!(device = %self.id, ?window, ?stated, "the power reading looks back by another time than stated");
        }
    }
}

/// Power of all counted devices, second by second; absent where one has no data.
fn by_second(watched: &[Watched], begin: MonoTime, end: MonoTime) -> Vec<Option<f64>> {
    let seconds = end.since(begin).as_secs();
    let one = |second: u64| {
        let from = begin + Duration::from_secs(second);
        let to = from + Duration::from_secs(1);
        watched.iter().filter(|watched| watched.found.counted).try_fold(0.0, |sum, watched| {
            let mean = watched.counter.mean(from, to).or_else(|| watched.power.mean(from, to));
            Some(sum + mean?.0)
        })
    };
    (0..seconds).map(one).collect()
}

/// Polls of loads that last for seconds.
const POLL: Duration = Duration::from_millis(5);
