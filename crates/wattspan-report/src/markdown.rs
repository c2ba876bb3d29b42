//! The report as Markdown: headings, sentences and tables.

use std::io::{self, Write};

use crate::model::{Content, Line, Table};
use crate::read::Run;
use crate::{Options, headline, tables, text};

pub(crate) fn write(out: &mut dyn Write, title: &str, runs: &[Run], options: &Options) -> io::Result<()> {
    writeln!(out, "# {}\n", text::markdown(title))?;
    if runs.len() > 1 {
        table(out, "##", &tables::runs(runs))?;
    }
    for run in runs {
        writeln!(out, "## {}\n", text::markdown(&run.name()))?;
        for sentence in headline::sentences(run) {
            writeln!(out, "{}", text::markdown(&sentence))?;
        }
        writeln!(out)?;
        if !run.notices.is_empty() {
            writeln!(out, "What to know:\n")?;
            for notice in &run.notices {
                writeln!(out, "- {}", text::markdown(notice))?;
            }
            writeln!(out)?;
        }
        for one in tables::of_run(run, options) {
            table(out, "###", &one)?;
        }
    }
    writeln!(out, "{}", text::markdown(headline::LEGEND))
}

fn table(out: &mut dyn Write, heading: &str, table: &Table) -> io::Result<()> {
    writeln!(out, "{heading} {}\n", table.title)?;
    let row = |cells: Vec<String>| format!("| {} |", cells.join(" | "));
    writeln!(out, "{}", row(table.columns.iter().map(|column| column.title.to_owned()).collect()))?;
    let rule = |is_number| if is_number { "---:".to_owned() } else { "---".to_owned() };
    writeln!(out, "{}", row(table.columns.iter().map(|column| rule(column.is_number)).collect()))?;
    for line in &table.lines {
        writeln!(out, "{}", row(cells(line)))?;
    }
    writeln!(out)?;
    for note in &table.notes {
        writeln!(out, "{}\n", text::markdown(note))?;
    }
    Ok(())
}

fn cells(line: &Line) -> Vec<String> {
    let bold = |cell: String| if line.is_total { format!("**{cell}**") } else { cell };
    let cell = |content: &Content| bold(text::markdown(&content.plain()));
    line.cells.iter().map(cell).collect()
}
