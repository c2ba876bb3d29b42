//! A local HTTP server that answers as a test tells it and remembers what it was asked.

#![allow(dead_code, unreachable_pub)] // Each test program uses its part.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

/// How long a test waits for something that must happen, on any machine.
pub const PATIENCE: Duration = Duration::from_secs(60);

#[derive(Clone, Debug)]
pub struct Request {
    pub method: String,
    /// Path and query.
    pub target: String,
    pub headers: Vec<(String, String)>,
}

impl Request {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(known, _)| known.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.as_str())
    }

    pub fn path(&self) -> &str {
        self.target.split('?').next().unwrap()
    }

    /// A query parameter as it stands in the request, still encoded.
    pub fn query(&self, name: &str) -> Option<&str> {
        let (_, query) = self.target.split_once('?')?;
        query.split('&').find_map(|pair| pair.strip_prefix(name)?.strip_prefix('='))
    }
}

pub enum Reply {
    Send {
        status: u16,
        headers: Vec<(&'static str, String)>,
        body: String,
    },
    /// Keeps the connection open and says nothing.
    Silence,
    /// Closes the connection.
    HangUp,
}

pub fn reply(status: u16, body: impl Into<String>) -> Reply {
    Reply::Send { status, headers: vec![("Content-Type", "application/json".to_owned())], body: body.into() }
}

pub fn reply_with(status: u16, headers: &[(&'static str, &str)], body: impl Into<String>) -> Reply {
    let headers = headers.iter().map(|(name, value)| (*name, (*value).to_owned())).collect();
    Reply::Send { status, headers, body: body.into() }
}

#[derive(Default)]
struct Log {
    connections: usize,
    requests: Vec<Request>,
}

/// The server. Its threads end with the test program.
pub struct Stub {
    pub url: String,
    log: Arc<(Mutex<Log>, Condvar)>,
}

impl Stub {
    pub fn start(handler: impl Fn(&Request) -> Reply + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let log: Arc<(Mutex<Log>, Condvar)> = Arc::default();
        let handler = Arc::new(handler);
        let shared = Arc::clone(&log);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let Ok(stream) = stream else { return };
                shared.0.lock().unwrap().connections += 1;
                let (handler, shared) = (Arc::clone(&handler), Arc::clone(&shared));
                std::thread::spawn(move || serve(&stream, &*handler, &shared));
            }
        });
        Self { url, log }
    }

    pub fn connections(&self) -> usize {
        self.log.0.lock().unwrap().connections
    }

    pub fn requests(&self) -> Vec<Request> {
        self.log.0.lock().unwrap().requests.clone()
    }

    /// Waits until so many requests have come.
    #[track_caller]
    pub fn wait_for(&self, count: usize) -> Vec<Request> {
        let guard = self.log.0.lock().unwrap();
        let (guard, result) =
            self.log.1.wait_timeout_while(guard, PATIENCE, |log| log.requests.len() < count).unwrap();
        assert!(!result.timed_out(), "{} of {count} requests came", guard.requests.len());
        guard.requests.clone()
    }
}

fn serve(
    stream: &TcpStream,
    handler: &(dyn Fn(&Request) -> Reply + Send + Sync),
    log: &(Mutex<Log>, Condvar),
) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    loop {
        let Some(request) = read(&mut reader) else { return };
        // The answer is made before the request counts, so that a test that has waited for it sees its effects.
        let reply = handler(&request);
        log.0.lock().unwrap().requests.push(request);
        log.1.notify_all();
        match reply {
            Reply::HangUp => return,
            Reply::Silence => {
                // Until the other side gives up.
                let _ = reader.read(&mut [0; 1]);
                return;
            }
            Reply::Send { status, headers, body } => {
                let mut text = format!("HTTP/1.1 {status} Status\r\nContent-Length: {}\r\n", body.len());
                for (name, value) in headers {
                    text.extend([name, ": ", &value, "\r\n"]);
                }
                text.push_str("\r\n");
                text.push_str(&body);
                if (&*stream).write_all(text.as_bytes()).is_err() {
                    return;
                }
            }
        }
    }
}

fn read(reader: &mut BufReader<TcpStream>) -> Option<Request> {
    let mut line = String::new();
    if reader.read_line(&mut line).ok()? == 0 {
        return None;
    }
    let mut parts = line.split_whitespace();
    let (method, target) = (parts.next()?.to_owned(), parts.next()?.to_owned());
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let line = line.trim_end();
        if line.is_empty() {
            break;
        }
        let (name, value) = line.split_once(':')?;
        headers.push((name.to_owned(), value.trim().to_owned()));
    }
    Some(Request { method, target, headers })
}

/// Waits until something is so.
#[track_caller]
pub fn wait_until(what: &str, mut condition: impl FnMut() -> bool) {
    let start = Instant::now();
    while !condition() {
        assert!(start.elapsed() < PATIENCE, "{what} did not happen");
        std::thread::sleep(Duration::from_millis(5));
    }
}
