//! Who gets samples, intervals and settled inferences.

use std::sync::{Arc, PoisonError, RwLock, Weak};

use wattspan_core::{InferenceRecord, RecordSink, SampleSink, SampleTick};

use crate::guard::unwind;
use crate::performance::Recorder;

/// Who wants to know. Sinks come and go while the monitor runs.
#[derive(Default)]
pub(crate) struct Sinks {
    pub(crate) samples: RwLock<Vec<Arc<dyn SampleSink>>>,
    pub(crate) records: RwLock<Vec<Arc<dyn RecordSink>>>,
    pub(crate) recorders: RwLock<Vec<Weak<Recorder>>>,
}

impl Sinks {
    pub(crate) fn sampled(&self, tick: &SampleTick<'_>) {
        let sinks = self.samples.read().unwrap_or_else(PoisonError::into_inner).clone();
        for sink in sinks {
            unwind("a sample sink", || sink.sampled(tick));
        }
    }

    pub(crate) fn record(&self, record: &InferenceRecord) {
        let sinks = self.records.read().unwrap_or_else(PoisonError::into_inner).clone();
        for sink in sinks {
            unwind("a record sink", || sink.record(record));
        }
        for recorder in self.recorders() {
            recorder.record(record);
        }
    }

    /// Those that still record.
    pub(crate) fn recorders(&self) -> Vec<Arc<Recorder>> {
        let known = self.recorders.read().unwrap_or_else(PoisonError::into_inner);
        let live: Vec<Arc<Recorder>> = known.iter().filter_map(Weak::upgrade).collect();
        let gone = live.len() < known.len();
        drop(known);
        if gone {
            let mut known = self.recorders.write().unwrap_or_else(PoisonError::into_inner);
            known.retain(|recorder| recorder.strong_count() > 0);
        }
        live
    }
}
