//! Writers that come at once.

use std::collections::BTreeSet;
use std::thread;

use wattspan_hub::HubError;
use wattspan_testkit::Answer;

use crate::support::*;

#[test]
fn twenty_runs_that_end_at_once_all_stand_in_the_leaderboard() {
    let (stub, options) = ada();
    let base = tempfile::tempdir().unwrap();
    let folders: Vec<_> =
        (0..20).map(|n| (format!("run-{n}"), run(base.path(), &format!("run-{n}"), 1))).collect();
    thread::scope(|scope| {
        for (id, folder) in &folders {
            let options = options.clone();
            // Runs of one second would fight for names as well: that is another test.
            let options = options.namespace("ada");
            scope.spawn(move || push(options, folder).unwrap_or_else(|error| panic!("{id}: {error:?}")));
        }
    });
    let rows: BTreeSet<String> = board(&stub).into_iter().map(|row| row.run_id).collect();
    let expected: BTreeSet<String> = folders.into_iter().map(|(id, _)| id).collect();
    assert_eq!(rows, expected);
    assert_eq!(board(&stub).len(), 20, "each once");
    // All began in the same second, and none lost its tables to another.
    let places: BTreeSet<String> = board(&stub).into_iter().filter_map(|row| row.results_dataset).collect();
    assert_eq!(places.len(), 20);
    for (row, place) in board(&stub).into_iter().map(|row| (row.run_id.clone(), row.results_dataset.unwrap()))
    {
        let metadata = &stub.repo(&place).unwrap().files["metadata.json"];
        let metadata: serde_json::Value = serde_json::from_slice(metadata).unwrap();
        assert_eq!(metadata["run_id"], row.as_str(), "{place}");
    }
    // Every commit was made of the head: the Hub refuses others.
    assert_eq!(commits(&stub, "ada/wattspan-leaderboard"), 20);
}

#[test]
fn case_hub_01_a_commit_in_between_is_read_and_kept() {
    let (stub, options) = ada();
    let base = tempfile::tempdir().unwrap();
    push(options.clone(), &run(base.path(), "a", 1)).unwrap();
    // The other writer's commit comes after ours was prepared, and before it arrives.
    let theirs = stub.repo("ada/wattspan-leaderboard").unwrap().files[DATA].clone();
    assert!(theirs.starts_with(b"PAR1"));
    stub.before("POST", "/api/datasets/ada/wattspan-leaderboard/commit", |hub| {
        hub.commit("ada/wattspan-leaderboard", "notes.md", "theirs");
    });
    let (options, waits) = noting(options);
    let pushed = push(options, &run(base.path(), "b", 1)).unwrap();
    assert!(pushed.leaderboard.changed);
    let repo = stub.repo("ada/wattspan-leaderboard").unwrap();
    assert_eq!(repo.files["notes.md"], b"theirs");
    let rows: BTreeSet<String> = board(&stub).into_iter().map(|row| row.run_id).collect();
    assert_eq!(rows, BTreeSet::from(["a".to_owned(), "b".to_owned()]));
    let tries = stub.requests();
    let tries =
        tries.iter().filter(|request| request.path() == "/api/datasets/ada/wattspan-leaderboard/commit/main");
    // One for the first run, and for the second one that was too late and one that was not.
    assert_eq!(tries.count(), 3);
    assert_eq!(waits.lock().unwrap().len(), 1);
    for request in stub.requests().iter().filter(|request| request.path().ends_with("/commit/main")) {
        assert!(request.text().contains("\"parentCommit\""), "a commit without parent overwrites");
    }
}

#[test]
fn tries_are_bounded_and_the_end_says_what_to_do() {
    let (stub, options) = ada();
    let base = tempfile::tempdir().unwrap();
    let folder = run(base.path(), "a", 1);
    let late = Answer::status(412).header("x-error-message", "A commit has happened since.");
    stub.fail("POST", "/api/datasets/ada/wattspan-leaderboard/commit", usize::MAX, late);
    let error = push(options.clone(), &folder).unwrap_err();
    assert!(matches!(&*error.source, HubError::Conflict { tries: 40, .. }), "{error:?}");
    let words = words(&error);
    assert!(words.contains("push again") && words.contains("wattspan push"), "{words}");
    // The run's own tables are up; only the row is missing.
    assert_eq!(error.pushed.len(), 3);
    assert_eq!(commits(&stub, "ada/wattspan-leaderboard"), 0);
}

#[test]
fn the_same_run_pushed_twice_at_once_stands_once() {
    let (stub, options) = ada();
    let base = tempfile::tempdir().unwrap();
    let folder = run(base.path(), "a", 3);
    thread::scope(|scope| {
        for _ in 0..4 {
            let options = options.clone();
            let folder = &folder;
            scope.spawn(move || push(options, folder).unwrap());
        }
    });
    assert_eq!(stub.repos().len(), 4);
    assert_eq!(board(&stub).len(), 1);
    assert!(stub.repos().iter().all(|id| commits(&stub, id) == 1));
}

#[test]
fn a_commit_whose_answer_is_lost_is_not_made_twice() {
    let (stub, options) = ada();
    let base = tempfile::tempdir().unwrap();
    let folder = run(base.path(), "a", 1);
    // The commit arrives, and the connection breaks before its answer does: the second try finds it done.
    let id = "ada/wattspan-results-20261201_214638";
    push(options.clone(), &folder).unwrap();
    let files = stub.repo(id).unwrap().files;
    let (stub, options) = {
        let (other, options) = ada();
        other.add_repo(id, true, Vec::<(String, Vec<u8>)>::new());
        other.fail("POST", "/api/datasets/ada/wattspan-results-20261201_214638/commit", 1, Answer::hang_up());
        other.before("POST", "/api/datasets/ada/wattspan-results-20261201_214638/commit", move |hub| {
            for (path, bytes) in &files {
                hub.commit(id, path, bytes.clone());
            }
        });
        (other, options)
    };
    let before = stub.repo(id).unwrap().commits.len();
    let pushed = push(options, &folder).unwrap();
    assert!(!pushed.results.changed, "it was there already");
    let repo = stub.repo(id).unwrap();
    assert!(repo.commits[before..].iter().all(|commit| commit.summary == "someone else's"));
}
