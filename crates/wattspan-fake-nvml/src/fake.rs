//! The test's side: a fake driver of one's own.

mod gpu;
mod script;

use std::ffi::CString;
use std::fmt::Display;
use std::path::Path;
use std::str::FromStr;

use crate::error::Error;
use crate::library::{self, Copy, Loaded};

pub use gpu::{ErrorWindow, GpuControl, MigDevice, ProcessKind, ProcessSpec};
pub use script::ScriptFile;

/// A fake driver that nobody shares: its own copy of the library, with its own GPUs, clock and counters.
///
/// The copy is removed when this is dropped. Whoever has loaded it by then goes on using it, but nobody can load it
/// again; so keep this as long as the code under test may start the driver anew.
#[derive(Debug)]
pub struct FakeNvml {
    // Closed before its file is removed.
    loaded: Loaded,
    copy: Copy,
}

/// How a [`FakeNvml`] is to be.
#[derive(Debug, Clone, Default)]
pub struct Builder {
    gpus: Option<usize>,
    without: Vec<String>,
    lines: Vec<String>,
}

impl FakeNvml {
    /// A driver with one GPU, whose virtual clock stands at 0.
    ///
    /// # Errors
    ///
    /// [`Error::NotBuilt`], [`Error::Io`] or [`Error::Load`]; [`Error::Unsupported`] outside Linux.
    pub fn new() -> Result<Self, Error> {
        Self::builder().load()
    }

    /// A driver that is described first.
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// The library to load, for `Nvml::builder().lib_path(..)` or `dlopen`.
    pub fn path(&self) -> &Path {
        self.copy.path()
    }

    /// Carries out lines of the control language.
    ///
    /// # Errors
    ///
    /// [`Error::Control`] at the first line that is wrong; those before it have been carried out.
    pub fn control(&self, lines: &str) -> Result<(), Error> {
        let text = CString::new(lines).map_err(|error| Error::Control { message: error.to_string() })?;
        if self.loaded.control(&text) == 0 {
            return Ok(());
        }
        Err(Error::Control { message: self.loaded.query(c"error").1 })
    }

    /// Asks one of the questions of the control language.
    ///
    /// # Errors
    ///
    /// [`Error::Query`] if there is no answer.
    pub fn query(&self, question: &str) -> Result<String, Error> {
        let failed = |message| Error::Query { question: question.to_owned(), message };
        let text = CString::new(question).map_err(|error| failed(error.to_string()))?;
        let (right, answer) = self.loaded.query(&text);
        if right { Ok(answer) } else { Err(failed(answer)) }
    }

    /// One of the GPUs, by the place at which it was made; it keeps that place whatever its index becomes.
    pub fn gpu(&self, slot: usize) -> GpuControl<'_> {
        GpuControl::new(self, slot.to_string())
    }

    /// Every GPU at once.
    pub fn all_gpus(&self) -> GpuControl<'_> {
        GpuControl::new(self, "all".to_owned())
    }

    /// Sets the number of GPUs, 0 to 16. Those that stay keep their state.
    ///
    /// # Errors
    ///
    /// [`Error::Control`] above 16.
    pub fn set_gpus(&self, count: usize) -> Result<(), Error> {
        self.control(&format!("gpus {count}"))
    }

    /// Sets the virtual clock.
    ///
    /// # Errors
    ///
    /// [`Error::Control`] if it stands later already, or the clock is real.
    pub fn set_time_us(&self, time_us: u64) -> Result<(), Error> {
        self.control(&format!("time_us {time_us}"))
    }

    /// Moves the virtual clock on.
    ///
    /// # Errors
    ///
    /// [`Error::Control`] if the clock is real.
    pub fn advance_us(&self, by_us: u64) -> Result<(), Error> {
        self.control(&format!("advance_us {by_us}"))
    }

    /// Lets the clock run by itself from where it stands.
    ///
    /// # Errors
    ///
    /// Only the [`Error::Control`] of an internal fault.
    pub fn use_real_clock(&self) -> Result<(), Error> {
        self.control("clock real")
    }

    /// Stops the clock where it stands, to be moved by hand.
    ///
    /// # Errors
    ///
    /// Only the [`Error::Control`] of an internal fault.
    pub fn use_virtual_clock(&self) -> Result<(), Error> {
        self.control("clock virtual")
    }

    /// The fake's time, in microseconds.
    ///
    /// # Errors
    ///
    /// Only the [`Error::Query`] of an internal fault.
    pub fn now_us(&self) -> Result<u64, Error> {
        self.ask("now")
    }

    /// Carries out a control line when the clock reaches a moment, as if it were that moment exactly.
    ///
    /// # Errors
    ///
    /// [`Error::Control`] if the moment has come and the line is wrong. One that is wrong later is passed over, and
    /// [`query`](Self::query) of `error` tells.
    pub fn at(&self, time_us: u64, line: &str) -> Result<(), Error> {
        self.control(&format!("at {time_us} {line}"))
    }

    /// Sets the driver version.
    ///
    /// # Errors
    ///
    /// [`Error::Control`] if it has spaces.
    pub fn set_driver_version(&self, version: &str) -> Result<(), Error> {
        self.control(&format!("driver version {version}"))
    }

    /// Reloads the driver: handles become void, NVML is uninitialised, counters begin at nought.
    ///
    /// # Errors
    ///
    /// Only the [`Error::Control`] of an internal fault.
    pub fn reload_driver(&self) -> Result<(), Error> {
        self.control("driver reload")
    }

    /// Makes each call busy for a time, as real drivers are for some microseconds.
    ///
    /// # Errors
    ///
    /// Only the [`Error::Control`] of an internal fault.
    pub fn set_delay_us(&self, delay_us: u64) -> Result<(), Error> {
        self.control(&format!("delay_us {delay_us}"))
    }

    /// Makes a function fail, on every GPU or without one. `*` is every function.
    ///
    /// # Errors
    ///
    /// [`Error::Control`] if there is no such function.
    pub fn fail(&self, function: &str, code: u32, window: ErrorWindow) -> Result<(), Error> {
        self.control(&format!("err {function} {code}{window}"))
    }

    /// Lets a function succeed again.
    ///
    /// # Errors
    ///
    /// Only the [`Error::Control`] of an internal fault.
    pub fn succeed(&self, function: &str) -> Result<(), Error> {
        self.control(&format!("ok {function}"))
    }

    /// How often a function has been called.
    ///
    /// # Errors
    ///
    /// Only the [`Error::Query`] of an internal fault.
    pub fn calls(&self, function: &str) -> Result<u64, Error> {
        self.ask(&format!("calls {function}"))
    }

    /// How often each function that was called at all has been called.
    ///
    /// # Errors
    ///
    /// Only the [`Error::Query`] of an internal fault.
    pub fn all_calls(&self) -> Result<Vec<(String, u64)>, Error> {
        let answer = self.query("calls")?;
        let pair = |line: &str| {
            line.split_once(' ').and_then(|(name, count)| Some((name.into(), count.parse().ok()?)))
        };
        Ok(answer.lines().filter_map(pair).collect())
    }

    /// Begins the count of calls again.
    ///
    /// # Errors
    ///
    /// Only the [`Error::Control`] of an internal fault.
    pub fn reset_calls(&self) -> Result<(), Error> {
        self.control("calls reset")
    }

    fn ask<T: FromStr>(&self, question: &str) -> Result<T, Error> {
        let answer = self.query(question)?;
        parse(question, &answer)
    }
}

fn parse<T: FromStr>(question: &str, answer: &str) -> Result<T, Error> {
    answer.parse().map_err(|_| Error::Query { question: question.to_owned(), message: answer.to_owned() })
}

impl Builder {
    /// Number of GPUs, 0 to 16; 1 if this is not called.
    pub fn gpus(mut self, count: usize) -> Self {
        self.gpus = Some(count);
        self
    }

    /// Takes an exported function away, as if the driver were older.
    pub fn without_symbol(mut self, name: &str) -> Self {
        self.without.push(name.to_owned());
        self
    }

    /// Adds lines of the control language.
    pub fn control(mut self, lines: &str) -> Self {
        self.lines.push(lines.to_owned());
        self
    }

    /// Delay of each call in microseconds.
    pub fn delay_us(self, delay_us: u64) -> Self {
        self.control(&format!("delay_us {delay_us}"))
    }

    /// Driver version, such as `470.161.03`.
    pub fn driver_version(self, version: impl Display) -> Self {
        self.control(&format!("driver version {version}"))
    }

    /// Lets the clock run by itself.
    pub fn real_clock(self) -> Self {
        self.control("clock real")
    }

    /// Makes the copy and loads it.
    ///
    /// # Errors
    ///
    /// As [`FakeNvml::new`]; also [`Error::NoSymbol`], and [`Error::Control`] for a wrong line.
    pub fn load(self) -> Result<FakeNvml, Error> {
        if cfg!(not(target_os = "linux")) {
            return Err(Error::Unsupported);
        }
        let library = library::find()?;
        let copy = Copy::new(&library, &self.without)?;
        let fake = FakeNvml { loaded: Loaded::open(copy.path())?, copy };
        // A target folder may hold what other releases of this crate have left.
        let version = fake.query("version")?;
        if version != env!("CARGO_PKG_VERSION") {
            let message = format!("it is release {version}, not {}", env!("CARGO_PKG_VERSION"));
            return Err(Error::Load { path: library, message });
        }
        if let Some(count) = self.gpus {
            fake.set_gpus(count)?;
        }
        for lines in &self.lines {
            fake.control(lines)?;
        }
        Ok(fake)
    }
}
