//! Emissions of energy: each slice of it times the intensity that held while it was drawn.

use std::sync::Arc;
use std::time::SystemTime;

use wattspan_core::{Emissions, Grams, GramsPerKwh, Intensity, Joules};

use crate::Overhead;

/// Adds up slices of energy, each with its intensity.
///
/// The result's intensity is that of most of the energy, with the energy-weighted mean as its value; where several
/// sources took part, it names them all, joined by `+` in the order of the slices, and it holds from the earliest begin
/// to the latest end. The mean is that of the grid: the overhead is in the grams only, and the result says what they cover.
///
/// **Absent** `None` when there is no slice: what has no intensity has no emissions, rather than none.
///
/// ```
/// use wattspan_core::{Grams, GramsPerKwh, Intensity, Joules, Provenance};
/// use wattspan_energy::{Overhead, emissions};
///
/// let hour = |grams| Intensity::new(GramsPerKwh::whole(grams), "example", Provenance::Live);
/// let kilowatt_hour = Joules::from_millijoules(3_600_000_000);
/// let (first, second) = (hour(100), hour(500));
/// let emitted = emissions([(kilowatt_hour, &first), (kilowatt_hour, &second)], Overhead::NONE).unwrap();
/// assert_eq!(emitted.total, Grams::whole(600));
/// assert_eq!(emitted.intensity.value, GramsPerKwh::whole(300));
/// ```
pub fn emissions<'a>(
    slices: impl IntoIterator<Item = (Joules, &'a Intensity)>,
    overhead: Overhead,
) -> Option<Emissions> {
    // Slices of one intensity are one: an inference that ends where it began must not look like a mixture.
    let mut parts: Vec<(Joules, &Intensity)> = Vec::new();
    for (energy, intensity) in slices {
        match parts.iter_mut().find(|(_, known)| *known == intensity) {
            Some((sum, _)) => *sum += energy,
            None => parts.push((energy, intensity)),
        }
    }
    if parts.iter().any(|(energy, _)| *energy > Joules::ZERO) {
        parts.retain(|(energy, _)| *energy != Joules::ZERO);
    }
    // The first of equals, so that the answer does not depend on chance.
    let (_, most) = parts.iter().rev().max_by_key(|(energy, _)| *energy)?;
    let mut intensity = (*most).clone();
    if parts.len() > 1 {
        intensity.source = sources(&parts);
        intensity.valid_from = earliest(&parts);
        intensity.valid_until = latest(&parts);
        intensity.value = weighted(&parts).unwrap_or(intensity.value);
    }
    let total = parts.iter().map(|(energy, intensity)| *energy * intensity.value).sum();
    Some(Emissions::new(overhead.grams(total), intensity).within(overhead.boundary()))
}

/// Spreads energy evenly over its time and cuts it at the changes of intensity.
///
/// `changes` are times with the intensity that holds from then on, in order; the first one also holds before its time.
/// Without a power series this is the best guess for work of an even load; the ledger's tariffs cut measured intervals.
/// The slices add up to the energy exactly.
pub fn spread(
    energy: Joules,
    from: SystemTime,
    to: SystemTime,
    changes: &[(SystemTime, Intensity)],
) -> Vec<(Joules, &Intensity)> {
    // Those that hold in the time: the last one before its begin, and what comes before its end.
    let first = changes.iter().rposition(|(time, _)| *time <= from).unwrap_or(0);
    let later = changes.iter().skip(first + 1).take_while(|(time, _)| *time < to).count();
    let held = changes.get(first..=first + later).unwrap_or_default();
    let ends = held.iter().skip(1).map(|(time, _)| *time).chain([to]);
    cut(energy, from, to, ends)
        .into_iter()
        .zip(held)
        .map(|(part, (_, intensity))| (part, intensity))
        .collect()
}

/// Parts of energy that is spread evenly over a time, up to each of some later and later ends. The last takes the rest.
pub(crate) fn cut(
    energy: Joules,
    from: SystemTime,
    to: SystemTime,
    ends: impl Iterator<Item = SystemTime>,
) -> Vec<Joules> {
    let nanos = |to: SystemTime| to.duration_since(from).unwrap_or_default().as_nanos();
    let length = nanos(to);
    let mut spent = Joules::ZERO;
    let mut parts: Vec<Joules> = ends
        .map(|end| {
            let due = match length {
                0 => Joules::ZERO,
                _ => energy.scaled(nanos(end).min(length) as f64 / length as f64).unwrap_or(energy),
            };
            let part = due - spent;
            spent = due;
            part
        })
        .collect();
    if let Some(last) = parts.last_mut() {
        *last += energy - spent;
    }
    parts
}

fn sources(parts: &[(Joules, &Intensity)]) -> Arc<str> {
    let mut names: Vec<&str> = Vec::new();
    for (_, intensity) in parts {
        if !names.contains(&&*intensity.source) {
            names.push(&intensity.source);
        }
    }
    names.join("+").into()
}

/// Absent as soon as one part does not say.
fn earliest(parts: &[(Joules, &Intensity)]) -> Option<SystemTime> {
    let times: Option<Vec<SystemTime>> = parts.iter().map(|(_, intensity)| intensity.valid_from).collect();
    times?.into_iter().min()
}

fn latest(parts: &[(Joules, &Intensity)]) -> Option<SystemTime> {
    let times: Option<Vec<SystemTime>> = parts.iter().map(|(_, intensity)| intensity.valid_until).collect();
    times?.into_iter().max()
}

fn weighted(parts: &[(Joules, &Intensity)]) -> Option<GramsPerKwh> {
    let grams: Grams = parts.iter().map(|(energy, intensity)| *energy * intensity.value).sum();
    let energy: Joules = parts.iter().map(|(energy, _)| energy).sum();
    // Over no energy every intensity weighs the same; the caller keeps the first.
    GramsPerKwh::new(grams.grams() / energy.kilowatt_hours())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::time::Duration;
    use wattspan_core::{IntensityKind, Provenance};

    const KWH: Joules = Joules::from_millijoules(3_600_000_000);

    fn intensity(grams: f64, source: &str) -> Intensity {
        Intensity::new(GramsPerKwh::new(grams).unwrap(), source, Provenance::Live)
    }

    fn at(seconds: u64) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)
    }

    #[test]
    fn without_an_intensity_there_are_no_emissions_rather_than_zero() {
        assert_eq!(emissions([], Overhead::NONE), None);
    }

    #[test]
    fn no_energy_emits_nothing_and_keeps_its_intensity() {
        let (one, two) = (intensity(10.0, "a"), intensity(20.0, "b"));
        let emitted = emissions([(Joules::ZERO, &one), (Joules::ZERO, &two)], Overhead::NONE).unwrap();
        assert_eq!((emitted.total, emitted.intensity.value), (Grams::ZERO, one.value));
    }

    #[test]
    fn a_mixture_names_all_its_sources_and_keeps_the_kind_of_most() {
        let mut marginal = intensity(400.0, "watttime");
        marginal.kind = IntensityKind::Marginal;
        let average = intensity(100.0, "ember-2025");
        let slices = [(KWH, &average), (KWH + KWH, &marginal), (KWH, &average)];
        let emitted = emissions(slices, Overhead::NONE).unwrap();
        assert_eq!(&*emitted.intensity.source, "ember-2025+watttime");
        assert_eq!(emitted.intensity.kind, IntensityKind::Average, "the first of equals");
        assert_eq!(emitted.total, Grams::whole(1_000));
        assert_eq!(emitted.intensity.value, GramsPerKwh::whole(250));
    }

    #[test]
    fn one_intensity_in_two_slices_is_no_mixture() {
        let mut held = intensity(214.0, "a");
        held.valid_until = Some(at(3_600));
        let emitted = emissions([(KWH, &held), (KWH, &held)], Overhead::NONE).unwrap();
        assert_eq!(emitted.intensity, held);
    }

    #[test]
    fn validity_of_a_mixture_is_known_only_when_all_say_it() {
        let (mut one, mut two) = (intensity(1.0, "a"), intensity(2.0, "a"));
        (one.valid_from, one.valid_until) = (Some(at(0)), Some(at(10)));
        two.valid_until = Some(at(20));
        let held = emissions([(KWH, &one), (KWH, &two)], Overhead::NONE).unwrap().intensity;
        assert_eq!((held.valid_from, held.valid_until), (None, Some(at(20))));
    }

    #[test]
    fn the_overhead_is_in_the_grams_and_not_in_the_intensity() {
        let held = intensity(100.0, "a");
        let emitted = emissions([(KWH, &held)], Overhead::facility(1.5).unwrap()).unwrap();
        assert_eq!((emitted.total, emitted.intensity.value), (Grams::whole(150), held.value));
    }

    #[test]
    fn an_inference_across_a_change_uses_both_intensities() {
        let changes = [(at(0), intensity(100.0, "a")), (at(3_600), intensity(500.0, "a"))];
        let energy = Joules::from_millijoules(4_000);
        let slices = spread(energy, at(3_597), at(3_601), &changes);
        let parts: Vec<_> = slices.iter().map(|(energy, held)| (energy.joules(), held.value)).collect();
        assert_eq!(parts, [(3.0, GramsPerKwh::whole(100)), (1.0, GramsPerKwh::whole(500))]);
    }

    #[test]
    fn a_moment_takes_all_its_energy_at_once() {
        let changes = [(at(0), intensity(100.0, "a"))];
        assert_eq!(spread(KWH, at(5), at(5), &changes), [(KWH, &changes[0].1)]);
        let later = [changes[0].clone(), (at(9), intensity(900.0, "a"))];
        assert_eq!(spread(KWH, at(5), at(5), &later), [(KWH, &later[0].1)]);
        assert_eq!(spread(KWH, at(10), at(12), &later), [(KWH, &later[1].1)]);
        assert_eq!(spread(KWH, at(5), at(6), &[]), []);
    }

    proptest! {
        #[test]
        fn emissions_add_up_over_energy(parts in prop::collection::vec((0_i64..1_000_000_000_000, 0.0_f64..1_500.0), 1..40)) {
            let held: Vec<Intensity> = parts.iter().map(|(_, grams)| intensity(*grams, "a")).collect();
            let slices: Vec<_> = parts
                .iter()
                .zip(&held)
                .map(|((microjoules, _), held)| (Joules::from_microjoules(i128::from(*microjoules)), held))
                .collect();
            let overhead = Overhead::facility(1.2).unwrap();
            let whole = emissions(slices.iter().copied(), overhead).unwrap();
            let single: f64 = slices.iter().map(|slice| emissions([*slice], overhead).unwrap().total.grams()).sum();
            prop_assert!((whole.total.grams() - single).abs() <= 1e-9 * single.max(1e-12));
            // The stated mean reproduces the grams.
            let energy: Joules = slices.iter().map(|(energy, _)| *energy).sum();
            let again = overhead.grams(energy * whole.intensity.value).grams();
            prop_assert!((whole.total.grams() - again).abs() <= 1e-9 * single.max(1e-12));
        }

        #[test]
        fn emissions_add_up_over_time(
            millijoules in 0_i64..1_000_000_000,
            length in 1_u64..100_000,
            part in 0.0_f64..1.0,
            steps in prop::collection::vec((1_u64..5_000, 0.0_f64..1_500.0), 1..20),
        ) {
            let mut time = 0;
            let changes: Vec<_> = steps.iter().map(|(step, grams)| { time += step; (at(time), intensity(*grams, "a")) }).collect();
            let energy = Joules::from_millijoules(millijoules);
            let grams = |energy, from, to| emissions(spread(energy, from, to, &changes), Overhead::NONE).unwrap().total.grams();
            let (from, to) = (at(1_000), at(1_000 + length));
            let slices = spread(energy, from, to, &changes);
            prop_assert_eq!(slices.iter().map(|(energy, _)| *energy).sum::<Joules>(), energy);
            prop_assert!(slices.iter().all(|(energy, _)| !energy.is_negative()));
            // Cut in two anywhere, with the energy in proportion, the grams are the same: each cut moves at most a few µJ.
            let cut = from + Duration::from_secs(length).mul_f64(part);
            let first = energy.scaled(cut.duration_since(from).unwrap().as_secs_f64() / length as f64).unwrap();
            let both = grams(first, from, cut) + grams(energy - first, cut, to);
            let few_microjoules = 1e-6 * 50.0 * 1_500.0 / 3.6e6;
            let whole = grams(energy, from, to);
            prop_assert!((both - whole).abs() <= few_microjoules + whole * 1e-9, "{both} {whole}");
        }
    }
}
