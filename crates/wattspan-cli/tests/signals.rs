//! Ctrl-C and SIGTERM: what is measured ends, and the result is told.
#![cfg(unix)]

mod support;

use std::os::unix::process::CommandExt as _;
use std::process::Child;

use rustix::process::{Pid, Signal, kill_process};
use support::{finish, read_until, start, wattspan};

/// Starts the program in a process group of its own: no terminal's foreground, whoever runs the tests.
fn begin(arguments: &[&str]) -> Child {
    start(wattspan(arguments).process_group(0))
}

fn signal(child: &Child, signal: Signal) {
    kill_process(Pid::from_child(child), signal).expect("it runs");
}

#[test]
fn a_signal_ends_a_measurement_without_a_command() {
    for ending in [Signal::INT, Signal::TERM, Signal::HUP] {
        let mut child = begin(&["run", "--no-gpu", "--json"]);
        read_until(child.stderr.as_mut().unwrap(), "measuring until Ctrl-C\n");
        signal(&child, ending);
        let ended = finish(child);
        assert_eq!(ended.code, Some(0), "{ending:?}: {}", ended.stderr);
        let result = ended.json();
        assert_eq!((&result["type"], &result["command"]), (&"result".into(), &serde_json::Value::Null));
    }
}

#[test]
fn a_command_gets_the_signal_and_its_own_code_passes() {
    for (ending, name) in [(Signal::INT, "INT"), (Signal::TERM, "TERM")] {
        let script = format!("trap 'echo caught; exit 9' {name}; echo ready; while :; do sleep 0.02; done");
        let mut child = begin(&["run", "--no-gpu", "--", "sh", "-c", &script]);
        read_until(child.stdout.as_mut().unwrap(), "ready\n");
        signal(&child, ending);
        let ended = finish(child);
        assert_eq!((ended.code, ended.stdout.as_str()), (Some(9), "caught\n"), "{name}: {}", ended.stderr);
        assert!(ended.stderr.contains("sh ended with 9 after"), "{}", ended.stderr);
    }
}

#[test]
fn a_command_that_dies_of_it_is_128_and_the_number_and_the_result_is_told() {
    for (ending, number) in [(Signal::INT, 2), (Signal::TERM, 15), (Signal::HUP, 1)] {
        let mut child = begin(&["run", "--no-gpu", "--", "sh", "-c", "echo ready; exec sleep 1000"]);
        read_until(child.stdout.as_mut().unwrap(), "ready\n");
        signal(&child, ending);
        let ended = finish(child);
        assert_eq!(ended.code, Some(128 + number), "{}", ended.stderr);
        assert!(ended.stderr.contains(&format!("ended by signal {number}")), "{}", ended.stderr);
    }
}

#[test]
fn a_signal_ends_watch() {
    let mut child = begin(&["watch", "--no-gpu", "--interval", "20ms"]);
    read_until(child.stdout.as_mut().unwrap(), "\n");
    signal(&child, Signal::INT);
    assert_eq!(finish(child).code, Some(0));
}
