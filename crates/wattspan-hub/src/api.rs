//! The calls of the Hub's API that a push is made of, in the form that huggingface_hub 2.4 gives them.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use reqwest::{Method, Url};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::file::LocalFile;
use crate::wire::{Answer, Body, Request, Session};
use crate::{HubError, Visibility};

/// Who a token belongs to.
#[derive(Clone, Debug, Default, Deserialize)]
pub(crate) struct Identity {
    #[serde(default)]
    pub(crate) name: String,
    #[serde(default)]
    pub(crate) orgs: Vec<Organisation>,
    #[serde(default)]
    pub(crate) auth: Auth,
}

#[derive(Clone, Debug, Default, Deserialize)]
pub(crate) struct Organisation {
    #[serde(default)]
    pub(crate) name: String,
    #[serde(default, rename = "roleInOrg")]
    pub(crate) role: Option<String>,
}

#[derive(Clone, Debug, Default, Deserialize)]
pub(crate) struct Auth {
    #[serde(default, rename = "accessToken")]
    pub(crate) token: Option<AccessToken>,
}

#[derive(Clone, Debug, Default, Deserialize)]
pub(crate) struct AccessToken {
    pub(crate) role: Option<String>,
    #[serde(default, rename = "fineGrained")]
    pub(crate) fine_grained: Option<FineGrained>,
}

#[derive(Clone, Debug, Default, Deserialize)]
pub(crate) struct FineGrained {
    #[serde(default)]
    pub(crate) scoped: Vec<Scope>,
}

#[derive(Clone, Debug, Default, Deserialize)]
pub(crate) struct Scope {
    #[serde(default)]
    pub(crate) entity: Entity,
    #[serde(default)]
    pub(crate) permissions: Vec<String>,
}

#[derive(Clone, Debug, Default, Deserialize)]
pub(crate) struct Entity {
    #[serde(default)]
    pub(crate) name: Option<String>,
}

/// A repository as it stands.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Info {
    pub(crate) sha: Option<String>,
    private: Option<bool>,
}

impl Info {
    pub(crate) const fn visibility(&self) -> Option<Visibility> {
        match self.private {
            Some(true) => Some(Visibility::Private),
            Some(false) => Some(Visibility::Public),
            None => None,
        }
    }
}

/// A file of a repository.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Entry {
    #[serde(rename = "type")]
    kind: String,
    pub(crate) path: String,
    oid: String,
    lfs: Option<Pointer>,
}

#[derive(Clone, Debug, Deserialize)]
struct Pointer {
    oid: String,
}

impl Entry {
    /// Whether it has this content.
    pub(crate) fn is(&self, file: &LocalFile) -> bool {
        match &self.lfs {
            Some(pointer) => pointer.oid == file.sha256,
            None => self.oid == file.git_oid,
        }
    }
}

/// How a file goes up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Mode {
    Lfs,
    Regular,
}

#[derive(Deserialize)]
struct Preuploads {
    files: Vec<Preupload>,
}

#[derive(Deserialize)]
struct Preupload {
    path: String,
    #[serde(rename = "uploadMode")]
    mode: Mode,
    #[serde(default, rename = "shouldIgnore")]
    ignore: bool,
}

#[derive(Deserialize)]
struct Batch {
    objects: Vec<Object>,
}

#[derive(Deserialize)]
struct Object {
    oid: String,
    actions: Option<Actions>,
    error: Option<ObjectError>,
}

#[derive(Deserialize)]
struct ObjectError {
    code: Option<u16>,
    message: Option<String>,
}

/// Where the bytes of an object go.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Actions {
    pub(crate) upload: Action,
    pub(crate) verify: Option<Action>,
}

#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Action {
    pub(crate) href: String,
    #[serde(default)]
    pub(crate) header: serde_json::Map<String, Value>,
}

/// What becomes of a file in a commit.
pub(crate) enum Change<'a> {
    Lfs(&'a LocalFile),
    Regular(&'a LocalFile),
    Delete(&'a str),
}

/// What came of a commit.
pub(crate) enum Committed {
    Done,
    /// Someone else's came first.
    Stale,
}

impl Session<'_> {
    /// # Errors
    /// [`HubError::NoToken`] without one, [`HubError::TokenRefused`] with a wrong one.
    pub(crate) async fn whoami(&self) -> Result<Identity, HubError> {
        if self.settings.bearer.is_none() {
            return Err(HubError::NoToken);
        }
        let operation = "ask whose token this is";
        let answer = self.call(Method::GET, "/api/whoami-v2", Body::Nothing, operation).await?;
        self.json(&answer, operation, "the token")
    }

    /// Makes a repository; answers whether it was not there before.
    pub(crate) async fn create(&self, repo: &str) -> Result<bool, HubError> {
        let (organization, name) = repo.split_once('/').unwrap_or(("", repo));
        let body = json!({
            "name": name,
            "organization": organization,
            "visibility": self.settings.options.visibility.to_string(),
            "type": "dataset",
        });
        let answer = self.call(Method::POST, "/api/repos/create", json_body(&body), CREATE).await?;
        match answer.status {
            409 => Ok(false),
            _ if answer.is_success() => Ok(true),
            _ => Err(self.failure(&answer, CREATE, repo)),
        }
    }

    /// A repository's head and visibility; `None` when it is not there or the token may not see it.
    pub(crate) async fn info(&self, repo: &str) -> Result<Option<Info>, HubError> {
        let operation = "look at";
        let answer =
            self.call(Method::GET, &format!("/api/datasets/{repo}"), Body::Nothing, operation).await?;
        if answer.status == 404 {
            return Ok(None);
        }
        self.json(&answer, operation, repo).map(Some)
    }

    /// The files of a repository. The first thousand, of which ours have five.
    pub(crate) async fn tree(&self, repo: &str, revision: &str) -> Result<Vec<Entry>, HubError> {
        let operation = "list the files of";
        let path = format!("/api/datasets/{repo}/tree/{revision}?recursive=true&expand=false");
        let answer = self.call(Method::GET, &path, Body::Nothing, operation).await?;
        let entries: Vec<Entry> = self.json(&answer, operation, repo)?;
        Ok(entries.into_iter().filter(|entry| entry.kind == "file").collect())
    }

    /// A file of a repository. Storage elsewhere, to which the Hub may send us, does not get the token.
    pub(crate) async fn download(&self, repo: &str, revision: &str, path: &str) -> Result<Vec<u8>, HubError> {
        let operation = "download from";
        let mut url = self.url(&format!("/datasets/{repo}/resolve/{revision}"));
        if let Ok(mut segments) = url.path_segments_mut() {
            segments.extend(path.split('/'));
        }
        let mut token = true;
        for _ in 0..REDIRECTS {
            let request = Request {
                method: Method::GET,
                url: url.clone(),
                token,
                accept: None,
                headers: &[],
                body: Body::Nothing,
                limit: LARGEST_FILE,
                operation,
            };
            let answer = self.send(&request, &mut |_| {}).await?;
            match (answer.status, answer.header("location")) {
                (300..=399, Some(location)) => {
                    // A path alone stays with the Hub; a whole URL is signed and goes elsewhere.
                    token = token && location.starts_with('/') && !location.starts_with("//");
                    url =
                        url.join(location).map_err(|_| self.malformed(operation, "it sends us to no URL"))?;
                    self.settings.guard(&url)?;
                }
                _ if answer.is_success() => return Ok(answer.body),
                _ => return Err(self.failure(&answer, operation, repo)),
            }
        }
        Err(self.malformed(operation, "it sends us around in circles"))
    }

    /// Whether the Hub can read the head of a card.
    pub(crate) async fn validate_card(&self, repo: &str, card: &str) -> Result<(), HubError> {
        let operation = "check the card of";
        let body = json!({ "content": card, "repoType": "dataset" });
        let answer = self.call(Method::POST, "/api/validate-yaml", json_body(&body), operation).await?;
        let found: Value = match self.json(&answer, operation, repo) {
            Ok(found) => found,
            // A Hub that does not know this call says so at the commit.
            Err(HubError::Refused { status: 404, .. }) => return Ok(()),
            Err(error) => return Err(error),
        };
        match found["errors"].as_array().and_then(|errors| errors.first()) {
            None => Ok(()),
            Some(error) => Err(HubError::Refused {
                operation: "take the card of",
                target: repo.to_owned(),
                status: answer.status,
                said: error["message"].as_str().unwrap_or("no reason given").to_owned(),
            }),
        }
    }

    /// How each file goes up, in the order of the files.
    pub(crate) async fn preupload(&self, repo: &str, files: &[&LocalFile]) -> Result<Vec<Mode>, HubError> {
        let operation = "announce files to";
        let described: Vec<Value> = files
            .iter()
            .map(
                |file| json!({ "path": file.name, "sample": BASE64.encode(&file.sample), "size": file.size }),
            )
            .collect();
        let path = format!("/api/datasets/{repo}/preupload/main");
        let body = json_body(&json!({ "files": described }));
        let answer = self.call(Method::POST, &path, body, operation).await?;
        let known: Preuploads = self.json(&answer, operation, repo)?;
        let mode = |file: &&LocalFile| {
            let found = known.files.iter().find(|known| known.path == file.name);
            let found =
                found.ok_or_else(|| self.malformed(operation, format!("{} is missing", file.name)))?;
            if found.ignore {
                return Err(HubError::Refused {
                    operation: "take files for",
                    target: repo.to_owned(),
                    status: answer.status,
                    said: format!("its .gitignore leaves {} out", file.name),
                });
            }
            // The Hub has no empty objects: such files go with the commit.
            Ok(if file.size == 0 { Mode::Regular } else { found.mode })
        };
        files.iter().map(mode).collect()
    }

    /// Where an object goes; `None` when it is there already.
    pub(crate) async fn lfs_batch(&self, repo: &str, file: &LocalFile) -> Result<Option<Actions>, HubError> {
        let operation = "ask where to upload to for";
        let body = json!({
            "operation": "upload",
            "transfers": ["basic", "multipart"],
            "objects": [{ "oid": file.sha256, "size": file.size }],
            "hash_algo": "sha256",
            "ref": { "name": "main" },
        });
        let request = Request {
            method: Method::POST,
            url: self.url(&format!("/datasets/{repo}.git/info/lfs/objects/batch")),
            token: true,
            accept: Some(LFS),
            headers: &[],
            body: Body::Text { kind: LFS, bytes: body.to_string().into_bytes() },
            limit: LARGEST_ANSWER,
            operation,
        };
        let answer = self.send(&request, &mut |_| {}).await?;
        let batch: Batch = self.json(&answer, operation, repo)?;
        let object = batch.objects.into_iter().find(|object| object.oid == file.sha256);
        let object = object.ok_or_else(|| self.malformed(operation, "the object is missing"))?;
        match object.error {
            None => Ok(object.actions),
            Some(error) => {
                let said = json!({ "error": error.message.unwrap_or_default() }).to_string().into_bytes();
                let status = error.code.unwrap_or(422);
                let answer = Answer { status, headers: answer.headers, body: said };
                Err(self.failure(&answer, "upload to", repo))
            }
        }
    }

    pub(crate) async fn commit(
        &self,
        repo: &str,
        parent: Option<&str>,
        summary: &str,
        changes: &[Change<'_>],
    ) -> Result<Committed, HubError> {
        let mut header = json!({ "summary": summary, "description": "" });
        if let Some(parent) = parent {
            header["parentCommit"] = parent.into();
        }
        let mut lines = json!({ "key": "header", "value": header }).to_string();
        lines.push('\n');
        for change in changes {
            let line = match change {
                Change::Lfs(file) => json!({ "key": "lfsFile", "value": {
                    "path": file.name, "algo": "sha256", "oid": file.sha256, "size": file.size,
                }}),
                Change::Regular(file) => json!({ "key": "file", "value": {
                    "content": BASE64.encode(file.bytes()?), "path": file.name, "encoding": "base64",
                }}),
                Change::Delete(path) => json!({ "key": "deletedFile", "value": { "path": path } }),
            };
            lines.push_str(&line.to_string());
            lines.push('\n');
        }
        let path = format!("/api/datasets/{repo}/commit/main");
        let body = Body::Text { kind: "application/x-ndjson", bytes: lines.into_bytes() };
        let answer = self.call(Method::POST, &path, body, COMMIT).await?;
        match answer.status {
            409 | 412 => Ok(Committed::Stale),
            _ if answer.is_success() => Ok(Committed::Done),
            _ => Err(self.failure(&answer, COMMIT, repo)),
        }
    }

    pub(crate) fn url(&self, path: &str) -> Url {
        self.settings.url(path)
    }

    async fn call(
        &self,
        method: Method,
        path: &str,
        body: Body,
        operation: &'static str,
    ) -> Result<Answer, HubError> {
        let request = Request {
            method,
            url: self.url(path),
            token: true,
            accept: None,
            headers: &[],
            body,
            limit: LARGEST_ANSWER,
            operation,
        };
        self.send(&request, &mut |_| {}).await
    }

    fn json<T: DeserializeOwned>(
        &self,
        answer: &Answer,
        operation: &'static str,
        target: &str,
    ) -> Result<T, HubError> {
        if !answer.is_success() {
            return Err(self.failure(answer, operation, target));
        }
        serde_json::from_slice(&answer.body).map_err(|error| self.malformed(operation, error.to_string()))
    }
}

pub(crate) fn json_body(body: &Value) -> Body {
    Body::Text { kind: "application/json", bytes: body.to_string().into_bytes() }
}

pub(crate) const LFS: &str = "application/vnd.git-lfs+json";
/// Answers are a few kilobytes; a list of a thousand files is some hundred.
pub(crate) const LARGEST_ANSWER: usize = 4 << 20;
/// Of a leaderboard, which is read into memory: some hundred thousand runs.
const LARGEST_FILE: usize = 256 << 20;
const REDIRECTS: usize = 5;
const CREATE: &str = "create";
const COMMIT: &str = "commit to";
