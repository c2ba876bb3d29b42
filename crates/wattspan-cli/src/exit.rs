//! Exit codes, and the one error that carries them.

use std::fmt;

/// All went well.
pub(crate) const OK: u8 = 0;
/// `doctor` found a problem, `validate` sensors that cannot be trusted, `eval` cases that did not pass.
pub(crate) const PROBLEM: u8 = 1;
/// The command line or a setting is wrong. (As clap has it.)
pub(crate) const USAGE: u8 = 2;
/// What was asked for is not there. (`EX_UNAVAILABLE` of BSD's sysexits.h.)
pub(crate) const UNAVAILABLE: u8 = 69;
/// The operating system refused a thread or a signal handler. (`EX_OSERR` of BSD's sysexits.h.)
pub(crate) const SYSTEM: u8 = 71;
/// Output could not be written. (`EX_IOERR` of BSD's sysexits.h.)
pub(crate) const OUTPUT: u8 = 74;
/// The command is there and cannot be executed. (POSIX, Shell Command Language, 2.8.2.)
pub(crate) const NOT_EXECUTABLE: u8 = 126;
/// The command was not found. (The same place.)
pub(crate) const NOT_FOUND: u8 = 127;
/// What was made is kept and did not arrive elsewhere. (`EX_TEMPFAIL` of BSD's sysexits.h.)
pub(crate) const PUSH: u8 = 75;
/// A signal ended what gives no result when it is not whole: as a shell has it of SIGINT.
pub(crate) const INTERRUPTED: u8 = 130;
/// A command that a signal ended: this and the signal's number.
pub(crate) const SIGNALLED: i32 = 128;

/// As `--help` and `docs/cli.md` have it.
pub(crate) const TABLE: &str = "\
Exit codes:
  0        all went well; a measurement that Ctrl-C or SIGTERM ended, too
  1        `doctor` found a problem, `validate` sensors that cannot be trusted, `eval` cases that did
           not pass
  2        the command line or a setting is wrong
  69       what was asked for is not there: a sensor to validate, a model that answers `eval`
  71       the operating system refused a thread or a signal handler
  74       output could not be written
  75       a run was not pushed whole; its files are kept and can be pushed again
  126      the command of `run` cannot be executed
  127      the command of `run` was not found
  128 + n  signal n ended the command of `run`; 130, a signal ended `validate` or `eval` before
           its end
  other    the code of the command of `run`";

/// Why the program ends early, and with which code.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) code: u8,
    pub(crate) message: String,
}

impl Failure {
    pub(crate) fn new(code: u8, message: impl fmt::Display) -> Self {
        Self { code, message: message.to_string() }
    }

    /// With the whole chain of causes.
    pub(crate) fn of(code: u8, error: &dyn std::error::Error) -> Self {
        let mut message = error.to_string();
        let mut cause = error.source();
        while let Some(inner) = cause {
            message.push_str(": ");
            message.push_str(&inner.to_string());
            cause = inner.source();
        }
        Self { code, message }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_documentation_has_the_same_table() {
        let docs = include_str!("../../../docs/cli.md");
        let codes: Vec<&str> =
            TABLE.lines().skip(1).map(|line| line[2..11].trim()).filter(|code| !code.is_empty()).collect();
        assert_eq!(codes, ["0", "1", "2", "69", "71", "74", "75", "126", "127", "128 + n", "other"]);
        for code in codes {
            assert!(docs.contains(&format!("| {code} |")), "{code} is missing in docs/cli.md");
        }
    }
}
