//! The calls of the Hub's API.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use wattspan_core::percent_decoded;

use super::digest::{base64, git_oid, sha256};
use super::state::{File, State, is_lfs};
use super::storage;
use crate::{Answer, StubRequest};

pub(super) fn answer(state: &mut State, request: &StubRequest) -> Answer {
    state.run_hooks(request);
    if let Some(fault) = state.fault(request) {
        return fault;
    }
    let path = percent_decoded(request.path());
    let parts: Vec<&str> = path.trim_start_matches('/').split('/').collect();
    if request.method == "POST" && parts == ["api", "validate-yaml"] {
        return validate(request);
    }
    let caller = state.caller(request);
    if request.header("authorization").is_some() && caller.is_none() {
        return error(401, "Invalid username or password.");
    }
    let user = caller.as_ref().map(|(user, _)| user.as_str());
    match (request.method.as_str(), parts.as_slice()) {
        ("GET", ["api", "whoami-v2"]) => match &caller {
            Some((user, role)) => whoami(state, user, role),
            None => error(401, "Invalid username or password."),
        },
        ("POST", ["api", "repos", "create"]) => create(state, request, caller.as_ref()),
        ("GET", ["api", "datasets", owner, name, rest @ ..]) => {
            let id = format!("{owner}/{name}");
            if !state.may_read(user, &id) {
                return not_found();
            }
            match rest {
                [] => info(state, &id, "main"),
                ["revision", revision] => info(state, &id, revision),
                ["tree", revision, folder @ ..] => tree(state, request, &id, revision, &folder.join("/")),
                _ => error(404, "Not found"),
            }
        }
        ("GET" | "HEAD", ["datasets", owner, name, "resolve", revision, file @ ..]) => {
            let id = format!("{owner}/{name}");
            if state.may_read(user, &id) {
                resolve(state, request, &id, revision, &file.join("/"))
            } else {
                not_found()
            }
        }
        ("POST", ["api" | "datasets", ..]) => write(state, request, &parts, caller.as_ref()),
        _ => error(404, "Not found"),
    }
}

fn write(
    state: &mut State,
    request: &StubRequest,
    parts: &[&str],
    caller: Option<&(String, String)>,
) -> Answer {
    let (owner, name) = match parts {
        ["api", "datasets", owner, name, ..] => (*owner, *name),
        ["datasets", owner, name, ..] => (*owner, name.strip_suffix(".git").unwrap_or(name)),
        _ => return error(404, "Not found"),
    };
    let id = format!("{owner}/{name}");
    if !state.may_read(caller.map(|(user, _)| user.as_str()), &id) {
        return not_found();
    }
    if !caller.is_some_and(|(user, role)| state.may_write(user, role, owner)) {
        return error(403, "Forbidden: you must use a write token to upload to a repository.");
    }
    match parts {
        [_, _, _, _, "preupload", "main"] => preupload(state, request, &id),
        [_, _, _, _, "commit", "main"] => commit(state, request, &id),
        [_, _, _, "info", "lfs", "objects", "batch"] => storage::batch(state, request, &id),
        [_, _, _, "info", "lfs", "objects", "verify"] => storage::verify(state, request),
        _ => error(404, "Not found"),
    }
}

fn whoami(state: &State, user: &str, role: &str) -> Answer {
    let teams = state.members.iter().filter(|(_, member)| member == user);
    let orgs: Vec<Value> = teams.map(|(team, _)| json!({ "name": team, "roleInOrg": "write" })).collect();
    let mut token = json!({ "displayName": "test", "role": role });
    if role == "fineGrained" {
        token["fineGrained"] = json!({ "global": [], "scoped": [
            { "entity": { "type": "user", "name": user }, "permissions": ["repo.content.read", "repo.write"] },
        ]});
    }
    ok(&json!({
        "type": "user", "name": user, "fullname": user, "orgs": orgs,
        "auth": { "type": "access_token", "accessToken": token },
    }))
}

fn create(state: &mut State, request: &StubRequest, caller: Option<&(String, String)>) -> Answer {
    let Some((user, role)) = caller else { return error(401, "Invalid username or password.") };
    let body = body(request);
    let Some(name) = body["name"].as_str() else { return error(400, "no name") };
    let namespace = body["organization"].as_str().unwrap_or(user);
    if !state.may_write(user, role, namespace) {
        return error(
            403,
            &format!("You don't have the rights to create a dataset under the namespace \"{namespace}\""),
        );
    }
    let private = match body["visibility"].as_str() {
        Some("private") => true,
        Some("public") | None => false,
        Some(_) => return error(400, "no such visibility"),
    };
    let id = format!("{namespace}/{name}");
    let url = format!("{}/datasets/{id}", state.base);
    if state.repos.contains_key(&id) {
        let said = "You already created this dataset repo";
        return error_with(409, said, &json!({ "error": said, "url": url }));
    }
    state.add_repo(&id, private, BTreeMap::new());
    ok(&json!({ "url": url, "name": id, "id": "000000000000000000000002" }))
}

fn info(state: &State, id: &str, revision: &str) -> Answer {
    let Some((oid, files)) = files_at(state, id, revision) else {
        return coded(404, "RevisionNotFound", "Invalid rev id");
    };
    let siblings: Vec<Value> = files.keys().map(|path| json!({ "rfilename": path })).collect();
    ok(&json!({
        "_id": "2", "id": id, "author": id.split('/').next(), "sha": oid,
        "lastModified": "2026-01-01T00:00:00.000Z", "createdAt": "2026-01-01T00:00:00.000Z",
        "private": state.repos[id].private, "gated": false, "disabled": false, "tags": [],
        "downloads": 0, "likes": 0, "siblings": siblings,
    }))
}

fn tree(state: &State, request: &StubRequest, id: &str, revision: &str, folder: &str) -> Answer {
    let Some((_, files)) = files_at(state, id, revision) else {
        return coded(404, "RevisionNotFound", "Invalid rev id");
    };
    let recursive = request.target.contains("recursive=true");
    let below = if folder.is_empty() { String::new() } else { format!("{folder}/") };
    let mut entries: BTreeMap<String, Value> = BTreeMap::new();
    for (path, file) in files {
        let Some(rest) = path.strip_prefix(&below) else { continue };
        match rest.split_once('/').filter(|_| !recursive) {
            Some((inner, _)) => {
                let path = format!("{below}{inner}");
                entries.insert(
                    path.clone(),
                    json!({ "type": "directory", "oid": "0", "size": 0, "path": path }),
                );
            }
            None => {
                entries.insert(path.clone(), entry(path, file));
            }
        }
    }
    if entries.is_empty() && !folder.is_empty() {
        return coded(404, "EntryNotFound", &format!("{folder} does not exist on \"main\""));
    }
    ok(&entries.into_values().collect())
}

fn entry(path: &str, file: &File) -> Value {
    let size = file.bytes.len();
    let mut entry = json!({ "type": "file", "size": size, "path": path, "oid": git_oid(&file.bytes) });
    if file.lfs {
        entry["lfs"] = json!({ "oid": sha256(&file.bytes), "size": size, "pointerSize": 130 });
    }
    entry
}

fn resolve(state: &State, request: &StubRequest, id: &str, revision: &str, path: &str) -> Answer {
    let Some((oid, files)) = files_at(state, id, revision) else {
        return coded(404, "RevisionNotFound", "Invalid rev id");
    };
    let Some(file) = files.get(path) else {
        return coded(404, "EntryNotFound", "Entry not found").header("x-repo-commit", &oid);
    };
    let (size, etag) = (file.bytes.len().to_string(), format!("\"{}\"", sha256(&file.bytes)));
    let linked = |answer: Answer| {
        answer.header("x-repo-commit", &oid).header("x-linked-size", &size).header("x-linked-etag", &etag)
    };
    if file.lfs {
        let place = format!("{}/s3/{}?X-Amz-Signature=test", state.storage, sha256(&file.bytes));
        return linked(Answer::status(302)).header("location", &place).header("etag", &etag);
    }
    let answer = linked(Answer::status(200)).header("etag", &etag);
    if request.method == "HEAD" { answer } else { answer.body(file.bytes.clone()) }
}

fn validate(request: &StubRequest) -> Answer {
    let body = body(request);
    let content = body["content"].as_str().unwrap_or_default();
    let head = content.strip_prefix("---\n").map(|rest| rest.split_once("\n---"));
    let errors = match head {
        Some(None) => json!([{ "message": "the metadata block has no end" }]),
        _ => json!([]),
    };
    ok(&json!({ "errors": errors, "warnings": [] }))
}

fn preupload(state: &State, request: &StubRequest, id: &str) -> Answer {
    let body = body(request);
    let mut files = Vec::new();
    for file in body["files"].as_array().into_iter().flatten() {
        let Some(path) = file["path"].as_str() else { return error(400, "a file without path") };
        let sample = file["sample"].as_str().and_then(base64);
        let size = file["size"].as_u64();
        match (sample, size) {
            (Some(sample), Some(size)) if sample.len() as u64 == size.min(512) => {}
            _ => return error(400, &format!("{path} has no sample of its first 512 bytes")),
        }
        let mode = if is_lfs(path) { "lfs" } else { "regular" };
        files.push(json!({ "path": path, "uploadMode": mode, "shouldIgnore": false }));
    }
    let head = files_at(state, id, "main").map(|(oid, _)| oid);
    ok(&json!({ "files": files, "commitOid": head }))
}

fn commit(state: &mut State, request: &StubRequest, id: &str) -> Answer {
    if request.header("content-type") != Some("application/x-ndjson") {
        return error(415, "Unsupported media type");
    }
    let text = request.text();
    let lines: Result<Vec<Value>, _> = text.lines().map(serde_json::from_str).collect();
    let Some((header, operations)) = lines.as_ref().ok().and_then(|lines| lines.split_first()) else {
        return error(400, "the body is not lines of JSON");
    };
    if header["key"] != "header" || !text.ends_with('\n') {
        return error(400, "the header must come first and every line must end");
    }
    let Some(summary) = header["value"]["summary"].as_str() else { return error(400, "no summary") };
    let head = files_at(state, id, "main").map(|(oid, _)| oid);
    let parent = header["value"]["parentCommit"].as_str();
    if parent.is_some() && parent != head.as_deref() {
        return error(412, "A commit has happened since. Please refresh and try again.");
    }
    let mut files = BTreeMap::new();
    for operation in operations {
        let value = &operation["value"];
        let Some(path) = value["path"].as_str() else { return error(400, "an operation without path") };
        let bytes = match operation["key"].as_str() {
            Some("file") => {
                let content = value["content"].as_str().filter(|_| value["encoding"] == "base64");
                match content.and_then(base64) {
                    Some(_) if is_lfs(path) => return error(400, &format!("{path} must be an LFS file")),
                    Some(bytes) => Some(bytes),
                    None => return error(400, "the content is not base64"),
                }
            }
            Some("lfsFile") => {
                let object = value["oid"].as_str().and_then(|oid| state.objects.get(oid));
                match object.filter(|bytes| value["size"] == bytes.len() && value["algo"] == "sha256") {
                    Some(bytes) => Some(bytes.clone()),
                    None => return error(400, &format!("{path} points to an object that is not there")),
                }
            }
            Some("deletedFile") => None,
            _ => return error(400, "no such operation"),
        };
        files.insert(path.to_owned(), bytes);
    }
    let oid = state.commit(id, summary, files);
    let url = format!("{}/datasets/{id}/commit/{oid}", state.base);
    ok(&json!({ "success": true, "commitUrl": url, "commitOid": oid, "hookOutput": "" }))
}

fn files_at<'a>(state: &'a State, id: &str, revision: &str) -> Option<(String, &'a BTreeMap<String, File>)> {
    let commits = &state.repos.get(id)?.commits;
    let commit = match revision {
        "main" => commits.last()?,
        oid => commits.iter().find(|commit| commit.oid == oid)?,
    };
    Some((commit.oid.clone(), &commit.files))
}

pub(super) fn body(request: &StubRequest) -> Value {
    serde_json::from_slice(&request.body).unwrap_or_default()
}

pub(super) fn ok(body: &Value) -> Answer {
    Answer::json(body.to_string())
}

pub(super) fn error(status: u16, said: &str) -> Answer {
    error_with(status, said, &json!({ "error": said }))
}

fn error_with(status: u16, said: &str, body: &Value) -> Answer {
    Answer::status(status)
        .header("content-type", "application/json; charset=utf-8")
        .header("x-error-message", said)
        .body(body.to_string())
}

fn coded(status: u16, code: &str, said: &str) -> Answer {
    error(status, said).header("x-error-code", code)
}

fn not_found() -> Answer {
    coded(404, "RepoNotFound", "Repository not found")
}
