//! Dataset cards: what a table holds, how it was measured, how to load it.

use std::fmt::Write as _;

use wattspan_core::{Cell, Table};
use wattspan_dataset::{Column, ColumnType, columns};

use crate::stage::{DATA, Run};

/// The card of a run's table.
pub(crate) fn of_table(table: Table, rows: u64, run: &Run, repo: &str, leaderboard: &str) -> String {
    let mut card = head(&format!("{} of {}", title(table), run.id));
    let what = match table {
        Table::Results => "One row for each case of the run: what was asked, what came back, what it took.",
        Table::Traces => "One row for each trace of the run, its spans nested.",
        _ => {
            "One row for each device and moment: what its sensors said, and what it has used since the run began."
        }
    };
    line(&mut card, &format!("# {} of run `{}`\n\n{what}", title(table), run.id));
    card.push('\n');
    for (name, value) in facts(table, rows, run) {
        line(&mut card, &format!("- {name}: {value}"));
    }
    line(&mut card, &format!("- leaderboard: [{leaderboard}](../{})", crate::names::bare(leaderboard)));
    if table == Table::Metrics && rows == 0 {
        let reason = text(&run.metadata, "no_devices").unwrap_or("no device with sensors was read");
        line(&mut card, &format!("\nThe table has its columns and no rows: {}.", plain(reason)));
    }
    measured(&mut card);
    if table == Table::Metrics {
        card.push_str(CUMULATIVE);
    }
    load(&mut card, repo, rows == 0);
    line(&mut card, "\n`metadata.json` has versions, configuration, devices and methods of the run.");
    schema(&mut card, table);
    card
}

/// The leaderboard's card, the same for all runs, so that two runs never disagree about it.
pub(crate) fn of_leaderboard(repo: &str) -> String {
    let mut card = head("Leaderboard");
    line(
        &mut card,
        "# Leaderboard\n\nOne row for each run: what it was, how it went, what it took. `results_dataset`, \
         `traces_dataset` and `metrics_dataset` name the run's own tables. A run that is pushed again replaces its row.",
    );
    measured(&mut card);
    load(&mut card, repo, false);
    schema(&mut card, Table::Leaderboard);
    card
}

/// A card that people wrote, without a description of columns that a new row would make wrong; `None` for one of ours.
pub(crate) fn kept(card: &str) -> Option<String> {
    if card.contains(MARK) {
        return None;
    }
    let mut kept = String::with_capacity(card.len());
    let (mut in_head, mut skipping) = (false, false);
    for (number, text) in card.split_inclusive('\n').enumerate() {
        let bare = text.trim_end();
        if bare == "---" && (number == 0 || in_head) {
            in_head = number == 0;
            skipping = false;
        } else if in_head && !text.starts_with([' ', '-', '\n', '\r', '#']) {
            // `datasets` believes this block more than the file.
            skipping = bare.starts_with("dataset_info:");
        }
        if !skipping {
            kept.push_str(text);
        }
    }
    Some(kept)
}

fn head(title: &str) -> String {
    // A JSON string is a YAML string.
    let title = serde_json::Value::from(format!("wattspan: {title}"));
    format!(
        "---\npretty_name: {title}\ntags:\n- wattspan\n- llm\n- energy\n- carbon-footprint\n- opentelemetry\n\
         configs:\n- config_name: default\n  data_files:\n  - split: train\n    path: data/train-*\n---\n{MARK}\n\n"
    )
}

const fn title(table: Table) -> &'static str {
    match table {
        Table::Results => "Results",
        Table::Traces => "Traces",
        Table::Metrics => "Metrics",
        Table::Leaderboard => "Leaderboard",
    }
}

type Named = [(std::borrow::Cow<'static, str>, Cell)];

fn facts(table: Table, rows: u64, run: &Run) -> Vec<(&'static str, String)> {
    let mut facts = vec![("rows", rows.to_string())];
    for (label, name) in [
        ("model", "model"),
        ("agent", "agent_type"),
        ("cases from", "dataset_used"),
        ("ended", "timestamp"),
        ("status", "run_status"),
        ("hardware", "hardware"),
    ] {
        if let Some(value) = text(&run.metadata, name) {
            facts.push((label, format!("`{}`", plain(value))));
        }
    }
    if let Some(Cell::List(devices)) = cell(&run.metadata, "devices").filter(|_| table != Table::Traces) {
        for device in devices {
            let Cell::Map(device) = device else { continue };
            let Some(name) = text(device, "name") else { continue };
            let how = match cell(device, "has_counter") {
                Some(Cell::Bool(true)) => "energy counter",
                _ => "power, integrated",
            };
            let counted = match cell(device, "is_counted") {
                Some(Cell::Bool(false)) => ", part of another device",
                _ => "",
            };
            facts.push(("device", format!("{} ({how}{counted})", plain(name))));
        }
    }
    facts
}

fn measured(card: &mut String) {
    card.push_str(
        "\n## How it was measured\n\n\
         By [wattspan](https://github.com/wattspan/wattspan). Absent is `null`, never 0. Measured and estimated energy \
         stand in different columns and are never added; `energy_method` says how a figure was obtained (a counter, or \
         power integrated over time). Devices that are part of another one are in no total. Times are UTC.\n",
    );
}

const CUMULATIVE: &str = "Energy, emissions and cost of a row are sums since `started_unix_nano`: take differences of \
                          rows with the same value there, or the last row, not the sum of rows.\n";

fn load(card: &mut String, repo: &str, is_empty: bool) {
    card.push_str("\n## How to load\n\n");
    if is_empty {
        card.push_str(
            "`datasets` does not load a table without rows; pandas does:\n\n```python\nimport pandas\n\n",
        );
    } else {
        let _ = write!(
            card,
            "```python\nimport pandas\nfrom datasets import load_dataset\n\nrows = load_dataset(\"{repo}\", split=\"train\")\n",
        );
    }
    let _ = write!(card, "frame = pandas.read_parquet(\"hf://datasets/{repo}/{DATA}\")\n```\n");
}

fn schema(card: &mut String, table: Table) {
    card.push_str("\n## Columns\n\n| column | type | unit | may be null |\n| --- | --- | --- | --- |\n");
    for Column { name, kind, unit, nullable, .. } in columns(table) {
        let unit = if unit.is_empty() { String::new() } else { format!("`{unit}`") };
        let nullable = if *nullable { "yes" } else { "no" };
        line(card, &format!("| `{name}` | {} | {unit} | {nullable} |", kind_name(*kind)));
    }
}

fn kind_name(kind: ColumnType) -> String {
    match kind {
        ColumnType::Bool => "bool".to_owned(),
        ColumnType::Int => "int64".to_owned(),
        ColumnType::Float => "float64".to_owned(),
        ColumnType::Time => "timestamp, µs, UTC".to_owned(),
        ColumnType::Map => "JSON text".to_owned(),
        ColumnType::List(item) => format!("list of {}", kind_name(*item)),
        ColumnType::Struct(columns) => {
            let names: Vec<&str> = columns.iter().map(|column| column.name).collect();
            format!("struct of {}", names.join(", "))
        }
        _ => "string".to_owned(),
    }
}

fn cell<'a>(values: &'a Named, name: &str) -> Option<&'a Cell> {
    values.iter().find(|(known, _)| known == name).map(|(_, value)| value)
}

fn text<'a>(values: &'a Named, name: &str) -> Option<&'a str> {
    match cell(values, name)? {
        Cell::Text(text) if !text.trim().is_empty() => Some(text),
        _ => None,
    }
}

/// On one line and without marks of Markdown that would take effect in it.
fn plain(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ").replace(['`', '<', '>', '[', ']', '|'], " ")
}

fn line(card: &mut String, text: &str) {
    card.push_str(text);
    card.push('\n');
}

/// Tells our cards from others'.
const MARK: &str = "<!-- Written by wattspan; changes here are overwritten by the next push. -->";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_card_of_ours_is_written_anew_and_another_one_is_kept() {
        assert_eq!(kept(&of_leaderboard("me/x-leaderboard")), None);
        assert_eq!(
            kept("# Mine\n\n---\ndataset_info: stays\n").unwrap(),
            "# Mine\n\n---\ndataset_info: stays\n"
        );
    }

    #[test]
    fn columns_that_a_card_describes_wrongly_afterwards_go() {
        let card = "---\nlicense: mit\ndataset_info:\n  features:\n  - name: a\n    dtype: int64\nconfigs:\n- config_name: default\n---\n# Mine\ndataset_info: in words\n";
        let expected =
            "---\nlicense: mit\nconfigs:\n- config_name: default\n---\n# Mine\ndataset_info: in words\n";
        assert_eq!(kept(card).unwrap(), expected);
    }

    #[test]
    fn every_column_is_in_the_card() {
        let card = of_leaderboard("me/x-leaderboard");
        for column in columns(Table::Leaderboard) {
            assert!(card.contains(&format!("| `{}` |", column.name)), "{}", column.name);
        }
        assert!(card.contains("load_dataset(\"me/x-leaderboard\""), "{card}");
    }

    #[test]
    fn what_a_model_is_called_cannot_change_the_card() {
        assert_eq!(plain("a\n---\n`<b>`|[c]"), "a ---   b    c ");
    }
}
