//! Real receivers of telemetry, each a process of its own on free ports of 127.0.0.1, stopped when dropped.

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

/// Long enough for any machine; nothing waits for it but a test that fails.
pub const DEADLINE: Duration = Duration::from_secs(90);

/// Asks until there is an answer.
///
/// # Panics
/// When there is none in time.
pub fn eventually<T>(what: &str, mut ask: impl FnMut() -> Option<T>) -> T {
    let end = Instant::now() + DEADLINE;
    loop {
        if let Some(answer) = ask() {
            return answer;
        }
        assert!(Instant::now() < end, "{what}: not in time");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// A port that was free a moment ago.
///
/// # Panics
/// When no port is free.
pub fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    listener.local_addr().expect("a bound socket has an address").port()
}

/// The body of an answer with status 200; `None` for anything else.
pub fn get(port: u16, path: &str) -> Option<String> {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).ok()?;
    stream.set_read_timeout(Some(DEADLINE)).ok()?;
    // HTTP/1.0: an answer without chunks that ends with the connection.
    write!(stream, "GET {path} HTTP/1.0\r\nhost: 127.0.0.1\r\n\r\n").ok()?;
    let mut text = String::new();
    stream.read_to_string(&mut text).ok()?;
    let (head, body) = text.split_once("\r\n\r\n")?;
    (head.split(' ').nth(1) == Some("200")).then(|| body.to_owned())
}

/// A folder of its own, removed when dropped.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path =
            std::env::temp_dir().join(format!("wattspan-{name}-{}-{}", std::process::id(), free_port()));
        std::fs::create_dir_all(&path).expect("a temporary folder");
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

struct Process {
    child: Child,
    _folder: Folder,
}

impl Process {
    fn start(program: &OsStr, arguments: &[String], folder: Folder) -> Self {
        let child = Command::new(program)
            .args(arguments)
            .current_dir(&folder.0)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap_or_else(|error| {
                panic!("{} did not start ({error}): run `cargo xtask setup`", program.display())
            });
        Self { child, _folder: folder }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A rotel that hands on what it receives.
pub struct Rotel {
    /// Its port for gRPC.
    pub grpc: u16,
    /// Its port for HTTP.
    pub http: u16,
    _process: Process,
}

impl Rotel {
    /// Starts it, to hand on to a gRPC receiver.
    pub fn start(onward: &str) -> Self {
        let (grpc, http) = (free_port(), free_port());
        let folder = Folder::new("rotel");
        let pair = |name: &str, value: String| [name.to_owned(), value];
        let arguments = [
            pair("--otlp-grpc-endpoint", format!("127.0.0.1:{grpc}")),
            pair("--otlp-http-endpoint", format!("127.0.0.1:{http}")),
            pair("--exporter", "otlp".to_owned()),
            pair("--otlp-exporter-endpoint", onward.to_owned()),
            pair("--otlp-exporter-protocol", "grpc".to_owned()),
            pair("--pid-file", folder.0.join("pid").display().to_string()),
            pair("--log-file", folder.0.join("log").display().to_string()),
        ];
        let arguments: Vec<String> =
            std::iter::once("start".to_owned()).chain(arguments.into_iter().flatten()).collect();
        let process = Process::start(wattspan_testkit::peers::rotel().as_os_str(), &arguments, folder);
        for port in [grpc, http] {
            eventually("rotel", || TcpStream::connect(("127.0.0.1", port)).ok());
        }
        Self { grpc, http, _process: process }
    }
}

/// Debian's Prometheus, scraping one target every second.
pub struct Prometheus {
    port: u16,
    _process: Process,
}

impl Prometheus {
    /// Starts it and waits until it answers.
    ///
    /// # Panics
    /// When it is not installed or does not start.
    pub fn scraping(target: u16) -> Self {
        let port = free_port();
        let folder = Folder::new("prometheus");
        let config = format!(
            "global:\n  scrape_interval: 1s\nscrape_configs:\n  - job_name: wattspan\n    static_configs:\n      \
             - targets: ['127.0.0.1:{target}']\n"
        );
        let path = folder.0.join("prometheus.yml");
        std::fs::write(&path, config).expect("the configuration is written");
        let arguments = [
            format!("--config.file={}", path.display()),
            format!("--storage.tsdb.path={}", folder.0.join("data").display()),
            format!("--web.listen-address=127.0.0.1:{port}"),
        ];
        let process = Process::start("prometheus".as_ref(), &arguments, folder);
        eventually("prometheus", || get(port, "/-/ready"));
        Self { port, _process: process }
    }

    /// The values of an instant query, each with its labels.
    pub fn query(&self, promql: &str) -> Vec<(Value, f64)> {
        let mut encoded = String::new();
        for byte in promql.bytes() {
            let _ = write!(encoded, "%{byte:02X}");
        }
        let answer = get(self.port, &format!("/api/v1/query?query={encoded}"));
        let answer: Value = answer.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or(Value::Null);
        let results = answer["data"]["result"].as_array().cloned().unwrap_or_default();
        let value = |result: Value| {
            let value = result["value"][1].as_str()?.parse().ok()?;
            Some((result["metric"].clone(), value))
        };
        results.into_iter().filter_map(value).collect()
    }
}

/// Debian's Pushgateway.
pub struct Gateway {
    /// Its port.
    pub port: u16,
    _process: Process,
}

impl Gateway {
    /// Starts it and waits until it answers.
    pub fn start() -> Self {
        let port = free_port();
        let folder = Folder::new("pushgateway");
        let arguments = [format!("--web.listen-address=127.0.0.1:{port}")];
        let process = Process::start("prometheus-pushgateway".as_ref(), &arguments, folder);
        eventually("pushgateway", || get(port, "/-/ready"));
        Self { port, _process: process }
    }
}

/// Runs promtool with a text on its input and answers with what it says; empty when it is content.
///
/// # Panics
/// When it is not installed.
pub fn promtool(arguments: &[&str], input: &str) -> String {
    let mut child = Command::new("promtool")
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("promtool did not start: run `cargo xtask setup`");
    // It reads all before it writes, so that nothing waits for each other.
    child.stdin.take().expect("stdin is piped").write_all(input.as_bytes()).expect("it reads its input");
    let output = child.wait_with_output().expect("promtool ends");
    if output.status.success() && output.stderr.is_empty() {
        return String::new();
    }
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}
