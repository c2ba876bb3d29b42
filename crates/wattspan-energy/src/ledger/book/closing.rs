//! Closing an interval: who was in flight, what each gets, and what that is worth.

use std::time::Duration;

use wattspan_core::{GapReason, IntervalEnergy, Joules, MonoTime, StateEnergy, Watts};

use super::account::{Traits, change_tariff};
use super::{Book, Context, Scratch, Standing};
use crate::ledger::Ownership;
use crate::ledger::share::{FRACTION, Interval, Part, Piece, Rest, TOO_MUCH, WHOLE};
use crate::meter::{Measured, SensorKind, prorate};
use crate::uncertainty::{Exposure, PART_TIME, Surroundings, UncertaintyModel};

impl Book {
    /// Closes an interval: shares its energy and makes it final. Answers with what came of it, and whether a part of
    /// it was final already.
    pub(in crate::ledger) fn close(
        &mut self,
        mut measured: Measured,
        ownership: Ownership,
        context: &Context<'_>,
        scratch: &mut Scratch,
    ) -> (Option<IntervalEnergy>, bool) {
        self.compact();
        self.open_accounts();
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
                let tariff = &mut account.traits.tariff;
                change_tariff(tariff, self.traits.tariff, active.seq, sums.energy, &mut self.earlier);
                account.learn(&self.traits, sums.epoch == 0);
            }
            let mut from = measured.start.nanos();
            for cut in &scratch.cuts {
                let share = (scratch.splitter.exact_between(piece, from, *cut) >> FRACTION).min(left);
                sums.energy += share;
                left -= share;
                from = *cut;
                let after = facts.context.tariffs.iter().rev().find(|(at, _)| at.nanos() == *cut);
                let tariff = &mut account.traits.tariff;
                let after = after.map_or(*tariff, |known| known.1);
                change_tariff(tariff, after, active.seq, sums.energy, &mut self.earlier);
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

/// How long a device may go on drawing after an end: caches are written back and clocks step down.
const AFTER_DRAW: Duration = Duration::from_millis(50);
