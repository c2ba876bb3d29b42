//! `wattspan eval` and `report` as a shell sees them.

#[path = "support/model.rs"]
mod model;
mod support;

use model::{Bench, FRANCE, NORWAY, NOWHERE, PERU, table};
use serde_json::{Value, json};
use support::{closed_pipe, finish, run, start, wattspan};

/// An address at which nobody listens: no system hands this port out.
const NOBODY: &str = "http://127.0.0.1:1";

#[test]
fn all_passed_is_0_and_the_five_files_are_there() {
    let bench = Bench::new(&[FRANCE, NORWAY]);
    let (ended, folder) = bench.finished();
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let told = ended.json();
    assert_eq!(
        (&told["run_id"], &told["status"], &told["made"]),
        (&json!("run-1"), &json!("completed"), &json!(2))
    );
    let row = &told["leaderboard"];
    assert_eq!((&row["successful_tests"], &row["total_tokens"]), (&json!(2), &json!(22)), "{row}");
    assert_eq!((&row["model"], &row["provider"]), (&json!("small.gguf"), &json!("llama-server")), "{row}");
    assert_eq!(row["inference_energy_j"], Value::Null, "nothing was measured: {row}");
    for name in ["results.json", "traces.json", "metrics.json", "leaderboard_row.json", "metadata.json"] {
        table(&folder, name);
    }
    assert!(folder.starts_with(bench.path("runs")));
}

#[cfg(target_os = "linux")]
#[test]
fn energy_of_cases_is_in_the_result_and_people_get_it_on_standard_error() {
    let bench = Bench::new(&[FRANCE, NORWAY]).measured();
    let ended = run(&mut bench.eval(&["--run-id", "run-1", "--country", "FR", "--interval", "20ms"]));
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(0), ""), "{}", ended.stderr);
    let first = ended.stderr.lines().find(|line| line.starts_with("wattspan: run-1")).unwrap();
    assert_eq!(first, "wattspan: run-1 completed: 2 of 2 passed (100.0 %)");
    let energy = ended.stderr.lines().find(|line| line.trim_start().starts_with("energy")).unwrap();
    assert!(
        energy.contains(" J") && energy.contains(" ± ") && energy.contains("per output token"),
        "{energy}"
    );
    assert!(!ended.stderr.contains('\u{1b}'), "no bar where there is no terminal: {:?}", ended.stderr);
}

#[test]
fn some_not_passed_is_1_and_they_are_named() {
    let bench = Bench::new(&[FRANCE, NOWHERE]);
    let ended = run(&mut bench.eval(&[]));
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(1), ""), "{}", ended.stderr);
    assert!(ended.stderr.contains("1 of 2 passed (50.0 %)"), "{}", ended.stderr);
    let named = ended.stderr.lines().find(|line| line.trim_start().starts_with("not passed")).unwrap();
    assert!(named.contains("nowhere") && !named.contains("france"), "{named}");
    let ended = run(&mut bench.eval(&["--tag", "easy", "--quiet"]));
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""));
}

#[test]
fn what_is_wrong_is_2_and_nothing_is_asked() {
    let bench = Bench::new(&[FRANCE]);
    for (wrong, words) in [
        (&["--provider", "transformers"][..], "GGUF"),
        (&["--provider", "llama-cpp", "--model", "x.gguf"], "llama-server"),
        (&["--agent-type", "code"], "tool"),
        (&["--agent-type", "tool"], "no case declares a tool"),
        (&["--tag", "hard"], "no case is left"),
        (&["--run-id", "a/b"], "--run-id"),
        (&["--output-format", "parquet"], "possible values"),
        (&["--repeats", "0"], "--repeats"),
        (&["--output-format", "opensearch", "--opensearch-url", "ftp://host"], "url"),
        (&["--hf-token-file", "/no/such/file", "--output-format", "hub"], "--hf-token-file"),
    ] {
        let ended = run(&mut bench.eval(wrong));
        assert_eq!((ended.code, ended.stdout.as_str()), (Some(2), ""), "{wrong:?}: {}", ended.stderr);
        assert!(ended.stderr.contains(words), "{wrong:?}: {}", ended.stderr);
    }
    assert_eq!(bench.asked(), 0);
    std::fs::write(bench.path("cases.jsonl"), "{\"id\":\"a\",\n").unwrap();
    let ended = run(&mut bench.eval(&[]));
    assert_eq!(ended.code, Some(2));
    assert!(ended.stderr.contains("cases.jsonl"), "{}", ended.stderr);
    let ended = run(&mut wattspan(&["eval", "--dataset-name", "someone/tasks"]));
    assert_eq!(ended.code, Some(2));
    assert!(ended.stderr.contains("name a file on this machine"), "{}", ended.stderr);
    let ended = run(wattspan(&["eval", "--provider", "openai", "--cases"]).arg(bench.path("cases.jsonl")));
    assert_eq!(ended.code, Some(2));
}

#[test]
fn a_model_that_does_not_answer_is_69() {
    let bench = Bench::new(&[FRANCE]);
    let cases = bench.path("cases.jsonl");
    let arguments =
        ["eval", "--no-gpu", "--base-url", NOBODY, "--cases", cases.to_str().unwrap(), "--output-dir"];
    let ended = run(wattspan(&arguments).arg(bench.path("runs")));
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(69), ""), "{}", ended.stderr);
    assert!(ended.stderr.contains("127.0.0.1:1"), "{}", ended.stderr);
}

#[test]
fn a_place_that_cannot_be_written_is_74() {
    let bench = Bench::new(&[FRANCE]);
    std::fs::write(bench.path("runs"), "a file").unwrap();
    let ended = run(&mut bench.eval(&[]));
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(74), ""), "{}", ended.stderr);
    assert_eq!(bench.asked(), 0);
}

#[cfg(unix)]
#[test]
fn ctrl_c_keeps_what_is_done_and_the_same_run_id_goes_on() {
    use std::os::unix::process::CommandExt as _;

    use rustix::process::{Pid, Signal, kill_process};

    let bench = Bench::new(&[FRANCE, PERU, NORWAY]);
    let child = start(bench.eval(&["--run-id", "run-1"]).process_group(0));
    // France is answered; Peru is thought about.
    while bench.asked() < 2 {
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    let ended = finish(child);
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(130), ""), "{}", ended.stderr);
    assert!(ended.stderr.contains("run-1 interrupted: 1 of 1 passed"), "{}", ended.stderr);
    assert!(ended.stderr.contains("the same command with --run-id run-1"), "{}", ended.stderr);

    bench.gate.open();
    let ended = run(&mut bench.eval(&["--run-id", "run-1", "--json"]));
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let told = ended.json();
    assert_eq!((&told["made_earlier"], &told["made"]), (&json!(1), &json!(2)));
    assert_eq!(told["leaderboard"]["successful_tests"], 3);
    let questions: Vec<String> =
        bench.server.requests().iter().map(wattspan_testkit::StubRequest::text).collect();
    assert_eq!(questions.iter().filter(|text| text.contains("France")).count(), 1, "{questions:?}");
    let results = table(told["folder"].as_str().unwrap().as_ref(), "results.json");
    let ids: Vec<&str> =
        results.as_array().unwrap().iter().map(|row| row["task_id"].as_str().unwrap()).collect();
    assert_eq!(ids.len(), 3, "{ids:?}");
}

#[test]
fn a_killed_run_goes_on_and_asks_nothing_twice() {
    let bench = Bench::new(&[FRANCE, PERU, NORWAY]);
    let mut child = start(&mut bench.eval(&["--run-id", "run-1"]));
    // France is answered and stored; Peru is thought about.
    while !journal(&bench).contains("france") || bench.asked() < 2 {
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    child.kill().unwrap();
    assert_ne!(finish(child).code, Some(0));

    bench.gate.open();
    let ended = run(&mut bench.eval(&["--run-id", "run-1", "--json"]));
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let told = ended.json();
    assert_eq!(told["leaderboard"]["successful_tests"], 3, "{told}");
    let results = table(told["folder"].as_str().unwrap().as_ref(), "results.json");
    let mut ids: Vec<&str> =
        results.as_array().unwrap().iter().map(|row| row["task_id"].as_str().unwrap()).collect();
    ids.sort_unstable();
    assert_eq!(ids, ["france", "norway", "peru"]);
    let twice = bench.server.requests().iter().filter(|request| request.text().contains("France")).count();
    // The trace comes after the result: a run that was killed between the two asks once more.
    assert!(twice == told["made"].as_u64().unwrap().saturating_sub(2) as usize + 1, "{twice}: {told}");
}

/// What a run has written so far.
fn journal(bench: &Bench) -> String {
    let runs = std::fs::read_dir(bench.path("runs")).into_iter().flatten().filter_map(Result::ok);
    runs.filter_map(|run| std::fs::read_to_string(run.path().join("journal.ndjson")).ok()).collect()
}

#[cfg(unix)]
#[test]
fn a_second_signal_ends_it_at_once() {
    use std::os::unix::process::CommandExt as _;

    use rustix::process::{Pid, Signal, kill_process};

    let bench = Bench::new(&[PERU]);
    let child = start(bench.eval(&[]).process_group(0));
    while bench.asked() < 1 {
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    for signal in [Signal::INT, Signal::TERM] {
        kill_process(Pid::from_child(&child), signal).unwrap();
    }
    assert_eq!(finish(child).code, Some(130));
}

#[cfg(unix)]
#[test]
fn a_server_that_says_nothing_can_be_left() {
    use std::os::unix::process::CommandExt as _;

    use rustix::process::{Pid, Signal, kill_process};

    let bench = Bench::new(&[FRANCE]);
    // It takes connections and never answers.
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", silent.local_addr().unwrap());
    let cases = bench.path("cases.jsonl");
    let mut command = wattspan(&["eval", "--no-gpu", "--base-url", &url, "--cases", cases.to_str().unwrap()]);
    let child = start(command.current_dir(bench.folder.path()).process_group(0));
    let connection = silent.accept().unwrap();
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    let ended = finish(child);
    drop(connection);
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(130), ""), "{}", ended.stderr);
    assert!(ended.stderr.contains("before the run began"), "{}", ended.stderr);
}

#[test]
fn reports_have_the_formats_and_the_names_that_are_asked_for() {
    let bench = Bench::new(&[FRANCE, NORWAY]);
    let (_, folder) = bench.finished();
    let folder = folder.to_str().unwrap();
    let page = run(&mut wattspan(&["report", folder]));
    assert_eq!(page.code, Some(0), "{}", page.stderr);
    assert!(page.stdout.starts_with("<!") && page.stdout.contains("run-1"), "{}", &page.stdout[..200]);
    let markdown = run(&mut wattspan(&["report", folder, "--format", "md", "--quiet"]));
    assert_eq!((markdown.code, markdown.stderr.as_str()), (Some(0), ""));
    assert!(markdown.stdout.contains("run-1") && markdown.stdout.contains('|'), "{}", markdown.stdout);
    for (name, begin) in [("r.html", "<!"), ("r.md", "#"), ("r.csv", "run,table,")] {
        let file = bench.path(name);
        let ended = run(wattspan(&["report", folder, "--output"]).arg(&file));
        assert_eq!((ended.code, ended.stdout.as_str()), (Some(0), ""), "{}", ended.stderr);
        let text = std::fs::read_to_string(&file).unwrap();
        assert!(text.starts_with(begin), "{name}: {}", &text[..text.len().min(100)]);
    }
    // Both runs of a folder of runs.
    run(&mut bench.eval(&["--run-id", "run-2"]));
    let both = run(wattspan(&["report", "--format", "csv"]).arg(bench.path("runs")));
    assert!(both.stdout.contains("run-1") && both.stdout.contains("run-2"), "{}", both.stderr);
}

#[test]
fn a_report_on_nothing_or_to_nowhere_says_why() {
    let bench = Bench::new(&[FRANCE]);
    let ended = run(wattspan(&["report"]).arg(bench.folder.path()));
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(2), ""));
    assert!(ended.stderr.contains("holds no run"), "{}", ended.stderr);
    let (_, folder) = bench.finished();
    let folder = folder.to_str().unwrap();
    let ended = run(&mut wattspan(&["report", folder, "--output", "/no/such/folder/report.html"]));
    assert_eq!(ended.code, Some(74));
    if cfg!(target_os = "linux") {
        let ended = run(&mut wattspan(&["report", folder, "--format", "html", "--output", "/dev/full"]));
        assert_eq!(ended.code, Some(74));
        assert!(ended.stderr.contains("free some space"), "{}", ended.stderr);
    }
}

#[test]
fn a_closed_pipe_is_no_error_and_no_panic() {
    let bench = Bench::new(&[FRANCE]);
    let (_, folder) = bench.finished();
    let folder = folder.to_str().unwrap();
    let mut commands = vec![
        wattspan(&["report", folder]),
        wattspan(&["report", folder, "--format", "csv"]),
        bench.eval(&["--json"]),
        wattspan(&["validate", "--help"]),
    ];
    for command in &mut commands {
        let ended = run(command.stdout(closed_pipe()));
        assert_eq!((ended.code, ended.stderr.contains("panicked")), (Some(0), false), "{command:?}");
    }
    let ended = run(bench.eval(&[]).stderr(closed_pipe()));
    assert_eq!(ended.code, Some(0));
}

#[cfg(target_os = "linux")]
#[test]
fn spans_go_to_a_receiver_only_with_enable_otel() {
    for (options, wanted) in [(&["--enable-otel"][..], true), (&[], false)] {
        let bench = Bench::new(&[FRANCE]);
        let server = support::Server::start(|_| String::new());
        let ended = run(bench.eval(options).env("OTEL_EXPORTER_OTLP_ENDPOINT", &server.url));
        assert_eq!(ended.code, Some(0), "{}", ended.stderr);
        assert_eq!(server.asked().iter().any(|request| request == "POST /v1/traces"), wanted, "{options:?}");
    }
}

#[test]
fn a_warm_up_is_asked_and_not_counted() {
    let bench = Bench::new(&[FRANCE]);
    let ended = run(&mut bench.eval(&["--warm-up", "2", "--json"]));
    assert_eq!((ended.code, bench.asked()), (Some(0), 3), "{}", ended.stderr);
    assert_eq!(ended.json()["leaderboard"]["total_tests"], 1);
}
