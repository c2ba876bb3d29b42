//! How far an export is.

/// Counts of an export so far; see [`OpenSearchSink::on_progress`](crate::OpenSearchSink::on_progress).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Progress {
    /// Documents taken from the caller: rows, and at the end the run's metadata.
    pub taken: u64,
    /// Of them, those that the server confirmed.
    pub stored: u64,
    /// Those that it refused, which are in the file of refused documents.
    pub refused: u64,
    /// Times that a document was sent again.
    pub retries: u64,
    /// Bulk requests.
    pub requests: u64,
    /// **Unit** bytes of request bodies as sent, compressed where they were.
    pub bytes: u64,
}

impl Progress {
    /// Documents taken that are neither stored nor refused yet.
    pub fn waiting(&self) -> u64 {
        self.taken.saturating_sub(self.stored + self.refused)
    }
}
