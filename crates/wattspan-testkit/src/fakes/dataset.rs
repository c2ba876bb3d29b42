//! A dataset in memory.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use wattspan_core::{Cell, DatasetSink, Row, RunId, SinkError, Table};

use super::lock;

/// Keeps a run's tables in memory. Clones share them.
///
/// Rows that are written again change nothing, as the trait wants it: a row is known by all of its cells.
#[derive(Clone, Debug, Default)]
pub struct MemoryDataset {
    runs: Arc<Mutex<BTreeMap<RunId, Run>>>,
    current: Option<RunId>,
}

#[derive(Clone, Debug, Default)]
struct Run {
    tables: BTreeMap<Table, Vec<Row>>,
    metadata: Option<Cell>,
}

impl MemoryDataset {
    /// Without runs.
    pub fn new() -> Self {
        Self::default()
    }

    /// A table's rows, in the order of their first writing.
    pub fn rows(&self, run: &RunId, table: Table) -> Vec<Row> {
        let runs = lock(&self.runs);
        runs.get(run).and_then(|run| run.tables.get(&table)).cloned().unwrap_or_default()
    }

    /// A run's metadata, once it is finished.
    pub fn metadata(&self, run: &RunId) -> Option<Cell> {
        lock(&self.runs).get(run)?.metadata.clone()
    }

    fn with<T>(
        &self,
        operation: &'static str,
        change: impl FnOnce(&RunId, &mut Run) -> T,
    ) -> Result<T, SinkError> {
        let mut runs = lock(&self.runs);
        let current = self.current.as_ref().and_then(|id| runs.get_mut(id).map(|run| (id, run)));
        let (id, run) = current.ok_or_else(|| SinkError::Fatal {
            sink: "memory",
            operation,
            reason: "no run has been created".to_owned(),
            remedy: "call `create` first".into(),
        })?;
        Ok(change(id, run))
    }
}

#[async_trait::async_trait]
impl DatasetSink for MemoryDataset {
    async fn create(&mut self, run: &RunId) -> Result<(), SinkError> {
        lock(&self.runs).entry(run.clone()).or_default();
        self.current = Some(run.clone());
        Ok(())
    }

    async fn write(&mut self, table: Table, rows: &[Row]) -> Result<(), SinkError> {
        self.with("write rows", |_, run| {
            let kept = run.tables.entry(table).or_default();
            for row in rows {
                if !kept.contains(row) {
                    kept.push(row.clone());
                }
            }
        })
    }

    async fn finish(&mut self, metadata: &Cell) -> Result<String, SinkError> {
        self.with("finish", |id, run| {
            run.metadata = Some(metadata.clone());
            format!("memory:{id}")
        })
    }
}
