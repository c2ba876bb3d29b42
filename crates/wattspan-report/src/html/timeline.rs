//! Power over time with the inferences below it, and the series of each device.

use maud::{Markup, html};

use super::axis::{Scale, TimeScale, at};
use crate::number::{self, Unit, show};
use crate::read::{Device, Inference, Point, Run, Series};
use crate::text;

/// Everything that has a place on a run's time axis.
pub(crate) fn times(run: &Run) -> Vec<(u64, u64)> {
    let of_series = |series: &Series| -> Vec<(u64, u64)> {
        let runs = series.stretches();
        runs.iter().filter_map(|run| Some((run.first()?.begin, run.last()?.end))).collect()
    };
    let series = run
        .devices
        .iter()
        .flat_map(|device| [&device.power, &device.utilization, &device.memory, &device.temperature]);
    let mut times: Vec<(u64, u64)> = series.flat_map(of_series).collect();
    times.extend(run.inferences.iter().map(|inference| (inference.begin, inference.end)));
    times
}

/// Power of all counted devices, and what was in flight.
pub(crate) fn power(id: &str, run: &Run) -> Option<Markup> {
    let time = TimeScale::new(times(run), WIDE)?;
    let series = &run.devices.total;
    if series.is_empty() && run.inferences.is_empty() {
        return None;
    }
    let scale = Scale::new(series.max().unwrap_or(0.0), 4);
    let flights = Flights::new(&run.inferences, &time);
    let plot = if series.is_empty() { 0.0 } else { PLOT };
    let lanes_top = TOP + plot + 26.0;
    let axis = lanes_top + flights.height() + 4.0;
    let height = axis + 22.0;
    let what = if run.are_cases { "cases" } else { "inferences" };
    let count = run.inferences.len();
    let description = format!(
        "From the run's begin to its end. {} {} {what} below, {} at a time at most.",
        series.max().map_or_else(
            || "No device was measured.".to_owned(),
            |most| format!("The line is the mean power of all devices that count, the band its least and greatest value; the highest is {}.", show(most, None, Unit::Watt)),
        ),
        show(count as f64, None, Unit::Count),
        flights.most,
    );
    let title = if series.is_empty() { "Inferences over time" } else { "Power over time" };
    let title_id = format!("{id}-title");
    let points = series.at_most(TABLE_LINES);
    Some(html! {
        figure.picture.wide {
            figcaption id=(title_id) {
                (title)
                @if !series.is_empty() { span.remark { " all devices that count, " (what) " below" } }
            }
            svg viewBox={ "0 0 " (WIDE) " " (at(height)) } role="img" aria-labelledby=(title_id)
                aria-describedby={ (id) "-desc" } {
                desc id={ (id) "-desc" } { (description) }
                @for (from, to) in flights.busy() {
                    rect.busy x=(at(from)) y=(TOP) width=(at((to - from).max(0.5))) height=(at(axis - TOP)) {}
                }
                @if !series.is_empty() {
                    (grid(scale, Unit::Watt, TOP, plot, WIDE))
                    (curve(series, &time, scale, TOP, plot))
                }
                @if count > 0 {
                    text.label x="0" y=(at(lanes_top - 7.0)) { (flights.title(what)) }
                    (flights.draw(lanes_top))
                }
                (time_axis(&time, axis, 6))
            }
            ul.legend {
                @if !series.is_empty() {
                    li { (swatch("mean")) "mean" }
                    li { (swatch("band")) "least to greatest" }
                }
                @if count > 0 { li { (swatch("lane")) (what) } }
                @if flights.any_failed { li { (swatch("lane failed")) "with an error" } }
            }
            p.note { "Minutes and seconds since " (begin(run, &time)) "." }
            @if !series.is_empty() { (numbers(&points, "Power of all devices", Unit::Watt, &time)) }
        }
    })
}

/// The series of one device, each in a small picture.
pub(crate) fn device(id: &str, device: &Device, times: &[(u64, u64)]) -> Option<Markup> {
    let time = TimeScale::new(times.iter().copied(), NARROW)?;
    let all = [
        ("Power", &device.power, Unit::Watt, device.power_limit),
        ("Use", &device.utilization, Unit::Percent, Some(100.0)),
        ("Memory", &device.memory, Unit::Mebibyte, device.memory_total),
        ("Temperature", &device.temperature, Unit::Celsius, None),
    ];
    let drawn: Vec<_> = all.into_iter().filter(|(_, series, ..)| !series.is_empty()).collect();
    if drawn.is_empty() {
        return None;
    }
    Some(html! {
        section.device aria-labelledby={ (id) "-name" } {
            h4 id={ (id) "-name" } { bdi { (text::line(&device.name)) } " " span.remark { bdi { (text::line(&device.id)) } } }
            div.pictures.four {
                @for (index, (title, series, unit, most)) in drawn.into_iter().enumerate() {
                    (small(&format!("{id}-{index}"), title, series, unit, most, &time))
                }
            }
        }
    })
}

fn small(id: &str, title: &str, series: &Series, unit: Unit, most: Option<f64>, time: &TimeScale) -> Markup {
    let series = series.at_most(120);
    let largest = series.max().unwrap_or(0.0);
    // Up to the limit where values come near it, so that one sees how near.
    let top = most
        .filter(|most| largest > most * 0.4 && largest <= most * 1.2)
        .map_or(largest, |most| most.max(largest));
    let scale = if unit == Unit::Mebibyte && top >= 1_024.0 {
        let of_gibibytes = Scale::new(top / 1_024.0, 2);
        Scale { top: of_gibibytes.top * 1_024.0, step: of_gibibytes.step * 1_024.0 }
    } else {
        Scale::new(top, 2)
    };
    let mean = show(series.mean().unwrap_or(0.0), None, unit);
    let summary = format!("mean {mean}, peak {}", show(largest, None, unit));
    let title_id = format!("{id}-title");
    html! {
        figure.picture.small {
            figcaption id=(title_id) { (title) span.remark { " " (summary) } }
            svg viewBox={ "0 0 " (NARROW) " 118" } role="img" aria-labelledby=(title_id) {
                (grid(scale, unit, 12.0, 80.0, NARROW))
                (curve(&series, time, scale, 12.0, 80.0))
                (time_axis(time, 96.0, 3))
            }
            (numbers(&series.at_most(TABLE_LINES), title, unit, time))
        }
    }
}

/// Band and line. What rests below the line is tinted, so that the eye finds it.
fn curve(series: &Series, time: &TimeScale, scale: Scale, top: f64, height: f64) -> Markup {
    let y = |value: f64| top + height - value.clamp(0.0, scale.top) / scale.top * height;
    let mut band = String::new();
    let mut line = String::new();
    for run in series.stretches() {
        let places = places(&run, time);
        for (index, (x, point)) in places.iter().enumerate() {
            let to = if index == 0 { "M" } else { "L" };
            band.extend([to, &at(*x), " ", &at(y(point.max))]);
            line.extend([to, &at(*x), " ", &at(y(point.mean))]);
        }
        for (x, point) in places.iter().rev() {
            band.extend(["L", &at(*x), " ", &at(y(point.min))]);
        }
        band.push('Z');
    }
    html! {
        path.band d=(band) {}
        path.mean d=(line) {}
    }
}

/// Where points stand: in the middle of their stretch, the outer ones at its edges.
fn places(run: &[Point], time: &TimeScale) -> Vec<(f64, Point)> {
    let mut places = Vec::with_capacity(run.len() + 2);
    if let Some(first) = run.first() {
        places.push((time.place(first.begin), *first));
    }
    places.extend(run.iter().map(|point| (time.place(point.middle()), *point)));
    if let Some(last) = run.last() {
        places.push((time.place(last.end), *last));
    }
    places
}

pub(crate) fn grid(scale: Scale, unit: Unit, top: f64, height: f64, width: f64) -> Markup {
    let y = |value: f64| top + height - value / scale.top * height;
    html! {
        @for tick in scale.ticks() {
            path.grid d={ "M0 " (at(y(tick))) "H" (width) } {}
            text.tick x="0" y=(at(y(tick) - 3.0)) { (number::tick(tick, unit)) }
        }
        path.axis d={ "M0 " (at(top + height)) "H" (width) } {}
    }
}

/// Ticks below the picture. Every second one gives way where there is little room.
fn time_axis(time: &TimeScale, y: f64, about: usize) -> Markup {
    let width = if about > 3 { WIDE } else { NARROW };
    html! {
        @for (index, (x, label)) in time.ticks(about).into_iter().enumerate() {
            path.tick-mark d={ "M" (at(x)) " " (at(y)) "v4" } {}
            text.tick.minor[index % 2 == 1] x=(at(x)) y=(at(y + 16.0)) text-anchor=(anchor(x, width)) { (label) }
        }
        @for (x, pause) in time.cuts() {
            path.cut d={ "M" (at(x - 3.0)) " " (at(y)) "l2 -6M" (at(x + 1.0)) " " (at(y)) "l2 -6" } {
                title { (show(pause as f64 / 1e6, None, Unit::Millisecond)) " without data" }
            }
        }
    }
}

/// Text at the edge stays inside.
pub(crate) fn anchor(x: f64, width: f64) -> &'static str {
    if x < width * 0.04 {
        "start"
    } else if x > width * 0.96 {
        "end"
    } else {
        "middle"
    }
}

pub(crate) fn swatch(class: &str) -> Markup {
    html! {
        svg.swatch viewBox="0 0 16 12" aria-hidden="true" {
            @if class == "mean" {
                path class=(class) d="M0 6H16" {}
            } @else {
                rect class=(class) x="1" y="1" width="14" height="10" {}
            }
            @match class {
                "part idle" | "part estimated" => path.hatch d="M4 10L9 2M9 10L14 2" {},
                "part other" => path.dots d="M4 4h.1M8 8h.1M12 4h.1" {},
                _ => {},
            }
        }
    }
}

/// The picture as a table.
fn numbers(series: &Series, caption: &str, unit: Unit, time: &TimeScale) -> Markup {
    let since = |nanos: u64| super::axis::clock(nanos.saturating_sub(time.begin()) as f64 / 1e9, 1.0);
    html! {
        details.numbers {
            summary { "Numbers of this picture" }
            div.scroll role="region" aria-label={ (caption) " in numbers" } tabindex="0" {
                table {
                    caption { (caption) }
                    thead { tr { th scope="col" { "From" } th.number scope="col" { "Mean" } th.number scope="col" { "Least" } th.number scope="col" { "Greatest" } } }
                    tbody {
                        @for point in series.points() {
                            tr {
                                th scope="row" { (since(point.begin)) }
                                td.number { (show(point.mean, None, unit)) }
                                td.number { (show(point.min, None, unit)) }
                                td.number { (show(point.max, None, unit)) }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn begin(run: &Run, time: &TimeScale) -> String {
    let begin = std::time::UNIX_EPOCH + std::time::Duration::from_nanos(time.begin());
    let text = wattspan_dataset::Timestamp::from(begin).to_string();
    let text = text.get(..19).map_or_else(|| text.clone(), |text| text.replace('T', " "));
    let pauses = time.cuts().count();
    let cut = if pauses > 0 { ", pauses cut short" } else { "" };
    let dropped = if run.are_cases { "; there are no traces, so that whole cases are shown" } else { "" };
    format!("{text} UTC{cut}{dropped}")
}

/// Inferences on the time axis, in lanes, or as how many ran at a time.
struct Flights<'a> {
    /// Place, width, lane.
    marks: Vec<(f64, f64, usize, &'a Inference)>,
    lanes: usize,
    /// How many touch each column, when there are too many for lanes.
    columns: Vec<u32>,
    most: usize,
    any_failed: bool,
    spans: Vec<(f64, f64)>,
}

impl<'a> Flights<'a> {
    fn new(inferences: &'a [Inference], time: &TimeScale) -> Self {
        let mut sorted: Vec<&Inference> = inferences.iter().collect();
        sorted.sort_by_key(|inference| (inference.begin, inference.end));
        let most = at_a_time(&sorted);
        let place = |inference: &Inference| (time.place(inference.begin), time.place(inference.end));
        let spans = sorted.iter().map(|inference| place(inference)).collect();
        let any_failed = sorted.iter().any(|inference| inference.failed);
        let mut flights = Self { marks: Vec::new(), lanes: 0, columns: Vec::new(), most, any_failed, spans };
        if sorted.len() <= DRAWN && most <= LANES {
            flights.lay_out(&sorted, place);
        } else {
            flights.count();
            flights.any_failed = false;
        }
        flights
    }

    fn lay_out(&mut self, sorted: &[&'a Inference], place: impl Fn(&Inference) -> (f64, f64)) {
        let mut free: Vec<u64> = Vec::new();
        for inference in sorted {
            let lane = free.iter().position(|end| *end <= inference.begin).unwrap_or(free.len());
            match free.get_mut(lane) {
                Some(end) => *end = inference.end,
                None => free.push(inference.end),
            }
            let (from, to) = place(inference);
            self.marks.push((from, (to - from).max(1.0), lane, inference));
        }
        self.lanes = free.len();
    }

    fn count(&mut self) {
        let columns = (WIDE / 2.0) as usize;
        let mut steps = vec![0_i64; columns + 1];
        for (from, to) in &self.spans {
            steps[((from / 2.0) as usize).min(columns - 1)] += 1;
            steps[((to / 2.0) as usize).min(columns - 1) + 1] -= 1;
        }
        let counts = steps.iter().scan(0_i64, |sum, step| {
            *sum += step;
            Some(u32::try_from(*sum).unwrap_or(0))
        });
        self.columns = counts.take(columns).collect();
    }

    /// Times in which anything was in flight, joined where nobody sees the gap.
    fn busy(&self) -> Vec<(f64, f64)> {
        let mut joined: Vec<(f64, f64)> = Vec::new();
        for (from, to) in &self.spans {
            match joined.last_mut() {
                Some(last) if *from <= last.1 + 0.5 => last.1 = last.1.max(*to),
                _ => joined.push((*from, *to)),
            }
        }
        joined
    }

    fn title(&self, what: &str) -> String {
        if self.columns.is_empty() {
            what.to_owned()
        } else {
            let most = self.columns.iter().max().copied().unwrap_or(0);
            format!("{what} at a time, up to {most}")
        }
    }

    fn height(&self) -> f64 {
        if self.columns.is_empty() { self.lanes.max(1) as f64 * LANE } else { COUNTED }
    }

    fn draw(&self, top: f64) -> Markup {
        let most = f64::from(self.columns.iter().max().copied().unwrap_or(1).max(1));
        let mut steps = format!("M0 {}", at(top + COUNTED));
        for (index, count) in self.columns.iter().enumerate() {
            let y = top + COUNTED - f64::from(*count) / most * COUNTED;
            let (from, to) = ((index * 2).to_string(), (index * 2 + 2).to_string());
            steps.extend(["L", &from, " ", &at(y), "H", &to]);
        }
        steps.extend(["V", &at(top + COUNTED), "Z"]);
        html! {
            @if !self.columns.is_empty() { path.lane d=(steps) {} }
            @for (x, width, lane, inference) in &self.marks {
                rect.lane.failed[inference.failed] x=(at(*x)) y=(at(top + *lane as f64 * LANE)) rx="1.5"
                    width=(at(*width)) height=(at(LANE - 2.0)) {
                    title {
                        (text::line(inference.label.as_deref().unwrap_or("inference"))) ", "
                        (show((inference.end - inference.begin) as f64 / 1e6, None, Unit::Millisecond))
                        @if inference.failed { ", with an error" }
                    }
                }
            }
        }
    }
}

/// How many ran at the same time at most.
fn at_a_time(sorted: &[&Inference]) -> usize {
    let mut ends: Vec<u64> = sorted.iter().map(|inference| inference.end).collect();
    ends.sort_unstable();
    let mut ended = 0;
    let mut most = 0;
    for (begun, inference) in sorted.iter().enumerate() {
        while ends.get(ended).is_some_and(|end| *end <= inference.begin) {
            ended += 1;
        }
        most = most.max((begun + 1).saturating_sub(ended));
    }
    most
}

pub(crate) const WIDE: f64 = 720.0;
const NARROW: f64 = 260.0;
const TOP: f64 = 18.0;
const PLOT: f64 = 170.0;
const LANE: f64 = 10.0;
/// Height of the picture of how many ran at a time.
const COUNTED: f64 = 48.0;
const LANES: usize = 16;
const DRAWN: usize = 512;
const TABLE_LINES: usize = 40;
