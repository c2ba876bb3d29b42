//! One poll: drain what callers told, read all collectors, count the marks.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::atomic::Ordering;
use std::sync::{Arc, mpsc};
use std::time::{Duration, SystemTime};

use wattspan_core::{
    Clock, CollectError, Collector, DeviceSample, InferenceId, Locality, MonoTime, Reading, SampleBuffer,
};

use crate::guard::unwind;
use crate::queue::{Event, Slot};
use crate::suspend::{Suspends, since_boot};

/// Everything that one poll brought, on its way to settlement.
pub(crate) struct Batch {
    pub(crate) time: MonoTime,
    pub(crate) wall: SystemTime,
    pub(crate) events: Vec<Event>,
    pub(crate) samples: Vec<DeviceSample>,
    pub(crate) marks: Vec<Mark>,
    /// The machine slept since the one before.
    pub(crate) slept: bool,
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
    suspends: Suspends,
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
    /// Why it gives no samples, while it does not.
    reason: Cow<'static, str>,
}

/// Longest pause between two tries of a collector that fails.
const LONGEST_RETRY: Duration = Duration::from_secs(60);

impl Sampler {
    pub(crate) fn new(
        clock: Arc<dyn Clock>,
        collectors: Vec<Box<dyn Collector>>,
        receive: mpsc::Receiver<Event>,
    ) -> Self {
        let watched = |collector| Watched {
            collector,
            failures: 0,
            retry_at: MonoTime::ZERO,
            dead: false,
            reason: Cow::Borrowed("it has not been asked"),
        };
        let collectors = collectors.into_iter().map(watched).collect();
        Self { clock, collectors, receive, in_flight: HashMap::new(), suspends: Suspends::default() }
    }

    pub(crate) fn poll(&mut self, last: bool) -> Batch {
        let (time, wall) = (self.clock.mono(), self.clock.wall());
        let mut batch = Batch {
            time,
            wall,
            slept: self.suspends.slept(time, wall, since_boot),
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
            if !watched.dead {
                unwind("a collector", || watched.collector.watch(&pids));
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
        let first = samples.len();
        if !self.dead && now >= self.retry_at {
            let collector = &mut self.collector;
            let answer = unwind("a collector", || collector.sample(&mut SampleBuffer::new(clock, samples)));
            match answer {
                Some(Ok(())) => {
                    self.failures = 0;
                    return;
                }
                Some(Err(error)) => self.failed(now, &error),
                None => {
                    self.dead = true;
                    self.reason = Cow::Borrowed("its collector panicked");
                }
            }
        }
        // Nothing is known of its devices, and that is what their readings say: the last ones would look alive.
        samples.truncate(first);
        let devices = unwind("a collector", || self.collector.devices().to_vec()).unwrap_or_default();
        samples.extend(devices.into_iter().map(|device| {
            let mut sample = DeviceSample::new(device, clock.mono());
            sample.energy = Reading::failed(self.reason.clone());
            sample.power = Reading::failed(self.reason.clone());
            sample
        }));
    }

    fn failed(&mut self, now: MonoTime, error: &CollectError) {
        if self.failures == 0 {
            tracing::warn!(collector = self.collector.name(), %error, "a collector failed and is retried");
        }
        self.dead = matches!(error, CollectError::Dead { .. });
        self.reason = Cow::Owned(error.to_string());
        self.failures = self.failures.saturating_add(1);
        let pause = Duration::from_millis(100) * 2_u32.saturating_pow(self.failures.min(12));
        self.retry_at = now + pause.min(LONGEST_RETRY);
    }
}
