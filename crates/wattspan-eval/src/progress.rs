//! What a run tells while it goes on.

use wattspan_dataset::ResultRow;

/// Something that happened in a run.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Event<'a> {
    /// The run begins: this many attempts in all, of which some were finished earlier.
    Planned {
        /// Attempts of all cases.
        total: u64,
        /// Of them, those that were finished before this run of the program.
        finished: u64,
    },
    /// A warm-up request is over.
    WarmedUp {
        /// How many are over.
        done: u64,
        /// Of how many.
        total: u64,
    },
    /// An attempt begins.
    Started {
        /// Id of the case, as one kind of agent runs it.
        uid: &'a str,
        /// Which repetition, from 1.
        attempt: u32,
    },
    /// An attempt is settled and its row is written.
    Finished {
        /// Its row.
        row: &'a ResultRow,
        /// Attempts that are finished, earlier ones included.
        done: u64,
        /// Attempts of all cases.
        total: u64,
    },
    /// Everything has been asked; these attempts wait for their energy.
    Settling {
        /// How many.
        waiting: u64,
    },
    /// The files are being made.
    Writing,
}

/// Hears what happens in a run: draw a bar, write a line.
///
/// Called on the run's own task, in order; a slow one slows the run down.
pub trait Progress: Send + Sync {
    /// Something happened.
    fn event(&self, event: &Event<'_>);
}

/// Nobody listens.
impl Progress for () {
    fn event(&self, _: &Event<'_>) {}
}

impl<F: Fn(&Event<'_>) + Send + Sync> Progress for F {
    fn event(&self, event: &Event<'_>) {
        self(event);
    }
}
