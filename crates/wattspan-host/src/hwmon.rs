//! Sensors of the kernel's hwmon class: energy counters of the `amd_energy` driver, for machines without powercap, and
//! temperatures of CPU packages.

use std::path::{Path, PathBuf};
use std::time::Duration;

use wattspan_core::{Celsius, CounterSpec, Device, DeviceId, DeviceKind, Vendor};

use crate::files::{Files, parse_number, word};

/// One counter.
pub(crate) struct Found {
    pub(crate) device: Device,
    pub(crate) energy: PathBuf,
}

/// What a label says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Label {
    Socket(u32),
    Core(u32),
}

impl Label {
    /// Reads `Esocket0` or `Ecore017`; `None` for other sensors.
    pub(crate) fn parse(label: &str) -> Option<Self> {
        let number = |rest: &str| rest.parse().ok();
        match (label.strip_prefix("Esocket"), label.strip_prefix("Ecore")) {
            (Some(rest), _) => number(rest).map(Self::Socket),
            (_, Some(rest)) => number(rest).map(Self::Core),
            _ => None,
        }
    }
}

/// The counters below `/sys/class/hwmon`: each socket, and each core when asked for.
pub(crate) fn find(files: &dyn Files, class: &Path, cores: bool, model: &str) -> Vec<Found> {
    let mut labels: Vec<(Label, PathBuf)> = Vec::new();
    for chip in files.list(class).unwrap_or_default() {
        let chip = class.join(chip);
        for file in files.list(&chip).unwrap_or_default() {
            let Some(number) = file.strip_prefix("energy").and_then(|rest| rest.strip_suffix("_label"))
            else {
                continue;
            };
            let label = word(files, &chip.join(&file)).and_then(|label| Label::parse(&label));
            if let Some(label) = label {
                labels.push((label, chip.join(format!("energy{number}_input"))));
            }
        }
    }
    labels.sort();
    labels.dedup_by_key(|(label, _)| *label);
    let sockets = labels.iter().filter(|(label, _)| matches!(label, Label::Socket(_))).count();
    let found = labels.into_iter().filter_map(|(label, energy)| {
        let (path, kind, parent) = match label {
            Label::Socket(socket) => (format!("socket-{socket}"), DeviceKind::Cpu, None),
            Label::Core(_) if !cores => return None,
            // With several sockets the label does not tell which one a core is in.
            Label::Core(core) => {
                (format!("core-{core}"), DeviceKind::CpuPart, (sockets == 1).then(|| id("socket-0")))
            }
        };
        let name = if model.is_empty() { path.as_str() } else { model };
        let mut device = Device::new(id(&path), kind, Vendor::Amd, name);
        device.parent = parent;
        device.index = match label {
            Label::Socket(number) | Label::Core(number) => Some(number),
        };
        // The driver adds up the hardware's 32 bits in 64 of its own (Linux, Documentation/hwmon/amd_energy.rst).
        device.counter =
            Some(CounterSpec { microjoules_per_tick: (1, 1), modulus: None, refresh: Some(REFRESH) });
        Some(Found { device, energy })
    });
    found.collect()
}

/// Temperature sensors below `/sys/class/hwmon`, with the number of the CPU package that each is for.
pub(crate) fn temperatures(files: &dyn Files, class: &Path) -> Vec<(u32, PathBuf)> {
    let mut found = Vec::new();
    let mut amd_chips = 0;
    for chip in files.list(class).unwrap_or_default() {
        let chip = class.join(chip);
        let name = word(files, &chip.join("name")).unwrap_or_default();
        let labels: Vec<(String, PathBuf)> = files
            .list(&chip)
            .unwrap_or_default()
            .iter()
            .filter_map(|file| {
                let number = file.strip_prefix("temp")?.strip_suffix("_label")?;
                Some((word(files, &chip.join(file))?, chip.join(format!("temp{number}_input"))))
            })
            .collect();
        match name.as_str() {
            "coretemp" => found.extend(labels.into_iter().filter_map(|(label, input)| {
                Some((label.strip_prefix("Package id ")?.parse().ok()?, input))
            })),
            // One chip for each socket, in their order. `Tctl` is `Tdie` plus an offset on some models.
            "k10temp" | "zenpower" => {
                let labelled = |wanted: &str| labels.iter().find(|(label, _)| label == wanted);
                if let Some((_, input)) = labelled("Tdie").or_else(|| labelled("Tctl")) {
                    found.push((amd_chips, input.clone()));
                    amd_chips += 1;
                }
            }
            _ => {}
        }
    }
    found
}

/// A temperature in thousandths of a degree; `None` for what no CPU that runs can have.
pub(crate) fn celsius(bytes: &[u8]) -> Option<Celsius> {
    let digits = bytes.trim_ascii();
    let (sign, digits) = digits.strip_prefix(b"-").map_or((1.0, digits), |digits| (-1.0, digits));
    let degrees = sign * parse_number(digits)? as f64 / 1e3;
    (-60.0..=150.0).contains(&degrees).then(|| Celsius::new(degrees))?
}

fn id(path: &str) -> DeviceId {
    DeviceId::new(format!("hwmon:amd_energy:{path}"))
}

/// AMD updates its counters about once a millisecond (Processor Programming Reference, RAPL).
const REFRESH: Duration = Duration::from_millis(1);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_sockets_and_cores() {
        assert_eq!(Label::parse("Esocket1"), Some(Label::Socket(1)));
        assert_eq!(Label::parse("Ecore017"), Some(Label::Core(17)));
        assert_eq!(Label::parse("in0"), None);
        assert_eq!(Label::parse("Ecore"), None);
    }

    #[test]
    fn temperatures_are_thousandths_of_a_degree() {
        assert_eq!(celsius(b"54250\n"), Celsius::new(54.25));
        assert_eq!(celsius(b"-5000\n"), Celsius::new(-5.0));
        assert_eq!(celsius(b"255000"), None);
        assert_eq!(celsius(b"--5"), None);
    }
}
