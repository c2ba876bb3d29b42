//! Takes the values of a JSON list apart without taking them in: one value at a time is in memory, however the file is laid
//! out. What a value holds is for its reader to check.

use std::io::{self, BufRead};

/// The values of a list, one after the other.
pub(crate) struct Elements<R> {
    reader: R,
    state: State,
    bytes: u64,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// Before the first value.
    First,
    /// Behind a value.
    Next,
    /// The document is the only value.
    Single,
    Done,
}

/// What is wrong with a document.
#[derive(Debug)]
pub(crate) enum ScanError {
    Io(io::Error),
    /// What was expected, at which byte.
    Syntax(&'static str, u64),
}

impl From<io::Error> for ScanError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl<R: BufRead> Elements<R> {
    /// The document is the list.
    pub(crate) fn of_list(reader: R) -> Result<Self, ScanError> {
        let mut this = Self { reader, state: State::First, bytes: 0 };
        this.expect(b'[', "a list of rows")?;
        Ok(this)
    }

    /// The list stands under a name of an object; what stands before it is stepped over.
    pub(crate) fn of_member(reader: R, name: &'static str) -> Result<Self, ScanError> {
        let mut this = Self { reader, state: State::First, bytes: 0 };
        this.expect(b'{', "an object")?;
        let mut key = Vec::new();
        loop {
            if this.peek()? != Some(b'"') {
                return Err(ScanError::Syntax("the list of rows", this.bytes));
            }
            key.clear();
            this.value(Some(&mut key))?;
            this.expect(b':', "a colon")?;
            if key.strip_prefix(b"\"").and_then(|key| key.strip_suffix(b"\"")) == Some(name.as_bytes()) {
                this.expect(b'[', "a list of rows")?;
                return Ok(this);
            }
            this.value(None)?;
            if this.peek()? == Some(b',') {
                this.step(1);
            }
        }
    }

    /// The document is the only value.
    pub(crate) fn of_value(reader: R) -> Self {
        Self { reader, state: State::Single, bytes: 0 }
    }

    /// Bytes that were read so far.
    pub(crate) const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Puts the next value's text into `value`; false behind the last one.
    pub(crate) fn next(&mut self, value: &mut Vec<u8>) -> Result<bool, ScanError> {
        value.clear();
        match (self.state, self.peek()?) {
            (State::Done, _) => return Ok(false),
            (State::Single, _) => self.state = State::Done,
            (State::First | State::Next, Some(b']')) => {
                self.step(1);
                self.state = State::Done;
                return Ok(false);
            }
            (State::First, _) => self.state = State::Next,
            (State::Next, _) => self.expect(b',', "a comma or the list's end")?,
        }
        self.value(Some(value))?;
        Ok(true)
    }

    /// The next byte that is no white space; it stays.
    fn peek(&mut self) -> Result<Option<u8>, ScanError> {
        loop {
            let bytes = self.reader.fill_buf()?;
            let Some(&first) = bytes.first() else { return Ok(None) };
            let blank = bytes.iter().position(|byte| !byte.is_ascii_whitespace()).unwrap_or(bytes.len());
            if blank == 0 {
                return Ok(Some(first));
            }
            self.step(blank);
        }
    }

    fn step(&mut self, count: usize) {
        self.reader.consume(count);
        self.bytes += count as u64;
    }

    fn expect(&mut self, wanted: u8, what: &'static str) -> Result<(), ScanError> {
        if self.peek()? != Some(wanted) {
            return Err(ScanError::Syntax(what, self.bytes));
        }
        self.step(1);
        Ok(())
    }

    /// Takes the value that comes next.
    fn value(&mut self, mut into: Option<&mut Vec<u8>>) -> Result<(), ScanError> {
        self.peek()?;
        let mut scan = Scan::default();
        loop {
            let bytes = self.reader.fill_buf()?;
            if bytes.is_empty() {
                // A number or a word may end with the document.
                let is_whole = scan.depth == 0 && !scan.in_string && scan.is_begun;
                return if is_whole { Ok(()) } else { Err(ScanError::Syntax("a value's end", self.bytes)) };
            }
            let (used, is_end) = scan.advance(bytes);
            if let Some(into) = &mut into {
                into.extend_from_slice(&bytes[..used]);
            }
            self.step(used);
            if is_end {
                return if scan.is_begun { Ok(()) } else { Err(ScanError::Syntax("a value", self.bytes)) };
            }
        }
    }
}

/// The members of an object that is known to be JSON, as the text that they are; a name's escapes stay.
pub(crate) fn members(object: &[u8]) -> Members<'_> {
    Members { rest: object.trim_ascii().strip_prefix(b"{").unwrap_or_default() }
}

pub(crate) struct Members<'a> {
    rest: &'a [u8],
}

impl<'a> Iterator for Members<'a> {
    type Item = (&'a [u8], &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        let rest = self.rest.trim_ascii_start();
        let (name, rest) = take(rest.strip_prefix(b",").unwrap_or(rest).trim_ascii_start());
        let name = name.strip_prefix(b"\"")?.strip_suffix(b"\"")?;
        let (value, rest) = take(rest.trim_ascii_start().strip_prefix(b":")?.trim_ascii_start());
        self.rest = rest;
        Some((name, value))
    }
}

/// The values of a list that is known to be JSON, as the text that they are.
#[cfg(feature = "parquet")]
pub(crate) fn items(list: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = list.trim_ascii().strip_prefix(b"[").unwrap_or_default();
    std::iter::from_fn(move || {
        let (value, behind) = take(rest.strip_prefix(b",").unwrap_or(rest).trim_ascii_start());
        rest = behind.trim_ascii_start();
        (!value.is_empty()).then_some(value)
    })
}

/// The value that begins here, and what follows.
fn take(bytes: &[u8]) -> (&[u8], &[u8]) {
    // Most text has no escapes, and most other values are numbers and words.
    let end = match bytes.first() {
        Some(b'"') => bytes[1..].iter().position(|byte| matches!(byte, b'"' | b'\\')).and_then(|end| {
            let is_plain = bytes[end + 1] == b'"';
            is_plain.then_some(end + 2)
        }),
        _ => None,
    };
    bytes.split_at(end.unwrap_or_else(|| Scan::default().advance(bytes).0))
}

/// Where in a value the scan is.
#[derive(Default)]
struct Scan {
    depth: u64,
    in_string: bool,
    is_escaped: bool,
    is_begun: bool,
}

impl Scan {
    /// How many of the bytes belong to the value, and whether it ends there.
    fn advance(&mut self, bytes: &[u8]) -> (usize, bool) {
        for (index, &byte) in bytes.iter().enumerate() {
            if self.in_string {
                if self.is_escaped {
                    self.is_escaped = false;
                } else if byte == b'\\' {
                    self.is_escaped = true;
                } else if byte == b'"' {
                    self.in_string = false;
                    if self.depth == 0 {
                        return (index + 1, true);
                    }
                }
                continue;
            }
            match byte {
                // At the top these begin the next thing, so that a bare value ends before them.
                b',' | b':' | b']' | b'}' | b' ' | b'\t' | b'\r' | b'\n' if self.depth == 0 => {
                    return (index, true);
                }
                b'"' | b'[' | b'{' if self.depth == 0 && self.is_begun => return (index, true),
                b'"' => self.in_string = true,
                b'[' | b'{' => self.depth += 1,
                b']' | b'}' => {
                    self.depth -= 1;
                    if self.depth == 0 {
                        return (index + 1, true);
                    }
                }
                _ => {}
            }
            self.is_begun = true;
        }
        (bytes.len(), false)
    }
}

#[cfg(test)]
mod tests {
    use std::io::BufReader;

    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;

    fn all<R: BufRead>(mut elements: Elements<R>) -> Result<Vec<String>, ScanError> {
        let (mut found, mut value) = (Vec::new(), Vec::new());
        while elements.next(&mut value)? {
            found.push(String::from_utf8(value.clone()).unwrap());
        }
        Ok(found)
    }

    /// With a buffer so small that everything is split somewhere.
    fn small(text: &str, capacity: usize) -> BufReader<&[u8]> {
        BufReader::with_capacity(capacity, text.as_bytes())
    }

    #[test]
    fn values_come_out_as_they_stand() {
        let text = " [ {\"a\":\"]}\\\"\"} ,\n[1,[2]],-1.5e3 , \"x\\\\\",null]\n";
        let expected = ["{\"a\":\"]}\\\"\"}", "[1,[2]]", "-1.5e3", "\"x\\\\\"", "null"];
        for capacity in 1..12 {
            assert_eq!(all(Elements::of_list(small(text, capacity)).unwrap()).unwrap(), expected);
        }
        assert_eq!(all(Elements::of_list(&b"[]"[..]).unwrap()).unwrap(), Vec::<String>::new());
        assert_eq!(all(Elements::of_value(&b" {\"a\": 1}\n"[..])).unwrap(), ["{\"a\": 1}"]);
        let text = r#"{"x": {"rows":[9]}, "y" : "rows", "rows" : [1, 2], "z": 3}"#;
        assert_eq!(all(Elements::of_member(text.as_bytes(), "rows").unwrap()).unwrap(), ["1", "2"]);
    }

    #[test]
    fn what_is_no_list_is_told_with_its_place() {
        let fault = |text: &'static str| match Elements::of_list(text.as_bytes()).and_then(all) {
            Err(ScanError::Syntax(what, at)) => (what, at),
            other => panic!("{text}: {other:?}"),
        };
        assert_eq!(fault("{}"), ("a list of rows", 0));
        assert_eq!(fault(""), ("a list of rows", 0));
        assert_eq!(fault("[1 2]"), ("a comma or the list's end", 3));
        assert_eq!(fault("[1,]"), ("a value", 3));
        assert_eq!(fault("[{\"a\":1}"), ("a comma or the list's end", 8));
        assert_eq!(fault("[{\"a\":[1}"), ("a value's end", 9));
        for text in ["{}", "{\"row\":[]}", "[]"] {
            assert!(Elements::of_member(text.as_bytes(), "rows").is_err(), "{text}");
        }
    }

    #[test]
    fn members_come_out_as_they_stand() {
        let text = br#" {"a":1, "b\"" : "x,}" ,"c":{"d":[1,"}"]},"e":"\\"}"#;
        let found: Vec<(&[u8], &[u8])> = members(text).collect();
        let expected: [(&[u8], &[u8]); 4] =
            [(b"a", b"1"), (br#"b\""#, br#""x,}""#), (b"c", br#"{"d":[1,"}"]}"#), (b"e", br#""\\""#)];
        assert_eq!(found, expected);
        assert_eq!(members(b"{}").count() + members(b"").count() + members(b"[1]").count(), 0);
    }

    fn value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            "[\\x20-\\x7eé\n\"\\\\]{0,8}".prop_map(Value::from),
        ];
        leaf.prop_recursive(3, 24, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::btree_map("[a-c\"\\\\{]{0,3}", inner, 0..4).prop_map(|map| json!(map)),
            ]
        })
    }

    proptest! {
        #[test]
        fn members_are_those_that_serde_json_finds(
            object in prop::collection::btree_map("[a-c\"\\\\{é]{0,3}", value(), 0..6), pretty: bool
        ) {
            let text = if pretty { serde_json::to_vec_pretty(&object) } else { serde_json::to_vec(&object) };
            let text = text.unwrap();
            let parse = |text: &[u8]| serde_json::from_slice::<Value>(text).unwrap();
            let found: Vec<(Value, Value)> = members(&text)
                .map(|(name, value)| (parse(&[b"\"", name, b"\""].concat()), parse(value)))
                .collect();
            let expected: Vec<(Value, Value)> =
                object.into_iter().map(|(name, value)| (name.into(), value)).collect();
            prop_assert_eq!(found, expected);
        }

        #[test]
        fn any_list_is_taken_apart_as_serde_json_does(
            values in prop::collection::vec(value(), 0..6), capacity in 1_usize..40, pretty: bool
        ) {
            let list = Value::from(values.clone());
            let text = if pretty { serde_json::to_string_pretty(&list) } else { serde_json::to_string(&list) };
            let found = all(Elements::of_list(small(&text.unwrap(), capacity)).unwrap()).unwrap();
            let found: Vec<Value> = found.iter().map(|text| serde_json::from_str(text).unwrap()).collect();
            prop_assert_eq!(&found, &values);
            #[cfg(feature = "parquet")]
            {
                let text = serde_json::to_string_pretty(&values).unwrap();
                let found = items(text.as_bytes()).map(|value| serde_json::from_slice(value).unwrap());
                prop_assert_eq!(found.collect::<Vec<Value>>(), values);
            }
        }
    }
}
