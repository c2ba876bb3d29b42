//! `wattspan eval`: test cases against a model, measured, as a run's four tables.

mod args;
mod machine;
mod outcome;
mod progress;
mod target;

use std::sync::Arc;
use std::time::SystemTime;

use wattspan::core::RunId;
use wattspan::dataset::{JsonDataset, Timestamp};
use wattspan::eval::{
    Cases, Earlier, EvalError, Evaluation, Outcome, Recorder, RunStatus, Stop, run_evaluation,
};
use wattspan::{Config, Setting, Wattspan};

use crate::exit::{Failure, INTERRUPTED, OK, OUTPUT, PROBLEM, SYSTEM, UNAVAILABLE, USAGE};
use crate::export::again;
use crate::output::{Output, say};
use crate::run::{measuring, start_failure};
use crate::settings::{set, without};
use crate::signals::Signals;
use machine::Located;
use outcome::Told;
use progress::Bar;

pub(crate) use args::EvalArgs;

pub(crate) fn eval(args: &EvalArgs) -> Result<u8, Failure> {
    let signals = Signals::install()?;
    let stop = Stop::new();
    stop_at_signals(signals, stop.clone())?;
    let cases = cases(args)?;
    let run = run_id(args)?;
    let to = args.written.output_format.to();
    // What is wrong with the options is better told before the work than after it.
    to.map_or(Ok(()), |to| args.ends.check(to))?;
    let config = config(args)?;

    let located = Arc::new(Located::default());
    let mut recorder =
        Recorder::builder(&run).service("wattspan-eval").prices(located.clone()).intensity(located.clone());
    if let Some(every) = args.written.interval {
        recorder = recorder.every(every);
    }
    let recorder = recorder.build();
    let wattspan = measuring(&config)
        .sample_sink(recorder.sample_sink())
        .record_sink(recorder.record_sink())
        .span_exporter(recorder.span_exporter())
        .start()
        .map_err(|error| start_failure(&error))?;
    located.is_at(&wattspan);

    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime =
        runtime.map_err(|error| Failure::new(SYSTEM, format!("cannot start a runtime: {error}")))?;
    let bar = Bar::new(args.written.quiet);
    let outcome = runtime.block_on(work(args, cases, &recorder, &wattspan, &bar, &stop));
    bar.end();
    drop(wattspan);
    let outcome = outcome?;
    tell(args, &run, &outcome, &bar)
}

/// The run itself, and what it needs a runtime for.
async fn work(
    args: &EvalArgs,
    cases: Cases,
    recorder: &Recorder,
    wattspan: &Wattspan,
    bar: &Bar,
    stop: &Stop,
) -> Result<Outcome, Failure> {
    let mut sink =
        JsonDataset::new(&args.written.output_dir).begun(SystemTime::now()).parquet(args.written.parquet);
    let target = tokio::select! {
        target = target::open(args, wattspan) => target?,
        () = stop.stopped() => return Err(Failure::new(INTERRUPTED, "ended by a signal before the run began")),
    };
    let earlier = Earlier::open(&mut sink, recorder.run()).await.map_err(|error| failure(&error))?;
    let evaluation = args.apply(Evaluation::shared(cases, target)).resume(earlier);
    let evaluation = machine::describe(evaluation, wattspan, args.written.hardware_label.as_deref());
    let genai = wattspan.genai(args.provider.genai_name());
    let run = run_evaluation(&evaluation, &genai, recorder, &mut sink, bar, stop).await;
    run.map_err(|error| failure(&error))
}

fn failure(error: &EvalError) -> Failure {
    let code = if matches!(error, EvalError::Sink { .. }) { OUTPUT } else { USAGE };
    Failure::of(code, error)
}

fn cases(args: &EvalArgs) -> Result<Cases, Failure> {
    let mut cases = Cases::read(&args.cases).map_err(|error| {
        let mut failure = Failure::of(USAGE, &error);
        // What SMOLTRACE takes for its option of the same name.
        if !args.cases.exists() {
            failure.message += ": a data set of the Hub is not fetched, name a file on this machine";
        }
        failure
    })?;
    let which = &args.which;
    cases.retain(|case| {
        let tagged = which.tag.is_empty() || case.tags.iter().any(|tag| which.tag.contains(tag));
        tagged && which.difficulty.as_ref().is_none_or(|wanted| case.difficulty.as_ref() == Some(wanted))
    });
    let mut left = which.limit.unwrap_or(usize::MAX);
    cases.retain(|_| {
        let kept = left > 0;
        left = left.saturating_sub(1);
        kept
    });
    if cases.is_empty() {
        let message =
            format!("{}: no case is left: check --tag, --difficulty and --limit", args.cases.display());
        return Err(Failure::new(USAGE, message));
    }
    Ok(cases)
}

fn run_id(args: &EvalArgs) -> Result<RunId, Failure> {
    let id = args.written.run_id.clone().unwrap_or_else(|| {
        let now = SystemTime::now();
        // Two that begin in the same second are told apart by their processes.
        format!("eval-{}-{}", Timestamp::from(now).compact(), std::process::id())
    });
    RunId::new(id).map_err(|error| Failure::new(USAGE, format!("--run-id: {error}")))
}

fn config(args: &EvalArgs) -> Result<Config, Failure> {
    let mut config = args.settings.config()?;
    if args.how.disable_gpu_metrics {
        set(&mut config, Setting::Gpu, "off")?;
    }
    if args.how.enable_otel && config.text(Setting::OtlpEndpoint).is_none() {
        say(
            "wattspan: --enable-otel: no receiver is set with OTEL_EXPORTER_OTLP_ENDPOINT: spans go into the files only",
        );
    }
    if !args.how.enable_otel {
        config = without(&config, &[Setting::OtlpEndpoint])?;
    }
    Ok(config)
}

/// The first signal ends the run in order, the second at once: its journal is there either way.
fn stop_at_signals(signals: Signals, stop: Stop) -> Result<(), Failure> {
    let watch = move || {
        signals.wait(None);
        stop.stop();
        signals.wait_for_another();
        std::process::exit(INTERRUPTED.into());
    };
    let started = std::thread::Builder::new().name("wattspan-stop".to_owned()).spawn(watch);
    started.map(|_| ()).map_err(|error| Failure::new(SYSTEM, format!("cannot start a thread: {error}")))
}

/// Tells the result, pushes it where that was asked for, and answers with the code.
fn tell(args: &EvalArgs, run: &RunId, outcome: &Outcome, bar: &Bar) -> Result<u8, Failure> {
    let written = &args.written;
    let mut told = Told::new(run, outcome, bar.failed());
    if !written.quiet && !written.json {
        say(&told.text());
    }
    let mut code = match outcome.status {
        RunStatus::Interrupted => INTERRUPTED,
        RunStatus::Failed => UNAVAILABLE,
        _ if outcome.leaderboard.successful_tests < outcome.leaderboard.total_tests => PROBLEM,
        _ => OK,
    };
    // A run that is to go on is not pushed half.
    if let (Some(to), RunStatus::Completed) = (written.output_format.to(), outcome.status) {
        let folder = std::path::Path::new(&outcome.place);
        match args.ends.push(to, folder, written.quiet) {
            Ok(places) => {
                if !written.quiet && !written.json {
                    say(&outcome::places(&places));
                }
                told.pushed(&places);
            }
            Err(failure) => {
                let again = again(to, folder);
                say(&format!(
                    "wattspan: {}\nwattspan: the files are kept; push them again with: {again}",
                    failure.message
                ));
                told.not_pushed(&failure.message, &again);
                code = failure.code;
            }
        }
    }
    if written.json {
        Output::Stdout.text(&format!("{:#}\n", told.json()))?;
    }
    Ok(code)
}
