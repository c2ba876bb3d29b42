//! The report as one CSV table, a figure on each line: raw in the unit of its column, and as the other formats show it.

use std::io::{self, Write};

use crate::model::{Content, Table};
use crate::read::Run;
use crate::{Options, tables, text};

pub(crate) fn write(out: &mut dyn Write, runs: &[Run], options: &Options) -> io::Result<()> {
    writeln!(out, "run,table,row,column,value,plus_minus,unit,shown,note")?;
    for run in runs {
        let name = run.name();
        let every = Options { cases: usize::MAX, ..options.clone() };
        // One line of the leaderboard, which is this run's.
        table(out, &name, &tables::runs(std::slice::from_ref(run)))?;
        for one in tables::of_run(run, &every) {
            table(out, &name, &one)?;
        }
        for notice in &run.notices {
            writeln!(out, "{},notices,,,,,,,{}", text::csv(&name), text::csv(notice))?;
        }
    }
    Ok(())
}

fn table(out: &mut dyn Write, run: &str, table: &Table) -> io::Result<()> {
    for line in &table.lines {
        for (column, cell) in table.columns.iter().zip(&line.cells) {
            let (value, plus_minus, unit, note) = match cell {
                Content::Figure(figure) => {
                    let raw = |value: Option<f64>| value.map(|value| value.to_string()).unwrap_or_default();
                    let note = figure.note.as_deref().unwrap_or_default();
                    (raw(figure.value), raw(figure.plus_minus), figure.unit.as_str(), note.to_owned())
                }
                Content::Text(text) | Content::Open(text, _) => {
                    (text::csv(text), String::new(), "", String::new())
                }
                Content::Absent(reason) => {
                    (String::new(), String::new(), "", reason.as_deref().unwrap_or_default().to_owned())
                }
                Content::Verdict(passed) => (passed.to_string(), String::new(), "", String::new()),
            };
            writeln!(
                out,
                "{},{},{},{},{value},{plus_minus},{unit},{},{}",
                text::csv(run),
                table.key,
                text::csv(&line.key),
                column.key,
                text::csv(&shown(cell)),
                text::csv(&note),
            )?;
        }
    }
    Ok(())
}

/// An absent figure has an empty cell, not a dash.
fn shown(cell: &Content) -> String {
    match cell {
        Content::Absent(_) => String::new(),
        Content::Figure(figure) if figure.value.is_none() => String::new(),
        other => other.plain(),
    }
}
