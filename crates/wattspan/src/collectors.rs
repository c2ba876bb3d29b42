//! Every collector that this program has, opened once, and what came of it.

use std::fmt;
use std::sync::Arc;

use wattspan_core::{Collector, Device, DeviceKind, OpenError};

use crate::{Config, Setting};

/// The collectors of this machine, all vendors together, no device twice.
#[derive(Default)]
pub struct Collectors {
    pub(crate) opened: Vec<Box<dyn Collector>>,
    findings: Vec<Finding>,
}

/// What came of one collector.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Finding {
    /// The collector, as its feature is called.
    pub collector: &'static str,
    /// What was found.
    pub outcome: Outcome,
}

/// What opening a collector came to.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Outcome {
    /// These devices.
    Found(Vec<Arc<Device>>),
    /// No such hardware here.
    Absent,
    /// The hardware is there and cannot be read; says what to do.
    Failed(String),
    /// Switched off by a setting.
    Off(Setting),
    /// Not compiled into this program.
    NotCompiled,
}

impl fmt::Display for Finding {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}: ", self.collector)?;
        match &self.outcome {
            Outcome::Found(devices) => {
                let names: Vec<_> =
                    devices.iter().map(|device| format!("{} ({})", device.name, device.id)).collect();
                write!(out, "{}", names.join(", "))
            }
            Outcome::Absent => out.write_str("no such hardware here"),
            Outcome::Failed(reason) => out.write_str(reason),
            Outcome::Off(setting) => write!(out, "off by {setting}"),
            Outcome::NotCompiled => write!(out, "not compiled in: enable the feature `{}`", self.collector),
        }
    }
}

impl Collectors {
    /// Opens what the features, the configuration and the machine allow. Never fails: what could not be opened is in
    /// [`Collectors::findings`], with the remedy.
    pub fn detect(config: &Config) -> Self {
        let mut collectors = Self::default();
        let gpu = config.flag(Setting::Gpu).then_some(()).ok_or(Setting::Gpu);
        let host = config.flag(Setting::Host).then_some(()).ok_or(Setting::Host);

        #[cfg(feature = "host")]
        collectors.add("host", host, || {
            let mut options = wattspan_host::HostOptions::default();
            options.battery = config.flag(Setting::Battery);
            wattspan_host::HostCollector::open(options)
        });
        #[cfg(not(feature = "host"))]
        collectors.note("host", Outcome::NotCompiled);

        #[cfg(feature = "nvidia")]
        collectors.add("nvidia", gpu, || {
            let mut options = wattspan_nvidia::NvidiaOptions::default();
            options.library = config.text(Setting::NvmlLibrary).map(Into::into);
            options.pid_namespace = match config.text(Setting::PidNamespace) {
                Some("host") => wattspan_nvidia::PidNamespace::Host,
                Some("container") => wattspan_nvidia::PidNamespace::Container,
                _ => wattspan_nvidia::PidNamespace::Detect,
            };
            wattspan_nvidia::NvidiaCollector::open(&options)
        });
        #[cfg(not(feature = "nvidia"))]
        collectors.note("nvidia", Outcome::NotCompiled);

        #[cfg(feature = "amd")]
        {
            let mut options = wattspan_amd::AmdOptions::default();
            options.apu = collectors.apu();
            collectors.add("amd", gpu, || wattspan_amd::AmdCollector::open(&options));
        }
        #[cfg(not(feature = "amd"))]
        collectors.note("amd", Outcome::NotCompiled);

        #[cfg(feature = "apple")]
        collectors.add("apple", gpu, || {
            wattspan_apple::AppleCollector::open(&wattspan_apple::AppleOptions::default())
        });
        #[cfg(not(feature = "apple"))]
        collectors.note("apple", Outcome::NotCompiled);

        // Without any of the features above the settings have no reader.
        let _ = (gpu, host);
        collectors
    }

    /// What came of each collector, compiled in or not.
    pub fn findings(&self) -> &[Finding] {
        &self.findings
    }

    /// All devices found.
    pub fn devices(&self) -> Vec<Arc<Device>> {
        self.opened.iter().flat_map(|collector| collector.devices()).cloned().collect()
    }

    /// Adds a collector of the program's own.
    pub fn with(mut self, collector: Box<dyn Collector>) -> Self {
        self.note(collector.name(), Outcome::Found(collector.devices().to_vec()));
        self.opened.push(collector);
        self
    }

    /// Gives the collectors away, for composing a monitor by hand.
    pub fn into_inner(self) -> Vec<Box<dyn Collector>> {
        self.opened
    }

    /// Whose joules an APU's graphics are: the CPU package's where that one is counted, else its own.
    #[cfg(feature = "amd")]
    fn apu(&self) -> wattspan_amd::ApuEnergy {
        let devices = self.devices();
        let package = devices.iter().find(|device| {
            device.kind == DeviceKind::Cpu
                && device.vendor == wattspan_core::Vendor::Amd
                && (device.counter.is_some() || device.power.is_some())
        });
        package.map_or(wattspan_amd::ApuEnergy::Counted, |package| {
            wattspan_amd::ApuEnergy::PartOf(package.id.clone())
        })
    }

    fn note(&mut self, collector: &'static str, outcome: Outcome) {
        self.findings.push(Finding { collector, outcome });
    }

    #[allow(dead_code, reason = "a build without a collector feature has no caller")]
    fn add<C: Collector + 'static>(
        &mut self,
        name: &'static str,
        wanted: Result<(), Setting>,
        open: impl FnOnce() -> Result<Option<C>, OpenError>,
    ) {
        if let Err(setting) = wanted {
            return self.note(name, Outcome::Off(setting));
        }
        match open() {
            Ok(Some(collector)) if self.repeats(&collector) => {
                self.note(name, Outcome::Failed("another collector already counts its devices".to_owned()));
            }
            Ok(Some(collector)) => {
                self.note(name, Outcome::Found(collector.devices().to_vec()));
                self.opened.push(Box::new(collector));
            }
            Ok(None) => self.note(name, Outcome::Absent),
            Err(error) => {
                tracing::warn!(collector = name, %error, "a collector could not be opened");
                self.note(name, Outcome::Failed(error.to_string()));
            }
        }
    }

    /// Whether every counted device of a collector is counted already: Apple's package counters and the host's, say.
    #[allow(dead_code, reason = "a build without a collector feature has no caller")]
    fn repeats(&self, collector: &dyn Collector) -> bool {
        let known = self.devices();
        let counted = |device: &&Arc<Device>| {
            device.is_counted() && (device.counter.is_some() || device.power.is_some())
        };
        let mut new = collector.devices().iter().filter(counted).peekable();
        let same = |device: &Arc<Device>| {
            known.iter().filter(counted).any(|other| {
                other.id == device.id
                    || (device.kind != DeviceKind::Gpu
                        && other.kind == device.kind
                        && other.vendor == device.vendor
                        && other.pci_address == device.pci_address)
            })
        };
        new.peek().is_some() && new.all(same)
    }
}

impl fmt::Debug for Collectors {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Collectors").field("findings", &self.findings).finish_non_exhaustive()
    }
}
