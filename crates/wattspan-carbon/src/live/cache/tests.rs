//! The cache by itself, with times made up.

use wattspan_core::GramsPerKwh;

use super::*;

const HOUR: Duration = Duration::from_secs(3_600);
const AGE: Duration = Duration::from_secs(2 * 3_600);

fn wall(seconds: u64) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000 + seconds)
}

fn mono(seconds: u64) -> MonoTime {
    MonoTime::ZERO + Duration::from_secs(1_000 + seconds)
}

fn zone(name: &str) -> Query {
    Query::Zone(name.into())
}

fn value(grams: u32, from: u64, until: u64) -> Intensity {
    let mut value = Intensity::new(GramsPerKwh::whole(grams), "test", Provenance::Live);
    value.valid_from = Some(wall(from));
    value.valid_until = Some(wall(until));
    value
}

/// Looks at a moment and says the grams and how they came about.
fn look(cache: &mut Cache, query: &Query, at: u64) -> Option<(f64, Provenance, Duration)> {
    let (answer, _) = cache.look(query, wall(at), mono(at));
    answer.map(|answer| (answer.value.grams_per_kwh(), answer.provenance, answer.age.unwrap()))
}

/// A cache with one hour's value, fetched at 0.
fn filled() -> (Cache, Query) {
    let (mut cache, query) = (Cache::new(AGE), zone("BE"));
    assert_eq!(cache.look(&query, wall(0), mono(0)), (None, true));
    assert_eq!(cache.take_due(mono(0)), Some(query.clone()));
    cache.succeed(&query, vec![value(214, 0, 3_600)], mono(0), wall(0));
    (cache, query)
}

#[test]
fn a_zone_is_asked_for_once_at_a_time() {
    let (mut cache, query) = (Cache::new(AGE), zone("BE"));
    cache.look(&query, wall(0), mono(0));
    assert!(cache.is_busy(mono(0)));
    assert_eq!(cache.take_due(mono(0)), Some(query.clone()));
    assert_eq!(cache.take_due(mono(0)), None);
    assert_eq!(cache.look(&query, wall(1), mono(1)), (None, false));
    assert_eq!(cache.next_due(mono(1)), None);
    cache.succeed(&query, vec![value(214, 0, 3_600)], mono(1), wall(1));
    assert!(!cache.is_busy(mono(1)));
    assert_eq!(cache.take_due(mono(1)), None);
}

#[test]
fn an_answer_is_live_while_it_holds_and_then_last_good_until_it_is_old() {
    let (mut cache, query) = filled();
    assert_eq!(look(&mut cache, &query, 60), Some((214.0, Provenance::Live, Duration::from_secs(60))));
    let due = cache.next_due(mono(60)).unwrap();
    assert!(due >= mono(3_600) && due <= mono(3_630), "{due:?}");
    // The refresh is a little late: the source has not failed.
    assert_eq!(look(&mut cache, &query, 3_601).unwrap().1, Provenance::Live);
    assert_eq!(cache.take_due(mono(3_630)), Some(query.clone()));
    let said = cache.fail(&query, &Failure::Transient("gone".to_owned()), mono(3_640));
    assert_eq!(said.as_deref(), Some("gone"));
    assert_eq!(
        look(&mut cache, &query, 3_650),
        Some((214.0, Provenance::LastGood, Duration::from_secs(3_650)))
    );
    assert_eq!(look(&mut cache, &query, 7_200).unwrap().1, Provenance::LastGood);
    assert_eq!(look(&mut cache, &query, 7_201), None);
    // What was asked about the past is still known.
    assert_eq!(look(&mut cache, &query, 3_599).unwrap().1, Provenance::Live);
}

#[test]
fn late_settlement_gets_the_value_of_its_own_hour() {
    let (mut cache, query) = filled();
    cache.take_due(mono(3_700));
    cache.succeed(&query, vec![value(500, 3_600, 7_200)], mono(3_700), wall(3_700));
    assert_eq!(look(&mut cache, &query, 3_599).unwrap().0, 214.0);
    assert_eq!(look(&mut cache, &query, 3_600).unwrap().0, 500.0);
    // An inference shortly before the first value, and one long before it.
    let mut early = Cache::new(AGE);
    early.look(&query, wall(10_000), mono(10_000));
    early.take_due(mono(10_000));
    early.succeed(&query, vec![value(9, 10_000, 10_300)], mono(10_000), wall(10_000));
    assert_eq!(look(&mut early, &query, 9_800).unwrap().1, Provenance::Live);
    assert_eq!(look(&mut early, &query, 9_000).unwrap().1, Provenance::LastGood);
    assert_eq!(look(&mut early, &query, 100), None);
}

#[test]
fn failures_back_off_within_their_bounds() {
    for (failure, first, most) in [
        (Failure::Transient(String::new()), 5, 600),
        (Failure::NoData(""), 300, 3_600),
        (Failure::Malformed(String::new()), 300, 3_600),
        (Failure::Refused { status: 401, remedy: String::new() }, 600, 21_600),
        (Failure::Limited { after: None }, 60, 3_600),
    ] {
        let (mut cache, query) = (Cache::new(AGE), zone("BE"));
        let mut now = mono(0);
        cache.look(&query, wall(0), now);
        for count in 0..20_u32 {
            assert_eq!(cache.take_due(now), Some(query.clone()));
            cache.fail(&query, &failure, now);
            let least = Duration::from_secs((first << count.min(20)).min(most));
            let due = cache.next_due(now).unwrap();
            let wait = due.since(now);
            assert!(wait >= least && wait <= least.mul_f64(1.2501), "{failure:?} {count}: {wait:?}");
            now = due;
            cache.look(&query, wall(0), now);
        }
    }
}

#[test]
fn case_carbon_10_a_refusal_of_a_proven_key_is_tried_again_after_a_minute() {
    let (mut cache, _) = filled();
    let query = zone("FR");
    cache.look(&query, wall(0), mono(0));
    assert_eq!(cache.take_due(mono(0)), Some(query.clone()));
    let refused = Failure::Refused { status: 401, remedy: "check".to_owned() };
    assert!(cache.fail(&query, &refused, mono(0)).is_some());
    let due = cache.next_due(mono(0)).unwrap();
    assert!(due >= mono(60) && due <= mono(75), "{due:?}");
    // Said once for the source, whatever the zone.
    let other = zone("DE");
    cache.look(&other, wall(0), mono(0));
    cache.take_due(mono(0));
    assert_eq!(cache.fail(&other, &refused, mono(0)), None);
}

#[test]
fn a_limit_holds_the_whole_source_as_long_as_it_asks() {
    let (mut cache, query) = (Cache::new(AGE), zone("BE"));
    cache.look(&query, wall(0), mono(0));
    cache.take_due(mono(0));
    cache.fail(&query, &Failure::Limited { after: Some(Duration::from_secs(900)) }, mono(0));
    let other = zone("DE");
    assert_eq!(cache.look(&other, wall(1), mono(1)), (None, true));
    assert_eq!(cache.take_due(mono(899)), None);
    assert!(!cache.is_busy(mono(899)));
    assert!(cache.next_due(mono(1)).unwrap() >= mono(900));
    assert!(cache.take_due(mono(1_126)).is_some());
}

#[test]
fn a_zone_nobody_wants_is_left_alone() {
    let (mut cache, query) = filled();
    let later = mono(3 * 3_600);
    assert_eq!(cache.next_due(later), None);
    assert_eq!(cache.take_due(later), None);
    assert_eq!(cache.look(&query, wall(3 * 3_600), later), (None, true));
    assert_eq!(cache.take_due(later), Some(query));
}

#[test]
fn zones_and_values_are_bounded() {
    let mut cache = Cache::new(AGE);
    for number in 0..200 {
        cache.look(&zone(&number.to_string()), wall(0), mono(0));
    }
    assert_eq!(cache.status(mono(0)).len(), MOST_ZONES);
    // Those that nobody wants any more make room.
    assert_eq!(cache.look(&zone("new"), wall(0), mono(0) + IDLE), (None, true));
    assert_eq!(cache.status(mono(0)).len(), 1);
    let (mut cache, query) = filled();
    let many = (0..100).map(|hour| value(hour, u64::from(hour) * 3_600, u64::from(hour + 1) * 3_600));
    cache.succeed(&query, many.collect(), mono(0), wall(0));
    assert_eq!(cache.entries[&query].values.len(), MOST_VALUES);
    assert_eq!(cache.entries[&query].values.last().unwrap().from, wall(99 * 3_600));
}

#[test]
fn an_answer_without_a_validity_holds_until_the_next() {
    let (mut cache, query) = (Cache::new(AGE), zone("BE"));
    cache.look(&query, wall(0), mono(0));
    cache.take_due(mono(0));
    let plain = Intensity::new(GramsPerKwh::whole(7), "test", Provenance::Live);
    cache.succeed(&query, vec![plain], mono(0), wall(0));
    assert_eq!(look(&mut cache, &query, 290).unwrap().1, Provenance::Live);
    assert!(cache.next_due(mono(0)).unwrap() <= mono(0) + HOUR);
}

#[test]
fn a_step_of_the_wall_clock_ages_nothing() {
    let (mut cache, query) = filled();
    cache.take_due(mono(3_700));
    cache.fail(&query, &Failure::Transient(String::new()), mono(3_700));
    // The wall clock has jumped three hours ahead; by the other clock little more than an hour has passed.
    let (answer, _) = cache.look(&query, wall(4 * 3_600), mono(3_800));
    let answer = answer.unwrap();
    assert_eq!((answer.provenance, answer.age), (Provenance::LastGood, Some(Duration::from_secs(3_800))));
}

#[test]
fn a_value_that_ended_long_ago_is_stale_when_it_comes() {
    let cache = Cache::new(AGE);
    assert!(!cache.is_stale(&[value(1, 0, 3_600)], wall(3_600 + 7_200)));
    assert!(cache.is_stale(&[value(1, 0, 3_600)], wall(3_600 + 7_201)));
    assert!(!cache.is_stale(&[Intensity::new(GramsPerKwh::whole(1), "test", Provenance::Live)], wall(0)));
}
