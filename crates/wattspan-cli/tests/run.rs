//! `wattspan run` as a shell sees it.

mod support;

use std::io::Write as _;
use std::process::Stdio;

use serde_json::Value;
use support::{Gpus, Server, closed_pipe, finish, get, lines, read_until, run, start, wattspan};

fn near(value: &Value, expected: f64, by: f64) -> bool {
    value.as_f64().is_some_and(|value| (value - expected).abs() <= by)
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is a number"))
}

#[test]
fn a_command_is_measured_from_its_start_to_its_end() {
    let ended = run(&mut wattspan(&["run", "--no-gpu", "--json", "--", "sleep", "0.2"]));
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let result = ended.json();
    assert_eq!(result["type"], "result");
    assert_eq!((&result["command"], &result["exit_code"]), (&Value::from("sleep"), &Value::from(0)));
    assert!(number(&result["duration_seconds"]) >= 0.2, "{result}");
}

#[test]
fn streams_arguments_and_code_of_the_command_pass_through() {
    let script = "cat; echo \"$1\" >&2; exit 7";
    let mut command = wattspan(&["run", "--no-gpu", "--quiet", "--", "sh", "-c", script, "sh", "--json two"]);
    let mut child = start(command.stdin(Stdio::piped()));
    child.stdin.take().unwrap().write_all(b"from standard input\n").unwrap();
    let ended = finish(child);
    assert_eq!(ended.code, Some(7));
    assert_eq!((ended.stdout.as_str(), ended.stderr.as_str()), ("from standard input\n", "--json two\n"));
}

#[test]
fn people_get_the_result_on_standard_error() {
    let ended = run(&mut wattspan(&["run", "--no-gpu", "--country", "FR", "--", "echo", "hello"]));
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(0), "hello\n"));
    assert!(ended.stderr.starts_with("wattspan: echo ended with 0 after "), "{}", ended.stderr);
    assert!(ended.stderr.contains("in FR (explicit)"), "{}", ended.stderr);
}

#[test]
fn a_missing_command_is_127() {
    let ended = run(&mut wattspan(&["run", "--no-gpu", "--", "no-such-command"]));
    assert_eq!(ended.code, Some(127));
    assert!(ended.stderr.contains("no-such-command: command not found"), "{}", ended.stderr);
}

#[test]
fn a_command_that_was_not_started_leaves_files_as_they_were() {
    let folder = tempfile::tempdir().unwrap();
    let [old, new] = ["old", "new"].map(|name| folder.path().join(name));
    std::fs::write(&old, "kept").unwrap();
    for file in [&old, &new] {
        let arguments = ["run", "--no-gpu", "--output", file.to_str().unwrap(), "--", "no-such-command"];
        assert_eq!(run(&mut wattspan(&arguments)).code, Some(127));
    }
    assert_eq!((std::fs::read_to_string(&old).unwrap().as_str(), new.exists()), ("kept", false));
}

#[cfg(unix)]
#[test]
fn a_command_that_cannot_be_executed_is_126() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let ended = run(&mut wattspan(&["run", "--no-gpu", "--", file.path().to_str().unwrap()]));
    assert_eq!(ended.code, Some(126));
    assert!(ended.stderr.contains("make it executable"), "{}", ended.stderr);
}

#[cfg(unix)]
#[test]
fn a_signal_that_ends_the_command_is_128_and_its_number() {
    let ended = run(&mut wattspan(&["run", "--no-gpu", "--json", "--", "sh", "-c", "kill -TERM $$"]));
    assert_eq!(ended.code, Some(128 + 15));
    assert_eq!(ended.json()["signal"], 15);
}

#[test]
fn a_wrong_option_or_setting_is_2_and_nothing_is_started() {
    for wrong in [
        &["run", "--no-such-option"][..],
        &["run", "--set", "puh=1.2", "--", "echo", "started"],
        &["run", "--set", "pue=0.5", "--", "echo", "started"],
        &["run", "--interval", "0s", "--", "echo", "started"],
        &["run", "--country", "Atlantis", "--", "echo", "started"],
        &["run", "--config", "/no/such/file", "--", "echo", "started"],
        &["run", "--exporter", "otlp", "--", "echo", "started"],
    ] {
        let ended = run(&mut wattspan(wrong));
        assert_eq!((ended.code, ended.stdout.as_str()), (Some(2), ""), "{wrong:?}: {}", ended.stderr);
        assert!(!ended.stderr.is_empty(), "{wrong:?}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_told_and_is_74_unless_the_command_failed() {
    let ended = run(&mut wattspan(&["run", "--no-gpu", "--output", "/dev/full", "--", "true"]));
    assert_eq!(ended.code, Some(74));
    assert!(ended.stderr.contains("cannot write /dev/full: No space left"), "{}", ended.stderr);
    assert!(ended.stderr.contains("true ended with 0"), "the result is told: {}", ended.stderr);
    for options in [&["--exporter", "json"][..], &["--json"]] {
        let mut arguments = vec!["run", "--no-gpu", "--output", "/dev/full"];
        arguments.extend(options);
        arguments.extend(["--", "sh", "-c", "exit 3"]);
        let ended = run(&mut wattspan(&arguments));
        assert_eq!(ended.code, Some(3));
        assert!(ended.stderr.contains("cannot write /dev/full"), "{}", ended.stderr);
    }
    let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
    let ended = run(wattspan(&["run", "--no-gpu", "--json", "--", "true"]).stdout(full));
    assert_eq!(ended.code, Some(74));
    assert!(ended.stderr.contains("cannot write standard output"), "{}", ended.stderr);
}

#[cfg(unix)]
#[test]
fn no_write_permission_is_told_before_anything_is_started() {
    use std::os::unix::fs::PermissionsExt;
    use std::os::unix::process::CommandExt as _;

    let folder = tempfile::tempdir().unwrap();
    let (program, file) = (folder.path().join("wattspan"), folder.path().join("result.json"));
    std::fs::write(&file, "kept").unwrap();
    std::fs::set_permissions(&file, PermissionsExt::from_mode(0o444)).unwrap();
    let mut command;
    if std::fs::File::options().append(true).open(&file).is_ok() {
        // Root may write everything: the program runs as somebody else, from a place that anybody may read.
        std::fs::copy(env!("CARGO_BIN_EXE_wattspan"), &program).unwrap();
        std::fs::set_permissions(&program, PermissionsExt::from_mode(0o755)).unwrap();
        std::fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o755)).unwrap();
        command = std::process::Command::new(&program);
        command.uid(65_534).gid(65_534).env_clear().env("PATH", std::env::var_os("PATH").unwrap());
        command.current_dir("/");
    } else {
        command = wattspan(&[]);
    }
    command.args(["run", "--no-gpu", "--output"]).arg(&file).args(["--", "echo", "started"]);
    let ended = run(&mut command);
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(74), ""), "{}", ended.stderr);
    assert!(ended.stderr.contains("Permission denied") && ended.stderr.contains("grant write access"));
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "kept");
}

#[test]
fn a_file_in_no_folder_is_told_before_anything_is_started() {
    let arguments = ["run", "--no-gpu", "--output", "/no/such/folder/file", "--", "echo", "started"];
    let ended = run(&mut wattspan(&arguments));
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(74), ""));
    assert!(ended.stderr.contains("make its folder first"), "{}", ended.stderr);
}

#[test]
fn a_longer_file_is_replaced_as_a_whole() {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), "x".repeat(100_000)).unwrap();
    let path = file.path().to_str().unwrap();
    assert_eq!(run(&mut wattspan(&["run", "--no-gpu", "-q", "-o", path, "--", "true"])).code, Some(0));
    let result: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    assert_eq!(result["type"], "result");
}

#[test]
fn a_closed_pipe_is_no_error_and_no_panic() {
    for arguments in [
        &["run", "--no-gpu", "--json", "--", "true"][..],
        &["run", "--no-gpu", "--exporter", "json", "--", "true"],
        &["devices", "--no-gpu"],
        &["devices", "--no-gpu", "--json"],
        &["watch", "--no-gpu", "--interval", "10ms"],
        &["licences"],
        &["completions", "zsh"],
        &["--help"],
        &["--version"],
    ] {
        let ended = run(wattspan(arguments).stdout(closed_pipe()));
        assert_eq!((ended.code, ended.stderr.contains("panicked")), (Some(0), false), "{arguments:?}");
    }
    let ended = run(wattspan(&["run", "--no-gpu", "--exporter", "console", "--", "sh", "-c", "exit 5"])
        .stderr(closed_pipe()));
    assert_eq!(ended.code, Some(5));
}

#[cfg(target_os = "linux")]
#[test]
fn two_gpus_of_300_watts_give_600_joules_a_second_and_every_part_adds_up() {
    let gpus = Gpus::steady();
    let ended = run(&mut gpus.wattspan(&[
        "run",
        "--exporter",
        "json",
        "--interval",
        "100ms",
        "--country",
        "FR",
        "--set",
        "carbon.intensity=475",
        "--set",
        "cost.electricity_price=0.12",
        "--set",
        "pue=1.2",
        "--",
        "sleep",
        "1",
    ]));
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let lines = ended.lines();
    let (result, samples) = lines.split_last().unwrap();
    let seconds = number(&result["duration_seconds"]);
    let devices = result["report"]["devices"].as_array().unwrap();
    assert_eq!(devices.len(), 2);
    let mut sum = 0.0;
    for device in devices {
        let bound = number(&device["energy_bound_joules"]);
        assert!(near(&device["energy_joules"], 300.0 * seconds, bound), "{seconds} s: {device}");
        assert_eq!(device["method"], "counter");
        let states = device["energy_by_state"].as_object().unwrap();
        let parts: f64 = states.values().map(number).sum();
        assert!(near(&device["energy_joules"], parts, 1e-9), "{device}");
        sum += parts;
    }
    let joules = number(&result["energy_joules"]);
    assert!((joules - sum).abs() < 1e-9);
    assert!(near(&result["emissions_grams"], joules / 3.6e6 * 475.0 * 1.2, 1e-6 * joules), "{result}");
    assert!(near(&result["cost_usd"], joules / 3.6e6 * 0.12 * 1.2, 1e-6 * joules), "{result}");
    assert!(near(&result["average_power_watts"], joules / seconds, 1e-3 * joules), "{result}");
    assert!(near(&result["peak_power_watts"], 600.0, 1.0), "{result}");
    assert_eq!((&result["place"]["country"], &result["place"]["basis"]), (&"FR".into(), &"explicit".into()));
    assert!(near(&result["intensity"]["grams_per_kwh"], 475.0, 1e-6) && near(&result["pue"], 1.2, 0.0));
    assert!(samples.iter().all(|line| line["type"] == "sample" && near(&line["power_watts"], 300.0, 1e-9)));
    for device in devices {
        let of_device = samples.iter().filter(|line| line["device"] == device["id"]);
        let told: f64 = of_device.filter_map(|line| line["energy_joules"].as_f64()).sum();
        // The lines tell of what the sensor closed, up to a second after the end; the window cuts at its edges.
        let bound = number(&device["energy_bound_joules"]);
        assert!(told + bound >= number(&device["energy_joules"]), "{told} J in lines, {device}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn case_cli_02_two_at_once_both_measure_the_whole_machine() {
    let gpus = Gpus::steady();
    let folder = tempfile::tempdir().unwrap();
    // Each command goes on only when the other has begun, so that the two have run side by side.
    let script = "touch \"$1\"; while ! [ -e \"$2\" ]; do sleep 0.02; done; sleep 0.5";
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let begin = |own: &str, other: &str| {
        let (file, own, other) = (path(&format!("{own}.json")), path(own), path(other));
        let arguments =
            ["run", "-q", "--output", &file, "--", "sh", "-c", script, "sh", own.as_str(), other.as_str()];
        start(&mut gpus.wattspan(&arguments))
    };
    let both = [begin("a", "b"), begin("b", "a")];
    for ended in both.map(finish) {
        assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    }
    for name in ["a.json", "b.json"] {
        let result: Value = serde_json::from_str(&std::fs::read_to_string(path(name)).unwrap()).unwrap();
        let devices = result["report"]["devices"].as_array().unwrap();
        assert_eq!(devices.len(), 2, "{name}");
        for device in devices {
            let expected = 300.0 * number(&result["duration_seconds"]);
            assert!(
                near(&device["energy_joules"], expected, number(&device["energy_bound_joules"])),
                "{device}"
            );
        }
    }
}

#[cfg(target_os = "linux")]
#[test]
fn lines_in_a_file_end_with_the_result() {
    let gpus = Gpus::steady();
    let file = tempfile::NamedTempFile::new().unwrap();
    let path = file.path().to_str().unwrap();
    let ended =
        run(&mut gpus.wattspan(&["run", "-q", "--exporter", "json", "-o", path, "--", "sleep", "0.1"]));
    assert_eq!((ended.code, ended.stdout.as_str(), ended.stderr.as_str()), (Some(0), "", ""));
    let lines = lines(&std::fs::read_to_string(path).unwrap());
    assert_eq!(lines.last().unwrap()["type"], "result");
    let others = &lines[..lines.len() - 1];
    assert!(others.len() >= 2 && others.iter().all(|line| line["type"] == "sample"));
}

#[test]
fn estimates_stand_apart_and_can_be_switched_off() {
    let with = run(&mut wattspan(&["run", "--no-gpu", "--json", "--estimate", "off", "--", "true"]));
    assert_eq!(with.json()["estimate"], Value::Null);
}

#[cfg(target_os = "linux")]
#[test]
fn a_receiver_gets_metrics_only_where_it_is_wanted() {
    let gpus = Gpus::steady();
    for (exporters, wanted) in [
        (&[][..], true),
        (&["--exporter", "otlp"], true),
        (&["--exporter", "json", "--exporter", "otlp"], true),
        (&["--exporter", "console"], false),
    ] {
        let server = Server::start(|_| String::new());
        let mut arguments = vec!["run", "-q"];
        arguments.extend(exporters);
        arguments.extend(["--", "sleep", "0.1"]);
        let ended = run(gpus.wattspan(&arguments).env("OTEL_EXPORTER_OTLP_ENDPOINT", &server.url));
        assert_eq!(ended.code, Some(0), "{}", ended.stderr);
        let asked = server.asked();
        assert_eq!(
            asked.iter().any(|request| request == "POST /v1/metrics"),
            wanted,
            "{exporters:?}: {asked:?}"
        );
        assert!(wanted || asked.is_empty(), "{asked:?}");
    }
}

#[test]
fn an_interval_of_the_settings_holds_unless_one_is_given() {
    // Both are checked: the option by itself, the setting by what reads it.
    let ended = run(&mut wattspan(&["run", "--set", "sampling.idle=never", "--", "true"]));
    assert_eq!(ended.code, Some(2));
    assert!(ended.stderr.contains("sampling.idle"), "{}", ended.stderr);
    let ended = run(&mut wattspan(&["run", "--no-gpu", "-q", "--set", "sampling.idle=50ms", "--", "true"]));
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
}

#[cfg(target_os = "linux")]
#[test]
fn scrapes_are_answered_while_it_runs_and_not_after() {
    let gpus = Gpus::steady();
    let mut command =
        gpus.wattspan(&["run", "--prometheus-listen", "127.0.0.1:0", "--interval", "50ms", "--", "cat"]);
    let mut child = start(command.stdin(Stdio::piped()));
    let told = read_until(child.stderr.as_mut().unwrap(), "/metrics\n");
    let address = told.trim().trim_start_matches("wattspan: metrics at http://").trim_end_matches("/metrics");
    let powers = loop {
        let page = get(address, "/metrics");
        let powers: Vec<f64> = page
            .lines()
            .filter(|line| line.starts_with("hw_power_watts{"))
            .map(|line| line.rsplit(' ').next().unwrap().parse().unwrap())
            .collect();
        // The second scrape may come before the second poll; energy needs two of them.
        if page.contains("\nwattspan_device_energy_joules_total{") {
            break powers;
        }
    };
    assert_eq!(powers, [300.0, 300.0]);
    let doctor = run(wattspan(&["doctor", "--no-gpu", "--json"])
        .env("WATTSPAN_HOST", "off")
        .env("WATTSPAN_PROMETHEUS_LISTEN", address));
    assert_eq!(doctor.code, Some(0), "{}", doctor.stdout);
    assert!(doctor.stdout.contains("answers scrapes"), "{}", doctor.stdout);
    drop(child.stdin.take());
    let ended = finish(child);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert!(std::net::TcpStream::connect(address).is_err());
}

#[test]
fn an_address_that_is_taken_is_told_before_anything_is_started() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    for arguments in [
        &["--prometheus-listen", &address][..],
        &["--exporter", "prometheus", "--set", &format!("prometheus.listen={address}")],
    ] {
        let ended = run(wattspan(&["run", "--no-gpu"]).args(arguments).args(["--", "echo", "started"]));
        assert_eq!((ended.code, ended.stdout.as_str()), (Some(2), ""), "{arguments:?}");
        assert!(ended.stderr.contains(&address), "{}", ended.stderr);
    }
    // What is not named is left alone.
    let listen = format!("prometheus.listen={address}");
    let ended = run(&mut wattspan(&[
        "run",
        "--no-gpu",
        "-q",
        "--exporter",
        "console",
        "--set",
        &listen,
        "--",
        "true",
    ]));
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
}
