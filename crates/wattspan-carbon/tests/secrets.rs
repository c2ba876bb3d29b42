//! Keys, passwords and tokens are in nothing that anybody prints, at any level, also when servers echo them.
//!
//! Alone in its program, since it listens to all that the program logs.

mod support;

use std::fmt::Write as _;
use std::io::Write;
use std::sync::{Arc, Mutex};

use support::{PATIENCE, Stub, reply};
use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::fmt::MakeWriter;
use wattspan_carbon::{Chain, ElectricityMaps, PlaceQuery, Secret, WattTime, Worker, WorkerOptions};
use wattspan_core::{IntensitySource, Place};

#[derive(Clone, Default)]
struct Captured(Arc<Mutex<Vec<u8>>>);

impl Write for Captured {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Captured {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}

#[test]
fn no_secret_is_in_any_log_error_or_debug_text() {
    let logs = Captured::default();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(LevelFilter::TRACE)
        .with_writer(logs.clone())
        .with_ansi(false)
        .finish();
    tracing::subscriber::set_global_default(subscriber).unwrap();

    let (key, password, token) = ("KEYSECRET5150", "PASSSECRET5150", "JWTSECRET5150");
    // The worst server: it repeats in its answer all that it was sent.
    let echo = Stub::start(move |request| {
        if request.path() == "/login" {
            return reply(200, format!(r#"{{"token":"{token}"}}"#));
        }
        let status = if request.query("zone") == Some("FR") { 401 } else { 200 };
        reply(status, format!(r#"{{"error":"{request:?}","token":"{token}"}}"#).replace("\\\"", "'"))
    });
    let worker = Worker::start(WorkerOptions::new().time_limit(PATIENCE)).unwrap();
    let maps = ElectricityMaps::new(Secret::new(key, "ELECTRICITY_MAPS_TOKEN")).base_url(&echo.url);
    let account =
        WattTime::new("USERSECRET5150", Secret::new(password, "WATTTIME_PASSWORD")).base_url(&echo.url);
    let mut shown = format!("{maps:?} {maps:#?} {account:?} {account:#?} {worker:?}");
    write!(
        shown,
        "{:?}",
        ElectricityMaps::new(Secret::new(key, "code"))
            .base_url("http://example.org")
            .attach(&worker)
            .unwrap_err()
    )
    .unwrap();
    let (maps, account) = (maps.attach(&worker).unwrap(), account.attach(&worker).unwrap());
    let chain = Chain::new().with(Arc::new(maps.clone())).with(Arc::new(account.clone()));
    let mut region = Place::default();
    region.zone = Some("CAISO_NORTH".into());
    let places = [PlaceQuery::parse("FR"), PlaceQuery::parse("DE")]
        .map(|query| query.unwrap().resolve("explicit").strict().unwrap());
    let mut answers = Vec::new();
    for _ in 0..2 {
        for place in places.iter().chain([&region, &Place::default()]) {
            answers.push(chain.latest(place, std::time::SystemTime::now()));
        }
        assert!(worker.wait_idle(PATIENCE));
    }
    write!(
        shown,
        "{maps:?} {account:?} {account:#?} {chain:?} {answers:?} {:?} {:?}",
        maps.status(),
        account.status()
    )
    .unwrap();
    // The secrets did go out, so the test looked where they could have been seen.
    assert!(echo.requests().iter().any(|request| request.header("auth-token") == Some(key)));
    assert!(
        echo.requests()
            .iter()
            .any(|request| request.header("authorization") == Some(&format!("Bearer {token}")))
    );
    drop((maps, account, chain, worker));

    let logs = String::from_utf8(logs.0.lock().unwrap().clone()).unwrap();
    assert!(logs.contains("refused with 401"), "{logs}");
    assert!(logs.contains("set by ELECTRICITY_MAPS_TOKEN"), "{logs}");
    // One line for the refusal, with the remedy.
    assert_eq!(
        logs.lines().filter(|line| line.contains("WARN") && line.contains("refused with 401")).count(),
        1
    );
    // `USERSECRET5150:PASSSECRET5150` as HTTP Basic sends it, and its parts (`printf … | base64`).
    for secret in ["SECRET5150", "VVNFUlNFQ1JFVDUxNTA6UEFTU1NFQ1JFVDUxNTA", "RUNSRVQ1MTUw"] {
        for text in [&logs, &shown] {
            assert!(!text.contains(secret), "{secret} is in {text}");
        }
    }
}
