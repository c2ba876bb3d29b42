//! Shares each interval's energy among inferences in flight, idle, other processes and unattributed.
//!
//! Knows no sensor, clock or thread: intervals come from meters, times with the calls. Each inference in flight costs
//! [`Ledger::bytes_per_inference`] bytes and a few dozen nanoseconds for each interval of each device.

mod baseline;
mod book;
mod policy;
mod settle;
mod share;
#[cfg(test)]
mod tests;
mod work;

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use wattspan_core::{
    Device, DeviceId, DeviceScope, InferenceEnergy, InferenceId, IntervalEnergy, Joules, LatePhases,
    MonoTime, Ratio, StateEnergy, Watts, Workload,
};

use crate::Measured;
use crate::flags::Cadence;
use crate::uncertainty::UncertaintyModel;
use book::{Book, Context, Figures, Scratch, marked};
use settle::{Case, Entry, Tally};
use work::WorkTrack;

pub use policy::{ByTime, ByTokens, SharePolicy, Work};

/// How much of a device's draw above idle this program's inferences caused in an interval, by evidence of processes.
///
/// What is neither ours nor others' is unattributed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ownership {
    /// Part that is ours.
    pub ours: Ratio,
    /// Part that is known to be another process's.
    pub others: Ratio,
}

impl Ownership {
    /// Everything is ours: the default for a GPU without evidence of other processes.
    pub const OURS: Self = Self { ours: Ratio::ONE, others: Ratio::ZERO };
}

/// What the ledger says about an inference once it is complete.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Settled {
    /// Which inference.
    pub id: InferenceId,
    /// Its energy; `None` when no device in its scope was measured.
    pub energy: Option<InferenceEnergy>,
    /// Its energy by tariff, in the order of [`Ledger::tariff`] calls; adds up to the total. Energy from before the
    /// first call is under tariff 0.
    pub by_tariff: Vec<(u32, Joules)>,
}

/// What a step of the ledger brought.
#[derive(Clone, Debug, Default)]
pub struct Closed {
    /// Intervals that are final.
    pub intervals: Vec<IntervalEnergy>,
    /// Inferences that are complete.
    pub settled: Vec<Settled>,
}

/// What came too late to be shared as it should have been.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Clipped {
    /// Begins of which a part lies in intervals that were final.
    pub begins: u64,
    /// Finishes before the end of what was final; the inference keeps what it had.
    pub finishes: u64,
    /// Intervals that overlap what was final; that part of their energy is unattributed.
    pub intervals: u64,
}

/// Settings of a ledger.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct LedgerConfig {
    /// How draw above idle is shared; by tokens unless set.
    pub policy: Arc<dyn SharePolicy>,
    /// The uncertainty model.
    pub uncertainty: UncertaintyModel,
    /// Relative gain uncertainty of single devices that were calibrated against a meter.
    pub gains: HashMap<DeviceId, f64>,
    /// An inference is settled with what is known when it ended longer ago than this.
    pub settle_within: Duration,
}

impl Default for LedgerConfig {
    fn default() -> Self {
        Self {
            policy: Arc::new(ByTokens::default()),
            uncertainty: UncertaintyModel::default(),
            gains: HashMap::new(),
            settle_within: Duration::from_secs(10),
        }
    }
}

/// The ledger. No clock, no thread: times come with the calls.
///
/// Calls of one poll may come in any order but for [`Ledger::advance`], which ends it. Memory is bounded by what is in
/// flight: settled inferences and closed intervals are gone, and one that never ends can be given up with
/// [`Ledger::forget`].
#[derive(Debug, Default)]
pub struct Ledger {
    config: LedgerConfig,
    books: BTreeMap<DeviceId, Book>,
    inferences: HashMap<InferenceId, usize>,
    slots: Vec<Option<Inference>>,
    free: Vec<usize>,
    waiting: Vec<usize>,
    tariffs: Vec<(MonoTime, u32)>,
    cadence: Cadence,
    marked: usize,
    next_seq: u64,
    clipped: Clipped,
    stash: Closed,
    scratch: Scratch,
    leaving: Vec<Leaving>,
    figures: Vec<Option<Figures>>,
}

/// An inference that is being settled.
#[derive(Debug)]
struct Leaving {
    inference: Inference,
    end: MonoTime,
    early: bool,
}

#[derive(Debug)]
struct Inference {
    id: InferenceId,
    seq: u64,
    begin: MonoTime,
    end: Option<MonoTime>,
    scope: DeviceScope,
    /// Its marks say how it shares; else by time.
    by_work: bool,
    work: WorkTrack,
    decode_steps: f64,
    forgotten: bool,
}

impl Ledger {
    /// An empty ledger.
    pub fn new() -> Self {
        Self::default()
    }

    /// An empty ledger with settings of its own.
    pub fn with_config(config: LedgerConfig) -> Self {
        Self { config, ..Self::default() }
    }

    /// Memory that each inference in flight takes for a number of devices, marks apart.
    ///
    /// **Unit** bytes. A mark takes 24 more; those that no open interval needs are dropped.
    pub const fn bytes_per_inference(devices: usize) -> usize {
        size_of::<Option<Inference>>()
            + size_of::<(InferenceId, usize)>()
            + 24
            + devices * Book::BYTES_PER_INFERENCE
    }

    /// Makes a device known before its first interval, so that inferences wait for it.
    pub fn add_device(&mut self, device: &Arc<Device>, from: MonoTime) {
        self.book(device, from);
    }

    /// A device is gone: nothing waits for its readings until an interval of it comes in again.
    pub fn remove_device(&mut self, device: &DeviceId) {
        if let Some(book) = self.books.get_mut(device) {
            book.lost = true;
        }
    }

    /// An inference begins. An id that is open already is left as it is.
    pub fn begin(&mut self, id: InferenceId, at: MonoTime, scope: DeviceScope) {
        self.begin_as(id, at, scope, Workload::Generation);
    }

    /// An inference of some kind begins. Loading a model is shared by time, whatever the policy.
    pub fn begin_as(&mut self, id: InferenceId, at: MonoTime, scope: DeviceScope, workload: Workload) {
        if self.inferences.contains_key(&id) {
            return;
        }
        let seq = self.next_seq;
        self.next_seq += 1;
        let by_work = workload != Workload::Load;
        let inference = Inference {
            id,
            seq,
            begin: at,
            end: None,
            scope,
            by_work,
            work: WorkTrack::new(at),
            decode_steps: 0.0,
            forgotten: false,
        };
        let slot = self.free.pop().unwrap_or(self.slots.len());
        let mut late = false;
        for book in self.books.values_mut() {
            if book.in_scope(&inference.scope).is_some() {
                late |= at < book.closed_to;
                book.begin(seq, id, slot, at);
            }
        }
        self.clipped.begins += u64::from(late);
        self.cadence.begin(at);
        if slot == self.slots.len() {
            self.slots.push(Some(inference));
        } else {
            self.slots[slot] = Some(inference);
        }
        self.inferences.insert(id, slot);
    }

    /// Work of an inference so far, as counted at a time: prompt tokens computed and decode steps made.
    pub fn mark(&mut self, id: InferenceId, at: MonoTime, prompt_tokens: u64, decode_steps: u64) {
        let Some(slot) = self.inferences.get(&id).copied() else { return };
        let Some(inference) = self.slots[slot].as_mut().filter(|inference| inference.by_work) else { return };
        let had_marks = inference.work.has_marks();
        inference.work.mark(at, prompt_tokens as f64, decode_steps as f64);
        inference.decode_steps = inference.decode_steps.max(decode_steps as f64);
        if inference.work.len() > MARKS {
            match self.books.values().map(|book| book.closed_to).min() {
                Some(closed) => inference.work.forget_before(closed),
                None => inference.work.halve(),
            }
            // A sensor that stands still must not keep marks without end.
            if inference.work.len() > 16 * MARKS {
                inference.work.halve();
            }
        }
        let has_marks = inference.work.has_marks();
        self.marked += usize::from(has_marks && !had_marks);
    }

    /// An inference has ended.
    pub fn finish(&mut self, id: InferenceId, at: MonoTime, phases: LatePhases) {
        let Some(slot) = self.inferences.get(&id).copied() else { return };
        let Some(inference) = self.slots[slot].as_mut().filter(|inference| inference.end.is_none()) else {
            return;
        };
        let at = at.max(inference.begin);
        inference.end = Some(at);
        if inference.by_work {
            let had_marks = inference.work.has_marks();
            inference.work.late(inference.begin, at, &phases);
            self.marked += usize::from(inference.work.has_marks() && !had_marks);
            inference.decode_steps = inference.decode_steps.max(phases.decode_steps.unwrap_or(0) as f64);
        }
        let mut late = false;
        for book in self.books.values_mut() {
            late |= book.finish(inference.seq, at);
        }
        self.clipped.finishes += u64::from(late);
        self.waiting.push(slot);
    }

    /// Gives an inference up: it ends, its energy stays what inferences drew, and it is never settled.
    pub fn forget(&mut self, id: InferenceId, at: MonoTime) {
        self.finish(id, at, LatePhases::default());
        if let Some(inference) = self.open_mut(id) {
            inference.forgotten = true;
        }
    }

    /// From a time on, energy counts under another tariff (an intensity, a price).
    pub fn tariff(&mut self, from: MonoTime, tariff: u32) {
        let index = self.tariffs.partition_point(|(known, _)| *known <= from);
        self.tariffs.insert(index, (from, tariff));
        // What lies before all that is still open can be asked for no more.
        if self.tariffs.len() > TARIFFS {
            let closed = self.books.values().map(|book| book.closed_to).min();
            let passed = closed.map_or(0, |to| self.tariffs.partition_point(|(from, _)| *from <= to));
            self.tariffs.drain(..passed.saturating_sub(1));
        }
    }

    /// A device's interval came in. It is closed by the [`Ledger::advance`] after the next.
    pub fn interval(&mut self, device: &Arc<Device>, measured: Measured, ownership: Ownership) {
        self.book(device, measured.start).receive(measured, ownership);
    }

    /// Closes the intervals that came in before the last poll and settles what they complete.
    pub fn advance(&mut self, now: MonoTime) -> Closed {
        self.close(false);
        let within = self.config.settle_within;
        let (books, slots) = (&self.books, &self.slots);
        let mut done: Vec<(InferenceId, bool)> = Vec::new();
        for slot in &self.waiting {
            let Some((inference, end)) = slots[*slot].as_ref().and_then(|known| Some((known, known.end?)))
            else {
                continue;
            };
            if covered(books, inference, end) {
                done.push((inference.id, false));
            } else if now.since(end) > within {
                done.push((inference.id, !books.is_empty()));
            }
        }
        done.sort_unstable_by_key(|(id, _)| *id);
        self.stash.settled.reserve(done.len());
        for batch in done.chunks(BATCH) {
            self.settle_batch(batch);
        }
        self.waiting
            .retain(|slot| self.slots[*slot].as_ref().is_some_and(|inference| inference.end.is_some()));
        std::mem::take(&mut self.stash)
    }

    /// Closes all intervals that have come in, for a shutdown: what is still queued elsewhere is not waited for.
    pub fn flush(&mut self, now: MonoTime) -> Closed {
        self.close(true);
        self.advance(now)
    }

    /// Settles an inference with what is known, at a bound on the wait or at shutdown; `None` when it is not known.
    ///
    /// Intervals that this closes come with the next [`Ledger::advance`]. One that has not ended ends with what is
    /// closed.
    pub fn settle(&mut self, id: InferenceId) -> Option<Settled> {
        let slot = *self.inferences.get(&id)?;
        let end = self.slots[slot].as_ref()?.end;
        if self.books.values().any(|book| book.could_tell(end.unwrap_or(MonoTime::from_nanos(u64::MAX)))) {
            self.close(true);
        }
        let inference = self.slots[slot].as_ref()?;
        let end = end.unwrap_or_else(|| {
            let closed = self.books.values().map(|book| book.closed_to).max();
            closed.unwrap_or(inference.begin).max(inference.begin)
        });
        let early = inference.end.is_none() || !covered(&self.books, inference, end);
        if inference.end.is_none() {
            self.finish(id, end, LatePhases::default());
        }
        let known = self.stash.settled.len();
        self.settle_batch(&[(id, early && !self.books.is_empty())]);
        self.waiting.retain(|waiting| *waiting != slot);
        self.stash.settled.drain(known..).next()
    }

    /// A device's energy so far by state; the parts add up to what its sensor counted in closed intervals.
    ///
    /// A device that others contain has time with inferences in flight as `inference` too, though none is charged.
    pub fn totals(&self, device: &DeviceId) -> Option<StateEnergy> {
        self.books.get(device).map(|book| book.totals)
    }

    /// Draw of a device with nothing in flight: the median of the session, by time. **Absent** before it was seen idle.
    pub fn baseline(&self, device: &DeviceId) -> Option<Watts> {
        self.books.get(device).and_then(Book::session_baseline).and_then(Watts::new)
    }

    /// How many inferences are in flight or wait to be settled.
    pub fn open(&self) -> usize {
        self.inferences.len()
    }

    /// What came too late so far.
    pub fn clipped(&self) -> Clipped {
        self.clipped
    }

    fn open_mut(&mut self, id: InferenceId) -> Option<&mut Inference> {
        let slot = *self.inferences.get(&id)?;
        self.slots[slot].as_mut()
    }

    /// The book of a device, which knows all that is open.
    fn book(&mut self, device: &Arc<Device>, from: MonoTime) -> &mut Book {
        let (slots, gains) = (&self.slots, &self.config.gains);
        self.books.entry(device.id.clone()).or_insert_with(|| {
            let mut book = Book::new(Arc::clone(device), from, gains.get(&device.id).copied());
            let open = slots.iter().enumerate();
            let mut open: Vec<_> = open.filter_map(|(slot, known)| Some((slot, known.as_ref()?))).collect();
            open.sort_unstable_by_key(|(_, inference)| inference.seq);
            for (slot, inference) in open {
                if book.in_scope(&inference.scope).is_some() {
                    book.begin(inference.seq, inference.id, slot, inference.begin);
                    if let Some(end) = inference.end {
                        book.finish(inference.seq, end);
                    }
                }
            }
            book
        })
    }

    fn close(&mut self, all: bool) {
        let (slots, policy, unmarked) = (&self.slots, &*self.config.policy, self.marked == 0);
        let rate = |slot: usize, from: u64, to: u64| {
            if unmarked {
                return None;
            }
            slots.get(slot)?.as_ref().and_then(|inference| marked(&inference.work, policy, from, to))
        };
        let context = Context { model: &self.config.uncertainty, tariffs: &self.tariffs, rate: &rate };
        for book in self.books.values_mut() {
            while let Some((measured, ownership)) = book.due(all) {
                let (interval, late) = book.close(measured, ownership, &context, &mut self.scratch);
                self.clipped.intervals += u64::from(late);
                self.stash.intervals.extend(interval);
            }
            book.polled();
        }
    }

    /// Takes inferences out and puts their figures together; the flag says that one is settled early.
    ///
    /// What they had of a device lies side by side in its book, so a batch is taken out device by device: with
    /// thousands in flight on many devices memory is then read in runs, and not here and there.
    fn settle_batch(&mut self, batch: &[(InferenceId, bool)]) {
        for (id, early) in batch {
            let taken = self.inferences.remove(id).and_then(|slot| Some((slot, self.slots[slot].take()?)));
            let Some((slot, inference)) = taken else { continue };
            self.free.push(slot);
            self.marked -= usize::from(inference.work.has_marks());
            let end = inference.end.unwrap_or(inference.begin);
            self.leaving.push(Leaving { inference, end, early: *early });
        }
        let model = &self.config.uncertainty;
        self.figures.clear();
        for book in self.books.values_mut() {
            for Leaving { inference, end, .. } in &self.leaving {
                let figures = book.in_scope(&inference.scope).and_then(|charged| {
                    let last = book.closed_to >= *end;
                    book.take(inference.seq, model, last).filter(|_| charged)
                });
                self.figures.push(figures);
            }
        }
        let (policy, cadence, count) = (self.config.policy.name(), self.cadence.period(), self.leaving.len());
        for (index, Leaving { inference, end, early }) in self.leaving.drain(..).enumerate() {
            if inference.forgotten {
                continue;
            }
            let missing = match &inference.scope {
                DeviceScope::Gpus(ids) | DeviceScope::Only(ids) => {
                    ids.iter().any(|id| !self.books.contains_key(id))
                }
                _ => false,
            };
            let (length, steps) = (end.since(inference.begin), inference.decode_steps);
            let case = Case {
                id: inference.id,
                begin: inference.begin,
                end,
                policy: policy.clone(),
                early,
                missing,
                cadence,
                decode: (steps >= 1.0).then(|| length.div_f64(steps)),
            };
            let mut tally = Tally::new(case, self.books.len());
            let figures = self.figures.iter_mut().skip(index).step_by(count); // None without a device.
            for (book, figures) in self.books.values().zip(figures) {
                if let Some(figures) = figures.take() {
                    let (device, lowest, gain) = (&book.device, book.lowest(), book.gain);
                    tally.add(Entry { device, figures, lowest, gain }, model);
                }
            }
            self.stash.settled.push(tally.settled(&self.tariffs));
        }
    }
}

/// Whether all devices that an inference may use have told all about it.
fn covered(books: &BTreeMap<DeviceId, Book>, inference: &Inference, end: MonoTime) -> bool {
    let mut any = false;
    for book in books.values() {
        if book.in_scope(&inference.scope) == Some(true) {
            any = true;
            if !book.covers(end) {
                return false;
            }
        }
    }
    // While no device is known at all, one may yet come.
    any || !books.is_empty()
}

/// Inferences that are settled together: few enough that their figures stay in a core's own cache meanwhile.
const BATCH: usize = 64;
/// Marks of an inference that are kept before old ones are looked for.
const MARKS: usize = 64;
/// Changes of tariff that are kept before old ones are looked for.
const TARIFFS: usize = 64;
