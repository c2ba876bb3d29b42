//! Reading files of cases. Pure but for one function that opens the file.

use std::collections::HashSet;
use std::fmt;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use serde::de::DeserializeSeed as _;

use super::wire::{Document, OneCase, RawCase, RawTool, twice};
use super::{Case, csv};

/// How a file holds its cases.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum CaseFormat {
    /// A list of cases, or an object with `cases` and what they share: `name`, `version`, `tools`.
    Json,
    /// A case on each line.
    JsonLines,
    /// A case in each row; `id` and `prompt` must be among the columns.
    Csv,
}

/// Test cases, in the order of their file. All of them were checked: ids are distinct, patterns and schemas compile.
///
/// ```
/// use wattspan_eval::{CaseFormat, Cases};
///
/// let text = r#"[{"id": "capital", "prompt": "Capital of France?", "expected": "Paris"}]"#;
/// assert_eq!(Cases::parse(text, CaseFormat::Json)?.len(), 1);
///
/// let error = Cases::parse(r#"[{"id": "a", "promt": "Hi"}]"#, CaseFormat::Json).unwrap_err();
/// assert_eq!((error.line(), error.column()), (1, 20));
/// assert!(error.to_string().contains("`promt`"), "{error}");
/// # Ok::<(), wattspan_eval::CasesError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Cases {
    list: Vec<Case>,
    name: Option<String>,
    version: Option<String>,
}

/// A file of cases is faulty, or cannot be read. Nothing was run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CasesError {
    path: Option<PathBuf>,
    place: Option<(u64, u64)>,
    reason: String,
}

impl Cases {
    /// Takes cases that a program made.
    ///
    /// # Errors
    /// When two have the same id, or one has no messages.
    pub fn new(cases: Vec<Case>) -> Result<Self, CasesError> {
        let mut known = HashSet::new();
        for case in &cases {
            let fault = if case.id.trim().is_empty() {
                Some("a case has no id".to_owned())
            } else if case.messages.is_empty() {
                Some(format!("case {:?}: it has no messages", case.id))
            } else if !known.insert(case.id.as_str()) {
                Some(twice(&case.id))
            } else {
                None
            };
            if let Some(reason) = fault {
                return Err(CasesError { path: None, place: None, reason });
            }
        }
        Ok(Self { list: cases, name: None, version: None })
    }

    /// Reads a file, in the format that its ending tells: `.json`, `.jsonl` or `.ndjson`, `.csv`.
    ///
    /// # Errors
    /// When it cannot be read or is faulty: with path, line, column, the case's id, and what to do.
    pub fn read(path: impl AsRef<Path>) -> Result<Self, CasesError> {
        let path = path.as_ref();
        let fault = |reason: String| CasesError { path: Some(path.to_owned()), place: None, reason };
        let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
        let format = CaseFormat::of_ending(ending).ok_or_else(|| {
            fault(
                "its name must end with `.json`, `.jsonl`, `.ndjson` or `.csv`, which tells the format"
                    .to_owned(),
            )
        })?;
        let file = std::fs::File::open(path).map_err(|error| fault(format!("cannot be read: {error}")))?;
        let mut bytes = Vec::new();
        file.take(LARGEST + 1)
            .read_to_end(&mut bytes)
            .map_err(|error| fault(format!("cannot be read: {error}")))?;
        if bytes.len() as u64 > LARGEST {
            return Err(fault(format!("is larger than {} MiB: split it", LARGEST >> 20)));
        }
        let text = String::from_utf8(bytes).map_err(|error| {
            let good = error.utf8_error().valid_up_to();
            let before = &error.as_bytes()[..good];
            let line = before.split(|byte| *byte == b'\n').count() as u64;
            let column = before.iter().rev().take_while(|byte| **byte != b'\n').count() as u64 + 1;
            let reason = "is not UTF-8 text: save it as UTF-8".to_owned();
            CasesError { path: Some(path.to_owned()), place: Some((line, column)), reason }
        })?;
        Self::parse(&text, format).map_err(|error| CasesError { path: Some(path.to_owned()), ..error })
    }

    /// Reads a text.
    ///
    /// # Errors
    /// When it is faulty: with line, column, the case's id, and what to do.
    pub fn parse(text: &str, format: CaseFormat) -> Result<Self, CasesError> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let (cases, tools, name, version) = match format {
            CaseFormat::Json => {
                let document: Document = serde_json::from_str(text).map_err(|error| json(0, &error))?;
                let cases = document.cases.into_iter().map(|case| (None, case)).collect();
                (cases, document.tools, document.name, document.version)
            }
            CaseFormat::JsonLines => (numbered(json_lines(text)?), Vec::new(), None, None),
            CaseFormat::Csv => (numbered(csv_rows(text)?), Vec::new(), None, None),
        };
        shared(&tools)?;
        let build = |(line, case): (Option<u64>, RawCase)| {
            let place = line.map(|line| (line, 1));
            case.build(&tools).map_err(|reason| CasesError { path: None, place, reason })
        };
        let cases = cases.into_iter().map(build).collect::<Result<Vec<_>, _>>()?;
        if cases.is_empty() {
            let reason = "there is no case in it: add one with `id` and `prompt`".to_owned();
            return Err(CasesError { path: None, place: None, reason });
        }
        Ok(Self { list: cases, name, version })
    }

    /// Only the cases that a condition holds for, such as a tag.
    pub fn retain(&mut self, keep: impl FnMut(&Case) -> bool) {
        self.list.retain(keep);
    }

    /// How many.
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// The cases.
    pub fn as_slice(&self) -> &[Case] {
        &self.list
    }

    /// The suite's name, as its file has it.
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// The suite's version, as its file has it.
    pub fn version(&self) -> Option<&str> {
        self.version.as_deref()
    }
}

type Numbered = Vec<(Option<u64>, RawCase)>;

fn numbered(cases: Vec<(u64, RawCase)>) -> Numbered {
    cases.into_iter().map(|(line, case)| (Some(line), case)).collect()
}

/// Tools that all cases of a file may name.
fn shared(tools: &[RawTool]) -> Result<(), CasesError> {
    let mut names = HashSet::new();
    for tool in tools {
        let fault = if names.insert(tool.name.as_str()) {
            tool.build().err()
        } else {
            Some(format!("tool {:?} is there twice", tool.name))
        };
        if let Some(reason) = fault {
            return Err(CasesError { path: None, place: None, reason });
        }
    }
    Ok(())
}

fn json_lines(text: &str) -> Result<Vec<(u64, RawCase)>, CasesError> {
    let (mut cases, mut known) = (Vec::new(), HashSet::new());
    for (number, line) in (1..).zip(text.lines()) {
        if line.trim().is_empty() {
            continue;
        }
        let mut reader = serde_json::Deserializer::from_str(line);
        let case = OneCase(&mut known).deserialize(&mut reader);
        let case =
            case.and_then(|case| reader.end().map(|()| case)).map_err(|error| json(number - 1, &error))?;
        cases.push((number, case));
    }
    Ok(cases)
}

fn csv_rows(text: &str) -> Result<Vec<(u64, RawCase)>, CasesError> {
    let cases = csv::read(text)?;
    let mut known = HashSet::new();
    for (line, case) in &cases {
        case.try_parts().map_err(|reason| CasesError::at(*line, 1, reason))?;
        if !known.insert(case.id.as_str()) {
            return Err(CasesError::at(*line, 1, twice(&case.id)));
        }
    }
    Ok(cases)
}

/// A fault as serde_json tells it, whose words end with the place.
fn json(lines_before: u64, error: &serde_json::Error) -> CasesError {
    let (line, column) = (error.line() as u64, error.column() as u64);
    let words = error.to_string();
    let place = format!(" at line {line} column {column}");
    let reason = words.strip_suffix(&place).unwrap_or(&words).to_owned();
    let reason = if reason.starts_with("case ") { reason } else { format!("{reason}: mend the file there") };
    CasesError { path: None, place: Some((lines_before + line, column)), reason }
}

impl CaseFormat {
    fn of_ending(ending: &str) -> Option<Self> {
        match ending.to_ascii_lowercase().as_str() {
            "json" => Some(Self::Json),
            "jsonl" | "ndjson" => Some(Self::JsonLines),
            "csv" => Some(Self::Csv),
            _ => None,
        }
    }
}

impl CasesError {
    pub(super) fn at(line: u64, column: u64, reason: String) -> Self {
        Self { path: None, place: Some((line, column)), reason }
    }

    /// Line of the fault, from 1; 0 where the whole file is meant.
    pub fn line(&self) -> u64 {
        self.place.map_or(0, |(line, _)| line)
    }

    /// Column of the fault, from 1; in CSV the number of the cell. 0 where the whole file is meant.
    pub fn column(&self) -> u64 {
        self.place.map_or(0, |(_, column)| column)
    }
}

impl fmt::Display for CasesError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.path {
            Some(path) => write!(out, "{}", path.display())?,
            None => out.write_str("cases")?,
        }
        if let Some((line, column)) = self.place {
            write!(out, ", line {line}, column {column}")?;
        }
        write!(out, ": {}", self.reason)
    }
}

impl std::error::Error for CasesError {}

/// A file of cases is written by people; more than this is another file.
const LARGEST: u64 = 256 << 20;

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
