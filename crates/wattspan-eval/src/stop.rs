//! A switch that ends a run early and in order.

use std::sync::Arc;

use tokio::sync::watch;

/// Ends a run: cases in flight are given up, finished ones are kept, and the run is marked as interrupted. Clones share
/// the switch. Turn it from anywhere, such as a thread that waits for signals.
///
/// ```
/// let stop = wattspan_eval::Stop::new();
/// let handler = stop.clone();
/// handler.stop();
/// assert!(stop.is_stopped());
/// ```
#[derive(Clone, Debug)]
pub struct Stop(Arc<watch::Sender<bool>>);

impl Default for Stop {
    fn default() -> Self {
        Self(Arc::new(watch::Sender::new(false)))
    }
}

impl Stop {
    /// A switch that is off.
    pub fn new() -> Self {
        Self::default()
    }

    /// Ends the runs that have it, and those that get it later. Never waits.
    pub fn stop(&self) {
        self.0.send_replace(true);
    }

    /// Whether it has been turned.
    pub fn is_stopped(&self) -> bool {
        *self.0.borrow()
    }

    /// Waits until it is turned.
    pub async fn stopped(&self) {
        let mut turned = self.0.subscribe();
        // The sender lives in `self`: waiting for it cannot fail.
        let _ = turned.wait_for(|turned| *turned).await;
    }
}
