//! One device's book: its intervals, and what each inference in flight has had of them.

mod account;
mod closing;

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use wattspan_core::{Device, DeviceScope, InferenceId, MonoTime, StateEnergy, Watts};

use super::Ownership;
use super::baseline::Baseline;
use super::share::{Piece, Splitter};
use super::work::WorkTrack;
use crate::meter::{Measured, SensorKind};
use crate::uncertainty::{Surroundings, UncertaintyModel};

pub(super) use account::Figures;
use account::{Account, Earlier, Sums, Traits};

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
    /// What each of them has had; those that began since the last interval are not in it yet. In three lists, so that
    /// an interval in which nothing begins or ends touches little.
    sums: Vec<Sums>,
    accounts: Vec<Account>,
    earlier: Earlier,
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
            earlier: Earlier::new(),
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
    }

    /// Gives those that began since the last interval their accounts.
    ///
    /// Not at the begin: that would touch a few hundred bytes of every device's book for one inference after another,
    /// where here each book is written from end to end.
    fn open_accounts(&mut self) {
        self.sums.resize(self.active.len(), Sums::default());
        self.accounts.resize(self.active.len(), Account::default());
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
        let sums = self.sums.get(index).copied().unwrap_or_default();
        let mut account = self.accounts.get(index).copied().unwrap_or_default();
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
        let earlier = if self.earlier.is_empty() { None } else { self.earlier.remove(&seq) };
        let earlier = earlier.unwrap_or_default();
        Some(Figures { sums, account, earlier, intervals })
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
        self.active.len() + self.sums.len() + self.accounts.len() + self.earlier.len() + self.queue.len()
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
}

/// Work of an inference per nanosecond in a stretch, for [`Context::rate`].
pub(super) fn rate(weight: f64, length: u64) -> Option<i64> {
    let rate = weight / length.max(1) as f64 * (1_u64 << 50) as f64;
    // The sum over a million inferences must leave room for the products in `share`.
    (0.0..1e17).contains(&rate).then_some(rate as i64)
}

/// Weight of an inference's marks in a stretch.
pub(super) fn marked(track: &WorkTrack, policy: &dyn super::SharePolicy, from: u64, to: u64) -> Option<i64> {
    let work = track.within(from, to)?;
    rate(policy.weight(&work)?, to - from)
}

/// Whether devices of a kind are a part of another and can be measured by themselves.
fn is_part(kind: wattspan_core::DeviceKind) -> bool {
    use wattspan_core::DeviceKind::{CpuPart, GpuPartition};
    matches!(kind, GpuPartition | CpuPart)
}
