//! Errors as telemetry tells them: a type of few different values, and a message for people.

use std::borrow::Cow;
use std::error::Error;
use std::fmt;
use std::io;

/// Why something failed.
///
/// `error.type` is part of metrics: it must have few different values, such as a status code or the name of a variant,
/// and never a message.
///
/// ```
/// use std::io;
/// use wattspan_genai::Failure;
///
/// let refused = io::Error::from(io::ErrorKind::ConnectionRefused);
/// assert_eq!(Failure::from_io(&refused).error_type(), "connection_refused");
/// assert_eq!(Failure::new("context_exceeded").error_type(), "context_exceeded");
/// assert_eq!(Failure::from_status(503).error_type(), "503");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    error_type: Cow<'static, str>,
    message: Option<String>,
    exception: Option<Cow<'static, str>>,
}

impl Failure {
    /// A failure of a type. An empty type becomes `_OTHER`, the conventions' last resort.
    pub fn new(error_type: impl Into<Cow<'static, str>>) -> Self {
        let error_type = error_type.into();
        let error_type = if error_type.is_empty() { OTHER.into() } else { error_type };
        Self { error_type, message: None, exception: None }
    }

    /// An HTTP status as the error's type.
    pub fn from_status(status: u16) -> Self {
        Self::new(status.to_string())
    }

    /// An error of input and output: its type is the kind, in snake case.
    pub fn from_io(error: &io::Error) -> Self {
        Self::new(io_type(error.kind())).exception("std::io::Error").message(error.to_string())
    }

    /// Any error: the type is the last part of its Rust type's path, such as `DecodeError`, or `crate::Error`. An input or output error
    /// anywhere among its causes gives its kind instead, since that tells more.
    ///
    /// The messages of the error and of its causes are kept, once each.
    pub fn from_error<E: Error + 'static>(error: &E) -> Self {
        let path = std::any::type_name::<E>();
        let mut cause: Option<&(dyn Error + 'static)> = Some(error);
        let mut io = None;
        while let (None, Some(inner)) = (io, cause) {
            io = inner.downcast_ref::<io::Error>();
            cause = inner.source();
        }
        let failure = Self::new(io.map_or_else(|| last_part(path), |io| io_type(io.kind()).into()));
        failure.exception(path).message(chain(error))
    }

    /// Adds a message for people. It goes to the span's status and the exception event, never to metrics.
    pub fn message(mut self, message: impl Into<String>) -> Self {
        self.message = Some(message.into());
        self
    }

    /// Adds the full type of the error: `exception.type`.
    pub fn exception(mut self, path: impl Into<Cow<'static, str>>) -> Self {
        self.exception = Some(path.into());
        self
    }

    /// The value of `error.type`.
    pub fn error_type(&self) -> &str {
        &self.error_type
    }

    /// The message.
    pub fn text(&self) -> Option<&str> {
        self.message.as_deref()
    }

    pub(crate) fn parts(self) -> (Cow<'static, str>, Option<String>, Option<Cow<'static, str>>) {
        (self.error_type, self.message, self.exception)
    }

    /// Whether it is the end of something that was dropped, other than by a panic.
    pub(crate) fn is_cancelled(&self) -> bool {
        self.error_type == CANCELLED && self.message.is_none()
    }

    /// The end of something that was dropped before it ended.
    pub(crate) fn dropped() -> Self {
        Self::new(if std::thread::panicking() { PANIC } else { CANCELLED })
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.message {
            Some(message) => write!(out, "{}: {message}", self.error_type),
            None => out.write_str(&self.error_type),
        }
    }
}

impl From<&'static str> for Failure {
    fn from(error_type: &'static str) -> Self {
        Self::new(error_type)
    }
}

impl From<String> for Failure {
    fn from(error_type: String) -> Self {
        Self::new(error_type)
    }
}

impl From<Cow<'static, str>> for Failure {
    fn from(error_type: Cow<'static, str>) -> Self {
        Self::new(error_type)
    }
}

fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        let inner_text = inner.to_string();
        // Some errors print their cause themselves.
        if !text.contains(&inner_text) {
            text.push_str(": ");
            text.push_str(&inner_text);
        }
        cause = inner.source();
    }
    text
}

/// `a::b::Kind<T>` without path and parameters. A type that is only called `Error` keeps the name of its crate.
fn last_part(path: &'static str) -> Cow<'static, str> {
    let plain = path.split('<').next().unwrap_or(path);
    match plain.rsplit("::").next().unwrap_or(plain) {
        "Error" => match plain.split_once("::") {
            Some((of, _)) => Cow::Owned(format!("{of}::Error")),
            None => Cow::Borrowed("Error"),
        },
        name => Cow::Borrowed(name),
    }
}

fn io_type(kind: io::ErrorKind) -> &'static str {
    match kind {
        io::ErrorKind::NotFound => "not_found",
        io::ErrorKind::PermissionDenied => "permission_denied",
        io::ErrorKind::ConnectionRefused => "connection_refused",
        io::ErrorKind::ConnectionReset => "connection_reset",
        io::ErrorKind::ConnectionAborted => "connection_aborted",
        io::ErrorKind::HostUnreachable => "host_unreachable",
        io::ErrorKind::NetworkUnreachable => "network_unreachable",
        io::ErrorKind::NotConnected => "not_connected",
        io::ErrorKind::AddrInUse => "address_in_use",
        io::ErrorKind::BrokenPipe => "broken_pipe",
        io::ErrorKind::InvalidInput => "invalid_input",
        io::ErrorKind::InvalidData => "invalid_data",
        io::ErrorKind::TimedOut => "timeout",
        io::ErrorKind::WriteZero => "write_zero",
        io::ErrorKind::StorageFull => "storage_full",
        io::ErrorKind::Interrupted => "interrupted",
        io::ErrorKind::Unsupported => "unsupported",
        io::ErrorKind::UnexpectedEof => "unexpected_eof",
        io::ErrorKind::OutOfMemory => "out_of_memory",
        _ => OTHER,
    }
}

/// Source: OpenTelemetry semantic conventions, `error.type`.
const OTHER: &str = "_OTHER";
const PANIC: &str = "panic";
const CANCELLED: &str = "cancelled";

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("cannot decode")]
    struct DecodeError {
        source: io::Error,
    }

    #[derive(Debug, thiserror::Error)]
    #[error("prompt of {0} tokens does not fit")]
    struct ContextExceeded(u32);

    #[test]
    fn the_type_of_an_error_is_its_name_and_not_its_message() {
        let failure = Failure::from_error(&ContextExceeded(9_000));
        assert_eq!(failure.error_type(), "ContextExceeded");
        assert_eq!(failure.text(), Some("prompt of 9000 tokens does not fit"));
    }

    #[test]
    fn a_cause_that_tells_more_gives_the_type() {
        let error = DecodeError { source: io::Error::from(io::ErrorKind::ConnectionReset) };
        let failure = Failure::from_error(&error);
        assert_eq!(failure.error_type(), "connection_reset");
        assert_eq!(failure.text(), Some("cannot decode: connection reset"));
    }

    #[test]
    fn an_unknown_kind_is_other() {
        assert_eq!(Failure::from_io(&io::Error::other("odd")).error_type(), "_OTHER");
        assert_eq!(Failure::new("").error_type(), "_OTHER");
    }

    #[test]
    fn parameters_and_path_are_no_part_of_the_type() {
        assert_eq!(last_part("a::b::SendError<core::option::Option<x::Y>>"), "SendError");
        assert_eq!(last_part("Plain"), "Plain");
        assert_eq!(last_part("reqwest::error::Error"), "reqwest::Error");
    }
}
