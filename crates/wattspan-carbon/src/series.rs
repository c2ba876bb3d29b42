//! The user's own intensities over time, from a CSV file.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufReader, Read};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use wattspan_core::{GramsPerKwh, Intensity, IntensityKind, IntensitySource, Place, Provenance};

use crate::time;
use crate::{Error, GRAMS_PER_KWH_OF_POUNDS_PER_MWH};

/// A time series of intensities, read from CSV.
///
/// The header names the columns, in any order and letter case:
/// - `start` (or `time`, `datetime`): RFC 3339 with an offset, `2026-01-01T12:00:00Z`; seconds may be left out;
/// - `end`, optional: without it a row holds until the next one of its zone, and the last as long as the one before
///   it (a single row holds from its start on);
/// - one value column, whose name is its unit: `gco2e_per_kwh` (or `g_per_kwh`, `gco2_per_kwh`, `kg_per_mwh`),
///   `kg_per_kwh`, `lb_per_mwh`;
/// - `zone`, optional: a row holds only for a place with this zone, subdivision, cloud region or country; an empty
///   one for every place.
///
/// Other columns, such as the shares of a fuel mix, are not read: an intensity is never worked out from a mix.
/// A time that no row covers is `None`.
///
/// ```
/// use wattspan_carbon::Series;
/// use wattspan_core::IntensitySource;
///
/// let text = "start,end,gco2e_per_kwh\n2026-01-01T00:00Z,2026-01-01T01:00Z,100\n";
/// let series = Series::from_reader("hours", text.as_bytes()).unwrap();
/// assert!(series.latest(&Default::default(), std::time::SystemTime::UNIX_EPOCH).is_none());
/// ```
#[derive(Clone, Debug)]
pub struct Series {
    source: Arc<str>,
    kind: IntensityKind,
    /// Rows by zone, each list in order of time.
    zones: BTreeMap<Arc<str>, Vec<Row>>,
}

#[derive(Clone, Copy, Debug)]
struct Row {
    start: SystemTime,
    /// `None`: holds on.
    end: Option<SystemTime>,
    value: GramsPerKwh,
}

impl Series {
    /// Reads a file.
    ///
    /// # Errors
    /// [`Error::File`] when it cannot be read, [`Error::Line`] for the first line that makes no sense.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, Error> {
        let path = path.as_ref();
        let file = File::open(path).map_err(|source| Error::File { path: path.to_owned(), source })?;
        Self::from_reader(&path.display().to_string(), file)
    }

    /// Reads CSV from anywhere. `name` stands in errors and is the source of the answers.
    ///
    /// # Errors
    /// [`Error::Line`] for the first line that makes no sense.
    pub fn from_reader(name: &str, reader: impl Read) -> Result<Self, Error> {
        let wrong = |line: u64, reason: String| Error::Line { name: name.to_owned(), line, reason };
        let mut text = String::new();
        BufReader::new(reader)
            .read_to_string(&mut text)
            .map_err(|error| wrong(1, format!("the table is not readable UTF-8: {}", error.kind())))?;
        let text = text.trim_start_matches('\u{feff}');
        // A row is a line: these tables have no text that runs over several.
        let mut lines =
            (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty() && !line.starts_with('#'));
        let (line, header) = lines.next().unwrap_or((1, ""));
        let header = fields(header);
        let columns = Columns::find(&header).map_err(|reason| wrong(line, reason))?;
        let mut zones: BTreeMap<Arc<str>, Vec<(Row, u64)>> = BTreeMap::new();
        for (line, text) in lines {
            let record = fields(text);
            if record.len() != header.len() {
                let reason = format!(
                    "it has another number of columns ({}) than the header ({})",
                    record.len(),
                    header.len()
                );
                return Err(wrong(line, reason));
            }
            let (zone, row) = columns.row(&record).map_err(|reason| wrong(line, reason))?;
            zones.entry(zone).or_default().push((row, line));
        }
        if zones.is_empty() {
            return Err(wrong(1, "there are no rows after the header".to_owned()));
        }
        let mut sorted = BTreeMap::new();
        for (zone, rows) in zones {
            sorted.insert(zone, in_order(rows).map_err(|(line, reason)| wrong(line, reason))?);
        }
        Ok(Self { source: Arc::from(name), kind: IntensityKind::Average, zones: sorted })
    }

    /// Says what the values are; average if never called.
    pub fn kind(mut self, kind: IntensityKind) -> Self {
        self.kind = kind;
        self
    }

    /// The rows that hold for a place, with the zone they are of.
    fn rows(&self, place: &Place) -> Option<(&Arc<str>, &[Row])> {
        let codes = [&place.zone, &place.cloud_region, &place.subdivision, &place.country];
        codes
            .into_iter()
            .flatten()
            .find_map(|code| self.zones.get_key_value(code))
            .or_else(|| self.zones.get_key_value(""))
            .map(|(zone, rows)| (zone, rows.as_slice()))
    }
}

impl IntensitySource for Series {
    fn name(&self) -> &'static str {
        "series"
    }

    fn latest(&self, place: &Place, at: SystemTime) -> Option<Intensity> {
        let (zone, rows) = self.rows(place)?;
        let row = rows[..rows.partition_point(|row| row.start <= at)].last()?;
        if row.end.is_some_and(|end| end <= at) {
            return None;
        }
        let mut answer = Intensity::new(row.value, Arc::clone(&self.source), Provenance::User);
        answer.kind = self.kind;
        answer.zone = (!zone.is_empty()).then(|| Arc::clone(zone));
        answer.valid_from = Some(row.start);
        answer.valid_until = row.end;
        Some(answer)
    }
}

/// Where the columns stand.
struct Columns {
    start: usize,
    end: Option<usize>,
    zone: Option<usize>,
    value: usize,
    /// Grams per kilowatt-hour of one unit of the value column.
    factor: f64,
}

impl Columns {
    fn find(header: &[String]) -> Result<Self, String> {
        let names: Vec<String> = header.iter().map(|name| name.to_lowercase()).collect();
        let position = |wanted: &[&str]| names.iter().position(|name| wanted.contains(&name.as_str()));
        let start = position(&["start", "time", "datetime", "timestamp"])
            .ok_or("the header names no time column: call it `start`")?;
        let values: Vec<_> =
            names.iter().enumerate().filter_map(|(at, name)| Some((at, factor(name)?))).collect();
        match values[..] {
            [(value, factor)] => {
                Ok(Self { start, end: position(&["end"]), zone: position(&["zone"]), value, factor })
            }
            [] => Err("the header names no intensity: call the column by its unit, such as `gco2e_per_kwh`"
                .to_owned()),
            _ => Err("the header names several intensities: keep one".to_owned()),
        }
    }

    fn row(&self, record: &[String]) -> Result<(Arc<str>, Row), String> {
        let time = |at: usize| {
            let text = record.get(at).map_or("", String::as_str);
            time::parse(text).ok_or_else(|| {
                format!(
                    "{text:?} is no time: write it as 2026-01-01T12:00:00Z or with an offset such as +01:00"
                )
            })
        };
        let start = time(self.start)?;
        let end = match self.end {
            Some(at) if !record.get(at).map_or("", String::as_str).is_empty() => Some(time(at)?),
            _ => None,
        };
        if end.is_some_and(|end| end <= start) {
            return Err("it ends before it starts".to_owned());
        }
        let text = record.get(self.value).map_or("", String::as_str);
        let value = text
            .parse::<f64>()
            .ok()
            .filter(|value| *value >= 0.0)
            .and_then(|value| GramsPerKwh::new(value * self.factor))
            .ok_or_else(|| {
                format!("{text:?} is no intensity: write a number that is not negative, with a decimal point")
            })?;
        let zone = self.zone.and_then(|at| record.get(at)).map_or("", String::as_str);
        Ok((Arc::from(zone), Row { start, end, value }))
    }
}

/// The fields of a line, without the spaces and quotes around them (RFC 4180, but for line ends inside quotes).
fn fields(line: &str) -> Vec<String> {
    let mut fields = vec![String::new()];
    let mut quoted = false;
    let mut letters = line.chars().peekable();
    while let Some(letter) = letters.next() {
        let field = fields.last_mut();
        match (letter, quoted, field) {
            ('"', true, Some(field)) if letters.peek() == Some(&'"') => {
                letters.next();
                field.push('"');
            }
            ('"', ..) => quoted = !quoted,
            (',', false, _) => fields.push(String::new()),
            (other, _, Some(field)) => field.push(other),
            (_, _, None) => {}
        }
    }
    for field in &mut fields {
        *field = field.trim().to_owned();
    }
    fields
}

/// Grams per kilowatt-hour of one unit that a column name tells.
fn factor(name: &str) -> Option<f64> {
    match name {
        "gco2e_per_kwh" | "gco2_per_kwh" | "g_per_kwh" | "kg_per_mwh" | "kgco2e_per_mwh" => Some(1.0),
        "kg_per_kwh" | "kgco2e_per_kwh" => Some(1_000.0),
        "lb_per_mwh" | "lbs_per_mwh" | "lbs_co2_per_mwh" => Some(GRAMS_PER_KWH_OF_POUNDS_PER_MWH),
        _ => None,
    }
}

/// Puts one zone's rows in order, closes open ends and finds overlaps.
fn in_order(mut rows: Vec<(Row, u64)>) -> Result<Vec<Row>, (u64, String)> {
    rows.sort_by_key(|(row, line)| (row.start, *line));
    let mut done: Vec<Row> = Vec::with_capacity(rows.len());
    let mut last_length: Option<Duration> = None;
    for (at, (row, line)) in rows.iter().enumerate() {
        let next = rows.get(at + 1);
        if let Some((next, next_line)) = next {
            if next.start == row.start {
                return Err((*next_line.max(line), "a row of this zone has the same start".to_owned()));
            }
            if row.end.is_some_and(|end| end > next.start) {
                return Err((*next_line, format!("it starts before the row of line {line} ends")));
            }
        }
        let end = row
            .end
            .or_else(|| next.map(|(next, _)| next.start))
            .or_else(|| last_length.and_then(|length| row.start.checked_add(length)));
        last_length = end.and_then(|end| end.duration_since(row.start).ok());
        done.push(Row { end, ..*row });
    }
    Ok(done)
}
