//! A server that answers as a small model would, and a file of cases for it.

#![allow(dead_code, reason = "each test program uses a part of this")]

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};
use wattspan_testkit::{Answer, Gate, StubRequest, StubServer};

use crate::support::{Ended, Gpus, run, wattspan};

/// Knows the capitals of France and Norway, and thinks about Peru's until the gate opens.
pub(crate) fn model(gate: &Gate) -> StubServer {
    let gate = gate.clone();
    StubServer::new(move |request: &StubRequest| match (request.path(), request.text()) {
        ("/v1/chat/completions", asked) if asked.contains("France") => chat("Paris"),
        ("/v1/chat/completions", asked) if asked.contains("Norway") => chat("It is Oslo."),
        ("/v1/chat/completions", asked) if asked.contains("Peru") => chat("Lima").at(&gate),
        ("/v1/chat/completions", _) => chat("I do not know."),
        ("/v1/models", _) => {
            Answer::json(r#"{"object":"list","data":[{"id":"small.gguf","object":"model"}]}"#)
        }
        ("/props", _) => Answer::json(r#"{"total_slots":1,"build_info":"b1-test"}"#),
        _ => Answer::status(404),
    })
}

/// A stream as llama-server's, with the counts of 9 tokens in and 2 out in its last event.
fn chat(text: &str) -> Answer {
    let event = |delta: &Value, finish: &Value| {
        let choice = json!({ "index": 0, "delta": delta, "finish_reason": finish });
        format!("data: {}", json!({ "id": "chatcmpl-1", "model": "small.gguf", "choices": [choice] }))
    };
    let usage = json!({
        "id": "chatcmpl-1", "model": "small.gguf", "choices": [],
        "usage": { "prompt_tokens": 9, "completion_tokens": 2, "total_tokens": 11 },
    });
    Answer::events([
        event(&json!({ "role": "assistant", "content": text }), &Value::Null),
        event(&json!({}), &"stop".into()),
        format!("data: {usage}"),
        "data: [DONE]".to_owned(),
    ])
}

/// A folder with `cases.jsonl`, and where runs go.
pub(crate) struct Bench {
    pub(crate) folder: tempfile::TempDir,
    pub(crate) server: StubServer,
    pub(crate) gate: Gate,
    gpus: Option<Gpus>,
}

pub(crate) const FRANCE: &str =
    r#"{"id":"france","prompt":"Capital of France?","expected":"Paris","tags":["easy"]}"#;
pub(crate) const NORWAY: &str = r#"{"id":"norway","prompt":"Capital of Norway?","expected":"Oslo"}"#;
pub(crate) const PERU: &str = r#"{"id":"peru","prompt":"Capital of Peru?","expected":"Lima"}"#;
pub(crate) const NOWHERE: &str = r#"{"id":"nowhere","prompt":"Capital of Nowhere?","expected":"None"}"#;

impl Bench {
    pub(crate) fn new(cases: &[&str]) -> Self {
        let folder = tempfile::tempdir().expect("the temporary directory can be written");
        std::fs::write(folder.path().join("cases.jsonl"), cases.join("\n")).expect("it can be written");
        let gate = Gate::new();
        Self { folder, server: model(&gate), gate, gpus: None }
    }

    /// On a machine with two GPUs.
    pub(crate) fn measured(mut self) -> Self {
        self.gpus = Some(Gpus::steady());
        self
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// `wattspan eval` with the usual options and some more.
    pub(crate) fn eval(&self, more: &[&str]) -> Command {
        let mut command = match &self.gpus {
            Some(gpus) => gpus.wattspan(&["eval"]),
            None => wattspan(&["eval", "--no-gpu"]),
        };
        command.env("WATTSPAN_HOST", "off").env("HOME", self.folder.path());
        command.arg("--cases").arg(self.path("cases.jsonl"));
        command.arg("--output-dir").arg(self.path("runs"));
        command.arg("--base-url").arg(self.server.url("")).args(more);
        command
    }

    /// A finished run of the cases, and its folder.
    #[track_caller]
    pub(crate) fn finished(&self) -> (Ended, PathBuf) {
        let ended = run(&mut self.eval(&["--json", "--run-id", "run-1"]));
        let place = ended.json()["folder"].as_str().expect("it has a folder").to_owned();
        (ended, place.into())
    }

    /// How often the model was asked.
    pub(crate) fn asked(&self) -> usize {
        self.server.requests().iter().filter(|request| request.path() == "/v1/chat/completions").count()
    }
}

/// What a table of a run holds.
#[track_caller]
pub(crate) fn table(folder: &Path, name: &str) -> Value {
    let path = folder.join(name);
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_str(&text).expect("tables are JSON")
}
