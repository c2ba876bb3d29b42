//! Loads added per request, and the truth about each.

use super::curve::Curve;
use super::units::Energy2;

/// What one request truly drew.
///
/// **Unit** joules. The sum of [`gross`](Self::gross) over all requests, plus the energy while none was in flight, is
/// the energy of the board.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct RequestTruth {
    /// Begin of the first of its loads, in microseconds.
    pub begin_us: u64,
    /// End of the last of its loads, without the tail; absent while one is open.
    pub end_us: Option<u64>,
    /// All that its loads drew, tails included: the energy it caused.
    pub joules: f64,
    /// What its loads drew between begin and end.
    pub in_flight: f64,
    /// What its loads drew after its end.
    pub tail: f64,
    /// Equal share, between begin and end, of the base profile's energy.
    pub base_share: f64,
    /// Equal share, between begin and end, of all that no request in flight drew: the base profile and the tails of
    /// requests that ended before.
    pub shared: f64,
}

impl RequestTruth {
    /// Energy of the board between begin and end that falls to this request: its own load and its equal share of the
    /// rest.
    pub fn gross(&self) -> f64 {
        self.in_flight + self.shared
    }
}

/// One load of a request; its end may still be open.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Part {
    pub(crate) begin: u64,
    pub(crate) end: Option<u64>,
    pub(crate) power: i64,
    pub(crate) tail: u64,
}

#[derive(Debug, Clone)]
pub(crate) struct Request {
    pub(crate) id: String,
    pub(crate) begin: u64,
    parts: Vec<Part>,
    curve: Curve,
}

impl Request {
    pub(crate) fn new(id: &str, begin: u64) -> Self {
        Self { id: id.to_owned(), begin, parts: Vec::new(), curve: Curve::default() }
    }

    pub(crate) fn push(&mut self, part: Part) {
        self.begin = self.begin.min(part.begin);
        self.parts.push(part);
        open_part(&mut self.curve, part);
        if part.end.is_some() {
            close_part(&mut self.curve, part);
        }
    }

    /// Ends the latest open part and returns it.
    pub(crate) fn close(&mut self, end: u64, tail: u64) -> Option<Part> {
        let part = self.parts.iter_mut().rev().find(|part| part.end.is_none() && part.begin <= end)?;
        part.end = Some(end);
        part.tail = tail;
        let part = *part;
        close_part(&mut self.curve, part);
        Some(part)
    }

    /// End of the last part; absent while one is open.
    pub(crate) fn end(&self) -> Option<u64> {
        self.parts.iter().map(|part| part.end).try_fold(0, |latest, end| end.map(|end| latest.max(end)))
    }

    /// End of the last tail; absent while a part is open.
    pub(crate) fn tail_end(&self) -> Option<u64> {
        let ends = self.parts.iter().map(|part| part.end.map(|end| end.saturating_add(part.tail)));
        ends.into_iter().try_fold(0, |latest, end| end.map(|end| latest.max(end)))
    }

    pub(crate) fn energy_to(&self, t: u64) -> Energy2 {
        self.curve.energy_to(t)
    }
}

/// Adds the begin of a part to a curve.
pub(crate) fn open_part(curve: &mut Curve, part: Part) {
    curve.add(part.begin, part.power, 0, 1);
}

/// Adds the end of a part, with its tail, to a curve that has its begin.
pub(crate) fn close_part(curve: &mut Curve, part: Part) {
    if let Some(end) = part.end {
        curve.add(end, -part.power, 0, -1);
        curve.add_line(end, end.saturating_add(part.tail), part.power, 0);
    }
}
