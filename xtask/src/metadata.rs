//! The part of `cargo metadata`'s JSON that the commands need.

use crate::Outcome;
use crate::process::{capture, cargo};
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::PathBuf;

/// Every package of the lock file; the workspace's own are marked.
#[derive(Debug, Default)]
pub struct Metadata {
    pub packages: Vec<Package>,
}

#[derive(Debug, Default, Clone)]
pub struct Package {
    pub name: String,
    pub version: String,
    pub license: Option<String>,
    pub manifest: PathBuf,
    pub is_member: bool,
    pub is_published: bool,
    pub features: BTreeSet<String>,
    pub dependencies: Vec<Dependency>,
    pub targets: Vec<Target>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dependency {
    pub name: String,
    pub is_dev: bool,
}

#[derive(Debug, Clone)]
pub struct Target {
    pub name: String,
    pub kinds: Vec<String>,
    pub source: PathBuf,
}

impl Metadata {
    pub fn load() -> Outcome<Self> {
        Self::parse(&capture(cargo().args(["metadata", "--format-version", "1", "--locked"]))?)
    }

    pub fn parse(json: &str) -> Outcome<Self> {
        let value: Value = serde_json::from_str(json).map_err(|e| format!("cargo metadata: {e}"))?;
        let members: BTreeSet<&str> =
            list(&value, "workspace_members").iter().filter_map(Value::as_str).collect();
        let packages =
            list(&value, "packages").iter().map(|package| Package::parse(package, &members)).collect();
        Ok(Self { packages })
    }

    /// The workspace's own packages.
    pub fn members(&self) -> impl Iterator<Item = &Package> {
        self.packages.iter().filter(|package| package.is_member)
    }

    pub fn member(&self, name: &str) -> Option<&Package> {
        self.members().find(|package| package.name == name)
    }
}

impl Package {
    fn parse(value: &Value, members: &BTreeSet<&str>) -> Self {
        let dependencies = list(value, "dependencies")
            .iter()
            .map(|d| Dependency { name: text(d, "name"), is_dev: d["kind"].as_str() == Some("dev") });
        let targets = list(value, "targets").iter().map(|t| Target {
            name: text(t, "name"),
            kinds: list(t, "kind").iter().filter_map(Value::as_str).map(str::to_owned).collect(),
            source: PathBuf::from(text(t, "src_path")),
        });
        Self {
            name: text(value, "name"),
            version: text(value, "version"),
            license: value["license"].as_str().map(str::to_owned),
            manifest: PathBuf::from(text(value, "manifest_path")),
            is_member: value["id"].as_str().is_some_and(|id| members.contains(id)),
            // `publish = false` is an empty list of registries; without the key it is null.
            is_published: value["publish"].as_array().is_none_or(|registries| !registries.is_empty()),
            features: value["features"].as_object().map(|f| f.keys().cloned().collect()).unwrap_or_default(),
            dependencies: dependencies.collect(),
            targets: targets.collect(),
        }
    }

    /// The library target, whatever crate types it has.
    pub fn library(&self) -> Option<&Target> {
        const KINDS: [&str; 6] = ["lib", "rlib", "cdylib", "dylib", "staticlib", "proc-macro"];
        self.targets.iter().find(|target| target.kinds.iter().any(|kind| KINDS.contains(&kind.as_str())))
    }
}

impl Target {
    pub fn is(&self, kind: &str) -> bool {
        self.kinds.iter().any(|k| k == kind)
    }
}

fn list<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value[key].as_array().map_or(&[], Vec::as_slice)
}

fn text(value: &Value, key: &str) -> String {
    value[key].as_str().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_features_and_kinds_are_read() {
        let metadata = Metadata::parse(
            r#"{"packages":[
                {"id":"path+a","name":"a","version":"0.1.0","license":"MIT","manifest_path":"/w/a/Cargo.toml",
                 "publish":[],"features":{"default":[],"x":["dep:y"]},
                 "dependencies":[{"name":"y","kind":null},{"name":"t","kind":"dev"},{"name":"c","kind":"build"}],
                 "targets":[{"name":"a","kind":["rlib","cdylib"],"src_path":"/w/a/src/lib.rs"},
                            {"name":"speed","kind":["bench"],"src_path":"/w/a/benches/speed.rs"}]},
                {"id":"registry+y","name":"y","version":"2.0.0","license":null,"publish":null,"targets":[]}],
              "workspace_members":["path+a"]}"#,
        )
        .unwrap();
        let a = metadata.member("a").unwrap();
        assert!(a.features.contains("x") && !a.is_published);
        assert_eq!(a.dependencies.iter().map(|d| d.is_dev).collect::<Vec<_>>(), [false, true, false]);
        assert_eq!(a.library().unwrap().name, "a");
        assert!(a.targets[1].is("bench"));
        assert!(metadata.member("y").is_none() && metadata.packages[1].is_published);
    }
}
