//! What is on the Hub after a push.

use wattspan_dataset::LeaderboardFile;
use wattspan_hub::{Hub, HubError, Progress, Visibility};
use wattspan_testkit::Answer;

use crate::support::*;

#[test]
fn a_run_becomes_three_datasets_and_a_row() {
    let (stub, options) = ada();
    let base = tempfile::tempdir().unwrap();
    let pushed = push(options, &run(base.path(), "run-1", 4)).unwrap();
    assert_eq!(
        stub.repos(),
        [
            "ada/wattspan-leaderboard",
            "ada/wattspan-metrics-20261201_214638",
            "ada/wattspan-results-20261201_214638",
            "ada/wattspan-traces-20261201_214638",
        ]
    );
    for (id, url) in [
        (&pushed.results.id, &pushed.results.url),
        (&pushed.traces.id, &pushed.traces.url),
        (&pushed.metrics.id, &pushed.metrics.url),
        (&pushed.leaderboard.id, &pushed.leaderboard.url),
    ] {
        let repo = stub.repo(id).unwrap();
        assert!(repo.private, "{id}");
        assert_eq!(repo.commits.len(), 2, "{id} has its first commit and one of ours");
        assert_eq!(*url, format!("{}/datasets/{id}", stub.url()));
        assert!(repo.files[DATA].starts_with(b"PAR1"));
        let card = String::from_utf8(repo.files["README.md"].clone()).unwrap();
        assert!(card.starts_with("---\n") && card.contains("path: data/train-*\n"), "{card}");
        assert!(card.contains(&format!("load_dataset(\"{id}\"")) && card.contains("hf://"), "{card}");
    }
    let metadata = &stub.repo(&pushed.results.id).unwrap().files["metadata.json"];
    let metadata: serde_json::Value = serde_json::from_slice(metadata).unwrap();
    assert_eq!(metadata["run_id"], "run-1");

    let rows = board(&stub);
    assert_eq!(rows.len(), 1);
    assert_eq!(rows[0].run_id, "run-1");
    assert_eq!(rows[0].results_dataset.as_deref(), Some(pushed.results.id.as_str()));
    assert_eq!(rows[0].traces_dataset.as_deref(), Some(pushed.traces.id.as_str()));
    assert_eq!(rows[0].metrics_dataset.as_deref(), Some(pushed.metrics.id.as_str()));
    assert_eq!(rows[0].submitted_by.as_deref(), Some("ada"));
    assert_eq!((rows[0].total_tests, rows[0].successful_tests), (3, 2));
}

#[test]
fn a_second_push_sends_nothing_and_changes_nothing() {
    let (stub, options) = ada();
    let base = tempfile::tempdir().unwrap();
    let folder = run(base.path(), "run-1", 4);
    let first = push(options.clone(), &folder).unwrap();
    assert!(first.results.changed && first.leaderboard.changed);
    let (repos, requests) = (stub.repos(), stub.requests().len());
    let before: Vec<_> = repos.iter().map(|id| stub.repo(id)).collect();
    let second = push(options, &folder).unwrap();
    for repo in [&second.results, &second.traces, &second.metrics, &second.leaderboard] {
        assert!(!repo.changed, "{}", repo.id);
    }
    let after: Vec<_> = repos.iter().map(|id| stub.repo(id)).collect();
    assert_eq!((before, repos.clone()), (after, stub.repos()));
    assert!(stub.requests()[requests..].iter().all(|request| request.method == "GET"));
}

#[test]
fn a_run_that_changed_replaces_its_row_and_its_tables() {
    let (stub, options) = ada();
    let base = tempfile::tempdir().unwrap();
    push(options.clone(), &run(base.path(), "other", 1)).unwrap();
    push(options.clone(), &run(base.path(), "run-1", 4)).unwrap();
    // The same run written anew, into the same folder.
    let pushed = push(options, &run_with(base.path(), "run-1", 4, 25.0)).unwrap();
    assert!(pushed.results.changed && !pushed.traces.changed && !pushed.metrics.changed);
    let mut rows = board(&stub);
    rows.sort_by(|a, b| a.run_id.cmp(&b.run_id));
    let energies: Vec<_> = rows.iter().map(|row| (row.run_id.as_str(), row.inference_energy_j)).collect();
    assert_eq!(energies, [("other", Some(25.0)), ("run-1", Some(50.0))]);
    assert_eq!(stub.repos().len(), 7);
}

#[test]
fn runs_of_the_same_second_do_not_mix() {
    let (stub, options) = ada();
    let base = tempfile::tempdir().unwrap();
    let (one, two) = (run(base.path(), "one", 1), run(base.path(), "two", 2));
    let first = push(options.clone(), &one).unwrap();
    let second = push(options.clone(), &two).unwrap();
    assert_eq!(first.results.id, "ada/wattspan-results-20261201_214638");
    // The mark is from `printf two | sha256sum`.
    assert_eq!(second.results.id, "ada/wattspan-results-20261201_214638-3fc4ccfe");
    let mut places: Vec<_> = board(&stub).into_iter().filter_map(|row| row.results_dataset).collect();
    places.sort();
    assert_eq!(places, [first.results.id.clone(), second.results.id.clone()]);
    // Each finds its own again.
    assert_eq!(push(options.clone(), &two).unwrap().results.id, second.results.id);
    assert_eq!(push(options, &one).unwrap().results.id, first.results.id);
    assert_eq!(stub.repos().len(), 7);
}

#[test]
fn names_that_hold_something_else_are_left_alone() {
    let (stub, options) = ada();
    let base = tempfile::tempdir().unwrap();
    let folder = run(base.path(), "one", 1);
    for id in ["ada/wattspan-results-20261201_214638", "ada/wattspan-results-20261201_214638-7692c3ad"] {
        stub.add_repo(id, true, [(DATA, b"theirs".to_vec())]);
    }
    let error = push(options, &folder).unwrap_err();
    assert!(matches!(*error.source, HubError::Taken { .. }), "{error:?}");
    assert!(words(&error).contains("take another prefix"));
    assert_eq!(stub.repos().len(), 2, "nothing was made");
}

#[test]
fn public_is_a_choice_for_all_four() {
    let (stub, options) = ada();
    let base = tempfile::tempdir().unwrap();
    push(options.visibility(Visibility::Public).prefix("open"), &run(base.path(), "run-1", 1)).unwrap();
    for id in stub.repos() {
        assert!(!stub.repo(&id).unwrap().private && id.starts_with("ada/open-"), "{id}");
    }
}

#[test]
fn a_public_repository_stops_a_private_push_before_anything_goes_up() {
    for id in ["ada/wattspan-leaderboard", "ada/wattspan-metrics-20261201_214638"] {
        let (stub, options) = ada();
        let base = tempfile::tempdir().unwrap();
        stub.add_repo(id, false, [("README.md", b"# there\n".to_vec())]);
        let error = push(options, &run(base.path(), "run-1", 1)).unwrap_err();
        assert!(
            matches!(&*error.source, HubError::Visibility { repo, found: Visibility::Public, .. } if repo == id),
            "{error:?}"
        );
        assert!(words(&error).contains("is public and was to be private, so nothing was uploaded"));
        assert!(stub.requests().iter().all(|request| request.method == "GET"));
    }
    // The other way round it is no leak, and still not what was asked for.
    let (stub, options) = ada();
    let base = tempfile::tempdir().unwrap();
    stub.add_repo("ada/wattspan-leaderboard", true, [("README.md", b"# there\n".to_vec())]);
    let error = push(options.visibility(Visibility::Public), &run(base.path(), "run-1", 1)).unwrap_err();
    assert!(words(&error).contains("is private and was to be public"));
}

#[test]
fn a_repository_that_does_not_become_private_gets_nothing() {
    let (stub, options) = ada();
    let base = tempfile::tempdir().unwrap();
    // An organisation may have it so that new repositories are public whatever is asked.
    stub.before("GET", "/api/datasets/ada/wattspan-leaderboard/tree", |hub| {
        hub.set_private("ada/wattspan-results-20261201_214638", false);
    });
    let error = push(options, &run(base.path(), "run-1", 1)).unwrap_err();
    assert!(words(&error).contains("is public and was to be private"), "{error:?}");
    assert!(stub.storage_requests().is_empty());
    assert!(stub.repos().iter().all(|id| commits(&stub, id) == 0));
}

#[test]
fn the_token_goes_to_the_hub_and_never_to_storage() {
    let (stub, options) = ada();
    stub.part_size(4_000);
    let base = tempfile::tempdir().unwrap();
    let folder = run(base.path(), "run-1", 4);
    push(options.clone(), &folder).unwrap();
    // The second run also downloads, and goes up in one piece.
    stub.part_size(0);
    push(options, &run(base.path(), "run-2", 4)).unwrap();
    for request in stub.requests() {
        assert_eq!(request.header("authorization"), Some(format!("Bearer {TOKEN}").as_str()), "{request:?}");
    }
    let stored = stub.storage_requests();
    for request in &stored {
        assert_eq!(request.header("authorization"), None, "{} {}", request.method, request.target);
        assert!(!request.target.contains(TOKEN));
        if request.method == "PUT" {
            assert_eq!(request.header("content-type"), None);
            assert_eq!(request.header("transfer-encoding"), None);
            assert_eq!(request.header("content-length"), Some(request.body.len().to_string().as_str()));
        }
    }
    for (method, part) in [("PUT", "partNumber=2"), ("PUT", "?X-Amz"), ("POST", "/complete"), ("GET", "/s3/")]
    {
        let is_one = |request: &wattspan_testkit::StubRequest| {
            request.method == method && request.target.contains(part)
        };
        assert!(stored.iter().any(is_one), "no {method} of {part}");
    }
}

#[test]
fn progress_comes_in_order_and_reaches_the_end() {
    let (stub, options) = ada();
    let base = tempfile::tempdir().unwrap();
    let steps = steps(options, &run(base.path(), "run-1", 4));
    let done: Vec<&str> = steps
        .iter()
        .filter_map(|step| match step {
            Progress::Done { repo, .. } => Some(repo.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(
        done,
        [
            "ada/wattspan-results-20261201_214638",
            "ada/wattspan-traces-20261201_214638",
            "ada/wattspan-metrics-20261201_214638",
            "ada/wattspan-leaderboard",
        ]
    );
    let size = stub.repo(done[0]).unwrap().files[DATA].len() as u64;
    let whole = steps.iter().any(|step| {
        matches!(step, Progress::Uploading { repo, sent, total, .. } if repo == done[0] && *sent == size && *total == size)
    });
    assert!(whole, "{steps:?}");
    assert!(steps[0].to_string().contains("writing results"), "{}", steps[0]);
}

#[test]
fn a_dry_run_writes_what_a_push_sends() {
    let (stub, options) = ada();
    let base = tempfile::tempdir().unwrap();
    let folder = run(base.path(), "run-1", 4);
    let out = base.path().join("preview");
    let hub = Hub::new(options.namespace("ada")).unwrap();
    let files = hub.dry_run(&folder, &out).unwrap();
    assert!(stub.requests().is_empty(), "a dry run asks nobody");
    hub.push(&folder, &mut |_| {}).unwrap();
    let mut compared = 0;
    for id in stub.repos() {
        let place = out.join(id.strip_prefix("ada/").unwrap());
        for (name, bytes) in stub.repo(&id).unwrap().files {
            if name == ".gitattributes" {
                continue;
            }
            let path = place.join(&name);
            assert!(files.contains(&path), "{}", path.display());
            compared += 1;
            // Who submits it, only the Hub knows.
            if !(id.ends_with("leaderboard") && name == DATA) {
                assert_eq!(std::fs::read(&path).unwrap(), bytes, "{}", path.display());
            }
        }
    }
    assert_eq!((compared, files.len()), (11, 11));
    let board = std::fs::read(out.join("wattspan-leaderboard").join(DATA)).unwrap();
    let rows = LeaderboardFile::from_bytes(board).unwrap().rows().unwrap();
    assert_eq!(rows[0].results_dataset.as_deref(), Some("ada/wattspan-results-20261201_214638"));
}

#[test]
fn a_card_that_people_wrote_stays_theirs() {
    let (stub, options) = ada();
    let card = "---\nlicense: mit\ndataset_info:\n  features:\n  - name: a\n---\n# Our team's board\n";
    stub.add_repo("ada/wattspan-leaderboard", true, [("README.md", card.as_bytes().to_vec())]);
    let base = tempfile::tempdir().unwrap();
    push(options, &run(base.path(), "run-1", 1)).unwrap();
    let kept = stub.repo("ada/wattspan-leaderboard").unwrap().files["README.md"].clone();
    assert_eq!(String::from_utf8(kept).unwrap(), "---\nlicense: mit\n---\n# Our team's board\n");
}

#[test]
fn a_leaderboard_under_another_file_name_becomes_one_file() {
    let (stub, options) = ada();
    let base = tempfile::tempdir().unwrap();
    push(options.clone(), &run(base.path(), "run-1", 1)).unwrap();
    let bytes = stub.repo("ada/wattspan-leaderboard").unwrap().files[DATA].clone();
    let other = "data/train one.parquet";
    stub.add_repo("ada/wattspan-leaderboard", true, [(other, bytes)]);
    push(options.clone(), &run(base.path(), "run-2", 1)).unwrap();
    let files = stub.repo("ada/wattspan-leaderboard").unwrap().files;
    assert!(!files.contains_key(other));
    assert_eq!(board(&stub).len(), 2);

    stub.commit_from_elsewhere("ada/wattspan-leaderboard", "data/second.parquet", "PAR1");
    let error = push(options, &run(base.path(), "run-3", 1)).unwrap_err();
    assert!(words(&error).contains("it is in 2 files"), "{error:?}");
    assert_eq!(error.pushed.len(), 3);
}

#[test]
fn an_organisation_is_a_namespace() {
    let (stub, options) = ada();
    stub.add_member("lovelace-lab", "ada");
    let base = tempfile::tempdir().unwrap();
    let pushed = push(options.namespace("lovelace-lab"), &run(base.path(), "run-1", 1)).unwrap();
    assert_eq!(pushed.leaderboard.id, "lovelace-lab/wattspan-leaderboard");
}

#[test]
fn a_push_works_inside_a_runtime() {
    let (_stub, options) = ada();
    let base = tempfile::tempdir().unwrap();
    let folder = run(base.path(), "run-1", 1);
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async { push(options, &folder) }).unwrap();
}

#[test]
fn a_hub_that_asks_for_a_redirect_of_the_token_gets_none() {
    let (stub, options) = ada();
    let base = tempfile::tempdir().unwrap();
    let elsewhere = wattspan_testkit::StubServer::new(|_| Answer::status(404));
    let moved = Answer::status(307).header("location", &elsewhere.url("/api/whoami-v2"));
    stub.fail("GET", "/api/whoami-v2", 1, moved);
    let error = push(options, &run(base.path(), "run-1", 1)).unwrap_err();
    assert!(words(&error).contains("307"), "{error:?}");
    assert!(elsewhere.requests().is_empty());
}
