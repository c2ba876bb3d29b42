//! Who used the measured energy, as bars of parts; what was modelled as a bar of its own.

use maud::{Markup, html};

use super::axis::at;
use super::timeline::swatch;
use crate::number::{Unit, show};
use crate::read::{Counts, Run};
use crate::text;

/// `None` when there is neither measured energy of devices nor any of inferences.
pub(crate) fn split(id: &str, run: &Run) -> Option<Markup> {
    let counted: Vec<_> = run.devices.iter().filter(|device| device.is_counted).collect();
    let total = run.devices.counts();
    let mut bars: Vec<(String, Vec<Part>)> = Vec::new();
    if total.total.is_some() {
        bars.push(("All devices that count".to_owned(), parts(&total)));
    }
    if counted.len() > 1 {
        for device in counted.iter().filter(|device| device.counts().total.is_some()) {
            bars.push((text::line(&device.title()), parts(&device.counts())));
        }
    }
    let estimated = run.row.inference_energy_estimated_j.filter(|joules| *joules > 0.0);
    if bars.is_empty() && estimated.is_none() {
        return None;
    }
    let sum = |parts: &[Part]| parts.iter().map(|part| part.joules).sum::<f64>();
    let largest = bars.iter().map(|(_, parts)| sum(parts)).chain(estimated).fold(0.0, f64::max);
    if largest <= 0.0 {
        return None;
    }
    let has = |class: &str| bars.iter().any(|(_, parts)| parts.iter().any(|part| part.class == class));
    Some(html! {
        figure.picture.wide {
            figcaption id={ (id) "-title" } { "Who used the energy" span.remark { " measured; bars of one length for one amount" } }
            @for (index, (title, parts)) in bars.iter().enumerate() {
                p.bar-title { bdi { (title) } " " span.remark { (show(sum(parts), None, Unit::Joule)) } }
                (bar(&format!("{id}-{index}"), title, parts, largest))
            }
            @if let Some(joules) = estimated {
                p.bar-title { "Inferences, modelled " span.remark { (show(joules, None, Unit::Joule)) ", in no sum" } }
                (bar(&format!("{id}-modelled"), "Inferences, modelled", &[Part { class: "estimated", title: "modelled", joules }], largest))
            }
            ul.legend {
                @for (class, title) in STATES { @if has(class) { li { (swatch(&format!("part {class}"))) (title) } } }
                @if estimated.is_some() { li { (swatch("part estimated")) "modelled, not measured" } }
            }
        }
    })
}

struct Part {
    class: &'static str,
    title: &'static str,
    joules: f64,
}

fn parts(counts: &Counts) -> Vec<Part> {
    let states = [counts.inference, counts.idle, counts.other, counts.unattributed];
    let known = STATES.into_iter().zip(states).filter_map(|((class, title), joules)| {
        Some(Part { class, title, joules: joules.filter(|joules| *joules > 0.0)? })
    });
    let mut parts: Vec<Part> = known.collect();
    if let (true, Some(joules)) = (parts.is_empty(), counts.total) {
        parts.push(Part { class: "unattributed", title: "not attributed", joules });
    }
    parts
}

fn bar(id: &str, title: &str, parts: &[Part], largest: f64) -> Markup {
    let description: Vec<String> = parts
        .iter()
        .map(|part| format!("{}: {}", part.title, show(part.joules, None, Unit::Joule)))
        .collect();
    let mut x = 0.0;
    let placed: Vec<(f64, f64, &Part)> = parts
        .iter()
        .map(|part| {
            let width = part.joules / largest * WIDTH;
            let from = x;
            x += width;
            (from, width, part)
        })
        .collect();
    html! {
        svg.split viewBox={ "0 0 " (WIDTH) " 26" } role="img" aria-label={ (title) ": " (description.join(", ")) } {
            defs { (patterns(id)) }
            @for (x, width, part) in &placed {
                g {
                    title { (part.title) ": " (show(part.joules, None, Unit::Joule)) }
                    rect.part.(part.class) x=(at(*x)) y="1" width=(at((width - 1.0).max(0.6))) height="24" {}
                    @if let Some(pattern) = pattern_of(part.class) {
                        rect x=(at(*x)) y="1" width=(at((width - 1.0).max(0.6))) height="24" fill={ "url(#" (id) "-" (pattern) ")" } {}
                    }
                }
            }
        }
    }
}

/// So that parts differ in print and for who does not see the colours.
fn patterns(id: &str) -> Markup {
    html! {
        pattern id={ (id) "-lines" } width="7" height="7" patternUnits="userSpaceOnUse" patternTransform="rotate(45)" {
            path.hatch d="M0 0V7" {}
        }
        pattern id={ (id) "-dots" } width="7" height="7" patternUnits="userSpaceOnUse" {
            circle.dot cx="2" cy="2" r="1.3" {}
        }
    }
}

fn pattern_of(class: &str) -> Option<&'static str> {
    match class {
        "idle" | "estimated" => Some("lines"),
        "other" => Some("dots"),
        _ => None,
    }
}

const STATES: [(&str, &str); 4] =
    [("inference", "inferences"), ("idle", "idle"), ("other", "others"), ("unattributed", "not attributed")];
const WIDTH: f64 = 720.0;
