//! Runs a program with JSON on its standard input, within a bound on its time, and leaves nothing of it behind.

use std::io;
use std::process::Stdio;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::{Child, Command as Process};

/// A program and its arguments, without a shell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Command {
    pub(crate) argv: Vec<String>,
    pub(crate) limit: Duration,
}

/// What it said.
#[derive(Debug)]
pub(crate) struct Output {
    /// **Absent** when a signal ended it.
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// It gave no answer.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CommandError {
    #[error("cannot start `{program}`: {reason}: name a program that is there and may be run")]
    Start { program: String, reason: String },
    #[error("`{program}` took longer than {limit:?} and was ended: raise its `timeout`")]
    TimedOut { program: String, limit: Duration },
    #[error("cannot talk to `{program}`: {reason}")]
    Talk { program: String, reason: String },
}

impl CommandError {
    pub(crate) fn error_type(&self) -> &'static str {
        match self {
            Self::Start { .. } => "not_started",
            Self::TimedOut { .. } => "timeout",
            Self::Talk { .. } => "broken_pipe",
        }
    }
}

impl Command {
    pub(crate) fn program(&self) -> &str {
        self.argv.first().map_or("", String::as_str)
    }

    /// Runs it to its end. Dropping the future ends the program and everything that it started.
    pub(crate) async fn run(&self, input: &[u8]) -> Result<Output, CommandError> {
        let program = || self.program().to_owned();
        let (mut running, pipes) = Running::start(&self.argv)
            .map_err(|error| CommandError::Start { program: program(), reason: error.to_string() })?;
        let talk = async {
            let Pipes { stdin, stdout, stderr } = pipes;
            let write = async move {
                let Some(mut stdin) = stdin else { return Ok(()) };
                // A program may answer without reading everything.
                match stdin.write_all(input).await {
                    Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error),
                    _ => Ok(()),
                }
            };
            let (written, stdout, stderr, ended) =
                tokio::join!(write, read(stdout), read(stderr), running.child.wait());
            written?;
            let ended = ended?;
            Ok::<_, io::Error>(Output { code: ended.code(), stdout: stdout?, stderr: stderr? })
        };
        match tokio::time::timeout(self.limit, talk).await {
            Ok(Ok(output)) => {
                running.ended = true;
                Ok(output)
            }
            Ok(Err(error)) => Err(CommandError::Talk { program: program(), reason: error.to_string() }),
            Err(_) => Err(CommandError::TimedOut { program: program(), limit: self.limit }),
        }
    }
}

/// A child that is ended with this value, with everything in its process group.
struct Running {
    child: Child,
    ended: bool,
}

struct Pipes {
    stdin: Option<tokio::process::ChildStdin>,
    stdout: Option<tokio::process::ChildStdout>,
    stderr: Option<tokio::process::ChildStderr>,
}

impl Running {
    fn start(argv: &[String]) -> io::Result<(Self, Pipes)> {
        let (program, arguments) =
            argv.split_first().ok_or_else(|| io::Error::other("the command is empty"))?;
        let mut process = Process::new(program);
        process.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        process.kill_on_drop(true);
        // A group of its own: a terminal's Ctrl-C does not reach it, and what it starts can be ended with it.
        #[cfg(unix)]
        process.process_group(0);
        let mut child = process.spawn()?;
        let pipes =
            Pipes { stdin: child.stdin.take(), stdout: child.stdout.take(), stderr: child.stderr.take() };
        Ok((Self { child, ended: false }, pipes))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // `id` is absent once it was waited for: then its number may be another process's.
        #[cfg(unix)]
        if !self.ended
            && let Some(group) =
                self.child.id().and_then(|id| rustix::process::Pid::from_raw(id.cast_signed()))
        {
            // One that has just ended by itself is no fault.
            let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
        }
        #[cfg(not(unix))]
        if !self.ended {
            let _ = self.child.start_kill();
        }
    }
}

/// Reads to the end and keeps the beginning.
async fn read(pipe: Option<impl AsyncRead + Unpin>) -> io::Result<String> {
    let Some(mut pipe) = pipe else { return Ok(String::new()) };
    let mut kept = Vec::new();
    let mut block = vec![0; 8 * 1024];
    loop {
        let read = pipe.read(&mut block).await?;
        if read == 0 {
            return Ok(String::from_utf8_lossy(&kept).into_owned());
        }
        let room = LONGEST.saturating_sub(kept.len()).min(read);
        kept.extend_from_slice(&block[..room]);
    }
}

/// Bytes of an output that are kept.
const LONGEST: usize = 1 << 20;

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    fn shell(script: &str, limit: Duration) -> Command {
        Command { argv: vec!["/bin/sh".to_owned(), "-c".to_owned(), script.to_owned()], limit }
    }

    #[tokio::test]
    async fn input_comes_back_with_the_code() {
        let output = shell("cat; echo no >&2; exit 3", LONG).run(b"{\"a\":1}").await.unwrap();
        assert_eq!((output.code, output.stdout.as_str(), output.stderr.trim()), (Some(3), "{\"a\":1}", "no"));
        // Reading nothing of a long input is no fault.
        assert_eq!(shell("exit 0", LONG).run(&vec![b'x'; 1 << 20]).await.unwrap().code, Some(0));
    }

    #[tokio::test]
    async fn what_takes_too_long_is_ended_with_its_children() {
        let folder = tempfile::tempdir().unwrap();
        let mark = folder.path().join("pid");
        // The grandchild holds the pipes open: waiting for their end alone would take an hour.
        let script = format!("sleep 3600 & echo $! > {0}.new; mv {0}.new {0}; wait", mark.display());
        let command = shell(&script, Duration::from_millis(1_500));
        let error = command.run(b"").await.unwrap_err();
        assert!(matches!(error, CommandError::TimedOut { .. }), "{error}");
        assert_eq!(error.error_type(), "timeout");
        let Ok(pid) = std::fs::read_to_string(&mark) else { return };
        let pid = rustix::process::Pid::from_raw(pid.trim().parse().unwrap()).unwrap();
        // Its parent is gone too, so whoever adopts it removes it; until then it is a dead entry.
        let gone = || {
            let state = std::fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero()));
            state.map_or(true, |state| state.contains(") Z "))
                || rustix::process::test_kill_process(pid).is_err()
        };
        let until = std::time::Instant::now() + LONG;
        while !gone() {
            assert!(std::time::Instant::now() < until, "the grandchild is still there");
            tokio::task::yield_now().await;
        }
    }

    #[tokio::test]
    async fn a_program_that_is_not_there_says_so() {
        let command = Command { argv: vec!["/nowhere/judge".to_owned()], limit: LONG };
        let error = command.run(b"").await.unwrap_err().to_string();
        assert!(error.contains("/nowhere/judge"), "{error}");
    }

    const LONG: Duration = Duration::from_secs(60);
}
