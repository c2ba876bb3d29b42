//! `wattspan validate`: what this machine's sensors are worth, found out on the machine itself.

mod args;
mod bench;
mod load;

use std::fs;
use std::path::Path;

use wattspan::Collectors;
use wattspan::core::{Collector, DeviceKind, SystemClock};
use wattspan::monitor::validate::{
    Load, ValidateError, ValidateOptions, Validation, Verdict, validate as measure,
};

use crate::exit::{Failure, INTERRUPTED, OK, OUTPUT, PROBLEM, UNAVAILABLE, USAGE};
use crate::output::{Output, say};
use crate::signals::Signals;
pub(crate) use args::ValidateArgs;

use bench::{Attended, Patient};
use load::Program;

pub(crate) fn validate(args: &ValidateArgs) -> Result<u8, Failure> {
    let mut found = if let Some(path) = &args.from {
        read(path)?
    } else {
        // Before minutes are spent on something that cannot be kept.
        if let Some(meter) = &args.meter {
            let there = fs::File::open(meter);
            there.map_err(|error| Failure::new(USAGE, format!("--meter {}: {error}", meter.display())))?;
        }
        let mut output = Output::open(args.output.as_deref())?;
        let found = run(args)?;
        if args.output.is_some() {
            output.text(&as_json(&found)?)?;
        }
        found
    };
    if let Some(path) = &args.meter {
        let wrong = |error: &dyn std::fmt::Display| {
            Failure::new(USAGE, format!("--meter {}: {error}", path.display()))
        };
        let csv = fs::read_to_string(path).map_err(|error| wrong(&error))?;
        // What was measured is kept all the same: `--from` takes it up again with a better recording.
        found = found.with_meter(&csv).map_err(|error| wrong(&error))?;
        if args.output.is_some() {
            Output::open(args.output.as_deref())?.text(&as_json(&found)?)?;
        }
    }
    let text = if args.json { as_json(&found)? } else { found.table() };
    Output::Stdout.text(&text)?;
    Ok(match found.verdict {
        Verdict::SelfConsistent | Verdict::Validated => OK,
        _ => PROBLEM,
    })
}

fn run(args: &ValidateArgs) -> Result<Validation, Failure> {
    let signals = Signals::install()?;
    let config = args.settings.config()?;
    let mut collector = choose(Collectors::detect(&config), args.collector.as_deref())?;
    let options = args.options();
    let mut program = args.load.as_deref().map(Program::start).transpose()?;
    if !args.quiet {
        let load = if program.is_some() { "" } else { ", without --load on idle devices only" };
        say(&format!(
            "wattspan: looking at {} for {:.0} s or so{load}",
            collector.name(),
            length(&options, args)
        ));
    }
    let load = program.as_mut().map(|program| -> &mut dyn Load { program });
    let mut attended = Attended { inner: &mut *collector, signals: &signals };
    let found = measure(&mut attended, load, &SystemClock, &mut Patient { signals: &signals }, &options);
    drop(program);
    if signals.came() {
        return Err(Failure::new(INTERRUPTED, "ended by a signal before there was anything to tell"));
    }
    found.map_err(|error| {
        let code = if matches!(error, ValidateError::NoSensor { .. }) { UNAVAILABLE } else { PROBLEM };
        Failure::of(code, &error)
    })
}

/// The one that was named; else the first with a sensor, GPUs before others.
fn choose(collectors: Collectors, name: Option<&str>) -> Result<Box<dyn Collector>, Failure> {
    let findings = collectors.findings().to_vec();
    let mut opened = collectors.into_inner();
    let has_gpus =
        |collector: &dyn Collector| collector.devices().iter().any(|device| device.kind == DeviceKind::Gpu);
    opened.sort_by_key(|collector| !has_gpus(&**collector));
    let is_it = |collector: &dyn Collector| match name {
        Some(name) => collector.name() == name,
        None => collector.devices().iter().any(|device| device.counter.is_some() || device.power.is_some()),
    };
    if let Some(found) = opened.into_iter().find(|collector| is_it(&**collector)) {
        return Ok(found);
    }
    let looked: Vec<String> = findings.iter().map(|finding| format!("\n  {finding}")).collect();
    let what =
        name.map_or_else(|| "no device has a sensor".to_owned(), |name| format!("{name} has no devices"));
    Err(Failure::new(UNAVAILABLE, format!("{what}: there is nothing to validate{}", looked.concat())))
}

/// Seconds that a run will take, but for the three periods that are found on the way.
fn length(options: &ValidateOptions, args: &ValidateArgs) -> f64 {
    let around = |part: std::time::Duration| (part + 2 * options.settle).as_secs_f64();
    let explored = options.explore.as_secs_f64();
    if args.load.is_none() {
        return explored + around(options.plateau);
    }
    explored
        + around(options.plateau) * options.levels.len() as f64
        + around(options.square) * (options.periods.len() + 3) as f64
}

fn read(path: &Path) -> Result<Validation, Failure> {
    let wrong = |error: &dyn std::fmt::Display| {
        Failure::new(
            USAGE,
            format!("--from {}: {error}: give a file that --output has written", path.display()),
        )
    };
    let text = fs::read_to_string(path).map_err(|error| wrong(&error))?;
    serde_json::from_str(&text).map_err(|error| wrong(&error))
}

fn as_json(found: &Validation) -> Result<String, Failure> {
    let text = serde_json::to_string_pretty(found);
    text.map(|text| text + "\n").map_err(|error| Failure::new(OUTPUT, format!("cannot write JSON: {error}")))
}
