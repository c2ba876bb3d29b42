//! `wattspan watch` and the bar of `eval` in a terminal.
#![cfg(target_os = "linux")]

#[path = "support/model.rs"]
mod model;
#[path = "support/pty.rs"]
mod pty;
mod support;

use std::io::Write as _;

use model::{Bench, FRANCE, PERU};
use pty::{CURSOR, ENTERED, LEFT, Pty};
use rustix::process::{Pid, Signal, kill_process};
use support::{Gpus, read_until};

#[test]
fn keys_end_it_and_leave_the_terminal_as_it_was() {
    for key in ["q", "\x1b", "\x03"] {
        let (gpus, mut pty) = (Gpus::steady(), Pty::new(100, 30));
        let mut child = pty.start(&mut gpus.wattspan(&["watch", "--interval", "50ms"]));
        read_until(&mut pty.person, ENTERED);
        read_until(&mut pty.person, "gpu1");
        assert!(!pty.is_sane(), "keys come one by one");
        pty.person.write_all(key.as_bytes()).unwrap();
        read_until(&mut pty.person, LEFT);
        read_until(&mut pty.person, CURSOR);
        assert_eq!(child.wait().unwrap().code(), Some(0), "{key:?}");
        assert!(pty.is_sane());
    }
}

#[test]
fn a_signal_ends_it_and_leaves_the_terminal_as_it_was() {
    for signal in [Signal::TERM, Signal::INT, Signal::HUP] {
        let (gpus, mut pty) = (Gpus::steady(), Pty::new(100, 30));
        let mut child = pty.start(&mut gpus.wattspan(&["watch", "--interval", "50ms"]));
        read_until(&mut pty.person, "gpu1");
        kill_process(Pid::from_child(&child), signal).unwrap();
        read_until(&mut pty.person, LEFT);
        read_until(&mut pty.person, CURSOR);
        assert_eq!(child.wait().unwrap().code(), Some(0), "{signal:?}");
        assert!(pty.is_sane());
    }
}

#[test]
fn a_new_size_is_drawn_and_no_color_is_honoured() {
    let (gpus, mut pty) = (Gpus::steady(), Pty::new(30, 10));
    let mut command = gpus.wattspan(&["watch", "--interval", "50ms"]);
    let mut child = pty.start(command.env("NO_COLOR", "1"));
    let mut seen = read_until(&mut pty.person, "gpu1");
    // Too narrow for it at first.
    assert!(!seen.contains("NVIDIA"), "{seen:?}");
    pty.resize(140, 30);
    kill_process(Pid::from_child(&child), Signal::WINCH).unwrap();
    seen += &read_until(&mut pty.person, "NVIDIA");
    // Green, as an index of the palette or by its short name.
    assert!(!seen.contains("\x1b[38;5;2m") && !seen.contains("\x1b[32m"), "{seen:?}");
    pty.person.write_all(b"q").unwrap();
    read_until(&mut pty.person, CURSOR);
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn lines_come_where_they_are_asked_for_or_nothing_can_be_drawn() {
    for (arguments, term) in [
        (&["--lines", "--count", "2"][..], "xterm"),
        (&["--count", "2"], "xterm"),
        (&["--count", "2"], "dumb"),
    ] {
        let (gpus, mut pty) = (Gpus::steady(), Pty::new(100, 30));
        let mut command = gpus.wattspan(&["watch", "--interval", "20ms"]);
        let mut child = pty.start(command.args(arguments).env("TERM", term));
        let seen = read_until(&mut pty.person, "gpu1 300 W");
        assert!(!seen.contains(ENTERED), "{arguments:?}: {seen:?}");
        assert_eq!(child.wait().unwrap().code(), Some(0));
    }
}

#[test]
fn an_evaluation_draws_a_bar_and_takes_it_away() {
    let (bench, mut pty) = (Bench::new(&[FRANCE, PERU]), Pty::new(100, 30));
    let mut child = pty.start(bench.eval(&["--run-id", "run-1"]).env("TERM", "xterm"));
    read_until(&mut pty.person, "1/2");
    bench.gate.open();
    // The line is cleared before the result is told. (CSI 2 K of ECMA-48, "erase in line".)
    let seen = read_until(&mut pty.person, "run-1 completed");
    assert!(seen.contains("\x1b[2K"), "{seen:?}");
    assert_eq!(child.wait().unwrap().code(), Some(0));
    let mut child = pty.start(bench.eval(&["--run-id", "run-2", "--quiet"]).env("TERM", "xterm"));
    assert_eq!(child.wait().unwrap().code(), Some(0));
}
