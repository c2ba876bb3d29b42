//! Spans over TLS: a receiver whose certificate an authority of ours has signed is trusted once that one is named, and not
//! before; and one that asks who is there gets the client certificate, over HTTP and gRPC.

use std::net::TcpListener;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use opentelemetry::trace::{Tracer as _, TracerProvider as _};
use opentelemetry_proto::tonic::collector::trace::v1::trace_service_server::{
    TraceService, TraceServiceServer,
};
use opentelemetry_proto::tonic::collector::trace::v1::{
    ExportTraceServiceRequest, ExportTraceServiceResponse,
};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, ExtendedKeyUsagePurpose, IsCa, KeyPair};
use rustls::pki_types::PrivateKeyDer;
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig, ServerConnection, StreamOwned};
use tempfile::TempDir;
use tonic::transport::server::TcpIncoming;
use tonic::transport::{Certificate, Identity, Server, ServerTlsConfig};
use tonic::{Request, Response, Status};
use wattspan_otel::{Otlp, Protocol, Telemetry, TelemetryError};

/// How long anything may take that does happen.
const PATIENCE: Duration = Duration::from_secs(30);

/// An authority of our own, and what it has signed.
struct Authority(CertifiedIssuer<'static, KeyPair>);

impl Authority {
    fn new() -> Self {
        let mut authority = CertificateParams::new(Vec::new()).unwrap();
        authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        Self(CertifiedIssuer::self_signed(authority, KeyPair::generate().unwrap()).unwrap())
    }

    /// A certificate of the receiver, and its key.
    fn server(&self) -> (rcgen::Certificate, KeyPair) {
        self.sign(vec!["localhost".to_owned()], ExtendedKeyUsagePurpose::ServerAuth)
    }

    /// A certificate of a program that sends, and its key.
    fn client(&self) -> (rcgen::Certificate, KeyPair) {
        self.sign(Vec::new(), ExtendedKeyUsagePurpose::ClientAuth)
    }

    fn sign(&self, names: Vec<String>, usage: ExtendedKeyUsagePurpose) -> (rcgen::Certificate, KeyPair) {
        let key = KeyPair::generate().unwrap();
        let mut wanted = CertificateParams::new(names).unwrap();
        wanted.extended_key_usages = vec![usage];
        (wanted.signed_by(&key, &self.0).unwrap(), key)
    }
}

/// A folder with the authority's certificate, and a client's certificate and key.
struct Files {
    folder: TempDir,
}

impl Files {
    fn new(authority: &Authority) -> Self {
        let files = Self { folder: tempfile::tempdir().unwrap() };
        let (certificate, key) = authority.client();
        files.write("authority.pem", &authority.0.pem());
        files.write("client.pem", &certificate.pem());
        files.write("client.key", &key.serialize_pem());
        files
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.path(name), text).unwrap();
    }
}

/// A receiver on a free port that answers each request over TLS with success and tells its first line.
struct TlsReceiver {
    port: u16,
    lines: Receiver<String>,
}

/// With `clients`, only programs that this authority knows get through.
fn receiver(authority: &Authority, clients: Option<&Authority>) -> TlsReceiver {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .unwrap();
    let builder = match clients {
        None => builder.with_no_client_auth(),
        Some(clients) => {
            let mut roots = RootCertStore::empty();
            roots.add(clients.0.der().clone()).unwrap();
            let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider).build();
            builder.with_client_cert_verifier(verifier.unwrap())
        }
    };
    let (certificate, key) = authority.server();
    let key = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
    let config = Arc::new(builder.with_single_cert(vec![certificate.der().clone()], key).unwrap());
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let (send, lines) = channel();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let connection = ServerConnection::new(Arc::clone(&config)).unwrap();
            let mut stream = StreamOwned::new(connection, stream.unwrap());
            // A client that does not trust us, or that we do not trust, makes no request.
            let Some(line) = answer(&mut stream) else { continue };
            if send.send(line).is_err() {
                return;
            }
        }
    });
    TlsReceiver { port, lines }
}

/// Reads one whole request, answers it, and tells its first line.
fn answer(stream: &mut (impl std::io::Read + std::io::Write)) -> Option<String> {
    let mut request = Vec::new();
    let mut part = [0; 4_096];
    let whole = |request: &[u8]| {
        let text = String::from_utf8_lossy(request).to_ascii_lowercase();
        let head = text.find("\r\n\r\n")?;
        let length = text[..head].lines().find_map(|line| line.strip_prefix("content-length:"))?;
        (request.len() >= head + 4 + length.trim().parse::<usize>().ok()?).then_some(())
    };
    while whole(&request).is_none() {
        match stream.read(&mut part).ok()? {
            0 => return None,
            read => request.extend_from_slice(&part[..read]),
        }
    }
    stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n").ok()?;
    stream.flush().ok()?;
    String::from_utf8_lossy(&request).lines().next().map(str::to_owned)
}

fn send_a_span(otlp: Otlp) -> bool {
    let telemetry = Telemetry::builder("tls").otlp(otlp).build().unwrap();
    drop(telemetry.tracer_provider().tracer("tls").start("over tls"));
    telemetry.flush_within(Duration::from_secs(10))
}

fn at(port: u16) -> Otlp {
    // What is refused is given up at once.
    Otlp::new(format!("https://localhost:{port}")).retry_for(Duration::ZERO)
}

#[test]
fn a_receiver_with_a_certificate_of_a_named_authority_gets_the_span() {
    let authority = Authority::new();
    let (receiver, files) = (receiver(&authority, None), Files::new(&authority));
    let otlp = Otlp::new(format!("https://localhost:{}", receiver.port));
    assert!(send_a_span(otlp.certificate(files.path("authority.pem"))), "the span was not taken");
    let line = receiver.lines.recv_timeout(PATIENCE).expect("a request arrives");
    assert_eq!(line, "POST /v1/traces HTTP/1.1");
}

#[test]
fn an_authority_that_nobody_named_is_not_trusted() {
    let receiver = receiver(&Authority::new(), None);
    send_a_span(at(receiver.port));
    assert!(receiver.lines.try_recv().is_err(), "a request was made to a receiver that is not trusted");
}

#[test]
fn a_receiver_that_asks_for_a_certificate_gets_the_span_over_http() {
    let authority = Authority::new();
    let (receiver, files) = (receiver(&authority, Some(&authority)), Files::new(&authority));
    let trusting =
        || Otlp::new(format!("https://localhost:{}", receiver.port)).certificate(files.path("authority.pem"));
    let shown = trusting().client_certificate(files.path("client.pem"), files.path("client.key"));
    assert!(send_a_span(shown), "the span was not taken");
    assert_eq!(receiver.lines.recv_timeout(PATIENCE).unwrap(), "POST /v1/traces HTTP/1.1");
    // The variables say the same.
    let telemetry = Telemetry::builder("tls")
        .otlp(trusting())
        .environment({
            let (certificate, key) = (files.path("client.pem"), files.path("client.key"));
            move |name| {
                let path = match name {
                    "OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE" => &certificate,
                    "OTEL_EXPORTER_OTLP_TRACES_CLIENT_KEY" | "OTEL_EXPORTER_OTLP_CLIENT_KEY" => &key,
                    _ => return None,
                };
                Some(path.to_str().unwrap().to_owned())
            }
        })
        .build()
        .unwrap();
    drop(telemetry.tracer_provider().tracer("tls").start("by variables"));
    assert!(telemetry.flush_within(Duration::from_secs(10)), "the span was not taken");
    assert_eq!(receiver.lines.recv_timeout(PATIENCE).unwrap(), "POST /v1/traces HTTP/1.1");
}

#[test]
fn without_a_certificate_or_with_a_strangers_nothing_gets_through() {
    let authority = Authority::new();
    let receiver = receiver(&authority, Some(&authority));
    let (files, stranger) = (Files::new(&authority), Files::new(&Authority::new()));
    let trusting = || at(receiver.port).certificate(files.path("authority.pem"));
    send_a_span(trusting());
    send_a_span(trusting().client_certificate(stranger.path("client.pem"), stranger.path("client.key")));
    assert!(receiver.lines.try_recv().is_err(), "a request of a program that is not known was taken");
}

struct Traces(Sender<usize>);

#[tonic::async_trait]
impl TraceService for Traces {
    async fn export(
        &self,
        request: Request<ExportTraceServiceRequest>,
    ) -> Result<Response<ExportTraceServiceResponse>, Status> {
        let certificates = request.peer_certs().map_or(0, |chain| chain.len());
        // Nobody listens any more when the test is over.
        let _ = self.0.send(certificates);
        Ok(Response::new(ExportTraceServiceResponse::default()))
    }
}

#[test]
fn a_receiver_that_asks_for_a_certificate_gets_the_span_over_grpc() {
    let authority = Authority::new();
    let files = Files::new(&authority);
    let (certificate, key) = authority.server();
    let tls = ServerTlsConfig::new()
        .identity(Identity::from_pem(certificate.pem(), key.serialize_pem()))
        .client_ca_root(Certificate::from_pem(authority.0.pem()));
    let (send, calls) = channel();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let port = {
        let _inside = runtime.enter();
        let incoming = TcpIncoming::bind(([127, 0, 0, 1], 0).into()).unwrap();
        let port = incoming.local_addr().unwrap().port();
        let server =
            Server::builder().tls_config(tls).unwrap().add_service(TraceServiceServer::new(Traces(send)));
        runtime.spawn(server.serve_with_incoming(incoming));
        port
    };
    let trusting = |otlp: Otlp| otlp.protocol(Protocol::Grpc).certificate(files.path("authority.pem"));
    send_a_span(trusting(at(port)));
    assert!(calls.try_recv().is_err(), "a call of a program that showed no certificate was taken");
    let shown = trusting(Otlp::new(format!("https://localhost:{port}")));
    assert!(send_a_span(shown.client_certificate(files.path("client.pem"), files.path("client.key"))));
    assert_eq!(calls.recv_timeout(PATIENCE).unwrap(), 1, "the client's certificate");
}

#[test]
fn wrong_and_missing_files_are_errors_that_name_them_and_quote_nothing() {
    let authority = Authority::new();
    let (files, other) = (Files::new(&authority), Files::new(&authority));
    files.write("empty.key", "");
    let key = std::fs::read_to_string(files.path("client.key")).unwrap();
    let secret = key.lines().nth(1).unwrap();
    files.write("bad.key", &format!("-----BEGIN PRIVATE KEY-----\n!{secret}\n-----END PRIVATE KEY-----\n"));
    let refused = |certificate: PathBuf, key: PathBuf| {
        let otlp = at(1).client_certificate(certificate, key);
        assert!(!format!("{otlp:?}").contains(secret));
        let error = Telemetry::builder("tls").otlp(otlp).build().unwrap_err();
        let text = format!("{error} {error:?}");
        assert!(!text.contains(secret) && !text.contains("PRIVATE KEY"), "{text}");
        (error, text)
    };
    let (error, text) = refused(files.path("gone.pem"), files.path("client.key"));
    assert!(matches!(error, TelemetryError::Certificate { .. }) && text.contains("gone.pem"), "{text}");
    let (error, text) = refused(files.path("client.pem"), files.path("gone.key"));
    assert!(matches!(error, TelemetryError::ClientKey { .. }) && text.contains("gone.key"), "{text}");
    for (certificate, key, named) in [
        (files.path("client.key"), files.path("client.key"), "client.key"),
        (files.path("client.pem"), files.path("empty.key"), "empty.key"),
        (files.path("client.pem"), files.path("bad.key"), "bad.key"),
        (files.path("client.pem"), other.path("client.key"), "not the key of the client certificate"),
    ] {
        let (error, text) = refused(certificate, key);
        assert!(matches!(error, TelemetryError::Identity { .. }) && text.contains(named), "{text}");
    }
}
