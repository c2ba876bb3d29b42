//! Our requests beside those of the official client, field by field: the recorded answers are played back to ours.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde_json::Value;
use wattspan_testkit::{Answer, StubRequest, StubServer};

use crate::api::{Change, Committed, Mode};
use crate::file::LocalFile;
use crate::hub::Settings;
use crate::wire::Session;
use crate::{HubError, HubOptions, Token, Visibility};

const REPO: &str = "test-user/golden-runs";

struct Recording {
    exchanges: Vec<Value>,
}

impl Recording {
    fn read(name: &str) -> Self {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/recordings").join(name);
        let mut paths: Vec<PathBuf> =
            std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
        paths.sort();
        let read = |path: &PathBuf| serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
        Self { exchanges: paths.iter().map(read).collect() }
    }

    /// A server that gives the recorded answers to the exchanges of these numbers, in order.
    fn play(&self, numbers: impl IntoIterator<Item = usize>) -> StubServer {
        let mut answers: Vec<Value> =
            numbers.into_iter().map(|number| self.exchanges[number - 1]["response"].clone()).collect();
        answers.reverse();
        StubServer::new(move |request| {
            let answer =
                answers.pop().unwrap_or_else(|| panic!("{} {} is too much", request.method, request.target));
            let host = request.header("host").unwrap_or_default();
            let mut sent = Answer::status(answer["status"].as_u64().unwrap() as u16);
            for (name, value) in answer["headers"].as_object().unwrap() {
                sent = sent.header(name, value.as_str().unwrap());
            }
            match (&answer["body"]["json"], &answer["body"]["text"]) {
                (Value::Null, Value::String(text)) => sent.body(text.as_bytes()),
                (Value::Null, _) => sent,
                (json, _) => sent.body(json.to_string().replace("HOST:PORT", host)),
            }
        })
    }

    /// The bytes of the file that this exchange uploads.
    fn bytes(&self, number: usize) -> Vec<u8> {
        BASE64.decode(self.exchanges[number - 1]["request"]["body"]["base64"].as_str().unwrap()).unwrap()
    }

    /// Compares what came in with what was recorded. `expect` changes a recorded body where we mean to differ.
    #[track_caller]
    fn compare(
        &self,
        numbers: impl IntoIterator<Item = usize>,
        requests: &[StubRequest],
        expect: impl Fn(usize, &mut Value),
    ) {
        let numbers: Vec<usize> = numbers.into_iter().collect();
        assert_eq!(numbers.len(), requests.len(), "{requests:?}");
        for (number, ours) in numbers.into_iter().zip(requests) {
            let theirs = &self.exchanges[number - 1]["request"];
            let what = format!("exchange {number}, {} {}", ours.method, ours.target);
            assert_eq!(ours.method, theirs["method"].as_str().unwrap(), "{what}");
            assert_eq!(ours.path(), theirs["path"].as_str().unwrap(), "{what}");
            let query = theirs["query"].as_array().unwrap().iter();
            let query: Vec<String> = query
                .map(|pair| format!("{}={}", pair[0].as_str().unwrap(), pair[1].as_str().unwrap()))
                .collect();
            assert_eq!(ours.target.split_once('?').map_or("", |(_, query)| query), query.join("&"), "{what}");
            let headers: BTreeMap<String, &str> = theirs["headers"]
                .as_object()
                .unwrap()
                .iter()
                .map(|(name, value)| (name.to_ascii_lowercase(), value.as_str().unwrap()))
                .collect();
            for name in ["authorization", "accept", "content-type"] {
                assert_eq!(ours.header(name), headers.get(name).copied(), "{name} of {what}");
            }
            assert_eq!(ours.header("transfer-encoding"), None, "{what}");
            assert_eq!(
                ours.header("content-length").is_some(),
                headers.contains_key("content-length"),
                "{what}"
            );
            let body = &theirs["body"];
            match body["kind"].as_str() {
                None => assert!(ours.body.is_empty(), "{what}"),
                Some("json") => {
                    let mut expected = body["json"].clone();
                    expect(number, &mut expected);
                    let sent: Value = serde_json::from_slice(&ours.body).unwrap();
                    assert_eq!(localised(&sent, ours), expected, "{what}");
                }
                Some("ndjson") => {
                    let mut expected = body["lines"].clone();
                    expect(number, &mut expected);
                    let text = ours.text();
                    let sent: Value =
                        text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()).collect();
                    assert_eq!(sent, expected, "{what}");
                    assert_eq!(text.ends_with('\n'), body["ends_with_newline"] == true, "{what}");
                }
                Some(_) => assert!(ours.body == self.bytes(number), "the bytes of {what}"),
            }
        }
    }
}

fn localised(value: &Value, request: &StubRequest) -> Value {
    let host = request.header("host").unwrap_or_default();
    serde_json::from_str(&value.to_string().replace(host, "HOST:PORT")).unwrap()
}

fn settings(server: &StubServer, token: &str) -> Settings {
    let options = HubOptions::default()
        .endpoint(server.url(""))
        .token(Token::new(token, "HF_TOKEN"))
        .visibility(Visibility::Private)
        .wait_with(|_| {});
    Settings::new(options).unwrap()
}

fn block_on<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(work)
}

fn local(folder: &Path, name: &str, bytes: &[u8]) -> LocalFile {
    let path = folder.join(name.replace('/', "_"));
    std::fs::write(&path, bytes).unwrap();
    LocalFile::read(path, name).unwrap()
}

#[test]
fn a_dataset_is_made_and_committed_as_the_official_client_does() {
    let recording = Recording::read("lfs-create-commit");
    let server = recording.play(1..=10);
    let folder = tempfile::tempdir().unwrap();
    let card = recording.exchanges[4]["request"]["body"]["json"]["content"].as_str().unwrap();
    let table = local(folder.path(), "data/part-0.parquet", &recording.bytes(8));
    let readme = local(folder.path(), "README.md", card.as_bytes());
    let (settings, mut silent) = (settings(&server, "test-token"), |_| {});
    let session = Session::new(&settings, &mut silent).unwrap();
    block_on(async {
        assert_eq!(session.whoami().await.unwrap().name, "test-user");
        assert!(session.create(REPO).await.unwrap(), "it is new");
        assert!(!session.create(REPO).await.unwrap(), "it was there");
        let info = session.info(REPO).await.unwrap().unwrap();
        assert_eq!(info.visibility(), Some(Visibility::Private));
        session.validate_card(REPO, card).await.unwrap();
        let modes = session.preupload(REPO, &[&table, &readme]).await.unwrap();
        assert_eq!(modes, [Mode::Lfs, Mode::Regular]);
        session.upload(REPO, &table).await.unwrap();
        let changes = [Change::Lfs(&table), Change::Regular(&readme)];
        let committed = session.commit(REPO, info.sha.as_deref(), "Add run", &changes).await.unwrap();
        assert!(matches!(committed, Committed::Done));
    });
    recording.compare(1..=10, &server.requests(), |number, expected| {
        // Our commits say all in their summary.
        if number == 10 {
            assert_eq!(expected[0]["value"]["description"], "two rows");
            expected[0]["value"]["description"] = "".into();
        }
    });
}

#[test]
fn a_large_file_goes_up_in_parts_as_the_official_client_sends_it() {
    let recording = Recording::read("lfs-multipart");
    let server = recording.play(1..=11);
    let folder = tempfile::tempdir().unwrap();
    let bytes: Vec<u8> = (3..=5).flat_map(|number| recording.bytes(number)).collect();
    let (blob, copy) = (local(folder.path(), "blob.bin", &bytes), local(folder.path(), "copy.bin", &bytes));
    let (settings, mut silent) = (settings(&server, "test-token"), |_| {});
    let session = Session::new(&settings, &mut silent).unwrap();
    block_on(async {
        for (file, summary) in [(&blob, "multipart"), (&copy, "already there")] {
            session.preupload(REPO, &[file]).await.unwrap();
            session.upload(REPO, file).await.unwrap();
            session.commit(REPO, None, summary, &[Change::Lfs(file)]).await.unwrap();
        }
    });
    recording.compare(1..=11, &server.requests(), |_, _| {});
}

#[test]
fn a_stale_parent_is_told_from_an_error() {
    let recording = Recording::read("conflict-412-and-errors");
    let server = recording.play(1..=4);
    let folder = tempfile::tempdir().unwrap();
    let readme = local(folder.path(), "README.md", b"# stale\n");
    let (settings, mut silent) = (settings(&server, "test-token"), |_| {});
    let session = Session::new(&settings, &mut silent).unwrap();
    block_on(async {
        session.create(REPO).await.unwrap();
        session.validate_card(REPO, "# stale\n").await.unwrap();
        session.preupload(REPO, &[&readme]).await.unwrap();
        let parent = "f".repeat(40);
        let committed =
            session.commit(REPO, Some(&parent), "stale", &[Change::Regular(&readme)]).await.unwrap();
        assert!(matches!(committed, Committed::Stale));
    });
    recording.compare(1..=4, &server.requests(), |_, _| {});
}

#[test]
fn recorded_errors_become_words() {
    let recording = Recording::read("conflict-412-and-errors");
    let folder = tempfile::tempdir().unwrap();
    let readme = local(folder.path(), "README.md", b"# x\n");
    let server = recording.play([6]);
    let (known, mut silent) = (settings(&server, "test-token"), |_| {});
    let session = Session::new(&known, &mut silent).unwrap();
    let error = block_on(session.preupload("test-user/absent", &[&readme])).unwrap_err();
    assert!(matches!(error, HubError::Refused { status: 404, .. }), "{error}");
    assert!(error.to_string().contains("Repository not found"), "{error}");
    recording.compare([6], &server.requests(), |_, _| {});

    let server = recording.play([7]);
    let (wrong, mut silent) = (settings(&server, "wrong-token"), |_| {});
    let session = Session::new(&wrong, &mut silent).unwrap();
    let error = block_on(session.whoami()).unwrap_err();
    assert!(matches!(error, HubError::TokenRefused { .. }), "{error}");
    recording.compare([7], &server.requests(), |_, _| {});
}

/// The fields that the official client cannot do without, as its maintainers' code has it, are those that ours needs at
/// most. What tells who may see a repository is the one that ours needs besides.
#[test]
fn answers_may_lack_what_the_official_client_does_not_need() {
    let server = StubServer::in_order([
        Answer::json(r#"{"files":[{"path":"data.bin","uploadMode":"lfs"}]}"#),
        Answer::json(r#"{"objects":[{"oid":"OID","size":4}]}"#),
        Answer::json("{}"),
        Answer::json(r#"{"id":"test-user/golden-runs"}"#),
    ]);
    let folder = tempfile::tempdir().unwrap();
    let file = local(folder.path(), "data.bin", b"# x\n");
    let (settings, mut silent) = (settings(&server, "test-token"), |_| {});
    let session = Session::new(&settings, &mut silent).unwrap();
    block_on(async {
        assert_eq!(session.preupload(REPO, &[&file]).await.unwrap(), [Mode::Lfs]);
        // An object that nobody asked about is no answer.
        assert!(matches!(session.upload(REPO, &file).await, Err(HubError::Malformed { .. })));
        assert!(matches!(session.commit(REPO, None, "s", &[]).await, Ok(Committed::Done)));
        let info = session.info(REPO).await.unwrap().unwrap();
        assert_eq!((info.sha.as_deref(), info.visibility()), (None, None));
    });
}
