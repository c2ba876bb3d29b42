//! What came of trying to read a value: the value, or why there is none.

use std::borrow::Cow;
use std::fmt;

use serde::{Serialize, Serializer};

/// A value that was asked of a sensor, a server or a table.
///
/// Absent is never zero: whoever exports a reading leaves it out (no attribute, a gap, an empty cell, JSON `null`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reading<T> {
    /// The value.
    Value(T),
    /// This device or source does not have it, now or later.
    NotSupported,
    /// It is there and may not be read; says what to do.
    Denied(Remedy),
    /// Reading failed this time; the next may succeed.
    Failed(Failure),
}

/// What a user can do to be allowed to read a value. Names the file, right or setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remedy(Cow<'static, str>);

/// Why a value could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure(Cow<'static, str>);

impl Remedy {
    /// Wraps an instruction such as ``add the user to the group `video` ``.
    pub fn new(text: impl Into<Cow<'static, str>>) -> Self {
        Self(text.into())
    }

    /// The instruction.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Failure {
    /// Wraps a reason such as `the GPU has fallen off the bus`.
    pub fn new(text: impl Into<Cow<'static, str>>) -> Self {
        Self(text.into())
    }

    /// The reason.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Remedy {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

impl<T> Reading<T> {
    /// A reading that failed, with its reason.
    pub fn failed(reason: impl Into<Cow<'static, str>>) -> Self {
        Self::Failed(Failure::new(reason))
    }

    /// A reading that is not allowed, with what to do.
    pub fn denied(remedy: impl Into<Cow<'static, str>>) -> Self {
        Self::Denied(Remedy::new(remedy))
    }

    /// The value, if there is one.
    pub fn value(self) -> Option<T> {
        match self {
            Self::Value(value) => Some(value),
            _ => None,
        }
    }

    /// The value by reference, if there is one.
    pub fn as_value(&self) -> Option<&T> {
        match self {
            Self::Value(value) => Some(value),
            _ => None,
        }
    }

    /// Whether there is a value.
    pub const fn is_value(&self) -> bool {
        matches!(self, Self::Value(_))
    }

    /// Changes the value and keeps the reason of an absent one.
    pub fn map<U>(self, change: impl FnOnce(T) -> U) -> Reading<U> {
        self.and_then(|value| Reading::Value(change(value)))
    }

    /// Continues with another reading that depends on the value.
    pub fn and_then<U>(self, next: impl FnOnce(T) -> Reading<U>) -> Reading<U> {
        match self {
            Self::Value(value) => next(value),
            Self::NotSupported => Reading::NotSupported,
            Self::Denied(remedy) => Reading::Denied(remedy),
            Self::Failed(failure) => Reading::Failed(failure),
        }
    }

    /// Takes the second where the first has no value; the first one's reason stands when neither has.
    #[must_use]
    pub fn or_else(self, second: impl FnOnce() -> Self) -> Self {
        match self {
            Self::Value(_) => self,
            absent => match second() {
                found @ Self::Value(_) => found,
                _ => absent,
            },
        }
    }

    /// Why there is no value, in a few words; `None` when there is one.
    pub fn absence(&self) -> Option<String> {
        match self {
            Self::Value(_) => None,
            Self::NotSupported => Some("not supported".to_owned()),
            Self::Denied(remedy) => Some(format!("denied: {remedy}")),
            Self::Failed(failure) => Some(format!("failed: {failure}")),
        }
    }
}

impl<T> From<Option<T>> for Reading<T> {
    /// `None` is "not supported": use [`Reading::failed`] where it means something else.
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::NotSupported, Self::Value)
    }
}

impl<T: Serialize> Serialize for Reading<T> {
    /// The value, or null.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.as_value().serialize(serializer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn absent_is_null_and_never_zero() {
        let readings: [Reading<u32>; 4] =
            [Reading::Value(0), Reading::NotSupported, Reading::denied("be root"), Reading::failed("gone")];
        assert_eq!(serde_json::to_string(&readings).unwrap(), "[0,null,null,null]");
    }

    #[test]
    fn the_reason_survives_a_conversion() {
        let reading: Reading<u64> = Reading::<u32>::denied("add the group").map(u64::from);
        assert_eq!(reading.absence().as_deref(), Some("denied: add the group"));
        assert_eq!(Reading::<u32>::failed("lost").or_else(|| Reading::NotSupported), Reading::failed("lost"));
        assert_eq!(Reading::failed("lost").or_else(|| Reading::Value(1)), Reading::Value(1));
    }
}
