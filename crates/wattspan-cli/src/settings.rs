//! Settings from the command line, over those of the environment and of files.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use wattspan::core::Ratio;
use wattspan::{Config, Origin, Setting};

use crate::exit::{Failure, USAGE};

/// Options that every measuring command has.
#[derive(Args, Debug, Default)]
pub(crate) struct SettingArgs {
    /// Read settings from a TOML file
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Read settings from a .env file
    #[arg(long, value_name = "FILE")]
    env_file: Option<PathBuf>,
    /// Where electricity is drawn: two-letter code, three-letter code or name
    #[arg(long)]
    country: Option<String>,
    /// Whether what has no sensor is estimated, labelled so
    #[arg(long, value_name = "on|off")]
    estimate: Option<Switch>,
    /// Leave GPUs alone
    #[arg(long)]
    no_gpu: bool,
    /// Set any setting of docs/configuration.md; keep secrets in the environment or a file instead
    #[arg(long, value_name = "NAME=VALUE")]
    set: Vec<String>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Switch {
    On,
    Off,
}

impl SettingArgs {
    /// All of them, each with its origin.
    pub(crate) fn config(&self) -> Result<Config, Failure> {
        let mut config = Config::new();
        for pair in &self.set {
            let (name, value) = pair
                .split_once('=')
                .ok_or_else(|| Failure::new(USAGE, format!("--set {pair}: write it as --set NAME=VALUE")))?;
            let setting = Setting::from_name(name.trim()).ok_or_else(|| {
                let message =
                    format!("--set {name}: there is no such setting; `wattspan doctor --json` lists them");
                Failure::new(USAGE, message)
            })?;
            set(&mut config, setting, value)?;
        }
        if let Some(country) = &self.country {
            set(&mut config, Setting::Country, country)?;
        }
        if let Some(estimate) = self.estimate {
            let value = if matches!(estimate, Switch::On) { "on" } else { "off" };
            set(&mut config, Setting::Estimate, value)?;
        }
        if self.no_gpu {
            set(&mut config, Setting::Gpu, "off")?;
        }
        let usage = |error: wattspan::ConfigError| Failure::of(USAGE, &error);
        let mut config = config.or(Config::from_env().map_err(usage)?);
        if let Some(path) = &self.env_file {
            config = config.dot_env(path).map_err(usage)?;
        }
        if let Some(path) = &self.config {
            config = config.file(path).map_err(usage)?;
        }
        Ok(config)
    }
}

pub(crate) fn set(config: &mut Config, setting: Setting, value: &str) -> Result<(), Failure> {
    config.set(setting, value).map_err(|error| Failure::of(USAGE, &error))
}

/// The same settings without some that send or serve.
pub(crate) fn without(config: &Config, left_out: &[Setting]) -> Result<Config, Failure> {
    let mut kept = Config::new();
    let given = |setting: &Setting| !left_out.contains(setting) && config.origin(*setting).is_some();
    for setting in Setting::all().filter(given) {
        let Some(text) = config.text(setting) else { continue };
        // CUDA's own variable is read more leniently than ours, and is known by its origin.
        if let (Setting::GpuDevices, Some(Origin::Environment(name) | Origin::DotEnv(_, name))) =
            (setting, config.origin(setting))
        {
            let one = Config::new().environment([(name.clone(), text.to_owned())]);
            kept = kept.or(one.map_err(|error| Failure::of(USAGE, &error))?);
            continue;
        }
        set(&mut kept, setting, text)?;
    }
    Ok(kept)
}

/// Whether a flag is on.
pub(crate) fn is_on(config: &Config, setting: Setting) -> bool {
    let on = |text: &str| matches!(text.trim().to_ascii_lowercase().as_str(), "true" | "1" | "yes" | "on");
    config.text(setting).is_some_and(on)
}

/// A number, where one is set.
pub(crate) fn number(config: &Config, setting: Setting) -> Option<f64> {
    config.text(setting)?.trim().parse().ok()
}

/// A duration such as `500ms`, `5s`, `1m`; a bare number is seconds.
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    let text = text.trim();
    let digits = text.find(|letter: char| !letter.is_ascii_digit() && letter != '.').unwrap_or(text.len());
    let seconds = match text[digits..].trim() {
        "ms" => 1e-3,
        "s" | "" => 1.0,
        "m" | "min" => 60.0,
        "h" => 3_600.0,
        _ => return Err("write it as 500ms, 5s or 1m".to_owned()),
    };
    let number: f64 = text[..digits].parse().map_err(|_| "write it as 500ms, 5s or 1m".to_owned())?;
    match Duration::try_from_secs_f64(number * seconds) {
        Ok(duration) if duration >= LEAST => Ok(duration),
        _ => Err("take 10ms or more".to_owned()),
    }
}

/// A part of what there is, from 0 to 1.
pub(crate) fn share(text: &str) -> Result<Ratio, String> {
    let share = text.trim().parse().ok().and_then(Ratio::share);
    share.ok_or_else(|| "write it as a number from 0 to 1".to_owned())
}

/// Sets how often the sampler polls, where that was asked for, and answers how often it does.
pub(crate) fn interval(config: &mut Config, asked: Option<Duration>) -> Result<Duration, Failure> {
    if let Some(asked) = asked {
        set(config, Setting::SamplingIdle, &format!("{}ms", asked.as_millis()))?;
    }
    let set = config.text(Setting::SamplingIdle).and_then(|text| duration(text).ok());
    Ok(asked.or(set).unwrap_or(Duration::from_secs(1)))
}

/// Polling more often would measure the measuring.
const LEAST: Duration = Duration::from_millis(10);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_units() {
        assert_eq!(duration("500ms"), Ok(Duration::from_millis(500)));
        assert_eq!(duration("1.5"), Ok(Duration::from_millis(1_500)));
        assert_eq!(duration("2 min"), Ok(Duration::from_secs(120)));
        for wrong in ["", "0s", "1ms", "fast", "-1s", "1e400h"] {
            assert!(duration(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn the_endpoint_goes_and_the_rest_stays() {
        let mut config = Config::new();
        set(&mut config, Setting::OtlpEndpoint, "http://127.0.0.1:4318").unwrap();
        set(&mut config, Setting::Country, "FR").unwrap();
        let cuda = ("CUDA_VISIBLE_DEVICES".to_owned(), "0,9".to_owned());
        let config = config.environment([cuda]).unwrap();
        let kept = without(&config, &[Setting::OtlpEndpoint]).unwrap();
        assert_eq!(kept.text(Setting::OtlpEndpoint), None);
        assert_eq!(kept.text(Setting::Country), Some("FR"));
        assert_eq!(kept.origin(Setting::GpuDevices), config.origin(Setting::GpuDevices));
    }

    #[test]
    fn options_win_over_files() {
        let args = SettingArgs {
            set: vec!["pue=1.5".to_owned()],
            country: Some("DE".to_owned()),
            no_gpu: true,
            estimate: Some(Switch::Off),
            ..SettingArgs::default()
        };
        let config = args.config().unwrap();
        assert_eq!(number(&config, Setting::Pue), Some(1.5));
        assert_eq!(config.text(Setting::Country), Some("DE"));
        assert!(!is_on(&config, Setting::Gpu) && !is_on(&config, Setting::Estimate));
        let wrong = SettingArgs { set: vec!["puh=1".to_owned()], ..SettingArgs::default() };
        assert_eq!(wrong.config().unwrap_err().code, USAGE);
    }
}
