//! The real readers load what was pushed: huggingface_hub downloads it, datasets and pandas read it.

use std::process::Command;

use wattspan_testkit::peers;

use crate::support::*;

#[test]
fn the_real_libraries_load_what_was_pushed() {
    let (stub, options) = ada();
    stub.part_size(4_000);
    let base = tempfile::tempdir().unwrap();
    let pushed = push(options.clone(), &run(base.path(), "run-1", 5)).unwrap();
    let empty = push(options, &run(base.path(), "run-2", 0)).unwrap();
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/python/load.py");
    let output = Command::new(peers::python())
        .args([script, &pushed.results.id, &pushed.traces.id, &pushed.metrics.id, &empty.metrics.id])
        .arg(&pushed.leaderboard.id)
        .env("HF_ENDPOINT", stub.url())
        .env("HF_TOKEN", TOKEN)
        .env("HF_HOME", base.path().join("hf"))
        .env("HF_HUB_DISABLE_XET", "1")
        .env("HF_HUB_DISABLE_TELEMETRY", "1")
        .env("HF_HUB_DISABLE_PROGRESS_BARS", "1")
        .env("NO_PROXY", "*")
        .env_remove("HF_HUB_OFFLINE")
        .output()
        .unwrap_or_else(|error| panic!("python does not start ({error}): run `cargo xtask setup`"));
    let told = String::from_utf8_lossy(&output.stdout);
    let failed = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && told.contains("all is as it should be"), "{told}\n{failed}");
}
