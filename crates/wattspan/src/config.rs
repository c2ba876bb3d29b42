//! The one configuration of wattspan: what can be set, where a value came from, and what is wrong with it.
//!
//! Precedence: code, then environment, then a `.env` file, then a TOML file, then the default.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use wattspan_core::percent_decoded;

use crate::settings::{Kind, SETTINGS, Setting};

/// Values of settings, each with its origin.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Config {
    values: BTreeMap<Setting, Given>,
    /// Whether the process's environment was read, also if it set nothing.
    process: bool,
}

#[derive(Clone, PartialEq, Eq)]
struct Given {
    text: String,
    origin: Origin,
}

/// Where a value came from, strongest first.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Origin {
    /// Set by the program.
    Code,
    /// An environment variable.
    Environment(String),
    /// A variable in a `.env` file.
    DotEnv(PathBuf, String),
    /// A TOML file.
    File(PathBuf),
}

impl fmt::Display for Origin {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Code => out.write_str("code"),
            Self::Environment(name) => write!(out, "environment variable {name}"),
            Self::DotEnv(path, name) => write!(out, "{name} in {}", path.display()),
            Self::File(path) => write!(out, "{}", path.display()),
        }
    }
}

/// A setting is unknown or has a value that it cannot have. Values of secret settings are not in the message.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// No setting has this name.
    #[error("{origin} sets {name:?}, which is no setting{}", suggestion(.near.as_deref()))]
    Unknown {
        /// The name as it stands there.
        name: String,
        /// Where it stands.
        origin: Origin,
        /// The nearest name.
        near: Option<String>,
    },
    /// The value does not fit.
    #[error("{setting} from {origin} is {}: expected {expected}", shown(.value.as_deref()))]
    Invalid {
        /// Which setting.
        setting: Setting,
        /// Where it stands.
        origin: Origin,
        /// The value; `None` for a secret.
        value: Option<String>,
        /// What it may be.
        expected: String,
    },
    /// A file could not be read.
    #[error("cannot read {path}: check that it is there and readable")]
    Read {
        /// Which file.
        path: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
    /// A file is not what it should be.
    #[error("{path} is not valid {format}: {message}")]
    Syntax {
        /// Which file.
        path: PathBuf,
        /// `TOML` or `.env`.
        format: &'static str,
        /// Where and what; no values.
        message: String,
    },
}

fn suggestion(near: Option<&str>) -> String {
    near.map_or_else(String::new, |near| format!(": did you mean {near:?}?"))
}

fn shown(value: Option<&str>) -> String {
    value.map_or_else(|| "not usable (secret, not shown)".to_owned(), |value| format!("{value:?}"))
}

impl Config {
    /// Nothing is set.
    pub fn new() -> Self {
        Self::default()
    }

    /// Reads the process's environment. `WATTSPAN_*` variables that are no setting are errors.
    ///
    /// # Errors
    /// On an unknown name or a value that does not fit.
    pub fn from_env() -> Result<Self, ConfigError> {
        let mut config = Self { process: true, ..Self::new() };
        // A variable that is not Unicode cannot be one of ours.
        let variables = std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
        config.read_variables(variables, |name| Origin::Environment(name.to_owned()))?;
        Ok(config)
    }

    /// Reads variables from a list instead of the process's environment.
    ///
    /// # Errors
    /// On an unknown name or a value that does not fit.
    pub fn environment(
        mut self,
        variables: impl IntoIterator<Item = (String, String)>,
    ) -> Result<Self, ConfigError> {
        self.read_variables(variables, |name| Origin::Environment(name.to_owned()))?;
        Ok(self)
    }

    /// Reads a `.env` file: `NAME=value` lines, `#` comments, an optional `export`, values in single or double quotes.
    ///
    /// # Errors
    /// When it cannot be read, or as for the environment. Variables of other programs are left alone.
    pub fn dot_env(mut self, path: impl AsRef<Path>) -> Result<Self, ConfigError> {
        let path = path.as_ref();
        let text = read(path)?;
        let mut variables = Vec::new();
        for (index, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let line = line.strip_prefix("export ").unwrap_or(line);
            let Some((name, value)) = line.split_once('=') else {
                let message = format!("line {} has no `=`", index + 1);
                return Err(ConfigError::Syntax { path: path.to_owned(), format: ".env", message });
            };
            variables.push((name.trim().to_owned(), unquoted(value.trim()).to_owned()));
        }
        self.read_variables(variables, |name| Origin::DotEnv(path.to_owned(), name.to_owned()))?;
        Ok(self)
    }

    /// Reads a TOML file with the settings' names as keys, such as `[otlp] endpoint = "…"`.
    ///
    /// # Errors
    /// When it cannot be read, is not TOML, has an unknown key or a value that does not fit.
    pub fn file(mut self, path: impl AsRef<Path>) -> Result<Self, ConfigError> {
        let path = path.as_ref();
        let table: toml::Table = read(path)?.parse().map_err(|error: toml::de::Error| {
            ConfigError::Syntax { path: path.to_owned(), format: "TOML", message: error.message().to_owned() }
        })?;
        let mut flat = Vec::new();
        flatten(&table, "", &mut flat);
        for (name, text) in flat {
            let origin = Origin::File(path.to_owned());
            let Some(setting) = Setting::from_name(&name) else {
                let near = nearest(&name, SETTINGS.iter().map(|known| known.name));
                return Err(ConfigError::Unknown { name, origin, near });
            };
            self.put(setting, text, origin)?;
        }
        Ok(self)
    }

    /// Sets a value in code, which wins over every other origin.
    ///
    /// # Errors
    /// When the value does not fit.
    pub fn set(&mut self, setting: Setting, value: impl Into<String>) -> Result<(), ConfigError> {
        self.put(setting, value.into(), Origin::Code)
    }

    /// Takes over what another configuration sets and this one does not, or sets from a weaker origin.
    #[must_use]
    pub fn or(mut self, other: Self) -> Self {
        self.process |= other.process;
        for (setting, given) in other.values {
            self.keep_stronger(setting, given);
        }
        self
    }

    /// Where a setting's value came from; `None` while the default holds.
    pub fn origin(&self, setting: Setting) -> Option<&Origin> {
        self.values.get(&setting).map(|given| &given.origin)
    }

    /// A setting's value as it was given, or its default; `None` when it has neither. Secrets too: do not print it.
    pub fn text(&self, setting: Setting) -> Option<&str> {
        self.values.get(&setting).map(|given| given.text.as_str()).or_else(|| setting.default())
    }

    /// Every setting with its value as it may be shown and where it came from.
    pub fn describe(&self) -> Vec<(Setting, String, String)> {
        let shown = |known: &crate::settings::Definition| {
            let origin = self.origin(known.setting).map_or_else(|| "default".to_owned(), Origin::to_string);
            let value = match self.text(known.setting) {
                None => "not set".to_owned(),
                Some(_) if known.secret => "set".to_owned(),
                Some(text) => text.to_owned(),
            };
            (known.setting, value, origin)
        };
        SETTINGS.iter().map(shown).collect()
    }

    /// Whether the process's environment was read.
    #[cfg(feature = "otel")]
    pub(crate) fn reads_process_environment(&self) -> bool {
        self.process
    }

    pub(crate) fn flag(&self, setting: Setting) -> bool {
        self.text(setting).and_then(parse_flag).unwrap_or(false)
    }

    pub(crate) fn number(&self, setting: Setting) -> Option<f64> {
        self.text(setting).and_then(|text| text.trim().parse().ok())
    }

    pub(crate) fn duration(&self, setting: Setting) -> Option<Duration> {
        self.text(setting).and_then(parse_duration)
    }

    #[cfg(any(feature = "otel", test))]
    pub(crate) fn pairs(&self, setting: Setting) -> Vec<(String, String)> {
        self.text(setting).and_then(parse_pairs).unwrap_or_default()
    }

    fn read_variables(
        &mut self,
        variables: impl IntoIterator<Item = (String, String)>,
        origin: impl Fn(&str) -> Origin,
    ) -> Result<(), ConfigError> {
        let variables: BTreeMap<String, String> = variables.into_iter().collect();
        for known in SETTINGS {
            // The first name that is set wins; our own name stands before the standard's.
            let found = known.variables.iter().find_map(|name| variables.get_key_value(*name));
            let Some((name, text)) = found else { continue };
            // The standard treats an empty variable as unset; an empty list of GPUs means none.
            if !text.is_empty() || known.kind == Kind::DeviceList {
                let text =
                    if name == "OTEL_METRIC_EXPORT_INTERVAL" { format!("{text}ms") } else { text.clone() };
                self.put(known.setting, text, origin(name))?;
            }
        }
        let ours = |name: &&String| name.starts_with("WATTSPAN_") && !TOOL_VARIABLES.contains(&name.as_str());
        for name in variables.keys().filter(ours) {
            if !SETTINGS.iter().any(|known| known.variables.contains(&name.as_str())) {
                let all = SETTINGS.iter().flat_map(|known| known.variables.iter().copied());
                let near = nearest(name, all);
                return Err(ConfigError::Unknown { name: name.clone(), origin: origin(name), near });
            }
        }
        Ok(())
    }

    fn put(&mut self, setting: Setting, text: String, origin: Origin) -> Result<(), ConfigError> {
        let known = setting.definition();
        if let Err(expected) = check(known.kind, &text) {
            let value = (!known.secret).then_some(text);
            return Err(ConfigError::Invalid { setting, origin, value, expected });
        }
        self.keep_stronger(setting, Given { text, origin });
        Ok(())
    }

    fn keep_stronger(&mut self, setting: Setting, given: Given) {
        match self.values.get(&setting) {
            Some(known) if rank(&known.origin) < rank(&given.origin) => {}
            _ => {
                self.values.insert(setting, given);
            }
        }
    }
}

impl fmt::Debug for Config {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let set = self.describe().into_iter().filter(|(setting, ..)| self.values.contains_key(setting));
        out.debug_map()
            .entries(set.map(|(setting, value, origin)| (setting.name(), (value, origin))))
            .finish()
    }
}

/// Variables of the development tools and of other parts, which are no settings.
const TOOL_VARIABLES: [&str; 7] = [
    "WATTSPAN_PYTHON",
    "WATTSPAN_MODEL",
    "WATTSPAN_ROTEL",
    "WATTSPAN_OSMEM",
    "WATTSPAN_CHROMIUM",
    "WATTSPAN_RECORDINGS",
    "WATTSPAN_LOG",
];

fn rank(origin: &Origin) -> u8 {
    match origin {
        Origin::Code => 0,
        Origin::Environment(_) => 1,
        Origin::DotEnv(..) => 2,
        Origin::File(_) => 3,
    }
}

fn read(path: &Path) -> Result<String, ConfigError> {
    std::fs::read_to_string(path).map_err(|source| ConfigError::Read { path: path.to_owned(), source })
}

fn unquoted(value: &str) -> &str {
    let quoted = |mark| value.strip_prefix(mark).and_then(|rest| rest.strip_suffix(mark));
    quoted('"').or_else(|| quoted('\'')).unwrap_or(value)
}

/// `[a] b = 1` becomes `a.b`; lists become comma-separated text, and a table of a list-of-pairs setting its pairs.
fn flatten(table: &toml::Table, prefix: &str, out: &mut Vec<(String, String)>) {
    for (key, value) in table {
        let name = if prefix.is_empty() { key.clone() } else { format!("{prefix}.{key}") };
        let pairs = Setting::from_name(&name).is_some_and(|setting| setting.definition().kind == Kind::Pairs);
        match value {
            toml::Value::Table(inner) if pairs => {
                let text: Vec<_> =
                    inner.iter().map(|(key, value)| format!("{key}={}", scalar(value))).collect();
                out.push((name, text.join(",")));
            }
            toml::Value::Table(inner) => flatten(inner, &name, out),
            other => out.push((name, scalar(other))),
        }
    }
}

fn scalar(value: &toml::Value) -> String {
    match value {
        toml::Value::String(text) => text.clone(),
        toml::Value::Array(list) => list.iter().map(scalar).collect::<Vec<_>>().join(","),
        other => other.to_string(),
    }
}

fn check(kind: Kind, text: &str) -> Result<(), String> {
    let fits = match kind {
        Kind::Text | Kind::DeviceList => true,
        Kind::Flag => parse_flag(text).is_some(),
        Kind::Duration => parse_duration(text).is_some(),
        Kind::Number { least, most } => {
            text.trim().parse::<f64>().is_ok_and(|number| (least..=most).contains(&number))
        }
        Kind::Pairs => parse_pairs(text).is_some(),
        Kind::OneOf(choices) => choices.contains(&text),
        Kind::Address => text.trim().parse::<std::net::SocketAddr>().is_ok(),
    };
    if fits { Ok(()) } else { Err(kind.to_string()) }
}

fn parse_flag(text: &str) -> Option<bool> {
    match text.trim().to_ascii_lowercase().as_str() {
        "true" | "1" | "yes" | "on" => Some(true),
        "false" | "0" | "no" | "off" => Some(false),
        _ => None,
    }
}

fn parse_duration(text: &str) -> Option<Duration> {
    let text = text.trim();
    let digits = text.find(|letter: char| !letter.is_ascii_digit() && letter != '.').unwrap_or(text.len());
    let seconds = match text[digits..].trim() {
        "ms" => 1e-3,
        "s" | "" => 1.0,
        "m" | "min" => 60.0,
        "h" => 3_600.0,
        _ => return None,
    };
    let duration = Duration::try_from_secs_f64(text[..digits].parse::<f64>().ok()? * seconds).ok()?;
    (!duration.is_zero()).then_some(duration)
}

/// `key=value` pairs with commas between them and percent-encoded values, as in W3C baggage.
fn parse_pairs(text: &str) -> Option<Vec<(String, String)>> {
    let part = |pair: &str| {
        let (key, value) = pair.split_once('=')?;
        let key = key.trim();
        (!key.is_empty()).then(|| (key.to_owned(), percent_decoded(value.trim())))
    };
    text.split(',').filter(|pair| !pair.trim().is_empty()).map(part).collect()
}

fn nearest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<String> {
    known
        .map(|known| (strsim::damerau_levenshtein(name, known), known))
        .min()
        .filter(|(distance, _)| *distance <= 1 + name.len() / 4)
        .map(|(_, known)| known.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variables(list: &[(&str, &str)]) -> Vec<(String, String)> {
        list.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    fn file(text: &str) -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("wattspan.toml");
        std::fs::write(&path, text).unwrap();
        (folder, path)
    }

    #[test]
    fn code_wins_over_environment_over_dot_env_over_file() {
        let (folder, toml) = file(
            "pue = 1.1\nprofile = \"core\"\n[otlp]\nendpoint = \"http://file\"\n[service]\nname = \"file\"\n",
        );
        let dot_env = folder.path().join(".env");
        std::fs::write(
            &dot_env,
            "# comment\nexport WATTSPAN_SERVICE_NAME='dot'\nWATTSPAN_PUE=\"1.2\"\nOTHER=x\n",
        )
        .unwrap();
        let environment = variables(&[("OTEL_SERVICE_NAME", "env"), ("WATTSPAN_PROFILE", "genai")]);
        let mut config = Config::new();
        config.set(Setting::ServiceName, "code").unwrap();
        let config = config.file(&toml).unwrap().dot_env(&dot_env).unwrap().environment(environment).unwrap();
        assert_eq!(config.text(Setting::ServiceName), Some("code"));
        assert_eq!(config.text(Setting::Profile), Some("genai"));
        assert_eq!(config.number(Setting::Pue), Some(1.2));
        assert_eq!(config.text(Setting::OtlpEndpoint), Some("http://file"));
        assert_eq!(config.origin(Setting::OtlpEndpoint), Some(&Origin::File(toml)));
        assert_eq!(config.origin(Setting::ExportInterval), None);
    }

    #[test]
    fn an_unknown_name_is_an_error_that_suggests_the_nearest() {
        let error = Config::new().environment(variables(&[("WATTSPAN_SERVICE_NAM", "x")])).unwrap_err();
        assert!(error.to_string().ends_with("did you mean \"WATTSPAN_SERVICE_NAME\"?"), "{error}");
        let (_folder, path) = file("[otlp]\nendpiont = \"x\"\n");
        let error = Config::new().file(&path).unwrap_err().to_string();
        assert!(error.contains("otlp.endpoint"), "{error}");
    }

    #[test]
    fn a_value_that_does_not_fit_says_what_would() {
        let error = Config::new().environment(variables(&[("WATTSPAN_PUE", "0.5")])).unwrap_err().to_string();
        assert!(error.contains("\"0.5\"") && error.contains("from 1"), "{error}");
        let error =
            Config::new().environment(variables(&[("WATTSPAN_PROFILE", "new")])).unwrap_err().to_string();
        assert!(error.contains("core") && error.contains("genai"), "{error}");
    }

    #[test]
    fn case_security_02_secrets_show_only_that_they_are_set() {
        let secret = "tok-EXAMPLE-0123456789";
        let config = Config::new()
            .environment(variables(&[
                ("OTEL_EXPORTER_OTLP_HEADERS", &format!("authorization={secret}")),
                ("WATTSPAN_ELECTRICITY_MAPS_KEY", secret),
            ]))
            .unwrap();
        let shown = format!("{config:?} {:?}", config.describe());
        assert!(
            !shown.contains("tok") && !shown.contains("6789") && shown.contains("OTEL_EXPORTER_OTLP_HEADERS")
        );
        let error =
            Config::new().environment(variables(&[("OTEL_EXPORTER_OTLP_HEADERS", secret)])).unwrap_err();
        assert!(!format!("{error} {error:?}").contains("EXAMPLE"));
    }

    #[test]
    fn case_config_02_an_empty_gpu_list_is_none_and_unset_is_all() {
        let gpus = |list: &[(&str, &str)]| {
            let config = Config::new().environment(variables(list)).unwrap();
            config.text(Setting::GpuDevices).map(str::to_owned)
        };
        assert_eq!(gpus(&[]), None);
        assert_eq!(gpus(&[("WATTSPAN_GPU_DEVICES", "")]).as_deref(), Some(""));
        assert_eq!(gpus(&[("WATTSPAN_GPU_DEVICES", "1, 3")]).as_deref(), Some("1, 3"));
        let (_folder, path) = file("[gpu]\ndevices = [1, 3]\n");
        assert_eq!(Config::new().file(&path).unwrap().text(Setting::GpuDevices), Some("1,3"));
    }

    #[test]
    fn pairs_are_percent_decoded_and_tables_become_pairs() {
        let (_folder, path) = file("[otlp.headers]\nauthorization = \"Bearer a\"\n");
        let config = Config::new().file(&path).unwrap();
        assert_eq!(config.pairs(Setting::OtlpHeaders), [("authorization".to_owned(), "Bearer a".to_owned())]);
        let text = "authorization=Bearer%20other,b=%E2%82%AC";
        let config = Config::new().environment(variables(&[("OTEL_EXPORTER_OTLP_HEADERS", text)])).unwrap();
        let pairs = config.pairs(Setting::OtlpHeaders);
        assert_eq!(pairs[0].1, "Bearer other");
        assert_eq!(pairs[1].1, "€");
    }

    #[test]
    fn durations_have_units_and_the_standard_counts_milliseconds() {
        let config =
            Config::new().environment(variables(&[("OTEL_METRIC_EXPORT_INTERVAL", "2500")])).unwrap();
        assert_eq!(config.duration(Setting::ExportInterval), Some(Duration::from_millis(2_500)));
        for (text, expected) in
            [("20ms", Some(20)), ("1.5 s", Some(1_500)), ("2m", Some(120_000)), ("0s", None), ("x", None)]
        {
            assert_eq!(parse_duration(text), expected.map(Duration::from_millis), "{text}");
        }
    }
}
