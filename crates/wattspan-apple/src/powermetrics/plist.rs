//! A property list as a value. Holds what powermetrics uses; other types are kept as nothing.

use std::collections::BTreeMap;

use quick_xml::Reader;
use quick_xml::events::Event;

use super::PowermetricsError;

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value {
    Dict(BTreeMap<String, Value>),
    Array(Vec<Value>),
    Number(f64),
    /// Strings, dates, booleans and data: not needed here.
    Other,
}

impl Value {
    /// The number; `None` for other types and for what is not finite.
    pub(crate) fn number(&self) -> Option<f64> {
        match self {
            Self::Number(number) => Some(*number).filter(|number| number.is_finite()),
            _ => None,
        }
    }
}

/// A container that is not closed yet.
enum Open {
    Dict { entries: BTreeMap<String, Value>, key: Option<String> },
    Array(Vec<Value>),
}

impl Open {
    fn put(&mut self, value: Value) {
        match self {
            Self::Array(items) => items.push(value),
            Self::Dict { entries, key } => {
                // A value without a key is a fault of the document; it has no place to go.
                if let Some(key) = key.take() {
                    entries.insert(key, value);
                }
            }
        }
    }

    fn close(self) -> Value {
        match self {
            Self::Array(items) => Value::Array(items),
            Self::Dict { entries, .. } => Value::Dict(entries),
        }
    }
}

/// Deeper than any report; bounds what a hostile document can make us keep.
const DEEPEST: usize = 32;

/// Reads the one value of a document. Does not recurse.
pub(crate) fn parse(text: &str) -> Result<Value, PowermetricsError> {
    let fault = |what: &str| PowermetricsError::Plist(what.to_owned());
    let mut reader = Reader::from_str(text);
    let mut open: Vec<Open> = Vec::new();
    let mut content = String::new();
    loop {
        let event = reader.read_event().map_err(|error| PowermetricsError::Plist(error.to_string()))?;
        let done = match event {
            Event::Start(tag) => {
                content.clear();
                match tag.name().as_ref() {
                    "dict" => open.push(Open::Dict { entries: BTreeMap::new(), key: None }),
                    "array" => open.push(Open::Array(Vec::new())),
                    _ => {}
                }
                if open.len() > DEEPEST {
                    return Err(fault("it is nested too deeply"));
                }
                None
            }
            Event::Text(text) => {
                content.push_str(&text.xml10_content());
                None
            }
            Event::Empty(tag) => match tag.name().as_ref() {
                "dict" => Some(Value::Dict(BTreeMap::new())),
                "array" => Some(Value::Array(Vec::new())),
                _ => Some(Value::Other),
            },
            Event::End(tag) => match tag.name().as_ref() {
                "dict" | "array" => {
                    Some(open.pop().ok_or_else(|| fault("a container is closed twice"))?.close())
                }
                "key" => {
                    if let Some(Open::Dict { key, .. }) = open.last_mut() {
                        *key = Some(content.trim().to_owned());
                    }
                    None
                }
                "integer" | "real" => Some(content.trim().parse().map_or(Value::Other, Value::Number)),
                "plist" => None,
                _ => Some(Value::Other),
            },
            Event::Eof => return Err(fault("it ends early")),
            _ => None,
        };
        if let Some(value) = done {
            match open.last_mut() {
                Some(parent) => parent.put(value),
                None => return Ok(value),
            }
        }
    }
}
