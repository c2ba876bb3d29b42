//! I/O errors, by what the caller can do.

use std::borrow::Cow;
use std::io::{Error, ErrorKind};
use std::path::Path;

use wattspan_core::SinkError;

/// Names the sink in errors.
pub(crate) const SINK: &str = "the JSON dataset";

/// An error while doing something with a path.
pub(crate) fn at(operation: &'static str, path: &Path, error: &Error) -> SinkError {
    let reason = format!("{}: {error}", path.display());
    match error.kind() {
        ErrorKind::StorageFull
        | ErrorKind::QuotaExceeded
        | ErrorKind::Interrupted
        | ErrorKind::WouldBlock => {
            let reason = format!("{reason}: what was written before is kept; free some space and call again");
            SinkError::Retry { sink: SINK, operation, reason, after: None }
        }
        kind => SinkError::Fatal { sink: SINK, operation, reason, remedy: remedy(kind) },
    }
}

/// An error that is not one of I/O.
pub(crate) fn fatal(
    operation: &'static str,
    reason: impl Into<String>,
    remedy: impl Into<Cow<'static, str>>,
) -> SinkError {
    SinkError::Fatal { sink: SINK, operation, reason: reason.into(), remedy: remedy.into() }
}

fn remedy(kind: ErrorKind) -> Cow<'static, str> {
    match kind {
        ErrorKind::PermissionDenied => "give write permission or choose another output folder",
        ErrorKind::ReadOnlyFilesystem => "choose an output folder on a file system that can be written",
        ErrorKind::NotADirectory | ErrorKind::AlreadyExists => {
            "choose an output folder whose parts are all folders"
        }
        ErrorKind::InvalidFilename => "choose a shorter output folder or run id",
        ErrorKind::FileTooLarge => "raise the limit on the size of files or write less often",
        _ => "see to the file system, then call `create` again: it takes up the journal",
    }
    .into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(kind: ErrorKind, is_retry: bool, words: &str) {
        let error = at("write a file", Path::new("/runs/results.json"), &kind.into());
        assert_eq!(matches!(error, SinkError::Retry { .. }), is_retry, "{error}");
        let text = error.to_string();
        assert!(text.contains("/runs/results.json") && text.contains("write a file"), "{text}");
        assert!(text.contains(words), "{text}");
    }

    #[test]
    fn a_full_disk_may_be_retried_and_what_is_forbidden_may_not() {
        check(ErrorKind::StorageFull, true, "free some space");
        check(ErrorKind::QuotaExceeded, true, "free some space");
        check(ErrorKind::PermissionDenied, false, "give write permission");
        check(ErrorKind::ReadOnlyFilesystem, false, "file system that can be written");
        check(ErrorKind::InvalidFilename, false, "shorter");
    }
}
