//! What can go wrong with a call, by what the caller can do.

use std::borrow::Cow;
use std::time::Duration;

use serde::Deserialize;
use wattspan_genai::Failure;

type Cause = Box<dyn std::error::Error + Send + Sync>;

/// A call failed.
///
/// Open: more ways to fail may come. No variant holds an API key, and server messages are cut at 1 000 characters.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The client cannot be made as asked.
    #[error("cannot make a client of {base}: {message}")]
    Setup {
        /// The base URL, without credentials.
        base: String,
        /// What is wrong and what to do.
        message: String,
    },
    /// The server could not be reached.
    #[error("no answer from {endpoint}: check that the server runs there")]
    Unreachable {
        /// Where.
        endpoint: String,
        /// The cause.
        source: Cause,
    },
    /// The server is up and still loads its model.
    #[error("{endpoint} still loads its model: try again in a moment")]
    Loading {
        /// Where.
        endpoint: String,
    },
    /// The server has no room for the request.
    #[error("{endpoint} is overloaded ({status}): {message}")]
    Overloaded {
        /// Where.
        endpoint: String,
        /// HTTP status.
        status: u16,
        /// The server's error type, such as `unavailable_error`; empty when it gave none.
        kind: String,
        /// The server's message.
        message: String,
        /// When the server asks to come again.
        retry_after: Option<Duration>,
    },
    /// The prompt does not fit into the context.
    #[error("the prompt is too long for {endpoint}: {message}")]
    ContextExceeded {
        /// Where.
        endpoint: String,
        /// Tokens of the prompt. **Absent** when the server does not tell.
        prompt_tokens: Option<u64>,
        /// Size of the context of one slot. **Absent** when the server does not tell.
        context: Option<u64>,
        /// The server's message.
        message: String,
    },
    /// The API key is missing or wrong, or does not allow this.
    #[error("{endpoint} refused the API key ({status}): set the one that the server was started with")]
    Unauthorized {
        /// Where.
        endpoint: String,
        /// HTTP status, 401 or 403.
        status: u16,
        /// The server's error type; empty when it gave none.
        kind: String,
    },
    /// The server was not started with what this route needs.
    #[error("{endpoint} does not offer this: {message}")]
    Unsupported {
        /// Where.
        endpoint: String,
        /// The server's message, which names the missing option.
        message: String,
    },
    /// The server answered with another error.
    #[error("{endpoint} answered {status} {kind}: {message}")]
    Refused {
        /// Where.
        endpoint: String,
        /// HTTP status.
        status: u16,
        /// The server's error type, such as `invalid_request_error`; empty when it gave none.
        kind: String,
        /// The server's message.
        message: String,
    },
    /// The server reported an error in the middle of a stream.
    #[error("{endpoint} gave up in the middle of its answer: {message}")]
    Interrupted {
        /// Where.
        endpoint: String,
        /// The server's error type; empty when it gave none.
        kind: String,
        /// The server's message.
        message: String,
    },
    /// The answer ended before its end: the server was stopped or the connection broke.
    #[error("the answer from {endpoint} broke off before its end")]
    Truncated {
        /// Where.
        endpoint: String,
        /// The cause, where the connection told one.
        source: Option<Cause>,
    },
    /// The answer did not come in time.
    #[error("{endpoint} did not answer in time: {wait} of {after:?} is over")]
    Deadline {
        /// Where.
        endpoint: String,
        /// Which bound was reached.
        wait: Wait,
        /// That bound.
        after: Duration,
    },
    /// The answer is not what this route answers.
    #[error("{endpoint} sent something that is not an answer of this route: {message}")]
    Malformed {
        /// Where.
        endpoint: String,
        /// What is wrong with it.
        message: String,
    },
    /// An answer or one event of a stream is larger than the client keeps.
    #[error("{endpoint} sent more than {limit} bytes at once: raise the client's `body_limit`")]
    TooLarge {
        /// Where.
        endpoint: String,
        /// The bound in bytes.
        limit: usize,
    },
}

/// Which bound on the time was reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Wait {
    /// The bound on the whole call.
    WholeCall,
    /// The bound on the silence between two pieces of a stream.
    BetweenChunks,
}

impl std::fmt::Display for Wait {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str(match self {
            Self::WholeCall => "the deadline of the call",
            Self::BetweenChunks => "the longest silence in a stream",
        })
    }
}

/// Whether the same call may succeed later.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Retry {
    /// Not without a change.
    Never,
    /// Perhaps, after a pause of the caller's choice.
    Later,
    /// The server asks to come again after this time.
    After(Duration),
}

impl Error {
    /// The value of `error.type`: the server's own error type where it gave one, else a word of this crate.
    pub fn error_type(&self) -> Cow<'static, str> {
        match self {
            Self::Setup { .. } => "setup_error".into(),
            Self::Unreachable { .. } => "connection_error".into(),
            Self::Loading { .. } => "unavailable_error".into(),
            Self::ContextExceeded { .. } => "exceed_context_size_error".into(),
            Self::Unsupported { .. } => "not_supported_error".into(),
            Self::Overloaded { kind, status, .. }
            | Self::Unauthorized { kind, status, .. }
            | Self::Refused { kind, status, .. } => {
                if is_word(kind) {
                    kind.clone().into()
                } else {
                    status.to_string().into()
                }
            }
            Self::Interrupted { kind, .. } if is_word(kind) => kind.clone().into(),
            Self::Interrupted { .. } => "stream_error".into(),
            Self::Truncated { .. } => "truncated_stream".into(),
            Self::Deadline { .. } => "timeout".into(),
            Self::Malformed { .. } => "malformed_response".into(),
            Self::TooLarge { .. } => "response_too_large".into(),
        }
    }

    /// Whether the same call may succeed later.
    ///
    /// After [`Truncated`](Self::Truncated) and [`Deadline`](Self::Deadline) the server may have done the work already.
    pub fn retry(&self) -> Retry {
        match self {
            Self::Overloaded { retry_after: Some(after), .. } => Retry::After(*after),
            Self::Unreachable { .. }
            | Self::Loading { .. }
            | Self::Overloaded { .. }
            | Self::Interrupted { .. }
            | Self::Truncated { .. }
            | Self::Deadline { .. } => Retry::Later,
            Self::Refused { status, .. } if *status >= 500 => Retry::Later,
            _ => Retry::Never,
        }
    }

    /// Reads an error answer. Pure, so that recordings and fuzzers can go through it.
    pub(crate) fn from_answer(
        endpoint: String,
        status: u16,
        retry_after: Option<Duration>,
        body: &str,
    ) -> Self {
        let told = serde_json::from_str::<ErrorAnswer>(body).ok().map(|answer| answer.error);
        let (kind, message) = match &told {
            Some(told) => (told.kind.clone(), cut(&told.message)),
            None => (String::new(), cut(body)),
        };
        match (status, kind.as_str()) {
            (_, "exceed_context_size_error") => Self::ContextExceeded {
                endpoint,
                prompt_tokens: told.as_ref().and_then(|told| told.n_prompt_tokens),
                context: told.as_ref().and_then(|told| told.n_ctx),
                message,
            },
            // Loading and "no slot available" have the same type and status; only the text tells them apart.
            (503, _) if message.to_ascii_lowercase().starts_with("loading model") => {
                Self::Loading { endpoint }
            }
            (503 | 429, _) => Self::Overloaded { endpoint, status, kind, message, retry_after },
            (401 | 403, _) => Self::Unauthorized { endpoint, status, kind },
            (501, _) => Self::Unsupported { endpoint, message },
            _ => Self::Refused { endpoint, status, kind, message },
        }
    }

    /// For the span: the type only. A server may quote a prompt in its message, which is content.
    pub(crate) fn failure(&self) -> Failure {
        Failure::new(self.error_type())
    }

    /// Whether nothing of the request was worked on, so that sending it again is safe.
    pub(crate) fn is_safe_to_repeat(&self) -> bool {
        match self {
            Self::Loading { .. } => true,
            Self::Unreachable { source, .. } => {
                source.downcast_ref::<reqwest::Error>().is_some_and(reqwest::Error::is_connect)
            }
            _ => false,
        }
    }
}

#[derive(Deserialize)]
struct ErrorAnswer {
    error: ErrorBody,
}

/// The error object of llama-server and of OpenAI-compatible servers.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct ErrorBody {
    #[serde(deserialize_with = "crate::wire::nullable")]
    pub(crate) message: String,
    #[serde(rename = "type", deserialize_with = "crate::wire::nullable")]
    pub(crate) kind: String,
    n_prompt_tokens: Option<u64>,
    n_ctx: Option<u64>,
}

/// `error.type` must have few different values: only what looks like a code of the server's is passed on.
pub(crate) fn is_word(kind: &str) -> bool {
    (1..=64).contains(&kind.len())
        && kind.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.'))
}

/// A server may echo a prompt into its message; that much of it is enough.
pub(crate) fn cut(text: &str) -> String {
    const LONGEST: usize = 1_000;
    match text.char_indices().nth(LONGEST) {
        Some((at, _)) => text[..at].to_owned(),
        None => text.to_owned(),
    }
}
