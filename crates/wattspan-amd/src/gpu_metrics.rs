//! The binary table that amdgpu shows as `gpu_metrics`, as a pure function of its bytes.
//!
//! The table begins with its size and two revision numbers. One revision (1.6) exists in two layouts, so a layout is
//! chosen by revision *and* size; what matches none is unknown and nothing is read from it. The driver fills what it
//! does not know with ones, so a field of all ones is absent. Must not know files.
//!
//! Source: Linux, `drivers/gpu/drm/amd/include/kgd_pp_interface.h`, `struct gpu_metrics_v1_0` to `v3_0`; revisions
//! 1.6 (late) to 1.8 from the amd-gfx mailing list, March 2025. All fields are little-endian.

use wattspan_core::{Celsius, Ratio, Watts};

use crate::limits::{plausible_temperature, plausible_watts};

/// What a `gpu_metrics` table says.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct GpuMetrics {
    /// Format revision and content revision: `(1, 3)` on a discrete GPU, `(2, 1)` on an APU.
    pub revision: (u8, u8),
    /// Power of the whole socket, where its unit is known.
    pub socket_power: Option<Watts>,
    /// Which of the two power fields this revision has.
    pub power_field: PowerField,
    /// The raw power figure of revisions 2.0 to 2.3, whose unit the kernel does not state. Never taken for watts.
    pub unscaled_socket_power: Option<u16>,
    /// Power of the graphics part of an APU (revisions 2.4 and 3.0).
    pub graphics_power: Option<Watts>,
    /// Raw count of the energy accumulator, in ticks of [`GpuMetrics::energy_tick`].
    pub energy: Option<u64>,
    /// What the kernel says about the accumulator's tick.
    pub energy_tick: EnergyTick,
    /// Time of the driver's clock when the table was filled. **Unit** nanoseconds.
    pub system_clock: Option<u64>,
    /// Time of the firmware's clock when it measured. **Unit** 10 ns. **Absent** also as 0, which firmware without
    /// such a clock writes.
    pub firmware_clock: Option<u64>,
    /// Hot spot (discrete) or graphics (revision 2.4) temperature. **Absent** where the unit is not stated.
    pub temperature: Option<Celsius>,
    /// Memory temperature of a discrete GPU.
    pub memory_temperature: Option<Celsius>,
    /// How busy the graphics engines were. **Absent** where the unit is not stated.
    pub activity: Option<Ratio>,
}

impl GpuMetrics {
    /// Whether this is the table of an APU, whose socket power covers CPU cores too.
    pub const fn is_apu(&self) -> bool {
        self.revision.0 >= 2
    }
}

/// Which power a table holds: one generation fills the average, the next the current one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PowerField {
    /// `average_socket_power`, filtered by the firmware.
    Average,
    /// `current_socket_power`.
    Current,
}

impl PowerField {
    /// The field's name in the kernel's header.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Average => "average_socket_power",
            Self::Current => "current_socket_power",
        }
    }
}

/// What is known of the energy accumulator's tick.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum EnergyTick {
    /// 2⁻¹⁶ J (revision 1.4 and later): the header says so.
    Known,
    /// Not stated; the count is of 64 bits (revisions 1.1 to 1.3).
    Unstated,
    /// Not stated; the count is of 32 bits and wraps (revision 1.0).
    UnstatedNarrow,
    /// No accumulator (APUs).
    None,
}

/// Why nothing could be read from a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MetricsError {
    /// The read ended early. The next may be whole.
    #[error("gpu_metrics gave {got} bytes of {stated}")]
    Short {
        /// Bytes read.
        got: usize,
        /// Bytes that the header promises, or the header's own size.
        stated: usize,
    },
    /// A revision that is not known here, or a known one of another size.
    #[error("gpu_metrics v{format}.{content} of {size} bytes is not a known layout")]
    Unknown {
        /// Format revision.
        format: u8,
        /// Content revision.
        content: u8,
        /// Size that the header states.
        size: u16,
    },
}

/// Reads a table. Never panics, and never gives a figure outside what a board or a chip can have.
///
/// # Errors
/// When the bytes end early or the layout is not known; then hwmon's files are the source to take.
///
/// ```
/// use wattspan_amd::{MetricsError, gpu_metrics};
///
/// let header = [64, 0, 1, 9];
/// assert_eq!(gpu_metrics(&header), Err(MetricsError::Unknown { format: 1, content: 9, size: 64 }));
/// ```
pub fn gpu_metrics(bytes: &[u8]) -> Result<GpuMetrics, MetricsError> {
    let (Some(size), Some(&format), Some(&content)) = (u16_at(bytes, 0), bytes.get(2), bytes.get(3)) else {
        return Err(MetricsError::Short { got: bytes.len(), stated: HEADER });
    };
    let layout = LAYOUTS
        .iter()
        .find(|layout| layout.revision == (format, content) && layout.size == size)
        .ok_or(MetricsError::Unknown { format, content, size })?;
    let stated = usize::from(size);
    let table = bytes.get(..stated).ok_or(MetricsError::Short { got: bytes.len(), stated })?;
    Ok(layout.read(table))
}

/// Size of the header that all revisions begin with.
const HEADER: usize = 4;

/// Where a layout keeps its power and in which unit.
#[derive(Clone, Copy)]
enum Power {
    /// Whole watts in 16 bits.
    Watts(usize),
    /// Milliwatts in 16 bits, and of the graphics part.
    Milliwatts { socket: usize, graphics: usize },
    /// Milliwatts in 32 bits, and of the graphics part.
    WideMilliwatts { socket: usize, graphics: usize },
    /// 16 bits of an unstated unit.
    Unstated(usize),
}

#[derive(Clone, Copy)]
struct Layout {
    revision: (u8, u8),
    size: u16,
    field: PowerField,
    power: Power,
    energy: Option<(usize, EnergyTick)>,
    system_clock: usize,
    firmware_clock: Option<usize>,
    /// Hot-spot and memory temperature and the fraction of a degree that one step is; `None` when not stated.
    temperature: Option<(usize, Option<usize>, f64)>,
    /// Activity and the fraction of a per cent that one step is; `None` when not stated.
    activity: Option<(usize, f64)>,
}

impl Layout {
    fn read(&self, table: &[u8]) -> GpuMetrics {
        let milliwatts = |raw: Option<u32>| raw.and_then(|raw| plausible_watts(f64::from(raw) / 1e3));
        let narrow = |offset| u16_at(table, offset).filter(|raw| *raw != u16::MAX);
        let wide = |offset| u32_at(table, offset).filter(|raw| *raw != u32::MAX);
        let long = |offset| u64_at(table, offset).filter(|raw| *raw != u64::MAX);
        let (socket_power, graphics_power, unscaled_socket_power) = match self.power {
            Power::Watts(socket) => (narrow(socket).map(f64::from).and_then(plausible_watts), None, None),
            Power::Milliwatts { socket, graphics } => {
                (milliwatts(narrow(socket).map(u32::from)), milliwatts(narrow(graphics).map(u32::from)), None)
            }
            Power::WideMilliwatts { socket, graphics } => {
                (milliwatts(wide(socket)), milliwatts(wide(graphics)), None)
            }
            Power::Unstated(socket) => (None, None, narrow(socket)),
        };
        let (energy, energy_tick) = match self.energy {
            None => (None, EnergyTick::None),
            Some((offset, EnergyTick::UnstatedNarrow)) => {
                (wide(offset).map(u64::from), EnergyTick::UnstatedNarrow)
            }
            Some((offset, tick)) => (long(offset), tick),
        };
        let degrees = |offset: usize, step: f64| {
            narrow(offset).and_then(|raw| plausible_temperature(f64::from(raw) * step))
        };
        GpuMetrics {
            revision: self.revision,
            socket_power,
            power_field: self.field,
            unscaled_socket_power,
            graphics_power,
            // An accumulator that was never moved belongs to a die without one of its own.
            energy: energy.filter(|count| *count != 0),
            energy_tick,
            system_clock: long(self.system_clock).filter(|time| *time != 0),
            firmware_clock: self.firmware_clock.and_then(long).filter(|time| *time != 0),
            temperature: self.temperature.and_then(|(hot, _, step)| degrees(hot, step)),
            memory_temperature: self
                .temperature
                .and_then(|(_, memory, step)| memory.and_then(|offset| degrees(offset, step))),
            activity: self.activity.and_then(|(offset, step)| {
                narrow(offset).and_then(|raw| Ratio::percent(f64::from(raw) * step))
            }),
        }
    }

    /// Revisions 1.1 to 1.3.
    const fn discrete(content: u8, size: u16, firmware_clock: Option<usize>) -> Self {
        Self {
            revision: (1, content),
            size,
            field: PowerField::Average,
            power: Power::Watts(22),
            energy: Some((24, EnergyTick::Unstated)),
            system_clock: 32,
            firmware_clock,
            temperature: Some((6, Some(8), 1.0)),
            activity: Some((16, 1.0)),
        }
    }

    /// Revisions 1.4 to 1.8.
    const fn instinct(content: u8, size: u16, energy: usize, firmware_clock: usize) -> Self {
        Self {
            revision: (1, content),
            size,
            field: PowerField::Current,
            power: Power::Watts(10),
            energy: Some((energy, EnergyTick::Known)),
            // The driver's clock follows the accumulator in all of them.
            system_clock: energy + 8,
            firmware_clock: Some(firmware_clock),
            temperature: Some((4, Some(6), 1.0)),
            activity: Some((12, 1.0)),
        }
    }

    /// Revisions 2.0 to 2.3. Firmware differs in the units that it fills in and the header states none, so power,
    /// temperature and activity come from hwmon and `gpu_busy_percent` there.
    const fn apu(content: u8, size: u16, socket: usize, system_clock: usize) -> Self {
        Self {
            revision: (2, content),
            size,
            field: PowerField::Average,
            power: Power::Unstated(socket),
            energy: None,
            system_clock,
            firmware_clock: None,
            temperature: None,
            activity: None,
        }
    }
}

const LAYOUTS: [Layout; 16] = [
    Layout {
        revision: (1, 0),
        size: 80,
        field: PowerField::Average,
        power: Power::Watts(34),
        energy: Some((36, EnergyTick::UnstatedNarrow)),
        system_clock: 8,
        firmware_clock: None,
        temperature: Some((18, Some(20), 1.0)),
        activity: Some((28, 1.0)),
    },
    Layout::discrete(1, 96, None),
    Layout::discrete(2, 104, Some(96)),
    Layout::discrete(3, 120, Some(96)),
    Layout::instinct(4, 288, 24, 232),
    Layout::instinct(5, 360, 88, 304),
    Layout::instinct(6, 384, 88, 328),
    Layout::instinct(6, 1664, 16, 256),
    Layout::instinct(7, 2208, 24, 288),
    Layout::instinct(8, 3872, 24, 288),
    Layout::apu(0, 120, 44, 8),
    Layout::apu(1, 120, 40, 32),
    Layout::apu(2, 128, 40, 32),
    Layout::apu(3, 152, 40, 32),
    Layout {
        revision: (2, 4),
        size: 168,
        field: PowerField::Average,
        power: Power::Milliwatts { socket: 40, graphics: 46 },
        energy: None,
        system_clock: 32,
        firmware_clock: None,
        temperature: Some((4, None, 0.01)),
        activity: Some((28, 0.01)),
    },
    Layout {
        revision: (3, 0),
        size: 264,
        field: PowerField::Average,
        power: Power::WideMilliwatts { socket: 112, graphics: 124 },
        energy: None,
        system_clock: 104,
        firmware_clock: None,
        temperature: None,
        activity: None,
    },
];

fn array<const N: usize>(bytes: &[u8], offset: usize) -> Option<[u8; N]> {
    bytes.get(offset..offset.checked_add(N)?)?.try_into().ok()
}

fn u16_at(bytes: &[u8], offset: usize) -> Option<u16> {
    array(bytes, offset).map(u16::from_le_bytes)
}

fn u32_at(bytes: &[u8], offset: usize) -> Option<u32> {
    array(bytes, offset).map(u32::from_le_bytes)
}

fn u64_at(bytes: &[u8], offset: usize) -> Option<u64> {
    array(bytes, offset).map(u64::from_le_bytes)
}
