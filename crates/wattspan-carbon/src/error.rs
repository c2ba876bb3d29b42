//! What can go wrong before anything runs: a spelling, a file, a setting. Live sources never fail a caller; they
//! fall back and say so in their status.

use std::io;
use std::path::PathBuf;

/// An error of this crate, by what the user can change.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A name or code is not known. Nothing else is put in its place.
    #[error("no {what} is called {value:?}{}", hint(near))]
    Unknown {
        /// What was looked for: `country`, `cloud region of aws`, …
        what: String,
        /// What was given.
        value: String,
        /// Known spellings that come near, best first; may be empty.
        near: Vec<String>,
    },
    /// A name means several places.
    #[error("{value:?} may mean {}: give one of these codes", meanings.join(" or "))]
    Ambiguous {
        /// What was given.
        value: String,
        /// What it may mean, each with its code.
        meanings: Vec<String>,
    },
    /// Latitude or longitude is not on the globe.
    #[error(
        "coordinates {given:?} are not on the globe: give latitude -90 to 90, then longitude -180 to 180"
    )]
    Coordinates {
        /// What was given.
        given: String,
    },
    /// A line of a table of the user's cannot be read.
    #[error("{name}, line {line}: {reason}")]
    Line {
        /// File or other name of the table.
        name: String,
        /// Line, the first being 1.
        line: u64,
        /// What is wrong and what is expected.
        reason: String,
    },
    /// A file cannot be read.
    #[error("cannot read {path}: check that it exists and may be read", path = path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// A setting does not make sense.
    #[error("{setting} is {value:?}: {remedy}")]
    Setting {
        /// Its name.
        setting: &'static str,
        /// Its value; never a secret.
        value: String,
        /// What to give instead.
        remedy: &'static str,
    },
    /// The worker thread could not be started, so there are no live figures.
    #[error(
        "cannot start the thread that fetches carbon intensity: raise the limit on threads or go without live sources"
    )]
    Worker {
        /// The cause.
        source: io::Error,
    },
    /// The place could not be asked for over the network.
    #[error("{endpoint} did not say where this machine is: {reason}")]
    GeoIp {
        /// Host that was asked.
        endpoint: String,
        /// Why there is no answer.
        reason: String,
    },
}

fn hint(near: &[String]) -> String {
    if near.is_empty() { String::new() } else { format!(": did you mean {}?", near.join(", ")) }
}
