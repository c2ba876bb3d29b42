//! Finding out whether a push would work.

use wattspan_hub::{Finding, Hub, HubOptions, Mark, Token, Visibility};
use wattspan_testkit::Answer;

use crate::support::*;

fn found(options: HubOptions) -> Vec<Finding> {
    Hub::new(options).unwrap().check()
}

#[track_caller]
fn expect(findings: &[Finding], mark: Mark, what: &str, words: &str) {
    let fits = |finding: &&Finding| finding.what == what && finding.mark == mark;
    let finding = findings.iter().find(fits).unwrap_or_else(|| panic!("no {mark:?} of {what}: {findings:?}"));
    assert!(finding.detail.contains(words), "{finding}");
}

#[test]
fn what_would_work_is_fine_and_nothing_is_written() {
    let (stub, options) = ada();
    let findings = found(options);
    assert!(findings.iter().all(|finding| finding.mark == Mark::Ok), "{findings:?}");
    expect(&findings, Mark::Ok, "hub", "ada");
    expect(&findings, Mark::Ok, "token", "set by --token, may write");
    expect(&findings, Mark::Ok, "leaderboard", "is not there and will be made, private");
    assert!(stub.requests().iter().all(|request| request.method == "GET"));
    assert!(findings[0].to_string().starts_with("ok: hub: "), "{}", findings[0]);
}

#[test]
fn each_thing_in_the_way_is_a_problem_with_its_remedy() {
    let (stub, options) = ada();
    for (token, role) in [("t-read", "read"), ("t-fine", "fineGrained"), ("t-new", "superuser")] {
        stub.add_token(token, "ada", role);
    }
    let with = |token: &str| options.clone().token(Token::new(token, "HF_TOKEN"));
    expect(&found(with("t-read")), Mark::Problem, "token", "may only read: make one");
    expect(&found(with("t-fine")), Mark::Ok, "token", "may write to ada");
    expect(&found(with("t-fine").namespace("lab")), Mark::Problem, "token", "`repo.write` for lab");
    expect(&found(with("t-new")), Mark::Note, "token", "superuser");
    expect(&found(with("t-wrong")), Mark::Problem, "token", "does not accept the token");
    expect(&found(HubOptions::default().endpoint(stub.url())), Mark::Problem, "token", "there is no");
    expect(&found(options.clone().namespace("lab")), Mark::Problem, "namespace", "not a member of lab");
    stub.add_member("lab", "ada");
    expect(&found(options.clone().namespace("lab")), Mark::Ok, "namespace", "a member of lab");

    stub.add_repo("ada/wattspan-leaderboard", false, [("README.md", b"".to_vec())]);
    expect(&found(options.clone()), Mark::Problem, "leaderboard", "is public and was to be private");
    let public = options.clone().visibility(Visibility::Public);
    expect(&found(public), Mark::Note, "leaderboard", "everybody sees");

    stub.fail("GET", "/api/whoami-v2", usize::MAX, Answer::status(500));
    expect(&found(options), Mark::Problem, "hub", "500");
    assert!(stub.requests().iter().all(|request| request.method == "GET"), "something was written");
}
