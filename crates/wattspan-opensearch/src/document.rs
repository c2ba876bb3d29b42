//! What makes two rows the same document, and the text of a document. Pure.

use std::borrow::Cow;

use ring::digest::{SHA256, digest};
use serde::Serialize;
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
    action(to, br#"{"index":{"_index":"#, index, id, b"}}\n");
    cells(to, &row.0, columns(table), &[]);
    to.push(b'\n');
}

/// The same for a row of the leaderboard, which is made or changed: what others have written into it stays.
pub(crate) fn upsert(to: &mut Vec<u8>, index: &str, id: &str, row: &Row) {
    action(to, br#"{"update":{"_index":"#, index, id, b",\"retry_on_conflict\":3}}\n{\"doc\":");
    cells(to, &row.0, columns(Table::Leaderboard), &OTHERS);
    to.extend_from_slice(b",\"doc_as_upsert\":true}\n");
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

fn action(to: &mut Vec<u8>, begin: &[u8], index: &str, id: &str, end: &[u8]) {
    to.extend_from_slice(begin);
    text(to, index);
    to.extend_from_slice(br#","_id":"#);
    text(to, id);
    to.extend_from_slice(end);
}

/// Named cells as an object, with what their columns are, which decides what a server can take. Absent ones of the names in
/// `left_out` are left out, others are null.
///
/// By hand rather than through `Serialize`: names of columns need no look for what to escape, and rows are mostly names.
fn cells(
    to: &mut Vec<u8>,
    cells: &[(Cow<'static, str>, Cell)],
    columns: &'static [Column],
    left_out: &[&str],
) {
    let mut before = b'{';
    for (index, (name, cell)) in cells.iter().enumerate() {
        // Rows come in the columns' order: the look-up is for those of other hands.
        let column = columns
            .get(index)
            .filter(|column| std::ptr::eq(column.name, name.as_ref()) || column.name == name)
            .or_else(|| columns.iter().find(|column| column.name == name));
        if *cell == Cell::Null && left_out.contains(&name.as_ref()) {
            continue;
        }
        to.push(before);
        before = b',';
        match column {
            Some(column) => {
                to.push(b'"');
                to.extend_from_slice(column.name.as_bytes());
                to.push(b'"');
            }
            None => text(to, name),
        }
        to.push(b':');
        value(to, cell, column.map(|column| column.kind));
    }
    end(to, before, *b"{}");
}

fn value(to: &mut Vec<u8>, cell: &Cell, kind: Option<ColumnType>) {
    match (cell, kind) {
        (Cell::Null, _) => to.extend_from_slice(b"null"),
        (Cell::Text(content), _) => text(to, content),
        (Cell::List(items), kind) => {
            let item = match kind {
                Some(ColumnType::List(item)) => Some(*item),
                _ => None,
            };
            list(to, items.iter(), |to, cell| value(to, cell, item));
        }
        (Cell::Map(parts), Some(ColumnType::Struct(columns))) => cells(to, parts, columns, &[]),
        (Cell::Map(_), Some(ColumnType::Map)) => flat(to, cell),
        (Cell::Map(parts), _) => cells(to, parts, &[], &[]),
        (Cell::Bool(_) | Cell::Int(_) | Cell::Float(_), _) => json(to, cell),
    }
}

/// What stands in a flat object: no nulls, which some versions refuse there, and no text that is too long for a term.
fn flat(to: &mut Vec<u8>, cell: &Cell) {
    match cell {
        Cell::Map(parts) => {
            let mut before = b'{';
            for (name, cell) in parts.iter().filter(|(_, cell)| !is_absent(cell)) {
                to.push(before);
                before = b',';
                text(to, name);
                to.push(b':');
                flat(to, cell);
            }
            end(to, before, *b"{}");
        }
        // 2.12 and 2.13 refuse lists of objects in a flat object (opensearch-project/OpenSearch#13184): as JSON text they
        // can be read by all.
        Cell::List(items) if items.iter().any(|item| matches!(item, Cell::Map(_) | Cell::List(_))) => {
            let mut inner = Vec::new();
            value(&mut inner, cell, None);
            text(to, &cut(&String::from_utf8_lossy(&inner)));
        }
        Cell::List(items) => list(to, items.iter().filter(|cell| !is_absent(cell)), flat),
        Cell::Text(content) => text(to, &cut(content)),
        cell => json(to, cell),
    }
}

fn list<'a>(
    to: &mut Vec<u8>,
    items: impl Iterator<Item = &'a Cell>,
    mut write: impl FnMut(&mut Vec<u8>, &Cell),
) {
    let mut before = b'[';
    for item in items {
        to.push(before);
        before = b',';
        write(to, item);
    }
    end(to, before, *b"[]");
}

/// Closes an object or list, which is not even open when nothing is in it.
fn end(to: &mut Vec<u8>, before: u8, brackets: [u8; 2]) {
    to.extend_from_slice(if before == b',' { &brackets[1..] } else { &brackets });
}

fn text(to: &mut Vec<u8>, text: &str) {
    // Counted without a branch for each byte, so that many are looked at together. (RFC 8259, section 7.)
    let escapes: usize =
        text.bytes().map(|byte| usize::from(byte < 0x20 || byte == b'"' || byte == b'\\')).sum();
    if escapes > 0 {
        return json(to, &text);
    }
    to.push(b'"');
    to.extend_from_slice(text.as_bytes());
    to.push(b'"');
}

fn json(to: &mut Vec<u8>, value: &impl Serialize) {
    // A vector takes every write, and cells and texts always have a form in JSON: there is nothing that can fail.
    let _ = serde_json::to_writer(to, value);
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
