//! Runs real inferences through the instrumented clients and prints what each used. `cargo xtask demo` installs what it
//! needs and runs it.

// A program for the terminal: printing is its output.
#![allow(clippy::print_stdout, clippy::print_stderr)]

use std::io::{BufRead as _, BufReader, IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::Duration;

use wattspan::core::Locality;
use wattspan::llama_server::{ChatRequest, LlamaServer};
use wattspan::{Outcome, Wattspan};
use wattspan_examples::run_folder::{Fault, RunFolder, page};
use wattspan_examples::table::{Line, render};

#[derive(Default)]
struct Options {
    model: Option<PathBuf>,
    server: Option<String>,
    prompts: Option<PathBuf>,
    json: bool,
    in_process: bool,
    /// Lines of an earlier part, to be reported together.
    with: Option<PathBuf>,
    /// Where to leave the lines for a later part.
    save: Option<PathBuf>,
    /// Where the tables and the page about them go.
    folder: Option<PathBuf>,
}

const PROMPTS: [&str; 4] = [
    "Explain in one sentence why the sky is blue.",
    "Write a haiku about a river.",
    "Name three uses of copper.",
    "What is a kilowatt-hour? Answer briefly.",
];

/// How many requests run side by side.
const SIDE_BY_SIDE: usize = 4;

fn main() -> ExitCode {
    match options(std::env::args().skip(1)).and_then(|options| run(&options)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("demo: {error}");
            let mut source = error.source();
            while let Some(cause) = source {
                eprintln!("  because: {cause}");
                source = cause.source();
            }
            ExitCode::FAILURE
        }
    }
}

fn options(mut args: impl Iterator<Item = String>) -> Result<Options, Fault> {
    let mut options = Options::default();
    while let Some(arg) = args.next() {
        let mut value = || args.next().ok_or(format!("{arg} needs a value"));
        match arg.as_str() {
            "--model" => options.model = Some(value()?.into()),
            "--server" => options.server = Some(value()?),
            "--prompts" => options.prompts = Some(value()?.into()),
            "--with" => options.with = Some(value()?.into()),
            "--save" => options.save = Some(value()?.into()),
            "--folder" => options.folder = Some(value()?.into()),
            "--json" => options.json = true,
            "--in-process" => options.in_process = true,
            other => return Err(format!("unknown option {other}").into()),
        }
    }
    Ok(options)
}

fn run(options: &Options) -> Result<(), Fault> {
    let prompts = prompts(options.prompts.as_deref())?;
    let kept = RunFolder::new(if options.in_process { "demo-in-process" } else { "demo-server" })?;
    let builder = Wattspan::from_env()?.service("wattspan-demo", env!("CARGO_PKG_VERSION"));
    let wattspan = kept.listen(builder).start()?;
    if options.with.is_none() {
        introduce(&wattspan);
    }
    let path = if options.in_process {
        in_process(&wattspan, options, &prompts)?;
        "in-process"
    } else {
        server(&wattspan, options, &prompts)?;
        "server"
    };
    if !wattspan.flush(Duration::from_secs(10)) {
        eprintln!("some inferences could not be settled or sent in time");
    }
    let earlier = options.with.as_deref().map(read_earlier).transpose()?.unwrap_or_default();
    let mut lines = earlier.lines;
    lines.extend(kept.records().iter().map(|record| Line::of(path, record)));
    let mut folders = earlier.folders;
    if let Some(base) = &options.folder {
        folders.push(kept.write(base, &wattspan)?);
    }
    let all = serde_json::Value::Array(lines.iter().map(Line::json).collect());
    if let Some(file) = &options.save {
        std::fs::write(file, serde_json::json!({ "lines": all, "folders": folders }).to_string())?;
    }
    if options.json {
        println!("{}", serde_json::to_string_pretty(&all)?);
    } else {
        println!("\n{}", render(&lines));
        println!("{}", destination(&wattspan));
    }
    if let Some(base) = &options.folder {
        eprintln!("The tables and pictures: {}", page(&folders, base)?.display());
    }
    Ok(())
}

/// What an earlier part left.
#[derive(Default)]
struct Earlier {
    lines: Vec<Line>,
    folders: Vec<PathBuf>,
}

fn read_earlier(path: &Path) -> Result<Earlier, Fault> {
    let value: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(path)?)?;
    let list = |name: &str| value[name].as_array().cloned().unwrap_or_default();
    Ok(Earlier {
        lines: list("lines").iter().map(Line::from_json).collect(),
        folders: list("folders").iter().filter_map(|folder| folder.as_str().map(Into::into)).collect(),
    })
}

fn prompts(file: Option<&Path>) -> Result<Vec<String>, Fault> {
    let Some(path) = file else { return Ok(PROMPTS.map(str::to_owned).to_vec()) };
    let text =
        std::fs::read_to_string(path).map_err(|error| format!("cannot read {}: {error}", path.display()))?;
    let prompts: Vec<String> =
        text.lines().map(str::trim).filter(|line| !line.is_empty()).map(str::to_owned).collect();
    if prompts.is_empty() {
        Err(format!("{} has no prompt: write one a line", path.display()).into())
    } else {
        Ok(prompts)
    }
}

fn introduce(wattspan: &Wattspan) {
    eprintln!("What can be measured here:");
    for finding in wattspan.capabilities() {
        if !matches!(finding.outcome, Outcome::NotCompiled) {
            eprintln!("  {finding}");
        }
    }
    let place = wattspan.place();
    let name = place.subdivision.as_deref().or(place.country.as_deref()).unwrap_or("unknown");
    eprintln!("Place: {name} ({})\n", place.basis.as_deref().unwrap_or("not known: set WATTSPAN_COUNTRY"));
}

fn destination(wattspan: &Wattspan) -> String {
    match wattspan.config().text(wattspan::Setting::OtlpEndpoint) {
        Some(endpoint) => format!("Spans and metrics were sent to {endpoint}."),
        None => {
            "No OTLP endpoint is set (OTEL_EXPORTER_OTLP_ENDPOINT): spans and metrics stayed here.".to_owned()
        }
    }
}

/// Shows that something happens; only to a person.
fn progress(text: &str) {
    if std::io::stderr().is_terminal() {
        eprint!("{text}");
        // Progress that cannot be shown is no reason to stop.
        let _ = std::io::stderr().flush();
    }
}

// ---- through llama-server -------------------------------------------------------------------------------------------

/// A llama-server of our own, ended when dropped.
struct OwnServer(Child);

impl Drop for OwnServer {
    fn drop(&mut self) {
        // It also ends when its input closes; this is for one that hangs.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn start_server(model: &Path) -> Result<(OwnServer, String), Fault> {
    let python =
        std::env::var_os("WATTSPAN_PYTHON").ok_or("WATTSPAN_PYTHON is not set: run `cargo xtask demo`")?;
    let script =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/wattspan-testkit/assets/llama_server.py");
    let mut child = Command::new(python)
        .arg(script)
        .arg("--model")
        .arg(model)
        .args(["--port", "0", "--parallel", &SIDE_BY_SIDE.to_string(), "--ctx", "4096"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()?;
    let stdout = child.stdout.take().ok_or("no output of the server")?;
    let server = OwnServer(child);
    let mut line = String::new();
    BufReader::new(stdout).read_line(&mut line)?;
    let port =
        line.trim().strip_prefix("READY ").ok_or("llama-server did not start: is the model a GGUF file?")?;
    Ok((server, format!("http://127.0.0.1:{port}")))
}

fn server(wattspan: &Wattspan, options: &Options, prompts: &[String]) -> Result<(), Fault> {
    let (own, url) = if let Some(url) = &options.server {
        (None, url.clone())
    } else {
        let model = model(options)?;
        eprintln!("Starting llama-server with {} …", model.display());
        let (own, url) = start_server(&model)?;
        (Some(own), url)
    };
    let pid = own.as_ref().map(|own| own.0.id());
    let builder = wattspan.llama_server(&url);
    let client = match pid {
        Some(pid) => builder.locality(Locality::LocalServer { pid: Some(pid) }).build()?,
        None => builder.build()?,
    };
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    runtime.block_on(async {
        eprintln!("One request alone:");
        let first = ask(&client, &prompts[0], true).await?;
        eprintln!("\n\n{} side by side:", prompts.len().min(SIDE_BY_SIDE));
        let asked = prompts.iter().cycle().skip(1).take(prompts.len().max(SIDE_BY_SIDE)).cloned();
        let mut waiting: Vec<_> = asked.collect();
        while !waiting.is_empty() {
            let batch: Vec<_> = waiting.drain(..waiting.len().min(SIDE_BY_SIDE)).collect();
            let answers = batch.iter().map(|prompt| ask(&client, prompt, false));
            for answer in futures_util::future::join_all(answers).await {
                answer?;
            }
        }
        progress("\n");
        Ok::<usize, Fault>(first)
    })?;
    Ok(())
}

async fn ask(client: &LlamaServer, prompt: &str, show: bool) -> Result<usize, Fault> {
    let request = ChatRequest::user("SmolLM2-135M-Instruct", prompt).max_tokens(48);
    let mut pieces = 0;
    client
        .chat_stream(&request, |text| {
            pieces += 1;
            progress(if show { text } else { "·" });
        })
        .await?;
    Ok(pieces)
}

fn model(options: &Options) -> Result<PathBuf, Fault> {
    let model = options.model.clone().or_else(|| std::env::var_os("WATTSPAN_MODEL").map(Into::into));
    let model = model
        .ok_or("no model: give --model PATH, or run `cargo xtask demo` to have a small one installed")?;
    if model.is_file() { Ok(model) } else { Err(format!("there is no file {}", model.display()).into()) }
}

// ---- in this process ------------------------------------------------------------------------------------------------

#[cfg(not(feature = "llama-cpp"))]
fn in_process(_: &Wattspan, _: &Options, _: &[String]) -> Result<(), Fault> {
    Err("this demo was built without llama.cpp: build it with --features llama-cpp".into())
}

#[cfg(feature = "llama-cpp")]
fn in_process(wattspan: &Wattspan, options: &Options, prompts: &[String]) -> Result<(), Fault> {
    wattspan_examples::in_process::run(&wattspan.genai("llama_cpp"), &model(options)?, prompts, &progress)?;
    Ok(())
}
