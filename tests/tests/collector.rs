//! The Collector's configuration against what its components document. No Collector is in any package registry, so this
//! is its own start-up check in small: known components and settings, what is required, and pipelines that hold together.
//!
//! **Source** the components' READMEs: otlp receiver, memory_limiter and batch processors (opentelemetry-collector);
//! prometheus and opensearch exporters, basicauth extension (opentelemetry-collector-contrib).

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Map, Value};
use wattspan_testkit::peers;

/// A component that the file may use.
struct Component {
    section: &'static str,
    kind: &'static str,
    /// The signals that it takes.
    signals: &'static [&'static str],
    /// Every setting that it has, `outer.inner` for nested ones.
    settings: &'static [&'static str],
    required: &'static [&'static str],
}

const ALL: &[&str] = &["traces", "metrics", "logs"];

const COMPONENTS: [Component; 6] = [
    Component {
        section: "receivers",
        kind: "otlp",
        signals: ALL,
        settings: &["protocols.grpc.endpoint", "protocols.http.endpoint"],
        required: &["protocols.grpc.endpoint", "protocols.http.endpoint"],
    },
    Component {
        section: "processors",
        kind: "memory_limiter",
        signals: ALL,
        settings: &["check_interval", "limit_mib", "spike_limit_mib"],
        required: &["check_interval", "limit_mib"],
    },
    Component {
        section: "processors",
        kind: "batch",
        signals: ALL,
        settings: &["send_batch_size", "send_batch_max_size", "timeout"],
        required: &[],
    },
    Component {
        section: "exporters",
        kind: "prometheus",
        signals: &["metrics"],
        settings: &["endpoint", "metric_expiration", "namespace", "send_timestamps", "translation_strategy"],
        required: &["endpoint"],
    },
    Component {
        section: "exporters",
        kind: "opensearch",
        signals: &["traces", "logs"],
        settings: &["http.endpoint", "http.auth.authenticator", "dataset", "namespace", "bulk_action"],
        // The exporter refuses an empty data set and an empty name space.
        required: &["http.endpoint", "dataset", "namespace"],
    },
    Component {
        section: "extensions",
        kind: "basicauth",
        signals: &[],
        settings: &["client_auth.username", "client_auth.password"],
        required: &["client_auth.username", "client_auth.password"],
    },
];

fn deploy(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../deploy").join(path)
}

/// A file as a YAML parser reads it.
fn yaml(path: &str) -> Value {
    let script = "import json, sys, yaml; print(json.dumps(yaml.safe_load(open(sys.argv[1]))))";
    let output = Command::new(peers::python()).args(["-c", script]).arg(deploy(path)).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

fn map<'a>(value: &'a Value, what: &str) -> &'a Map<String, Value> {
    value.as_object().unwrap_or_else(|| panic!("{what} is a map, and not {value}"))
}

fn names(value: &Value) -> Vec<&str> {
    let list = value.as_array().unwrap_or_else(|| panic!("{value} is a list"));
    list.iter().map(|name| name.as_str().unwrap_or_else(|| panic!("{name} is a name"))).collect()
}

/// `basicauth/opensearch` is a `basicauth`.
fn component(section: &str, id: &str) -> &'static Component {
    let kind = id.split('/').next().unwrap_or(id);
    let found = COMPONENTS.iter().find(|known| (known.section, known.kind) == (section, kind));
    found.unwrap_or_else(|| panic!("{section} has no {kind}"))
}

/// Every setting with its path.
fn leaves(prefix: &str, value: &Value, out: &mut Vec<(String, Value)>) {
    match value {
        Value::Object(fields) => {
            for (key, value) in fields {
                let path = if prefix.is_empty() { key.clone() } else { format!("{prefix}.{key}") };
                leaves(&path, value, out);
            }
        }
        leaf => out.push((prefix.to_owned(), leaf.clone())),
    }
}

#[test]
fn every_component_is_known_with_its_settings_and_what_it_requires() {
    let config = yaml("collector/config.yaml");
    for (section, components) in map(&config, "the file") {
        if section == "service" {
            continue;
        }
        for (id, settings) in map(components, section) {
            let known = component(section, id);
            let mut found = Vec::new();
            leaves("", settings, &mut found);
            for (path, value) in &found {
                assert!(known.settings.contains(&path.as_str()), "{id} has no setting {path}");
                assert!(!value.is_null() && value != "", "{id}: {path} is empty");
            }
            for path in known.required {
                assert!(found.iter().any(|(known, _)| known == path), "{id} requires {path}");
            }
        }
    }
}

#[test]
fn pipelines_use_what_is_configured_and_everything_configured_is_used() {
    let config = yaml("collector/config.yaml");
    let service = map(&config["service"], "service");
    let mut used: BTreeSet<(&str, &str)> =
        names(&service["extensions"]).into_iter().map(|id| ("extensions", id)).collect();
    let pipelines = map(&service["pipelines"], "pipelines");
    let signals: BTreeSet<&str> = pipelines.keys().map(|id| id.split('/').next().unwrap_or(id)).collect();
    assert_eq!(signals, ALL.iter().copied().collect(), "each signal of ours has a way out");
    for (id, pipeline) in pipelines {
        let signal = id.split('/').next().unwrap_or(id);
        for section in ["receivers", "processors", "exporters"] {
            let list = names(&pipeline[section]);
            assert!(!list.is_empty(), "{id} has {section}");
            for name in list {
                let known = component(section, name);
                assert!(known.signals.contains(&signal), "{name} takes no {signal}");
                used.insert((section, name));
            }
        }
        // The limiter stands first, so that it can push back on the receiver; batching comes after all that drops.
        let processors = names(&pipeline["processors"]);
        let kinds: Vec<&str> = processors.iter().map(|name| component("processors", name).kind).collect();
        assert_eq!((kinds.first(), kinds.last()), (Some(&"memory_limiter"), Some(&"batch")), "{id}");
        assert_eq!(pipeline.as_object().unwrap().len(), 3, "{id} has nothing else");
    }
    let all = map(&config, "the file").iter().filter(|(section, _)| *section != "service");
    let defined: BTreeSet<(&str, &str)> = all
        .flat_map(|(section, components)| {
            map(components, section).keys().map(move |id| (section.as_str(), id.as_str()))
        })
        .collect();
    assert_eq!(used, defined);
    // An exporter's authenticator is an extension that is started.
    let authenticator = config["exporters"]["opensearch"]["http"]["auth"]["authenticator"].as_str().unwrap();
    assert!(used.contains(&("extensions", authenticator)), "{authenticator}");
}

#[test]
fn values_are_of_their_kind_and_fit_together() {
    let config = yaml("collector/config.yaml");
    let duration = |value: &Value| {
        let text = value.as_str().unwrap();
        let digits = text.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
        assert!(["ms", "s", "m", "h"].contains(&&text[digits.len()..]), "{text} is a duration");
        assert!(digits.parse::<f64>().unwrap() > 0.0, "{text}");
    };
    let limiter = &config["processors"]["memory_limiter"];
    duration(&limiter["check_interval"]);
    let (limit, spike) =
        (limiter["limit_mib"].as_u64().unwrap(), limiter["spike_limit_mib"].as_u64().unwrap());
    assert!(0 < spike && spike < limit, "the soft limit is below the hard one");
    duration(&config["processors"]["batch"]["timeout"]);
    assert!(config["processors"]["batch"]["send_batch_size"].as_u64().unwrap() > 0);
    duration(&config["exporters"]["prometheus"]["metric_expiration"]);

    // Everything listens on this machine only, each on a port of its own, which the others know.
    let protocols = &config["receivers"]["otlp"]["protocols"];
    let endpoints = [
        &protocols["grpc"]["endpoint"],
        &protocols["http"]["endpoint"],
        &config["exporters"]["prometheus"]["endpoint"],
    ]
    .map(|endpoint| endpoint.as_str().unwrap());
    assert_eq!(endpoints[..2], ["127.0.0.1:4317", "127.0.0.1:4318"], "the standard's ports");
    assert_eq!(BTreeSet::from(endpoints).len(), 3);
    for endpoint in endpoints {
        let address: std::net::SocketAddr = endpoint.parse().unwrap();
        assert!(address.ip().is_loopback(), "{endpoint}");
    }
    let scraped = yaml("prometheus/prometheus.yml")["scrape_configs"].to_string();
    assert!(scraped.contains(&format!("\"{}\"", endpoints[2])), "{scraped}");
}

#[test]
fn addresses_and_secrets_come_from_the_environment_that_the_file_names() {
    let config = yaml("collector/config.yaml");
    let text = std::fs::read_to_string(deploy("collector/config.yaml")).unwrap();
    let mut found = Vec::new();
    leaves("", &config, &mut found);
    let mut variables = BTreeSet::new();
    for (path, value) in &found {
        let value = value.as_str().unwrap_or_default();
        let variable = value.strip_prefix("${env:").and_then(|rest| rest.strip_suffix('}'));
        let secret = ["password", "token", "username"].iter().any(|word| path.contains(word));
        assert!(!secret || variable.is_some(), "{path} belongs into the environment");
        assert!(!value.contains("://"), "{path} names a machine");
        variables.extend(variable);
    }
    let head: String = text.lines().take_while(|line| line.starts_with('#')).collect();
    assert_eq!(variables, BTreeSet::from(["OPENSEARCH_PASSWORD", "OPENSEARCH_URL", "OPENSEARCH_USER"]));
    assert!(variables.iter().all(|name| head.contains(name)), "{head}");
}
