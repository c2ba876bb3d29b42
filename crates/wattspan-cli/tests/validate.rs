//! `wattspan validate` on sensors that are known, since the driver is ours.
#![cfg(target_os = "linux")]

mod support;

use std::fmt::Write as _;
use std::os::unix::process::CommandExt as _;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use support::{Gpus, finish, read_until, run, start, wattspan};

/// 100 W idle; both sensors refresh each 20 ms.
fn gpu() -> Gpus {
    Gpus::new(
        "gpus 1\ngpu all preset turing\ngpu all idle 100\ngpu all counter refresh 20000\n\
         gpu all sensor usage update 20000 window 20000\n",
    )
}

fn near(value: &Value, expected: f64, by: f64) -> bool {
    value.as_f64().is_some_and(|value| (value - expected).abs() <= by)
}

/// Adds 200 W or 400 W to the driver's first GPU, as the level says.
const LOAD: &str = r#"
number=0
while read level; do
    [ $number -gt 0 ] && echo "gpu 0 load end l$number" >> "$SCRIPT"
    number=$((number + 1))
    case $level in 0.000) watts=0 ;; 0.500) watts=200 ;; *) watts=400 ;; esac
    echo "gpu 0 load begin l$number $watts" >> "$SCRIPT"
done"#;

#[test]
fn a_load_shows_that_counter_and_power_agree() {
    let (gpus, folder) = (gpu(), tempfile::tempdir().unwrap());
    let file = folder.path().join("validation.json");
    let load = LOAD.replace("SCRIPT", wattspan_fake_nvml::ScriptFile::VARIABLE);
    let ended = run(&mut gpus.wattspan(&[
        "validate",
        "--load",
        &load,
        "--output",
        file.to_str().unwrap(),
        "--explore",
        "2s",
        "--plateau",
        "800ms",
        "--levels",
        "0,0.5,1",
        "--square",
        "400ms",
        "--periods",
        "200ms",
        "--settle",
        "400ms",
    ]));
    assert_eq!(ended.code, Some(0), "{}{}", ended.stdout, ended.stderr);
    assert!(ended.stderr.starts_with("wattspan: looking at nvidia for "), "{}", ended.stderr);
    assert!(ended.stdout.ends_with("\nself-consistent\n"), "{}", ended.stdout);
    let found: Value = serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
    let device = &found["devices"][0];
    let plateaus = device["plateaus"].as_array().unwrap();
    assert_eq!(plateaus.len(), 3);
    for (row, watts) in plateaus.iter().zip([100.0, 300.0, 500.0]) {
        assert!(near(&row["counter_watts"], watts, 0.02 * watts), "{row}");
        assert!(near(&row["power_watts"], watts, 0.02 * watts), "{row}");
    }
    assert_eq!((&found["verdict"], &found["meter"]), (&"self-consistent".into(), &Value::Null));
}

#[test]
fn without_a_load_little_is_found_and_a_meter_may_come_later() {
    let (gpus, folder) = (gpu(), tempfile::tempdir().unwrap());
    let short = ["--explore", "500ms", "--plateau", "500ms", "--settle", "100ms"];
    let ended = run(gpus.wattspan(&["validate", "--json"]).args(short));
    assert_eq!(ended.code, Some(0), "{}{}", ended.stdout, ended.stderr);
    let mut found = ended.json();
    assert!(ended.stderr.contains("idle devices only"), "{}", ended.stderr);
    assert_eq!(found["verdict"], "self-consistent");
    let skipped = found["skipped"].as_array().unwrap();
    assert!(skipped.iter().any(|text| text.as_str().unwrap().contains("no load was given")), "{found}");

    // As if it had taken two minutes under a load that goes up and down.
    let power = |second: u32| f64::from(100 + 40 * (second / 5 % 4));
    found["power_watts"] = (0..120).map(power).collect::<Vec<_>>().into();
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.into_os_string().into_string().unwrap()
    };
    let file = write("validation.json", &found.to_string());
    let begun = found["start_unix_seconds"].as_f64().unwrap();
    // A supply that loses a tenth beside 30 W of the rest; and one that drifts away.
    let meter = |drift: f64| {
        let mut csv = String::from("unix_seconds,watts\n");
        for second in 0..125_u32 {
            let watts = power(second.min(119)) * 1.1 + 30.0 + drift * f64::from(second);
            // Writing to a string does not fail.
            let _ = writeln!(csv, "{:.3},{watts:.1}", begun + f64::from(second));
        }
        csv
    };
    for (csv, code, verdict) in [(meter(0.0), 0, "validated"), (meter(3.0), 1, "refuted")] {
        let meter = write("meter.csv", &csv);
        let ended = run(&mut wattspan(&["validate", "--from", &file, "--meter", &meter]));
        assert_eq!(ended.code, Some(code), "{}", ended.stderr);
        assert!(ended.stdout.ends_with(&format!("\n{verdict}\n")), "{}", ended.stdout);
    }
    let short = write("short.csv", "1,2\n2,3\n");
    let ended = run(&mut wattspan(&["validate", "--from", &file, "--meter", &short]));
    assert_eq!(ended.code, Some(2));
    assert!(ended.stderr.contains("the meter's recording cannot be used"), "{}", ended.stderr);
    let ended = run(&mut wattspan(&["validate", "--from", &short]));
    assert_eq!(ended.code, Some(2));
    assert!(ended.stderr.contains("give a file that --output has written"), "{}", ended.stderr);
}

#[test]
fn sensors_that_disagree_are_1() {
    let gpus = Gpus::new(
        "gpus 1\ngpu all preset turing\ngpu all idle 100\ngpu all counter refresh 20000\n\
         gpu all sensor usage update 20000 window 20000\ngpu all counter gain 1.3\n",
    );
    let short = ["--explore", "500ms", "--plateau", "500ms", "--settle", "100ms", "--quiet"];
    let ended = run(gpus.wattspan(&["validate", "--json"]).args(short));
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(1), ""), "{}", ended.stdout);
    assert_eq!(ended.json()["verdict"], json!("inconsistent"));
}

#[test]
fn nothing_to_validate_is_69_and_says_what_was_looked_at() {
    let ended = run(wattspan(&["validate", "--no-gpu"]).env("WATTSPAN_HOST", "off"));
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(69), ""));
    assert!(ended.stderr.contains("no device has a sensor"), "{}", ended.stderr);
    assert!(ended.stderr.contains("nvidia: off by gpu.enabled"), "{}", ended.stderr);
    let ended = run(&mut gpu().wattspan(&["validate", "--collector", "apple"]));
    assert_eq!(ended.code, Some(69));
    assert!(ended.stderr.contains("apple has no devices"), "{}", ended.stderr);
}

#[test]
fn a_signal_ends_it_at_once_and_its_load_too() {
    let gpus = gpu();
    let mut command = gpus.wattspan(&["validate", "--load", "echo on >&2; cat > /dev/null; echo off >&2"]);
    let mut child = start(command.process_group(0));
    read_until(child.stderr.as_mut().unwrap(), "on\n");
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    let ended = finish(child);
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(130), ""), "{}", ended.stderr);
    assert!(ended.stderr.contains("off\n") && ended.stderr.contains("ended by a signal"), "{}", ended.stderr);
}

#[test]
fn what_is_wrong_is_told_before_minutes_are_spent() {
    for wrong in [
        &["--meter", "/no/such/file"][..],
        &["--levels", "0,2"],
        &["--settle", "soon"],
        &["--from", "/no/such/file"],
    ] {
        let ended = run(wattspan(&["validate"]).args(wrong));
        assert_eq!((ended.code, ended.stdout.as_str()), (Some(2), ""), "{wrong:?}: {}", ended.stderr);
    }
    let ended = run(&mut wattspan(&["validate", "--output", "/no/such/folder/file"]));
    assert_eq!(ended.code, Some(74));
}
