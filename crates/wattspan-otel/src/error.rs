//! What can go wrong when telemetry is set up. Later trouble is counted and logged, never returned.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

/// Telemetry could not be set up. Values of headers are never in a message.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TelemetryError {
    /// The endpoint is not usable.
    #[error("cannot export to {endpoint}: {reason}")]
    Endpoint {
        /// Where to, without user, password and query.
        endpoint: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A header is not one that HTTP allows.
    #[error("header {name:?} cannot be sent: check its name and its value's characters")]
    Header {
        /// Its name.
        name: String,
    },
    /// A certificate cannot be read.
    #[error("cannot read the certificate {path}")]
    Certificate {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// No thread for exporting.
    #[error("cannot start the export thread")]
    Thread {
        /// The cause.
        source: io::Error,
    },
    /// The port for scrapes cannot be had.
    #[error("cannot listen on {address} for scrapes: choose another port or stop what uses it")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// The cause.
        source: io::Error,
    },
    /// A name of a metric or label is not one that Prometheus allows.
    #[error("{name:?} is no Prometheus name: use letters, digits and underscores")]
    PrometheusName {
        /// The name.
        name: String,
    },
}
