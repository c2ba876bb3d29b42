//! The measured command: started with our own streams, waited for, its end as an exit code.

use std::ffi::OsString;
use std::io;
use std::process::{Command, ExitStatus};

use crate::exit::{Failure, NOT_EXECUTABLE, NOT_FOUND, SIGNALLED, SYSTEM};
use crate::signals::Signals;

/// How it ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ended {
    /// The code to end with.
    pub(crate) code: u8,
    /// The signal that ended it.
    pub(crate) signal: Option<i32>,
}

pub(crate) fn run(program: &OsString, arguments: &[OsString], signals: &Signals) -> Result<Ended, Failure> {
    let shown = program.to_string_lossy();
    let mut child = Command::new(program).args(arguments).spawn().map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => {
            Failure::new(NOT_FOUND, format!("{shown}: command not found: check its name and PATH"))
        }
        io::ErrorKind::PermissionDenied => {
            Failure::new(NOT_EXECUTABLE, format!("{shown}: permission denied: make it executable"))
        }
        io::ErrorKind::WouldBlock | io::ErrorKind::OutOfMemory => {
            Failure::new(SYSTEM, format!("{shown}: cannot be started: {error}"))
        }
        _ => Failure::new(NOT_EXECUTABLE, format!("{shown}: cannot be executed: {error}")),
    })?;
    Ok(ended(signals.attend(&mut child)?))
}

fn ended(status: ExitStatus) -> Ended {
    #[cfg(unix)]
    let signal = std::os::unix::process::ExitStatusExt::signal(&status);
    #[cfg(not(unix))]
    let signal = None;
    let code = status.code().or_else(|| signal.map(|number| SIGNALLED + number));
    // Windows has codes beyond a byte; what does not fit is a failure all the same.
    Ended { code: code.map_or(u8::MAX, |code| u8::try_from(code).unwrap_or(u8::MAX)), signal }
}
