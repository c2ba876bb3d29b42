//! Shares each interval's energy among inferences in flight, idle, other processes and unattributed.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use wattspan_core::{
    Device, DeviceId, DeviceScope, DeviceShare, InferenceEnergy, InferenceId, IntervalEnergy, Joules,
    LatePhases, Method, MonoTime, Ratio, StateEnergy,
};

use crate::Measured;

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
    /// Its energy by tariff, in the order of [`Ledger::tariff`] calls; adds up to the total.
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

/// The ledger. No clock, no thread: times come with the calls.
#[derive(Debug, Default)]
pub struct Ledger {
    devices: BTreeMap<DeviceId, DeviceBook>,
    inferences: HashMap<InferenceId, Inference>,
    tariffs: Vec<(MonoTime, u32)>,
}

#[derive(Debug)]
struct DeviceBook {
    device: Arc<Device>,
    pending: Vec<(Measured, Ownership)>,
    closed_to: MonoTime,
    totals: StateEnergy,
}

#[derive(Debug)]
struct Inference {
    begin: MonoTime,
    end: Option<MonoTime>,
    scope: DeviceScope,
    shares: BTreeMap<DeviceId, Joules>,
    by_tariff: Vec<(u32, Joules)>,
}

impl Ledger {
    /// An empty ledger.
    pub fn new() -> Self {
        Self::default()
    }

    /// An inference begins.
    pub fn begin(&mut self, id: InferenceId, at: MonoTime, scope: DeviceScope) {
        let inference =
            Inference { begin: at, end: None, scope, shares: BTreeMap::new(), by_tariff: Vec::new() };
        self.inferences.insert(id, inference);
    }

    /// Work of an inference so far, as counted at a time: prompt tokens computed and decode steps made.
    pub fn mark(&mut self, _id: InferenceId, _at: MonoTime, _prompt_tokens: u64, _decode_steps: u64) {}

    /// An inference has ended.
    pub fn finish(&mut self, id: InferenceId, at: MonoTime, _phases: LatePhases) {
        if let Some(inference) = self.inferences.get_mut(&id) {
            inference.end = Some(at.max(inference.begin));
        }
    }

    /// From a time on, energy counts under another tariff (an intensity, a price).
    pub fn tariff(&mut self, from: MonoTime, tariff: u32) {
        self.tariffs.push((from, tariff));
    }

    /// A device's interval came in. It is closed by the next [`Ledger::advance`].
    pub fn interval(&mut self, device: &Arc<Device>, measured: Measured, ownership: Ownership) {
        let book = self.devices.entry(device.id.clone()).or_insert_with(|| DeviceBook {
            device: Arc::clone(device),
            pending: Vec::new(),
            closed_to: measured.start,
            totals: StateEnergy::default(),
        });
        book.pending.push((measured, ownership));
    }

    /// Closes the intervals that came in before the last poll and settles what they complete.
    pub fn advance(&mut self, _now: MonoTime) -> Closed {
        let mut closed = Closed::default();
        let mut in_flight: Vec<_> = self.inferences.iter_mut().collect();
        in_flight.sort_by_key(|(id, _)| **id);
        for book in self.devices.values_mut() {
            for (measured, _) in std::mem::take(&mut book.pending) {
                book.closed_to = measured.end;
                let id = book.device.id.clone();
                let Ok(energy) = measured.energy else { continue };
                let tariff =
                    self.tariffs.iter().rev().find(|(from, _)| *from <= measured.start).map_or(0, |t| t.1);
                let state = share(&id, book.device.is_counted(), &measured, energy, tariff, &mut in_flight);
                book.totals += state;
                closed.intervals.push(IntervalEnergy::new(
                    id,
                    measured.start,
                    measured.end,
                    measured.method,
                    state,
                ));
            }
        }
        let covered = self.devices.values().map(|book| book.closed_to).min();
        let mut done: Vec<InferenceId> = self
            .inferences
            .iter()
            .filter(|(_, inference)| inference.end.is_some_and(|end| covered.is_some_and(|to| to >= end)))
            .map(|(id, _)| *id)
            .collect();
        done.sort();
        closed.settled = done.into_iter().filter_map(|id| self.settle(id)).collect();
        closed
    }

    /// Settles an inference with what is known, at a bound on the wait or at shutdown; `None` when it is not known.
    pub fn settle(&mut self, id: InferenceId) -> Option<Settled> {
        let inference = self.inferences.remove(&id)?;
        let devices: Vec<DeviceShare> = inference
            .shares
            .into_iter()
            .filter_map(|(id, energy)| {
                let kind = self.devices.get(&id)?.device.kind;
                Some(DeviceShare::new(id, kind, Method::Counter, energy))
            })
            .collect();
        let energy = (!devices.is_empty()).then(|| {
            let total = devices.iter().map(|share| share.energy).sum();
            let mut energy = InferenceEnergy::new(total, Method::Counter, "time");
            energy.devices = devices;
            energy
        });
        Some(Settled { id, energy, by_tariff: inference.by_tariff })
    }

    /// A device's energy so far by state; the parts add up to what its sensor counted in closed intervals.
    pub fn totals(&self, device: &DeviceId) -> Option<StateEnergy> {
        self.devices.get(device).map(|book| book.totals)
    }

    /// How many inferences are in flight or wait to be settled.
    pub fn open(&self) -> usize {
        self.inferences.len()
    }
}

/// Cuts an interval by time at every begin and end, and shares each segment equally.
fn share(
    device: &DeviceId,
    counted: bool,
    measured: &Measured,
    energy: Joules,
    tariff: u32,
    in_flight: &mut [(&InferenceId, &mut Inference)],
) -> StateEnergy {
    let mut cuts = vec![measured.start.nanos(), measured.end.nanos()];
    let within = |time: MonoTime| time > measured.start && time < measured.end;
    for (_, inference) in in_flight.iter() {
        cuts.extend(
            [Some(inference.begin), inference.end]
                .into_iter()
                .flatten()
                .filter(|t| within(*t))
                .map(MonoTime::nanos),
        );
    }
    cuts.sort_unstable();
    cuts.dedup();
    let length = i128::from(measured.end.nanos() - measured.start.nanos()).max(1);
    let mut state = StateEnergy::default();
    let mut spent = Joules::ZERO;
    for pair in cuts.windows(2) {
        // Each segment gets what is due up to its end less what was given before: nothing is lost to rounding.
        let due = energy.microjoules() * i128::from(pair[1] - measured.start.nanos()) / length;
        let part = Joules::from_microjoules(due) - spent;
        spent += part;
        let mut users: Vec<&mut Inference> = in_flight
            .iter_mut()
            .filter(|(_, inference)| {
                counted
                    && in_scope(&inference.scope, device)
                    && inference.begin.nanos() <= pair[0]
                    && inference.end.is_none_or(|end| end.nanos() >= pair[1])
            })
            .map(|(_, inference)| &mut **inference)
            .collect();
        let Some(count) = i128::try_from(users.len()).ok().filter(|count| *count > 0) else {
            state.idle += part;
            continue;
        };
        state.inference += part;
        let mut given = 0;
        for (index, user) in users.iter_mut().enumerate() {
            let up_to = part.microjoules() * (index as i128 + 1) / count;
            let own = Joules::from_microjoules(up_to - given);
            given = up_to;
            *user.shares.entry(device.clone()).or_default() += own;
            match user.by_tariff.last_mut().filter(|(last, _)| *last == tariff) {
                Some((_, sum)) => *sum += own,
                None => user.by_tariff.push((tariff, own)),
            }
        }
    }
    state
}

fn in_scope(scope: &DeviceScope, device: &DeviceId) -> bool {
    match scope {
        DeviceScope::Gpus(ids) | DeviceScope::Only(ids) => ids.contains(device),
        _ => true,
    }
}
