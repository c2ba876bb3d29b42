//! `wattspan doctor`: what was found, what is in the way, and what to do about it.

use std::io;
use std::net::TcpListener;
use std::time::SystemTime;

use serde::Serialize;
use serde_json::json;
use wattspan::core::{Place, Provenance, Reading};
use wattspan::monitor::EstimateInputs;
use wattspan::{Config, Outcome, Setting};

use crate::args::{DoctorArgs, JsonArgs};
use crate::devices::{Found, Seen, energy_state};
use crate::endpoint::{Endpoint, Speaks};
use crate::exit::{Failure, OK, PROBLEM};
use crate::output::Output;
use crate::result::{intensity, live_sources, price};
use crate::run::measuring;
use crate::settings::without;

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum State {
    Ok,
    /// Worth knowing; nothing is broken.
    Note,
    /// Something that is there, or was asked for, does not work.
    Problem,
}

/// One thing that was looked at.
#[derive(Debug, Serialize)]
struct Check {
    about: String,
    state: State,
    text: String,
}

/// A setting as it may be shown.
#[derive(Debug, Serialize)]
struct Shown {
    name: &'static str,
    value: String,
    origin: String,
}

#[derive(Default)]
struct Checks(Vec<Check>);

impl Checks {
    fn add(&mut self, about: impl Into<String>, state: State, text: impl Into<String>) {
        self.0.push(Check { about: about.into(), state, text: text.into() });
    }
}

pub(crate) fn doctor(all: &DoctorArgs) -> Result<u8, Failure> {
    let args = &all.common;
    let mut checks = Checks::default();
    // Without its settings there is nothing else to look at, and the message says which one is wrong.
    let config = match args.settings.config() {
        Ok(config) => config,
        Err(failure) => {
            checks.add("settings", State::Problem, failure.message);
            return report(args, &checks, &[], None, &[]);
        }
    };
    let seen = Seen::look(&config);
    look_at_devices(&mut checks, &seen, &config.estimate_inputs());
    let place = look_at_place(&mut checks, &config);
    look_at_peers(&mut checks, &config);
    for look in all.to.iter().flat_map(|to| all.ends.look(*to)) {
        let state = match look.works {
            Some(true) => State::Ok,
            Some(false) => State::Problem,
            None => State::Note,
        };
        checks.add(look.about, state, look.text);
    }
    let settings: Vec<Shown> = config.describe().into_iter().map(shown).collect();
    let found: Vec<Found<'_>> = seen.findings.iter().map(Found::of).collect();
    report(args, &checks, &settings, place.as_ref(), &found)
}

fn look_at_devices(checks: &mut Checks, seen: &Seen, inputs: &EstimateInputs) {
    for finding in &seen.findings {
        let state = match &finding.outcome {
            Outcome::Found(_) => State::Ok,
            Outcome::Failed(_) => State::Problem,
            _ => State::Note,
        };
        let text = finding.to_string();
        let text = text.split_once(": ").map_or(text.as_str(), |(_, text)| text);
        checks.add(finding.collector, state, text);
    }
    for error in &seen.errors {
        checks.add("devices", State::Problem, error);
    }
    let mut measured = false;
    for sample in &seen.samples {
        let device = &sample.device;
        let (state, why) = energy_state(sample, inputs);
        measured |= state == "measured" && device.is_counted();
        let grade = match state {
            "measured" => State::Ok,
            "denied" | "failed" => State::Problem,
            _ => State::Note,
        };
        let why = why.map_or_else(String::new, |why| format!(": {why}"));
        checks.add(format!("energy of {}", device.id), grade, format!("{state}{why}"));
        // A denied counter beside a power sensor that answers costs accuracy, and has a remedy.
        if let (State::Ok, Reading::Denied(remedy)) = (grade, &sample.energy) {
            checks.add(
                format!("energy counter of {}", device.id),
                State::Problem,
                format!("denied: {remedy}"),
            );
        }
    }
    if !measured {
        let text = "no sensor tells energy here: figures are estimates, labelled so, or absent";
        checks.add("energy", State::Note, text);
    }
}

fn look_at_place(checks: &mut Checks, config: &Config) -> Option<Place> {
    // All as `run` starts it but for what sends and serves, so that every setting is looked at by what reads it.
    let started = without(config, &[Setting::OtlpEndpoint, Setting::PrometheusListen, Setting::Pushgateway])
        .and_then(|quiet| measuring(&quiet).start().map_err(|error| Failure::of(PROBLEM, &error)));
    let place = match started {
        Ok(wattspan) => wattspan.place().clone(),
        Err(failure) => {
            checks.add("settings", State::Problem, failure.message);
            return None;
        }
    };
    let parts = [&place.country, &place.subdivision, &place.zone, &place.cloud_provider, &place.cloud_region];
    let known: Vec<&str> = parts.into_iter().flatten().map(AsRef::as_ref).collect();
    match &place.basis {
        Some(basis) if !known.is_empty() => {
            let state = if basis.contains("guess") { State::Note } else { State::Ok };
            checks.add("place", state, format!("{} ({basis})", known.join(", ")));
        }
        _ => checks.add("place", State::Note, "not known: set it with --country or WATTSPAN_COUNTRY"),
    }
    let now = SystemTime::now();
    let live = live_sources(config);
    match intensity(config, &place, now, None) {
        Some(known) => {
            let world = known.provenance == Provenance::WorldAverage;
            let first = if live.is_empty() {
                String::new()
            } else {
                format!("; asked before that: {}", live.join(", "))
            };
            checks.add(
                "carbon intensity",
                if world { State::Note } else { State::Ok },
                format!("{} ({}){first}", known.value, known.source),
            );
        }
        None => checks.add("carbon intensity", State::Note, "not known: emissions are absent"),
    }
    match price(config, &place, now) {
        Some(known) => {
            checks.add("electricity price", State::Ok, format!("{} ({})", known.value, known.source));
        }
        None => checks.add(
            "electricity price",
            State::Note,
            "not known: cost is absent; set it with WATTSPAN_ELECTRICITY_PRICE",
        ),
    }
    Some(place)
}

fn look_at_peers(checks: &mut Checks, config: &Config) {
    match config.text(Setting::OtlpEndpoint) {
        None => checks.add("OTLP receiver", State::Note, "none is set: nothing is sent"),
        Some(url) => {
            let speaks = match config.text(Setting::OtlpProtocol) {
                Some("grpc") => Speaks::Grpc,
                _ => Speaks::OtlpHttp,
            };
            ask(checks, "OTLP receiver", url, speaks);
        }
    }
    if let Some(address) = config.text(Setting::PrometheusListen) {
        look_at_scrapes(checks, address);
    }
    if let Some(url) = config.text(Setting::Pushgateway) {
        ask(checks, "Pushgateway", url, Speaks::Pushgateway);
    }
    if let Some(url) = config.text(Setting::LlamaServer) {
        ask(checks, "llama-server", url, Speaks::LlamaServer);
    }
}

/// Whether the address can be had. One that is taken may be another wattspan's, which is well.
fn look_at_scrapes(checks: &mut Checks, address: &str) {
    let Err(error) = TcpListener::bind(address.trim()) else {
        return checks.add("scrapes", State::Ok, format!("{address} is free"));
    };
    if error.kind() != io::ErrorKind::AddrInUse {
        return checks.add("scrapes", State::Problem, format!("{address} cannot be listened on: {error}"));
    }
    let answer = Endpoint::parse(address).and_then(|endpoint| endpoint.ask(Speaks::Prometheus));
    let (state, by) = match answer {
        Ok(_) => (State::Note, "something that answers scrapes"),
        Err(_) => (State::Problem, "another program: choose another with prometheus.listen"),
    };
    checks.add("scrapes", state, format!("{address} is taken by {by}"));
}

fn ask(checks: &mut Checks, about: &str, url: &str, speaks: Speaks) {
    let answer = Endpoint::parse(url).and_then(|endpoint| {
        let shown = endpoint.shown();
        match endpoint.ask(speaks) {
            Ok(said) => Ok(format!("{shown} {said}")),
            Err(reason) => Err(format!("{shown} {reason}")),
        }
    });
    match answer {
        Ok(text) => checks.add(about, State::Ok, text),
        Err(text) => checks.add(about, State::Problem, text),
    }
}

/// A URL may have credentials in it, and a pair of a list may be one.
fn shown((setting, value, origin): (Setting, String, String)) -> Shown {
    let is_url = matches!(setting, Setting::OtlpEndpoint | Setting::LlamaServer | Setting::Pushgateway);
    let value = match Endpoint::parse(&value) {
        Ok(endpoint) if is_url && value.contains('@') => endpoint.shown(),
        Err(_) if is_url && value.contains('@') => "set".to_owned(),
        _ => value,
    };
    Shown { name: setting.name(), value, origin }
}

fn report(
    args: &JsonArgs,
    checks: &Checks,
    settings: &[Shown],
    place: Option<&Place>,
    found: &[Found<'_>],
) -> Result<u8, Failure> {
    let problems = checks.0.iter().filter(|check| check.state == State::Problem).count();
    let text = if args.json {
        let value = json!({
            "wattspan_version": env!("CARGO_PKG_VERSION"),
            "problems": problems,
            "checks": checks.0,
            "collectors": found,
            "place": place,
            "settings": settings,
        });
        format!("{value:#}\n")
    } else {
        let mut lines: Vec<String> = Vec::new();
        for check in &checks.0 {
            let mark = match check.state {
                State::Ok => "ok",
                State::Note => "note",
                State::Problem => "PROBLEM",
            };
            lines.push(format!("{mark:<8} {}: {}", check.about, check.text));
        }
        let set: Vec<&Shown> = settings.iter().filter(|setting| setting.origin != "default").collect();
        lines.push(match set.len() {
            0 => "all settings have their defaults".to_owned(),
            _ => "settings that are not defaults:".to_owned(),
        });
        lines.extend(
            set.iter().map(|setting| format!("  {} = {} ({})", setting.name, setting.value, setting.origin)),
        );
        lines.push(match problems {
            0 => "no problem was found".to_owned(),
            1 => "1 problem was found".to_owned(),
            many => format!("{many} problems were found"),
        });
        lines.join("\n") + "\n"
    };
    Output::Stdout.text(&text)?;
    Ok(if problems == 0 { OK } else { PROBLEM })
}
