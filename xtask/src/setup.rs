//! `cargo xtask setup`: finds what the build and the tests need, installs what is missing, and records in `.tools/env`
//! where things are. When all is there it only looks, and needs no network.

mod python;
pub mod system;

use crate::Outcome;
use crate::process::{answers, capture, program, root};
use crate::tools_env::ToolsEnv;
use std::path::{Path, PathBuf};
use system::Installer;

pub fn command(args: &[String]) -> Outcome {
    match args {
        [] => run(),
        [only] if only == "--demo" => install(For::Demo),
        _ => Err(format!("setup takes `--demo` or nothing, got `{}`", args.join(" "))),
    }
}

/// What is going to be run.
#[derive(Clone, Copy, PartialEq, Eq)]
enum For {
    /// Everything: the build, and the peers of all tests.
    Tests,
    /// A model server, a model and the build of llama.cpp.
    Demo,
}

/// What the build and all tests need.
pub fn run() -> Outcome {
    install(For::Tests)
}

/// Looks for everything even when something fails, so that one run names all that is missing.
fn install(purpose: For) -> Outcome {
    let all = purpose == For::Tests;
    let tools = root().join(".tools");
    std::fs::create_dir_all(&tools).map_err(|e| format!("cannot create {}: {e}", tools.display()))?;
    let mut installer = Installer::detect();
    // What the whole set-up recorded stays when less is asked for.
    let mut env = if all { ToolsEnv::default() } else { ToolsEnv::load() };
    let mut failures = Vec::new();
    let mut note = |result: Outcome| failures.extend(result.err());

    if all {
        note(rust_component("rustfmt", "fmt"));
        note(rust_component("clippy", "clippy"));
    }
    note(compilers(&mut installer));
    // Python before cmake and libclang, which fall back on its packages.
    let python = python::environment(&mut installer);
    note(python.as_ref().map(|_| ()).map_err(Clone::clone));
    let python = python.ok();
    note(cmake(&mut installer, python.as_ref(), &mut env));
    note(libclang(&mut installer, python.as_ref(), &mut env));
    if all {
        note(prometheus(&mut installer));
        note(chromium(&mut installer, &mut env));
        rocm_smi(&mut installer);
    }
    if let Some(python) = &python {
        python.record(&mut env);
        let peers = [&python::ROTEL, &python::OSMEM].into_iter().chain(&python::READERS);
        for package in [&python::XLLAMACPP, &python::SMOLLM2].into_iter().chain(peers.filter(|_| all)) {
            note(peer(python, package, &mut env));
        }
    }
    note(env.store());
    if failures.is_empty() {
        println!("setup: all there");
        return Ok(());
    }
    Err(format!("{} of the needs are not met:\n- {}", failures.len(), failures.join("\n- ")))
}

fn found(what: &str, where_: impl std::fmt::Display) {
    println!("setup: {what:<16} {where_}");
}

fn rust_component(component: &str, subcommand: &str) -> Outcome {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    if answers(&cargo, &[subcommand, "--version"]) {
        found(component, "ok");
        return Ok(());
    }
    found(component, format!("missing; `rustup component add {component}`"));
    capture(program("rustup").args(["component", "add", component])).map(|_| ())
}

fn compilers(installer: &mut Installer) -> Outcome {
    for (what, name) in [("C compiler", "cc"), ("C++ compiler", "c++"), ("make", "make")] {
        if answers(name, &["--version"]) {
            found(what, format!("ok ({name})"));
            continue;
        }
        found(what, "missing");
        installer.install(&["build-essential"], None).map_err(|e| {
            format!(
                "{what} `{name}`: {e} (on macOS the command line tools have it: `xcode-select --install`)"
            )
        })?;
        if !answers(name, &["--version"]) {
            return Err(format!("{what}: `{name}` does not answer although it was installed"));
        }
    }
    Ok(())
}

fn cmake(installer: &mut Installer, python: Option<&python::Python>, env: &mut ToolsEnv) -> Outcome {
    if answers("cmake", &["--version"]) {
        found("cmake", "ok");
        return Ok(());
    }
    let Some(python) = python else {
        found("cmake", "missing");
        return installer.install(&["cmake"], Some("cmake"));
    };
    if python.locate(&python::CMAKE).is_none() {
        found("cmake", "missing");
        let Err(system) = installer.install(&["cmake"], Some("cmake")) else { return Ok(()) };
        println!("setup: {system}");
        python.install(&python::CMAKE).map_err(|e| format!("cmake: {e}"))?;
    }
    let folder =
        python.locate(&python::CMAKE).ok_or("cmake: the package was installed and cannot be found")?;
    let binary = folder.join("data/bin/cmake");
    found("cmake", format!("ok ({})", binary.display()));
    env.set("CMAKE", binary.display().to_string()); // read by the `cmake` crate
    Ok(())
}

/// Where Debian's package puts the header of the `rocm-smi` back-end.
pub const ROCM_SMI_HEADER: &str = "/usr/include/rocm_smi/rocm_smi.h";

/// The library of an optional back-end: without it that one is not checked, which the check says.
fn rocm_smi(installer: &mut Installer) {
    if Path::new(ROCM_SMI_HEADER).is_file() {
        found("ROCm SMI", "ok");
        return;
    }
    match installer.install(&["librocm-smi-dev"], None) {
        Ok(()) => found("ROCm SMI", "ok (installed)"),
        Err(reason) => found("ROCm SMI", format!("not here, so that the back-end is not checked: {reason}")),
    }
}

/// Bindgen (for llama.cpp's header) loads libclang while it builds, and needs the compiler's own headers beside it.
fn libclang(installer: &mut Installer, python: Option<&python::Python>, env: &mut ToolsEnv) -> Outcome {
    if let Some(library) = system_libclang() {
        found("libclang", format!("ok ({})", library.display()));
        return Ok(());
    }
    if let Some(folder) = python.and_then(|p| p.locate(&python::LIBCLANG)) {
        return libclang_from_wheel(&folder, env);
    }
    found("libclang", "missing");
    let Err(system) = installer.install(&["libclang-dev"], Some("llvm")) else {
        return match system_libclang() {
            Some(_) => Ok(()),
            None => {
                Err("libclang: installed, and still not found in the usual folders; set LIBCLANG_PATH".into())
            }
        };
    };
    println!("setup: {system}");
    let python = python.ok_or(system)?;
    python.install(&python::LIBCLANG).map_err(|e| format!("libclang: {e}"))?;
    let folder =
        python.locate(&python::LIBCLANG).ok_or("libclang: the package was installed and cannot be found")?;
    libclang_from_wheel(&folder, env)
}

/// The wheel has the library and no headers: the C compiler's own `stdbool.h` and friends stand in for them.
fn libclang_from_wheel(folder: &Path, env: &mut ToolsEnv) -> Outcome {
    let native = folder.join("native");
    let headers = capture(program("cc").arg("-print-file-name=include"))?;
    found("libclang", format!("ok ({})", native.display()));
    env.set("LIBCLANG_PATH", native.display().to_string());
    env.set("BINDGEN_EXTRA_CLANG_ARGS", format!("-I{}", headers.trim()));
    Ok(())
}

/// Where the clang-sys crate looks, as far as Debian, Ubuntu and macOS go.
fn system_libclang() -> Option<PathBuf> {
    if let Some(set) = std::env::var_os("LIBCLANG_PATH").map(PathBuf::from).filter(|p| p.exists()) {
        return Some(set);
    }
    let mut folders: Vec<PathBuf> = [
        "/Library/Developer/CommandLineTools/usr/lib",
        "/Applications/Xcode.app/Contents/Developer/Toolchains/XcodeDefault.xctoolchain/usr/lib",
        "/opt/homebrew/opt/llvm/lib",
        "/usr/local/opt/llvm/lib",
    ]
    .map(PathBuf::from)
    .into();
    for entry in std::fs::read_dir("/usr/lib").into_iter().flatten().flatten() {
        if entry.file_name().to_string_lossy().starts_with("llvm-") {
            folders.push(entry.path().join("lib"));
        }
    }
    folders.into_iter().filter(|folder| has_builtin_headers(folder)).find_map(|folder| {
        let names = std::fs::read_dir(&folder).ok()?.flatten();
        let library = names.map(|n| n.file_name()).find(|n| is_libclang(&n.to_string_lossy()))?;
        Some(folder.join(library))
    })
}

/// `libclang.so`, `libclang-14.so.1`, `libclang.dylib`; not the C++ library `libclang-cpp`, and no static archive.
fn is_libclang(name: &str) -> bool {
    let Some(rest) = name.strip_prefix("libclang") else { return false };
    let version = rest.trim_start_matches(|c: char| c == '-' || c == '.' || c.is_ascii_digit());
    let kind = version.split('.').next().unwrap_or_default();
    (kind == "so" || kind == "dylib") && rest.starts_with(['.', '-'])
}

fn has_builtin_headers(folder: &Path) -> bool {
    let versions = std::fs::read_dir(folder.join("clang")).into_iter().flatten().flatten();
    versions.into_iter().any(|version| version.path().join("include/stdbool.h").exists())
}

/// Prometheus with promtool, and its Pushgateway: peers of the telemetry tests.
fn prometheus(installer: &mut Installer) -> Outcome {
    for (name, brew) in [
        ("prometheus", Some("prometheus")),
        ("promtool", Some("prometheus")),
        ("prometheus-pushgateway", None),
    ] {
        if answers(name, &["--version"]) {
            found(name, "ok");
            continue;
        }
        found(name, "missing");
        let package = if name == "promtool" { "prometheus" } else { name };
        installer.install(&[package], brew).map_err(|error| format!("{name}: {error}"))?;
        if !answers(name, &["--version"]) {
            return Err(format!("{name}: `{name}` does not answer although it was installed"));
        }
    }
    Ok(())
}

/// A browser without a window, which opens the reports.
fn chromium(installer: &mut Installer, env: &mut ToolsEnv) -> Outcome {
    let browser = if let Some(browser) = browser() {
        browser
    } else {
        found("Chromium", "missing");
        installer.install(&["chromium"], None).map_err(|error| format!("Chromium: {error}"))?;
        browser().ok_or("Chromium: it was installed and cannot be found")?
    };
    found("Chromium", format!("ok ({})", browser.display()));
    env.set("WATTSPAN_CHROMIUM", browser.display().to_string());
    Ok(())
}

fn browser() -> Option<PathBuf> {
    const NAMES: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];
    const APPS: [&str; 2] = [
        "/Applications/Chromium.app/Contents/MacOS/Chromium",
        "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    ];
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let on_path = std::env::split_paths(&folders).flat_map(|folder| NAMES.map(|name| folder.join(name)));
    on_path.chain(APPS.map(PathBuf::from)).find(|path| path.is_file())
}

/// One of the real peers of the tests and the demo.
fn peer(python: &python::Python, package: &python::Package, env: &mut ToolsEnv) -> Outcome {
    let mut located = python.locate(package);
    if located.is_none() {
        python.install(package)?;
        located = python.locate(package);
    }
    let folder = located.ok_or_else(|| format!("{}: installed, and cannot be found", package.name))?;
    let path = package.check(&folder)?;
    found(package.name, format!("ok {}", package.version));
    if let Some(key) = package.variable {
        env.set(key, path.display().to_string());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_c_library_is_told_from_the_cpp_library_and_from_archives() {
        for good in ["libclang.so", "libclang-14.so", "libclang.so.1", "libclang-14.0.6.so", "libclang.dylib"]
        {
            assert!(is_libclang(good), "{good}");
        }
        for bad in ["libclang-cpp.so.14", "libclangAST.a", "libclang.a", "libclang_rt.so", "clang.so"] {
            assert!(!is_libclang(bad), "{bad}");
        }
    }
}
