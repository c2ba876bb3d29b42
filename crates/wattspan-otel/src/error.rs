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
    /// A client key cannot be read.
    #[error("cannot read the client key {path}")]
    ClientKey {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// A client certificate or key is not one that can be used.
    #[error("{path} cannot be used as client certificate or key: {reason}")]
    Identity {
        /// The file.
        path: PathBuf,
        /// What is wrong with it; nothing of its content.
        reason: String,
    },
    /// Of a client certificate and its key only one is named.
    #[error("OTEL_EXPORTER_OTLP_{missing} is not set: a client certificate and its key go together")]
    HalfIdentity {
        /// The end of the variable's name that is missing.
        missing: &'static str,
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
