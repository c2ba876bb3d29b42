//! The sink of a run that goes on: files here first, the Hub at the end.

use std::fmt;
use std::path::{Path, PathBuf};

use wattspan_core::{Cell, DatasetSink, Row, RunId, SinkError, Table};
use wattspan_dataset::JsonDataset;

use crate::{Hub, Progress};

/// Keeps a run as a folder of JSON while it goes on, and pushes it when it is finished.
///
/// Rows are on disk as soon as they are written; the Hub sees none of them before [`finish`](DatasetSink::finish), which
/// makes four commits. When pushing fails the folder is whole, and the error names it: `finish` again, or
/// [`Hub::push`] at any later time, goes on. The run's status, rows and names do not change by that.
pub struct HubSink {
    hub: Hub,
    json: JsonDataset,
    progress: Option<Box<dyn FnMut(Progress) + Send>>,
}

impl HubSink {
    /// Writes folders below `base`.
    pub fn new(hub: Hub, base: impl Into<PathBuf>) -> Self {
        Self { hub, json: JsonDataset::new(base), progress: None }
    }

    /// Changes how the folder is written.
    pub fn json(mut self, change: impl FnOnce(JsonDataset) -> JsonDataset) -> Self {
        self.json = change(self.json);
        self
    }

    /// Shows how far pushing is. Called on the network thread.
    pub fn progress(mut self, show: impl FnMut(Progress) + Send + 'static) -> Self {
        self.progress = Some(Box::new(show));
        self
    }

    /// The folder of the run that is open or was finished last.
    pub fn folder(&self) -> Option<&Path> {
        self.json.folder()
    }
}

#[async_trait::async_trait]
impl DatasetSink for HubSink {
    async fn create(&mut self, run: &RunId) -> Result<(), SinkError> {
        self.json.create(run).await
    }

    async fn write(&mut self, table: Table, rows: &[Row]) -> Result<(), SinkError> {
        self.json.write(table, rows).await
    }

    /// Answers with the address of the results.
    async fn finish(&mut self, metadata: &Cell) -> Result<String, SinkError> {
        let folder = PathBuf::from(self.json.finish(metadata).await?);
        let folder = self.json.folder().map_or(folder, Path::to_owned);
        let progress = self.progress.take().unwrap_or_else(|| Box::new(|_| {}));
        let (pushed, progress) = self.hub.push_later(folder, progress).await;
        self.progress = Some(progress);
        Ok(pushed?.results.url)
    }
}

impl fmt::Debug for HubSink {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("HubSink").field("hub", &self.hub).field("json", &self.json).finish_non_exhaustive()
    }
}
