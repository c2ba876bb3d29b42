//! The duties of sources of intensity and price.

use std::time::{Duration, SystemTime};

use wattspan_core::{GramsPerKwh, Intensity, IntensitySource, Place, PriceSource, Provenance, Usd};

/// Checks a source against places that it knows.
///
/// # Panics
/// When it has no name, knows nothing of such a place, gives a figure below zero or without its source, one that ends
/// before it begins, or claims a place for the world's average; when it invents a figure for no place at all; when it
/// cannot be asked from several threads at once.
#[track_caller]
pub fn intensity_source(source: &dyn IntensitySource, known: &[(Place, SystemTime)]) {
    let name = source.name();
    assert!(!name.is_empty(), "the source has no name");
    for (place, at) in known {
        let found = source.latest(place, *at).unwrap_or_else(|| panic!("{name} does not know {place:?}"));
        sound(name, &found);
    }
    if let Some(found) = source.latest(&Place::default(), SystemTime::now()) {
        sound(name, &found);
        let honest = matches!(found.provenance, Provenance::User | Provenance::WorldAverage);
        assert!(
            honest,
            "{name} gives {:?} for no place, which only a user or the world's average can",
            found.provenance
        );
    }
    // Times that a clock gone wrong may show.
    for at in [SystemTime::UNIX_EPOCH, SystemTime::UNIX_EPOCH + Duration::from_secs(1 << 40)] {
        for (place, _) in known {
            source.latest(place, at).iter().for_each(|found| sound(name, found));
        }
    }
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| known.iter().for_each(|(place, at)| drop(source.latest(place, *at))));
        }
    });
}

#[track_caller]
fn sound(name: &str, found: &Intensity) {
    assert!(found.value >= GramsPerKwh::ZERO, "{name} gives {}", found.value);
    assert!(!found.source.is_empty(), "{name} does not say where its figure comes from");
    if let (Some(from), Some(until)) = (found.valid_from, found.valid_until) {
        assert!(from <= until, "{name} gives a figure that ends before it begins");
    }
    let world = found.provenance == Provenance::WorldAverage;
    let claims = world && found.zone.as_deref().is_some_and(|zone| !zone.eq_ignore_ascii_case("world"));
    assert!(!claims, "{name} gives the world's average the zone {:?}", found.zone);
}

/// Checks a source of prices: of electricity at places that it knows, of tokens of models that it knows.
///
/// # Panics
/// When it does not know one of them, gives a price below zero or without its source, or invents one for a model that
/// nobody named.
#[track_caller]
pub fn price_source(source: &dyn PriceSource, places: &[(Place, SystemTime)], models: &[(&str, &str)]) {
    for (place, at) in places {
        let price =
            source.electricity(place, *at).unwrap_or_else(|| panic!("no price of electricity at {place:?}"));
        assert!(price.value.usd_per_kwh().is_finite() && !price.source.is_empty(), "{price:?} has no source");
        assert!(
            price.valid_until.is_none_or(|until| until >= *at),
            "{price:?} ended before it was asked for"
        );
    }
    for (provider, model) in models {
        let price =
            source.tokens(provider, model).unwrap_or_else(|| panic!("no price of {provider} {model}"));
        let parts = [price.input, price.cache_read, price.cache_write, price.output];
        assert!(parts.iter().any(Option::is_some), "the entry of {provider} {model} has no price at all");
        assert!(
            parts.iter().flatten().all(|part| *part >= Usd::ZERO),
            "a price of {provider} {model} is below 0"
        );
    }
    for (provider, model) in [("", ""), ("no-such-provider", "no-such-model"), ("openai", "no-such-model")] {
        assert_eq!(source.tokens(provider, model), None, "a price was invented for {provider:?} {model:?}");
    }
}
