//! The page: head, summary, one section for each run.

use std::io::{self, Write};

use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::table::{figure_markup, table};
use super::{bars, histogram, split, timeline};
use crate::model::{Figure, Table};
use crate::number::Unit;
use crate::read::{Case, Run};
use crate::tables::headline_figures as figures;
use crate::{Options, headline, tables};

pub(crate) fn write(out: &mut dyn Write, title: &str, runs: &[Run], options: &Options) -> io::Result<()> {
    let head = html! {
        (DOCTYPE)
        (PreEscaped("<html lang=\"en\">"))
        head {
            meta charset="utf-8";
            meta http-equiv="Content-Security-Policy" content=(policy());
            meta name="viewport" content="width=device-width, initial-scale=1";
            meta name="color-scheme" content="light dark";
            meta name="referrer" content="no-referrer";
            title { (title) " – wattspan" }
            style { (PreEscaped(STYLE)) }
        }
        (PreEscaped("<body>"))
        a.skip href="#content" { "Skip to the content" }
        header { h1 { bdi { (title) } } }
        (PreEscaped("<main id=\"content\">"))
        @if runs.len() > 1 { (all(runs)) }
    };
    out.write_all(head.into_string().as_bytes())?;
    // A run at a time is in memory as text.
    for (index, run) in runs.iter().enumerate() {
        out.write_all(section(index, run, runs.len() > 1, options).into_string().as_bytes())?;
    }
    let foot = html! {
        (PreEscaped("</main>"))
        footer {
            p { (headline::LEGEND) }
            p { "Made by wattspan-report " (env!("CARGO_PKG_VERSION")) "." }
        }
        p.unseen #said role="status" {}
        script { (PreEscaped(SCRIPT)) }
        (PreEscaped("</body></html>\n"))
    };
    out.write_all(foot.into_string().as_bytes())
}

/// Contents, leaderboard and comparison of several runs.
fn all(runs: &[Run]) -> Markup {
    let board = tables::runs(runs);
    html! {
        nav aria-label="Runs" {
            ul { @for (index, run) in runs.iter().enumerate() { li { a href={ "#run-" (index) } { bdi { (run.name()) } } } } }
        }
        section aria-labelledby="board-title" {
            h2 #board-title { (board.title) }
            p.note { "The titles sort. Several figures have a ±: runs whose intervals overlap may not differ." }
            (table("leaderboard", &board, "All runs", true))
        }
        @if let Some(bars) = bars::comparison(&board) {
            section aria-labelledby="comparison-title" {
                h2 #comparison-title { "Comparison" }
                p.note { "Whiskers are ±." }
                (bars)
            }
        }
    }
}

fn section(index: usize, run: &Run, is_one_of_several: bool, options: &Options) -> Markup {
    let id = format!("run-{index}");
    let tables = tables::of_run(run, options);
    let find = |key: &str| tables.iter().find(|table| table.key == key);
    let times = timeline::times(run);
    html! {
        section.run #(id) data-run=(run.name()) aria-label={ "Run " (run.name()) } {
            @if is_one_of_several { h2 { bdi { (run.name()) } } } @else { h2.unseen { "The run" } }
            p.about { (about(run)) }
            div.lead { @for sentence in headline::sentences(run) { p { (sentence) } } }
            (cards(run))
            @if !run.notices.is_empty() {
                section.notices aria-labelledby={ (id) "-notices" } {
                    h3 id={ (id) "-notices" } { "What to know" }
                    ul { @for notice in &run.notices { li { (code(notice)) } } }
                }
            }
            @if let Some(power) = timeline::power(&format!("{id}-power"), run) {
                h3 { @if run.devices.total.is_empty() { "Inferences" } @else { "Power and inferences" } }
                (power)
            }
            @let split = split::split(&format!("{id}-split"), run);
            @if split.is_some() || find("energy").is_some() {
                h3 { "Energy" }
                @if let Some(split) = split { (split) }
                (part(&id, find("energy")))
            }
            @let distributions = distributions(&id, run);
            @if !distributions.is_empty() || find("latency").is_some() {
                h3 { "Times and rates" }
                @if !distributions.is_empty() { div.pictures.two { @for picture in distributions { (picture) } } }
                (part(&id, find("latency")))
            }
            @if find("carbon").is_some() || find("cost").is_some() {
                h3 { "Emissions and cost" }
                (part(&id, find("carbon")))
                (part(&id, find("cost")))
            }
            @if find("devices").is_some() {
                h3 { "Devices" }
                (part(&id, find("devices")))
                @for (number, device) in run.devices.iter().enumerate() {
                    @if let Some(pictures) = timeline::device(&format!("{id}-device-{number}"), device, &times) { (pictures) }
                }
            }
            @if let Some(cases) = find("cases") {
                h3 { "Cases" }
                (part(&id, Some(cases)))
            }
            h3 { "All figures" }
            (part(&id, find("summary")))
            @if let Some(setup) = find("setup") {
                details.more { summary { (setup.title) } (part(&id, Some(setup))) }
            }
        }
    }
}

fn part(id: &str, found: Option<&Table>) -> Markup {
    html! { @if let Some(found) = found { (table(&format!("{id}-{}", found.key), found, found.title, matches!(found.key, "devices" | "cases"))) } }
}

/// Model, provider, hardware and time on a line.
fn about(run: &Run) -> Markup {
    let row = &run.row;
    let parts =
        [row.provider.as_deref(), row.hardware.as_deref().or_else(|| run.told("hardware")), run.status()];
    let model = row.model.as_deref().or_else(|| run.told("model")).map(tables::model_name);
    let mut known: Vec<String> = model.into_iter().collect();
    known.extend(parts.into_iter().flatten().map(crate::text::line));
    known.extend(row.timestamp.map(|time| {
        let text = time.to_string();
        text.get(..16).unwrap_or(&text).replace('T', " ") + " UTC"
    }));
    html! { @for (index, part) in known.iter().enumerate() { @if index > 0 { " · " } bdi { (part) } } }
}

/// The figures that people look for first.
fn cards(run: &Run) -> Markup {
    let row = &run.row;
    let measured = figures::energy(run);
    let estimated = Figure::new(row.inference_energy_estimated_j, Unit::Joule);
    let modelled_only = measured.value.is_none() && estimated.value.is_some();
    let energy = if modelled_only {
        ("Energy, modelled", "inference_energy_estimated_j", estimated.note("nothing was measured"))
    } else {
        ("Energy of inferences", "inference_energy_j", measured)
    };
    let cards: [(&str, &str, Figure); 6] = [
        energy,
        (
            "Per output token",
            "joules_per_output_token",
            figures::per_token(run).note("measured energy").or_because(run.why_no_energy()),
        ),
        ("Passed", "success_rate", figures::passed(run)),
        ("Output rate", "tokens_per_second", figures::rate(run).note("of the cases' time")),
        ("Emissions", "inference_co2_g", figures::inference_co2(run).note(origin(run))),
        ("Cost", "total_cost_usd", figures::inference_cost(run).note(price(run))),
    ];
    html! {
        dl.cards {
            @for (title, key, figure) in cards {
                div data-card=(key) {
                    dt { (title) }
                    dd.figure { (figure_markup(&figure, false)) }
                    @if let Some(note) = &figure.note { dd.remark { (note) } }
                }
            }
        }
    }
}

/// Zone and source of the intensity, when there is one.
fn origin(run: &Run) -> String {
    let mut known: Vec<String> = Vec::new();
    for case in &run.cases {
        let row = &case.row;
        let parts = [&row.carbon_zone, &row.carbon_source, &row.carbon_kind];
        let text: Vec<String> = parts.into_iter().flatten().map(|part| crate::text::line(part)).collect();
        let text = text.join(", ");
        if !text.is_empty() && !known.contains(&text) {
            known.push(text);
        }
    }
    match known.as_slice() {
        [] => "source not told".to_owned(),
        [one] => one.clone(),
        several => format!("{} sources", several.len()),
    }
}

fn price(run: &Run) -> String {
    let mut sources: Vec<&str> =
        run.cases.iter().filter_map(|case| case.row.cost_source.as_deref()).collect();
    sources.sort_unstable();
    sources.dedup();
    if sources.is_empty() { "source not told".to_owned() } else { crate::text::line(&sources.join(", ")) }
}

fn distributions(id: &str, run: &Run) -> Vec<Markup> {
    let values = |value: &dyn Fn(&Case) -> Option<f64>| -> Vec<f64> {
        run.cases.iter().filter_map(value).filter(|value| value.is_finite()).collect()
    };
    let energy = values(&|case| case.row.joules_per_output_token);
    let rate = values(&Case::tokens_per_second);
    [
        histogram::histogram(
            &format!("{id}-per-token"),
            "Energy per output token",
            Unit::JoulePerToken,
            &energy,
        ),
        histogram::histogram(&format!("{id}-rate"), "Output tokens per second", Unit::TokenPerSecond, &rate),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// Text with names in backquotes.
fn code(text: &str) -> Markup {
    html! {
        @for (index, part) in text.split('`').enumerate() { @if index % 2 == 1 { code { (part) } } @else { (part) } }
    }
}

/// Nothing may be asked of anybody. Script and style are the page's own, by their hashes; nothing has a style of its own.
fn policy() -> String {
    format!(
        "default-src 'none'; style-src '{STYLE_HASH}'; script-src '{SCRIPT_HASH}'; base-uri 'none'; form-action 'none'"
    )
}

const STYLE: &str = include_str!("style.css");
const SCRIPT: &str = include_str!("script.js");
/// `openssl dgst -sha256 -binary src/html/style.css | base64`. A browser names the right one when this is wrong.
const STYLE_HASH: &str = "sha256-BbY4v/aZ5zPHx/K4Mt7BjbCTutRDvu4MlTNJKl1u5vQ=";
/// `openssl dgst -sha256 -binary src/html/script.js | base64`.
const SCRIPT_HASH: &str = "sha256-6aKS7iEYWbnB9hiEGsAcOQHVTyy5VXKgzTKNXDf+xY8=";
