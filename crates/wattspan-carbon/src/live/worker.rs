//! The one thread that asks, and the handles that read what it learned.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime};

use reqwest::Client;
use tokio::sync::Notify;
use tokio::task::JoinSet;
use wattspan_core::{Clock, Intensity, IntensitySource, MonoTime, Place, SystemClock};

use crate::Error;
use crate::live::cache::Cache;
use crate::live::{Failure, Provider, Query, ZoneStatus, http};

/// Requests under way at once, over all sources and zones.
const PARALLEL: usize = 4;
/// The longest that dropping the last handle waits for the thread.
const STOP_TIME: Duration = Duration::from_secs(2);
/// The thread looks around at least so often.
const LOOK_AROUND: Duration = Duration::from_secs(600);

/// How a [`Worker`] goes about it.
#[derive(Clone)]
pub struct WorkerOptions {
    clock: Arc<dyn Clock>,
    time_limit: Duration,
    max_age: Duration,
}

impl WorkerOptions {
    /// The system's clock; ten seconds a request; a last good value stands in for three hours.
    pub fn new() -> Self {
        Self {
            clock: Arc::new(SystemClock),
            time_limit: Duration::from_secs(10),
            max_age: Duration::from_secs(3 * 3_600),
        }
    }

    /// Goes by another clock. With one that stands still, call [`Worker::wake`] after moving it.
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = clock;
        self
    }

    /// Bounds each request, from connecting to the last byte.
    pub fn time_limit(mut self, limit: Duration) -> Self {
        self.time_limit = limit;
        self
    }

    /// How old a value may be that stands in for a source that does not answer.
    pub fn max_age(mut self, age: Duration) -> Self {
        self.max_age = age;
        self
    }
}

impl Default for WorkerOptions {
    fn default() -> Self {
        Self::new()
    }
}

impl std::fmt::Debug for WorkerOptions {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("WorkerOptions")
            .field("time_limit", &self.time_limit)
            .field("max_age", &self.max_age)
            .finish_non_exhaustive()
    }
}

/// One thread that keeps the answers of live sources fresh, for the places that are asked for.
///
/// Starting it calls nobody: the first request is made when somebody asks for a place. At most four requests run at
/// once, and one for each zone. The thread ends when the last handle and the last source are dropped, within two
/// seconds; what is under way is given up.
#[derive(Clone, Debug)]
pub struct Worker(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    shared: Arc<Shared>,
    /// Disconnects when the thread ends.
    ended: Mutex<Receiver<()>>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

/// What the thread and the handles share.
struct Shared {
    options: WorkerOptions,
    sources: Mutex<Vec<Weak<Source>>>,
    wake: Notify,
    stop: AtomicBool,
    /// Told after every request.
    progress: (Mutex<()>, Condvar),
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Shared").field("options", &self.options).finish_non_exhaustive()
    }
}

/// One service and what it said.
#[derive(Debug)]
struct Source {
    provider: Provider,
    cache: Mutex<Cache>,
    client: OnceLock<Client>,
}

impl Worker {
    /// Starts the thread.
    ///
    /// # Errors
    /// [`Error::Worker`] when the system gives no thread.
    pub fn start(options: WorkerOptions) -> Result<Self, Error> {
        let shared = Arc::new(Shared {
            options,
            sources: Mutex::new(Vec::new()),
            wake: Notify::new(),
            stop: AtomicBool::new(false),
            progress: (Mutex::new(()), Condvar::new()),
        });
        let failed = |source| Error::Worker { source };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(failed)?;
        let (alive, ended) = mpsc::channel::<()>();
        let of_thread = Arc::clone(&shared);
        let thread = std::thread::Builder::new()
            .name("wattspan-carbon".to_owned())
            .spawn(move || {
                runtime.block_on(run(of_thread));
                // A name look-up may hang in the system's resolver; it is left behind.
                runtime.shutdown_background();
                drop(alive);
            })
            .map_err(failed)?;
        Ok(Self(Arc::new(Inner { shared, ended: Mutex::new(ended), thread: Mutex::new(Some(thread)) })))
    }

    /// Looks at once whether something is due.
    pub fn wake(&self) {
        self.0.shared.wake.notify_one();
    }

    /// Blocks until nothing is due or under way, or the time is up. Whether nothing is. For short programs that want a
    /// first live value before they end; never needed for inference.
    pub fn wait_idle(&self, time_limit: Duration) -> bool {
        let shared = &self.0.shared;
        let deadline = Instant::now() + time_limit;
        let mut guard = lock(&shared.progress.0);
        loop {
            let now = shared.options.clock.mono();
            if !shared.sources().iter().any(|source| lock(&source.cache).is_busy(now)) {
                return true;
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            shared.wake.notify_one();
            let waited = shared.progress.1.wait_timeout(guard, left);
            guard = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    pub(super) fn attach(&self, provider: Provider) -> LiveSource {
        let cache = Mutex::new(Cache::new(self.0.shared.options.max_age));
        let source = Arc::new(Source { provider, cache, client: OnceLock::new() });
        lock(&self.0.shared.sources).push(Arc::downgrade(&source));
        LiveSource { source, worker: self.clone() }
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Release);
        self.shared.wake.notify_one();
        let ended = lock(&self.ended).recv_timeout(STOP_TIME) == Err(RecvTimeoutError::Disconnected);
        match lock(&self.thread).take() {
            // The handle may be dropped by the thread itself, which cannot wait for its own end.
            Some(thread) if ended && thread.thread().id() != std::thread::current().id() => {
                let _ = thread.join();
            }
            _ => tracing::debug!("the thread that fetches carbon intensity is left to end by itself"),
        }
    }
}

/// A live source: reads the worker's memory and never waits.
///
/// The first question for a place answers `None` and makes the worker ask; later ones answer with what came back. A
/// value past its validity, of a source that does not answer, is a [`LastGood`](wattspan_core::Provenance::LastGood)
/// one, up to the age limit; then it is `None`.
#[derive(Clone, Debug)]
pub struct LiveSource {
    source: Arc<Source>,
    worker: Worker,
}

impl LiveSource {
    /// How the source stands with each zone that was asked for.
    pub fn status(&self) -> Vec<ZoneStatus> {
        lock(&self.source.cache).status(self.worker.0.shared.options.clock.mono())
    }
}

impl IntensitySource for LiveSource {
    fn name(&self) -> &str {
        self.source.provider.name()
    }

    fn latest(&self, place: &Place, at: SystemTime) -> Option<Intensity> {
        let query = self.source.provider.query(place)?;
        let now = self.worker.0.shared.options.clock.mono();
        let (answer, fetch) = lock(&self.source.cache).look(&query, at, now);
        if fetch {
            self.worker.wake();
        }
        answer
    }
}

impl Shared {
    /// The sources still in use.
    fn sources(&self) -> Vec<Arc<Source>> {
        let mut sources = lock(&self.sources);
        sources.retain(|source| source.strong_count() > 0);
        sources.iter().filter_map(Weak::upgrade).collect()
    }

    fn told(&self) {
        drop(lock(&self.progress.0));
        self.progress.1.notify_all();
    }
}

/// A poisoned lock means that another thread panicked while it changed a cache; what is in it is still well-formed.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn run(shared: Arc<Shared>) {
    let mut requests = JoinSet::new();
    while !shared.stop.load(Ordering::Acquire) {
        let now = shared.options.clock.mono();
        let mut next: Option<MonoTime> = None;
        for source in shared.sources() {
            while requests.len() < PARALLEL {
                let Some(query) = lock(&source.cache).take_due(now) else { break };
                requests.spawn(
                    Request { shared: Arc::clone(&shared), source: Arc::clone(&source), query, done: false }
                        .make(),
                );
            }
            let due = lock(&source.cache).next_due(now);
            next = [next, due].into_iter().flatten().min();
        }
        // With all places taken the next look is when one is free.
        let full = requests.len() >= PARALLEL;
        let wait = next.filter(|_| !full).map_or(LOOK_AROUND, |next| next.since(now)).min(LOOK_AROUND);
        tokio::select! {
            () = shared.wake.notified() => {}
            () = tokio::time::sleep(wait) => {}
            _ = requests.join_next(), if !requests.is_empty() => {}
        }
    }
    requests.abort_all();
}

/// One request under way. Given up or panicking, it still frees its zone.
struct Request {
    shared: Arc<Shared>,
    source: Arc<Source>,
    query: Query,
    done: bool,
}

impl Request {
    async fn make(mut self) {
        let options = self.shared.options.clone();
        let result = match self.client() {
            Ok(client) => {
                // A login, a region and a figure are three requests with a limit each.
                let work = self.source.provider.fetch(&client, &self.query, &*options.clock);
                match tokio::time::timeout(options.time_limit * 4, work).await {
                    Ok(result) => result,
                    Err(_) => Err(Failure::Transient("no answer in time".to_owned())),
                }
            }
            Err(failure) => Err(failure),
        };
        self.end(result);
    }

    fn client(&self) -> Result<Client, Failure> {
        if let Some(client) = self.source.client.get() {
            return Ok(client.clone());
        }
        let made = http::client(self.source.provider.base_url(), self.shared.options.time_limit)?;
        Ok(self.source.client.get_or_init(|| made).clone())
    }

    fn end(&mut self, result: Result<Vec<Intensity>, Failure>) {
        self.done = true;
        let clock = &self.shared.options.clock;
        let (now, name) = (clock.mono(), self.source.provider.name());
        let wall = clock.wall();
        let result = result.and_then(|values| {
            if lock(&self.source.cache).is_stale(&values, wall) {
                let reason = "the source's newest value is older than the age limit: if the source is well, check this machine's clock";
                return Err(Failure::NoData(reason));
            }
            Ok(values)
        });
        match result {
            Ok(values) => {
                tracing::debug!(source = name, zone = %self.query, values = values.len(), "carbon intensity came");
                lock(&self.source.cache).succeed(&self.query, values, now, wall);
            }
            Err(failure) => {
                let say = lock(&self.source.cache).fail(&self.query, &failure, now);
                match say {
                    Some(text) => {
                        tracing::warn!(source = name, zone = %self.query, "no live carbon intensity, another figure stands in: {text}");
                    }
                    None => {
                        tracing::debug!(source = name, zone = %self.query, "still no live carbon intensity: {failure}");
                    }
                }
            }
        }
        self.shared.told();
    }
}

impl Drop for Request {
    fn drop(&mut self) {
        if !self.done {
            self.end(Err(Failure::Transient("the request was given up".to_owned())));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::UkCarbonIntensity;

    #[test]
    fn a_request_that_is_given_up_frees_its_zone() {
        let worker = Worker::start(WorkerOptions::new()).unwrap();
        let shared = Arc::clone(&worker.0.shared);
        let now = shared.options.clock.mono();
        let mut cache = Cache::new(Duration::from_secs(60));
        let query = Query::Zone("GB".into());
        cache.look(&query, SystemTime::now(), now);
        assert_eq!(cache.take_due(now), Some(query.clone()));
        let provider = Provider::UkCarbonIntensity(UkCarbonIntensity::new());
        // Not attached, so that the worker makes no request of its own.
        let source = Arc::new(Source { provider, cache: Mutex::new(cache), client: OnceLock::new() });
        drop(Request { shared, source: Arc::clone(&source), query, done: false });
        let status = lock(&source.cache).status(now);
        assert!(!status[0].asking);
        assert_eq!(status[0].problem.as_deref(), Some("the request was given up"));
    }
}
