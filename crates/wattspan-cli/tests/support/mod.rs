//! The program as a shell starts it, with an environment that holds nothing but what a test puts there.

#![allow(dead_code, reason = "each test program uses a part of this")]

use std::io::PipeReader;
use std::process::{Child, Command, Output, Stdio};

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
