//! A real llama-server as a child process.

use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use crate::fakes::lock;
use crate::peers;

/// How to start a llama-server. The model and the Python are those that `cargo xtask setup` recorded, unless set.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct LlamaOptions {
    /// A GGUF file.
    pub model: Option<PathBuf>,
    /// How many requests it works on at once.
    pub parallel: u32,
    /// Context in tokens, shared out over them.
    pub context: u32,
    /// CPU threads.
    pub threads: u32,
    /// Key that requests must bring.
    pub api_key: Option<String>,
    /// Whether it serves embeddings too.
    pub embeddings: bool,
    /// How long it may take until it is ready.
    pub deadline: Duration,
}

impl Default for LlamaOptions {
    /// Two slots and two threads, enough for tests; five minutes to be ready, on a slow and busy machine.
    fn default() -> Self {
        Self {
            model: None,
            parallel: 2,
            context: 2_048,
            threads: 2,
            api_key: None,
            embeddings: false,
            deadline: Duration::from_secs(300),
        }
    }
}

/// A running llama-server on loopback. It ends with this value, and also when this process dies.
#[derive(Debug)]
pub struct LlamaServer {
    child: Child,
    port: u16,
}

/// A llama-server that did not start.
#[derive(Debug, thiserror::Error)]
#[error("llama-server did not start: {reason}; its last words:\n{log}")]
pub struct LlamaServerError {
    reason: String,
    log: String,
}

impl LlamaServer {
    /// Starts a server and waits until it is healthy.
    ///
    /// # Errors
    /// When it ends or stays silent before it is ready.
    ///
    /// # Panics
    /// When Python or the model is not there; the message names `cargo xtask setup`.
    #[track_caller]
    pub fn start(options: &LlamaOptions) -> Result<Self, LlamaServerError> {
        let model = options.model.clone().unwrap_or_else(peers::model);
        let mut command = Command::new(peers::python());
        command
            .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/llama_server.py"))
            .arg("--port")
            .arg("0");
        command.arg("--model").arg(model);
        for (name, number) in
            [("--parallel", options.parallel), ("--ctx", options.context), ("--threads", options.threads)]
        {
            command.arg(name).arg(number.to_string());
        }
        if let Some(key) = &options.api_key {
            command.arg("--api-key").arg(key);
        }
        if options.embeddings {
            command.arg("--embeddings");
        }
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command
            .spawn()
            .map_err(|error| LlamaServerError { reason: error.to_string(), log: String::new() })?;
        let log = child.stderr.take().map(tail).unwrap_or_default();
        let ready = child.stdout.take().map(lines);
        // From here on, dropping it ends the child.
        let mut server = Self { child, port: 0 };
        match ready.map(|lines| port(&lines, options.deadline)) {
            Some(Ok(port)) => {
                server.port = port;
                Ok(server)
            }
            failed => {
                let reason = failed.and_then(Result::err).unwrap_or_else(|| "it has no output".to_owned());
                drop(server);
                let log = lock(&log).clone();
                Err(LlamaServerError { reason, log })
            }
        }
    }

    /// Its port on 127.0.0.1.
    pub const fn port(&self) -> u16 {
        self.port
    }

    /// Its address, as `http://127.0.0.1:<port>`.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Its process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for LlamaServer {
    fn drop(&mut self) {
        // The server ends when its input is closed; if it hangs, it is killed.
        drop(self.child.stdin.take());
        let until = Instant::now() + Duration::from_secs(5);
        while Instant::now() < until {
            if !matches!(self.child.try_wait(), Ok(None)) {
                return;
            }
            thread::sleep(Duration::from_millis(20));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The port of the line `READY <port>`.
fn port(lines: &Receiver<String>, deadline: Duration) -> Result<u16, String> {
    let until = Instant::now() + deadline;
    loop {
        match lines.recv_timeout(until.saturating_duration_since(Instant::now())) {
            Ok(line) => {
                if let Some(port) = line.strip_prefix("READY ").and_then(|port| port.trim().parse().ok()) {
                    return Ok(port);
                }
            }
            Err(RecvTimeoutError::Timeout) => return Err(format!("it was not ready within {deadline:?}")),
            Err(RecvTimeoutError::Disconnected) => return Err("it ended before it was ready".to_owned()),
        }
    }
}

/// Reads lines on a thread of their own, since a pipe cannot be waited for with a bound.
fn lines(pipe: impl Read + Send + 'static) -> Receiver<String> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        for line in BufReader::new(pipe).lines().map_while(Result::ok) {
            // Also with nobody listening: a full pipe would stop the server.
            let _ = sender.send(line);
        }
    });
    receiver
}

/// Bytes of a log that are kept.
const LONGEST_LOG: usize = 4_000;

/// Keeps the end of a log.
fn tail(pipe: impl Read + Send + 'static) -> Arc<Mutex<String>> {
    let kept = Arc::new(Mutex::new(String::new()));
    let log = Arc::clone(&kept);
    thread::spawn(move || {
        for line in BufReader::new(pipe).lines().map_while(Result::ok) {
            let mut log = lock(&log);
            log.push_str(&line);
            log.push('\n');
            if log.len() > LONGEST_LOG {
                let cut = (log.len() - LONGEST_LOG..=log.len()).find(|byte| log.is_char_boundary(*byte));
                log.drain(..cut.unwrap_or_default());
            }
        }
    });
    kept
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::net::TcpStream;

    #[test]
    fn a_real_server_answers_and_ends() {
        let server = LlamaServer::start(&LlamaOptions::default()).unwrap();
        let mut stream = TcpStream::connect(("127.0.0.1", server.port())).unwrap();
        stream.write_all(b"GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 200") && answer.contains("ok"), "{answer}");
        assert!(server.url().ends_with(&server.port().to_string()));
        let port = server.port();
        drop(server);
        assert!(TcpStream::connect(("127.0.0.1", port)).is_err());
    }

    #[test]
    fn a_server_that_cannot_start_says_why() {
        let options = LlamaOptions { model: Some("/nowhere/model.gguf".into()), ..LlamaOptions::default() };
        let error = LlamaServer::start(&options).unwrap_err().to_string();
        assert!(error.contains("llama-server did not start"), "{error}");
    }

    #[test]
    fn only_the_line_that_says_so_makes_it_ready() {
        let (sender, receiver) = mpsc::channel();
        for line in ["warming up", "READY soon", "READY 8080"] {
            sender.send(line.to_owned()).unwrap();
        }
        assert_eq!(port(&receiver, Duration::from_secs(60)), Ok(8_080));
        drop(sender);
        assert_eq!(port(&receiver, Duration::from_secs(60)), Err("it ended before it was ready".to_owned()));
    }
}
