//! What makes two rows the same document, and the text of a document. Pure.

use std::borrow::Cow;

use ring::digest::{SHA256, digest};
use serde::{Serialize, Serializer};
use wattspan_core::{Cell, Row, RunId, Table};
use wattspan_dataset::{Column, ColumnType, columns};

/// The id of a row's document: the same row has the same one in every export, so that none is stored twice.
///
/// It begins with the run, since runs can share an index. A row that lacks what names it is known by all of its cells.
pub(crate) fn id(run: &RunId, table: Table, row: &Row) -> String {
    let text = |name: &str| match cell(row, name)? {
        Cell::Text(text) if !text.is_empty() => Some(text.as_ref()),
        _ => None,
    };
    // A run id has no colon, an attempt and a time none either: what comes last may have any.
    let id = match table {
        Table::Leaderboard => Some(run.to_string()),
        Table::Results => {
            text("test_case_uid").or_else(|| text("task_id")).map(|case| match cell(row, "attempt") {
                Some(Cell::Int(attempt)) => format!("{run}:{attempt}:{case}"),
                _ => format!("{run}::{case}"),
            })
        }
        Table::Traces => text("trace_id").map(|trace| format!("{run}:{trace}")),
        Table::Metrics => {
            let device = text("device_id").or_else(|| text("gpu_id"));
            let moment = text("timestamp_unix_nano");
            // Two collectors that read one device in the same nanosecond still began at different ones.
            let began = text("started_unix_nano").unwrap_or_default();
            moment.zip(device).map(|(moment, device)| format!("{run}:{moment}:{began}:{device}"))
        }
    };
    match id {
        Some(id) if id.len() <= LONGEST_ID => id,
        Some(id) => format!("{run}:{}", hash(id.as_bytes())),
        None => format!("{run}:{}", hash(&serde_json::to_vec(row).unwrap_or_default())),
    }
}

/// An id may have 512 bytes. (OpenSearch documentation, index document.)
const LONGEST_ID: usize = 512;

fn cell<'a>(row: &'a Row, name: &str) -> Option<&'a Cell> {
    row.0.iter().find(|(known, _)| known == name).map(|(_, cell)| cell)
}

fn hash(bytes: &[u8]) -> String {
    // Half of SHA-256: two rows of a million share it with a chance of 10⁻²⁷.
    let digest = digest(&SHA256, bytes);
    let half = digest.as_ref().first_chunk().copied().unwrap_or_default();
    format!("{:032x}", u128::from_be_bytes(half))
}

/// Appends the two lines of a document: what to do with it, and itself. The same id replaces what is there.
pub(crate) fn put(to: &mut Vec<u8>, table: Table, index: &str, id: &str, row: &Row) {
    action(to, r#"{"index":{"_index":"#, index, id, "}}\n");
    append(to, &Document { row, columns: columns(table), absent: Absent::Null });
    to.push(b'\n');
}

/// The same for a row of the leaderboard, which is made or changed: what others have written into it stays.
pub(crate) fn upsert(to: &mut Vec<u8>, index: &str, id: &str, row: &Row) {
    action(to, r#"{"update":{"_index":"#, index, id, ",\"retry_on_conflict\":3}}\n{\"doc\":");
    append(to, &Document { row, columns: columns(Table::Leaderboard), absent: Absent::LeftOut(&OTHERS) });
    to.extend_from_slice(b",\"doc_as_upsert\":true}\n");
}

fn action(to: &mut Vec<u8>, begin: &str, index: &str, id: &str, end: &str) {
    to.extend_from_slice(begin.as_bytes());
    append(to, &index);
    to.extend_from_slice(br#","_id":"#);
    append(to, &id);
    to.extend_from_slice(end.as_bytes());
}

fn append(to: &mut Vec<u8>, value: &impl Serialize) {
    // A vector takes every write, and cells and texts always have a form in JSON: there is nothing that can fail.
    let _ = serde_json::to_writer(to, value);
}

/// Columns of the leaderboard that people or other exports fill in.
const OTHERS: [&str; 8] = [
    "submitted_by",
    "use_case",
    "team",
    "purpose",
    "notes",
    "results_dataset",
    "traces_dataset",
    "metrics_dataset",
];

struct Document<'a> {
    row: &'a Row,
    columns: &'static [Column],
    absent: Absent,
}

#[derive(Clone, Copy)]
enum Absent {
    Null,
    /// These are left out, others are null.
    LeftOut(&'static [&'static str]),
}

impl Serialize for Document<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let is_left_out = |name: &str, cell: &Cell| match self.absent {
            Absent::Null => false,
            Absent::LeftOut(names) => *cell == Cell::Null && names.contains(&name),
        };
        serializer.collect_map(
            shaped(&self.row.0, self.columns).filter(|(name, value)| !is_left_out(name, value.cell)),
        )
    }
}

/// Cells with what their columns are, which decides what a server can take.
fn shaped<'a>(
    cells: &'a [(Cow<'static, str>, Cell)],
    columns: &'static [Column],
) -> impl Iterator<Item = (&'a str, Shaped<'a>)> {
    cells.iter().enumerate().map(|(index, (name, cell))| {
        // Rows come in the columns' order: the look-up is for those of other hands.
        let column = columns
            .get(index)
            .filter(|column| column.name == name)
            .or_else(|| columns.iter().find(|column| column.name == name));
        (name.as_ref(), Shaped { cell, kind: column.map(|column| column.kind) })
    })
}

struct Shaped<'a> {
    cell: &'a Cell,
    kind: Option<ColumnType>,
}

impl Serialize for Shaped<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match (self.cell, self.kind) {
            (Cell::Map(cells), Some(ColumnType::Struct(parts))) => {
                serializer.collect_map(shaped(cells, parts))
            }
            (Cell::List(cells), Some(ColumnType::List(item))) => {
                serializer.collect_seq(cells.iter().map(|cell| Shaped { cell, kind: Some(*item) }))
            }
            (Cell::Map(_), Some(ColumnType::Map)) => Flat(self.cell).serialize(serializer),
            (cell, _) => cell.serialize(serializer),
        }
    }
}

/// What stands in a flat object: no nulls, which some versions refuse there, and no text that is too long for a term.
struct Flat<'a>(&'a Cell);

impl Serialize for Flat<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Cell::Map(cells) => serializer.collect_map(
                cells.iter().filter(|(_, cell)| !is_absent(cell)).map(|(name, cell)| (name, Flat(cell))),
            ),
            // 2.12 and 2.13 refuse lists of objects in a flat object (opensearch-project/OpenSearch#13184): as JSON text
            // they can be read by all.
            Cell::List(cells) if cells.iter().any(|cell| matches!(cell, Cell::Map(_) | Cell::List(_))) => {
                let text = serde_json::to_string(self.0).map_err(serde::ser::Error::custom)?;
                serializer.serialize_str(&cut(&text))
            }
            Cell::List(cells) => {
                serializer.collect_seq(cells.iter().filter(|cell| !is_absent(cell)).map(Flat))
            }
            Cell::Text(text) => serializer.serialize_str(&cut(text)),
            cell => cell.serialize(serializer),
        }
    }
}

fn is_absent(cell: &Cell) -> bool {
    match cell {
        Cell::Null => true,
        Cell::Float(value) => !value.is_finite(),
        _ => false,
    }
}

/// Cut to what a flat object can index beside its path: see [`LONGEST_VALUE`].
fn cut(text: &str) -> Cow<'_, str> {
    if text.len() <= LONGEST_VALUE {
        return Cow::Borrowed(text);
    }
    Cow::Owned(format!("{}…", &text[..text.floor_char_boundary(LONGEST_VALUE - '…'.len_utf8())]))
}

/// A flat object indexes each value as one term of at most 32 766 bytes, its path in front (Lucene,
/// `IndexWriter.MAX_TERM_LENGTH`): a longer one fails the whole document. The file on this machine has it whole.
const LONGEST_VALUE: usize = 30_000;

#[cfg(test)]
mod tests;
