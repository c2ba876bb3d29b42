//! A password that cannot be printed.

use std::borrow::Cow;
use std::fmt;

/// A password, with the place it was set. `Debug` and `Display` show that it is set and from where; never a part of it and
/// not its length.
///
/// ```
/// let password = wattspan_opensearch::Secret::new("not-for-logs", "OPENSEARCH_PASSWORD");
/// assert_eq!(password.to_string(), "set by OPENSEARCH_PASSWORD");
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Secret {
    text: Box<str>,
    origin: Cow<'static, str>,
}

impl Secret {
    /// Wraps a secret. `origin` is where it was set: the name of a variable, a file, an option.
    pub fn new(text: impl Into<Box<str>>, origin: impl Into<Cow<'static, str>>) -> Self {
        Self { text: text.into(), origin: origin.into() }
    }

    /// The secret itself, for the header that needs it and nothing else.
    pub(crate) fn expose(&self) -> &str {
        &self.text
    }
}

impl fmt::Display for Secret {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "set by {}", self.origin)
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Secret({self})")
    }
}
