//! A program that keeps devices as busy as it is told.

use std::io::Write as _;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use wattspan::core::Ratio;
use wattspan::monitor::validate::Load;

use crate::exit::{Failure, NOT_EXECUTABLE};
use crate::output::say;

/// Gets lines on its standard input, each a level from 0 (idle) to 1 (all there is); the end of it is its sign to end.
pub(super) struct Program {
    child: Child,
    levels: Option<ChildStdin>,
}

impl Program {
    /// Lets the system's shell start a command.
    pub(super) fn start(command: &str) -> Result<Self, Failure> {
        let (shell, option) = if cfg!(windows) { ("cmd", "/C") } else { ("sh", "-c") };
        let mut child = Command::new(shell)
            .args([option, command])
            .stdin(Stdio::piped())
            // Our standard output is for the findings.
            .stdout(Stdio::null())
            .spawn()
            .map_err(|error| {
                Failure::new(NOT_EXECUTABLE, format!("--load: {shell} cannot be started: {error}"))
            })?;
        Ok(Self { levels: child.stdin.take(), child })
    }
}

impl Load for Program {
    fn set(&mut self, level: Ratio) {
        let Some(levels) = &mut self.levels else { return };
        let told = writeln!(levels, "{:.3}", level.ratio()).and_then(|()| levels.flush());
        if told.is_err() {
            self.levels = None;
            say(
                "wattspan: the command of --load has ended: from here on the devices are idle, whatever the table says",
            );
        }
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        self.levels = None;
        let begun = Instant::now();
        while begun.elapsed() < PATIENCE {
            if !matches!(self.child.try_wait(), Ok(None)) {
                return;
            }
            thread::sleep(Duration::from_millis(10));
        }
        // One that does not see the end of its input is made to end.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Long enough for a kernel on a GPU to end by itself.
const PATIENCE: Duration = Duration::from_secs(2);
