//! Recordings of samples and inferences. The crate's root describes the text.

mod player;
mod read;
mod wire;
mod write;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use wattspan_core::{Begin, Device, DeviceSample, Facts, InferenceId, LatePhases, MonoTime};

pub use player::{Player, Step};

/// The version of the text that is read and written.
pub const VERSION: u32 = 1;

/// A recording.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Tape {
    /// Wall clock at monotonic zero.
    pub wall: SystemTime,
    /// What it shows.
    pub note: Option<String>,
    /// What happened, in the order of the text.
    pub events: Vec<Event>,
}

/// One thing that happened.
#[derive(Clone, Debug)]
#[allow(clippy::large_enum_variant)] // Nearly all events are samples: a box each would save nothing.
#[non_exhaustive]
pub enum Event {
    /// A device was found.
    Device(Arc<Device>),
    /// A device was read.
    Sample(DeviceSample),
    /// An inference began.
    Begin {
        /// Which.
        inference: InferenceId,
        /// What is known of it. The player sets its wall-clock time.
        begin: Begin,
    },
    /// Prompt tokens were computed.
    Prompted {
        /// When.
        time: MonoTime,
        /// For which inference.
        inference: InferenceId,
        /// How many.
        tokens: u64,
    },
    /// Decode steps were made.
    Decoded {
        /// When.
        time: MonoTime,
        /// For which inference.
        inference: InferenceId,
        /// How many.
        steps: u64,
    },
    /// An inference ended.
    Finish {
        /// When.
        time: MonoTime,
        /// Which.
        inference: InferenceId,
        /// What came back.
        facts: Facts,
        /// Phases that the server reported.
        phases: LatePhases,
    },
    /// An inference was dropped without an end.
    GiveUp {
        /// When.
        time: MonoTime,
        /// Which.
        inference: InferenceId,
    },
    /// The wall clock was stepped.
    WallStep {
        /// When.
        time: MonoTime,
        /// By how much.
        seconds: i64,
    },
}

impl Event {
    /// When it happened; `None` for a device, which is there before its first sample.
    pub fn time(&self) -> Option<MonoTime> {
        match self {
            Self::Device(_) => None,
            Self::Sample(sample) => Some(sample.time),
            Self::Begin { begin, .. } => Some(begin.time),
            Self::Prompted { time, .. }
            | Self::Decoded { time, .. }
            | Self::Finish { time, .. }
            | Self::GiveUp { time, .. }
            | Self::WallStep { time, .. } => Some(*time),
        }
    }
}

/// A text that is no tape.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TapeError {
    /// A line cannot be read.
    #[error("tape line {line}, column {column}: {reason}")]
    Line {
        /// Which, from 1.
        line: usize,
        /// Where in it, from 1.
        column: usize,
        /// What is wrong, and what should stand there.
        reason: String,
    },
    /// The file cannot be read.
    #[error("cannot read the tape {}: {reason}", path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// Why.
        reason: String,
    },
}

impl Tape {
    /// An empty tape.
    pub fn new(wall: SystemTime) -> Self {
        Self { wall, note: None, events: Vec::new() }
    }

    /// Reads a tape's text.
    ///
    /// # Errors
    /// At the first line that is not an event, or that names a device or an inference which is not there.
    pub fn read(text: &str) -> Result<Self, TapeError> {
        read::read(text)
    }

    /// Reads a tape's file.
    ///
    /// # Errors
    /// When the file cannot be read, and as [`Tape::read`].
    pub fn load(path: impl AsRef<Path>) -> Result<Self, TapeError> {
        let path = path.as_ref();
        let text = std::fs::read_to_string(path)
            .map_err(|error| TapeError::File { path: path.to_owned(), reason: error.to_string() })?;
        Self::read(&text)
    }

    /// The tape's text, which [`Tape::read`] reads back to the same tape. Wall-clock times are kept to the millisecond.
    pub fn write(&self) -> String {
        write::write(self)
    }

    /// The devices that it names, in order.
    pub fn devices(&self) -> Vec<Arc<Device>> {
        let device = |event: &Event| match event {
            Event::Device(device) => Some(Arc::clone(device)),
            _ => None,
        };
        self.events.iter().filter_map(device).collect()
    }
}

#[cfg(test)]
mod tests;
