//! CPU time of processes that are watched, each known by its number and its start.

use std::path::{Path, PathBuf};
use std::time::Duration;

use wattspan_core::{ProcessUse, Reading, Remedy};

use crate::files::{Files, ReadAt, is_denied};
use crate::procfs::{ProcessTicks, process_ticks, ticks_to_time};
use crate::remedy;

/// The processes whose CPU time is reported: this one, and those that were named.
pub(crate) struct Processes {
    own: Process,
    named: Vec<Process>,
}

struct Process {
    pid: u32,
    path: PathBuf,
    file: Option<Box<dyn ReadAt>>,
    /// Start of the process that was seen first under this number.
    start: Option<u64>,
    /// It has ended, or its number is another's: for good.
    gone: Option<&'static str>,
}

impl Processes {
    /// Watches this process alone.
    pub(crate) fn new(proc: &Path) -> Self {
        // `self`, since the number that this process knows is not its number in a `/proc` of another pid namespace.
        Self { own: Process::new(std::process::id(), proc.join("self/stat")), named: Vec::new() }
    }

    /// Watches these from now on. One that was watched before stays the same process.
    pub(crate) fn watch(&mut self, proc: &Path, pids: &[u32]) {
        self.named.retain(|process| pids.contains(&process.pid));
        for pid in pids {
            if *pid != self.own.pid && self.named.iter().all(|process| process.pid != *pid) {
                self.named.push(Process::new(*pid, proc.join(format!("{pid}/stat"))));
            }
        }
    }

    /// CPU time of all of them, this process first.
    pub(crate) fn read(&mut self, files: &dyn Files) -> Vec<ProcessUse> {
        let all = std::iter::once(&mut self.own).chain(&mut self.named);
        let uses = all.map(|process| {
            let mut found = ProcessUse::new(process.pid);
            found.busy = process.busy(files);
            found
        });
        uses.collect()
    }
}

impl Process {
    fn new(pid: u32, path: PathBuf) -> Self {
        Self { pid, path, file: None, start: None, gone: None }
    }

    fn busy(&mut self, files: &dyn Files) -> Reading<Duration> {
        if let Some(reason) = self.gone {
            return Reading::failed(reason);
        }
        let ticks = match self.ticks(files) {
            Ok(Some(ticks)) => ticks,
            Ok(None) => return Reading::failed(format!("{} cannot be understood", self.path.display())),
            Err(error) if is_denied(&error) => {
                return Reading::Denied(Remedy::new(remedy::other_user(&self.path)));
            }
            Err(_) if self.start.is_some() => {
                self.gone = Some("the process has ended");
                return Reading::failed("the process has ended");
            }
            Err(_) => {
                return Reading::failed(format!(
                    "there is no process {}, or /proc hides it (hidepid)",
                    self.pid
                ));
            }
        };
        if *self.start.get_or_insert(ticks.start) != ticks.start {
            // The number was given to a new process, whose time is not the old one's.
            self.file = None;
            self.gone = Some("the process has ended and its number is another's");
            return Reading::failed("the process has ended and its number is another's");
        }
        match ticks_to_time(ticks.busy) {
            Some(time) => Reading::Value(time),
            None => Reading::failed("the process's CPU time is out of range"),
        }
    }

    fn ticks(&mut self, files: &dyn Files) -> std::io::Result<Option<ProcessTicks>> {
        let mut buffer = [0; STAT_BYTES];
        if let Some(file) = &mut self.file {
            match file.read_at(&mut buffer, 0) {
                Ok(read) if read > 0 => return Ok(process_ticks(&buffer[..read])),
                // An open file belongs to its process, not to its number: reading fails once that has ended.
                _ => self.file = None,
            }
        }
        let mut file = files.open(&self.path)?;
        let read = file.read_at(&mut buffer, 0)?;
        self.file = Some(file);
        Ok(process_ticks(&buffer[..read]))
    }
}

/// A line of 52 numbers of up to 20 digits, with a name of at most 64 bytes.
const STAT_BYTES: usize = 1_280;
