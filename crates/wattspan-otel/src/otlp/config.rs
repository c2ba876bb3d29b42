//! What an OTLP exporter is told, and what follows from it together with the environment.

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use http::{HeaderMap, HeaderName, HeaderValue};

use super::identity::{Identity, IdentityFiles};
use super::retry::Patience;
use crate::TelemetryError;
use crate::env::{Environment, pairs};

/// How spans, metrics and logs travel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Protocol {
    /// Protobuf over HTTP; the standard's default.
    #[default]
    HttpProtobuf,
    /// JSON over HTTP.
    HttpJson,
    /// gRPC.
    Grpc,
}

impl Protocol {
    /// The protocol by its name in `OTEL_EXPORTER_OTLP_PROTOCOL`.
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "http/protobuf" => Some(Self::HttpProtobuf),
            "http/json" => Some(Self::HttpJson),
            "grpc" => Some(Self::Grpc),
            _ => None,
        }
    }

    /// The standard's default endpoint.
    const fn endpoint(self) -> &'static str {
        match self {
            Self::Grpc => "http://localhost:4317",
            Self::HttpProtobuf | Self::HttpJson => "http://localhost:4318",
        }
    }
}

/// How request bodies are compressed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Compression {
    /// Not at all.
    #[default]
    None,
    /// With gzip.
    Gzip,
}

/// One of the three kinds of telemetry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// Spans.
    Traces,
    /// Metrics.
    Metrics,
    /// Log records: the GenAI events.
    Logs,
}

impl Signal {
    pub(crate) const ALL: [Self; 3] = [Self::Traces, Self::Metrics, Self::Logs];

    /// As it stands in variables.
    pub(crate) const fn upper(self) -> &'static str {
        match self {
            Self::Traces => "TRACES",
            Self::Metrics => "METRICS",
            Self::Logs => "LOGS",
        }
    }

    /// Below the base endpoint (OTLP 1.x, "OTLP/HTTP Request").
    const fn path(self) -> &'static str {
        match self {
            Self::Traces => "/v1/traces",
            Self::Metrics => "/v1/metrics",
            Self::Logs => "/v1/logs",
        }
    }
}

/// Settings of one OTLP exporter. What is set here wins over the environment.
///
/// ```
/// use std::time::Duration;
/// use wattspan_otel::{Compression, Otlp, Protocol};
///
/// let second = Otlp::new("https://otlp.example.com")
///     .protocol(Protocol::HttpProtobuf)
///     .header("authorization", "Bearer secret")
///     .compression(Compression::Gzip)
///     .timeout(Duration::from_secs(5));
/// assert!(!format!("{second:?}").contains("secret"));
/// ```
#[derive(Clone, Default)]
#[must_use]
pub struct Otlp {
    endpoint: Option<String>,
    signal_endpoints: Vec<(Signal, String)>,
    headers: Vec<(String, String)>,
    protocol: Option<Protocol>,
    compression: Option<Compression>,
    timeout: Option<Duration>,
    retry_for: Option<Duration>,
    certificate: Option<PathBuf>,
    identity: Option<IdentityFiles>,
    without: Vec<Signal>,
}

impl fmt::Debug for Otlp {
    /// Tells which headers are set and nothing of their values.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let headers: Vec<&str> = self.headers.iter().map(|(name, _)| name.as_str()).collect();
        out.debug_struct("Otlp")
            .field("endpoint", &self.endpoint.as_deref().map(shown))
            .field("headers_set", &headers)
            .field("protocol", &self.protocol)
            .field("compression", &self.compression)
            .field("timeout", &self.timeout)
            .field("retry_for", &self.retry_for)
            .field("certificate", &self.certificate)
            .field("client_certificate", &self.identity.as_ref().map(|files| &files.certificate))
            .finish_non_exhaustive()
    }
}

impl Otlp {
    /// Exports to a base endpoint, spelt with or without `/v1/traces` at its end.
    pub fn new(endpoint: impl Into<String>) -> Self {
        Self::default().endpoint(endpoint)
    }

    /// The base endpoint.
    pub fn endpoint(mut self, endpoint: impl Into<String>) -> Self {
        self.endpoint = Some(endpoint.into());
        self
    }

    /// The endpoint of one signal, taken as it stands.
    pub fn signal_endpoint(mut self, signal: Signal, endpoint: impl Into<String>) -> Self {
        self.signal_endpoints.push((signal, endpoint.into()));
        self
    }

    /// Adds a header. Its value appears in no message and no `Debug` output.
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    /// Chooses the protocol.
    pub fn protocol(mut self, protocol: Protocol) -> Self {
        self.protocol = Some(protocol);
        self
    }

    /// Chooses the compression.
    pub fn compression(mut self, compression: Compression) -> Self {
        self.compression = Some(compression);
        self
    }

    /// Longest wait for one answer; ten seconds unless said otherwise.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// How long a batch is tried again before it is dropped; thirty seconds unless said otherwise. Metrics are tried no
    /// longer than one timeout: the next export says what they said.
    pub fn retry_for(mut self, time: Duration) -> Self {
        self.retry_for = Some(time);
        self
    }

    /// A PEM file of certificate authorities to trust beside the system's.
    pub fn certificate(mut self, path: impl Into<PathBuf>) -> Self {
        self.certificate = Some(path.into());
        self
    }

    /// PEM files of a certificate chain and its private key, to show to a receiver that asks who is there.
    ///
    /// The key must be unencrypted: PKCS#8, PKCS#1 or SEC1. No part of it appears in any message.
    pub fn client_certificate(mut self, certificate: impl Into<PathBuf>, key: impl Into<PathBuf>) -> Self {
        self.identity = Some(IdentityFiles { certificate: certificate.into(), key: key.into() });
        self
    }

    /// Leaves a signal out.
    pub fn without(mut self, signal: Signal) -> Self {
        self.without.push(signal);
        self
    }

    /// Where a signal goes and how; `None` when nobody named an endpoint, or the signal is left out. With
    /// `by_default`, the standard's endpoint stands in for one that is not named.
    pub(crate) fn target(
        &self,
        signal: Signal,
        env: &Environment,
        by_default: bool,
    ) -> Result<Option<Target>, TelemetryError> {
        if self.without.contains(&signal) {
            return Ok(None);
        }
        let read = |what| env.of_signal(signal.upper(), what);
        let protocol = self.protocol.or_else(|| known("PROTOCOL", read("PROTOCOL")?, Protocol::from_name));
        let protocol = protocol.unwrap_or_default();
        let own = self.signal_endpoints.iter().rev().find(|(of, _)| *of == signal);
        let own_variable = format!("OTEL_EXPORTER_OTLP_{}_ENDPOINT", signal.upper());
        let endpoint = match (own, &self.endpoint, env.get(&own_variable)) {
            (Some((_, endpoint)), _, _) => endpoint.clone(),
            (None, Some(base), _) => below(base, signal, protocol),
            (None, None, Some(endpoint)) => endpoint.to_owned(),
            (None, None, None) => match env.get("OTEL_EXPORTER_OTLP_ENDPOINT") {
                Some(base) => below(base, signal, protocol),
                None if by_default => below(protocol.endpoint(), signal, protocol),
                None => return Ok(None),
            },
        };
        let insecure = read("INSECURE").map(|text| text.eq_ignore_ascii_case("true"));
        let endpoint = with_scheme(endpoint, insecure);
        let host = endpoint.split_once("://").and_then(|(_, rest)| rest.split(['/', '?', '#']).next());
        if host.is_none_or(str::is_empty) {
            let reason = "expected http:// or https:// and a host".to_owned();
            return Err(TelemetryError::Endpoint { endpoint: shown(&endpoint), reason });
        }
        let compression = self.compression.or_else(|| {
            known("COMPRESSION", read("COMPRESSION")?, |name| match name {
                "gzip" => Some(Compression::Gzip),
                "none" => Some(Compression::None),
                _ => None,
            })
        });
        let timeout = self.timeout.or_else(|| {
            known("TIMEOUT", read("TIMEOUT")?, |text| text.parse().ok().map(Duration::from_millis))
        });
        let timeout = timeout.filter(|timeout| !timeout.is_zero()).unwrap_or(Duration::from_secs(10));
        let retry_for = match signal {
            Signal::Metrics => timeout,
            Signal::Traces | Signal::Logs => self.retry_for.unwrap_or(Duration::from_secs(30)),
        };
        let certificate = self.certificate.as_deref().or_else(|| read("CERTIFICATE").map(Path::new));
        let identity = match &self.identity {
            Some(files) => Some(files.read()?),
            None => IdentityFiles::from_env(signal.upper(), env)?.map(|files| files.read()).transpose()?,
        };
        Ok(Some(Target {
            signal,
            protocol,
            headers: self.headers(read("HEADERS"))?,
            gzip: compression == Some(Compression::Gzip),
            patience: Patience { timeout, total: retry_for },
            certificate: certificate.map(certificate_of).transpose()?,
            identity,
            endpoint,
        }))
    }

    /// The environment's headers, and over them those set in code.
    fn headers(&self, from_env: Option<&str>) -> Result<HeaderMap, TelemetryError> {
        let mut headers = HeaderMap::new();
        let from_env = from_env.map(pairs).unwrap_or_default();
        for (name, value) in from_env.iter().chain(&self.headers) {
            let refused = || TelemetryError::Header { name: name.clone() };
            let key = HeaderName::try_from(name.as_str()).map_err(|_| refused())?;
            let mut value = HeaderValue::try_from(value.as_str()).map_err(|_| refused())?;
            value.set_sensitive(true);
            headers.insert(key, value);
        }
        Ok(headers)
    }
}

/// Everything that one exporter of one signal needs to know.
#[derive(Clone, Debug)]
pub(crate) struct Target {
    pub(crate) signal: Signal,
    pub(crate) protocol: Protocol,
    pub(crate) endpoint: String,
    pub(crate) headers: HeaderMap,
    pub(crate) gzip: bool,
    pub(crate) patience: Patience,
    /// PEM.
    pub(crate) certificate: Option<Vec<u8>>,
    pub(crate) identity: Option<Identity>,
}

impl Target {
    pub(crate) fn shown(&self) -> String {
        shown(&self.endpoint)
    }

    pub(crate) fn unusable(&self, reason: impl fmt::Display) -> TelemetryError {
        TelemetryError::Endpoint { endpoint: self.shown(), reason: reason.to_string() }
    }
}

fn certificate_of(path: &Path) -> Result<Vec<u8>, TelemetryError> {
    std::fs::read(path).map_err(|source| TelemetryError::Certificate { path: path.to_owned(), source })
}

fn known<T>(what: &str, text: &str, parse: impl FnOnce(&str) -> Option<T>) -> Option<T> {
    let value = parse(text);
    if value.is_none() {
        tracing::warn!("OTEL_EXPORTER_OTLP_…{what} is ignored: {text:?} is not known");
    }
    value
}

/// The endpoint of a signal below a base that may already name a signal. gRPC has no path of its own.
fn below(base: &str, signal: Signal, protocol: Protocol) -> String {
    // The slashes of a scheme without a host stay, so that it is refused as what it is.
    let start = base.find("://").map_or(0, |at| at + 3);
    let (scheme, rest) = base.split_at(start);
    let mut rest = rest.trim_end_matches('/');
    for signal in Signal::ALL {
        rest = rest.strip_suffix(signal.path()).unwrap_or(rest);
    }
    let base = format!("{scheme}{}", rest.trim_end_matches('/'));
    match protocol {
        Protocol::Grpc => base,
        Protocol::HttpProtobuf | Protocol::HttpJson => format!("{base}{}", signal.path()),
    }
}

/// gRPC's endpoints are often spelt without a scheme. On this machine that is plain text; elsewhere it is TLS unless
/// `OTEL_EXPORTER_OTLP_INSECURE` says otherwise, as the specification has it.
fn with_scheme(endpoint: String, insecure: Option<bool>) -> String {
    if endpoint.contains("://") {
        return endpoint;
    }
    let here = ["localhost", "127.", "[::1]"].iter().any(|host| endpoint.starts_with(host));
    let scheme = if insecure.unwrap_or(here) { "http" } else { "https" };
    format!("{scheme}://{endpoint}")
}

/// An endpoint without what may be secret: user, password and query.
pub(crate) fn shown(endpoint: &str) -> String {
    let end = endpoint.find(['?', '#']).unwrap_or(endpoint.len());
    let endpoint = &endpoint[..end];
    let (scheme, rest) = endpoint.split_once("://").map_or(("", endpoint), |(scheme, rest)| (scheme, rest));
    let host = rest.find('/').unwrap_or(rest.len());
    let rest = rest[..host].rfind('@').map_or(rest, |at| &rest[at + 1..]);
    if scheme.is_empty() { rest.to_owned() } else { format!("{scheme}://{rest}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn env(values: &'static [(&'static str, &'static str)]) -> Environment {
        Environment::read(|name| {
            values.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned())
        })
    }

    fn endpoint(otlp: &Otlp, env: &Environment, signal: Signal) -> Option<String> {
        otlp.target(signal, env, false).unwrap().map(|target| target.endpoint)
    }

    #[test]
    fn case_otlp_09_base_endpoints_get_the_signals_path_and_signal_endpoints_do_not() {
        let general = [
            ("http://127.0.0.1:4318", "http://127.0.0.1:4318/v1/"),
            ("http://127.0.0.1:4318/", "http://127.0.0.1:4318/v1/"),
            ("http://127.0.0.1:4318/prefix", "http://127.0.0.1:4318/prefix/v1/"),
            ("http://127.0.0.1:4318/v1/traces", "http://127.0.0.1:4318/v1/"),
        ];
        for (base, expected) in general {
            let by_code = Otlp::new(base);
            let from_env =
                Environment::read(|name| (name == "OTEL_EXPORTER_OTLP_ENDPOINT").then(|| base.to_owned()));
            for (signal, path) in [(Signal::Traces, "traces"), (Signal::Metrics, "metrics")] {
                let expected = Some(format!("{expected}{path}"));
                assert_eq!(endpoint(&by_code, &Environment::default(), signal), expected);
                assert_eq!(endpoint(&Otlp::default(), &from_env, signal), expected);
            }
        }
        let own = env(&[("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://127.0.0.1:4318/custom")]);
        let found = endpoint(&Otlp::default(), &own, Signal::Traces);
        assert_eq!(found.as_deref(), Some("http://127.0.0.1:4318/custom"));
        assert_eq!(endpoint(&Otlp::default(), &own, Signal::Metrics), None, "nothing names its endpoint");
    }

    #[test]
    fn case_config_04_code_wins_over_the_environments_headers_and_others_are_merged() {
        let env = env(&[
            ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1"),
            ("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Bearer%20other,x-team=green"),
        ]);
        let target = Otlp::default()
            .header("Authorization", "Bearer mine")
            .target(Signal::Traces, &env, false)
            .unwrap()
            .unwrap();
        assert_eq!(target.headers["authorization"], "Bearer mine");
        assert_eq!(target.headers["x-team"], "green");
        assert_eq!(target.headers.len(), 2);
    }

    #[test]
    fn case_security_02_no_part_of_a_token_is_shown() {
        let token = "tok-EXAMPLE-0123456789";
        let otlp = Otlp::new(format!("http://user:{token}@127.0.0.1:1/x?key={token}"))
            .header("authorization", format!("Bearer {token}"));
        let target = otlp.target(Signal::Traces, &Environment::default(), false).unwrap().unwrap();
        let error = target.unusable("down");
        let bad = Otlp::new("http://127.0.0.1:1").header("authorization", format!("{token}\n"));
        let bad = bad.target(Signal::Traces, &Environment::default(), false).unwrap_err();
        for text in [
            format!("{otlp:?}"),
            target.shown(),
            format!("{:?}", target.headers),
            error.to_string(),
            format!("{error:?}"),
            bad.to_string(),
            format!("{bad:?}"),
        ] {
            assert!(!text.contains("tok-") && !text.contains("EXAMPLE") && !text.contains("6789"), "{text}");
        }
        assert!(bad.to_string().contains("authorization"));
    }

    #[test]
    fn an_endpoint_without_a_scheme_is_plain_text_only_here() {
        let secure = |endpoint: &str, insecure| with_scheme(endpoint.to_owned(), insecure);
        assert_eq!(secure("localhost:4317", None), "http://localhost:4317");
        assert_eq!(secure("collector:4317", None), "https://collector:4317");
        assert_eq!(secure("collector:4317", Some(true)), "http://collector:4317");
        assert_eq!(secure("http://collector:4317", Some(false)), "http://collector:4317");
    }

    #[test]
    fn values_of_the_environment_that_make_no_sense_are_ignored() {
        let env = env(&[
            ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1"),
            ("OTEL_EXPORTER_OTLP_PROTOCOL", "carrier-pigeon"),
            ("OTEL_EXPORTER_OTLP_TIMEOUT", "soon"),
            ("OTEL_EXPORTER_OTLP_COMPRESSION", "gzip"),
        ]);
        let target = Otlp::default().target(Signal::Logs, &env, false).unwrap().unwrap();
        assert_eq!(target.protocol, Protocol::HttpProtobuf);
        assert_eq!(target.patience.timeout, Duration::from_secs(10));
        assert!(target.gzip);
    }
}
