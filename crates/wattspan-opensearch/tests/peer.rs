//! SMOLTRACE 0.2.12 and the official Python client on indexes that this crate made.

mod common;

use std::process::Command;

use common::{Osmem, SUFFIX, begun, export};
use serde_json::{Value, json};
use wattspan_opensearch::OpenSearchSink;

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/python/smoltrace_reads.py");

fn asked(server: &Osmem) -> Value {
    let out = Command::new(wattspan_testkit::peers::python())
        .args([SCRIPT, &server.url, "smoltrace", "run-1", SUFFIX])
        .output()
        .unwrap();
    let error = String::from_utf8_lossy(&out.stderr);
    assert!(
        out.status.success(),
        "{error}\nif a module is missing, run `cargo xtask setup`\n{}",
        String::from_utf8_lossy(&out.stdout)
    );
    let text = String::from_utf8(out.stdout).unwrap();
    // Its exporter prints what it does; ours is the last line.
    serde_json::from_str(text.lines().last().unwrap()).unwrap()
}

#[tokio::test]
async fn smoltraces_questions_are_answered_and_it_can_write_beside_us() {
    let server = Osmem::start();
    let mut sink = OpenSearchSink::new(server.options()).unwrap().begun(begun());
    export(&mut sink).await.unwrap();
    let found = asked(&server);

    // Each field that it maps is there, as what answers the same questions; these apart.
    assert!(found["fields"].as_u64().unwrap() > 90, "{found}");
    assert_eq!(
        found["differ"],
        json!([
            // Attributes cannot collide; events count toward no limit of nested documents.
            "traces.spans.attributes: object is flat_object",
            "traces.spans.events: nested is object",
            // It is searched neither there nor here.
            "leaderboard.generation_settings: keyword is text",
        ])
    );
    // It never writes these two.
    assert_eq!(found["missing"], json!(["traces.model", "traces.timestamp"]));
    assert_eq!(
        found["queries"],
        json!({
            "run": 10, "success": 6, "prompt": 10, "tokens": 10, "tools": 10, "spans": 10, "power": 20, "times": 20, "gpu": 10,
            "leaderboard": 1,
        })
    );
    assert_eq!((&found["average"], &found["top"]), (&json!(400.0), &json!("run-1")));

    // Its own run is stored whole, in indexes that our templates match too, and both are on the leaderboard.
    assert_eq!(found["theirs"], json!([1, 1, 1, 2]));
    // And ours still is.
    let mut again = OpenSearchSink::new(server.options()).unwrap();
    export(&mut again).await.unwrap();
    assert_eq!(server.counts(&again).await, [10, 10, 20, 2]);
}
