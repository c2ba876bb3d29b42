//! What an inference has worked so far, as its marks tell.

use std::time::Duration;

use wattspan_core::{LatePhases, MonoTime};

use super::policy::Work;

/// Cumulative work over time, straight between marks.
#[derive(Debug)]
pub(super) struct WorkTrack {
    /// No work had been done then: the begin, or the last moment at which nothing had come yet.
    waited: u64,
    /// Empty before the first mark; then the first point is the one above.
    points: Vec<Point>,
}

#[derive(Clone, Copy, Debug)]
struct Point {
    at: u64,
    prompt: f64,
    decode: f64,
}

/// Work done evenly over a stretch of time.
struct Ramp {
    from: u64,
    to: u64,
    prompt: f64,
    decode: f64,
}

impl WorkTrack {
    pub(super) fn new(begin: MonoTime) -> Self {
        Self { waited: begin.nanos(), points: Vec::new() }
    }

    pub(super) fn has_marks(&self) -> bool {
        self.points.len() > 1
    }

    pub(super) fn len(&self) -> usize {
        self.points.len()
    }

    /// Cumulative counts at a time. Marks may come in any order; counts never go back, so a lower later one is raised.
    pub(super) fn mark(&mut self, at: MonoTime, prompt: f64, decode: f64) {
        let at = at.nanos();
        if prompt == 0.0 && decode == 0.0 {
            // Still waiting for the first token: its work begins later than this.
            if self.points.get(1).is_none_or(|first| at < first.at) {
                self.waited = self.waited.max(at);
                if let Some(first) = self.points.first_mut() {
                    first.at = self.waited;
                }
            }
            return;
        }
        self.start();
        let index = self.points.partition_point(|point| point.at < at);
        // At or before the begin there can be no work.
        let Some(before) = index.checked_sub(1).and_then(|index| self.points.get(index)).copied() else {
            return;
        };
        if self.points.get(index).is_none_or(|point| point.at > at) {
            self.points.insert(index, Point { at, ..before });
        }
        for point in &mut self.points[index..] {
            point.prompt = point.prompt.max(prompt);
            point.decode = point.decode.max(decode);
        }
    }

    fn start(&mut self) {
        if self.points.is_empty() {
            self.points.push(Point { at: self.waited, prompt: 0.0, decode: 0.0 });
        }
    }

    /// Adds phases that were reported at the end, for what marks have not told.
    pub(super) fn late(&mut self, begin: MonoTime, end: MonoTime, phases: &LatePhases) {
        let (begin, end) = (begin.nanos(), end.nanos());
        let last = self.points.last().copied().unwrap_or(Point { at: begin, prompt: 0.0, decode: 0.0 });
        let back = |from: u64, by: Option<Duration>| {
            by.map(|by| from.saturating_sub(u64::try_from(by.as_nanos()).unwrap_or(u64::MAX)).max(begin))
        };
        let first_token = self.points.iter().find(|point| point.decode > 0.0).map(|point| point.at);
        let decode_from = back(end, phases.decode).or(first_token);
        let mut ramps = Vec::new();
        let known = |count: Option<u64>| count.filter(|count| *count > 0).map(|count| count as f64);
        if let Some(prompt) = known(phases.prompt_tokens).filter(|_| last.prompt == 0.0) {
            let to = decode_from.unwrap_or(end);
            let from = back(to, phases.prompt).unwrap_or(begin);
            ramps.push(Ramp { from, to, prompt, decode: 0.0 });
        }
        let from =
            decode_from.or_else(|| ramps.first().filter(|_| phases.prompt.is_some()).map(|ramp| ramp.to));
        let from = from.unwrap_or(begin).min(end);
        if let Some(decode) = known(phases.decode_steps).filter(|_| last.decode == 0.0) {
            ramps.push(Ramp { from, to: end, prompt: 0.0, decode });
        }
        if let Some(decode) = known(phases.draft_tokens) {
            ramps.push(Ramp { from, to: end, prompt: 0.0, decode });
        }
        if !ramps.is_empty() {
            self.add(&ramps);
        }
    }

    fn add(&mut self, ramps: &[Ramp]) {
        self.start();
        let mut times: Vec<u64> = self.points.iter().map(|point| point.at).collect();
        times.extend(ramps.iter().flat_map(|ramp| [ramp.from, ramp.to]));
        times.sort_unstable();
        times.dedup();
        let points = times
            .into_iter()
            .map(|at| {
                let (mut prompt, mut decode) = self.at(at);
                for ramp in ramps {
                    let part = match at {
                        _ if at >= ramp.to => 1.0,
                        _ if at <= ramp.from => 0.0,
                        _ => (at - ramp.from) as f64 / (ramp.to - ramp.from) as f64,
                    };
                    prompt += part * ramp.prompt;
                    decode += part * ramp.decode;
                }
                Point { at, prompt, decode }
            })
            .collect();
        self.points = points;
        // A stretch without work at the front is waiting, not work of no weight.
        let waiting = self.points.iter().take_while(|point| point.prompt + point.decode == 0.0).count();
        self.points.drain(..waiting.saturating_sub(1));
    }

    fn at(&self, at: u64) -> (f64, f64) {
        let index = self.points.partition_point(|point| point.at <= at);
        match (index.checked_sub(1).and_then(|index| self.points.get(index)), self.points.get(index)) {
            (Some(before), Some(after)) => {
                let part = (at - before.at) as f64 / (after.at - before.at) as f64;
                let mix = |from: f64, to: f64| from + part * (to - from);
                (mix(before.prompt, after.prompt), mix(before.decode, after.decode))
            }
            (Some(last), None) => (last.prompt, last.decode),
            _ => (0.0, 0.0),
        }
    }

    /// Work in a stretch, at the rate of that part of it for which there are marks; `None` without marks there.
    pub(super) fn within(&self, from: u64, to: u64) -> Option<Work> {
        let (first, last) = (self.points.first()?, self.points.last()?);
        let (known_from, known_to) = (from.max(first.at), to.min(last.at));
        if known_to <= known_from {
            return None;
        }
        let ((prompt_0, decode_0), (prompt_1, decode_1)) = (self.at(known_from), self.at(known_to));
        let stretch = (to - from) as f64 / (known_to - known_from) as f64;
        Some(Work::new(
            (prompt_1 - prompt_0) * stretch,
            (decode_1 - decode_0) * stretch,
            Duration::from_nanos(to - from),
        ))
    }

    /// Drops marks that no interval after a time can need.
    pub(super) fn forget_before(&mut self, time: MonoTime) {
        let passed = self.points.partition_point(|point| point.at <= time.nanos());
        self.points.drain(..passed.saturating_sub(1));
    }

    /// Drops the oldest half.
    pub(super) fn halve(&mut self) {
        self.points.drain(..self.points.len() / 2);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn track() -> WorkTrack {
        WorkTrack::new(MonoTime::from_nanos(100))
    }

    #[test]
    fn prefill_without_marks_is_unknown_and_not_zero() {
        let mut track = track();
        assert_eq!(track.within(100, 200), None);
        track.mark(MonoTime::from_nanos(150), 0.0, 0.0);
        track.mark(MonoTime::from_nanos(250), 0.0, 5.0);
        assert_eq!(track.within(100, 150), None);
        assert_eq!(track.within(150, 250).map(|work| work.decode_steps), Some(5.0));
        assert_eq!(track.within(260, 300), None, "no mark tells about that");
    }

    #[test]
    fn marks_may_come_in_any_order() {
        let marks = [(150, 0.0), (200, 4.0), (250, 3.0), (300, 9.0)];
        let mut forward = track();
        let mut backward = track();
        for (at, steps) in marks {
            forward.mark(MonoTime::from_nanos(at), 0.0, steps);
        }
        for (at, steps) in marks.into_iter().rev() {
            backward.mark(MonoTime::from_nanos(at), 0.0, steps);
        }
        for (from, to, steps) in [(150, 200, 4.0), (200, 250, 0.0), (250, 300, 5.0)] {
            for track in [&forward, &backward] {
                assert_eq!(track.within(from, to).map(|work| work.decode_steps), Some(steps));
            }
        }
    }

    #[test]
    fn late_phases_lie_before_the_end() {
        let mut track = track();
        let mut phases = LatePhases::default();
        phases.prompt_tokens = Some(40);
        phases.prompt = Some(Duration::from_nanos(400));
        phases.decode_steps = Some(60);
        phases.decode = Some(Duration::from_nanos(200));
        track.late(MonoTime::from_nanos(100), MonoTime::from_nanos(1_000), &phases);
        assert_eq!(track.within(100, 400), None, "queued");
        assert_eq!(track.within(400, 800).map(|work| work.prompt_tokens), Some(40.0));
        let decode = track.within(900, 1_000).unwrap();
        assert_eq!((decode.prompt_tokens, decode.decode_steps), (0.0, 30.0));
    }

    #[test]
    fn late_phases_do_not_repeat_what_marks_told() {
        let mut track = track();
        track.mark(MonoTime::from_nanos(600), 0.0, 10.0);
        track.mark(MonoTime::from_nanos(1_000), 0.0, 60.0);
        let mut phases = LatePhases::default();
        phases.prompt_tokens = Some(40);
        phases.decode_steps = Some(60);
        phases.decode = Some(Duration::from_nanos(500));
        track.late(MonoTime::from_nanos(100), MonoTime::from_nanos(1_000), &phases);
        let all = track.within(100, 1_000).unwrap();
        assert!((all.decode_steps - 60.0).abs() < 1e-9, "{all:?}");
        assert!((all.prompt_tokens - 40.0).abs() < 1e-9, "{all:?}");
    }
}
