//! `wattspan watch`: a live view in a terminal, and a line for each interval elsewhere.

mod lines;
mod state;
mod terminal;
mod view;

use std::io::{self, IsTerminal as _, Write as _};
use std::sync::Arc;
use std::time::{Duration, Instant};

use wattspan::{Setting, Wattspan};

use crate::args::WatchArgs;
use crate::exit::{Failure, OK};
use crate::output::outcome;
use crate::run::{FIRST_READING, Ready, measuring, start_failure};
use crate::settings::{interval, set};
use crate::signals::Signals;

pub(crate) use lines::Console;

pub(crate) fn watch(args: &WatchArgs) -> Result<u8, Failure> {
    let signals = Signals::install()?;
    let mut config = args.settings.config()?;
    let every = interval(&mut config, args.interval)?;
    if let Some(url) = &args.llama_server {
        set(&mut config, Setting::LlamaServer, url)?;
    }
    if config.origin(Setting::LlamaServerInterval).is_none() {
        // Somebody is looking; still not each second, since some servers stop under that.
        set(&mut config, Setting::LlamaServerInterval, "5s")?;
    }
    let ready = Arc::new(Ready::default());
    let wattspan =
        measuring(&config).sample_sink(ready.clone()).start().map_err(|error| start_failure(&error))?;
    ready.wait(FIRST_READING);
    if is_live(args) {
        terminal::show(&wattspan, every, &signals)?;
    } else {
        print(&wattspan, every, args.count, &signals)?;
    }
    Ok(OK)
}

/// Whether the view is drawn: where standard output is a terminal that can move its cursor, and no lines were asked for.
pub(crate) fn is_live(args: &WatchArgs) -> bool {
    // The word of terminfo for one that can do nothing but print.
    let can_draw = std::env::var_os("TERM").is_none_or(|term| term != "dumb");
    !args.lines && args.count.is_none() && io::stdout().is_terminal() && can_draw
}

fn print(wattspan: &Wattspan, every: Duration, count: Option<u64>, signals: &Signals) -> Result<(), Failure> {
    let begun = Instant::now();
    for number in 0_u64.. {
        if count.is_some_and(|count| number >= count) || signals.wait(Some(every)) {
            break;
        }
        let Some(snapshot) = wattspan.monitor().snapshot() else { continue };
        let mut stdout = io::stdout().lock();
        let text = lines::line(begun.elapsed(), &snapshot);
        let written = writeln!(stdout, "{text}").and_then(|()| stdout.flush());
        if written.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::BrokenPipe) {
            break;
        }
        outcome("standard output", written)?;
    }
    Ok(())
}
