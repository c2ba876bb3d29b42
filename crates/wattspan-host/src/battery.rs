//! Power that batteries give while they discharge.

use std::path::Path;

use wattspan_core::{Device, DeviceId, DeviceKind, PowerShape, PowerSpec, Reading, Vendor, Watts};

use crate::files::{Absent, Files, Polled, word};
use crate::remedy;

/// One battery of the machine.
pub(crate) struct Battery {
    status: Polled,
    power: Polled,
    current: Polled,
    voltage: Polled,
}

impl Battery {
    /// The batteries that feed the machine, below `/sys/class/power_supply`.
    pub(crate) fn find(files: &dyn Files, class: &Path) -> Vec<(Device, Self)> {
        let mut found = Vec::new();
        for name in files.list(class).unwrap_or_default() {
            let folder = class.join(&name);
            let is = |file: &str, value: &str| word(files, &folder.join(file)).as_deref() == Some(value);
            // Scope `Device` is the battery of a mouse or a headset.
            if !is("type", "Battery") || is("scope", "Device") {
                continue;
            }
            let maker = word(files, &folder.join("manufacturer")).unwrap_or_default();
            let model = word(files, &folder.join("model_name")).unwrap_or_default();
            let label: String = format!("{maker} {model}").trim().chars().take(128).collect();
            let label = if label.is_empty() { name.clone() } else { label };
            let id = DeviceId::new(format!("battery:{name}"));
            let mut device = Device::new(id, DeviceKind::Platform, Vendor::Unknown, label);
            device.power = Some(PowerSpec {
                // The kernel hands on the battery's present rate and says nothing of its window.
                shape: PowerShape::Instant { window: std::time::Duration::ZERO },
                refresh: None,
            });
            device.note = Some(
                "what the battery gives while it discharges: the whole machine, never added to its parts"
                    .to_owned(),
            );
            let polled = |file: &str| Polled::new(folder.join(file), remedy::root_only);
            let battery = Self {
                status: polled("status"),
                power: polled("power_now"),
                current: polled("current_now"),
                voltage: polled("voltage_now"),
            };
            found.push((device, battery));
        }
        found
    }

    /// Power while discharging; a failure that says so otherwise.
    pub(crate) fn read(&mut self, files: &dyn Files) -> Reading<Watts> {
        let mut buffer = [0; 64];
        let status = match self.status.read(files, &mut buffer) {
            Ok(status) => status,
            Err(absent) => return absent.reading(),
        };
        if status.trim_ascii() != b"Discharging" {
            return Reading::failed("the battery is not discharging");
        }
        let rate = match signed(&mut self.power, files) {
            Ok(microwatts) => Ok(microwatts),
            Err(absent) => {
                let product = signed(&mut self.current, files)
                    .and_then(|current| Ok((current, signed(&mut self.voltage, files)?)));
                // 1 µA × 1 µV = 10⁻⁶ µW.
                product.map(|(current, voltage)| current * voltage / 1e6).map_err(|_| absent)
            }
        };
        match rate {
            Ok(microwatts) => plausible(microwatts / 1e6),
            Err(absent) => absent.reading(),
        }
    }
}

/// Some drivers give the rate of discharge as a negative number.
fn signed(file: &mut Polled, files: &dyn Files) -> Result<f64, Absent> {
    let mut buffer = [0; 64];
    let bytes = file.read(files, &mut buffer)?.trim_ascii();
    let digits = bytes.strip_prefix(b"-").unwrap_or(bytes);
    match crate::files::parse_number(digits) {
        Some(number) => Ok(number as f64),
        None => Err(Absent::failed(format!("{} holds no whole number", file.path().display()))),
    }
}

fn plausible(watts: f64) -> Reading<Watts> {
    match Watts::new(watts) {
        Some(power) if watts > 0.0 && watts <= MOST_WATTS => Reading::Value(power),
        // A machine that runs draws something: firmware writes 0 or all ones before it knows.
        _ => Reading::failed("the battery reports no believable rate"),
    }
}

/// No laptop's battery gives more: 99 Wh, the most that may fly, at ten times its capacity an hour.
const MOST_WATTS: f64 = 1_000.0;
