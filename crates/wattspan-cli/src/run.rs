//! `wattspan run`: what a command, or a stretch of time, took.

use std::io;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use wattspan::core::{SampleSink, SampleTick};
use wattspan::monitor::PerformanceMonitor;
use wattspan::{Config, Setting, StartError, Wattspan, WattspanBuilder};

use crate::args::{Exporter, RunArgs};
use crate::child;
use crate::exit::{Failure, OK, SYSTEM, USAGE};
use crate::json_lines::JsonLines;
use crate::output::{Output, outcome, say};
use crate::result::Outcome;
use crate::settings::{interval, set, without};
use crate::signals::Signals;
use crate::watch::Console;

pub(crate) fn run(args: &RunArgs) -> Result<u8, Failure> {
    // First of all, so that a signal that comes early ends what follows in the usual way.
    let signals = Signals::install()?;
    let mut config = args.settings.config()?;
    let every = interval(&mut config, args.interval)?;
    config = with_exporters(config, args)?;
    let to = |exporter| args.exporter.contains(&exporter);
    let mut output = Output::open(args.output.as_deref())?;
    let name = output.name();

    let ready = Arc::new(Ready::default());
    let mut builder = measuring(&config).sample_sink(ready.clone());
    let mut lines = None;
    if to(Exporter::Json) {
        let sink = Arc::new(JsonLines::new(std::mem::replace(&mut output, Output::Stdout)).every(every));
        builder = builder.sample_sink(sink.clone()).record_sink(sink.clone());
        lines = Some(sink);
    }
    if to(Exporter::Console) {
        builder = builder.sample_sink(Arc::new(Console::new(every)));
    }
    let wattspan = builder.start().map_err(|error| start_failure(&error))?;
    if let (Some(address), false) = (wattspan.telemetry().scrape_address(), args.quiet) {
        say(&format!("wattspan: metrics at http://{address}/metrics"));
    }
    // The first reading is where counting begins.
    ready.wait(FIRST_READING);
    let window = PerformanceMonitor::start(wattspan.monitor());

    let ended = if let Some((program, arguments)) = args.command.split_first() {
        Some(child::run(program, arguments, &signals)?)
    } else {
        if !args.quiet {
            say("wattspan: measuring until Ctrl-C");
        }
        signals.wait(None);
        None
    };
    let report = window.stop();
    let (config, place) = (wattspan.config().clone(), wattspan.place().clone());
    let program = args.command.first().map(|program| program.to_string_lossy());
    let result = Outcome::new(&config, &place, program.as_deref(), ended, &report);
    let json_instead = args.json && args.output.is_none();
    if !args.quiet && !json_instead {
        say(&result.text());
    }
    // Whatever still measures or sends comes to its end, so that the result is the last line.
    drop(wattspan);
    let written = match lines {
        Some(lines) => {
            let finished = lines.finish();
            lines.line(&result);
            outcome(&name, finished.and_then(|()| lines.finish()))
        }
        None if args.json || args.output.is_some() => match serde_json::to_string_pretty(&result) {
            Ok(text) => output.text(&format!("{text}\n")),
            Err(error) => outcome(&name, Err(io::Error::from(error))),
        },
        None => Ok(()),
    };
    let code = ended.map_or(OK, |ended| ended.code);
    match written {
        // Whoever started the command wants to know how that went.
        Err(failure) if code != OK => {
            say(&format!("wattspan: {}", failure.message));
            Ok(code)
        }
        written => written.map(|()| code),
    }
}

/// Settings by which what was asked for is sent and served. Without `--exporter` the settings alone decide; with it, only
/// what it names.
fn with_exporters(mut config: Config, args: &RunArgs) -> Result<Config, Failure> {
    let to = |exporter| args.exporter.contains(&exporter);
    let scrapes = to(Exporter::Prometheus) || args.prometheus_listen.is_some();
    if to(Exporter::Otlp) && config.text(Setting::OtlpEndpoint).is_none() {
        let message = "--exporter otlp: no receiver is set: set OTEL_EXPORTER_OTLP_ENDPOINT, or --set otlp.endpoint=URL";
        return Err(Failure::new(USAGE, message));
    }
    if !args.exporter.is_empty() {
        let mut left_out = Vec::new();
        if !to(Exporter::Otlp) {
            left_out.push(Setting::OtlpEndpoint);
        }
        if !scrapes {
            left_out.extend([Setting::PrometheusListen, Setting::Pushgateway]);
        }
        if !left_out.is_empty() {
            config = without(&config, &left_out)?;
        }
    }
    match args.prometheus_listen {
        Some(address) => set(&mut config, Setting::PrometheusListen, &address.to_string())?,
        None if scrapes && config.text(Setting::PrometheusListen).is_none() => {
            set(&mut config, Setting::PrometheusListen, SCRAPES)?;
        }
        None => {}
    }
    Ok(config)
}

/// Where Prometheus exporters of OpenTelemetry listen unless told otherwise. (OpenTelemetry specification, environment
/// variables, `OTEL_EXPORTER_PROMETHEUS_HOST` and `OTEL_EXPORTER_PROMETHEUS_PORT`.)
const SCRAPES: &str = "127.0.0.1:9464";

/// A builder of what all commands measure with.
pub(crate) fn measuring(config: &Config) -> WattspanBuilder {
    Wattspan::builder().config(config.clone()).not_global()
}

pub(crate) fn start_failure(error: &StartError) -> Failure {
    let code = if matches!(error, StartError::Thread { .. }) { SYSTEM } else { USAGE };
    Failure::of(code, error)
}

/// Tells of the first poll.
#[derive(Default)]
pub(crate) struct Ready {
    polled: Mutex<bool>,
    changed: Condvar,
}

impl Ready {
    pub(crate) fn wait(&self, timeout: Duration) {
        let polled = self.polled.lock().unwrap_or_else(PoisonError::into_inner);
        drop(self.changed.wait_timeout_while(polled, timeout, |polled| !*polled));
    }
}

impl SampleSink for Ready {
    fn sampled(&self, _: &SampleTick<'_>) {
        *self.polled.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.changed.notify_all();
    }
}

/// A driver that needs longer is measured from its first answer on.
pub(crate) const FIRST_READING: Duration = Duration::from_secs(1);
