//! How the live view looks: a pure function of its state, an area and whether there are colours.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::symbols::bar;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Paragraph, Row, Sparkline, SparklineBar, Table};
use wattspan::core::{Reading, ServerStats, Watts};

use super::lines::{memory, shown};
use super::state::{DeviceRow, ServerRow, State, TREND};

/// Styles that stay apart without colours, too.
#[derive(Clone, Copy, Debug)]
pub(super) struct Palette {
    pub(super) colours: bool,
}

impl Palette {
    /// As <https://no-color.org> has it: a variable that is set and not empty.
    pub(super) fn from_env() -> Self {
        Self { colours: std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty()) }
    }

    fn colour(self, colour: Color) -> Style {
        if self.colours { Style::new().fg(colour) } else { Style::new() }
    }

    fn warning(self, wanted: bool) -> Style {
        if wanted { self.colour(Color::Yellow) } else { Style::new() }
    }

    fn heading() -> Style {
        Style::new().add_modifier(Modifier::BOLD)
    }
}

/// Where each part is.
struct Parts {
    title: Rect,
    curve: Rect,
    devices: Rect,
    servers: Rect,
    foot: Rect,
}

impl Parts {
    fn of(area: Rect, state: &State) -> Self {
        let servers = if state.servers.is_empty() { 0 } else { state.servers.len() as u16 + 1 };
        // On a low screen the curve goes first, then the foot.
        let curve = match area.height {
            0..=7 => 0,
            8..=15 => 2,
            _ => 5,
        };
        let [title, curve, devices, servers, foot] = Layout::vertical([
            Constraint::Length(1),
            Constraint::Length(curve),
            Constraint::Fill(1),
            Constraint::Length(servers.min(area.height / 3)),
            Constraint::Length(u16::from(area.height > 3)),
        ])
        .areas(area);
        Self { title, curve, devices, servers, foot }
    }
}

/// How many devices can be seen at once.
pub(super) fn visible(area: Rect, state: &State) -> usize {
    // One line of it is the heading.
    usize::from(Parts::of(area, state).devices.height.saturating_sub(1))
}

/// Draws everything.
pub(super) fn draw(frame: &mut Frame<'_>, state: &State, palette: Palette) {
    let area = frame.area();
    let parts = Parts::of(area, state);
    let seen = visible(area, state);
    let first = state.scroll.min(state.devices.len().saturating_sub(seen));
    frame.render_widget(title(state), parts.title);
    frame.render_widget(curve(state, parts.curve.width, palette), parts.curve);
    if state.devices.is_empty() {
        frame.render_widget(Paragraph::new(NOTHING), parts.devices);
    } else {
        let rows = state.devices.iter().skip(first).take(seen);
        let rows = rows
            .map(|row| (row, palette.warning(matches!(row.power, Reading::Denied(_) | Reading::Failed(_)))));
        frame.render_widget(table(&DEVICE_COLUMNS, rows, area.width), parts.devices);
    }
    let rows = state.servers.iter().map(|row| (row, palette.warning(row.trouble().is_some())));
    frame.render_widget(table(&SERVER_COLUMNS, rows, area.width), parts.servers);
    frame.render_widget(foot(state, first, seen, parts.foot.width), parts.foot);
}

fn title(state: &State) -> Line<'static> {
    let figure = |text: String| Span::styled(text, Palette::heading());
    Line::from(vec![
        figure(shown(&Reading::from(state.power))),
        Span::raw(" of all devices  "),
        figure(shown(&Reading::from(state.energy))),
        Span::raw(format!(" in {:.0} s", state.elapsed.as_secs_f64())),
    ])
}

/// The newest is at the right edge; where no sensor answered, there is a gap.
fn curve(state: &State, width: u16, palette: Palette) -> Sparkline<'static> {
    let bars = newest(state.history.iter().copied(), usize::from(width));
    let most = bars.iter().flatten().max().copied().unwrap_or(1);
    Sparkline::default()
        .data(bars.into_iter().map(SparklineBar::from))
        .max(most.max(1))
        .absent_value_symbol(" ")
        .style(palette.colour(Color::Green))
}

/// Milliwatts of the latest readings, with gaps before them where there are fewer than columns.
fn newest(history: impl DoubleEndedIterator<Item = Option<Watts>>, width: usize) -> Vec<Option<u64>> {
    let milliwatts = |watts: Watts| (watts.watts().max(0.0) * 1e3).round() as u64;
    let mut bars: Vec<_> = history.rev().take(width).map(|power| power.map(milliwatts)).collect();
    bars.resize(width, None);
    bars.reverse();
    bars
}

/// Columns stand in the order in which a narrow screen keeps them.
struct Column<T> {
    heading: &'static str,
    width: u16,
    text: fn(&T) -> String,
}

const DEVICE_COLUMNS: [Column<DeviceRow>; 8] = [
    Column { heading: "device", width: 8, text: |row| row.label.clone() },
    Column { heading: "power", width: 9, text: |row| shown(&row.power) },
    Column { heading: "energy", width: 10, text: |row| shown(&Reading::from(row.energy)) },
    Column { heading: "util", width: 7, text: |row| shown(&row.sample.gauges.utilization) },
    Column {
        heading: "memory",
        width: 24,
        text: |row| memory(&row.sample).unwrap_or_else(|| shown(&row.sample.gauges.memory_used)),
    },
    Column { heading: "temp", width: 8, text: |row| shown(&row.sample.gauges.temperature) },
    Column { heading: "power lately", width: TREND as u16, text: |row| trend(&row.trend) },
    Column { heading: "model", width: 24, text: |row| row.sample.device.name.clone() },
];

const SERVER_COLUMNS: [Column<ServerRow>; 7] = [
    Column { heading: "server", width: 15, text: |row| row.stats.server.to_string() },
    Column {
        heading: "tokens/s",
        width: 8,
        text: |row| row.stats.tokens_per_second.as_value().map_or_else(dash, |rate| format!("{rate:.1}")),
    },
    Column {
        heading: "J/token",
        width: 8,
        text: |row| row.joules_per_token.map_or_else(dash, |joules| format!("{joules:.3}")),
    },
    Column { heading: "slots", width: 7, text: |row| slots(&row.stats) },
    Column { heading: "waiting", width: 7, text: |row| shown(&row.stats.queued) },
    Column { heading: "KV", width: 7, text: |row| shown(&row.stats.kv_cache) },
    Column { heading: "", width: 40, text: |row| row.trouble().unwrap_or_default() },
];

fn table<'a, T: 'a>(
    columns: &[Column<T>],
    rows: impl Iterator<Item = (&'a T, Style)>,
    width: u16,
) -> Table<'static> {
    let mut end = 0;
    let fits = |column: &&Column<T>| {
        // The last one may be cut, but not to nothing that can be read.
        let fits = end + column.width.min(10) <= width;
        end += column.width + 1;
        fits
    };
    let columns: Vec<&Column<T>> = columns.iter().take_while(fits).collect();
    let rows =
        rows.map(|(row, style)| Row::new(columns.iter().map(|column| (column.text)(row))).style(style));
    let rows: Vec<Row<'static>> = rows.collect();
    Table::new(rows, columns.iter().map(|column| Constraint::Length(column.width)))
        .header(Row::new(columns.iter().map(|column| column.heading)).style(Palette::heading()))
        .column_spacing(1)
}

/// A device's own curve, from nothing to the most that is in it.
fn trend(powers: &[Option<Watts>]) -> String {
    let bars = newest(powers.iter().copied(), TREND);
    let most = bars.iter().flatten().max().copied().unwrap_or(0).max(1);
    bars.into_iter()
        .map(|bar| match bar {
            None => " ",
            Some(power) => BARS[(power * (BARS.len() as u64 - 1) / most) as usize],
        })
        .collect()
}

const BARS: [&str; 8] = [
    bar::ONE_EIGHTH,
    bar::ONE_QUARTER,
    bar::THREE_EIGHTHS,
    bar::HALF,
    bar::FIVE_EIGHTHS,
    bar::THREE_QUARTERS,
    bar::SEVEN_EIGHTHS,
    bar::FULL,
];

fn slots(stats: &ServerStats) -> String {
    match (&stats.busy_slots, &stats.slots) {
        (Reading::Value(busy), Reading::Value(slots)) => format!("{busy}/{slots}"),
        _ => dash(),
    }
}

fn dash() -> String {
    "–".to_owned()
}

fn foot(state: &State, first: usize, seen: usize, width: u16) -> Line<'static> {
    let all = state.devices.len();
    let place = if all > seen {
        format!("devices {}–{} of {all}  ", (first + 1).min(all), (first + seen).min(all))
    } else {
        String::new()
    };
    let keys = match (all > seen, width) {
        (true, 60..) => "q ends, ↑ ↓ PgUp PgDn Home End move",
        (true, _) => "q ends, ↑ ↓ move",
        (false, _) => "q ends",
    };
    Line::from(vec![Span::raw(place), Span::styled(keys, Style::new().add_modifier(Modifier::DIM))])
}

const NOTHING: &str = "no device was found, or none has been read yet: `wattspan devices` says why";

#[cfg(test)]
mod tests;
