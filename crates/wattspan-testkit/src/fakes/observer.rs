//! An observer that writes down what instrumentation tells it.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use wattspan_core::{
    Begin, Facts, Finish, InferenceObserver, LatePhases, MonoTime, Probe, Settle, SettleReason, Settlement,
};

use super::lock;

/// How an inference that was seen came to its end.
#[derive(Clone, Debug)]
pub enum Closing {
    /// It has not ended.
    Open,
    /// Its probe was dropped without an end.
    GivenUp,
    /// It ended.
    Finished {
        /// When.
        end: MonoTime,
        /// What came back.
        facts: Box<Facts>,
        /// Phases that a server reported.
        phases: LatePhases,
    },
}

/// An inference as it was seen.
#[derive(Clone, Debug)]
pub struct SeenInference {
    /// What was known at its begin.
    pub begin: Begin,
    /// Prompt tokens marked.
    pub prompted: u64,
    /// Decode steps marked.
    pub decoded: u64,
    /// How it ended.
    pub closing: Closing,
}

/// Keeps what it is told of inferences. Clones share it.
///
/// It settles each with the same settlement: at once on the caller's thread, or when a test says so.
#[derive(Clone)]
pub struct RecordingObserver {
    shared: Arc<Shared>,
}

struct Shared {
    settlement: Settlement,
    held: bool,
    seen: Mutex<Vec<SeenInference>>,
    waiting: Mutex<Vec<Box<dyn Settle>>>,
}

impl RecordingObserver {
    /// Settles each inference at its end.
    pub fn at_once(settlement: Settlement) -> Self {
        Self::with(settlement, false)
    }

    /// Settles on [`RecordingObserver::settle`], as a monitor does after the sensors have answered.
    pub fn held(settlement: Settlement) -> Self {
        Self::with(settlement, true)
    }

    fn with(settlement: Settlement, held: bool) -> Self {
        let shared = Shared { settlement, held, seen: Mutex::default(), waiting: Mutex::default() };
        Self { shared: Arc::new(shared) }
    }

    /// All inferences so far, in the order of their begins.
    pub fn seen(&self) -> Vec<SeenInference> {
        lock(&self.shared.seen).clone()
    }

    /// Settles all that wait, in the order of their ends; answers how many.
    pub fn settle(&self) -> usize {
        let waiting = std::mem::take(&mut *lock(&self.shared.waiting));
        let count = waiting.len();
        for settle in waiting {
            settle.settle(&self.shared.settlement);
        }
        count
    }
}

impl Default for RecordingObserver {
    /// Settles at once, with nothing known.
    fn default() -> Self {
        Self::at_once(Settlement::unknown(SettleReason::NotObserved))
    }
}

impl fmt::Debug for RecordingObserver {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("RecordingObserver").field("seen", &lock(&self.shared.seen)).finish_non_exhaustive()
    }
}

impl InferenceObserver for RecordingObserver {
    fn begin(&self, begin: Begin) -> Box<dyn Probe> {
        let mut seen = lock(&self.shared.seen);
        let index = seen.len();
        seen.push(SeenInference { begin, prompted: 0, decoded: 0, closing: Closing::Open });
        let shared = Arc::clone(&self.shared);
        Box::new(RecordingProbe { shared, index, prompted: AtomicU64::new(0), decoded: AtomicU64::new(0) })
    }
}

struct RecordingProbe {
    shared: Arc<Shared>,
    index: usize,
    prompted: AtomicU64,
    decoded: AtomicU64,
}

impl RecordingProbe {
    fn write(&self, change: impl FnOnce(&mut SeenInference)) {
        let mut seen = lock(&self.shared.seen);
        let inference = &mut seen[self.index];
        inference.prompted = self.prompted.load(Ordering::Acquire);
        inference.decoded = self.decoded.load(Ordering::Acquire);
        change(inference);
    }
}

impl Probe for RecordingProbe {
    fn decoded(&self, steps: u64) {
        self.decoded.fetch_add(steps, Ordering::AcqRel);
    }

    fn prompted(&self, tokens: u64) {
        self.prompted.fetch_add(tokens, Ordering::AcqRel);
    }

    fn finish(self: Box<Self>, finish: Finish) {
        let Finish { end, facts, phases, settle, .. } = finish;
        self.write(|inference| {
            inference.closing = Closing::Finished { end, facts: Box::new(facts), phases };
        });
        if self.shared.held {
            lock(&self.shared.waiting).push(settle);
        } else {
            settle.settle(&self.shared.settlement);
        }
    }
}

impl Drop for RecordingProbe {
    fn drop(&mut self) {
        self.write(|inference| {
            if matches!(inference.closing, Closing::Open) {
                inference.closing = Closing::GivenUp;
            }
        });
    }
}
