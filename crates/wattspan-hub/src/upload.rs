//! Bytes of a file into the Hub's storage: in one piece or in parts, as the Hub says, and confirmed.

use std::collections::BTreeMap;

use reqwest::{Method, Url};
use serde_json::{Value, json};

use crate::api::{Action, Actions, LARGEST_ANSWER, LFS, json_body};
use crate::file::LocalFile;
use crate::options::OFFICIAL;
use crate::wire::{Answer, Backoff, Body, Request, Session};
use crate::{HubError, Progress};

/// Why the bytes are not there.
enum Broken {
    /// Another attempt, with fresh URLs, may help.
    Again(String),
    Fatal(HubError),
}

impl From<HubError> for Broken {
    fn from(error: HubError) -> Self {
        match error {
            // Storage is not the Hub: it may be well again, or be elsewhere, at the next attempt.
            HubError::Unreachable { reason, .. } => Self::Again(format!("the storage {reason}")),
            other => Self::Fatal(other),
        }
    }
}

impl Session<'_> {
    /// Puts a file where a commit can refer to it. What is there already is not sent.
    pub(crate) async fn upload(&self, repo: &str, file: &LocalFile) -> Result<(), HubError> {
        let mut backoff = Backoff::new(std::time::Duration::from_secs(1));
        let mut reason = String::new();
        for attempt in 0..ATTEMPTS {
            if attempt > 0 && !self.wait(backoff.next(), &reason).await {
                break;
            }
            let Some(actions) = self.lfs_batch(repo, file).await? else {
                self.sent(repo, file, file.size);
                return Ok(());
            };
            match self.transfer(repo, file, &actions).await {
                Ok(()) => return Ok(()),
                Err(Broken::Again(why)) => reason = why,
                Err(Broken::Fatal(error)) => return Err(error),
            }
        }
        Err(HubError::Upload { repo: repo.to_owned(), path: file.name.clone(), reason })
    }

    async fn transfer(&self, repo: &str, file: &LocalFile, actions: &Actions) -> Result<(), Broken> {
        let upload = &actions.upload;
        match upload.header.get("chunk_size") {
            None => {
                let headers = headers(upload);
                let url = self.href(&upload.href)?;
                self.put(repo, file, url, (0, file.size), &headers).await?;
            }
            Some(chunk) => self.parts(repo, file, upload, chunk).await?,
        }
        let Some(verify) = &actions.verify else { return Ok(()) };
        let body = json!({ "oid": file.sha256, "size": file.size });
        let url = self.href(&verify.href)?;
        let request = Request {
            method: Method::POST,
            // The confirmation is the Hub's; an address elsewhere gets no token.
            token: url.origin() == self.settings.endpoint.origin(),
            url,
            accept: None,
            headers: &headers(verify),
            body: json_body(&body),
            limit: LARGEST_ANSWER,
            operation: "confirm an upload to",
        };
        let answer = self.send(&request, &mut |_| {}).await?;
        match answer.status {
            _ if answer.is_success() => Ok(()),
            401 | 402 | 413 | 507 => Err(Broken::Fatal(self.failure(&answer, "confirm an upload to", repo))),
            status => Err(Broken::Again(format!("the Hub does not confirm it: {status}"))),
        }
    }

    /// Part by part; the storage's mark of each goes into the list that completes them.
    async fn parts(
        &self,
        repo: &str,
        file: &LocalFile,
        upload: &Action,
        chunk: &Value,
    ) -> Result<(), Broken> {
        let wrong = |reason: &str| Broken::Fatal(self.malformed("ask where to upload to", reason));
        let chunk = chunk.as_u64().or_else(|| chunk.as_str()?.parse().ok()).filter(|size| *size > 0);
        let chunk = chunk.ok_or_else(|| wrong("chunk_size is no size"))?;
        let urls: BTreeMap<u64, &str> = upload
            .header
            .iter()
            .filter_map(|(name, url)| Some((name.parse().ok()?, url.as_str()?)))
            .collect();
        let expected = file.size.div_ceil(chunk);
        if !urls.keys().copied().eq(1..=expected) {
            return Err(wrong("the parts' addresses are not as many as the parts"));
        }
        let mut marks = Vec::new();
        for (number, url) in urls {
            let begin = (number - 1) * chunk;
            let length = chunk.min(file.size - begin);
            let answer = self.put(repo, file, self.href(url)?, (begin, length), &[]).await?;
            let mark = answer.header("etag").filter(|mark| !mark.is_empty());
            let mark = mark.ok_or_else(|| Broken::Again(format!("part {number} has no ETag")))?;
            marks.push(json!({ "partNumber": number, "etag": mark }));
        }
        let body = json!({ "oid": file.sha256, "parts": marks }).to_string().into_bytes();
        let request = Request {
            method: Method::POST,
            url: self.href(&upload.href)?,
            token: false,
            accept: Some(LFS),
            headers: &[],
            body: Body::Text { kind: LFS, bytes: body },
            limit: LARGEST_ANSWER,
            operation: "put the parts together for",
        };
        let answer = self.send(&request, &mut |_| {}).await?;
        if answer.is_success() {
            Ok(())
        } else {
            Err(Broken::Again(format!("its parts were not put together: {}", answer.status)))
        }
    }

    /// A signed URL says all that there is to say: no token, no type.
    async fn put(
        &self,
        repo: &str,
        file: &LocalFile,
        url: Url,
        (begin, length): (u64, u64),
        headers: &[(String, String)],
    ) -> Result<Answer, Broken> {
        let request = Request {
            method: Method::PUT,
            url,
            token: false,
            accept: None,
            headers,
            body: Body::File(file.slice(begin, length)),
            limit: LARGEST_ANSWER,
            operation: "upload to",
        };
        let answer = self.send(&request, &mut |sent| self.sent(repo, file, begin + sent)).await?;
        if answer.is_success() {
            Ok(answer)
        } else {
            // 403 is a signature that has run out.
            Err(Broken::Again(format!("the storage answers {}", answer.status)))
        }
    }

    fn sent(&self, repo: &str, file: &LocalFile, sent: u64) {
        let (repo, path) = (repo.to_owned(), file.name.clone());
        self.report(Progress::Uploading { repo, path, sent, total: file.size });
    }

    /// An address that the Hub names. A mirror repeats the official one, which this machine may not reach.
    fn href(&self, href: &str) -> Result<Url, HubError> {
        let mirrored = href
            .strip_prefix(OFFICIAL)
            .filter(|path| path.starts_with('/') && !self.settings.is_official())
            .map(|path| self.url(path));
        let url = match mirrored {
            Some(url) => url,
            None => {
                Url::parse(href).map_err(|_| self.malformed("ask where to upload to", "it names no URL"))?
            }
        };
        self.settings.guard(&url)?;
        Ok(url)
    }
}

fn headers(action: &Action) -> Vec<(String, String)> {
    let text = |(name, value): (&String, &Value)| Some((name.clone(), value.as_str()?.to_owned()));
    action.header.iter().filter_map(text).collect()
}

/// Each with fresh URLs.
const ATTEMPTS: u32 = 3;
