//! Text of others stays text: in no format does it become markup, a script, a formula, or hide what stands beside it.

mod common;

use std::fs;
use std::path::Path;

use common::devtools::Browser;
use common::{csv, fixture, written};
use serde_json::json;
use wattspan_report::{Format, Report};

const ATTACKS: [&str; 8] = [
    "</script><script>window.got = 1</script>",
    "\"><img src=x onerror=\"window.got = 1\">",
    "' onmouseover='window.got = 1' x='",
    "</style><svg onload=window.got=1>",
    "<!-- ${7*7} {{7*7}} %0a -->",
    "a\0b\u{1b}]0;x\u{7}\u{7f}\u{9b}c",
    "safe\u{202e}txt.exe\u{2066}\u{200b}\u{e0041}",
    "=HYPERLINK(\"http://127.0.0.1:9/\",\"x\")\n| cell | [link](javascript:alert(1))",
];

/// A run with an attack in every place where text of others can be.
fn attacked(base: &Path) -> Report {
    let folder = fixture::write_run(base, &fixture::COMPLETED, |row| {
        let index = row.output_tokens.unwrap_or(0) as usize % ATTACKS.len();
        let attack = || Some(ATTACKS[index].to_owned());
        (row.prompt, row.response, row.error, row.stop_reason) = (attack(), attack(), attack(), attack());
        (row.carbon_zone, row.carbon_source, row.cost_source) = (attack(), attack(), attack());
        (row.carbon_kind, row.settle_reason, row.test_case_uid) = (attack(), attack(), attack());
        row.test_case_uid = row.task_id.as_ref().map(|task| format!("{task}{}", ATTACKS[index]));
    });
    // The other tables as files, name by name: every text becomes an attack.
    for name in ["leaderboard_row.json", "metadata.json", "metrics.json", "traces.json"] {
        let mut value = common::json(&folder, name);
        let mut next = 0;
        attack(&mut value, "", &mut next);
        fs::write(folder.join(name), value.to_string()).unwrap();
    }
    Report::builder().title(ATTACKS[0]).open([&folder]).unwrap()
}

fn attack(value: &mut serde_json::Value, key: &str, next: &mut usize) {
    match value {
        serde_json::Value::String(text) => {
            // What has to be a number, a time or a known word to be read at all stays.
            let kept =
                ["timestamp", "trace_id", "started", "start_time", "gen_ai.operation.name", "device_kind"];
            if !kept.iter().any(|kept| key.starts_with(kept)) && key != "name" {
                *text = format!("{text}{}", ATTACKS[*next % ATTACKS.len()]);
                *next += 1;
            }
        }
        serde_json::Value::Array(values) => values.iter_mut().for_each(|value| attack(value, key, next)),
        serde_json::Value::Object(values) => {
            values.iter_mut().for_each(|(key, value)| attack(value, key, next));
        }
        _ => {}
    }
}

#[test]
fn html_has_no_tag_that_is_not_its_own() {
    let base = tempfile::tempdir().unwrap();
    let html = written(&attacked(base.path()), Format::Html);
    assert_eq!(html.matches("<script").count(), 1);
    assert_eq!(html.matches("</script").count(), 1);
    assert_eq!(html.matches("<style").count(), 1);
    assert!(!html.contains("<img") && !html.contains("<!--"));
    let hidden = |char: &char| {
        (char.is_control() && *char != '\n') || "\u{202e}\u{2066}\u{200b}\u{e0041}".contains(*char)
    };
    assert_eq!(html.chars().filter(hidden).collect::<String>(), "");
    assert!(html.contains("⟨U+202E⟩") && html.contains("␛]0;x␇"));

    // What a parser makes of it is what counts.
    let path = base.path().join("report.html");
    fs::write(&path, &html).unwrap();
    let mut browser = Browser::start();
    browser.open(&format!("file://{}", path.display()));
    assert_eq!(browser.complaints(), Vec::<String>::new());
    assert_eq!(browser.requests().len(), 1);
    assert_eq!(browser.value("typeof window.got"), "undefined");
    assert_eq!(browser.value("document.title"), format!("{} – wattspan", ATTACKS[0]));
    let odd = browser.value(
        "[...document.querySelectorAll('*')].filter(e => e.matches('img, iframe, object, embed, link, form, input, base')
            || [...e.attributes].some(a => /^on|^style$/i.test(a.name))
            || /^javascript:/i.test(e.getAttribute('href') ?? '')).map(e => e.outerHTML.slice(0, 200))",
    );
    assert_eq!(odd, json!([]));
    // The text is there as it was written.
    let prompts = browser.value("[...document.querySelectorAll('p.text bdi')].map(e => e.textContent)");
    let prompts: Vec<&str> = prompts.as_array().unwrap().iter().filter_map(|text| text.as_str()).collect();
    for attack in &ATTACKS[..5] {
        assert!(prompts.contains(attack), "{attack}");
    }
    // Nothing runs over the edge of a phone because of a long word.
    browser.resize(360, true);
    assert_eq!(browser.value("document.documentElement.scrollWidth"), 360);
}

#[test]
fn markdown_has_no_markup_that_is_not_its_own() {
    let base = tempfile::tempdir().unwrap();
    let markdown = written(&attacked(base.path()), Format::Markdown);
    // Every `<`, backquote and bracket has its backslash; every line of a table has as many cells as its head.
    for (at, char) in markdown.char_indices().filter(|(_, char)| "<[`".contains(*char)) {
        assert!(markdown[..at].ends_with('\\'), "{char} in {:?}", &markdown[at.saturating_sub(8)..at]);
    }
    let mut width = None;
    for line in markdown.lines() {
        if line.starts_with("| ") {
            let cells = line.replace("\\\\", "").replace("\\|", "").matches('|').count();
            assert_eq!(*width.get_or_insert(cells), cells, "{line}");
        } else {
            width = None;
        }
    }
}

#[test]
fn csv_has_no_formula_and_no_cell_too_many() {
    let base = tempfile::tempdir().unwrap();
    let text = written(&attacked(base.path()), Format::Csv);
    let rows = csv(&text);
    assert!(rows.len() > 800);
    for row in &rows {
        assert_eq!(row.len(), 9, "{row:?}");
        for (index, cell) in row.iter().enumerate() {
            let is_number = index == 4 && cell.parse::<f64>().is_ok();
            assert!(is_number || !cell.starts_with(['=', '+', '-', '@']), "{cell}");
        }
    }
    assert!(rows.iter().flatten().any(|cell| cell.starts_with("'=HYPERLINK")));
}

#[test]
fn texts_can_be_left_out() {
    let base = tempfile::tempdir().unwrap();
    let folder = fixture::write_run(base.path(), &fixture::COMPLETED, |_| {});
    let shown = |texts| written(&Report::builder().texts(texts).open([&folder]).unwrap(), Format::Html);
    assert!(shown(true).contains("What is the answer to question 7?"));
    assert!(!shown(false).contains("What is the answer to question"));
}
