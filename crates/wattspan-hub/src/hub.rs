//! The entry: settings that were checked once, and calls that run on a thread of their own.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;

use reqwest::Url;
use reqwest::header::HeaderValue;
use tokio::sync::oneshot;

use crate::names::{Names, is_name};
use crate::options::OFFICIAL;
use crate::wire::{Session, host, is_loopback, without_userinfo};
use crate::{Finding, HubError, HubOptions, Progress, PushError, Pushed, check, push, stage};

/// The Hub, as one user sees it. Clones share their settings.
///
/// Its calls block: each does its work on a thread with a runtime of its own, so that they can be made from anywhere.
#[derive(Clone)]
pub struct Hub {
    settings: Arc<Settings>,
}

/// Options that were found to make sense.
pub(crate) struct Settings {
    pub(crate) options: HubOptions,
    pub(crate) endpoint: Url,
    pub(crate) bearer: Option<HeaderValue>,
}

impl Hub {
    /// Checks the options. Nothing is sent, and a token is not needed yet.
    ///
    /// # Errors
    /// When an option does not make sense, or the token would go over plain HTTP to another machine.
    pub fn new(options: HubOptions) -> Result<Self, HubError> {
        Settings::new(options).map(|settings| Self { settings: Arc::new(settings) })
    }

    /// Pushes the finished run in a folder: three repositories of its own, and its row in the leaderboard.
    ///
    /// What is there already is not sent again, so that a push that broke off can be repeated; a run that is pushed twice
    /// changes nothing. The folder is only read.
    ///
    /// # Errors
    /// When anything is in the way. The error names the folder and how to push again.
    pub fn push(
        &self,
        folder: &Path,
        progress: &mut (dyn FnMut(Progress) + Send),
    ) -> Result<Pushed, PushError> {
        let mut done = Vec::new();
        let settings = &*self.settings;
        let pushed = blocking(|| async {
            let session = Session::new(settings, progress)?;
            push::push(&session, folder, &mut done).await
        });
        pushed.map_err(|source| PushError {
            folder: folder.to_owned(),
            pushed: done,
            source: Box::new(source),
        })
    }

    /// Writes what [`Hub::push`] would push into a folder, one below it for each repository, and answers with the files.
    /// Nothing is sent: of the leaderboard it has this run's row only.
    ///
    /// # Errors
    /// When the run cannot be read or the files cannot be written.
    pub fn dry_run(&self, folder: &Path, out: &Path) -> Result<Vec<PathBuf>, HubError> {
        stage::dry_run(&self.settings, folder, out)
    }

    /// Finds out whether a push would work, without changing anything on the Hub: whether it can be reached, whose token
    /// this is and what it may do, and whether the leaderboard is as private as was asked for.
    pub fn check(&self) -> Vec<Finding> {
        let settings = &*self.settings;
        let found = blocking(|| async {
            let mut silent = |_| {};
            let session = Session::new(settings, &mut silent)?;
            Ok(check::check(&session).await)
        });
        found.unwrap_or_else(|error| vec![Finding::problem("hub", check::words(&error))])
    }

    /// [`Hub::push`] for those who await. It ends early when the future is dropped.
    pub(crate) async fn push_later(
        &self,
        folder: PathBuf,
        mut progress: Box<dyn FnMut(Progress) + Send>,
    ) -> (Result<Pushed, PushError>, Box<dyn FnMut(Progress) + Send>) {
        let (mut answer, receive) = oneshot::channel();
        let (settings, name) = (Arc::clone(&self.settings), folder.clone());
        let failed = |source| HubError::Worker { source };
        let started = thread::Builder::new().name(THREAD.to_owned()).spawn(move || {
            let mut done = Vec::new();
            let pushed = runtime().and_then(|runtime| {
                runtime.block_on(async {
                    let session = Session::new(&settings, &mut *progress)?;
                    tokio::select! {
                        pushed = push::push(&session, &folder, &mut done) => pushed,
                        () = answer.closed() => Err(gone()),
                    }
                })
            });
            let pushed =
                pushed.map_err(|source| PushError { folder, pushed: done, source: Box::new(source) });
            // Nobody may be left to hear it.
            let _ = answer.send((pushed, progress));
        });
        let nobody: Box<dyn FnMut(Progress) + Send> = Box::new(|_| {});
        let lost = |source| {
            (Err(PushError { folder: name.clone(), pushed: vec![], source: Box::new(source) }), nobody)
        };
        match started {
            Err(source) => lost(failed(source)),
            Ok(_) => match receive.await {
                Ok(answered) => answered,
                Err(_) => lost(gone()),
            },
        }
    }
}

impl fmt::Debug for Hub {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_tuple("Hub").field(&self.settings.options).finish()
    }
}

impl Settings {
    pub(crate) fn new(options: HubOptions) -> Result<Self, HubError> {
        let wrong = |setting, value: &str, remedy| {
            Err(HubError::Setting { setting, value: without_userinfo(value), remedy })
        };
        let text = options.endpoint.trim().trim_end_matches('/');
        let Ok(endpoint) = Url::parse(text) else {
            return wrong("the Hub's endpoint", text, "give a URL such as https://huggingface.co");
        };
        if !matches!(endpoint.scheme(), "https" | "http") || endpoint.host_str().is_none() {
            return wrong("the Hub's endpoint", text, "give a URL such as https://huggingface.co");
        }
        if !endpoint.username().is_empty() || endpoint.password().is_some() {
            return wrong("the Hub's endpoint", text, "leave user and password out: the Hub takes a token");
        }
        if endpoint.scheme() == "http" && !is_loopback(&endpoint) && !options.plain_http {
            return wrong(
                "the Hub's endpoint",
                text,
                "the token would go over plain HTTP to another machine: use https, or allow it explicitly",
            );
        }
        if !is_name(&options.prefix) {
            return wrong("the prefix", &options.prefix, NAME);
        }
        if let Some(namespace) = options.namespace.as_deref().filter(|name| !is_name(name)) {
            return wrong("the namespace", namespace, NAME);
        }
        let bearer = match &options.token {
            None => None,
            Some(token) if token.expose().is_empty() => None,
            Some(token) => match HeaderValue::from_str(&format!("Bearer {}", token.expose())) {
                Ok(mut value) => {
                    value.set_sensitive(true);
                    Some(value)
                }
                Err(_) => {
                    return wrong("the token", token.origin(), "it has characters that no header may have");
                }
            },
        };
        Ok(Self { options, endpoint, bearer })
    }

    pub(crate) fn is_official(&self) -> bool {
        host(&self.endpoint) == OFFICIAL
    }

    /// Scheme and host, for messages.
    pub(crate) fn host(&self) -> String {
        host(&self.endpoint)
    }

    /// Where the token comes from.
    pub(crate) fn origin(&self) -> String {
        self.options.token.as_ref().map_or_else(|| "none is set".to_owned(), ToString::to_string)
    }

    /// A path below the endpoint, which may have a path itself.
    pub(crate) fn url(&self, path: &str) -> Url {
        let mut url = self.endpoint.clone();
        let (path, query) = path.split_once('?').map_or((path, None), |(path, query)| (path, Some(query)));
        let base = url.path().trim_end_matches('/').to_owned();
        url.set_path(&format!("{base}{path}"));
        url.set_query(query);
        url
    }

    /// Refuses an address to which nothing of a run may go.
    pub(crate) fn guard(&self, url: &Url) -> Result<(), HubError> {
        let is_safe = match url.scheme() {
            "https" => true,
            "http" => is_loopback(url) || self.options.plain_http,
            _ => false,
        };
        if is_safe {
            return Ok(());
        }
        Err(HubError::Malformed {
            endpoint: self.host(),
            operation: "ask where files are",
            reason: format!("it names {}, which is not safe", host(url)),
        })
    }

    pub(crate) fn names(
        &self,
        user: &str,
        run: &wattspan_core::RunId,
        stamp: &str,
    ) -> Result<Names, HubError> {
        let namespace = self.options.namespace.as_deref().unwrap_or(user);
        Names::new(namespace, &self.options.prefix, stamp, run)
    }
}

/// Runs on a thread of its own until done.
fn blocking<T: Send, F: Future<Output = Result<T, HubError>>>(
    work: impl FnOnce() -> F + Send,
) -> Result<T, HubError> {
    thread::scope(|scope| {
        let started = thread::Builder::new()
            .name(THREAD.to_owned())
            .spawn_scoped(scope, || runtime()?.block_on(work()));
        let thread = started.map_err(|source| HubError::Worker { source })?;
        // A panic has been reported by the panic hook.
        thread.join().unwrap_or_else(|_| Err(gone()))
    })
}

fn runtime() -> Result<tokio::runtime::Runtime, HubError> {
    let built = tokio::runtime::Builder::new_current_thread().enable_all().build();
    built.map_err(|source| HubError::Worker { source })
}

fn gone() -> HubError {
    HubError::Worker { source: std::io::Error::other("it ended before its work did") }
}

const THREAD: &str = "wattspan-hub";
const NAME: &str =
    "take letters, digits, `.`, `_` and `-`, no two of `.` or `-` in a row, none of them first or last";

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn refused(options: HubOptions, words: &str) {
        let error = Hub::new(options).unwrap_err().to_string();
        assert!(error.contains(words), "{error}");
        assert!(!error.contains("pw"), "{error}");
    }

    #[test]
    fn plain_http_is_for_this_machine_unless_insisted_on() {
        let plain = || HubOptions::default().endpoint("http://hub.example/");
        refused(plain(), "plain HTTP");
        assert!(Hub::new(plain().allow_plain_http(true)).is_ok());
        for local in ["http://127.0.0.1:8080", "http://[::1]:1", "http://localhost"] {
            assert!(Hub::new(HubOptions::default().endpoint(local)).is_ok(), "{local}");
        }
    }

    #[test]
    fn what_makes_no_sense_is_refused_at_once() {
        let options = HubOptions::default;
        refused(options().endpoint("huggingface.co"), "give a URL");
        refused(options().endpoint("ftp://huggingface.co"), "give a URL");
        refused(options().endpoint("https://me:pw@huggingface.co"), "leave user and password out");
        refused(options().prefix("a/b"), "the prefix");
        refused(options().namespace("a--b"), "the namespace");
        refused(options().token(crate::Token::new("pw\u{7f}x", "HF_TOKEN")), "no header may have");
    }

    #[test]
    fn a_path_goes_below_the_path_of_a_mirror() {
        let hub = Hub::new(HubOptions::default().endpoint("https://mirror.example/hf/")).unwrap();
        let url = hub.settings.url("/api/datasets/u/r/tree/main?recursive=true");
        assert_eq!(url.as_str(), "https://mirror.example/hf/api/datasets/u/r/tree/main?recursive=true");
    }

    #[test]
    fn nothing_goes_to_an_address_that_is_not_safe() {
        let hub = Hub::new(HubOptions::default()).unwrap();
        let guard = |text: &str| hub.settings.guard(&Url::parse(text).unwrap()).is_ok();
        assert!(guard("https://storage.example/x?sig=1"));
        assert!(!guard("http://storage.example/x?sig=1"));
        assert!(!guard("file:///etc/passwd"));
    }
}
