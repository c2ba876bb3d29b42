//! Counts what never arrived, by reason. The SDK's own count is private, and knows only a full queue.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use opentelemetry::KeyValue;
use opentelemetry::metrics::Meter;
use wattspan_semconv::{attr, metric};

/// Why a span or a log record did not arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reason {
    /// As many as may wait were waiting.
    QueueFull,
    /// The receiver refused them, or was not there until time ran out.
    ExportFailed,
    /// The receiver took the batch and refused these.
    Rejected,
    /// They ended after the shutdown.
    AfterShutdown,
    /// They still waited when the time for the shutdown was over.
    Shutdown,
}

impl Reason {
    const ALL: [Self; 5] =
        [Self::QueueFull, Self::ExportFailed, Self::Rejected, Self::AfterShutdown, Self::Shutdown];

    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::QueueFull => "queue_full",
            Self::ExportFailed => "export_failed",
            Self::Rejected => "rejected",
            Self::AfterShutdown => "after_shutdown",
            Self::Shutdown => "shutdown",
        }
    }
}

/// The counts of all exporters of one telemetry.
#[derive(Debug, Default)]
pub(crate) struct Drops {
    counts: [AtomicU64; Reason::ALL.len()],
    said: [AtomicBool; Reason::ALL.len()],
}

impl Drops {
    /// Counts, and says so the first time.
    pub(crate) fn add(&self, reason: Reason, count: usize, detail: impl fmt::Display) {
        if count == 0 {
            return;
        }
        self.counts[reason as usize].fetch_add(count as u64, Relaxed);
        if !self.said[reason as usize].swap(true, Relaxed) {
            tracing::warn!(
                reason = reason.as_str(),
                "telemetry is dropped: {detail}; said once, more are counted in {}",
                metric::WATTSPAN_TELEMETRY_DROPPED
            );
        }
    }

    pub(crate) fn total(&self) -> u64 {
        self.counts.iter().map(|count| count.load(Relaxed)).sum()
    }

    /// Serves the counts as a metric. A reason without a drop has no series.
    pub(crate) fn observe(self: &Arc<Self>, meter: &Meter) {
        let drops = Arc::clone(self);
        meter
            .u64_observable_counter(metric::WATTSPAN_TELEMETRY_DROPPED)
            .with_unit("{item}")
            .with_callback(move |instrument| {
                for reason in Reason::ALL {
                    let count = drops.counts[reason as usize].load(Relaxed);
                    if count > 0 {
                        instrument
                            .observe(count, &[KeyValue::new(attr::WATTSPAN_DROP_REASON, reason.as_str())]);
                    }
                }
            })
            .build();
    }
}
