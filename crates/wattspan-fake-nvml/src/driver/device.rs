//! What one GPU of the fake says of itself, apart from power.

use crate::model::Gpu;

use super::abi::{Code, SUCCESS};

/// A GPU.
#[derive(Debug, Clone)]
pub(crate) struct Device {
    pub(crate) power: Gpu,
    /// Rises whenever the handles given out so far become void.
    pub(crate) epoch: usize,
    pub(crate) lost: bool,
    pub(crate) name: String,
    pub(crate) uuid: String,
    pub(crate) serial: Option<String>,
    pub(crate) minor: u32,
    pub(crate) brand: u32,
    pub(crate) arch: u32,
    pub(crate) compute_capability: (i32, i32),
    pub(crate) pci: Pci,
    pub(crate) memory: MemoryUse,
    pub(crate) temperature: i32,
    pub(crate) memory_temperature: Option<u32>,
    /// Threshold by `nvmlTemperatureThresholds_t`.
    pub(crate) thresholds: [Option<u32>; 8],
    pub(crate) limit: Limits,
    /// Current and maximum clock by `nvmlClockType_t`, in MHz.
    pub(crate) clocks: [(u32, u32); 4],
    pub(crate) event_reasons: u64,
    /// Speed in percent of each fan.
    pub(crate) fans: Vec<u32>,
    pub(crate) performance_state: u32,
    pub(crate) pcie: Pcie,
    /// Corrected and uncorrected errors; absent without ECC.
    pub(crate) ecc: Option<(u64, u64)>,
    pub(crate) processes: Vec<Process>,
    pub(crate) mig: Mig,
    /// MIG devices made so far: a handle is of one of them and of no later one.
    pub(crate) slices_made: usize,
    pub(crate) errors: Vec<ErrorRule>,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Pci {
    pub(crate) domain: u32,
    pub(crate) bus: u32,
    pub(crate) device: u32,
}

/// Bytes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MemoryUse {
    pub(crate) total: u64,
    pub(crate) reserved: u64,
    pub(crate) used: u64,
}

/// Milliwatts.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    pub(crate) current: u32,
    pub(crate) enforced: u32,
    pub(crate) min: u32,
    pub(crate) max: u32,
    pub(crate) default: u32,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Pcie {
    pub(crate) tx_kib: u32,
    pub(crate) rx_kib: u32,
    pub(crate) replays: u32,
    pub(crate) generation: u32,
    pub(crate) width: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ProcessKind {
    Compute,
    Graphics,
    Mps,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Process {
    pub(crate) pid: u32,
    /// Bytes; absent where the driver may not tell.
    pub(crate) memory: Option<u64>,
    pub(crate) kind: ProcessKind,
    pub(crate) gpu_instance: Option<u32>,
    pub(crate) compute_instance: Option<u32>,
    /// Utilisation samples, if any: streaming multiprocessors and memory, in percent.
    pub(crate) utilisation: Option<(u32, u32)>,
}

#[derive(Debug, Clone)]
pub(crate) enum Mig {
    Unsupported,
    Disabled,
    Enabled(Vec<Slice>),
}

/// A MIG device.
#[derive(Debug, Clone)]
pub(crate) struct Slice {
    /// Tells its handles from those of others.
    pub(crate) serial: usize,
    pub(crate) name: Option<String>,
    pub(crate) uuid: String,
    pub(crate) gpu_instance: u32,
    pub(crate) compute_instance: u32,
    pub(crate) memory: MemoryUse,
    pub(crate) multiprocessors: u32,
    pub(crate) gpu_slices: u32,
    pub(crate) compute_slices: u32,
    pub(crate) errors: Vec<ErrorRule>,
}

/// A code to answer with instead of a value.
#[derive(Debug, Clone)]
pub(crate) struct ErrorRule {
    /// Name of an export, `field:N`, or `*`.
    pub(crate) function: String,
    pub(crate) code: Code,
    pub(crate) from: u64,
    pub(crate) until: u64,
    pub(crate) times: Option<u64>,
}

impl ErrorRule {
    fn applies(&self, function: &str, now: u64) -> bool {
        (self.function == "*" || self.function == function)
            && (self.from..self.until).contains(&now)
            && self.times != Some(0)
    }
}

/// The code of the latest rule that applies, which is used up by one.
pub(crate) fn injected(rules: &mut [ErrorRule], function: &str, now: u64) -> Option<Code> {
    let rule = rules.iter_mut().rev().find(|rule| rule.applies(function, now))?;
    rule.times = rule.times.map(|times| times - 1);
    Some(rule.code)
}

/// What an injected code means for the call; an injected success exempts it from what other rules say.
pub(crate) fn answered(code: Option<Code>) -> Result<(), Code> {
    code.filter(|&code| code != SUCCESS).map_or(Ok(()), Err)
}

impl Device {
    pub(crate) fn new(index: u32) -> Self {
        const GIB: u64 = 1 << 30;
        Self {
            power: Gpu::new(),
            epoch: 0,
            lost: false,
            name: "NVIDIA Fake GPU".to_owned(),
            uuid: format!("GPU-fa4e0000-0000-4000-8000-{index:012}"),
            serial: None,
            minor: index,
            brand: 0,
            arch: 9,
            compute_capability: (9, 0),
            pci: Pci { domain: 0, bus: index + 1, device: 0 },
            memory: MemoryUse { total: 80 * GIB, reserved: GIB, used: 0 },
            temperature: 40,
            memory_temperature: None,
            thresholds: [Some(95), Some(90), Some(100), Some(87), None, None, None, None],
            limit: Limits {
                current: 700_000,
                enforced: 700_000,
                min: 100_000,
                max: 700_000,
                default: 700_000,
            },
            clocks: [(1_500, 1_980), (1_500, 1_980), (2_600, 2_600), (1_500, 1_500)],
            event_reasons: 0,
            fans: vec![30],
            performance_state: 0,
            pcie: Pcie { tx_kib: 0, rx_kib: 0, replays: 0, generation: 5, width: 16 },
            ecc: None,
            processes: Vec::new(),
            mig: Mig::Unsupported,
            slices_made: 0,
            errors: Vec::new(),
        }
    }

    pub(crate) fn slices(&self) -> &[Slice] {
        match &self.mig {
            Mig::Enabled(slices) => slices,
            Mig::Unsupported | Mig::Disabled => &[],
        }
    }
}

impl Pci {
    /// As `nvmlPciInfo_t.busId` has it.
    pub(crate) fn bus_id(self) -> String {
        format!("{:08X}:{:02X}:{:02X}.0", self.domain, self.bus, self.device)
    }

    /// As `nvmlPciInfo_t.busIdLegacy` has it.
    pub(crate) fn bus_id_legacy(self) -> String {
        format!("{:04X}:{:02X}:{:02X}.0", self.domain, self.bus, self.device)
    }

    /// Either form, in either case.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let hex = |part: &str| u32::from_str_radix(part, 16).ok();
        let mut parts = text.split(':');
        let (domain, bus, rest) = (parts.next()?, parts.next()?, parts.next());
        // Two parts only: the domain is left out.
        let (domain, bus, rest) = rest.map_or(("0", domain, bus), |rest| (domain, bus, rest));
        let device = rest.split('.').next()?;
        Some(Self { domain: hex(domain)?, bus: hex(bus)?, device: hex(device)? })
    }
}
