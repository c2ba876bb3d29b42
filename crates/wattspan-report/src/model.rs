//! What a report says, before it has a format. All formats write these tables, so that they have the same numbers.

use std::borrow::Cow;

use crate::number::{self, Unit};
use crate::text;

/// A number with what belongs to it, or why there is none.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Figure {
    /// In the unit of its column. Always finite.
    pub(crate) value: Option<f64>,
    pub(crate) plus_minus: Option<f64>,
    pub(crate) unit: Unit,
    /// Why there is no value, or what to know of it.
    pub(crate) note: Option<Cow<'static, str>>,
}

impl Figure {
    pub(crate) fn new(value: impl Into<Option<f64>>, unit: Unit) -> Self {
        let value = value.into().filter(|value: &f64| value.is_finite());
        Self { value, plus_minus: None, unit, note: None }
    }

    pub(crate) fn count(value: impl Into<Option<u64>>) -> Self {
        Self::new(value.into().map(|count| count as f64), Unit::Count)
    }

    pub(crate) fn plus_minus(mut self, half: Option<f64>) -> Self {
        self.plus_minus = half.filter(|half| half.is_finite() && *half >= 0.0);
        self
    }

    /// Why there is no value; said only when there is none.
    pub(crate) fn or_because(mut self, reason: impl Into<Cow<'static, str>>) -> Self {
        if self.value.is_none() {
            self.note = Some(reason.into());
        }
        self
    }

    /// What to know of the value; said only when there is one.
    pub(crate) fn note(mut self, note: impl Into<Cow<'static, str>>) -> Self {
        if self.value.is_some() {
            self.note = Some(note.into());
        }
        self
    }

    /// As text, with unit and ±; a dash when there is no value.
    pub(crate) fn text(&self) -> String {
        self.value.map_or_else(|| ABSENT.to_owned(), |value| number::show(value, self.plus_minus, self.unit))
    }
}

/// What stands in a cell.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Content {
    Figure(Figure),
    Text(String),
    /// Nothing, with the reason where it is known.
    Absent(Option<Cow<'static, str>>),
    /// Whether something passed.
    Verdict(bool),
    /// A text with longer ones that open below it: title and text.
    Open(String, Vec<(&'static str, String)>),
}

impl Content {
    pub(crate) fn text(text: Option<impl Into<String>>) -> Self {
        text.map_or(Self::Absent(None), |text| Self::Text(text.into()))
    }

    /// As a format without markup has it.
    pub(crate) fn plain(&self) -> String {
        match self {
            Self::Figure(figure) => figure.text(),
            Self::Text(text) | Self::Open(text, _) => text.clone(),
            Self::Absent(_) => ABSENT.to_owned(),
            Self::Verdict(true) => PASSED.to_owned(),
            Self::Verdict(false) => FAILED.to_owned(),
        }
    }
}

impl From<Figure> for Content {
    fn from(figure: Figure) -> Self {
        Self::Figure(figure)
    }
}

/// A column, and its key in the files' own words where they have one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Column {
    pub(crate) key: &'static str,
    pub(crate) title: &'static str,
    pub(crate) is_number: bool,
}

pub(crate) const fn words(key: &'static str, title: &'static str) -> Column {
    Column { key, title, is_number: false }
}

pub(crate) const fn number(key: &'static str, title: &'static str) -> Column {
    Column { key, title, is_number: true }
}

/// A row: what it is about, and its cells, the first of which names it.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    pub(crate) key: String,
    pub(crate) cells: Vec<Content>,
    /// Stands for all others, such as a sum.
    pub(crate) is_total: bool,
}

impl Line {
    pub(crate) fn new(key: impl AsRef<str>, cells: Vec<Content>) -> Self {
        Self { key: text::line(key.as_ref()), cells, is_total: false }
    }

    pub(crate) fn total(mut self) -> Self {
        self.is_total = true;
        self
    }
}

/// A table with a name, in all formats the same.
#[derive(Clone, Debug)]
pub(crate) struct Table {
    pub(crate) key: &'static str,
    pub(crate) title: &'static str,
    pub(crate) columns: Vec<Column>,
    pub(crate) lines: Vec<Line>,
    /// What to know of its figures.
    pub(crate) notes: Vec<String>,
    pub(crate) sorts: bool,
}

impl Table {
    pub(crate) fn new(key: &'static str, title: &'static str, columns: Vec<Column>) -> Self {
        Self { key, title, columns, lines: Vec::new(), notes: Vec::new(), sorts: false }
    }

    /// Columns in which no line has anything are left out. The first one stays.
    pub(crate) fn without_empty_columns(mut self) -> Self {
        let used: Vec<bool> = (0..self.columns.len())
            .map(|index| {
                let has = |line: &Line| match line.cells.get(index) {
                    None | Some(Content::Absent(_)) => false,
                    Some(Content::Figure(figure)) => figure.value.is_some(),
                    Some(_) => true,
                };
                index == 0 || self.lines.iter().any(has)
            })
            .collect();
        let keep = |index: usize| used.get(index).copied().unwrap_or(true);
        let mut index = 0..;
        self.columns.retain(|_| index.next().is_none_or(keep));
        for line in &mut self.lines {
            let mut index = 0..;
            line.cells.retain(|_| index.next().is_none_or(keep));
        }
        self
    }
}

/// Stands where there is no value.
pub(crate) const ABSENT: &str = "–";
pub(crate) const PASSED: &str = "pass";
pub(crate) const FAILED: &str = "fail";
