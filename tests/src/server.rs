//! Starts the real llama-server that `cargo xtask setup` has installed.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// A llama-server of our own, stopped when dropped.
pub struct LlamaServer {
    child: Child,
    /// Its port on 127.0.0.1.
    pub port: u16,
}

impl LlamaServer {
    /// Starts the server with the small model and some slots.
    ///
    /// # Panics
    /// When what `cargo xtask setup` installs is missing, or the server does not start.
    pub fn start(parallel: u32) -> Self {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let script = root.join("crates/wattspan-testkit/assets/llama_server.py");
        let mut child = Command::new(tool(&root, "WATTSPAN_PYTHON"))
            .arg(script)
            .arg("--model")
            .arg(tool(&root, "WATTSPAN_MODEL"))
            .args(["--port", "0", "--parallel", &parallel.to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("python did not start: run `cargo xtask setup`");
        let stdout = child.stdout.take().expect("stdout is piped");
        let mut line = String::new();
        BufReader::new(stdout).read_line(&mut line).expect("the server's first line");
        let port = line.trim().strip_prefix("READY ").and_then(|port| port.parse().ok());
        Self { child, port: port.expect("llama-server did not get ready: run `cargo xtask setup`") }
    }

    /// The base URL.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }
}

impl Drop for LlamaServer {
    fn drop(&mut self) {
        // Closing its input ends it too; this is for a server that hangs.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub(crate) fn tool(root: &Path, key: &str) -> PathBuf {
    if let Some(path) = std::env::var_os(key) {
        return path.into();
    }
    let installed = std::fs::read_to_string(root.join(".tools/env")).unwrap_or_default();
    let found = installed.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix('='));
    found.unwrap_or_else(|| panic!("{key} is not known: run `cargo xtask setup`")).into()
}
