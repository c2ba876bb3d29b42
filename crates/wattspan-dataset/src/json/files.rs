//! From a journal to the five files.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use wattspan_core::{Cell, RunId, SinkError, Table};

use super::dataset::{Recovered, run_of, stamp_of};
use super::fault::{at, fatal};
use super::journal::Journal;
use super::peer::{Series, Sums};
use super::read::{JsonRun, leaderboard_from, metric_row, result_row, trace_row};
#[cfg(feature = "parquet")]
use crate::ParquetTable;
use crate::attributes::AnyCell;
use crate::{LeaderboardRow, RunAggregate, TableRow, columns};

pub(crate) const JOURNAL: &str = "journal.ndjson";
pub(crate) const RESULTS: &str = "results.json";
pub(crate) const TRACES: &str = "traces.json";
pub(crate) const METRICS: &str = "metrics.json";
pub(crate) const LEADERBOARD: &str = "leaderboard_row.json";
pub(crate) const METADATA: &str = "metadata.json";
/// In the metadata: the time in the folder's name, which outlives a renaming.
pub(crate) const STAMP: &str = "run_stamp";

/// What is written besides the five files.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Options {
    pub(crate) peer_series: bool,
    #[cfg(feature = "parquet")]
    pub(crate) parquet: bool,
}

/// Makes all files whole, gives them their names, and removes the journal.
pub(crate) fn write(
    journal: &Journal,
    folder: &Path,
    options: Options,
    status: &str,
) -> Result<(), SinkError> {
    let mut sums = Sums::default();
    let results = array(folder, RESULTS, journal, Table::Results, |row| sums.add(row))?;
    let traces = array(folder, TRACES, journal, Table::Traces, |_| {})?;
    let metrics = metrics(folder, journal, options.peer_series, &sums)?;
    let (leaderboard, row) = leaderboard(folder, journal, status)?;
    let metadata = metadata(folder, journal)?;
    for whole in parquet(folder, journal, options, &row)? {
        whole.rename()?;
    }
    // The metadata comes last: where it is new, everything is.
    for whole in [results, traces, metrics, leaderboard, metadata] {
        whole.rename()?;
    }
    sync_folder(folder)?;
    // The folder may be new as well.
    sync_folder(folder.parent().unwrap_or(Path::new("")))?;
    let path = &journal.path;
    fs::remove_file(path).map_err(|error| at("remove its journal", path, &error))?;
    sync_folder(folder)
}

/// What a folder without a journal holds: a whole run, or none.
pub(crate) fn whole(folder: &Path) -> Result<Recovered, SinkError> {
    let name = folder.file_name().and_then(|name| name.to_str()).and_then(run_of);
    let metadata = JsonRun::open(folder).metadata();
    let (Ok(metadata), Some(Ok(run))) = (metadata, name.map(RunId::new)) else {
        let reason = format!("{} holds neither a journal nor a whole run", folder.display());
        return Err(fatal("recover a run", reason, "name the folder of one run"));
    };
    let count = |name: &str| metadata.int(&[name]).unwrap_or(0);
    Ok(Recovered {
        folder: folder.to_owned(),
        run,
        results: count("num_results"),
        traces: count("num_traces"),
        metrics: count("num_metrics"),
    })
}

fn array(
    folder: &Path,
    name: &'static str,
    journal: &Journal,
    table: Table,
    mut show: impl FnMut(&[u8]),
) -> Result<Whole, SinkError> {
    let mut file = Part::create(folder, name)?;
    file.write(b"[")?;
    let mut first = true;
    journal.each(table, |row| {
        show(row);
        file.item(row, &mut first)
    })?;
    file.write(b"\n]\n")?;
    file.whole()
}

/// `{"run_id", "rows", "resourceMetrics", "aggregates"}`: the rows, and then what a reader of SMOLTRACE's file looks for.
fn metrics(folder: &Path, journal: &Journal, peer_series: bool, sums: &Sums) -> Result<Whole, SinkError> {
    let mut file = Part::create(folder, METRICS)?;
    let run = json(&journal.run)?;
    file.write(b"{\"run_id\":")?;
    file.write(&run)?;
    file.write(b",\"rows\":[")?;
    let mut first = true;
    journal.each(Table::Metrics, |row| file.item(row, &mut first))?;
    file.write(b"\n],\"resourceMetrics\":[")?;
    if peer_series {
        // The series follow the rows. To read the rows again costs less than to keep the series in a file until then.
        let (mut series, mut collection) = (Series::new(&journal.run), Vec::new());
        let mut first = true;
        journal.each(Table::Metrics, |row| {
            if series.add(row, &mut collection) { file.item(&collection, &mut first) } else { Ok(()) }
        })?;
        if series.close(&mut collection) {
            file.item(&collection, &mut first)?;
        }
    }
    file.write(b"\n],\"aggregates\":")?;
    file.write(&sums.json())?;
    file.write(b"}\n")?;
    file.whole()
}

/// The latest leaderboard row. When nobody wrote one it is summed up from the other tables.
fn leaderboard(folder: &Path, journal: &Journal, status: &str) -> Result<(Whole, Vec<u8>), SinkError> {
    let mut latest = None;
    journal.each(Table::Leaderboard, |row| {
        latest = Some(row.to_vec());
        Ok(())
    })?;
    let row = match latest {
        Some(row) => row,
        None => json(&sum_up(journal, folder, status)?.into_row())?,
    };
    let mut file = Part::create(folder, LEADERBOARD)?;
    file.write(&row)?;
    file.write(b"\n")?;
    Ok((file.whole()?, row))
}

#[cfg(feature = "parquet")]
fn parquet(folder: &Path, journal: &Journal, options: Options, row: &[u8]) -> Result<Vec<Whole>, SinkError> {
    if !options.parquet {
        return Ok(Vec::new());
    }
    let write = |table: Table| {
        let extra = (table == Table::Leaderboard && journal.rows(table) == 0).then_some(row);
        let mut file = ParquetTable::create(table, folder.join(crate::parquet::name(table)))?;
        journal.each(table, |row| file.add(row))?;
        if let Some(row) = extra {
            file.add(row)?;
        }
        file.store().map(|(_, whole)| whole)
    };
    Table::ALL.into_iter().map(write).collect()
}

#[cfg(not(feature = "parquet"))]
#[expect(clippy::unnecessary_wraps, reason = "as with the feature")]
fn parquet(_: &Path, _: &Journal, _: Options, _: &[u8]) -> Result<Vec<Whole>, SinkError> {
    Ok(Vec::new())
}

/// Rows that are not of this crate's types are left out of the sums.
fn sum_up(journal: &Journal, folder: &Path, status: &str) -> Result<LeaderboardRow, SinkError> {
    let mut aggregate = RunAggregate::new();
    let mut row = LeaderboardRow::default();
    journal.each(Table::Results, |json| {
        if let Ok(result) = result_row(json) {
            leaderboard_from(&mut row, &result);
            aggregate.result(&result);
        }
        Ok(())
    })?;
    journal.each(Table::Traces, |json| {
        if let Ok(trace) = trace_row(json) {
            aggregate.trace(&trace);
        }
        Ok(())
    })?;
    journal.each(Table::Metrics, |json| {
        if let Ok(metric) = metric_row(json) {
            aggregate.metric(&metric);
        }
        Ok(())
    })?;
    aggregate.fill(&mut row);
    row.run_id = journal.run.to_string();
    row.timestamp = Some(SystemTime::now().into());
    row.run_status = Some(status.to_owned());
    let reference = |name: &str| Some(format!("local:{}", folder.join(name).display()));
    row.results_dataset = reference(RESULTS);
    row.traces_dataset = reference(TRACES);
    row.metrics_dataset = reference(METRICS);
    Ok(row)
}

/// The metadata with the numbers of rows that are in the files, and the columns of all tables: an empty table has its
/// schema too.
fn metadata(folder: &Path, journal: &Journal) -> Result<Whole, SinkError> {
    let given = journal.metadata()?.unwrap_or_else(|| b"{}".to_vec());
    let AnyCell(cell) = serde_json::from_slice(&given).map_err(|error| {
        fatal("write its metadata", error.to_string(), "hand over metadata that JSON can hold")
    })?;
    let mut cells = match cell {
        Cell::Map(cells) => cells,
        Cell::Null => Vec::new(),
        other => vec![("metadata".into(), other)],
    };
    let count = |table| Cell::Int(i64::try_from(journal.rows(table)).unwrap_or(i64::MAX));
    let mut set = |name: &'static str, value: Cell| match cells.iter_mut().find(|(known, _)| known == name) {
        Some((_, earlier)) => *earlier = value,
        None => cells.push((name.into(), value)),
    };
    set("run_id", Cell::Text(journal.run.to_string().into()));
    if let Some((stamp, _)) = folder.file_name().and_then(|name| stamp_of(name.to_str()?)) {
        set(STAMP, Cell::Text(stamp.to_owned().into()));
    }
    set("num_results", count(Table::Results));
    set("num_traces", count(Table::Traces));
    set("num_metrics", count(Table::Metrics));
    let table = |table: Table| {
        let described = columns(table).iter().map(crate::Column::describe).collect();
        (table.as_str().into(), Cell::Map(vec![("columns".into(), Cell::List(described))]))
    };
    set("tables", Cell::Map(Table::ALL.into_iter().map(table).collect()));
    let mut file = Part::create(folder, METADATA)?;
    file.write(&json(&Cell::Map(cells))?)?;
    file.write(b"\n")?;
    file.whole()
}

fn json(value: &impl serde::Serialize) -> Result<Vec<u8>, SinkError> {
    serde_json::to_vec(value)
        .map_err(|error| fatal("write its files", error.to_string(), "write rows that JSON can hold"))
}

/// A file in the making, under a name that no reader looks for. Dropped, it is removed.
pub(crate) struct Part {
    file: Option<BufWriter<File>>,
    path: PathBuf,
    name: PathBuf,
}

/// A file that is whole and stored, and has not got its name yet.
pub(crate) struct Whole {
    path: PathBuf,
    name: PathBuf,
    renamed: bool,
}

impl Part {
    pub(crate) fn create(folder: &Path, name: &str) -> Result<Self, SinkError> {
        let path = folder.join(hidden(name));
        let open = File::options().write(true).create(true).truncate(true).open(&path);
        let file = open.map_err(|error| at("make a file", &path, &error))?;
        Ok(Self { file: Some(BufWriter::with_capacity(BLOCK, file)), name: folder.join(name), path })
    }

    fn with(&mut self, change: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>) -> Result<(), SinkError> {
        let result = self.file.as_mut().map_or(Ok(()), change);
        result.map_err(|error| at("write a file", &self.path, &error))
    }

    pub(crate) fn write(&mut self, bytes: &[u8]) -> Result<(), SinkError> {
        self.with(|file| file.write_all(bytes))
    }

    /// Adds an item of a list on a line of its own.
    fn item(&mut self, bytes: &[u8], first: &mut bool) -> Result<(), SinkError> {
        let before: &[u8] = if std::mem::take(first) { b"\n" } else { b",\n" };
        self.with(|file| {
            file.write_all(before)?;
            file.write_all(bytes)
        })
    }

    pub(crate) fn whole(mut self) -> Result<Whole, SinkError> {
        self.with(|file| {
            file.flush()?;
            file.get_ref().sync_all()
        })?;
        self.file = None;
        let (path, name) = (std::mem::take(&mut self.path), std::mem::take(&mut self.name));
        Ok(Whole { path, name, renamed: false })
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        if let Some(file) = self.file.take() {
            // What is buffered would be written to a file that goes.
            drop(file.into_parts());
            // If it cannot be removed it stays under its hidden name, and the next attempt takes it over.
            let _ = fs::remove_file(&self.path);
        }
    }
}

impl Whole {
    fn rename(mut self) -> Result<(), SinkError> {
        fs::rename(&self.path, &self.name).map_err(|error| at("name a file", &self.name, &error))?;
        self.renamed = true;
        Ok(())
    }

    /// The same, and the name is stored too.
    #[cfg(feature = "parquet")]
    pub(crate) fn rename_durably(self) -> Result<(), SinkError> {
        let folder = self.name.parent().unwrap_or(Path::new("")).to_owned();
        self.rename()?;
        sync_folder(&folder)
    }
}

/// A file under its hidden name, which somebody else writes, and what gives it its own.
#[cfg(feature = "parquet")]
pub(crate) fn beside(path: &Path) -> Result<(PathBuf, Whole), SinkError> {
    let (folder, name) = split(path)?;
    let hidden = folder.join(hidden(name));
    Ok((hidden.clone(), Whole { path: hidden, name: path.to_owned(), renamed: false }))
}

/// The folder and the name of a file.
#[cfg(feature = "parquet")]
pub(crate) fn split(path: &Path) -> Result<(&Path, &str), SinkError> {
    let name = path.file_name().and_then(|name| name.to_str());
    let name = name.ok_or_else(|| {
        fatal("make a file", format!("{} names no file", path.display()), "name a file, in UTF-8")
    })?;
    Ok((path.parent().unwrap_or(Path::new("")), name))
}

fn hidden(name: &str) -> String {
    format!(".{name}.part")
}

impl Drop for Whole {
    fn drop(&mut self) {
        if !self.renamed {
            // See `Part`.
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Makes names durable. Where folders cannot be synced (Windows), renaming is as durable as the system makes it.
fn sync_folder(folder: &Path) -> Result<(), SinkError> {
    if cfg!(unix) {
        let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
        let synced = File::open(folder).and_then(|file| file.sync_all());
        synced.map_err(|error| at("store its folder", folder, &error))?;
    }
    Ok(())
}

const BLOCK: usize = 256 * 1024;
