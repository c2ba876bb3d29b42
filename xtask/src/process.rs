//! Starting programs: cargo with the right environment, and outcomes that name the command.

use crate::Outcome;
use crate::tools_env::ToolsEnv;
use std::ffi::OsStr;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// The workspace's folder.
pub fn root() -> PathBuf {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
    manifest.parent().unwrap_or(manifest).to_path_buf()
}

/// A cargo child in the workspace's root: the cargo that started us, with what `setup` recorded.
pub fn cargo() -> Command {
    let mut command = program(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    ToolsEnv::load().apply(&mut command);
    command
}

/// Any program, started in the workspace's root without input.
pub fn program(name: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(name);
    command.current_dir(root()).stdin(Stdio::null());
    // Cargo told us about the package `xtask`. Handed on, these would look like a changed environment to build scripts
    // that watch them (ring's does), and each turn between `cargo xtask` and plain cargo would build those anew.
    for (key, _) in std::env::vars_os() {
        if key.to_str().is_some_and(describes_our_package) {
            command.env_remove(&key);
        }
    }
    command
}

fn describes_our_package(key: &str) -> bool {
    key.starts_with("CARGO_PKG_") || key.starts_with("CARGO_MANIFEST_") || key == "OUT_DIR"
}

/// Runs with the output going to the terminal; the command is shown first.
pub fn run(command: &mut Command) -> Outcome {
    println!("$ {}", line(command));
    let status = command.status().map_err(|e| format!("cannot start `{}`: {e}", line(command)))?;
    if status.success() { Ok(()) } else { Err(format!("`{}` failed ({status})", line(command))) }
}

/// Runs like [`run`], and shows each line of standard output to `reader` as well.
pub fn run_reading(command: &mut Command, mut reader: impl FnMut(&str)) -> Outcome {
    let shown = line(command);
    println!("$ {shown}");
    let failed = |e: std::io::Error| format!("cannot run `{shown}`: {e}");
    let mut child = command.stdout(Stdio::piped()).spawn().map_err(failed)?;
    let mut lines = BufReader::new(child.stdout.take().ok_or("no standard output")?);
    let mut bytes = Vec::new();
    while lines.read_until(b'\n', &mut bytes).map_err(failed)? > 0 {
        let text = String::from_utf8_lossy(&bytes);
        print!("{text}");
        reader(text.trim_end());
        bytes.clear();
    }
    let status = child.wait().map_err(failed)?;
    if status.success() { Ok(()) } else { Err(format!("`{shown}` failed ({status})")) }
}

/// Runs silently and gives what was written to standard output; on failure, the error holds all that was written.
pub fn capture(command: &mut Command) -> Outcome<String> {
    let Output { status, stdout, stderr } =
        command.output().map_err(|e| format!("cannot start `{}`: {e}", line(command)))?;
    let stdout = String::from_utf8_lossy(&stdout).into_owned();
    if status.success() {
        return Ok(stdout);
    }
    let stderr = String::from_utf8_lossy(&stderr);
    Err(format!("`{}` failed ({status})\n{}{}", line(command), stdout, stderr).trim_end().to_owned())
}

/// Whether a program is there and answers (`--version` or the like) with success.
pub fn answers(name: impl AsRef<OsStr>, args: &[&str]) -> bool {
    let mut command = program(name);
    command.args(args).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

/// The command as one would type it, without its environment.
pub fn line(command: &Command) -> String {
    let name = Path::new(command.get_program()).file_stem().unwrap_or(command.get_program());
    let mut text = name.to_string_lossy().into_owned();
    for arg in command.get_args() {
        text.push(' ');
        text.push_str(&arg.to_string_lossy());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_names_the_command_and_holds_its_output() {
        let error = capture(program("sh").args(["-c", "echo seen; echo why >&2; exit 3"])).unwrap_err();
        assert!(error.contains("`sh -c") && error.contains("seen") && error.contains("why"), "{error}");
    }

    #[test]
    fn a_missing_program_is_named() {
        let error = capture(&mut program("no-such-program-here")).unwrap_err();
        assert!(error.contains("cannot start `no-such-program-here`"), "{error}");
        assert!(!answers("no-such-program-here", &[]));
    }

    #[test]
    fn package_variables_are_not_handed_on_but_settings_are() {
        assert!(describes_our_package("CARGO_PKG_NAME") && describes_our_package("CARGO_MANIFEST_DIR"));
        assert!(!describes_our_package("CARGO_TARGET_DIR") && !describes_our_package("CARGO_HOME"));
    }
}
