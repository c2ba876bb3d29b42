//! Puts an inference's figure together from its accounts.

use std::borrow::Cow;
use std::time::Duration;

use wattspan_core::{
    Device, DeviceShare, EnergyFlag, EnergyRange, InferenceEnergy, InferenceId, Joules, Method, MonoTime,
    Ratio,
};

use super::Settled;
use super::book::Figures;
use crate::flags::keeps_step;
use crate::uncertainty::{UncertaintyModel, half_widths};

/// What an inference has had of a device, and what else is known of that device.
pub(super) struct Entry<'a> {
    pub(super) device: &'a Device,
    pub(super) figures: Figures,
    /// Lowest draw that the device was seen at, in watts.
    pub(super) lowest: f64,
    /// Relative uncertainty of its gain, where it has its own.
    pub(super) gain: Option<f64>,
}

/// What is known about the inference itself.
pub(super) struct Case {
    pub(super) id: InferenceId,
    pub(super) begin: MonoTime,
    pub(super) end: MonoTime,
    pub(super) policy: Cow<'static, str>,
    pub(super) early: bool,
    /// A device that was asked for is not there at all.
    pub(super) missing: bool,
    /// Period with which inferences begin, and with which this one decodes.
    pub(super) cadence: Option<Duration>,
    pub(super) decode: Option<Duration>,
}

/// Adds an inference's devices up.
pub(super) struct Tally {
    case: Case,
    coverage: Ratio,
    devices: Vec<DeviceShare>,
    method: Option<Method>,
    random: f64,
    systematic: f64,
    tariffs: Vec<(u32, Joules)>,
    below: bool,
    aliasing: bool,
    disagreement: bool,
    low: Joules,
    high: Joules,
}

impl Tally {
    pub(super) fn new(case: Case, devices: usize) -> Self {
        Self {
            coverage: if case.missing { Ratio::ZERO } else { Ratio::ONE },
            case,
            devices: Vec::with_capacity(devices),
            method: None,
            random: 0.0,
            systematic: 0.0,
            tariffs: Vec::new(),
            below: false,
            aliasing: false,
            disagreement: false,
            low: Joules::ZERO,
            high: Joules::ZERO,
        }
    }

    /// The figure of all devices together.
    pub(super) fn settled(self, tariffs: &[(MonoTime, u32)]) -> Settled {
        let by_tariff = in_order(self.tariffs, tariffs);
        let Some(method) = self.method else {
            return Settled { id: self.case.id, energy: None, by_tariff };
        };
        let total: Joules = self.devices.iter().map(|share| share.energy).sum();
        let mut energy = InferenceEnergy::new(total, method, self.case.policy);
        energy.uncertainty = Some(half_widths(self.random, self.systematic));
        energy.coverage = self.coverage;
        energy.idle = self.devices.iter().map(|share| share.idle).sum::<Option<Joules>>();
        energy.policy_spread = self.devices.iter().map(|share| share.policy_spread).sum();
        if self.below {
            energy.flags.push(EnergyFlag::BelowResolution);
            energy.bounds = Some(EnergyRange { low: self.low.min(self.high), high: self.high });
        }
        if self.aliasing {
            energy.flags.push(EnergyFlag::AliasingPossible);
        }
        if self.disagreement {
            energy.flags.push(EnergyFlag::CrossCheckFailed);
        }
        if self.case.early {
            energy.flags.push(EnergyFlag::SettledEarly);
        }
        energy.devices = self.devices;
        Settled { id: self.case.id, energy: Some(energy), by_tariff }
    }

    pub(super) fn add(&mut self, entry: Entry<'_>, model: &UncertaintyModel) {
        let Entry { device, figures, lowest, gain } = entry;
        let case = &self.case;
        let coverage = covered(&figures, case.end.since(case.begin));
        self.coverage = self.coverage.min(coverage);
        if !figures.is_measured() {
            return;
        }
        let model = UncertaintyModel { gain: gain.unwrap_or(model.gain), ..*model };
        let length = case.end.since(case.begin).as_secs_f64();
        let energy = figures.energy();
        let method = figures.method();
        let mut share = DeviceShare::new(device.id.clone(), device.kind, method, energy);
        share.idle = figures.idle();
        share.policy_spread = figures.policy_spread();
        share.coverage = coverage;
        let random = figures.random().half_width(&model, length, figures.share());
        share.uncertainty = model.combine(energy, random, figures.cross_check());
        self.method = Some(self.method.map_or(method, |known| known.with(method)));
        self.random = self.random.hypot(share.uncertainty.random.joules());
        self.systematic = self.systematic.hypot(share.uncertainty.systematic.joules());
        self.disagreement |= figures.cross_check().is_some();
        self.aliasing |= case.cadence.is_some_and(|period| keeps_step(period, figures.refresh()))
            || figures.part_time() && case.decode.is_some_and(|period| keeps_step(period, figures.refresh()));
        for (tariff, part) in figures.by_tariff().filter(|(_, part)| *part != 0) {
            let part = Joules::from_microjoules(part);
            match self.tariffs.iter_mut().find(|(known, _)| *known == tariff) {
                Some((_, sum)) => *sum += part,
                None => self.tariffs.push((tariff, part)),
            }
        }
        if length < 2.0 * figures.refresh().as_secs_f64() {
            self.below = true;
            // Its part of the lowest draw at least; at most all that the device can draw, and all that it did.
            let joules = |watts: f64| Joules::new(watts * length).unwrap_or(Joules::ZERO);
            let least = joules(lowest * figures.share());
            let low = share.idle.map_or(least, |idle| idle.min(least));
            self.low += low;
            // A trailing mean smears energy over intervals that the inference was not in, and a sensor that looks at a
            // part of the time may have missed it.
            let partial = figures.smeared() || figures.part_time();
            let drawn = if partial {
                Joules::from_microjoules(i128::MAX)
            } else {
                Joules::new(figures.intervals + random).unwrap_or(Joules::from_microjoules(i128::MAX))
            };
            self.high += joules(figures.limit()).min(drawn).max(low);
        } else {
            self.low += energy - share.uncertainty.total.min(energy);
            self.high += energy + share.uncertainty.total;
        }
        self.devices.push(share);
    }
}

/// Fraction of an inference's time for which there was data.
fn covered(figures: &Figures, length: Duration) -> Ratio {
    let fraction = match length.as_nanos() {
        0 => f64::from(u8::from(figures.is_measured())),
        length => figures.covered() as f64 / length as f64,
    };
    Ratio::new(fraction.min(1.0)).unwrap_or(Ratio::ZERO)
}

/// Sums by tariff, in the order in which the tariffs were set.
fn in_order(mut sums: Vec<(u32, Joules)>, tariffs: &[(MonoTime, u32)]) -> Vec<(u32, Joules)> {
    sums.sort_by_key(|(tariff, _)| tariffs.iter().position(|(_, known)| known == tariff));
    sums
}
