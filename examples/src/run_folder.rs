//! A run's tables on disk, and a page that shows them: what a program adds to keep what its inferences used.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use futures_util::FutureExt as _;
use wattspan::core::{
    DatasetSink as _, InferenceRecord, InvalidRunId, RecordSink, Row, RunId, SinkError, Table,
};
use wattspan::dataset::{
    DeviceInfo, JsonDataset, Metadata, MetricCollector, ResultRow, SpanCollector, TableRow, Timestamp,
};
use wattspan::report::{Format, Report};
use wattspan::{Wattspan, WattspanBuilder};

/// What went wrong, and its cause.
pub type Fault = Box<dyn std::error::Error + Send + Sync>;

/// Collects a run while it goes on. Hand it to the builder with [`RunFolder::listen`], and write it when all is settled.
pub struct RunFolder {
    run: RunId,
    begun: SystemTime,
    records: Arc<Records>,
    samples: Arc<MetricCollector>,
    spans: SpanCollector,
}

/// Keeps settled inferences.
#[derive(Default)]
struct Records(Mutex<Vec<InferenceRecord>>);

impl RecordSink for Records {
    fn record(&self, record: &InferenceRecord) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(record.clone());
    }
}

impl RunFolder {
    /// Collects a run of this name and the time of day.
    ///
    /// # Errors
    /// When the name has signs that a run's may not have.
    pub fn new(name: &str) -> Result<Self, InvalidRunId> {
        let begun = SystemTime::now();
        let run = RunId::new(format!("{name}-{}", Timestamp::from(begun).compact()))?;
        Ok(Self {
            begun,
            records: Arc::default(),
            samples: Arc::new(MetricCollector::new(&run, name)),
            spans: SpanCollector::new(&run),
            run,
        })
    }

    /// Has inferences, samples and spans come here too.
    pub fn listen(&self, builder: WattspanBuilder) -> WattspanBuilder {
        builder
            .record_sink(self.records.clone())
            .sample_sink(self.samples.clone())
            .span_exporter(self.spans.clone())
    }

    /// The inferences that are settled.
    pub fn records(&self) -> Vec<InferenceRecord> {
        self.records.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Writes the tables into a folder of their own below `base`, and answers which.
    ///
    /// # Errors
    /// When the files cannot be written.
    pub fn write(&self, base: &Path, wattspan: &Wattspan) -> Result<PathBuf, Fault> {
        let mut sink = JsonDataset::new(base).begun(self.begun);
        // The files are written without waiting for anything.
        let mut now = async || -> Result<String, SinkError> {
            sink.create(&self.run).await?;
            let results = self.records();
            let results: Vec<Row> =
                results.iter().map(|record| ResultRow::from_record(record, &self.run).into_row()).collect();
            sink.write(Table::Results, &results).await?;
            let traces: Vec<Row> = self.spans.drain().into_iter().map(TableRow::into_row).collect();
            sink.write(Table::Traces, &traces).await?;
            let metrics: Vec<Row> = self.samples.drain().into_iter().map(TableRow::into_row).collect();
            sink.write(Table::Metrics, &metrics).await?;
            sink.finish(&self.metadata(wattspan).into_cell()).await
        };
        let place = now().now_or_never().ok_or("the files were not written at once")??;
        Ok(place.into())
    }

    fn metadata(&self, wattspan: &Wattspan) -> Metadata {
        let mut metadata = Metadata::default();
        metadata.run_id = self.run.to_string();
        metadata.run_status = Some("completed".to_owned());
        metadata.started = Some(self.begun.into());
        metadata.timestamp = Some(SystemTime::now().into());
        let devices = wattspan.monitor().snapshot().map(|all| all.devices).unwrap_or_default();
        metadata.devices = devices.iter().map(|device| DeviceInfo::of(device.device())).collect();
        metadata
    }
}

/// Writes one page about runs, and answers where it is.
///
/// # Errors
/// When a folder cannot be read, or the page not be written.
pub fn page(runs: &[PathBuf], base: &Path) -> Result<PathBuf, Fault> {
    let report = Report::builder().title("What local inferences used").open(runs)?;
    let path = base.join("report.html");
    let mut page = Vec::new();
    report.write(Format::Html, &mut page)?;
    std::fs::write(&path, page).map_err(|error| format!("{}: {error}", path.display()))?;
    Ok(path)
}
