//! The program as a shell starts it, with an environment that holds nothing but what a test puts there.

#![allow(dead_code, reason = "each test program uses a part of this")]

use std::io::{BufRead as _, BufReader, PipeReader, Read as _, Write as _};
use std::net::TcpListener;
use std::process::{Child, Command, Output, Stdio};
use std::sync::{Arc, Mutex};

use serde_json::Value;
use wattspan_fake_nvml::{FakeNvml, ScriptFile};

/// The program with some arguments.
pub(crate) fn wattspan(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_wattspan"));
    command.args(arguments).env_clear().stdin(Stdio::null());
    if let Some(path) = std::env::var_os("PATH") {
        command.env("PATH", path);
    }
    command
}

/// What it ended with.
pub(crate) struct Ended {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Ended {
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.stdout)
            .unwrap_or_else(|error| panic!("{error} in {:?}; stderr: {}", self.stdout, self.stderr))
    }

    /// The JSON of each line.
    #[track_caller]
    pub(crate) fn lines(&self) -> Vec<Value> {
        lines(&self.stdout)
    }
}

#[track_caller]
pub(crate) fn lines(text: &str) -> Vec<Value> {
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error} in {line:?}")))
        .collect()
}

impl From<Output> for Ended {
    fn from(output: Output) -> Self {
        Self {
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).expect("output is UTF-8"),
            stderr: String::from_utf8(output.stderr).expect("messages are UTF-8"),
        }
    }
}

pub(crate) fn run(command: &mut Command) -> Ended {
    command.output().expect("the program starts").into()
}

pub(crate) fn start(command: &mut Command) -> Child {
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the program starts")
}

pub(crate) fn finish(child: Child) -> Ended {
    child.wait_with_output().expect("the program ends").into()
}

/// A pipe that nobody reads.
pub(crate) fn closed_pipe() -> Stdio {
    let (reader, writer) = std::io::pipe().expect("there are pipes");
    drop::<PipeReader>(reader);
    writer.into()
}

/// Reads up to a text, which must come.
pub(crate) fn read_until(from: &mut impl std::io::Read, text: &str) -> String {
    let mut seen = Vec::new();
    let mut byte = [0];
    while !seen.ends_with(text.as_bytes()) {
        assert_eq!(
            from.read(&mut byte).expect("readable"),
            1,
            "ended after {:?}",
            String::from_utf8_lossy(&seen)
        );
        seen.push(byte[0]);
    }
    String::from_utf8(seen).expect("output is UTF-8")
}

/// What a server answers, head and body.
pub(crate) fn get(address: &str, path: &str) -> String {
    let mut stream = std::net::TcpStream::connect(address).expect("it listens");
    write!(stream, "GET {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n").expect("it reads");
    let mut page = String::new();
    stream.read_to_string(&mut page).expect("it answers");
    page
}

/// GPUs that do as a script says, in the program's own time.
pub(crate) struct Gpus {
    driver: FakeNvml,
    script: ScriptFile,
}

impl Gpus {
    pub(crate) fn new(script: &str) -> Self {
        let driver = FakeNvml::builder().gpus(0).load().expect("the fake driver is built beside the tests");
        let file = ScriptFile::new().expect("the temporary directory can be written");
        file.append(&format!("clock real\n{script}")).expect("the script can be written");
        Self { driver, script: file }
    }

    /// Two GPUs that draw 300 W each.
    pub(crate) fn steady() -> Self {
        Self::new("gpus 2\ngpu all idle 300\ngpu all counter refresh 20000\n")
    }

    /// The program on a machine with these GPUs and without other sensors.
    pub(crate) fn wattspan(&self, arguments: &[&str]) -> Command {
        let mut command = wattspan(arguments);
        command
            .env("WATTSPAN_NVML_LIBRARY", self.driver.path())
            .env(ScriptFile::VARIABLE, self.script.path())
            .env("WATTSPAN_HOST", "off");
        command
    }
}

/// An HTTP server on this machine that keeps the first line of each request.
pub(crate) struct Server {
    pub(crate) url: String,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Server {
    /// Answers each request with 200 and the body that its path has.
    pub(crate) fn start(body: impl Fn(&str) -> String + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("loopback");
        let url = format!("http://{}", listener.local_addr().expect("it is bound"));
        let asked = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&asked);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let Ok(stream) = stream else { return };
                // A client that goes away is its own affair.
                let _ = answer(stream, &body, &kept);
            }
        });
        Self { url, asked }
    }

    /// Method and path of each request so far.
    pub(crate) fn asked(&self) -> Vec<String> {
        self.asked.lock().expect("no test thread panicked").clone()
    }
}

fn answer(
    mut stream: std::net::TcpStream,
    body: &impl Fn(&str) -> String,
    asked: &Mutex<Vec<String>>,
) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let (mut first, mut length) = (String::new(), 0);
    reader.read_line(&mut first)?;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        if line.trim().is_empty() {
            break;
        }
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap_or(0);
        }
    }
    reader.read_exact(&mut vec![0; length])?;
    let words: Vec<&str> = first.split_whitespace().take(2).collect();
    asked.lock().expect("no test thread panicked").push(words.join(" "));
    let body = body(words.last().unwrap_or(&""));
    let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\nconnection: close\r\n\r\n", body.len());
    stream.write_all(head.as_bytes())?;
    stream.write_all(body.as_bytes())
}
