//! Splits one interval's energy: exactly, in whole microjoules, in time linear in the inferences in flight.
//!
//! Works in microjoules times 2³². Each inference's part is the difference of a running sum at its end and at its
//! begin, so that ten thousand cuts in one interval cost no more than ten thousand additions. What the division leaves
//! over goes to the largest fractions, ties to the lowest id.

use wattspan_core::InferenceId;

/// One inference's time in an interval.
#[derive(Clone, Copy, Debug)]
pub(super) struct Piece {
    pub(super) id: InferenceId,
    pub(super) from: u64,
    pub(super) to: u64,
    /// Its work per time, in any unit; `None` when not known.
    pub(super) rate: Option<i64>,
}

/// What one inference gets of an interval.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Part {
    /// All of it, times 2³².
    pub(super) exact: i128,
    /// The same in whole microjoules, with what rounding left over.
    pub(super) microjoules: i64,
    /// Idle part, in microjoules.
    pub(super) idle: f64,
    /// How much more it is than by time alone, in microjoules.
    pub(super) apart: f64,
    /// Standard deviation of its share over the interval's busy time.
    pub(super) spread: f32,
}

/// An interval, and what is known about its draw.
#[derive(Clone, Copy, Debug)]
pub(super) struct Interval {
    pub(super) start: u64,
    pub(super) end: u64,
    pub(super) microjoules: i128,
    /// Idle draw in watts; `None` when not known: then the energy is cut by time alone.
    pub(super) baseline: Option<f64>,
    /// Ours and others' of the draw above idle, in 1/2²⁴.
    pub(super) ours: i128,
    pub(super) others: i128,
}

/// What is not any inference's, in whole microjoules, and the interval's times.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Rest {
    pub(super) idle: i128,
    pub(super) other: i128,
    pub(super) unattributed: i128,
    /// Time with nothing in flight.
    pub(super) free: u64,
    /// Energy of the time in flight, times 2³².
    pub(super) busy: i128,
}

/// Fractional bits of a microjoule.
pub(super) const FRACTION: u32 = 32;
/// Microjoules in one interval beyond which arithmetic could overflow: 10³ GJ, more than any device draws in its life.
pub(super) const TOO_MUCH: i128 = 1 << 60;
/// The whole, in the unit of [`Interval::ours`].
pub(super) const WHOLE: i128 = 1 << 24;

/// Working memory, kept from interval to interval.
#[derive(Debug, Default)]
pub(super) struct Splitter {
    times: Vec<u64>,
    /// Begins, ends and other cuts inside the interval; whose they are and which side.
    events: Vec<(u64, u32)>,
    /// Where each piece begins and ends in `times`.
    ranks: Vec<(u32, u32)>,
    count: Vec<i64>,
    known: Vec<i64>,
    rate: Vec<i128>,
    /// Running sums up to each time.
    idle: Vec<i128>,
    equal: Vec<i128>,
    by_rate: Vec<i128>,
    stalled: Vec<i128>,
    share: Vec<(f64, f64)>,
    shift: u32,
    order: Vec<(u32, u64, u32)>,
    pub(super) parts: Vec<Part>,
}

impl Splitter {
    /// Splits an interval among pieces that lie in it; their parts are in [`Splitter::parts`] afterwards.
    ///
    /// `cuts` are more times inside the interval that [`Splitter::exact_between`] will be asked about.
    pub(super) fn split(&mut self, interval: &Interval, pieces: &[Piece], cuts: &[u64]) -> Rest {
        let length = (interval.end - interval.start).max(1);
        let energy = interval.microjoules << FRACTION;
        self.cut(interval, pieces, cuts);
        let free: u64 = self.segments().filter(|(_, count)| *count == 0).map(|(length, _)| length).sum();
        let busy_time = length - free.min(length);
        let even = |time: u64| mul_div(energy, time, length);
        let (idle_free, idle_busy) = match interval.baseline {
            None => (even(free), 0),
            Some(watts) => {
                // Watts times nanoseconds are nanojoules. Never more than the interval's own mean.
                let drawn = |time: u64| (watts * time as f64 * 1e-3 * FRACTION_F64) as i128;
                let idle_free = drawn(free).clamp(0, even(free));
                (idle_free, drawn(busy_time).clamp(0, even(busy_time)).min(energy - idle_free))
            }
        };
        let busy = energy - idle_free;
        let excess = if busy_time == 0 { 0 } else { busy - idle_busy };
        let share_of = |energy: i128, part: i128| mul_div(energy, part as u64, WHOLE as u64);
        let (ours, mut others) = (share_of(excess, interval.ours), share_of(excess, interval.others));
        let unattributed = excess - ours - others;
        if busy_time == 0 {
            // Nothing of ours ran: of what goes beyond idle draw, others have what is known to be theirs.
            others = share_of(energy - idle_free, interval.others);
        }
        let idle = energy - idle_busy - ours - others - unattributed;
        self.sweep(idle_busy, ours, busy_time);
        self.parts.clear();
        for (index, piece) in pieces.iter().enumerate() {
            let part = self.part(index, piece, busy_time);
            self.parts.push(part);
        }
        let mut rest = [idle, others, unattributed];
        self.round(interval.microjoules, pieces, &mut rest);
        Rest {
            idle: rest[0],
            other: rest[1],
            unattributed: rest[2],
            free,
            busy: if busy_time == 0 { 0 } else { busy },
        }
    }

    /// What a piece gets between two of the interval's times, times 2³².
    pub(super) fn exact_between(&self, piece: &Piece, from: u64, to: u64) -> i128 {
        let (from, to) = (self.rank(from.max(piece.from)), self.rank(to.min(piece.to)));
        if to <= from { 0 } else { self.idle_of(from, to) + self.excess_of(piece, from, to) }
    }

    fn cut(&mut self, interval: &Interval, pieces: &[Piece], cuts: &[u64]) {
        let inside = |time: u64| time > interval.start && time < interval.end;
        self.events.clear();
        for (index, piece) in pieces.iter().enumerate() {
            let index = index as u32;
            let events = [(piece.from, 2 * index), (piece.to, 2 * index + 1)];
            self.events.extend(events.into_iter().filter(|(time, _)| inside(*time)));
        }
        self.events.extend(cuts.iter().filter(|time| inside(**time)).map(|time| (*time, u32::MAX)));
        self.events.sort_unstable();
        self.times.clear();
        self.times.push(interval.start);
        self.ranks.clear();
        self.ranks.resize(pieces.len(), (0, u32::MAX));
        for (time, whose) in &self.events {
            if self.times.last() != Some(time) {
                self.times.push(*time);
            }
            let rank = self.times.len() as u32 - 1;
            if let Some(ranks) = self.ranks.get_mut((whose / 2) as usize) {
                *(if whose % 2 == 0 { &mut ranks.0 } else { &mut ranks.1 }) = rank;
            }
        }
        self.times.push(interval.end);
        let last = self.times.len() as u32 - 1;
        for ranks in &mut self.ranks {
            ranks.1 = ranks.1.min(last);
        }
        let points = self.times.len();
        for counts in [&mut self.count, &mut self.known] {
            counts.clear();
            counts.resize(points, 0);
        }
        self.rate.clear();
        self.rate.resize(points, 0);
        for (piece, ranks) in pieces.iter().zip(&self.ranks) {
            let (from, to) = (ranks.0 as usize, ranks.1 as usize);
            self.count[from] += 1;
            self.count[to] -= 1;
            if let Some(rate) = piece.rate.map(i128::from) {
                self.known[from] += 1;
                self.known[to] -= 1;
                self.rate[from] += rate;
                self.rate[to] -= rate;
            }
        }
        for index in 1..points {
            self.count[index] += self.count[index - 1];
            self.known[index] += self.known[index - 1];
            self.rate[index] += self.rate[index - 1];
        }
    }

    fn rank(&self, time: u64) -> usize {
        if self.times.first() == Some(&time) {
            return 0;
        }
        if self.times.last() == Some(&time) {
            return self.times.len() - 1;
        }
        self.times.partition_point(|point| *point < time).min(self.times.len() - 1)
    }

    /// Length and number in flight of each segment.
    fn segments(&self) -> impl Iterator<Item = (u64, i64)> {
        self.times.windows(2).zip(&self.count).map(|(pair, count)| (pair[1] - pair[0], *count))
    }

    fn sweep(&mut self, idle: i128, ours: i128, busy_time: u64) {
        // As many bits as fit keep the quotient by the sum of rates exact enough; see `part`.
        let bits = 128 - ours.leading_zeros() + 20;
        self.shift = 126_u32.saturating_sub(bits).min(44);
        for sums in [&mut self.idle, &mut self.equal, &mut self.by_rate, &mut self.stalled] {
            sums.clear();
            sums.push(0);
        }
        self.share.clear();
        self.share.push((0.0, 0.0));
        let (mut at, mut idle_before, mut ours_before) = (0, 0, 0);
        let (mut idle_sum, mut equal, mut by_rate, mut stalled, mut share) = (0, 0, 0, 0, (0.0, 0.0));
        for segment in 0..self.times.len() - 1 {
            let length = self.times[segment + 1] - self.times[segment];
            let count = i128::from(self.count[segment]);
            if count > 0 {
                at += length;
                // Running totals, so that no segment's rounding is lost.
                let (idle_to, ours_to) = (mul_div(idle, at, busy_time), mul_div(ours, at, busy_time));
                let (idle_here, ours_here) = (idle_to - idle_before, ours_to - ours_before);
                (idle_before, ours_before) = (idle_to, ours_to);
                idle_sum += divide(idle_here, count);
                equal += divide(ours_here, count);
                let (known, rate) = (i128::from(self.known[segment]), self.rate[segment]);
                if rate > 0 {
                    by_rate += ((ours_here * known) << self.shift) / (rate * count);
                } else {
                    stalled += divide(ours_here, count);
                }
                let inverse = 1.0 / count as f64;
                let seconds = length as f64 / 1e9;
                share = (share.0 + inverse * seconds, share.1 + inverse * inverse * seconds);
            }
            self.idle.push(idle_sum);
            self.equal.push(equal);
            self.by_rate.push(by_rate);
            self.stalled.push(stalled);
            self.share.push(share);
        }
    }

    fn idle_of(&self, from: usize, to: usize) -> i128 {
        self.idle[to] - self.idle[from]
    }

    fn excess_of(&self, piece: &Piece, from: usize, to: usize) -> i128 {
        match piece.rate {
            // Its weight is the mean of the known ones: an equal part.
            None => self.equal[to] - self.equal[from],
            Some(rate) => {
                ((i128::from(rate) * (self.by_rate[to] - self.by_rate[from])) >> self.shift)
                    + self.stalled[to]
                    - self.stalled[from]
            }
        }
    }

    fn part(&self, index: usize, piece: &Piece, busy_time: u64) -> Part {
        let (from, to) = (self.ranks[index].0 as usize, self.ranks[index].1 as usize);
        let idle = self.idle_of(from, to);
        let exact = idle + self.excess_of(piece, from, to);
        let apart = exact - idle - (self.equal[to] - self.equal[from]);
        let mut spread = 0.0;
        if self.times.len() > 2 && busy_time > 0 {
            let busy = busy_time as f64 / 1e9;
            let mean = (self.share[to].0 - self.share[from].0) / busy;
            let square = (self.share[to].1 - self.share[from].1) / busy;
            spread = (square - mean * mean).max(0.0).sqrt() as f32;
        }
        Part {
            exact,
            // Less than the interval's, which is far below 2⁶³.
            microjoules: (exact >> FRACTION) as i64,
            idle: idle as f64 / FRACTION_F64,
            apart: apart as f64 / FRACTION_F64,
            spread,
        }
    }

    /// Gives what rounding down left over to the largest fractions.
    fn round(&mut self, microjoules: i128, pieces: &[Piece], rest: &mut [i128; 3]) {
        let given: i128 = self.parts.iter().map(|part| i128::from(part.microjoules)).sum::<i128>()
            + rest.iter().map(|exact| exact >> FRACTION).sum::<i128>();
        let mut left = microjoules - given;
        self.order.clear();
        if left > 0 {
            let parts = self.parts.iter().enumerate().filter(|(_, part)| part.exact > 0);
            // Largest fraction (the low 32 bits) first, then the lowest id, then idle, other, unattributed.
            self.order.extend(
                parts.map(|(index, part)| (!(part.exact as u32), pieces[index].id.number(), index as u32)),
            );
            let count = self.parts.len();
            let states = rest.iter().enumerate().filter(|(_, exact)| **exact > 0);
            self.order
                .extend(states.map(|(index, exact)| (!(*exact as u32), u64::MAX, (count + index) as u32)));
        }
        for exact in rest.iter_mut() {
            *exact >>= FRACTION;
        }
        let takers = self.order.len();
        while left > 0 && takers > 0 {
            let first = usize::try_from(left).unwrap_or(takers).min(takers);
            if first < takers {
                self.order.select_nth_unstable(first - 1);
            }
            for (_, _, index) in &self.order[..first] {
                let index = *index as usize;
                match index.checked_sub(self.parts.len()) {
                    Some(state) => rest[state] += 1,
                    None => self.parts[index].microjoules += 1,
                }
            }
            left -= first as i128;
        }
        // Nobody had a part: energy of a time in flight whose sharing came to nothing.
        rest[2] += left;
    }
}

const FRACTION_F64: f64 = (1_u64 << FRACTION) as f64;

/// `value` × `part` / `whole` without overflow, rounded down, for a part not above the whole.
fn mul_div(value: i128, part: u64, whole: u64) -> i128 {
    let (part, whole) = (i128::from(part), i128::from(whole.max(1)));
    if value < 1 << 62 {
        return value * part / whole;
    }
    value / whole * part + value % whole * part / whole
}

/// A quotient, by the cheaper division where it fits. Neither is negative.
fn divide(value: i128, by: i128) -> i128 {
    match (u64::try_from(value), u64::try_from(by)) {
        (Ok(value), Ok(by)) => i128::from(value / by),
        _ => value / by,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn piece(id: u64, from: u64, to: u64, rate: Option<i64>) -> Piece {
        Piece { id: InferenceId::new(id), from, to, rate }
    }

    fn interval(microjoules: i128, baseline: Option<f64>) -> Interval {
        Interval { start: 0, end: 1_000_000, microjoules, baseline, ours: WHOLE, others: 0 }
    }

    #[track_caller]
    fn check(interval: &Interval, pieces: &[Piece], parts: &[i64], rest: (i128, i128, i128)) {
        let mut splitter = Splitter::default();
        let found = splitter.split(interval, pieces, &[]);
        let given: Vec<i64> = splitter.parts.iter().map(|part| part.microjoules).collect();
        assert_eq!((&given[..], (found.idle, found.other, found.unattributed)), (parts, rest));
    }

    #[test]
    fn what_division_leaves_goes_to_the_lowest_ids() {
        let all = |id| piece(id, 0, 1_000_000, None);
        check(&interval(11, None), &[all(3), all(1), all(2)], &[3, 4, 4], (0, 0, 0));
    }

    #[test]
    fn idle_time_keeps_the_baseline_and_the_rest_is_the_inferences() {
        // 1 ms at a mean of 1 W; 0.4 W idle; in flight for the last quarter.
        check(&interval(1_000, Some(0.4)), &[piece(1, 750_000, 1_000_000, None)], &[700], (300, 0, 0));
        // A baseline above the mean cannot be: a plain cut by time.
        check(&interval(1_000, Some(9.0)), &[piece(1, 750_000, 1_000_000, None)], &[250], (750, 0, 0));
    }

    #[test]
    fn excess_goes_by_rate_and_idle_draw_in_equal_parts() {
        let pieces = [piece(1, 0, 1_000_000, Some(30)), piece(2, 0, 1_000_000, Some(10))];
        check(&interval(1_000, Some(0.2)), &pieces, &[700, 300], (0, 0, 0));
        // An unknown weight is the mean of the known ones.
        let pieces = [pieces[0], pieces[1], piece(3, 0, 1_000_000, None)];
        check(&interval(1_200, Some(0.0)), &pieces, &[600, 200, 400], (0, 0, 0));
    }

    #[test]
    fn known_weights_that_are_all_zero_are_equal() {
        let pieces = [piece(1, 0, 1_000_000, Some(0)), piece(2, 0, 1_000_000, Some(0))];
        check(&interval(1_000, None), &pieces, &[500, 500], (0, 0, 0));
    }

    #[test]
    fn what_others_draw_is_not_ours() {
        let mut shared = interval(1_000, Some(0.2));
        (shared.ours, shared.others) = (WHOLE / 2, WHOLE / 4);
        check(&shared, &[piece(1, 0, 1_000_000, None)], &[600], (0, 200, 200));
        check(&shared, &[], &[], (800, 200, 0));
    }
}
