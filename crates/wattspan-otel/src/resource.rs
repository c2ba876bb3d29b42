//! What the telemetry comes from: service, host, operating system, process.
//!
//! Every fact is read from this process or a file of the kernel, so that no detector can hold up the start.

use opentelemetry::{KeyValue, Value};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::resource::TelemetryResourceDetector;
use opentelemetry_semantic_conventions::resource as key;

use crate::env::{Environment, pairs};

/// Detected facts, over them the environment's, over them those set in code. An unset name is `unknown_service:` and
/// the program's, as the specification has it.
pub(crate) fn resource(env: &Environment, service: Option<&str>, code: &[KeyValue]) -> Resource {
    let program = program();
    let fallback = match &program {
        Some(program) => format!("unknown_service:{program}"),
        None => "unknown_service".to_owned(),
    };
    let mut attributes = vec![
        KeyValue::new(key::SERVICE_NAME, fallback),
        KeyValue::new(key::HOST_ARCH, arch()),
        KeyValue::new(key::OS_TYPE, os()),
        KeyValue::new(key::PROCESS_PID, i64::from(std::process::id())),
    ];
    attributes.extend(program.map(|name| KeyValue::new(key::PROCESS_EXECUTABLE_NAME, name)));
    attributes.extend(host().map(|name| KeyValue::new(key::HOST_NAME, name)));
    let from_env = env.get("OTEL_RESOURCE_ATTRIBUTES").map(pairs).unwrap_or_default();
    attributes.extend(from_env.into_iter().map(|(key, value)| KeyValue::new(key, value)));
    let name = env.get("OTEL_SERVICE_NAME").map(str::to_owned);
    attributes.extend(name.map(|name| KeyValue::new(key::SERVICE_NAME, name)));
    attributes.extend(service.map(|name| KeyValue::new(key::SERVICE_NAME, name.to_owned())));
    attributes.extend_from_slice(code);
    // Later ones win: the SDK's resource is a map.
    let detector = Box::new(TelemetryResourceDetector);
    Resource::builder_empty().with_detector(detector).with_attributes(attributes).build()
}

fn program() -> Option<String> {
    let path = std::env::current_exe().ok()?;
    Some(path.file_name()?.to_string_lossy().into_owned())
}

/// The kernel's own answer on Linux; elsewhere the shell's variables, and else nothing.
fn host() -> Option<String> {
    let kernel = std::fs::read_to_string("/proc/sys/kernel/hostname").ok();
    let variables = || ["HOSTNAME", "COMPUTERNAME"].iter().find_map(|name| std::env::var(name).ok());
    let name = kernel.or_else(variables)?.trim().to_owned();
    (!name.is_empty()).then_some(name)
}

/// Well-known values of `host.arch`.
fn arch() -> Value {
    match std::env::consts::ARCH {
        "x86_64" => "amd64".into(),
        "aarch64" => "arm64".into(),
        "arm" => "arm32".into(),
        "powerpc64" => "ppc64".into(),
        other => other.into(),
    }
}

/// Well-known values of `os.type`.
fn os() -> Value {
    match std::env::consts::OS {
        "macos" => "darwin".into(),
        other => other.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn env(values: &'static [(&'static str, &'static str)]) -> Environment {
        Environment::read(|name| {
            values.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned())
        })
    }

    fn get(resource: &Resource, key: &'static str) -> Option<String> {
        resource.get(&key.into()).map(|value| value.to_string())
    }

    #[test]
    fn code_wins_over_the_environment_and_that_over_what_is_detected() {
        let env = env(&[
            ("OTEL_SERVICE_NAME", "from-variable"),
            ("OTEL_RESOURCE_ATTRIBUTES", "service.name=from-list,host.name=named,team=a%2Cb,level=env"),
        ]);
        let code = [KeyValue::new("level", "code")];
        let found = resource(&env, None, &code);
        assert_eq!(get(&found, "service.name").as_deref(), Some("from-variable"));
        assert_eq!(get(&found, "host.name").as_deref(), Some("named"));
        assert_eq!(get(&found, "team").as_deref(), Some("a,b"));
        assert_eq!(get(&found, "level").as_deref(), Some("code"));
        let named = resource(&env, Some("mine"), &code);
        assert_eq!(get(&named, "service.name").as_deref(), Some("mine"));
    }

    #[test]
    fn detected_facts_have_the_conventions_keys() {
        let found = resource(&Environment::default(), None, &[]);
        assert!(get(&found, "service.name").unwrap().starts_with("unknown_service"));
        assert_eq!(get(&found, "process.pid"), Some(std::process::id().to_string()));
        assert_eq!(get(&found, "telemetry.sdk.language").as_deref(), Some("rust"));
        for key in ["host.arch", "os.type", "process.executable.name"] {
            assert!(get(&found, key).is_some(), "{key}");
        }
    }
}
