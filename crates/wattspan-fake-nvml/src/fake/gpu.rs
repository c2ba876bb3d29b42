//! One GPU of a fake driver, from the test's side.

use std::fmt::{self, Display, Write as _};

use super::{FakeNvml, parse};
use crate::error::Error;
use crate::model::{PowerReading, PowerSensor, Preset, Profile, RequestTruth, Utilisation};

/// Controls one GPU, or all. Every setter gives itself back, so that calls can be chained with `?`.
#[derive(Debug, Clone)]
pub struct GpuControl<'a> {
    fake: &'a FakeNvml,
    slot: String,
}

/// When an injected error applies: always, unless narrowed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ErrorWindow {
    from_us: Option<u64>,
    until_us: Option<u64>,
    times: Option<u64>,
}

/// Which list a process is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum ProcessKind {
    /// `nvmlDeviceGetComputeRunningProcesses`.
    #[default]
    Compute,
    /// `nvmlDeviceGetGraphicsRunningProcesses`.
    Graphics,
    /// `nvmlDeviceGetMPSComputeRunningProcesses`.
    Mps,
}

/// A process on a GPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ProcessSpec {
    /// Its id.
    pub pid: u32,
    /// Memory in bytes; none where the driver may not tell.
    pub memory: Option<u64>,
    /// The list it is in.
    pub kind: ProcessKind,
    /// GPU instance and compute instance, on a MIG device.
    pub instance: Option<(u32, u32)>,
    /// Utilisation of multiprocessors and memory in percent; none if the driver has no samples of it.
    pub utilisation: Option<(u32, u32)>,
}

/// A MIG device.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct MigDevice {
    /// Its memory in bytes.
    pub memory: u64,
    /// Memory in use, in bytes.
    pub used: u64,
    /// GPU instance and compute instance; counted up if none is given.
    pub instance: Option<(u32, u32)>,
    /// Its UUID; made up if none is given.
    pub uuid: Option<String>,
    /// Slices of the GPU that it has; one if none is given.
    pub slices: Option<u32>,
}

impl ErrorWindow {
    /// Always.
    pub const ALWAYS: Self = Self { from_us: None, until_us: None, times: None };

    /// From a moment on.
    pub const fn from_us(from_us: u64) -> Self {
        Self { from_us: Some(from_us), until_us: None, times: None }
    }

    /// From a moment until before another.
    pub const fn between_us(from_us: u64, until_us: u64) -> Self {
        Self { from_us: Some(from_us), until_us: Some(until_us), times: None }
    }

    /// For the next calls only.
    pub const fn times(times: u64) -> Self {
        Self { from_us: None, until_us: None, times: Some(times) }
    }
}

impl Display for ErrorWindow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (word, number) in [("from", self.from_us), ("until", self.until_us), ("times", self.times)] {
            if let Some(number) = number {
                write!(f, " {word} {number}")?;
            }
        }
        Ok(())
    }
}

/// Everything below fails with [`Error::Control`] if the GPU is not there or a value makes no sense, and with
/// [`Error::Query`] if there is no answer.
#[allow(clippy::missing_errors_doc)] // Said once, above.
impl<'a> GpuControl<'a> {
    pub(super) fn new(fake: &'a FakeNvml, slot: String) -> Self {
        Self { fake, slot }
    }

    /// Carries out a line of the control language that begins after `gpu N`.
    pub fn line(self, line: impl Display) -> Result<Self, Error> {
        self.fake.control(&format!("gpu {} {line}", self.slot))?;
        Ok(self)
    }

    /// Sensors, architecture and compute capability of a known architecture.
    pub fn preset(self, preset: Preset) -> Result<Self, Error> {
        self.line(format_args!("preset {}", preset.as_str()))
    }

    /// Name of the board.
    pub fn name(self, name: &str) -> Result<Self, Error> {
        self.line(format_args!("name {name}"))
    }

    /// UUID of the board.
    pub fn uuid(self, uuid: &str) -> Result<Self, Error> {
        self.line(format_args!("uuid {uuid}"))
    }

    /// PCI address, as `0000:65:00.0`.
    pub fn pci(self, address: &str) -> Result<Self, Error> {
        self.line(format_args!("pci {address}"))
    }

    /// Constant power apart from loads, from now on.
    pub fn idle_watts(self, watts: f64) -> Result<Self, Error> {
        self.line(format_args!("idle {watts}"))
    }

    /// Power apart from loads, from now on.
    pub fn profile(self, profile: &Profile) -> Result<Self, Error> {
        let pairs = |list: &[(u64, f64)]| {
            list.iter().fold(String::new(), |mut text, (time, watts)| {
                // Writing to a string does not fail.
                let _ = write!(text, " {time}:{watts}");
                text
            })
        };
        match profile {
            Profile::Constant { watts } => self.line(format_args!("profile constant {watts}")),
            Profile::Ramp { from, to, begin_us, end_us } => {
                self.line(format_args!("profile ramp {from} {to} {begin_us} {end_us}"))
            }
            Profile::Square { low, high, period_us, duty, phase_us } => {
                self.line(format_args!("profile square {low} {high} {period_us} {duty} {phase_us}"))
            }
            Profile::Burst { base, high, begin_us, length_us } => {
                self.line(format_args!("profile burst {base} {high} {begin_us} {length_us}"))
            }
            Profile::Steps(list) => self.line(format_args!("profile steps{}", pairs(list))),
            Profile::Points(list) => self.line(format_args!("profile points{}", pairs(list))),
        }
    }

    /// A known load from one moment to another, which falls over `tail_us` after its end.
    pub fn load(self, id: &str, begin_us: u64, end_us: u64, watts: f64, tail_us: u64) -> Result<Self, Error> {
        self.line(format_args!("load add {id} {begin_us} {end_us} {watts} {tail_us}"))
    }

    /// A known load from now on.
    pub fn begin_load(self, id: &str, watts: f64) -> Result<Self, Error> {
        self.line(format_args!("load begin {id} {watts}"))
    }

    /// Ends a load now; it falls over `tail_us`.
    pub fn end_load(self, id: &str, tail_us: u64) -> Result<Self, Error> {
        self.line(format_args!("load end {id} {tail_us}"))
    }

    /// Forgets loads that ended before a moment, in long runs. Energies stay as they are.
    pub fn forget_loads_before(self, time_us: u64) -> Result<Self, Error> {
        self.line(format_args!("load forget {time_us}"))
    }

    /// Refresh period and phase of the energy counter.
    pub fn counter_refresh(self, refresh_us: u64, phase_us: u64) -> Result<Self, Error> {
        self.line(format_args!("counter refresh {refresh_us} {phase_us}"))
    }

    /// Any other line that begins with `counter`: `off`, `wrap 1000000`, `freeze`.
    pub fn counter(self, line: impl Display) -> Result<Self, Error> {
        self.line(format_args!("counter {line}"))
    }

    /// The sensor of a power reading; none takes the reading away.
    pub fn sensor(self, reading: PowerReading, sensor: Option<PowerSensor>) -> Result<Self, Error> {
        let which = match reading {
            PowerReading::Usage => "usage",
            PowerReading::Average => "average",
            PowerReading::Instant => "instant",
        };
        match sensor {
            None => self.line(format_args!("sensor {which} off")),
            Some(PowerSensor { update_us, window_us, phase_us }) => self
                .line(format_args!("sensor {which} update {update_us} window {window_us} phase {phase_us}")),
        }
    }

    /// Makes the counter and the power readings wrong by a factor each.
    pub fn gains(self, counter: f64, power: f64) -> Result<Self, Error> {
        self.line(format_args!("counter gain {counter}"))?.line(format_args!("sensor gain {power}"))
    }

    /// Power of the rest of the module, which the counter then covers too.
    pub fn module_watts(self, watts: f64) -> Result<Self, Error> {
        self.line(format_args!("module {watts}"))
    }

    /// Where the utilisation comes from.
    pub fn utilisation(self, utilisation: Utilisation) -> Result<Self, Error> {
        match utilisation {
            Utilisation::Fixed { gpu, memory } => self.line(format_args!("util fixed {gpu} {memory}")),
            Utilisation::Loads { update_us, window_us, memory_share } => {
                self.line(format_args!("util loads {window_us} {update_us} {memory_share}"))
            }
        }
    }

    /// Memory in bytes: all, what the driver keeps, what is used.
    pub fn memory(self, total: u64, reserved: u64, used: u64) -> Result<Self, Error> {
        self.line(format_args!("memory {total} {reserved} {used}"))
    }

    /// Temperatures of die and memory, in degrees Celsius.
    pub fn temperature(self, die: i32, memory: Option<u32>) -> Result<Self, Error> {
        match memory {
            Some(memory) => self.line(format_args!("temp {die} {memory}")),
            None => self.line(format_args!("temp {die}")),
        }
    }

    /// Power limit in watts.
    pub fn power_limit(self, watts: f64) -> Result<Self, Error> {
        self.line(format_args!("limit {watts}"))
    }

    /// Adds a process.
    pub fn process(self, process: ProcessSpec) -> Result<Self, Error> {
        let ProcessSpec { pid, memory, kind, instance, utilisation } = process;
        let memory = memory.map_or_else(|| "na".to_owned(), |bytes| bytes.to_string());
        let kind = match kind {
            ProcessKind::Compute => "C",
            ProcessKind::Graphics => "G",
            ProcessKind::Mps => "M",
        };
        let instance = instance.map_or_else(String::new, |(gpu, compute)| format!(" gi {gpu} ci {compute}"));
        let utilisation = utilisation.map_or_else(String::new, |(sm, memory)| format!(" util {sm} {memory}"));
        self.line(format_args!("proc add {pid} {memory} kind {kind}{instance}{utilisation}"))
    }

    /// Removes every process.
    pub fn clear_processes(self) -> Result<Self, Error> {
        self.line("proc clear")
    }

    /// Switches MIG on or off; the MIG devices go away.
    pub fn mig(self, on: bool) -> Result<Self, Error> {
        self.line(if on { "mig on" } else { "mig off" })
    }

    /// Adds a MIG device.
    pub fn mig_device(self, device: &MigDevice) -> Result<Self, Error> {
        let MigDevice { memory, used, instance, uuid, slices } = device;
        let instance = instance.map_or_else(String::new, |(gpu, compute)| format!(" gi {gpu} ci {compute}"));
        let uuid = uuid.as_ref().map_or_else(String::new, |uuid| format!(" uuid {uuid}"));
        let slices = slices.map_or_else(String::new, |slices| format!(" slices {slices}"));
        self.line(format_args!("mig add {memory} used {used}{instance}{uuid}{slices}"))
    }

    /// Makes a function fail on this GPU. `*` is every function; `field:186` one field value. Code 0 is an exception from
    /// an earlier `*`.
    pub fn fail(self, function: &str, code: u32, window: ErrorWindow) -> Result<Self, Error> {
        self.line(format_args!("err {function} {code}{window}"))
    }

    /// Takes a MIG device away, as somebody does who lays the GPU out anew. Those after it move up by one; handles of
    /// those that stay go on working, and its own never work again.
    pub fn remove_mig_device(self, index: usize) -> Result<Self, Error> {
        self.line(format_args!("mig remove {index}"))
    }

    /// Makes a function fail on one of the MIG devices.
    pub fn fail_mig(
        self,
        index: usize,
        function: &str,
        code: u32,
        window: ErrorWindow,
    ) -> Result<Self, Error> {
        self.line(format_args!("mig {index} err {function} {code}{window}"))
    }

    /// Lets a function succeed again; `*` lets all.
    pub fn succeed(self, function: &str) -> Result<Self, Error> {
        self.line(format_args!("ok {function}"))
    }

    /// Takes the GPU off the bus: every call on it fails with code 15, and the next initialisation does not find it.
    pub fn lose(self) -> Result<Self, Error> {
        self.line("lost")
    }

    /// Brings a lost GPU back, with the same UUID, new handles, a counter at nought, and from the next initialisation
    /// on perhaps another index.
    pub fn return_at(self, index: Option<usize>) -> Result<Self, Error> {
        match index {
            Some(index) => self.line(format_args!("return index {index}")),
            None => self.line("return"),
        }
    }

    /// True energy between two moments, in joules.
    pub fn joules(&self, from_us: u64, to_us: u64) -> Result<f64, Error> {
        self.fake.ask(&format!("joules {} {from_us} {to_us}", self.slot))
    }

    /// True energy of the base profile between two moments, in joules.
    pub fn base_joules(&self, from_us: u64, to_us: u64) -> Result<f64, Error> {
        self.fake.ask(&format!("base_joules {} {from_us} {to_us}", self.slot))
    }

    /// True energy between two moments while no request was in flight, in joules.
    pub fn joules_without_requests(&self, from_us: u64, to_us: u64) -> Result<f64, Error> {
        self.fake.ask(&format!("joules_without_requests {} {from_us} {to_us}", self.slot))
    }

    /// True power at a moment, in watts.
    pub fn watts_at(&self, time_us: u64) -> Result<f64, Error> {
        self.fake.ask(&format!("watts {} {time_us}", self.slot))
    }

    /// What a request truly drew.
    pub fn request(&self, id: &str) -> Result<RequestTruth, Error> {
        let question = format!("request {} {id}", self.slot);
        let answer = self.fake.query(&question)?;
        let mut words = answer.split_whitespace();
        let mut next = || words.next().unwrap_or_default();
        Ok(RequestTruth {
            begin_us: parse(&question, next())?,
            end_us: match next() {
                "-" => None,
                end => Some(parse(&question, end)?),
            },
            joules: parse(&question, next())?,
            in_flight: parse(&question, next())?,
            tail: parse(&question, next())?,
            base_share: parse(&question, next())?,
            shared: parse(&question, next())?,
        })
    }
}
