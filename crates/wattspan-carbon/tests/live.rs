//! Live sources against local stubs, in the shapes that the services answer in. Times are a scripted clock's.

mod support;

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, SystemTime};

use support::{PATIENCE, Reply, Request, Stub, reply, reply_with, wait_until};
use wattspan_carbon::{
    Chain, ElectricityMaps, Error, Fixed, GeoIp, LiveSource, Locator, PlaceQuery, Secret, UkCarbonIntensity,
    WattTime, Worker, WorkerOptions,
};
use wattspan_core::{
    Clock as _, EmissionScope, GramsPerKwh, Intensity, IntensityKind, IntensitySource, Joules, Place,
    Provenance, ScriptedClock,
};

const ONE_KWH: Joules = Joules::from_millijoules(3_600_000_000);
/// An answer, and a part of what is said about it.
type Failing = (fn() -> Reply, &'static str);

const HOUR: Duration = Duration::from_secs(3_600);

/// 2026-03-10T10:00:00Z (`date -u -d … +%s`).
fn ten() -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(1_773_136_800)
}

fn clock() -> Arc<ScriptedClock> {
    let clock = ScriptedClock::new(ten());
    clock.advance(Duration::from_secs(60));
    Arc::new(clock)
}

fn worker(clock: &Arc<ScriptedClock>) -> Worker {
    let options = WorkerOptions::new().clock(Arc::clone(clock) as _).time_limit(PATIENCE);
    Worker::start(options.max_age(Duration::from_secs(3_600 + 1_800))).unwrap()
}

fn key() -> Secret {
    Secret::new("FAKE-KEY-0001", "test")
}

fn maps(stub: &Stub, worker: &Worker) -> LiveSource {
    ElectricityMaps::new(key()).base_url(&stub.url).attach(worker).unwrap()
}

fn place(text: &str) -> Place {
    PlaceQuery::parse(text).unwrap().resolve("explicit").strict().unwrap()
}

/// Asks, lets the worker work, and asks again.
fn ask(source: &LiveSource, worker: &Worker, place: &Place, clock: &ScriptedClock) -> Option<Intensity> {
    source.latest(place, clock.wall());
    assert!(worker.wait_idle(PATIENCE));
    source.latest(place, clock.wall())
}

/// Moves time on and lets the worker do what has become due.
fn later(clock: &ScriptedClock, worker: &Worker, by: Duration) {
    clock.advance(by);
    worker.wake();
    assert!(worker.wait_idle(PATIENCE));
}

fn problem(source: &LiveSource) -> String {
    let status = source.status();
    assert_eq!(status.len(), 1, "{status:?}");
    status[0].problem.clone().unwrap_or_else(|| panic!("{status:?}"))
}

fn latest(zone: &str, grams: &str, datetime: &str) -> String {
    format!(
        r#"{{"zone":"{zone}","carbonIntensity":{grams},"datetime":"{datetime}","updatedAt":"2026-03-10T09:48:11.113Z",
            "createdAt":"2026-03-07T09:51:02.002Z","emissionFactorType":"lifecycle","isEstimated":false,"estimationMethod":null}}"#
    )
}

const TEN: &str = "2026-03-10T10:00:00.000Z";

#[test]
fn electricity_maps_is_asked_by_zone_with_its_own_header() {
    let stub = Stub::start(|_| reply(200, latest("PL", "611.5", TEN)));
    let clock = clock();
    let worker = worker(&clock);
    let source = maps(&stub, &worker);
    let answer = ask(&source, &worker, &place("Poland"), &clock).unwrap();
    assert_eq!(answer.value.grams_per_kwh(), 611.5);
    assert_eq!((&*answer.source, answer.zone.as_deref()), ("electricity-maps", Some("PL")));
    assert_eq!((answer.provenance, answer.kind), (Provenance::Live, IntensityKind::Average));
    assert_eq!(answer.scope, EmissionScope::LifeCycle);
    assert_eq!((answer.valid_from, answer.valid_until), (Some(ten()), Some(ten() + HOUR)));
    assert_eq!(answer.age, Some(Duration::ZERO));
    let requests = stub.requests();
    assert_eq!(requests.len(), 1);
    assert_eq!(requests[0].target, "/v3/carbon-intensity/latest?zone=PL");
    assert_eq!(requests[0].header("auth-token"), Some("FAKE-KEY-0001"));
    assert_eq!(requests[0].header("authorization"), None);
    // Within its validity nobody asks again.
    later(&clock, &worker, Duration::from_secs(1_800));
    assert_eq!(source.latest(&place("PL"), clock.wall()).unwrap().age, Some(Duration::from_secs(1_800)));
    assert_eq!(stub.connections(), 1);
}

#[test]
fn electricity_maps_answers_for_coordinates_with_the_zone_it_chose() {
    let stub = Stub::start(|_| {
        reply(
            200,
            latest("SE-SE3", "24", TEN).replace("false", "true").replace("null", "\"TIME_SLICER_AVERAGE\""),
        )
    });
    let clock = clock();
    let worker = worker(&clock);
    let source = maps(&stub, &worker);
    // Zero is a latitude.
    let answer = ask(&source, &worker, &place("0,18.0686"), &clock).unwrap();
    assert_eq!((&*answer.source, answer.zone.as_deref()), ("electricity-maps (estimated)", Some("SE-SE3")));
    assert_eq!(
        (stub.requests()[0].query("lat"), stub.requests()[0].query("lon")),
        (Some("0"), Some("18.0686"))
    );
}

#[test]
fn a_place_without_a_zone_is_never_asked_for() {
    let stub = Stub::start(|_| reply(200, latest("DE", "302", TEN)));
    let clock = clock();
    let worker = worker(&clock);
    let source = maps(&stub, &worker);
    for text in ["California", "us-east-1", "CAMX"] {
        assert_eq!(ask(&source, &worker, &place(text), &clock), None, "{text}");
    }
    assert_eq!(ask(&source, &worker, &Place::default(), &clock), None);
    let uk = UkCarbonIntensity::new().base_url(&stub.url).attach(&worker).unwrap();
    assert_eq!(ask(&uk, &worker, &place("FR"), &clock), None);
    let watttime = WattTime::new("me", key()).base_url(&stub.url).attach(&worker).unwrap();
    assert_eq!(ask(&watttime, &worker, &place("FR"), &clock), None);
    assert_eq!(stub.connections(), 0);
}

#[test]
fn an_answer_for_another_zone_is_not_used() {
    let stub = Stub::start(|_| reply(200, latest("DE", "302", TEN)));
    let clock = clock();
    let worker = worker(&clock);
    let source = maps(&stub, &worker);
    assert_eq!(ask(&source, &worker, &place("PL"), &clock), None);
    assert!(problem(&source).contains("another zone"));
    let chain = Chain::new().with(Arc::new(source));
    assert_eq!(chain.latest(&place("PL"), clock.wall()).unwrap().provenance, Provenance::Bundled);
}

#[test]
fn every_failure_of_electricity_maps_leaves_a_reason_and_no_figure() {
    let cases: [Failing; 12] = [
        (|| reply(200, latest("PL", "null", TEN)), "no value for this hour"),
        (|| reply(200, latest("PL", "-4", TEN)), "no number"),
        (|| reply(200, latest("PL", "\"611\"", TEN)), "no number"),
        (|| reply(200, latest("PL", "611", "yesterday")), "names no time"),
        (|| reply(200, r#"{"error":"No recent data for zone \"PL\""}"#), "no recent data"),
        (|| reply(404, r#"{"error":"No recent data for zone \"PL\""}"#), "(404)"),
        (
            || reply(401, r#"{"error":"Invalid auth-token"}"#),
            "refused with 401: check the Electricity Maps key (set by test)",
        ),
        (
            || reply_with(429, &[("Retry-After", "75")], r#"{"error":"Too many requests"}"#),
            "asks to wait 75 s",
        ),
        (|| reply(500, r#"{"status":"error","message":"Unknown error occured."}"#), "in trouble (500)"),
        (|| reply(200, "<html>a portal</html>"), "not JSON"),
        (|| reply_with(302, &[("Location", "http://127.0.0.1:1/steal")], ""), "answers 302"),
        (|| Reply::HangUp, ""),
    ];
    for (answer, part) in cases {
        let stub = Stub::start(move |_| answer());
        let clock = clock();
        let worker = worker(&clock);
        let source = maps(&stub, &worker);
        assert_eq!(ask(&source, &worker, &place("PL"), &clock), None, "{part}");
        let problem = problem(&source);
        assert!(problem.contains(part), "{problem:?} lacks {part:?}");
        // Not asked again at once, whatever it was.
        assert_eq!(ask(&source, &worker, &place("PL"), &clock), None);
        assert!(stub.requests().len() <= 1, "{part}");
    }
}

#[test]
fn the_older_form_nests_its_answer() {
    let stub = Stub::start(|request| match request.query("countryCode") {
        Some("PT") => reply(
            200,
            r#"{"_disclaimer":"x","status":"ok","countryCode":"PT","data":{"datetime":"2026-03-10T10:00:00.000Z",
                "carbonIntensity":87,"fossilFuelPercentage":12.5},"units":{"carbonIntensity":"gCO2eq/kWh"}}"#,
        ),
        Some("ES") => reply(
            200,
            r#"{"status":"ok","countryCode":"ES","data":{"datetime":"2026-03-10T10:00:00.000Z","carbonIntensity":0.087},
                "units":{"carbonIntensity":"kgCO2eq/kWh"}}"#,
        ),
        Some("IT") => reply(
            200,
            r#"{"status":"no-data","countryCode":"IT","data":{},"units":{"carbonIntensity":"gCO2eq/kWh"}}"#,
        ),
        _ => reply(200, r#"{"status":"who-knows","countryCode":"FR","data":{},"units":{}}"#),
    });
    let clock = clock();
    let worker = worker(&clock);
    let source =
        ElectricityMaps::co2signal(key()).base_url(format!("{}/", stub.url)).attach(&worker).unwrap();
    assert_eq!(ask(&source, &worker, &place("PT"), &clock).unwrap().value, GramsPerKwh::whole(87));
    for text in ["ES", "IT", "FR"] {
        assert_eq!(ask(&source, &worker, &place(text), &clock), None);
    }
    assert!(stub.requests().iter().all(|request| request.path() == "/v1/latest"));
    let problems: HashMap<String, Option<String>> =
        source.status().into_iter().map(|status| (status.zone, status.problem)).collect();
    assert_eq!(problems["PT"], None);
    assert!(problems["ES"].as_ref().unwrap().contains("unknown unit"));
    assert!(problems["IT"].as_ref().unwrap().contains("no recent data"));
    assert!(problems["FR"].as_ref().unwrap().contains("unknown status"));
}

#[test]
fn case_carbon_04_a_token_refused_in_mid_run_leaves_labelled_figures() {
    let count = AtomicUsize::new(0);
    let stub = Stub::start(move |_| match count.fetch_add(1, Ordering::SeqCst) {
        0 => reply(200, latest("BE", "214", TEN)),
        _ => reply(401, r#"{"error":"Invalid auth-token"}"#),
    });
    let clock = clock();
    let worker = worker(&clock);
    let source = maps(&stub, &worker);
    let chain = Chain::new().with(Arc::new(source.clone()));
    let kwh = |clock: &ScriptedClock| {
        let answer = chain.latest(&place("BE"), clock.wall()).unwrap();
        ((ONE_KWH * answer.value).grams(), answer.provenance)
    };
    kwh(&clock);
    assert!(worker.wait_idle(PATIENCE));
    assert_eq!(kwh(&clock), (214.0, Provenance::Live));
    // An hour on the token is refused; the last value stands in for an hour and a half since it came.
    later(&clock, &worker, HOUR + Duration::from_secs(60));
    assert_eq!(kwh(&clock), (214.0, Provenance::LastGood));
    assert_eq!(stub.requests().len(), 2);
    assert!(problem(&source).contains("refused with 401"));
    later(&clock, &worker, HOUR);
    // Belgium in `countries.csv`, which stands in for the 160 g of the case.
    assert_eq!(kwh(&clock), (149.82, Provenance::Bundled));
    // The source was asked again, a minute or more later each time, and not in between.
    assert_eq!(stub.requests().len(), 3);
}

#[test]
fn case_carbon_10_a_limit_answered_as_401_does_not_end_the_source() {
    let good = Arc::new(AtomicUsize::new(5));
    let budget = Arc::clone(&good);
    let stub = Stub::start(move |request| {
        let zone = request.query("zone").unwrap().to_owned();
        match budget.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1)) {
            Ok(_) => reply(200, latest(&zone, "77", TEN)),
            Err(_) => reply(401, r#"{"error":"Invalid auth-token"}"#),
        }
    });
    let clock = clock();
    let worker = worker(&clock);
    let source = maps(&stub, &worker);
    let chain = Chain::new().with(Arc::new(source.clone()));
    let zones = [
        "AT", "BE", "BG", "CH", "CZ", "DE", "DK", "EE", "ES", "FI", "FR", "GR", "HR", "HU", "IE", "IT", "LT",
        "LV", "NL", "PL",
    ];
    let counts = |clock: &ScriptedClock| {
        let (mut live, mut bundled) = (0, 0);
        for zone in zones {
            match chain.latest(&place(zone), clock.wall()).unwrap().provenance {
                Provenance::Live => live += 1,
                Provenance::Bundled => bundled += 1,
                other => panic!("{zone}: {other:?}"),
            }
        }
        (live, bundled)
    };
    counts(&clock);
    assert!(worker.wait_idle(PATIENCE));
    assert_eq!(counts(&clock), (5, 15));
    assert_eq!(stub.requests().len(), 20);
    // The key has answered before, so a refusal is tried again after a minute and a quarter at most.
    good.store(100, Ordering::SeqCst);
    later(&clock, &worker, Duration::from_secs(30));
    assert_eq!(counts(&clock), (5, 15));
    later(&clock, &worker, Duration::from_secs(50));
    assert_eq!(counts(&clock), (20, 0));
}

#[test]
fn a_429_holds_every_zone_of_its_source_until_it_may_come_again() {
    let limited = Arc::new(AtomicUsize::new(1));
    let state = Arc::clone(&limited);
    let stub = Stub::start(move |request| {
        if state.load(Ordering::SeqCst) == 1 {
            return reply_with(429, &[("Retry-After", "120")], "");
        }
        reply(200, latest(request.query("zone").unwrap(), "50", TEN))
    });
    let clock = clock();
    let worker = worker(&clock);
    let source = maps(&stub, &worker);
    assert_eq!(ask(&source, &worker, &place("NL"), &clock), None);
    assert_eq!(ask(&source, &worker, &place("BE"), &clock), None);
    assert_eq!(stub.requests().len(), 1);
    limited.store(0, Ordering::SeqCst);
    later(&clock, &worker, Duration::from_secs(119));
    assert_eq!(stub.requests().len(), 1);
    later(&clock, &worker, Duration::from_secs(32));
    assert!(source.latest(&place("BE"), clock.wall()).is_some());
    assert!(source.latest(&place("NL"), clock.wall()).is_some());
}

#[test]
fn a_value_of_last_week_is_not_live() {
    let stub = Stub::start(|_| reply(200, latest("PL", "600", "2026-03-03T10:00:00.000Z")));
    let clock = clock();
    let worker = worker(&clock);
    let source = maps(&stub, &worker);
    assert_eq!(ask(&source, &worker, &place("PL"), &clock), None);
    assert!(problem(&source).contains("older than the age limit"));
}

#[test]
fn many_readers_make_one_request() {
    let stub = Stub::start(|_| reply(200, latest("PL", "600", TEN)));
    let clock = clock();
    let worker = worker(&clock);
    let source = maps(&stub, &worker);
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                for _ in 0..200 {
                    source.latest(&place("PL"), clock.wall());
                }
            });
        }
    });
    assert!(worker.wait_idle(PATIENCE));
    assert_eq!(stub.requests().len(), 1);
}

#[test]
fn four_requests_run_at_once_and_no_more() {
    let gate: Arc<(Mutex<bool>, Condvar)> = Arc::default();
    let (shared, begun) = (Arc::clone(&gate), Arc::new(AtomicUsize::new(0)));
    let count = Arc::clone(&begun);
    let stub = Stub::start(move |request| {
        count.fetch_add(1, Ordering::SeqCst);
        let guard = shared.0.lock().unwrap();
        drop(shared.1.wait_timeout_while(guard, PATIENCE, |open| !*open).unwrap());
        reply(200, latest(request.query("zone").unwrap(), "50", TEN))
    });
    let clock = clock();
    let worker = worker(&clock);
    let source = maps(&stub, &worker);
    let zones = ["AT", "BE", "BG", "CH", "CZ", "DE", "DK", "EE", "ES", "FI"];
    for zone in zones {
        source.latest(&place(zone), clock.wall());
    }
    wait_until("four requests", || begun.load(Ordering::SeqCst) == 4);
    // All that can be taken has been taken before the first request is sent.
    assert_eq!(source.status().iter().filter(|status| status.asking).count(), 4);
    *gate.0.lock().unwrap() = true;
    gate.1.notify_all();
    assert!(worker.wait_idle(PATIENCE));
    assert_eq!(begun.load(Ordering::SeqCst), zones.len());
    assert!(source.status().iter().all(|status| !status.asking && status.problem.is_none()));
}

const GB_NOON: &str = r#"{"data":[{"from":"2026-03-10T10:00Z","to":"2026-03-10T10:30Z","intensity":{"forecast":141,"actual":ACTUAL,"index":"moderate"}}]}"#;

#[test]
fn great_britain_is_asked_without_a_key() {
    for (actual, grams, source_name) in
        [("137", 137, "uk-carbon-intensity"), ("null", 141, "uk-carbon-intensity (forecast)")]
    {
        let stub = Stub::start(move |_| reply(200, GB_NOON.replace("ACTUAL", actual)));
        let clock = clock();
        let worker = worker(&clock);
        let source = UkCarbonIntensity::new().base_url(&stub.url).attach(&worker).unwrap();
        let answer = ask(&source, &worker, &place("uk"), &clock).unwrap();
        assert_eq!((answer.value, &*answer.source), (GramsPerKwh::whole(grams), source_name));
        assert_eq!((answer.zone.as_deref(), answer.scope), (Some("GB"), EmissionScope::Direct));
        assert_eq!((answer.valid_from, answer.valid_until), (Some(ten()), Some(ten() + HOUR / 2)));
        assert_eq!(stub.requests()[0].target, "/intensity");
    }
}

#[test]
fn a_region_of_great_britain_has_a_forecast_only() {
    let stub = Stub::start(|_| {
        reply(
            200,
            r#"{"data":[{"regionid":13,"dnoregion":"UKPN London","shortname":"London","postcode":"EC1A","data":[{
                "from":"2026-03-10T10:00Z","to":"2026-03-10T10:30Z","intensity":{"forecast":119,"index":"moderate"},
                "generationmix":[{"fuel":"gas","perc":31.2},{"fuel":"wind","perc":40.1}]}]}]}"#,
        )
    });
    let clock = clock();
    let worker = worker(&clock);
    let by_postcode =
        UkCarbonIntensity::new().postcode("ec1a 1bb").base_url(&stub.url).attach(&worker).unwrap();
    let answer = ask(&by_postcode, &worker, &place("GB"), &clock).unwrap();
    assert_eq!((answer.value, answer.zone.as_deref()), (GramsPerKwh::whole(119), Some("GB London")));
    let by_number = UkCarbonIntensity::new().region(13).base_url(&stub.url).attach(&worker).unwrap();
    assert!(ask(&by_number, &worker, &place("GB"), &clock).is_some());
    let paths: Vec<String> = stub.requests().iter().map(|request| request.path().to_owned()).collect();
    assert_eq!(paths, ["/regional/postcode/EC1A", "/regional/regionid/13"]);
    for wrong in [
        UkCarbonIntensity::new().postcode(""),
        UkCarbonIntensity::new().postcode("../x"),
        UkCarbonIntensity::new().region(18),
    ] {
        assert!(matches!(wrong.attach(&worker), Err(Error::Setting { .. })));
    }
}

#[test]
fn every_failure_of_great_britain_leaves_a_reason() {
    let cases: [Failing; 5] = [
        (
            || {
                reply(
                    500,
                    r#"{"error":{"code":"500 Internal Server Error","message":"Requested resource not found."}}"#,
                )
            },
            "in trouble (500)",
        ),
        (|| reply(400, r#"{"error":{"code":"400 Bad Request","message":"x"}}"#), "answers 400"),
        (
            || reply(200, r#"{"error":{"code":"400 Bad Request","message":"x"}}"#),
            "nothing for this half hour",
        ),
        (|| reply(200, r#"{"data":[]}"#), "no value"),
        (|| reply(200, r#"{"data":[{"intensity":{"forecast":1}}]}"#), "names no times"),
    ];
    for (answer, part) in cases {
        let stub = Stub::start(move |_| answer());
        let clock = clock();
        let worker = worker(&clock);
        let source = UkCarbonIntensity::new().base_url(&stub.url).attach(&worker).unwrap();
        assert_eq!(ask(&source, &worker, &place("GB"), &clock), None);
        assert!(problem(&source).contains(part), "{}", problem(&source));
    }
}

/// WattTime as its documents describe it, with tokens that can be made to expire.
struct WattTimeStub {
    logins: AtomicUsize,
    expired: Mutex<Vec<String>>,
}

impl WattTimeStub {
    fn answer(&self, request: &Request) -> Reply {
        if request.path() == "/login" {
            // `someone:FAKE-PASSWORD-77` (`printf … | base64`).
            if request.header("authorization") != Some("Basic c29tZW9uZTpGQUtFLVBBU1NXT1JELTc3") {
                return reply_with(403, &[("Content-Type", "text/plain")], "Forbidden");
            }
            let number = self.logins.fetch_add(1, Ordering::SeqCst);
            return reply(200, format!(r#"{{"token":"FAKE-JWT-{number}"}}"#));
        }
        let token = request
            .header("authorization")
            .and_then(|value| value.strip_prefix("Bearer "))
            .unwrap_or_default();
        if token.is_empty() || self.expired.lock().unwrap().iter().any(|expired| expired == token) {
            return reply(401, r#"{"error":"Unauthorized"}"#);
        }
        match (request.path(), request.query("region")) {
            ("/v3/region-from-loc", _) => {
                reply(200, r#"{"region":"PJM_DC","region_full_name":"PJM DC","signal_type":"co2_moer"}"#)
            }
            ("/v3/forecast", Some("ERCOT_WEST")) => reply(403, r#"{"error":"Forbidden"}"#),
            ("/v3/forecast", Some("CAISO_NORTH")) => reply(200, forecast("CAISO_NORTH", "percentile")),
            ("/v3/forecast", Some("MISO_MI")) => reply(200, forecast("CAISO_NORTH", "lbs_co2_per_mwh")),
            ("/v3/forecast", Some(region)) => reply(200, forecast(region, "lbs_co2_per_mwh")),
            _ => reply(404, ""),
        }
    }
}

fn forecast(region: &str, units: &str) -> String {
    format!(
        r#"{{"data":[{{"point_time":"2026-03-10T10:00:00+00:00","value":870.0}},{{"point_time":"2026-03-10T10:05:00+00:00","value":1000}}],
            "meta":{{"data_point_period_seconds":300,"region":"{region}","warnings":[],"signal_type":"co2_moer",
            "model":{{"date":"2024-11-01"}},"units":"{units}","generated_at":"2026-03-10T10:00:00+00:00"}}}}"#
    )
}

fn watttime() -> (Stub, Arc<WattTimeStub>) {
    let state = Arc::new(WattTimeStub { logins: AtomicUsize::new(0), expired: Mutex::default() });
    let shared = Arc::clone(&state);
    (Stub::start(move |request| shared.answer(request)), state)
}

fn account(password: &'static str) -> WattTime {
    WattTime::new("someone", Secret::new(password, "test"))
}

#[test]
fn watttime_logs_in_and_is_marginal_in_grams() {
    let (stub, _) = watttime();
    let clock = clock();
    let worker = worker(&clock);
    let source = account("FAKE-PASSWORD-77").base_url(&stub.url).attach(&worker).unwrap();
    let answer = ask(&source, &worker, &place("38.9,-77.04"), &clock).unwrap();
    // 870 lb/MWh × 0.45359237.
    assert!((answer.value.grams_per_kwh() - 394.625_361_9).abs() < 1e-9);
    assert_eq!((answer.kind, answer.zone.as_deref()), (IntensityKind::Marginal, Some("PJM_DC")));
    assert_eq!((&*answer.source, answer.provenance), ("watttime (forecast)", Provenance::Live));
    // The next five minutes are known already.
    let next = source.latest(&place("38.9,-77.04"), ten() + Duration::from_secs(300)).unwrap();
    assert!((next.value.grams_per_kwh() - 453.592_37).abs() < 1e-9);
    let paths: Vec<String> = stub.requests().iter().map(|request| request.path().to_owned()).collect();
    assert_eq!(paths, ["/login", "/v3/region-from-loc", "/v3/forecast"]);
    let location = &stub.requests()[1];
    assert_eq!((location.query("latitude"), location.query("longitude")), (Some("38.9"), Some("-77.04")));
    // Neither region nor token is fetched again for the next forecast.
    later(&clock, &worker, Duration::from_secs(600));
    assert_eq!(stub.requests().len(), 4);
}

#[test]
fn watttime_renews_its_token_once_when_it_has_expired_and_before_it_does() {
    let (stub, state) = watttime();
    let clock = clock();
    let worker = worker(&clock);
    let source = account("FAKE-PASSWORD-77").region("PJM_DC").base_url(&stub.url).attach(&worker).unwrap();
    assert!(ask(&source, &worker, &Place::default(), &clock).is_some());
    state.expired.lock().unwrap().push("FAKE-JWT-0".to_owned());
    later(&clock, &worker, Duration::from_secs(600));
    assert_eq!(state.logins.load(Ordering::SeqCst), 2);
    assert_eq!(source.status()[0].problem, None);
    // Twenty-five minutes later it is renewed without being refused first.
    let before = stub.requests().len();
    later(&clock, &worker, Duration::from_secs(26 * 60));
    let paths: Vec<String> =
        stub.requests()[before..].iter().map(|request| request.path().to_owned()).collect();
    assert_eq!(paths, ["/login", "/v3/forecast"]);
    // A server that refuses every token is asked twice and no more.
    state.expired.lock().unwrap().extend(["FAKE-JWT-2".to_owned(), "FAKE-JWT-3".to_owned()]);
    let before = stub.requests().len();
    later(&clock, &worker, Duration::from_secs(600));
    assert_eq!(stub.requests().len() - before, 3);
    assert!(problem(&source).contains("refused with 401"));
}

#[test]
fn watttime_refusals_and_other_units_give_no_figure() {
    for (region, password, part) in [
        ("PJM_DC", "wrong", "check the WattTime user and password (password set by test)"),
        ("ERCOT_WEST", "FAKE-PASSWORD-77", "plan has region ERCOT_WEST"),
        ("CAISO_NORTH", "FAKE-PASSWORD-77", "not in pounds"),
        ("MISO_MI", "FAKE-PASSWORD-77", "another region"),
    ] {
        let (stub, _) = watttime();
        let clock = clock();
        let worker = worker(&clock);
        let source = account(password).region(region).base_url(&stub.url).attach(&worker).unwrap();
        assert_eq!(ask(&source, &worker, &Place::default(), &clock), None, "{region}");
        assert!(problem(&source).contains(part), "{}", problem(&source));
    }
}

#[test]
fn zones_that_come_due_together_log_in_once() {
    let (stub, _) = watttime();
    let clock = clock();
    let worker = worker(&clock);
    let wrong = account("wrong").base_url(&stub.url).attach(&worker).unwrap();
    for number in 0..10 {
        let mut place = Place::default();
        place.zone = Some(format!("ZONE_{number}").into());
        wrong.latest(&place, clock.wall());
    }
    assert!(worker.wait_idle(PATIENCE));
    assert_eq!(stub.requests().len(), 1);
}

#[test]
fn nobody_is_called_before_somebody_asks() {
    let stub = Stub::start(|_| reply(200, "{}"));
    let clock = clock();
    let worker = worker(&clock);
    let sources = [
        maps(&stub, &worker),
        account("FAKE-PASSWORD-77").base_url(&stub.url).attach(&worker).unwrap(),
        UkCarbonIntensity::new().base_url(&stub.url).attach(&worker).unwrap(),
    ];
    let chain = sources.iter().fold(Chain::new(), |chain, source| chain.with(Arc::new(source.clone())));
    let tariff = Chain::new().with(Arc::new(Fixed::new(GramsPerKwh::whole(1))));
    let _ = GeoIp::new(&stub.url).unwrap();
    assert!(Locator::new().explicit(PlaceQuery::parse("FR").unwrap()).locate().cloud.is_none());
    for _ in 0..10 {
        worker.wake();
        later(&clock, &worker, HOUR);
        assert_eq!(tariff.latest(&place("FR"), clock.wall()).unwrap().provenance, Provenance::User);
        assert_eq!(Chain::new().latest(&place("FR"), clock.wall()).unwrap().provenance, Provenance::Bundled);
    }
    drop((chain, sources, worker));
    assert_eq!(stub.connections(), 0);
}

#[test]
fn dropping_the_last_handle_ends_the_thread_with_a_request_under_way() {
    let stub = Stub::start(|_| Reply::Silence);
    let clock = clock();
    // The request by itself would go on for an hour.
    let options = WorkerOptions::new().clock(Arc::clone(&clock) as _).time_limit(HOUR);
    let worker = Worker::start(options).unwrap();
    let source = maps(&stub, &worker);
    source.latest(&place("PL"), clock.wall());
    stub.wait_for(1);
    drop((source, worker));
    // Nothing holds the clock any more but this test.
    wait_until("the end of the thread", || Arc::strong_count(&clock) == 1);
}

#[test]
fn a_source_that_never_answers_is_given_up() {
    let stub = Stub::start(|_| Reply::Silence);
    let worker = Worker::start(WorkerOptions::new().time_limit(Duration::from_millis(100))).unwrap();
    let source = maps(&stub, &worker);
    assert_eq!(source.latest(&place("PL"), SystemTime::now()), None);
    wait_until("the time-out", || source.status()[0].problem.is_some());
    assert_eq!(problem(&source), "no answer in time");
    let closed = maps(&stub, &worker);
    drop(closed);
}

#[test]
fn a_server_that_is_not_there_is_said_so() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let clock = clock();
    let worker = worker(&clock);
    let source = ElectricityMaps::new(key()).base_url(url).attach(&worker).unwrap();
    assert_eq!(ask(&source, &worker, &place("PL"), &clock), None);
    assert_eq!(problem(&source), "cannot connect");
}

#[test]
fn a_key_is_sent_over_tls_or_to_this_machine() {
    let clock = clock();
    let worker = worker(&clock);
    for base in [
        "http://example.org",
        "ftp://example.org",
        "example.org",
        "",
        "https://user:FAKE-PASSWORD-77@example.org",
    ] {
        let error = ElectricityMaps::new(key()).base_url(base).attach(&worker).unwrap_err();
        let text = format!("{error} {error:?}");
        assert!(matches!(error, Error::Setting { .. }) && !text.contains("FAKE"), "{text}");
        assert!(account("x").base_url(base).attach(&worker).is_err());
        assert!(!format!("{:?}", ElectricityMaps::new(key()).base_url(base)).contains("FAKE"), "{base}");
    }
    for base in ["https://example.org/maps", "http://localhost:1", "http://[::1]:1"] {
        assert!(ElectricityMaps::new(key()).base_url(base).attach(&worker).is_ok(), "{base}");
    }
}

#[test]
fn geoip_names_a_country_and_never_moves_it() {
    let ask = |body: &'static str| {
        let stub = Stub::start(move |_| reply(200, body));
        GeoIp::new(format!("{}/json", stub.url)).unwrap().time_limit(PATIENCE).locate()
    };
    let place = ask(
        r#"{"ip":"192.0.2.1","country_code":"US","region_code":"OR","latitude":45.5,"longitude":-122.6}"#,
    )
    .unwrap();
    assert_eq!((place.country.as_deref(), place.subdivision.as_deref()), (Some("US"), Some("US-OR")));
    assert_eq!((place.coordinates, place.basis.as_deref()), (Some((45.5, -122.6)), Some("GeoIP")));
    let place = ask(r#"{"countryCode":"se","regionCode":"AB","regionName":"Stockholm County"}"#).unwrap();
    assert_eq!((place.country.as_deref(), place.subdivision), (Some("SE"), None));
    for body in ["{}", r#"{"country":"Sweden"}"#, r#"{"country_code":"ZZ"}"#, "x"] {
        assert!(matches!(ask(body), Err(Error::GeoIp { .. })), "{body}");
    }
    let root = std::env::temp_dir().join("wattspan-no-such-root");
    let service = GeoIp::new("https://geo.example.org/json?token=FAKE-KEY-0001").unwrap();
    assert!(!format!("{service:?}").contains("FAKE"), "{service:?}");
    let stub = Stub::start(|_| reply(503, ""));
    let service = GeoIp::new(&stub.url).unwrap().time_limit(PATIENCE);
    let located = Locator::new().root(&root).variables(|_| None).metadata(None).geoip(service).locate();
    assert!(matches!(located.errors[..], [Error::GeoIp { .. }]));
    assert_eq!(located.place, Place::default());
}
