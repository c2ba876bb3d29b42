//! How far an evaluation is, and which cases did not pass.

use std::sync::{Mutex, PoisonError};

use indicatif::ProgressBar;
use wattspan::eval::{Event, Progress};

use crate::bars;

/// Draws a bar, and keeps what did not pass for the result.
pub(super) struct Bar {
    bar: ProgressBar,
    failed: Mutex<Vec<String>>,
}

impl Bar {
    pub(super) fn new(quiet: bool) -> Self {
        Self { bar: bars::steps(0, quiet), failed: Mutex::default() }
    }

    pub(super) fn end(&self) {
        self.bar.finish_and_clear();
    }

    /// Ids of cases that did not pass in this part of the run.
    pub(super) fn failed(&self) -> Vec<String> {
        self.failed.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Progress for Bar {
    fn event(&self, event: &Event<'_>) {
        match event {
            Event::Planned { total, finished } => {
                self.bar.set_length(*total);
                self.bar.set_position(*finished);
                // Only what is done now says how long the rest takes.
                self.bar.reset_eta();
            }
            Event::WarmedUp { done, total } => self.bar.set_message(format!("warming up: {done} of {total}")),
            Event::Started { uid, .. } => self.bar.set_message((*uid).to_owned()),
            Event::Finished { row, done, .. } => {
                self.bar.set_position(*done);
                if row.success != Some(true) {
                    let id = row.test_case_uid.as_deref().or(row.task_id.as_deref()).unwrap_or_default();
                    let mut failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
                    if !failed.iter().any(|known| known == id) {
                        failed.push(id.to_owned());
                    }
                    self.bar.set_message(format!("{} did not pass", failed.len()));
                }
            }
            Event::Settling { waiting } => self.bar.set_message(format!("{waiting} wait for their energy")),
            Event::Writing => self.bar.set_message("writing the files"),
            _ => {}
        }
    }
}
