//! What one interval of a source says, in units. Pure: every source ends here.

use std::time::Duration;

use wattspan_core::{Bytes, Celsius, Hertz, Joules, Ratio, Reading, Watts};

/// Means over one interval, and gauges at its end.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Snapshot {
    /// Length of the interval that the powers are means of.
    pub elapsed: Duration,
    /// Power of all CPU cores.
    pub cpu: Reading<Watts>,
    /// Power of the GPU.
    pub gpu: Reading<Watts>,
    /// Power of the Neural Engine.
    pub npu: Reading<Watts>,
    /// Power of memory.
    pub dram: Reading<Watts>,
    /// Power of the package, where the source measures it.
    pub package: Reading<Watts>,
    /// Power of the whole machine.
    pub platform: Reading<Watts>,
    /// Load of the CPU cores.
    pub cpu_utilization: Reading<Ratio>,
    /// Load of the GPU.
    pub gpu_utilization: Reading<Ratio>,
    /// Clock of the GPU.
    pub gpu_clock: Reading<Hertz>,
    /// Mean temperature of the CPU cores.
    pub cpu_temperature: Reading<Celsius>,
    /// Mean temperature of the GPU.
    pub gpu_temperature: Reading<Celsius>,
    /// Memory in use, which CPU and GPU share.
    pub memory_used: Reading<Bytes>,
    /// All memory.
    pub memory_total: Reading<Bytes>,
}

impl Snapshot {
    /// An interval of which only the length is known.
    pub fn new(elapsed: Duration) -> Self {
        Self {
            elapsed,
            cpu: Reading::NotSupported,
            gpu: Reading::NotSupported,
            npu: Reading::NotSupported,
            dram: Reading::NotSupported,
            package: Reading::NotSupported,
            platform: Reading::NotSupported,
            cpu_utilization: Reading::NotSupported,
            gpu_utilization: Reading::NotSupported,
            gpu_clock: Reading::NotSupported,
            cpu_temperature: Reading::NotSupported,
            gpu_temperature: Reading::NotSupported,
            memory_used: Reading::NotSupported,
            memory_total: Reading::NotSupported,
        }
    }
}

/// Power of one part from its energy over the interval.
pub(crate) fn mean(energy: Joules, elapsed: Duration) -> Reading<Watts> {
    match energy / elapsed {
        Some(power) => sane(power.watts()),
        None => Reading::failed("an interval without length has no power"),
    }
}

/// A power, unless it is not a number, negative, or more than a desktop Mac's supply gives (Mac Studio and Mac Pro:
/// below 1 kW).
pub(crate) fn sane(watts: f64) -> Reading<Watts> {
    match Watts::new(watts) {
        Some(power) if (0.0..=MOST_WATTS).contains(&watts) => Reading::Value(power),
        Some(power) => Reading::failed(format!("{power} is not possible")),
        None => Reading::failed("the sensor gave no number"),
    }
}

const MOST_WATTS: f64 = 1_500.0;

/// A temperature of a sensor that may give nonsense; anything but a plausible number is absent.
///
/// ```
/// use wattspan_apple::temperature;
///
/// assert_eq!(temperature(51.5).value().unwrap().celsius(), 51.5);
/// assert!(!temperature(f64::NAN).is_value());
/// ```
pub fn temperature(celsius: f64) -> Reading<Celsius> {
    match Celsius::new(celsius) {
        Some(temperature) if (-40.0..=150.0).contains(&celsius) => Reading::Value(temperature),
        Some(temperature) => Reading::failed(format!("{temperature} is not possible")),
        None => Reading::failed("the sensor gave no number"),
    }
}

/// The figures of one macmon call, as it gives them.
#[derive(Clone, Copy, Debug, Default)]
#[cfg_attr(not(all(target_os = "macos", target_arch = "aarch64")), allow(dead_code))]
pub(crate) struct Macmon {
    pub(crate) cpu_power: f32,
    pub(crate) gpu_power: f32,
    pub(crate) ane_power: f32,
    pub(crate) ram_power: f32,
    pub(crate) sys_power: f32,
    pub(crate) cpu_active: f32,
    pub(crate) gpu_active: f32,
    pub(crate) gpu_mhz: u32,
    pub(crate) cpu_temperature: Option<f32>,
    pub(crate) gpu_temperature: Option<f32>,
    pub(crate) memory_used: u64,
    pub(crate) memory_total: u64,
}

#[cfg_attr(not(all(target_os = "macos", target_arch = "aarch64")), allow(dead_code))]
impl Macmon {
    /// Reads its figures. It leaves every power at 0 where IOReport has no energy (virtual machines), so that all zero
    /// is "no sensor"; memory and the whole machine always draw, so that a zero there is the same.
    pub(crate) fn snapshot(&self, elapsed: Duration) -> Snapshot {
        let mut snapshot = Snapshot::new(elapsed);
        let power = |watts: f32| sane(f64::from(watts));
        let never_idle = |watts: f32| if watts == 0.0 { Reading::NotSupported } else { power(watts) };
        if [self.cpu_power, self.gpu_power, self.ane_power].iter().any(|watts| *watts != 0.0) {
            snapshot.cpu = power(self.cpu_power);
            snapshot.gpu = power(self.gpu_power);
            snapshot.npu = power(self.ane_power);
        }
        snapshot.dram = never_idle(self.ram_power);
        // Its figure is never below the sum of the parts: where the machine's own sensor reads less, it repeats them.
        snapshot.platform = never_idle(self.sys_power);
        let share = |ratio: f32| match Ratio::share(f64::from(ratio)) {
            Some(ratio) => Reading::Value(ratio),
            None => Reading::failed("the load is not between 0 and 1"),
        };
        snapshot.cpu_utilization = share(self.cpu_active);
        snapshot.gpu_utilization = share(self.gpu_active);
        snapshot.gpu_clock = megahertz(f64::from(self.gpu_mhz));
        let degrees =
            |celsius: Option<f32>| celsius.map_or(Reading::NotSupported, |c| temperature(f64::from(c)));
        snapshot.cpu_temperature = degrees(self.cpu_temperature);
        snapshot.gpu_temperature = degrees(self.gpu_temperature);
        if self.memory_total > 0 {
            snapshot.memory_used = Reading::Value(Bytes::new(self.memory_used));
            snapshot.memory_total = Reading::Value(Bytes::new(self.memory_total));
        }
        snapshot
    }
}

/// A clock; 0 is "not running", which has no clock.
pub(crate) fn megahertz(megahertz: f64) -> Reading<Hertz> {
    Reading::from(Hertz::new(megahertz * 1e6).filter(|hertz| hertz.hertz() > 0.0))
}
