//! From a device's raw readings to the energy between two refreshes of its sensor.
//!
//! Knows nothing of inferences. Each oddity of a sensor becomes a gap with its reason; no energy is ever negative.

mod counter;
mod cross_check;
mod measured;
mod power;
mod refresh;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use wattspan_core::{Device, DeviceKind, DeviceSample, GapReason, Joules, Method, MonoTime, Watts};

use counter::{CounterTrack, Plausible};
use cross_check::CrossCheck;
use power::PowerTrack;

pub(crate) use measured::prorate;
pub use measured::{Measured, SensorKind};

/// How a meter judges readings.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct MeterConfig {
    /// A mean power above this multiple of the device's limit is not believed. Boards were seen to pass their limit for
    /// some milliseconds; none draws three times as much for a whole refresh.
    pub implausible: f64,
    /// Power is not integrated across a longer silence than this.
    pub max_gap: Duration,
    /// A device of which nothing can be read for this long is lost.
    pub lost_after: Duration,
}

impl Default for MeterConfig {
    fn default() -> Self {
        Self { implausible: 3.0, max_gap: Duration::from_secs(10), lost_after: Duration::from_secs(2) }
    }
}

/// Follows one device's sensors. Feed it every sample in order; it answers with an interval when the sensor has moved.
///
/// A counter is preferred. Where it stands still while power is drawn, power readings take its place and say why.
#[derive(Debug)]
pub struct Meter {
    device: Arc<Device>,
    config: MeterConfig,
    counter: Option<CounterTrack>,
    /// Whether intervals come from the counter; else from power.
    counting: bool,
    /// Why they do not, where the device has a counter.
    fallback: Option<GapReason>,
    power: Option<PowerTrack>,
    /// Energy by power since the counter last moved, kept in case it has stopped.
    held: VecDeque<Measured>,
    cross_check: CrossCheck,
    limit: Option<Watts>,
    largest: Option<Watts>,
    polled: Option<MonoTime>,
    /// When a reading last had a value.
    answered: Option<MonoTime>,
    /// Up to where intervals have been given out.
    covered: Option<MonoTime>,
    backwards: u32,
    dropped: u64,
}

impl Meter {
    /// A meter that has seen nothing.
    pub fn new(device: Arc<Device>) -> Self {
        Self::with_config(device, MeterConfig::default())
    }

    /// A meter that judges readings in its own way.
    pub fn with_config(device: Arc<Device>, config: MeterConfig) -> Self {
        let power = device.power.map(|spec| PowerTrack::new(spec, config.max_gap));
        Self {
            limit: device.power_limit,
            device,
            config,
            counter: None,
            counting: false,
            fallback: None,
            power,
            held: VecDeque::new(),
            cross_check: CrossCheck::default(),
            largest: None,
            polled: None,
            answered: None,
            covered: None,
            backwards: 0,
            dropped: 0,
        }
    }

    /// The device it follows.
    pub fn device(&self) -> &Arc<Device> {
        &self.device
    }

    /// Samples that were not used: twice the same time, out of order, or a power that cannot be.
    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    /// Refresh period of the sensor in use: measured, else the sensor table's, else unknown.
    pub fn refresh(&self) -> Option<Duration> {
        let power = || self.power.as_ref().and_then(PowerTrack::period);
        if self.counting { self.counter.as_ref().and_then(CounterTrack::period) } else { power() }
    }

    /// Takes a sample and adds the intervals that it completes.
    pub fn read(&mut self, sample: &DeviceSample, out: &mut Vec<Measured>) {
        let at = sample.time;
        if !self.in_order(at, out) {
            return;
        }
        if let Some(limit) = sample.gauges.power_limit.as_value().filter(|limit| limit.watts() > 0.0) {
            self.limit = Some(*limit);
        }
        let ticks = sample.energy.as_value().copied();
        let power = sample.power.as_value().copied().filter(|power| self.is_plausible_power(*power));
        if sample.power.is_value() && power.is_none() {
            self.dropped += 1;
        }
        let first = out.len();
        if ticks.is_none() && power.is_none() {
            self.unanswered(at, out);
        } else {
            self.answered = Some(at);
            let integrated =
                power.and_then(|power| self.power.as_mut().and_then(|track| track.read(power, at)));
            if let Some(integrated) = &integrated {
                self.cross_check.integrated(integrated);
            }
            self.read_counter(ticks, at, integrated, out);
        }
        for measured in &mut out[first..] {
            self.largest = match (self.largest, measured.power()) {
                (Some(one), Some(other)) => Some(one.max(other)),
                (one, other) => one.or(other),
            };
            measured.limit = self.limit.or(self.largest);
            measured.cross_check = self.cross_check.verdict();
            self.covered = Some(self.covered.map_or(measured.end, |to| to.max(measured.end)));
        }
    }

    /// Ends what runs: the stretch from the last refresh to `at` becomes a gap, and measuring starts again with the next
    /// sample. For what only the caller knows, such as a suspend of the machine.
    pub fn interrupt(&mut self, at: MonoTime, reason: GapReason, out: &mut Vec<Measured>) {
        let from = self.covered.or(self.answered);
        if let Some(from) = from.filter(|from| *from < at) {
            let mut gap = Measured::gap(from, at, self.method(), reason);
            gap.limit = self.limit.or(self.largest);
            out.push(gap);
            self.covered = Some(at);
        }
        self.counter = None;
        self.counting = false;
        self.held.clear();
        self.cross_check = CrossCheck::default();
        if let Some(power) = &mut self.power {
            power.restart();
        }
    }

    fn method(&self) -> Method {
        if self.counting { Method::Counter } else { Method::Integrated }
    }

    /// Whether a sample is later than the one before. A clock that went back for good starts the meter again.
    fn in_order(&mut self, at: MonoTime, out: &mut Vec<Measured>) -> bool {
        let Some(polled) = self.polled.filter(|polled| at <= *polled) else {
            self.polled = Some(at);
            self.backwards = 0;
            return true;
        };
        self.dropped += 1;
        // One late sample changes nothing: counters add up anyway. A row of them means that time itself has moved.
        self.backwards += 1;
        if self.backwards < CLOCK_JUMP || at == polled {
            return false;
        }
        out.push(Measured::gap(at, polled, self.method(), GapReason::ClockJump));
        self.backwards = 0;
        self.covered = None;
        self.answered = None;
        self.interrupt(at, GapReason::ClockJump, out);
        self.polled = Some(at);
        true
    }

    fn is_plausible_power(&self, power: Watts) -> bool {
        (0.0..=self.plausible().most).contains(&power.watts())
    }

    fn plausible(&self) -> Plausible {
        let rated = usual_limit(self.device.kind);
        let largest = self.largest.map_or(0.0, Watts::watts);
        match self.limit {
            Some(limit) => {
                Plausible { most: self.config.implausible * limit.watts(), sustained: limit.watts() }
            }
            None => Plausible { most: self.config.implausible * 10.0 * rated, sustained: rated.max(largest) },
        }
    }

    fn read_counter(
        &mut self,
        ticks: Option<u64>,
        at: MonoTime,
        integrated: Option<Measured>,
        out: &mut Vec<Measured>,
    ) {
        let plausible = self.plausible();
        let had_counter = self.counter.is_some();
        match (ticks, self.device.counter) {
            (Some(ticks), Some(spec)) => match &mut self.counter {
                None => {
                    self.counter = Some(CounterTrack::new(spec, ticks, at));
                    if self.covered.is_none() {
                        self.counting = true;
                    } else {
                        self.take_over(at, out);
                    }
                }
                Some(counter) if self.counting => {
                    if let Some(measured) = counter.read(ticks, at, plausible) {
                        self.cross_check.counted(&measured);
                        while self.held.front().is_some_and(|held| held.end <= measured.end) {
                            self.held.pop_front();
                        }
                        out.push(measured);
                    }
                }
                Some(counter) => {
                    let refreshed = counter.refresh_time(at);
                    if counter.read(ticks, at, plausible).is_some() {
                        counter.restart(ticks, at, refreshed);
                        self.take_over(refreshed, out);
                    }
                }
            },
            // A counter that does not answer this time is waited for while it may still be alive.
            _ if had_counter && self.counting => {
                let silent = self.counter.as_ref().map_or(at, CounterTrack::refreshed);
                if self.power.is_some() && at.since(silent) > self.config.lost_after {
                    self.fall_back(GapReason::Missing, out);
                }
            }
            _ => {}
        }
        self.integrate(at, integrated, out);
    }

    /// Uses, keeps or drops what the power readings say.
    fn integrate(&mut self, at: MonoTime, integrated: Option<Measured>, out: &mut Vec<Measured>) {
        if !self.counting {
            if let Some(measured) = integrated {
                self.give_out(measured, out);
            }
            return;
        }
        let Some(counter) = &mut self.counter else { return };
        if let Some(measured) = integrated {
            if self.held.len() == HELD {
                self.held.pop_front();
            }
            self.held.push_back(measured);
        }
        if !counter.is_overdue(at) {
            return;
        }
        let drawn: Joules = self.held.iter().filter_map(|held| held.energy.ok()).sum();
        if counter.is_frozen(at, drawn) {
            self.fall_back(GapReason::CounterFrozen, out);
        } else if self.power.as_ref().and_then(PowerTrack::value).is_some_and(|power| power.watts() == 0.0) {
            out.push(counter.stand_still(at));
            self.held.clear();
        }
    }

    /// From here on power readings take the place of the counter, also for the time since it last moved.
    fn fall_back(&mut self, reason: GapReason, out: &mut Vec<Measured>) {
        self.counting = false;
        self.fallback = Some(reason);
        self.covered = self.covered.or_else(|| self.counter.as_ref().map(CounterTrack::refreshed));
        for held in std::mem::take(&mut self.held) {
            self.give_out(held, out);
        }
    }

    fn give_out(&mut self, mut measured: Measured, out: &mut Vec<Measured>) {
        measured.fallback = self.fallback;
        let clipped = match self.covered {
            Some(covered) => measured.clipped_from(covered),
            None => Some(measured),
        };
        if let Some(measured) = clipped {
            self.covered = Some(measured.end);
            out.push(measured);
        }
    }

    /// The counter runs (again) from a refresh on. Until then the last power reading holds.
    fn take_over(&mut self, from: MonoTime, out: &mut Vec<Measured>) {
        let covered = self.covered.unwrap_or(from);
        if from < covered {
            // Power has been given out beyond this refresh already; the next one will do.
            return;
        }
        if from > covered {
            let power =
                self.power.as_ref().and_then(|track| Some((track.value()?, track.kind(), track.period())));
            out.push(match power {
                Some((value, kind, refresh)) if from.since(covered) <= self.config.max_gap => {
                    let held = value * from.since(covered);
                    let mut measured = Measured::new(covered, from, held, Method::Integrated);
                    measured.sensor = kind;
                    measured.refresh = refresh;
                    measured.fallback = self.fallback;
                    measured
                }
                _ => Measured::gap(
                    covered,
                    from,
                    Method::Integrated,
                    self.fallback.unwrap_or(GapReason::Missing),
                ),
            });
        }
        self.counting = true;
        self.fallback = None;
        self.held.clear();
        self.covered = Some(from);
    }

    /// Nothing could be read. After a while the device counts as lost.
    fn unanswered(&mut self, at: MonoTime, out: &mut Vec<Measured>) {
        let Some(answered) = self.answered else { return };
        if at.since(answered) > self.config.lost_after {
            self.interrupt(at, GapReason::DeviceLost, out);
        }
    }
}

/// Draw that devices of a kind reach on today's market, for those that do not tell their limit.
///
/// From vendors' data sheets: EPYC 9965 500 W, rounded down to what one package draws for long; B200 1 000 W.
fn usual_limit(kind: DeviceKind) -> f64 {
    match kind {
        DeviceKind::Gpu | DeviceKind::GpuPartition => 1_000.0,
        DeviceKind::Module | DeviceKind::Platform => 3_000.0,
        DeviceKind::Dram | DeviceKind::Npu => 200.0,
        _ => 400.0,
    }
}

/// Samples in a row that lie before an earlier one: the clock itself went back.
const CLOCK_JUMP: u32 = 4;
/// Power intervals kept while a counter stands still; at ten a second these are almost seven minutes.
const HELD: usize = 4_096;
