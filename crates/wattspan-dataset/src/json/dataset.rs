//! The sink: a journal while the run goes on, five files at its end.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use wattspan_core::{Cell, DatasetSink, Row, RunId, SinkError, Table};

use super::fault::{at, fatal};
use super::files::{self, JOURNAL, Options};
use super::journal::Journal;
use super::read::{metric_row, result_row, trace_row};
use crate::{MetricRow, ResultRow, Timestamp, TraceRow};

/// Writes a run into a folder `YYYYMMDD_HHMMSS_RUN`: `results.json`, `traces.json`, `metrics.json`,
/// `leaderboard_row.json` and `metadata.json`, which readers of SMOLTRACE's files can read too (`docs/datasets.md` says
/// what differs and why).
///
/// Rows go to `journal.ndjson` at once. [`finish`](DatasetSink::finish) makes each file whole under another name, stores
/// it, and only then gives it its name: a crash at any moment leaves each file old or new, and the journal until all are
/// new. [`JsonDataset::recover`] takes up where a crash left off.
///
/// The same run id means the same folder. A run whose journal is there goes on (its results are in
/// [`JsonDataset::results`]); one that is finished is written anew, and its files stand until the new ones are whole. Rows
/// replace earlier ones of the same case and attempt, the same trace, or the same run; a metric row that is written
/// again within 65 536 rows is kept once.
///
/// Writing blocks the calling thread. A power failure may lose rows of the last half minute; a crash of the program loses
/// none.
pub struct JsonDataset {
    base: PathBuf,
    begun: Option<SystemTime>,
    options: Options,
    state: State,
}

enum State {
    Idle,
    Open(Box<Journal>),
    Finished(PathBuf),
}

/// What [`JsonDataset::recover`] found.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Recovered {
    /// The run's folder.
    pub folder: PathBuf,
    /// The run.
    pub run: RunId,
    /// Results.
    pub results: u64,
    /// Traces.
    pub traces: u64,
    /// Metric rows.
    pub metrics: u64,
}

impl JsonDataset {
    /// Writes runs below a folder, which is made when the first run is.
    pub fn new(base: impl Into<PathBuf>) -> Self {
        Self { base: base.into(), begun: None, options: DEFAULT, state: State::Idle }
    }

    /// The time in the name of a new folder, instead of when it is made.
    pub fn begun(mut self, begun: SystemTime) -> Self {
        self.begun = Some(begun);
        self
    }

    /// Whether `metrics.json` also holds the series in the nested form that SMOLTRACE writes (`resourceMetrics`), which
    /// triples its size. On unless turned off; then that list is empty.
    pub fn peer_series(mut self, on: bool) -> Self {
        self.options.peer_series = on;
        self
    }

    /// Whether the four tables are also written as Parquet: `results.parquet`, `traces.parquet`, `metrics.parquet` and
    /// `leaderboard.parquet`, with the same columns; attributes are JSON text in them. Off unless turned on.
    #[cfg(feature = "parquet")]
    pub fn parquet(mut self, on: bool) -> Self {
        self.options.parquet = on;
        self
    }

    /// The folder of the run that is open or was finished last.
    pub fn folder(&self) -> Option<&Path> {
        match &self.state {
            State::Idle => None,
            State::Open(journal) => journal.path.parent(),
            State::Finished(folder) => Some(folder),
        }
    }

    /// The results of the open run so far, those from before a crash included. An evaluation that is resumed skips them.
    ///
    /// # Errors
    /// When no run is open or its journal cannot be read.
    pub fn results(&self) -> Result<Vec<ResultRow>, SinkError> {
        let mut rows = Vec::new();
        self.each(Table::Results, result_row, |row| rows.push(row))?;
        Ok(rows)
    }

    /// Shows the traces of the open run so far, those from before a crash included.
    ///
    /// # Errors
    /// When no run is open or its journal cannot be read.
    pub fn each_trace(&self, show: impl FnMut(TraceRow)) -> Result<(), SinkError> {
        self.each(Table::Traces, trace_row, show)
    }

    /// Shows the metric rows of the open run so far one by one, those from before a crash included.
    ///
    /// # Errors
    /// When no run is open or its journal cannot be read.
    pub fn each_metric(&self, show: impl FnMut(MetricRow)) -> Result<(), SinkError> {
        self.each(Table::Metrics, metric_row, show)
    }

    fn each<T>(
        &self,
        table: Table,
        parse: fn(&[u8]) -> serde_json::Result<T>,
        mut show: impl FnMut(T),
    ) -> Result<(), SinkError> {
        let State::Open(journal) = &self.state else { return Err(no_run("read rows")) };
        journal.each(table, |json| {
            show(parse(json).map_err(|error| {
                fatal("read rows", error.to_string(), "delete the run's folder and begin anew")
            })?);
            Ok(())
        })
    }

    /// Makes the files of a run that crashed, from its journal. Its leaderboard row is summed up from its rows, and its
    /// status is `recovered`, unless the crash came after they were handed over. The nested series are among them, and Parquet
    /// files are not: a finished folder can be given those later. A folder that is whole is left alone.
    ///
    /// # Errors
    /// When there is no run in the folder, or its files cannot be written.
    pub fn recover(folder: impl AsRef<Path>) -> Result<Recovered, SinkError> {
        let folder = folder.as_ref();
        let path = folder.join(JOURNAL);
        if !path.exists() {
            return files::whole(folder);
        }
        let mut journal = Journal::recover(&path)?;
        if !journal.has_metadata() {
            let text = |text: String| Cell::Text(text.into());
            journal.write_metadata(&Cell::Map(vec![
                ("run_id".into(), text(journal.run.to_string())),
                ("timestamp".into(), text(Timestamp::from(SystemTime::now()).to_string())),
                ("run_status".into(), text("recovered".to_owned())),
            ]))?;
        }
        let recovered = Recovered {
            folder: folder.to_owned(),
            run: journal.run.clone(),
            results: journal.rows(Table::Results),
            traces: journal.rows(Table::Traces),
            metrics: journal.rows(Table::Metrics),
        };
        files::write(&journal, folder, DEFAULT, "recovered")?;
        Ok(recovered)
    }

    /// The run's folder: the latest whose name ends with the run, or a new one.
    fn place(&self, run: &RunId) -> Result<PathBuf, SinkError> {
        fs::create_dir_all(&self.base).map_err(|error| at("make its folder", &self.base, &error))?;
        let entries = fs::read_dir(&self.base).map_err(|error| at("look for the run", &self.base, &error))?;
        let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        let known = names.filter(|name| run_of(name) == Some(run.as_str())).max();
        let folder = self.base.join(known.unwrap_or_else(|| {
            let begun = Timestamp::from(self.begun.unwrap_or_else(SystemTime::now));
            format!("{}_{run}", begun.compact())
        }));
        fs::create_dir_all(&folder).map_err(|error| at("make its folder", &folder, &error))?;
        Ok(folder)
    }

    #[cfg(test)]
    pub(crate) fn journal(&mut self) -> &mut Journal {
        match &mut self.state {
            State::Open(journal) => journal,
            _ => panic!("no run is open"),
        }
    }
}

#[async_trait::async_trait]
impl DatasetSink for JsonDataset {
    async fn create(&mut self, run: &RunId) -> Result<(), SinkError> {
        if matches!(&self.state, State::Open(journal) if journal.run == *run) {
            return Ok(());
        }
        // A run that was left open gives its lock back first.
        self.state = State::Idle;
        let folder = self.place(run)?;
        self.state = State::Open(Box::new(Journal::open(&folder.join(JOURNAL), run)?));
        Ok(())
    }

    async fn write(&mut self, table: Table, rows: &[Row]) -> Result<(), SinkError> {
        match &mut self.state {
            State::Open(journal) => journal.write(table, rows),
            State::Idle | State::Finished(_) => Err(no_run("write rows")),
        }
    }

    async fn finish(&mut self, metadata: &Cell) -> Result<String, SinkError> {
        let folder = match &mut self.state {
            State::Idle => return Err(no_run("finish a run")),
            State::Finished(folder) => folder.clone(),
            State::Open(journal) => {
                let folder = journal.path.parent().unwrap_or(&self.base).to_owned();
                journal.write_metadata(metadata)?;
                files::write(journal, &folder, self.options, "completed")?;
                folder
            }
        };
        let place = folder.display().to_string();
        self.state = State::Finished(folder);
        Ok(place)
    }
}

impl std::fmt::Debug for JsonDataset {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("JsonDataset")
            .field("base", &self.base)
            .field("folder", &self.folder())
            .finish_non_exhaustive()
    }
}

/// The run in a folder's name, behind `YYYYMMDD_HHMMSS_`.
pub(crate) fn run_of(name: &str) -> Option<&str> {
    stamp_of(name)?.1.strip_prefix('_')
}

/// `YYYYMMDD_HHMMSS` at the begin of a folder's name, and what follows.
pub(crate) fn stamp_of(name: &str) -> Option<(&str, &str)> {
    let (time, rest) = name.split_at_checked("YYYYMMDD_HHMMSS".len())?;
    let is_time = time.bytes().enumerate().all(|(index, byte)| match index {
        8 => byte == b'_',
        _ => byte.is_ascii_digit(),
    });
    is_time.then_some((time, rest))
}

const DEFAULT: Options = Options {
    peer_series: true,
    #[cfg(feature = "parquet")]
    parquet: false,
};

fn no_run(operation: &'static str) -> SinkError {
    fatal(operation, "no run is open", "call `create` first")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_tells_its_run() {
        assert_eq!(run_of("20261201_214638_eval_1"), Some("eval_1"));
        for other in ["20261201_214638", "20261201-214638_x", "x_20261201_214638_y", "é"] {
            assert_eq!(run_of(other), None, "{other}");
        }
    }
}
