//! What a run that goes on has done before.

use std::collections::HashSet;

use wattspan_core::{DatasetSink as _, RunId, Table};
use wattspan_dataset::{JsonDataset, JsonRun, ResultRow, RunAggregate};

use crate::error::EvalError;

/// The finished part of a run, from before a crash or an interruption.
///
/// ```
/// use wattspan_core::RunId;
/// use wattspan_dataset::JsonDataset;
/// use wattspan_eval::Earlier;
///
/// # let folder = tempfile::tempdir()?;
/// # let folder = folder.path();
/// # futures_util::FutureExt::now_or_never(async {
/// let mut sink = JsonDataset::new(folder);
/// let earlier = Earlier::open(&mut sink, &RunId::new("nightly-7")?).await?;
/// assert_eq!(earlier.len(), 0); // Nothing was there. `Evaluation::resume` takes it all the same.
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # }).expect("files are read without waiting")?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Earlier {
    pub(crate) results: Vec<ResultRow>,
    pub(crate) sums: RunAggregate,
    pub(crate) references: Option<[String; 3]>,
}

impl Earlier {
    /// Opens a run in a sink of JSON files and reads what it has: from its journal after a crash, from its files after an
    /// interruption. Hand the sink on to [`run_evaluation`](crate::run_evaluation), and this to
    /// [`Evaluation::resume`](crate::Evaluation::resume).
    ///
    /// A case whose result was written and whose trace was not, because the program ended between the two, is not finished.
    ///
    /// # Errors
    /// When the run's folder cannot be opened or read.
    pub async fn open(sink: &mut JsonDataset, run: &RunId) -> Result<Self, EvalError> {
        sink.create(run).await?;
        let Some(folder) = sink.folder().map(std::path::Path::to_owned) else { return Ok(Self::default()) };
        let key = |row: &ResultRow| (uid(row).to_owned(), row.attempt);
        let known: HashSet<_> = sink.results()?.iter().map(key).collect();
        let files = JsonRun::open(&folder);
        let is_whole = files.metadata().is_ok();
        if is_whole {
            let results = files.results().map_err(|source| EvalError::Earlier { source })?;
            // A journal beside whole files is that of a part that goes on: it has all their rows, unless the program ended
            // while they were copied.
            if results.iter().any(|row| !known.contains(&key(row))) {
                copy(sink, &files).await?;
            }
        }
        let mut earlier = Self::default();
        let mut traces = HashSet::new();
        sink.each_trace(|row| {
            earlier.sums.trace(&row);
            traces.insert(row.trace_id);
        })?;
        sink.each_metric(|row| earlier.sums.metric(&row))?;
        earlier.results = sink.results()?;
        earlier.results.retain(|row| row.trace_id.as_ref().is_none_or(|trace| traces.contains(trace)));
        for row in &earlier.results {
            earlier.sums.result(row);
        }
        let reference = |name: &str| format!("local:{}", folder.join(name).display());
        earlier.references = Some(["results.json", "traces.json", "metrics.json"].map(reference));
        Ok(earlier)
    }

    /// How many attempts are finished.
    pub fn len(&self) -> usize {
        self.results.len()
    }

    /// Whether none is.
    pub fn is_empty(&self) -> bool {
        self.results.is_empty()
    }

    /// The rows of the finished attempts.
    pub fn results(&self) -> &[ResultRow] {
        &self.results
    }
}

/// Writes the rows of whole files into the new journal. Results come last: they say what is finished.
async fn copy(sink: &mut JsonDataset, files: &JsonRun) -> Result<(), EvalError> {
    let unreadable = |source| EvalError::Earlier { source };
    for table in [Table::Metrics, Table::Traces, Table::Results] {
        let mut batch = Vec::new();
        for row in files.rows(table).map_err(unreadable)? {
            batch.push(row.map_err(unreadable)?);
            if batch.len() >= BATCH {
                sink.write(table, &batch).await?;
                batch.clear();
            }
        }
        sink.write(table, &batch).await?;
    }
    Ok(())
}

/// A result's case, as one kind of agent runs it.
pub(crate) fn uid(row: &ResultRow) -> &str {
    row.test_case_uid.as_deref().or(row.task_id.as_deref()).unwrap_or_default()
}

/// Traces can be large.
const BATCH: usize = 256;
