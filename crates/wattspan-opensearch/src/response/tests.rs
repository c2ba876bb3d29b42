use proptest::prelude::*;
use serde_json::Value;

use super::*;

fn recorded() -> Value {
    serde_json::from_str(include_str!("../../fixtures/osmem/answers.json")).unwrap()
}

fn items(name: &str) -> Vec<Item> {
    let answer = recorded()[name]["answer"].to_string();
    serde_json::from_str::<BulkAnswer>(&answer).unwrap().items
}

#[test]
fn each_item_of_a_recorded_answer_gets_its_verdict() {
    use Verdict::{Again, Refused, Stored};
    let read: Vec<_> = items("partial").iter().map(|item| (item.status, item.verdict())).collect();
    assert_eq!(
        read,
        [(201, Stored), (400, Refused), (400, Refused), (409, Again), (404, Refused), (404, Refused)]
    );
    let strict = items("partial").swap_remove(2).fault.unwrap();
    assert_eq!(strict.kind, "strict_dynamic_mapping_exception");
    assert_eq!(items("gzip").iter().map(Item::verdict).collect::<Vec<_>>(), [Stored]);
    assert_eq!(items("broken_line").iter().map(Item::verdict).collect::<Vec<_>>(), [Refused]);
}

#[test]
fn what_the_documents_say_is_not_in_a_summary() {
    let fault = items("partial").swap_remove(1).fault.unwrap();
    assert!(fault.reason.contains("not a number"));
    assert_eq!(
        fault.summary(),
        "mapper_parsing_exception: failed to parse field [a] of type [integer] in document with id '2'."
    );
    let long = Fault { kind: String::new(), reason: "a\n".repeat(1_000) };
    assert_eq!(long.summary(), "a".repeat(300));
    assert_eq!(Fault::default().summary(), "no reason given");
}

#[test]
fn a_failed_request_tells_its_reason_in_either_form() {
    let summary = |body: &str| Fault::of_body(body.as_bytes()).summary();
    let recorded = recorded();
    assert_eq!(
        summary(&recorded["no_newline"]["answer"].to_string()),
        r"illegal_argument_exception: The bulk request must be terminated by a newline [\n]"
    );
    assert_eq!(summary(r#"{"error":"no handler found","status":400}"#), "no handler found");
    assert_eq!(summary("<html>Sign in, s3cret</html>"), "no reason given");
}

#[track_caller]
fn check(status: u16, kind: &str, verdict: Verdict) {
    let fault = Some(Fault { kind: kind.to_owned(), reason: String::new() });
    assert_eq!(Item { status, fault }.verdict(), verdict, "{status} {kind}");
}

#[test]
fn refusals_differ_by_who_can_do_something() {
    check(429, "opensearch_rejected_execution_exception", Verdict::Again);
    check(503, "unavailable_shards_exception", Verdict::Again);
    check(403, "security_exception", Verdict::Blocked);
    check(403, "cluster_block_exception", Verdict::Blocked);
    check(404, "index_not_found_exception", Verdict::Blocked);
    check(404, "document_missing_exception", Verdict::Refused);
    check(400, "mapper_parsing_exception", Verdict::Refused);
    check(413, "", Verdict::Refused);
}

proptest! {
    #[test]
    fn no_answer_makes_it_panic(body in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = serde_json::from_slice::<BulkAnswer>(&body);
        Fault::of_body(&body).summary();
    }

    #[test]
    fn nor_does_one_that_is_nearly_right(cut in 0_usize..1_400, byte in any::<u8>()) {
        let mut body = recorded()["partial"]["answer"].to_string().into_bytes();
        let place = cut % body.len();
        body[place] = byte;
        let _ = serde_json::from_slice::<BulkAnswer>(&body);
        let _ = serde_json::from_slice::<BulkAnswer>(&body[..place]);
    }
}
