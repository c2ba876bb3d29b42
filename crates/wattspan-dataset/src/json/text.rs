//! Rows as JSON text. The same as serde_json writes, for rows are many and mostly names that need no escaping.

use wattspan_core::{Cell, Row};

/// Adds a row's JSON to `into`.
pub(crate) fn write_row(into: &mut Vec<u8>, row: &Row) -> serde_json::Result<()> {
    write_map(into, &row.0)
}

fn write_map<N: AsRef<str>>(into: &mut Vec<u8>, cells: &[(N, Cell)]) -> serde_json::Result<()> {
    let mut before = b'{';
    for (name, cell) in cells {
        into.push(before);
        write_text(into, name.as_ref())?;
        into.push(b':');
        write_cell(into, cell)?;
        before = b',';
    }
    into.extend_from_slice(if before == b'{' { b"{}" } else { b"}" });
    Ok(())
}

fn write_cell(into: &mut Vec<u8>, cell: &Cell) -> serde_json::Result<()> {
    match cell {
        Cell::Null => into.extend_from_slice(b"null"),
        Cell::Text(text) => write_text(into, text)?,
        Cell::List(cells) => {
            let mut before = b'[';
            for cell in cells {
                into.push(before);
                write_cell(into, cell)?;
                before = b',';
            }
            into.extend_from_slice(if before == b'[' { b"[]" } else { b"]" });
        }
        Cell::Map(cells) => write_map(into, cells)?,
        Cell::Bool(_) | Cell::Int(_) | Cell::Float(_) => serde_json::to_writer(into, cell)?,
    }
    Ok(())
}

fn write_text(into: &mut Vec<u8>, text: &str) -> serde_json::Result<()> {
    // Counting has no branch for each byte, so that many are looked at together.
    let escapes = text.bytes().filter(|byte| matches!(byte, 0..=0x1f | b'"' | b'\\')).count();
    if escapes > 0 {
        return serde_json::to_writer(into, text);
    }
    into.push(b'"');
    into.extend_from_slice(text.as_bytes());
    into.push(b'"');
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn cell() -> impl Strategy<Value = Cell> {
        let leaf = prop_oneof![
            Just(Cell::Null),
            any::<bool>().prop_map(Cell::Bool),
            any::<i64>().prop_map(Cell::Int),
            any::<f64>().prop_map(Cell::Float),
            any::<String>().prop_map(|text| Cell::Text(text.into())),
        ];
        leaf.prop_recursive(3, 24, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Cell::List),
                prop::collection::vec((any::<String>(), inner), 0..4).prop_map(|cells| Cell::Map(
                    cells.into_iter().map(|(name, cell)| (name.into(), cell)).collect()
                )),
            ]
        })
    }

    proptest! {
        #[test]
        fn any_row_is_written_as_serde_json_writes_it(
            cells in prop::collection::vec((any::<String>(), cell()), 0..5), text in "[\\x00-\\x40é\\\\]{0,20}"
        ) {
            let mut row = Row(cells.into_iter().map(|(name, cell)| (name.into(), cell)).collect());
            row.0.push((text.clone().into(), Cell::Text(text.into())));
            let mut written = b"x".to_vec();
            write_row(&mut written, &row).unwrap();
            prop_assert_eq!(&written[1..], serde_json::to_vec(&row).unwrap());
        }
    }
}
