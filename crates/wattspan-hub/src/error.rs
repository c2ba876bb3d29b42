//! What can go wrong, by what the user can do. No message holds a token or a signed URL.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use wattspan_core::SinkError;
use wattspan_dataset::{ReadError, ReplayError};

use crate::Visibility;

/// An error of this crate.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HubError {
    /// A setting does not make sense.
    #[error("{setting} is {value:?}: {remedy}")]
    Setting {
        /// Its name.
        setting: &'static str,
        /// Its value; never a secret.
        value: String,
        /// What to give instead.
        remedy: &'static str,
    },
    /// There is no token.
    #[error(
        "there is no Hugging Face token: give one that may write, set HF_TOKEN, or log in with `hf auth login`"
    )]
    NoToken,
    /// The Hub does not know the token.
    #[error("{endpoint} does not accept the token ({origin}): make a new one that may write")]
    TokenRefused {
        /// Who was asked.
        endpoint: String,
        /// Where the token comes from.
        origin: String,
    },
    /// The token may not do this.
    #[error(
        "the token may not {operation} {target} ({said}): use one with write permission there, or another namespace"
    )]
    NoRight {
        /// What was to be done.
        operation: &'static str,
        /// With what.
        target: String,
        /// The Hub's words.
        said: String,
    },
    /// A repository is there and is not as private or public as was asked for. Nothing has been uploaded.
    #[error(
        "{repo} is {found} and was to be {wanted}, so nothing was uploaded: change it in its settings on the Hub, \
         ask for {found}, or take another prefix"
    )]
    Visibility {
        /// Which one.
        repo: String,
        /// What it is.
        found: Visibility,
        /// What it should be.
        wanted: Visibility,
    },
    /// The account's storage is used up.
    #[error("there is no storage left for {target} ({said}): free some, or take another namespace")]
    Quota {
        /// For what.
        target: String,
        /// The Hub's words.
        said: String,
    },
    /// The Hub wants to be left alone for longer than there is patience.
    #[error("{endpoint} limits how often one may {operation}: push again in {} s, or with more patience", after.as_secs())]
    Limited {
        /// Who was asked.
        endpoint: String,
        /// What was to be done.
        operation: &'static str,
        /// How long it asks to wait.
        after: Duration,
    },
    /// No answer.
    #[error("cannot {operation}: {endpoint} {reason}: check the network and HF_ENDPOINT, and push again")]
    Unreachable {
        /// Who was asked.
        endpoint: String,
        /// What was to be done.
        operation: &'static str,
        /// Why there is no answer.
        reason: String,
    },
    /// The Hub says no, and it is not about rights, storage or rate.
    #[error("the Hub would not {operation} {target} ({status}: {said})")]
    Refused {
        /// What was to be done.
        operation: &'static str,
        /// With what.
        target: String,
        /// HTTP status.
        status: u16,
        /// The Hub's words.
        said: String,
    },
    /// An upload did not arrive whole. What did arrive is not committed.
    #[error("{path} did not arrive whole in {repo} ({reason}): push again, what is there is not sent twice")]
    Upload {
        /// Which repository.
        repo: String,
        /// Which file.
        path: String,
        /// What happened.
        reason: String,
    },
    /// Others committed each time in between.
    #[error("{repo} was changed by others during each of {tries} tries: push again when they are done")]
    Conflict {
        /// Which repository.
        repo: String,
        /// How often it was tried.
        tries: u32,
    },
    /// Repositories of that name are there and hold something else.
    #[error("{repo} is there and holds something else than this run: take another prefix")]
    Taken {
        /// Which one.
        repo: String,
    },
    /// The leaderboard that is there cannot be added to. It is unchanged.
    #[error("a row cannot be added to {repo}: {reason}")]
    Leaderboard {
        /// Which repository.
        repo: String,
        /// Why.
        reason: String,
    },
    /// An answer is not as it should be.
    #[error("the answer of {endpoint} to {operation} is not the Hub's: {reason}")]
    Malformed {
        /// Who was asked.
        endpoint: String,
        /// What was to be done.
        operation: &'static str,
        /// What is missing.
        reason: String,
    },
    /// The run's files cannot be read.
    #[error("the run cannot be read")]
    Run(#[source] ReadError),
    /// A table cannot be made into Parquet.
    #[error("the run's tables cannot be written as Parquet")]
    Tables(#[source] ReplayError),
    /// A file of this machine.
    #[error("cannot {operation} {path}: see to its rights and free space", path = path.display())]
    File {
        /// What was to be done.
        operation: &'static str,
        /// With which file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// The thread or runtime for the network could not be started.
    #[error("cannot start a thread for the network: raise the limit on threads or files")]
    Worker {
        /// The cause.
        source: io::Error,
    },
}

/// A run was not pushed whole. Its folder is unchanged.
#[derive(Debug, thiserror::Error)]
#[error(
    "{folder} was not pushed whole and is kept: `wattspan push {folder} --to hub` pushes what is missing",
    folder = folder.display()
)]
#[non_exhaustive]
pub struct PushError {
    /// The run's folder.
    pub folder: PathBuf,
    /// Repositories that are whole already.
    pub pushed: Vec<String>,
    /// The cause.
    pub source: Box<HubError>,
}

impl HubError {
    /// Whether the same call may succeed later without the user changing anything.
    pub const fn is_temporary(&self) -> bool {
        matches!(
            self,
            Self::Limited { .. }
                | Self::Unreachable { .. }
                | Self::Upload { .. }
                | Self::Conflict { .. }
                | Self::Worker { .. }
        ) || matches!(self, Self::Refused { status: 500..=599, .. })
    }
}

impl From<PushError> for SinkError {
    fn from(error: PushError) -> Self {
        let remedy = error.to_string();
        let mut reason = error.source.to_string();
        let mut cause = std::error::Error::source(&*error.source);
        while let Some(deeper) = cause {
            reason = format!("{reason}: {deeper}");
            cause = deeper.source();
        }
        let after = match *error.source {
            HubError::Limited { after, .. } => Some(after),
            _ => None,
        };
        if error.source.is_temporary() {
            Self::Retry { sink: SINK, operation: PUSH, reason: format!("{reason}: {remedy}"), after }
        } else {
            Self::Fatal { sink: SINK, operation: PUSH, reason, remedy: remedy.into() }
        }
    }
}

const SINK: &str = "the Hugging Face Hub";
const PUSH: &str = "push the run";
