//! `wattspan push`, and what `doctor` says of both ends.

#[path = "support/model.rs"]
mod model;
mod support;

use model::{Bench, FRANCE, NORWAY};
use serde_json::json;
use support::{get, run, wattspan};
use wattspan_testkit::hub_stub::HubStub;

const NOBODY: &str = "http://127.0.0.1:1";
const TOKEN: &str = "hf_EXAMPLE0123456789";

/// A Hub that knows one user.
fn hub() -> HubStub {
    let hub = HubStub::start();
    hub.add_token(TOKEN, "ada", "write");
    hub
}

#[test]
fn a_run_goes_to_the_hub_and_again_changes_nothing() {
    let (bench, hub) = (Bench::new(&[FRANCE, NORWAY]), hub());
    let (_, folder) = bench.finished();
    let token = bench.path("token");
    std::fs::write(&token, format!("{TOKEN}\n")).unwrap();
    let push = || {
        let mut command = wattspan(&["push", "--to", "hub", "--json", "--hub-endpoint", &hub.url()]);
        run(command.arg("--hf-token-file").arg(&token).arg(&folder).env("HOME", bench.folder.path()))
    };
    let ended = push();
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let places = &ended.json()["pushed"][0]["places"];
    let board = "ada/wattspan-leaderboard";
    assert!(places["leaderboard"].as_str().unwrap().ends_with(board), "{places}");
    assert_eq!(hub.repos().len(), 4);
    assert!(hub.repos().iter().all(|id| hub.repo(id).unwrap().private), "private unless --public");
    let before = hub.repo(board).unwrap().files;
    assert_eq!(push().code, Some(0));
    assert!(hub.repo(board).unwrap().files == before);
    assert!(!ended.stdout.contains("EXAMPLE") && !ended.stderr.contains("EXAMPLE"));
}

#[test]
fn an_evaluation_that_cannot_be_pushed_keeps_its_files_and_says_how_to_push_them() {
    let bench = Bench::new(&[FRANCE]);
    for (options, to) in [
        (&["--output-format", "hub", "--hub-endpoint", NOBODY, "--hf-token", TOKEN][..], "hub"),
        (&["--output-format", "opensearch", "--opensearch-url", NOBODY], "opensearch"),
    ] {
        let run_id = format!("to-{to}");
        let ended = run(bench.eval(options).args(["--json", "--push-patience", "10ms", "--run-id", &run_id]));
        assert_eq!(ended.code, Some(75), "{}", ended.stderr);
        let told = ended.json();
        let folder = told["folder"].as_str().unwrap();
        let again = format!("wattspan push {folder} --to {to}");
        assert!(ended.stderr.contains(&again), "{}", ended.stderr);
        assert_eq!(told["pushed"]["again"], json!(again));
        assert!(std::path::Path::new(folder).join("leaderboard_row.json").exists());
        assert!(!ended.stdout.contains("EXAMPLE") && !ended.stderr.contains("EXAMPLE"));
    }
}

#[test]
fn a_dry_run_writes_what_would_go_up_and_asks_nobody() {
    let bench = Bench::new(&[FRANCE]);
    let (_, folder) = bench.finished();
    let out = bench.path("out");
    let mut command =
        wattspan(&["push", "--to", "hub", "--hub-namespace", "ada", "--hub-endpoint", NOBODY, "--dry-run"]);
    let ended = run(command.arg(&out).arg(&folder).env("HOME", bench.folder.path()));
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert!(
        ended.stdout.lines().count() >= 4
            && ended.stdout.lines().all(|file| std::path::Path::new(file).exists())
    );
    let mut command = wattspan(&["push", "--to", "opensearch", "--dry-run"]);
    assert_eq!(run(command.arg(&out).arg(&folder)).code, Some(2));
}

#[test]
fn what_cannot_be_pushed_is_told() {
    let bench = Bench::new(&[FRANCE]);
    for to in ["hub", "opensearch"] {
        let mut command = wattspan(&[
            "push",
            "--to",
            to,
            "--push-patience",
            "10ms",
            "--hub-endpoint",
            NOBODY,
            "--opensearch-url",
            NOBODY,
        ]);
        let ended = run(command.arg(bench.folder.path()).env("HF_TOKEN", TOKEN));
        assert!(matches!(ended.code, Some(2 | 75)), "{to}: {:?} {}", ended.code, ended.stderr);
        assert!(!ended.stderr.is_empty() && !ended.stderr.contains("EXAMPLE"), "{}", ended.stderr);
    }
    let ended = run(&mut wattspan(&["push", "--to", "elsewhere", "folder"]));
    assert_eq!(ended.code, Some(2));
}

#[test]
fn doctor_looks_at_both_ends_without_writing() {
    let hub = hub();
    let doctor = |endpoint: &str, token: &str, to: &str| {
        let mut command = wattspan(&["doctor", "--no-gpu", "--json", "--to", to, "--hub-endpoint", endpoint]);
        command.args(["--opensearch-url", NOBODY, "--push-patience", "10ms"]);
        command.env("WATTSPAN_HOST", "off").env("HF_TOKEN", token);
        run(&mut command)
    };
    let ended = doctor(&hub.url(), TOKEN, "hub");
    assert_eq!(ended.code, Some(0), "{}", ended.stdout);
    assert!(ended.stdout.contains("Hub, token") && ended.stdout.contains("ada"), "{}", ended.stdout);
    assert!(hub.repos().is_empty() && hub.requests().iter().all(|request| request.method == "GET"));
    for (endpoint, token, to) in [
        (hub.url().as_str(), "hf_EXAMPLE_wrong", "hub"),
        (NOBODY, TOKEN, "hub"),
        (NOBODY, TOKEN, "opensearch"),
    ] {
        let ended = doctor(endpoint, token, to);
        assert_eq!(ended.code, Some(1), "{}", ended.stdout);
        assert!(ended.stdout.contains("problem") && !ended.stdout.contains("EXAMPLE"), "{}", ended.stdout);
    }
}

/// The stand-in for a cluster, while a test runs.
struct Osmem {
    child: std::process::Child,
    url: String,
}

impl Osmem {
    fn start() -> Self {
        let mut command = std::process::Command::new(wattspan_testkit::peers::osmem());
        let this = std::process::id().to_string();
        command.args(["-addr", "127.0.0.1:0", "-no-ja", "-no-stdin-watch", "-parent-pid", &this]);
        let mut child = command.stdout(std::process::Stdio::piped()).spawn().unwrap();
        let ready = support::read_until(child.stdout.as_mut().unwrap(), "\n");
        let url =
            serde_json::from_str::<serde_json::Value>(&ready).unwrap()["url"].as_str().unwrap().to_owned();
        Self { child, url }
    }

    /// Documents of an index.
    fn count(&self, index: &str) -> u64 {
        let page = get(self.url.trim_start_matches("http://"), &format!("/{index}/_count"));
        let body = page.split("\r\n\r\n").last().unwrap();
        serde_json::from_str::<serde_json::Value>(body).unwrap()["count"].as_u64().unwrap()
    }
}

impl Drop for Osmem {
    fn drop(&mut self) {
        // Where it has ended already there is nothing to end.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_run_goes_to_opensearch_and_again_changes_nothing() {
    let (bench, server) = (Bench::new(&[FRANCE, NORWAY]), Osmem::start());
    let ended = run(bench
        .eval(&["--output-format", "opensearch", "--opensearch-url", &server.url, "--json"])
        .args(["--opensearch-index-prefix", "mine", "--run-id", "run-1"]));
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let told = ended.json();
    let indexes = &told["pushed"]["places"];
    let counts =
        || ["results", "traces", "leaderboard"].map(|table| server.count(indexes[table].as_str().unwrap()));
    assert_eq!(counts(), [2, 2, 1], "{indexes}");
    let push =
        ["push", "--to", "opensearch", "--opensearch-index-prefix", "mine", "--opensearch-url", &server.url];
    let ended = run(wattspan(&push).arg(told["folder"].as_str().unwrap()));
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(0), ""), "{}", ended.stderr);
    assert!(ended.stderr.contains(indexes["results"].as_str().unwrap()), "{}", ended.stderr);
    assert_eq!(counts(), [2, 2, 1]);
    let doctor = ["doctor", "--no-gpu", "--to", "opensearch", "--opensearch-index-prefix", "mine"];
    let ended = run(wattspan(&doctor).args(["--opensearch-url", &server.url]).env("WATTSPAN_HOST", "off"));
    assert_eq!(ended.code, Some(0), "{}", ended.stdout);
    assert!(ended.stdout.contains("OpenSearch") && ended.stdout.contains(&server.url), "{}", ended.stdout);
}
