//! An API key that no log, error or `Debug` shows.

use std::fmt;
use std::sync::Arc;

/// An API key. Its `Debug` says only that there is one: no part of it and no length.
#[derive(Clone)]
pub struct ApiKey(Arc<str>);

impl ApiKey {
    /// Wraps a key.
    pub fn new(key: impl Into<Arc<str>>) -> Self {
        Self(key.into())
    }

    /// The header's value, marked so that HTTP libraries do not log it either; `None` for a key with control
    /// characters.
    pub(crate) fn bearer(&self) -> Option<reqwest::header::HeaderValue> {
        let mut value = reqwest::header::HeaderValue::from_str(&format!("Bearer {}", self.0)).ok()?;
        value.set_sensitive(true);
        Some(value)
    }
}

impl fmt::Debug for ApiKey {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("ApiKey(set)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn case_security_02_debug_shows_nothing_of_the_key() {
        let key = ApiKey::new("tok-EXAMPLE-0123456789");
        assert_eq!(format!("{key:?}"), "ApiKey(set)");
        assert_eq!(format!("{:?}", key.bearer().unwrap()), "Sensitive");
    }

    #[test]
    fn a_key_that_cannot_stand_in_a_header_is_refused() {
        assert!(ApiKey::new("two\nlines").bearer().is_none());
    }
}
