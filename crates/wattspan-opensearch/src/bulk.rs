//! Documents on their way: gathered, sent, and each followed until it is stored or refused.

use std::collections::HashSet;
use std::hash::{BuildHasher as _, RandomState};
use std::time::{Duration, Instant};

use bytes::Bytes;
use reqwest::Method;
use wattspan_core::RunId;

use crate::client::{Answer, Body, Client, Request};
use crate::options::{Bulk, Options};
use crate::refused::RefusedFile;
use crate::response::{BulkAnswer, Fault, Item, Verdict};
use crate::{Error, Progress};

/// The documents of one run.
pub(crate) struct Queue {
    bounds: Bulk,
    waiting: Waiting,
    pub(crate) refused: RefusedFile,
    pub(crate) progress: Progress,
}

/// Called after each answer.
pub(crate) type Notify = Box<dyn FnMut(&Progress) + Send>;

/// Documents as they will be sent: for each an action, its text, and where it ends.
#[derive(Default)]
struct Waiting {
    body: Lines,
    ends: Vec<usize>,
    /// Hashes of what is in it.
    known: HashSet<u64>,
    hasher: RandomState,
    /// When the first came.
    since: Option<Instant>,
}

/// Text that is added to, and shared with a request without a copy.
#[derive(Default)]
struct Lines {
    text: Vec<u8>,
    /// Instead of the other while there is one.
    shared: Option<Bytes>,
}

impl Queue {
    pub(crate) fn new(options: &Options, run: &RunId) -> Self {
        Self {
            bounds: options.bulk,
            waiting: Waiting::default(),
            refused: RefusedFile::new(&options.refused, run),
            progress: Progress::default(),
        }
    }

    /// A document's name here.
    pub(crate) fn key(&self, index: &str, id: &str) -> u64 {
        self.waiting.hasher.hash_one((index, id))
    }

    /// Whether to [flush](Self::flush) before the next document: there are enough, or the same one waits already. Of two
    /// versions the later one must win also when the server takes the earlier one only at its second try.
    pub(crate) fn is_full(&self, next: u64) -> bool {
        self.waiting.body.len() >= self.bounds.bytes
            || self.waiting.ends.len() >= self.bounds.documents
            || self.waiting.known.contains(&next)
    }

    /// Whether there are enough, or the first has waited long enough.
    pub(crate) fn is_ripe(&self) -> bool {
        self.waiting.body.len() >= self.bounds.bytes
            || self.waiting.ends.len() >= self.bounds.documents
            || self.waiting.since.is_some_and(|since| since.elapsed() >= LONGEST_WAIT)
    }

    /// Adds a document: `write` appends its lines, each with its end.
    pub(crate) fn push(&mut self, key: u64, write: impl FnOnce(&mut Vec<u8>)) {
        let waiting = &mut self.waiting;
        waiting.known.insert(key);
        waiting.since.get_or_insert_with(Instant::now);
        let body = waiting.body.open();
        write(body);
        let end = body.len();
        waiting.ends.push(end);
        self.progress.taken += 1;
    }

    /// Sends what waits until each document is stored or refused. After an error what is left still waits.
    pub(crate) async fn flush(&mut self, client: &Client, notify: &mut Option<Notify>) -> Result<(), Error> {
        let mut tries = 0;
        // Fewer after the server said that a request is too large.
        let mut most = usize::MAX;
        while !self.waiting.ends.is_empty() {
            let count = most.min(self.waiting.ends.len());
            let outcome = {
                // Given back before documents are added again: then there is no copy.
                let lines = self.waiting.first(count);
                let body = Body::Lines(&lines);
                client.once(&Request { operation: STORE, method: Method::POST, path: BULK, body }).await
            };
            let trouble = match outcome {
                Err(error) => Some(error),
                Ok(answer) => {
                    self.progress.requests += 1;
                    self.progress.bytes += answer.sent;
                    if answer.status == 413 && count > 1 {
                        most = count / 2;
                        continue;
                    }
                    let is_last_try = tries >= client.retry.times;
                    let trouble = self.settle(client, &answer, count, is_last_try)?;
                    if let Some(notify) = notify {
                        notify(&self.progress);
                    }
                    trouble
                }
            };
            match trouble {
                None => tries = 0,
                Some(error) => {
                    client.wait(&mut tries, error).await?;
                    self.progress.retries += most.min(self.waiting.ends.len()) as u64;
                }
            }
        }
        Ok(())
    }

    /// Takes out what is stored or refused. Answers why some are still there, if they should be sent again.
    fn settle(
        &mut self,
        client: &Client,
        answer: &Answer,
        count: usize,
        is_last_try: bool,
    ) -> Result<Option<Error>, Error> {
        let items = match answer.status {
            200..=299 => match serde_json::from_slice::<BulkAnswer>(&answer.body) {
                Ok(answer) if answer.items.len() == count => answer.items,
                // What was stored is not known: all of it is sent again, and ids keep it from being stored twice.
                _ => {
                    return Ok(Some(Error::Unreachable {
                        endpoint: client.endpoint.clone(),
                        operation: STORE,
                        reason: "the answer does not say what became of each document".to_owned(),
                    }));
                }
            },
            413 => {
                let reason = "larger than any request that the server takes (http.max_content_length)";
                let fault = Fault { kind: "content_too_long".to_owned(), reason: reason.to_owned() };
                vec![Item { status: 413, fault: Some(fault) }]
            }
            _ if answer.is_busy() => return Ok(Some(client.refusal(STORE, answer))),
            _ => return Err(client.refusal(STORE, answer)),
        };
        let mut left = Vec::new();
        let (mut again, mut blocked) = (None, None);
        let (mut stored, mut refused) = (0, 0);
        for (index, item) in items.iter().enumerate() {
            let mut verdict = item.verdict();
            // A fault of the server's own with this one document: it would hold up all others for ever.
            if verdict == Verdict::Again && is_last_try && item.status == 500 {
                verdict = Verdict::Refused;
            }
            match verdict {
                Verdict::Stored => stored += 1,
                Verdict::Refused => {
                    let fault = item.fault.clone().unwrap_or_default();
                    let kept = self.refused.keep(item.status, &fault, self.waiting.document(index));
                    kept.map_err(|error| Error::File {
                        path: self.refused.path().to_owned(),
                        reason: error.to_string(),
                    })?;
                    refused += 1;
                }
                Verdict::Again => {
                    left.push(index);
                    again.get_or_insert(item);
                }
                Verdict::Blocked => {
                    left.push(index);
                    blocked.get_or_insert(item);
                }
            }
        }
        self.waiting.keep(&left, count);
        self.progress.stored += stored;
        self.progress.refused += refused;
        let reason = |item: &Item| item.fault.as_ref().map_or_else(String::new, Fault::summary);
        if let Some(item) = blocked {
            return Err(Error::Denied {
                endpoint: client.endpoint.clone(),
                operation: STORE,
                status: item.status,
                remedy: format!("{}; have the right granted, or the block lifted", reason(item)),
            });
        }
        Ok(again.map(|item| Error::Busy {
            endpoint: client.endpoint.clone(),
            operation: STORE,
            status: item.status,
            after: None,
        }))
    }
}

impl Waiting {
    /// The lines of the first so many documents.
    fn first(&mut self, count: usize) -> Bytes {
        let end = count.checked_sub(1).and_then(|last| self.ends.get(last)).copied().unwrap_or(0);
        self.body.share().slice(..end)
    }

    fn document(&self, index: usize) -> &[u8] {
        let begin = index.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.body.bytes()[begin..self.ends[index]]
    }

    /// Keeps those of the first `count` that `left` names, and all behind them.
    fn keep(&mut self, left: &[usize], count: usize) {
        if left.is_empty() && count == self.ends.len() {
            self.body.open().clear();
            self.ends.clear();
            self.known.clear();
            self.since = None;
            return;
        }
        let (mut body, mut ends) = (Vec::new(), Vec::new());
        for index in left.iter().copied().chain(count..self.ends.len()) {
            body.extend_from_slice(self.document(index));
            ends.push(body.len());
        }
        // Hashes of those that left stay until all have: they cost no more than an early request.
        self.body = Lines { text: body, shared: None };
        self.ends = ends;
    }
}

impl Lines {
    fn bytes(&self) -> &[u8] {
        self.shared.as_deref().unwrap_or(&self.text)
    }

    fn len(&self) -> usize {
        self.bytes().len()
    }

    /// To be added to. A copy only while a request still has it.
    fn open(&mut self) -> &mut Vec<u8> {
        if let Some(shared) = self.shared.take() {
            self.text = Vec::from(shared);
        }
        &mut self.text
    }

    fn share(&mut self) -> Bytes {
        self.shared.get_or_insert_with(|| Bytes::from(std::mem::take(&mut self.text))).clone()
    }
}

const STORE: &str = "store documents";
/// Of each item only what is read here: an answer's default is larger than many a document.
const BULK: &str = "/_bulk?filter_path=items.*.status,items.*.error";
/// Rows that trickle in are seen in dashboards after this time, when the next one comes.
const LONGEST_WAIT: Duration = Duration::from_secs(5);
