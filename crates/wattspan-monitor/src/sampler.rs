//! One poll: drain what callers told, read all collectors, count the marks.

use std::collections::HashMap;
use std::sync::atomic::Ordering;
use std::sync::{Arc, mpsc};
use std::time::{Duration, SystemTime};

use wattspan_core::{
    Clock, CollectError, Collector, DeviceSample, InferenceId, Locality, MonoTime, SampleBuffer,
    SettleReason, Settlement,
};

use crate::queue::{Event, Slot};

/// Everything that one poll brought, on its way to settlement.
pub(crate) struct Batch {
    pub(crate) time: MonoTime,
    pub(crate) wall: SystemTime,
    pub(crate) events: Vec<Event>,
    pub(crate) samples: Vec<DeviceSample>,
    pub(crate) marks: Vec<Mark>,
    /// The last one: settle what is left.
    pub(crate) last: bool,
}

/// Work of one inference, as counted at a poll.
pub(crate) struct Mark {
    pub(crate) id: InferenceId,
    pub(crate) prompted: u64,
    pub(crate) decoded: u64,
}

/// Owns the collectors.
pub(crate) struct Sampler {
    clock: Arc<dyn Clock>,
    collectors: Vec<Watched>,
    receive: mpsc::Receiver<Event>,
    in_flight: HashMap<InferenceId, InFlight>,
}

struct InFlight {
    slot: Arc<Slot>,
    pid: Option<u32>,
}

struct Watched {
    collector: Box<dyn Collector>,
    failures: u32,
    retry_at: MonoTime,
    dead: bool,
}

/// Longest pause between two tries of a collector that fails.
const LONGEST_RETRY: Duration = Duration::from_secs(60);

impl Sampler {
    pub(crate) fn new(
        clock: Arc<dyn Clock>,
        collectors: Vec<Box<dyn Collector>>,
        receive: mpsc::Receiver<Event>,
    ) -> Self {
        let watched = |collector| Watched { collector, failures: 0, retry_at: MonoTime::ZERO, dead: false };
        let collectors = collectors.into_iter().map(watched).collect();
        Self { clock, collectors, receive, in_flight: HashMap::new() }
    }

    pub(crate) fn poll(&mut self, last: bool) -> Batch {
        let mut batch = Batch {
            time: self.clock.mono(),
            wall: self.clock.wall(),
            events: Vec::new(),
            samples: Vec::new(),
            marks: Vec::new(),
            last,
        };
        let mut processes_changed = false;
        while let Ok(event) = self.receive.try_recv() {
            match &event {
                Event::Begin(id, begin, slot) => {
                    let pid = match begin.locality {
                        Locality::LocalServer { pid } => pid,
                        _ => None,
                    };
                    processes_changed |= pid.is_some();
                    self.in_flight.insert(*id, InFlight { slot: Arc::clone(slot), pid });
                }
                Event::Finish(id, _) | Event::GiveUp(id, _) => {
                    // The last marks belong to the time before the end.
                    if let Some(ended) = self.in_flight.remove(id) {
                        batch.marks.push(mark(*id, &ended.slot));
                    }
                }
            }
            batch.events.push(event);
        }
        if processes_changed {
            self.watch_servers();
        }
        for watched in &mut self.collectors {
            watched.sample(&*self.clock, batch.time, &mut batch.samples);
        }
        batch.marks.extend(self.in_flight.iter().map(|(id, ongoing)| mark(*id, &ongoing.slot)));
        batch
    }

    fn watch_servers(&mut self) {
        let mut pids: Vec<u32> = self.in_flight.values().filter_map(|ongoing| ongoing.pid).collect();
        pids.sort_unstable();
        pids.dedup();
        for watched in &mut self.collectors {
            watched.collector.watch(&pids);
        }
    }
}

impl Drop for Sampler {
    /// What came in after the last poll still ends its span.
    fn drop(&mut self) {
        while let Ok(event) = self.receive.try_recv() {
            if let Event::Finish(_, finish) = event {
                finish.settle.settle(&Settlement::unknown(SettleReason::Shutdown));
            }
        }
    }
}

fn mark(id: InferenceId, slot: &Slot) -> Mark {
    Mark {
        id,
        prompted: slot.prompted.load(Ordering::Relaxed),
        decoded: slot.decoded.load(Ordering::Relaxed),
    }
}

impl Watched {
    fn sample(&mut self, clock: &dyn Clock, now: MonoTime, samples: &mut Vec<DeviceSample>) {
        if self.dead || now < self.retry_at {
            return;
        }
        match self.collector.sample(&mut SampleBuffer::new(clock, samples)) {
            Ok(()) => self.failures = 0,
            Err(error) => {
                if self.failures == 0 {
                    tracing::warn!(collector = self.collector.name(), %error, "a collector failed and is retried");
                }
                self.dead = matches!(error, CollectError::Dead { .. });
                self.failures = self.failures.saturating_add(1);
                let pause = Duration::from_millis(100) * 2_u32.saturating_pow(self.failures.min(12));
                self.retry_at = now + pause.min(LONGEST_RETRY);
            }
        }
    }
}
