//! Bounded waiting: batch processors of the SDK behind a count of our own.
//!
//! The SDK drops what does not fit and keeps the number to itself. Here no more than the limit is handed to it, until
//! the export is over; so what is turned away is known, and so is what a shutdown leaves behind.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

use opentelemetry::{Context, InstrumentationScope};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::logs::{self, BatchLogProcessor, LogBatch, LogExporter, LogProcessor, SdkLogRecord};
use opentelemetry_sdk::trace::{self, BatchSpanProcessor, Span, SpanData, SpanExporter, SpanProcessor};

use crate::drops::{Drops, Reason};

/// How much may wait and when it is sent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Batching {
    pub(crate) limit: usize,
    pub(crate) batch: usize,
    pub(crate) delay: Duration,
}

/// Items on the way, shared by the front where they come in and the back where their export ends.
#[derive(Debug)]
struct Waiting {
    count: AtomicUsize,
    limit: usize,
    closed: AtomicBool,
    drops: Arc<Drops>,
}

impl Waiting {
    fn new(limit: usize, drops: &Arc<Drops>) -> Arc<Self> {
        let drops = Arc::clone(drops);
        Arc::new(Self { count: AtomicUsize::new(0), limit, closed: AtomicBool::new(false), drops })
    }

    /// Whether one more may come in.
    fn admit(&self) -> bool {
        if self.closed.load(Relaxed) {
            self.drops.add(Reason::AfterShutdown, 1, "it ended after the telemetry was shut down");
            return false;
        }
        if self.count.fetch_add(1, Relaxed) >= self.limit {
            self.count.fetch_sub(1, Relaxed);
            let detail = format_args!("{} wait already, the receiver is too slow or away", self.limit);
            self.drops.add(Reason::QueueFull, 1, detail);
            return false;
        }
        true
    }

    fn done(&self, count: usize) {
        // What a shutdown has written off is not below zero when its export ends after all.
        let _ = self.count.fetch_update(Relaxed, Relaxed, |waiting| Some(waiting.saturating_sub(count)));
    }

    fn close(&self) {
        self.closed.store(true, Relaxed);
    }

    /// What is left now never arrives.
    fn write_off(&self) {
        let left = self.count.swap(0, Relaxed);
        self.drops.add(Reason::Shutdown, left, "the time for the shutdown is over");
    }
}

/// Tells the front when an export is over.
#[derive(Debug)]
struct Counting<E> {
    inner: E,
    waiting: Arc<Waiting>,
}

#[deny(clippy::missing_trait_methods)]
impl<E: SpanExporter> SpanExporter for Counting<E> {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        let count = batch.len();
        let result = self.inner.export(batch).await;
        self.waiting.done(count);
        result
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        self.inner.shutdown_with_timeout(timeout)
    }

    fn shutdown(&self) -> OTelSdkResult {
        self.inner.shutdown()
    }

    fn force_flush(&self) -> OTelSdkResult {
        self.inner.force_flush()
    }

    fn set_resource(&mut self, resource: &Resource) {
        self.inner.set_resource(resource);
    }
}

#[deny(clippy::missing_trait_methods)]
impl<E: LogExporter> LogExporter for Counting<E> {
    async fn export(&self, batch: LogBatch<'_>) -> OTelSdkResult {
        let count = batch.iter().count();
        let result = self.inner.export(batch).await;
        self.waiting.done(count);
        result
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        self.inner.shutdown_with_timeout(timeout)
    }

    fn shutdown(&self) -> OTelSdkResult {
        self.inner.shutdown()
    }

    fn event_enabled(&self, level: opentelemetry::logs::Severity, target: &str, name: Option<&str>) -> bool {
        self.inner.event_enabled(level, target, name)
    }

    fn set_resource(&mut self, resource: &Resource) {
        self.inner.set_resource(resource);
    }
}

/// A batch processor of which the number waiting is bounded and known.
#[derive(Debug)]
pub(crate) struct Bounded<P> {
    inner: P,
    waiting: Arc<Waiting>,
}

impl Bounded<BatchSpanProcessor> {
    pub(crate) fn spans(
        exporter: impl SpanExporter + 'static,
        batching: Batching,
        drops: &Arc<Drops>,
    ) -> Self {
        let waiting = Waiting::new(batching.limit, drops);
        let config = trace::BatchConfigBuilder::default()
            .with_max_queue_size(batching.limit)
            .with_max_export_batch_size(batching.batch)
            .with_scheduled_delay(batching.delay)
            .build();
        let exporter = Counting { inner: exporter, waiting: Arc::clone(&waiting) };
        Self { inner: BatchSpanProcessor::builder(exporter).with_batch_config(config).build(), waiting }
    }
}

impl Bounded<BatchLogProcessor> {
    pub(crate) fn logs(exporter: impl LogExporter + 'static, batching: Batching, drops: &Arc<Drops>) -> Self {
        let waiting = Waiting::new(batching.limit, drops);
        let config = logs::BatchConfigBuilder::default()
            .with_max_queue_size(batching.limit)
            .with_max_export_batch_size(batching.batch)
            .with_scheduled_delay(batching.delay)
            .build();
        let exporter = Counting { inner: exporter, waiting: Arc::clone(&waiting) };
        Self { inner: BatchLogProcessor::builder(exporter).with_batch_config(config).build(), waiting }
    }
}

#[deny(clippy::missing_trait_methods)]
impl SpanProcessor for Bounded<BatchSpanProcessor> {
    fn on_start(&self, span: &mut Span, context: &Context) {
        self.inner.on_start(span, context);
    }

    fn on_end(&self, span: SpanData) {
        if span.span_context.is_sampled() && self.waiting.admit() {
            self.inner.on_end(span);
        }
    }

    fn force_flush(&self) -> OTelSdkResult {
        self.inner.force_flush()
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        self.waiting.close();
        let result = self.inner.shutdown_with_timeout(timeout);
        self.waiting.write_off();
        result
    }

    fn shutdown(&self) -> OTelSdkResult {
        self.shutdown_with_timeout(Duration::from_secs(5))
    }

    fn set_resource(&mut self, resource: &Resource) {
        self.inner.set_resource(resource);
    }
}

#[deny(clippy::missing_trait_methods)]
impl LogProcessor for Bounded<BatchLogProcessor> {
    fn emit(&self, record: &mut SdkLogRecord, scope: &InstrumentationScope) {
        if self.waiting.admit() {
            self.inner.emit(record, scope);
        }
    }

    fn force_flush(&self) -> OTelSdkResult {
        self.inner.force_flush()
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        self.waiting.close();
        let result = self.inner.shutdown_with_timeout(timeout);
        self.waiting.write_off();
        result
    }

    fn shutdown(&self) -> OTelSdkResult {
        self.shutdown_with_timeout(Duration::from_secs(5))
    }

    fn event_enabled(&self, level: opentelemetry::logs::Severity, target: &str, name: Option<&str>) -> bool {
        self.inner.event_enabled(level, target, name)
    }

    fn set_resource(&mut self, resource: &Resource) {
        self.inner.set_resource(resource);
    }
}
