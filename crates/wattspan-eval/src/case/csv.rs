//! Cases as CSV has them: one a row, texts only, the columns named in the first row.

use super::read::CasesError;
use super::wire::{RawCase, RawCheck};

/// Columns that are known. Only `id` and `prompt` must be there.
const COLUMNS: [&str; 8] =
    ["id", "prompt", "expected", "tags", "difficulty", "checks", "time_limit_s", "max_tokens"];

pub(super) fn read(text: &str) -> Result<Vec<(u64, RawCase)>, CasesError> {
    let mut reader = csv::ReaderBuilder::new().from_reader(text.as_bytes());
    let columns: Vec<String> =
        reader.headers().map_err(|error| fault(&error))?.iter().map(|name| name.trim().to_owned()).collect();
    for (column, name) in (1..).zip(&columns) {
        if !COLUMNS.contains(&name.as_str()) {
            let known = COLUMNS.join("`, `");
            return Err(CasesError::at(1, column, format!("there is no column {name:?}: take `{known}`")));
        }
        if columns.iter().filter(|other| *other == name).count() > 1 {
            return Err(CasesError::at(1, column, format!("the column {name:?} is there twice")));
        }
    }
    if let Some(missing) = ["id", "prompt"].iter().find(|name| !columns.iter().any(|known| known == *name)) {
        return Err(CasesError::at(
            1,
            1,
            format!("the column `{missing}` is missing: name it in the first row"),
        ));
    }
    let mut cases = Vec::new();
    let mut record = csv::StringRecord::new();
    loop {
        if !reader.read_record(&mut record).map_err(|error| fault(&error))? {
            return Ok(cases);
        }
        let line = record.position().map_or(0, |place| place.line() + blank_lines(text, place.byte()));
        let cell = |name: &str| {
            let column = columns.iter().position(|known| known == name)?;
            record
                .get(column)
                .map(str::to_owned)
                .filter(|text| !text.is_empty())
                .map(|text| (column as u64 + 1, text))
        };
        let text = |name: &str| cell(name).map(|(_, text)| text);
        let list = |name: &str| {
            let text = text(name).unwrap_or_default();
            text.split(';')
                .map(str::trim)
                .filter(|part| !part.is_empty())
                .map(str::to_owned)
                .collect::<Vec<_>>()
        };
        let number = |name: &str| match cell(name) {
            None => Ok(None),
            Some((column, text)) => text.trim().parse::<f64>().map(Some).map_err(|_| {
                CasesError::at(line, column, format!("`{name}` must be a number, not {text:?}"))
            }),
        };
        let max_tokens = match number("max_tokens")? {
            Some(tokens) if tokens >= 0.0 && tokens <= f64::from(u32::MAX) && tokens.fract() == 0.0 => {
                Some(tokens as u32)
            }
            Some(_) => {
                let column = cell("max_tokens").map_or(1, |(column, _)| column);
                return Err(CasesError::at(line, column, "`max_tokens` must be a whole number".to_owned()));
            }
            None => None,
        };
        cases.push((
            line,
            RawCase {
                id: text("id").unwrap_or_default(),
                prompt: text("prompt"),
                messages: Vec::new(),
                expected: text("expected"),
                tags: list("tags"),
                difficulty: text("difficulty"),
                checks: list("checks").into_iter().map(RawCheck::Named).collect(),
                tools: Vec::new(),
                expected_tool: None,
                time_limit_s: number("time_limit_s")?,
                max_tokens,
            },
        ));
    }
}

/// A row's place is the end of the row before; blank lines, which are passed over, may follow that.
fn blank_lines(text: &str, from: u64) -> u64 {
    let rest = usize::try_from(from).ok().and_then(|from| text.as_bytes().get(from..)).unwrap_or_default();
    rest.iter().take_while(|byte| matches!(byte, b'\r' | b'\n')).filter(|byte| **byte == b'\n').count() as u64
}

fn fault(error: &csv::Error) -> CasesError {
    let line = error.position().map_or(1, csv::Position::line);
    let reason = match error.kind() {
        csv::ErrorKind::UnequalLengths { expected_len, len, .. } => {
            format!(
                "the row has {len} cells and the first row {expected_len}: put cells with commas in quotes"
            )
        }
        _ => format!("not CSV: {error}"),
    };
    CasesError::at(line, 1, reason)
}
