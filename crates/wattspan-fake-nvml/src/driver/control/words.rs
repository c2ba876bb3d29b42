//! Words of a line.

use super::Wrong;

/// The words that are left of a line, and the moment that the line counts for.
#[derive(Debug)]
pub(super) struct Words<'a> {
    rest: &'a str,
    pub(super) at: u64,
}

impl<'a> Words<'a> {
    pub(super) fn new(line: &'a str, at: u64) -> Self {
        Self { rest: line.trim(), at }
    }

    /// The next word, if there is one.
    pub(super) fn next(&mut self) -> Option<&'a str> {
        if self.rest.is_empty() {
            return None;
        }
        let (word, rest) = self.rest.split_once(char::is_whitespace).unwrap_or((self.rest, ""));
        self.rest = rest.trim_start();
        Some(word)
    }

    /// The next word.
    pub(super) fn word(&mut self) -> Result<&'a str, Wrong> {
        self.next().ok_or_else(|| "a word is missing".to_owned())
    }

    /// All that is left.
    pub(super) fn rest(&mut self) -> &'a str {
        std::mem::take(&mut self.rest)
    }

    /// A whole number.
    pub(super) fn number(&mut self) -> Result<u64, Wrong> {
        let word = self.word()?;
        word.parse().map_err(|_| format!("{word} is no whole number"))
    }

    /// A whole number of at most 32 bits.
    pub(super) fn small(&mut self) -> Result<u32, Wrong> {
        let number = self.number()?;
        u32::try_from(number).map_err(|_| format!("{number} is too large"))
    }

    /// A decimal number.
    pub(super) fn decimal(&mut self) -> Result<f64, Wrong> {
        let word = self.word()?;
        word.parse().map_err(|_| format!("{word} is no number"))
    }

    /// A decimal number, or what to take if the line ends here.
    pub(super) fn decimal_or(&mut self, otherwise: f64) -> Result<f64, Wrong> {
        if self.rest.is_empty() { Ok(otherwise) } else { self.decimal() }
    }

    /// A whole number, or what to take if the line ends here.
    pub(super) fn number_or(&mut self, otherwise: u64) -> Result<u64, Wrong> {
        if self.rest.is_empty() { Ok(otherwise) } else { self.number() }
    }

    /// A moment: microseconds, `+N` from the line's moment, or `now`.
    pub(super) fn time(&mut self) -> Result<u64, Wrong> {
        let word = self.word()?;
        let wrong = |_| format!("{word} is no time");
        match word.strip_prefix('+') {
            Some(later) => later.parse::<u64>().map(|later| self.at.saturating_add(later)).map_err(wrong),
            None if word == "now" => Ok(self.at),
            None => word.parse().map_err(wrong),
        }
    }

    /// A moment, or `-` for one that is not known yet.
    pub(super) fn time_or_open(&mut self) -> Result<Option<u64>, Wrong> {
        if let Some(rest) = self.rest.strip_prefix("- ") {
            self.rest = rest.trim_start();
            return Ok(None);
        }
        self.time().map(Some)
    }

    /// A moment, or the line's if it ends here.
    pub(super) fn time_or_now(&mut self) -> Result<u64, Wrong> {
        if self.rest.is_empty() { Ok(self.at) } else { self.time() }
    }

    /// Nothing may be left.
    pub(super) fn end(&self) -> Result<(), Wrong> {
        if self.rest.is_empty() { Ok(()) } else { Err(format!("too many words: {}", self.rest)) }
    }
}
