//! `cargo xtask cross` and `check-all`: type-checks for systems that this machine does not run, and the facade with one
//! feature at a time. Nothing is linked, so no foreign SDK is needed.

use crate::Outcome;
use crate::metadata::Metadata;
use crate::parts::Parts;
use crate::process::{answers, capture, cargo, program, root, run};
use crate::setup::system::Installer;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A foreign target, and the Debian package that its standard library needs beyond Rust's own.
struct Target {
    triple: &'static str,
    debian: Option<&'static str>,
}

const DARWIN: Target = Target { triple: "aarch64-apple-darwin", debian: None };
const MSVC: Target = Target { triple: "x86_64-pc-windows-msvc", debian: None };
/// Raw import libraries are made by `dlltool` when std is built.
const MINGW: Target = Target { triple: "x86_64-pc-windows-gnu", debian: Some("binutils-mingw-w64-x86-64") };

/// Not checked: llama.cpp's C++ wants each system's real compiler, and the others are no libraries.
const EXCLUDED: [&str; 4] = ["wattspan-llama-cpp", "xtask", "wattspan-tests", "wattspan-examples"];

/// Features of the facade that need a vendor's SDK to build, so that they cannot be checked on any machine.
const NEEDS_SDK: [&str; 5] = ["cuda", "metal", "rocm", "rocm-smi", "vulkan"];

/// `cross [--debian]`: what every run of the test machine checks.
pub fn command(args: &[String]) -> Outcome {
    check_all_of(&[DARWIN, MSVC], args, &mut Parts::default())
}

/// `check-all [--debian]`: the slow rest as well.
pub fn check_all(args: &[String]) -> Outcome {
    let mut parts = Parts::default();
    parts.run("single features of wattspan", || {
        let metadata = Metadata::load()?;
        let facade = metadata.member("wattspan").ok_or("the workspace has no package `wattspan`")?;
        for feature in facade.features.iter().filter(|f| *f != "default" && !NEEDS_SDK.contains(&f.as_str()))
        {
            let mut check = cargo();
            check.args([
                "check",
                "--locked",
                "--package",
                "wattspan",
                "--no-default-features",
                "--features",
                feature,
            ]);
            run(&mut check)?;
        }
        Ok(())
    });
    check_all_of(&[DARWIN, MSVC, MINGW], args, &mut parts)
}

fn check_all_of(targets: &[Target], args: &[String], parts: &mut Parts) -> Outcome {
    let debian_only = match args {
        [] => false,
        [flag] if flag == "--debian" => true,
        _ => {
            return Err(
                "the only argument is `--debian`: use Debian's Rust even where rustup has the target".into(),
            );
        }
    };
    let compiler = no_compiler()?;
    for target in targets {
        parts.run(target.triple, || {
            // Debian's Rust has clippy in a package that does not fit `cargo clippy`: there it is the types alone.
            let with_clippy = !debian_only && rustup_has(target.triple);
            let mut check = if with_clippy { cargo() } else { debian(target)? };
            check.arg(if with_clippy { "clippy" } else { "check" });
            check.args(["--locked", "--workspace", "--target", target.triple, "--target-dir"]);
            check.arg(root().join("target/cross"));
            check.args(EXCLUDED.iter().flat_map(|name| ["--exclude", name]));
            if with_clippy {
                check.args(["--", "-D", "warnings"]);
            }
            without_c(&mut check, target.triple, &compiler);
            run(&mut check)
        });
    }
    println!("{}", parts.report());
    parts.outcome()
}

/// Whether rustup has the target, or gets it: a few seconds, where the machine has rustup and a network.
fn rustup_has(triple: &str) -> bool {
    let installed = capture(program("rustup").args(["target", "list", "--installed"]));
    if installed.is_ok_and(|list| list.lines().any(|line| line.trim() == triple)) {
        return true;
    }
    println!("rustup target add {triple}");
    match capture(program("rustup").args(["target", "add", triple])) {
        Ok(_) => true,
        Err(e) => {
            println!("{e}");
            false
        }
    }
}

/// Debian's Rust with the standard library's source, which `-Zbuild-std` checks for any target that rustc knows. The
/// cargo must be Debian's too: rustup's looks for the source in its own folder.
fn debian(target: &Target) -> Outcome<Command> {
    const CARGO: &str = "/usr/bin/cargo";
    const RUSTC: &str = "/usr/bin/rustc";
    let mut packages = Vec::new();
    if !answers(CARGO, &["--version"]) || debian_source().is_none() {
        packages.extend(["rustc-web", "cargo-web", "rust-web-src"]);
    }
    packages.extend(target.debian.filter(|_| !answers("x86_64-w64-mingw32-dlltool", &["--version"])));
    if !packages.is_empty() {
        let hint = format!("or, with rustup, `rustup target add {}`", target.triple);
        Installer::detect().install(&packages, None).map_err(|e| format!("{e} ({hint})"))?;
    }
    let mut command = program(CARGO);
    command.arg("-Zbuild-std=std").env("RUSTC", RUSTC).env("RUSTC_BOOTSTRAP", "1");
    // What rustup's proxy set for us points the other compiler at the wrong toolchain and its libraries.
    for key in ["CARGO", "LD_LIBRARY_PATH", "RUSTUP_TOOLCHAIN", "RUSTC_WRAPPER", "RUSTDOC"] {
        command.env_remove(key);
    }
    Ok(command)
}

fn debian_source() -> Option<PathBuf> {
    let sysroot =
        capture(program("/usr/bin/rustc").env_remove("LD_LIBRARY_PATH").args(["--print", "sysroot"])).ok()?;
    let library = Path::new(sysroot.trim()).join("lib/rustlib/src/rust/library/Cargo.lock");
    library.exists().then_some(library)
}

/// A stand-in for the C compiler and archiver: it makes an empty file where the output is to go. Build scripts of crates
/// with C inside (ring's, for one) run during a type-check, and what they compile is never linked.
fn no_compiler() -> Outcome<PathBuf> {
    const SCRIPT: &str = "#!/bin/sh\n\
        out= previous=\n\
        for argument in \"$@\"; do\n\
        \x20 [ \"$previous\" = -o ] && out=$argument\n\
        \x20 case $argument in -Fo?*|/Fo?*) out=${argument#?Fo} ;;\n\
        \x20   -[oO][uU][tT]:?*|/[oO][uU][tT]:?*) out=${argument#?????} ;; esac\n\
        \x20 previous=$argument\n\
        done\n\
        [ -z \"$out\" ] || : > \"$out\"\n";
    let folder = root().join("target/cross");
    let path = folder.join("no-compiler");
    let fail = |e: std::io::Error| format!("cannot write {}: {e}", path.display());
    std::fs::create_dir_all(&folder).map_err(fail)?;
    std::fs::write(&path, SCRIPT).map_err(fail)?;
    capture(program("chmod").arg("+x").arg(&path))?;
    Ok(path)
}

fn without_c(command: &mut Command, triple: &str, compiler: &Path) {
    let suffix = triple.replace('-', "_");
    for tool in ["CC", "CXX", "AR"] {
        command.env(format!("{tool}_{suffix}"), compiler);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stand_in_makes_its_output_and_nothing_else() {
        let compiler = no_compiler().unwrap();
        let folder = root().join("target/cross/stand-in-test");
        std::fs::create_dir_all(&folder).unwrap();
        for (args, made) in [
            (["-c", "-o", "a.o", "a.c"], "a.o"),
            (["-nologo", "-Fob.obj", "-c", "b.c"], "b.obj"),
            (["-nologo", "-out:c.lib", "a.o", "b.obj"], "c.lib"),
        ] {
            capture(program(&compiler).current_dir(&folder).args(args)).unwrap();
            assert!(folder.join(made).exists(), "{made}");
        }
        capture(program(&compiler).current_dir(&folder).args(["--version"])).unwrap();
        assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 3);
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
