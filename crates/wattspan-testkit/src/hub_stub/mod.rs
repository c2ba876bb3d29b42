//! A Hugging Face Hub on loopback that keeps state: users, repositories, commits, LFS objects, and faults on demand.
//!
//! It knows the calls that pushing and loading datasets are made of, with the shapes and words of the real Hub, and is
//! strict where the real one is: an object must have the bytes that its name promises, a commit must name objects that
//! are there and the head as its parent, and a signed URL takes no token.

mod digest;
mod routes;
mod state;
mod storage;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use crate::fakes::lock;
use crate::{Answer, StubRequest, StubServer};

use state::State;
pub use state::{HubCommit, HubRepo};

/// A stateful stand-in for the Hugging Face Hub. Dropping it stops it.
///
/// ```
/// use wattspan_testkit::hub_stub::HubStub;
///
/// let hub = HubStub::start();
/// hub.add_token("t-write", "ada", "write");
/// hub.add_repo("ada/runs", true, [("README.md", b"# runs\n".to_vec())]);
/// assert_eq!(hub.repo("ada/runs").unwrap().files["README.md"], b"# runs\n");
/// ```
pub struct HubStub {
    server: StubServer,
    /// Another host, as in life: clients keep a token that they should not give it.
    storage: StubServer,
    state: Arc<Mutex<State>>,
}

impl HubStub {
    /// An empty Hub. Without tokens it lets nobody in.
    ///
    /// # Panics
    /// When loopback has no free port.
    pub fn start() -> Self {
        let state = Arc::new(Mutex::new(State::default()));
        let server = StubServer::new({
            let state = Arc::clone(&state);
            move |request| routes::answer(&mut lock(&state), request)
        });
        let storage = StubServer::new({
            let state = Arc::clone(&state);
            move |request| storage::answer(&mut lock(&state), request)
        });
        lock(&state).base = server.url("");
        lock(&state).storage = storage.url("");
        Self { server, storage, state }
    }

    /// Its address, for `HF_ENDPOINT`.
    pub fn url(&self) -> String {
        self.server.url("")
    }

    /// Lets a token in. `role` is `read`, `write` or `fineGrained`; the last has `repo.write` for its own user.
    pub fn add_token(&self, token: &str, user: &str, role: &str) {
        lock(&self.state).tokens.insert(token.to_owned(), (user.to_owned(), role.to_owned()));
    }

    /// Makes a user a member of an organisation, where they may write.
    pub fn add_member(&self, organisation: &str, user: &str) {
        lock(&self.state).members.push((organisation.to_owned(), user.to_owned()));
    }

    /// Makes a repository with files, as others would have left it.
    pub fn add_repo<P: Into<String>>(
        &self,
        id: &str,
        private: bool,
        files: impl IntoIterator<Item = (P, Vec<u8>)>,
    ) {
        let files = files.into_iter().map(|(path, bytes)| (path.into(), bytes)).collect();
        lock(&self.state).add_repo(id, private, files);
    }

    /// A repository as it stands.
    pub fn repo(&self, id: &str) -> Option<HubRepo> {
        lock(&self.state).repo(id)
    }

    /// The names of all repositories.
    pub fn repos(&self) -> Vec<String> {
        lock(&self.state).repos.keys().cloned().collect()
    }

    /// Changes who may see a repository.
    pub fn set_private(&self, id: &str, private: bool) {
        if let Some(repo) = lock(&self.state).repos.get_mut(id) {
            repo.private = private;
        }
    }

    /// Commits a file as somebody else would, at any moment.
    pub fn commit_from_elsewhere(&self, id: &str, path: &str, bytes: impl Into<Vec<u8>>) {
        let files = BTreeMap::from([(path.to_owned(), Some(bytes.into()))]);
        lock(&self.state).commit(id, "someone else's", files);
    }

    /// Objects larger than this go up in parts of this size.
    pub fn part_size(&self, bytes: u64) {
        lock(&self.state).part_size = bytes;
    }

    /// Where uploads go instead of the stub's own storage, such as one that fails.
    pub fn storage(&self, base: &str) {
        base.clone_into(&mut lock(&self.state).storage);
    }

    /// Answers the next so many requests of a method whose target contains a text with this instead.
    pub fn fail(&self, method: &str, target: &str, times: usize, answer: Answer) {
        lock(&self.state).faults.push(state::Fault {
            method: method.to_owned(),
            target: target.to_owned(),
            left: times,
            answer,
        });
    }

    /// Runs an action before the next request of a method whose target contains a text is answered.
    pub fn before(&self, method: &str, target: &str, action: impl FnOnce(&mut HubEdit<'_>) + Send + 'static) {
        lock(&self.state).hooks.push((method.to_owned(), target.to_owned(), Box::new(action)));
    }

    /// All requests that have come in whole, but for those of its storage.
    pub fn requests(&self) -> Vec<StubRequest> {
        self.server.requests()
    }

    /// All requests of its storage that have come in whole.
    pub fn storage_requests(&self) -> Vec<StubRequest> {
        self.storage.requests()
    }

    /// The stored LFS objects, by name.
    pub fn objects(&self) -> Vec<String> {
        lock(&self.state).objects.keys().cloned().collect()
    }
}

impl std::fmt::Debug for HubStub {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Without the state, which has tokens.
        out.debug_struct("HubStub").field("server", &self.server).finish_non_exhaustive()
    }
}

/// What an action before a request may change.
pub struct HubEdit<'a> {
    state: &'a mut State,
}

impl HubEdit<'_> {
    /// Commits a file as somebody else would.
    pub fn commit(&mut self, id: &str, path: &str, bytes: impl Into<Vec<u8>>) {
        self.state.commit(id, "someone else's", BTreeMap::from([(path.to_owned(), Some(bytes.into()))]));
    }

    /// Changes who may see a repository.
    pub fn set_private(&mut self, id: &str, private: bool) {
        if let Some(repo) = self.state.repos.get_mut(id) {
            repo.private = private;
        }
    }
}

impl std::fmt::Debug for HubEdit<'_> {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("HubEdit").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
