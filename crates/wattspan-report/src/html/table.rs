//! Tables with their raw values beside the text.

use maud::{Markup, html};

use crate::model::{ABSENT, Content, FAILED, Figure, Line, PASSED, Table};

/// A table that scrolls by itself where the screen is narrow. `id` is unique in the page.
/// A caption that repeats the heading above it is only read out.
pub(crate) fn table(id: &str, table: &Table, caption: &str, repeats: bool) -> Markup {
    let caption_id = format!("{id}-caption");
    html! {
        div.scroll role="region" aria-labelledby=(caption_id) tabindex="0" {
            table id=(id) data-table=(table.key) data-sorts[table.sorts] {
                caption id=(caption_id) { span.unseen[repeats] { (caption) } }
                thead {
                    tr {
                        @for column in &table.columns {
                            th scope="col" class=(if column.is_number { "number" } else { "words" })
                                aria-sort=[table.sorts.then_some("none")] data-column=(column.key) {
                                @if table.sorts { button type="button" { (column.title) } } @else { (column.title) }
                            }
                        }
                    }
                }
                tbody {
                    @for line in &table.lines {
                        tr data-row=(line.key) class=[line.is_total.then_some("total")] { (cells(table, line)) }
                    }
                }
            }
        }
        @for note in &table.notes { p.note { (note) } }
    }
}

fn cells(table: &Table, line: &Line) -> Markup {
    html! {
        @for (index, (column, content)) in table.columns.iter().zip(&line.cells).enumerate() {
            @let class = if column.is_number { "number" } else { "words" };
            @if index == 0 {
                th scope="row" class=(class) data-column=(column.key) { (cell(content)) }
            } @else {
                td class=(class) data-column=(column.key) { (cell(content)) }
            }
        }
    }
}

fn cell(content: &Content) -> Markup {
    html! {
        @match content {
            Content::Figure(figure) => (figure_markup(figure, true)),
            Content::Text(text) => bdi { (text) },
            Content::Absent(reason) => (absent(reason.as_deref())),
            Content::Verdict(true) => span.verdict.passed data-value="1" { span aria-hidden="true" { "✓ " } (PASSED) },
            Content::Verdict(false) => span.verdict.failed data-value="0" { span aria-hidden="true" { "✗ " } (FAILED) },
            Content::Open(title, texts) => details {
                summary { bdi { (title) } }
                @for (title, text) in texts { p.text { b { (title) ": " } bdi { (text) } } }
            },
        }
    }
}

/// A figure with its raw value. A reason that stands elsewhere on the page is not repeated where `with_reason` is off.
pub(crate) fn figure_markup(figure: &Figure, with_reason: bool) -> Markup {
    let reason = figure.note.as_deref().filter(|_| with_reason);
    html! {
        @match figure.value {
            Some(value) => data value=(value) data-value=(value) data-unit=(figure.unit.as_str())
                data-plus-minus=[figure.plus_minus] title=[reason] { (figure.text()) },
            None => (absent(reason)),
        }
    }
}

/// A dash, and the reason for who cannot see a tooltip.
fn absent(reason: Option<&str>) -> Markup {
    html! {
        span.absent title=[reason] {
            span aria-hidden="true" { (ABSENT) }
            span.unseen { @if let Some(reason) = reason { "not known: " (reason) } @else { "none" } }
        }
    }
}
