//! Keys, passwords and tokens that cannot be printed.

use std::borrow::Cow;
use std::fmt;

/// A key, password or token, with the place it was set.
///
/// `Debug` and `Display` show that it is set and from where; never a part of it and not its length.
///
/// ```
/// let key = wattspan_core::Secret::new("not-for-logs", "ELECTRICITY_MAPS_TOKEN");
/// assert_eq!(key.to_string(), "set by ELECTRICITY_MAPS_TOKEN");
/// assert_eq!(format!("{key:?}"), "Secret(set by ELECTRICITY_MAPS_TOKEN)");
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Secret {
    text: Box<str>,
    origin: Cow<'static, str>,
}

impl Secret {
    /// Wraps a secret. `origin` is where it was set: `code`, the name of a variable, a file.
    pub fn new(text: impl Into<Box<str>>, origin: impl Into<Cow<'static, str>>) -> Self {
        Self { text: text.into(), origin: origin.into() }
    }

    /// The variable's value, as `lookup` gives it; `None` when it is unset or blank.
    pub fn from_variable(name: &'static str, lookup: impl FnOnce(&str) -> Option<String>) -> Option<Self> {
        let text = lookup(name)?;
        let text = text.trim();
        (!text.is_empty()).then(|| Self::new(text, name))
    }

    /// Where it was set.
    pub fn origin(&self) -> &str {
        &self.origin
    }

    /// The secret itself, for the request that needs it and nothing else.
    pub fn expose(&self) -> &str {
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
        write!(out, "Secret(set by {})", self.origin)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug)]
    #[allow(dead_code)] // Read by the derived `Debug`, which is what the test is about.
    struct Settings {
        zone: &'static str,
        token: Option<Secret>,
    }

    #[test]
    fn case_security_02_no_part_of_a_token_is_shown() {
        let token = Secret::new("tok-EXAMPLE-0123456789", "ELECTRICITY_MAPS_TOKEN");
        let settings = Settings { zone: "DE", token: Some(token.clone()) };
        for shown in
            [format!("{settings:?}"), format!("{settings:#?}"), format!("{token}"), format!("{token:?}")]
        {
            assert!(shown.contains("set by ELECTRICITY_MAPS_TOKEN"), "{shown}");
            // No run of four characters of the token, and not its length.
            for part in token.expose().as_bytes().windows(4) {
                let part = std::str::from_utf8(part).unwrap();
                assert!(!shown.contains(part), "{shown} shows {part}");
            }
            assert!(!shown.contains("22"), "{shown}");
        }
    }

    #[test]
    fn a_blank_variable_is_unset() {
        for value in [None, Some(""), Some("  ")] {
            assert_eq!(Secret::from_variable("KEY", |_| value.map(str::to_owned)), None);
        }
        let set = Secret::from_variable("KEY", |name| Some(format!(" {name}-1\n"))).unwrap();
        assert_eq!((set.expose(), set.origin()), ("KEY-1", "KEY"));
    }
}
