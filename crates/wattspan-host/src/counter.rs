//! Energy counters of several zones that may be copies of one another.

use std::time::Duration;

use wattspan_core::{MonoTime, Reading};

use crate::files::{Absent, Files, Polled};

/// Several counters that together make one device's.
///
/// Some workstation CPUs show one zone for each die while every zone holds the whole package's counter. Zones that have
/// moved by the same amount at every sample are copies and count once; the first difference proves a zone distinct for
/// good, and its energy is added from that sample on.
pub(crate) struct Group {
    members: Vec<Member>,
    /// Microjoules so far.
    total: u64,
    /// When the members were read last; `None` before all have a value to start from.
    read: Option<MonoTime>,
    raw: Vec<Reading<u64>>,
    /// Something has been found out that was not said yet.
    news: bool,
}

struct Member {
    name: String,
    file: Polled,
    modulus: Option<u64>,
    last: u64,
    /// How far the counter has gone since all members were started.
    moved: u64,
    relation: Relation,
}

/// What a member is to the first one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Relation {
    /// Moved as the first one did in so many samples, and never otherwise.
    Alike(u32),
    Distinct,
}

impl Group {
    /// A group of counters: name, file and modulus of each.
    pub(crate) fn new(members: Vec<(String, Polled, Option<u64>)>) -> Self {
        let members: Vec<Member> = members
            .into_iter()
            .map(|(name, file, modulus)| Member {
                name,
                file,
                modulus,
                last: 0,
                moved: 0,
                relation: Relation::Alike(0),
            })
            .collect();
        let raw = vec![Reading::NotSupported; members.len()];
        Self { members, total: 0, read: None, raw, news: false }
    }

    /// What a member read at the last sample.
    pub(crate) fn raw(&self, member: usize) -> Reading<u64> {
        self.raw.get(member).cloned().unwrap_or(Reading::NotSupported)
    }

    /// Reads all members and answers with the group's own count of microjoules.
    pub(crate) fn read(&mut self, files: &dyn Files, now: impl Fn() -> MonoTime) -> Reading<u64> {
        let values: Vec<Result<u64, Absent>> =
            self.members.iter_mut().map(|member| member.file.number(files)).collect();
        let time = now();
        for (raw, value) in self.raw.iter_mut().zip(&values) {
            *raw = value.clone().map_or_else(Absent::reading, Reading::Value);
        }
        let mut known = Vec::with_capacity(values.len());
        for (member, value) in self.members.iter().zip(values) {
            match value {
                Ok(value) => known.push(Some(value)),
                Err(_) if member.is_copy() => known.push(None),
                Err(absent) => return absent.reading(),
            }
        }
        let elapsed = self.read.map(|before| time.since(before));
        if let Some(steps) = elapsed.and_then(|elapsed| self.steps(&known, elapsed)) {
            self.advance(files, time, &known, &steps);
        } else {
            if elapsed.is_some() {
                // Going back to 0 shows the reader of this count that a stretch is lost.
                self.total = 0;
            }
            self.start(files, time, &known);
        }
        Reading::Value(self.total)
    }

    /// How far each member went since the last sample; `None` when that cannot be told for one of them.
    fn steps(&self, known: &[Option<u64>], elapsed: Duration) -> Option<Vec<u64>> {
        let steps = self.members.iter().zip(known).map(|(member, value)| match value {
            Some(value) => member.step(*value, elapsed),
            None => Some(0),
        });
        steps.collect()
    }

    fn advance(&mut self, files: &dyn Files, time: MonoTime, known: &[Option<u64>], steps: &[u64]) {
        self.read = Some(time);
        for ((member, value), step) in self.members.iter_mut().zip(known).zip(steps) {
            member.last = value.unwrap_or(member.last);
            member.moved = member.moved.saturating_add(*step);
        }
        let Some((first, others)) = self.members.split_first_mut() else {
            return;
        };
        let first_step = steps.first().copied().unwrap_or(0);
        let mut energy = first_step;
        for ((member, value), step) in others.iter_mut().zip(&known[1..]).zip(&steps[1..]) {
            match member.relation {
                Relation::Distinct => energy = energy.saturating_add(*step),
                Relation::Alike(_) if value.is_none() => {}
                Relation::Alike(samples) if member.moved == first.moved => {
                    let samples = samples.saturating_add(u32::from(first_step > 0));
                    self.news |= samples == ALIKE_SAMPLES && !member.is_copy();
                    member.relation = Relation::Alike(samples);
                }
                // The counter may have moved on between the two reads, which is no difference: the totals agree again
                // at a later sample.
                Relation::Alike(_) if first.moved_on_to(member.moved, files) => {}
                Relation::Alike(_) => {
                    member.relation = Relation::Distinct;
                    self.news = true;
                    energy = energy.saturating_add(*step);
                }
            }
        }
        self.total = self.total.saturating_add(energy);
    }

    /// Takes the members' values to start from, if no refresh fell between the reads.
    fn start(&mut self, files: &dyn Files, time: MonoTime, known: &[Option<u64>]) {
        self.read = None;
        let again = self.members.first_mut().and_then(|first| first.file.number(files).ok());
        if again.is_none() || Some(again) != known.first().copied() {
            return;
        }
        self.read = Some(time);
        for (member, value) in self.members.iter_mut().zip(known) {
            member.last = value.unwrap_or(member.last);
            member.moved = 0;
        }
    }

    /// What has been found out about the members, for the device's note; `None` until it is clear for all of them, and
    /// when it was said before.
    pub(crate) fn finding(&mut self) -> Option<String> {
        if !std::mem::take(&mut self.news) {
            return None;
        }
        let (first, others) = self.members.split_first()?;
        let (mut copies, mut distinct) = (Vec::new(), vec![first.name.as_str()]);
        for member in others {
            match member.relation {
                _ if member.is_copy() => copies.push(member.name.as_str()),
                Relation::Alike(_) => return None,
                Relation::Distinct => distinct.push(member.name.as_str()),
            }
        }
        let mut parts = Vec::new();
        if distinct.len() > 1 {
            parts.push(format!("sum of {}", distinct.join(", ")));
        }
        if !copies.is_empty() {
            let copies = copies.join(", ");
            parts.push(format!("{copies} moved exactly as {} did: a copy, counted once", first.name));
        }
        Some(parts.join("; "))
    }
}

impl Member {
    fn is_copy(&self) -> bool {
        matches!(self.relation, Relation::Alike(ALIKE_SAMPLES..))
    }

    /// How far the counter went to a value; `None` when it went back without having wrapped, or may have gone round
    /// more than once.
    fn step(&self, value: u64, elapsed: Duration) -> Option<u64> {
        if self.modulus.is_some_and(|modulus| elapsed.as_micros() * MOST_WATTS > u128::from(modulus)) {
            return None;
        }
        self.forward(value)
    }

    fn forward(&self, value: u64) -> Option<u64> {
        if let Some(moved) = value.checked_sub(self.last) {
            return Some(moved);
        }
        let modulus = self.modulus?;
        let moved = modulus.checked_sub(self.last)?.checked_add(value)?;
        // Going back by a little is a reset, not nearly a whole turn.
        (moved <= modulus / 2).then_some(moved)
    }

    /// Whether this counter, read once more, has passed a count that another one showed.
    fn moved_on_to(&mut self, moved: u64, files: &dyn Files) -> bool {
        let again = self.file.number(files).ok().and_then(|value| self.forward(value));
        again.is_some_and(|since| (self.moved..=self.moved.saturating_add(since)).contains(&moved))
    }
}

/// So many samples with equal movement make a copy. Two dies of one package agree to the microjoule by chance about
/// once in a million samples.
const ALIKE_SAMPLES: u32 = 3;

/// No CPU die draws more; with it a range of 65 kJ is passed in a minute at the earliest.
const MOST_WATTS: u128 = 1_000;
