//! Gauges of a model server.

use std::sync::Arc;

use crate::{MonoTime, Ratio, Reading};

/// What a model server says of itself at one moment. Rates come from counter differences, never from its own gauges.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ServerStats {
    /// When it was asked.
    pub time: MonoTime,
    /// Which server, as `host:port`.
    pub server: Arc<str>,
    /// Output tokens per second since the poll before.
    pub tokens_per_second: Reading<f64>,
    /// Prompt tokens per second since the poll before.
    pub prompt_tokens_per_second: Reading<f64>,
    /// Fraction of the KV cache in use.
    pub kv_cache: Reading<Ratio>,
    /// Slots at work.
    pub busy_slots: Reading<u64>,
    /// All slots.
    pub slots: Reading<u64>,
    /// Requests that wait for a slot.
    pub queued: Reading<u64>,
    /// Output tokens since the server started.
    pub tokens_total: Reading<u64>,
    /// Prompt tokens computed since the server started.
    pub prompt_tokens_total: Reading<u64>,
}

impl ServerStats {
    /// Stats in which nothing is known.
    pub fn new(time: MonoTime, server: impl Into<Arc<str>>) -> Self {
        Self {
            time,
            server: server.into(),
            tokens_per_second: Reading::NotSupported,
            prompt_tokens_per_second: Reading::NotSupported,
            kv_cache: Reading::NotSupported,
            busy_slots: Reading::NotSupported,
            slots: Reading::NotSupported,
            queued: Reading::NotSupported,
            tokens_total: Reading::NotSupported,
            prompt_tokens_total: Reading::NotSupported,
        }
    }
}
