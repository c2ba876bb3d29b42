//! A finished run into another sink.

use std::fmt;

use wattspan_core::{Cell, DatasetSink, Row, SinkError, Table};

use super::read::{JsonRun, ReadError};

/// Writes a finished run into a sink: its results, traces, metrics and leaderboard row in batches, then its metadata. No
/// more than one batch is in memory.
///
/// ```
/// use wattspan_core::{Cell, DatasetSink, RunId};
/// use wattspan_dataset::{JsonDataset, JsonRun, Replay};
///
/// # let folder = tempfile::tempdir()?;
/// # let (here, there) = (folder.path().join("a"), folder.path().join("b"));
/// # let block_on = futures_util::future::FutureExt::now_or_never;
/// # block_on(async {
/// # let mut sink = JsonDataset::new(here);
/// # sink.create(&RunId::new("demo-1")?).await?;
/// # let place = sink.finish(&Cell::Map(vec![])).await?;
/// let run = JsonRun::open(place);
/// let mut copy = JsonDataset::new(there);
/// let replayed = Replay::new(&run).bytes(4 << 20).write_into(&mut copy).await?;
/// assert_eq!(JsonRun::open(replayed.place).run_id()?.as_str(), "demo-1");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # }).expect("files are written without waiting")?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use = "nothing is written before `write_into`"]
pub struct Replay<'a> {
    run: &'a JsonRun,
    rows: usize,
    bytes: usize,
    progress: Option<Box<dyn FnMut(Table, u64) + Send + 'a>>,
}

/// What a replay wrote.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Replayed {
    /// Where the sink says that the run can be found.
    pub place: String,
    /// Results.
    pub results: u64,
    /// Traces.
    pub traces: u64,
    /// Metric rows.
    pub metrics: u64,
}

/// A run was not written into another place whole.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReplayError {
    /// The run's files cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The other place did not take them.
    #[error(transparent)]
    Sink(#[from] SinkError),
}

impl<'a> Replay<'a> {
    /// Of a run, in batches of up to 1 000 rows and 1 MiB.
    pub fn new(run: &'a JsonRun) -> Self {
        Self { run, rows: 1_000, bytes: 1 << 20, progress: None }
    }

    /// The most rows of a batch; at least one.
    pub fn rows(mut self, most: usize) -> Self {
        self.rows = most.max(1);
        self
    }

    /// The most bytes of a batch, as JSON. A row that is larger goes alone.
    pub fn bytes(mut self, most: usize) -> Self {
        self.bytes = most;
        self
    }

    /// Is called after each batch with the table and how many of its rows have been written.
    pub fn progress(mut self, show: impl FnMut(Table, u64) + Send + 'a) -> Self {
        self.progress = Some(Box::new(show));
        self
    }

    /// Writes everything. Files are read between the sink's calls, which blocks.
    ///
    /// A sink that refuses some rows and keeps the others ([`SinkError::Refused`]) is given the rest all the same; its first
    /// such error comes at the end. Another error ends the replay: since a sink stores a row once, the same call can be made
    /// again.
    ///
    /// # Errors
    /// When the run is not finished or its files cannot be read or do not belong together; when the sink fails.
    pub async fn write_into(mut self, sink: &mut dyn DatasetSink) -> Result<Replayed, ReplayError> {
        self.run.check_finished()?;
        let metadata = self.run.metadata_cell()?;
        sink.create(&self.run.run_id()?).await?;
        let mut refused = None;
        let mut replayed = Replayed { place: String::new(), results: 0, traces: 0, metrics: 0 };
        for table in Table::ALL {
            let count = self.table(table, sink, &mut refused).await?;
            match table {
                Table::Results => replayed.results = count,
                Table::Traces => replayed.traces = count,
                Table::Metrics => replayed.metrics = count,
                Table::Leaderboard => {}
            }
            self.run.check_count(table, count, &metadata)?;
        }
        replayed.place = sink.finish(&metadata).await?;
        match refused {
            Some(error) => Err(ReplayError::Sink(error)),
            None => Ok(replayed),
        }
    }

    async fn table(
        &mut self,
        table: Table,
        sink: &mut dyn DatasetSink,
        refused: &mut Option<SinkError>,
    ) -> Result<u64, ReplayError> {
        let mut rows = self.run.rows(table)?;
        let mut batch: Vec<Row> = Vec::new();
        let (mut size, mut count) = (0, 0);
        loop {
            let next = rows.next_sized()?;
            let length = next.as_ref().map_or(0, |(_, length)| *length);
            let is_full = batch.len() >= self.rows || size + length > self.bytes;
            if !batch.is_empty() && (is_full || next.is_none()) {
                match sink.write(table, &batch).await {
                    Err(error @ SinkError::Refused { .. }) => {
                        refused.get_or_insert(error);
                    }
                    other => other?,
                }
                count += batch.len() as u64;
                if let Some(show) = &mut self.progress {
                    show(table, count);
                }
                batch.clear();
                size = 0;
            }
            let Some((row, length)) = next else { return Ok(count) };
            batch.push(row);
            size += length;
        }
    }
}

impl fmt::Debug for Replay<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Replay")
            .field("run", &self.run)
            .field("rows", &self.rows)
            .field("bytes", &self.bytes)
            .finish_non_exhaustive()
    }
}

impl JsonRun {
    /// Files of two runs do not belong together: the metadata tells how many rows there are.
    fn check_count(&self, table: Table, count: u64, metadata: &Cell) -> Result<(), ReadError> {
        let Cell::Map(cells) = metadata else { return Ok(()) };
        let name = format!("num_{}", table.as_str());
        let told = cells.iter().find(|(known, _)| *known == name).map(|(_, value)| value);
        match told {
            Some(Cell::Int(told)) if u64::try_from(*told) != Ok(count) => Err(ReadError::Format {
                path: self.folder().to_owned(),
                reason: format!("metadata.json tells of {told} {}, the table has {count}", table.as_str()),
            }),
            _ => Ok(()),
        }
    }
}
