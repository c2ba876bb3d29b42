//! The sink itself.

use std::fmt;
use std::path::Path;
use std::time::SystemTime;

use reqwest::Method;
use wattspan_core::{Cell, DatasetSink, Row, RunId, SinkError, Table};
use wattspan_dataset::{Timestamp, columns};

use crate::bulk::{Notify, Queue};
use crate::client::{Body, Client, Request};
use crate::error::SINK;
use crate::mapping::{METADATA, index_field};
use crate::{Error, Options, Progress, document, index};

/// Writes runs into the indexes `PREFIX-results-TIME`, `PREFIX-traces-TIME`, `PREFIX-metrics-TIME` and
/// `PREFIX-leaderboard`.
///
/// Each row is a document with an id of its own, so that a run which is written again, from its beginning or after a
/// failure, changes nothing that is there. Rows are gathered into bulk requests; what the server has no room for is sent
/// again; what it will never take is kept in a file, and [`finish`](DatasetSink::finish) tells so with
/// [`SinkError::Refused`] when all the rest is stored.
///
/// TIME is the run's own: the one given with [`begun`](Self::begun) or [`of_folder`](Self::of_folder), else that of the
/// first export. A later export of the same run finds its indexes by what they say of themselves.
///
/// **Runtime** Tokio with I/O and time.
pub struct OpenSearchSink {
    options: Options,
    client: Client,
    notify: Option<Notify>,
    begun: Option<SystemTime>,
    run: Option<Run>,
}

/// A run that is being written or was written last.
struct Run {
    id: RunId,
    indexes: Indexes,
    queue: Queue,
    has_row: bool,
    is_finished: bool,
}

/// Where a run's documents are.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Indexes {
    /// One document per case.
    pub results: String,
    /// One document per trace, its spans nested.
    pub traces: String,
    /// One document per device and moment.
    pub metrics: String,
    /// One document per run, of all runs.
    pub leaderboard: String,
}

impl OpenSearchSink {
    /// Checks the options. Nothing is sent.
    ///
    /// # Errors
    /// When an option cannot be used, or would show credentials.
    pub fn new(options: Options) -> Result<Self, Error> {
        let client = Client::new(&options)?;
        Ok(Self { options, client, notify: None, begun: None, run: None })
    }

    /// When the run began, for the names of its indexes.
    pub fn begun(mut self, begun: SystemTime) -> Self {
        self.begun = Some(begun);
        self
    }

    /// Takes when the run began from the name of its folder, `YYYYMMDD_HHMMSS_RUN`, where it has one, and keeps refused
    /// documents in that folder.
    pub fn of_folder(mut self, folder: &Path) -> Self {
        let name = folder.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        self.begun = time_of(name).or(self.begun);
        folder.clone_into(&mut self.options.refused);
        self
    }

    /// Is called after each bulk request with what has become of the documents so far. It runs inside the sink's calls and
    /// should return soon.
    pub fn on_progress(mut self, show: impl FnMut(&Progress) + Send + 'static) -> Self {
        self.notify = Some(Box::new(show));
        self
    }

    /// How far the run is that is being written or was written last.
    pub fn progress(&self) -> Progress {
        self.run.as_ref().map(|run| run.queue.progress).unwrap_or_default()
    }

    /// Where its documents are.
    pub fn indexes(&self) -> Option<&Indexes> {
        self.run.as_ref().map(|run| &run.indexes)
    }

    async fn open(&mut self, id: &RunId) -> Result<(), Error> {
        // What another run left is sent before it is forgotten.
        if let Some(run) = &mut self.run {
            run.queue.flush(&self.client, &mut self.notify).await?;
        }
        self.run = None;
        for warning in self.options.warnings() {
            tracing::warn!("{warning}");
        }
        let dialect = index::server(&self.client).await?.dialect;
        let prefix = &self.options.prefix;
        index::templates(&self.client, prefix, dialect).await?;
        let begun = self.begun.unwrap_or_else(SystemTime::now);
        let indexes = index::of_run(&self.client, prefix, dialect, id, begun).await?;
        let queue = Queue::new(&self.options, id);
        self.run = Some(Run { id: id.clone(), indexes, queue, has_row: false, is_finished: false });
        Ok(())
    }

    async fn add(&mut self, table: Table, rows: &[Row]) -> Result<(), Error> {
        let Some(run) = &mut self.run else { return Ok(()) };
        for row in rows {
            let id = document::id(&run.id, table, row);
            let index = run.indexes.of(table);
            let key = run.queue.key(index, &id);
            if run.queue.is_full(key) {
                run.queue.flush(&self.client, &mut self.notify).await?;
            }
            if table == Table::Leaderboard {
                run.has_row = true;
                let row = run.indexes.beside(row.clone());
                run.queue.push(key, |to| document::upsert(to, index, &id, &row));
            } else {
                run.queue.push(key, |to| document::put(to, table, index, &id, row));
            }
        }
        if run.queue.is_ripe() {
            run.queue.flush(&self.client, &mut self.notify).await?;
        }
        Ok(())
    }

    async fn close(&mut self, metadata: &Cell) -> Result<(), Error> {
        let Some(run) = &mut self.run else { return Ok(()) };
        run.queue.flush(&self.client, &mut self.notify).await?;
        let row = run.indexes.beside(about(&run.id, metadata, run.has_row));
        let (index, id) = (&run.indexes.leaderboard, run.id.as_str());
        let key = run.queue.key(index, id);
        run.queue.push(key, |to| document::upsert(to, index, id, &row));
        run.queue.flush(&self.client, &mut self.notify).await?;
        run.is_finished = true;
        run.queue.refused.sync().map_err(|error| Error::File {
            path: run.queue.refused.path().to_owned(),
            reason: error.to_string(),
        })?;
        // Stored is stored; this makes it visible to searches at once instead of within a second or, where nobody has
        // searched for a while, at the next search.
        let Indexes { results, traces, metrics, leaderboard } = &run.indexes;
        let path = format!("/{results},{traces},{metrics},{leaderboard}/_refresh");
        let request =
            Request { operation: "refresh its indexes", method: Method::POST, path: &path, body: Body::None };
        match self.client.call(&request).await {
            Ok(answer) if answer.is_success() => {}
            Ok(answer) => {
                tracing::debug!(
                    "rows will be visible later: {}",
                    self.client.refusal(request.operation, &answer)
                );
            }
            Err(error) => tracing::debug!("rows will be visible later: {error}"),
        }
        Ok(())
    }

    /// Nothing can be asked of the network without it, and the client would panic.
    fn check_runtime(operation: &'static str) -> Result<(), SinkError> {
        tokio::runtime::Handle::try_current().map(|_| ()).map_err(|_| SinkError::Fatal {
            sink: SINK,
            operation,
            reason: "there is no Tokio runtime".to_owned(),
            remedy: "call it inside one that has I/O and time".into(),
        })
    }

    fn check_run(&self, operation: &'static str) -> Result<(), SinkError> {
        self.run.as_ref().map(|_| ()).ok_or_else(|| SinkError::Fatal {
            sink: SINK,
            operation,
            reason: "no run is open".to_owned(),
            remedy: "call `create` first".into(),
        })
    }
}

#[async_trait::async_trait]
impl DatasetSink for OpenSearchSink {
    async fn create(&mut self, run: &RunId) -> Result<(), SinkError> {
        if self.run.as_ref().is_some_and(|open| open.id == *run && !open.is_finished) {
            return Ok(());
        }
        Self::check_runtime("create the run")?;
        self.open(run).await.map_err(|error| error.into_sink("create the run"))
    }

    async fn write(&mut self, table: Table, rows: &[Row]) -> Result<(), SinkError> {
        self.check_run("write rows")?;
        Self::check_runtime("write rows")?;
        self.add(table, rows).await.map_err(|error| error.into_sink("write rows"))
    }

    async fn finish(&mut self, metadata: &Cell) -> Result<String, SinkError> {
        self.check_run("finish the run")?;
        Self::check_runtime("finish the run")?;
        self.close(metadata).await.map_err(|error| error.into_sink("finish the run"))?;
        let place = self.run.as_ref().map(|run| {
            (run, format!("{}/{}/_doc/{}", self.client.endpoint, run.indexes.leaderboard, run.id))
        });
        match place {
            Some((run, _)) if run.queue.progress.refused > 0 => Err(SinkError::Refused {
                sink: SINK,
                rows: run.queue.progress.refused,
                reason: run.queue.refused.first.clone().unwrap_or_default(),
                kept_in: run.queue.refused.path().display().to_string(),
            }),
            Some((_, place)) => Ok(place),
            None => Ok(String::new()),
        }
    }
}

impl fmt::Debug for OpenSearchSink {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("OpenSearchSink")
            .field("endpoint", &self.client.endpoint)
            .field("indexes", &self.indexes())
            .finish_non_exhaustive()
    }
}

impl Indexes {
    pub(crate) fn new(prefix: &str, suffix: &str) -> Self {
        Self {
            results: format!("{prefix}-results-{suffix}"),
            traces: format!("{prefix}-traces-{suffix}"),
            metrics: format!("{prefix}-metrics-{suffix}"),
            leaderboard: format!("{prefix}-leaderboard"),
        }
    }

    /// A table's index.
    pub fn of(&self, table: Table) -> &str {
        match table {
            Table::Results => &self.results,
            Table::Traces => &self.traces,
            Table::Metrics => &self.metrics,
            Table::Leaderboard => &self.leaderboard,
        }
    }

    /// A leaderboard's row with where the run's other documents are.
    fn beside(&self, mut row: Row) -> Row {
        for table in [Table::Results, Table::Traces, Table::Metrics] {
            let name = index_field(table);
            row.0.retain(|(known, _)| known != name);
            row.0.push((name.into(), Cell::Text(self.of(table).to_owned().into())));
        }
        row
    }
}

/// The end of a run on the leaderboard: its metadata; and where nobody wrote a row, the columns that metadata has too, so
/// that the run can be found.
fn about(run: &RunId, metadata: &Cell, has_row: bool) -> Row {
    let mut row = vec![("run_id".into(), Cell::Text(run.to_string().into()))];
    if let Cell::Map(values) = metadata {
        if !has_row {
            let is_column = |name: &str| columns(Table::Leaderboard).iter().any(|column| column.name == name);
            row.extend(values.iter().filter(|(name, _)| name != "run_id" && is_column(name)).cloned());
        }
        row.push((METADATA.into(), metadata.clone()));
    }
    Row(row)
}

/// The time in `20261201_214638_my-run`, which is in UTC.
fn time_of(name: &str) -> Option<SystemTime> {
    let part = |range: std::ops::Range<usize>| name.get(range);
    if part(8..9)? != "_" {
        return None;
    }
    let (year, month, day) = (part(0..4)?, part(4..6)?, part(6..8)?);
    let (hour, minute, second) = (part(9..11)?, part(11..13)?, part(13..15)?);
    let text = format!("{year}-{month}-{day}T{hour}:{minute}:{second}Z");
    text.parse::<Timestamp>().ok().map(SystemTime::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_tells_when_its_run_began() {
        let time = |name: &str| time_of(name).map(|time| Timestamp::from(time).to_string());
        assert_eq!(time("20261201_214638_my-run").as_deref(), Some("2026-12-01T21:46:38.000000Z"));
        for other in ["my-run", "20261301_214638_r", "20261201-214638_r", "", "é"] {
            assert_eq!(time(other), None, "{other}");
        }
    }

    #[test]
    fn without_a_row_the_leaderboard_gets_what_metadata_knows() {
        let text = |text: &'static str| Cell::Text(text.into());
        let metadata = Cell::Map(vec![
            ("run_id".into(), text("r")),
            ("model".into(), text("m")),
            ("num_results".into(), Cell::Int(3)),
        ]);
        let names = |has_row| {
            about(&RunId::new("r").unwrap(), &metadata, has_row)
                .0
                .into_iter()
                .map(|(name, _)| name)
                .collect::<Vec<_>>()
        };
        assert_eq!(names(false), ["run_id", "model", "metadata"]);
        assert_eq!(names(true), ["run_id", "metadata"]);
    }
}
