//! The duties of an observer.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, SystemTime};

use wattspan_core::{
    Begin, Facts, Finish, InferenceObserver, LatePhases, Locality, MonoTime, Settle, Settlement,
};

/// An observer to be checked.
pub struct Observed {
    /// The observer.
    pub observer: Arc<dyn InferenceObserver>,
    /// Makes it settle all that it can, as at shutdown, and returns when that is done.
    pub close: Box<dyn FnOnce()>,
}

impl Observed {
    /// Puts the two together.
    pub fn new(observer: Arc<dyn InferenceObserver>, close: impl FnOnce() + 'static) -> Self {
        Self { observer, close: Box::new(close) }
    }
}

impl std::fmt::Debug for Observed {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Observed").finish_non_exhaustive()
    }
}

/// Checks observers that `make` opens: one settlement for each inference that ends, also at shutdown and also when
/// hundreds end at once on several threads; none for one that is given up; marks from several threads; ends before begins,
/// remote inferences, ends after the observer was closed.
///
/// # Panics
/// When an inference is settled never, or twice.
#[track_caller]
pub fn observer(mut make: impl FnMut() -> Observed) {
    let at = |millis: u64| MonoTime::from_nanos(millis * 1_000_000);
    let begin = |millis| Begin::new(at(millis), SystemTime::UNIX_EPOCH, "chat", "llama_cpp");

    let Observed { observer, close } = make();
    let settled = Arc::new(AtomicUsize::new(0));
    let end = |millis| {
        let settle = Box::new(Once { count: Arc::clone(&settled), done: false });
        Finish::new(at(millis), Facts::default(), LatePhases::default(), settle)
    };
    observer.begin(begin(1)).finish(end(5));
    // Ends before it begins: a clock of the caller's own went wrong.
    observer.begin(begin(9)).finish(end(2));
    let mut remote = begin(3);
    remote.locality = Locality::Remote;
    observer.begin(remote).finish(end(4));
    drop(observer.begin(begin(5)));
    let probe = observer.begin(begin(6));
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| (0..100).for_each(|_| (probe.decoded(1), probe.prompted(3)).0));
        }
    });
    std::thread::scope(|scope| {
        scope.spawn(|| probe.finish(end(7)));
    });
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let (observer, end) = (&observer, &end);
            scope.spawn(move || {
                for index in 0..50 {
                    observer.begin(begin(10 + thread)).finish(end(20 + index));
                }
            });
        }
    });
    close();
    assert_eq!(
        settled.load(Ordering::SeqCst),
        4 + 200,
        "each end is settled once, and what was given up is not"
    );

    // What ends after the close must still end its span.
    let Observed { observer, close } = make();
    settled.store(0, Ordering::SeqCst);
    let late = observer.begin(begin(1));
    close();
    late.finish(end(2));
    let begun_late = observer.begin(begin(3));
    begun_late.finish(end(4));
    drop(observer);
    let until = std::time::Instant::now() + Duration::from_secs(60);
    while settled.load(Ordering::SeqCst) < 2 && std::time::Instant::now() < until {
        std::thread::yield_now();
    }
    assert_eq!(
        settled.load(Ordering::SeqCst),
        2,
        "what ends after the observer was closed is settled all the same"
    );
}

/// Counts settlements, and those that never came are missing from the count.
struct Once {
    count: Arc<AtomicUsize>,
    done: bool,
}

impl Settle for Once {
    fn settle(mut self: Box<Self>, _settlement: &Settlement) {
        assert!(!self.done, "settled twice");
        self.done = true;
        self.count.fetch_add(1, Ordering::SeqCst);
    }
}
