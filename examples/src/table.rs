//! A report of settled inferences for a terminal, and the same as JSON.

// A report is put together piece by piece; `write!` to a String would need its impossible error handled each time.
#![allow(clippy::format_push_string)]

use serde_json::{Value, json};
use wattspan::core::{InferenceEnergy, InferenceRecord, Method};

/// One inference, reduced to what a report shows. Absent figures are `None`, `null` in JSON and `–` in the table.
#[derive(Clone, Debug)]
pub struct Line {
    /// Where it ran: `server` or `in-process`.
    pub path: String,
    /// Input and output tokens.
    pub tokens: (Option<u64>, Option<u64>),
    /// Time to the first token in milliseconds.
    pub first_token_ms: Option<f64>,
    /// Time per output token after the first, in milliseconds.
    pub per_token_ms: Option<f64>,
    /// Output tokens per second after the first.
    pub tokens_per_second: Option<f64>,
    /// Joules.
    pub joules: Option<f64>,
    /// Half-width of the 95 % interval in joules.
    pub uncertainty: Option<f64>,
    /// Range of an estimate in joules.
    pub range: Option<(f64, f64)>,
    /// `counter`, `integrated`, `estimated` or `mixed`.
    pub method: Option<String>,
    /// Grams CO2e.
    pub grams: Option<f64>,
    /// Zone and source of the intensity.
    pub intensity: Option<String>,
    /// USD.
    pub usd: Option<f64>,
    /// `error.type`, if it failed.
    pub error: Option<String>,
}

impl Line {
    /// Takes a record apart.
    pub fn of(path: &str, record: &InferenceRecord) -> Self {
        let facts = &record.facts;
        let first = record.time_to_first_token();
        let after = first.zip(facts.tokens.output).and_then(|(first, tokens)| {
            let steps = tokens.checked_sub(1).filter(|steps| *steps > 0)?;
            Some((record.duration().saturating_sub(first).as_secs_f64(), steps as f64))
        });
        let energy: Option<&InferenceEnergy> = record.settlement.energy.as_ref();
        let emissions = record.settlement.emissions.as_ref();
        let estimate = energy
            .filter(|energy| energy.method == Method::Estimated)
            .and_then(|energy| energy.estimated.as_ref());
        Self {
            path: if record.begin.operation == "load" { format!("{path}, load") } else { path.to_owned() },
            tokens: (facts.tokens.input(), facts.tokens.output),
            first_token_ms: first.map(|first| first.as_secs_f64() * 1e3),
            per_token_ms: after.map(|(seconds, steps)| seconds * 1e3 / steps),
            tokens_per_second: after
                .filter(|(seconds, _)| *seconds > 0.0)
                .map(|(seconds, steps)| steps / seconds),
            joules: energy.map(|energy| energy.total.joules()),
            uncertainty: energy.and_then(|energy| energy.uncertainty).map(|both| both.total.joules()),
            range: estimate.map(|estimate| (estimate.range.low.joules(), estimate.range.high.joules())),
            method: energy.map(|energy| energy.method.as_str().to_owned()),
            grams: emissions.map(|emissions| emissions.total.grams()),
            intensity: emissions.map(|emissions| {
                let intensity = &emissions.intensity;
                let zone = intensity.zone.as_deref().unwrap_or("no zone");
                format!("{} g/kWh, {zone}, {}", intensity.value.grams_per_kwh().round(), intensity.source)
            }),
            usd: record.settlement.cost.as_ref().map(|cost| cost.total.usd()),
            error: facts.error_type.as_ref().map(ToString::to_string),
        }
    }

    /// As a JSON object with units in the names.
    pub fn json(&self) -> Value {
        json!({
            "path": self.path,
            "input_tokens": self.tokens.0,
            "output_tokens": self.tokens.1,
            "time_to_first_token_ms": self.first_token_ms,
            "time_per_output_token_ms": self.per_token_ms,
            "tokens_per_second": self.tokens_per_second,
            "energy_joules": self.joules,
            "uncertainty_joules": self.uncertainty,
            "range_joules": self.range.map(|(low, high)| [low, high]),
            "method": self.method,
            "joules_per_output_token": self.joules_per_token(),
            "emissions_grams": self.grams,
            "intensity": self.intensity,
            "cost_usd": self.usd,
            "error": self.error,
        })
    }

    /// Reads what [`Line::json`] wrote.
    pub fn from_json(value: &Value) -> Self {
        let number = |key: &str| value[key].as_f64();
        let text = |key: &str| value[key].as_str().map(str::to_owned);
        Self {
            path: text("path").unwrap_or_default(),
            tokens: (value["input_tokens"].as_u64(), value["output_tokens"].as_u64()),
            first_token_ms: number("time_to_first_token_ms"),
            per_token_ms: number("time_per_output_token_ms"),
            tokens_per_second: number("tokens_per_second"),
            joules: number("energy_joules"),
            uncertainty: number("uncertainty_joules"),
            range: value["range_joules"][0].as_f64().zip(value["range_joules"][1].as_f64()),
            method: text("method"),
            grams: number("emissions_grams"),
            intensity: text("intensity"),
            usd: number("cost_usd"),
            error: text("error"),
        }
    }

    fn joules_per_token(&self) -> Option<f64> {
        let tokens = self.tokens.1.filter(|tokens| *tokens > 0)?;
        self.joules.map(|joules| joules / tokens as f64)
    }

    /// `12.3 ± 0.6 J counter`, or `12.3 (4.1–20.4) J estimated`.
    fn energy(&self) -> String {
        let Some(joules) = self.joules else { return "–".to_owned() };
        let spread = match (self.range, self.uncertainty) {
            (Some((low, high)), _) => format!("({low:.1}–{high:.1})"),
            (None, Some(half)) => format!("± {half:.1}"),
            (None, None) => String::new(),
        };
        format!("{joules:.1} {spread} {}", self.method.as_deref().unwrap_or_default())
    }
}

/// The report: one row per inference and the totals.
pub fn render(lines: &[Line]) -> String {
    let header =
        ["#", "path", "in", "out", "TTFT ms", "ms/token", "tokens/s", "energy J", "J/token", "gCO2e", "USD"];
    let mut rows = vec![header.map(str::to_owned).to_vec()];
    let show = |value: Option<f64>, decimals: usize| {
        value.map_or("–".to_owned(), |value| format!("{value:.decimals$}"))
    };
    let count = |value: Option<u64>| value.map_or("–".to_owned(), |value| value.to_string());
    for (index, line) in lines.iter().enumerate() {
        rows.push(vec![
            (index + 1).to_string(),
            line.error.as_ref().map_or_else(|| line.path.clone(), |error| format!("{} ({error})", line.path)),
            count(line.tokens.0),
            count(line.tokens.1),
            show(line.first_token_ms, 0),
            show(line.per_token_ms, 1),
            show(line.tokens_per_second, 1),
            line.energy(),
            show(line.joules_per_token(), 3),
            show(line.grams, 6),
            show(line.usd, 8),
        ]);
    }
    let columns = header.len();
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut text = String::new();
    for (index, row) in rows.iter().enumerate() {
        for (column, cell) in row.iter().enumerate() {
            let pad = widths[column].saturating_sub(cell.chars().count());
            let (left, right) = if column == 1 { (0, pad) } else { (pad, 0) };
            text += &format!("{}{cell}{}  ", " ".repeat(left), " ".repeat(right));
        }
        text.truncate(text.trim_end().len());
        text.push('\n');
        if index == 0 {
            text += &format!("{}\n", "─".repeat(widths.iter().sum::<usize>() + 2 * (columns - 1)));
        }
    }
    text + &totals(lines)
}

fn totals(lines: &[Line]) -> String {
    let sum = |figure: fn(&Line) -> Option<f64>| {
        let known: Vec<f64> = lines.iter().filter_map(figure).collect();
        (!known.is_empty()).then(|| (known.iter().sum::<f64>(), known.len()))
    };
    let tokens: u64 = lines.iter().filter_map(|line| line.tokens.1).sum();
    let mut text = format!("\n{} inferences, {tokens} output tokens", lines.len());
    // Measured and estimated joules are never added to each other.
    for (label, estimated) in [("measured", false), ("estimated", true)] {
        let of: Vec<&Line> = lines
            .iter()
            .filter(|line| {
                line.joules.is_some() && (line.method.as_deref() == Some("estimated")) == estimated
            })
            .collect();
        if !of.is_empty() {
            let joules: f64 = of.iter().filter_map(|line| line.joules).sum();
            text += &format!("; {joules:.1} J {label} over {} of them", of.len());
        }
    }
    if let Some((grams, _)) = sum(|line| line.grams) {
        let zones: std::collections::BTreeSet<&str> =
            lines.iter().filter_map(|line| line.intensity.as_deref()).collect();
        text += &format!("\n{grams:.6} gCO2e ({})", zones.into_iter().collect::<Vec<_>>().join("; "));
    }
    text += &match sum(|line| line.usd) {
        Some((usd, _)) => format!("\n{usd:.8} USD of electricity\n"),
        None => "\nno price of electricity is known here: set WATTSPAN_ELECTRICITY_PRICE (USD per kWh)\n"
            .to_owned(),
    };
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(joules: f64, method: &str) -> Line {
        Line {
            path: "server".to_owned(),
            tokens: (Some(10), Some(20)),
            first_token_ms: Some(80.0),
            per_token_ms: Some(10.0),
            tokens_per_second: Some(100.0),
            joules: Some(joules),
            uncertainty: Some(0.5),
            range: (method == "estimated").then_some((1.0, 9.0)),
            method: Some(method.to_owned()),
            grams: Some(0.001),
            intensity: Some("41 g/kWh, FR, ember".to_owned()),
            usd: None,
            error: None,
        }
    }

    #[test]
    fn measured_and_estimated_joules_are_not_added() {
        let text = render(&[line(4.0, "counter"), line(5.0, "estimated")]);
        assert!(text.contains("4.0 J measured over 1") && text.contains("5.0 J estimated over 1"), "{text}");
        assert!(!text.contains("9.0 J "), "{text}");
        assert!(text.contains("5.0 (1.0–9.0) estimated"), "{text}");
    }

    #[test]
    fn absent_figures_are_a_dash_and_null() {
        let mut absent = line(1.0, "counter");
        absent.joules = None;
        absent.grams = None;
        assert!(
            absent.json()["energy_joules"].is_null() && absent.json()["joules_per_output_token"].is_null()
        );
        assert!(render(&[absent]).lines().nth(2).unwrap().contains('–'));
    }

    #[test]
    fn json_reads_back() {
        let line = line(2.5, "counter");
        assert_eq!(Line::from_json(&line.json()).json(), line.json());
    }
}
