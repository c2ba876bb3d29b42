//! What the stub remembers.

use std::collections::BTreeMap;

use super::HubEdit;
use super::digest::sha256;
use crate::{Answer, StubRequest};

/// A repository as it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct HubRepo {
    /// Whether only its owner sees it.
    pub private: bool,
    /// Its commits, the first one being that of its making.
    pub commits: Vec<HubCommit>,
    /// Its files.
    pub files: BTreeMap<String, Vec<u8>>,
}

/// A commit.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct HubCommit {
    /// Its id.
    pub oid: String,
    /// The first line of its message.
    pub summary: String,
}

#[derive(Default)]
pub(super) struct State {
    pub(super) base: String,
    pub(super) storage: String,
    /// Token to user and role.
    pub(super) tokens: BTreeMap<String, (String, String)>,
    /// Organisation and user.
    pub(super) members: Vec<(String, String)>,
    pub(super) repos: BTreeMap<String, Repo>,
    pub(super) objects: BTreeMap<String, Vec<u8>>,
    /// Parts of objects on their way: upload to number to bytes.
    pub(super) parts: BTreeMap<String, BTreeMap<u64, Vec<u8>>>,
    pub(super) part_size: u64,
    pub(super) faults: Vec<Fault>,
    pub(super) hooks: Vec<(String, String, Hook)>,
    pub(super) clock: u64,
}

pub(super) type Hook = Box<dyn FnOnce(&mut HubEdit<'_>) + Send>;

pub(super) struct Fault {
    pub(super) method: String,
    pub(super) target: String,
    pub(super) left: usize,
    pub(super) answer: Answer,
}

pub(super) struct Repo {
    pub(super) private: bool,
    pub(super) commits: Vec<Commit>,
}

pub(super) struct Commit {
    pub(super) oid: String,
    pub(super) summary: String,
    pub(super) files: BTreeMap<String, File>,
}

#[derive(Clone)]
pub(super) struct File {
    pub(super) bytes: Vec<u8>,
    pub(super) lfs: bool,
}

impl File {
    /// As the Hub's own `.gitattributes` sorts files.
    pub(super) fn of(path: &str, bytes: Vec<u8>) -> Self {
        Self { bytes, lfs: is_lfs(path) }
    }
}

/// The Hub's default `.gitattributes` for datasets, as far as tests need it.
pub(super) fn is_lfs(path: &str) -> bool {
    [".parquet", ".bin", ".arrow", ".zip"].iter().any(|ending| path.ends_with(ending))
}

impl State {
    pub(super) fn add_repo(&mut self, id: &str, private: bool, files: BTreeMap<String, Vec<u8>>) {
        self.repos.insert(id.to_owned(), Repo { private, commits: Vec::new() });
        let mut all: BTreeMap<String, Option<Vec<u8>>> =
            files.into_iter().map(|(path, bytes)| (path, Some(bytes))).collect();
        all.insert(".gitattributes".to_owned(), Some(b"*.parquet filter=lfs\n".to_vec()));
        self.commit(id, "initial commit", all);
    }

    /// Adds and removes files; answers with the new head.
    pub(super) fn commit(
        &mut self,
        id: &str,
        summary: &str,
        files: BTreeMap<String, Option<Vec<u8>>>,
    ) -> String {
        self.clock += 1;
        let oid = sha256(format!("{id} {} {summary}", self.clock).as_bytes())[..40].to_owned();
        let Some(repo) = self.repos.get_mut(id) else { return oid };
        let mut tree = repo.commits.last().map(|commit| commit.files.clone()).unwrap_or_default();
        for (path, bytes) in files {
            match bytes {
                Some(bytes) => tree.insert(path.clone(), File::of(&path, bytes)),
                None => tree.remove(&path),
            };
        }
        repo.commits.push(Commit { oid: oid.clone(), summary: summary.to_owned(), files: tree });
        oid
    }

    pub(super) fn repo(&self, id: &str) -> Option<HubRepo> {
        let repo = self.repos.get(id)?;
        let commits = repo.commits.iter();
        let files = repo.commits.last().map(|commit| &commit.files).into_iter().flatten();
        Some(HubRepo {
            private: repo.private,
            commits: commits
                .map(|commit| HubCommit { oid: commit.oid.clone(), summary: commit.summary.clone() })
                .collect(),
            files: files.map(|(path, file)| (path.clone(), file.bytes.clone())).collect(),
        })
    }

    /// What was ordered for this request instead of the true answer.
    pub(super) fn fault(&mut self, request: &StubRequest) -> Option<Answer> {
        let is_meant = |fault: &&mut Fault| {
            fault.left > 0 && fault.method == request.method && request.target.contains(&fault.target)
        };
        let fault = self.faults.iter_mut().find(is_meant)?;
        fault.left -= 1;
        Some(fault.answer.clone())
    }

    pub(super) fn run_hooks(&mut self, request: &StubRequest) {
        let found = self
            .hooks
            .iter()
            .position(|(method, target, _)| *method == request.method && request.target.contains(target));
        if let Some(found) = found {
            let (_, _, hook) = self.hooks.remove(found);
            hook(&mut HubEdit { state: self });
        }
    }

    /// The user and role of a request's token; `None` without a known one.
    pub(super) fn caller(&self, request: &StubRequest) -> Option<(String, String)> {
        let token = request.header("authorization")?.strip_prefix("Bearer ")?;
        self.tokens.get(token).cloned()
    }

    pub(super) fn may_write(&self, user: &str, role: &str, namespace: &str) -> bool {
        let is_member = self.members.iter().any(|(team, member)| team == namespace && member == user);
        match role {
            "write" => user == namespace || is_member,
            "fineGrained" => user == namespace,
            _ => false,
        }
    }

    pub(super) fn may_read(&self, user: Option<&str>, id: &str) -> bool {
        let namespace = id.split('/').next().unwrap_or_default();
        self.repos.get(id).is_some_and(|repo| {
            !repo.private
                || user.is_some_and(|user| {
                    user == namespace
                        || self.members.iter().any(|(team, member)| team == namespace && member == user)
                })
        })
    }
}
