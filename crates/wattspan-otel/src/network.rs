//! The one thread on which everything of this crate goes over a network.
//!
//! It has a runtime of its own, so that exporting works whatever runtime the program has or has not, and does not stop
//! when that one does. It knows nothing of telemetry.

use std::future::{Future, pending};
use std::sync::{Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use opentelemetry::Context;
use tokio::runtime::Handle;
use tokio::sync::{oneshot, watch};
use tokio::time::Instant;

use crate::TelemetryError;

/// How far the end is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Stage {
    /// Nothing may take longer than this.
    deadline: Option<Instant>,
    ended: bool,
}

/// The thread. It ends when this is dropped.
#[derive(Debug)]
pub(crate) struct Network {
    handle: Handle,
    stage: watch::Sender<Stage>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Network {
    pub(crate) fn start() -> Result<Self, TelemetryError> {
        let failed = |source| TelemetryError::Thread { source };
        // Another part of the program may have chosen its TLS provider before, which then stays.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(failed)?;
        let handle = runtime.handle().clone();
        let (stage, mut end) = watch::channel(Stage::default());
        let thread = std::thread::Builder::new()
            .name("wattspan-otel".to_owned())
            .spawn(move || {
                // What HTTP and gRPC libraries trace while they export is not to be exported in turn.
                let _suppressed = Context::enter_telemetry_suppressed_scope();
                // Both answers mean the end: it was said, or nobody is left to say it.
                let _ = runtime.block_on(end.wait_for(|stage| stage.ended));
                // A name look-up that hangs must not hold the end.
                runtime.shutdown_background();
            })
            .map_err(failed)?;
        Ok(Self { handle, stage, thread: Mutex::new(Some(thread)) })
    }

    pub(crate) fn clock(&self) -> Clock {
        Clock { stage: self.stage.subscribe() }
    }

    pub(crate) fn spawner(&self) -> Spawner {
        Spawner { handle: self.handle.clone() }
    }

    /// From now on everything has to be done within this time.
    pub(crate) fn hurry(&self, within: Duration) {
        let deadline = Instant::now() + within;
        self.stage.send_modify(|stage| {
            stage.deadline = Some(stage.deadline.map_or(deadline, |earlier| earlier.min(deadline)));
        });
    }

    pub(crate) fn end(&self) {
        self.stage.send_modify(|stage| stage.ended = true);
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(thread) = thread {
            // A panic on it has been reported by the panic hook, and ends nothing else.
            let _ = thread.join();
        }
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        self.end();
    }
}

/// The network thread, started when something first needs it.
#[derive(Default)]
pub(crate) struct LazyNetwork(pub(crate) Option<Network>);

impl LazyNetwork {
    pub(crate) fn get(&mut self) -> Result<&Network, TelemetryError> {
        match &mut self.0 {
            Some(network) => Ok(network),
            none => Ok(none.insert(Network::start()?)),
        }
    }
}

/// Starts work on the thread.
#[derive(Clone, Debug)]
pub(crate) struct Spawner {
    handle: Handle,
}

impl Spawner {
    /// The answer can be awaited on any executor; `None` when the thread ends first.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        work: impl Future<Output = T> + Send + 'static,
    ) -> Option<T> {
        let (send, receive) = oneshot::channel();
        // The answer of an asker who went away is of no use.
        self.handle.spawn(async move { drop(send.send(work.await)) });
        receive.await.ok()
    }

    #[cfg(feature = "prometheus")]
    pub(crate) fn start(&self, work: impl Future<Output = ()> + Send + 'static) {
        self.handle.spawn(work);
    }

    /// For what must be made inside the runtime.
    pub(crate) fn enter(&self) -> tokio::runtime::EnterGuard<'_> {
        self.handle.enter()
    }
}

/// Tells how much time is left, also when a shutdown shortens it meanwhile.
#[derive(Clone, Debug)]
pub(crate) struct Clock {
    stage: watch::Receiver<Stage>,
}

impl Clock {
    /// The earlier of `until` and the deadline of a shutdown.
    pub(crate) fn limit(&self, until: Instant) -> Instant {
        self.stage.borrow().deadline.map_or(until, |deadline| deadline.min(until))
    }

    /// The answer of `work`, or `None` when time is over first.
    pub(crate) async fn within<T>(&self, until: Instant, work: impl Future<Output = T>) -> Option<T> {
        let mut stage = self.stage.clone();
        let mut work = std::pin::pin!(work);
        loop {
            let limit = self.limit(until);
            tokio::select! {
                biased;
                answer = &mut work => return Some(answer),
                () = tokio::time::sleep_until(limit) => return None,
                changed = stage.changed() => if changed.is_err() { return None },
            }
        }
    }

    pub(crate) async fn sleep_until(&self, until: Instant) {
        // Awaking early is what a shutdown asks for.
        let _: Option<()> = self.within(until, pending()).await;
    }
}
