//! LFS objects: where they go, the bytes themselves, and their confirmation.

use serde_json::{Value, json};

use super::digest::sha256;
use super::routes::{body, error, ok};
use super::state::State;
use crate::{Answer, StubRequest};

pub(super) fn batch(state: &State, request: &StubRequest, id: &str) -> Answer {
    const LFS: &str = "application/vnd.git-lfs+json";
    if request.header("accept") != Some(LFS) || request.header("content-type") != Some(LFS) {
        return error(415, "Unsupported media type");
    }
    let body = body(request);
    let takes = |transfer: &str| {
        body["transfers"].as_array().is_some_and(|known| known.iter().any(|name| name == transfer))
    };
    let mut objects = Vec::new();
    let mut transfer = "basic";
    for object in body["objects"].as_array().into_iter().flatten() {
        let (Some(oid), Some(size)) = (object["oid"].as_str(), object["size"].as_u64()) else {
            return error(422, "an object without oid or size");
        };
        let mut answer = json!({ "oid": oid, "size": size });
        if !state.objects.contains_key(oid) {
            let in_parts = state.part_size > 0 && size > state.part_size && takes("multipart");
            let upload = if in_parts { parts(state, oid, size) } else { whole(state, oid) };
            if in_parts {
                transfer = "multipart";
            }
            let verify = format!("{}/datasets/{id}.git/info/lfs/objects/verify", state.base);
            answer["actions"] = json!({ "upload": upload, "verify": { "href": verify, "header": {} } });
        }
        objects.push(answer);
    }
    ok(&json!({ "transfer": transfer, "objects": objects }))
}

fn whole(state: &State, oid: &str) -> Value {
    let href = format!("{}/s3/{oid}?X-Amz-Signature=test", state.storage);
    json!({ "href": href, "header": {}, "expires_in": 900 })
}

fn parts(state: &State, oid: &str, size: u64) -> Value {
    let mut header = serde_json::Map::new();
    header.insert("chunk_size".to_owned(), state.part_size.to_string().into());
    for number in 1..=size.div_ceil(state.part_size) {
        let href = format!("{}/s3/{oid}?partNumber={number}&X-Amz-Signature=test", state.storage);
        header.insert(format!("{number:05}"), href.into());
    }
    let href = format!("{}/complete?uploadId=test&oid={oid}", state.storage);
    json!({ "href": href, "header": header, "expires_in": 86_400 })
}

/// Storage knows signatures and no tokens.
pub(super) fn answer(state: &mut State, request: &StubRequest) -> Answer {
    state.run_hooks(request);
    if let Some(fault) = state.fault(request) {
        return fault;
    }
    if request.header("authorization").is_some() {
        return error(400, "Only one auth mechanism allowed");
    }
    let parts: Vec<&str> = request.path().trim_start_matches('/').split('/').collect();
    match (request.method.as_str(), parts.as_slice()) {
        ("PUT", ["s3", oid]) => put(state, request, oid),
        ("GET" | "HEAD", ["s3", oid]) => {
            match state.objects.get(*oid).cloned().or_else(|| stored(state, oid)) {
                Some(_) if request.method == "HEAD" => Answer::status(200),
                Some(bytes) => Answer::status(200).body(bytes),
                None => error(404, "NoSuchKey"),
            }
        }
        ("POST", ["complete"]) => complete(state, request),
        _ => error(405, "MethodNotAllowed"),
    }
}

/// Files that were in a repository from the start have no object of their own.
fn stored(state: &State, oid: &str) -> Option<Vec<u8>> {
    let commits = state.repos.values().flat_map(|repo| &repo.commits);
    let mut files = commits.flat_map(|commit| commit.files.values());
    files.find(|file| file.lfs && sha256(&file.bytes) == oid).map(|file| file.bytes.clone())
}

fn put(state: &mut State, request: &StubRequest, oid: &str) -> Answer {
    if request.header("content-length").is_none() {
        return error(411, "MissingContentLength");
    }
    if !request.target.contains("X-Amz-Signature=test") || request.header("content-type").is_some() {
        return error(403, "SignatureDoesNotMatch");
    }
    let etag = format!("\"{}\"", &sha256(&request.body)[..32]);
    match query(request, "partNumber").map(str::parse) {
        None => {
            if sha256(&request.body) != oid {
                return error(400, "BadDigest");
            }
            state.objects.insert(oid.to_owned(), request.body.clone());
        }
        Some(Ok(number)) => {
            state.parts.entry(oid.to_owned()).or_default().insert(number, request.body.clone());
        }
        Some(Err(_)) => return error(400, "InvalidPart"),
    }
    Answer::status(200).header("etag", &etag)
}

fn complete(state: &mut State, request: &StubRequest) -> Answer {
    let body = body(request);
    let Some(oid) = query(request, "oid").filter(|oid| body["oid"] == *oid).map(str::to_owned) else {
        return error(400, "NoSuchUpload");
    };
    let Some(parts) = state.parts.remove(&oid) else { return error(404, "NoSuchUpload") };
    let listed = body["parts"].as_array().map(Vec::as_slice).unwrap_or_default();
    let is_whole = listed.len() == parts.len()
        && listed.iter().zip(&parts).all(|(part, (number, bytes))| {
            part["partNumber"] == *number && part["etag"] == format!("\"{}\"", &sha256(bytes)[..32])
        });
    let bytes: Vec<u8> = parts.into_values().flatten().collect();
    if !is_whole || sha256(&bytes) != oid {
        return error(400, "InvalidPart");
    }
    state.objects.insert(oid, bytes);
    ok(&json!({ "success": true, "signedUrl": null }))
}

pub(super) fn verify(state: &State, request: &StubRequest) -> Answer {
    let body = body(request);
    let object = body["oid"].as_str().and_then(|oid| state.objects.get(oid));
    match object {
        Some(bytes) if body["size"] == bytes.len() => Answer::status(200).body("OK"),
        _ => error(404, "Object does not exist"),
    }
}

fn query<'a>(request: &'a StubRequest, name: &str) -> Option<&'a str> {
    let (_, query) = request.target.split_once('?')?;
    query
        .split('&')
        .find_map(|pair| pair.split_once('=').filter(|(known, _)| *known == name))
        .map(|(_, value)| value)
}
