//! Spans over TLS: a receiver whose certificate an authority of ours has signed is trusted once that one is named, and not
//! before.

use std::net::TcpListener;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use opentelemetry::trace::{Tracer as _, TracerProvider as _};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::pki_types::PrivateKeyDer;
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use wattspan_otel::{Otlp, Telemetry};

/// A receiver on a free port that answers each request over TLS with success and tells its first line.
struct TlsReceiver {
    port: u16,
    authority: String,
    lines: Receiver<String>,
}

fn receiver() -> TlsReceiver {
    let mut authority = CertificateParams::new(Vec::new()).unwrap();
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority = CertifiedIssuer::self_signed(authority, KeyPair::generate().unwrap()).unwrap();
    let key = KeyPair::generate().unwrap();
    let certificate =
        CertificateParams::new(vec!["localhost".to_owned()]).unwrap().signed_by(&key, &authority).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(
            vec![certificate.der().clone()],
            PrivateKeyDer::try_from(key.serialize_der()).unwrap(),
        )
        .unwrap();
    let config = Arc::new(config);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let (send, lines) = channel();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let connection = ServerConnection::new(Arc::clone(&config)).unwrap();
            let mut stream = StreamOwned::new(connection, stream.unwrap());
            // A client that does not trust us breaks off: then there is no request.
            let Some(line) = answer(&mut stream) else { continue };
            if send.send(line).is_err() {
                return;
            }
        }
    });
    TlsReceiver { port, authority: authority.pem(), lines }
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

#[test]
fn a_receiver_with_a_certificate_of_a_named_authority_gets_the_span() {
    let receiver = receiver();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("authority.pem");
    std::fs::write(&path, &receiver.authority).unwrap();
    let endpoint = format!("https://localhost:{}", receiver.port);
    assert!(send_a_span(Otlp::new(endpoint).certificate(path)), "the span was not taken");
    let line = receiver.lines.recv_timeout(Duration::from_secs(30)).expect("a request arrives");
    assert_eq!(line, "POST /v1/traces HTTP/1.1");
}

#[test]
fn an_authority_that_nobody_named_is_not_trusted() {
    let receiver = receiver();
    let endpoint = format!("https://localhost:{}", receiver.port);
    send_a_span(Otlp::new(endpoint));
    assert!(receiver.lines.try_recv().is_err(), "a request was made to a receiver that is not trusted");
}
