//! The way from callers to the sampler thread: begin, marks, finish. Must not block, and must not know what happens to
//! an event afterwards.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError, mpsc};
use std::time::{Duration, Instant};

use wattspan_core::{
    Begin, Clock, Finish, InferenceId, InferenceObserver, MonoTime, Probe, SettleReason, Settlement,
};

use crate::guard::unwind;

/// What callers tell the sampler.
pub(crate) enum Event {
    /// An inference began; its marks are counted in the slot.
    Begin(InferenceId, Box<Begin>, Arc<Slot>),
    /// It ended and wants to be settled.
    Finish(InferenceId, Ending),
    /// Its probe was dropped without a finish.
    GiveUp(InferenceId, MonoTime),
}

/// An end that wants to be settled. Wherever it is lost on its way, at a shutdown for one, its drop settles it with
/// nothing known, so that no span stays open.
pub(crate) struct Ending(Option<Box<Finish>>);

impl Ending {
    pub(crate) fn new(finish: Finish) -> Self {
        Self(Some(Box::new(finish)))
    }

    /// Hands the duty to settle on.
    pub(crate) fn take(mut self) -> Option<Box<Finish>> {
        self.0.take()
    }
}

impl Drop for Ending {
    fn drop(&mut self) {
        if let Some(finish) = self.0.take() {
            unwind("ending a span", || finish.settle.settle(&Settlement::unknown(SettleReason::Shutdown)));
        }
    }
}

/// Work done by one inference so far.
#[derive(Debug, Default)]
pub(crate) struct Slot {
    pub(crate) decoded: AtomicU64,
    pub(crate) prompted: AtomicU64,
}

/// Shared by callers, sampler and settlement.
pub(crate) struct Queue {
    clock: Arc<dyn Clock>,
    send: mpsc::Sender<Event>,
    next: AtomicU64,
    /// Inferences that have begun and are not settled.
    open: AtomicUsize,
    most: usize,
    /// Inferences that were not observed because too many were open.
    overload: AtomicU64,
    closed: AtomicBool,
    /// How many wait for readings that come soon, and how many watch what comes.
    hurry: AtomicUsize,
    watching: AtomicUsize,
    wake: Wake,
}

impl Queue {
    pub(crate) fn new(clock: Arc<dyn Clock>, most: usize) -> (Arc<Self>, mpsc::Receiver<Event>) {
        let (send, receive) = mpsc::channel();
        let queue = Self {
            clock,
            send,
            next: AtomicU64::new(1),
            open: AtomicUsize::new(0),
            most,
            overload: AtomicU64::new(0),
            closed: AtomicBool::new(false),
            hurry: AtomicUsize::new(0),
            watching: AtomicUsize::new(0),
            wake: Wake::default(),
        };
        (Arc::new(queue), receive)
    }

    /// How many inferences are in flight or wait for settlement.
    pub(crate) fn open(&self) -> usize {
        self.open.load(Ordering::Acquire)
    }

    /// How many were not observed since the last call.
    pub(crate) fn take_overload(&self) -> u64 {
        self.overload.swap(0, Ordering::AcqRel)
    }

    /// An inference is settled or given up.
    pub(crate) fn settled(&self) {
        self.open.fetch_sub(1, Ordering::AcqRel);
    }

    /// From now on begins are not observed.
    pub(crate) fn close(&self) {
        self.closed.store(true, Ordering::Release);
    }

    /// Whether the sampler should poll as fast as it may.
    pub(crate) fn is_busy(&self) -> bool {
        self.open() > 0 || self.hurry.load(Ordering::Acquire) > 0
    }

    /// Whether somebody watches the devices.
    pub(crate) fn is_watched(&self) -> bool {
        self.watching.load(Ordering::Acquire) > 0
    }

    /// The sampler polls at its fast cadence until the guard is dropped.
    pub(crate) fn hurry(self: &Arc<Self>) -> Attention {
        let attention = Attention::new(self, |queue| &queue.hurry);
        self.wake.notify();
        attention
    }

    /// The sampler does not fall back to its idle cadence until the guard is dropped.
    pub(crate) fn watch(self: &Arc<Self>) -> Attention {
        let attention = Attention::new(self, |queue| &queue.watching);
        self.wake.notify();
        attention
    }

    pub(crate) fn wake(&self) -> &Wake {
        &self.wake
    }
}

/// Keeps the sampler at a cadence.
pub(crate) struct Attention {
    queue: Arc<Queue>,
    count: fn(&Queue) -> &AtomicUsize,
}

impl Attention {
    fn new(queue: &Arc<Queue>, count: fn(&Queue) -> &AtomicUsize) -> Self {
        count(queue).fetch_add(1, Ordering::AcqRel);
        Self { queue: Arc::clone(queue), count }
    }
}

impl Drop for Attention {
    fn drop(&mut self) {
        (self.count)(&self.queue).fetch_sub(1, Ordering::AcqRel);
    }
}

/// Lets the sampler sleep until a deadline or until somebody needs it.
#[derive(Debug, Default)]
pub(crate) struct Wake {
    requested: Mutex<bool>,
    condition: Condvar,
}

impl Wake {
    /// Ends a sleep, now or the next.
    pub(crate) fn notify(&self) {
        *self.requested.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.condition.notify_one();
    }

    /// Sleeps until the deadline; answers whether it was woken.
    pub(crate) fn sleep_until(&self, deadline: Instant) -> bool {
        let mut requested = self.requested.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if std::mem::take(&mut *requested) {
                return true;
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            requested =
                self.condition.wait_timeout(requested, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

/// The observer that the instrumentation calls.
pub(crate) struct Observer(pub(crate) Arc<Queue>);

impl InferenceObserver for Observer {
    fn begin(&self, begin: Begin) -> Box<dyn Probe> {
        let queue = &self.0;
        if queue.closed.load(Ordering::Acquire) {
            return Box::new(Unobserved(SettleReason::Shutdown));
        }
        let before = queue.open.fetch_add(1, Ordering::AcqRel);
        if before >= queue.most {
            queue.settled();
            queue.overload.fetch_add(1, Ordering::AcqRel);
            return Box::new(Unobserved(SettleReason::Overload));
        }
        let id = InferenceId::new(queue.next.fetch_add(1, Ordering::Relaxed));
        let slot = Arc::new(Slot::default());
        if queue.send.send(Event::Begin(id, Box::new(begin), Arc::clone(&slot))).is_err() {
            queue.settled();
            return Box::new(Unobserved(SettleReason::Shutdown));
        }
        // Only the step from idle to busy wakes the sampler: later begins find it polling already.
        if before == 0 {
            queue.wake.notify();
        }
        Box::new(Observed { queue: Arc::clone(queue), id, slot, done: false })
    }
}

/// The probe of an inference that is measured.
struct Observed {
    queue: Arc<Queue>,
    id: InferenceId,
    slot: Arc<Slot>,
    done: bool,
}

impl Probe for Observed {
    fn decoded(&self, steps: u64) {
        self.slot.decoded.fetch_add(steps, Ordering::Relaxed);
    }

    fn prompted(&self, tokens: u64) {
        self.slot.prompted.fetch_add(tokens, Ordering::Relaxed);
    }

    fn finish(mut self: Box<Self>, finish: Finish) {
        self.done = true;
        // What cannot be sent comes back with the error, and is settled as that is dropped.
        if self.queue.send.send(Event::Finish(self.id, Ending::new(finish))).is_err() {
            self.queue.settled();
        }
    }
}

impl Drop for Observed {
    fn drop(&mut self) {
        if !self.done {
            let event = Event::GiveUp(self.id, self.queue.clock.mono());
            if self.queue.send.send(event).is_err() {
                self.queue.settled();
            }
        }
    }
}

/// The probe of an inference that is not measured: it settles at once.
struct Unobserved(SettleReason);

impl Probe for Unobserved {
    fn decoded(&self, _steps: u64) {}

    fn prompted(&self, _tokens: u64) {}

    fn finish(self: Box<Self>, finish: Finish) {
        finish.settle.settle(&Settlement::unknown(self.0));
    }
}

/// Lets others wait for the next settlement round.
#[derive(Debug, Default)]
pub(crate) struct Waiters {
    state: Mutex<VecDeque<mpsc::SyncSender<()>>>,
}

impl Waiters {
    /// Waits until `done` is called while the condition holds, or until the time is up.
    pub(crate) fn wait(&self, timeout: Duration) -> bool {
        let (send, receive) = mpsc::sync_channel(1);
        self.state.lock().unwrap_or_else(PoisonError::into_inner).push_back(send);
        receive.recv_timeout(timeout).is_ok()
    }

    /// Lets everybody go who waits.
    pub(crate) fn done(&self) {
        for waiter in self.state.lock().unwrap_or_else(PoisonError::into_inner).drain(..) {
            // A waiter that ran out of time is gone, which is its own affair.
            let _ = waiter.try_send(());
        }
    }
}
