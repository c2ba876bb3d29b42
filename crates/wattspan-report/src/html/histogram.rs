//! How a figure of the cases is spread.

use maud::{Markup, html};

use super::axis::{at, round_step};
use super::timeline::anchor;
use crate::number::{Unit, show, significant};

/// `None` with fewer than two values: they are in the table.
pub(crate) fn histogram(id: &str, title: &str, unit: Unit, values: &[f64]) -> Option<Markup> {
    let bins = Bins::new(values)?;
    let most = bins.counts.iter().max().copied().unwrap_or(1).max(1);
    let bar = WIDTH / bins.counts.len() as f64;
    let x = |value: f64| (value - bins.from) / (bins.step * bins.counts.len() as f64) * WIDTH;
    let title_id = format!("{id}-title");
    let median = median(values);
    let every = bins.counts.len().div_ceil(4);
    Some(html! {
        figure.picture.half {
            figcaption id=(title_id) { (title) span.remark { " of " (values.len()) " cases, median " (show(median, None, unit)) } }
            svg viewBox={ "0 0 " (WIDTH) " 150" } role="img" aria-labelledby=(title_id) {
                path.grid d={ "M0 " (TOP) "H" (WIDTH) } {}
                text.tick x="0" y=(TOP - 3.0) { (most) @if most == 1 { " case" } @else { " cases" } }
                @for (index, count) in bins.counts.iter().enumerate() {
                    @if *count > 0 {
                        @let height = (*count as f64 / most as f64 * HEIGHT).max(1.0);
                        rect.part.inference x=(at(index as f64 * bar + 0.5)) y=(at(TOP + HEIGHT - height))
                            width=(at((bar - 1.0).max(0.6))) height=(at(height)) {
                            title { (bins.range(index, unit)) ": " (count) }
                        }
                    }
                }
                path.axis d={ "M0 " (at(TOP + HEIGHT)) "H" (WIDTH) } {}
                path.median d={ "M" (at(x(median))) " " (at(TOP + HEIGHT)) "V" (TOP) } {}
                @for index in (0..=bins.counts.len()).step_by(every) {
                    @let value = bins.from + index as f64 * bins.step;
                    path.tick-mark d={ "M" (at(x(value))) " " (at(TOP + HEIGHT)) "v4" } {}
                    text.tick x=(at(x(value))) y=(at(TOP + HEIGHT + 16.0)) text-anchor=(anchor(x(value), WIDTH)) { (significant_tick(value)) }
                }
            }
            p.note { "Axis in " (unit.as_str()) "; the dashed line is the median." }
            details.numbers {
                summary { "Numbers of this picture" }
                div.scroll role="region" aria-label={ (title) " in numbers" } tabindex="0" {
                    table {
                        caption { (title) }
                        thead { tr { th scope="col" { "From, to below" } th.number scope="col" { "Cases" } } }
                        tbody {
                            @for (index, count) in bins.counts.iter().enumerate() {
                                tr { th scope="row" { (bins.range(index, unit)) } td.number { (count) } }
                            }
                        }
                    }
                }
            }
        }
    })
}

/// Without needless zeros: the axis names its unit below.
fn significant_tick(value: f64) -> String {
    let text = significant(value);
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

/// Classes of equal width with round borders.
struct Bins {
    from: f64,
    step: f64,
    counts: Vec<u64>,
}

impl Bins {
    fn new(values: &[f64]) -> Option<Self> {
        let least = values.iter().copied().reduce(f64::min)?;
        let most = values.iter().copied().reduce(f64::max)?;
        if values.len() < 2 || !least.is_finite() || !most.is_finite() {
            return None;
        }
        // Twice the cube root of the number of values (Rice's rule), within what is legible.
        let wanted = (2.0 * (values.len() as f64).cbrt()).clamp(4.0, 24.0);
        let spread = if most > least { most - least } else { least.abs().max(1e-9) * 0.2 };
        let step = round_step(spread / wanted);
        let from = (least / step).floor() * step;
        let count = ((most - from) / step).floor() as usize + 1;
        let mut counts = vec![0; count];
        for value in values {
            let index = ((value - from) / step).floor() as usize;
            counts[index.min(count - 1)] += 1;
        }
        Some(Self { from, step, counts })
    }

    fn range(&self, index: usize, unit: Unit) -> String {
        let from = self.from + index as f64 * self.step;
        format!("{} to {}", show(from, None, unit), show(from + self.step, None, unit))
    }
}

fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    if sorted.len().is_multiple_of(2) {
        f64::midpoint(sorted[middle - 1], sorted[middle])
    } else {
        sorted[middle]
    }
}

const WIDTH: f64 = 340.0;
const TOP: f64 = 16.0;
const HEIGHT: f64 = 104.0;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_is_in_one_class() {
        let values: Vec<f64> = (0..100).map(|index| f64::from(index) * 0.37).collect();
        let bins = Bins::new(&values).unwrap();
        assert_eq!(bins.counts.iter().sum::<u64>(), 100);
        assert!((4..=40).contains(&bins.counts.len()));
        assert_eq!(Bins::new(&[5.0; 7]).unwrap().counts.iter().sum::<u64>(), 7);
        assert_eq!(Bins::new(&[0.0; 3]).unwrap().counts.iter().sum::<u64>(), 3);
        assert!(Bins::new(&[1.0]).is_none());
        assert!(Bins::new(&[1.0, f64::INFINITY]).is_none());
        assert_eq!(median(&[3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), 2.5);
    }
}
