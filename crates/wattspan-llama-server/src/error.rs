//! What can go wrong with a call, by what the caller can do.

use std::borrow::Cow;

/// A call failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The server could not be reached or the connection broke.
    #[error("no answer from {endpoint}: check that the server runs there")]
    Unreachable {
        /// Where.
        endpoint: String,
        /// The cause.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The server answered with an error.
    #[error("{endpoint} answered {status} {kind}: {message}")]
    Refused {
        /// Where.
        endpoint: String,
        /// HTTP status.
        status: u16,
        /// The server's error type, such as `exceed_context_size_error`.
        kind: String,
        /// The server's message.
        message: String,
    },
    /// The answer is not what this route answers.
    #[error("{endpoint} sent something that is not an answer of this route: {message}")]
    Malformed {
        /// Where.
        endpoint: String,
        /// What is wrong with it.
        message: String,
    },
    /// The stream ended before its last chunk.
    #[error("the stream from {endpoint} broke off before its end")]
    Truncated {
        /// Where.
        endpoint: String,
    },
}

impl Error {
    /// The value of `error.type`.
    pub fn error_type(&self) -> Cow<'static, str> {
        match self {
            Self::Unreachable { .. } => "connection_error".into(),
            Self::Refused { kind, status, .. } if kind.is_empty() => status.to_string().into(),
            Self::Refused { kind, .. } => kind.clone().into(),
            Self::Malformed { .. } => "malformed_response".into(),
            Self::Truncated { .. } => "truncated_stream".into(),
        }
    }
}
