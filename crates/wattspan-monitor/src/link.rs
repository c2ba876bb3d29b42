//! What a monitor shares with those who watch through it.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError};
use std::time::SystemTime;

use wattspan_core::Clock;
use wattspan_energy::Overhead;

use crate::board::Board;
use crate::estimate::EstimateInputs;
use crate::performance::{Embodiment, Recorder};
use crate::queue::{Attention, Queue};
use crate::sinks::Sinks;

/// What a monitor shares with those who watch through it.
#[derive(Clone)]
pub(crate) struct Link {
    pub(crate) queue: Arc<Queue>,
    pub(crate) board: Board,
    pub(crate) sinks: Arc<Sinks>,
    pub(crate) clock: Arc<dyn Clock>,
    /// Tells this monitor from all others, also of other processes.
    pub(crate) name: Arc<str>,
    /// The wall clock at monotonic zero, as of the start: a label that does not move with the wall clock.
    pub(crate) epoch_unix_nanos: u64,
    pub(crate) overhead: Overhead,
    pub(crate) estimate: EstimateInputs,
}

impl Link {
    /// Begins to record; what is recorded ends with the recorder.
    pub(crate) fn record(&self, embodied: Option<Embodiment>) -> Arc<Recorder> {
        let recorder = Arc::new(Recorder::new(self, embodied));
        let mut recorders = self.sinks.recorders.write().unwrap_or_else(PoisonError::into_inner);
        recorders.push(Arc::downgrade(&recorder));
        recorder
    }

    pub(crate) fn watch(&self) -> Attention {
        self.queue.watch()
    }
}

pub(crate) fn name(clock: &dyn Clock) -> Arc<str> {
    static STARTED: AtomicU64 = AtomicU64::new(0);
    let number = STARTED.fetch_add(1, Ordering::Relaxed);
    let since = clock.wall().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    format!("{}-{number}-{}", std::process::id(), since.as_micros()).into()
}

pub(crate) fn unix_nanos(clock: &dyn Clock) -> u64 {
    let since = clock.wall().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX).saturating_sub(clock.mono().nanos())
}
