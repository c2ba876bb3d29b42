//! One device's book: its intervals, and what each inference in flight has had of them.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use wattspan_core::{
    Device, DeviceScope, GapReason, InferenceId, IntervalEnergy, Joules, Method, MonoTime, StateEnergy, Watts,
};

use super::Ownership;
use super::baseline::Baseline;
use super::share::{FRACTION, Interval, Part, Piece, Rest, Splitter, TOO_MUCH, WHOLE};
use super::work::WorkTrack;
use crate::meter::{Measured, SensorKind, prorate};
use crate::uncertainty::{Exposure, PART_TIME, Random, Surroundings, UncertaintyModel};

/// One device's book.
#[derive(Debug)]
pub(super) struct Book {
    pub(super) device: Arc<Device>,
    /// Relative uncertainty of its gain, where it was calibrated.
    pub(super) gain: Option<f64>,
    queue: VecDeque<Queued>,
    /// Up to here intervals are final.
    pub(super) closed_to: MonoTime,
    /// Begin and end of the last interval that came in.
    received: (MonoTime, MonoTime),
    pub(super) totals: StateEnergy,
    baseline: Baseline,
    /// Latest end of an inference on this device.
    last_end: Option<u64>,
    /// The interval closed last, as the next one will see it.
    last: Option<Surroundings>,
    /// In order of `seq`.
    active: Vec<Active>,
    /// What each of them has had. In three lists, so that an interval in which nothing begins or ends touches little.
    sums: Vec<Sums>,
    accounts: Vec<Account>,
    /// What the last interval's figures have in common, and how often that has changed.
    traits: Traits,
    epoch: u64,
    /// Energy of all intervals, in joules.
    joules: f64,
    /// How many of them need no place any more, and how many are settled and go on.
    dead: usize,
    settled: usize,
    /// Largest and lowest mean power seen.
    largest: f64,
    lowest: f64,
    /// Refresh period and sensor, as of the last interval.
    pub(super) refresh: Option<Duration>,
    sensor: SensorKind,
    /// Nobody waits for its readings any more.
    pub(super) lost: bool,
}

/// Working memory that the books of a ledger share.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    splitter: Splitter,
    pieces: Vec<Piece>,
    places: Vec<usize>,
    cuts: Vec<u64>,
}

#[derive(Debug)]
struct Queued {
    measured: Measured,
    ownership: Ownership,
    /// Came in since the last poll.
    fresh: bool,
}

/// An inference on a device.
#[derive(Debug)]
struct Active {
    seq: u64,
    id: InferenceId,
    slot: usize,
    begin: u64,
    /// `u64::MAX` while it runs.
    end: u64,
    standing: Standing,
    /// Its last interval is not in its account's random terms yet.
    pending: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Standing {
    /// It gets its share.
    Charged,
    /// It has been settled early: what more it draws is nobody's.
    Settled,
    /// Nothing is left to do.
    Dead,
}

/// What every interval adds to.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sums {
    energy: i128,
    /// In microjoules.
    idle: f64,
    covered: u64,
    /// Own share times time, in seconds.
    share_time: f64,
    /// The [`Book::epoch`] that the account knows; 0 before its first interval.
    epoch: u64,
}

/// What figures of an interval have in common.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Traits {
    method: Method,
    baseline: bool,
    /// Power over counter where they disagree, else 0.
    disagreement: f32,
    limit: f32,
    resolution: f32,
    /// In nanoseconds, rounded.
    refresh: u64,
    part_time: bool,
    smeared: bool,
    tariff: u32,
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
#[derive(Clone, Debug, Default)]
pub(super) struct Account {
    random: Random,
    last: Exposure,
    /// How much more it had than by time alone, in microjoules.
    apart: f64,
    /// Energy of all intervals of the device before its first and, once it has ended, after its last.
    before: f64,
    after: Option<f64>,
    /// The strictest of all that its intervals had.
    traits: Traits,
    /// What came under tariffs before the one in force.
    earlier: Vec<(u32, i128)>,
}

impl Account {
    fn learn(&mut self, traits: &Traits, energy: i128, first: bool) {
        self.change_tariff(traits.tariff, energy);
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

    /// What is charged beyond `energy` comes under a tariff.
    fn change_tariff(&mut self, tariff: u32, energy: i128) {
        if tariff != self.traits.tariff {
            let before = energy - self.earlier.iter().map(|(_, part)| part).sum::<i128>();
            if before != 0 {
                match self.earlier.iter_mut().find(|(known, _)| *known == self.traits.tariff) {
                    Some((_, sum)) => *sum += before,
                    None => self.earlier.push((self.traits.tariff, before)),
                }
            }
            self.traits.tariff = tariff;
        }
    }
}

/// All that an inference has had of a device.
pub(super) struct Figures {
    sums: Sums,
    account: Account,
    /// Energy of all intervals that it was in, in joules.
    pub(super) intervals: f64,
}

impl Figures {
    /// Whether there were any data.
    pub(super) fn is_measured(&self) -> bool {
        self.sums.epoch > 0
    }

    pub(super) fn energy(&self) -> Joules {
        Joules::from_microjoules(self.sums.energy)
    }

    /// Idle part; `None` where the baseline was not always known.
    pub(super) fn idle(&self) -> Option<Joules> {
        let idle = Joules::from_microjoules(self.sums.idle.round() as i128);
        self.account.traits.baseline.then_some(idle.min(self.energy()))
    }

    pub(super) fn policy_spread(&self) -> Joules {
        Joules::from_microjoules(self.account.apart.abs().round() as i128)
    }

    pub(super) fn covered(&self) -> u64 {
        self.sums.covered
    }

    /// Mean share while in flight.
    pub(super) fn share(&self) -> f64 {
        if self.sums.covered == 0 { 0.0 } else { self.sums.share_time / (self.sums.covered as f64 / 1e9) }
    }

    pub(super) fn random(&self) -> &Random {
        &self.account.random
    }

    pub(super) fn method(&self) -> Method {
        self.account.traits.method
    }

    pub(super) fn refresh(&self) -> Duration {
        Duration::from_nanos(self.account.traits.refresh)
    }

    pub(super) fn limit(&self) -> f64 {
        f64::from(self.account.traits.limit)
    }

    /// Power over counter where they disagree.
    pub(super) fn cross_check(&self) -> Option<f64> {
        let apart = f64::from(self.account.traits.disagreement);
        (apart > 0.0).then_some(apart)
    }

    /// The sensor sees a part of the time only.
    pub(super) fn part_time(&self) -> bool {
        self.account.traits.part_time
    }

    /// The sensor spreads energy over its window.
    pub(super) fn smeared(&self) -> bool {
        self.account.traits.smeared
    }

    /// Energy by tariff; adds up to all.
    pub(super) fn by_tariff(&self) -> impl Iterator<Item = (u32, i128)> + '_ {
        let earlier: i128 = self.account.earlier.iter().map(|(_, part)| part).sum();
        let last = (self.account.traits.tariff, self.sums.energy - earlier);
        self.account.earlier.iter().copied().chain([last])
    }
}

/// What the ledger knows beside the book when an interval closes.
pub(super) struct Context<'a> {
    pub(super) model: &'a UncertaintyModel,
    pub(super) tariffs: &'a [(MonoTime, u32)],
    /// Work per nanosecond of an inference in a stretch, in units of 2⁻⁵⁰.
    pub(super) rate: &'a dyn Fn(usize, u64, u64) -> Option<i64>,
}

impl Book {
    /// What one inference takes in a book.
    pub(super) const BYTES_PER_INFERENCE: usize =
        size_of::<Active>() + size_of::<Sums>() + size_of::<Account>();

    pub(super) fn new(device: Arc<Device>, from: MonoTime, gain: Option<f64>) -> Self {
        Self {
            device,
            gain,
            queue: VecDeque::new(),
            closed_to: from,
            received: (MonoTime::ZERO, from),
            totals: StateEnergy::default(),
            baseline: Baseline::default(),
            last_end: None,
            last: None,
            active: Vec::new(),
            sums: Vec::new(),
            accounts: Vec::new(),
            traits: Traits::default(),
            epoch: 0,
            joules: 0.0,
            dead: 0,
            settled: 0,
            largest: 0.0,
            lowest: f64::MAX,
            refresh: None,
            sensor: SensorKind::Counter,
            lost: false,
        }
    }

    /// Whether inferences of a scope run on this device, and whether they are charged for it.
    ///
    /// All run on every device; a device that others already contain is charged only to those that name it, and not
    /// also to those that name its parent.
    pub(super) fn in_scope(&self, scope: &DeviceScope) -> Option<bool> {
        let device = &*self.device;
        let counted = device.is_counted();
        let gpu =
            matches!(device.kind, wattspan_core::DeviceKind::Gpu | wattspan_core::DeviceKind::GpuPartition);
        match scope {
            DeviceScope::All => Some(counted),
            DeviceScope::Gpus(_) if !gpu => Some(counted),
            DeviceScope::Gpus(ids) | DeviceScope::Only(ids) => ids.contains(&device.id).then(|| {
                counted
                    || (is_part(device.kind) && !device.parent.as_ref().is_some_and(|id| ids.contains(id)))
            }),
            _ => Some(counted),
        }
    }

    pub(super) fn begin(&mut self, seq: u64, id: InferenceId, slot: usize, at: MonoTime) {
        let begin = at.nanos();
        self.active.push(Active {
            seq,
            id,
            slot,
            begin,
            end: u64::MAX,
            standing: Standing::Charged,
            pending: false,
        });
        self.sums.push(Sums::default());
        self.accounts.push(Account::default());
    }

    /// Sets the end; answers whether a part of that time was final already.
    pub(super) fn finish(&mut self, seq: u64, at: MonoTime) -> bool {
        let closed_to = self.closed_to;
        let Some(index) = self.find(seq) else { return false };
        let active = &mut self.active[index];
        let late = at < closed_to && active.begin < closed_to.nanos();
        active.end = at.nanos().max(active.begin);
        late
    }

    fn find(&self, seq: u64) -> Option<usize> {
        // Numbers rise by one from place to place but for those that left or never came: it cannot stand later.
        let first = self.active.first()?.seq;
        let latest = usize::try_from(seq.checked_sub(first)?).ok()?.min(self.active.len() - 1);
        if self.active[latest].seq == seq {
            return Some(latest);
        }
        self.active[..latest].binary_search_by_key(&seq, |active| active.seq).ok()
    }

    pub(super) fn receive(&mut self, measured: Measured, ownership: Ownership) {
        self.received = (measured.start.max(self.received.1), self.received.1.max(measured.end));
        self.refresh = measured.refresh.or(Some(measured.length()));
        self.sensor = measured.sensor;
        self.lost = false;
        self.queue.push_back(Queued { measured, ownership, fresh: true });
    }

    /// The next interval that may be closed: not one that came in since the last poll, unless all may.
    pub(super) fn due(&mut self, all: bool) -> Option<(Measured, Ownership)> {
        let due = self.queue.front().is_some_and(|queued| all || !queued.fresh);
        due.then(|| self.queue.pop_front()).flatten().map(|queued| (queued.measured, queued.ownership))
    }

    /// A poll is over: what came in may be closed by the next.
    pub(super) fn polled(&mut self) {
        for queued in &mut self.queue {
            queued.fresh = false;
        }
    }

    /// Whether intervals wait that would tell more about a time up to `end`.
    pub(super) fn could_tell(&self, end: MonoTime) -> bool {
        self.closed_to < end && self.queue.iter().any(|queued| queued.measured.start < end)
    }

    /// Whether all that will ever be known about a time up to `end` is known.
    pub(super) fn covers(&self, end: MonoTime) -> bool {
        if self.lost {
            return true;
        }
        let settled = match self.sensor {
            SensorKind::TrailingMean { window } => {
                self.received.1 >= end + window / 2 + self.refresh.unwrap_or_default()
            }
            _ => self.received.0 >= end,
        };
        settled && self.closed_to >= end
    }

    /// Takes out an inference's account. `last` says that nothing more can come for it.
    pub(super) fn take(&mut self, seq: u64, model: &UncertaintyModel, last: bool) -> Option<Figures> {
        let after = self.queue.front().and_then(|queued| queued.measured.power()).map(Watts::watts);
        let around = self.last;
        let index = self.find(seq)?;
        let active = self.active.get_mut(index).filter(|active| active.standing == Standing::Charged)?;
        let (sums, mut account) =
            (std::mem::take(&mut self.sums[index]), std::mem::take(&mut self.accounts[index]));
        if last {
            active.standing = Standing::Dead;
            self.dead += 1;
        } else {
            active.standing = Standing::Settled;
            self.settled += 1;
        }
        if let Some(around) = around.filter(|_| active.pending) {
            account.random.add(model, &around, &account.last, after);
        }
        active.pending = false;
        account.random.resolution(model, f64::from(account.traits.resolution));
        let intervals = account.after.unwrap_or(self.joules) - account.before;
        Some(Figures { sums, account, intervals })
    }

    /// Lowest mean power of all intervals; zero before the first.
    pub(super) fn lowest(&self) -> f64 {
        if self.lowest == f64::MAX { 0.0 } else { self.lowest }
    }

    pub(super) fn session_baseline(&self) -> Option<f64> {
        self.baseline.session()
    }

    /// Entries held in memory.
    #[cfg(test)]
    pub(super) fn held(&self) -> usize {
        self.active.len() + self.sums.len() + self.accounts.len() + self.queue.len()
    }

    /// Gives up the places of those that are done, once they are many enough to be worth a walk.
    fn compact(&mut self) {
        if self.dead * 8 < self.active.len() && self.settled == 0 {
            return;
        }
        let closed_to = self.closed_to.nanos();
        let keep = |active: &Active| match active.standing {
            Standing::Charged => true,
            Standing::Settled => active.end > closed_to,
            Standing::Dead => false,
        };
        let mut kept = self.active.iter().map(keep);
        self.accounts.retain(|_| kept.next().unwrap_or(true));
        let mut kept = self.active.iter().map(keep);
        self.sums.retain(|_| kept.next().unwrap_or(true));
        self.active.retain(keep);
        self.dead = 0;
        self.settled = self.active.iter().filter(|active| active.standing == Standing::Settled).count();
    }

    /// Closes an interval: shares its energy and makes it final. Answers with what came of it, and whether a part of
    /// it was final already.
    pub(super) fn close(
        &mut self,
        mut measured: Measured,
        ownership: Ownership,
        context: &Context<'_>,
        scratch: &mut Scratch,
    ) -> (Option<IntervalEnergy>, bool) {
        self.compact();
        let (id, original) = (self.device.id.clone(), measured.start);
        let mut overlapping = StateEnergy::default();
        let late = measured.start < self.closed_to;
        if late {
            // Time that was closed before is not opened again: what is measured for it twice is nobody's.
            let twice = measured.end.min(self.closed_to).since(measured.start);
            if let Ok(energy) = &mut measured.energy {
                let part = prorate(*energy, twice, measured.end.since(measured.start));
                overlapping.unattributed = part;
                *energy -= part;
            }
            measured.start = self.closed_to;
        }
        if measured.end <= measured.start {
            overlapping.unattributed += measured.energy.unwrap_or_default();
            self.totals += overlapping;
            let interval = IntervalEnergy::new(
                id,
                original.min(measured.end),
                measured.end,
                measured.method,
                overlapping,
            );
            return ((overlapping.total() != Joules::ZERO).then_some(interval), late);
        }
        let energy = measured.energy.and_then(|energy| {
            if (0..TOO_MUCH).contains(&energy.microjoules()) {
                Ok(energy)
            } else {
                Err(GapReason::Implausible)
            }
        });
        let Ok(energy) = energy else {
            let reason = energy.err().unwrap_or(GapReason::Missing);
            self.fold(context.model, None);
            self.last = None;
            self.gather(measured.start.nanos(), measured.end.nanos(), &|_, _, _| None, scratch);
            self.closed_to = measured.end;
            return (Some(IntervalEnergy::gap(id, original, measured.end, measured.method, reason)), late);
        };
        let mut state = self.share(&measured, energy, ownership, context, scratch);
        state += overlapping;
        self.totals += state;
        self.closed_to = measured.end;
        (Some(IntervalEnergy::new(id, original, measured.end, measured.method, state)), late)
    }

    fn share(
        &mut self,
        measured: &Measured,
        energy: Joules,
        ownership: Ownership,
        context: &Context<'_>,
        scratch: &mut Scratch,
    ) -> StateEnergy {
        let (start, end) = (measured.start.nanos(), measured.end.nanos());
        let power = measured.power().map_or(0.0, Watts::watts);
        let last_end = self.last_end;
        self.largest = self.largest.max(power);
        self.lowest = self.lowest.min(power);
        self.gather(start, end, context.rate, scratch);
        let clear = match measured.sensor {
            SensorKind::TrailingMean { window } => window / 2,
            _ => Duration::ZERO,
        };
        let baseline = self.baseline.before(start, clear);
        let part = |share: wattspan_core::Ratio| (share.ratio().clamp(0.0, 1.0) * WHOLE as f64) as i128;
        let ours = part(ownership.ours);
        let interval = Interval {
            start,
            end,
            microjoules: energy.microjoules(),
            baseline,
            ours,
            others: part(ownership.others).min(WHOLE - ours),
        };
        let tariff = tariffs(start, end, context.tariffs, &mut scratch.cuts);
        let rest = scratch.splitter.split(&interval, &scratch.pieces, &scratch.cuts);
        let limit = measured.limit.map_or(self.largest, Watts::watts).max(self.largest);
        let mut state = StateEnergy {
            idle: Joules::from_microjoules(rest.idle),
            other: Joules::from_microjoules(rest.other),
            unattributed: Joules::from_microjoules(rest.unattributed),
            ..StateEnergy::default()
        };
        let traits = traits(measured, limit, baseline.is_some(), tariff);
        if traits != self.traits || self.epoch == 0 {
            self.traits = traits;
            self.epoch += 1;
        }
        let joules = (self.joules, self.joules + energy.joules());
        self.joules = joules.1;
        let facts = Facts { measured, joules, rest, context, before: self.last, power };
        let mut inference = 0;
        for index in 0..scratch.pieces.len() {
            let microjoules = scratch.splitter.parts[index].microjoules;
            if self.active[scratch.places[index]].standing == Standing::Charged {
                inference += i128::from(microjoules);
                self.credit(index, &facts, scratch);
            } else {
                state.unattributed += Joules::from_microjoules(microjoules.into());
            }
        }
        state.inference = Joules::from_microjoules(inference);
        // Those that ended before this interval see it as the one after their last.
        self.fold_ended(start, context.model, power);
        self.last = Some(Surroundings {
            sensor: measured.sensor,
            before: self.last.map(|last| last.power),
            power,
            range: (limit - self.baseline.session().unwrap_or(0.0)).max(0.0),
            length: measured.length().as_secs_f64(),
            refresh: measured.refresh,
        });
        if scratch.pieces.is_empty() {
            self.learn_idle(measured, power, last_end);
        }
        state
    }

    /// An interval without anything in flight tells the idle draw, unless it may hold the after-draw of an inference.
    fn learn_idle(&mut self, measured: &Measured, power: f64, last_end: Option<u64>) {
        let after_draw = match measured.sensor {
            SensorKind::TrailingMean { window } => window,
            _ => AFTER_DRAW,
        };
        let clear = last_end
            .is_none_or(|end| measured.start.nanos() >= end.saturating_add(after_draw.as_nanos() as u64));
        if clear {
            self.baseline.idle(measured.start.nanos(), measured.end.nanos(), power);
        }
    }

    /// Who was in flight in an interval, and when.
    fn gather(
        &mut self,
        start: u64,
        end: u64,
        rate: &dyn Fn(usize, u64, u64) -> Option<i64>,
        scratch: &mut Scratch,
    ) {
        scratch.pieces.clear();
        scratch.places.clear();
        let mut last_end = self.last_end.unwrap_or(0);
        for (place, active) in self.active.iter().enumerate() {
            if active.end <= end {
                last_end = last_end.max(active.end);
            }
            let (from, to) = (active.begin.max(start), active.end.min(end));
            if from < to && active.standing != Standing::Dead {
                let rate = rate(active.slot, from, to);
                scratch.pieces.push(Piece { id: active.id, from, to, rate });
                scratch.places.push(place);
            }
        }
        if last_end > 0 {
            self.last_end = Some(last_end);
        }
    }

    fn credit(&mut self, index: usize, facts: &Facts<'_>, scratch: &Scratch) {
        let (piece, part) = (&scratch.pieces[index], &scratch.splitter.parts[index]);
        let place = scratch.places[index];
        let (active, sums) = (&mut self.active[place], &mut self.sums[place]);
        let measured = facts.measured;
        let (begins, ends) = (active.begin >= measured.start.nanos(), active.end <= measured.end.nanos());
        let exposure = facts.exposure(piece, part, begins, ends);
        let exposed = exposure.matters(measured.sensor);
        let known = sums.epoch == self.epoch && scratch.cuts.is_empty();
        let mut left = i128::from(part.microjoules);
        // Inside an inference, a counter's intervals of one kind leave the account alone.
        if !known || exposed || active.pending || ends || part.apart != 0.0 {
            let account = &mut self.accounts[place];
            if let Some(around) = facts.before.filter(|_| active.pending) {
                account.random.add(facts.context.model, &around, &account.last, Some(facts.power));
            }
            active.pending = exposed;
            account.last = exposure;
            account.apart += part.apart;
            if sums.epoch == 0 {
                account.before = facts.joules.0;
            }
            if ends {
                account.after = Some(facts.joules.1);
            }
            if !known {
                account.learn(&self.traits, sums.energy, sums.epoch == 0);
            }
            let mut from = measured.start.nanos();
            for cut in &scratch.cuts {
                let share = (scratch.splitter.exact_between(piece, from, *cut) >> FRACTION).min(left);
                sums.energy += share;
                left -= share;
                from = *cut;
                let after = facts.context.tariffs.iter().rev().find(|(at, _)| at.nanos() == *cut);
                account.change_tariff(after.map_or(account.traits.tariff, |known| known.1), sums.energy);
            }
        }
        // After a cut the tariff is another one than the interval began with.
        sums.epoch = if scratch.cuts.is_empty() { self.epoch } else { u64::MAX };
        sums.energy += left;
        sums.idle += part.idle;
        sums.covered += piece.to - piece.from;
        sums.share_time += f64::from(exposure.own);
    }

    /// Adds the terms of the interval before to those that ended in it.
    fn fold_ended(&mut self, start: u64, model: &UncertaintyModel, after: f64) {
        let Some(around) = self.last else { return };
        for (active, account) in self.active.iter_mut().zip(&mut self.accounts) {
            if active.pending && active.end <= start {
                active.pending = false;
                account.random.add(model, &around, &account.last, Some(after));
            }
        }
    }

    /// Adds the terms of the interval before to all, when what follows tells nothing.
    fn fold(&mut self, model: &UncertaintyModel, after: Option<f64>) {
        let Some(around) = self.last else { return };
        for (active, account) in self.active.iter_mut().zip(&mut self.accounts) {
            if std::mem::take(&mut active.pending) {
                account.random.add(model, &around, &account.last, after);
            }
        }
    }
}

fn traits(measured: &Measured, limit: f64, baseline: bool, tariff: u32) -> Traits {
    let refresh = measured.refresh.unwrap_or(measured.length());
    let mut traits = Traits {
        method: measured.method,
        baseline,
        disagreement: measured.cross_check.unwrap_or(0.0) as f32,
        limit: limit as f32,
        resolution: measured.resolution.joules() as f32,
        refresh: rounded(refresh),
        part_time: false,
        smeared: false,
        tariff,
    };
    match measured.sensor {
        SensorKind::Instant { window } => {
            traits.part_time = window.as_secs_f64() < (1.0 - PART_TIME) * refresh.as_secs_f64();
        }
        SensorKind::TrailingMean { .. } => traits.smeared = true,
        SensorKind::Counter => {}
    }
    traits
}

/// A refresh period to a tenth: a measured one moves a little with each reading, which is no news.
fn rounded(refresh: Duration) -> u64 {
    let nanos = refresh.as_nanos() as u64;
    let step = 10_u64.pow(nanos.max(1).ilog10()) / 10;
    (nanos + step / 2).checked_div(step).map_or(nanos, |steps| steps * step)
}

/// The tariff at the start of an interval; changes inside it go into `cuts`.
fn tariffs(start: u64, end: u64, tariffs: &[(MonoTime, u32)], cuts: &mut Vec<u64>) -> u32 {
    let first = tariffs.partition_point(|(from, _)| from.nanos() <= start);
    cuts.clear();
    cuts.extend(tariffs[first..].iter().map(|(from, _)| from.nanos()).take_while(|from| *from < end));
    first.checked_sub(1).map_or(0, |index| tariffs[index].1)
}

/// What all pieces of an interval have in common.
struct Facts<'a> {
    measured: &'a Measured,
    /// Energy of all intervals before and after this one.
    joules: (f64, f64),
    rest: Rest,
    context: &'a Context<'a>,
    before: Option<Surroundings>,
    power: f64,
}

impl Facts<'_> {
    fn exposure(&self, piece: &Piece, part: &Part, begins: bool, ends: bool) -> Exposure {
        let edges = usize::from(begins) + usize::from(ends);
        let length = self.measured.length().as_secs_f64();
        let free = self.rest.free as f64 / 1e9;
        let inside = (piece.to - piece.from) as f64 / 1e9;
        // Own share of the interval's energy in flight, and of the power while in flight.
        let share = if self.rest.busy > 0 { part.exact as f64 / self.rest.busy as f64 } else { 0.0 };
        let own = share * (length - free);
        let inner = if inside > 0.0 { (own / inside).min(1.0) } else { 0.0 };
        let lag = self.measured.lag.as_secs_f64();
        let marks = if piece.rate.is_some() { edges as f64 } else { 0.0 };
        let mark = self.context.model.mark_latency.as_secs_f64();
        Exposure {
            idle: (free * share) as f32,
            spread: length as f32 * part.spread,
            edge: (lag * inner * edges as f64) as f32,
            mark: (mark * inner * marks) as f32,
            own: own as f32,
            step: (lag * share) as f32,
            last_step: if ends { (lag * share) as f32 } else { 0.0 },
        }
    }
}

/// Work of an inference per nanosecond in a stretch, for [`Context::rate`].
pub(super) fn rate(weight: f64, length: u64) -> Option<i64> {
    let rate = weight / length.max(1) as f64 * (1_u64 << 50) as f64;
    // The sum over a million inferences must leave room for the products in `share`.
    (rate >= 0.0 && rate < 1e17).then_some(rate as i64)
}

/// Weight of an inference's marks in a stretch.
pub(super) fn marked(track: &WorkTrack, policy: &dyn super::SharePolicy, from: u64, to: u64) -> Option<i64> {
    let work = track.within(from, to)?;
    rate(policy.weight(&work)?, to - from)
}

/// How long a device may go on drawing after an end: caches are written back and clocks step down.
const AFTER_DRAW: Duration = Duration::from_millis(50);

/// Whether devices of a kind are a part of another and can be measured by themselves.
fn is_part(kind: wattspan_core::DeviceKind) -> bool {
    use wattspan_core::DeviceKind::{CpuPart, GpuPartition};
    matches!(kind, GpuPartition | CpuPart)
}
