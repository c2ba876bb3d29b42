//! What can be in the way, and the words for it.

use std::io::Read;
use std::net::TcpListener;
use std::path::Path;
use std::thread;
use std::time::Duration;

use wattspan_core::SinkError;
use wattspan_hub::{HubError, HubOptions, PushError, Token};
use wattspan_testkit::Answer;
use wattspan_testkit::hub_stub::HubStub;

use crate::support::*;

/// A push that fails: what the Hub does, and words that must stand in the error besides how to push again.
#[track_caller]
fn check(arrange: impl FnOnce(&HubStub, HubOptions) -> HubOptions, expected: &[&str]) -> PushError {
    let (stub, options) = ada();
    let base = tempfile::tempdir().unwrap();
    let folder = run(base.path(), "run-1", 2);
    let before = names(&folder);
    let options = arrange(&stub, options);
    let error = push(options.clone(), &folder).unwrap_err();
    let words = words(&error);
    for part in expected {
        assert!(words.contains(part), "{part:?} is not in {words:?}");
    }
    let again = format!("wattspan push {} --to hub", folder.display());
    assert!(words.contains(&again), "{words}");
    assert_eq!(names(&folder), before, "the files here stay");
    error
}

fn names(folder: &Path) -> Vec<std::ffi::OsString> {
    let mut names: Vec<_> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    names
}

fn said(status: u16, words: &str) -> Answer {
    Answer::status(status).header("x-error-message", words)
}

#[test]
fn without_a_token_nobody_is_asked() {
    let error = check(
        |stub, _| HubOptions::default().endpoint(stub.url()).wait_with(|_| {}),
        &["there is no Hugging Face token", "HF_TOKEN", "hf auth login"],
    );
    assert!(matches!(*error.source, HubError::NoToken));
}

#[test]
fn a_wrong_token_is_named_by_its_origin() {
    let error = check(
        |_, options| options.token(Token::new("tok-EXAMPLE-9876543210", "HF_TOKEN")),
        &["does not accept the token (set by HF_TOKEN)", "make a new one"],
    );
    assert!(!format!("{error:?}").contains("9876"));
}

#[test]
fn a_token_that_may_only_read_is_found_out_before_anything_is_made() {
    let error = check(
        |stub, options| {
            stub.add_token("t-read", "ada", "read");
            options.token(Token::new("t-read", "HF_TOKEN"))
        },
        &["may not write to ada (it may only read)", "write permission"],
    );
    assert!(matches!(*error.source, HubError::NoRight { .. }) && error.pushed.is_empty());
}

#[test]
fn another_namespace_without_right_is_named() {
    check(
        |_, options| options.namespace("bob"),
        &["may not create bob/wattspan-results-", "under the namespace", "another namespace"],
    );
}

#[test]
fn a_full_account_is_told_from_a_missing_right() {
    let words = "Private repository storage limit reached, please upgrade your plan to increase your private storage limit.";
    for (method, target) in
        [("POST", "/api/repos/create"), ("POST", "/objects/batch"), ("POST", "/commit/main")]
    {
        let error = check(
            |stub, options| {
                stub.fail(method, target, usize::MAX, said(403, words));
                options
            },
            &["there is no storage left", "storage limit reached", "free some"],
        );
        assert!(matches!(*error.source, HubError::Quota { .. }), "{error:?}");
    }
    // An object of its own may be refused while the call succeeds.
    let error = check(
        |stub, options| {
            let answer = |request: &str| {
                format!(
                    r#"{{"objects":[{{"oid":"{request}","size":1,"error":{{"code":507,"message":"full"}}}}]}}"#
                )
            };
            stub.fail("POST", "/objects/batch", 1, Answer::json(answer("0")));
            options
        },
        &["the object is missing"],
    );
    assert!(matches!(*error.source, HubError::Malformed { .. }), "{error:?}");
}

#[test]
fn an_upload_that_breaks_off_is_begun_again() {
    let (stub, options) = ada();
    let base = tempfile::tempdir().unwrap();
    stub.fail("PUT", "/s3/", 1, Answer::hang_up());
    // An address that has run out, and storage in trouble.
    stub.fail("PUT", "/s3/", 1, Answer::status(403));
    stub.fail("PUT", "/s3/", 1, Answer::status(500));
    stub.fail("POST", "/objects/verify", 1, Answer::status(404));
    push(options, &run(base.path(), "run-1", 2)).unwrap();
    assert_eq!(board(&stub).len(), 1);
}

#[test]
fn bytes_that_go_up_only_in_part_are_never_committed() {
    // Reads a little of each upload and cuts it.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let storage = format!("http://{}", listener.local_addr().unwrap());
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut part = [0; 64];
            let _ = stream.and_then(|mut stream| stream.read(&mut part));
        }
    });
    let mut left = None;
    let error = check(
        |stub, options| {
            stub.storage(&storage);
            left = Some(stub.url());
            options
        },
        &["did not arrive whole in ada/wattspan-results-", "push again", "not sent twice"],
    );
    assert!(matches!(*error.source, HubError::Upload { .. }), "{error:?}");
    assert!(error.pushed.is_empty());
}

#[test]
fn a_push_goes_on_where_it_broke_off() {
    let (stub, options) = ada();
    let base = tempfile::tempdir().unwrap();
    let folder = run(base.path(), "run-1", 2);
    stub.fail("POST", "/api/datasets/ada/wattspan-metrics-20261201_214638/commit", 1, said(400, "no"));
    let error = push(options.clone(), &folder).unwrap_err();
    assert_eq!(error.pushed, ["ada/wattspan-results-20261201_214638", "ada/wattspan-traces-20261201_214638"]);
    assert!(words(&error).contains("(400: no)"), "{error:?}");
    let before = stub.storage_requests().len();
    let pushed = push(options, &folder).unwrap();
    assert!(!pushed.results.changed && !pushed.traces.changed);
    assert!(pushed.metrics.changed && pushed.leaderboard.changed);
    // The metrics' bytes were there already, and only the leaderboard's went up.
    let puts = stub.storage_requests()[before..].iter().filter(|request| request.method == "PUT").count();
    assert_eq!(puts, 1);
    assert!(stub.repos().iter().all(|id| commits(&stub, id) == 1));
}

#[test]
fn a_hub_that_never_confirms_is_not_believed() {
    let error = check(
        |stub, options| {
            // Three attempts with fresh addresses; the object is taken out of the Hub's list each time.
            stub.fail("POST", "/objects/verify", usize::MAX, Answer::status(404));
            let oid = "0".repeat(64);
            stub.fail("PUT", "/s3/", usize::MAX, Answer::status(200).header("etag", &oid));
            options
        },
        &["the Hub does not confirm it: 404"],
    );
    assert!(matches!(*error.source, HubError::Upload { .. }), "{error:?}");
}

#[test]
fn a_rate_limit_is_waited_for_as_long_as_it_says() {
    let (stub, options) = ada();
    let (options, waits) = noting(options);
    let base = tempfile::tempdir().unwrap();
    stub.fail("POST", "/commit/main", 1, Answer::status(429).header("retry-after", "271"));
    push(options, &run(base.path(), "run-1", 1)).unwrap();
    let waits = waits.lock().unwrap();
    assert_eq!(waits.len(), 1);
    assert!(waits[0] >= Duration::from_secs(271) && waits[0] < Duration::from_secs(330), "{waits:?}");
}

#[test]
fn a_rate_limit_beyond_patience_ends_with_the_time_to_come_again() {
    let error = check(
        |stub, options| {
            stub.fail("POST", "/commit/main", usize::MAX, Answer::status(429).header("retry-after", "3600"));
            options.patience(Duration::from_secs(1_800))
        },
        &["limits how often", "push again in 3600 s"],
    );
    let sink: SinkError = error.into();
    assert!(
        matches!(&sink, SinkError::Retry { after: Some(after), .. } if after.as_secs() == 3_600),
        "{sink:?}"
    );
}

#[test]
fn trouble_of_the_hub_is_waited_out_and_then_named() {
    let (stub, options) = ada();
    let base = tempfile::tempdir().unwrap();
    stub.fail("GET", "/api/whoami-v2", 2, Answer::status(503));
    stub.fail("GET", "/api/datasets/", 1, Answer::hang_up());
    push(options, &run(base.path(), "run-1", 1)).unwrap();

    let error = check(
        |stub, options| {
            stub.fail("POST", "/preupload/", usize::MAX, Answer::status(503));
            options
        },
        &["503"],
    );
    assert!(error.source.is_temporary());
}

#[test]
fn a_hub_that_is_not_there_is_named() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let error =
        check(|_, options| options.endpoint(&address), &["cannot be reached", &address, "HF_ENDPOINT"]);
    assert!(error.source.is_temporary());
}

#[test]
fn something_that_is_no_hub_is_told_from_one() {
    check(
        |stub, options| {
            stub.fail("GET", "/api/whoami-v2", 1, Answer::status(200).body("<html>hello</html>"));
            options
        },
        &["is not the Hub's"],
    );
}

#[test]
fn a_hub_that_repeats_the_token_is_not_repeated() {
    check(
        |stub, options| {
            let words = format!("the header Bearer {TOKEN} is not welcome");
            stub.fail("GET", "/api/datasets/", 1, said(400, &words));
            options
        },
        &["the header Bearer [token] is not welcome"],
    );
}

#[test]
fn a_card_that_the_hub_cannot_read_is_not_committed() {
    check(
        |stub, options| {
            let answer =
                Answer::json(r#"{"errors":[{"message":"\"license\" must be one of"}],"warnings":[]}"#);
            stub.fail("POST", "/api/validate-yaml", 1, answer);
            options
        },
        &["take the card of", "must be one of"],
    );
}

#[test]
fn a_folder_that_is_no_run_makes_nothing() {
    let (stub, options) = ada();
    let base = tempfile::tempdir().unwrap();
    let error = push(options, base.path()).unwrap_err();
    assert!(words(&error).contains("nothing tells which run it is"), "{error:?}");
    assert!(stub.requests().is_empty());
    let sink: SinkError = error.into();
    assert!(matches!(sink, SinkError::Fatal { .. }), "{sink:?}");
}
