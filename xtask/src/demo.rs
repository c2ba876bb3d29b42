//! `cargo xtask demo`: installs what is missing, then runs the demo program: through llama-server first, whose results
//! come within seconds, then with llama.cpp in the process, which is built once and takes minutes.

use crate::Outcome;
use crate::process::{cargo, root};
use std::io::stderr;
use std::process::{Command, Stdio};

const HELP: &str = "\
cargo xtask demo [OPTIONS]
  --offline        install nothing; what is missing is an error
  --model PATH     take this GGUF file instead of the small model
  --server URL     ask a running llama-server instead of starting one; nothing runs in this process then
  --prompts FILE   take the prompts from this file, one a line
  --json           print the report as JSON on standard output; everything else goes to standard error
  --server-only    leave out llama.cpp in the process, and its build";

/// What the user asked for, and what the demo program is given.
#[derive(Debug, Default, PartialEq, Eq)]
struct Options {
    offline: bool,
    json: bool,
    in_process: bool,
    rest: Vec<String>,
}

pub fn command(args: &[String]) -> Outcome {
    if args.iter().any(|arg| arg == "--help" || arg == "-h") {
        println!("{HELP}");
        return Ok(());
    }
    let options = parse(args)?;
    if !options.offline {
        // A child, so that its words go to standard error and leave standard output to the report.
        let myself = std::env::current_exe().map_err(|error| format!("cannot find this program: {error}"))?;
        quietly(Command::new(myself).args(["setup", "--demo"]).current_dir(root()))?;
    }
    let folder = root().join("target/demo");
    std::fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let lines = folder.join("lines.json").display().to_string();
    let mut first = demo(&[], &options);
    if options.in_process {
        first.args(["--save", &lines]);
    } else if options.json {
        first.arg("--json");
    }
    // With a second part the first one's table is only a foretaste.
    start(first.stdout(if options.json && options.in_process {
        Stdio::from(stderr())
    } else {
        Stdio::inherit()
    }))?;
    if !options.in_process {
        return Ok(());
    }
    eprintln!("\nNow the same with llama.cpp in this process. It is built once, which takes some minutes …");
    let features = ["--features", "llama-cpp"];
    quietly(
        cargo().args(["build", "--quiet", "--package", "wattspan-examples", "--bin", "demo"]).args(features),
    )?;
    let mut second = demo(&features, &options);
    second.args(["--in-process", "--with", &lines]);
    if options.json {
        second.arg("--json");
    }
    start(&mut second)
}

fn demo(features: &[&str], options: &Options) -> Command {
    let mut demo = cargo();
    demo.args(["run", "--quiet", "--package", "wattspan-examples", "--bin", "demo"]);
    demo.args(features).arg("--").args(&options.rest).arg("--folder").arg(root().join("target/demo"));
    demo
}

fn start(command: &mut Command) -> Outcome {
    let status = command.status().map_err(|error| format!("cannot start the demo: {error}"))?;
    if status.success() { Ok(()) } else { Err(format!("the demo failed ({status})")) }
}

fn quietly(command: &mut Command) -> Outcome {
    start(command.stdin(Stdio::null()).stdout(Stdio::from(stderr())))
}

fn parse(args: &[String]) -> Outcome<Options> {
    let mut options = Options { in_process: true, ..Options::default() };
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--offline" => options.offline = true,
            "--json" => options.json = true,
            "--server-only" => options.in_process = false,
            "--model" | "--prompts" | "--server" => {
                let value = args.next().ok_or(format!("{arg} needs a value\n{HELP}"))?;
                // The demo program runs in the workspace's root, whatever folder this was called from.
                let value = if arg == "--server" { value.clone() } else { absolute(value) };
                options.in_process &= arg != "--server";
                options.rest.extend([arg.clone(), value]);
            }
            other => return Err(format!("unknown option {other}\n{HELP}")),
        }
    }
    Ok(options)
}

fn absolute(path: &str) -> String {
    std::path::absolute(path).map_or_else(|_| path.to_owned(), |path| path.display().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(args: &[&str]) -> Outcome<Options> {
        parse(&args.iter().map(ToString::to_string).collect::<Vec<_>>())
    }

    #[test]
    fn a_running_server_leaves_nothing_to_do_in_process() {
        let options = parsed(&["--server", "http://127.0.0.1:1", "--json"]).unwrap();
        assert!(!options.in_process && options.json && !options.offline);
        assert_eq!(options.rest, ["--server", "http://127.0.0.1:1"]);
    }

    #[test]
    fn relative_files_are_made_absolute() {
        let options = parsed(&["--prompts", "x.txt"]).unwrap();
        assert!(std::path::Path::new(&options.rest[1]).is_absolute());
        assert!(options.in_process);
    }

    #[test]
    fn what_is_unknown_or_lacks_its_value_is_an_error_with_the_help() {
        assert!(parsed(&["--modell"]).unwrap_err().contains("--model PATH"));
        assert!(parsed(&["--model"]).unwrap_err().contains("needs a value"));
    }
}
