//! A receiver of HTTP requests that answers as it is told, and what it has seen.

// Each test program uses another part.
#![allow(dead_code, unreachable_pub)]

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::metrics::v1::Metric;
use opentelemetry_proto::tonic::trace::v1::Span;
use prost::Message as _;

/// Long enough for any machine; nothing waits for it but a test that fails.
pub const DEADLINE: Duration = Duration::from_secs(60);

/// One request.
#[derive(Clone, Debug)]
pub struct Seen {
    pub path: String,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
    /// The status that it was answered with; 0 when the connection was closed instead.
    pub answered: u16,
}

impl Seen {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    fn unpacked(&self) -> Vec<u8> {
        if self.header("content-encoding") != Some("gzip") {
            return self.body.clone();
        }
        let mut body = Vec::new();
        flate2::read::GzDecoder::new(&*self.body).read_to_end(&mut body).expect("gzip");
        body
    }

    pub fn spans(&self) -> Vec<Span> {
        if self.path != "/v1/traces" {
            return Vec::new();
        }
        let body = self.unpacked();
        let request: ExportTraceServiceRequest = if self.header("content-type") == Some("application/json") {
            serde_json::from_slice(&body).expect("OTLP/JSON")
        } else {
            ExportTraceServiceRequest::decode(&*body).expect("OTLP")
        };
        let scopes = request.resource_spans.into_iter().flat_map(|resource| resource.scope_spans);
        scopes.flat_map(|scope| scope.spans).collect()
    }

    pub fn metrics(&self) -> Vec<Metric> {
        if self.path != "/v1/metrics" {
            return Vec::new();
        }
        let request = ExportMetricsServiceRequest::decode(&*self.unpacked()).expect("OTLP");
        let scopes = request.resource_metrics.into_iter().flat_map(|resource| resource.scope_metrics);
        scopes.flat_map(|scope| scope.metrics).collect()
    }
}

/// What to do with a request.
#[derive(Clone, Debug)]
pub enum Answer {
    /// Status, further header lines, body.
    Status(u16, Vec<(&'static str, String)>, Vec<u8>),
    /// Close the connection without a word.
    Close,
    /// Keep it open without a word until the stub ends.
    Hang,
    /// Bytes of some other protocol.
    Garbage,
}

impl Answer {
    pub fn ok() -> Self {
        Self::Status(200, Vec::new(), Vec::new())
    }

    pub fn status(status: u16) -> Self {
        Self::Status(status, Vec::new(), Vec::new())
    }
}

type Script = dyn Fn(usize, &Seen) -> Answer + Send + Sync;

#[derive(Default)]
struct State {
    seen: Mutex<Vec<Seen>>,
    changed: Condvar,
    over: AtomicBool,
}

pub struct Stub {
    address: SocketAddr,
    state: Arc<State>,
    thread: Option<JoinHandle<()>>,
}

impl Stub {
    /// Answers each request by what `script` says of it; it gets the request's number, from 0.
    pub fn start(script: impl Fn(usize, &Seen) -> Answer + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("a bound socket has an address");
        let state = Arc::new(State::default());
        let script: Arc<Script> = Arc::new(script);
        let shared = Arc::clone(&state);
        let thread = std::thread::spawn(move || {
            for stream in listener.incoming() {
                if shared.over.load(Ordering::Relaxed) {
                    return;
                }
                let (state, script) = (Arc::clone(&shared), Arc::clone(&script));
                if let Ok(stream) = stream {
                    std::thread::spawn(move || connection(stream, &state, &*script));
                }
            }
        });
        Self { address, state, thread: Some(thread) }
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub fn port(&self) -> u16 {
        self.address.port()
    }

    pub fn seen(&self) -> Vec<Seen> {
        self.state.seen.lock().unwrap().clone()
    }

    /// Waits until what was seen is enough.
    pub fn wait_for(&self, enough: impl Fn(&[Seen]) -> bool) -> Vec<Seen> {
        let end = Instant::now() + DEADLINE;
        let mut seen = self.state.seen.lock().unwrap();
        while !enough(&seen) {
            let left = end.checked_duration_since(Instant::now()).expect("not enough was seen in time");
            seen = self.state.changed.wait_timeout(seen, left).unwrap().0;
        }
        seen.clone()
    }

    /// Spans in requests that were answered with 200.
    pub fn taken(&self) -> Vec<Span> {
        self.seen().iter().filter(|seen| seen.answered == 200).flat_map(Seen::spans).collect()
    }
}

impl Drop for Stub {
    fn drop(&mut self) {
        self.state.over.store(true, Ordering::Relaxed);
        // Wakes the accept.
        drop(TcpStream::connect(self.address));
        if let Some(thread) = self.thread.take() {
            thread.join().expect("the stub's thread");
        }
    }
}

fn connection(stream: TcpStream, state: &State, script: &Script) {
    let mut reader = BufReader::new(stream.try_clone().expect("a second handle"));
    let mut stream = stream;
    while let Some(mut seen) = read(&mut reader) {
        let mut all = state.seen.lock().unwrap();
        let answer = script(all.len(), &seen);
        seen.answered = match &answer {
            Answer::Status(status, ..) => *status,
            _ => 0,
        };
        all.push(seen);
        drop(all);
        state.changed.notify_all();
        match answer {
            Answer::Close => return,
            Answer::Hang => {
                // Ends when the other side gives up.
                let mut rest = Vec::new();
                let _ = reader.read_to_end(&mut rest);
                return;
            }
            Answer::Garbage => {
                let _ = stream.write_all(b"\x00\x00\x12\x04\x00\x00\x00\x00\x00SSH-2.0-not-http\r\n");
                return;
            }
            Answer::Status(status, headers, body) => {
                let lines: Vec<String> =
                    headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
                let headers = lines.concat();
                let head = format!("HTTP/1.1 {status} x\r\ncontent-length: {}\r\n{headers}\r\n", body.len());
                if stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(&body)).is_err() {
                    return;
                }
            }
        }
    }
}

fn read(reader: &mut BufReader<TcpStream>) -> Option<Seen> {
    let mut line = String::new();
    reader.read_line(&mut line).ok().filter(|length| *length > 0)?;
    let path = line.split(' ').nth(1)?.to_owned();
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok().filter(|length| *length > 0)?;
        let Some((name, value)) = line.trim_end().split_once(": ") else { break };
        headers.push((name.to_ascii_lowercase(), value.to_owned()));
    }
    let length = headers.iter().find(|(name, _)| name == "content-length");
    let mut body = vec![0; length.map_or(0, |(_, length)| length.parse().unwrap())];
    reader.read_exact(&mut body).ok()?;
    Some(Seen { path, headers, body, answered: 0 })
}

/// A port on which nothing listens.
pub fn closed_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}
