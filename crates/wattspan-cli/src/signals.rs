//! Ctrl-C and its kin: they end a measurement, or go on to the measured command, and never end this program before it
//! has told its result.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::exit::{Failure, SYSTEM};

/// Takes the signals from its making on. One per process.
pub(crate) struct Signals {
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// How many signals have come.
    came: u32,
    /// Those that came before there was a process to take them.
    #[cfg(unix)]
    waiting: Vec<i32>,
    /// Who gets them: a child that has not been reaped, so that its number is nobody else's.
    #[cfg(unix)]
    child: Option<rustix::process::Pid>,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn refused(error: &std::io::Error) -> Failure {
    Failure::new(SYSTEM, format!("cannot take signals: {error}"))
}

impl Signals {
    /// Whether one has come.
    pub(crate) fn came(&self) -> bool {
        self.shared.lock().came > 0
    }

    /// Waits until a signal comes or the time is up; answers whether one has come.
    pub(crate) fn wait(&self, timeout: Option<Duration>) -> bool {
        let state = self.shared.lock();
        let idle = |state: &mut State| state.came == 0;
        match timeout {
            Some(timeout) => {
                let waited = self.shared.changed.wait_timeout_while(state, timeout, idle);
                waited.unwrap_or_else(PoisonError::into_inner).0.came > 0
            }
            None => {
                self.shared.changed.wait_while(state, idle).unwrap_or_else(PoisonError::into_inner).came > 0
            }
        }
    }

    /// Waits until a second one has come.
    pub(crate) fn wait_for_another(&self) {
        let state = self.shared.lock();
        drop(self.shared.changed.wait_while(state, |state| state.came < 2));
    }
}

#[cfg(unix)]
mod unix {
    use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, getpgrp, kill_process, waitid};
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

    use super::{Arc, Failure, Shared, Signals, State, refused};
    use crate::exit::SYSTEM;

    impl Signals {
        pub(crate) fn install() -> Result<Self, Failure> {
            let shared = Arc::new(Shared::default());
            let mut signals = signal_hook::iterator::Signals::new([SIGINT, SIGTERM, SIGHUP])
                .map_err(|error| refused(&error))?;
            let taker = Arc::clone(&shared);
            let take = move || {
                for signal in signals.forever() {
                    taker.lock().take(signal);
                    taker.changed.notify_all();
                }
            };
            std::thread::Builder::new()
                .name("wattspan-signals".to_owned())
                .spawn(take)
                .map_err(|error| refused(&error))?;
            Ok(Self { shared })
        }

        /// Waits for a child's end and passes signals on to it until then.
        pub(crate) fn attend(
            &self,
            child: &mut std::process::Child,
        ) -> Result<std::process::ExitStatus, Failure> {
            let failed =
                |error: std::io::Error| Failure::new(SYSTEM, format!("cannot wait for the command: {error}"));
            let pid = Pid::from_child(child);
            {
                let mut state = self.shared.lock();
                state.child = Some(pid);
                for signal in std::mem::take(&mut state.waiting) {
                    send(pid, signal);
                }
            }
            // Not reaped here: its number stays its own until signals have stopped going there.
            let end = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
            rustix::io::retry_on_intr(|| waitid(WaitId::Pid(pid), end))
                .map_err(|error| failed(error.into()))?;
            self.shared.lock().child = None;
            child.wait().map_err(failed)
        }
    }

    impl State {
        fn take(&mut self, signal: i32) {
            self.came += 1;
            match self.child {
                // A terminal sends Ctrl-C to all that stand in its foreground: the child has had it.
                Some(_) if signal == SIGINT && in_foreground() => {}
                Some(pid) => send(pid, signal),
                None => self.waiting.push(signal),
            }
        }
    }

    fn send(pid: Pid, signal: i32) {
        let signal = match signal {
            SIGINT => Signal::INT,
            SIGHUP => Signal::HUP,
            _ => Signal::TERM,
        };
        // A child that has just ended needs none.
        let _ = kill_process(pid, signal);
    }

    /// Whether this program's group is the one that a terminal's keys go to.
    fn in_foreground() -> bool {
        let terminal = std::fs::File::open("/dev/tty");
        terminal
            .is_ok_and(|terminal| rustix::termios::tcgetpgrp(&terminal).is_ok_and(|group| group == getpgrp()))
    }
}

#[cfg(not(unix))]
mod other {
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::{Arc, Duration, Failure, Shared, Signals, refused};
    use crate::exit::SYSTEM;

    impl Signals {
        pub(crate) fn install() -> Result<Self, Failure> {
            let shared = Arc::new(Shared::default());
            let flag = Arc::new(AtomicBool::new(false));
            for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
                signal_hook::flag::register(signal, Arc::clone(&flag)).map_err(|error| refused(&error))?;
            }
            let taker = Arc::clone(&shared);
            let take = move || {
                loop {
                    std::thread::sleep(LOOK);
                    if flag.swap(false, Ordering::Relaxed) {
                        taker.lock().came += 1;
                        taker.changed.notify_all();
                    }
                }
            };
            std::thread::Builder::new()
                .name("wattspan-signals".to_owned())
                .spawn(take)
                .map_err(|error| refused(&error))?;
            Ok(Self { shared })
        }

        /// Waits for a child's end. The console tells it of Ctrl-C.
        #[allow(clippy::unused_self, reason = "the same signature as on Unix, where signals are passed on")]
        pub(crate) fn attend(
            &self,
            child: &mut std::process::Child,
        ) -> Result<std::process::ExitStatus, Failure> {
            child
                .wait()
                .map_err(|error| Failure::new(SYSTEM, format!("cannot wait for the command: {error}")))
        }
    }

    /// A handler may do no more than set a flag, so somebody looks.
    const LOOK: Duration = Duration::from_millis(50);
}
