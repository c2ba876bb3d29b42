//! Series, fixed values, chains, and the arithmetic that uses them.

use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use proptest::prelude::*;
use wattspan_carbon::{Bundled, Chain, Error, Fixed, PlaceQuery, Series};
use wattspan_core::{
    Grams, GramsPerKwh, Intensity, IntensityKind, IntensitySource, Joules, Place, Provenance,
};

const ONE_KWH: Joules = Joules::from_millijoules(3_600_000_000);
/// 2026-01-01T00:00:00Z (`date -u -d 2026-01-01 +%s`).
const NEW_YEAR: u64 = 1_767_225_600;

fn at(seconds: u64) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(NEW_YEAR + seconds)
}

fn place(text: &str) -> Place {
    PlaceQuery::parse(text).unwrap().resolve("explicit").strict().unwrap()
}

fn series(text: &str) -> Series {
    Series::from_reader("mine.csv", text.as_bytes()).unwrap()
}

fn value(source: &dyn IntensitySource, place: &Place, seconds: u64) -> Option<f64> {
    source.latest(place, at(seconds)).map(|answer| answer.value.grams_per_kwh())
}

#[test]
fn case_carbon_06_each_hour_counts_at_its_own_intensity() {
    let hours = series("time,gco2e_per_kwh\n2026-01-01T00:00:00Z,100\n2026-01-01T01:00:00Z,500\n");
    // One kilowatt-hour an hour, in intervals of a minute.
    let energy = Joules::from_millijoules(60_000_000);
    let grams: Grams = (0..120)
        .map(|minute| energy * hours.latest(&Place::default(), at(minute * 60 + 30)).unwrap().value)
        .sum();
    assert!((grams.grams() - 600.0).abs() < 1e-9, "{grams}");
}

#[test]
fn case_carbon_02_a_mix_is_no_intensity() {
    let table = series(
        "start,lowCarbon,gas,oil,coal,total,g_per_kwh,zone\n2026-01-01T00:00Z,4.797,1.630,3.407,0.316,10.150,34,FR\n",
    );
    let answer = table.latest(&place("FRA"), at(0)).unwrap();
    assert_eq!(((ONE_KWH + ONE_KWH) * answer.value).grams(), 68.0);
    let mix = Series::from_reader("mix.csv", &b"start,lowCarbon,gas\n2026-01-01T00:00Z,4.797,1.630\n"[..]);
    assert_eq!(
        mix.unwrap_err().to_string(),
        "mix.csv, line 1: the header names no intensity: call the column by its unit, such as `gco2e_per_kwh`"
    );
    // The table of our own is a direct intensity too: France in `countries.csv`.
    assert_eq!(value(&Bundled::new(), &place("FRA"), 0), Some(41.44));
}

#[test]
fn rows_hold_until_the_next_and_no_longer_than_they_say() {
    let gaps = series(
        "zone,end,start,lb_per_mwh\n\
         CAISO_NORTH,2026-01-01 00:05:00+00:00,2026-01-01 00:00:00+00:00,870\n\
         CAISO_NORTH,2026-01-01 00:20:00+00:00,2026-01-01 00:15:00+00:00,1000\n",
    )
    .kind(IntensityKind::Marginal);
    let mut here = Place::default();
    here.zone = Some("CAISO_NORTH".into());
    let answer = gaps.latest(&here, at(0)).unwrap();
    // 870 lb/MWh × 0.45359237.
    assert!((answer.value.grams_per_kwh() - 394.625_361_9).abs() < 1e-9);
    assert_eq!((answer.kind, answer.provenance), (IntensityKind::Marginal, Provenance::User));
    assert_eq!((answer.valid_from, answer.valid_until), (Some(at(0)), Some(at(300))));
    assert_eq!((&*answer.source, answer.zone.as_deref()), ("mine.csv", Some("CAISO_NORTH")));
    assert_eq!(value(&gaps, &here, 300), None);
    assert_eq!(value(&gaps, &here, 900).map(f64::round), Some(454.0));
    assert_eq!(value(&gaps, &here, 1_200), None);
    assert_eq!(value(&gaps, &Place::default(), 0), None);
}

#[test]
fn open_ends_close_as_documented() {
    let hours = series("start,kg_per_kwh\n2026-01-01T02:00Z,0.3\n2026-01-01T00:00Z,0.1\n");
    assert_eq!(value(&hours, &Place::default(), 7_199), Some(100.0));
    assert_eq!(value(&hours, &Place::default(), 4 * 3_600 - 1), Some(300.0));
    assert_eq!(value(&hours, &Place::default(), 4 * 3_600), None);
    assert_eq!(hours.latest(&Place::default(), at(0) - Duration::from_secs(1)), None);
    let single = series("# from the supplier\nstart,g_per_kwh\n2026-01-01T00:00Z,12.5\n");
    assert_eq!(value(&single, &Place::default(), 1_000_000), Some(12.5));
}

#[test]
fn a_row_of_a_zone_beats_one_for_all() {
    let both = series(
        "start,zone,g_per_kwh\n2026-01-01T00:00Z,,400\n2026-01-01T00:00Z,US-VA,200\n2026-01-01T00:00Z,US,300\n",
    );
    assert_eq!(value(&both, &place("us-east-1"), 0), Some(200.0));
    assert_eq!(value(&both, &place("Texas"), 0), Some(300.0));
    assert_eq!(value(&both, &place("Norway"), 0), Some(400.0));
    assert_eq!(both.latest(&place("Norway"), at(0)).unwrap().zone, None);
}

#[test]
fn every_mistake_names_its_line() {
    #[track_caller]
    fn fails(text: &str, line: u64, part: &str) {
        match Series::from_reader("mine.csv", text.as_bytes()) {
            Err(Error::Line { line: found, reason, .. }) => {
                assert_eq!(found, line, "{reason}");
                assert!(reason.contains(part), "{reason}");
            }
            other => panic!("{text}: {other:?}"),
        }
    }
    fails("", 1, "no time column");
    fails("start,g_per_kwh\n", 1, "no rows");
    fails("when,g_per_kwh\n2026-01-01T00:00Z,1\n", 1, "no time column");
    fails("start,g_per_kwh,kg_per_kwh\n2026-01-01T00:00Z,1,1\n", 1, "several");
    fails("start,g_per_kwh\n2026-01-01T00:00:00,1\n", 2, "is no time");
    fails("start,g_per_kwh\n2026-01-01T00:00Z,1\n\n# noon\n01.01.2026,2\n", 5, "is no time");
    fails("start,g_per_kwh\n2026-01-01T00:00Z,\n", 2, "is no intensity");
    fails("start,g_per_kwh\n2026-01-01T00:00Z,\"1,5\"\n", 2, "is no intensity");
    fails("start,g_per_kwh\n2026-01-01T00:00Z,-1\n", 2, "is no intensity");
    fails("start,g_per_kwh\n2026-01-01T00:00Z,NaN\n", 2, "is no intensity");
    fails("start,g_per_kwh\n2026-01-01T00:00Z,inf\n", 2, "is no intensity");
    fails("start,g_per_kwh\n2026-01-01T00:00Z,1,2\n", 2, "number of columns");
    fails("start,end,g_per_kwh\n2026-01-01T00:00Z,2026-01-01T00:00Z,1\n", 2, "ends before");
    fails("start,g_per_kwh\n2026-01-01T00:00Z,1\n2026-01-01T01:00+01:00,1\n", 3, "same start");
    fails(
        "start,end,g_per_kwh\n2026-01-01T00:00Z,2026-01-01T02:00Z,1\n2026-01-01T01:00Z,,1\n",
        3,
        "before the row of line 2 ends",
    );
    fails("\u{feff}start,g_per_kwh\r\n2026-01-01T00:00Z,x\r\n", 2, "is no intensity");
    assert!(Series::from_reader("mine.csv", &b"start,g_per_kwh\n\xff,1\n"[..]).is_err());
    assert!(matches!(Series::open("/nowhere/mine.csv"), Err(Error::File { .. })));
}

/// A source that answers as it is told and counts questions.
struct Told(Option<Intensity>, Mutex<u32>);

impl Told {
    fn new(grams: u32, provenance: Provenance) -> Arc<Self> {
        Arc::new(Self(Some(Intensity::new(GramsPerKwh::whole(grams), "told", provenance)), Mutex::new(0)))
    }
}

impl IntensitySource for Told {
    fn name(&self) -> &'static str {
        "told"
    }

    fn latest(&self, _place: &Place, _at: SystemTime) -> Option<Intensity> {
        *self.1.lock().unwrap() += 1;
        self.0.clone()
    }
}

#[test]
fn the_better_answer_wins_and_keeps_its_label() {
    let best = |sources: &[&Arc<Told>], place: &Place| {
        let chain = sources.iter().fold(Chain::new(), |chain, source| chain.with(Arc::clone(source) as _));
        let answer = chain.latest(place, at(0)).unwrap();
        (answer.value.grams_per_kwh(), answer.provenance)
    };
    let silent = Arc::new(Told(None, Mutex::new(0)));
    let (live, old) = (Told::new(1, Provenance::Live), Told::new(2, Provenance::LastGood));
    assert_eq!(best(&[&old, &live], &place("FR")), (1.0, Provenance::Live));
    assert_eq!(best(&[&silent, &old], &place("FR")), (2.0, Provenance::LastGood));
    assert_eq!(best(&[&silent], &place("FR")), (41.44, Provenance::Bundled));
    assert_eq!(best(&[&silent], &place("Antarctica")), (458.29, Provenance::WorldAverage));
    // A source's own world average is no better than the tables.
    assert_eq!(best(&[&Told::new(9, Provenance::WorldAverage)], &place("FR")), (41.44, Provenance::Bundled));
    // A live answer ends the search.
    let later = Told::new(3, Provenance::Live);
    assert_eq!(best(&[&live, &later], &place("FR")), (1.0, Provenance::Live));
    assert_eq!(*later.1.lock().unwrap(), 0);
    assert_eq!(Chain::new().without_world_average().latest(&Place::default(), at(0)), None);
    let fixed = Chain::new().with(Arc::new(Fixed::new(GramsPerKwh::whole(7)).source("contract")));
    let answer = fixed.latest(&place("FR"), at(0)).unwrap();
    assert_eq!((&*answer.source, answer.provenance, answer.zone), ("contract", Provenance::User, None));
}

proptest! {
    /// Emissions do not depend on how energy is cut up, nor in which order the parts come.
    #[test]
    fn emissions_are_additive_in_energy(parts in prop::collection::vec(0_i64..1_000_000_000, 1..40), grams in 0.0..1_500.0_f64) {
        let grid = Fixed::new(GramsPerKwh::new(grams).unwrap());
        let value = |seconds| grid.latest(&Place::default(), at(seconds)).unwrap().value;
        let whole: Joules = parts.iter().map(|part| Joules::from_millijoules(*part)).sum();
        let summed: Grams = parts.iter().enumerate().map(|(second, part)| Joules::from_millijoules(*part) * value(second as u64)).sum();
        let expected = (whole * value(0)).grams();
        prop_assert!((summed.grams() - expected).abs() <= 1e-9 * expected.max(1e-9));
    }

    /// Nor on where time is cut, as long as no cut is missing where the intensity changes.
    #[test]
    fn emissions_are_additive_in_time(values in prop::collection::vec(0_u32..1_500, 2..12), cuts in prop::collection::btree_set(1_u64..43_200, 0..30)) {
        use std::fmt::Write as _;
        let mut text = "start,g_per_kwh\n".to_owned();
        for (hour, value) in values.iter().enumerate() {
            writeln!(text, "2026-01-01T{hour:02}:00Z,{value}").unwrap();
        }
        let hours = series(&text);
        let end = values.len() as u64 * 3_600;
        // A kilowatt all the time: a joule a millisecond.
        let power = |from: u64, to: u64| Joules::from_millijoules(((to - from) * 1_000_000) as i64);
        let mut edges: Vec<u64> = cuts.into_iter().filter(|cut| *cut < end).chain((0..=values.len() as u64).map(|hour| hour * 3_600)).collect();
        edges.sort_unstable();
        edges.dedup();
        let summed: Grams = edges.windows(2).map(|edge| power(edge[0], edge[1]) * hours.latest(&Place::default(), at(edge[0])).unwrap().value).sum();
        let expected: f64 = values.iter().map(|value| f64::from(*value)).sum();
        prop_assert!((summed.grams() - expected).abs() <= 1e-9 * expected.max(1.0));
    }

    /// Whatever is written, reading it neither panics nor invents a place.
    #[test]
    fn any_phrase_is_read_or_refused(text in "\\PC{0,24}") {
        if let Ok(query) = PlaceQuery::parse(&text) {
            prop_assert!(!query.is_empty());
            let resolved = query.resolve("explicit");
            prop_assert!(resolved.errors.is_empty());
        }
        let _ = Series::from_reader("x", text.as_bytes());
        let _ = Series::from_reader("x", format!("start,g_per_kwh\n{text},1\n").as_bytes());
    }
}
