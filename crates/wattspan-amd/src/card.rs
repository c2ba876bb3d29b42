//! One card: who it is, which of its sensors work, and its readings of one tick.

use std::time::Duration;

use wattspan_core::{
    Bytes, CounterSpec, Gauges, Hertz, MonoTime, PowerShape, PowerSpec, Ratio, Reading, Watts,
};

use crate::gpu_metrics::{EnergyTick, GpuMetrics, PowerField, gpu_metrics};
use crate::limits;
use crate::stale::Stale;
use crate::tree::{self, Source};

/// Window that is taken for the firmware's power averages. AMD does not publish their filter; a second is the longest
/// that the kernel's documentation of other vendors' sensors names, so the uncertainty is on the safe side.
pub(crate) const AVERAGE_WINDOW: Duration = Duration::from_secs(1);

/// 2⁻¹⁶ J as a fraction of microjoules: 10⁶ / 65 536.
const KNOWN_TICK: (u64, u64) = (15_625, 1_024);

/// Who a card is. Nothing here wakes it.
#[derive(Clone, Debug)]
pub(crate) struct Identity {
    /// Path of its `device` folder below the root.
    pub(crate) path: String,
    pub(crate) pci_address: String,
    /// `GPU-` and 16 hexadecimal digits, as ROCm writes it.
    pub(crate) uuid: Option<String>,
    pub(crate) name: String,
    pub(crate) serial: Option<String>,
}

impl Identity {
    /// The card in a folder of `sys/class/drm`; `None` when amdgpu does not drive it.
    pub(crate) fn find(source: &dyn Source, card: &str) -> Option<Self> {
        let number = card.strip_prefix("card")?;
        if number.is_empty() || !number.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        let path = format!("sys/class/drm/{card}/device");
        let uevent = tree::text(source, &format!("{path}/uevent"))?;
        // Compute partitions are platform devices of a driver of their own; they are found through KFD.
        if crate::parse::uevent(&uevent, "DRIVER") != Some("amdgpu") {
            return None;
        }
        let pci_address = crate::parse::uevent(&uevent, "PCI_SLOT_NAME")?.to_ascii_lowercase();
        let file = |name: &str| tree::line(source, &format!("{path}/{name}"));
        let uuid = file("unique_id")
            .filter(|id| id.len() <= 16 && id.bytes().all(|byte| byte.is_ascii_hexdigit()))
            .filter(|id| id.bytes().any(|byte| byte != b'0'))
            .map(|id| format!("GPU-{:0>16}", id.to_ascii_lowercase()));
        let model = |name: &str| file(name).map(|id| id.trim_start_matches("0x").to_owned());
        let name = file("product_name").unwrap_or_else(|| match (model("vendor"), model("device")) {
            (Some(vendor), Some(device)) => format!("AMD GPU {vendor}:{device}"),
            _ => "AMD GPU".to_owned(),
        });
        let serial = file("serial_number").filter(|serial| serial.bytes().any(|byte| byte != b'0'));
        Some(Self { path, pci_address, uuid, name, serial })
    }
}

/// Where a card's power comes from; chosen once, so that all its readings have one shape.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum PowerSource {
    /// The socket power of `gpu_metrics`.
    Metrics(PowerField),
    /// The power of an APU's graphics part in `gpu_metrics`.
    Graphics,
    /// A file of hwmon.
    Hwmon(HwmonPower),
}

/// The two power files of hwmon, of which most cards have one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HwmonPower {
    Average,
    Input,
}

impl HwmonPower {
    pub(crate) const fn file(self) -> &'static str {
        match self {
            Self::Average => "power1_average",
            Self::Input => "power1_input",
        }
    }
}

/// What a card turned out to have once it was awake.
#[derive(Clone, Debug)]
pub(crate) struct Sensors {
    /// Whether `gpu_metrics` has a layout that is known.
    pub(crate) metrics: bool,
    /// The hwmon folder's path.
    pub(crate) hwmon: Option<String>,
    pub(crate) power: Option<PowerSource>,
    /// Why there is no power, when there is none.
    pub(crate) no_power: Reading<Watts>,
    pub(crate) counter: Option<CounterSpec>,
    pub(crate) power_limit: Option<Watts>,
    pub(crate) memory_total: Option<Bytes>,
    pub(crate) is_apu: bool,
    /// `SPX`, `DPX`, `CPX` and so on.
    pub(crate) partition: Option<String>,
    /// What a reader should know.
    pub(crate) notes: Vec<String>,
}

impl Sensors {
    /// Looks at an awake card; `None` when it was too busy to tell, so that it should be asked again.
    pub(crate) fn probe(
        source: &dyn Source,
        who: &Identity,
        legacy_tick: Option<(u64, u64)>,
    ) -> Option<Self> {
        let mut notes = Vec::new();
        let hwmon = hwmon(source, &who.path);
        let table = match tree::bytes(source, &metrics_path(who)) {
            Reading::Failed(_) => return None,
            Reading::Value(bytes) => match gpu_metrics(&bytes) {
                Ok(table) => Some(table),
                Err(crate::MetricsError::Short { .. }) => return None,
                Err(error) => {
                    notes.push(format!("{error}: hwmon is read instead"));
                    None
                }
            },
            Reading::NotSupported | Reading::Denied(_) => None,
        };
        let label = hwmon.as_ref().and_then(|hwmon| tree::line(source, &format!("{hwmon}/in1_label")));
        // Only APUs have a north-bridge voltage (Linux, Documentation/gpu/amdgpu/thermal.rst).
        let is_apu = table.as_ref().is_some_and(GpuMetrics::is_apu)
            || label.as_deref() == Some("vddnb")
            || who.name.contains("MI300A");
        let (power, no_power) = choose_power(source, table.as_ref(), hwmon.as_deref(), is_apu);
        match &power {
            Some(PowerSource::Metrics(field)) => {
                notes.push(format!("power is gpu_metrics {}", field.as_str()));
            }
            Some(PowerSource::Graphics) => notes.push("power is that of the graphics part".to_owned()),
            Some(PowerSource::Hwmon(file)) => notes.push(format!("power is hwmon {}", file.file())),
            None => notes.push("reports no power of its own".to_owned()),
        }
        if is_apu && !matches!(power, Some(PowerSource::Graphics) | None) {
            notes.push("its power is that of the whole package, CPU cores included".to_owned());
        }
        let limit_path = hwmon.as_ref().map(|hwmon| format!("{hwmon}/power1_cap"));
        let power_limit =
            limit_path.and_then(|path| power_file(source, &path).value()).filter(|limit| limit.watts() > 0.0);
        let file = |name: &str| format!("{}/{name}", who.path);
        Some(Self {
            counter: table.as_ref().and_then(|table| counter(table, legacy_tick)),
            metrics: table.is_some(),
            hwmon,
            power,
            no_power,
            power_limit,
            memory_total: tree::number(source, &file("mem_info_vram_total")).value().map(Bytes::new),
            is_apu,
            partition: tree::line(source, &file("current_compute_partition")),
            notes,
        })
    }

    /// How the chosen power is to be understood.
    pub(crate) fn power_spec(&self) -> Option<PowerSpec> {
        let shape = match self.power.as_ref()? {
            PowerSource::Metrics(PowerField::Current) | PowerSource::Hwmon(HwmonPower::Input) => {
                PowerShape::Instant { window: Duration::ZERO }
            }
            PowerSource::Metrics(PowerField::Average)
            | PowerSource::Graphics
            | PowerSource::Hwmon(HwmonPower::Average) => PowerShape::TrailingMean { window: AVERAGE_WINDOW },
        };
        Some(PowerSpec { shape, refresh: None })
    }

    /// Energy and power of one tick. `now` is asked right after the driver answered.
    pub(crate) fn measure(
        &self,
        source: &dyn Source,
        who: &Identity,
        stale: &mut Stale,
        now: &dyn Fn() -> MonoTime,
    ) -> Measured {
        let table = if self.metrics {
            let path = metrics_path(who);
            tree::bytes(source, &path).and_then(|bytes| match gpu_metrics(&bytes) {
                Ok(table) => Reading::Value(table),
                Err(error) => Reading::failed(error.to_string()),
            })
        } else {
            Reading::NotSupported
        };
        let time = now();
        let energy =
            if self.counter.is_some() { counted(&table, stale, time) } else { Reading::NotSupported };
        let power = match &self.power {
            None => self.no_power.clone(),
            Some(PowerSource::Metrics(_)) => metric(&table, |table| table.socket_power, "socket power"),
            Some(PowerSource::Graphics) => metric(&table, |table| table.graphics_power, "graphics power"),
            Some(PowerSource::Hwmon(file)) => match &self.hwmon {
                Some(hwmon) => power_file(source, &format!("{hwmon}/{}", file.file())),
                None => Reading::NotSupported,
            },
        };
        let power = power.and_then(|power| self.believe(power));
        Measured { time, energy, power, table }
    }

    /// Everything but energy and power.
    pub(crate) fn gauges(&self, source: &dyn Source, who: &Identity, table: &Reading<GpuMetrics>) -> Gauges {
        let own = |name: &str| tree::number(source, &format!("{}/{name}", who.path));
        let percent = |reading: Reading<u64>| {
            reading.and_then(|percent| match Ratio::percent(percent as f64) {
                Some(ratio) => Reading::Value(ratio),
                None => Reading::failed(format!("{percent} % busy is not possible")),
            })
        };
        let from_table = |get: fn(&GpuMetrics) -> Option<Ratio>| {
            table.as_value().and_then(get).map_or(Reading::NotSupported, Reading::Value)
        };
        let mut gauges = Gauges::default();
        gauges.utilization = percent(own("gpu_busy_percent")).or_else(|| from_table(|table| table.activity));
        gauges.memory_utilization = percent(own("mem_busy_percent"));
        gauges.memory_used = own("mem_info_vram_used").map(Bytes::new);
        gauges.memory_total = own("mem_info_vram_total").map(Bytes::new);
        gauges.pcie_replays = own("pcie_replay_count");
        let Some(hwmon) = &self.hwmon else {
            gauges.temperature = Reading::from(table.as_value().and_then(|table| table.temperature));
            gauges.memory_temperature =
                Reading::from(table.as_value().and_then(|table| table.memory_temperature));
            return gauges;
        };
        let sensor = |name: &str| tree::number(source, &format!("{hwmon}/{name}"));
        let temperature = |wanted: &str| labelled_temperature(source, hwmon, wanted);
        gauges.temperature = temperature("edge")
            .or_else(|| temperature("junction"))
            .or_else(|| Reading::from(table.as_value().and_then(|table| table.temperature)));
        gauges.memory_temperature = temperature("mem")
            .or_else(|| Reading::from(table.as_value().and_then(|table| table.memory_temperature)));
        let hertz = |reading: Reading<u64>| {
            reading
                .and_then(|hertz| Reading::from(Hertz::new(hertz as f64).filter(|hertz| hertz.hertz() > 0.0)))
        };
        gauges.clock = hertz(sensor("freq1_input"));
        gauges.memory_clock = hertz(sensor("freq2_input"));
        gauges.power_limit = power_file(source, &format!("{hwmon}/power1_cap"));
        gauges.fan = sensor("fan1_input").and_then(|now| {
            sensor("fan1_max").and_then(|most| Reading::from(Ratio::share(now as f64 / most as f64)))
        });
        gauges
    }

    fn believe(&self, power: Watts) -> Reading<Watts> {
        if limits::beyond(power, self.power_limit) {
            return Reading::failed(format!("{power} is more than this card can draw"));
        }
        Reading::Value(power)
    }
}

/// Energy and power of one tick, and the table that they came from.
pub(crate) struct Measured {
    pub(crate) time: MonoTime,
    pub(crate) energy: Reading<u64>,
    pub(crate) power: Reading<Watts>,
    pub(crate) table: Reading<GpuMetrics>,
}

fn metrics_path(who: &Identity) -> String {
    format!("{}/gpu_metrics", who.path)
}

/// The hwmon folder that amdgpu made for the card.
fn hwmon(source: &dyn Source, path: &str) -> Option<String> {
    let folder = format!("{path}/hwmon");
    source
        .list(&folder)
        .ok()?
        .into_iter()
        .map(|name| format!("{folder}/{name}"))
        .find(|hwmon| tree::line(source, &format!("{hwmon}/name")).as_deref() == Some("amdgpu"))
}

/// Takes the first source that has a figure. The current power of `gpu_metrics` comes with the accumulator in one read,
/// so it is first; hwmon's unit is documented for all generations; the averages of `gpu_metrics` are last.
fn choose_power(
    source: &dyn Source,
    table: Option<&GpuMetrics>,
    hwmon: Option<&str>,
    is_apu: bool,
) -> (Option<PowerSource>, Reading<Watts>) {
    let socket = table.filter(|table| table.socket_power.is_some());
    if is_apu && table.is_some_and(|table| table.graphics_power.is_some()) {
        return (Some(PowerSource::Graphics), Reading::NotSupported);
    }
    if socket.is_some_and(|table| table.power_field == PowerField::Current) {
        return (Some(PowerSource::Metrics(PowerField::Current)), Reading::NotSupported);
    }
    let mut absent = Reading::NotSupported;
    for file in [HwmonPower::Average, HwmonPower::Input] {
        let Some(hwmon) = hwmon else { break };
        match power_file(source, &format!("{hwmon}/{}", file.file())) {
            // A file that fails this time is the card's sensor all the same.
            Reading::Value(_) | Reading::Failed(_) => {
                return (Some(PowerSource::Hwmon(file)), Reading::NotSupported);
            }
            Reading::NotSupported => {}
            Reading::Denied(remedy) => absent = Reading::Denied(remedy),
        }
    }
    match socket {
        Some(table) => (Some(PowerSource::Metrics(table.power_field)), Reading::NotSupported),
        None => (None, absent),
    }
}

/// A power file of hwmon: microwatts, of which zero is "no sensor".
fn power_file(source: &dyn Source, path: &str) -> Reading<Watts> {
    tree::number(source, path).and_then(|microwatts| match microwatts {
        0 => Reading::NotSupported,
        microwatts => Reading::Value(Watts::from_microwatts(microwatts)),
    })
}

/// A temperature by its label; amdgpu numbers them edge, junction and mem, but leaves some out.
fn labelled_temperature(source: &dyn Source, hwmon: &str, wanted: &str) -> Reading<wattspan_core::Celsius> {
    for number in 1..=3 {
        if tree::line(source, &format!("{hwmon}/temp{number}_label")).as_deref() == Some(wanted) {
            return tree::number(source, &format!("{hwmon}/temp{number}_input")).and_then(|milli| {
                match limits::plausible_temperature(milli as f64 / 1e3) {
                    Some(temperature) => Reading::Value(temperature),
                    None => Reading::failed(format!("{milli} m°C is not possible")),
                }
            });
        }
    }
    Reading::NotSupported
}

/// The accumulator as a counter, where its tick is known or given.
fn counter(table: &GpuMetrics, legacy_tick: Option<(u64, u64)>) -> Option<CounterSpec> {
    table.energy?;
    let (microjoules_per_tick, modulus) = match table.energy_tick {
        EnergyTick::Known => (KNOWN_TICK, None),
        EnergyTick::Unstated => (legacy_tick?, None),
        EnergyTick::UnstatedNarrow => (legacy_tick?, Some(1 << 32)),
        EnergyTick::None => return None,
    };
    Some(CounterSpec { microjoules_per_tick, modulus, refresh: None })
}

fn counted(table: &Reading<GpuMetrics>, stale: &mut Stale, time: MonoTime) -> Reading<u64> {
    let count = metric(table, |table| table.energy, "energy accumulator");
    if let (Some(count), Some(table)) = (count.as_value(), table.as_value())
        && let Some(reason) = stale.advance(time, *count, table.firmware_clock, table.system_clock)
    {
        return Reading::failed(reason);
    }
    count
}

/// A field that this card had when it was looked at, and should have still.
fn metric<T>(
    table: &Reading<GpuMetrics>,
    get: impl FnOnce(&GpuMetrics) -> Option<T>,
    name: &str,
) -> Reading<T> {
    match table {
        Reading::Value(table) => match get(table) {
            Some(value) => Reading::Value(value),
            None => Reading::failed(format!("gpu_metrics has no {name} this time")),
        },
        Reading::NotSupported => Reading::NotSupported,
        Reading::Denied(remedy) => Reading::Denied(remedy.clone()),
        Reading::Failed(failure) => Reading::Failed(failure.clone()),
    }
}
