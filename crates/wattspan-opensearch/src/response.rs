//! Reads what a bulk request was answered: per item a status, and for a refused one its reason.

use std::fmt;

use serde::Deserialize;
use serde::de::{IgnoredAny, MapAccess, Visitor};

/// The items of an answer, in the order of the request.
#[derive(Debug, PartialEq, Eq, Deserialize)]
pub(crate) struct BulkAnswer {
    pub(crate) items: Vec<Item>,
}

/// What came of one document.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Item {
    pub(crate) status: u16,
    pub(crate) fault: Option<Fault>,
}

/// Why a document or a request was refused.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Fault {
    /// Such as `mapper_parsing_exception`.
    pub(crate) kind: String,
    pub(crate) reason: String,
}

/// What to do about an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Stored,
    /// The server has no room now, or somebody else wrote the same document at the same moment.
    Again,
    /// Whoever runs the server has to change something first; it is the same for the other documents.
    Blocked,
    /// This document will never be taken.
    Refused,
}

impl Item {
    pub(crate) fn verdict(&self) -> Verdict {
        let kind = self.fault.as_ref().map_or("", |fault| fault.kind.as_str());
        match self.status {
            200..=299 => Verdict::Stored,
            // 409: two writers of one leaderboard row, after the server's own tries.
            409 | 429 | 500..=599 => Verdict::Again,
            401 | 403 => Verdict::Blocked,
            404 if kind == "index_not_found_exception" => Verdict::Blocked,
            _ => Verdict::Refused,
        }
    }
}

impl Fault {
    /// From the body of a request that failed as a whole. A text that is no JSON is not shown: it may be a login page.
    pub(crate) fn of_body(body: &[u8]) -> Self {
        #[derive(Deserialize)]
        struct Body {
            error: Fault,
        }
        serde_json::from_slice::<Body>(body).map(|body| body.error).unwrap_or_default()
    }

    /// In a line. Some reasons quote the document's text, which is nobody's business but the file's of refused documents.
    pub(crate) fn summary(&self) -> String {
        let reason = self.reason.split(" Preview of field's value").next().unwrap_or_default();
        let reason: String = reason.chars().filter(|char| !char.is_control()).take(300).collect();
        match (self.kind.as_str(), reason.as_str()) {
            ("", "") => "no reason given".to_owned(),
            ("", reason) => reason.to_owned(),
            (kind, "") => kind.to_owned(),
            (kind, reason) => format!("{kind}: {reason}"),
        }
    }
}

impl<'de> Deserialize<'de> for Item {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(ItemVisitor)
    }
}

/// `{"index": {"status": 201, …}}`: the one key is the action.
struct ItemVisitor;

impl<'de> Visitor<'de> for ItemVisitor {
    type Value = Item;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("an item of a bulk answer")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Item, A::Error> {
        #[derive(Deserialize)]
        struct Inner {
            status: u16,
            error: Option<Fault>,
        }
        let Some((_, inner)) = map.next_entry::<IgnoredAny, Inner>()? else {
            return Err(serde::de::Error::custom("an item without an action"));
        };
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Item { status: inner.status, fault: inner.error })
    }
}

impl<'de> Deserialize<'de> for Fault {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Form {
            Text(String),
            Parts {
                #[serde(rename = "type", default)]
                kind: Option<String>,
                #[serde(default)]
                reason: Option<String>,
            },
        }
        Ok(match Form::deserialize(deserializer)? {
            Form::Text(reason) => Self { kind: String::new(), reason },
            Form::Parts { kind, reason } => {
                Self { kind: kind.unwrap_or_default(), reason: reason.unwrap_or_default() }
            }
        })
    }
}

#[cfg(test)]
mod tests;
