//! Developer commands of the workspace: `cargo xtask <command>`.
//!
//! Depends on no crate of ours, so that it still runs when they do not build. Everything that judges is a pure function
//! over text with its tests beside it; reading files and starting programs is kept apart in thin wrappers.

// A program for the terminal: printing is its output.
#![allow(clippy::print_stdout, clippy::print_stderr)]
// A binary has no public API; `pub` here only says "used by another module".
#![allow(unreachable_pub)]
// Reports are put together line by line; `write!` to a String would need its impossible error handled each time.
#![allow(clippy::format_push_string, clippy::format_collect)]

mod bench;
mod codegen;
mod counts;
mod cross;
mod demo;
mod features;
mod fuzz;
mod metadata;
mod parts;
mod process;
mod setup;
mod test;
mod tidy;
mod tools_env;

use std::process::ExitCode;

/// The outcome of a command: the error is the text that the user reads; it is empty when the command has said it all.
type Outcome<T = ()> = Result<T, String>;

/// One command: its name, its line in the help, and what runs it with the arguments that follow the name.
struct Command {
    name: &'static str,
    help: &'static str,
    run: fn(&[String]) -> Outcome,
}

const COMMANDS: &[Command] = &[
    Command {
        name: "setup",
        help: "install what the build and the tests need and this machine lacks",
        run: setup::command,
    },
    Command {
        name: "test",
        help: "the one test command: setup, formatting, lints, all tests, docs, tidy, fuzz targets; or `test PART…`",
        run: test::command,
    },
    Command {
        name: "tidy",
        help: "the crate graph, generated code, docs, dependencies, licences and file lengths",
        run: tidy::command,
    },
    Command {
        name: "codegen",
        help: "write what is generated from the registries; `--check` only compares",
        run: run_codegen,
    },
    Command {
        name: "bench",
        help: "benchmarks, of all crates or `bench NAME [-- ARGS]`",
        run: bench::command,
    },
    Command {
        name: "gpu-check",
        help: "check a real GPU's sensors, in under five minutes; says what it skipped; arguments go to `gpu_check`",
        run: gpu_check,
    },
    Command {
        name: "demo",
        help: "real inferences through the instrumented clients, and what each used; `demo --help`",
        run: demo::command,
    },
    Command { name: "fuzz", help: "fuzz targets, `fuzz [TARGET] [--seconds N]`", run: fuzz::command },
    Command {
        name: "cross",
        help: "type-check the libraries for macOS and Windows; `--debian` with Debian's Rust",
        run: cross::command,
    },
    Command {
        name: "check-all",
        help: "the slow rest: every feature of the facade alone, and one more Windows target",
        run: cross::check_all,
    },
];

fn gpu_check(args: &[String]) -> Outcome {
    let package = ["run", "--quiet", "--package", "wattspan-examples", "--bin", "gpu_check", "--"];
    process::run(process::cargo().args(package).args(args))
}

fn run_codegen(args: &[String]) -> Outcome {
    match args {
        [] => codegen::run(false),
        [flag] if flag == "--check" => codegen::run(true),
        _ => Err("codegen takes `--check` or nothing".into()),
    }
}

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let Some((name, rest)) = args.split_first() else {
        print!("{}", help());
        return ExitCode::from(2);
    };
    if matches!(name.as_str(), "help" | "-h" | "--help") {
        print!("{}", help());
        return ExitCode::SUCCESS;
    }
    let Some(command) = COMMANDS.iter().find(|c| c.name == name) else {
        eprint!("xtask: there is no command `{name}`\n\n{}", help());
        return ExitCode::from(2);
    };
    match (command.run)(rest) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            if !message.is_empty() {
                eprintln!("xtask {name}: {message}");
            }
            ExitCode::FAILURE
        }
    }
}

fn help() -> String {
    let mut text = String::from("Usage: cargo xtask <command>\n\n");
    for command in COMMANDS {
        text.push_str(&format!("  {:<10} {}\n", command.name, command.help));
    }
    text
}
