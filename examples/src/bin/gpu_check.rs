//! Checks what the sensors of this machine's NVIDIA GPUs are worth, in under five minutes.
//!
//! ```text
//! cargo run -p wattspan-examples --bin gpu_check -- [--load COMMAND] [--meter CSV] [--library PATH] [--out FILE] [--quick]
//! ```
//!
//! `COMMAND` is run by the shell and keeps the GPUs busy: it reads lines from its standard input, each a level from 0
//! (idle) to 1 (all there is), and ends when the input ends. Without it only what an idle GPU shows is checked. `CSV` is a
//! wall meter's recording of another run of the same length, lines of `unix seconds,watts`. The findings are printed and
//! written to `validation.json`.

use std::io::{Error, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, ExitCode, Stdio};
use std::time::Duration;

use wattspan::core::{Ratio, SystemClock};
use wattspan::monitor::validate::{Load, RealPace, ValidateOptions, validate};
use wattspan::nvidia::{NvidiaCollector, NvidiaOptions};

/// What was asked for.
#[derive(Default)]
struct Wanted {
    load: Option<String>,
    meter: Option<PathBuf>,
    library: Option<PathBuf>,
    out: Option<PathBuf>,
    quick: bool,
}

impl Wanted {
    fn from_args(mut args: impl Iterator<Item = String>) -> Result<Self, Error> {
        let mut wanted = Self::default();
        while let Some(option) = args.next() {
            let mut value = || args.next().ok_or_else(|| Error::other(format!("{option} needs a value")));
            match option.as_str() {
                "--load" => wanted.load = Some(value()?),
                "--meter" => wanted.meter = Some(value()?.into()),
                "--library" => wanted.library = Some(value()?.into()),
                "--out" => wanted.out = Some(value()?.into()),
                "--quick" => wanted.quick = true,
                other => {
                    return Err(Error::other(format!(
                        "{other} is unknown: there are --load COMMAND, --meter CSV, --library PATH, --out FILE, --quick"
                    )));
                }
            }
        }
        Ok(wanted)
    }
}

/// A program that keeps the GPUs busy as it is told.
struct Program {
    child: Child,
    levels: Option<ChildStdin>,
}

impl Program {
    fn start(command: &str) -> Result<Self, Error> {
        let mut shell = if cfg!(windows) { Command::new("cmd") } else { Command::new("sh") };
        shell.arg(if cfg!(windows) { "/C" } else { "-c" }).arg(command);
        let mut child = shell.stdin(Stdio::piped()).stdout(Stdio::null()).spawn()?;
        Ok(Self { levels: child.stdin.take(), child })
    }
}

impl Load for Program {
    fn set(&mut self, level: Ratio) {
        let told = self.levels.as_mut().map(|levels| {
            writeln!(levels, "{:.3}", level.ratio())?;
            levels.flush()
        });
        if told.is_some_and(|told| told.is_err()) {
            // It has ended; the plateaus will show it. Said once.
            self.levels = None;
            let _ = writeln!(
                std::io::stderr(),
                "the load has ended before its time: the levels above idle are not what they say"
            );
        }
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // The end of its input is its sign to end; one that does not see it is made to.
        self.levels = None;
        std::thread::sleep(Duration::from_millis(500));
        if !matches!(self.child.try_wait(), Ok(Some(_))) {
            let _ = self.child.kill();
        }
        let _ = self.child.wait();
    }
}

fn main() -> ExitCode {
    let answer = Wanted::from_args(std::env::args().skip(1)).and_then(|wanted| check(&wanted));
    match answer {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "{error}");
            ExitCode::FAILURE
        }
    }
}

fn check(wanted: &Wanted) -> Result<(), Error> {
    let mut out = std::io::stdout();
    let mut options = NvidiaOptions::default();
    options.library.clone_from(&wanted.library);
    // Gauges are not what is checked.
    options.gauge_interval = Duration::from_secs(5);
    let Some(mut collector) = NvidiaCollector::open(&options).map_err(Error::other)? else {
        return writeln!(out, "skipped: no NVIDIA GPU was found, so that there is nothing to check");
    };
    let mut program = wanted.load.as_deref().map(Program::start).transpose()?;
    let mut lengths = ValidateOptions::default();
    if wanted.quick {
        lengths.explore = Duration::from_secs(10);
        lengths.plateau = Duration::from_secs(5);
        lengths.square = Duration::from_secs(3);
    }
    writeln!(out, "checking; this takes up to five minutes")?;
    let load = program.as_mut().map(|program| -> &mut dyn Load { program });
    let found = validate(&mut collector, load, &SystemClock, &mut RealPace, &lengths);
    drop(program);
    let mut found = found.map_err(Error::other)?;
    if let Some(path) = &wanted.meter {
        found = found.with_meter(&std::fs::read_to_string(path)?).map_err(Error::other)?;
    }
    write!(out, "{}", found.table())?;
    let path = wanted.out.clone().unwrap_or_else(|| "validation.json".into());
    std::fs::write(&path, serde_json::to_string_pretty(&found)?)?;
    writeln!(out, "written to {}", path.display())
}
