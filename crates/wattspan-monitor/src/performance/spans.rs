//! Stretches of time, their unions and differences.

use std::time::Duration;

/// A stretch of time, in nanoseconds since the Unix epoch.
pub(crate) type Span = (u64, u64);

/// The spans in order, those that touch joined.
pub(super) fn union(mut spans: Vec<Span>) -> Vec<Span> {
    spans.sort_unstable();
    let mut joined: Vec<Span> = Vec::with_capacity(spans.len());
    for (from, to) in spans {
        match joined.last_mut().filter(|last| from <= last.1) {
            Some(last) => last.1 = last.1.max(to),
            None => joined.push((from, to)),
        }
    }
    joined
}

pub(super) fn length(spans: &[Span]) -> Duration {
    Duration::from_nanos(union(spans.to_vec()).into_iter().map(|(from, to)| to - from).sum())
}

pub(super) fn overlap(one: &[Span], other: &[Span]) -> bool {
    one.iter().any(|(from, to)| other.iter().any(|(begin, end)| begin < to && from < end))
}

/// The parts of a span that lie outside all of some disjoint spans in order.
pub(super) fn outside((mut from, to): Span, covered: &[Span]) -> Vec<Span> {
    let mut parts = Vec::new();
    let first = covered.partition_point(|span| span.1 <= from);
    for (begin, end) in covered.iter().skip(first).take_while(|span| span.0 < to) {
        if from < *begin {
            parts.push((from, *begin));
        }
        from = from.max(*end);
    }
    if from < to {
        parts.push((from, to));
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_outside_is_what_is_left() {
        let covered = [(10, 20), (30, 40)];
        assert_eq!(outside((0, 50), &covered), [(0, 10), (20, 30), (40, 50)]);
        assert_eq!(outside((12, 18), &covered), []);
        assert_eq!(outside((15, 35), &covered), [(20, 30)]);
        assert_eq!(outside((40, 45), &covered), [(40, 45)]);
    }
}
