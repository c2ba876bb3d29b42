//! What a joule emits and costs, numbered by the times at which that changed.

use std::collections::VecDeque;
use std::time::Duration;

use wattspan_core::{ElectricityPrice, Intensity, MonoTime};

/// What a joule emits and costs, from a time on.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Tariff {
    pub(crate) intensity: Option<Intensity>,
    pub(crate) price: Option<ElectricityPrice>,
}

/// The tariffs that something open may still ask for, numbered on from the first.
#[derive(Default)]
pub(crate) struct Tariffs {
    known: VecDeque<(MonoTime, Tariff)>,
    forgotten: u32,
    asked: Option<MonoTime>,
}

impl Tariffs {
    pub(crate) fn last(&self) -> Option<&Tariff> {
        self.known.back().map(|(_, tariff)| tariff)
    }

    pub(crate) fn number(&self) -> u32 {
        (self.forgotten + self.known.len() as u32).saturating_sub(1)
    }

    pub(crate) fn get(&self, number: u32) -> Option<&Tariff> {
        // What was charged before the first tariff counts under number 0, which is then the first.
        let index = number.saturating_sub(self.forgotten) as usize;
        self.known.get(index).map(|(_, tariff)| tariff)
    }

    /// Whether it is time to ask again, as it always is for what is wanted and not known yet; if so, that is taken as done.
    pub(crate) fn is_due(&mut self, time: MonoTime, intensity: bool, price: bool) -> bool {
        let missing = self
            .last()
            .is_none_or(|last| (intensity && last.intensity.is_none()) || (price && last.price.is_none()));
        if !missing && self.asked.is_some_and(|asked| time.since(asked) < ASK_EVERY) {
            return false;
        }
        self.asked = Some(time);
        true
    }

    /// Takes what sources answered; a change starts a new tariff, whose number is given back.
    pub(crate) fn answered(&mut self, time: MonoTime, mut tariff: Tariff) -> Option<u32> {
        if let Some(last) = self.last() {
            // A value that only grows older is the same value.
            if let (Some(new), Some(old)) = (&mut tariff.intensity, &last.intensity)
                && new.value == old.value
                && new.source == old.source
                && new.provenance == old.provenance
            {
                *new = old.clone();
            }
            if *last == tariff || self.known.len() >= TARIFFS {
                return None;
            }
        }
        self.known.push_back((time, tariff));
        Some(self.number())
    }

    /// Forgets those that ended before a time.
    pub(crate) fn forget_before(&mut self, time: MonoTime) {
        while self.known.get(1).is_some_and(|(from, _)| *from <= time) {
            self.known.pop_front();
            self.forgotten += 1;
        }
    }
}

/// Sources are asked this often: intensities and prices change by minutes.
const ASK_EVERY: Duration = Duration::from_secs(1);
/// Tariffs that are kept at most; a source that changes at every question would fill the memory of an inference that
/// goes on for days.
const TARIFFS: usize = 65_536;

#[cfg(test)]
mod tests {
    use wattspan_core::{GramsPerKwh, Provenance};

    use super::*;

    fn tariff(grams: u32) -> Tariff {
        let intensity = Intensity::new(GramsPerKwh::whole(grams), "a", Provenance::Live);
        Tariff { intensity: Some(intensity), price: None }
    }

    #[test]
    fn only_a_change_is_a_new_tariff_and_old_ones_are_forgotten() {
        let at = |second: u64| MonoTime::from_nanos(second * 1_000_000_000);
        let mut tariffs = Tariffs::default();
        assert_eq!(tariffs.answered(at(0), tariff(100)), Some(0));
        let mut older = tariff(100);
        if let Some(intensity) = &mut older.intensity {
            intensity.age = Some(Duration::from_secs(60));
        }
        assert_eq!(tariffs.answered(at(60), older), None);
        assert_eq!(tariffs.answered(at(120), tariff(200)), Some(1));
        assert_eq!(tariffs.answered(at(180), tariff(300)), Some(2));
        tariffs.forget_before(at(130));
        assert_eq!(tariffs.get(1), Some(&tariff(200)));
        assert_eq!(tariffs.get(2), Some(&tariff(300)));
        assert_eq!((tariffs.known.len(), tariffs.number()), (2, 2));
    }

    #[test]
    fn a_source_that_never_rests_is_asked_once_a_second() {
        let mut tariffs = Tariffs::default();
        let mut asked = |price, turns: std::ops::Range<u64>| {
            turns.filter(|turn| tariffs.is_due(MonoTime::from_nanos(turn * 20_000_000), true, price)).count()
        };
        assert_eq!(asked(false, 0..10), 10, "nothing is known yet");
        tariffs.answered(MonoTime::ZERO, tariff(100));
        let mut asked = |price, turns: std::ops::Range<u64>| {
            turns.filter(|turn| tariffs.is_due(MonoTime::from_nanos(turn * 20_000_000), true, price)).count()
        };
        assert_eq!(asked(false, 10..110), 2);
        assert_eq!(asked(true, 110..115), 5, "the price is not");
    }
}
