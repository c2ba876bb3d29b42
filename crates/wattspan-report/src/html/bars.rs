//! Runs beside each other: a bar for each, with its ±.

use maud::{Markup, html};

use super::axis::at;
use super::table::figure_markup;
use crate::model::{Content, Figure, Table};
use crate::tables;

/// A small table with bars for each figure that is worth comparing. `None` when no run has any.
pub(crate) fn comparison(table: &Table) -> Option<Markup> {
    let compared: Vec<_> = tables::comparison(table)
        .into_iter()
        .map(|(index, column, remark)| {
            let figures: Vec<(&str, &Figure)> = table
                .lines
                .iter()
                .filter_map(|line| match line.cells.get(index) {
                    Some(Content::Figure(figure)) => Some((line.key.as_str(), figure)),
                    _ => None,
                })
                .collect();
            (column, remark, figures)
        })
        .filter(|(_, _, figures)| figures.iter().any(|(_, figure)| figure.value.is_some()))
        .collect();
    if compared.is_empty() {
        return None;
    }
    Some(html! {
        div.pictures {
            @for (column, remark, figures) in compared {
                @let most = figures.iter().filter_map(|(_, figure)| Some(figure.value? + figure.plus_minus.unwrap_or(0.0))).fold(0.0, f64::max);
                table.bars data-compares=(column.key) {
                    caption { (column.title) span.remark { " " (remark) } }
                    tbody {
                        @for (run, figure) in &figures {
                            tr {
                                th scope="row" { bdi { (run) } }
                                td { (bar(figure, most)) }
                                td.number { (figure_markup(figure, true)) }
                            }
                        }
                    }
                }
            }
        }
    })
}

/// The number stands beside it, so that it says nothing to a screen reader.
fn bar(figure: &Figure, most: f64) -> Markup {
    let place = |value: f64| if most > 0.0 { (value / most).clamp(0.0, 1.0) * WIDTH } else { 0.0 };
    html! {
        @if let Some(value) = figure.value {
            svg.bar viewBox="0 0 160 16" preserveAspectRatio="none" aria-hidden="true" {
                rect.part.inference x="0" y="3" width=(at(place(value).max(1.0))) height="10" {}
                @if let Some(half) = figure.plus_minus.filter(|half| *half > 0.0) {
                    @let (from, to) = (place(value - half), place(value + half));
                    path.whisker d={ "M" (at(from)) " 8H" (at(to)) "M" (at(from)) " 4v8M" (at(to)) " 4v8" } {}
                }
            }
        }
    }
}

const WIDTH: f64 = 158.0;
