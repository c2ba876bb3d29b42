//! The control language: one command a line. The table in the crate's documentation is its reference.

mod gpu;
mod words;

use std::time::{Duration, Instant};

use super::device::ErrorRule;
use super::functions::FUNCTIONS;
use super::{Clock, Driver, MAX_GPUS};
use words::Words;

/// What is wrong with a line.
type Wrong = String;

impl Driver {
    /// Carries out lines in turn; stops at the first that is wrong and gives its number, from 1 on.
    pub(super) fn control(&mut self, text: &str) -> Result<(), usize> {
        for (index, line) in text.lines().enumerate() {
            let now = self.now();
            if let Err(wrong) = self.apply(line, now) {
                self.last_error = format!("{}: {wrong}", line.trim());
                return Err(index + 1);
            }
        }
        Ok(())
    }

    /// Carries out one line as if it were `at`.
    pub(super) fn apply(&mut self, line: &str, at: u64) -> Result<(), Wrong> {
        let line = line.split_once('#').map_or(line, |(command, _)| command).trim();
        let mut words = Words::new(line, at);
        let Some(command) = words.next() else { return Ok(()) };
        match command {
            "clock" => self.set_clock(words.word()?)?,
            "time_us" => self.set_time(words.number()?)?,
            "advance_us" => {
                let now = self.now();
                self.set_time(now.saturating_add(words.number()?))?;
            }
            "at" => {
                let due = words.time()?;
                let index = self.pending.partition_point(|(time, _)| *time <= due);
                self.pending.insert(index, (due, words.rest().to_owned()));
                self.sync();
            }
            "gpus" => {
                let count = words.number()?;
                if count > MAX_GPUS as u64 {
                    return Err(format!("at most {MAX_GPUS} GPUs"));
                }
                self.set_gpu_count(count as usize);
            }
            "gpu" => self.gpu_line(&mut words)?,
            "driver" => self.driver_line(&mut words)?,
            "delay_us" => {
                let delay = Duration::from_micros(words.number()?);
                match words.next() {
                    None => self.delay = delay,
                    Some(function) => {
                        known(function)?;
                        self.delays.insert(function.to_owned(), delay);
                    }
                }
            }
            "err" => self.errors.push(error_rule(&mut words)?),
            "ok" => forgive(&mut self.errors, words.word()?),
            "calls" => match words.word()? {
                "reset" => self.calls.clear(),
                other => return Err(unknown(other)),
            },
            "reset" => {
                let script = self.script.take();
                *self = Self { initialised: self.initialised, script, ..Self::new() };
            }
            other => return Err(unknown(other)),
        }
        words.end()
    }

    fn set_clock(&mut self, kind: &str) -> Result<(), Wrong> {
        let now = self.now();
        self.clock = match kind {
            "virtual" => Clock::Virtual(now),
            "real" => Clock::Real { base: now, since: Instant::now() },
            other => return Err(unknown(other)),
        };
        Ok(())
    }

    fn set_time(&mut self, time: u64) -> Result<(), Wrong> {
        match &mut self.clock {
            Clock::Real { .. } => return Err("the clock is real".to_owned()),
            Clock::Virtual(now) if time < *now => return Err(format!("the time is {now} already")),
            Clock::Virtual(now) => *now = time,
        }
        self.sync();
        Ok(())
    }

    fn driver_line(&mut self, words: &mut Words<'_>) -> Result<(), Wrong> {
        match words.word()? {
            "version" => words.word()?.clone_into(&mut self.version),
            "nvml" => words.word()?.clone_into(&mut self.nvml_version),
            "cuda" => self.cuda_version = words.number()? as i32,
            "reload" => {
                if let Some(version) = words.next() {
                    version.clone_into(&mut self.version);
                }
                self.initialised = 0;
                for device in &mut self.devices {
                    device.epoch += 1;
                    device.power.reset_counter(words.at);
                }
            }
            other => return Err(unknown(other)),
        }
        Ok(())
    }
}

fn unknown(word: &str) -> Wrong {
    format!("unknown word {word}")
}

/// `FUNCTION CODE [from T] [until T] [times N]`.
fn error_rule(words: &mut Words<'_>) -> Result<ErrorRule, Wrong> {
    let function = words.word()?;
    known(function)?;
    let code = words.number()? as u32;
    let mut rule =
        ErrorRule { function: function.to_owned(), code, from: words.at, until: u64::MAX, times: None };
    while let Some(word) = words.next() {
        match word {
            "from" => rule.from = words.time()?,
            "until" => rule.until = words.time()?,
            "times" => rule.times = Some(words.number()?),
            other => return Err(unknown(other)),
        }
    }
    Ok(rule)
}

fn forgive(rules: &mut Vec<ErrorRule>, function: &str) {
    rules.retain(|rule| function != "*" && rule.function != function);
}

/// A mistyped name would never fail, silently.
fn known(function: &str) -> Result<(), Wrong> {
    let field = function.strip_prefix("field:").is_some_and(|id| id.parse::<u32>().is_ok());
    if function == "*" || field || FUNCTIONS.contains(&function) {
        Ok(())
    } else {
        Err(format!("no function {function}"))
    }
}
