//! What an inference has had of a device.

use std::collections::HashMap;
use std::time::Duration;

use wattspan_core::{Joules, Method};

use crate::uncertainty::{Exposure, Random};

/// What every interval adds to.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sums {
    pub(super) energy: i128,
    /// In microjoules.
    pub(super) idle: f64,
    pub(super) covered: u64,
    /// Own share times time, in seconds.
    pub(super) share_time: f64,
    /// The [`Book::epoch`] that the account knows; 0 before its first interval.
    pub(super) epoch: u64,
}

/// What figures of an interval have in common.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Traits {
    pub(super) method: Method,
    pub(super) baseline: bool,
    /// Power over counter where they disagree, else 0.
    pub(super) disagreement: f32,
    pub(super) limit: f32,
    pub(super) resolution: f32,
    /// In nanoseconds, rounded.
    pub(super) refresh: u64,
    pub(super) part_time: bool,
    pub(super) smeared: bool,
    pub(super) tariff: u32,
}

impl Default for Traits {
    fn default() -> Self {
        Self {
            method: Method::Counter,
            baseline: true,
            disagreement: 0.0,
            limit: 0.0,
            resolution: 0.0,
            refresh: 0,
            part_time: false,
            smeared: false,
            tariff: 0,
        }
    }
}

/// What an inference has had of a device, apart from [`Sums`].
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Account {
    pub(super) random: Random,
    pub(super) last: Exposure,
    /// How much more it had than by time alone, in microjoules.
    pub(super) apart: f64,
    /// Energy of all intervals of the device before its first and, once it has ended, after its last.
    pub(super) before: f64,
    pub(super) after: Option<f64>,
    /// The strictest of all that its intervals had.
    pub(super) traits: Traits,
}

impl Account {
    pub(super) fn learn(&mut self, traits: &Traits, first: bool) {
        let known = &mut self.traits;
        known.method = if first { traits.method } else { known.method.with(traits.method) };
        known.baseline &= traits.baseline;
        if traits.disagreement > 0.0 {
            known.disagreement = traits.disagreement;
        }
        known.limit = known.limit.max(traits.limit);
        known.resolution = known.resolution.max(traits.resolution);
        known.refresh = known.refresh.max(traits.refresh);
        known.part_time |= traits.part_time;
        known.smeared |= traits.smeared;
    }
}

/// What inferences had under tariffs before the one in force, by `seq`. Apart from the accounts, since few have any.
pub(super) type Earlier = HashMap<u64, Vec<(u32, i128)>>;

/// What inference `seq` is charged beyond `energy` comes under a tariff.
pub(super) fn change_tariff(current: &mut u32, tariff: u32, seq: u64, energy: i128, earlier: &mut Earlier) {
    if tariff == *current {
        return;
    }
    let known = earlier.get(&seq).map_or(0, |parts| parts.iter().map(|(_, part)| part).sum());
    let before = energy - known;
    if before != 0 {
        let parts = earlier.entry(seq).or_default();
        match parts.iter_mut().find(|(known, _)| known == current) {
            Some((_, sum)) => *sum += before,
            None => parts.push((*current, before)),
        }
    }
    *current = tariff;
}

/// All that an inference has had of a device.
#[derive(Debug)]
pub(in crate::ledger) struct Figures {
    pub(super) sums: Sums,
    pub(super) account: Account,
    /// By tariffs before the last.
    pub(super) earlier: Vec<(u32, i128)>,
    /// Energy of all intervals that it was in, in joules.
    pub(in crate::ledger) intervals: f64,
}

impl Figures {
    /// Whether there were any data.
    pub(in crate::ledger) fn is_measured(&self) -> bool {
        self.sums.epoch > 0
    }

    pub(in crate::ledger) fn energy(&self) -> Joules {
        Joules::from_microjoules(self.sums.energy)
    }

    /// Idle part; `None` where the baseline was not always known.
    pub(in crate::ledger) fn idle(&self) -> Option<Joules> {
        let idle = Joules::from_microjoules(self.sums.idle.round() as i128);
        self.account.traits.baseline.then_some(idle.min(self.energy()))
    }

    pub(in crate::ledger) fn policy_spread(&self) -> Joules {
        Joules::from_microjoules(self.account.apart.abs().round() as i128)
    }

    pub(in crate::ledger) fn covered(&self) -> u64 {
        self.sums.covered
    }

    /// Mean share while in flight.
    pub(in crate::ledger) fn share(&self) -> f64 {
        if self.sums.covered == 0 { 0.0 } else { self.sums.share_time / (self.sums.covered as f64 / 1e9) }
    }

    pub(in crate::ledger) fn random(&self) -> &Random {
        &self.account.random
    }

    pub(in crate::ledger) fn method(&self) -> Method {
        self.account.traits.method
    }

    pub(in crate::ledger) fn refresh(&self) -> Duration {
        Duration::from_nanos(self.account.traits.refresh)
    }

    pub(in crate::ledger) fn limit(&self) -> f64 {
        f64::from(self.account.traits.limit)
    }

    /// Power over counter where they disagree.
    pub(in crate::ledger) fn cross_check(&self) -> Option<f64> {
        let apart = f64::from(self.account.traits.disagreement);
        (apart > 0.0).then_some(apart)
    }

    /// The sensor sees a part of the time only.
    pub(in crate::ledger) fn part_time(&self) -> bool {
        self.account.traits.part_time
    }

    /// The sensor spreads energy over its window.
    pub(in crate::ledger) fn smeared(&self) -> bool {
        self.account.traits.smeared
    }

    /// Energy by tariff; adds up to all.
    pub(in crate::ledger) fn by_tariff(&self) -> impl Iterator<Item = (u32, i128)> + '_ {
        let earlier: i128 = self.earlier.iter().map(|(_, part)| part).sum();
        let last = (self.account.traits.tariff, self.sums.energy - earlier);
        self.earlier.iter().copied().chain([last])
    }
}
